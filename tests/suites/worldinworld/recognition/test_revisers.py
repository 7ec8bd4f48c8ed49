"""Revisers and the proposer of recognition."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from suites.worldinworld.closedloop_data import find_recognition
from support.standins import standing_in
from worldgauge.core.episode import Goal
from worldgauge.core.geometry import Camera, Panorama, wrap_angle
from worldgauge.core.image import Image
from worldgauge.suites.worldinworld.home_env import DIRECTIONS, HomeTaskEnv, spread
from worldgauge.suites.worldinworld.models import zoomed
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Candidate,
    Decision,
    PolicyKit,
    Rollout,
    proposers,
    revisers,
)
from worldgauge.suites.worldinworld.recognition import reviser as module
from worldgauge.suites.worldinworld.recognition import tracking as box_tracking
from worldgauge.suites.worldinworld.recognition.around import NEAREST_M, AroundProposer, around
from worldgauge.suites.worldinworld.recognition.boxes import target_box
from worldgauge.suites.worldinworld.recognition.recogniser import identity, recogniser, softmax
from worldgauge.suites.worldinworld.recognition.reviser import (
    RecogniserReviser,
    combine_views,
    mean_confidence,
    seen_well,
)
from worldgauge.suites.worldinworld.recognition.tracking import (
    TrackedTarget,
    TrackedView,
    camera_path,
    planned_pose,
    target_in,
    track_by_geometry,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import (
    TURN_DEG,
    Primitive,
    Stance,
    Steps,
    from_letters,
    letters,
    trajectory,
    walked,
)

CAMERA = Camera.from_horizontal_fov(96, 96, 90)


@pytest.fixture(scope="module")
def home() -> Home:
    return Home(7)


@pytest.fixture(scope="module")
def env(home: Home) -> HomeTaskEnv:
    one = find_recognition(home, Geodesic(home.floor), np.random.default_rng(0), 1, design=1)[0]
    env = HomeTaskEnv(home, one.start, camera=CAMERA, panorama=Panorama(256, 144), target=one.target)
    env.plans = plans(one.steps)  # type: ignore[attr-defined]
    return env


def plans(good: Steps) -> list[Steps]:
    """A turn away, the way to a good view, and a step ahead."""
    return [(Primitive.FORWARD, Primitive.TURN_LEFT), good, (Primitive.FORWARD,)]


def true_frames(env: HomeTaskEnv, steps: Steps) -> Image:
    stances = [env.stance, *env.replayed(env.stance, steps)]
    return np.stack([env.sight(stance).front for stance in stances])


def rolled_out(env: HomeTaskEnv, steps: Steps, frames: Image, exact: int = 1) -> Candidate:
    numbers = np.arange(len(frames))
    shown = np.where(numbers <= len(steps), numbers, -1)
    rollout = Rollout(frames, "perspective", CAMERA, shown, 1 + len(steps), exact=exact)
    return Candidate(ActionPlan(steps, "test"), rollout, lambda: None)


def candidates(env: HomeTaskEnv, kind: str = "true") -> list[Candidate]:
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


def decided(env: HomeTaskEnv, given: list[Candidate], name: str = "clearest") -> Decision:
    reviser = revisers.get(name)(PolicyKit("recognition", 14))
    return reviser.revise(given, env.observe(), Goal(choices=LABELS), (), np.random.default_rng(0))


def test_the_real_view_answers_whatever_is_imagined(env: HomeTaskEnv) -> None:
    here = env.observe()
    assert here.box is not None
    shares = recogniser().probabilities(here.front, here.box)
    for given in ([], candidates(env, "none"), candidates(env), candidates(env, "noise")):
        made = decided(env, given)
        assert (made.answer, made.confidence) == (LABELS[int(shares.argmax())], pytest.approx(shares.max()))
        json.dumps([made.scores, made.notes], allow_nan=False)


def test_the_score_is_how_well_the_thing_is_seen_at_the_imagined_end(env: HomeTaskEnv) -> None:
    given = candidates(env)
    made = decided(env, given)
    known = [score for score in made.scores if score is not None]
    assert known, "a good view is told from a bad one"
    assert made.chosen == made.scores.index(max(known))
    best = given[made.chosen]
    here = env.observe()
    assert here.box is not None
    assert best.rollout is not None
    target = TrackedTarget(here.box, here.front, here.depth("front"), CAMERA)
    end = len(best.plan.steps)
    seen = target_in(target, best.rollout, end, camera_path(target, best.plan, best.rollout)[end])
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
@pytest.mark.parametrize("name", ["clearest", "uncovered"])
def test_what_shows_nothing_new_or_nothing_true_chooses_nothing(env: HomeTaskEnv, kind: str, name: str) -> None:
    made = decided(env, candidates(env, kind), name)
    assert (made.chosen, made.scores) == (0, (None, None, None))


def test_uncovered_judges_a_way_whose_middle_shows_nothing_of_the_real_view(env: HomeTaskEnv) -> None:
    """A step aside between turns of 90 degrees: no frame on the way says where the camera is."""
    steps = from_letters("RRRRFLLLL")
    given = [rolled_out(env, steps, true_frames(env, steps), 5)]
    assert decided(env, given).scores == (None,)
    assert decided(env, given, "uncovered").scores != (None,)


def test_an_enlarged_view_chooses_nothing(env: HomeTaskEnv) -> None:
    """A digital zoom lacks the shifts of near things against far ones."""
    given, front = [], env.observe().front
    for steps in env.plans[1:]:  # type: ignore[attr-defined]
        path = [planned_pose(ActionPlan(steps, "test"), frame) for frame in range(len(steps) + 1)]
        frames = np.stack([zoomed(front, CAMERA, pose, 4.0) for pose in path])
        given.append(rolled_out(env, steps, frames))
    assert decided(env, given, "uncovered").scores == (None, None)


def test_what_lies_behind_another_thing_is_not_in_sight() -> None:
    """A board one metre away on the left, the thing three metres away on the right: a step to the right shows all."""
    depth = np.where(np.arange(96) < 48, 1.0, 3.0)[None].repeat(96, 0)
    target = TrackedTarget((54, 30, 66, 66), np.zeros((96, 96, 3), np.uint8), depth, CAMERA)
    seen = {}
    for aside_m in (-0.8, 0.0, 0.5):
        pose = np.eye(4)
        pose[0, 3] = aside_m
        seen[aside_m] = len(target.in_sight_from(pose, CAMERA)._own)
    assert seen[0.0] == seen[0.5] == len(target._own) > 0
    assert seen[-0.8] == 0


def test_another_home_chooses_nothing(env: HomeTaskEnv) -> None:
    other = Home(11)
    places = other.floor.points_of(np.argwhere(other.floor.clearance_m > 0.5))
    elsewhere = HomeTaskEnv(
        other, env.stance._replace(x=places[9][0], y=places[9][1]), camera=CAMERA, panorama=Panorama(256, 144)
    )
    given = []
    for steps in env.plans:  # type: ignore[attr-defined]
        frames = true_frames(elsewhere, steps)
        frames[0] = env.observe().front
        given.append(rolled_out(env, steps, frames))
    assert decided(env, given).scores == (None, None, None)


def test_frames_after_the_plan_are_not_looked_at(env: HomeTaskEnv) -> None:
    assert decided(env, candidates(env, "padded")) == decided(env, candidates(env))


def test_without_plans_there_is_an_answer_only(env: HomeTaskEnv) -> None:
    made = decided(env, [])
    assert (made.plan, made.chosen, made.scores) == (None, None, ())
    assert made.answer in LABELS


def test_without_a_box_there_is_no_answer(env: HomeTaskEnv) -> None:
    reviser = revisers.get("clearest")(PolicyKit("recognition", 8))
    away = env.sight(env.stance.turned(np.pi))
    made = reviser.revise(candidates(env, "none"), away, Goal(choices=LABELS), (), np.random.default_rng(0))
    assert (made.answer, made.confidence, made.chosen) == (None, None, 0)


def test_a_target_that_comes_back_into_view_is_found_again(env: HomeTaskEnv) -> None:
    """Three turns to the left and back: in between it is out of view, where tracking by the paper's rule ends."""
    steps = from_letters("LLLRRR")
    here = env.observe()
    assert here.box is not None
    target = TrackedTarget(here.box, here.front, here.depth("front"), CAMERA)
    given = rolled_out(env, steps, true_frames(env, steps), 4)
    assert given.rollout is not None
    path = camera_path(target, given.plan, given.rollout)
    seen = [frame for frame, pose in path.items() if target_in(target, given.rollout, frame, pose) is not None]
    assert (list(path), seen[-1]) == ([1, 2, 3, 4, 5, 6], 6)
    assert 3 not in seen
    by_rule = [one.frame for one in track_by_geometry(target, given.plan, given.rollout, range(1, 7))]
    assert by_rule == [frame for frame in seen if frame < 3]


