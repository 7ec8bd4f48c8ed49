"""Checkpoints of one training: their values over training steps, as points and as curves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Cell
from worldgauge.engine.suite.scores import make_cell
from worldgauge.metrics._registry import metric_bounds
from worldgauge.report import svg, wording
from worldgauge.report.curves import ChartLine, SeriesStyle, line_chart
from worldgauge.report.evidence import ComparedRun, Evidence
from worldgauge.report.judgement import Judgement
from worldgauge.report.tables import COUNTS

_NUMBERED = re.compile(r"(.*?)[\s._@-]*(?:step)?[\s._@-]*(?<![\d.])(\d+)")
"""A name that ends in a whole number. The "1" of "wan2.1" is none."""


@dataclass(frozen=True)
class StepPoint:
    """One checkpoint by one metric, over all tasks."""

    series: str
    step: int
    run: ComparedRun
    metric: str
    name: str
    cell: Cell


def checkpoints(evidence: Evidence) -> dict[str, list[tuple[int, ComparedRun]]]:
    """Runs by training, lowest step first, if several; a step is `run --step`, else the label's final number."""
    found: dict[tuple[str, object, object], dict[int, ComparedRun]] = {}
    for run in evidence.runs:
        match = _NUMBERED.fullmatch(run.model)
        step = run.facts.get("step", int(match[2]) if match else None)
        if run.kind != "model" or step is None:
            continue
        name = match[1] if match and int(match[2]) == step else run.model
        found.setdefault((name or "model", run.context, run.facts.get("seed")), {})[step] = run
    several = {key: sorted(runs.items()) for key, runs in found.items() if len(runs) > 1}
    names = [name for name, _, _ in several]
    return {
        name if names.count(name) == 1 else f"{name}, {context or 'all'} frames, seed {seed}": runs
        for (name, context, seed), runs in several.items()
    }


def step_points(evidence: Evidence, found: Judgement) -> list[StepPoint]:
    """The points of all curves: for each metric with a table, headline first, each training and step."""
    points = []
    trainings = checkpoints(evidence)
    tables = {table.metric: table for table in reversed(found.tables) if table.unit != COUNTS}
    headline = found.tables[0].metric if found.tables else ""
    for metric in [one for one in dict.fromkeys([headline, *reversed(tables)]) if evidence.has(one)]:
        sample = evidence.sample(metric)
        name = found.name if metric == headline else wording.metric_name(metric, sample.unit if sample else "1")
        for series, runs in trainings.items():
            for step, run in runs:
                cell = _cell(evidence, found, metric, run, headline=metric == headline)
                points.append(StepPoint(series, step, run, metric, name, cell))
    return points


def _cell(evidence: Evidence, found: Judgement, metric: str, run: ComparedRun, *, headline: bool) -> Cell:
    """Mean over all tasks with a value. That of the headline is the one of the ranks."""
    values = run.values(metric)
    clusters = [evidence.clusters[task] for task in values]
    cell = make_cell(values.values(), metric_bounds(metric), clusters=clusters)
    standing = found.compared.by_label.get(run.label) if headline and found.compared else None
    return (
        cell
        if standing is None
        else Cell(standing.mean, cell.std, standing.n, standing.low, standing.high, cell.expected, cell.clusters)
    )


def step_charts(evidence: Evidence, suite: Suite, styles: Mapping[str, SeriesStyle], found: Judgement) -> list[Markup]:
    """A curve of each metric over steps, headline first. Floors are level lines."""
    by_metric: dict[str, list[StepPoint]] = {}
    for point in step_points(evidence, found):
        by_metric.setdefault(point.metric, []).append(point)
    return [
        _chart(f"steps-{place}", own, styles, _floors(evidence, suite, styles, own, found if place == 0 else None))
        for place, own in enumerate(by_metric.values())
        if any(point.cell.mean is not None for point in own)
    ]


def _floors(
    evidence: Evidence,
    suite: Suite,
    styles: Mapping[str, SeriesStyle],
    points: Sequence[StepPoint],
    found: Judgement | None,
) -> list[ChartLine]:
    if found is None or found.compared is None:
        return []
    first, last = min(point.step for point in points), max(point.step for point in points)
    return [
        ChartLine(styles[run.label], tuple((float(step), placed.mean, None, None) for step in (first, last)))
        for run in evidence.runs
        if run.source in suite.floor_baselines and (placed := found.compared.by_label.get(run.label)) is not None
    ]


def _chart(
    ident: str, points: Sequence[StepPoint], styles: Mapping[str, SeriesStyle], floors: Sequence[ChartLine]
) -> Markup:
    name = points[0].name
    series: dict[str, list[StepPoint]] = {}
    for point in points:
        series.setdefault(point.series, []).append(point)
    lines = [
        ChartLine(
            replace(styles[own[-1].run.label], label=label),
            tuple((float(p.step), p.cell.mean, p.cell.low, p.cell.high) for p in own if p.cell.mean is not None),
        )
        for label, own in series.items()
    ]
    spoken = "; ".join(
        f"{label}: " + ", ".join(f"step {p.step} {wording.number(p.cell.mean)}" for p in own)
        for label, own in series.items()
    )
    last = max(point.step for point in points)
    ticks = [(step, _short(step)) for step in svg.Scale(0.0, last, 0.0, 1.0).ticks(4)]
    return line_chart(
        ident,
        f"{name} over training steps",
        spoken,
        [*lines, *floors],
        x_label="training step",
        y_label=name,
        unit=False,
        ticks=ticks,
        whole=True,
    )


def _short(step: float) -> str:
    """ "500", "20k", "1.5M"."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if step >= size:
            return f"{step / size:g}{letter}"
    return f"{step:g}"
