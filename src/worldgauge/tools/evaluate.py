"""From models to one page: check the models, plan, make the data, run every suite that fits, and write the tables.

evaluate("./wm.py:MyModel", data="worldgauge-small", out="runs/mine")
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from worldgauge.core.errors import MissingExtraError, ModelError, NotApplicableError, RunError, UsageError
from worldgauge.core.io import dumps, read_json_object
from worldgauge.engine.model_entries import run_label
from worldgauge.engine.model_run import RunWatcher
from worldgauge.engine.open_suite import list_tasks, open_suite
from worldgauge.engine.result import RunResult, matched_baselines
from worldgauge.engine.run import DEADLINE_S, ModelLike, RunRequest, dry_run, execute, fingerprint
from worldgauge.engine.store import atomic_write, write_error
from worldgauge.engine.suite.base import ActedSuite, suites
from worldgauge.engine.suite.decoy import remembers
from worldgauge.engine.videos import score_videos
from worldgauge.models.videos import Longer
from worldgauge.perception.cache import FOLDER_VARIABLE as CACHE
from worldgauge.perception.cache import data_cache
from worldgauge.report import write_report
from worldgauge.report.overview import INDEX, OverviewTable, question_of, suite_card, write_overview
from worldgauge.terminal.output import duration
from worldgauge.tools.check_model import ModelReport, check_model
from worldgauge.tools.data_sets import find_data, missing_part, suites_of, suites_without_part
from worldgauge.tools.paper_table import bibtex, pairs_csv, paper_rows, to_csv, to_latex, to_markdown
from worldgauge.tools.plan import (
    SIZES,
    SuiteCost,
    SuitePlan,
    any_model,
    choose_tasks,
    declared_suite,
    fitting_horizon,
    measure_suite,
)
from worldgauge.version import __version__

MATCHED_SHARE = 0.5
"""Cost of a matched baseline in costs of another: most of them repeat one picture. Measured: 0.5."""
CHECKS = ("spec", "answers", "values", "shape", "count", "untouched", "kept", "same")
"""Checks of a model before an evaluation: those whose failure makes every number wrong."""
FILMS = 8
"""Tasks shown as videos in the report of a suite."""
PLAN, RESULTS = "plan.json", "results.json"
DEFAULT_DATA = "worldgauge-small"

Tell = Callable[[str], None]


@dataclass(frozen=True)
class EvaluationRequest:
    """What is evaluated, and how.

    Attributes:
        data: Folder of data sets, or the name of a benchmark set.
        budget_s: Wall-clock seconds for all suites. None for all tasks.
        suites: Names of the suites. Empty for all that fit.
        published: Whether every suite runs with its paper's protocol.
        videos: Folder of finished videos, SUITE/MODEL/TASK.mp4, instead of models.
        video_fps: Frames per second of the videos. None for the rate of the recordings.
        video_longer: What happens to videos with more frames than a task needs: "error" or "cut".
    """

    models: tuple[ModelLike, ...]
    _: KW_ONLY
    agents: tuple[ModelLike, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    data: str = DEFAULT_DATA
    out: Path = Path("runs/evaluation")
    budget_s: float | None = None
    suites: tuple[str, ...] = ()
    published: bool = False
    videos: Path | None = None
    video_fps: float | None = None
    video_longer: Longer = "error"
    workers: int = 1
    on: str | None = None
    gpus_per_worker: float | None = None
    score_device: str | None = None
    seed: int = 0
    deadline_s: float = DEADLINE_S


@dataclass(frozen=True)
class EvaluationPlan:
    """What an evaluation does: reports by label, a plan or a reason against it per suite, and data folders by suite."""

    reports: Mapping[str, ModelReport]
    suites: tuple[SuitePlan, ...]
    data: Mapping[str, str]

    @property
    def chosen(self) -> list[SuitePlan]:
        """Suites that are run, the quickest first."""
        return sorted((plan for plan in self.suites if not plan.reason), key=lambda plan: plan.seconds)

    @property
    def seconds(self) -> float:
        """Wall-clock seconds."""
        return sum(plan.seconds for plan in self.chosen)

    @property
    def gpu_s(self) -> float:
        """GPU seconds of the models that declare GPUs."""
        return sum(plan.gpu_s for plan in self.chosen)

    @property
    def megabytes(self) -> float:
        """Disk space of the rollouts."""
        return sum(plan.megabytes for plan in self.chosen)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "models": {
                label: {"fingerprint": fingerprint(report.identity), "speeds": dict(report.speeds)}
                for label, report in self.reports.items()
            },
            "suites": [asdict(plan) for plan in self.suites],
            "data": dict(self.data),
            "seconds": round(self.seconds, 1),
            "gpu_s": round(self.gpu_s, 1),
            "megabytes": round(self.megabytes, 1),
        }


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation.

    Attributes:
        folder: Folder of the page, the tables and the run folders.
        plan: What was planned.
        results: Result by suite.
        seconds: Wall-clock seconds of each suite, over all calls that finished it.

    Examples:
        >>> found = wg.evaluate("freeze", data="data", suites=["mind"], out="evaluation")
        >>> found.ok, list(found.results)
        (True, ['mind'])
    """

    folder: Path
    plan: EvaluationPlan
    results: Mapping[str, RunResult]
    seconds: Mapping[str, float]

    @property
    def page(self) -> Path:
        """The page."""
        return self.folder / INDEX

    @property
    def ok(self) -> bool:
        """Whether no task failed."""
        return all(result.ok for result in self.results.values())


