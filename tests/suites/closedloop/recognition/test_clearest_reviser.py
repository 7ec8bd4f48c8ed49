"""Which plan is taken by how well the thing is seen at its imagined end, what cannot be chosen by, and what answers."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from suites.closedloop.closedloop_data import find_recognition
from worldgauge.core.episode import Goal
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.core.image import Image
from worldgauge.suites.closedloop.home_env import HomeEnv
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Candidate, Decision, PolicyKit, Rollout, revisers
from worldgauge.suites.closedloop.recognition.recogniser import recogniser
from worldgauge.suites.closedloop.recognition.reviser import seen_well
from worldgauge.suites.closedloop.recognition.tracking import (
    Target,
    TrackedView,
    camera_path,
    target_in,
    track_by_geometry,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Primitive, Steps, from_letters, trajectory

CAMERA = Camera.from_horizontal_fov(96, 96, 90)


@pytest.fixture(scope="module")
def home() -> Home:
    return Home(7)


@pytest.fixture(scope="module")
def env(home: Home) -> HomeEnv:
    one = find_recognition(home, Geodesic(home.floor), np.random.default_rng(0), 1)[0]
    env = HomeEnv(home, one.start, camera=CAMERA, panorama=Panorama(256, 144), target=one.target)
    env.plans = plans(one.steps)  # type: ignore[attr-defined]
    return env


def plans(good: Steps) -> list[Steps]:
    """A turn away, the way to a good view, and a step ahead."""
    return [(Primitive.FORWARD, Primitive.TURN_LEFT), good, (Primitive.FORWARD,)]


def true_frames(env: HomeEnv, steps: Steps) -> Image:
    stances = [env.stance, *env.replayed(env.stance, steps)]
    return np.stack([env.sight(stance).front for stance in stances])


def rolled_out(env: HomeEnv, steps: Steps, frames: Image, exact: int = 1) -> Candidate:
    numbers = np.arange(len(frames))
    shown = np.where(numbers <= len(steps), numbers, -1)
    rollout = Rollout(frames, "perspective", CAMERA, shown, 1 + len(steps), exact=exact)
    return Candidate(ActionPlan(steps, "test"), rollout, lambda: None)


def candidates(env: HomeEnv, kind: str = "true") -> list[Candidate]:
    found = []
    for steps in env.plans:  # type: ignore[attr-defined]
        frames = true_frames(env, steps)
        leading = next((n for n, step in enumerate(steps) if step is not steps[0]), len(steps))
        leading = leading if steps[0] is not Primitive.FORWARD else 0
        if kind == "frozen":
            frames[leading + 1 :] = frames[leading]
        elif kind == "noise":
            frames[leading + 1 :] = np.random.default_rng(1).integers(0, 256, frames[leading + 1 :].shape, np.uint8)
        elif kind == "padded":
            frames = np.concatenate([frames, np.full((5, *frames.shape[1:]), 99, np.uint8)])
        found.append(rolled_out(env, steps, frames, 1 + leading))
        if kind == "none":
            found[-1] = replace(found[-1], rollout=None)
    return found


def decided(env: HomeEnv, given: list[Candidate]) -> Decision:
    reviser = revisers.get("clearest")(PolicyKit("recognition", 8))
    return reviser.revise(given, env.observe(), Goal(choices=LABELS), (), np.random.default_rng(0))


def test_the_real_view_answers_whatever_is_imagined(env: HomeEnv) -> None:
    here = env.observe()
    assert here.box is not None
    shares = recogniser().probabilities(here.front, here.box)
    for given in ([], candidates(env, "none"), candidates(env), candidates(env, "noise")):
        made = decided(env, given)
        assert made.answer == LABELS[int(shares.argmax())]
        assert made.confidence == pytest.approx(shares.max())
        json.dumps([made.scores, made.notes], allow_nan=False)


def test_the_score_is_how_well_the_thing_is_seen_at_the_imagined_end(env: HomeEnv) -> None:
    given = candidates(env)
    made = decided(env, given)
    known = [score for score in made.scores if score is not None]
    assert known, "a good view is told from a bad one"
    assert made.chosen == made.scores.index(max(known))
    best = given[made.chosen]
    here = env.observe()
    assert here.box is not None
    assert best.rollout is not None
    target = Target(here.box, here.front, here.depth("front"), CAMERA)
    end = len(best.plan.steps)
    seen = target_in(target, best.rollout, end, camera_path(target, best.plan, best.rollout)[end])
    assert seen is not None
    sure = recogniser().probabilities(seen.image, seen.box).max()
    assert made.scores[made.chosen] == pytest.approx(seen_well(seen, sure), abs=1e-6)
    # The box that geometry and colours give lies where the thing really is.
    there = env.sight(env.led_to(0.0, best.plan.steps))
    assert there.box is not None
    assert overlap(seen.box, there.box) > 0.3


def test_a_view_by_hand_of_a_thing_that_is_seen_well() -> None:
    """A quarter of the view, named with 0.8: 0.8 + 0.5 ln 0.25; the size of the image does not matter."""
    for side in (64, 128):
        seen = TrackedView(1, 1, np.zeros((side, side, 3), np.uint8), (0, 0, side // 2, side // 2), 1.0, 0.0)
        assert seen_well(seen, 0.8) == pytest.approx(0.8 - math.log(2))
        assert seen_well(seen, 0.9) > seen_well(seen, 0.8)
        assert seen_well(seen._replace(box=(0, 0, side // 2, side // 4)), 0.8) < seen_well(seen, 0.8)


def overlap(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    low, high = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
    shared = np.prod(np.maximum(high - low, 0))
    return float(shared / min(np.prod(np.subtract(one[2:], one[:2])), np.prod(np.subtract(other[2:], other[:2]))))


@pytest.mark.parametrize("kind", ["none", "frozen", "noise"])
def test_what_shows_nothing_new_or_nothing_true_chooses_nothing(env: HomeEnv, kind: str) -> None:
    made = decided(env, candidates(env, kind))
    assert (made.chosen, made.scores) == (0, (None, None, None))


def test_another_home_chooses_nothing(env: HomeEnv) -> None:
    other = Home(11)
    places = other.floor.points_of(np.argwhere(other.floor.clearance_m > 0.5))
    elsewhere = HomeEnv(
        other, env.stance._replace(x=places[9][0], y=places[9][1]), camera=CAMERA, panorama=Panorama(256, 144)
    )
    given = []
    for steps in env.plans:  # type: ignore[attr-defined]
        frames = true_frames(elsewhere, steps)
        frames[0] = env.observe().front
        given.append(rolled_out(env, steps, frames))
    assert decided(env, given).scores == (None, None, None)


def test_frames_after_the_plan_are_not_looked_at(env: HomeEnv) -> None:
    assert decided(env, candidates(env, "padded")) == decided(env, candidates(env))


def test_without_plans_there_is_an_answer_only(env: HomeEnv) -> None:
    made = decided(env, [])
    assert (made.plan, made.chosen, made.scores) == (None, None, ())
    assert made.answer in LABELS


def test_without_a_box_there_is_no_answer(env: HomeEnv) -> None:
    reviser = revisers.get("clearest")(PolicyKit("recognition", 8))
    away = env.sight(env.stance.turned(np.pi))
    made = reviser.revise(candidates(env, "none"), away, Goal(choices=LABELS), (), np.random.default_rng(0))
    assert (made.answer, made.confidence, made.chosen) == (None, None, 0)


def test_a_target_that_comes_back_into_view_is_found_again(env: HomeEnv) -> None:
    """Three turns to the left and back: in between it is out of view, where tracking by the paper's rule ends."""
    steps = from_letters("LLLRRR")
    here = env.observe()
    assert here.box is not None
    target = Target(here.box, here.front, here.depth("front"), CAMERA)
    given = rolled_out(env, steps, true_frames(env, steps), 4)
    assert given.rollout is not None
    path = camera_path(target, given.plan, given.rollout)
    seen = [frame for frame, pose in path.items() if target_in(target, given.rollout, frame, pose) is not None]
    assert list(path) == [1, 2, 3, 4, 5, 6]
    assert seen[-1] == 6
    assert 3 not in seen
    by_rule = [one.frame for one in track_by_geometry(target, given.plan, given.rollout, range(1, 7))]
    assert by_rule == [frame for frame in seen if frame < 3]


def test_an_end_without_the_thing_does_not_count(env: HomeEnv) -> None:
    """Forward and then turned away by 90 degrees: the frame is true, and the thing is not in it."""
    steps = from_letters("FLLLL")
    made = decided(env, [rolled_out(env, steps, true_frames(env, steps))])
    assert (made.chosen, made.scores) == (0, (None,))


def test_the_camera_goes_where_true_frames_say_and_stays_where_they_repeat(env: HomeEnv) -> None:
    good = env.plans[1]  # type: ignore[attr-defined]
    here = env.observe()
    assert here.box is not None
    target = Target(here.box, here.front, here.depth("front"), CAMERA)
    leading = next(n for n, step in enumerate(good) if step is not good[0])
    frames = true_frames(env, good)
    frozen = frames.copy()
    frozen[leading + 1 :] = frames[leading]
    for shown, way_m in ((frames, trajectory(good)[-1, :2]), (frozen, (0.0, 0.0))):
        given = rolled_out(env, good, shown, 1 + leading)
        assert given.rollout is not None
        pose = camera_path(target, given.plan, given.rollout)[len(good)]
        assert (pose[2, 3], -pose[0, 3]) == pytest.approx(tuple(way_m), abs=1e-6)
