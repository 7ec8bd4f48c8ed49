"""`fan`: plans that turn and then go straight, spread over the floor that the depth shows to be free."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import FloatArray
from worldgauge.suites.worldinworld.home_env import DIRECTIONS, free_m, spread
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    History,
    HomeObservation,
    PolicyKit,
    Rng,
    proposers,
)
from worldgauge.worlds.walking.primitives import STEP_M, Primitive, Steps, trajectory


@proposers.register("fan", tasks=("navigation",), chat=False)
class FanProposer:
    """Turn at most half around, then go straight on: plans whose ends are spread over the free floor around.

    A plan goes straight for at most half of L. The first is sampled, each further one ends farthest from those before
    it; so the first alone is a walk to a random free place nearby.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._length = kit.length

    def propose(self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: Rng) -> list[ActionPlan]:
        """Up to n plans, fewer where the floor has no room for more; none where the walker can go nowhere."""
        plans = fan(free_m(observation), self._length)
        if not plans:
            return []
        ends = np.array([_end(steps) for steps in plans])
        return [ActionPlan(plans[index], "fan") for index in spread(ends, n, rng)]


def fan(reach_m: FloatArray, length: int) -> list[Steps]:
    """All plans of at most `length` primitives that turn and go straight; `reach_m` (16,) is that of `free_m`."""
    found = []
    for direction, free in enumerate(reach_m):
        turns = direction if direction <= DIRECTIONS // 2 else direction - DIRECTIONS
        turn = Primitive.TURN_LEFT if turns > 0 else Primitive.TURN_RIGHT
        most = min((length + 1) // 2, length - abs(turns), int(min(float(free) / STEP_M + 1e-9, length)))
        found += [(turn,) * abs(turns) + (Primitive.FORWARD,) * ahead for ahead in range(1, most + 1)]
    return found


@lru_cache(maxsize=1024)
def _end(steps: Steps) -> tuple[float, float]:
    """Return metres ahead and to the left: where a plan ends if nothing is in the way."""
    ahead, left, _ = trajectory(steps)[-1].tolist()
    return ahead, left
