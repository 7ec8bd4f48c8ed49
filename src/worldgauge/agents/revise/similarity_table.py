"""The reviser `similarity` at a table: takes the plan that, as imagined, leaves the table most like the goal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldgauge.agents.contract import Candidate, Decision, History, Kit, Rollout, TableObservation
from worldgauge.agents.goal_likeness import GoalLikeness
from worldgauge.episode import Goal
from worldgauge.errors import UsageError


class TableSimilarity:
    """Greedy: the plan wins in whose last frame most of what has to change has changed, the first of equal ones.

    Needs no weights (`agents.goal_likeness`). Where nothing was imagined the first plan is taken; a plan without a
    frame has no score and is taken last.
    Measured on 278 decisions with true rollouts of the proposer `scripted`, M = L = 5: what the choice falls short of
    the best candidate's true progress, and what a choice by chance does: buttons 0.02 (0.41), block 0.07 (0.26), cups
    0.06 (0.18), ring 0.26 (0.39), which the hand hides. Earlier frames, shades, what the arm is near, things in wrong
    places and things found beside their goal did not better it on the whole.
    """

    def __init__(self, kit: Kit) -> None:
        self._goal: Goal | None = None
        self._likeness: GoalLikeness | None = None

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: TableObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """The plan that seems to bring the table nearest to the goal. Raises UsageError for one without pictures."""
        rollouts = [candidate.rollout for candidate in candidates]
        if all(rollout is None for rollout in rollouts):
            return Decision(candidates[0].plan, 0)
        likeness = self._to(goal)
        scores = tuple(_last(rollout, likeness) for rollout in rollouts)
        chosen = max(range(len(scores)), key=lambda n: -1.0 if scores[n] is None else float(scores[n]))  # type: ignore[arg-type]
        return Decision(candidates[chosen].plan, chosen, scores=scores)

    def _to(self, goal: Goal) -> GoalLikeness:
        if goal.image is None or goal.before is None:
            raise UsageError("the reviser 'similarity' needs pictures of the table before, and when all is done")
        if self._likeness is None or self._goal is not goal:
            self._goal, self._likeness = goal, GoalLikeness(goal.before, goal.image)
        return self._likeness


def _last(rollout: Rollout | None, likeness: GoalLikeness) -> float | None:
    if rollout is None or rollout.valid_len < 2:
        return None
    return likeness.reached(rollout.seen(rollout.valid_len - 1))
