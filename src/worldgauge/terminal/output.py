"""Output of commands: tables on a console, text for people, one JSON object, or rows as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console

from worldgauge.core.errors import UsageError, without_controls
from worldgauge.core.io import dumps
from worldgauge.engine.collection import counted
from worldgauge.terminal.layout import Column, Line, count_fitting, lay_out_numbers, lay_out_text, terminal_width, wrap
from worldgauge.terminal.options import print_result

if TYPE_CHECKING:
    from worldgauge.engine.result import TaskCounts
    from worldgauge.engine.suite.contract import Cell, Table

out = Console(highlight=False, soft_wrap=False)


def headline(table: Table, console: Console | None = None) -> None:
    """Print a table with the mean, its 95% interval and n in every cell. Baselines are dim."""
    arrow = {"higher": ", higher is better", "lower": ", lower is better", "neither": ""}[table.better]
    columns = table.columns
    if table.betters:  # columns differ in the better direction
        arrows = {"higher": " ↑", "lower": " ↓", "neither": ""}
        arrow, columns = "", tuple(name + arrows[b] for name, b in zip(columns, table.betters, strict=True))
    unit = "" if table.unit == "1" else f" [{table.unit}]"
    print_text(f"{table.title}{unit}{arrow}", style="bold", console=console)
    # Marks and the flag stand under the name, since columns are narrow; a line below explains the flag.
    labels = [(row.label, *row.marks, *filter(None, [row.flag])) for row in table.rows]
    cells = [Column(name, [_cell(row.cells[k]) for row in table.rows]) for k, name in enumerate(columns)]
    _print_lines(lay_out_numbers(labels, cells, _width(console)), _styles(table), console)
    clustered = [cell for row in table.rows for cell in row.cells if cell.clusters not in (None, cell.n)]
    if clustered:
        n, clusters = clustered[-1].n, clustered[-1].clusters
        print_text(
            f"n={n} in {clusters}: of {clusters} clusters, which count as independent, not the {n}.", console=console
        )
    baselines = [row.label for row in table.rows if row.kind == "baseline"]
    if baselines:
        print_text(f"Baselines: {', '.join(baselines)}", console=console)
    flagged = [f"{row.label} ({row.flag})" for row in table.rows if row.flag]
    if flagged:
        print_text(f"Flagged, so they win nothing: {', '.join(flagged)}", console=console)


def overview(tables: Sequence[Table]) -> None:
    """Print the last column of as many further tables as fit. Tables with metrics as columns are only counted."""
    valued = [table for table in tables[1:] if any(cell.mean is not None for row in table.rows for cell in row.cells)]
    reasons: dict[str, list[str]] = {}
    for table in tables[1:]:
        for note in table.notes[:1] if table not in valued else ():
            reasons.setdefault(note, []).append(table.metric)
    for note, metrics in reasons.items():
        print_text(f"Not measured: {', '.join(metrics)}. {note}", style="dim")
    if tables[0].betters:
        out.print(f"The report has {counted(len(tables) - 1, 'more table')}.")
        return
    known = [table for table in valued if not table.betters and table.columns[-1:] == tables[0].columns[-1:]]
    if not known:
        out.print(f"The report has {counted(len(valued), 'more table')}.")
        return
    columns = []
    for table in known:
        means = {row.label: row.cells[-1].mean for row in table.rows}
        # A flag may be of this column's table only.
        flags = {row.label: row.flag for row in table.rows}
        cells = [(number(means.get(row.label)) + ("*" if flags.get(row.label) else ""),) for row in tables[0].rows]
        columns.append(Column(table.metric, cells))
    labels = [(row.label,) for row in tables[0].rows]
    fit = max(1, count_fitting(labels, columns, terminal_width()))
    left = len(valued) - fit
    more = f" ({left} more are in the report)" if left else ""
    print_text(f"Further metrics, {tables[0].columns[-1]}{more}", style="bold")
    _print_lines(lay_out_numbers(labels, columns[:fit], terminal_width()), _styles(tables[0]))
    if any(row.flag for table in known[:fit] for row in table.rows):
        out.print("* is flagged in its table", style="dim", markup=False)


def print_listing(
    names: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str | None] | None = None
) -> None:
    """Print a listing of words, whose columns wrap."""
    plain = [[without_controls(cell) for cell in row] for row in rows]
    _print_lines(lay_out_text(names, plain, terminal_width()), styles or [None] * len(rows))


def print_numbers(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of numbers that are texts already."""
    columns = [Column(name, [(row[k],) for row in rows]) for k, name in enumerate(names) if k]
    lines = lay_out_numbers([(row[0],) for row in rows], columns, terminal_width())
    _print_lines(lines, [None] * len(rows))


