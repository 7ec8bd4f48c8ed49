"""`around`: plans that go some way to a side of the thing in the red box, and then turn to face it."""

from __future__ import annotations

import math

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import FloatArray, wrap_angle
from worldgauge.suites.worldinworld.home_env import DIRECTIONS, free_m, spread
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    History,
    HomeObservation,
    PolicyKit,
    Rng,
    proposers,
)
from worldgauge.suites.worldinworld.recognition.tracking import TrackedTarget
from worldgauge.worlds.walking.primitives import STEP_M, TURN_DEG, Primitive, Steps, trajectory

NEAREST_M = 0.4
"""A plan that ends closer to the middle of what is seen of the thing would show a part of it only."""


@proposers.register("around", tasks=("recognition",), chat=False)
class AroundProposer:
    """Turn, go straight on, turn to face the thing: plans of at most L primitives whose ends are spread around it.

    Depth gives the thing's place and the free floor. The first plan is sampled, each further one ends farthest from
    those before; so the first alone is a walk to a random place nearby, with a look back.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._length = kit.length

    def propose(self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: Rng) -> list[ActionPlan]:
        """Up to n plans; none where the thing is not in the front view or the walker can go nowhere."""
        box = observation.box
        if box is None:
            return []
        target = TrackedTarget(box, observation.front, observation.depth("front"), observation.camera)
        if not target.known:
            return []
        right, _, ahead = target.middle_m
        plans = around(free_m(observation), np.array([ahead, -right]), self._length)
        if not plans:
            return []
        ends = np.array([trajectory(steps)[-1, :2] for steps in plans])
        return [ActionPlan(plans[index], "around") for index in spread(ends, n, rng)]


def around(reach_m: FloatArray, target_m: FloatArray, length: int) -> list[Steps]:
    """All plans of at most `length` primitives: turn, straight by `free_m` (16,), face the thing (2,) ahead, left."""
    found = []
    for direction, free in enumerate(reach_m):
        turns = direction if direction <= DIRECTIONS // 2 else direction - DIRECTIONS
        heading = turns * math.radians(TURN_DEG)
        most = min(length - abs(turns), int(min(float(free) / STEP_M + 1e-9, length)))
        for forward in range(0 if turns == 0 else 1, most + 1):
            way = target_m - forward * STEP_M * np.array([math.cos(heading), math.sin(heading)])
            off = float(wrap_angle(math.atan2(way[1], way[0]) - heading))
            back = round(math.degrees(off) / TURN_DEG)
            steps = (*_turned(turns), *(Primitive.FORWARD,) * forward, *_turned(back))
            if 0 < len(steps) <= length and math.hypot(*way) >= NEAREST_M:
                found.append(steps)
    return found


def _turned(count: int) -> Steps:
    """So many turns to the left, or to the right if negative."""
    return (Primitive.TURN_LEFT if count > 0 else Primitive.TURN_RIGHT,) * abs(count)
