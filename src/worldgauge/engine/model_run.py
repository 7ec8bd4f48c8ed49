"""The run of one model: its folder, its remaining tasks, how one is performed and scored, and how each ends."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from worldgauge.core.agent import Agent
from worldgauge.core.errors import AbandonedError, LostError, ModelError, NotApplicableError, RunError, UsageError
from worldgauge.core.io import dumps, loads
from worldgauge.core.model import Blinding, RolloutRequest, WorldModel
from worldgauge.engine.collection import counted
from worldgauge.engine.coverage import PLANNING
from worldgauge.engine.floor_cache import FloorCache
from worldgauge.engine.model_entries import ModelEntry, find_served, is_built_in, resolve_cached
from worldgauge.engine.open_suite import import_suite, locate_suite
from worldgauge.engine.resume import SHIPPED, PlannedTask, is_answer, plan_tasks, task_seed
from worldgauge.engine.sets import SetPart
from worldgauge.engine.shipped_scores import copy_shipped
from worldgauge.engine.store import (
    Journal,
    RunFolder,
    atomic_write,
    explain_full_disk,
    read_record,
    scores_key,
    write_record,
    write_scores,
)
from worldgauge.engine.suite import decoy
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Record, Score, Stopwatch, Task, TaskContext
from worldgauge.engine.suite.scores import DIGEST, digest_of_metrics
from worldgauge.engine.workers.pool import JobResult
from worldgauge.engine.workers.worker import Progress, one_line, trace_now
from worldgauge.perception.score_device import Means, score_device

EXECUTE_TASK = f"{__name__}:execute_task"


@dataclass(frozen=True)
class TaskOutcome:
    """How a task ended.

    Attributes:
        status: "done", "skipped", "failed", or "full" when the disk is full.
        stage: The stage in which it ended, "perform" or "score".
        speed: From `Stopwatch.plain`. None without a record, or with one of an earlier attempt.
    """

    status: str
    stage: str
    error: str | None = None
    kind: str | None = None
    trace: str | None = None
    speed: dict[str, Any] | None = field(default=None, compare=False)
    notes: int = field(default=0, compare=False)


def outcome_of_job(result: JobResult, folder: Path) -> TaskOutcome:
    """Outcome of an `execute_task` job, even a killed one. If its record is complete, only the scoring has failed."""
    if result.error is None:
        return TaskOutcome(**result.value)
    if (folder / "record.json").exists():
        return TaskOutcome("failed", "score", f"scoring: {result.error}", result.kind, result.trace)
    return TaskOutcome("failed", "perform", result.error, result.kind, result.trace)


@dataclass
class LocalTaskContext:
    """The engine's `TaskContext`. `progress` raises after `deadline_s`, for models that nothing outside can stop."""

    directory: Path
    seed: int
    report: Callable[[int, int], None]
    deadline_s: float | None = None
    means: Means = field(default_factory=Means)
    blinding: Blinding = field(default_factory=Blinding)
    is_built_in: bool = False
    with_decoy: Callable[[RolloutRequest], RolloutRequest] | None = None

    def __post_init__(self) -> None:
        self.speed = Stopwatch(self.blinding)
        self._alive = time.monotonic()

    def progress(self, done: int, total: int) -> None:
        """Report progress. Called after every frame or chunk."""
        waited, self._alive = time.monotonic() - self._alive, time.monotonic()
        if self.deadline_s is not None and waited > self.deadline_s:
            raise ModelError(f"timed out after {self.deadline_s:g} s without progress")
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
    blinding: Mapping[str, Any] | None = None,
    is_built_in: bool = False,
) -> dict[str, Any]:
    """Job of the pool: make everything from names, then call `perform_and_score`.

    `home` is from `locate_suite`. Without `model` it scores the existing record; without `score` it does not score.
    """
    means = Means() if score is None else Means(threads, score_device(device))
    task_context = LocalTaskContext(
        Path(folder), seed, progress, means=means, blinding=Blinding(**(blinding or {})), is_built_in=is_built_in
    )
    if model is not None and (task_context.directory / "record.json").exists():
        model = None  # a lost attempt was lost in scoring: its record is whole, and asking again may cost much
    if model is not None:
        _empty(task_context.directory)
    asked = _open_suite(home, suite, settings)
    found = None if model is None else resolve_cached(model, asked.answerer_kind)
    if found is not None and steady not in ("", found.steady):
        error = ModelError(
            f"model '{label}' has changed since the run began: its code, or a file that its settings name; run again, "
            "and call a setting that names its output log, out or cache"
        )
        return vars(failed_outcome(error, "perform"))
    answerer = None if found is None else found.model
    if (served := find_served(answerer)) is not None:
        served.on_wait = partial(progress, 0, 0)  # in line at a busy server, it is not hung
        if deadline_s is not None:
            served.deadline_s = deadline_s  # its server gives up as well
    stated = loads(settings).get(DIGEST)
    if score is not None and stated is not None and digest_of_metrics(asked.own_metrics, stated) != stated:
        edited = UsageError("a metric of yours was edited since the run began; run again")
        return vars(failed_outcome(edited, "score" if model is None else "perform"))
    progress(0, 0)  # from here the deadline counts: not for imports, nor for loading the model
    outcome = perform_and_score(asked, Task(**loads(task)), answerer, label, task_context, key=key, score=score)
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
    """Run a model or take its record, and score it. Errors become the outcome, except LostError and AbandonedError."""
    stage = "perform"
    try:
        if model is None:
            record = read_record(task_context.directory, task, key)
        else:
            record = replace(decoy.perform(suite, task, model, task_context), model=label)
            if told := task_context.speed.notes:
                record = replace(record, facts={**record.facts, "notes": list(told)})
            write_record(record, task_context.directory, key=key)
        stage = "score"
        if record.facts.get("poses") and not task_context.is_built_in:
            record = replace(record, facts={**record.facts, "poses": None})
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
    scores = decoy.scores(suite, record, task_context)
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


