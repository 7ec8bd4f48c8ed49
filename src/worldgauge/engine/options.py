"""Options: each field of a dataclass declares name, default, help, bounds and choices of an option.

    @dataclass(frozen=True)
    class Options:
        spins: int = option(8, "Full turns, each in a village of its own.", low=1, high=1000)

The command line, the checks, the manifest, dry runs and the tables of the docs read these fields, so that a new option
takes one line. A field may be int, float, bool, str, a Literal of words, `tuple[int, int]` (a size, WIDTHxHEIGHT), or a
tuple of int or str of any length (a list with commas); any of them `| None`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, make_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from worldgauge.core.errors import UnknownNameError, UsageError, did_you_mean

_hints: Callable[[Any], dict[str, Any]] = cache(get_type_hints)
"""Type of each field. Looking them up compiles each, and a board opens a suite for each of its results."""

O = TypeVar("O")  # noqa: E741 - options of any kind
FOUND = "_digest"
"""Suffix of fields that are computed from others; users cannot set them."""
_KEY = "option"
_ITEM_NAMES: Mapping[type, str] = {int: "whole number", float: "number", str: "name"}


@dataclass(frozen=True)
class OptionFacts:
    """What a field declares in addition to its type and default.

    Attributes:
        low: Smallest allowed value, of each item in a list and of each side of a size.
        rule: What is allowed, in words, if the bounds do not say it.
        later: Whether it came after 0.1.0: at its default, cache keys leave it out, so that earlier answers stay valid.
    """

    help: str = ""
    low: float | None = None
    high: float | None = None
    above: float | None = None
    choices: Sequence[str] | Callable[[], Sequence[str]] = ()
    rule: str = ""
    flag: str = ""
    metavar: str = ""
    later: bool = False

    def words(self) -> tuple[str, ...]:
        """The choices, looked up if necessary."""
        return tuple(self.choices() if callable(self.choices) else self.choices)


def option(
    default: Any,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    choices: Sequence[str] | Callable[[], Sequence[str]] = (),
    rule: str = "",
    flag: str = "",
    metavar: str = "",
    later: bool = False,
) -> Any:
    """Declare a field of an options dataclass.

    Args:
        default: Default value.
        help: As in `OptionFacts`.
        low: As in `OptionFacts`.
        high: As in `OptionFacts`.
        above: As in `OptionFacts`.
        choices: As in `OptionFacts`.
        rule: As in `OptionFacts`.
        flag: As in `OptionFacts`.
        metavar: As in `OptionFacts`.
        later: As in `OptionFacts`.

    Returns:
        The dataclass field.

    Examples:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Settings:
        ...     turns: int = option(8, "Full turns.", low=1, high=1000)
        >>> Settings().turns
        8
    """
    facts = OptionFacts(help, low, high, above, choices, rule, flag, metavar, later)
    return field(default=default, metadata={_KEY: facts})


def facts_of(one: Field[Any]) -> OptionFacts:
    """What a field declares; defaults for a field that was not made by `option`."""
    facts: OptionFacts = one.metadata.get(_KEY, OptionFacts())
    return facts


def given_fields(kind: type) -> list[Field[Any]]:
    """The fields that a user may set."""
    return [one for one in fields(kind) if not one.name.endswith(FOUND)]


def options_of(kind: type[O], owner: str, given: Mapping[str, Any], *, noun: str = "setting") -> O:
    """Make an options dataclass from plain values, and check each of them."""
    known = {one.name: one for one in given_fields(kind)}
    for name in given:
        if name not in known and name not in _hints(kind):
            raise UnknownNameError(f"{owner} {noun}", name, list(known))
    made = kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})
    check(made, owner, noun=noun)
    return made


def check(options: Any, owner: str, *, noun: str = "setting") -> None:
    """Check all values of an options dataclass."""
    hints = _hints(type(options))
    for one in given_fields(type(options)):
        value = getattr(options, one.name)
        if not _fits(value, hints[one.name], facts_of(one)):
            rule = rule_of(one, hints[one.name])
            near = _nearest(value, _words(hints[one.name], facts_of(one)))
            raise UsageError(f"{owner} {noun} '{one.name}' must be {rule}, got {_shown(value)}{near}")


def merged(base: type[O], *parts: type) -> type[O]:
    """One options dataclass made of several, a subclass of `base`; UsageError if two declare a name differently."""
    owners: dict[str, tuple[type, Any]] = {one.name: (base, _declared(base, one)) for one in fields(base)}  # type: ignore[arg-type]
    made = []
    for part in parts:
        for one in fields(part):
            declared = _declared(part, one)
            owner, known = owners.setdefault(one.name, (part, declared))
            if known != declared:
                raise UsageError(
                    f"two options are called '{one.name}': one in {_place(owner)}, one in {_place(part)}; rename one"
                )
            if owner is part:
                made.append((one.name, declared[0], field(default=one.default, metadata=one.metadata)))
    whole = make_dataclass(base.__name__, made, bases=(base,), frozen=True)
    whole.__module__, whole.__doc__ = base.__module__, base.__doc__
    return whole


def part_of(options: Any, kind: type[O]) -> O:
    """The fields of a merged options dataclass that one of its parts declares, as that part."""
    return kind(**{one.name: getattr(options, one.name) for one in fields(kind)})  # type: ignore[arg-type]


def plain(options: Any) -> dict[str, Any]:
    """All options as plain JSON values, with tuples as lists."""
    values = {one.name: getattr(options, one.name) for one in fields(options)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def rule_of(one: Field[Any], hint: Any) -> str:
    """What a field allows, in words, such as "a whole number from 1 to 150"."""
    facts, kind = facts_of(one), _core(hint)
    if facts.rule:
        return facts.rule
    if words := _words(hint, facts):
        known = ", ".join(words)
        return f"different ones of {known}" if _is_list(kind) else f"one of {known}"
    if kind is bool:
        return "true or false"
    if kind == tuple[int, int]:
        return f"width and height in pixels{_range(facts)}"
    if kind == int | str:
        return f"a whole number{_range(facts)}, or names"
    if _is_list(kind):
        return f"different {_ITEM_NAMES[get_args(kind)[0]]}s{_range(facts)}"
    if kind in _ITEM_NAMES:
        return f"a {_ITEM_NAMES[kind]}{_range(facts)}"
    return "a usable value"


def parse(hint: Any, text: str, flag: str) -> Any:
    """Read the value of an option as it was typed: a list with commas, a size such as 640x360, a word or a number."""
    kind = _core(hint)
    if kind == tuple[int, int]:
        width, _, height = text.partition("x")
        if not (width.isdecimal() and height.isdecimal()):
            raise UsageError(f"{flag} takes whole numbers for width and height, such as 640x360, not '{text}'")
        return int(width), int(height)
    if _is_list(kind):
        return tuple(_item(get_args(kind)[0], part, flag) for part in text.split(","))
    if kind == int | str and text.lstrip("-").isdecimal():
        return int(text)
    return text


def typed(value: Any) -> str:
    """A value as a user would type it, the reverse of `parse`."""
    if isinstance(value, tuple):
        return (
            "x".join(map(str, value))
            if len(value) == 2 and all(type(v) is int for v in value)
            else ",".join(map(str, value))
        )
    return str(value)


def is_typed_as_text(hint: Any) -> bool:
    """Whether the command line takes the option as text for `parse`: sizes, lists, and numbers or names."""
    kind = _core(hint)
    return kind in (tuple[int, int], int | str) or _is_list(kind)


def core_type(hint: Any) -> type:
    """The plain type that the command line uses for a field of type `hint`."""
    kind = _core(hint)
    if is_typed_as_text(hint) or get_origin(kind) is Literal:
        return str
    return kind if isinstance(kind, type) else str


def option_rows(kind: type) -> list[tuple[str, str, str, str]]:
    """Rows of a table of options for the docs: name, default, rule and help of each."""
    hints = _hints(kind)
    return [
        (
            one.name,
            "" if one.default is MISSING or one.default is None else typed(one.default),
            rule_of(one, hints[one.name]),
            facts_of(one).help,
        )
        for one in given_fields(kind)
    ]


def choices_of(hint: Any) -> tuple[str, ...]:
    """Words of a Literal; empty for any other type."""
    kind = _core(hint)
    return get_args(kind) if get_origin(kind) is Literal else ()


def _declared(kind: type, one: Field[Any]) -> tuple[Any, Any, OptionFacts]:
    return _hints(kind)[one.name], one.default, facts_of(one)


def _place(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _words(hint: Any, facts: OptionFacts) -> tuple[str, ...]:
    kind = _core(hint)
    inner = get_args(kind)[0] if _is_list(kind) else kind
    return facts.words() or (get_args(inner) if get_origin(inner) is Literal else ())


def _core(hint: Any) -> Any:
    """The type without `| None`."""
    inner = [part for part in get_args(hint) if part is not type(None)]
    is_union = type(None) in get_args(hint)
    return inner[0] if is_union and len(inner) == 1 else hint


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is tuple and get_args(kind)[-1] is Ellipsis


def _fits(value: Any, hint: Any, facts: OptionFacts) -> bool:
    if value is None:
        return type(None) in get_args(hint)
    kind = _core(hint)
    words = _words(hint, facts)
    if _is_list(kind):
        inner = get_args(kind)[0]
        good = isinstance(value, tuple) and 0 < len(value) == len(set(value))
        return good and all(_item_fits(one, inner, words, facts) for one in value)
    if kind == tuple[int, int]:
        return isinstance(value, tuple) and len(value) == 2 and all(_item_fits(one, int, (), facts) for one in value)
    if kind == int | str:
        return bool(value) if isinstance(value, str) else _item_fits(value, int, (), facts)
    return _item_fits(value, kind, words, facts)


def _item_fits(value: Any, kind: Any, words: Sequence[str], facts: OptionFacts) -> bool:
    if words or get_origin(kind) is Literal:
        return value in words
    if kind is bool or kind is str:
        return isinstance(value, kind)
    if kind not in (int, float):
        return True
    if isinstance(value, bool) or not isinstance(value, int if kind is int else (int, float)):
        return False
    low = -math.inf if facts.low is None else facts.low
    high = math.inf if facts.high is None else facts.high
    return low <= value <= high and (facts.above is None or value > facts.above) and math.isfinite(value)


def _item(kind: type, text: str, flag: str) -> Any:
    if kind is not int:
        return text
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{flag} takes whole numbers, not '{text}'") from None


def _range(facts: OptionFacts) -> str:
    low, high, above = (None if one is None else f"{one:.10g}" for one in (facts.low, facts.high, facts.above))
    if above is not None:
        return f" of more than {above}" + (f" and at most {high}" if high is not None else "")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    return f" of at least {low}" if low is not None else f" of at most {high}" if high is not None else ""


def _nearest(value: Any, words: Sequence[str]) -> str:
    """A hint at the word that was meant, where one is near."""
    typed = value if isinstance(value, tuple) else (value,)
    odd = next((one for one in typed if isinstance(one, str) and one not in words), None)
    hint = "" if odd is None else did_you_mean(odd, words).rstrip()
    return f". {hint}" if hint else ""


def _shown(value: Any) -> str:
    return repr(list(value) if isinstance(value, tuple) else value)
