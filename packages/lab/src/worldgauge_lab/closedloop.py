"""Studies of the closed loop (World-in-World, 4.2 to 4.4): what each compares, how it runs, and its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from markupsafe import Markup

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.intervals import Correlation, correlation
from worldgauge.core.paired_tests import PairedDifference, holm, paired_difference
from worldgauge.engine.model_entries import run_label
from worldgauge.engine.model_run import RunWatcher
from worldgauge.engine.run import DEADLINE_S
from worldgauge.engine.suite.contract import Cell, Failure, Score, Table, TableRow
from worldgauge.engine.suite.scores import clusters_by_task, detectable_effect, score_cell
from worldgauge.metrics._registry import metric_bounds, metrics
from worldgauge.report import curves
from worldgauge.report.curves import ChartLine, ForestRow, ScatterPoint, SeriesStyle, look
from worldgauge.report.study_page import Figure, StudyPage, write_page
from worldgauge.report.wording import number, times
from worldgauge.result import run
from worldgauge.suites.worldinworld.policies.contract import revisers
from worldgauge.suites.worldinworld.published import leaderboard
from worldgauge.suites.worldinworld.scoring import HEADLINE
from worldgauge.suites.worldinworld.summary import summarize
from worldgauge.suites.worldinworld.task import SUITE, closed_loop_tasks, serves, task_names
from worldgauge_lab.closedloop_questions import QUESTIONS

MODELS = ("oracle", "warp", "forgetful", "roll", "freeze", "noise")
"""References that imagine something, from right to wrong."""
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0)
ITERATIONS = (2, 3, 4, 6, 8)
ITERATED = ("iterative", "resample")
"""Revisers with that setting."""
REVISERS = ("none", "random", "similarity", "oracle")
VIEWS = {"perspective": "front", "panorama": "panorama"}
ALPHA = 0.05
_SEED = 20251018


@dataclass(frozen=True)
class ClosedLoopArm:
    """One row of a study: a model under some settings of the suite.

    Attributes:
        settings: Of the suite, beyond those of the user.
        family: Arms of one family are joined by a line.
        base: Label of the arm that it is compared with. None for an arm that others are compared with.
        noise: Noise level over the ground truth, if that is what differs.
    """

    label: str
    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    family: str = ""
    base: str | None = None
    noise: float | None = None


@dataclass(frozen=True)
class ClosedLoopRequest:
    """What the user requests of a study; `candidates` are values of M, `settings` of the suite for all arms."""

    models: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    candidates: tuple[int, ...] = ()
    baselines: bool = True


@dataclass(frozen=True)
class ClosedLoopStudy:
    """An analysis of the paper.

    Attributes:
        drawn: Points in a plane, lines of a sweep, a line over noise levels per task, or a list.
        measure: Metric on the horizontal axis. None if the arms themselves are what differs.
        caveat: What its readers must know.
        printed: Makes a published table of success and of another measure of the same kind.
    """

    name: str
    question: str
    arms: Callable[[ClosedLoopRequest], list[ClosedLoopArm]]
    drawn: Literal["plane", "lines", "levels", "list"]
    measure: str | None = None
    caveat: str = ""
    printed: Callable[[], Table] | None = None


@dataclass(frozen=True)
class ArmResult:
    """Results of an arm; `success` is in percent, over all episodes."""

    arm: ClosedLoopArm
    success: Cell
    measure: Cell | None
    by_task: Mapping[str, Cell]


@dataclass(frozen=True)
class ArmGain:
    """An arm minus its base on the same episodes, in percentage points; p is corrected for all gains (Holm)."""

    label: str
    base: str
    difference: PairedDifference
    p: float | None


@dataclass(frozen=True)
class StudyResult:
    """What came of a study: points per arm, gains of arms with a base, and `correlation` of measure and success."""

    study: ClosedLoopStudy
    points: tuple[ArmResult, ...]
    gains: tuple[ArmGain, ...]
    correlation: Correlation | None
    tables: tuple[Table, ...]
    words: tuple[str, ...]


def conclude(
    study: ClosedLoopStudy,
    arms: Sequence[ClosedLoopArm],
    scores: Mapping[str, Sequence[Score]],
    failed: Mapping[str, Sequence[Failure]],
) -> StudyResult:
    """What the scores can tell."""
    made = summarize(scores, {arm.label: "model" for arm in arms}, failed)
    if not made:
        raise UsageError(f"study '{study.name}': no episode was scored, so there is nothing to compare")
    by_task = made[0]
    row_of = {row.label: row for row in by_task.rows}
    asked = [task for task in by_task.columns if task in task_names()]
    points = tuple(
        ArmResult(
            arm,
            row_of[arm.label].cells[-1],
            _measure(study, scores[arm.label]),
            dict(zip(asked, row_of[arm.label].cells, strict=False)),
        )
        for arm in arms
    )
    values = {arm.label: {s.task: s.value for s in scores[arm.label] if s.metric == HEADLINE} for arm in arms}
    clusters = clusters_by_task(scores)
    gains = _gains(arms, values, clusters)
    tied = None
    if study.drawn == "plane":
        known = [(p.measure.mean, p.success.mean) for p in points if p.measure is not None and p.measure.n]
        tied = correlation([x for x, _ in known], [y for _, y in known], rng=np.random.default_rng(_SEED))
    shown = [_rows(study, points, gains, {row.label: row.flag for row in by_task.rows})]
    if len(by_task.columns) > 1:
        shown.append(by_task)
    if study.printed is not None:
        shown.append(study.printed())
    words = [
        *_correlation_words(study, tied),
        *_printed_words(shown[-1] if study.printed else None),
        *_level_words(points),
        *filter(None, [study.caveat]),
        *_gain_words(gains, values, clusters),
    ]
    return StudyResult(study, points, gains, tied, tuple(shown), tuple(words))


def _measure(study: ClosedLoopStudy, scores: Sequence[Score]) -> Cell | None:
    if study.measure is None:
        return None
    return score_cell([score for score in scores if score.metric == study.measure], metric_bounds(study.measure))


def _gains(
    arms: Sequence[ClosedLoopArm], values: Mapping[str, Mapping[str, float | None]], clusters: Mapping[str, str]
) -> tuple[ArmGain, ...]:
    pairs = [(arm.label, arm.base) for arm in arms if arm.base is not None]
    differences = [paired_difference(values[label], values[base], cluster=clusters) for label, base in pairs]
    corrected = holm([difference.p for difference in differences])
    return tuple(ArmGain(*pair, told, p) for pair, told, p in zip(pairs, differences, corrected, strict=True))


def _rows(
    study: ClosedLoopStudy, points: Sequence[ArmResult], gains: Sequence[ArmGain], flags: Mapping[str, str]
) -> Table:
    """Success, measure and gain of every arm, in the order of the study."""
    gain_of = {gain.label: gain for gain in gains}
    none = Cell(None, None, 0)
    rows = []
    for point in points:
        gain = gain_of.get(point.arm.label)
        told = None if gain is None else gain.difference
        low, high = (None, None) if told is None or told.interval is None else told.interval
        cells = [point.success, *([point.measure or none] if study.measure else [])]
        cells.append(none if told is None else Cell(told.mean, None, told.n, low, high, clusters=told.clusters))
        rows.append(TableRow(point.arm.label, tuple(cells), flag=flags.get(point.arm.label, "")))
    measured = (MEASURES[study.measure],) if study.measure else ()
    better = metrics.entry(study.measure).facts["better"] if study.measure else "neither"
    told_p = ", ".join(f"{gain.label}: {_p(gain.p)}" for gain in gains)
    return Table(
        f"study/{study.name}",
        study.question,
        "1",
        "higher",
        ("success, %", *measured, "gain, points"),
        tuple(rows),
        (
            "Gain: paired difference from the base row on the same episodes, with its interval; p of Student's paired "
            f"test, corrected for {len(gains)} comparisons (Holm): {told_p}.",
        ),
        betters=("higher", *((better,) if study.measure else ()), "higher"),
    )


def _correlation_words(study: ClosedLoopStudy, tied: Correlation | None) -> list[str]:
    if tied is None or study.measure is None:
        return []
    name = MEASURES[study.measure]
    if tied.spearman is None or tied.interval is None or tied.pearson is None:
        return [f"Only {tied.n} models can be placed by {name}, or all alike: nothing can be said of a tie."]
    return [
        f"Over {tied.n} models, success and {name} go together by {_tie(tied)}.",
        "Models are what is counted here, and some of them are degrees of one degradation: a tie among them is no "
        "cause, and need not hold for others.",
    ]


def _tie(tied: Correlation) -> str:
    """A correlation that is known, its interval, and what that means."""
    assert tied.interval is not None
    low, high = tied.interval
    meant = (
        "models with more of it succeed more"
        if low > 0
        else "models with more of it succeed less"
        if high < 0
        else "the interval holds 0, so a tie can neither be concluded nor ruled out"
    )
    told = f"(95 % interval {low:.2f} to {high:.2f}; Pearson's r {tied.pearson:.2f})"
    return f"Spearman's r {tied.spearman:.2f} {told}: {meant}"


def _printed_words(printed: Table | None) -> list[str]:
    if printed is None:
        return []
    rates, values = zip(*((row.cells[0].mean, row.cells[1].mean) for row in printed.rows), strict=True)
    tied = correlation(values, rates, rng=np.random.default_rng(_SEED))
    return [f"Over the {tied.n} models of World-In-World's leaderboard, success and its own quality: {_tie(tied)}."]


def _level_words(points: Sequence[ArmResult]) -> list[str]:
    """At which level of noise half of the oracle's gain is left, and which level each further model is worth."""
    said = []
    for task in points[0].by_task:
        means = [(p.arm.noise, p.by_task[task].mean) for p in points]
        curve = [(level, mean) for level, mean in means if level is not None and mean is not None]
        base = next((p.by_task[task].mean for p in points if p.arm.base is None), None)
        if len(curve) < 2 or base is None:
            continue
        half = (curve[0][1] + base) / 2
        said.append(f"{task.capitalize()}: half of the oracle's gain is left {_between(curve, half)}.")
        for point in points:
            mean = point.by_task[task].mean
            if point.arm.noise is None and point.arm.base is not None and mean is not None:
                said.append(f"{point.arm.label} does as well as the oracle {_between(curve, mean)}.")
    return said


