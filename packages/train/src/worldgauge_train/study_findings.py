"""Studies: their arms, what the scores can tell, the law over the number of clips, and the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.intervals import Interval
from worldgauge.core.paired_tests import PairedDifference, holm, paired_difference
from worldgauge.engine.suite.contract import Better, Cell, Table, TableRow
from worldgauge.engine.suite.scores import detectable_effect, make_cell, scenes_note
from worldgauge.metrics._registry import metric_bounds
from worldgauge.models.address import CONTEXT_FRAMES
from worldgauge.report import curves
from worldgauge.report.curves import ChartLine, ForestRow, ScatterPoint, SeriesStyle, look
from worldgauge.report.study_page import Figure, StudyPage, write_page
from worldgauge.report.wording import number, times


@dataclass(frozen=True)
class Study:
    """A study, shown as lines over `Arm.at`, as a plane over frames/s, or as a list."""

    name: str
    question: str
    axis: str
    drawn: Literal["lines", "plane", "list"]
    is_timed: bool = False
    caveat: str = ""


@dataclass(frozen=True)
class Arm:
    """One row of a study.

    Attributes:
        label: Names it in tables and drawings.
        model: Text that names the model, as for a run.
        family: Arms of one family are joined by a line.
        at: Position on the horizontal axis. None for a model that others are compared with.
        base: Label of the arm that it is compared with, if any.
        tick: Text at `at`, by default the number.
    """

    label: str
    model: str
    family: str = ""
    at: float | None = None
    base: str | None = None
    tick: str = ""


MEMORY = Study("memory", "Does a model use what it is shown?", "frames shown", "lines")
DENOISING = Study(
    "denoising",
    "What do more denoising steps buy?",
    "denoising steps",
    "lines",
    is_timed=True,
    caveat="A blur is near the truth on average, so an error of pixels can grow while pictures get sharper: look at "
    "detail beside it.",
)
DISTILLATION = Study(
    "distillation", "Is a student as good as its teacher, and how much faster?", "frames/s", "plane", is_timed=True
)
TRANSFER = Study("transfer", "Does a model do better where it was trained on?", "", "list")
DATA = Study("data", "What is more data to train on worth?", "clips trained on", "lines")

ALL = "all"


def memory_arms(
    models: Mapping[str, str], contexts: Sequence[int | None], held: Mapping[str, int | None]
) -> tuple[list[Arm], list[str]]:
    """Each model shown more and more frames, against itself shown the fewest."""
    counts = sorted({one for one in contexts if one is not None})
    beyond = 3.0 * counts[-1] if counts else 1.0
    arms, said = [], []
    for label, text in models.items():
        most = held[label]
        able = [n for n in counts if most is None or n < most]
        rows: list[tuple[str, str, float, str]] = [
            (f"{label} at {n}", with_setting(text, CONTEXT_FRAMES, n), float(n), "") for n in able
        ]
        if None in contexts or len(able) < len(counts):
            end, tick = (beyond, ALL) if most is None else (float(most), "")
            rows.append((f"{label} at {ALL if most is None else most}", text, end, tick))
        if len(able) < len(counts):
            left = ", ".join(str(n) for n in counts[len(able) :])
            said.append(f"{label} takes no more than {most} frames, so it is not evaluated with {left}.")
        arms += [
            Arm(name, model, label, at, None if name == rows[0][0] else rows[0][0], tick)
            for name, model, at, tick in rows
        ]
    return arms, said


def denoising_arms(models: Mapping[str, str], steps: Sequence[int]) -> list[Arm]:
    """Each model with more and more denoising steps, against itself with the fewest."""
    counts = sorted(set(steps))
    return [
        Arm(
            f"{label} in {n}",
            with_setting(text, "steps", n),
            label,
            float(n),
            None if n == counts[0] else f"{label} in {counts[0]}",
        )
        for label, text in models.items()
        for n in counts
    ]


def pair_arms(models: Mapping[str, str]) -> list[Arm]:
    """Models as they are, each against the first."""
    first = next(iter(models))
    return [
        Arm(label, text, label, float(place), None if label == first else first)
        for place, (label, text) in enumerate(models.items())
    ]


def beside_arms(models: Mapping[str, str]) -> list[Arm]:
    """Models that others are seen beside, such as floors."""
    return [Arm(label, text, label) for label, text in models.items()]


def with_setting(text: str, name: str, value: int) -> str:
    """Text of a model with one more setting."""
    query = text.partition("?")[2]
    if any(pair.partition("=")[0] == name for pair in query.split("&")):
        raise UsageError(f"model '{text}': the study sweeps '{name}'; leave it out")
    return f"{text}{'&' if query else '?'}{name}={value}"


def counts_of(text: str, option: str) -> list[int | None]:
    """Read numbers such as "1,8,all"."""
    found: list[int | None] = []
    for word in text.split(","):
        word = word.strip()
        if word != ALL and not word.isdecimal():
            raise UsageError(f"{option} takes numbers separated by commas, such as 1,8,24, not '{word}'")
        found.append(None if word == ALL else int(word))
    return found


Values = Mapping[str, float | None]


class LogLaw(NamedTuple):
    """A fit of value = a + b log10(n).

    Attributes:
        a: Value at one clip.
        b: What ten times the clips add.
        interval: 95 % interval of b. None for a single cluster of tasks.
        seeds: Trainings at each number.
        tasks: Tasks for which all trainings have a value.
    """

    a: float
    b: float
    interval: Interval | None
    counts: int
    seeds: int
    tasks: int
    clusters: int


def fit_law(
    values: Mapping[int, Sequence[Values]],
    clusters: Mapping[str, str],
    *,
    rng: np.random.Generator,
    n: int = 10_000,
    level: float = 0.95,
) -> LogLaw | None:
    """Fit value = a + b log10(clips) by least squares over the trainings, on tasks that all of them have. The interval
    resamples clusters and trainings, spread by sqrt(k / (k - 1)), since percentiles of so few are too narrow
    (Hesterberg 2015)."""
    counts = sorted(values)
    if any(count < 1 for count in counts):
        raise ShapeError("a law over log10(n) needs numbers of clips from 1 on")
    if len({len(values[count]) for count in counts}) > 1:
        raise ShapeError("a law needs as many trainings at each number of clips")
    trainings = [one for count in counts for one in values[count]]
    if len(counts) < 2 or not trainings:
        return None
    shared = [task for task in sorted(trainings[0]) if all(_is_known(one.get(task)) for one in trainings)]
    if not shared:
        return None
    seeds = len(values[counts[0]])
    table = np.array([[[one[task] for task in shared] for one in values[count]] for count in counts], np.float64)
    x = np.log10(np.array(counts, np.float64))
    a, b = _line(x, table.mean((1, 2)))
    names = [clusters.get(task, task) for task in shared]
    clusters_of = [*dict.fromkeys(names)]
    interval = None
    if len(clusters_of) > 1:
        is_in = np.array([[name == one for name in names] for one in clusters_of], np.float64)
        weights = rng.multinomial(len(clusters_of), np.full(len(clusters_of), 1 / len(clusters_of)), n) @ is_in
        middle = table.mean(1, keepdims=True)
        spread = middle + (table - middle) * _spread(seeds)
        means = np.einsum("cst,nt->ncs", spread, weights) / weights.sum(1)[:, None, None]
        drawn = np.take_along_axis(means, rng.integers(0, seeds, means.shape), 2).mean(2)
        slopes = drawn @ (x - x.mean()) / np.square(x - x.mean()).sum()
        ends = b + _spread(len(clusters_of)) * (np.quantile(slopes, [(1 - level) / 2, (1 + level) / 2]) - b)
        interval = Interval(float(ends[0]), float(ends[1]))
    return LogLaw(a, b, interval, len(counts), seeds, len(shared), len(clusters_of))


def _line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    middle = x.mean()
    b = float(((x - middle) * (y - y.mean())).sum() / np.square(x - middle).sum())
    return float(y.mean() - b * middle), b


def _spread(count: int) -> float:
    return math.sqrt(count / (count - 1)) if count > 1 else 1.0


def _is_known(value: float | None) -> bool:
    return value is not None and bool(np.isfinite(value))


ALPHA = 0.05
SPEED = "frames/s"
_NOTHING = 1e-9
"""Slope, against the level, below which it is rounding."""


class Measure(NamedTuple):
    """A metric that a study looks at."""

    metric: str
    title: str
    better: Better
    unit: str = "1"


@dataclass(frozen=True)
class ArmScores:
    """What was measured of an arm.

    Attributes:
        values: By metric, value by task.
        speeds: Frames per second of each task.
        flag: Why its values are misleading, such as "does not move".
        scenes: What is known of its training scenes; empty if untrained.
    """

    arm: Arm
    values: Mapping[str, Mapping[str, float | None]]
    speeds: Sequence[float] = ()
    flag: str = ""
    scenes: str = ""


class StudyGain(NamedTuple):
    """An arm minus its base on the same tasks; p is corrected for all gains of the metric (Holm)."""

    metric: str
    label: str
    base: str
    difference: PairedDifference
    p: float | None


@dataclass(frozen=True)
class Point:
    """Means of an arm: a cell per measure, in order, and its frames per second if known."""

    arm: Arm
    cells: tuple[Cell, ...]
    speed: Cell | None


@dataclass(frozen=True)
class StudyFinding:
    """What came of a study: points per arm, gains of arms with a base, laws by metric and family."""

    study: Study
    suite: str
    measures: tuple[Measure, ...]
    points: tuple[Point, ...]
    gains: tuple[StudyGain, ...]
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
) -> StudyFinding:
    """Compare the arms of a study."""
    laws = laws or {}
    points = tuple(_point(one, measures, clusters) for one in scores)
    gains = tuple(gain for measure in measures for gain in _gains(measure.metric, scores, clusters))
    tables = tuple(_table(study, place, measures, points, gains, scores) for place in range(len(measures)))
    words = [sentence for measure in measures for sentence in _words(measure, scores, gains, clusters)]
    fits = [_law_words(measure, family, law) for (name, family), law in laws.items() for measure in measures
            if measure.metric == name]  # fmt: skip
    speed = _speed_words(points) if study.is_timed else []
    caveat = [study.caveat] if study.caveat else []
    return StudyFinding(
        study, suite, tuple(measures), points, gains, laws, tables, (*fits, *words, *speed, *caveat, *said)
    )


def _point(one: ArmScores, measures: Sequence[Measure], clusters: Mapping[str, str]) -> Point:
    cells = []
    for measure in measures:
        own = one.values.get(measure.metric, {})
        names = [clusters.get(task, task) for task in own]
        cells.append(make_cell(own.values(), metric_bounds(measure.metric), clusters=names))
    speed = make_cell(one.speeds, (0.0, np.inf)) if one.speeds else None
    return Point(one.arm, tuple(cells), speed)


def _gains(metric: str, scores: Sequence[ArmScores], clusters: Mapping[str, str]) -> list[StudyGain]:
    values = {one.arm.label: one.values.get(metric, {}) for one in scores}
    arms = [one.arm for one in scores if one.arm.base is not None]
    found = [paired_difference(values[arm.label], values[arm.base or ""], cluster=clusters) for arm in arms]
    corrected = holm([one.p for one in found])
    return [
        StudyGain(metric, arm.label, arm.base or "", told, p)
        for arm, told, p in zip(arms, found, corrected, strict=True)
    ]


def _table(
    study: Study,
    place: int,
    measures: Sequence[Measure],
    points: Sequence[Point],
    gains: Sequence[StudyGain],
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
        kind: Literal["baseline", "model"] = "baseline" if point.arm.at is None else "model"
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
    measure: Measure, scores: Sequence[ArmScores], gains: Sequence[StudyGain], clusters: Mapping[str, str]
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
            said.append(f"{measure.title}: significantly {text}, p corrected: {', '.join(told)}.")
    left = [gain.label for gain in own if gain.p is None or gain.p > ALPHA]
    if left:
        values = {one.arm.label: dict(one.values.get(measure.metric, {})) for one in scores}
        labels = list(values)
        pairs = [(labels.index(gain.label), labels.index(gain.base)) for gain in own]
        smallest = detectable_effect(values, clusters, pairs=pairs)
        seen = "too few tasks" if smallest is None else f"nothing below about {smallest:.3g} would be seen"
        said.append(
            f"{measure.title}: no significant difference from base: {', '.join(left)}; no proof of equality ({seen})."
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


def write_finding(finding: StudyFinding, out: Path, command: str = "") -> Path:
    """Write the page of a study, and its drawings beside it as .svg; each whole or not at all."""
    return write_page(page_of(finding, command), out)


def page_of(finding: StudyFinding, command: str = "") -> StudyPage:
    """The page of a study."""
    study = finding.study
    styles = {
        point.arm.label: SeriesStyle(
            f"s{place}", look(place), point.arm.label, point.arm.at is None or point.arm.base is None
        )
        for place, point in enumerate(finding.points)
    }
    figures = []
    for place, measure in enumerate(finding.measures):
        n = max(point.cells[place].n for point in finding.points)
        note = f"Means over {times(n, 'task', 'tasks')}, with 95 % intervals."
        cells = [point.cells[place] for point in finding.points]
        figures.append(Figure(measure.title, _draw(finding, f"plot-{place}", cells, measure.title, styles), note,
                              study.drawn))  # fmt: skip
    if study.is_timed and study.drawn == "lines":
        note = "Wall-clock time per rollout on this machine, so machines cannot be compared."
        cells = [point.speed or Cell(None, None, 0) for point in finding.points]
        figures.append(Figure("Speed", _draw(finding, "plot-speed", cells, SPEED, styles), note))
    about = f"World models on the tasks of {finding.suite}"
    return StudyPage(study.name, about, study.question, finding.words, figures, finding.tables, styles, command)


def _draw(
    finding: StudyFinding, ident: str, cells: Sequence[Cell], name: str, styles: dict[str, SeriesStyle]
) -> Markup:
    study, points = finding.study, finding.points
    told = "; ".join(f"{point.arm.label}: {number(cell.mean)}" for point, cell in zip(points, cells, strict=True))
    known = [(point, cell) for point, cell in zip(points, cells, strict=True) if cell.mean is not None]
    if study.drawn == "list":
        rows = [
            ForestRow(styles[point.arm.label], point.arm.label, cell.mean or 0.0, cell.low, cell.high)
            for point, cell in known
        ]
        return curves.forest(ident, study.question, told, rows, x_label=name)
    if study.drawn == "plane":
        spots = [
            ScatterPoint(
                styles[point.arm.label],
                point.speed.mean,
                cell.mean or 0.0,
                _interval(cell),
                across=_interval(point.speed),
            )
            for point, cell in known
            if point.speed is not None and point.speed.mean is not None
        ]
        return curves.scatter(ident, study.question, told, spots, x_label=SPEED, y_label=name, whole=True)
    return _lines(ident, study.question, told, known, study.axis, name)


def _lines(
    ident: str, title: str, told: str, known: Sequence[tuple[Point, Cell]], x_label: str, y_label: str
) -> Markup:
    """Lines over the logarithm of `Arm.at`, with a mark for each number; models beside as level lines."""
    at = sorted({point.arm.at for point, _ in known if point.arm.at is not None})
    positive = [one for one in at if one > 0] or [1.0]
    zero = math.log10(positive[0]) - 0.5
    place_of = {one: (math.log10(one) if one > 0 else zero) for one in at}
    left = min(place_of.values(), default=0.0)
    tick_of = {one: f"{one:g}" for one in at}
    tick_of |= {point.arm.at: point.arm.tick for point, _ in known if point.arm.at is not None and point.arm.tick}
    families = dict.fromkeys(point.arm.family for point, _ in known)
    lines = []
    for number_of, family in enumerate(families):
        own = [(point, cell) for point, cell in known if point.arm.family == family]
        is_level = own[0][0].arm.at is None
        style = SeriesStyle(f"f{number_of}", look(number_of), family, baseline=is_level)
        if is_level:
            cell = own[0][1]
            ends = [0.0, max(place_of.values(), default=left + 1) - left]
            line = [(end, cell.mean or 0.0, cell.low, cell.high) for end in ends]
        else:
            line = sorted(_merged([(place_of[point.arm.at or 0.0] - left, cell) for point, cell in own]))
        lines.append(ChartLine(style, tuple(line)))
    ticks = [(place_of[one] - left, tick_of[one]) for one in at]
    return curves.line_chart(
        ident, title, told, lines, x_label=x_label, y_label=y_label, unit=False, ticks=ticks, whole=True
    )


def _merged(points: Sequence[tuple[float, Cell]]) -> list[tuple[float, float, float | None, float | None]]:
    """One point for each place: trainings of several seeds as their mean, with the widest ends of their intervals."""
    found = []
    for place in dict.fromkeys(at for at, _ in points):
        own = [cell for at, cell in points if at == place]
        lows = [cell.low for cell in own if cell.low is not None]
        highs = [cell.high for cell in own if cell.high is not None]
        mean = math.fsum(cell.mean or 0.0 for cell in own) / len(own)
        found.append((place, mean, min(lows, default=None), max(highs, default=None)))
    return found


def _interval(cell: Cell) -> tuple[float, float] | None:
    return None if cell.low is None or cell.high is None else (cell.low, cell.high)
