"""Which surfaces a camera sees, told apart by where they are in the world.

Hits are rounded to a lattice. Faces of a block world lie on whole and half metres, the points of the lattice, so that
rounding is stable on them. A one-metre wall has two sides.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError

CELL = 0.5
"""Metres. One cell is a patch of a block's face; far ground is sampled more coarsely than that by a single frame."""

NO_SURFACE = -1
"""Code of a pixel without a surface, such as sky."""

_REACH = 1 << 20


def surface_codes(position: NDArray[np.float32], *, cell: float = CELL) -> NDArray[np.int64]:
    """Code of the surface at every pixel.

    Args:
        position: Hits (H, W, 3), metres, world frame, NaN where there is no surface.
        cell: Spacing of the lattice, metres.

    Returns:
        (H, W) codes of the lattice points nearest to the hits, or `NO_SURFACE`.

    Raises:
        ShapeError: On other shapes, and beyond 2^20 cells from the origin.
    """
    if position.ndim != 3 or position.shape[-1] != 3:
        raise ShapeError(f"hit positions need shape (H, W, 3), got {position.shape}")
    codes = _lattice_codes(np.ascontiguousarray(position, np.float32), cell)
    if codes.size and codes.min() < NO_SURFACE:
        raise ShapeError(f"hit positions lie more than {_REACH} cells of {cell} m from the origin")
    return codes


@njit(cache=True, nogil=True)
def _lattice_codes(position: NDArray[np.float32], cell: float) -> NDArray[np.int64]:
    """As `surface_codes`; -2 for a cell out of reach."""
    height, width = position.shape[:2]
    codes = np.empty((height, width), np.int64)
    for y in range(height):
        for x in range(width):
            if not np.isfinite(position[y, x, 0]):
                codes[y, x] = -1
                continue
            code = np.int64(0)
            for axis in range(3):
                step = np.int64(np.floor(position[y, x, axis] / cell + 0.5)) + _REACH
                if step < 0 or step >= 2 * _REACH:
                    code = np.int64(-2)
                    break
                code = code * (2 * _REACH) + step
            codes[y, x] = code
    return codes
