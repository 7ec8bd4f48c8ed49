"""Final output of commands: text for people, one JSON object, or rows as CSV; and how items ended."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from worldgauge.core.errors import UsageError
from worldgauge.core.io import dumps
from worldgauge.terminal.result import print_result
from worldgauge.terminal.tables import out

if TYPE_CHECKING:
    from worldgauge.engine.suite.contract import Table

Form = Literal["text", "json", "csv"]
"""What a command prints on stdout."""

SHOWN = 5
"""Failures and skips printed in full; the rest is counted."""

SCORE_COLUMNS = (
    *("suite", "metric", "column", "subject", "kind", "n", "mean", "low", "high", "unit", "better"),
    *("set", "set_version", "set_part"),
)
"""Columns of CSV with scores: a row per cell of every table. The last three are empty for data of no named set."""


def form_of(json: bool, csv: bool) -> Form:
    """The form that --json and --csv ask for.

    Raises:
        UsageError: When both are given.
    """
    if json and csv:
        raise UsageError("--json and --csv: give one of them")
    return "json" if json else "csv" if csv else "text"


def print_json(**facts: Any) -> None:
    """Print one JSON object on stdout."""
    print_result(dumps(facts) + "\n")


def plain_cell(value: Any) -> Any:
    """A value for a table that spreadsheets open: text that one would take for a formula begins with an apostrophe.

    Names and errors come from models and data sets of anybody.
    """
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
    suite: str, tables: Sequence[Table], sets: Mapping[str, tuple[str | None, ...]] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Rows of `SCORE_COLUMNS`.

    Args:
        suite: Name of the suite.
        tables: Its tables.
        sets: Name, version and part of the named set that a subject was asked, by label.

    Yields:
        A row per cell, with all digits.
    """
    for table in tables:
        betters = table.betters or (table.better,) * len(table.columns)
        for row in table.rows:
            for name, better, cell in zip(table.columns, betters, row.cells, strict=True):
                found = (cell.n, cell.mean, cell.low, cell.high)
                told = (sets or {}).get(row.label, (None, None, None))
                yield suite, table.metric, name, row.label, row.kind, *found, table.unit, better, *told


def endings(status: str, listed: Sequence[tuple[str, str]]) -> None:
    """Print how items ended, the first of them by name.

    Args:
        status: How they ended.
        listed: Name and reason of each item. A name may be empty.
    """
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