PROCESSOR = "cpu"
"""What run.json calls the processor's kernels, beside devices."""


@dataclass(frozen=True)
class RunStep:
    """One step of a run; `preparing` means that `task` says what is made for all tasks before the first one."""

    model: str
    finished: int
    expected: int
    task: str | None = None
    frames: tuple[int, int] | None = None
    status: str | None = None
    error: str | None = None
    lost: Sequence[str] = ()
    preparing: bool = False
    note: str = ""


RunWatcher = Callable[[RunStep], None]


class ModelRun:
    """The run of one model in its folder. This process is the only writer until `stack` closes."""

    def __init__(
        self, suite: Suite, tasks: Sequence[Task], entry: ModelEntry, folder: RunFolder, seed: int, stack: ExitStack
    ) -> None:
        self.suite = suite
        self.entry = entry
        self.folder = folder
        self.seed = seed
        self.todo: list[PlannedTask] = []
        self.notes: list[str] = []
        self.cache: FloorCache | None = None
        self.shipped: SetPart | None = None
        self.copied = 0
        self._tasks = tasks
        self._planned: list[PlannedTask] = []
        self._ended = self._reused = self._generated = 0
        self._scoring = True
        self._device: str | None = None
        self._blinding = Blinding()
        folder.create()
        self._journal = stack.enter_context(Journal(folder.journal_path))
        stack.callback(folder.clean)

    def start(
        self,
        facts: Mapping[str, Any],
        *,
        asking: bool = True,
        scoring: bool = True,
        retry_failed: bool = True,
        device: str | None = None,
    ) -> None:
        """Clean up, plan, and write run.json. Without `asking` only records count; RunError if there is none."""
        self._scoring = scoring
        self._device = device
        self.folder.clean()
        plan = partial(plan_tasks, self.suite, self._tasks, self.entry.identity, self.seed, self.folder)
        journal = self._journal.latest()
        self._planned = plan(journal, scoring=scoring, retry_failed=retry_failed)
        if self._copy_from_cache():
            journal = self._journal.latest()
            self._planned = plan(journal, scoring=scoring, retry_failed=retry_failed)
        if not asking:
            self._refuse_other_records(journal)
        self.todo = [
            planned for planned in self._planned if planned.todo == "score" or (planned.todo == "ask" and asking)
        ]
        if self.todo:
            # Derived from another state than the journal will have, should this run be killed.
            self.folder.scores_path.unlink(missing_ok=True)
        salt: str | None = secrets.token_hex(16)
        if self.folder.facts_path.exists():
            old = self.folder.facts()
            self.notes += self._data_notes(old, facts)
            facts = {**facts, "created": old["created"]}
            salt = old.get("salt")
            if old["model"].get("unsandboxed"):  # some of its answers were made so
                facts["model"] = {**facts["model"], "unsandboxed": True}
        self._created = str(facts["created"])
        self._blinding = Blinding(salt, self.seed)
        if salt is not None and asking:
            self.todo.sort(key=self._place_of)
        facts = {**facts, **({} if salt is None else {"salt": salt})}
        keys = {planned.task.id: planned.key for planned in self._planned}
        facts = {**facts, "task_keys": {task: key for task, key in keys.items() if not decoy.arm_of(task)}}
        if self.suite.claims_memory:
            facts["decoy_keys"] = {task: key for task, key in keys.items() if decoy.arm_of(task)}
        for name in ("scored_on", SHIPPED):
            facts.pop(name, None)
        if shipped := sum(one.todo == "nothing" and SHIPPED in (one.line or ()) for one in self._planned):
            facts[SHIPPED] = shipped
        if (devices := self._devices(journal)) - {PROCESSOR}:
            facts["scored_on"] = sorted(devices)
        atomic_write(self.folder.facts_path, dumps(facts, indent=2) + "\n")
        self._reused = sum(is_answer(one.line) and one.todo in ("score", "nothing") for one in self._planned)
        self._reused -= self.copied
        for planned in self._planned:
            if planned.todo == "skip":
                self._append_line(planned, TaskOutcome("skipped", PLANNING, planned.task.skip), 0.0, scored=False)

    def _copy_from_cache(self) -> int:
        """Copy what ships with worldgauge or is in the cache of floor results. Returns the number of tasks."""
        if self.folder.facts_path.exists() and "salt" not in self.folder.facts():  # its models got other seeds
            self.cache = self.shipped = None
        part, cache = self.shipped, self.cache
        for planned in self._planned:
            line: Mapping[str, Any] | None = None
            if planned.todo == "ask" and part is not None:
                line = copy_shipped(part, planned, self.entry.label, self.folder)
            if planned.todo == "ask" and cache is not None and line is None:
                line = cache.take(planned, self.folder)
            if line is not None:
                self._journal.append(line)
                self.copied += 1
        return self.copied

    def _place_of(self, planned: PlannedTask) -> str:
        """Where a task stands in the order of a run: a model that counts its requests must not know the task."""
        task = planned.task
        return self._blinding.name(task.cluster or self.suite.cluster_of(task.id, task.group))

    def task_folder(self, planned: PlannedTask) -> Path:
        """Folder in which to work on `planned`: a new one to ask the model, else the folder of the record."""
        return self.folder.prepare() if planned.todo == "ask" else self.folder.record(planned.task.id)

    def job_arguments(self, planned: PlannedTask, folder: Path, threads: int = 1) -> dict[str, Any]:
        """Arguments of `task.execute_task` for `planned`, scored on so many threads."""
        return {
            "suite": self.suite.name,
            "home": locate_suite(self.suite.name),
            "settings": dumps(self.suite.settings),
            "task": dumps(asdict(planned.task)),
            "key": planned.key,
            "model": self.entry.text if planned.todo == "ask" else None,
            "steady": self.entry.steady,
            "is_built_in": is_built_in(self.entry.identity),
            "label": self.entry.label,
            "seed": task_seed(self.seed, planned.task.id),
            "blinding": asdict(self._blinding),
            "folder": str(folder.resolve()),
            "score": planned.score_key if self._scoring else None,
            "threads": threads,
            "device": self._device,
        }

    def perform_live(
        self, planned: PlannedTask, tell: RunWatcher, *, deadline_s: float | None = None, threads: int = 1
    ) -> RunStep:
        """Do what is left of a task in this process, with the live model. What `tell` raises ends it as failed."""
        folder = self.task_folder(planned)

        def report(done: int, total: int) -> None:
            tell(self.progress_step(planned, frames=(done, total)))

        began = time.monotonic()
        means = Means(threads, score_device(self._device))
        seed = task_seed(self.seed, planned.task.id)
        built_in = is_built_in(self.entry.identity)
        task_context = LocalTaskContext(
            folder, seed, report, deadline_s, means=means, blinding=self._blinding, is_built_in=built_in
        )
        model = self.entry.model if planned.todo == "ask" else None
        wanted = planned.score_key if self._scoring else None
        try:
            outcome = perform_and_score(
                self.suite, planned.task, model, self.entry.label, task_context, key=planned.key, score=wanted
            )
        except LostError as error:
            outcome = failed_outcome(error, "perform")  # the process is its own affair: it was not started here
        return self.finish_task(planned, folder, outcome, time.monotonic() - began)

    def finish_task(
        self, planned: PlannedTask, folder: Path, outcome: TaskOutcome, seconds: float, lost: Sequence[str] = ()
    ) -> RunStep:
        """Keep the record of a task that has ended, then write its journal line."""
        if outcome.status == "full":
            raise RunError(outcome.error)
        if planned.todo == "ask":
            if outcome.status == "failed" and outcome.stage == "perform":
                shutil.rmtree(folder, ignore_errors=True)
                folder = self.folder.prepare()
                failure = {"type": outcome.kind, "message": outcome.error, "trace": outcome.trace}
                write_record(Record(planned.task, self.entry.label, folder), folder, failure, key=planned.key)
            if outcome.status == "skipped" and outcome.stage == "perform":
                shutil.rmtree(folder, ignore_errors=True)
            else:
                self.folder.commit(folder, planned.task.id)
        self._append_line(planned, outcome, seconds, scored=self._scoring and outcome.stage == "score", lost=lost)
        self._ended += 1
        self._generated += planned.todo == "ask" and (outcome.status == "done" or outcome.stage == "score")
        return replace(self.progress_step(planned, status=outcome.status, error=outcome.error), lost=lost)

    def progress_step(
        self,
        planned: PlannedTask | None = None,
        *,
        frames: tuple[int, int] | None = None,
        status: str | None = None,
        error: str | None = None,
    ) -> RunStep:
        """The current progress of the run."""
        finished = len(self._planned) - len(self.todo) + self._ended
        task = None if planned is None else planned.task.id
        return RunStep(self.entry.label, finished, len(self._planned), task, frames, status, error)

    def reuse_note(self, hint: str) -> str:
        """How many answers were reused, in a line that ends with `hint`; empty where none was."""
        if not self._reused:
            return ""
        answers = f"{counted(self._reused, 'answer')} from {self._created[:10]}"
        return f"{self.entry.label}: {answers} reused, {self._generated} generated ({hint})"

    def derive_scores(self) -> None:
        """Write scores.jsonl from all records that are done and scored as planned."""
        latest = self._journal.latest()
        scored = []
        for planned in self._planned:
            line = latest.get(planned.task.id)
            if line is not None and line["status"] == "done" and line["scores"] == planned.score_key:
                record = self.folder.record(planned.task.id)
                # Where this run scores, the plan has looked already.
                if not self._scoring and scores_key(record) != planned.score_key:
                    raise RunError(
                        f"{record}: its scores are missing or of other settings; "
                        f"make them again with: worldgauge score {self.folder.directory}"
                    )
                scored.append(planned.task.id)
        self.folder.assemble(scored)

    def _data_notes(self, old: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
        """A line where the data set is another than when the answers in the folder were made."""
        if facts["data_fingerprint"] == old["data_fingerprint"] or facts["limit"] != old.get("limit"):
            return []
        now = {planned.task.id: planned.key for planned in self._planned if not decoy.arm_of(planned.task.id)}
        before = old["task_keys"]
        changed = sum(before[task] != now[task] for task in before.keys() & now.keys())
        told = f"{len(before.keys() - now.keys())} tasks gone, {len(now.keys() - before.keys())} new, {changed} changed"
        return [f"{self.entry.label}: the data set is another than on {old['created'][:10]}: {told}"]

    def _devices(self, journal: Mapping[str, Mapping[str, Any]]) -> set[str]:
        """Where the scores come from that this run has when it is done."""
        anew = {planned.task.id for planned in self.todo}
        kept = {
            line.get("scored_on", PROCESSOR)
            for planned in self._planned
            if planned.task.id not in anew and (line := journal.get(planned.task.id)) is not None and line["scores"]
        }
        return kept | ({self._device or PROCESSOR} if anew and self._scoring else set())

    def _refuse_other_records(self, journal: Mapping[str, Mapping[str, Any]]) -> None:
        where = self.folder.directory
        asked = [planned for planned in self._planned if planned.todo == "ask"]
        other = [planned.task.id for planned in asked if planned.line is None and planned.task.id in journal]
        lost = [
            planned.task.id
            for planned in asked
            if planned.line is not None and (planned.line["status"], planned.line["stage"]) != ("failed", "perform")
        ]
        if lost:
            raise RunError(
                f"{where}: {counted(len(lost), 'record')} lost or damaged (first: {lost[0]}); "
                "make them again with: worldgauge run"
            )
        if other:
            raise RunError(
                f"{where}: {counted(len(other), 'record')} (first: {other[0]}) made with another version of the suite, "
                "other data or another seed; make them again with: worldgauge run"
            )
        if not any(line["status"] == "done" or line["stage"] == "score" for line in journal.values()):
            raise RunError(f"{where}: holds no record to score; make some with: worldgauge run")

    def _append_line(
        self, planned: PlannedTask, outcome: TaskOutcome, seconds: float, *, scored: bool, lost: Sequence[str] = ()
    ) -> None:
        """Append one journal line."""
        line: dict[str, Any] = {
            "task": planned.task.id,
            "key": planned.key,
            "scores": planned.score_key if scored else None,
            "status": outcome.status,
            "stage": outcome.stage,
            "error": outcome.error,
            "seconds": round(seconds, 3),
        }
        # Of an older record, what was measured when it was made.
        of_answers = {"speed": outcome.speed, "notes": outcome.notes} if planned.todo == "ask" else (planned.line or {})
        more = {"speed": of_answers.get("speed"), "notes": of_answers.get("notes"), "lost": list(lost)}
        more["scored_on"] = self._device if scored else None
        line |= {name: value for name, value in more.items() if value}
        self._journal.append(line)
        if self.cache is not None and line["status"] == "done" and scored and self._device is None:
            self.cache.keep(planned, self.folder, line)