def evaluate(
    model: ModelLike | Sequence[ModelLike] = (),
    *,
    agent: ModelLike | Sequence[ModelLike] = (),
    labels: Mapping[str, str] | None = None,
    data: str | os.PathLike[str] = DEFAULT_DATA,
    budget_s: float | None = None,
    suites: Sequence[str] = (),
    out: str | os.PathLike[str] = "runs/evaluation",
    published: bool = False,
    videos: str | os.PathLike[str] | None = None,
    video_fps: float | None = None,
    video_longer: Longer = "error",
    workers: int = 1,
    on: str | None = None,
    seed: int = 0,
    progress: RunWatcher | None = None,
) -> Evaluation:
    """Evaluate models on every suite that fits them, and write one page.

    A stopped evaluation continues with the same call.

    Args:
        model: A world model, or several, as for `run`.
        agent: An agent, or several, for suites of agents.
        labels: Label by text of a model.
        data: Folder of data sets, or the name of a benchmark set, which is made if it is missing.
        budget_s: Wall-clock seconds for all suites together. Default: all tasks.
        suites: Names of the suites. Default: all that fit.
        out: Folder of the page, the tables and the run folders.
        published: Whether every suite runs with its paper's protocol.
        videos: Folder of finished videos, SUITE/MODEL/TASK.mp4, in place of models.
        video_fps: Frames per second of the videos. Default: that of the recordings.
        video_longer: What happens to videos with more frames than a task needs: "error" or "cut".
        workers: Largest number of processes.
        on: Where the workers run, as for `run`.
        seed: Seed of the runs.
        progress: Called with every step of a run.

    Returns:
        The plan, the results by suite, and the folder.

    Raises:
        ModelError: A model breaks the protocol. The message says what to change.
        UsageError: No suite fits the models, or the budget is too small for any suite.

    Examples:
        >>> str(wg.evaluate("freeze", data="data", suites=["mind"], out="evaluation").page)
        'evaluation/index.html'
    """
    request = EvaluationRequest(
        _several(model),
        agents=_several(agent),
        labels=labels or {},
        data=os.fspath(data),
        out=Path(out),
        budget_s=budget_s,
        suites=tuple(suites),
        published=published,
        videos=None if videos is None else Path(videos),
        video_fps=video_fps,
        video_longer=video_longer,
        workers=workers,
        on=on,
        seed=seed,
    )
    with evaluating(request.out):
        return perform(request, plan_evaluation(request), progress)


