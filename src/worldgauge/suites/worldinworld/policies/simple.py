"""Policies without a language model: the heuristic, baseline revisers, and revision by LPIPS."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError, WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.panorama import perspective
from worldgauge.core.video import resize
from worldgauge.perception.loading import AskedLpips, LocalLpips, Unavailable, load_network
from worldgauge.suites.worldinworld.metrics import ranked_by_distance
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Candidates,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    Rng,
    Rollout,
    proposers,
    revisers,
)
from worldgauge.worlds.walking.primitives import Primitive, Steps

MAX_TURNS = 4
"""Equal turns in a row."""

_CHOICES = (Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.TURN_RIGHT)
_INVERSE = {Primitive.TURN_LEFT: Primitive.TURN_RIGHT, Primitive.TURN_RIGHT: Primitive.TURN_LEFT}


@proposers.register("heuristic", tasks=("recognition", "navigation"), chat=False)
class HeuristicProposer:
    """Uniform over forward and the two turns: no turn is undone at once, and no more than four in a row are equal.

    Source: section 3 of the paper, and released code for seeds. Option seeds: "decision", or "zero" (candidate m always
    uses seed m, as released, so that plans repeat).
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._length = kit.length
        seeds = kit.options.get("seeds", "decision")
        if seeds not in ("decision", "zero"):
            raise UsageError(f"seeds of the proposer 'heuristic' are 'decision' or 'zero', got {seeds!r}")
        self._from_zero = seeds == "zero"

    def propose(self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: Rng) -> list[ActionPlan]:
        """n plans of L primitives each; some may be equal. It uses nothing but what was executed."""
        behind = tuple(step for past in history for step in past.executed)
        rngs = [np.random.default_rng(m) for m in range(n)] if self._from_zero else [rng] * n
        return [ActionPlan(_drawn(behind, self._length, one), "heuristic") for one in rngs]


def valid(history: Steps, plan: Steps) -> bool:
    """Whether a plan keeps the rules after `history`, itself not checked; vectors: wiw_loop.json, heuristic_valid."""
    behind = history
    for step in plan:
        if not _allowed(behind, step):
            return False
        behind = (*behind, step)
    return True


def _allowed(behind: Steps, step: Primitive) -> bool:
    if step not in _INVERSE or not behind:
        return True
    return behind[-1] is not _INVERSE[step] and behind[-MAX_TURNS:] != (step,) * MAX_TURNS


def _drawn(behind: Steps, length: int, rng: np.random.Generator) -> Steps:
    plan: Steps = ()
    for _ in range(length):
        choices = [step for step in _CHOICES if _allowed((*behind, *plan), step)]
        plan = (*plan, choices[int(rng.integers(len(choices)))])
    return plan


TASKS = ("navigation", "manipulation")


class _Plain:
    """A reviser without options."""

    def __init__(self, kit: PolicyKit) -> None:
        pass


@revisers.register("none", tasks=TASKS, imagines=False)
class FirstReviser(_Plain):
    """Takes the first candidate: what revision is worth is measured against it."""

    def revise(
        self, candidates: Candidates, observation: HomeObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """The first plan."""
        return Decision(candidates[0].plan, 0)


@revisers.register("random", tasks=TASKS, imagines=False)
class RandomReviser(_Plain):
    """Takes a candidate by chance, equally likely each: a gain that is left then is not the model's."""

    def revise(
        self, candidates: Candidates, observation: HomeObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """One of the plans."""
        chosen = int(rng.integers(len(candidates)))
        return Decision(candidates[chosen].plan, chosen)


@revisers.register("oracle", tasks=TASKS, imagines=False)
class OracleReviser(_Plain):
    """Takes the candidate of the highest true value, the first of equal ones: the most that choosing can bring."""

    def revise(
        self, candidates: Candidates, observation: HomeObservation, goal: Goal, history: History, rng: Rng
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

    The goal is its panorama's front; shorter plans repeat their last frame. Source: World-in-World, section 7. Option
    lpips.
    """

    def __init__(self, kit: PolicyKit) -> None:
        found = load_network(kit.options.get("lpips", NETWORK), "lpips")
        if isinstance(found, Unavailable):
            raise WorldgaugeError(f"reviser 'lpips': {found.reason}")
        assert isinstance(found, AskedLpips | LocalLpips)
        self._network = found

    def revise(
        self, candidates: Candidates, observation: HomeObservation, goal: Goal, history: History, rng: Rng
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
