"""The charts of the page, drawn from evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from worldgauge.report import curves
from worldgauge.report.compare import Appearance, Comparison, Standing, stands_in
from worldgauge.report.curves import ChartLine, ScatterPoint, SeriesStyle
from worldgauge.report.evidence import ComparedRun, Evidence, cell_of
from worldgauge.report.wording import number

SHARP = 0.8
"""Share of the truth's sharpness above which a model is called sharp."""


def sharp_yet_wrong(
    evidence: Evidence,
    styles: Mapping[str, SeriesStyle],
    metric: str,
    name: str,
    compared: Comparison,
    shown: Appearance,
    floor: Collection[str],
) -> Markup:
    """Plot how good the frames of every model look (x) against its score (y, with its interval)."""
    spots = []
    for run in evidence.runs:
        x, standing = shown.mean(run.label), compared.by_label.get(run.label)
        if x is None or standing is None:
            continue
        xs, ys = shown.values[run.label], run.values(metric)
        cloud = [(xs[task], ys[task]) for task in ys if task in xs]
        remark = standing.flag
        if stands_in(run, floor) and shown.relative and x > SHARP:
            remark = "sharp, wrong place"
        ends = None if standing.low is None or standing.high is None else (standing.low, standing.high)
        spots.append(ScatterPoint(styles[run.label], x, standing.mean, ends, cloud, remark))
    spoken = "; ".join(f"{s.style.label}: {shown.name} {number(s.x)}, {name} {number(s.y)}" for s in spots)
    title = f"{name} against {shown.name}"
    return curves.scatter("sharp", title, spoken, spots, x_label=shown.name, y_label=name)


def over_frames(
    evidence: Evidence,
    styles: Mapping[str, SeriesStyle],
    metric: str,
    name: str,
    *,
    unit: bool,
    cell_of: Callable[[Mapping[str, Any]], str] = cell_of,
) -> list[tuple[str, Markup]]:
    """The mean score by generated frame, one panel per cell. `unit`: the axis shows all of [0, 1]."""
    cells: dict[str, list[str]] = {}
    for task, group in evidence.groups.items():
        cells.setdefault(cell_of(group), []).append(task)
    panels = []
    for place, (cell, tasks) in enumerate(cells.items()):
        drawn = []
        for run in evidence.runs:
            found = run.by_metric.get(metric, {})
            lined = [task for task in tasks if task in found and found[task].series]
            if lined:
                series, clusters = [found[task].series for task in lined], [evidence.clusters[task] for task in lined]
                drawn.append(ChartLine(styles[run.label], curves.mean_curve(series, clusters)))
        drawn = [curve for curve in drawn if curve.points]
        if drawn:
            spoken = "; ".join(
                f"{c.style.label} from {number(c.points[0][1])} to {number(c.points[-1][1])}" for c in drawn
            )
            title = f"{name} over generated frames, {cell}"
            chart = curves.line_chart(
                f"frames-{place}", title, spoken, drawn, x_label="generated frame", y_label=name, unit=unit
            )
            panels.append((cell, chart))
    return panels


def endless_frames(evidence: Evidence, metric: str) -> list[tuple[str, int, int]]:
    """Count infinite frame values."""
    found = []
    for run in evidence.runs:
        values = [v for s in run.by_metric.get(metric, {}).values() for _, v in s.series if v is not None]
        endless = sum(map(math.isinf, values))
        if endless:
            found.append((run.label, endless, len(values)))
    return found


def ranking(styles: Mapping[str, SeriesStyle], name: str, placed: Sequence[Standing], *, ranked: bool) -> Markup:
    """Draw all models by their overall mean, with intervals."""
    rows = [
        curves.ForestRow(
            styles[s.label],
            f"{s.rank}. {s.label}" if ranked and s.places else s.label,
            s.mean,
            s.low,
            s.high,
            s.flag or s.group,
        )
        for s in placed
    ]
    spoken = "; ".join(
        f"{s.label}: {f'no rank, {s.flag}' if s.flag else f'rank {s.rank}'}, {number(s.mean)}" for s in placed
    )
    return curves.forest("ranking", f"Ranks by {name}", spoken, rows, x_label=f"mean {name}")


def budgets(evidence: Evidence) -> dict[str, list[tuple[int | None, str]]]:
    """Models that ran with several context lengths, by name: frames (None for all) and label, shortest first."""
    same: dict[tuple[str, str], list[ComparedRun]] = {}
    for run in evidence.runs:
        own = {k: v for k, v in run.facts["model"]["settings"].items() if k != "max_context"}
        same.setdefault((run.source, str(own)), []).append(run)
    found = {}
    for (source, _), runs in same.items():
        if len({run.context for run in runs}) > 1:
            names = {run.model for run in runs}
            found[names.pop() if len(names) == 1 else source] = sorted(
                ((run.context, run.label) for run in runs), key=lambda run: (run[0] is None, run[0] or 0)
            )
    return found


def memory_budget(
    styles: Mapping[str, SeriesStyle],
    name: str,
    compared: Comparison,
    found: Mapping[str, Sequence[tuple[int | None, str]]],
    *,
    unit: bool,
) -> Markup:
    """Draw scores against the number of context frames, on a doubling scale with "all" last."""
    lengths = sorted({context for runs in found.values() for context, _ in runs}, key=lambda c: (c is None, c or 0))
    drawn = []
    for model, runs in found.items():
        points = [
            (float(lengths.index(context)), s.mean, s.low, s.high)
            for context, label in runs
            if (s := compared.by_label.get(label)) is not None
        ]
        drawn.append(ChartLine(SeriesStyle(styles[runs[0][1]].key, styles[runs[0][1]].colour, model), tuple(points)))
    spoken = "; ".join(
        f"{c.style.label}: " + ", ".join(f"{lengths[int(x)] or 'all'} frames {number(y)}" for x, y, _, _ in c.points)
        for c in drawn
    )
    return curves.line_chart(
        "budget",
        f"{name} against frames of memory",
        spoken,
        drawn,
        x_label="context frames",
        y_label=name,
        unit=unit,
        ticks=[(float(k), "all" if c is None else str(c)) for k, c in enumerate(lengths)],
    )