def test_an_end_without_the_thing_does_not_count(env: HomeTaskEnv) -> None:
    """Forward and then turned away by 90 degrees: the frame is true, and the thing is not in it."""
    steps = from_letters("FLLLL")
    made = decided(env, [rolled_out(env, steps, true_frames(env, steps))])
    assert (made.chosen, made.scores) == (0, (None,))


def test_the_camera_goes_where_true_frames_say_and_stays_where_they_repeat(env: HomeTaskEnv) -> None:
    good = env.plans[1]  # type: ignore[attr-defined]
    here = env.observe()
    assert here.box is not None
    target = TrackedTarget(here.box, here.front, here.depth("front"), CAMERA)
    leading = next(n for n, step in enumerate(good) if step is not good[0])
    frames = true_frames(env, good)
    frozen = frames.copy()
    frozen[leading + 1 :] = frames[leading]
    for shown, way_m in ((frames, trajectory(good)[-1, :2]), (frozen, (0.0, 0.0))):
        given = rolled_out(env, good, shown, 1 + leading)
        assert given.rollout is not None
        pose = camera_path(target, given.plan, given.rollout)[len(good)]
        assert (pose[2, 3], -pose[0, 3]) == pytest.approx(tuple(way_m), abs=1e-6)


F, L, R = Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.TURN_RIGHT


