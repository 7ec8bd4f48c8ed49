"""Scores of baselines on benchmark sets that ship with worldgauge: a run copies them in place of computing them.

A line of a file is the key of a record, the key of its scores, and JSON. The keys name all that scores depend on.
Values are exact. Those of single frames have four digits, so that files are small.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError
from worldgauge.core.io import digest_of_file, dumps, loads, write_file
from worldgauge.engine.resume import SHIPPED, PlannedTask
from worldgauge.engine.sets import SetPart, named_sets
from worldgauge.engine.store import (
    RunFolder,
    read_journal,
    record_entry,
    score_from_json,
    scores_key,
    write_record,
    write_scores,
)
from worldgauge.engine.suite.contract import Record


def shipped_part(facts: Mapping[str, Any]) -> SetPart | None:
    """The part of a benchmark set that a run is of, by the facts of run.json. None for data of no frozen set."""
    told = facts.get("set")
    if not isinstance(told, Mapping) or told["of"] is None:
        return None
    named = named_sets().get(told["name"])
    return None if named is None or named.version != told["version"] else named.part(facts["suite"])


def find_shipped(part: SetPart, planned: PlannedTask) -> dict[str, Any] | None:
    """Content of the shipped record of a task. None if there is none."""
    if part.baselines_file is None:
        return None
    text = _lines(part.baselines_file, part.baselines_sha256).get(planned.key + planned.score_key)
    return None if text is None else dict(loads(text))


def copy_shipped(part: SetPart, planned: PlannedTask, label: str, run: RunFolder) -> dict[str, Any] | None:
    """Put the shipped scores of a task into a run folder. Returns their journal line. None if there are none."""
    found = find_shipped(part, planned)
    if found is None:
        return None
    folder = run.prepare()
    write_record(Record(planned.task, label, folder, found["facts"]), folder, key=planned.key)
    write_scores(map(score_from_json, found["scores"]), label, folder, key=planned.score_key)
    run.commit(folder, planned.task.id)
    done = {"task": planned.task.id, "status": "done", "stage": "score", "error": None, "seconds": 0.0, SHIPPED: True}
    return {**done, "key": planned.key, "scores": planned.score_key, "notes": found["notes"]}


def pack_scores(runs: Iterable[RunFolder], path: Path) -> str:
    """Write the file of the scores in run folders. Returns its SHA-256."""
    lines = []
    for run in runs:
        for task, line in read_journal(run.journal_path).items():
            folder = run.record(task)
            if line["status"] != "done" or scores_key(folder) != line["scores"]:
                continue
            rows = [loads(row.rstrip(",")) for row in (folder / "scores.json").read_text().splitlines()[1:-1]]
            scores = [{name: value for name, value in row.items() if name != "model"} for row in rows]
            for score in scores:
                score["series"] = [
                    [at, value if value is None else float(f"{value:.4g}")] for at, value in score["series"]
                ]
            held = {"facts": record_entry(folder)["facts"], "notes": line.get("notes"), "scores": scores}
            lines.append(f"{line['key']}{line['scores']}{dumps(held)}\n")
    write_file(path, lzma.compress("".join(sorted(lines)).encode(), preset=9 | lzma.PRESET_EXTREME))
    return digest_of_file(path)


@cache
def _lines(path: Path, sha256: str) -> Mapping[str, str]:
    """JSON of each record by both keys."""
    if digest_of_file(path) != sha256:
        raise DataError(f"{path}: its SHA-256 is not that of the benchmark set; install worldgauge again")
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return {line[:128]: line[128:] for line in file}
