"""A table as groups of bars: one group per column, and one bar with its interval per row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from worldgauge.engine.suite.contract import Table, TableRow
from worldgauge.report.charts import svg
from worldgauge.report.charts.curves import SeriesStyle
from worldgauge.report.wording import MINUS, digits_for, direction, metric_name, number

MOST = 10
"""Subjects drawn, as many as there are colours; the table has them all."""
ROW_PX = 1100.0
"""Width up to which groups stand side by side; the next ones start a row of their own."""
PLOT_PX, NAME_PX, LEFT, TOP, BOTTOM = 170.0, 6.4, 52.0, 12.0, 40.0
THIN, WIDE, GAP = 7.0, 20.0, 16.0
"""Of one bar, at least and at most, and between groups."""


@dataclass(frozen=True)
class Bar:
    """One bar.

    Attributes:
        mean: Its height.
        low: Lower end of its whisker, or None.
        high: Upper end of its whisker, or None.
        said: Text for a pointer or a screen reader.
    """

    mean: float
    low: float | None
    high: float | None
    said: str


@dataclass(frozen=True)
class Bars:
    """A table drawn as bars.

    Attributes:
        svg: The drawing.
        width: Smallest readable width in pixels.
        key: Style and flag of the bars, in their order.
        left_out: Number of subjects that are not drawn.
        cut: Whether a whisker extends beyond the axis.
    """

    svg: Markup
    width: float
    key: tuple[tuple[SeriesStyle, str], ...]
    left_out: int
    cut: bool


def of_table(ident: str, table: Table, styles: Mapping[str, SeriesStyle]) -> Bars | None:
    """A table as grouped bars, at most MOST rows: models under test, then references, then rows without a run.

    Args:
        ident: Id of the element.
        table: The table.
        styles: Style by subject.

    Returns:
        The bars. None where nothing can be drawn, or where columns of several metrics share no axis.
    """
    if table.betters:
        return None
    rows = sorted(
        (row for row in table.rows if any(_finite(cell.mean) for cell in row.cells)),
        key=lambda row: (row.label not in styles, row.kind != "subject"),
    )
    if not rows:
        return None
    shown = rows[:MOST]
    digits = digits_for(cell.mean for row in shown for cell in row.cells)
    series = [
        (styles.get(row.label, SeriesStyle("", "kx", row.label, reference=True)), _bars_of(row, table, digits))
        for row in shown
    ]
    low, high, cut = reach([bar for _, bars in series for bar in bars if bar is not None])
    way = direction(table.better) if table.better != "neither" else ""
    measured = ", ".join(filter(None, [metric_name(table.metric, table.unit), way]))
    drawn, width = grouped_bars(
        ident,
        f"{table.title}: {measured}",
        f"{len(table.columns)} groups of up to {len(shown)} bars; the table below has all numbers. {_best_said(table)}",
        table.columns,
        series,
        (low, high),
        y_label=measured,
    )
    key = tuple((style, row.flag) for (style, _), row in zip(series, shown, strict=True))
    return Bars(drawn, width, key, len(rows) - len(shown), cut)


def grouped_bars(
    ident: str,
    title: str,
    description: str,
    groups: Sequence[str],
    series: Sequence[tuple[SeriesStyle, Sequence[Bar | None]]],
    span: tuple[float, float],
    *,
    y_label: str,
) -> tuple[Markup, float]:
    """Draw groups of bars; groups that do not fit side by side continue in further rows.

    Args:
        ident: Id of the element.
        title: Title for screen readers.
        description: Description for screen readers.
        groups: Names of the groups.
        series: Per subject its style and a bar for each group, None where there is none.
        span: Ends of the axis, which includes 0.
        y_label: Label of the axis.

    Returns:
        The drawing and its width in px.
    """
    names = [_lines(name) for name in groups]
    text = max((NAME_PX * len(line) for lines in names for line in lines), default=0.0)
    thick = min(WIDE, max(THIN, (text - GAP) / max(len(series), 1)))
    step = max(thick * len(series) + GAP, text + 10)
    across = max(1, min(len(groups), int((ROW_PX - LEFT) // step)))
    down = -(-len(groups) // across)
    across = -(-len(groups) // down)
    width, tall = LEFT + across * step + 8, TOP + PLOT_PX + BOTTOM
    parts = []
    for row in range(down):
        top = row * tall + TOP
        y = svg.Scale(*span, top + PLOT_PX, top)
        parts.append(_axis(y, width - 8, y_label))
        for k in range(row * across, min((row + 1) * across, len(groups))):
            middle = LEFT + (k % across + 0.5) * step
            start = middle - thick * len(series) / 2
            for place, (style, bars) in enumerate(series):
                if (bar := bars[k]) is not None:
                    parts.append(_bar(style, bar, start + place * thick, thick, y))
            parts += [
                svg.label(line, middle, top + PLOT_PX + 16 + 13 * n, anchor="middle") for n, line in enumerate(names[k])
            ]
    return svg.picture(ident, round(width), down * tall, title, description, *parts, class_="chart bars"), round(width)


def reach(bars: Sequence[Bar]) -> tuple[float, float, bool]:
    """Range of the axis, with 0 in it, and whether whiskers are cut, since a wide one would flatten all bars."""
    means = [bar.mean for bar in bars if math.isfinite(bar.mean)] or [1.0]
    ends = [end for bar in bars for end in (bar.low, bar.high) if end is not None and math.isfinite(end)]
    most = 1.6 * max(abs(mean) for mean in means) or 1.0
    low = min(0.0, *means, *(max(end, -most) for end in ends))
    high = max(0.0, *means, *(min(end, most) for end in ends))
    if low == high:
        high = 1.0
    return low, high + 0.04 * (high - low), any(abs(end) > most for end in ends)


def _bars_of(row: TableRow, table: Table, digits: int) -> list[Bar | None]:
    bars: list[Bar | None] = []
    unit = f" {table.unit}" if table.unit not in ("", "1") else ""
    for name, cell in zip(table.columns, row.cells, strict=True):
        if not _finite(cell.mean):
            bars.append(None)
            continue
        known = cell.low is not None and cell.high is not None
        ends = [number(end, digits=digits) for end in (cell.low, cell.high)]
        interval = f", 95 % interval {ends[0]} to {ends[1]}" if known else ""
        who = f"{row.label} ({row.flag})" if row.flag else row.label
        said = f"{name}, {who}: {number(cell.mean, digits=digits)}{unit}{interval}, n = {cell.n}"
        bars.append(Bar(float(cell.mean or 0.0), cell.low, cell.high, said))
    return bars


def _finite(mean: float | None) -> bool:
    return mean is not None and math.isfinite(mean)


def _best_said(table: Table) -> str:
    """Where the axis points, for who cannot see it."""
    return {"higher": "Taller is better.", "lower": "Shorter is better."}.get(table.better, "")


def _lines(name: str) -> list[str]:
    """A column's name in two lines where it has two parts or words, so that groups stay narrow."""
    if len(name) <= 9:
        return [name]
    breaks = [k + 1 for k, letter in enumerate(name[:-1]) if letter in "+ "]
    breaks = breaks or [k + 1 for k, letter in enumerate(name[:-1]) if letter in "_/"]
    if not breaks:
        return [name]
    at = min(breaks, key=lambda k: abs(k - len(name) / 2))
    return [name[:at].rstrip(), name[at:]]


