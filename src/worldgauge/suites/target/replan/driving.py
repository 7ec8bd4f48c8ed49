"""Driving a planned path in the embedded world: the robot goes where the plan says until something is in its way."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.walking.floor import FloorPlan

RADIUS_M = 0.2
"""Half the width of the robot (a quadruped of the size that the paper used)."""
STEP_M = 0.02
"""Between two tests for contact."""


@dataclass(frozen=True)
class Driven:
    """What became of a plan. xy: (n, 2) metres, where the robot was at the times asked for. contact: it was stopped."""

    xy: FloatArray
    contact: bool


def drive(floor: FloorPlan, xy: ArrayLike, radius_m: float = RADIUS_M) -> Driven:
    """Follow points (n, 2) in metres of the world's plane, in straight lines, from the first one.

    At the first point whose surroundings of `radius_m` are not free the robot stops and stays. One that starts where it
    does not fit (a plan may begin beside a wall) may leave, but not go deeper.
    Raises ShapeError on other shapes, no point, and points that are not finite.
    """
    points = np.asarray(xy, np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0 or not np.isfinite(points).all():
        raise ShapeError(f"a plan to drive needs (n, 2) finite points, n >= 1, got shape {points.shape}")
    reached = points.copy()
    room = float(floor.clearance_at(points[0]))
    for k in range(1, len(points)):
        start, end = reached[k - 1], points[k]
        steps = max(1, math.ceil(float(np.hypot(*(end - start))) / STEP_M))
        way = start + (end - start) * (np.arange(1, steps + 1) / steps)[:, None]
        clear = floor.clearance_at(way)
        # Never less room than the radius, or than there was before where it began with less.
        least = np.minimum(radius_m, np.maximum.accumulate(np.concatenate([[room], clear]))[:-1])
        stopped = np.flatnonzero(clear < least - 1e-9)
        if len(stopped):
            last = way[stopped[0] - 1] if stopped[0] else start
            reached[k:] = last
            return Driven(reached, True)
        reached[k] = end
        room = float(max(room, clear.max()))
    return Driven(reached, False)