def _between(curve: Sequence[tuple[float, float]], success: float) -> str:
    """Where a falling curve of (level, success) passes a success, in words."""
    if success > curve[0][1]:
        return "at no level of noise, but better"
    for (level, _), (next_level, lower) in pairwise(curve):
        if success >= lower:
            return f"between the noise levels {level:g} and {next_level:g}"
    return f"beyond the noise level {curve[-1][0]:g}"


def _gain_words(
    gains: Sequence[ArmGain], values: Mapping[str, Mapping[str, float | None]], clusters: Mapping[str, str]
) -> list[str]:
    said = []
    for text, sign in (("better", 1), ("worse", -1)):
        told = [
            f"{gain.label} than {gain.base} ({gain.difference.mean:+.1f} points)"
            for gain in gains
            if gain.p is not None and gain.p <= ALPHA and gain.difference.mean is not None
            if sign * gain.difference.mean > 0
        ]
        if told:
            said.append(f"Told apart as {text}, p corrected: {', '.join(told)}.")
    left = [gain.label for gain in gains if gain.p is None or gain.p > ALPHA]
    if left:
        labels = list(values)
        pairs = [(labels.index(gain.label), labels.index(gain.base)) for gain in gains]
        smallest = detectable_effect(values, clusters, pairs=pairs)
        seen = "too few episodes" if smallest is None else f"nothing below about {smallest:.3g} points would be seen"
        said.append(f"No significant difference from base: {', '.join(left)}; no proof of equality ({seen}).")
    return said


