"""Values of an image between its pixels, in compiled loops. Places are pixel indices: 0.0 is the first one's centre."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_fast = njit(cache=True, nogil=True, error_model="numpy")


@_fast
def bilinear(
    image: NDArray[Any],
    columns: NDArray[np.float64],
    rows: NDArray[np.float64],
    shift: float,
    wrap: bool,
    rounded: bool,
    out: NDArray[Any],
) -> None:
    """Fill `out` (h, w, C) from `image` (H, W, C) at `columns` + shift and `rows` (h, w).

    wrap: columns go round; else they end at the edge, as rows do. rounded: to the nearest whole number, for integers.
    """
    height, width, channels = image.shape
    for i in range(columns.shape[0]):
        for j in range(columns.shape[1]):
            x, y = columns[i, j] + shift, rows[i, j]
            left, top = math.floor(x), math.floor(y)
            part, under = x - left, y - top
            right, bottom = left + 1, top + 1
            if wrap:
                left, right = left % width, right % width
            left, right = min(max(left, 0), width - 1), min(max(right, 0), width - 1)
            top, bottom = min(max(top, 0), height - 1), min(max(bottom, 0), height - 1)
            for c in range(channels):
                upper = image[top, left, c] * (1 - part) + image[top, right, c] * part
                lower = image[bottom, left, c] * (1 - part) + image[bottom, right, c] * part
                value = upper * (1 - under) + lower * under
                out[i, j, c] = np.rint(value) if rounded else value


@_fast
def nearest(
    image: NDArray[Any],
    columns: NDArray[np.float64],
    rows: NDArray[np.float64],
    shift: float,
    wrap: bool,
    out: NDArray[Any],
) -> None:
    """As `bilinear`, but the value of the one pixel that lies nearest."""
    height, width, channels = image.shape
    for i in range(columns.shape[0]):
        for j in range(columns.shape[1]):
            x, y = math.floor(columns[i, j] + shift + 0.5), math.floor(rows[i, j] + 0.5)
            if wrap:
                x = x % width
            x, y = min(max(x, 0), width - 1), min(max(y, 0), height - 1)
            for c in range(channels):
                out[i, j, c] = image[y, x, c]
