"""The tables of a suite, prepared for the page, and as groups of bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from worldgauge.core.model import PRIVILEGED
from worldgauge.engine.suite.contract import Cell, Table, TableRow
from worldgauge.report import curves, svg
from worldgauge.report.curves import SeriesStyle
from worldgauge.report.wording import MINUS, digits_for, direction, metric_name, number

MOST = 10
"""Models drawn, as many as there are colours; the table has them all."""
ROW_PX = 1100.0
"""Width up to which groups stand side by side; the next ones start a row of their own."""
PLOT_PX, NAME_PX, LEFT, TOP, BOTTOM = 170.0, 6.4, 60.0, 12.0, 40.0
THIN, WIDE, GAP = 7.0, 20.0, 16.0
"""Of one bar, at least and at most, and between groups."""


@dataclass(frozen=True)
class Bar:
    """One bar."""

    mean: float
    low: float | None
    high: float | None
    said: str


@dataclass(frozen=True)
class Bars:
    """A table drawn as bars."""

    svg: Markup
    width: float
    key: tuple[tuple[SeriesStyle, str], ...]
    left_out: int
    cut: bool


def of_table(ident: str, table: Table, styles: Mapping[str, SeriesStyle]) -> Bars | None:
    """Grouped bars of at most MOST rows, models first; None if nothing can be drawn or columns share no axis."""
    if table.betters:
        return None
    rows = sorted(
        (row for row in table.rows if any(_finite(cell.mean) for cell in row.cells)),
        key=lambda row: (row.label not in styles, row.kind != "model"),
    )
    if not rows:
        return None
    shown = rows[:MOST]
    digits = digits_for(cell.mean for row in shown for cell in row.cells)
    series = [
        (styles.get(row.label, SeriesStyle("", "kx", row.label, baseline=True)), _bars_of(row, table, digits))
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
    """Draw groups of bars, with their width in px; groups that do not fit side by side continue in further rows."""
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
        interval = f" [{ends[0]}, {ends[1]}]" if known else ""
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
    return svg.tag("g", *body, class_=f"bar {style.css}", data_model=style.key or None)


def _axis(y: svg.Scale, right: float, text: str) -> Markup:
    ticks = y.ticks(5)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    middle = (y.start + y.stop) / 2
    name = svg.label(text, 11, middle, anchor="middle", class_="axis")
    return svg.tag(
        "g",
        *(svg.tag("path", d=f"M{LEFT:.1f} {y(v):.1f}H{right:.1f}", class_="grid") for v in ticks),
        *(svg.label(_tick(v, digits), LEFT - 6, y(v) + 3.5, anchor="end") for v in ticks),
        svg.tag("path", d=f"M{LEFT:.1f} {y(0.0):.1f}H{right:.1f}", class_="base"),
        svg.tag("g", name, transform=f"rotate(-90 11 {middle:.1f})"),
    )


def _tick(value: float, digits: int) -> str:
    """A tick's label, short enough for the space left of the axis: 5e-8 where 0.00000005 would be cut."""
    text = f"{value:.{digits}f}" if digits < 5 else f"{value:g}"
    return text.replace("e-0", "e-").replace("-", MINUS)


@dataclass(frozen=True)
class CellView:
    """One cell of a table on the page."""

    mean: str
    interval: str = ""
    count: str = ""
    short: bool = False
    best: bool = False
    whisker: Markup | str = ""


@dataclass(frozen=True)
class RowView:
    """One row of a table on the page."""

    label: str
    style: SeriesStyle
    sees: tuple[str, ...]
    cells: tuple[CellView, ...]
    flag: str = ""


@dataclass(frozen=True)
class TableView:
    """A table on the page."""

    ident: str
    title: str
    direction: str
    columns: tuple[tuple[str, str], ...]
    groups: tuple[tuple[str, tuple[RowView, ...]], ...]
    notes: tuple[str, ...]
    alarms: tuple[str, ...]
    has_best: bool
    directions: tuple[str, ...] = ()
    bars: Bars | None = None

    @property
    def flagged(self) -> bool:
        """Whether any row has a flag."""
        return any(row.flag for _, rows in self.groups for row in rows)


COUNTS = "tasks"
"""Unit of tables that say what became of how many tasks: each cell is a number of them, not a mean over them."""
HEADINGS = {"model": "Models under test", "baseline": "Baselines", "published": "Published, other data"}


