"""`ways`: shortest ways to places spread over the floor nearby, also around corners and through doors."""

from __future__ import annotations

from worldgauge.core.episode import Goal
from worldgauge.suites.worldinworld.home_env import spread
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    History,
    HomeObservation,
    PolicyKit,
    Rng,
    proposers,
)

REACH_M = (0.6, 3.0)
"""Least and most metres of walk to the end of a plan."""
ARRIVED_M = 0.25
SPARE = 4
"""Places beyond n, since a way of many turns has more than L primitives."""


@proposers.register("ways", tasks=("navigation",), chat=False)
class WaysProposer:
    """Shortest ways over a floor plan to places in walking distance, in random order.

    The plan shows where one can stand, not what is there. Each place is the one farthest from those before; at most L
    primitives.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._length = kit.length

    def propose(self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: Rng) -> list[ActionPlan]:
        """Up to n plans; none when no place is in reach."""
        places = observation.places_near(REACH_M[1], rng)
        ends = places.at[(REACH_M[0] <= places.metres) & (places.metres <= REACH_M[1])]
        plans: list[ActionPlan] = []
        for index in spread(ends, n + SPARE, rng) if len(ends) else ():
            steps = observation.way_to(ends[index, :2], ARRIVED_M)
            if steps and len(steps) <= self._length and len(plans) < n:
                plans.append(ActionPlan(steps, "ways"))
        return [plans[index] for index in rng.permutation(len(plans))]
