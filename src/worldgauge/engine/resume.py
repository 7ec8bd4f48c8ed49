"""Resume a run: compare every task with the journal and the files to see what is left to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from worldgauge.engine.identity import RunKeys
from worldgauge.engine.store import RunFolder, record_key, scores_key
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Task

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
    keys = RunKeys(suite, subject, seed)
    for task in tasks:
        key = keys.of_record(task.id, task.fingerprint)
        scored = keys.of_scores(key)
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
