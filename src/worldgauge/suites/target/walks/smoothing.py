"""From a path to a walk: the path is smoothed, then timed for a walker with limits.

A walk begins in motion and ends at rest. Speed is reduced where the path bends, so that the heading never turns faster
than the limit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core import polyline
from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.walking.clearance import COMFORT_M, RADIUS_M, least_clearance, resampled, straightened
from worldgauge.worlds.walking.floor import FloorPlan

SPACING_M = 0.02
WIDTHS_M = (0.6, 0.4, 0.25, 0.15, 0.08)
"""Standard deviations of the smoothing along the way, tried in this order."""
HEADING_WIDTH_M = 0.2
HEIGHT_WIDTH_M = 0.3


class Gait(NamedTuple):
    """Limits of a walker.

    Attributes:
        fastest: Metres a second.
        slowest: Metres a second; a walker that would have to go slower on average stands at the end instead.
        acceleration: Metres a second squared.
        yaw_rate: Radians a second.
    """

    fastest: float = 0.8
    slowest: float = 0.3
    acceleration: float = 0.5
    yaw_rate: float = 0.8


class Strides(NamedTuple):
    """A walk in the plane, one row per moment.

    Attributes:
        xy: (T, 2) metres.
        yaw: (T,) radians, not wrapped.
        arrived_s: Seconds.
    """

    xy: FloatArray
    yaw: FloatArray
    arrived_s: float


def smooth_way(
    floor: FloorPlan, *legs: ArrayLike, radius_m: float = RADIUS_M, comfort_m: float = COMFORT_M
) -> FloatArray:
    """A smooth path with the ends of the `legs` and at least `radius_m` of clearance.

    The widest smoothing of WIDTHS_M that keeps the radius is taken, then the straightened legs, then the legs
    themselves.

    Args:
        floor: Floor plan.
        legs: Paths (N, 2), metres, each beginning where the one before ends; where they meet the smooth path only comes
            near.
        radius_m: Least clearance, metres.
        comfort_m: Preferred clearance, metres.

    Returns:
        Path (M, 2), a point every SPACING_M.

    Raises:
        ShapeError: When not even the legs keep the radius.
    """
    ways = [np.asarray(leg, np.float64) for leg in legs]
    corners = np.concatenate([straightened(floor, way, comfort_m=comfort_m) for way in ways])
    for candidate in (*(_blurred(corners, width) for width in WIDTHS_M), _dense(corners), _dense(np.concatenate(ways))):
        if least_clearance(floor, candidate) >= radius_m:
            return candidate
    raise ShapeError(f"the way comes nearer than {radius_m} m to what is in its way; plan it with this radius")


def stride(way: ArrayLike, *, rows: int, dt: float, gait: Gait = Gait()) -> Strides | None:  # noqa: B008
    """Where a walker on a path is at every moment, so that it comes to rest at the last.

    It starts at a cruising speed that is chosen for that. A short path is walked at the slowest speed, and the walker
    stands for the rest of the time.

    Args:
        way: Path (N, 2), metres.
        rows: Number of moments.
        dt: Seconds between moments.
        gait: Limits of the walker.

    Returns:
        The walk; None when the path is too long for the limits.

    Raises:
        ShapeError: On a path of no length.
    """
    points = _dense(np.asarray(way, np.float64))
    length = polyline.length(points)
    if length < 2 * SPACING_M:
        raise ShapeError(f"a way of {length:.3f} m is none")
    s = np.linspace(0.0, length, len(points))
    yaw = _heading(points)
    bend = np.abs(np.gradient(yaw, s))
    top = _top_speeds(s, bend, gait)
    least, most = gait.slowest, gait.fastest
    duration = (rows - 1) * dt
    if _times(s, np.minimum(most, top))[-1] > duration:
        return None
    if _times(s, np.minimum(least, top))[-1] < duration:
        most = least
    for _ in range(40):
        middle = (least + most) / 2
        slow = _times(s, np.minimum(middle, top))[-1] > duration
        least, most = (middle, most) if slow else (least, middle)
    v = np.minimum(most, top)
    t = _times(s, v)
    moments = np.minimum(np.arange(rows) * dt, t[-1])
    # Within a segment the acceleration is constant.
    k = np.clip(np.searchsorted(t, moments, side="right") - 1, 0, len(t) - 2)
    tau, push = moments - t[k], (v[k + 1] - v[k]) / (t[k + 1] - t[k])
    at = np.clip(s[k] + tau * (v[k] + push * tau / 2), 0.0, length)
    xy = np.stack([np.interp(at, s, points[:, axis]) for axis in range(2)], -1)
    return Strides(xy, np.interp(at, s, yaw), float(t[-1]))


def floor_heights(floor: FloorPlan, xy: ArrayLike) -> FloatArray:
    """Return heights of the floor under a walk, with steps smoothed over HEIGHT_WIDTH_M of the path.

    Args:
        floor: The floor plan.
        xy: (T, 2) metres.

    Returns:
        (T,) metres.
    """
    points = np.asarray(xy, np.float64)
    way = _dense(points)
    smooth = _kernel_mean(floor.height_at(way)[:, None], HEIGHT_WIDTH_M)[:, 0]
    along = np.linspace(0.0, polyline.length(points), len(way))
    heights: FloatArray = np.interp(polyline.along(points), along, smooth)
    return heights


def _dense(way: FloatArray) -> FloatArray:
    """Points about SPACING_M apart."""
    return resampled(way, max(3, math.ceil(polyline.length(way) / SPACING_M) + 1))


def _blurred(way: FloatArray, width_m: float) -> FloatArray:
    """The way under a Gaussian along its length; mirrored through its ends, which therefore stay."""
    return _dense(_kernel_mean(_dense(way), width_m, through_ends=True))


def _heading(way: FloatArray) -> FloatArray:
    """Direction (N,) of a dense way, smoothed, not wrapped."""
    step = np.gradient(way, axis=0)
    return _kernel_mean(np.unwrap(np.arctan2(step[:, 1], step[:, 0]))[:, None], HEADING_WIDTH_M)[:, 0]


def _kernel_mean(values: FloatArray, width_m: float, *, through_ends: bool = False) -> FloatArray:
    """Gaussian mean of values (N, D) SPACING_M apart, continued by the end values or mirrored through the ends."""
    reach = min(round(3 * width_m / SPACING_M), len(values) - 1)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) * SPACING_M / width_m) ** 2)
    weights /= weights.sum()
    if through_ends:
        before = 2 * values[:1] - values[1 : reach + 1][::-1]
        after = 2 * values[-1:] - values[-1 - reach : -1][::-1]
        padded = np.concatenate([before, values, after])
    else:
        padded = np.pad(values, ((reach, reach), (0, 0)), mode="edge")
    return np.stack([np.convolve(column, weights, mode="valid") for column in padded.T], -1)


def _top_speeds(s: FloatArray, bend: FloatArray, gait: Gait) -> FloatArray:
    """Highest speed (N,) at every point: slow in bends, at rest at the end, within the acceleration.

    A walker who also keeps below a cruising speed takes the lower of the two everywhere.
    """
    # Lists: a loop over numbers of an array takes five times as long.
    v = (gait.yaw_rate / np.maximum(bend, 1e-9)).tolist()
    v[-1] = 0.0
    rise = (2 * gait.acceleration * np.diff(s)).tolist()
    for k in range(len(v) - 2, -1, -1):
        v[k] = min(v[k], math.sqrt(v[k + 1] ** 2 + rise[k]))
    for k in range(1, len(v)):
        v[k] = min(v[k], math.sqrt(v[k - 1] ** 2 + rise[k - 1]))
    return np.array(v)


def _times(s: FloatArray, v: FloatArray) -> FloatArray:
    """Seconds (N,) at which the points are passed."""
    return np.concatenate([[0.0], np.cumsum(2 * np.diff(s) / (v[1:] + v[:-1]))])
