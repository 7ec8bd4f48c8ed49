"""How far two decoders differ about one video: where they do, at least one of them is wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core import polyline
from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray, Sim3

FLAGGED = 0.10
"""Share of the path length above which two decoders disagree (Target-Bench specification, section 9.3)."""
_STILL = 1e-9


def disagreement(a: ArrayLike, b: ArrayLike) -> float:
    """Largest distance between two paths (n, 3) of the same frames once aligned, as a share of the path length.

    Each is laid over the other by the best similarity, so unit, heading and origin do not matter; the larger of the
    two shares counts, so the order does not matter either. 0 for equal shapes and where neither moves; 1 where only
    one moves; never above 1. The largest distance, not the mean: a decoder that loses its way does so at one end, and
    a mean over the points that were still right hides it.
    Raises ShapeError on other shapes, fewer than 2 points, and values that are not finite.
    Source: Target-Bench has no such check; ours.
    """
    one, other = _checked(a), _checked(b)
    if one.shape != other.shape:
        raise ShapeError(f"two paths of the same frames were expected, got {one.shape} and {other.shape}")
    lengths = polyline.length(one), polyline.length(other)
    moves = [length > _STILL * (1 + np.abs(path).max()) for length, path in zip(lengths, (one, other), strict=True)]
    if not any(moves):
        return 0.0
    if not all(moves):
        return 1.0
    return min(1.0, max(_share(one, other, lengths[1]), _share(other, one, lengths[0])))


def align_path(source: ArrayLike, target: ArrayLike) -> Sim3:
    """Least-squares similarity that lays one path (n, 3) over another; also for paths on a line or in one place.

    Where the points leave a rotation open (straight lines: about the line), any of the best ones is returned: they
    lay the source at the same distances. A scale of 0 comes out where the two have nothing in common.
    Raises ShapeError as `disagreement` does.
    Source: Umeyama 1991, equations 34-43.
    """
    one, other = _checked(source), _checked(target)
    if one.shape != other.shape:
        raise ShapeError(f"two paths of the same frames were expected, got {one.shape} and {other.shape}")
    centre, goal = one.mean(0), other.mean(0)
    u, singular, vt = np.linalg.svd((other - goal).T @ (one - centre))
    sign = np.array([1.0, 1.0, np.sign(np.linalg.det(u) * np.linalg.det(vt))])
    rotation = (u * sign) @ vt
    spread = float(((one - centre) ** 2).sum())
    scale = float(singular @ sign) / spread if spread > 0 else 0.0
    return Sim3(scale, rotation, goal - scale * rotation @ centre)


def _share(source: FloatArray, target: FloatArray, length: float) -> float:
    apart = np.linalg.norm(align_path(source, target).apply(source) - target, axis=1)
    return float(apart.max() / length)


def _checked(path: ArrayLike) -> FloatArray:
    points = np.asarray(path, np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
        raise ShapeError(f"a decoded path needs shape (n, 3) with n >= 2, got {points.shape}")
    if not np.isfinite(points).all():
        raise ShapeError(f"point {int(np.argwhere(~np.isfinite(points))[0][0])} of a path is not finite")
    return points