def view_table(
    ident: str,
    table: Table,
    styles: Mapping[str, SeriesStyle],
    sees: Mapping[str, tuple[str, ...]],
    *,
    ours: bool = True,
) -> TableView:
    """Prepare a table in its order; the best of a column is marked among models that saw nothing hidden."""
    rows = table.rows
    counts = [_most_common([row.cells[k].n for row in rows]) for k in range(len(table.columns))]
    clusters = [_most_common([row.cells[k].clusters or 0 for row in rows]) for k in range(len(table.columns))]
    betters = table.betters or (table.better,) * len(table.columns)
    compared = [row for row in rows if row.label in styles and row.kind != "published" and not row.flag]
    scales = [_scale(rows, [k]) for k in range(len(betters))] if table.betters else [_scale(rows)] * len(betters)
    digits = _digits(table) if ours else _digits_printed(table)
    groups = {row.group for row in compared if row.kind == "model"} or {""}
    parts = [[row for row in compared if row.kind != "model" or row.group == group] for group in groups]
    best = [
        set().union(*(_best(part, k, better, sees, digits[k]) for part in parts)) for k, better in enumerate(betters)
    ]
    views: dict[str, list[RowView]] = {kind: [] for kind in HEADINGS}
    for row in rows:
        style = styles.get(row.label, SeriesStyle("", "kx", row.label, baseline=True))
        cells = tuple(
            _cell(
                cell,
                counts[k],
                row.label in best[k],
                style,
                scales[k] if ours else None,
                digits[k],
                printed=not ours,
                counts=table.unit == COUNTS,
            )
            for k, cell in enumerate(row.cells)
        )
        views[row.kind].append(RowView(row.label, style, (*sees.get(row.label, ()), *row.marks), cells, row.flag))
    return TableView(
        ident,
        table.title,
        "" if table.betters else direction(table.better),
        tuple(zip(table.columns, map(_counted, counts, clusters), strict=True)),
        tuple((HEADINGS[kind], tuple(found)) for kind, found in views.items() if found),
        table.notes,
        table.alarms,
        any(best),
        tuple(direction(better) for better in table.betters),
        of_table(f"{ident}-bars", table, styles) if ours and table.bars else None,
    )


def _cell(
    cell: Cell,
    count: int | None,
    best: bool,
    style: SeriesStyle,
    scale: tuple[float, float] | None,
    digits: int,
    *,
    printed: bool,
    counts: bool,
) -> CellView:
    """digits: after the point; of large numbers fewer, unless `printed`: then all are as they were published."""
    expected = max(cell.expected or 0, count or 0)
    short = cell.n < expected
    words = f"{cell.n} of {expected}" if short else f"n {cell.n}" if cell.n != count else ""
    if cell.mean is None:
        return CellView("–", count=words or f"n {cell.n}", short=short)
    whisker: Markup | str = ""
    if scale is not None and math.isfinite(cell.mean):
        whisker = curves.whisker(style, cell.mean, cell.low, cell.high, scale)
    known = cell.low is not None and cell.high is not None
    if counts:
        return CellView(f"{cell.mean:g}")

    def text(value: float | None) -> str:
        return f"{value:.{digits}f}" if printed else number(value, digits=digits)

    return CellView(
        text(cell.mean), f"[{text(cell.low)}, {text(cell.high)}]" if known else "", words, short, best, whisker
    )


def _digits(table: Table) -> list[int]:
    """Digits after the point of each column: alike where all are of one metric."""
    columns = [[row.cells[k].mean for row in table.rows] for k in range(len(table.columns))]
    if table.betters:
        return [digits_for(column) for column in columns]
    return [digits_for(mean for column in columns for mean in column)] * len(columns)


def _digits_printed(table: Table) -> list[int]:
    """Digits after the point that published columns were printed with: those of the finest cell."""
    cells = [[row.cells[k] for row in table.rows] for k in range(len(table.columns))]
    known = [[v for cell in column for v in (cell.mean, cell.std) if v is not None] for column in cells]
    return [max((len(f"{v:g}".partition(".")[2]) for v in column), default=0) for column in known]


def _counted(n: int | None, clusters: int | None) -> str:
    """ "n = 40", or "n = 40 in 4 clusters" where trajectories are not independent."""
    return "" if n is None else f"n = {n} in {clusters} clusters" if clusters and clusters < n else f"n = {n}"


def _most_common(counts: Sequence[int]) -> int | None:
    """The number that most cells of a column have; None without cells."""
    return max(set(counts), key=lambda n: (counts.count(n), n)) if counts else None


def _best(
    rows: Sequence[TableRow], column: int, better: str, sees: Mapping[str, tuple[str, ...]], digits: int
) -> set[str]:
    if better == "neither":
        return set()
    fair = {
        row.label: row.cells[column].mean
        for row in rows
        if PRIVILEGED.isdisjoint(sees.get(row.label, ())) and row.cells[column].mean is not None
    }
    if len(fair) < 2:
        return set()
    # A mean over fewer tasks than another row has is compared with none.
    most = max(row.cells[column].n for row in rows)
    whole = {row.label for row in rows if row.cells[column].n == most} & fair.keys()
    known = [mean for label, mean in fair.items() if mean is not None and label in whole]
    if not known:
        return set()
    top = max(known) if better == "higher" else min(known)
    # What prints alike is marked alike; where all do, as for facts of the recording, none is best.
    best = {label for label in whole if number(fair[label], digits=digits) == number(top, digits=digits)}
    return best if len(best) < len(fair) else set()


def _scale(rows: Sequence[TableRow], columns: Sequence[int] | None = None) -> tuple[float, float]:
    """Of the small pictures: of all columns, which are of one metric, unless some are named."""
    cells = [cell for row in rows for k, cell in enumerate(row.cells) if columns is None or k in columns]
    values = [v for c in cells for v in (c.mean, c.low, c.high) if v is not None]
    return svg.spread(values, zero=True, unit_top=True)
