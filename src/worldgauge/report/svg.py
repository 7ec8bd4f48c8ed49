"""Inline SVG, built from escaped parts: the few marks that the charts share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

NEAR_ONE = 0.4
"""Values of at least this are shown on an axis that ends at 1, where 1 is the most there can be."""


def tag(name: str, *children: Markup | str, **attributes: object) -> Markup:
    """One SVG element with escaped text and attributes. `class_` becomes class, `stroke_width` becomes stroke-width."""
    # Plain text joined once: `Markup.format` takes six times as long, and a board has thousands of elements.
    written = [
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    ]
    return Markup("".join([f"<{name}", *written, ">", *(escape(child) for child in children), f"</{name}>"]))


def picture(
    ident: str, width: float, height: float, title: str, description: str, *children: Markup, class_: str = "chart"
) -> Markup:
    """A complete chart, sized in pixels, with title and description for screen readers."""
    return tag(
        "svg",
        tag("title", title, id=f"{ident}-t"),
        tag("desc", description, id=f"{ident}-d"),
        *children,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_labelledby=f"{ident}-t {ident}-d",
        class_=class_,
    )


@dataclass(frozen=True)
class Scale:
    """Maps values [low, high] to pixels [start, stop], logarithmically when `log` is set."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Pixels of `value`; values outside the range land outside."""
        low, high, at = (math.log10(v) if self.log else v for v in (self.low, self.high, value))
        share = 0.5 if high == low else (at - low) / (high - low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Round values inside the range, approximately `about` of them."""
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            marks = [m * 10.0**e for e in range(first, last + 1) for m in (1, 2, 5)]
            inside = [v for v in marks if self.low <= v <= self.high]
            return [v for v in inside if math.log10(v).is_integer()] if len(inside) > about + 2 else inside
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        step = _round_step(span / about)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step + 0.0 for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def spread(values: Iterable[float], *, zero: bool = False, unit_top: bool = False) -> tuple[float, float]:
    """Choose an axis range with a margin around all values."""
    known = [v for v in values if math.isfinite(v)]
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    if zero and low >= 0:
        low = 0.0
    if unit_top and NEAR_ONE <= high <= 1:
        return min(low, 0.0), 1.0
    air = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
    return (low if zero and low == 0 else low - air), high + air


def polyline(points: Sequence[tuple[float, float]], **attributes: object) -> Markup:
    """An open line through pixel points."""
    return tag("polyline", points=coordinates(points), fill="none", **attributes)


def band(upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]], **attributes: object) -> Markup:
    """Draw the area between two lines of points (x, y) in px."""
    return tag("polygon", points=coordinates([*upper, *reversed(lower)]), **attributes)


def coordinates(points: Iterable[tuple[float, float]]) -> str:
    """Points as SVG text, to a tenth of a pixel."""
    return " ".join(f"{short(x)},{short(y)}" for x, y in points)


def label(
    text: str, x: float, y: float, *, anchor: str = "start", class_: str = "tick", **attributes: object
) -> Markup:
    """Draw text with its baseline at (x, y) in px."""
    return tag("text", text, x=x, y=y, text_anchor=anchor, class_=class_, **attributes)


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions apart."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [wanted[i] for i in order]
    for _ in range(60):
        moved = False
        for i in range(len(placed) - 1):
            short = gap - (placed[i + 1] - placed[i])
            if short > 1e-3:
                placed[i] -= short / 2
                placed[i + 1] += short / 2
                moved = True
        if placed:
            shift = max(low - placed[0], 0.0) or min(high - placed[-1], 0.0)
            if shift:
                at = 0 if shift > 0 else -1
                placed[at] += shift
                moved = True
        if not moved:
            break
    result = [0.0] * len(wanted)
    for place, i in enumerate(order):
        result[i] = placed[place]
    return result


def place_names(
    points: Sequence[tuple[float, float]], sizes: Sequence[tuple[float, float]], width: float, height: float
) -> list[tuple[float, float, str]]:
    """Places (x, y, anchor) of texts near their points that cover as little as possible; larger texts choose first."""
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y in points]
    found: dict[int, tuple[float, float, str]] = {}
    for which in sorted(range(len(points)), key=lambda k: -sizes[k][0] * sizes[k][1]):
        (x, y), size = points[which], sizes[which]
        spots = [
            (x + side * 11, y + 4 + up, "start" if side > 0 else "end")
            for up in (0, -10, 10, -18, 18)
            for side in (1, -1)
        ]
        spots += [(x, y + 1 - size[1], "middle"), (x, y + 20, "middle")]
        boxes = [_text_box(at, down, anchor, size) for at, down, anchor in spots]
        costs = [sum(overlap(box, other) for other in taken) + 9 * _outside(box, width, height) for box in boxes]
        best = min(range(len(spots)), key=lambda k: (round(costs[k]), k))
        found[which] = spots[best]
        taken.append(boxes[best])
    return [found[k] for k in range(len(points))]


def _text_box(x: float, y: float, anchor: str, size: tuple[float, float]) -> tuple[float, float, float, float]:
    left = x - {"start": 0.0, "middle": size[0] / 2, "end": size[0]}[anchor]
    return left, y - 11, left + size[0], y - 10 + size[1]


def overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    """Return the area that two boxes share."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _outside(box: tuple[float, float, float, float], width: float, height: float) -> float:
    return max(0.0, -box[0]) + max(0.0, box[2] - width) + max(0.0, -box[1]) + max(0.0, box[3] - height)


def _round_step(raw: float) -> float:
    power = 10.0 ** math.floor(math.log10(raw))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)


def _value(value: object) -> str:
    return short(value) if isinstance(value, float) else str(value)


def short(value: float) -> str:
    """Pixels as SVG text, to a tenth."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text
