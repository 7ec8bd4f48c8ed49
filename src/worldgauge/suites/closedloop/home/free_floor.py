"""Free floor around a walker by the depth of its four views, and plans whose ends are spread over it."""

from __future__ import annotations

import math

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.suites.closedloop.policies.contract import SIDES, YAW_RIGHT_DEG, HomeObservation, Side
from worldgauge.worlds.walking.primitives import TURN_DEG
from worldgauge.worlds.walking.stance import EYE_HEIGHT_M, RADIUS_M

DIRECTIONS = round(360 / TURN_DEG)
SAMPLES = 48
"""Rows and columns of each view whose depth is looked at."""
_MARGIN_M = 0.04
"""Room on each side of the walker, for what lies between two samples."""
_ROUNDING_M = 0.005
_KERB_M = 0.08
"""What is lower is floor: the error of a depth far away is not to become an obstacle."""
_OVERHEAD_M = 0.3
"""What is higher above the eye is over the walker's head."""


def free_m(observation: HomeObservation) -> FloatArray:
    """How far a walker can go straight on in each direction, by the depth of the four views.

    Returns:
        (16,) metres, direction k being k turns to the left; infinite where nothing is seen in the way.
    """
    points = np.concatenate([_obstacles(observation, side) for side in SIDES])
    angles = np.radians(TURN_DEG) * np.arange(DIRECTIONS)[:, None]
    along = points[:, 0] * np.cos(angles) + points[:, 1] * np.sin(angles)
    across = points[:, 1] * np.cos(angles) - points[:, 0] * np.sin(angles)
    # One that stands close to a wall may go along it.
    room = np.clip(np.hypot(*points.T).min(initial=np.inf), RADIUS_M, RADIUS_M + _MARGIN_M)
    met = (along > 0) & (np.abs(across) < room - _ROUNDING_M)
    nearest: FloatArray = np.where(met, along, np.inf).min(axis=1, initial=np.inf)
    return np.maximum(nearest - RADIUS_M, 0.0)


def spread(ends: FloatArray, n: int, rng: np.random.Generator) -> list[int]:
    """Choose ends that lie far from each other: the first by chance, each further one farthest from those before it.

    Args:
        ends: (k, d), k at least 1.
        n: How many to choose, fewer where there are fewer.
        rng: Source of the first.

    Returns:
        Their indices.
    """
    chosen = [int(rng.integers(len(ends)))]
    away = np.full(len(ends), np.inf)
    while len(chosen) < min(n, len(ends)):
        away = np.minimum(away, np.linalg.norm(ends - ends[chosen[-1]], axis=1))
        chosen.append(int(np.argmax(np.round(away, 9))))
    return chosen


def _obstacles(observation: HomeObservation, side: Side) -> FloatArray:
    """Return (n, 2) metres ahead and to the left of the walker: what one view shows at the walker's height."""
    depth = observation.depth(side)
    stride = max(1, round(len(depth) / SAMPLES))
    rays = observation.camera.rays()[::stride, ::stride]
    points = (rays * depth[::stride, ::stride, None])[np.isfinite(depth[::stride, ::stride])]
    right, _, ahead = points[(points[:, 1] < EYE_HEIGHT_M - _KERB_M) & (points[:, 1] > -_OVERHEAD_M)].T
    yaw = -math.radians(YAW_RIGHT_DEG[side])
    return np.stack(
        [ahead * math.cos(yaw) + right * math.sin(yaw), ahead * math.sin(yaw) - right * math.cos(yaw)], axis=1
    )
