"""Settings of a suite from plain values: what every suite refuses alike, and what parity=released stands for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from worldgauge.core.errors import UnknownNameError, UsageError

S = TypeVar("S")
DIGEST = "_digest"
"""End of the names of settings that are found anew from others, and that nobody gives."""


def settings_of(kind: type[S], suite: str, options: Mapping[str, Any]) -> S:
    """The dataclass `kind` made of `options`; a field that is one of some words must be one of them.

    Raises UnknownNameError for a name that it has not, UsageError naming the option.
    """
    hints = get_type_hints(kind)
    for name in options:
        if name not in hints:
            known = [field.name for field in fields(kind) if not field.name.endswith(DIGEST)]  # type: ignore[arg-type]
            raise UnknownNameError(f"{suite} setting", name, known)
    settings = kind(**options)
    for name, hint in hints.items():
        choices = _choices(hint)
        if choices and getattr(settings, name) not in choices:
            words = ", ".join(str(choice) for choice in choices if choice is not None)
            raise UsageError(f"{suite} setting '{name}' must be one of {words}, got {getattr(settings, name)!r}")
    return settings


def check_whole(suite: str, name: str, value: Any, *, least: int, optional: bool = False) -> None:
    """Raises UsageError unless `value` is a whole number of at least `least`, or None where it may be."""
    if value is None and optional:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"{suite} setting '{name}' must be a whole number of at least {least}, got {value!r}")


def chat_prices(suite: str, text: Any) -> tuple[float | None, float | None]:
    """Prices of a million tokens in and out, of "IN,OUT"; None, None where nothing is said. Raises UsageError."""
    if text is None:
        return None, None
    try:
        given, got = (float(price) for price in str(text).split(","))
    except ValueError:
        given = got = -1.0
    if not (0 <= given < math.inf and 0 <= got < math.inf):
        raise UsageError(f"{suite} setting 'chat_prices' must be IN,OUT of a million tokens, got {text!r}")
    return given, got


def check_chat_budget(suite: str, budget: Any, *, recording: str | None, prices: str | None) -> None:
    """Raises UsageError unless `budget` is None, or money that can be kept count of."""
    if budget is not None and (isinstance(budget, (bool, str)) or not 0 < budget < math.inf):
        raise UsageError(f"{suite} setting 'chat_budget' must be more than 0, got {budget!r}")
    if budget is not None and (recording is None or prices is None):
        raise UsageError(f"{suite} setting 'chat_budget' needs chat_recording, where it is kept, and chat_prices")


def with_parity(settings: S, options: Mapping[str, Any], released: Mapping[str, Any]) -> S:
    """`settings` with all of `released` where they say parity=released.

    Raises UsageError where one of `options` contradicts it.
    """
    if getattr(settings, "parity", None) != "released":
        return settings
    for name, value in released.items():
        if options.get(name, value) != value:
            raise UsageError(f"parity=released means {name}={value}; leave out '{name}' or parity")
    changed: S = replace(settings, **released)  # type: ignore[type-var]
    return changed


def _choices(hint: Any) -> tuple[Any, ...]:
    """Words of a Literal, and None where it may be; empty for any other type."""
    parts = get_args(hint) if get_origin(hint) is not Literal else (hint,)
    words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
    return (*words, *([None] if words and type(None) in parts else ()))
