"""Tasks: one per row of the data set; and how a task finds its row and its build again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError
from worldgauge.engine.suite.contract import Task
from worldgauge.engine.suite.task_data import TaskData
from worldgauge.suites.build import format as build
from worldgauge.suites.build.format import BuildSet, BuildTask
from worldgauge.suites.build.kinds import KINDS
from worldgauge.suites.build.settings import SUITE, BuildSettings
from worldgauge.worlds.blocks.blueprint import Blueprint, tier_of


def tasks(source: Path, settings: BuildSettings) -> Iterator[Task]:
    """Yield all tasks of a data folder, kind by kind.

    Rows that cannot be used become tasks that fail with their reason.

    Args:
        source: Folder of the data set.
        settings: Settings of the run.

    Raises:
        DataError: If the folder holds none.
    """
    folder = str(Path(source).resolve())
    data = build.load(Path(folder))
    kinds = KINDS if settings.task is None else (settings.task,)
    found = 0
    for kind in kinds:
        for fault in data.faults:
            if fault.kind == kind:
                found += 1
                sample = {"source": folder, "kind": kind, "broken": fault.text}
                yield Task(SUITE, f"{kind}/{fault.id}", sample, fault.text, {"task": kind})
        for row in data.tasks.get(kind, ()):
            found += 1
            yield Task(
                suite=SUITE,
                id=f"{kind}/{row.id}",
                sample={"source": folder, "kind": kind, "row": row.id},
                fingerprint=build.fingerprint_of(row, data),
                group={"task": kind, **_group(row, data)},
                cluster=_cluster(row),
            )
    if not found:
        raise DataError(
            f"{source}: no tasks of {' or '.join(kinds)}; make some with: worldgauge collect build --out DIR"
        )


def cluster_of(task: str) -> str:
    """The structure that a task is about, as far as its id tells; the task itself for questions.

    Args:
        task: Id of the task.
    """
    found = _STRUCTURE.search(task)
    return f"AR_{found[1]}" if found else task


_STRUCTURE = re.compile(r"TSK_(?:SP|SU|CR)_(\d+)")
_STIMULUS = re.compile(r"MR\d+(?=_)")


def row_of(task: Task) -> BuildTask:
    """Return the row of a task.

    Raises:
        DataError: If it is invalid or missing.
    """
    if task.sample.get("broken"):
        raise DataError(f"{task.id}: {task.sample['broken']}")
    return _rows(task)[0]


def truth_of(task: Task) -> Blueprint | None:
    """Return the build that a task is about; None for questions."""
    row = row_of(task)
    if row.architecture is None:
        return None
    known = _rows(task)[1].architectures
    return known[row.architecture].blueprint if row.architecture in known else None


def _cluster(row: BuildTask) -> str:
    """The structure to be built, or the stimulus of a rotation question; empty where there is none."""
    stimulus = _STIMULUS.match(row.metadata or "")
    return row.architecture or (stimulus[0] if stimulus else "")


def _read(source: Path, _: str) -> dict[str, tuple[BuildTask, BuildSet]]:
    data = build.load(source)
    return {f"{kind}/{row.id}": (row, data) for kind, rows in data.tasks.items() for row in rows}


_rows = TaskData(_read, lambda found: build.fingerprint_of(*found))


def _group(row: BuildTask, data: BuildSet) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if row.variant:
        found["variant"] = row.variant
    if row.difficulty is not None:
        found["tier"] = tier_of(row.difficulty)
    known = data.architectures.get(row.architecture or "")
    if known is not None and known.type:
        found["type"] = known.type
    return found
