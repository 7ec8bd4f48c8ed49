"""`cem`: a planner that searches over imagined frames, by the cross-entropy method, instead of choosing once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import FloatArray
from worldgauge.suites.closedloop.home.free_floor import DIRECTIONS, free_m
from worldgauge.suites.closedloop.navigation.nearness.network import identity
from worldgauge.suites.closedloop.navigation.nearness_reviser import NearnessReviser
from worldgauge.suites.closedloop.policies.contract import (
    ActionPlan,
    Candidate,
    HomeObservation,
    PlanSearch,
    PolicyKit,
    revisers,
)
from worldgauge.worlds.walking.primitives import STEP_M, Primitive, Steps

ELITES = 1 / 3
"""Share of the plans so far that the next ones are drawn around."""
LEAST_SPREAD = (0.8, 1.0, 1.5, 1.5)
"""Standard deviations below which no round goes: turns and steps of the first leg, then of the second."""

DRAWS = 8
"""Most draws for a plan that is taken: several fall on one, or on what is there."""


@revisers.register("cem", tasks=("navigation",), imagines=True, identity=identity)
class CrossEntropyReviser(NearnessReviser, PlanSearch):
    """Draws new plans around the best imagined ones, has them imagined, and so on; then decides as `nearness` does.

    A plan is two legs: turn, go straight, turn, go straight. The first population is the proposer's. Each further round
    fits a normal distribution to the third of all plans so far whose imagined ends seem nearest to the goal, and draws
    as many plans from it as were proposed (Rubinstein 1999, with the spread kept from vanishing). The first leg stays
    on floor that the depth shows to be free, as that of `fan`; of the second only the world model knows.
    """

    rounds = 3
    name = "cem"

    def __init__(self, kit: PolicyKit) -> None:
        super().__init__(kit)
        self._length = kit.length

    def further(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        n: int,
        rng: np.random.Generator,
    ) -> Sequence[ActionPlan]:
        """Plans around the best ones; see `PlanSearch.further`."""
        nearby = self._nearby(goal, observation)
        known = []
        for candidate in candidates:
            plan, rollout = legs_of(candidate.plan.steps), candidate.rollout
            if plan is not None and rollout is not None:
                known.append((nearby.end(candidate.plan, rollout), plan))
        if not known:
            return []
        known.sort(key=lambda one: one[0])
        legs = np.array([plan for _, plan in known], float)
        # Half around to the left is half around to the right: count turns from those of the best plan.
        legs[:, 0] = legs[0, 0] + wrapped(legs[:, 0] - legs[0, 0])
        middle, spread = self.drawn_from(np.array([far for far, _ in known]), legs)
        drawn = np.rint(rng.normal(middle, spread, (DRAWS * n, len(spread)))).astype(int)
        free, there = free_m(observation), {candidate.plan.steps for candidate in candidates}
        fresh = dict.fromkeys(steps for one in drawn if (steps := self._steps(one, free)) and steps not in there)
        return [ActionPlan(steps, self.name) for steps in list(fresh)[:n]]

    def drawn_from(self, far: FloatArray, legs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the next plans are drawn.

        Args:
            far: (n,) how far from the goal each plan seems to end, the nearest first; without unit.
            legs: (n, 4) the plans.

        Returns:
            Mean and standard deviation of a normal distribution, (4,) each.
        """
        elites = legs[: max(2, round(ELITES * len(legs)))]
        return elites.mean(0), np.maximum(elites.std(0), LEAST_SPREAD)

    def _steps(self, legs: Sequence[int], free: FloatArray) -> Steps:
        turn, ahead, second, further = (int(one) for one in legs)
        turn = int(wrapped(np.array(turn)))
        if not second:  # one leg straight on
            ahead, further = ahead + max(further, 0), 0
        most = int(min(free[turn % DIRECTIONS] / STEP_M + 1e-9, self._length))
        steps = _turns(turn) + (Primitive.FORWARD,) * min(max(ahead, 0), most)
        if ahead <= most:  # beyond what stands there is no second leg
            steps += _turns(second) + (Primitive.FORWARD,) * max(further, 0)
        steps = steps[: self._length]
        while steps and steps[-1] is not Primitive.FORWARD:  # turns at the end lead nowhere
            steps = steps[:-1]
        return steps


def legs_of(steps: Steps) -> tuple[int, int, int, int] | None:
    """A plan as turns to the left, steps ahead, turns to the left, steps ahead; None for one of another form."""
    rest, found = list(steps), []
    for _ in range(2):
        turn = 0
        while rest and rest[0] in (Primitive.TURN_LEFT, Primitive.TURN_RIGHT):
            turn += 1 if rest.pop(0) is Primitive.TURN_LEFT else -1
        ahead = 0
        while rest and rest[0] is Primitive.FORWARD:
            rest.pop(0)
            ahead += 1
        found += [turn, ahead]
    return None if rest else (found[0], found[1], found[2], found[3])


def wrapped(turns: np.ndarray) -> np.ndarray:
    """Turns to the left as the shortest way there, from half around to the right to half around to the left."""
    half = DIRECTIONS // 2
    return half - (half - turns) % DIRECTIONS


def _turns(left: int) -> Steps:
    return (Primitive.TURN_LEFT if left > 0 else Primitive.TURN_RIGHT,) * abs(left)
