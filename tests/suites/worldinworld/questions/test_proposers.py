"""Where to look: headings, the explored floor, rooms, landmarks and the way there."""

import math
from dataclasses import replace

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.core.episode import Goal
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.suites.worldinworld.home_env import HomeTaskEnv
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Candidate,
    Decision,
    PastDecision,
    PolicyKit,
    Rollout,
    proposers,
    revisers,
)
from worldgauge.suites.worldinworld.questions.episodes import ask_questions
from worldgauge.suites.worldinworld.questions.proposer import (
    ARRIVED_M,
    WANTED,
    ExploredFloor,
    LandmarkProposer,
    RoomProposer,
    room_at,
)
from worldgauge.suites.worldinworld.questions.reviser import ScriptedAnswerer
from worldgauge.suites.worldinworld.questions.task import QuestionRules
from worldgauge.suites.worldinworld.questions.templates import read_question
from worldgauge.suites.worldinworld.questions.travel import MOST_STEPS, Traveller, ahead, open_heading, turn_steps
from worldgauge.suites.worldinworld.task import LoopSettings
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.boxes import Box, Boxes, Paint
from worldgauge.worlds.indoor.camera import BoxScene, render
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.ground import Level
from worldgauge.worlds.walking.primitives import Primitive, Stance, walked

PAINT = Paint("plain", (120, 120, 120))


CAMERA = Panorama(256, 128)


def room(*boxes):
    """A room of 8 x 4 m whose east wall has a doorway of 1 m; more boxes by corners."""
    shell = [
        ((0, 0, -0.1), (16, 4, 0)),
        ((0, 0, 2.6), (16, 4, 2.7)),
        ((-0.1, 0, 0), (0, 4, 2.6)),
        ((0, -0.1, 0), (16, 0, 2.6)),
        ((0, 4, 0), (16, 4.1, 2.6)),
        ((8, 0, 0), (8.1, 1.5, 2.6)),
        ((8, 2.5, 0), (8.1, 4, 2.6)),
        ((16, 0, 0), (16.1, 4, 2.6)),
    ]
    return BoxScene.of(Boxes.of([Box(low, high, 1, 0, PAINT) for low, high in (*shell, *boxes)], 0))


def looked(scene, *places):
    known = ExploredFloor()
    for x, y in places:
        pose = pose_from_yaw_pitch([x, y, 1.0], 0.3)
        known.take(pose, render(scene, pose, CAMERA).depth)
    return known, pose


def test_the_doorway_is_where_the_seen_floor_ends():
    known, pose = looked(room(), (5.0, 2.0))
    (*_, far) = sorted(known.frontiers(pose), key=lambda one: one.xy[0])
    assert far.xy[0] > 8.0
    assert far.walk_m == pytest.approx(math.hypot(*(far.xy - pose[:2, 3])), rel=0.35)
    assert far.towards == pytest.approx(far.xy, abs=0.2), "in a straight line"


def test_a_closed_room_has_no_frontier():
    known, pose = looked(room(((8, 1.4, 0), (8.1, 2.6, 2.6))), (2.0, 2.0), (6.0, 2.0))
    assert known.frontiers(pose) == []


def test_the_way_leads_round_what_stands_there():
    table = ((4.0, 0.6, 0.0), (4.6, 3.0, 0.75))
    known, pose = looked(room(table), (2.0, 1.0), (2.0, 3.5))
    to = known.way_to(pose, np.array([7.5, 1.0]))
    assert to is not None
    line = pose[:2, 3] + np.linspace(0, 1, 50)[:, None] * (to - pose[:2, 3])
    inside = (line > [4.0, 0.6]).all(1) & (line < [4.6, 3.0]).all(1)
    assert not inside.any()


def test_a_block_closes_a_way():
    known, pose = looked(room(), (6.0, 2.0))
    assert any(one.xy[0] > 8 for one in known.frontiers(pose))
    for y in np.arange(1.4, 2.7, 0.1):
        known.block(np.array([8.05, y]))
    assert not any(one.xy[0] > 8.2 for one in known.frontiers(pose))


def test_nothing_is_known_before_anything_was_seen():
    known = ExploredFloor()
    pose = pose_from_yaw_pitch([0.0, 0.0, 1.0], 0.0)
    assert known.frontiers(pose) == []
    assert known.way_to(pose, np.zeros(2)) is None