def _several(given: ModelLike | Sequence[ModelLike]) -> tuple[ModelLike, ...]:
    return tuple(given) if isinstance(given, (list, tuple)) else (given,)  # type: ignore[return-value]


@contextmanager
def evaluating(out: Path) -> Iterator[None]:
    """Context in which no other process evaluates into a folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / ".lock").open("w")
    except OSError as error:
        raise write_error(error, out) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"an evaluation runs in {out}: wait for it, or give another --out") from None
        yield


def check_models(request: EvaluationRequest, tell: Tell = lambda line: None) -> dict[str, ModelReport]:
    """What is known of each model, by label. Raises ModelError for one that breaks the protocol."""
    _suite_names(request)  # a wrong request is refused before a model is loaded
    reports: dict[str, ModelReport] = {}
    for model in request.models:
        report = _checked(model, request, tell)
        label = run_label(request.labels.get(model, "") or report.model) if isinstance(model, str) else report.model
        if label in reports:
            raise UsageError(f"two models have the label '{label}'; give each a --label")
        reports[label] = report
    return reports


def lacks_data(request: EvaluationRequest, reports: Mapping[str, ModelReport] = MappingProxyType({})) -> bool:
    """Whether a new evaluation has to make data."""
    names = [name for name in _suite_names(request) if not _unfit_reason(request, name, reports)]
    is_new = not (request.out / PLAN).exists()
    return is_new and any(missing_part(request.data, name) is not None for name in names)


def _unfit_reason(
    request: EvaluationRequest, suite: str, reports: Mapping[str, ModelReport] = MappingProxyType({})
) -> str:
    """Why nothing of the request can be evaluated on a suite. Empty if something can."""
    kind = suites.get(suite)
    blind = reports and not any(remembers(report.identity) for report in reports.values())
    if blind and not request.suites and open_suite(suite, {}).without_memory() is None:
        return f"It measures memory, and these models see at most 1 s of context. To run it: --suites {suite}"
    if kind.answerer_kind == "agent":
        return "" if request.agents else "It evaluates agents: give --agent"
    try:
        if not request.published:
            open_suite(suite, {}).check_ready()
    except MissingExtraError as error:
        return str(error)
    if request.videos is None:
        return "" if request.models else "It evaluates world models: give --model"
    if issubclass(kind, ActedSuite):
        return "Its requests depend on earlier videos, so it needs a model"
    return "" if (request.videos / suite).is_dir() else f"{request.videos / suite} holds no videos"


def plan_evaluation(
    request: EvaluationRequest,
    tell: Tell = lambda line: None,
    *,
    reports: Mapping[str, ModelReport] | None = None,
    make: bool = True,
) -> EvaluationPlan:
    """Check and measure models, and choose suites and tasks; the plan of a stopped evaluation is used again. Without
    `make`, missing data are not made, and the plan uses the benchmark set's metadata."""
    names = _suite_names(request)
    reports = check_models(request, tell) if reports is None else reports
    identity = _identity(request, reports)
    if (kept := _kept_plan(request.out, identity, reports)) is not None:
        tell(f"continues the evaluation in {request.out}")
        return kept
    costs, plans, places = [], [], {}
    for name in names:
        if reason := _unfit_reason(request, name, reports):
            plans.append(SuitePlan(name, reason=reason))
            continue
        asked: Mapping[str, ModelReport] = reports
        if suites.get(name).answerer_kind == "agent":
            asked = {}
            tell(f"{name}: the time of agents is not measured, so it is neither in the plan nor in the budget")
        elif request.videos is not None:
            asked = {path.name: any_model() for path in (request.videos / name).iterdir() if path.is_dir()}
        part = missing_part(request.data, name)
        if part is not None:
            _check_disk(data_cache(), part.megabytes, f"the data of {name}", f"name another folder with {CACHE}")
        if part is not None and not make:
            lacking = part.to_compute(suites.get(name).baseline_addresses().values())
            costs.append(declared_suite(part, asked, baselines=lacking))
            continue
        place = find_data(request.data, name)
        places[name] = str(place)
        tell(f"measuring {name}")
        try:
            costs.append(_measured(name, place, asked, request))
        except (MissingExtraError, UsageError) as error:
            if not request.published:
                raise
            plans.append(SuitePlan(name, reason=f"The paper's protocol: {error}"))
    if not costs:
        raise UsageError(f"no suite fits these models: {'; '.join(f'{one.suite}: {one.reason}' for one in plans)}")
    plans += choose_tasks(costs, request.budget_s, request.workers)
    if all(plan.reason for plan in plans):
        raise UsageError(f"no suite fits these models: {'; '.join(f'{one.suite}: {one.reason}' for one in plans)}")
    absent = [] if request.suites else suites_without_part(request.data)
    plans += [SuitePlan(name, reason=f"{request.data} has no data of it: {_collect_it(name)}") for name in absent]
    found = EvaluationPlan(reports, tuple(plans), places)
    advice = "give --out on another disk, or a smaller --budget"
    _check_disk(request.out, found.megabytes, "the rollouts", advice)
    return found