def _p(p: float | None) -> str:
    return "none" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _models_by_fidelity(asked: ClosedLoopRequest) -> list[ClosedLoopArm]:
    """Models from right to wrong, the truth ever more degraded, and those of the user, against no world model."""
    others = [*MODELS, *(f"degraded?level={level:g}" for level in LEVELS)] if asked.baselines else []
    texts = [*asked.models, *others]
    arms = [ClosedLoopArm(_said(text), text, base="none") for text in dict.fromkeys(texts) if text != "none"]
    return [*arms, ClosedLoopArm("none", "none")]


def _noise(asked: ClosedLoopRequest) -> list[ClosedLoopArm]:
    """The truth under more and more noise, and models of the user, against no world model."""
    task = asked.settings.get("task")
    tasks = task_names() if task is None else (task,)
    wanted = sorted({level for name in tasks for level in closed_loop_tasks.get(name).noise_levels})
    levels = [
        ClosedLoopArm(f"degraded {level:g}", f"degraded?level={level:g}", base="none", noise=level) for level in wanted
    ]
    others = [ClosedLoopArm(_said(text), text, base="none") for text in asked.models if text not in ("oracle", "none")]
    return [ClosedLoopArm("oracle", "oracle", base="none", noise=0.0), *levels, *others, ClosedLoopArm("none", "none")]