PLANS = ((L, L, F, F), (F, R, F, F))


class Here:
    """What is sensed from a stance; the part of an observation that the reviser looks at."""

    camera = CAMERA

    def __init__(self, home_of_reviser: Home, stance: Stance, target: int) -> None:
        self._view = home_of_reviser.view(stance.eye(), CAMERA)
        self.pose = stance.eye()
        self.front = self._view.rgb
        self.box = target_box(self._view.instance == target)

    def depth(self, side: str) -> np.ndarray:
        assert side == "front"
        return self._view.depth


@pytest.fixture(scope="module")
def home_of_reviser() -> Home:
    return Home(11)


@pytest.fixture(scope="module")
def scene(home_of_reviser: Home) -> tuple[Stance, int]:
    """A stance that sees a thing with a label in the middle of its view."""
    floor = home_of_reviser.floor
    places = floor.points_of(np.argwhere(floor.clearance_m > 0.4))
    rng = np.random.default_rng(0)
    while True:
        x, y = places[rng.integers(len(places))]
        stance = Stance(float(x), float(y), float(rng.uniform(-3, 3)))
        seen = home_of_reviser.view(stance.eye(), CAMERA).instance
        number = int(seen[56, 48])
        if number and home_of_reviser.objects[number - 1].category in LABELS and 0.02 < (seen == number).mean() < 0.2:
            return stance, number


