"""Opt-in metrics of decoded paths, never part of the overall score (specification target, section 5.13).

All take paths (n, 2) in metres in the frame of the current pose, and the walked path from the current frame on; cut
its history first.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core import polyline
from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray, wrap_angle
from worldgauge.metrics._registry import metric
from worldgauge.suites.target.metrics.waypoints import fde

HEADING_M = 0.5
"""A heading is that of the last half metre: one step of a walk, well above what a decoder is off."""

_SOURCE = "ours (specification target, section 5.13)"


@metric("path/time_aligned_ade", unit="m", better="lower", bounds=(0.0, math.inf), version=1, source=_SOURCE)
def time_aligned_ade(path: ArrayLike, times_s: ArrayLike, truth: ArrayLike, dt_s: float) -> float:
    """Mean distance in metres of path and truth at the same moments, as long as both last.

    Args:
        path: (n, 2) metres.
        times_s: (n,) seconds of the points since the current frame, rising.
        truth: (T, 2) metres; its first row is the current frame.
        dt_s: Seconds per row of the truth.

    Raises:
        ShapeError: On other shapes and where the two have no moment in common.
    """
    points, rows = _checked(path), _checked(truth)
    times = np.asarray(times_s, np.float64)
    if times.shape != (len(points),) or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ShapeError(f"{len(points)} points need as many rising times in seconds, got shape {times.shape}")
    moments = np.arange(len(rows)) * dt_s
    # Half a row of slack: frame rates such as 24 and 25 do not meet exactly at the end.
    common = (moments >= times[0] - dt_s / 2) & (moments <= times[-1] + dt_s / 2)
    if not common.any():
        raise ShapeError(f"path ({times[0]:g} to {times[-1]:g} s) and truth (to {moments[-1]:g} s) never coincide")
    there = np.stack([np.interp(moments[common], times, column) for column in points.T], axis=-1)
    return float(np.linalg.norm(there - rows[common], axis=1).mean())


@metric("path/arc_aligned_ade", unit="m", better="lower", bounds=(0.0, math.inf), version=1, source=_SOURCE)
def arc_aligned_ade(path: ArrayLike, truth: ArrayLike) -> float:
    """Compute the mean distance of two paths at equal shares of their own lengths: shape, not pace.

    They are compared at as many places as the longer list has points.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.

    Returns:
        Metres.

    Raises:
        ShapeError: Other shapes.
    """
    points, rows = _checked(path), _checked(truth)
    shares = np.linspace(0, 1, max(len(points), len(rows)))
    return float(np.linalg.norm(_at_shares(points, shares) - _at_shares(rows, shares), axis=1).mean())


@metric("path/scale_free_ade", unit="1", better="lower", bounds=(0.0, 2.0), version=1, source=_SOURCE)
def scale_free_ade(path: ArrayLike, truth: ArrayLike) -> float | None:
    """Compute `arc_aligned_ade` of two paths of length 1 that begin at one place: shape and heading, not speed.

    It is for models that divide speed away, and for paths of no known scale. A path without length stays at the start.

    Args:
        path: (n, 2), any unit.
        truth: (T, 2) metres.

    Returns:
        Share of a path's length; None where the truth has no length.

    Raises:
        ShapeError: Other shapes.
    """
    points, rows = _checked(path), _checked(truth)
    walked, asked = polyline.length(points), polyline.length(rows)
    if asked == 0:
        return None
    return float(arc_aligned_ade((points - points[0]) / (walked or 1.0), (rows - rows[0]) / asked))


@metric("path/end_heading_error", unit="rad", better="lower", bounds=(0.0, math.pi), version=1, source=_SOURCE)
def end_heading(path: ArrayLike, truth: ArrayLike, *, over_m: float = HEADING_M) -> float | None:
    """Compute the angle between the final directions of two paths.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.
        over_m: Length at the end that gives the direction, metres.

    Returns:
        Radians; None where a path is shorter.

    Raises:
        ShapeError: Other shapes.
    """
    ways = [_last_way(_checked(points), over_m) for points in (path, truth)]
    if ways[0] is None or ways[1] is None:
        return None
    return min(abs(float(wrap_angle(ways[0] - ways[1]))), math.pi)


@metric("path/length_ratio", unit="1", better="neither", bounds=(0.0, math.inf), version=1, source=_SOURCE)
def length_ratio(path: ArrayLike, truth: ArrayLike) -> float | None:
    """Compute the length of a path over that of the truth.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.

    Returns:
        The ratio; None where nothing was walked.

    Raises:
        ShapeError: As `ade`.
    """
    walked = polyline.length(_checked(truth))
    return None if walked == 0 else polyline.length(_checked(path)) / walked


@metric("path/reach_half_metre", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source=_SOURCE)
def reach_half_metre(path: ArrayLike, truth: ArrayLike) -> float:
    """Tell whether a path ends less than 0.5 m from the end of the truth.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.

    Returns:
        1 or 0.

    Raises:
        ShapeError: As `fde`.
    """
    return float(fde(path, truth) < 0.5)


@metric("path/reach_metre", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source=_SOURCE)
def reach_metre(path: ArrayLike, truth: ArrayLike) -> float:
    """Tell whether a path ends less than 1 m from the end of the truth.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.

    Returns:
        1 or 0.

    Raises:
        ShapeError: As `fde`.
    """
    return float(fde(path, truth) < 1.0)


def _at_shares(points: FloatArray, shares: FloatArray) -> FloatArray:
    """Points (m, 2) after `shares` (m,) of the length of a path; its first point where it has no length."""
    return polyline.at(points, shares * polyline.along(points)[-1])


def _last_way(points: FloatArray, over_m: float) -> float | None:
    """Direction in radians from `over_m` before the end of a path to its end."""
    whole = polyline.length(points)
    if whole < over_m:
        return None
    start = _at_shares(points, np.array([1 - over_m / whole]))[0]
    dx, dy = points[-1] - start
    return None if dx == dy == 0 else math.atan2(dy, dx)


def _checked(points: ArrayLike) -> FloatArray:
    array = np.asarray(points, np.float64)
    if array.ndim != 2 or array.shape[1:] != (2,) or len(array) == 0:
        raise ShapeError(f"a path needs shape (n, 2) with n >= 1, metres in the plane, got {array.shape}")
    if not np.isfinite(array).all():
        raise ShapeError("the path has values that are not finite; drop or repair them first")
    return array