def _calls(asked: ClosedLoopRequest) -> list[ClosedLoopArm]:
    """Each model asked at more and more of its decisions; also with more candidates, if given, and iterations."""
    arms = []
    for model in asked.models or ("oracle",):
        name = _said(model)
        base = f"{name} at 0"
        for ratio in RATIOS:
            label = f"{name} at {ratio:g}"
            arms.append(ClosedLoopArm(label, model, {"tts_ratio": ratio}, name, base if ratio else None))
        for count in asked.candidates:
            arms.append(ClosedLoopArm(f"{name} M={count}", model, {"candidates": count}, f"{name}, M", base))
        for count in ITERATIONS if asked.settings.get("reviser") in ITERATED else ():
            arms.append(ClosedLoopArm(f"{name} T={count}", model, {"iterations": count}, f"{name}, T", base))
    return arms


def _revision(asked: ClosedLoopRequest) -> list[ClosedLoopArm]:
    """Who chooses among the same candidates, with the same frames, against the first one."""
    task = asked.settings.get("task", "navigation")
    able = [name for name in task_names() if all(serves(revisers, one, name) for one in REVISERS)]
    if task not in able:
        raise UsageError(f"study revision compares the revisers of {' or of '.join(able)}; not of {task}")
    names = [*REVISERS, *(["chat"] if asked.settings.get("chat") else [])]
    return [
        ClosedLoopArm(
            _joined(model, name, asked), model, {"task": task, "reviser": name}, base=_base(model, name, asked)
        )
        for model in asked.models or ("oracle",)
        for name in names
    ]


def _joined(model: str, reviser: str, asked: ClosedLoopRequest) -> str:
    return reviser if len(asked.models) < 2 else f"{_said(model)}, {reviser}"


def _base(model: str, reviser: str, asked: ClosedLoopRequest) -> str | None:
    return None if reviser == REVISERS[0] else _joined(model, REVISERS[0], asked)


def _context(asked: ClosedLoopRequest) -> list[ClosedLoopArm]:
    """Models that are given, and imagine, the view ahead or all around."""
    return [
        ClosedLoopArm(
            f"{_said(model)} {name}",
            f"{model}{'&' if '?' in model else '?'}view={view}",
            base=None if view == "perspective" else f"{_said(model)} {VIEWS['perspective']}",
        )
        for model in asked.models or ("oracle", "warp", "freeze")
        for view, name in VIEWS.items()
    ]


def _said(model: str) -> str:
    """A model as a label: "degraded?level=0.1" is "degraded 0.1"."""
    name, _, query = model.partition("?")
    return " ".join([name, *(pair.partition("=")[2] or pair for pair in query.split("&") if pair)])


