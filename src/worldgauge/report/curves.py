"""Charts as inline SVG: scores over frames, one score against another, and lists of intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from worldgauge.core.intervals import mean_interval
from worldgauge.report import svg

WIDTH, HEIGHT = 300.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 38.0, 76.0, 12.0, 36.0
LABEL_GAP = 12.5
TITLE_PX, DIGIT_PX = 22.0, 6.8
"""Room of the y axis's own name, which is turned, and of a letter next to a tick."""
NAME_GAP, NAME_PX, NAME_LETTERS = 13.0, 7.2, 13
"""A name at the end of a line: how far behind the axis it begins, the room of a letter, and the most letters."""
COLOURS, DASHES = 10, 3
"""Colours of the page, and dashes that each of them is drawn with before both come again."""
STRETCHES = 14
FEWEST_BANDED = 8
"""Clusters from which a line has a band. With fewer it covers the whole panel."""


@dataclass(frozen=True)
class SeriesStyle:
    """How one model is drawn everywhere. Baselines are dashed and hollow."""

    key: str  # its own CSS class
    colour: str  # CSS classes of its colour and dash (`look`)
    label: str
    baseline: bool = False

    @property
    def css(self) -> str:
        """Class attribute of its marks."""
        return f"{self.colour} ref" if self.baseline else self.colour


def look(place: int) -> str:
    """CSS classes of the colour and dash of the model at a place, so that no two of the first 30 are drawn alike."""
    turn, colour = divmod(place, COLOURS)
    return f"k{colour + 1}" + (f" d{turn % DASHES}" if turn % DASHES else "")


@dataclass(frozen=True)
class ChartLine:
    """Points (x, y, low, high) of one model; low and high are None without a band."""

    style: SeriesStyle
    points: tuple[tuple[float, float, float | None, float | None], ...]


@dataclass(frozen=True)
class ScatterPoint:
    """One model in a plane."""

    style: SeriesStyle
    x: float
    y: float
    interval: tuple[float, float] | None = None
    cloud: Sequence[tuple[float, float]] = field(default=())
    remark: str = ""
    across: tuple[float, float] | None = None


@dataclass(frozen=True)
class ForestRow:
    """One model in a list."""

    style: SeriesStyle
    name: str
    mean: float
    low: float | None
    high: float | None
    remark: str = ""


def mean_curve(
    series: Iterable[Sequence[tuple[int, float | None]]], clusters: Iterable[str] | None = None
) -> tuple[tuple[float, float, float | None, float | None], ...]:
    """(frame, mean, low, high) over trajectories, each averaged in STRETCHES first, so that lines can be distinguished.
    The 95 % interval needs FEWEST_BANDED clusters. The curve ends when fewer than half of the trajectories continue."""
    known = [[(i, v) for i, v in one if v is not None and math.isfinite(v)] for one in series]
    names = map(str, range(len(known))) if clusters is None else clusters
    told = [(one, name) for one, name in zip(known, names, strict=True) if one]
    width = max((one[-1][0] + 1 for one, _ in told), default=1) / STRETCHES
    at: dict[int, list[tuple[float, float, str]]] = defaultdict(list)
    for one, name in told:
        stretches: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for index, value in one:
            stretches[int(index / width)].append((index, value))
        for place, points in stretches.items():
            at[place].append((_mean([i for i, _ in points]), _mean([v for _, v in points]), name))
    curve = []
    for place in sorted(at):
        values, own = [value for _, value, _ in at[place]], [name for _, _, name in at[place]]
        if 2 * len(values) < len(told):
            continue
        middle, mean = _mean([index for index, _, _ in at[place]]), _mean(values)
        low = high = None
        if len(set(own)) >= FEWEST_BANDED:
            low, high = mean_interval(values, own) or (None, None)
        curve.append((middle, mean, low, high))
    return tuple(curve)


def line_chart(
    ident: str,
    title: str,
    description: str,
    curves: Sequence[ChartLine],
    *,
    x_label: str,
    y_label: str,
    unit: bool,
    ticks: Sequence[tuple[float, str]] | None = None,
    whole: bool = False,
) -> Markup:
    """Lines with bands, and names at their ends. `unit`: all of [0, 1] is shown. `whole`: no band is cut."""
    drawn = [curve for curve in curves if curve.points]
    xs = [p[0] for c in drawn for p in c.points] or [0.0, 1.0]
    ys = [p[1] for c in drawn for p in c.points]
    if whole:
        ys += [end for c in drawn for p in c.points for end in p[2:] if end is not None]
    low, high = (0.0, 1.0) if unit else svg.spread(ys, zero=True)
    y = svg.Scale(low, high, HEIGHT - BOTTOM, TOP)
    longest = max((len(_shortened(c.style.label, NAME_LETTERS)) for c in drawn), default=0)
    right = max(RIGHT, NAME_GAP + NAME_PX * longest)
    x = svg.Scale(min(0.0, *xs), max(xs), max(LEFT, _room(y)), WIDTH - right)
    ends = svg.apart([y(c.points[-1][1]) for c in drawn], LABEL_GAP, TOP + 2, HEIGHT - BOTTOM)
    return svg.picture(
        ident,
        WIDTH,
        HEIGHT,
        title,
        description,
        _axes(x, y, x_label, y_label, x_ticks=ticks),
        *(_curve(curve, x, y, end) for curve, end in zip(drawn, ends, strict=True)),
    )