def _collect_it(suite: str) -> str:
    """How to run a suite that a benchmark set lacks."""
    return f"worldgauge collect {suite} --out DIR/{suite}, then --data DIR"


def _suite_names(request: EvaluationRequest) -> list[str]:
    """Suites that are considered: all that were named, or those of the data."""
    if request.videos is not None and (request.models or not request.videos.is_dir()):
        raise UsageError("--videos takes a folder, and replaces --model: SUITE/MODEL/TASK.mp4")
    if not (request.models or request.agents or request.videos):
        raise UsageError("name a model with --model, an agent with --agent, or a folder with --videos")
    if request.suites:
        return [suites.named(name).name for name in request.suites]
    return suites_of(request.data)


def _checked(model: ModelLike, request: EvaluationRequest, tell: Tell) -> ModelReport:
    """What is known of a model that keeps the protocol."""
    tell(f"checking {model if isinstance(model, str) else type(model).__name__}")
    report = check_model(model, deadline_s=request.deadline_s, only=CHECKS, sizes=SIZES)  # type: ignore[arg-type]
    if not report.ok:
        bad = next(verdict for verdict in report.verdicts if verdict.status == "violated")
        again = f" All checks: worldgauge check-model --model '{model}'" if isinstance(model, str) else ""
        raise ModelError(f"{report.model} breaks the protocol ({bad.name}): {bad.explanation} {bad.advice}{again}")
    return report


def _identity(request: EvaluationRequest, reports: Mapping[str, ModelReport]) -> dict[str, Any]:
    """What has to be the same when an evaluation is continued."""
    return {
        "worldgauge": __version__,
        "models": {label: fingerprint(report.identity) for label, report in reports.items()},
        "agents": [str(agent) for agent in request.agents],
        "videos": None if request.videos is None else str(request.videos.resolve()),
        "data": request.data,
        "suites": list(request.suites),
        "budget_s": request.budget_s,
        "published": request.published,
        "seed": request.seed,
    }


def _kept_plan(out: Path, identity: Mapping[str, Any], reports: Mapping[str, ModelReport]) -> EvaluationPlan | None:
    """The plan of a stopped evaluation; None in a new folder."""
    path = out / PLAN
    if not path.exists():
        return None
    kept = read_json_object(path)
    before = kept["identity"]
    if before["models"].keys() == identity["models"].keys() and before["models"] != identity["models"]:
        changed = [label for label, digest in identity["models"].items() if before["models"][label] != digest]
        raise RunError(
            f"{out}: the weights or the code of {', '.join(changed)} changed since this evaluation began: "
            "give another --out"
        )
    if differing := [name for name, value in identity.items() if before.get(name) != value]:
        raise RunError(f"{out} holds another evaluation (other {', '.join(differing)}): give another --out")
    plans = tuple(SuitePlan(**plan) for plan in kept["plan"]["suites"])
    return EvaluationPlan(reports, plans, kept["plan"]["data"])


