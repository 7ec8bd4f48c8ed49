"""The paper's analyses: which runs each of them compares, and what their scores can tell (World-in-World, 4.2 to 4.4).

Success against visual quality, controllability and the number of rollouts; who revises; what of the view is imagined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.core.statistics import Correlation, PairedDifference, correlation, holm, paired_difference
from worldgauge.engine.suite.contract import Cell, Failure, Score, Table, TableRow
from worldgauge.engine.suite.tables import clusters_by_task, detectable_effect, score_cell
from worldgauge.metrics._registry import metric_bounds, metrics
from worldgauge.suites.closedloop.policies.contract import revisers
from worldgauge.suites.closedloop.scoring import HEADLINE
from worldgauge.suites.closedloop.summary import summarize
from worldgauge.suites.closedloop.task import closed_loop_tasks, serves, task_names
from worldgauge_lab.closedloop.questions import QUESTIONS

MODELS = ("oracle", "warp", "forgetful", "roll", "freeze", "noise")
"""References that imagine something, from right to wrong."""
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0)
REVISERS = ("none", "random", "similarity", "oracle")
VIEWS = {"perspective": "front", "panorama": "panorama"}
ALPHA = 0.05
_SEED = 20251018


@dataclass(frozen=True)
class Arm:
    """One row of a study: a model under some settings of the suite.

    Attributes:
        label: Names it in tables and drawings.
        model: Its name, as for a run.
        settings: Of the suite, beyond those of the user.
        family: Arms of one family are joined by a line.
        base: Label of the arm that it is compared with; None for an arm that others are compared with.
        noise: Level of noise over the truth, where that is what differs.
    """

    label: str
    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    family: str = ""
    base: str | None = None
    noise: float | None = None


@dataclass(frozen=True)
class StudyRequest:
    """What the user asks of a study.

    Attributes:
        models: Names as for a run; empty for the study's own.
        settings: Of the suite, for all arms.
        candidates: Values of M to compare as well.
        references: Whether quality and controllability have the references beside the models.
    """

    models: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    candidates: tuple[int, ...] = ()
    references: bool = True


@dataclass(frozen=True)
class Study:
    """An analysis of the paper.

    Attributes:
        name, question: What it is called, and what it asks.
        arms: Makes its rows from what the user asks.
        drawn: As points in a plane, lines of a sweep, a line over levels of noise for each task, or a list.
        measure: Metric on the horizontal axis; None where the arms themselves are what differs.
        caveat: What its readers must know.
    """

    name: str
    question: str
    arms: Callable[[StudyRequest], list[Arm]]
    drawn: Literal["plane", "lines", "levels", "list"]
    measure: str | None = None
    caveat: str = ""


@dataclass(frozen=True)
class ArmResult:
    """What came of an arm.

    Attributes:
        arm: Which.
        success: In percent, over all episodes.
        measure: Where the study has one.
        by_task: Success by task.
    """

    arm: Arm
    success: Cell
    measure: Cell | None
    by_task: Mapping[str, Cell]


@dataclass(frozen=True)
class Gain:
    """An arm minus its base on the same episodes, in percentage points; p is corrected for all gains (Holm)."""

    label: str
    base: str
    difference: PairedDifference
    p: float | None


@dataclass(frozen=True)
class StudyResult:
    """What came of a study.

    Attributes:
        study: Which.
        points: One for each arm, in the order of the study.
        gains: Of every arm that has a base.
        correlation: Of the measure with success over arms; None where the study draws no plane.
        tables: For people, the study's own first.
        words: What can be concluded, a sentence each.
    """

    study: Study
    points: tuple[ArmResult, ...]
    gains: tuple[Gain, ...]
    correlation: Correlation | None
    tables: tuple[Table, ...]
    words: tuple[str, ...]


def conclude(
    study: Study,
    arms: Sequence[Arm],
    scores: Mapping[str, Sequence[Score]],
    failed: Mapping[str, Sequence[Failure]],
) -> StudyResult:
    """What the scores can tell.

    Args:
        study: Which.
        arms: Its rows.
        scores: Of each arm, by its label.
        failed: Episodes without scores, by label.

    Raises:
        UsageError: When no episode was scored.
    """
    made = summarize(scores, {arm.label: "subject" for arm in arms}, failed)
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
    words = [
        *_correlation_words(study, tied),
        *_level_words(points),
        *filter(None, [study.caveat]),
        *_gain_words(gains, values, clusters),
    ]
    return StudyResult(study, points, gains, tied, tuple(shown), tuple(words))


def _measure(study: Study, scores: Sequence[Score]) -> Cell | None:
    if study.measure is None:
        return None
    return score_cell([score for score in scores if score.metric == study.measure], metric_bounds(study.measure))


def _gains(
    arms: Sequence[Arm], values: Mapping[str, Mapping[str, float | None]], clusters: Mapping[str, str]
) -> tuple[Gain, ...]:
    found = [(arm, _compared(values[arm.label], values[arm.base], clusters)) for arm in arms if arm.base is not None]
    corrected = holm([told.p for _, told in found])
    return tuple(Gain(arm.label, arm.base or "", told, p) for (arm, told), p in zip(found, corrected, strict=True))


def _compared(
    ours: Mapping[str, float | None], base: Mapping[str, float | None], clusters: Mapping[str, str]
) -> PairedDifference:
    return paired_difference(ours, base, cluster=clusters)


def _rows(study: Study, points: Sequence[ArmResult], gains: Sequence[Gain], flags: Mapping[str, str]) -> Table:
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


def _correlation_words(study: Study, tied: Correlation | None) -> list[str]:
    if tied is None or study.measure is None:
        return []
    name = MEASURES[study.measure]
    if tied.spearman is None or tied.interval is None or tied.pearson is None:
        return [f"Only {tied.n} models can be placed by {name}, or all alike: nothing can be said of a tie."]
    low, high = tied.interval
    meant = (
        "models with more of it succeed more"
        if low > 0
        else "models with more of it succeed less"
        if high < 0
        else "the interval holds 0, so a tie can neither be concluded nor ruled out"
    )
    return [
        f"Over {tied.n} models, success and {name} go together by Spearman's r {tied.spearman:.2f} (95 % interval "
        f"{low:.2f} to {high:.2f}; Pearson's r {tied.pearson:.2f}): {meant}.",
        "Models are what is counted here, and some of them are degrees of one degradation: a tie among them is no "
        "cause, and need not hold for others.",
    ]


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
    gains: Sequence[Gain], values: Mapping[str, Mapping[str, float | None]], clusters: Mapping[str, str]
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
        said.append(f"Not told apart from the base: {', '.join(left)}; that is no proof of equality ({seen}).")
    return said


def _p(p: float | None) -> str:
    return "none" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _models_by_fidelity(asked: StudyRequest) -> list[Arm]:
    """Models from right to wrong, the truth ever more degraded, and those of the user, against no world model."""
    others = [*MODELS, *(f"degraded?level={level:g}" for level in LEVELS)] if asked.references else []
    texts = [*asked.models, *others]
    arms = [Arm(_said(text), text, base="none") for text in dict.fromkeys(texts) if text != "none"]
    return [*arms, Arm("none", "none")]


def _noise(asked: StudyRequest) -> list[Arm]:
    """The truth under more and more noise, and models of the user, against no world model."""
    task = asked.settings.get("task")
    tasks = task_names() if task is None else (task,)
    wanted = sorted({level for name in tasks for level in closed_loop_tasks.get(name).noise_levels})
    levels = [Arm(f"degraded {level:g}", f"degraded?level={level:g}", base="none", noise=level) for level in wanted]
    others = [Arm(_said(text), text, base="none") for text in asked.models if text not in ("oracle", "none")]
    return [Arm("oracle", "oracle", base="none", noise=0.0), *levels, *others, Arm("none", "none")]


def _calls(asked: StudyRequest) -> list[Arm]:
    """Each model asked at more and more of its decisions; also with more candidates, where these are given."""
    arms = []
    for model in asked.models or ("oracle",):
        name = _said(model)
        base = f"{name} at 0"
        for ratio in RATIOS:
            label = f"{name} at {ratio:g}"
            arms.append(Arm(label, model, {"tts_ratio": ratio}, name, base if ratio else None))
        for count in asked.candidates:
            arms.append(Arm(f"{name} M={count}", model, {"candidates": count}, f"{name}, M", base))
    return arms


def _revision(asked: StudyRequest) -> list[Arm]:
    """Who chooses among the same candidates, with the same frames, against the first one."""
    task = asked.settings.get("task", "navigation")
    able = [name for name in task_names() if all(serves(revisers, one, name) for one in REVISERS)]
    if task not in able:
        raise UsageError(f"study revision compares the revisers of {' or of '.join(able)}; not of {task}")
    names = [*REVISERS, *(["chat"] if asked.settings.get("chat") else [])]
    return [
        Arm(_joined(model, name, asked), model, {"task": task, "reviser": name}, base=_base(model, name, asked))
        for model in asked.models or ("oracle",)
        for name in names
    ]


def _joined(model: str, reviser: str, asked: StudyRequest) -> str:
    return reviser if len(asked.models) < 2 else f"{_said(model)}, {reviser}"


def _base(model: str, reviser: str, asked: StudyRequest) -> str | None:
    return None if reviser == REVISERS[0] else _joined(model, REVISERS[0], asked)


def _context(asked: StudyRequest) -> list[Arm]:
    """Models that are given, and imagine, the view ahead or all around."""
    return [
        Arm(
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
STUDIES: Mapping[str, Study] = {
    study.name: study
    for study in (
        Study(
            "quality",
            QUESTIONS["quality"],
            _models_by_fidelity,
            "plane",
            "visual_quality",
            "This measure of quality needs no reference and takes fine noise for detail: models that draw noise lie "
            "farther right than they look.",
        ),
        Study("controllability", QUESTIONS["controllability"], _models_by_fidelity, "plane", "controllability_ssim"),
        Study(
            "noise",
            QUESTIONS["noise"],
            _noise,
            "levels",
            caveat="Noise stands for error here: it hides what is imagined and moves nothing. A model that draws sharp "
            "pictures of the wrong place can be worth less than its pictures look.",
        ),
        Study("calls", QUESTIONS["calls"], _calls, "lines", "model_calls"),
        Study("revision", QUESTIONS["revision"], _revision, "list"),
        Study("context", QUESTIONS["context"], _context, "list"),
    )
}
"""By name, in the order of their questions."""