def test_the_map_does_not_depend_on_where_the_world_begins():
    here, pose = looked(room(), (2.0, 2.0))
    known = ExploredFloor()
    moved = pose.copy()
    moved[:2, 3] += [100.0, -50.0]
    known.take(moved, render(room(), pose, CAMERA).depth)
    first, second = here.frontiers(pose), known.frontiers(moved)
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert other.xy - [100.0, -50.0] == pytest.approx(one.xy, abs=1e-6)


HEADINGS = [case for case in cases("wiw_loop", "cases") if case.values[0]["kind"] == "open_heading"]


@pytest.mark.parametrize("case", HEADINGS)
def test_vectors(case):
    depth = np.array(case["depth"], np.float32)
    limits = {"min_depth_m": case["min_depth_m"], "min_area_ratio": case["min_area_ratio"]}
    for rule in ("pinhole", "linear"):
        found = open_heading(depth, case["hfov_deg"], rule=rule, **limits)
        if case["expected"] is None:
            assert found is None
        else:
            assert found == pytest.approx(case["expected"][f"{rule}_rad"], abs=1e-6)


def test_last_column_of_a_right_angle_view_looks_almost_45_degrees_right():
    depth = np.ones((10, 100))
    depth[:, 99] = 9.0
    assert open_heading(depth, 90.0, min_area_ratio=0.01) == pytest.approx(math.atan(99 / 100), abs=1e-12)


def test_a_mirrored_view_has_the_opposite_heading():
    rng = np.random.default_rng(0)
    depth = np.where(rng.random((40, 60)) < 0.3, 5.0, 1.0)
    depth[10:30, 5:20] = 4.0
    right = open_heading(depth, 105.0)
    assert right < 0
    assert open_heading(depth[:, ::-1], 105.0) == pytest.approx(-right)


def test_corners_do_not_join_regions():
    depth = np.ones((20, 20))
    depth[0:10, 0:10] = 5.0
    depth[10:18, 10:18] = 5.0
    assert open_heading(depth, 90.0) == pytest.approx(math.atan((4.5 + 0.5 - 10) / 10))


def test_a_sky_is_open_and_what_was_not_measured_is_not():
    assert open_heading(np.full((8, 8), np.inf), 90.0) == pytest.approx(0.0)
    assert open_heading(np.full((8, 8), np.nan), 90.0) is None


def test_what_is_as_deep_as_the_limit_is_not_open_and_a_share_as_large_as_the_limit_is_enough():
    assert open_heading(np.full((8, 8), 2.4), 90.0) is None
    depth = np.ones((10, 10))
    depth[0, 0:2] = 3.0
    assert open_heading(depth, 90.0) is not None
    depth[0, 1] = 1.0
    assert open_heading(depth, 90.0) is None


@pytest.mark.parametrize(
    ("depth", "hfov", "rule", "error"),
    [
        (np.ones((0, 4)), 90.0, "pinhole", ShapeError),
        (np.ones((2, 2, 1)), 90.0, "pinhole", ShapeError),
        (np.ones((2, 2)), 180.0, "pinhole", UsageError),
        (np.ones((2, 2)), 90.0, "fisheye", UsageError),
    ],
)
def test_what_cannot_be_meant(depth, hfov, rule, error):
    with pytest.raises(error):
        open_heading(depth, hfov, rule=rule)


KIT = PolicyKit("questions", 13)


CAMERA_PROPOSER = Camera.from_horizontal_fov(168, 144, 105.0)


PANORAMA = Panorama(256, 144)


RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def home():
    return Home(2_000_002)


@pytest.fixture(scope="module")
def question(home):
    return ask_questions(home, Level(home.floor), home.objects, np.random.default_rng(1), 1)[0]


def simulator(home, start):
    return HomeTaskEnv(home, start, camera=CAMERA_PROPOSER, panorama=PANORAMA)


def imagined(observation, shade):
    """A clip whose last frame is all of one shade."""
    frames = np.stack([observation.panorama, np.full_like(observation.panorama, shade)])
    return Rollout(frames, "panorama", CAMERA_PROPOSER, np.array([0, 1]), 2)


def test_they_are_registered():
    assert proposers.get("landmarks") is LandmarkProposer
    assert revisers.get("scripted-answerer") is ScriptedAnswerer