def rollouts(home_of_reviser: Home, start: Stance, kind: str) -> list[Rollout | None]:
    found: list[Rollout | None] = []
    for plan in PLANS:
        stances = [start]
        for step in (*plan, *(F,) * 9):
            stances.append(walked(home_of_reviser.floor, stances[-1], step)[0])
        if kind == "frozen":
            stances = [start] * 14
        frames = np.stack([home_of_reviser.view(stance.eye(), CAMERA).rgb for stance in stances])
        numbers = np.arange(14)
        found.append(
            None if kind == "none" else Rollout(frames, "perspective", CAMERA, np.where(numbers < 5, numbers, -1), 5)
        )
    return found


def decided_of_reviser(
    home_of_reviser: Home, stance: Stance, target: int, kind: str, plans: Sequence[Steps] = PLANS, **options: str
) -> Decision:
    candidates = [
        Candidate(ActionPlan(plan, "test"), rollout, lambda: None)
        for plan, rollout in zip(plans, rollouts(home_of_reviser, stance, kind)[: len(plans)], strict=True)
    ]
    reviser = RecogniserReviser(PolicyKit("recognition", 4, options=options))
    goal = Goal(target=str(target), choices=LABELS)
    here = Here(home_of_reviser, stance, target)
    return reviser.revise(candidates, here, goal, (), np.random.default_rng(0))  # type: ignore[arg-type]


def test_without_rollouts_the_real_view_answers_and_the_first_plan_is_taken(home_of_reviser, scene):
    decision = decided_of_reviser(home_of_reviser, *scene, "none")
    assert (decision.chosen, decision.plan.steps) == (0, PLANS[0])
    assert decision.scores == (None, None)
    assert decision.answer in LABELS
    assert (decision.notes["views"], decision.notes["now"]) == (0, decision.notes["all"])


def test_true_rollouts_are_looked_at_and_the_better_plan_is_taken(home_of_reviser, scene):
    decision = decided_of_reviser(home_of_reviser, *scene, "true")
    assert decision.notes["views"] > 2
    assert all(score is not None and 0 <= score <= 1 for score in decision.scores)
    assert decision.chosen == int(np.argmax([score or 0 for score in decision.scores]))
    assert 0 < (decision.confidence or 0) <= 1
    assert decision == decided_of_reviser(home_of_reviser, *scene, "true")


def test_frozen_rollouts_change_next_to_nothing(home_of_reviser: Home, scene: tuple[Stance, int]) -> None:
    none, frozen = (
        decided_of_reviser(home_of_reviser, *scene, "none"),
        decided_of_reviser(home_of_reviser, *scene, "frozen"),
    )
    assert frozen.chosen == 0, "equal scores go to the first plan"
    assert (frozen.scores[0], frozen.answer) == (frozen.scores[1], none.answer)
    assert frozen.confidence == pytest.approx(none.confidence, abs=0.3)


class KnownMasks:
    """A tracker that is never wrong, of rollouts that are known."""

    def __init__(self, masks: Mapping[bytes, np.ndarray]) -> None:
        self._masks = masks

    def track(self, frames: Image, box: object) -> np.ndarray:
        return self._masks[frames.tobytes()]


def test_masks_are_followed_in_place_of_points(home_of_reviser, scene, tmp_path, monkeypatch):
    """To the first frame that does not show it; the boxes that are looked at are those of the masks."""
    stance, target = scene
    known, shown = {}, []
    for plan, rollout in zip(PLANS, rollouts(home_of_reviser, stance, "true"), strict=True):
        assert rollout is not None
        stances = [stance]
        for step in (*plan, *(F,) * 9):
            stances.append(walked(home_of_reviser.floor, stances[-1], step)[0])
        masks = np.stack([home_of_reviser.view(one.eye(), CAMERA).instance == target for one in stances])
        known[rollout.frames.tobytes()] = masks
        gone = next((n for n in range(1, 14) if not masks[n].any()), 14)
        frames = [n for n in (1, 2, 3, 4, 5, 7, 9, 11, 13) if n < gone]
        shown.append([(n, list(target_box(masks[n]) or ())) for n in frames])
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path))
    monkeypatch.setattr(box_tracking, "network", lambda name: standing_in(KnownMasks(known)))
    decision = decided_of_reviser(home_of_reviser, stance, target, "true", tracker="sam2")
    assert [[(n, box) for n, box, _ in own] for own in decision.notes["followed"]] == shown
    assert any(shown)
    assert decision != decided_of_reviser(home_of_reviser, stance, target, "true")


