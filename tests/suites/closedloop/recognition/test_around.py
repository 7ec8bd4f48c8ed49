"""Plans that go some way to a side and turn to face the thing: which there are, and how they spread."""

import math
from typing import Any

import numpy as np
import pytest

from suites.closedloop.closedloop_data import find_recognition
from worldgauge.core.episode import Goal
from worldgauge.core.geometry import Camera, Panorama, wrap_angle
from worldgauge.suites.closedloop.home_env import DIRECTIONS, HomeEnv, spread
from worldgauge.suites.closedloop.policies.contract import ActionPlan, PolicyKit, proposers
from worldgauge.suites.closedloop.recognition.around import NEAREST_M, AroundProposer, around
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import TURN_DEG, letters, trajectory

L = 8
FREE = np.full(DIRECTIONS, np.inf)


@pytest.fixture(scope="module")
def env() -> HomeEnv:
    home = Home(7)
    one = find_recognition(home, Geodesic(home.floor), np.random.default_rng(0), 1)[0]
    camera = Camera.from_horizontal_fov(96, 96, 90)
    return HomeEnv(home, one.start, camera=camera, panorama=Panorama(256, 144), target=one.target)


def proposed(env: HomeEnv, n: int, seed: int = 0) -> list[ActionPlan]:
    made = AroundProposer(PolicyKit("recognition", L))
    return list(made.propose(env.observe(), Goal(), [], n, np.random.default_rng(seed)))


def test_plans_by_hand() -> None:
    """A thing 2.1 m ahead: only straight on is free, then only to the left."""
    ahead, left = np.zeros(DIRECTIONS), np.zeros(DIRECTIONS)
    ahead[0], left[4] = np.inf, np.inf
    thing = np.array([2.1, 0.0])
    assert [letters(steps) for steps in around(ahead, thing, L)] == ["F" * n for n in range(1, 9)]
    # One step to the left it is 95 degrees to the right: four turns. After two it is 101 degrees, and still four.
    assert [letters(steps) for steps in around(left, thing, 10)] == ["LLLLFRRRR", "LLLLFFRRRR"]
    assert around(np.zeros(DIRECTIONS), thing, L) == []


@pytest.mark.parametrize("thing", [(2.0, 0.0), (1.5, 0.9), (1.0, -1.0)])
def test_every_plan_ends_facing_the_thing_within_half_a_turn(thing: tuple[float, float]) -> None:
    plans = around(FREE, np.array(thing), L)
    assert len(plans) == len(set(plans)) > 20
    for steps in plans:
        x, y, heading_deg = trajectory(steps)[-1]
        assert 0 < len(steps) <= L
        assert math.dist((x, y), thing) >= NEAREST_M
        off = wrap_angle(math.atan2(thing[1] - y, thing[0] - x) - math.radians(heading_deg))
        assert abs(math.degrees(float(off))) <= TURN_DEG / 2 + 1e-6


def test_a_mirrored_room_has_mirrored_plans() -> None:
    reach = np.random.default_rng(0).uniform(0, 2, DIRECTIONS)
    swapped = str.maketrans("LR", "RL")
    left = {letters(steps) for steps in around(reach, np.array([1.7, 0.6]), L)}
    right = {letters(steps) for steps in around(np.roll(reach[::-1], 1), np.array([1.7, -0.6]), L)}
    assert left == {plan.translate(swapped) for plan in right}


def test_a_blocked_direction_has_no_way() -> None:
    reach = FREE.copy()
    reach[0] = 0.3
    assert "FF" not in {letters(steps) for steps in around(reach, np.array([2.0, 0.0]), L)}


def test_plans_are_spread_and_follow_from_the_seed(env: HomeEnv) -> None:
    plans = proposed(env, 12)
    assert len({plan.steps for plan in plans}) == 12
    assert proposed(env, 12) == plans
    assert proposed(env, 6) == plans[:6]
    assert len({proposed(env, 1, seed)[0].steps for seed in range(20)}) > 8


def test_where_the_thing_is_follows_from_depth(env: HomeEnv) -> None:
    """Ends face the thing itself, as far as its middle is that of what is seen of it."""
    thing = env.things[env.target or 0]
    middle = (np.array(thing.low) + np.array(thing.high))[:2] / 2
    for plan in proposed(env, 12):
        end = env.led_to(0.0, plan.steps)
        off = wrap_angle(math.atan2(middle[1] - end.y, middle[0] - end.x) - end.yaw)
        assert abs(math.degrees(float(off))) < 60


def test_without_a_box_nothing_is_proposed(env: HomeEnv) -> None:
    made = AroundProposer(PolicyKit("recognition", L))
    away: Any = env.sight(env.stance.turned(math.pi))
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
