"""The tables of the paper, and later results on its memory test, labelled as such."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from worldgauge.engine.suite.contract import Cell, Table, TableRow
from worldgauge.suites.mind.summary import HEADLINE, PAPER, paper_columns
from worldgauge.suites.mind.tasks import VIEWS

PRINTED = (
    "long_context_memory_mse",
    "generated_scene_consistency_mse",
    "action_space_generalization_mse",
    "aesthetic_quality",
    "image_quality",
    "action_rpe_trans",
    "action_rpe_rot_deg",
)
"""Keys of the file in the order of `paper_columns`."""
N_CLIPS = 50
"""Of a perspective's memory test, which all columns are of but two."""
COUNTS = {"generated_scene_consistency_mse": 500, "action_space_generalization_mse": 25}
"""Videos of paths, and clips of other action spaces."""

_CAVEAT = (
    "Which frames were scored is not stated: the release has changed its rule. Consistency is of pairs one action "
    "apart, translation in the units of an estimator."
)


def published() -> list[Table]:
    """Tables 2 and 3, and the memory test on its own with later results.

    They are about other data, so cells are never compared.
    """
    data = json.loads((files(__package__) / "published.json").read_text("utf-8"))
    source = f"{data['source']}. {_CAVEAT}"
    tables = [_memory(data)]
    for view, key, number in (("first person", "table2", 2), ("third person", "table3", 3)):
        tables.append(
            Table(
                metric=PAPER[view],
                title=f"Table {number}, {view}, as published",
                unit="1",
                better="lower",
                columns=tuple(paper_columns().values()),
                rows=tuple(
                    TableRow(
                        _name(row),
                        tuple(Cell(row[name], None, COUNTS.get(name, N_CLIPS)) for name in PRINTED),
                        "published",
                    )
                    for row in data[key]
                ),
                notes=(source,),
                betters=("lower", "lower", "lower", "higher", "higher", "lower", "lower"),
            )
        )
    return tables


def _memory(data: Mapping[str, Any]) -> Table:
    """First column of Tables 2 and 3, then what a later paper reports."""
    ours = [
        TableRow(
            _name(first),
            (Cell(first[PRINTED[0]], None, N_CLIPS), Cell(third[PRINTED[0]], None, N_CLIPS)),
            "published",
        )
        for first, third in zip(data["table2"], data["table3"], strict=True)
    ]
    later = data["third_party"]
    printed = {row["model"] for row in data["table2"]}
    theirs = [
        TableRow(
            f"{row['model']} (later report)",
            tuple(Cell(row[view]["mse"], None, N_CLIPS) for view in ("first_person", "third_person")),
            "published",
        )
        for row in later["rows"]
        if row["model"] not in printed
    ]
    return Table(
        metric=HEADLINE,
        title="Long context memory: mean squared error, as published",
        unit="1",
        better="lower",
        columns=tuple(VIEWS.values()),
        rows=(*ours, *theirs),
        notes=(f"{data['source']}, Tables 2 and 3. {_CAVEAT}", f"Later report: {later['source']}. {later['note']}"),
    )


def _cell(row: Mapping[str, Any], name: str) -> Cell:
    return Cell(row[name], None, COUNTS.get(name, N_CLIPS))


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['model']}, {'with' if row['context_memory'] else 'without'} context memory"