def test_without_a_box_there_is_no_answer_of_reviser(home_of_reviser: Home, scene: tuple[Stance, int]) -> None:
    away = scene[0].turned(np.pi)
    decision = decided_of_reviser(home_of_reviser, away, scene[1], "true")
    assert decision.answer is None
    assert decision.confidence is None
    assert decision.chosen == 0


def test_no_plans(home_of_reviser: Home, scene: tuple[Stance, int]) -> None:
    decision = decided_of_reviser(home_of_reviser, *scene, "none", plans=())
    assert decision.plan is None
    assert decision.chosen is None
    assert decision.answer in LABELS


def test_views_that_repeat_change_nothing_and_disagreement_makes_less_sure() -> None:
    one, other = np.log([0.7, 0.2, 0.1]), np.log([0.2, 0.7, 0.1])
    assert combine_views(one, []) == pytest.approx(softmax(one))
    assert combine_views(one, [one] * 5) == pytest.approx([0.7, 0.2, 0.1])
    assert combine_views(one, [other])[:2] == pytest.approx([combine_views(one, [other])[0]] * 2)
    assert combine_views(one, [other]).max() < 0.7
    vague = np.log([0.32, 0.34, 0.34])
    assert combine_views(one, [vague])[0] > softmax((one + vague) / 2)[0]


def test_mean_confidence_counts_only_the_frames_of_the_plan_that_show_the_target() -> None:
    def glimpse(action: int, sure: float) -> module.Glimpse:
        image: Image = np.zeros((1, 1, 3), np.uint8)
        seen = module.TrackedView(abs(action), action, image, (0, 0, 1, 1), 1.0, 0.0)
        return module.Glimpse(seen, np.log([sure, 1 - sure]), True)

    assert mean_confidence([glimpse(1, 0.8), glimpse(2, 0.6), glimpse(-1, 0.99)], 4) == pytest.approx(1.4 / 4)
    assert mean_confidence([], 4) == 0


def test_it_is_registered() -> None:
    entry = revisers.entry("recogniser")
    facts = {"identity": identity, "tasks": ("recognition",), "chat": False, "imagines": True}
    assert entry.facts == facts


L_AROUND = 8


FREE = np.full(DIRECTIONS, np.inf)


@pytest.fixture(scope="module")
def env_of_around() -> HomeTaskEnv:
    home = Home(7)
    one = find_recognition(home, Geodesic(home.floor), np.random.default_rng(0), 1)[0]
    camera = Camera.from_horizontal_fov(96, 96, 90)
    return HomeTaskEnv(home, one.start, camera=camera, panorama=Panorama(256, 144), target=one.target)


def proposed(env_of_around: HomeTaskEnv, n: int, seed: int = 0) -> list[ActionPlan]:
    made = AroundProposer(PolicyKit("recognition", L_AROUND))
    return list(made.propose(env_of_around.observe(), Goal(), [], n, np.random.default_rng(seed)))


