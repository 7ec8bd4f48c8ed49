"""`nearness`: takes the plan that is imagined to come nearest to the goal, if it comes nearer than turning alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.suites.closedloop.home.real_colours import RealColours
from worldgauge.suites.closedloop.home.strips import panorama_strip, view_strip
from worldgauge.suites.closedloop.navigation.nearness.network import Encoded, identity, shipped
from worldgauge.suites.closedloop.navigation.place_similarity import PlaceSimilarity, soft_panorama, soft_view
from worldgauge.suites.closedloop.policies.contract import (
    ActionPlan,
    Candidate,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    Rollout,
    revisers,
)

SIMILARITY_WEIGHT = 0.5
"""Of the similarity of places beside the network's estimate. Both see what the other does not: with an earlier network,
on 60 episodes in validation homes with true rollouts, similarity alone reached 77 %, the network alone 72 %, the two
together 88 %."""
_DIGITS = 4
"""Of a score: sums of a matrix product may differ in the last ones from one processor to another."""


@dataclass(frozen=True)
class GoalPlace:
    """How far views are from the place of a goal.

    Attributes:
        image: The panorama that was taken there, (H, W, 3) uint8.
        similarity: Likeness to it.
        encoded: What the network makes of it.
    """

    image: Image
    similarity: PlaceSimilarity
    encoded: Encoded

    @classmethod
    def of(cls, image: Image, hfov_deg: float) -> GoalPlace:
        """The place of a panorama, for views of a horizontal field of view in degrees."""
        return cls(image, PlaceSimilarity(image, hfov_deg), shipped().encoded(panorama_strip(soft_panorama(image))))

    def far(self, view: Image, camera: Camera) -> float:
        """How far a view (H, W, 3) uint8 is from the goal; without unit, lower is nearer."""
        learned = shipped().far(view_strip(soft_view(view), camera), self.encoded)
        return round(learned + SIMILARITY_WEIGHT * self.similarity.distance(view), _DIGITS)


class Nearby:
    """How far the goal seems to be in a decision: `place` is the goal's, and colours are those of `observation`."""

    def __init__(self, place: GoalPlace, observation: HomeObservation) -> None:
        self._place, self._colours = place, RealColours(observation)

    def end(self, plan: ActionPlan, rollout: Rollout) -> float:
        """How far the goal seems to be from the plan's end; without unit, lower is nearer."""
        return self._restored(plan, rollout, rollout.valid_len - 1)

    def before(self, plan: ActionPlan, rollout: Rollout) -> float:
        """How far it seems to be from the last real view, also where that is taken for the plan's end.

        Then a frozen picture never seems to come nearer.
        """
        real = rollout.exact - 1
        return min(self._place.far(rollout.seen(real), rollout.camera), self._restored(plan, rollout, real))

    def _restored(self, plan: ActionPlan, rollout: Rollout, frame: int) -> float:
        view = self._colours.restored(rollout.seen(frame), rollout.camera, plan)
        return self._place.far(view, rollout.camera)


@revisers.register("nearness", tasks=("navigation",), imagines=True, identity=identity)
class NearnessReviser:
    """Takes the plan whose last imagined frame seems nearest to the goal, by a learned estimate and by likeness.

    A plan counts only if that frame seems nearer than the last real one before it, which after leading turns looks the
    same way. So a model that shows nothing new, or nothing true, brings no choice that turning on the spot would not
    bring too: then the first plan is taken, as it is where nothing was imagined.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._goal: GoalPlace | None = None

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
        nearby = self._nearby(goal, observation)
        scores = [_score(one.plan, one.rollout, nearby) for one in candidates if one.rollout is not None]
        known = [score for score in scores if score is not None]
        chosen = scores.index(max(known)) if known else 0
        return Decision(candidates[chosen].plan, chosen, scores=tuple(scores))

    def _nearby(self, goal: Goal, observation: HomeObservation) -> Nearby:
        if goal.image is None:
            raise UsageError("the reviser 'nearness' needs a goal image")
        if self._goal is None or self._goal.image is not goal.image:
            self._goal = GoalPlace.of(goal.image, observation.camera.hfov_deg)
        return Nearby(self._goal, observation)


def _score(plan: ActionPlan, rollout: Rollout, nearby: Nearby) -> float | None:
    """Return how near the plan's end is, higher is nearer; None where it is not nearer than what is really seen."""
    if rollout.valid_len <= rollout.exact:
        return None
    there = nearby.end(plan, rollout)
    return -there if there < nearby.before(plan, rollout) else None
