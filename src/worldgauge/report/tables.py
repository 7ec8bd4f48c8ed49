"""The tables of a suite, prepared for the page: every cell with its spread, count and interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from worldgauge.core.model import PRIVILEGED
from worldgauge.engine.suite.contract import Cell, Table, TableRow
from worldgauge.report.charts import bars, curves, svg
from worldgauge.report.charts.bars import Bars
from worldgauge.report.charts.curves import SeriesStyle
from worldgauge.report.wording import digits_for, direction, number


@dataclass(frozen=True)
class CellView:
    """One cell of a table on the page.

    Attributes:
        mean: The mean.
        std: The standard deviation.
        interval: The interval.
        count: "n" where it differs from that of the column.
        short: Whether some trajectories are missing.
        best: Whether it is the best of its column.
        whisker: Small picture of the interval.
    """

    mean: str
    std: str = ""
    interval: str = ""
    count: str = ""
    short: bool = False
    best: bool = False
    whisker: Markup | str = ""


@dataclass(frozen=True)
class RowView:
    """One row of a table on the page.

    Attributes:
        label: Label of the subject.
        style: Its style.
        sees: Inputs that it got in addition to frames and controls.
        cells: The cells.
        flag: Why it cannot win.
    """

    label: str
    style: SeriesStyle
    sees: tuple[str, ...]
    cells: tuple[CellView, ...]
    flag: str = ""


@dataclass(frozen=True)
class TableView:
    """A table on the page.

    Attributes:
        ident: Id of the element.
        title: Title of the table.
        direction: Better direction of all columns, in words with an arrow.
        columns: Name and number of tasks of each column.
        groups: Heading and rows of each group.
        notes: Lines below the table.
        alarms: Lines below it in red.
        has_best: Whether any cell is marked as the best.
        directions: Better direction of each column, where they differ. Empty otherwise.
        bars: The same numbers as bars. None where the table does not ask for them.
    """

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
    def spread(self) -> bool:
        """Whether any cell has a standard deviation."""
        return any(cell.std for _, rows in self.groups for row in rows for cell in row.cells)

    @property
    def flagged(self) -> bool:
        """Whether any row has a flag."""
        return any(row.flag for _, rows in self.groups for row in rows)


COUNTS = "tasks"
"""Unit of tables that say what became of how many tasks: each cell is a number of them, not a mean over them."""
HEADINGS = {"subject": "Models under test", "reference": "References", "published": "Published, other data"}


def view_table(
    ident: str,
    table: Table,
    styles: Mapping[str, SeriesStyle],
    sees: Mapping[str, tuple[str, ...]],
    *,
    ours: bool = True,
) -> TableView:
    """Prepare a table for the page, with its rows in their order.

    The best cell of a column is marked among subjects that saw nothing hidden. Published rows, flagged rows, and rows
    without a run are not compared.

    Args:
        ident: Id of the element.
        table: The table.
        styles: Style by subject.
        sees: Additional inputs by subject.
        ours: False for published numbers, which are shown as printed and not drawn.

    Returns:
        The table for the page.
    """
    rows = table.rows
    counts = [_most_common([row.cells[k].n for row in rows]) for k in range(len(table.columns))]
    clusters = [_most_common([row.cells[k].clusters or 0 for row in rows]) for k in range(len(table.columns))]
    betters = table.betters or (table.better,) * len(table.columns)
    compared = [row for row in rows if row.label in styles and row.kind != "published" and not row.flag]
    scales = [_scale(rows, [k]) for k in range(len(betters))] if table.betters else [_scale(rows)] * len(betters)
    digits = _digits(table) if ours else _digits_printed(table)
    best = [_best(compared, k, better, sees, digits[k]) for k, better in enumerate(betters)]
    views: dict[str, list[RowView]] = {kind: [] for kind in HEADINGS}
    for row in rows:
        style = styles.get(row.label, SeriesStyle("", "kx", row.label, reference=True))
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
        views[row.kind].append(RowView(row.label, style, sees.get(row.label, ()), cells, row.flag))
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
        bars.of_table(f"{ident}-bars", table, styles) if ours and table.bars else None,
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
        text(cell.mean),
        "" if cell.std is None else f"± {text(cell.std)}",
        f"{text(cell.low)} to {text(cell.high)}" if known else "",
        words,
        short,
        best,
        whisker,
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
    known = [mean for mean in fair.values() if mean is not None]
    top = max(known) if better == "higher" else min(known)
    # What prints alike is marked alike; where all do, as for facts of the recording, none is best.
    best = {label for label, mean in fair.items() if number(mean, digits=digits) == number(top, digits=digits)}
    return best if len(best) < len(fair) else set()


def _scale(rows: Sequence[TableRow], columns: Sequence[int] | None = None) -> tuple[float, float]:
    """Of the small pictures: of all columns, which are of one metric, unless some are named."""
    cells = [cell for row in rows for k, cell in enumerate(row.cells) if columns is None or k in columns]
    values = [v for c in cells for v in (c.mean, c.low, c.high) if v is not None]
    return svg.spread(values, zero=True, unit_top=True)
