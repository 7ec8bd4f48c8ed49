"""The tables of the paper, each labelled with its revision."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from worldgauge.engine.suite.contract import Cell, Table, TableRow
from worldgauge.suites.target.tables import COLUMNS

PRINTED = {
    "overall": "wo",
    "soft_endpoint": "se",
    "approach_consistency": "ac",
    "ade": "ade_m",
    "fde": "fde_m",
    "miss_rate": "miss_rate_pct",
}
"""Field of `PathScores` -> key of the file."""
N_BENCHMARK, N_EXPLICIT, N_IMPLICIT = 125, 73, 52
"""Scenarios; the last two are derived from the tables, not printed."""


def published() -> list[Table]:
    """Tables 1 to 4 of the paper. They are about other data and other decoders, so cells are never compared."""
    data = json.loads((files(__package__) / "published.json").read_text("utf-8"))
    one, two, three, four = (data[f"table{number}"] for number in (1, 2, 3, 4))
    horizons = [{**row, "model": f"{row['model']}, {row['horizon_s']} s"} for row in four["rows"]]
    printed: list[tuple[str, Iterable[Mapping[str, Any]], int, str]] = [
        ("Table 1, decoder vggt", one["rows"], N_BENCHMARK, "Whether all scenarios were scored is not said."),
        ("Table 2, explicit targets, decoder vggt", two["explicit"], N_EXPLICIT, "n is derived, not printed."),
        ("Table 2, implicit targets, decoder vggt", two["implicit"], N_IMPLICIT, "n is derived, not printed."),
        ("Table 3, decoder spatracker", three["spatracker"], N_BENCHMARK, _sentence(three["note"]) + "."),
        ("Table 3, decoder vipe", three["vipe"], N_BENCHMARK, _sentence(three["note"]) + "."),
        (
            "Table 4, horizons, decoder vggt",
            horizons,
            N_BENCHMARK,
            "The rows of 6 and 4 s cut the history, those of 8 s do not (inferred): their ADE and MR do not compare.",
        ),
    ]
    source = f"{data['source']}. {_sentence(data['later_revision']['note'])}."
    return [_table(title, rows, n, (source, note)) for title, rows, n, note in printed]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _table(title: str, rows: Iterable[Mapping[str, Any]], n: int, notes: tuple[str, ...]) -> Table:
    return Table(
        metric="path/overall",
        title=f"{title}, as published",
        unit="1",
        better="higher",
        columns=tuple(COLUMNS.values()),
        rows=tuple(
            TableRow(row["model"], tuple(Cell(row[PRINTED[field]], None, n) for field in COLUMNS), "published")
            for row in rows
        ),
        notes=notes,
        betters=("higher", "higher", "higher", "lower", "lower", "lower"),
    )
