"""Run a suite: plan what is left, ask the models, keep the records and score them. A stopped run can be continued.

run("loopnav", model="drift?step_m=0.02", data=Path("data"), out=Path("runs/x"), workers=4)
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from worldgauge.core.agent import Agent
from worldgauge.core.errors import RunError, UsageError
from worldgauge.core.io import digest_of, dumps
from worldgauge.core.model import Needs, WorldModel
from worldgauge.core.paired_tests import Power, power_of
from worldgauge.engine.floor_cache import FloorCache
from worldgauge.engine.model_entries import (
    ModelEntry,
    find_factory,
    find_served,
    live_entry,
    resolve_cached,
    resolve_entries,
    run_label,
)
from worldgauge.engine.model_run import EXECUTE_TASK, PROCESSOR, ModelRun, RunStep, RunWatcher, outcome_of_job
from worldgauge.engine.open_suite import clusters_of, list_arms, list_tasks, open_suite, suite_name, tasks_of_run
from worldgauge.engine.result import RunResult, Runs, find_runs, matched_baselines
from worldgauge.engine.resume import (
    LIVE,
    PlannedTask,
    continued_folder,
    keys_of,
    metric_versions,
    plan_tasks,
    scoring_settings,
    settle_folder,
)
from worldgauge.engine.run_manifest import describe_model, describe_run, installed_versions
from worldgauge.engine.sets import membership
from worldgauge.engine.shipped_scores import find_shipped, shipped_part
from worldgauge.engine.store import RunFolder, check_file_slugs, read_journal
from worldgauge.engine.suite.base import ActedSuite, AnswererKind, Suite, acted_by
from worldgauge.engine.suite.contract import Task
from worldgauge.engine.suite.decoy import arms_for, cost_of, is_tested
from worldgauge.engine.suite.scores import pairs_with_models
from worldgauge.engine.workers.pool import Job, Pool, check_deadline
from worldgauge.engine.workers.site import Site, cores_here, open_site
from worldgauge.engine.workers.worker import Progress
from worldgauge.models.address import ModelAddress
from worldgauge.perception.score_device import MOST_THREADS, check_score_device
from worldgauge.serving import LOAD_DEADLINE_S

AnyModel = ModelAddress | WorldModel | Agent
"""A model or an agent: its address, or a live object."""


@dataclass(frozen=True)
class WorkerGroup:
    """A pool, and the positions of the models, as given, that run in its workers."""

    pool: Pool
    members: tuple[int, ...]


def worker_groups(
    models: Sequence[AnyModel],
    site: Site,
    workers: int,
    gpus: float | None,
    stack: ExitStack,
    kind: AnswererKind = "model",
) -> tuple[list[ModelEntry], list[WorkerGroup]]:
    """The entries of models in their order, and the groups of workers in which they run. `stack` ends the pools."""
    plain = stack.enter_context(site.pool(workers))
    needs = _declared_by(models, plain, gpus, kind)
    entries: dict[int, ModelEntry] = {}
    made = []
    groups = list(dict.fromkeys(needs)) or [Needs()]
    # Where there are several, one group after another has the machine: workers end, and start when it is their turn.
    if groups != [Needs()]:
        plain.close()
    for group in groups:
        members = tuple(number for number, its in enumerate(needs) if its == group)
        who = next((_called(models[n], kind) for n in members), f"a {kind}")
        pool = plain if group == Needs() else stack.enter_context(site.pool(workers, group, who))
        # In a worker of its own group: making a model may load its weights onto a GPU.
        entries.update(zip(members, resolve_entries([models[number] for number in members], pool, kind), strict=True))
        made.append(WorkerGroup(pool, members))
        if len(groups) > 1:
            pool.close()
    ordered = [entries[number] for number in range(len(models))]
    _check_labels(ordered)
    return ordered, made


def entries_here(models: Sequence[AnyModel], stack: ExitStack, kind: AnswererKind = "model") -> list[ModelEntry]:
    """The entries of models that all run in this process. `stack` ends served models that are made here."""
    entries = []
    for one in models:
        entry = live_entry(one, kind)
        if entry.text is not None and (served := find_served(entry.model)) is not None:
            stack.callback(served.close)
        entries.append(entry)
    _check_labels(entries)
    return entries


def declared_needs_job(*, text: str, kind: AnswererKind, progress: Progress) -> dict[str, Any]:
    """Job of the pool: the needs that a model declares. Only a command is started for that; others are imported."""
    address = ModelAddress.parse(text, kind)
    made = resolve_cached(text).model if address.is_served else find_factory(address.target, kind)[0]
    return asdict(Needs.of(made))


def _called(model: AnyModel, kind: AnswererKind = "model") -> str:
    """A model in a message."""
    return f"{kind} '{model.text if isinstance(model, ModelAddress) else model}'"


def _declared_by(models: Sequence[AnyModel], pool: Pool, gpus: float | None, kind: AnswererKind) -> list[Needs]:
    """Needs of each model. Live models, which are loaded already, and those behind http: get the default.

    With `gpus` a command is not started here, since it may fail if it sees no GPU.
    """
    asked = dict.fromkeys(
        one.text
        for one in models
        if isinstance(one, ModelAddress) and (not one.is_served or (gpus is None and not one.target.startswith("http")))
    )
    found = {}
    call = f"{__name__}:declared_needs_job"
    for result in pool.run(Job(text, call, {"text": text, "kind": kind}, LOAD_DEADLINE_S) for text in asked):
        result.raise_for(result.id)
        found[result.id] = Needs(**result.value)
    return [
        checked_needs(found.get(one.text, Needs()), _called(one), gpus) if isinstance(one, ModelAddress) else Needs()
        for one in models
    ]


def fingerprint(identity: Mapping[str, Any]) -> str:
    """Digest of everything that a model's output depends on."""
    return digest_of(dumps(identity))


