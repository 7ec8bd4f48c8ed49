"""Make the settings of a suite from plain values, with the checks that all suites share and parity=released."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from worldgauge.core.errors import UnknownNameError, UsageError

S = TypeVar("S")
DIGEST = "_digest"
"""Suffix of settings that are computed from others; users cannot set them."""


def settings_of(kind: type[S], suite: str, options: Mapping[str, Any]) -> S:
    """Make the settings dataclass `kind` from plain values. A field of type Literal accepts only its words.

    Args:
        kind: The dataclass.
        suite: Name of the suite, for messages.
        options: Values by name.

    Returns:
        The settings.

    Raises:
        UnknownNameError: For an unknown setting.
        UsageError: For a value that is not allowed; the message names the setting.
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
    """Check that a setting is a whole number.

    Args:
        suite: Name of the suite, for messages.
        name: Name of the setting.
        value: Its value.
        least: Smallest allowed value.
        optional: Whether None is allowed.

    Raises:
        UsageError: For any other value.
    """
    if value is None and optional:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"{suite} setting '{name}' must be a whole number of at least {least}, got {value!r}")


def chat_prices(suite: str, text: Any) -> tuple[float | None, float | None]:
    """Prices of a million input and output tokens, from "IN,OUT".

    Args:
        suite: Name of the suite, for messages.
        text: The setting. None or empty for no prices.

    Returns:
        Price of input tokens and price of output tokens; None, None where nothing is given.

    Raises:
        UsageError: For text in another form.
    """
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
    """Check a budget for chat models.

    Args:
        suite: Name of the suite, for messages.
        budget: The budget. None for no limit.
        recording: File in which the spending is recorded.
        prices: The setting `chat_prices`.

    Raises:
        UsageError: For a budget that is not above 0, or one without `recording` and `prices`.
    """
    if budget is not None and (isinstance(budget, (bool, str)) or not 0 < budget < math.inf):
        raise UsageError(f"{suite} setting 'chat_budget' must be more than 0, got {budget!r}")
    if budget is not None and (recording is None or prices is None):
        raise UsageError(f"{suite} setting 'chat_budget' needs chat_recording, where it is kept, and chat_prices")


def with_parity(settings: S, options: Mapping[str, Any], released: Mapping[str, Any]) -> S:
    """Apply the released values where the settings have parity=released.

    Args:
        settings: The settings.
        options: Values that the user gave.
        released: Values that parity=released stands for.

    Returns:
        The settings, changed where parity=released is set.

    Raises:
        UsageError: Where one of `options` contradicts a released value.
    """
    if getattr(settings, "parity", None) != "released":
        return settings
    for name, value in released.items():
        if options.get(name, value) != value:
            raise UsageError(f"parity=released means {name}={value}; leave out '{name}' or parity")
    changed: S = replace(settings, **released)  # type: ignore[type-var]
    return changed


def _choices(hint: Any) -> tuple[Any, ...]:
    """Words of a Literal, with None where it is allowed. Empty for any other type."""
    parts = get_args(hint) if get_origin(hint) is not Literal else (hint,)
    words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
    return (*words, *([None] if words and type(None) in parts else ()))
