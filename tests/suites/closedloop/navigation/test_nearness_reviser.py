"""Which plan is taken by how near its imagined end seems to be, and what cannot be chosen by."""

import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suites.closedloop.policies.home_scene import PANORAMA, Seen, candidates, home, stance
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.core.panorama import rolled
from worldgauge.suites.closedloop.home_strips import panorama_strip, view_strip
from worldgauge.suites.closedloop.navigation.nearness import SIMILARITY_WEIGHT, shipped
from worldgauge.suites.closedloop.navigation.reviser import PlaceSimilarity, soft_panorama, soft_view
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Candidate, Decision, PolicyKit, Rollout, revisers
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.primitives import Primitive, Stance, walked

CAMERA = Camera.from_horizontal_fov(64, 64, 90)


@pytest.fixture(scope="module")
def views() -> dict[str, Any]:
    """The goal, what is seen there and a step off, and what is seen far from it."""
    home = Home(7)
    places = home.floor.points_of(np.argwhere(home.floor.clearance_m > 0.5))
    goal, near, far = (Stance(*map(float, place), 0.5) for place in (places[0], places[4], places[-1]))
    return {
        "goal": home.view(goal.eye(), Panorama(256, 128)).rgb,
        **{
            name: home.view(stance.eye(), CAMERA).rgb
            for name, stance in {"there": goal, "near": near, "far": far}.items()
        },
    }


def candidate(real: Any, *imagined: Any, leading: int = 0) -> Candidate:
    """A plan of `leading` turns and a step forward for every imagined frame."""
    frames = np.stack([real] * (1 + leading) + list(imagined))
    steps = (Primitive.TURN_LEFT,) * leading + (Primitive.FORWARD,) * len(imagined)
    rollout = Rollout(frames, "perspective", CAMERA, np.arange(len(frames)), len(frames), exact=1 + leading)
    return Candidate(ActionPlan(steps, "test"), rollout, lambda: None)


def decision(goal: Any, candidates: list[Candidate]) -> Decision:
    here: Any = SimpleNamespace(
        camera=CAMERA, view=lambda side: np.zeros((64, 64, 3), np.uint8), depth=lambda side: np.full((64, 64), np.inf)
    )
    reviser = revisers.get("nearness")(PolicyKit("navigation", 4))
    return reviser.revise(candidates, here, Goal(image=goal), [], np.random.default_rng(0))


def test_the_plan_that_ends_at_the_goal_is_taken(views: dict[str, Any]) -> None:
    far, near, there = views["far"], views["near"], views["there"]
    made = decision(views["goal"], [candidate(far, far, near), candidate(far, near, there), candidate(far, there, far)])
    assert made.chosen == 1
    assert made.scores[1] > made.scores[0]  # type: ignore[operator]
    json.dumps(made.scores, allow_nan=False)


def test_the_score_by_hand(views: dict[str, Any]) -> None:
    made = decision(views["goal"], [candidate(views["far"], views["there"])])
    goal = shipped().encoded(panorama_strip(soft_panorama(views["goal"])))
    learned = shipped().far(view_strip(soft_view(views["there"]), CAMERA), goal)
    likeness = PlaceSimilarity(views["goal"], 90.0).distance(views["there"])
    assert made.scores == (pytest.approx(-(learned + SIMILARITY_WEIGHT * likeness), abs=1e-4),)


@pytest.mark.parametrize("turns", [3, 8])
def test_the_heading_of_the_goal_hardly_matters(views: dict[str, Any], turns: int) -> None:
    plans = [candidate(views["far"], views[name]) for name in ("near", "there")]
    straight = decision(views["goal"], plans)
    turned = decision(rolled(views["goal"], 22.5 * turns), plans)
    assert turned.chosen == straight.chosen
    np.testing.assert_allclose(turned.scores, straight.scores, atol=0.1)  # type: ignore[arg-type]


def test_frames_that_show_what_is_really_seen_choose_nothing(views: dict[str, Any]) -> None:
    plans = [candidate(views[name], views[name], views[name], leading=2) for name in ("far", "there", "near")]
    made = decision(views["goal"], plans)
    assert (made.chosen, made.scores) == (0, (None, None, None))


def test_a_plan_that_leads_away_has_no_score(views: dict[str, Any]) -> None:
    plans = [candidate(views["there"], views["far"]), candidate(views["far"], views["near"])]
    made = decision(views["goal"], plans)
    assert made.chosen == 1
    assert made.scores[0] is None


def test_a_plan_without_an_imagined_frame_has_no_score(views: dict[str, Any]) -> None:
    made = decision(views["goal"], [candidate(views["there"], leading=2), candidate(views["far"], views["near"])])
    assert (made.chosen, made.scores[0]) == (1, None)


def test_without_rollouts_the_first_plan_is_taken(views: dict[str, Any]) -> None:
    plans = [Candidate(ActionPlan((Primitive.FORWARD,), "test"), None, lambda: None)] * 2
    assert decision(views["goal"], plans).chosen == 0


def test_a_goal_without_a_picture_is_refused(views: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="needs a goal image"):
        decision(None, [candidate(views["far"], views["near"])])


CHANGES: dict[str, Callable[[Any], Any]] = {
    "none": lambda frames: frames,
    "tint": lambda frames: frames * np.array([1.06, 1, 0.92]),
    "contrast": lambda frames: (frames - 128.0) * 1.12 + 146,
    "brighter": lambda frames: frames + 25.0,
    "noise": lambda frames: frames + np.random.default_rng(0).normal(0, 10, frames.shape),
}


@pytest.fixture(scope="module")
def walk() -> tuple[Seen, Any, list[Candidate]]:
    """What is seen, the goal, and plans of which the last ends at it."""
    seen = Seen(stance().turned(np.pi))
    plans = [ActionPlan((turn,) * n + (Primitive.FORWARD,), "test") for turn in list(Primitive)[1:3] for n in (3, 1)]
    made = candidates([*plans, ActionPlan((Primitive.FORWARD,) * 5, "test")], seen, view="perspective")
    end = seen.stance
    for step in made[-1].plan.steps:
        end, _ = walked(home().floor, end, step)
    return seen, home().view(end.eye(), PANORAMA).rgb, made


def choice(walk: tuple[Seen, Any, list[Candidate]], change: Callable[[Any], Any]) -> Decision:
    seen, goal, plans = walk
    changed = []
    for one in plans:
        assert one.rollout is not None
        frames = one.rollout.frames.copy()
        frames[1:] = np.clip(np.rint(change(frames[1:])), 0, 255)
        changed.append(replace(one, rollout=replace(one.rollout, frames=frames)))
    reviser = revisers.get("nearness")(PolicyKit("navigation", 5))
    return reviser.revise(changed, seen, Goal(image=goal), [], np.random.default_rng(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_harmless_change_leaves_the_choice(walk: Any, change: Callable[[Any], Any]) -> None:
    assert choice(walk, change).chosen == 4


@pytest.mark.parametrize("wrong", ["frozen", "noise"])
def test_frames_that_show_nothing_have_no_score(walk: Any, wrong: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, walk[2][0].rollout.frames.shape[1:])
    made = choice(walk, lambda frames: np.broadcast_to(walk[0].front if wrong == "frozen" else noise, frames.shape))
    assert (made.chosen, set(made.scores)) == (0, {None})