MEASURES = {
    "visual_quality": "visual quality",
    "controllability_ssim": "controllability (SSIM)",
    "model_calls": "rollouts an episode",
}
STUDIES: Mapping[str, ClosedLoopStudy] = {
    study.name: study
    for study in (
        ClosedLoopStudy(
            "quality",
            QUESTIONS["quality"],
            _models_by_fidelity,
            "plane",
            "visual_quality",
            "This measure of quality needs no reference and takes fine noise for detail: models that draw noise lie "
            "farther right than they look.",
            leaderboard,
        ),
        ClosedLoopStudy(
            "controllability", QUESTIONS["controllability"], _models_by_fidelity, "plane", "controllability_ssim"
        ),
        ClosedLoopStudy(
            "noise",
            QUESTIONS["noise"],
            _noise,
            "levels",
            caveat="Noise stands for error here: it hides what is imagined and moves nothing. A model that draws sharp "
            "pictures of the wrong place can be worth less than its pictures look.",
        ),
        ClosedLoopStudy("calls", QUESTIONS["calls"], _calls, "lines", "model_calls"),
        ClosedLoopStudy("revision", QUESTIONS["revision"], _revision, "list"),
        ClosedLoopStudy("context", QUESTIONS["context"], _context, "list"),
    )
}
"""By name, in the order of their questions."""


def run_study(
    name: str,
    *,
    data: Path | str,
    out: Path | str,
    models: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    candidates: Sequence[int] = (),
    baselines: bool = True,
    workers: int = 1,
    seed: int = 0,
    limit: int | str | None = None,
    deadline_s: float | None = DEADLINE_S,
    progress: RunWatcher | None = None,
) -> StudyResult:
    """Run a study, and return its findings. Each arm has a run folder below `out`/runs, so studies resume, and share
    the runs of shared arms."""
    if name not in STUDIES:
        raise UnknownNameError("study", name, list(STUDIES))
    if not baselines and STUDIES[name].drawn != "plane":
        raise UsageError(f"study {name} has no baselines to leave out; quality and controllability have")
    if not baselines and not models:
        raise UsageError(f"study {name} without baselines compares nothing; give --model")
    asked = ClosedLoopRequest(tuple(models), dict(settings or {}), tuple(candidates), baselines)
    arms = STUDIES[name].arms(asked)
    labels = [arm.label for arm in arms]
    if len(set(labels)) < len(labels):
        raise UsageError(f"study {name}: two of its rows would be called '{max(labels, key=labels.count)}'")
    swept = {key for arm in arms for key in arm.settings if arm.settings[key] != asked.settings.get(key)}
    if given := sorted(swept & asked.settings.keys()):
        raise UsageError(f"study {name} sweeps the setting '{given[0]}': leave out --set {given[0]}")
    scores: dict[str, list[Score]] = {}
    failed: dict[str, list[Failure]] = {}
    groups: dict[str, list[ClosedLoopArm]] = {}
    for arm in arms:  # one run asks all models of the same settings
        folder = run_label("_".join(f"{key}-{value}" for key, value in arm.settings.items()) or "as-set")
        groups.setdefault(folder, []).append(arm)
    for folder, group in groups.items():
        named = {arm.model: arm.label for arm in group}
        result = run(
            SUITE,
            model=list(named),
            data=data,
            out=Path(out) / "runs" / folder,
            workers=workers,
            seed=seed,
            settings={**asked.settings, **group[0].settings},
            limit=limit,
            deadline_s=deadline_s,
            labels=named,
            progress=progress,
        )
        model_in = {directory.name: model for model, directory in result.directories.items()}
        for arm in group:
            model = model_in[run_label(arm.label)]
            scores[arm.label], failed[arm.label] = result.scores[model], result.failed_tasks[model]
    return conclude(STUDIES[name], arms, scores, failed)


SUCCESS = "success (%)"
NOISE = "noise (0: the simulator itself)"


