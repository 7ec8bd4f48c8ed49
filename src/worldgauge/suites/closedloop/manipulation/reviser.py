"""The reviser `similarity` at a table: takes the plan that, as imagined, leaves the table most like the goal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.core.video import Clip
from worldgauge.suites.closedloop.manipulation.goal_similarity import GoalSimilarity
from worldgauge.suites.closedloop.policies.contract import (
    Candidate,
    Decision,
    History,
    PolicyKit,
    Rollout,
    TableObservation,
)


class GoalSimilarityReviser:
    """Greedy: the plan wins in whose last frame most of what has to change has changed, the first of equal ones.

    Needs no weights (`agents.goal_likeness`). Of the goal as much is looked at as a rollout shows. Where nothing was
    imagined the first plan is taken; a plan without a frame has no score and is taken last.
    Measured on 500 decisions with true rollouts of the proposer `scripted`, M = L = 5: what the choice falls short of
    the best candidate's true progress, and what a choice by chance does: buttons 0.03 (0.38), block 0.05 (0.26), cups
    0.06 (0.19), ring 0.23 (0.33), which the hand hides. Earlier frames, shades, what the arm is near, things in wrong
    places and things found beside their goal did not better it on the whole.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._goal: Goal | None = None
        self._shown = (0, 0)
        self._likeness: GoalSimilarity | None = None

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: TableObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """The plan that seems to bring the table nearest to the goal.

        Raises:
            UsageError: For one without pictures.
        """
        rollouts = [candidate.rollout for candidate in candidates]
        if all(rollout is None for rollout in rollouts):
            return Decision(candidates[0].plan, 0)
        scores = tuple(self._score(rollout, goal) for rollout in rollouts)
        chosen = max(range(len(scores)), key=lambda n: (scores[n] is not None, scores[n] or 0.0))
        return Decision(candidates[chosen].plan, chosen, scores=scores)

    def _score(self, rollout: Rollout | None, goal: Goal) -> float | None:
        if goal.image is None or goal.before is None:
            raise UsageError("the reviser 'similarity' needs pictures of the table before, and when all is done")
        if rollout is None or rollout.valid_len < 2:
            return None
        shown = _sides(rollout.camera)
        if self._likeness is None or self._goal is not goal or self._shown != shown:
            self._goal, self._shown = goal, shown
            self._likeness = GoalSimilarity(_cut(goal.before, shown), _cut(goal.image, shown))
        return self._likeness.reached(rollout.seen(rollout.valid_len - 1))


def _sides(camera: Camera) -> tuple[int, int]:
    """How far a camera sees across and down, as a ratio: less of one of them where a model takes a crop."""
    return round(1e6 * camera.width / camera.fx), round(1e6 * camera.height / camera.fy)


def _cut(picture: Image, shown: tuple[int, int]) -> Image:
    """The centre of a picture with sides in a ratio."""
    return Clip.from_array(picture[None], 1.0).cropped(*shown)[0]
