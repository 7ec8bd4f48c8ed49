"""A decoder by its name with settings, or by the address of a server."""

from __future__ import annotations

import inspect
from typing import Any
from urllib.parse import parse_qsl

from worldgauge.errors import UsageError
from worldgauge.estimators.decoders.contract import Decoder, decoders
from worldgauge.serving import is_served
from worldgauge_serve import strict_json


def open_decoder(text: str, **settings: Any) -> Decoder:
    """The decoder that `text` names, made with `settings`.

    "sfm-global", "sfm-global?frames=33": registered, with settings as a query, read as JSON where they are JSON, else
    as text. "cmd:...", "pipe:...", "http://...": a server of one (`decoders.served`), whose command is consent to run
    it. Raises UnknownNameError with the nearest name, UsageError for settings that do not fit, SubjectError where a
    server cannot be had.
    """
    if is_served(text):
        return _make("served", {"at": text, **settings})
    name, _, query = text.partition("?")
    return _make(name, {**_settings_of(query, text), **settings})


def _make(name: str, settings: dict[str, Any]) -> Decoder:
    made = decoders.get(name)
    signature = inspect.signature(made)
    try:
        signature.bind(**settings)
    except TypeError as error:
        takes = ", ".join(str(one).partition(":")[0] for one in signature.parameters.values())
        raise UsageError(f"decoder '{name}' takes ({takes}): {error}") from None
    decoder: Decoder = made(**settings)
    return decoder


def _settings_of(query: str, text: str) -> dict[str, Any]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise UsageError(f"decoder '{text}': settings look like name?one=1&two=text, not '?{query}'") from None
    if len(dict(pairs)) < len(pairs):
        raise UsageError(f"decoder '{text}': a setting is given twice")
    return {name: _value_of(value) for name, value in pairs}


def _value_of(text: str) -> Any:
    try:
        return strict_json(text)
    except (ValueError, RecursionError):
        return text