def scatter(
    ident: str,
    title: str,
    description: str,
    spots: Sequence[ScatterPoint],
    *,
    x_label: str,
    y_label: str,
    whole: bool = False,
) -> Markup:
    """Models in a plane with their names. The x axis is logarithmic when its values span a factor of 8."""
    values = [s.x for s in spots] + [x for s in spots for x, _ in s.cloud] + [x for s in spots for x in s.across or ()]
    log = min(values, default=0.0) > 0 and max(values) > 8 * min(values)
    width, height = 540.0, 370.0
    heights = [s.y for s in spots] + [y for s in spots for _, y in s.cloud]
    if whole:
        heights += [end for s in spots for end in s.interval or ()]
    y_low, y_high = svg.spread(heights, zero=True, unit_top=True)
    y = svg.Scale(y_low, y_high, height - 44, 20.0)
    low, high = (0.8 * min(values), 1.3 * max(values)) if log else svg.spread(values)
    x = svg.Scale(low, high, max(46.0, _room(y, 6)), width - 116, log=log)
    clouds = [
        svg.tag("g", *(svg.tag("circle", cx=x(a), cy=y(b), r=2) for a, b in s.cloud), class_=f"cloud {s.style.css}")
        for s in spots
    ]
    return svg.picture(
        ident,
        width,
        height,
        title,
        description,
        _axes(x, y, x_label + (" (logarithmic)" if log else ""), y_label, ticks=6),
        *clouds,
        *(_spot(s, x, y) for s in spots),
        *_names(spots, [(x(s.x), y(s.y)) for s in spots], width, y.start),
    )


def whisker(
    style: SeriesStyle, mean: float, low: float | None, high: float | None, scale: tuple[float, float]
) -> Markup:
    """Draw a mean with its interval for a table cell, as decoration: the cell has the numbers."""
    x = svg.Scale(*scale, 3.0, 93.0)
    clip = [
        min(max(v, scale[0]), scale[1]) for v in (mean, mean if low is None else low, mean if high is None else high)
    ]
    # One text, since a board has thousands; all of it are numbers but the class.
    return Markup(
        f'<svg viewBox="0 0 96 10" class="whisker {escape(style.css)}" aria-hidden="true">'
        '<path d="M3 5H93" class="track"></path>'
        f'<path d="M{x(clip[1]):.1f} 5H{x(clip[2]):.1f}" class="reach"></path>'
        f'<circle cx="{svg.short(x(clip[0]))}" cy="5" r="3"></circle></svg>'
    )


def forest(
    ident: str, title: str, description: str, rows: Sequence[ForestRow], *, x_label: str, zero_line: bool = False
) -> Markup:
    """Draw means with intervals, one row each."""
    left, width = 150.0, 520.0
    tall = [36.0 if row.remark else 24.0 for row in rows]
    height = sum(tall) + 42
    numbers = [v for row in rows for v in (row.mean, row.low, row.high) if v is not None]
    low, high = svg.spread([*numbers, 0.0] if zero_line else numbers, zero=True, unit_top=not zero_line)
    x = svg.Scale(low, high, left, width - 14)
    bottom = height - 36
    parts = [_x_axis(x, bottom, x_label)]
    if zero_line:
        parts.append(svg.tag("path", d=f"M{x(0):.1f} 8V{bottom}", class_="zero"))
    for i, row in enumerate(rows):
        y = 8 + sum(tall[:i]) + tall[i] / 2
        name = _shortened(row.name, 24)
        marks = [svg.label(name, left - 10, y - 1 if row.remark else y + 4, anchor="end", class_="name")]
        if row.remark:
            marks.append(svg.label(_shortened(row.remark, 28), left - 10, y + 11, anchor="end", class_="remark"))
        if row.low is not None and row.high is not None:
            marks.append(svg.tag("path", d=f"M{x(row.low):.1f} {y}H{x(row.high):.1f}", class_="reach"))
        marks.append(svg.tag("circle", cx=x(row.mean), cy=y, r=4.5, class_="dot"))
        parts.append(svg.tag("g", *marks, class_=f"row {row.style.css}", data_model=row.style.key))
    return svg.picture(ident, width, height, title, description, *parts)


def strip(styles: Mapping[str, SeriesStyle], values: Mapping[str, float | None], scale: tuple[float, float]) -> Markup:
    """Draw all models of one trajectory as dots on a line, as decoration: a table follows."""
    x = svg.Scale(*scale, 5.0, 155.0)
    dots = [
        svg.tag("circle", cx=x(min(max(v, scale[0]), scale[1])), cy=8, r=4, class_=styles[name].css)
        for name, v in values.items()
        if v is not None
    ]
    track = svg.tag("path", d="M5 8H155", class_="track")
    return svg.tag("svg", track, *dots, viewBox="0 0 160 16", class_="strip", aria_hidden="true")


