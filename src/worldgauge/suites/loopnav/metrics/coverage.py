"""Coverage: how much of what a frame shows had been shown before?

Surfaces are distinguished by their position: hits are rounded to a lattice. Faces of a block world lie on whole
and half metres, the points of the lattice, so that rounding is stable on them. A one-metre wall has two sides.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.metrics import metrics

CELL = 0.5
"""Metres. One cell is a patch of a block's face; far ground is sampled more coarsely than that by a single frame."""

_REACH = 1 << 20


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
        codes, _ = _runs(_checked(position), cell)
        found = np.union1d(found, codes)
    return found


@metrics.register(
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
    codes, lengths = _runs(_checked(position), cell)
    if not len(codes):
        return None
    if not len(seen):
        return 0.0
    at = np.minimum(np.searchsorted(seen, codes), len(seen) - 1)
    return float(lengths[seen[at] == codes].sum() / lengths.sum())


def _checked(position: NDArray[np.float32]) -> NDArray[np.float32]:
    if position.ndim != 3 or position.shape[-1] != 3:
        raise ShapeError(f"hit positions need shape (H, W, 3), got {position.shape}")
    return np.ascontiguousarray(position, np.float32)


def _runs(position: NDArray[np.float32], cell: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    codes, lengths = _lattice_runs(position, cell)
    if len(codes) and codes.min() < 0:
        raise ShapeError(f"hit positions lie more than {_REACH} cells of {cell} m from the origin")
    return codes, lengths


@njit(cache=True, nogil=True)
def _lattice_runs(position: NDArray[np.float32], cell: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lattice code and length of every run of equal cells along a row; -1 for a cell out of reach."""
    height, width = position.shape[:2]
    codes = np.empty(height * width, np.int64)
    lengths = np.empty(height * width, np.int64)
    used = 0
    for y in range(height):
        last = np.int64(-2)
        for x in range(width):
            if not np.isfinite(position[y, x, 0]):
                last = np.int64(-2)
                continue
            code = np.int64(0)
            for axis in range(3):
                step = np.int64(np.floor(position[y, x, axis] / cell + 0.5)) + _REACH
                if step < 0 or step >= 2 * _REACH:
                    code = np.int64(-1)
                    break
                code = code * (2 * _REACH) + step
            if code != last:
                codes[used], lengths[used] = code, 0
                used += 1
                last = code
            lengths[used - 1] += 1
    return codes[:used], lengths[:used]
