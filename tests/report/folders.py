"""Run folders in the real format, for suites that are made up."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from worldgauge.core.io import dumps
from worldgauge.engine.store import SCHEMA, Journal, RunFolder, atomic_write
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Record, Score, Task, TaskContext


class ToySuite(Suite):
    """A suite whose records are written by hand."""

    version = 1

    def perform(self, task: Task, model: Any, task_context: TaskContext) -> Record:
        raise NotImplementedError

    def score(self, record: Record, task_context: TaskContext) -> list[Score]:
        raise NotImplementedError


def write_folder(
    folder: Path,
    suite: Any,
    model: str,
    answer: Callable[[Path, Task], None],
    *,
    inputs: list[str],
    identity: Mapping[str, Any] | None = None,
    ends: Mapping[str, str] | None = None,
    error: str = "",
    seed: int = 0,
    scored: bool = True,
) -> Path:
    """One run of `model`. answer: writes the record and scores of a task into a folder.

    ends: task id -> "failed" or "skipped" of tasks that were not done, all with `error`. scored: False leaves records
    without scores.
    """
    ends = ends or {}
    tasks = list(suite.tasks(folder))
    folder.mkdir(parents=True)
    run = RunFolder(folder)
    run.create()
    facts = {
        "schema": SCHEMA,
        "suite": suite.name,
        "suite_version": 1,
        "settings": suite.settings,
        "metrics": {},
        "model": {
            "name": model,
            "kind": "baseline" if model in suite.baselines else "model",
            "address": model,
            "inputs": inputs,
            "settings": {},
            "control": "actions",
            "identity": {"name": model, "source": model, **(identity or {})},
        },
        "seed": seed,
        "limit": None,
        "source": "data",
        "data_fingerprint": "d",
        "tasks": len(tasks),
        "task_keys": {task.id: f"k{k}" for k, task in enumerate(tasks)},
        "versions": {"worldgauge": "0.2.0"},
        "platform": {"system": "Linux"},
        "created": "2026-01-01T00:00:00+00:00",
    }
    atomic_write(run.facts_path, dumps(facts) + "\n")
    with Journal(run.journal_path) as journal:
        for k, task in enumerate(tasks):
            status = ends.get(task.id, "done")
            if status == "done":
                place = run.prepare()
                answer(place, task)
                run.commit(place, task.id)
            journal.append(
                {
                    "task": task.id,
                    "key": f"k{k}",
                    "scores": "s" if status == "done" and scored else None,
                    "status": status,
                    "stage": "perform",
                    "error": None if status == "done" else error,
                    "seconds": 0.5,
                }
            )
        run.assemble(task.id for task, line in zip(tasks, journal.lines, strict=True) if line["scores"])
    return folder
