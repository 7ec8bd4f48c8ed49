"""One task: ask the subject, keep the record, score it. Every error becomes an outcome."""

from __future__ import annotations

import shutil
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from worldgauge.core.agent import Agent
from worldgauge.core.errors import LostError, NotApplicableError, SubjectError, UsageError
from worldgauge.core.io import loads
from worldgauge.core.model import WorldModel
from worldgauge.engine.plan import import_suite
from worldgauge.engine.store import explain_full_disk, read_record, write_record, write_scores
from worldgauge.engine.subjects import find_served, resolve_cached
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Score, Task
from worldgauge.engine.workers.pool import Result
from worldgauge.engine.workers.worker import Progress, one_line

EXECUTE_TASK = f"{__name__}:execute_task"


@dataclass(frozen=True)
class TaskOutcome:
    """How a task ended.

    Attributes:
        status: "done", "skipped", "failed", or "full" where the disk is full.
        stage: "perform" or "score": in which of the two it ended.
        error: One line, or the reason of a skip.
        kind: Name of the exception.
        trace: Its traceback.
    """

    status: str
    stage: str
    error: str | None = None
    kind: str | None = None
    trace: str | None = None


def outcome_of_job(result: Result, folder: Path) -> TaskOutcome:
    """Outcome of `execute_task`, also where it was killed, died or raised; a record that was whole by then is kept."""
    if result.error is None:
        return TaskOutcome(**result.value)
    if (folder / "record.json").exists():
        return TaskOutcome("failed", "score", f"scoring: {result.error}", result.kind, result.trace)
    return TaskOutcome("failed", "perform", result.error, result.kind, result.trace)


@dataclass
class LocalTaskContext:
    """The engine's `suite.contract.TaskContext`.

    Attributes:
        directory: Folder of the record.
        seed: Of the task.
        report: Called with frames done and in total.
        deadline_s: Seconds between two calls of `progress` after which the later one raises; for subjects that cannot
            be stopped from outside.
    """

    directory: Path
    seed: int
    report: Callable[[int, int], None]
    deadline_s: float | None = None

    def __post_init__(self) -> None:
        self._alive = time.monotonic()

    def progress(self, done: int, total: int) -> None:
        """Called as often as frames come. Raises SubjectError when the last call is too long ago."""
        waited, self._alive = time.monotonic() - self._alive, time.monotonic()
        if self.deadline_s is not None and waited > self.deadline_s:
            raise SubjectError(f"timed out after {self.deadline_s:g} s without progress")
        self.report(done, total)


def execute_task(
    *,
    suite: str,
    home: str,
    settings: str,
    task: str,
    key: str,
    model: str | None,
    label: str,
    seed: int,
    folder: str,
    score: str | None,
    deadline_s: float | None,
    progress: Progress,
) -> dict[str, Any]:
    """Job of the pool: `perform_and_score` with everything made from names. settings, task: JSON of them.

    home: what registers the suite (`plan.locate_suite`): the model may live elsewhere, and is not asked for scores.
    deadline_s: what a served model is told, so that its server gives up as well.

    Raises LostError for the pool to see: the task is then done again.
    """
    task_context = LocalTaskContext(Path(folder), seed, progress)
    if model is not None and (task_context.directory / "record.json").exists():
        model = None  # a lost attempt was lost in scoring: its record is whole, and asking again may cost much
    if model is not None:
        _empty(task_context.directory)
    asked = _open_suite(home, suite, settings)
    subject = None if model is None else resolve_cached(model, asked.subject_kind).model
    if (served := find_served(subject)) is not None:
        served.on_wait = partial(progress, 0, 0)  # in line at a busy server, it is not hung
        if deadline_s is not None:
            served.deadline_s = deadline_s
    progress(0, 0)  # from here the deadline counts: not for imports, nor for loading the model
    outcome = perform_and_score(asked, Task(**loads(task)), subject, label, task_context, key=key, score=score)
    return vars(outcome)


def perform_and_score(
    suite: Suite,
    task: Task,
    model: WorldModel | Agent | None,
    label: str,
    task_context: LocalTaskContext,
    *,
    key: str,
    score: str | None,
) -> TaskOutcome:
    """Ask `model`, then score.

    Args:
        model: Who is asked; None takes the record that lies in the folder of `task_context`.
        label: Of the subject.
        key: `PlannedTask.key`, written into the record.
        score: `PlannedTask.score_key`, written into the scores; None does not score.

    Raises:
        LostError: Every other error becomes the outcome.
    """
    stage = "perform"
    try:
        if model is None:
            record = read_record(task_context.directory, task, key)
        else:
            record = replace(suite.perform(task, model, task_context), subject=label)
            write_record(record, task_context.directory, key=key)
        stage = "score"
        if score is not None:
            write_scores(
                _check_scores(suite.all_scores(record, task_context), task), label, task_context.directory, key=score
            )
    except NotApplicableError as error:
        return TaskOutcome("skipped", stage, one_line(error))
    except LostError:
        raise
    except (Exception, SystemExit) as error:
        return failed_outcome(error, stage)
    return TaskOutcome("done", stage)


def failed_outcome(error: BaseException, stage: str) -> TaskOutcome:
    """Outcome of a task that ended with `error`, which is being handled."""
    if (full := explain_full_disk(error)) is not None:
        return TaskOutcome("full", stage, full)
    text = f"scoring: {one_line(error)}" if stage == "score" else one_line(error)
    return TaskOutcome("failed", stage, text, type(error).__name__, traceback.format_exc())


def _empty(folder: Path) -> None:
    """Remove what a lost attempt has left in the folder of a record."""
    for left in folder.iterdir():
        shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


def _check_scores(scores: list[Score], task: Task) -> list[Score]:
    names = [score.metric for score in scores]
    twice = {name for name in names if names.count(name) > 1}
    other = {score.task for score in scores} - {task.id}
    if twice or other:
        what = f"two scores named '{min(twice)}'" if twice else f"a score of task '{min(other)}'"
        raise UsageError(f"suite '{task.suite}' gave {what} for task '{task.id}'")
    return scores


@lru_cache(maxsize=1)
def _open_suite(home: str, name: str, settings: str) -> Suite:
    return import_suite(home, name, loads(settings))