def write_study(finding: StudyResult, out: Path, command: str = "") -> Path:
    """Write the page of `finding` to `out`, naming `command`, and its drawing beside it as .svg, each atomically."""
    styles, study = _styles(finding), finding.study
    n = max(point.success.n for point in finding.points)
    marked = "Dashed" if study.drawn == "levels" else "Hollow"
    figure = Figure(
        f"Success against {MEASURES[study.measure]}" if study.measure else "Success",
        draw(finding, styles),
        f"Means over {times(n, 'episode', 'episodes')}, with 95 % intervals. {marked}: what the others are compared "
        "with.",
        study.drawn,
    )
    about = "An agent in homes, with a world model in the loop"
    page = StudyPage(study.name, about, study.question, finding.words, [figure], finding.tables, styles, command)
    return write_page(page, out)


def _styles(finding: StudyResult) -> dict[str, SeriesStyle]:
    return {
        arm.label: SeriesStyle(f"s{place}", look(place), arm.label, arm.base is None)
        for place, arm in enumerate(point.arm for point in finding.points)
    }


def draw(finding: StudyResult, styles: Mapping[str, SeriesStyle]) -> Markup:
    """Points in the plane of the measure and success, lines of a sweep or over levels of noise, or a list."""
    study = finding.study
    title = study.question
    told = "; ".join(f"{p.arm.label}: {SUCCESS} {number(p.success.mean)}" for p in finding.points)
    if study.drawn == "levels":
        lines = list(_levels(finding))
        return curves.line_chart("study", title, told, lines, x_label=NOISE, y_label=SUCCESS, unit=False, whole=True)
    if study.drawn == "list" or study.measure is None:
        rows = [
            ForestRow(styles[p.arm.label], p.arm.label, p.success.mean, p.success.low, p.success.high)
            for p in finding.points
            if p.success.mean is not None
        ]
        return curves.forest("study", title, told, rows, x_label=SUCCESS)
    name = MEASURES[study.measure]
    if study.drawn == "plane":
        spots = [
            ScatterPoint(
                styles[p.arm.label], p.measure.mean, p.success.mean, _interval(p.success), across=_interval(p.measure)
            )
            for p in finding.points
            if p.measure is not None and p.measure.mean is not None and p.success.mean is not None
        ]
        return curves.scatter("study", title, told, spots, x_label=name, y_label=SUCCESS, whole=True)
    families: dict[str, list[ArmResult]] = {}
    for point in finding.points:
        families.setdefault(point.arm.family, []).append(point)
    lines = [
        ChartLine(SeriesStyle(f"f{place}", look(place), family), _line(own))
        for place, (family, own) in enumerate(families.items())
    ]
    return curves.line_chart("study", title, told, lines, x_label=name, y_label=SUCCESS, unit=False, whole=True)


def _levels(finding: StudyResult) -> Iterator[ChartLine]:
    """For each task success over noise, and as level lines what no model and further ones come to."""
    swept = [point for point in finding.points if point.arm.noise is not None]
    level = [point for point in finding.points if point.arm.noise is None]
    end = max(point.arm.noise or 0.0 for point in swept)
    for place, task in enumerate(finding.points[0].by_task):
        known = [(point.arm.noise or 0.0, point.by_task[task]) for point in swept]
        line = tuple((at, cell.mean, cell.low, cell.high) for at, cell in known if cell.mean is not None)
        yield ChartLine(SeriesStyle(f"t{place}", look(place), task), line)
        for other, point in enumerate(level):
            cell = point.by_task[task]
            colour = look(place if point.arm.base is None else len(finding.points[0].by_task) + other)
            style = SeriesStyle(f"l{place}-{other}", colour, point.arm.label, baseline=True)
            flat = tuple((at, cell.mean, cell.low, cell.high) for at in (0.0, end) if cell.mean is not None)
            yield ChartLine(style, flat)


def _line(points: list[ArmResult]) -> tuple[tuple[float, float, float | None, float | None], ...]:
    known = [
        (p.measure.mean, p.success.mean, p.success.low, p.success.high)
        for p in points
        if p.measure is not None and p.measure.mean is not None and p.success.mean is not None
    ]
    return tuple(sorted(known, key=lambda point: point[0]))


def _interval(cell: Cell) -> tuple[float, float] | None:
    return None if cell.low is None or cell.high is None else (cell.low, cell.high)
