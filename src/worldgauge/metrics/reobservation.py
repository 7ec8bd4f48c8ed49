"""Memory on the pixels that ask for it: surfaces that were seen, were out of view for a while, and are in view again.

For each pixel it is exact how long its surface was away: the world is known, so surfaces are told apart by where they
are (`metrics.surfaces`). Pixels of surfaces that were never out of view, or that are new, say nothing about memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import cv2
import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.metrics._registry import metric
from worldgauge.metrics.colour import correlation, fine_detail

CELL = 0.5
"""Metres. One cell is a patch of a block's face; far ground is sampled more coarsely than that by a single frame."""

NO_SURFACE = -1
"""Code of a pixel without a surface, such as sky."""

_REACH = 1 << 20


def surface_codes(position: NDArray[np.float32], *, cell: float = CELL) -> NDArray[np.int64]:
    """Codes (H, W) of the lattice points nearest to hits (H, W, 3), metres, or `NO_SURFACE` where those are NaN."""
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


OUT_OF_VIEW_S = 0.5
"""Seconds without a surface after which it counts as away: shorter gaps are flicker at the edge of the picture."""
LEAST_AWAY_S = 1.0
"""Seconds that a surface was away before its pixels count as memory."""
EDGES_S = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 60.0, math.inf)
"""Limits of the curve over time away, seconds."""

Away = NDArray[np.float32]
"""(H, W) seconds that the surface of a pixel was away; 0 where it has been in view all the time, NaN where it is new or
there is no surface."""


class SurfaceClock:
    """Knows of each surface, a cell of a lattice, when it was last in view, and for how long it was away before."""

    def __init__(self, *, cell: float = CELL, out_of_view_s: float = OUT_OF_VIEW_S) -> None:
        self._cell, self._out_of_view_s = cell, out_of_view_s
        self._codes = np.zeros(0, np.int64)
        self._last_s = np.zeros(0)
        self._away_s = np.zeros(0)

    def see(self, position: NDArray[np.float32], time_s: float, *, shown: bool) -> Away:
        """Look at one view, hits (H, W, 3) in metres or NaN. Views come in the order of time."""
        if len(self._last_s) and time_s < self._last_s.max():
            raise ShapeError(f"views come in the order of time, got {time_s} s after {self._last_s.max()} s")
        codes = surface_codes(position, cell=self._cell)
        found, place = np.unique(codes, return_inverse=True)
        at = np.searchsorted(self._codes, found)
        inside = np.minimum(at, max(len(self._codes) - 1, 0))
        known = self._codes[inside] == found if len(self._codes) else np.zeros(len(found), bool)
        old = inside[known]
        gap = time_s - self._last_s[old]
        # NaN stays NaN: what was invented was never shown.
        self._away_s[old] = np.where((gap > self._out_of_view_s) & ~np.isnan(self._away_s[old]), gap, self._away_s[old])
        self._last_s[old] = time_s
        new = ~known & (found != NO_SURFACE)
        self._codes = np.insert(self._codes, at[new], found[new])
        self._last_s = np.insert(self._last_s, at[new], time_s)
        self._away_s = np.insert(self._away_s, at[new], 0.0 if shown else math.nan)
        away = np.full(len(found), math.nan, np.float32)
        real = found != NO_SURFACE
        away[real] = self._away_s[np.searchsorted(self._codes, found[real])]
        return away[place].reshape(codes.shape)


class AwayBin(NamedTuple):
    """Memory of surfaces that were away for about as long."""

    low_s: float
    high_s: float
    pixels: int
    mse: float | None  # mean squared difference of colours; None without a pixel
    detail: float | None  # correlation, -1 to 1; None if the truth has none