def print_text(said: str, style: str | None = None, console: Console | None = None, indent: str = "") -> None:
    """Print text for people, wrapped between words."""
    for line in wrap(said, _width(console), indent):
        (console or out).print(line, style=style, markup=False, soft_wrap=True)


def number(value: float | None) -> str:
    """A number as tables show it, with as many digits as its size needs; "-" for a missing one."""
    return "-" if value is None else _text(value, 3)


def duration(seconds: float) -> str:
    """A time in words, such as "12 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def interval(low: float | None, high: float | None) -> str:
    """An interval as tables show it, in closed brackets; empty for a missing one."""
    return "" if low is None or high is None else f"[{_short(low)}, {_short(high)}]"


def _styles(table: Table) -> list[str | None]:
    return [None if row.kind == "model" else "dim" for row in table.rows]


def _width(console: Console | None) -> int:
    return terminal_width() if console is None else console.width


def _print_lines(lines: Sequence[Line], styles: Sequence[str | None], console: Console | None = None) -> None:
    """Print the lines of a table, headings bold and each row in its style."""
    for line in lines:
        style = "bold" if line.row is None else styles[line.row]
        # Nothing is cut or wrapped again: the layout has done what can be done.
        (console or out).print(line.text, style=style, markup=False, soft_wrap=True)


def _cell(cell: Cell) -> tuple[str, ...]:
    count = f"n={cell.n}" if cell.clusters in (None, cell.n) else f"n={cell.n} in {cell.clusters}"
    return tuple(part for part in (number(cell.mean), interval(cell.low, cell.high), count) if part)


def _short(value: float) -> str:
    return _text(value, 2)


def _text(value: float, usual: int) -> str:
    if abs(value) < 1e-12:  # what rounding has left of 0
        value = 0.0
    return f"{value:.{_digits(value, usual)}f}"


def _digits(value: float, usual: int) -> int:
    """After the point: fewer for large numbers, more for small ones, of which nothing would be left."""
    size = abs(value)
    return usual - 2 if size >= 100 else usual if size >= 0.1 or size == 0 else usual + 1 if size >= 0.01 else usual + 2


Form = Literal["text", "json", "csv"]
"""What a command prints on stdout."""

SHOWN = 5
"""Failures and skips printed in full; the rest is counted."""

ENDS = ("expected", "scored", "skipped", "failed")
"""Columns with how the tasks of a model ended (`TaskCounts`)."""

SCORE_COLUMNS = (
    *("suite", "metric", "column", "model", "kind", "n", "clusters", "mean", "low", "high", "unit", "better"),
    *ENDS,
    *("set", "set_version", "set_part", "flag"),
)
"""Columns of CSV with scores: a row per cell of every table. Those of sets are empty for data of no named set."""


def form_of(json: bool, csv: bool) -> Form:
    """The form that --json and --csv ask for."""
    if json and csv:
        raise UsageError("--json and --csv: give one of them")
    return "json" if json else "csv" if csv else "text"


def print_json(**facts: Any) -> None:
    """Print one JSON object on stdout."""
    print_result(dumps(facts) + "\n")


def plain_cell(value: Any) -> Any:
    """A value for spreadsheets: text like a formula gets an apostrophe, since names and errors come from anybody."""
    if not isinstance(value, str) or len(value) < 2 or value[0] not in "=+-@\t\r":
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as CSV on stdout, with a header. None is empty, and a number has all its digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(plain_cell, row) for row in rows)
    print_result(text.getvalue())


def score_rows(
    suite: str,
    tables: Sequence[Table],
    sets: Mapping[str, tuple[str | None, ...]] = MappingProxyType({}),
    counts: Mapping[str, TaskCounts] = MappingProxyType({}),
) -> Iterator[tuple[Any, ...]]:
    """Rows of `SCORE_COLUMNS`. What is not known of a row is empty."""
    for table in tables:
        betters = table.betters or (table.better,) * len(table.columns)
        for row in table.rows:
            for name, better, cell in zip(table.columns, betters, row.cells, strict=True):
                found = (cell.n, cell.clusters, cell.mean, cell.low, cell.high)
                ends = (getattr(counts.get(row.label), end, None) for end in ENDS)
                told = sets.get(row.label, (None, None, None))
                yield suite, table.metric, name, row.label, row.kind, *found, table.unit, better, *ends, *told, row.flag


def endings(status: str, listed: Sequence[tuple[str, str]]) -> None:
    """Print how items ended, the first of them by name."""
    for name, why in listed[:SHOWN]:
        out.print(f"  {status} {name}: {why}" if name else f"  {status} {why}", markup=False, soft_wrap=True)
    if len(listed) > SHOWN:
        out.print(f"  and {len(listed) - SHOWN} more {status}")


def written(page: Path, json: bool) -> None:
    """Print the path of the report."""
    if json:
        print_json(page=str(page))
    else:
        print(f"{page}: open it in a browser")
