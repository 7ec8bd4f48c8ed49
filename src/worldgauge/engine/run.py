"""Run a suite: plan what is left, ask the subjects, keep records, score them. Start it again and it goes on.

run("loopnav", model="drift?step_m=0.02", data=Path("data"), out=Path("runs/x"), workers=4)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from worldgauge.core.errors import LostError, UsageError
from worldgauge.engine.identity import metric_versions, scoring_settings, task_seed
from worldgauge.engine.journal import read_journal
from worldgauge.engine.manifest import manifest, versions
from worldgauge.engine.plan import Item, open_suite, plan, tasks_of
from worldgauge.engine.result import RunResult, find_runs
from worldgauge.engine.store import RunFolder
from worldgauge.engine.subject_run import SubjectRun, Watch
from worldgauge.engine.subjects import SubjectEntry, asks_of, plain_label
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.task import CALL, LocalContext, attempt, failure_of, outcome_of
from worldgauge.engine.workers.needs import Model, worker_groups
from worldgauge.engine.workers.pool import Job, Pool, check_deadline
from worldgauge.engine.workers.site import open_site
from worldgauge.serving import LOAD_DEADLINE_S

DEADLINE_S = 1800.0
"""Seconds without a frame after which a subject counts as hung."""


@dataclass(frozen=True)
class Plan:
    """What a run would do for one subject; nothing is written. See `Item.todo`."""

    label: str
    directory: Path
    items: tuple[Item, ...]


def run(
    suite: str,
    *,
    model: Model | Sequence[Model],
    data: Path | str,
    out: Path | str | None = None,
    workers: int = 1,
    on: str | None = None,
    gpus_per_worker: float | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    limit: int | None = None,
    deadline_s: float | None = DEADLINE_S,
    retry_failed: bool = True,
    scoring: bool = True,
    labels: Mapping[str, str] | None = None,
    progress: Watch | None = None,
) -> RunResult:
    """Ask one or several models all tasks of a suite; each gets its own run folder `out`/<label>.

    Tasks that the journal has as done with the same identity are not repeated; failed ones are
    tried again unless retry_failed is False. Models given as text run in `workers` processes and
    are killed after deadline_s seconds without a frame, loading not counted; live objects run in this process, one task
    after another, and are only stopped between two chunks. scoring: False only makes the records.
    out: by default runs/<suite>; what workers print goes to its folder logs. labels: of models given as text, where
    another is wanted than their name with its settings.

    on: where the workers are: "local" (this machine), "ray" or "ray://host:port" (a cluster whose nodes
    all see `out` and `data`). Models that declare different `subject.Needs` are asked one group after
    another, by as many workers as there is room for, at most `workers`; gpus_per_worker overrules what
    they declare, and saves a command (cmd:, pipe:) the start in which it says what it needs. A task
    whose worker or model is lost is done again, twice at most.
    Scores do not depend on workers, on where they are, on order or interruptions.

    Raises WorldgaugeError for what makes the whole run impossible; what goes wrong in a task is
    counted in the result.
    """
    check_deadline(deadline_s)
    out = Path("runs") / suite if out is None else Path(out)
    asked = open_suite(suite, settings or {})
    tasks = tasks_of(asked, Path(data), limit)
    with ExitStack() as stack:
        site = stack.enter_context(open_site(on, logs=out / "logs", shared=[out], data=[Path(data)]))
        entrants, groups = worker_groups(_listed(model), site, workers, gpus_per_worker, stack, asks_of(asked))
        works = []
        for entrant in [_labelled(entrant, labels or {}) for entrant in entrants]:
            work = SubjectRun(asked, tasks, entrant, RunFolder(out / entrant.label), seed, stack)
            facts = manifest(asked, tasks, entrant, seed=seed, data=Path(data), limit=limit)
            work.start(facts, scoring=scoring, retry_failed=retry_failed)
            works.append(work)
        turns = [(crew.pool, [works[number] for number in crew.members]) for crew in groups]
        _perform(works, turns, deadline_s, scoring, progress)
    return RunResult([work.folder for work in works], asked)


def dry_run(
    suite: str,
    *,
    model: Model | Sequence[Model],
    data: Path | str,
    out: Path | str | None = None,
    on: str | None = None,
    gpus_per_worker: float | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    limit: int | None = None,
    retry_failed: bool = True,
    scoring: bool = True,
    labels: Mapping[str, str] | None = None,
) -> list[Plan]:
    """What `run` with the same arguments would do; writes nothing."""
    out = Path("runs") / suite if out is None else Path(out)
    asked = open_suite(suite, settings or {})
    tasks = tasks_of(asked, Path(data), limit)
    with ExitStack() as stack:
        site = stack.enter_context(open_site(on, data=[Path(data)]))
        entrants, _ = worker_groups(_listed(model), site, 1, gpus_per_worker, stack, asks_of(asked))
    plans = []
    for entrant in [_labelled(entrant, labels or {}) for entrant in entrants]:
        folder = RunFolder(out / entrant.label)
        journal = read_journal(folder.journal_path)
        items = plan(asked, tasks, entrant.identity, seed, folder, journal, scoring=scoring, retry_failed=retry_failed)
        plans.append(Plan(entrant.label, folder.directory, tuple(items)))
    return plans


def score(
    directories: Path | str | Sequence[Path | str],
    *,
    settings: Mapping[str, Any] | None = None,
    data: Path | str | None = None,
    workers: int = 1,
    on: str | None = None,
    deadline_s: float | None = DEADLINE_S,
    progress: Watch | None = None,
) -> RunResult:
    """Score the records of run folders, again where that is due; the subjects do not run.

    Scores whose settings and metric versions are unchanged stay. settings: only those that the
    suite declares as read by scoring alone. data: where the data set lies now, if it was moved.
    Raises RunError or UsageError when the records are of another suite version, data or settings.
    """
    check_deadline(deadline_s)
    given = [directories] if isinstance(directories, (str, Path)) else list(directories)
    folders = find_runs(Path(one) for one in given)
    names = sorted({folder.facts()["suite"] for folder in folders})
    if len(names) > 1:
        raise UsageError(f"these runs are of the suites {', '.join(names)}; score those of one suite at a time")
    places = list(dict.fromkeys(folder.directory.parent for folder in folders))
    sources = [Path(folder.facts()["source"] if data is None else data).resolve() for folder in folders]
    with ExitStack() as stack:
        site = stack.enter_context(open_site(on, logs=places[0] / "logs", shared=places, data=sources))
        works = []
        for folder, source in zip(folders, sources, strict=True):
            facts = folder.facts()
            suite = _suite_of(facts, settings or {})
            tasks = tasks_of(suite, source, facts["limit"])
            subject = facts["subject"]
            entrant = SubjectEntry(subject["name"], subject["identity"])
            work = SubjectRun(suite, tasks, entrant, folder, facts["seed"], stack)
            work.start(
                {
                    **facts,
                    "settings": dict(suite.settings),
                    "metrics": metric_versions(suite),
                    "source": str(source),
                    "scored_with": versions(),
                },
                asking=False,
            )
            works.append(work)
        pool = stack.enter_context(site.pool(workers))
        _perform(works, [(pool, works)], deadline_s, True, progress)
    return RunResult([work.folder for work in works], works[0].suite)


def _suite_of(facts: Mapping[str, Any], changes: Mapping[str, Any]) -> Suite:
    """The suite of a run, with other scoring settings."""
    allowed = scoring_settings(open_suite(facts["suite"], facts["settings"]))
    for name in changes:
        if name not in allowed:
            raise UsageError(
                f"suite '{facts['suite']}': the setting '{name}' changes what is asked, not only how it is scored; "
                f"use: worldgauge run --set {name}=... (settings of scoring: {', '.join(sorted(allowed)) or 'none'})"
            )
    # Only what differs from the defaults was asked for: a change such as parity=released must not meet the others.
    plain = open_suite(facts["suite"], {}).settings
    asked = {name: value for name, value in facts["settings"].items() if value != plain.get(name)}
    return open_suite(facts["suite"], {**asked, **changes})


def _labelled(entrant: SubjectEntry, labels: Mapping[str, str]) -> SubjectEntry:
    if entrant.text is None or entrant.text not in labels:
        return entrant
    return replace(entrant, label=plain_label(labels[entrant.text]))


def _listed(model: Model | Sequence[Model]) -> list[Model]:
    return list(model) if isinstance(model, (list, tuple)) else [model]  # type: ignore[list-item]


def _perform(
    works: Sequence[SubjectRun],
    turns: Iterable[tuple[Pool, Sequence[SubjectRun]]],
    deadline_s: float | None,
    scoring: bool,
    watch: Watch | None,
) -> None:
    """Do all that is left: by the workers of one pool after another, and live models here; then derive the scores."""
    tell = watch or (lambda step: None)
    for work in works:
        tell(work.step())
    _prepare(works, tell)
    for pool, theirs in turns:
        _perform_named([work for work in theirs if work.entrant.model is None], pool, deadline_s, scoring, tell)
        pool.close()
    for work in works:
        if work.entrant.model is not None:
            _perform_live(work, deadline_s, scoring, tell)
        work.derive_scores()


def _prepare(works: Sequence[SubjectRun], tell: Watch) -> None:
    """Let the suite make what all workers need, where anything is to be asked."""
    tasks = [item.task for work in works for item in work.todo if item.todo == "ask"]
    if tasks:
        works[0].suite.prepare(
            tasks, lambda what, done, of: tell(replace(works[0].step(), task=what, frames=(done, of)))
        )


def _perform_named(
    works: Sequence[SubjectRun], pool: Pool, deadline_s: float | None, scoring: bool, tell: Watch
) -> None:
    handed: dict[str, tuple[SubjectRun, Item, Path]] = {}

    def jobs() -> Iterator[Job]:
        for work in works:
            for item in work.todo:
                folder = work.place(item)
                name = f"{work.entrant.label}/{item.task.id}"
                handed[name] = (work, item, folder)
                arguments = {**work.job(item, folder, scoring), "deadline_s": deadline_s}
                yield Job(name, CALL, arguments, deadline_s, start_s=LOAD_DEADLINE_S)

    def frames(name: str, done: int, total: int) -> None:
        work, item, _ = handed[name]
        tell(work.step(item, frames=(done, total)))

    with closing(pool.run(jobs(), frames)) as results:
        for result in results:
            work, item, folder = handed.pop(result.id)
            outcome = outcome_of(result, folder)
            tell(work.settle(item, folder, outcome, result.seconds, scoring, result.lost))


def _perform_live(work: SubjectRun, deadline_s: float | None, scoring: bool, tell: Watch) -> None:
    for item in work.todo:
        folder = work.place(item)

        def report(done: int, total: int, item: Item = item) -> None:
            tell(work.step(item, frames=(done, total)))

        began = time.monotonic()
        task_context = LocalContext(folder, task_seed(work.seed, item.task.id), report, deadline_s)
        model = work.entrant.model if item.todo == "ask" else None
        wanted = item.score_key if scoring else None
        try:
            outcome = attempt(
                work.suite, item.task, model, work.entrant.label, task_context, key=item.key, score=wanted
            )
        except LostError as error:
            outcome = failure_of(error, "perform")  # the process is its own affair: it was not started here
        tell(work.settle(item, folder, outcome, time.monotonic() - began, scoring))