def _bar(style: SeriesStyle, bar: Bar, left: float, thick: float, y: svg.Scale) -> Markup:
    ends = sorted((y(0.0), y(bar.mean)))
    body = [
        svg.tag("title", bar.said),
        # As tall as the plot, so that a short bar can be pointed at too.
        svg.tag("rect", x=left, y=y.stop, width=thick, height=y.start - y.stop, class_="target"),
        svg.tag("rect", x=left + 0.8, y=ends[0], width=thick - 1.6, height=max(ends[1] - ends[0], 0.8), class_="body"),
    ]
    if bar.low is not None and bar.high is not None:
        middle = left + thick / 2
        low, high = (y(min(max(end, y.low), y.high)) for end in (bar.low, bar.high))
        path = f"M{middle:.1f} {low:.1f}V{high:.1f}"
        for end, at in ((bar.low, low), (bar.high, high)):
            if y.low <= end <= y.high:
                path += f"M{middle - 2:.1f} {at:.1f}h4"
        body.append(svg.tag("path", d=path, class_="reach"))
    return svg.tag("g", *body, class_=f"bar {style.css}", data_subject=style.key or None)


def _axis(y: svg.Scale, right: float, text: str) -> Markup:
    ticks = y.ticks(5)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    middle = (y.start + y.stop) / 2
    name = svg.label(text, 11, middle, anchor="middle", class_="axis")
    return svg.tag(
        "g",
        *(svg.tag("path", d=f"M{LEFT:.1f} {y(v):.1f}H{right:.1f}", class_="grid") for v in ticks),
        *(svg.label(f"{v:.{digits}f}".replace("-", MINUS), LEFT - 6, y(v) + 3.5, anchor="end") for v in ticks),
        svg.tag("path", d=f"M{LEFT:.1f} {y(0.0):.1f}H{right:.1f}", class_="base"),
        svg.tag("g", name, transform=f"rotate(-90 11 {middle:.1f})"),
    )
