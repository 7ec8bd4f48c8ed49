"""`similarity`: takes the plan whose imagined end is most like the goal: its place, or the state of a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.image import Image
from worldgauge.suites.closedloop.home.real_colours import RealColours
from worldgauge.suites.closedloop.manipulation.reviser import GoalSimilarityReviser
from worldgauge.suites.closedloop.metrics.reward import ranked_by_distance
from worldgauge.suites.closedloop.navigation.place_similarity import PlaceSimilarity
from worldgauge.suites.closedloop.policies.contract import (
    ActionPlan,
    Candidate,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    Reviser,
    Rollout,
    revisers,
)


@revisers.register("similarity", tasks=("navigation", "manipulation"), imagines=True)
def similarity_reviser(kit: PolicyKit) -> Reviser[Any]:
    """Make the reviser of the task: it takes the plan whose last frame is most like the goal, without weights."""
    return GoalSimilarityReviser(kit) if kit.task == "manipulation" else PlaceSimilarityReviser(kit)


class PlaceSimilarityReviser:
    """Takes the plan whose last frame has the least distance to the goal, the first of equals.

    The distance (`place_similarity`) needs no weights. The paper's rule for LPIPS averages over all frames of a plan,
    most of which candidates share: on 60 paths in homes with true rollouts that reached 14, the last frame alone 18.
    The first plan is taken if nothing was imagined; a plan without a frame has no score and is taken last.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._goal: Image | None = None
        self._likeness: PlaceSimilarity | None = None

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """Choose the plan that seems to lead nearest to the goal; see `Reviser.revise`.

        Raises:
            UsageError: If the goal has no image.
        """
        if any(candidate.rollout is None for candidate in candidates):
            return Decision(candidates[0].plan, 0)
        likeness, colours = self._to(goal, observation.camera.hfov_deg), RealColours(observation)
        distances = [_last(one.plan, one.rollout, likeness, colours) for one in candidates if one.rollout is not None]
        ranking = ranked_by_distance(distances)
        scores = tuple(reward if math.isfinite(reward) else None for reward in ranking.rewards)
        return Decision(candidates[ranking.best].plan, ranking.best, scores=scores)

    def _to(self, goal: Goal, hfov_deg: float) -> PlaceSimilarity:
        if goal.image is None:
            raise UsageError("the reviser 'similarity' needs a goal image")
        if self._likeness is None or self._goal is not goal.image:
            self._goal, self._likeness = goal.image, PlaceSimilarity(goal.image, hfov_deg)
        return self._likeness


def _last(plan: ActionPlan, rollout: Rollout, likeness: PlaceSimilarity, colours: RealColours) -> list[float]:
    """Return the distance of the plan's end in real colours; empty where nothing follows the real view."""
    if rollout.valid_len < 2:
        return []
    return [likeness.distance(colours.restored(rollout.seen(rollout.valid_len - 1), rollout.camera, plan))]
