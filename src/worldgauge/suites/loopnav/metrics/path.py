"""Two facts about the way back: how far it strays from the way out, and how much of what it shows was seen before.

Deviation is measured in the plane (LoopNav, appendix B.3). Surfaces are told apart by `metrics.surfaces`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core import geometry
from worldgauge.metrics._registry import metric
from worldgauge.metrics.reobservation import CELL, NO_SURFACE, surface_codes


@metric("path/length", unit="m", better="neither", bounds=(0.0, math.inf), version=1, source="LoopNav, appendix B.3")
def path_length(points: ArrayLike) -> float:
    """Arc length of a geometry.

    Args:
        points: (N, D), D >= 1, metres.

    Returns:
        Metres; 0 for fewer than two points.

    Raises:
        ShapeError: On other shapes and on points that are not finite.

    Examples:
        >>> path_length([(0, 0), (3, 4)])
        5.0
    """
    return geometry.length(points)


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

    Examples:
        >>> path_enclosed_area([(0, 0), (3, 0)], [(3, 1), (0, 1)])
        3.0
    """
    return geometry.enclosed_area(xy_out, xy_back)


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

    Examples:
        >>> path_normalised_deviation([(0, 0), (3, 0)], [(3, 2), (0, 2)])  # 6 square metres, 6 metres walked
        2.0
    """
    total = geometry.length(xy_out) + geometry.length(xy_back)
    return None if total == 0 else enclosed_area(xy_out, xy_back) / (total / 2)


def seen_surfaces(positions: Iterable[NDArray[np.float32]], *, cell: float = CELL) -> NDArray[np.int64]:
    """Surfaces in any view (H, W, 3) of metres in the world frame, NaN where there is none. cell: lattice, metres."""
    found = np.zeros(0, np.int64)
    for position in positions:
        codes = surface_codes(position, cell=cell)
        found = np.union1d(found, codes[codes != NO_SURFACE])
    return found


@metric(
    "coverage", unit="1", better="neither", bounds=(0.0, 1.0), version=1, source="own: share of surfaces seen before"
)
def coverage(position: NDArray[np.float32], seen: NDArray[np.int64], *, cell: float = CELL) -> float | None:
    """Share of a view's pixels whose surface had been seen.

    Args:
        position: View (H, W, 3), metres, world frame, NaN where there is no surface (sky); such pixels are left out.
        seen: Codes from `seen_surfaces` with the same cell.
        cell: Spacing of the lattice, metres.

    Returns:
        Share in [0, 1]; None when no pixel has a surface.

    Examples:
        >>> from worldgauge.suites.loopnav.metrics.path import seen_surfaces
        >>> before, view = np.float32([[[1, 0, 0]]]), np.float32([[[1, 0, 0], [5, 0, 0]]])
        >>> coverage(view, seen_surfaces([before]))
        0.5
    """
    codes = surface_codes(position, cell=cell)
    codes = codes[codes != NO_SURFACE]
    if not len(codes):
        return None
    if not len(seen):
        return 0.0
    at = np.minimum(np.searchsorted(seen, codes), len(seen) - 1)
    return float((seen[at] == codes).sum() / len(codes))
