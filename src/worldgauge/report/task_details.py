"""What a task's card holds besides its film: paths, diagnostics, and what the player needs."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.geometry import FloatArray
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Task
from worldgauge.report.curves import SeriesStyle
from worldgauge.report.evidence import Evidence
from worldgauge.report.film import STRIP_PX, Film
from worldgauge.report.map import DrawnMap, MapPath
from worldgauge.report.wording import column_name, metric_name, plain

PLAYER_METRICS = 4
PLAYER_POINTS = 90


def player_data(
    evidence: Evidence,
    task: str,
    metrics: Sequence[str],
    units: Collection[str],
    film: Film | None,
    drawn: DrawnMap | None,
    styles: Mapping[str, SeriesStyle],
) -> dict[str, Any]:
    """Collect what the page's script needs to play a film."""
    if film is None:
        return {}
    curves: list[dict[str, Any]] = []
    for name in metrics:
        lines = {
            styles[e.label].key: _thinned(score.series)
            for e in evidence.runs
            if (score := e.by_metric.get(name, {}).get(task)) is not None and score.series
        }
        if any(lines.values()) and len(curves) < PLAYER_METRICS:
            known = [v for line in lines.values() for _, v in line]
            sample = evidence.sample(name)
            unit = (0.0, 1.0) if name in units else (min(0.0, *known), _round_up(max(0.0, *known)))
            label = name if sample is None or sample.unit in ("", "1") else metric_name(name, sample.unit)
            curves.append({"name": label, "lines": lines, "range": list(unit)})
    return {
        "columns": film.columns,
        "tile": list(film.tile),
        "fps": film.fps,
        "step": film.step,
        "frames": film.frames,
        "length": film.length,
        "strip": STRIP_PX,
        "looks": {style.key: style.css for style in styles.values()},
        "trail": [list(point) for point in drawn.trail[:: film.step]] if drawn else [],
        "curves": curves,
    }


def _round_up(value: float) -> float:
    """The next number that an axis can end at, 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(m * power for m in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if m * power >= value * (1 - 1e-9))


def _thinned(series: Sequence[tuple[int, float | None]]) -> list[list[float]]:
    """Known points of a series, every k-th so that about PLAYER_POINTS are left."""
    known = [[index, float(f"{value:.4g}")] for index, value in series if value is not None and math.isfinite(value)]
    return known[:: max(1, round(len(known) / PLAYER_POINTS))]


TRUE = "k0"
"""Colour of the truth, on the whole page."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DetailsView:
    """`engine.suite.contract.TaskDetails` in the form that a card shows."""

    plans: tuple[MapPath, ...] = ()
    truth: tuple[str, FloatArray] | None = None  # name and (n, 2) metres
    corridor: FloatArray | None = None  # (m, 3), x, y and radius, metres
    stills: Mapping[str, Sequence[int]] = field(default_factory=dict)
    columns: tuple[tuple[str, bool], ...] = ()  # name, and whether it holds words
    rows: tuple[tuple[SeriesStyle, tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = ()
    caption: str = ""


def view_details(evidence: Evidence, suite: Suite, task: Task, styles: Mapping[str, SeriesStyle]) -> DetailsView | None:
    """What a suite shows of a task in addition to films."""
    scores = {e.label: [s for s in e.scores if s.task == task.id] for e in evidence.runs}
    try:
        found = suite.task_details(task, {label: theirs for label, theirs in scores.items() if theirs})
    except WorldgaugeError as error:
        log.warning("%s: no details (%s)", task.id, error)
        return DetailsView(notes=(f"Paths and diagnostics are not shown: {error}",))
    if found is None:
        return None
    plans, notes = _plans(found.paths, evidence, styles)
    columns = tuple(dict.fromkeys(name for row in found.diagnostics.values() for name in row))
    order = {label: place for place, label in enumerate(evidence.labels)}
    rows = tuple(
        (_path_style(label, styles), tuple(plain(row.get(name)) for name in columns))
        for label, row in sorted(found.diagnostics.items(), key=lambda item: order.get(item[0], len(order)))
    )
    true = next((p for p in plans if p.style.label not in styles and p.style.colour == TRUE), None)
    return DetailsView(
        tuple(plan for plan in plans if plan is not true),
        (true.style.label, true.xy) if true is not None else None,
        _circles(found.corridor),
        {name: [int(i) for i in frames] for name, frames in found.stills.items() if len(frames)},
        tuple(
            (column_name(name), any(isinstance(row.get(name), str) and row[name] for row in found.diagnostics.values()))
            for name in columns
        ),
        rows,
        tuple(notes),
        found.caption,
    )


def _plans(
    paths: Mapping[str, FloatArray], evidence: Evidence, styles: Mapping[str, SeriesStyle]
) -> tuple[tuple[MapPath, ...], list[str]]:
    """Paths in drawing order: those of no model lowest, then baselines, then models under test."""
    plans, notes = [], []
    for label, path in paths.items():
        xy = np.asarray(path, np.float64)
        if xy.ndim != 2 or xy.shape[1] != 2 or len(xy) == 0:
            notes.append(f"The path of {label} is not shown: it is no list of points in the plane.")
            continue
        finite = np.isfinite(xy).all(1)
        if not finite.all():
            notes.append(f"{int((~finite).sum())} of {len(xy)} points of {label} are not finite and are left out.")
        if finite.any():
            plans.append(MapPath(_path_style(label, styles), xy[finite]))
    place = {label: 2 - (evidence[label].kind == "baseline") for label in evidence.labels}
    return tuple(sorted(plans, key=lambda plan: place.get(plan.style.label, 0))), notes


def _circles(corridor: FloatArray | None) -> FloatArray | None:
    """The circles that can be drawn; None without any."""
    if corridor is None:
        return None
    circles = np.asarray(corridor, np.float64)
    if circles.ndim != 2 or circles.shape[1] != 3:
        return None
    known: FloatArray = circles[np.isfinite(circles).all(1) & (circles[:, 2] >= 0)]
    return known if len(known) else None


def _path_style(label: str, styles: Mapping[str, SeriesStyle]) -> SeriesStyle:
    """Style of a path: the model's own; ink for a true path, grey for other baseline paths."""
    true = "truth" in label.lower() or "true" in label.lower()
    return styles.get(label) or SeriesStyle("", TRUE if true else "kx", label, baseline=not true)
