"""The reviser `similarity` at a table: takes the plan whose imagined end is most like the goal."""

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
    """Takes the plan whose last frame is closest to the goal (`goal_similarity`), the first of equals.

    The goal is cropped to what a rollout shows. The first plan is taken if nothing was imagined; a plan without a frame
    has no score and is taken last.

    Figures, and what was tried, are in `docs/decisions/closed_loop.md`.
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
        """Choose the plan that seems to bring the table closest to the goal; see `Reviser.revise`.

        Raises:
            UsageError: If the goal has no images.
        """
        rollouts = [candidate.rollout for candidate in candidates]
        if all(rollout is None for rollout in rollouts):
            return Decision(candidates[0].plan, 0)
        scores = tuple(self._score(rollout, goal) for rollout in rollouts)
        chosen = max(range(len(scores)), key=lambda n: (scores[n] is not None, scores[n] or 0.0))
        return Decision(candidates[chosen].plan, chosen, scores=scores)

    def _score(self, rollout: Rollout | None, goal: Goal) -> float | None:
        if goal.image is None or goal.before is None:
            raise UsageError("the reviser 'similarity' needs images of the table at the start and at the goal")
        if rollout is None or rollout.valid_len < 2:
            return None
        shown = _sides(rollout.camera)
        if self._likeness is None or self._goal is not goal or self._shown != shown:
            self._goal, self._shown = goal, shown
            self._likeness = GoalSimilarity(_cut(goal.before, shown), _cut(goal.image, shown))
        return self._likeness.reached(rollout.seen(rollout.valid_len - 1))


def _sides(camera: Camera) -> tuple[int, int]:
    """Return the aspect ratio of what a camera sees of the square table view, as a model may take a crop."""
    return round(1e6 * camera.width / camera.fx), round(1e6 * camera.height / camera.fy)


def _cut(picture: Image, shown: tuple[int, int]) -> Image:
    """Crop the centre of an image to an aspect ratio."""
    return Clip.from_array(picture[None], 1.0).cropped(*shown)[0]
