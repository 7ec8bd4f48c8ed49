"""What the script of a film's card needs: where its tiles are, how it runs, and the curves in step with it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from worldgauge.report.charts.curves import SeriesStyle
from worldgauge.report.evidence import Evidence
from worldgauge.report.films.film import STRIP_PX, Film
from worldgauge.report.films.map import DrawnMap
from worldgauge.report.wording import metric_name

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
    """Collect what the page's script needs to play a film.

    Args:
        evidence: Scores of all runs.
        task: The task.
        metrics: Metrics with curves.
        units: Metrics in [0, 1].
        film: The film; without one the result is empty.
        drawn: The map.
        styles: Style by label.

    Returns:
        Plain JSON values.
    """
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
