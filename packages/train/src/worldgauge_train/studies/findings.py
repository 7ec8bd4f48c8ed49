"""What the scores of a study can tell: means, paired differences, and what the set could resolve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from worldgauge.core.statistics import PairedDifference, holm, paired_difference
from worldgauge.engine.suite.contract import Better, Cell, Table, TableRow
from worldgauge.engine.suite.tables import detectable_effect, make_cell, scenes_note
from worldgauge.metrics._registry import metric_bounds
from worldgauge_train.studies.arms import Arm, Study
from worldgauge_train.studies.law import LogLaw

ALPHA = 0.05
SPEED = "frames/s"
_NOTHING = 1e-9
"""Slope, against the level, below which it is rounding."""


class Measure(NamedTuple):
    """A metric that a study looks at.

    Attributes:
        metric: Its name.
        title: Its title.
        better: Which direction is better.
        unit: Unit of its values.
    """

    metric: str
    title: str
    better: Better
    unit: str = "1"


@dataclass(frozen=True)
class ArmScores:
    """What was measured of an arm.

    Attributes:
        arm: Which.
        values: By metric, value by task.
        speeds: Frames a second of each task.
        flag: Why its values must not be taken at their face, such as "does not move".
        scenes: What is known of the scenes that it was trained on; empty of what was not trained.
    """

    arm: Arm
    values: Mapping[str, Mapping[str, float | None]]
    speeds: Sequence[float] = ()
    flag: str = ""
    scenes: str = ""


class Gain(NamedTuple):
    """An arm minus its base on the same tasks; p is corrected for all gains of the metric (Holm)."""

    metric: str
    label: str
    base: str
    difference: PairedDifference
    p: float | None


@dataclass(frozen=True)
class Point:
    """Means of an arm.

    Attributes:
        arm: Which.
        cells: Mean of each measure, in their order.
        speed: Frames a second; None where that is not known.
    """

    arm: Arm
    cells: tuple[Cell, ...]
    speed: Cell | None


@dataclass(frozen=True)
class Finding:
    """What came of a study.

    Attributes:
        study: Which.
        suite: Name of the suite whose tasks were asked.
        measures: What is measured.
        points: One for each arm, in the order of the study.
        gains: Of every arm that has a base.
        laws: Laws over the number of clips, by metric and family, where the study fits some.
        tables: One for each measure.
        words: What can be concluded, a sentence each.
    """

    study: Study
    suite: str
    measures: tuple[Measure, ...]
    points: tuple[Point, ...]
    gains: tuple[Gain, ...]
    laws: Mapping[tuple[str, str], LogLaw]
    tables: tuple[Table, ...]
    words: tuple[str, ...]


def conclude(
    study: Study,
    suite: str,
    measures: Sequence[Measure],
    scores: Sequence[ArmScores],
    clusters: Mapping[str, str],
    *,
    laws: Mapping[tuple[str, str], LogLaw] | None = None,
    said: Sequence[str] = (),
) -> Finding:
    """Compare the arms of a study.

    Args:
        study: Which.
        suite: Name of the suite.
        measures: What is compared.
        scores: What was measured of each arm.
        clusters: Cluster of each task.
        laws: Laws that were fitted, by metric and family.
        said: Sentences that belong to the conclusions.
    """
    laws = laws or {}
    points = tuple(_point(one, measures, clusters) for one in scores)
    gains = tuple(gain for measure in measures for gain in _gains(measure.metric, scores, clusters))
    tables = tuple(_table(study, place, measures, points, gains, scores) for place in range(len(measures)))
    words = [sentence for measure in measures for sentence in _words(measure, scores, gains, clusters)]
    fits = [_law_words(measure, family, law) for (name, family), law in laws.items() for measure in measures
            if measure.metric == name]  # fmt: skip
    speed = _speed_words(points) if study.is_timed else []
    caveat = [study.caveat] if study.caveat else []
    return Finding(study, suite, tuple(measures), points, gains, laws, tables, (*fits, *words, *speed, *caveat, *said))


def _point(one: ArmScores, measures: Sequence[Measure], clusters: Mapping[str, str]) -> Point:
    cells = []
    for measure in measures:
        own = one.values.get(measure.metric, {})
        names = [clusters.get(task, task) for task in own]
        cells.append(make_cell(own.values(), metric_bounds(measure.metric), clusters=names))
    speed = make_cell(one.speeds, (0.0, np.inf)) if one.speeds else None
    return Point(one.arm, tuple(cells), speed)


def _gains(metric: str, scores: Sequence[ArmScores], clusters: Mapping[str, str]) -> list[Gain]:
    values = {one.arm.label: one.values.get(metric, {}) for one in scores}
    arms = [one.arm for one in scores if one.arm.base is not None]
    found = [paired_difference(values[arm.label], values[arm.base or ""], cluster=clusters) for arm in arms]
    corrected = holm([one.p for one in found])
    return [
        Gain(metric, arm.label, arm.base or "", told, p) for arm, told, p in zip(arms, found, corrected, strict=True)
    ]


def _table(
    study: Study,
    place: int,
    measures: Sequence[Measure],
    points: Sequence[Point],
    gains: Sequence[Gain],
    scores: Sequence[ArmScores],
) -> Table:
    measure = measures[place]
    own = {gain.label: gain for gain in gains if gain.metric == measure.metric}
    is_timed = study.is_timed and place == 0
    none = Cell(None, None, 0)
    rows = []
    for point, one in zip(points, scores, strict=True):
        gain = own.get(point.arm.label)
        told = None if gain is None else gain.difference
        low, high = (None, None) if told is None or told.interval is None else told.interval
        cells = [point.cells[place], none if told is None else Cell(told.mean, None, told.n, low, high,
                                                                    clusters=told.clusters)]  # fmt: skip
        if is_timed:
            cells.append(point.speed or none)
        kind: Literal["reference", "subject"] = "reference" if point.arm.at is None else "subject"
        rows.append(TableRow(point.arm.label, tuple(cells), kind, one.flag))
    told_p = ", ".join(f"{gain.label} against {gain.base}: {_p(gain.p)}" for gain in own.values())
    notes: tuple[str, ...] = (
        f"Difference: paired, on the same tasks, with its interval; p of Student's paired test, corrected for "
        f"{len(own)} comparisons (Holm): {told_p or 'none'}.",
    )
    if seen := {one.arm.label: one.scenes for one in scores if one.scenes}:
        notes = (*notes, scenes_note(seen))
    return Table(
        f"study/{study.name}/{measure.metric}",
        measure.title,
        measure.unit,
        measure.better,
        ("mean", "difference from its base", *((SPEED,) if is_timed else ())),
        tuple(rows),
        notes,
        (measure.better, measure.better, *(("higher",) if is_timed else ())),
    )


def _words(
    measure: Measure,
    scores: Sequence[ArmScores],
    gains: Sequence[Gain],
    clusters: Mapping[str, str],
) -> list[str]:
    own = [gain for gain in gains if gain.metric == measure.metric]
    if not own:
        return []
    sign = -1 if measure.better == "lower" else 1
    said = []
    for text, way in (("better", 1), ("worse", -1)):
        told = [
            f"{gain.label} than {gain.base} ({gain.difference.mean:+.3g})"
            for gain in own
            if gain.p is not None and gain.p <= ALPHA and gain.difference.mean is not None
            if sign * way * gain.difference.mean > 0
        ]
        if told:
            said.append(f"{measure.title}: told apart as {text}, p corrected: {', '.join(told)}.")
    left = [gain.label for gain in own if gain.p is None or gain.p > ALPHA]
    if left:
        values = {one.arm.label: dict(one.values.get(measure.metric, {})) for one in scores}
        labels = list(values)
        pairs = [(labels.index(gain.label), labels.index(gain.base)) for gain in own]
        smallest = detectable_effect(values, clusters, pairs=pairs)
        seen = "too few tasks" if smallest is None else f"nothing below about {smallest:.3g} would be seen"
        said.append(
            f"{measure.title}: not told apart from the base: {', '.join(left)}; that is no proof of equality ({seen})."
        )
    return said


def _speed_words(points: Sequence[Point]) -> list[str]:
    of = {point.arm.label: point.speed.mean for point in points if point.speed is not None}
    told = [
        f"{point.arm.label} {mine / theirs:.1f} times as fast as {point.arm.base}"
        for point in points
        if point.arm.base is not None
        if (mine := of.get(point.arm.label)) and (theirs := of.get(point.arm.base))
    ]
    return [f"Speed, by the clock of this machine: {', '.join(told)}."] if told else []


def _law_words(measure: Measure, family: str, law: LogLaw) -> str:
    if law.interval is None:
        meant = "of one cluster of tasks, so without an interval"
    else:
        low, high = law.interval
        meant = f"95 % interval {low:+.3g} to {high:+.3g}: " + (
            "it holds 0, so no law is shown" if low <= 0 <= high else "more data changes it"
        )
    slope = f"{0.0 if abs(law.b) < _NOTHING * max(abs(law.a), 1) else law.b:+.3g}"
    resampled = "tasks and trainings" if law.seeds > 1 else "tasks alone, since there is one training at each number"
    return (
        f"{measure.title}, {family}: {law.a:.4g} {slope} log10 n, so ten times the clips change it by "
        f"{slope} ({meant}; {law.counts} numbers of clips, {law.seeds} trainings each, {law.tasks} tasks; "
        f"resampled: {resampled})."
    )


def _p(p: float | None) -> str:
    return "none" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