def test_plans_turn_and_go_ahead_in_different_directions(home, question):
    observation = simulator(home, question.start).observe()
    goal = Goal(text=question.question)
    plans = LandmarkProposer(KIT).propose(observation, goal, [], 3, RNG)
    assert 1 <= len(plans) <= 3
    assert all(plan.steps == (Primitive.FORWARD,) * 13 for plan in plans)
    turns = np.degrees([plan.turn_left_rad for plan in plans])
    gaps = np.abs((turns[:, None] - turns + 180) % 360 - 180)[np.triu_indices(len(turns), 1)]
    assert (gaps > 24.9).all()
    assert LandmarkProposer(KIT).propose(observation, goal, [], 3, np.random.default_rng(9)) == plans, "no chance in it"
    assert len(LandmarkProposer(KIT).propose(observation, goal, [], 1, RNG)) == 1


def test_what_is_asked_for_comes_first_when_it_is_in_sight(home):
    bed = next(one for one in home.objects if one.name == "bed")
    geodesic = Geodesic(home.floor)
    middle = np.add(bed.low, bed.high)[:2] / 2
    place = min(
        (geodesic.random_point(np.random.default_rng(n)) for n in range(300)),
        key=lambda xy: abs(np.hypot(*(xy - middle)) - 2.9) + 9 * (home.room_at(xy) != "bedroom"),
    )
    from worldgauge.worlds.walking.primitives import Stance

    observation = simulator(home, Stance(*place, 0.0)).observe()
    plans = LandmarkProposer(KIT).propose(observation, Goal(text="Is the bed made or unmade?"), [], 3, RNG)
    first = plans[0]
    assert first.aim["text"] == WANTED
    centre = np.array(first.aim["centre"])
    assert any(
        one.name == "bed" and (np.array(one.low) - 0.3 < centre).all() and (centre < np.array(one.high) + 0.3).all()
        for one in home.objects
    )


def test_it_answers_what_it_has_really_seen_and_nothing_before(home, question):
    form, slots = read_question(question.question)
    place = simulator(home, question.start)
    goal = Goal(text=question.question)
    answerer = ScriptedAnswerer(KIT, presence=lambda image: np.zeros(len(LABELS)))
    plan = ActionPlan((Primitive.FORWARD,) * 13, "test")
    before = answerer.revise([Candidate(plan, None, lambda: None)], place.observe(), goal, [], RNG)
    assert (before.answer, before.stop, before.plan, before.chosen) == (None, False, plan, 0)
    things = {one.instance: one for one in home.objects}
    history = [PastDecision(before, plan.steps, (), place.pose(place.stance))]
    geodesic = Geodesic(home.floor)
    after = before
    for number in question.evidence:
        middle = np.add(things[number].low, things[number].high)[:2] / 2
        x, y = geodesic.nearest(middle)
        place.stance = place.stance._replace(x=float(x), y=float(y))
        after = answerer.revise([Candidate(plan, None, lambda: None)], place.observe(), goal, history, RNG)
    assert form.answer(slots, home.objects).text == question.answer
    assert (after.answer, after.stop, after.plan) == (question.answer, True, None)
    begun_anew = ScriptedAnswerer(KIT).revise(
        [Candidate(plan, None, lambda: None)], simulator(home, question.start).observe(), goal, [], RNG
    )
    assert begun_anew.answer is None


def test_imagined_views_choose_the_plan_and_give_no_answer(home, question):
    observation = simulator(home, question.start).observe()
    goal = Goal(text="Is the bed in one of the bedrooms made or unmade?")
    plans = [ActionPlan((Primitive.FORWARD,) * 13, "test", turn) for turn in (0.0, 1.0, 2.0)]
    bedroom = np.array([float(label in ("bed", "cushion", "cabinet")) for label in LABELS])

    def presence(image):
        return bedroom if image.mean() > 250 else np.zeros(len(LABELS))

    def decide(*shades):
        candidates = [
            Candidate(plan, None if shade is None else imagined(observation, shade), lambda: None)
            for plan, shade in zip(plans, shades, strict=True)
        ]
        return ScriptedAnswerer(KIT, presence).revise(candidates, observation, goal, [], RNG)

    promising = decide(0, 255, 0)
    assert (promising.chosen, promising.answer) == (1, None)
    assert promising.scores[1] > promising.scores[0] + 0.3
    assert decide(0, 0, 0).chosen == 0, "nothing promised: the first"
    assert decide(255, 255, 255).chosen == 0, "all promise the same: the first"
    assert decide(None, None, None).chosen == 0
    assert decide(None, None, None).scores == ()
    assert decide(None, 0, 255).chosen == 2, "one that was not imagined cannot be compared"