@dataclass
class ReturnedPixels:
    """Sums over the pixels of returned surfaces, by time away; frames are added one by one."""

    edges_s: tuple[float, ...] = EDGES_S
    _sums: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self._sums = np.zeros((len(self.edges_s) - 1, 5))

    def add(self, want: Image, got: Image, away: Away) -> None:
        """Add a frame: the true one and the model's (H, W, 3) uint8, and the seconds that each pixel was away."""
        if want.shape != got.shape or want.ndim != 3 or want.shape[-1] != 3 or {want.dtype, got.dtype} != {_U8}:
            raise ShapeError(f"frames need one shape (H, W, 3) uint8, got {want.shape} and {got.shape}")
        height, width = want.shape[:2]
        times = np.asarray(cv2.resize(away, (width, height), interpolation=cv2.INTER_NEAREST), np.float32)
        if (times >= self.edges_s[0]).any():  # never true for NaN
            self._sums += _frame_sums(want, got, fine_detail(want), fine_detail(got), times, np.array(self.edges_s))

    def bins(self) -> list[AwayBin]:
        """Memory by time away, all frames together."""
        return [
            AwayBin(low, high, int(sums[0]), *_means(sums))
            for (low, high), sums in zip(pairwise(self.edges_s), self._sums, strict=True)
        ]

    def total(self) -> AwayBin:
        """Memory of all returned surfaces together."""
        sums = self._sums.sum(0)
        return AwayBin(self.edges_s[0], self.edges_s[-1], int(sums[0]), *_means(sums))


@njit(cache=True, nogil=True)
def _frame_sums(
    want: Image, got: Image, fine: FloatArray, drawn: FloatArray, times: Away, edges_s: FloatArray
) -> FloatArray:
    """Sums of one frame by time away: pixels, squared error, and the three products of detail."""
    sums = np.zeros((len(edges_s) - 1, 5))
    for y in range(times.shape[0]):
        for x in range(times.shape[1]):
            if not times[y, x] >= edges_s[0]:
                continue
            place = 0
            while place + 1 < len(sums) and edges_s[place + 1] <= times[y, x]:
                place += 1
            error = 0
            for c in range(3):
                error += (int(want[y, x, c]) - int(got[y, x, c])) ** 2
            sums[place, 0] += 1
            sums[place, 1] += error / 3
            sums[place, 2] += fine[y, x] * drawn[y, x]
            sums[place, 3] += fine[y, x] * fine[y, x]
            sums[place, 4] += drawn[y, x] * drawn[y, x]
    return sums


_U8 = np.dtype(np.uint8)


@metric(
    "returned_mse", unit="grey^2", better="lower", bounds=(0.0, 65025.0), source="own: MSE of seen surfaces", version=2
)
def returned_mse(frames: Iterable[tuple[Image, Image, Away]], least_s: float = LEAST_AWAY_S) -> float | None:
    """Mean squared difference over the pixels of surfaces that were away and are in view again.

    Args:
        frames: True frame, the model's frame, and how long the surface of each pixel was away.
        least_s: Shortest time away that counts, seconds.

    Returns:
        Mean over pixels and channels; None without such a pixel.

    Examples:
        >>> truth, model = np.zeros((4, 4, 3), np.uint8), np.full((4, 4, 3), 50, np.uint8)
        >>> model[:2] = 10
        >>> away = np.zeros((4, 4), np.float32)
        >>> away[:2] = 3.0  # the upper half was out of view for 3 s
        >>> returned_mse([(truth, model, away)])
        100.0
    """
    return _total(frames, least_s).mse


@metric(
    "returned_detail", unit="1", better="higher", bounds=(-1.0, 1.0), source="own: detail of seen surfaces", version=2
)
def returned_detail(frames: Iterable[tuple[Image, Image, Away]], least_s: float = LEAST_AWAY_S) -> float | None:
    """Correlation of detail over the pixels of surfaces that were away: a blur, which MSE rewards, has none.

    Detail is the grey picture less its Gaussian blur of 1.5 px.

    Args:
        frames: True frame, the model's frame, and how long the surface of each pixel was away.
        least_s: Shortest time away that counts, seconds.

    Returns:
        -1 to 1; 0 for frames without any detail; None where the truth has none, or without such a pixel.

    Examples:
        >>> truth = np.zeros((16, 16, 3), np.uint8)
        >>> truth[::2] = 200
        >>> away = np.full((16, 16), 3.0, np.float32)
        >>> blurred = np.full_like(truth, 100)
        >>> round(returned_detail([(truth, truth, away)]), 3), returned_detail([(truth, blurred, away)])
        (1.0, 0.0)
    """
    return _total(frames, least_s).detail


def _total(frames: Iterable[tuple[Image, Image, Away]], least_s: float) -> AwayBin:
    sums = ReturnedPixels((least_s, math.inf))
    for want, got, away in frames:
        sums.add(want, got, away)
    return sums.total()


def _means(sums: NDArray[np.float64]) -> tuple[float | None, float | None]:
    pixels, error, *products = sums.tolist()
    return (error / pixels, correlation(pixels, *products)) if pixels else (None, None)
