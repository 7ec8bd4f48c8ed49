"""Plan a run: compare every task of a suite with the journal to see what is left to do."""

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
        line: Its last journal line, where that is still valid.
    """

    task: Task
    key: str
    score_key: str
    todo: Action
    line: Mapping[str, Any] | None = None


def open_suite(name: str, settings: Mapping[str, Any]) -> Suite:
    """Make the suite with a registered name.

    Args:
        name: Registered name.
        settings: Its settings, plain values.

    Returns:
        The suite.

    Raises:
        UnknownNameError: For an unknown suite or setting.
        UsageError: For settings that the suite does not accept, or something registered that is not a suite.
    """
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
    """Find what a worker has to import to know a suite, which may be registered by a user's module.

    Args:
        name: Registered name.

    Returns:
        A module name or an absolute path, from `locate_module`.

    Raises:
        UsageError: For a suite that is in no file.
    """
    home = locate_module(suites.entry(name).origin.partition(":")[0])
    if home is None:
        raise UsageError(f"suite '{name}' is in no file that workers could import; put it into a module")
    return home


def import_suite(home: str, name: str, settings: Mapping[str, Any]) -> Suite:
    """Import and open a suite in a worker.

    Args:
        home: What registers the suite, from `locate_suite`.
        name: Registered name.
        settings: Its settings, plain values.

    Returns:
        The suite.
    """
    import_located(home, f"suite '{name}'")
    return open_suite(name, settings)


def list_tasks(suite: Suite, data: Path, limit: int | None) -> list[Task]:
    """List the tasks of a data set.

    Args:
        suite: The suite.
        data: Folder of the data set.
        limit: Number of first tasks to take. None for all.

    Returns:
        The tasks, in the order of the suite.

    Raises:
        UsageError: For a limit below 1, ids that clash, or a data set without any task.
    """
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
    """Decide what is left to do for each task.

    Args:
        suite: The suite.
        tasks: The tasks.
        subject: Identity of the subject.
        seed: Seed of the run.
        folder: Folder of the run.
        journal: Last journal line by task id.
        scoring: Whether scores are wanted.
        retry_failed: Whether failed tasks are tried again.

    Returns:
        One entry per task, in the same order.
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
    # The files decide: the run may have been killed between writing a file and its journal line.
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