def test_where_it_has_been_promises_nothing(home, question):
    observation = simulator(home, question.start).observe()
    plan = ActionPlan((Primitive.FORWARD,) * 13, "test", 1.0, {"metres": 0.4})
    other = replace(plan, turn_left_rad=0.0, aim=None)
    candidates = [Candidate(each, imagined(observation, 255 * n), lambda: None) for n, each in enumerate((other, plan))]
    answerer = ScriptedAnswerer(KIT, lambda image: np.full(len(LABELS), image.mean() / 255))
    goal = Goal(text="Is the bed in one of the bedrooms made or unmade?")
    answerer.revise(candidates[:1], observation, goal, [], RNG)
    past = PastDecision(answerer.revise(candidates[:1], observation, goal, [], RNG), (), (), observation.pose)
    assert answerer.revise(candidates, observation, goal, [past], RNG).scores[1] == 0.0


KIT_ROOM_PROPOSER = PolicyKit("questions", 200)


GOAL = Goal(text="Is the bed made or unmade?")


@pytest.fixture(scope="module")
def env() -> HomeTaskEnv:
    home = Home(2_000_002)
    camera = Camera.from_horizontal_fov(84, 72, 105.0)
    made = HomeTaskEnv(home, Stance(0.0, 0.0, 0.0), camera=camera, panorama=Panorama(128, 72))
    x, y, _ = made.ground.nearest([*made.rooms[1].middle, 0.0])
    made.stance = made._start = Stance(float(x), float(y), 0.3)
    return made


def past(env: HomeTaskEnv, plan: ActionPlan) -> PastDecision:
    return PastDecision(Decision(plan, 0), plan.steps, (), env.observe().pose)


def test_a_way_leads_to_the_middle_of_each_other_room(env: HomeTaskEnv) -> None:
    env.reset()
    plans = RoomProposer(KIT_ROOM_PROPOSER).propose(env.observe(), GOAL, [], 99, RNG)
    rooms = [plan.aim["room"] for plan in plans if plan.aim is not None]
    assert sorted(rooms) == [number for number in range(len(env.rooms)) if number != 1]
    for plan, room in zip(plans, rooms, strict=True):
        end = env.led_to(plan.turn_left_rad, plan.steps)
        aim = env.ground.nearest([*env.rooms[room].middle, 0.0])
        assert env.ground.distance(end.at, aim) <= ARRIVED_M + 1e-9
        assert env.world.room_number_at(end[:2]) == room  # type: ignore[attr-defined]


def test_the_nearest_ones_are_offered_in_an_order_by_chance(env: HomeTaskEnv) -> None:
    env.reset()
    nearest = sorted(
        RoomProposer(KIT_ROOM_PROPOSER).propose(env.observe(), GOAL, [], 99, RNG), key=lambda plan: len(plan.steps)
    )[:3]
    orders = set()
    for seed in range(8):
        plans = RoomProposer(KIT_ROOM_PROPOSER).propose(env.observe(), GOAL, [], 3, np.random.default_rng(seed))
        assert sorted(len(plan.steps) for plan in plans) == [len(plan.steps) for plan in nearest]
        again = RoomProposer(KIT_ROOM_PROPOSER).propose(env.observe(), GOAL, [], 3, np.random.default_rng(seed))
        assert plans == again
        orders.add(tuple(len(plan.steps) for plan in plans))
    assert len(orders) > 2


def test_visited_rooms_come_last_and_an_empty_history_forgets_them(env: HomeTaskEnv) -> None:
    env.reset()
    proposer = RoomProposer(KIT_ROOM_PROPOSER)
    history: list[PastDecision] = []
    visited = {1}
    for _ in range(len(env.rooms) - 1):
        plan = proposer.propose(env.observe(), GOAL, history, 1, RNG)[0]
        assert plan.aim["room"] not in visited
        visited.add(plan.aim["room"])
        env.stance = env.led_to(0.0, plan.steps)
        history.append(past(env, plan))
    again = proposer.propose(env.observe(), GOAL, history, 99, RNG)
    assert len(again) == len(env.rooms) - 1, "all are offered again once all were visited"
    env.reset()
    assert len(proposer.propose(env.observe(), GOAL, [], 99, RNG)) == len(env.rooms) - 1


