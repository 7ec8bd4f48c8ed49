"""Revisers without a language model: baselines, and revision by LPIPS."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError, WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.panorama import perspective
from worldgauge.core.video import resize
from worldgauge.perception.loading import AskedLpips, LocalLpips, Unavailable, load_network
from worldgauge.suites.closedloop.metrics import ranked_by_distance
from worldgauge.suites.closedloop.policies.contract import (
    Candidate,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    Rollout,
    revisers,
)

TASKS = ("navigation", "manipulation")


@revisers.register("none", tasks=TASKS, imagines=False)
class FirstReviser:
    """Takes the first candidate: what revision is worth is measured against it."""

    def __init__(self, kit: PolicyKit) -> None:
        pass

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """The first plan."""
        return Decision(candidates[0].plan, 0)


@revisers.register("random", tasks=TASKS, imagines=False)
class RandomReviser:
    """Takes a candidate by chance, equally likely each: a gain that is left then is not the model's."""

    def __init__(self, kit: PolicyKit) -> None:
        pass

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """One of the plans."""
        chosen = int(rng.integers(len(candidates)))
        return Decision(candidates[chosen].plan, chosen)


@revisers.register("oracle", tasks=TASKS, imagines=False)
class OracleReviser:
    """Takes the candidate of the highest true value, the first of equal ones: the most that choosing can bring."""

    def __init__(self, kit: PolicyKit) -> None:
        pass

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """The best plan."""
        values = [candidate.true_value() for candidate in candidates]
        chosen = max(range(len(values)), key=lambda n: -math.inf if values[n] is None else float(values[n]))  # type: ignore[arg-type]
        return Decision(candidates[chosen].plan, chosen, scores=tuple(values))


NETWORK = "lpips-alex"
"""Looked with where nothing else is named."""


@revisers.register("lpips", tasks=("navigation",), imagines=True, network="lpips")
class LpipsReviser:
    """Takes the plan whose frames are least far from the goal in LPIPS, on average; without rollouts, the first.

    The goal is what lies ahead in its panorama, cut to the agent's view. One range of values, one size, frames of the
    plan only: shorter plans repeat their last. The option "lpips" of its kit names the network.
    Source: World-in-World, section 7, revision by LPIPS.

    Raises:
        WorldgaugeError: Where its weights are not here.
    """

    def __init__(self, kit: PolicyKit) -> None:
        found = load_network(kit.options.get("lpips", NETWORK), "lpips")
        if isinstance(found, Unavailable):
            raise WorldgaugeError(f"reviser 'lpips': {found.reason}")
        assert isinstance(found, AskedLpips | LocalLpips)
        self._network = found

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """The plan that stays nearest to the goal."""
        rollouts = [candidate.rollout for candidate in candidates]
        if goal.image is None:
            raise UsageError("the reviser 'lpips' needs a goal image")
        if any(rollout is None for rollout in rollouts):
            return Decision(candidates[0].plan, 0)
        aim = _floats(perspective(goal.image, observation.camera))
        ranking = ranked_by_distance([self._distances(rollout, aim) for rollout in rollouts if rollout is not None])
        scores = tuple(reward if math.isfinite(reward) else None for reward in ranking.rewards)
        return Decision(candidates[ranking.best].plan, ranking.best, scores=scores)

    def _distances(self, rollout: Rollout, aim: NDArray[np.float32]) -> list[float]:
        height, width = aim.shape[:2]
        frames = [resize(rollout.seen(index), width, height) for index in range(1, rollout.valid_len)]
        if not frames:
            return []
        return [float(one) for one in self._network.distances(_floats(np.stack(frames)), np.stack([aim] * len(frames)))]


def _floats(images: Image) -> NDArray[np.float32]:
    return images.astype(np.float32) / np.float32(255)