def checked_needs(needs: Needs, who: str, gpus: float | None) -> Needs:
    """Needs with `gpus` GPUs, if given. Raises UsageError for fewer than none, or more than one and a part."""
    needs = needs if gpus is None else replace(needs, gpus=gpus)
    if not 0 <= needs.gpus < float("inf") or (needs.gpus > 1 and needs.gpus % 1):
        raise UsageError(f"{who} needs {needs.gpus:g} GPUs; give a share of one, such as 0.5, or whole ones")
    return needs


def _check_labels(entries: Sequence[ModelEntry]) -> None:
    try:
        check_file_slugs(entry.label for entry in entries)
    except UsageError as error:
        raise UsageError(f"two models have the same label: {error}; rename one in its ModelSpec") from None


ModelLike = str | WorldModel | Agent
DEADLINE_S = 1800.0
"""Seconds without a frame after which a model is considered hung."""


@dataclass(frozen=True)
class RunRequest:
    """What is run, and how: one value from the command line or from `run`, whose arguments these are."""

    suite: str
    _: KW_ONLY
    models: tuple[ModelLike, ...] = ()
    data: Path
    out: Path
    workers: int = 1
    on: str | None = None
    gpus_per_worker: float | None = None
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    limit: int | str | None = None
    step: int | None = None
    deadline_s: float | None = DEADLINE_S
    retry_failed: bool = True
    fresh: bool = False
    scoring: bool = True
    score_device: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    matched_baselines: bool = False
    only: Collection[str] = ()  # ids of the tasks that `limit` chooses from; empty for all
    stand_in: str | None = None  # one of `models`, which takes the part of the user's
    fingerprints: Mapping[str, str] = field(default_factory=dict)  # `fingerprint` by label that models must have


@dataclass(frozen=True)
class RunPlan:
    """What a run would do for one model.

    Attributes:
        power: What the tests of all planned models together can find.
        cached: Number of tasks whose scores would be copied: they ship with worldgauge, or are in the cache.
    """

    label: str
    directory: Path
    items: tuple[PlannedTask, ...]
    power: Power
    cached: int = 0


