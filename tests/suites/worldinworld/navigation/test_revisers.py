"""Revisers of navigation, and their network."""

import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suites.worldinworld.policies.home_scene import PANORAMA, Seen, candidates, home, stance
from worldgauge.core.episode import Goal
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.core.panorama import rolled
from worldgauge.suites.worldinworld.home_strips import panorama_strip, view_strip
from worldgauge.suites.worldinworld.navigation import nearness as cem_reviser
from worldgauge.suites.worldinworld.navigation.nearness import (
    SIMILARITY_WEIGHT,
    SPREAD,
    TEMPERATURE,
    CrossEntropyReviser,
    PathIntegralReviser,
    legs_of,
    read,
    shipped,
    wrapped,
)
from worldgauge.suites.worldinworld.navigation.reviser import PlaceSimilarity, soft_panorama, soft_view
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Candidate,
    Decision,
    PolicyKit,
    Rollout,
    merge_plans,
    revisers,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.primitives import STEP_M, Primitive, Stance, Steps, trajectory, walked

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
def test_rounds_come_nearer_than_proposals(kind, goal, monkeypatch):
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


def test_a_view_and_a_panorama_of_the_same_place_have_the_same_strip() -> None:
    home = Home(7)
    place = home.floor.points_of(np.argwhere(home.floor.clearance_m > 0.6))[0]
    stance = Stance(float(place[0]), float(place[1]), 0.5)
    camera = Camera.from_horizontal_fov(128, 128, 90)
    panorama = home.view(stance.eye(), Panorama(512, 256)).rgb
    for turns in (0, 3):
        view = home.view(stance.turned(np.radians(-22.5 * turns)).eye(), camera).rgb
        around = panorama_strip(rolled(panorama, 22.5 * turns))[:, 48:80]
        assert np.abs(view_strip(view, camera) - around).mean() < 0.06
        assert np.abs(view_strip(view, camera) - np.roll(around, 8, axis=1)).mean() > 0.1


@pytest.mark.parametrize("damaged", [b"", b"PK", b"text"])
def test_a_damaged_file_is_refused(damaged: bytes) -> None:
    with pytest.raises(DataError, match=r"made\.npz: no network of nearness"):
        read(damaged, "made.npz")


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


@pytest.fixture(scope="module")
def views_of_reviser() -> dict[str, Any]:
    """The goal, what is seen there, and what is seen far from it."""
    home = Home(7)
    places = home.floor.points_of(np.argwhere(home.floor.clearance_m > 0.5))
    goal, far = (Stance(*map(float, place), 0.5) for place in (places[0], places[-1]))
    return {
        "goal": home.view(goal.eye(), Panorama(256, 128)).rgb,
        "there": home.view(goal.eye(), CAMERA).rgb,
        "far": home.view(far.eye(), CAMERA).rgb,
    }


def candidate_of_reviser(frame: Any, steps: int, *, valid: int | None = None) -> Candidate:
    frames = np.stack([frame] * (steps + 1))
    rollout = Rollout(frames, "perspective", CAMERA, np.arange(steps + 1), steps + 1 if valid is None else valid)
    return Candidate(ActionPlan((Primitive.FORWARD,) * steps, "test"), rollout, lambda: None)


def decision_of_reviser(views_of_reviser: dict[str, Any], candidates: list[Candidate]) -> Decision:
    reviser = revisers.get("similarity")(PolicyKit("navigation", 4))
    here: Any = SimpleNamespace(
        camera=CAMERA, view=lambda side: np.zeros((64, 64, 3), np.uint8), depth=lambda side: np.full((64, 64), np.inf)
    )
    return reviser.revise(candidates, here, Goal(image=views_of_reviser["goal"]), [], np.random.default_rng(0))


def test_the_plan_that_ends_at_the_goal_is_taken_of_reviser(views_of_reviser: dict[str, Any]) -> None:
    made = decision_of_reviser(
        views_of_reviser,
        [candidate_of_reviser(views_of_reviser["far"], 2), candidate_of_reviser(views_of_reviser["there"], 2)],
    )
    assert made.chosen == 1
    assert made.scores[1] > made.scores[0]  # type: ignore[operator]


@pytest.mark.parametrize("last", ["far", "there"])
def test_a_plan_without_a_frame_has_no_score_and_is_taken_last(views_of_reviser: dict[str, Any], last: str) -> None:
    made = decision_of_reviser(
        views_of_reviser,
        [candidate_of_reviser(views_of_reviser["there"], 2, valid=1), candidate_of_reviser(views_of_reviser[last], 2)],
    )
    assert made.chosen == 1
    assert made.scores[0] is None
    json.dumps(made.scores, allow_nan=False)


def test_without_any_frame_the_first_is_taken(views_of_reviser: dict[str, Any]) -> None:
    made = decision_of_reviser(views_of_reviser, [candidate_of_reviser(views_of_reviser["there"], 2, valid=1)] * 2)
    assert (made.chosen, made.scores) == (0, (None, None))


def test_a_goal_without_a_picture_is_refused_of_reviser() -> None:
    frame = np.zeros((64, 64, 3), np.uint8)
    with pytest.raises(UsageError, match="needs a goal image"):
        decision_of_reviser({"goal": None}, [candidate_of_reviser(frame, 1)])
