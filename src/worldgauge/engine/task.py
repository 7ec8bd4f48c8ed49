"""Perform and score one task. Every error becomes an outcome."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from worldgauge.core.agent import Agent
from worldgauge.core.errors import AbandonedError, LostError, NotApplicableError, SubjectError, UsageError
from worldgauge.core.io import loads
from worldgauge.core.model import WorldModel
from worldgauge.engine.open_suite import import_suite
from worldgauge.engine.store import explain_full_disk, read_record, write_record, write_scores
from worldgauge.engine.subjects import find_served, resolve_cached
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Record, Score, Task, TaskContext
from worldgauge.engine.suite.own_metrics import DIGEST, digest_of_metrics
from worldgauge.engine.suite.speed import Stopwatch
from worldgauge.engine.workers.pool import Result
from worldgauge.engine.workers.worker import Progress, one_line, trace_now
from worldgauge.perception.score_device import Means, score_device

EXECUTE_TASK = f"{__name__}:execute_task"


@dataclass(frozen=True)
class TaskOutcome:
    """How a task ended.

    Attributes:
        status: "done", "skipped", "failed", or "full" where the disk is full.
        stage: The stage in which it ended, "perform" or "score".
        error: The error in one line, or the reason of a skip.
        kind: Name of the exception.
        trace: Traceback of the exception.
        speed: What `Stopwatch.plain` says of the answers. None where there is no record, or it was made before.
            Outcomes that differ in it alone are equal.
        notes: Number of things that the model told about its answers; they stand in the record.
    """

    status: str
    stage: str
    error: str | None = None
    kind: str | None = None
    trace: str | None = None
    speed: dict[str, Any] | None = field(default=None, compare=False)
    notes: int = field(default=0, compare=False)


def outcome_of_job(result: Result, folder: Path) -> TaskOutcome:
    """Outcome of an `execute_task` job, also where the job was killed, died or raised.

    A record that was complete by then is kept: only the scoring counts as failed.
    """
    if result.error is None:
        return TaskOutcome(**result.value)
    if (folder / "record.json").exists():
        return TaskOutcome("failed", "score", f"scoring: {result.error}", result.kind, result.trace)
    return TaskOutcome("failed", "perform", result.error, result.kind, result.trace)


@dataclass
class LocalTaskContext:
    """The engine's implementation of `suite.contract.TaskContext`.

    Attributes:
        directory: Folder of the record.
        seed: Seed of the task.
        report: Called with the number of frames done and the total.
        deadline_s: Longest time in seconds between two calls of `progress`; the later call then raises. For subjects
            that cannot be stopped from outside. None for no limit.
        speed: Measures the answers of the model.
        means: What scores are computed with.
    """

    directory: Path
    seed: int
    report: Callable[[int, int], None]
    deadline_s: float | None = None
    speed: Stopwatch = field(default_factory=Stopwatch)
    means: Means = field(default_factory=Means)

    def __post_init__(self) -> None:
        self._alive = time.monotonic()

    def progress(self, done: int, total: int) -> None:
        """Report progress. Called after every frame or chunk."""
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
    threads: int = 1,
    device: str | None = None,
    steady: str = "",
) -> dict[str, Any]:
    """Job of the pool: make everything from names, then call `perform_and_score`.

    `home` registers the suite (`open_suite.locate_suite`). Without `model` the existing record is scored, without
    `score` it is not. A served model gets `deadline_s` too, so that its server gives up as well. `steady` is that of
    the model when the run began; empty for any. The pool repeats a task that ends with LostError.
    """
    means = Means() if score is None else Means(threads, score_device(device))
    task_context = LocalTaskContext(Path(folder), seed, progress, means=means)
    if model is not None and (task_context.directory / "record.json").exists():
        model = None  # a lost attempt was lost in scoring: its record is whole, and asking again may cost much
    if model is not None:
        _empty(task_context.directory)
    asked = _open_suite(home, suite, settings)
    found = None if model is None else resolve_cached(model, asked.subject_kind)
    if found is not None and steady not in ("", found.steady):
        error = SubjectError(
            f"model '{label}' has changed since the run began: its code, or a file that its settings name; run again, "
            "and call a setting that names its output log, out or cache"
        )
        return vars(failed_outcome(error, "perform"))
    subject = None if found is None else found.model
    if (served := find_served(subject)) is not None:
        served.on_wait = partial(progress, 0, 0)  # in line at a busy server, it is not hung
        if deadline_s is not None:
            served.deadline_s = deadline_s
    stated = loads(settings).get(DIGEST)
    if score is not None and stated is not None and digest_of_metrics(asked.own_metrics, stated) != stated:
        edited = UsageError("a metric of yours was edited since the run began; run again")
        return vars(failed_outcome(edited, "score" if model is None else "perform"))
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
    """Run a model, or take the record that is there if `model` is None, and score it if `score` is its key.

    Every error becomes part of the outcome, except LostError (the model) and AbandonedError (a person).
    """
    stage = "perform"
    try:
        if model is None:
            record = read_record(task_context.directory, task, key)
        else:
            record = replace(suite.perform(task, model, task_context), subject=label)
            if told := task_context.speed.notes:
                record = replace(record, facts={**record.facts, "notes": list(told)})
            write_record(record, task_context.directory, key=key)
        stage = "score"
        if score is not None:
            write_scores(_finished_scores(suite, record, task_context), label, task_context.directory, key=score)
    except NotApplicableError as error:
        outcome = TaskOutcome("skipped", stage, one_line(error))
    except (LostError, AbandonedError):
        raise
    except (Exception, SystemExit) as error:
        outcome = failed_outcome(error, stage)
    else:
        outcome = TaskOutcome("done", stage)
    if stage == "perform":
        return outcome
    return replace(outcome, speed=task_context.speed.plain(), notes=len(task_context.speed.notes))


def failed_outcome(error: BaseException, stage: str) -> TaskOutcome:
    """Outcome of a task that ended with an error. Call it while the error is being handled."""
    if (full := explain_full_disk(error)) is not None:
        return TaskOutcome("full", stage, full)
    text = f"scoring: {one_line(error)}" if stage == "score" else one_line(error)
    return TaskOutcome("failed", stage, text, type(error).__name__, trace_now())


def _empty(folder: Path) -> None:
    """Remove what a lost attempt has left in the folder of a record."""
    for left in folder.iterdir():
        shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


def _finished_scores(suite: Suite, record: Record, task_context: TaskContext) -> list[Score]:
    """The scores of a record, checked, with the cluster of its task."""
    task = record.task
    scores = suite.all_scores(record, task_context)
    names = [score.metric for score in scores]
    twice = {name for name in names if names.count(name) > 1}
    other = {score.task for score in scores} - {task.id}
    if twice or other:
        what = f"two scores named '{min(twice)}'" if twice else f"a score of task '{min(other)}'"
        raise UsageError(f"suite '{task.suite}' gave {what} for task '{task.id}'")
    cluster = task.cluster or suite.cluster_of(task.id, task.group)
    return [replace(score, cluster=cluster) for score in scores]


@lru_cache(maxsize=1)
def _open_suite(home: str, name: str, settings: str) -> Suite:
    return import_suite(home, name, loads(settings))
