"""A language model from a setting: `model@url`."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from worldgauge.chat.model import ChatModel, Limits, Replay, Structured
from worldgauge.chat.transport import Prices
from worldgauge.core.errors import MissingExtraError, UsageError

OPENAI = "openai"
"""Word used in place of an address for OpenAI's own endpoint."""

_MODEL_AT_URL = re.compile(r"(\S+)@(https?://\S+|openai)")


def open_chat(
    text: str,
    recording: str | Path | None = None,
    *,
    replay: Replay = "use",
    structured: Structured = "schema",
    input_price: float | None = None,
    output_price: float | None = None,
    budget: float | None = None,
    requests_per_minute: int | None = None,
    concurrency: int = 8,
    key_env: str | None = None,
    **more: Any,
) -> ChatModel:
    """Open the model that a text names as MODEL@URL. It replays failures, too.

    Policies repeat and count requests whose reply does not fit, so the chat does not.
    """
    model, url = model_and_url(text)
    check_extra(replay)
    if (input_price is None) != (output_price is None):
        raise UsageError("prices of the language model: give both, of input and of output tokens")
    prices = None if input_price is None or output_price is None else Prices(input_price, output_price)
    settings: dict[str, Any] = {"reasks": 0, "replay_failures": True, **more}
    return ChatModel(
        model,
        url,
        key_env,
        recording=recording,
        replay=replay,
        structured=structured,
        prices=prices,
        budget=budget,
        limits=Limits(requests_per_minute=requests_per_minute, concurrency=concurrency),
        **settings,
    )


def check_extra(replay: Replay) -> None:
    """Check that the package for calls to an endpoint is installed, if calls are possible."""
    if replay != "only" and find_spec("openai") is None:
        raise MissingExtraError("a chat endpoint", "chat")


def model_and_url(text: str) -> tuple[str, str | None]:
    """Split MODEL@URL; nothing is opened."""
    match = _MODEL_AT_URL.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"language model '{_safe(text)}': give MODEL@URL, such as my-model@http://localhost:8000/v1, "
            "or MODEL@openai"
        )
    model, url = match.groups()
    if url == OPENAI:
        return model, None
    try:
        parts = urlsplit(url)
        fine = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if not fine:
        raise UsageError(f"language model '{_safe(text)}': the address names no host, or no port there is")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            f"language model '{model}': its address holds more than a place; a key goes into an environment variable"
        )
    return model, url.rstrip("/")


def _safe(text: str) -> str:
    """The text for a message, without the part before the last @, which might be a key."""
    model, _, rest = text.partition("@")
    return f"{model[:80]}@{rest.rpartition('@')[2][:80]}" if rest else text[:80]
