"""Ways to rooms: by a floor plan alone, into the nearest ones not yet visited, and walked to their ends."""

from __future__ import annotations

import numpy as np
import pytest

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.suites.closedloop.home_env import HomeEnv
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Decision, PastDecision, PolicyKit, proposers
from worldgauge.suites.closedloop.questions.proposer import ARRIVED_M, RoomProposer, room_at
from worldgauge.suites.closedloop.questions.task import QuestionRules
from worldgauge.suites.closedloop.task import Settings
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.primitives import Stance

KIT = PolicyKit("questions", 200)
RNG = np.random.default_rng(0)
GOAL = Goal(text="Is the bed made or unmade?")


@pytest.fixture(scope="module")
def env() -> HomeEnv:
    home = Home(2_000_002)
    camera = Camera.from_horizontal_fov(84, 72, 105.0)
    made = HomeEnv(home, Stance(0.0, 0.0, 0.0), camera=camera, panorama=Panorama(128, 72))
    x, y, _ = made.ground.nearest([*made.rooms[1].middle, 0.0])
    made.stance = made._start = Stance(float(x), float(y), 0.3)
    return made


def past(env: HomeEnv, plan: ActionPlan) -> PastDecision:
    return PastDecision(Decision(plan, 0), plan.steps, (), env.observe().pose)


def test_a_way_leads_to_the_middle_of_each_other_room(env: HomeEnv) -> None:
    env.reset()
    plans = RoomProposer(KIT).propose(env.observe(), GOAL, [], 99, RNG)
    rooms = [plan.aim["room"] for plan in plans if plan.aim is not None]
    assert sorted(rooms) == [number for number in range(len(env.rooms)) if number != 1]
    for plan, room in zip(plans, rooms, strict=True):
        end = env.led_to(plan.turn_left_rad, plan.steps)
        aim = env.ground.nearest([*env.rooms[room].middle, 0.0])
        assert env.ground.distance(end.at, aim) <= ARRIVED_M + 1e-9
        assert env.world.room_number_at(end[:2]) == room  # type: ignore[attr-defined]


def test_the_nearest_ones_are_offered_in_an_order_by_chance(env: HomeEnv) -> None:
    env.reset()
    nearest = sorted(RoomProposer(KIT).propose(env.observe(), GOAL, [], 99, RNG), key=lambda plan: len(plan.steps))[:3]
    orders = set()
    for seed in range(8):
        plans = RoomProposer(KIT).propose(env.observe(), GOAL, [], 3, np.random.default_rng(seed))
        assert sorted(len(plan.steps) for plan in plans) == [len(plan.steps) for plan in nearest]
        again = RoomProposer(KIT).propose(env.observe(), GOAL, [], 3, np.random.default_rng(seed))
        assert plans == again
        orders.add(tuple(len(plan.steps) for plan in plans))
    assert len(orders) > 2


def test_visited_rooms_come_last_and_an_empty_history_forgets_them(env: HomeEnv) -> None:
    env.reset()
    proposer = RoomProposer(KIT)
    history: list[PastDecision] = []
    visited = {1}
    for _ in range(len(env.rooms) - 1):
        plan = proposer.propose(env.observe(), GOAL, history, 1, RNG)[0]
        assert plan.aim is not None
        assert plan.aim["room"] not in visited
        visited.add(plan.aim["room"])
        env.stance = env.led_to(0.0, plan.steps)
        history.append(past(env, plan))
    again = proposer.propose(env.observe(), GOAL, history, 99, RNG)
    assert len(again) == len(env.rooms) - 1, "all are offered again once all were visited"
    env.reset()
    assert len(proposer.propose(env.observe(), GOAL, [], 99, RNG)) == len(env.rooms) - 1


def test_a_long_way_stops_at_l_steps(env: HomeEnv) -> None:
    env.reset()
    whole, cut = (
        RoomProposer(PolicyKit("questions", length)).propose(env.observe(), GOAL, [], 99, np.random.default_rng(1))[-1]
        for length in (200, 5)
    )
    assert cut.steps == whole.steps[:5]


def test_without_a_floor_plan_there_are_no_ways(env: HomeEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "rooms", [])
    assert RoomProposer(KIT).propose(env.observe(), GOAL, [], 3, RNG) == []


def test_a_doorway_belongs_to_the_nearest_room(env: HomeEnv) -> None:
    first = env.rooms[0]
    assert room_at(env.rooms, first.middle) == 0
    assert room_at(env.rooms, np.array([first.high[0] + 0.01, first.middle[1]])) == 0


def test_the_chosen_way_is_walked_whole_within_the_budget(env: HomeEnv) -> None:
    env.reset()
    settings = Settings.of({})
    parameters = settings.of_task("questions")
    plan = RoomProposer(KIT).propose(env.observe(), GOAL, [], 1, RNG)[0]
    rules = QuestionRules(env, (), parameters, settings, 0)
    assert rules.first_turn_rad(Decision(plan, 0)) == 0.0
    assert tuple(rules.actions(Decision(plan, 0))) == plan.steps
    short = QuestionRules(env, (), Settings.of({"decisions": 3, "task": "questions"}).of_task("questions"), settings, 0)
    short.first_turn_rad(Decision(plan, 0))
    assert tuple(short.actions(Decision(plan, 0))) == plan.steps[:3]


def test_it_is_the_default_and_the_published_protocol_has_the_papers() -> None:
    assert proposers.get("rooms") is RoomProposer
    own = Settings.of({}).of_task("questions")
    assert (own.proposer, own.reviser, own.clip, own.turns_around) == ("rooms", "panorama-answerer", 0, True)
    paper = Settings.of({"protocol": "published"}).of_task("questions")
    assert (paper.clip, paper.turns_around) == (13, False)