def test_a_long_way_stops_at_l_steps(env: HomeTaskEnv) -> None:
    env.reset()
    whole, cut = (
        RoomProposer(PolicyKit("questions", length)).propose(env.observe(), GOAL, [], 99, np.random.default_rng(1))[-1]
        for length in (200, 5)
    )
    assert cut.steps == whole.steps[:5]


def test_without_a_floor_plan_there_are_no_ways(env: HomeTaskEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "rooms", [])
    assert RoomProposer(KIT_ROOM_PROPOSER).propose(env.observe(), GOAL, [], 3, RNG) == []


def test_a_doorway_belongs_to_the_nearest_room(env: HomeTaskEnv) -> None:
    first = env.rooms[0]
    assert room_at(env.rooms, first.middle) == 0
    assert room_at(env.rooms, np.array([first.high[0] + 0.01, first.middle[1]])) == 0


def test_the_chosen_way_is_walked_whole_within_the_budget(env: HomeTaskEnv) -> None:
    env.reset()
    settings = LoopSettings.of({})
    parameters = settings.of_task("questions")
    plan = RoomProposer(KIT_ROOM_PROPOSER).propose(env.observe(), GOAL, [], 1, RNG)[0]
    rules = QuestionRules(env, (), parameters, settings, 0)
    assert rules.first_turn_rad(Decision(plan, 0)) == 0.0
    assert tuple(rules.actions(Decision(plan, 0))) == plan.steps
    short = QuestionRules(
        env, (), LoopSettings.of({"decisions": 3, "task": "questions"}).of_task("questions"), settings, 0
    )
    short.first_turn_rad(Decision(plan, 0))
    assert tuple(short.actions(Decision(plan, 0))) == plan.steps[:3]


def test_it_is_the_default_and_the_published_protocol_has_the_papers() -> None:
    assert proposers.get("rooms") is RoomProposer
    own = LoopSettings.of({}).of_task("questions")
    assert (own.proposer, own.reviser, own.clip, own.turns_around) == ("rooms", "panorama-answerer", 0, True)
    paper = LoopSettings.of({"protocol": "published"}).of_task("questions")
    assert (paper.clip, paper.turns_around) == (13, False)


F, L, R, STOP = Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.TURN_RIGHT, Primitive.STOP


class Walker:
    """Somebody in a hall of 20 x 6 m, with a wall across it at x = 10 but for a gap at its top."""

    def __init__(self, x, y, yaw=0.0):
        free = np.ones((400, 120), bool)
        free[200:202, :100] = False
        self.floor = FloorPlan(free, np.zeros(free.shape, np.float32), (0.0, 0.0), 0.05)
        self.stance = Stance(x, y, yaw)

    def traveller(self, things=None, low_level=ahead):
        return Traveller(Level(self.floor), lambda: self.stance, lambda: None, things or {}, low_level)

    def go(self, plan, seed=0, **kwargs):
        journey = self.traveller(**kwargs).journey(plan, np.random.default_rng(seed))
        self.stance = self.stance.turned(journey.turn_left_rad)
        taken = []
        for step in journey:
            self.stance, _ = walked(self.floor, self.stance, step)
            taken.append(step)
        return journey, taken


def landmark(x, y, radius=0.5, number=1):
    return ActionPlan(
        (F,) * 13, "test", 1.0, {"landmark": number, "view": "front", "centre": [x, y, 0.5], "radius_m": radius}
    )


def test_the_way_to_a_landmark_ends_within_reach_of_it_and_turns_are_steps():
    walker = Walker(2.0, 3.0, math.pi / 2)
    journey, taken = walker.go(landmark(7.0, 3.0))
    assert (journey.turn_left_rad, journey.turn_steps, journey.complete) == (0.0, 0, False)
    away = math.hypot(walker.stance.x - 7.0, walker.stance.y - 3.0)
    assert 1.7 < away < 0.5 + 2.0 + 0.25 + 0.1
    assert (taken.count(F), taken.count(R)) == (pytest.approx((5.0 - 2.5) / 0.2, abs=2), 4)