def _measured(name: str, data: Path, reports: Mapping[str, ModelReport], request: EvaluationRequest) -> SuiteCost:
    """The cost of a suite, with the settings that suit the models."""
    kind = suites.get(name)
    given: dict[str, Any] = {}
    if request.published:
        given = {setting: value for setting, (value, _) in kind.paper_settings.items()}
        if served := [f"{setting}={value}" for setting, value in given.items() if str(value).startswith("ADDRESS")]:
            raise UsageError(f"run {name} alone, with --set {' --set '.join(served)}")

    open_suite(name, given).check_ready()

    def measured(settings: Mapping[str, Any]) -> SuiteCost:
        left = _left(name, data, settings, request, reports)
        return measure_suite(name, data, reports, baselines=left, settings=settings)

    found = measured(given)
    if (horizon_s := fitting_horizon(found)) is None:
        return found
    shorter = measured({**given, "horizon_s": horizon_s})
    asked = [sum(cost.asked for cost in one.costs.values()) for one in (found, shorter)]
    return shorter if asked[1] > asked[0] else found


def _left(
    name: str, data: Path, settings: Mapping[str, Any], request: EvaluationRequest, reports: Mapping[str, ModelReport]
) -> float:
    """Number of baselines without stored scores; a part of one counts as such."""
    suite = open_suite(name, settings)
    matched = matched_baselines(suite, list_tasks(suite, data), [report.identity for report in reports.values()])
    baselines = tuple(suite.baseline_addresses())
    asked = RunRequest(name, models=baselines, data=data, out=request.out / name, settings=settings, seed=request.seed)
    left = sum(1 - plan.cached / max(1, len(plan.items)) for plan in dry_run(asked)) if baselines else 0.0
    return left + MATCHED_SHARE * len(matched)


def _check_disk(folder: Path, megabytes: float, what: str, advice: str) -> None:
    """Raise RunError if a disk has less room than that."""
    there = next(one for one in (folder.resolve(), *folder.resolve().parents) if one.exists())
    free = shutil.disk_usage(there).free / 1e6
    if free < megabytes:
        raise RunError(f"{what} need {megabytes:.0f} MB, and {there} has {free:.0f} MB left: make room, or {advice}")


def perform(request: EvaluationRequest, plan: EvaluationPlan, progress: RunWatcher | None = None) -> Evaluation:
    """Run the suites of a plan, and write the folder. What is done already is kept."""
    out = request.out
    identity = _identity(request, plan.reports)
    atomic_write(out / PLAN, dumps({"identity": identity, "plan": plan.to_dict()}, indent=1) + "\n")
    results: dict[str, RunResult] = {}
    before = read_json_object(out / RESULTS)["seconds"] if (out / RESULTS).exists() else {}
    seconds: dict[str, float] = {}
    cards: dict[str, dict[str, Any]] = {}
    for one in plan.chosen:
        began = time.monotonic() - before.get(one.suite, 0.0)
        results[one.suite] = _run_suite(request, plan, one, progress)
        write_report([out / one.suite], out / one.suite / "report.html", films=FILMS)
        cards[one.suite] = _card(out, one.suite)
        seconds[one.suite] = time.monotonic() - began
        found = Evaluation(out, plan, results, seconds)
        write_folder(found, cards)
    return Evaluation(out, plan, results, seconds)


