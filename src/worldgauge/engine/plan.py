"""What is left to do: every task of a suite, compared with the journal of what is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from worldgauge.core.errors import UsageError
from worldgauge.engine.identity import score_key, task_key
from worldgauge.engine.store import RunFolder, check_file_slugs, record_key, scores_key
from worldgauge.engine.suite.base import Suite, suites
from worldgauge.engine.suite.contract import Task
from worldgauge.engine.user_modules import import_located, locate_module

Action = Literal["ask", "score", "skip", "nothing"]


@dataclass(frozen=True)
class PlannedTask:
    """One task of a run, and what is left to do for it.

    Attributes:
        task: The task.
        key: Identity of its record.
        score_key: Identity of its scores.
        todo: "ask" the subject (and score), only "score", note a "skip", or "nothing".
        line: Its last journal line, where that is still true.
    """

    task: Task
    key: str
    score_key: str
    todo: Action
    line: Mapping[str, Any] | None = None


def open_suite(name: str, settings: Mapping[str, Any]) -> Suite:
    """The suite called `name`. Raises UnknownNameError, or UsageError for settings it does not take."""
    kind = suites.get(name)
    if not (isinstance(kind, type) and issubclass(kind, Suite)):
        raise UsageError(f"what is registered as suite '{name}' is no subclass of worldgauge.engine.suite.base.Suite")
    try:
        made = kind(**settings)
    except TypeError as error:
        raise UsageError(f"suite '{name}' does not take the settings {dict(settings)}: {error}") from None
    if made.name != name:  # run folders and workers know it by its own word
        raise UsageError(f"the suite registered as '{name}' calls itself '{made.name}'; give both the same name")
    return made


def locate_suite(name: str) -> str:
    """What a worker imports to know the suite called `name`, which a module of the user's may have registered."""
    home = locate_module(suites.entry(name).origin.partition(":")[0])
    if home is None:
        raise UsageError(f"suite '{name}' is in no file that workers could import; put it into a module")
    return home


def import_suite(home: str, name: str, settings: Mapping[str, Any]) -> Suite:
    """`open_suite` in a worker, which may not have imported what registers the suite (`locate_suite`)."""
    import_located(home, f"suite '{name}'")
    return open_suite(name, settings)


def list_tasks(suite: Suite, data: Path, limit: int | None) -> list[Task]:
    """All tasks, or the first `limit`. Raises UsageError for a bad limit, doubled ids, or no task at all."""
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be at least 1, got {limit}")
    tasks = list(suite.tasks(data))
    if not tasks:
        raise UsageError(f"{data}: holds no task for suite '{suite.name}'")
    try:
        check_file_slugs(task.id for task in tasks)
    except UsageError as error:
        raise UsageError(f"suite '{suite.name}', task ids of {data}: {error}") from None
    return tasks[:limit]


def plan_tasks(
    suite: Suite,
    tasks: Sequence[Task],
    subject: Mapping[str, Any],
    seed: int,
    folder: RunFolder,
    journal: Mapping[str, Mapping[str, Any]],
    *,
    scoring: bool = True,
    retry_failed: bool = True,
) -> list[PlannedTask]:
    """What is left to do for each of `tasks`, in their order.

    Args:
        subject: Its identity.
        journal: Task id -> last journal line.
        scoring: Whether scores are wanted.
        retry_failed: Whether failed tasks are tried again.
    """
    items = []
    for task in tasks:
        key = task_key(suite, task, subject, seed)
        scored = score_key(suite, key)
        line = journal.get(task.id)
        if line is not None and line["key"] != key:
            line = None
        todo = _choose_action(task, key, scored, folder, line, scoring, retry_failed)
        items.append(PlannedTask(task, key, scored, todo, line))
    return items


def _choose_action(
    task: Task,
    key: str,
    scored: str,
    folder: RunFolder,
    line: Mapping[str, Any] | None,
    scoring: bool,
    retry_failed: bool,
) -> Action:
    if task.skip is not None:
        return "nothing" if line is not None and line["error"] == task.skip else "skip"
    if line is None:
        return "ask"
    if line["status"] != "done" and line["stage"] == "perform":
        return "ask" if line["status"] == "failed" and retry_failed else "nothing"
    # The files have the last word: a kill may have come between one of them and its journal line.
    record = folder.record(task.id)
    if record_key(record) != key:
        return "ask"
    if not scoring:
        return "nothing"
    if line["scores"] != scored:
        return "score"
    if line["status"] == "failed":
        return "score" if retry_failed else "nothing"
    return "score" if line["status"] == "done" and scores_key(record) != scored else "nothing"