def test_the_nearest_of_the_places_about_a_landmark_by_foot_not_by_air():
    walker = Walker(9.0, 0.5)
    _, taken = walker.go(landmark(11.0, 0.5, radius=0.0))
    assert walker.stance.x < 10, "a place this side of the wall is nearer by foot"
    assert len(taken) < 12


def test_steps_that_are_the_way_are_walked_as_planned():
    plan = ActionPlan((L, F, R, R, F), "test", aim={"view": "front", "landmark": None, "as_planned": True})
    journey, taken = Walker(5.0, 3.0).go(plan)
    assert (taken, journey.complete) == ([L, F, R, R, F], False)
    journey, taken = Walker(5.0, 3.0).go(ActionPlan((), "test", aim=plan.aim))
    assert (taken, journey.complete) == ([], True)


def test_no_more_than_fifty_primitives_a_plan():
    walker = Walker(0.5, 0.5)
    _, taken = walker.go(landmark(19.0, 0.5))
    assert len(taken) == MOST_STEPS


def test_a_landmark_that_is_reached_or_cannot_be_is_complete_at_once():
    for walker, plan in ((Walker(2.0, 3.0), landmark(3.6, 3.0)), (Walker(2.0, 3.0), landmark(60.0, 3.0))):
        journey, taken = walker.go(plan)
        assert journey.complete
        assert taken == []


def test_a_landmark_without_a_place_is_an_object_or_nobody_knows():
    class Thing:
        low, high = (6.5, 2.5, 0.0), (7.5, 3.5, 1.0)

    plan = ActionPlan((F,), "test", 0.0, {"landmark": 4, "view": "front", "text": ""})
    walker = Walker(2.0, 3.0)
    _, taken = walker.go(plan, things={4: Thing()})
    assert 10 <= len(taken) <= 15
    with pytest.raises(UsageError, match="landmark 4"):
        walker.go(plan)


def test_same_generator_same_way():
    assert Walker(2.0, 3.0).go(landmark(7.0, 3.0), 5)[1] == Walker(2.0, 3.0).go(landmark(7.0, 3.0), 5)[1]


def test_words_go_ahead_after_a_turn_that_is_counted_as_its_size():
    walker = Walker(2.0, 3.0)
    journey, taken = walker.go(ActionPlan((F,) * 13, "test", math.radians(-100), {"landmark": None}))
    assert (journey.turn_steps, taken, walker.stance.yaw) == (4, [F] * 13, pytest.approx(math.radians(-100)))


def test_words_go_as_far_as_the_aim_says():
    assert len(Walker(2.0, 3.0).go(ActionPlan((F,) * 13, "test", 0.0, {"metres": 0.9}))[1]) == 5
    assert len(Walker(2.0, 3.0).go(ActionPlan((F,) * 13, "test", 0.0, {"metres": 9.0}))[1]) == 13


def test_words_end_where_something_stands_in_the_way():
    walker = Walker(9.0, 0.5)
    _, taken = walker.go(ActionPlan((F,) * 13, "test", 0.0))
    assert (len(taken), walker.stance.x) == (5, pytest.approx(9.9, abs=0.06))


def test_a_low_level_gets_four_turns_of_four_primitives_and_may_stop():
    asked = []

    def eager(plan, look, past):
        asked.append(len(past))
        return (L, F, L, F, L, F)

    _, taken = Walker(2.0, 3.0).go(ActionPlan((F,), "test"), low_level=eager)
    assert (taken, asked) == ([L, F, L, F] * 4, [0, 1, 2, 3])
    _, taken = Walker(2.0, 3.0).go(ActionPlan((F,), "test"), low_level=lambda plan, look, past: (F, STOP, F))
    assert taken == [F]
    _, taken = Walker(2.0, 3.0).go(ActionPlan((F,), "test"), low_level=lambda plan, look, past: ())
    assert taken == []


@pytest.mark.parametrize(
    ("degrees", "steps"), [(0, 0), (11.2, 0), (11.25, 1), (-22.5, 1), (33.75, 2), (180, 8), (-180, 8)]
)
def test_turns_are_counted_in_steps_of_22_5_degrees(degrees, steps):
    assert turn_steps(math.radians(degrees)) == steps
