"""The planners `cem` and `mppi`: plans as legs, and rounds that come nearer to a goal than the proposals did."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import Camera
from worldgauge.suites.closedloop.navigation import nearness as cem_reviser
from worldgauge.suites.closedloop.navigation.nearness import (
    SPREAD,
    TEMPERATURE,
    CrossEntropyReviser,
    PathIntegralReviser,
    legs_of,
    wrapped,
)
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Candidate, PolicyKit, Rollout, merge_plans
from worldgauge.worlds.walking.primitives import STEP_M, Primitive, Steps, trajectory

F, L, R = Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.TURN_RIGHT
LENGTH = 12
HERE: Any = SimpleNamespace(camera=Camera.from_horizontal_fov(8, 8, 90))


def test_a_plan_is_two_legs() -> None:
    assert legs_of((L, L, F, F, F)) == (2, 3, 0, 0)
    assert legs_of((R, F, L, L, F, F)) == (-1, 1, 2, 2)
    assert legs_of((F,)) == (0, 1, 0, 0)
    assert legs_of((F, L, F, R, F)) is None  # a third leg


def test_turns_go_the_short_way_round() -> None:
    assert wrapped(np.array([0, 7, 8, 9, -7, -8, -9, 16])).tolist() == [0, 7, 8, -7, -7, 8, 7, 0]


class Known(CrossEntropyReviser):
    """Knows how far from the goal each plan ends, as a perfect world model would show it."""

    def __init__(self, goal: tuple[float, float]) -> None:
        super().__init__(PolicyKit("navigation", LENGTH))
        self.goal = np.array(goal)

    def _nearby(self, goal: Goal, observation: Any) -> Any:
        return SimpleNamespace(end=lambda plan, rollout: rollout.model)


class KnownWeighed(Known, PathIntegralReviser):
    """The same with weights in place of elites."""

    name, drawn_from = "mppi", PathIntegralReviser.drawn_from


def imagined(reviser: Known, steps: Steps) -> Candidate:
    far: Any = float(np.hypot(*(trajectory(steps)[-1, :2] - reviser.goal)))
    frames = np.zeros((2, 2, 2, 3), np.uint8)
    rollout = Rollout(frames, "perspective", HERE.camera, np.arange(2), 2, model=far)
    return Candidate(ActionPlan(steps, "test"), rollout, lambda: None)


def rounds(reviser: Known, seed: int, n: int = 6) -> tuple[float, float, list[Candidate]]:
    """Least distance among the proposals, and among all plans after all rounds."""
    start = [(turn,) * abs(k) + (F,) * 4 for k, turn in ((0, L), (3, L), (6, L), (3, R), (6, R), (1, L))]
    candidates = [imagined(reviser, steps) for steps in start]
    first = min(one.rollout.model for one in candidates)  # type: ignore[union-attr]
    for again in range(1, reviser.rounds):
        rng = np.random.default_rng([seed, again])
        plans = reviser.further(candidates, HERE, Goal(), n, rng)
        known = [one.plan for one in candidates]
        candidates += [imagined(reviser, plan.steps) for plan in merge_plans([*known, *plans])[len(known) :]]
    return first, min(one.rollout.model for one in candidates), candidates  # type: ignore[union-attr, type-var]


@pytest.mark.parametrize("kind", [Known, KnownWeighed])
@pytest.mark.parametrize("goal", [(1.0, 0.8), (-0.4, 1.0), (0.6, -1.2)])
def test_rounds_come_nearer_than_proposals(
    kind: type[Known], goal: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cem_reviser, "free_m", lambda observation: np.full(16, np.inf))
    reviser = kind(goal)
    pairs = [rounds(reviser, seed)[:2] for seed in range(20)]
    first, last = np.mean(pairs, axis=0)
    assert all(after <= before for before, after in pairs)
    assert last < 0.75 * first


def test_weights_are_those_of_the_path_integral() -> None:
    far = np.array([1.0, 2.0, 4.0])
    legs = np.array([[0, 4, 0, 0], [2, 6, 1, 0], [4, 0, 0, 2]], float)
    weights = [np.exp(-(one - 1.0) / (TEMPERATURE * np.std([1, 2, 4]))) for one in far]
    by_hand = [sum(w * plan[k] for w, plan in zip(weights, legs, strict=True)) / sum(weights) for k in range(4)]
    middle, spread = KnownWeighed((0, 0)).drawn_from(far, legs)
    assert np.allclose(middle, by_hand)
    assert tuple(spread) == SPREAD
    # Distances of another unit or origin change nothing, and where all are the same all weigh the same.
    assert np.allclose(KnownWeighed((0, 0)).drawn_from(3 * far + 7, legs)[0], middle)
    assert np.allclose(KnownWeighed((0, 0)).drawn_from(np.ones(3), legs)[0], legs.mean(0))


def test_plans_keep_to_their_length_and_to_free_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    free = np.full(16, 2 * STEP_M)
    monkeypatch.setattr(cem_reviser, "free_m", lambda observation: free)
    _, _, candidates = rounds(Known((1.0, 0.8)), 3, n=40)
    drawn = [one.plan.steps for one in candidates[6:]]
    assert len(drawn) > 20
    for steps in drawn:
        legs = legs_of(steps)
        assert legs is not None
        assert len(steps) <= LENGTH
        assert steps[-1] is F
        assert legs[1] <= 2


def test_the_same_seed_draws_the_same_plans_and_nothing_imagined_draws_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cem_reviser, "free_m", lambda observation: np.full(16, np.inf))
    reviser = Known((1.0, 0.8))
    one, other = ([c.plan.steps for c in rounds(reviser, 5)[2]] for _ in range(2))
    assert one == other
    blank = [Candidate(ActionPlan((F,), "test"), None, lambda: None)]
    assert reviser.further(blank, HERE, Goal(), 4, np.random.default_rng(0)) == []
