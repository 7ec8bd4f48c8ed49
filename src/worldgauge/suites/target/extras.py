"""Further metrics of a path, never part of the overall score; on with `extras=true`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.suites.target.format.scenario import Scenario
from worldgauge.suites.target.metrics import extra_waypoints as extra

EXTRAS = (
    "path/time_aligned_ade",
    "path/arc_aligned_ade",
    "path/end_heading_error",
    "path/length_ratio",
    "path/reach_half_metre",
    "path/reach_metre",
)


def extra_values(
    xy: FloatArray, frames: NDArray[np.int64], fps: float, scenario: Scenario
) -> dict[str, tuple[float | None, str]]:
    """Metric -> its value, or None with the reason. frames: of the video, `fps` a second, that the points belong to."""
    truth = scenario.future_xy
    asked: dict[str, tuple[Callable[[], float | None], str]] = {
        "path/time_aligned_ade": (
            lambda: extra.time_aligned_ade(xy, np.asarray(frames, np.float64) / fps, truth, scenario.dt),
            "",
        ),
        "path/arc_aligned_ade": (lambda: extra.arc_aligned_ade(xy, truth), ""),
        "path/end_heading_error": (
            lambda: extra.end_heading(xy, truth),
            f"one of the two paths is shorter than {extra.HEADING_M} m",
        ),
        "path/length_ratio": (lambda: extra.length_ratio(xy, truth), "the true path has no length"),
        "path/reach_half_metre": (lambda: extra.reach_half_metre(xy, truth), ""),
        "path/reach_metre": (lambda: extra.reach_metre(xy, truth), ""),
    }
    found: dict[str, tuple[float | None, str]] = {}
    for metric, (compute, undefined) in asked.items():
        try:
            found[metric] = compute(), undefined
        except ShapeError as error:
            found[metric] = None, str(error)
    return found