def run(
    suite: str,
    *,
    model: ModelLike | Sequence[ModelLike],
    data: str | os.PathLike[str],
    out: Path | str | None = None,
    workers: int = 1,
    on: str | None = None,
    gpus_per_worker: float | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    limit: int | str | None = None,
    step: int | None = None,
    deadline_s: float | None = DEADLINE_S,
    retry_failed: bool = True,
    fresh: bool = False,
    scoring: bool = True,
    score_device: str | None = None,
    labels: Mapping[str, str] | None = None,
    matched_baselines: bool = False,
    progress: RunWatcher | None = None,
) -> RunResult:
    """Run one or several models on all tasks of a suite, and score what they generate.

    Each model gets its own run folder `out`/<label>. Tasks that are done with the same cache key are not repeated,
    unless the model is a live object whose settings state no "digest". Records with another key stay in a folder
    beside it, `out`/<label>.1.
    A task whose worker or model is lost is repeated, at most twice. Scores do not depend on the number of workers, on
    where they run, on the order of tasks, or on interruptions.

    Args:
        suite: Name, such as "loopnav", or "./file.py:Class" or "package.module:Class".
        model: A model or agent, or several: live objects, or text such as "drift?step_m=0.02" or "./wm.py:MyModel".
            Models that are named by text run in `workers` processes. A live object runs in this process, one task
            after another.
        data: Folder of the data set, what `collect` returned, or the name of a benchmark set. That is made if missing.
        out: Folder of the run folders. Default: runs/<suite>. The output of workers goes to its folder `logs`.
        workers: Largest number of processes.
        on: Where the workers run: "local" (this machine), "ray" or "ray://host:port" (a cluster whose nodes all see
            `out` and `data`).
        gpus_per_worker: GPUs per worker. Default: what each model declares (`core.model.Needs`). Models with different
            needs run one group after another. If it is given, a command (cmd:, pipe:) need not be started to declare
            its needs.
        seed: Seed of the whole run. The seed of each task is derived from it.
        settings: Settings of the suite, plain values.
        limit: Number of tasks to run, or a share such as "10%", spread over clusters. None for all.
        step: Training step of the models, for curves over steps. It ends their labels, and no result depends on it.
        deadline_s: Seconds without a frame, after loading, before a worker is killed. None for no limit. A live object
            is only stopped between two chunks.
        retry_failed: Whether failed tasks are tried again.
        fresh: Whether everything is generated again.
        scoring: Whether records are scored. False only makes the records.
        score_device: Where pixel metrics are computed: "cuda" for a GPU, which the workers share, or "cuda:1". Default:
            the CPU. Scores agree to 1e-5 and are not computed again for another device.
        labels: Label by text of a model. Default: its name with its settings.
        matched_baselines: Whether ground truth also runs, at the rate of each model whose rate no recording has
            ("truth?fps=16") and at the size of each trained network ("coarse?width=64&height=36"). Tables then show
            what rate and size alone cost.
        progress: Called with every `RunStep`. By default only its notes are printed, on stderr.

    Returns:
        The result of all models. Errors in single tasks are counted there.

    Raises:
        WorldgaugeError: When the whole run is impossible.

    Examples:
        >>> wg.run("mind", model="freeze", data="data", out="runs", settings={"tests": "mem"})
        <mind: freeze; 2 expected = 2 scored + 0 skipped + 0 failed>
    """
    suite = suite_name(suite)
    request = RunRequest(
        suite,
        models=tuple(model) if isinstance(model, (list, tuple)) else (model,),  # type: ignore[arg-type]
        data=Path(data),
        out=Path("runs", suite) if out is None else Path(out),
        workers=workers,
        on=on,
        gpus_per_worker=gpus_per_worker,
        seed=seed,
        settings=settings or {},
        limit=limit,
        step=step,
        deadline_s=deadline_s,
        retry_failed=retry_failed,
        fresh=fresh,
        scoring=scoring,
        score_device=score_device,
        labels=labels or {},
        matched_baselines=matched_baselines,
    )
    return execute(request, progress)


def execute(request: RunRequest, progress: RunWatcher | None = None) -> RunResult:
    """Run what is requested; see `run`."""
    check_deadline(request.deadline_s)
    data, out = request.data, request.out
    with ExitStack() as stack:
        opened = _Opened.of(request, stack)
        suite, tasks = opened.suite, opened.tasks
        if isinstance(suite, ActedSuite):
            stack.callback(suite.close)
        model_runs = []
        for entry in opened.entries:
            arms = opened.arms_of(entry)
            facts = describe_run(suite, tasks, entry, seed=request.seed, data=data, limit=request.limit)
            if request.step is not None and facts["model"]["kind"] == "model":
                facts["step"] = request.step
            keys = keys_of(suite, tasks, entry.identity, request.seed)
            notes = settle_folder(out / entry.label, keys, facts, fresh=_why_fresh(entry, request.fresh))
            model_run = ModelRun(suite, [*tasks, *arms], entry, RunFolder(out / entry.label), request.seed, stack)
            model_run.cache = _cache_of(request, suite, entry)
            model_run.shipped = shipped_part(facts) if request.scoring and not request.fresh else None
            model_run.start(
                facts, scoring=request.scoring, retry_failed=request.retry_failed, device=opened.score_device
            )
            model_run.notes[:0] = notes
            model_runs.append(model_run)
        model_runs[0].notes.append(str(opened.power))
        if copied := [one for one in model_runs if one.copied]:
            what = ", ".join(f"{one.entry.label} ({one.copied})" for one in copied)
            model_runs[0].notes.append(f"Copied, not computed, by tasks: {what}. --fresh computes them.")
        if any(is_tested(suite, entry.identity) for entry in opened.entries):
            model_runs[0].notes.append(cost_of(opened.arms))
        turns = [(group.pool, [model_runs[number] for number in group.members]) for group in opened.groups]
        _perform(model_runs, turns, request.deadline_s, progress, "--fresh regenerates")
    return RunResult([model_run.folder for model_run in model_runs], suite)


