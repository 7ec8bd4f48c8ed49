"""The run of one subject: its folder, its journal, the remaining tasks, and how each of them ends."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from worldgauge.core.errors import LostError, RunError
from worldgauge.core.io import dumps
from worldgauge.engine.collection.findings import counted
from worldgauge.engine.identity import task_seed
from worldgauge.engine.journal import Journal
from worldgauge.engine.open_suite import locate_suite
from worldgauge.engine.resume import PlannedTask, is_answer, plan_tasks
from worldgauge.engine.store import RunFolder, atomic_write, scores_key, write_record
from worldgauge.engine.subjects import SubjectEntry
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Record, Task
from worldgauge.engine.task import LocalTaskContext, TaskOutcome, failed_outcome, perform_and_score
from worldgauge.perception.score_device import Means, score_device

PROCESSOR = "cpu"
"""What run.json calls the processor's kernels, beside devices."""


@dataclass(frozen=True)
class RunStep:
    """One step in the progress of a run.

    Attributes:
        subject: Label of the subject.
        finished: Number of its tasks that have ended.
        expected: Number of all its tasks.
        task: Id of the task concerned.
        frames: Frames done and in total, while the task runs.
        status: How the task ended. None while it runs.
        error: Its error, or the reason of a skip.
        lost: Errors of earlier attempts whose worker or model was lost.
        preparing: Whether `task` says what is made for all tasks before the first one.
        note: A line for the user.
    """

    subject: str
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


class SubjectRun:
    """The run of one subject in its folder. This process is the only writer until `stack` closes.

    Args:
        suite: The suite.
        tasks: All tasks of the run.
        entry: The subject.
        folder: Folder of the run.
        seed: Seed of the run.
        stack: Closes the journal at the end.
    """

    def __init__(
        self, suite: Suite, tasks: Sequence[Task], entry: SubjectEntry, folder: RunFolder, seed: int, stack: ExitStack
    ) -> None:
        self.suite = suite
        self.entry = entry
        self.folder = folder
        self.seed = seed
        self.todo: list[PlannedTask] = []
        self.notes: list[str] = []
        self._tasks = tasks
        self._planned: list[PlannedTask] = []
        self._ended = self._reused = self._generated = 0
        self._scoring = True
        self._device: str | None = None
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
        """Clean up after an interrupted run, plan the tasks, and write run.json.

        Without `asking` no model runs: tasks without a record are left out. RunError if no record is left then.
        """
        self._scoring = scoring
        self._device = device
        self.folder.clean()
        journal = self._journal.latest()
        self._planned = plan_tasks(
            self.suite,
            self._tasks,
            self.entry.identity,
            self.seed,
            self.folder,
            journal,
            scoring=scoring,
            retry_failed=retry_failed,
        )
        if not asking:
            self._refuse_other_records(journal)
        self.todo = [
            planned for planned in self._planned if planned.todo == "score" or (planned.todo == "ask" and asking)
        ]
        if self.todo:
            # Derived from another state than the journal will have, should this run be killed.
            self.folder.scores_path.unlink(missing_ok=True)
        if self.folder.facts_path.exists():
            old = self.folder.facts()
            self.notes += self._data_notes(old, facts)
            facts = {**facts, "created": old["created"]}
        self._created = str(facts["created"])
        facts = {**facts, "task_keys": {planned.task.id: planned.key for planned in self._planned}}
        facts.pop("scored_on", None)
        if (devices := self._devices(journal)) - {PROCESSOR}:
            facts["scored_on"] = sorted(devices)
        atomic_write(self.folder.facts_path, dumps(facts, indent=2) + "\n")
        self._reused = sum(is_answer(one.line) and one.todo in ("score", "nothing") for one in self._planned)
        for planned in self._planned:
            if planned.todo == "skip":
                self._append_line(planned, TaskOutcome("skipped", "perform", planned.task.skip), 0.0, scored=False)

    def task_folder(self, planned: PlannedTask) -> Path:
        """Folder in which to work on `planned`: a new one to ask the subject, else the folder of the record."""
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
            "label": self.entry.label,
            "seed": task_seed(self.seed, planned.task.id),
            "folder": str(folder.resolve()),
            "score": planned.score_key if self._scoring else None,
            "threads": threads,
            "device": self._device,
        }

    def perform_live(
        self, planned: PlannedTask, tell: RunWatcher, *, deadline_s: float | None = None, threads: int = 1
    ) -> RunStep:
        """Do what is left of one task in this process, with the live model of `entry`, and keep what came of it.

        What `tell` raises ends the task as failed. `deadline_s` is the longest time between two chunks.
        """
        folder = self.task_folder(planned)

        def report(done: int, total: int) -> None:
            tell(self.progress_step(planned, frames=(done, total)))

        began = time.monotonic()
        means = Means(threads, score_device(self._device))
        seed = task_seed(self.seed, planned.task.id)
        task_context = LocalTaskContext(folder, seed, report, deadline_s, means=means)
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
        before, now = old["task_keys"], {planned.task.id: planned.key for planned in self._planned}
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
        line = {
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
        self._journal.append({**line, **{name: value for name, value in more.items() if value}})