def _run_suite(
    request: EvaluationRequest, plan: EvaluationPlan, one: SuitePlan, progress: RunWatcher | None
) -> RunResult:
    named = request.agents if suites.get(one.suite).answerer_kind == "agent" else request.models
    added = [text for text in suites.get(one.suite).baseline_addresses() if text not in named]
    asked = RunRequest(
        one.suite,
        models=(*named, *added),
        data=Path(plan.data[one.suite]),
        out=request.out / one.suite,
        workers=request.workers,
        on=request.on,
        gpus_per_worker=request.gpus_per_worker,
        score_device=request.score_device,
        seed=request.seed,
        settings=one.settings,
        limit=None if one.tasks == one.of else one.tasks,
        only=one.only,
        deadline_s=request.deadline_s,
        labels=request.labels,
        fingerprints={label: fingerprint(report.identity) for label, report in plan.reports.items()},
        matched_baselines=True,
    )
    if request.videos is None or named:
        return execute(asked, progress)
    return score_videos(
        asked, request.videos / one.suite, fps=request.video_fps, longer=request.video_longer, progress=progress
    )[0]


def _card(out: Path, suite: str) -> dict[str, Any]:
    """The card of a suite, or why it has none."""
    try:
        return suite_card([out / suite], f"{suite}/report.html", film=True)
    except (RunError, NotApplicableError) as error:
        return {"suite": suite, "question": question_of(suite), "error": str(error)}


def write_folder(found: Evaluation, cards: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the page, the tables, the citations and the results."""
    plan, out = found.plan, found.folder
    waiting = [
        {"suite": one.suite, "question": question_of(one.suite), "error": "", "left_out": one.reason or "Not run yet."}
        for one in plan.suites
        if one.suite not in cards
    ]
    write_overview(out / INDEX, [*cards.values(), *waiting], eyebrow="evaluation", tables=[cost_table(found)])
    results = {
        "plan": plan.to_dict(),
        "seconds": {suite: round(took, 1) for suite, took in found.seconds.items()},
        "suites": [{name: value for name, value in card.items() if name not in BULKY} for card in cards.values()],
    }
    atomic_write(out / RESULTS, dumps(results, indent=1) + "\n")
    rows = paper_rows(found.results.values())
    for name, text in (
        ("table.md", to_markdown(rows)),
        ("table.tex", to_latex(rows)),
        ("table.csv", to_csv(rows)),
        ("pairs.csv", pairs_csv(found.results.values())),
        ("cite.bib", bibtex(found.results)),
    ):
        atomic_write(out / name, text)


BULKY = ("previews", "film")
"""Parts of a card that results.json does not repeat."""


def cost_table(found: Evaluation) -> OverviewTable:
    """What each suite cost, and what was planned."""
    rows = []
    for one in found.plan.suites:
        took = found.seconds.get(one.suite)
        cells = ("0", "–", "–", "–") if one.reason else _cells(one)
        rows.append((one.suite, *cells, "–" if took is None else duration(took), one.reason))
    columns = ("suite", "tasks", "clusters", "generated frames", "planned", "took", "left out because")
    return OverviewTable("Cost", columns, tuple(rows))


def plan_rows(plan: EvaluationPlan) -> list[tuple[str, ...]]:
    """The plan as rows of `PLAN_COLUMNS`."""
    rows: list[tuple[str, ...]] = []
    for one in plan.suites:
        if one.reason:
            rows.append((one.suite, "0", *("–",) * 5, one.reason))
            continue
        effect = "–" if one.effect is None else f"{one.effect:.2f} SD"
        if one.difference is not None:
            effect = f"{one.difference:.2g} ({effect})"
        rows.append((one.suite, *_cells(one), f"{one.megabytes:.0f} MB", effect, ""))
    return rows


def _cells(one: SuitePlan) -> tuple[str, ...]:
    """Tasks of a suite, with the length that suits the models, clusters, frames and time."""
    length = f", horizon_s={one.settings['horizon_s']:g}" if one.settings.get("horizon_s") else ""
    return f"{one.tasks} of {one.of}{length}", str(one.clusters), f"{one.frames:,}", duration(one.seconds)


PLAN_COLUMNS = ("suite", "tasks", "clusters", "frames", "time", "disk", "detects", "left out because")