def dry_run(request: RunRequest) -> list[RunPlan]:
    """What `execute` would do, one plan per model. Nothing is written."""
    with ExitStack() as stack:
        opened = _Opened.of(request, stack, dry=True)
    suite, tasks, plans = opened.suite, opened.tasks, []
    for entry in opened.entries:
        directory = request.out / entry.label
        keys = keys_of(suite, tasks, entry.identity, request.seed)
        folder = RunFolder(continued_folder(directory, keys) or directory)
        journal = {} if _why_fresh(entry, request.fresh) else read_journal(folder.journal_path)
        items = plan_tasks(
            suite,
            [*tasks, *opened.arms_of(entry)],
            entry.identity,
            request.seed,
            folder,
            journal,
            scoring=request.scoring,
            retry_failed=request.retry_failed,
        )
        cache = _cache_of(request, suite, entry)
        part = shipped_part({"suite": suite.name, "set": membership(suite.name, tasks)})
        known = [
            (part is not None and find_shipped(part, item) is not None) or (cache is not None and cache.holds(item))
            for item in items
            if item.todo == "ask" and request.scoring and not request.fresh
        ]
        plans.append(RunPlan(entry.label, directory, tuple(items), opened.power, sum(known)))
    return plans


@dataclass(frozen=True)
class _Opened:
    """The suite, the tasks and the models of a request, and the workers in which the models run."""

    suite: Suite
    tasks: list[Task]
    entries: list[ModelEntry]
    groups: list[WorkerGroup]
    score_device: str | None
    arms: list[Task]

    @classmethod
    def of(cls, request: RunRequest, stack: ExitStack, *, dry: bool = False) -> _Opened:
        """Open everything that can be wrong with a request. `stack` ends the workers. Nothing is written if `dry`."""
        device = _checked_device(request.score_device, request.on)
        suite, workers = open_suite(request.suite, request.settings), 1 if dry else request.workers
        acted = acted_by(suite, "") is not None
        if acted and (workers != 1 or request.on not in (None, "local")):
            raise UsageError("a person acts on this machine, in one task at a time: leave out --workers and --on")
        tasks = list_tasks(suite, request.data, request.limit, request.only)
        kind = suite.answerer_kind
        models = [ModelAddress.parse(one, kind) if isinstance(one, str) else one for one in request.models]
        logs, shared = (None, ()) if dry else (request.out / "logs", (request.out,))
        site = stack.enter_context(open_site(request.on, logs=logs, shared=shared, data=[request.data], device=device))
        groups: list[WorkerGroup] = []
        if acted:
            entries = entries_here(models, stack, kind)
        else:
            entries, groups = worker_groups(models, site, workers, request.gpus_per_worker, stack, kind)
        # A person would have to act with each matched baseline, too.
        wanted = request.matched_baselines and not acted
        if matched := matched_baselines(suite, tasks, [one.identity for one in entries]) if wanted else ():
            more, pools = worker_groups([*map(ModelAddress.parse, matched)], site, workers, None, stack)
            groups += [WorkerGroup(one.pool, tuple(len(entries) + at for at in one.members)) for one in pools]
            entries += more
        labels = {ModelAddress.parse(text, kind).text: label for text, label in request.labels.items()}
        entries = [_relabel(suite, one, labels) for one in entries]
        if request.step is not None:
            entries = [_at_step(suite, one, request.step) for one in entries]
        if request.stand_in is not None:
            chosen = ModelAddress.parse(request.stand_in, kind).text
            entries = [replace(one, stands_in=one.text == chosen) for one in entries]
        for one in entries:
            if request.fingerprints.get(one.label, fingerprint(one.identity)) != fingerprint(one.identity):
                raise RunError(f"the weights or the code of '{one.label}' changed since its check: give another --out")
        tested = any(is_tested(suite, one.identity) for one in entries)
        return cls(suite, tasks, entries, groups, device, list_arms(suite, request.data, tasks) if tested else [])

    def arms_of(self, entry: ModelEntry) -> list[Task]:
        """The arms of the decoy test that a model runs."""
        return arms_for(self.suite, entry.identity, self.arms)

    @property
    def power(self) -> Power:
        """What the tests of a table over all tasks can find."""
        kinds = [describe_model(self.suite, entry)["kind"] for entry in self.entries]
        return power_of(clusters_of(self.suite, self.tasks), len(pairs_with_models(kinds)))


