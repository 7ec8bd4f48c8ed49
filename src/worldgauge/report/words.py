"""Numbers and words as the page writes them."""

from __future__ import annotations

import math
from collections.abc import Sequence

MINUS = "−"


def number(value: float | None, *, digits: int = 3, sign: bool = False) -> str:
    """`value` with about `digits` digits after the point, fewer for large values; a dash when there is none."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    size = abs(value)
    digits = digits if size < 10 else max(0, digits - math.floor(math.log10(size)))
    text = f"{size:.{digits}f}"
    negative = value < 0 and float(text) != 0
    return (MINUS if negative else "+" if sign and float(text) != 0 else "") + text


def times(count: int, one: str, many: str) -> str:
    """ "1 frame", "2 frames"; thousands are set apart."""
    return f"{count:,} {one if count == 1 else many}".replace(",", " ")


def listed(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def p_value(p: float | None) -> str:
    """A p-value, no more exact than it can be."""
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def direction(better: str) -> str:
    """Which way is better, in words and an arrow."""
    return {"higher": "↑ higher is better", "lower": "↓ lower is better"}.get(better, "no direction is better")
