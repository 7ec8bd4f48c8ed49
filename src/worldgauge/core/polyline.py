"""Polylines: their length, the points along them, and the area between two that join the same ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray

_PAIRS = 2**16
"""Pairs of edges that are compared at once, which bounds the memory."""


def length(points: ArrayLike) -> float:
    """Arc length of a polyline.

    Args:
        points: (N, D) points.

    Returns:
        The length in the unit of the points; 0 for fewer than two points.

    Raises:
        ShapeError: Other shapes, or points that are not finite.
    """
    return float(np.linalg.norm(np.diff(_checked(points), axis=0), axis=1).sum())


def along(points: ArrayLike) -> FloatArray:
    """Arc length from the first point to each point of a polyline.

    Args:
        points: (N, D) points, N >= 1.

    Returns:
        (N,) lengths in the unit of the points.

    Raises:
        ShapeError: Other shapes, no points, or points that are not finite.
    """
    array = _checked(points)
    if not len(array):
        raise ShapeError("a place along a polyline needs at least one point")
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(array, axis=0), axis=1))])


def at(points: ArrayLike, metres: ArrayLike) -> FloatArray:
    """Points of a polyline at given arc lengths; the ends are used for lengths outside it.

    Args:
        points: (N, D) points, N >= 1.
        metres: (...) arc lengths, in the unit of the points.

    Returns:
        (..., D) points.

    Raises:
        ShapeError: Other shapes, no points, or points that are not finite.
    """
    array, far = np.asarray(points, np.float64), np.asarray(metres, np.float64)
    way = along(array)
    return np.stack([np.interp(far, way, column) for column in array.T], -1)


def enclosed_area(out: ArrayLike, back: ArrayLike) -> float:
    """Area between a path out and a path back, with each lobe counted positive.

    The closed curve runs along `out`, then along `back`, then straight to the start. The result is the integral of
    |winding number|. For two paths that cross each other this is the sum of the absolute areas of the lobes between
    crossings, which the signed shoelace sum would cancel.

    Args:
        out: (N, 2) points, N >= 1.
        back: (M, 2) points, M >= 1.

    Returns:
        The area in squared units of the points.

    Raises:
        ShapeError: Other shapes, empty paths, or points that are not finite.
    """
    ways = [_checked(out), _checked(back)]
    if any(way.shape[1:] != (2,) or len(way) == 0 for way in ways):
        raise ShapeError(
            f"an enclosed area needs two paths (N, 2) with N >= 1, got {ways[0].shape} and {ways[1].shape}"
        )
    curve = np.concatenate(ways)
    curve = curve - curve[0]
    start, end = curve, np.roll(curve, -1, axis=0)
    sloped = start[:, 1] != end[:, 1]
    start, end = start[sloped], end[sloped]
    levels = np.unique(np.concatenate([curve[:, 1], *_crossing_levels(start, end)]))
    low, high = np.minimum(start[:, 1], end[:, 1]), np.maximum(start[:, 1], end[:, 1])
    turn = np.sign(end[:, 1] - start[:, 1])
    slope = (end[:, 0] - start[:, 0]) / (end[:, 1] - start[:, 1])
    area = 0.0
    # Between two neighbouring levels no edges cross, so widths are linear and their value in the middle is exact.
    for middle, height in zip((levels[1:] + levels[:-1]) / 2, np.diff(levels), strict=True):
        active = np.flatnonzero((low < middle) & (middle < high))
        x = start[active, 0] + slope[active] * (middle - start[active, 1])
        order = np.argsort(x, kind="stable")
        winding = np.abs(np.cumsum(turn[active[order]]))[:-1]
        area += float(height * (winding @ np.diff(x[order])))
    return area


def _crossing_levels(start: FloatArray, end: FloatArray) -> Iterator[FloatArray]:
    """Heights at which edges cross in their interior; each edge is compared with all later ones, many at a time."""
    step = end - start
    rows = max(1, _PAIRS // max(len(start), 1))
    for first in range(0, len(start) - 1, rows):
        one = slice(first, min(first + rows, len(start) - 1))
        at, way = start[one, None], step[one, None]
        other, gap = step[None, first + 1 :], start[None, first + 1 :] - at
        later = np.arange(other.shape[1]) >= np.arange(len(at))[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            cross = way[..., 0] * other[..., 1] - way[..., 1] * other[..., 0]
            own = (gap[..., 0] * other[..., 1] - gap[..., 1] * other[..., 0]) / cross
            its = (gap[..., 0] * way[..., 1] - gap[..., 1] * way[..., 0]) / cross
            inside = later & (own > 0) & (own < 1) & (its > 0) & (its < 1)
        yield (at[..., 1] + own * way[..., 1])[inside]


def _checked(points: ArrayLike) -> FloatArray:
    array = np.asarray(points, np.float64)
    if array.ndim != 2:
        raise ShapeError(f"a polyline needs shape (N, D), got {array.shape}")
    if not np.isfinite(array).all():
        raise ShapeError("a polyline needs finite points; drop or repair the others first")
    return array
