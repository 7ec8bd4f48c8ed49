"""A decoder by its name with settings, or by the address of a server."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.core.io import digest_of as digest_of_text
from worldgauge.perception.decoders.contract import Decoder, decoders
from worldgauge.serving import is_served
from worldgauge_serve import settings_of

_SERVED = "served"


def open_decoder(text: str, **settings: Any) -> Decoder:
    """The decoder that `text` names, made with the settings in `text` and those of `settings` that it does not give.

    "sfm-global", "sfm-global?frames=33": registered, with settings as a query, read as JSON where they are JSON, else
    as text. "cmd:...", "pipe:...", "http://...": a server of one (`decoders.served`), whose command is consent to run
    it. Raises UnknownNameError with the nearest name, UsageError for settings that do not fit, SubjectError where a
    server cannot be had.
    """
    name, given = _parsed(text)
    made = decoders.get(name)
    wanted = {**settings, **given}
    try:
        inspect.signature(made).bind(**wanted)
    except TypeError as error:
        raise UsageError(f"decoder '{name}' takes ({', '.join(_taken_by(made))}): {error}") from None
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
        told = [decoder.name, decoder.version, dict(decoder.settings)]
        return digest_of_text(json.dumps(told, sort_keys=True))
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
