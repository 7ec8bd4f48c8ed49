"""One subject's run while it is worked on: its folder, its journal, what is left, and how each task ends."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from worldgauge.core.errors import RunError
from worldgauge.core.io import dumps
from worldgauge.engine.identity import task_seed
from worldgauge.engine.journal import Journal
from worldgauge.engine.plan import Item, home_of_suite, plan
from worldgauge.engine.store import RunFolder, atomic_write, scores_key, write_record
from worldgauge.engine.subjects import SubjectEntry
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Record, Task
from worldgauge.engine.task import Outcome


@dataclass(frozen=True)
class Step:
    """News of a run, for whoever shows it.

    finished, expected: tasks of `subject`. frames: (done, total) of `task` while it runs.
    status: set when the task has ended, with its error or the reason of a skip. lost: errors of attempts before it,
    whose worker or model was lost.
    """

    subject: str
    finished: int
    expected: int
    task: str | None = None
    frames: tuple[int, int] | None = None
    status: str | None = None
    error: str | None = None
    lost: Sequence[str] = ()


Watch = Callable[[Step], None]


class SubjectRun:
    """The run of `entrant` on `tasks` in `folder`; this process is its only writer until `stack` closes."""

    def __init__(
        self, suite: Suite, tasks: Sequence[Task], entrant: SubjectEntry, folder: RunFolder, seed: int, stack: ExitStack
    ) -> None:
        self.suite = suite
        self.entrant = entrant
        self.folder = folder
        self.seed = seed
        self.todo: list[Item] = []
        self._tasks = tasks
        self._items: list[Item] = []
        self._ended = 0
        self._scoring = True
        folder.create()
        self._journal = stack.enter_context(Journal(folder.journal_path))
        stack.callback(folder.clean)

    def start(
        self, facts: Mapping[str, Any], *, asking: bool = True, scoring: bool = True, retry_failed: bool = True
    ) -> None:
        """Clean up after a kill, plan, and write run.json (facts: see `manifest`).

        asking: False leaves out tasks without a record. Raises RunError when then none is left, or
        when records are of something else than what was planned.
        """
        self._scoring = scoring
        self.folder.clean()
        journal = self._journal.latest()
        self._items = plan(
            self.suite,
            self._tasks,
            self.entrant.identity,
            self.seed,
            self.folder,
            journal,
            scoring=scoring,
            retry_failed=retry_failed,
        )
        if not asking:
            self._refuse_other_records(journal)
        self.todo = [item for item in self._items if item.todo == "score" or (item.todo == "ask" and asking)]
        if self.todo:
            # Derived from another state than the journal will have, should this run be killed.
            self.folder.scores_path.unlink(missing_ok=True)
        if self.folder.facts_path.exists():
            facts = {**facts, "created": self.folder.facts()["created"]}
        facts = {**facts, "task_keys": {item.task.id: item.key for item in self._items}}
        atomic_write(self.folder.facts_path, dumps(facts, indent=2) + "\n")
        for item in self._items:
            if item.todo == "skip":
                self._note(item, Outcome("skipped", "perform", item.task.skip), 0.0, scored=False)

    def place(self, item: Item) -> Path:
        """Folder in which `item` is to be worked on."""
        return self.folder.prepare() if item.todo == "ask" else self.folder.record(item.task.id)

    def job(self, item: Item, folder: Path, scoring: bool) -> dict[str, Any]:
        """Arguments of `task.work` for `item`."""
        return {
            "suite": self.suite.name,
            "home": home_of_suite(self.suite.name),
            "settings": dumps(self.suite.settings),
            "task": dumps(asdict(item.task)),
            "key": item.key,
            "model": self.entrant.text if item.todo == "ask" else None,
            "label": self.entrant.label,
            "seed": task_seed(self.seed, item.task.id),
            "folder": str(folder.resolve()),
            "score": item.score_key if scoring else None,
        }

    def settle(
        self,
        item: Item,
        folder: Path,
        outcome: Outcome,
        seconds: float,
        scoring: bool,
        lost: Sequence[str] = (),
    ) -> Step:
        """Keep the record of a task that has ended, then note it in the journal.

        seconds, lost: of the last attempt, and errors of those before it. Raises RunError on a full disk.
        """
        if outcome.status == "full":
            raise RunError(outcome.error)
        if item.todo == "ask":
            if outcome.status == "failed" and outcome.stage == "perform":
                shutil.rmtree(folder, ignore_errors=True)
                folder = self.folder.prepare()
                failure = {"type": outcome.kind, "message": outcome.error, "trace": outcome.trace}
                write_record(Record(item.task, self.entrant.label, folder), folder, failure, key=item.key)
            if outcome.status == "skipped" and outcome.stage == "perform":
                shutil.rmtree(folder, ignore_errors=True)
            else:
                self.folder.commit(folder, item.task.id)
        self._note(item, outcome, seconds, scored=scoring and outcome.stage == "score", lost=lost)
        self._ended += 1
        return replace(self.step(item, status=outcome.status, error=outcome.error), lost=lost)

    def step(
        self,
        item: Item | None = None,
        *,
        frames: tuple[int, int] | None = None,
        status: str | None = None,
        error: str | None = None,
    ) -> Step:
        """Where the run stands."""
        finished = len(self._items) - len(self.todo) + self._ended
        task = None if item is None else item.task.id
        return Step(self.entrant.label, finished, len(self._items), task, frames, status, error)

    def derive_scores(self) -> None:
        """Write scores.jsonl from the records that are done and scored as planned.

        Raises RunError when scores on disk are not those that the journal says.
        """
        latest = self._journal.latest()
        scored = []
        for item in self._items:
            line = latest.get(item.task.id)
            if line is not None and line["status"] == "done" and line["scores"] == item.score_key:
                record = self.folder.record(item.task.id)
                # Where this run scores, the plan has looked already.
                if not self._scoring and scores_key(record) != item.score_key:
                    raise RunError(
                        f"{record}: its scores are missing or of other settings; "
                        f"make them anew with: worldgauge score {self.folder.directory}"
                    )
                scored.append(item.task.id)
        self.folder.assemble(scored)

    def _refuse_other_records(self, journal: Mapping[str, Mapping[str, Any]]) -> None:
        where = self.folder.directory
        asked = [item for item in self._items if item.todo == "ask"]
        other = [item.task.id for item in asked if item.line is None and item.task.id in journal]
        lost = [
            item.task.id
            for item in asked
            if item.line is not None and (item.line["status"], item.line["stage"]) != ("failed", "perform")
        ]
        if lost:
            raise RunError(
                f"{where}: {len(lost)} records (first: {lost[0]}) are lost or damaged; "
                "make them anew with: worldgauge run"
            )
        if other:
            raise RunError(
                f"{where}: {len(other)} records (first: {other[0]}) were made with another version of the suite, "
                "other data or another seed; make them anew with: worldgauge run"
            )
        if not any(line["status"] == "done" or line["stage"] == "score" for line in journal.values()):
            raise RunError(f"{where}: holds no record to score; make some with: worldgauge run")

    def _note(self, item: Item, outcome: Outcome, seconds: float, *, scored: bool, lost: Sequence[str] = ()) -> None:
        """One journal line. scored: whether scoring was tried, so that it is tried again only when that changes."""
        line = {
            "task": item.task.id,
            "key": item.key,
            "scores": item.score_key if scored else None,
            "status": outcome.status,
            "stage": outcome.stage,
            "error": outcome.error,
            "seconds": round(seconds, 3),
        }
        self._journal.append({**line, "lost": list(lost)} if lost else line)
