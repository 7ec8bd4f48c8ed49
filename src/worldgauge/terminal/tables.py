"""Tables on the command line, and the console that prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

if TYPE_CHECKING:
    from worldgauge.engine.suite.contract import Cell, Table, TableRow

out = Console(highlight=False, soft_wrap=False)


def headline(table: Table) -> None:
    """Print a table with the mean, its 95% interval and n in every cell. References are dim."""
    arrow = {"higher": ", higher is better", "lower": ", lower is better", "neither": ""}[table.better]
    arrow, columns = ("", _with_arrows(table)) if table.betters else (arrow, table.columns)
    unit = "" if table.unit == "1" else f" [{table.unit}]"
    grid = _plain_grid(columns)
    for row in table.rows:
        grid.add_row(_who(row), *map(_cell, row.cells), style=None if row.kind == "subject" else "dim")
    out.print(f"{table.title}{unit}{arrow}", style="bold", markup=False)
    out.print(grid)
    references = [row.label for row in table.rows if row.kind == "reference"]
    if references:
        out.print(f"References: {', '.join(references)}", markup=False, soft_wrap=True)
    flagged = [f"{row.label} ({row.flag})" for row in table.rows if row.flag]
    if flagged:
        out.print(f"Flagged, so they win nothing: {', '.join(flagged)}", markup=False, soft_wrap=True)


def _who(row: TableRow) -> str:
    """Name of the subject; its flag is in a separate line below, since columns are narrow."""
    return escape(f"{row.label}\n{row.flag}" if row.flag else row.label)


def _with_arrows(table: Table) -> tuple[str, ...]:
    """Column names, with an arrow for the better direction where columns differ in it."""
    arrows = {"higher": " ↑", "lower": " ↓", "neither": ""}
    return tuple(name + arrows[better] for name, better in zip(table.columns, table.betters, strict=True))


def overview(tables: Sequence[Table]) -> None:
    """Print the last column of as many further tables as fit on the terminal.

    Tables with metrics as columns are only named.
    """
    valued = [table for table in tables[1:] if any(cell.mean is not None for row in table.rows for cell in row.cells)]
    _missing([table for table in tables[1:] if table not in valued])
    if tables[0].betters:
        out.print(f"{len(tables) - 1} more tables are in the report.")
        return
    known = [table for table in valued if not table.betters and table.columns[-1:] == tables[0].columns[-1:]]
    if not known:
        out.print(f"{len(valued)} more tables are in the report.")
        return
    fit = known[: max(1, (out.width - 24) // 11)]
    left = len(valued) - len(fit)
    grid = _plain_grid([table.metric.replace("_", "\n") for table in fit])
    for row in tables[0].rows:
        means = [{other.label: other.cells[-1].mean for other in table.rows}.get(row.label) for table in fit]
        # A flag may be of this column's table only.
        flags = [{other.label: other.flag for other in table.rows}.get(row.label) for table in fit]
        cells = [_number(mean) + ("*" if flag else "") for mean, flag in zip(means, flags, strict=True)]
        grid.add_row(escape(row.label), *cells, style=None if row.kind == "subject" else "dim")
    title = f"Further metrics, {tables[0].columns[-1]}" + (f" ({left} more are in the report)" if left else "")
    out.print(title, style="bold", markup=False)
    out.print(grid)
    if any(row.flag for table in fit for row in table.rows):
        out.print("* is flagged in its table", style="dim", markup=False)


def _missing(tables: Sequence[Table]) -> None:
    """Print the metrics without any value, one line per reason."""
    reasons: dict[str, list[str]] = {}
    for table in tables:
        for note in table.notes[:1]:
            reasons.setdefault(note, []).append(table.metric)
    for note, metrics in reasons.items():
        out.print(f"Not measured: {', '.join(metrics)}. {note}", style="dim", markup=False)


def _plain_grid(columns: Sequence[str]) -> Grid:
    """A grid without lines, since a narrow terminal needs every column for numbers."""
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("")
    for column in columns:
        grid.add_column(escape(column), justify="right")
    return grid


def _cell(cell: Cell) -> str:
    if cell.mean is None:
        return f"-\nn={cell.n}"
    interval = "" if cell.low is None or cell.high is None else f"{_short(cell.low)}..{_short(cell.high)}\n"
    return f"{_number(cell.mean)}\n{interval}n={cell.n}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.{_digits(value, 3)}f}"


def _short(value: float) -> str:
    return f"{value:.{_digits(value, 2)}f}"


def _digits(value: float, usual: int) -> int:
    """After the point: fewer for large numbers, more for small ones, of which nothing would be left."""
    size = abs(value)
    return usual - 2 if size >= 100 else usual if size >= 0.1 or size == 0 else usual + 1 if size >= 0.01 else usual + 2
