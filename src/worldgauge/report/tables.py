"""Tables: a suite's tables made ready to print, every cell with its spread, count and interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from worldgauge.report import curves, svg
from worldgauge.report.curves import Look
from worldgauge.report.words import direction, number
from worldgauge.subject import PRIVILEGED
from worldgauge.suites.contract import Cell, Row, Table


@dataclass(frozen=True)
class CellView:
    """One printed cell. count: "n" where it differs from the column's; short: some trajectories are missing."""

    mean: str
    std: str = ""
    interval: str = ""
    count: str = ""
    short: bool = False
    best: bool = False
    whisker: Markup | str = ""


@dataclass(frozen=True)
class RowView:
    """One printed row. sees: inputs it was given besides frames and controls."""

    label: str
    look: Look
    sees: tuple[str, ...]
    cells: tuple[CellView, ...]


@dataclass(frozen=True)
class TableView:
    """A printed table. columns: (name, count of tasks as words). groups: (heading, rows).

    directions: of each column, in words and an arrow, where they differ; else empty, and `direction` is of all.
    """

    ident: str
    title: str
    direction: str
    columns: tuple[tuple[str, str], ...]
    groups: tuple[tuple[str, tuple[RowView, ...]], ...]
    notes: tuple[str, ...]
    has_best: bool
    directions: tuple[str, ...] = ()


COUNTS = "tasks"
"""Unit of tables that say what became of how many tasks: each cell is a number of them, not a mean over them."""
HEADINGS = {"subject": "Models under test", "reference": "References", "published": "Published, other data"}


def view(
    ident: str, table: Table, looks: Mapping[str, Look], sees: Mapping[str, tuple[str, ...]], *, ours: bool = True
) -> TableView:
    """`table` ready to print, rows in its own order.

    The best cell of a column is marked among subjects that saw nothing hidden; published rows are not compared, nor
    are yardsticks that no run stands behind (absent from `looks`).
    ours: False for published numbers, which are printed as they were and drawn nowhere.
    """
    rows = table.rows
    counts = [_column_count([row.cells[k] for row in rows]) for k in range(len(table.columns))]
    betters = table.betters or (table.better,) * len(table.columns)
    compared = [row for row in rows if row.label in looks and row.kind != "published"]
    best = [_best(compared, k, better, sees) for k, better in enumerate(betters)]
    scales = [_scale(rows, [k]) for k in range(len(betters))] if table.betters else [_scale(rows)] * len(betters)
    digits = [max((_digits(row.cells[k]) for row in rows), default=0) for k in range(len(betters))]
    views: dict[str, list[RowView]] = {kind: [] for kind in HEADINGS}
    for row in rows:
        look = looks.get(row.label, Look("", "kx", row.label, reference=True))
        cells = tuple(
            _cell(
                cell,
                counts[k],
                row.label in best[k],
                look,
                scales[k] if ours else None,
                digits=None if ours else digits[k],
                counts=table.unit == COUNTS,
            )
            for k, cell in enumerate(row.cells)
        )
        views[row.kind].append(RowView(row.label, look, sees.get(row.label, ()), cells))
    return TableView(
        ident,
        table.title,
        "" if table.betters else direction(table.better),
        tuple((name, f"n = {n}" if n is not None else "") for name, n in zip(table.columns, counts, strict=True)),
        tuple((HEADINGS[kind], tuple(found)) for kind, found in views.items() if found),
        table.notes,
        any(best),
        tuple(direction(better) for better in table.betters),
    )


def _cell(
    cell: Cell,
    count: int | None,
    best: bool,
    look: Look,
    scale: tuple[float, float] | None,
    *,
    digits: int | None,
    counts: bool,
) -> CellView:
    """digits: after the point, None for as many as a number of its size takes."""
    expected = max(cell.expected or 0, count or 0)
    short = cell.n < expected
    words = f"{cell.n} of {expected}" if short else f"n {cell.n}" if cell.n != count else ""
    if cell.mean is None:
        return CellView("–", count=words or f"n {cell.n}", short=short)
    whisker: Markup | str = ""
    if scale is not None and math.isfinite(cell.mean):
        whisker = curves.whisker(look, cell.mean, cell.low, cell.high, scale)
    known = cell.low is not None and cell.high is not None
    if counts:
        return CellView(f"{cell.mean:g}")
    return CellView(
        number(cell.mean) if digits is None else f"{cell.mean:.{digits}f}",
        "" if cell.std is None else f"± {number(cell.std) if digits is None else f'{cell.std:.{digits}f}'}",
        f"{number(cell.low)} to {number(cell.high)}" if known else "",
        words,
        short,
        best,
        whisker,
    )


def _digits(cell: Cell) -> int:
    """Digits after the point that a published cell was printed with; a column has those of its finest."""
    return max((len(f"{v:g}".partition(".")[2]) for v in (cell.mean, cell.std) if v is not None), default=0)


def _column_count(cells: Sequence[Cell]) -> int | None:
    """The number of trajectories that most cells of a column have; None without cells."""
    counts = [cell.n for cell in cells]
    return max(set(counts), key=lambda n: (counts.count(n), n)) if counts else None


def _best(rows: Sequence[Row], column: int, better: str, sees: Mapping[str, tuple[str, ...]]) -> set[str]:
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
    best = {label for label, mean in fair.items() if number(mean) == number(top)}
    return best if len(best) < len(fair) else set()


def _scale(rows: Sequence[Row], columns: Sequence[int] | None = None) -> tuple[float, float]:
    """Of the small pictures: of all columns, which are of one metric, unless some are named."""
    cells = [cell for row in rows for k, cell in enumerate(row.cells) if columns is None or k in columns]
    values = [v for c in cells for v in (c.mean, c.low, c.high) if v is not None]
    return svg.spread(values, zero=True, unit_top=True)
