"""Coverage: how much of what a frame shows had been shown before? Surfaces are told apart by `metrics.surfaces`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from worldgauge.metrics._registry import metric
from worldgauge.metrics.surfaces import CELL, NO_SURFACE, surface_codes


def seen_surfaces(positions: Iterable[NDArray[np.float32]], *, cell: float = CELL) -> NDArray[np.int64]:
    """Surfaces seen in any of the views.

    Args:
        positions: Views (H, W, 3), metres, world frame, NaN where there is no surface.
        cell: Spacing of the lattice, metres.

    Returns:
        Sorted codes of the lattice points nearest to the hits.

    Raises:
        ShapeError: On other shapes, and beyond 2^20 cells from the origin.
    """
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
    """
    codes = surface_codes(position, cell=cell)
    codes = codes[codes != NO_SURFACE]
    if not len(codes):
        return None
    if not len(seen):
        return 0.0
    at = np.minimum(np.searchsorted(seen, codes), len(seen) - 1)
    return float((seen[at] == codes).sum() / len(codes))
