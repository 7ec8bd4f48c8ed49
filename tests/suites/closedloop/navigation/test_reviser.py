"""Which plan is taken by how like the goal it ends, and what is told of those without a frame."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Candidate, Decision, PolicyKit, Rollout, revisers
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.primitives import Primitive, Stance

CAMERA = Camera.from_horizontal_fov(64, 64, 90)


@pytest.fixture(scope="module")
def views() -> dict[str, Any]:
    """The goal, what is seen there, and what is seen far from it."""
    home = Home(7)
    places = home.floor.points_of(np.argwhere(home.floor.clearance_m > 0.5))
    goal, far = (Stance(*map(float, place), 0.5) for place in (places[0], places[-1]))
    return {
        "goal": home.view(goal.eye(), Panorama(256, 128)).rgb,
        "there": home.view(goal.eye(), CAMERA).rgb,
        "far": home.view(far.eye(), CAMERA).rgb,
    }


def candidate(frame: Any, steps: int, *, valid: int | None = None) -> Candidate:
    frames = np.stack([frame] * (steps + 1))
    rollout = Rollout(frames, "perspective", CAMERA, np.arange(steps + 1), steps + 1 if valid is None else valid)
    return Candidate(ActionPlan((Primitive.FORWARD,) * steps, "test"), rollout, lambda: None)


def decision(views: dict[str, Any], candidates: list[Candidate]) -> Decision:
    reviser = revisers.get("similarity")(PolicyKit("navigation", 4))
    here: Any = SimpleNamespace(
        camera=CAMERA, view=lambda side: np.zeros((64, 64, 3), np.uint8), depth=lambda side: np.full((64, 64), np.inf)
    )
    return reviser.revise(candidates, here, Goal(image=views["goal"]), [], np.random.default_rng(0))


def test_the_plan_that_ends_at_the_goal_is_taken(views: dict[str, Any]) -> None:
    made = decision(views, [candidate(views["far"], 2), candidate(views["there"], 2)])
    assert made.chosen == 1
    assert made.scores[1] > made.scores[0]  # type: ignore[operator]


@pytest.mark.parametrize("last", ["far", "there"])
def test_a_plan_without_a_frame_has_no_score_and_is_taken_last(views: dict[str, Any], last: str) -> None:
    made = decision(views, [candidate(views["there"], 2, valid=1), candidate(views[last], 2)])
    assert made.chosen == 1
    assert made.scores[0] is None
    json.dumps(made.scores, allow_nan=False)


def test_without_any_frame_the_first_is_taken(views: dict[str, Any]) -> None:
    made = decision(views, [candidate(views["there"], 2, valid=1)] * 2)
    assert (made.chosen, made.scores) == (0, (None, None))


def test_a_goal_without_a_picture_is_refused() -> None:
    frame = np.zeros((64, 64, 3), np.uint8)
    with pytest.raises(UsageError, match="needs a goal image"):
        decision({"goal": None}, [candidate(frame, 1)])