def score(
    directories: Runs,
    *,
    settings: Mapping[str, Any] | None = None,
    data: str | os.PathLike[str] | None = None,
    workers: int = 1,
    on: str | None = None,
    gpus_per_worker: float | None = None,
    score_device: str | None = None,
    deadline_s: float | None = DEADLINE_S,
    progress: RunWatcher | None = None,
) -> RunResult:
    """Score the records of run folders, again where that is necessary. The models do not run.

    Scores are kept where settings and metric versions are unchanged.

    Examples:
        >>> wg.score("runs/freeze")
        <mind: freeze; 2 expected = 2 scored + 0 skipped + 0 failed>
    """
    check_deadline(deadline_s)
    device = _checked_device(score_device, on)
    folders = find_runs(directories)
    names = sorted({folder.facts()["suite"] for folder in folders})
    if len(names) > 1:
        raise UsageError(f"these runs are of the suites {', '.join(names)}; score those of one suite at a time")
    places = list(dict.fromkeys(folder.directory.parent for folder in folders))
    sources = [Path(folder.facts()["source"] if data is None else data).resolve() for folder in folders]
    with ExitStack() as stack:
        site = stack.enter_context(open_site(on, logs=places[0] / "logs", shared=places, data=sources, device=device))
        model_runs = []
        for folder, source in zip(folders, sources, strict=True):
            facts = folder.facts()
            suite = _reopen_suite(facts, settings or {})
            tasks = tasks_of_run(suite, source, facts["task_keys"])
            tasks += list_arms(suite, source, tasks) if facts.get("decoy_keys") else []
            model = facts["model"]
            entry = ModelEntry(model["name"], model["identity"])
            model_run = ModelRun(suite, tasks, entry, folder, facts["seed"], stack)
            model_run.start(
                {
                    **facts,
                    "settings": dict(suite.settings),
                    "metrics": metric_versions(suite),
                    "source": str(source),
                    "scored_with": installed_versions(),
                },
                asking=False,
                device=device,
            )
            model_runs.append(model_run)
        needs = checked_needs(Needs(), "scoring", gpus_per_worker)
        pool = stack.enter_context(site.pool(workers, needs, "scoring"))
        _perform(model_runs, [(pool, model_runs)], deadline_s, progress, "run --fresh regenerates")
    return RunResult([model_run.folder for model_run in model_runs], model_runs[0].suite)


def _checked_device(name: str | None, on: str | None) -> str | None:
    """A device that scores, by its name; None for the processor's kernels. On a cluster the workers' nodes have it."""
    if name is None or name == PROCESSOR:
        return None
    if on in (None, "local"):
        check_score_device(name)
    elif name != "cuda":
        raise UsageError(f"device '{name}': workers of a cluster score on the GPU that they get; give cuda or cpu")
    return name


def _reopen_suite(facts: Mapping[str, Any], changes: Mapping[str, Any]) -> Suite:
    """The suite of a run, with other scoring settings."""
    allowed = scoring_settings(open_suite(facts["suite"], facts["settings"]))
    for name in changes:
        if name not in allowed:
            raise UsageError(
                f"suite '{facts['suite']}': the setting '{name}' changes what is asked, not only how it is scored; "
                f"use: worldgauge run --set {name}=... (settings of scoring: {', '.join(sorted(allowed)) or 'none'})"
            )
    # Keep only values that differ from the defaults: a change such as parity=released must not clash with defaults.
    plain = open_suite(facts["suite"], {}).settings
    asked = {name: value for name, value in facts["settings"].items() if value != plain.get(name)}
    return open_suite(facts["suite"], {**asked, **changes})