def _curve(curve: ChartLine, x: svg.Scale, y: svg.Scale, end: float) -> Markup:
    banded = [(px, low, high) for px, _, low, high in curve.points if low is not None and high is not None]
    inside = [(x(px), _clip(y, high), _clip(y, low)) for px, low, high in banded]
    last = curve.points[-1]
    parts = []
    if len(inside) > 1:
        parts.append(svg.band([(a, b) for a, b, _ in inside], [(a, c) for a, _, c in inside], class_="band"))
    points = [(x(px), _clip(y, mean)) for px, mean, _, _ in curve.points]
    parts += [
        svg.polyline(points, class_="line"),
        svg.polyline([(x(last[0]) + 2, _clip(y, last[1])), (x.stop + NAME_GAP - 3, end)], class_="leader"),
        svg.label(_shortened(curve.style.label, NAME_LETTERS), x.stop + NAME_GAP, end + 3.5, class_="end"),
    ]
    return svg.tag("g", *parts, class_=f"curve {curve.style.css}", data_model=curve.style.key)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _shortened(text: str, longest: int) -> str:
    """The start and the end, where names of one family differ."""
    return text if len(text) <= longest else f"{text[: longest - 6]}…{text[-5:]}"


def _clip(scale: svg.Scale, value: float) -> float:
    return scale(min(max(value, scale.low), scale.high))


def _axes(
    x: svg.Scale,
    y: svg.Scale,
    x_label: str,
    y_label: str,
    ticks: int = 5,
    x_ticks: Sequence[tuple[float, str]] | None = None,
) -> Markup:
    grid = [svg.tag("path", d=f"M{x.start:.1f} {y(v):.1f}H{x.stop:.1f}", class_="grid") for v in y.ticks(ticks)]
    labels = [svg.label(_number(v, y.high - y.low), x.start - 6, y(v) + 3.5, anchor="end") for v in y.ticks(ticks)]
    name = svg.label(y_label, 11, (y.start + y.stop) / 2, anchor="middle", class_="axis")
    turned = svg.tag("g", name, transform=f"rotate(-90 11 {(y.start + y.stop) / 2:.1f})")
    return svg.tag("g", *grid, *labels, turned, _x_axis(x, y.start, x_label, x_ticks))


def _room(y: svg.Scale, ticks: int = 5) -> float:
    """Space for the name of the y axis and its numbers."""
    return TITLE_PX + DIGIT_PX * max((len(_number(v, y.high - y.low)) for v in y.ticks(ticks)), default=0)


def _x_axis(x: svg.Scale, bottom: float, text: str, ticks: Sequence[tuple[float, str]] | None = None) -> Markup:
    marks = []
    for v, words in ticks or [(v, f"{v:g}" if x.log else _number(v, x.high - x.low)) for v in x.ticks(5)]:
        marks.append(svg.tag("path", d=f"M{x(v):.1f} {bottom:.1f}v4", class_="grid"))
        marks.append(svg.label(words, x(v), bottom + 16, anchor="middle"))
    base = svg.tag("path", d=f"M{x.start:.1f} {bottom:.1f}H{x.stop:.1f}", class_="base")
    return svg.tag(
        "g", base, *marks, svg.label(text, (x.start + x.stop) / 2, bottom + 31, anchor="middle", class_="axis")
    )


def _spot(spot: ScatterPoint, x: svg.Scale, y: svg.Scale) -> Markup:
    px, py = x(spot.x), y(spot.y)
    parts = []
    if spot.interval:
        a, b = (_clip(y, v) for v in spot.interval)
        parts.append(svg.tag("path", d=f"M{px:.1f} {a:.1f}V{b:.1f}", class_="reach"))
    if spot.across:
        a, b = (x(v) for v in spot.across)
        parts.append(svg.tag("path", d=f"M{a:.1f} {py:.1f}H{b:.1f}", class_="reach"))
    parts.append(svg.tag("circle", cx=px, cy=py, r=5.5, class_="dot"))
    return svg.tag("g", *parts, class_=f"spot {spot.style.css}", data_model=spot.style.key)


def _names(
    spots: Sequence[ScatterPoint], points: Sequence[tuple[float, float]], width: float, bottom: float
) -> list[Markup]:
    sizes = [(6.6 * max(len(s.style.label), 0.9 * len(s.remark)), 26.0 if s.remark else 13.0) for s in spots]
    places = svg.place_names(points, sizes, width, bottom)
    written = []
    for spot, (at, down, anchor) in zip(spots, places, strict=True):
        remark = svg.tag("tspan", spot.remark, x=at, dy=13, class_="remark") if spot.remark else ""
        name = svg.tag("text", spot.style.label, remark, x=at, y=down, text_anchor=anchor, class_="name")
        written.append(svg.tag("g", name, class_=spot.style.css, data_model=spot.style.key))
    return written


def _number(value: float, span: float) -> str:
    digits = max(0, min(3, 1 - math.floor(math.log10(span)))) if 0 < span < 10 else 0
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
