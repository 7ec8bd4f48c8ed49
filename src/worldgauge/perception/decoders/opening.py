"""A decoder by its name with settings, or by the address of a server."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.core.io import digest_of as digest_of_text
from worldgauge.core.registry import check_arguments
from worldgauge.perception.decoders.contract import Decoder, decoders
from worldgauge.serving import is_served
from worldgauge_serve import settings_of

_SERVED = "served"


def open_decoder(text: str, **settings: Any) -> Decoder:
    """Open the decoder that a text names.

    Args:
        text: "sfm-global" or "sfm-global?frames=33" for a registered one, with settings as a query of JSON or text;
            "cmd:...", "pipe:..." or "http://..." for a server (`decoders.served`), whose command is consent to run it.
        **settings: Further settings; those in `text` take precedence.

    Raises:
        UnknownNameError: There is no such decoder; the message suggests the nearest.
        UsageError: Settings do not fit.
        SubjectError: The server cannot be reached.
    """
    name, given = _parsed(text)
    made = decoders.get(name)
    wanted = {**settings, **given}
    check_arguments(made, wanted, f"decoder '{name}'")
    decoder: Decoder = made(**wanted)
    return decoder


def settings_taken(text: str) -> tuple[str, ...]:
    """Names of the settings that the decoder `text` takes; it is not made. Raises as `open_decoder`."""
    return _taken_by(decoders.get(_parsed(text)[0]))


def digest_of(text: str) -> str | None:
    """SHA-256, hexadecimal, of what the decoder `text` is: its name, version and settings, versions of libraries too.

    None of a served one, which is not started to ask, and where what it stands on is not installed.
    Raises as `open_decoder`.
    """
    if _parsed(text)[0] == _SERVED:
        return None
    with suppress(MissingExtraError):
        decoder = open_decoder(text)
        identity = [decoder.name, decoder.version, dict(decoder.settings)]
        return digest_of_text(json.dumps(identity, sort_keys=True))
    return None


def _parsed(text: str) -> tuple[str, dict[str, Any]]:
    """Registered name and settings; what a server is given behind its address is its own affair."""
    if is_served(text):
        return _SERVED, {"at": text}
    name, _, query = text.partition("?")
    try:
        return name, settings_of(query)
    except ValueError as error:
        raise UsageError(f"decoder '{text}': {error}") from None


def _taken_by(made: Callable[..., Decoder]) -> tuple[str, ...]:
    return tuple(inspect.signature(made).parameters)
