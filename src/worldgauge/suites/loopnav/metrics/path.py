"""How far the way back strays from the way out, in the plane (LoopNav, appendix B.3)."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from worldgauge.core import polyline
from worldgauge.metrics._registry import metric


@metric("path/length", unit="m", better="neither", bounds=(0.0, math.inf), version=1, source="LoopNav, appendix B.3")
def path_length(points: ArrayLike) -> float:
    """Arc length of a polyline.

    Args:
        points: (N, D), D >= 1, metres.

    Returns:
        Metres; 0 for fewer than two points.

    Raises:
        ShapeError: On other shapes and on points that are not finite.
    """
    return polyline.length(points)


@metric(
    "path/enclosed_area", unit="m^2", better="neither", bounds=(0.0, math.inf), version=1, source="LoopNav, table 4"
)
def enclosed_area(xy_out: ArrayLike, xy_back: ArrayLike) -> float:
    """Area between the way out and the way back, lobe by lobe.

    The lobes between crossings are added without their signs, so a figure of eight does not cancel.

    Args:
        xy_out: Way out (N, 2), metres.
        xy_back: Way back (M, 2), metres.

    Returns:
        Square metres.

    Raises:
        ShapeError: On other shapes, empty paths and points that are not finite.
    """
    return polyline.enclosed_area(xy_out, xy_back)


@metric(
    "path/normalised_deviation",
    unit="m",
    better="neither",
    bounds=(0.0, math.inf),
    version=1,
    source="LoopNav, table 4: area / (total length / 2)",
)
def normalised_deviation(xy_out: ArrayLike, xy_back: ArrayLike) -> float | None:
    """Enclosed area over half the length of the whole walk.

    Args:
        xy_out: Way out (N, 2), metres.
        xy_back: Way back (M, 2), metres.

    Returns:
        Metres; None when nothing was walked.
    """
    total = polyline.length(xy_out) + polyline.length(xy_back)
    return None if total == 0 else enclosed_area(xy_out, xy_back) / (total / 2)