def _relabel(suite: Suite, entry: ModelEntry, labels: Mapping[str, str]) -> ModelEntry:
    own = None if entry.text is None else labels.get(entry.text)
    label = entry.label if own is None else run_label(own)
    person = acted_by(suite, label)
    if person is None:
        return replace(entry, label=label)
    # The baseline `none` with a person is not that baseline.
    identity = {**entry.identity, "source": f"acted:{entry.identity['source']}"}
    return replace(entry, label=run_label(person), identity=identity)


def _at_step(suite: Suite, entry: ModelEntry, step: int) -> ModelEntry:
    """A checkpoint has its step in its label, so that each has a run folder."""
    if describe_model(suite, entry)["kind"] != "model" or re.search(rf"(?<!\d){step}$", entry.label):
        return entry
    return replace(entry, label=run_label(f"{entry.label}-{step}"))


def _perform(
    model_runs: Sequence[ModelRun],
    turns: Iterable[tuple[Pool, Sequence[ModelRun]]],
    deadline_s: float | None,
    watch: RunWatcher | None,
    hint: str,
) -> None:
    """Do everything that is left: in the workers of one pool after another, live models here. Then write the scores."""
    tell = watch or _print_note
    for model_run in model_runs:
        tell(model_run.progress_step())
        for note in model_run.notes:
            tell(replace(model_run.progress_step(), note=note))
    _prepare(model_runs, tell)
    for pool, theirs in turns:
        named = [model_run for model_run in theirs if model_run.entry.model is None]
        _perform_in_workers(named, pool, deadline_s, tell)
        pool.close()
    for model_run in model_runs:
        if model_run.entry.model is not None:
            threads = min(MOST_THREADS, cores_here())
            for item in model_run.todo:
                tell(model_run.perform_live(item, tell, deadline_s=deadline_s, threads=threads))
        model_run.derive_scores()
    for model_run in model_runs:
        if note := model_run.reuse_note(hint):
            tell(replace(model_run.progress_step(), note=note))


def _print_note(step: RunStep) -> None:
    if step.note:
        print(step.note, file=sys.stderr, flush=True)


def _cache_of(request: RunRequest, suite: Suite, entry: ModelEntry) -> FloorCache | None:
    """The cache of floor results that a model's run reads and fills; None where it has none."""
    return FloorCache.of(suite, entry) if request.scoring and not request.fresh else None


def _why_fresh(entry: ModelEntry, fresh: bool) -> str:
    """Why no answer is reused; empty where they are."""
    if fresh:
        return "all answers are generated again"
    if entry.identity["source"].startswith((LIVE, f"acted:{LIVE}")):
        return "answers of a Python object are not reused, unless its settings state a 'digest'"
    return ""


def _prepare(model_runs: Sequence[ModelRun], tell: RunWatcher) -> None:
    """Let the suite make what all workers need, if any model is to be asked."""
    tasks = [item.task for model_run in model_runs for item in model_run.todo if item.todo == "ask"]
    suite = model_runs[0].suite if tasks else None
    if isinstance(suite, ActedSuite):
        suite.prepare(
            tasks,
            lambda what, done, of: tell(
                replace(model_runs[0].progress_step(), task=what, frames=(done, of), preparing=True)
            ),
        )


def _perform_in_workers(model_runs: Sequence[ModelRun], pool: Pool, deadline_s: float | None, tell: RunWatcher) -> None:
    handed: dict[str, tuple[ModelRun, PlannedTask, Path]] = {}
    threads = min(MOST_THREADS, pool.cores_each(sum(len(model_run.todo) for model_run in model_runs)))

    def jobs() -> Iterator[Job]:
        for model_run in model_runs:
            for item in model_run.todo:
                folder = model_run.task_folder(item)
                name = f"{model_run.entry.label}/{item.task.id}"
                handed[name] = (model_run, item, folder)
                arguments = model_run.job_arguments(item, folder, threads) | {"deadline_s": deadline_s}
                yield Job(name, EXECUTE_TASK, arguments, deadline_s, start_s=LOAD_DEADLINE_S)

    def frames(name: str, done: int, total: int) -> None:
        model_run, item, _ = handed[name]
        tell(model_run.progress_step(item, frames=(done, total)))

    with closing(pool.run(jobs(), frames)) as results:
        for result in results:
            model_run, item, folder = handed.pop(result.id)
            outcome = outcome_of_job(result, folder)
            tell(model_run.finish_task(item, folder, outcome, result.seconds, result.lost))