def test_plans_by_hand() -> None:
    """A thing 2.1 m ahead: only straight on is free, then only to the left."""
    ahead, left = np.zeros(DIRECTIONS), np.zeros(DIRECTIONS)
    ahead[0], left[4] = np.inf, np.inf
    thing = np.array([2.1, 0.0])
    assert [letters(steps) for steps in around(ahead, thing, L_AROUND)] == ["F" * n for n in range(1, 9)]
    # One step to the left it is 95 degrees to the right: four turns. After two it is 101 degrees, and still four.
    assert [letters(steps) for steps in around(left, thing, 10)] == ["LLLLFRRRR", "LLLLFFRRRR"]
    assert around(np.zeros(DIRECTIONS), thing, L_AROUND) == []


@pytest.mark.parametrize("thing", [(2.0, 0.0), (1.5, 0.9), (1.0, -1.0)])
def test_every_plan_ends_facing_the_thing_within_half_a_turn(thing: tuple[float, float]) -> None:
    plans = around(FREE, np.array(thing), L_AROUND)
    assert len(plans) == len(set(plans)) > 20
    for steps in plans:
        x, y, heading_deg = trajectory(steps)[-1]
        assert 0 < len(steps) <= L_AROUND
        assert math.dist((x, y), thing) >= NEAREST_M
        off = wrap_angle(math.atan2(thing[1] - y, thing[0] - x) - math.radians(heading_deg))
        assert abs(math.degrees(float(off))) <= TURN_DEG / 2 + 1e-6


def test_a_mirrored_room_has_mirrored_plans() -> None:
    reach = np.random.default_rng(0).uniform(0, 2, DIRECTIONS)
    swapped = str.maketrans("LR", "RL")
    left = {letters(steps) for steps in around(reach, np.array([1.7, 0.6]), L_AROUND)}
    right = {letters(steps) for steps in around(np.roll(reach[::-1], 1), np.array([1.7, -0.6]), L_AROUND)}
    assert left == {plan.translate(swapped) for plan in right}


def test_a_blocked_direction_has_no_way() -> None:
    reach = FREE.copy()
    reach[0] = 0.3
    assert "FF" not in {letters(steps) for steps in around(reach, np.array([2.0, 0.0]), L_AROUND)}


def test_plans_are_spread_and_follow_from_the_seed(env_of_around: HomeTaskEnv) -> None:
    plans = proposed(env_of_around, 12)
    assert (len({plan.steps for plan in plans}), proposed(env_of_around, 12)) == (12, plans)
    assert proposed(env_of_around, 6) == plans[:6]
    assert len({proposed(env_of_around, 1, seed)[0].steps for seed in range(20)}) > 8


def test_where_the_thing_is_follows_from_depth(env_of_around: HomeTaskEnv) -> None:
    """Ends face the thing itself, as far as its middle is that of what is seen of it."""
    thing = env_of_around.things[env_of_around.target or 0]
    middle = (np.array(thing.low) + np.array(thing.high))[:2] / 2
    for plan in proposed(env_of_around, 12):
        end = env_of_around.led_to(0.0, plan.steps)
        off = wrap_angle(math.atan2(middle[1] - end.y, middle[0] - end.x) - end.yaw)
        assert abs(math.degrees(float(off))) < 60


def test_without_a_box_nothing_is_proposed(env_of_around: HomeTaskEnv) -> None:
    made = AroundProposer(PolicyKit("recognition", L_AROUND))
    away: Any = env_of_around.sight(env_of_around.stance.turned(math.pi))
    assert away.box is None
    assert made.propose(away, Goal(), [], 12, np.random.default_rng(0)) == []


def test_spread_takes_the_farthest_next() -> None:
    ends = np.array([[0.0], [1.0], [5.0], [9.0]])
    for seed in range(5):
        chosen = spread(ends, 3, np.random.default_rng(seed))
        assert chosen[1] == (3 if ends[chosen[0], 0] < 4.5 else 0)
    assert sorted(spread(ends, 9, np.random.default_rng(0))) == [0, 1, 2, 3]


def test_it_serves_recognition_only() -> None:
    assert proposers.entry("around").facts["tasks"] == ("recognition",)
