"""Run folders in the real format, for suites that are made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from worldgauge.core.io import dumps
from worldgauge.engine.store import SCHEMA, Journal, RunFolder, atomic_write
from worldgauge.engine.suite.contract import Task


def write_folder(
    folder: Path,
    suite: Any,
    subject: str,
    answer: Callable[[Path, Task], None],
    *,
    inputs: list[str],
    identity: Mapping[str, Any] | None = None,
    ends: Mapping[str, str] | None = None,
    error: str = "",
    seed: int = 0,
    scored: bool = True,
) -> Path:
    """One run of `subject`. answer: writes the record and scores of a task into a folder.

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
        "subject": {
            "name": subject,
            "kind": "reference" if subject in suite.references else "subject",
            "model": subject,
            "inputs": inputs,
            "settings": {},
            "control": "actions",
            "identity": {"name": subject, "source": subject, **(identity or {})},
        },
        "seed": seed,
        "limit": None,
        "source": "data",
        "data_fingerprint": "d",
        "tasks": len(tasks),
        "task_keys": {task.id: f"k{k}" for k, task in enumerate(tasks)},
        "versions": {"worldgauge": "0.1.0"},
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
