"""What is to be done: every task of a suite, compared with what the journal says is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from worldgauge.engine.identity import score_key, task_key
from worldgauge.engine.store import RunFolder, check_slugs
from worldgauge.errors import UsageError
from worldgauge.suites import suites
from worldgauge.suites.contract import Suite, Task

Todo = Literal["ask", "score", "skip", "nothing"]


@dataclass(frozen=True)
class Item:
    """One task of a plan. todo: "ask" the subject (and score), only "score", note a "skip", or "nothing"."""

    task: Task
    key: str
    score_key: str
    todo: Todo


def open_suite(name: str, settings: Mapping[str, Any]) -> Suite:
    """The suite called `name`. Raises UnknownNameError, or UsageError for settings it does not take."""
    factory = suites.get(name)
    try:
        return factory(**settings)
    except TypeError as error:
        raise UsageError(f"suite '{name}' does not take the settings {dict(settings)}: {error}") from None


def tasks_of(suite: Suite, data: Path, limit: int | None) -> list[Task]:
    """All tasks, or the first `limit`. Raises UsageError for a bad limit, doubled ids, or no task at all."""
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be at least 1, got {limit}")
    tasks = list(suite.tasks(data))
    if not tasks:
        raise UsageError(f"{data}: holds no task for suite '{suite.name}'")
    try:
        check_slugs(task.id for task in tasks)
    except UsageError as error:
        raise UsageError(f"suite '{suite.name}', task ids of {data}: {error}") from None
    return tasks[:limit]


def plan(
    suite: Suite,
    tasks: Sequence[Task],
    subject: Mapping[str, Any],
    seed: int,
    folder: RunFolder,
    journal: Mapping[str, Mapping[str, Any]],
    *,
    scoring: bool = True,
    retry_failed: bool = True,
) -> list[Item]:
    """One item a task, in order. subject: its identity. journal: last line of every task."""
    items = []
    for task in tasks:
        key = task_key(suite, task, subject, seed)
        scored = score_key(suite, key)
        todo = _todo(task, key, scored, folder, journal.get(task.id), scoring, retry_failed)
        items.append(Item(task, key, scored, todo))
    return items


def _todo(
    task: Task,
    key: str,
    scored: str,
    folder: RunFolder,
    line: Mapping[str, Any] | None,
    scoring: bool,
    retry_failed: bool,
) -> Todo:
    known = line is not None and line["key"] == key
    if task.skip is not None:
        return "nothing" if known and line is not None and line["error"] == task.skip else "skip"
    if line is None or not known:
        return "ask"
    if line["status"] == "skipped":
        return "nothing"
    if line["status"] == "failed":
        if line["stage"] == "perform":
            return "ask" if retry_failed else "nothing"
        return "score" if scoring and (retry_failed or line["scores"] != scored) else "nothing"
    if not (folder.record(task.id) / "record.json").exists():
        return "ask"
    if scoring and (line["scores"] != scored or not (folder.record(task.id) / "scores.json").exists()):
        return "score"
    return "nothing"
