"""`fan`: plans that turn and then go straight, spread over the floor that the depth shows to be free."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import FloatArray
from worldgauge.suites.closedloop.policies.contract import (
    SIDES,
    YAW_RIGHT_DEG,
    ActionPlan,
    History,
    HomeObservation,
    PolicyKit,
    Side,
    proposers,
)
from worldgauge.worlds.walking.primitives import STEP_M, TURN_DEG, Primitive, Steps, trajectory
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


@proposers.register("fan", tasks=("navigation",), chat=False)
class FanProposer:
    """Turn at most half around, then go straight on: plans whose ends are spread over the free floor around.

    A plan goes straight for at most half of L, and has at most L primitives in all. Of all such plans whose way is
    free in the depth of the four views, the first is drawn by chance, and each further one ends farthest from the ends
    of those before it. So the first plan alone is a walk to a random free place nearby.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._length = kit.length

    def propose(
        self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: np.random.Generator
    ) -> Sequence[ActionPlan]:
        """Up to n plans, fewer where the floor has no room for more; none where the walker can go nowhere."""
        plans = fan(free_m(observation), self._length)
        if not plans:
            return []
        ends = np.array([_end(steps) for steps in plans])
        chosen = [int(rng.integers(len(plans)))]
        away = np.full(len(plans), np.inf)
        while len(chosen) < min(n, len(plans)):
            away = np.minimum(away, np.linalg.norm(ends - ends[chosen[-1]], axis=1))
            chosen.append(int(np.argmax(np.round(away, 9))))
        return [ActionPlan(plans[index], "fan") for index in chosen]


def fan(reach_m: FloatArray, length: int) -> list[Steps]:
    """All plans of at most `length` primitives that turn and then go straight on, as far as the way is free.

    Args:
        reach_m: (16,) metres that are free in each direction, see `free_m`.
        length: Most primitives of a plan; at most half of them, rounded up, go straight on.

    Returns:
        The plans, by direction and then by length.
    """
    found = []
    for direction, free in enumerate(reach_m):
        turns = direction if direction <= DIRECTIONS // 2 else direction - DIRECTIONS
        turn = Primitive.TURN_LEFT if turns > 0 else Primitive.TURN_RIGHT
        most = min((length + 1) // 2, length - abs(turns), int(min(float(free) / STEP_M + 1e-9, length)))
        found += [(turn,) * abs(turns) + (Primitive.FORWARD,) * ahead for ahead in range(1, most + 1)]
    return found


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


def _end(steps: Steps) -> FloatArray:
    """Return (2,) metres ahead and to the left: where a plan ends if nothing is in the way."""
    return trajectory(steps)[-1, :2]
