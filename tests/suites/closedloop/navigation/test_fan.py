"""Plans that turn and go straight: which there are, where the floor is free, and how they spread."""

import math
from typing import Any

import numpy as np
import pytest

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.suites.closedloop.home_env import HomeEnv
from worldgauge.suites.closedloop.navigation.fan import DIRECTIONS, FanProposer, fan, free_m
from worldgauge.suites.closedloop.policies.contract import ActionPlan, PolicyKit, proposers
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.primitives import TURN_DEG, Primitive, Stance, letters, trajectory

L = 12
CAMERA = Camera.from_horizontal_fov(64, 64, 90)


@pytest.fixture(scope="module")
def env() -> HomeEnv:
    home = Home(7)
    places = home.floor.points_of(np.argwhere(home.floor.clearance_m > 0.6))
    return HomeEnv(home, Stance(*map(float, places[0]), 0.5), camera=CAMERA, panorama=Panorama(256, 144))


def proposed(env: HomeEnv, n: int, seed: int = 0) -> list[ActionPlan]:
    rng = np.random.default_rng(seed)
    return list(FanProposer(PolicyKit("navigation", L)).propose(env.observe(), Goal(), [], n, rng))


class Walls:
    """A walker in the middle of a box: the walls are `half_m` away, ahead and behind, and 3 m to the sides."""

    camera = CAMERA

    def __init__(self, half_m: float) -> None:
        self._away = {"front": half_m, "back": half_m, "left": 3.0, "right": 3.0}

    def depth(self, side: str) -> Any:
        rays = CAMERA.rays()
        across = self._away["left" if side in ("front", "back") else "front"] / np.maximum(np.abs(rays[..., 0]), 1e-9)
        floor = np.where(rays[..., 1] > 0, 1.0 / np.maximum(rays[..., 1], 1e-9), np.inf)
        return np.minimum(np.minimum(self._away[side], across), floor).astype(np.float32)


def test_plans_of_a_free_floor_are_all_directions_and_distances() -> None:
    plans = [letters(steps) for steps in fan(np.full(DIRECTIONS, np.inf), L)]
    assert len(plans) == len(set(plans))
    # Straight on six times; behind are eight turns, which leave four steps.
    assert plans[:6] == ["F", "FF", "FFF", "FFFF", "FFFFF", "FFFFFF"]
    assert max(plans, key=len) == "LLLLLLFFFFFF"
    assert [plan for plan in plans if plan.startswith("LLLLLLLL")] == ["LLLLLLLL" + "F" * n for n in (1, 2, 3, 4)]
    # 13 directions with up to 6 turns have all six, two with seven turns five, and the one behind four.
    assert len(plans) == 13 * 6 + 2 * 5 + 4


def test_a_blocked_direction_has_no_plans_and_a_short_one_short_plans() -> None:
    reach = np.zeros(DIRECTIONS)
    reach[2], reach[15] = 0.2, 0.59
    assert [letters(steps) for steps in fan(reach, L)] == ["LLF", "RF", "RFF"]
    assert fan(np.zeros(DIRECTIONS), L) == []


def test_free_metres_of_a_box_by_hand() -> None:
    reach = free_m(Walls(1.0))  # type: ignore[arg-type]
    # A walker of 0.1 m stops that much before the wall; at an angle its nearer side meets the wall first.
    assert reach[0] == pytest.approx(0.9, abs=0.02)
    assert reach[8] == pytest.approx(0.9, abs=0.02)
    assert reach[4] == pytest.approx(2.9, abs=0.02)
    assert reach[12] == pytest.approx(2.9, abs=0.02)
    aslant = (1.0 - 0.14 * math.sin(math.radians(45))) / math.cos(math.radians(45)) - 0.1
    assert reach[2] == pytest.approx(aslant, abs=0.08)


def test_free_metres_turn_with_the_walker(env: HomeEnv) -> None:
    ahead = free_m(env.sight(env.stance))
    turned = free_m(env.sight(env.stance.turned(math.radians(4 * TURN_DEG))))
    np.testing.assert_allclose(turned, np.roll(ahead, -4), atol=1e-6)


def test_ways_that_look_free_are_free(env: HomeEnv) -> None:
    rng = np.random.default_rng(3)
    floor = Home(7).floor
    places = floor.points_of(np.argwhere(floor.clearance_m > 0.15))
    wrong = tried = 0
    for place in places[rng.integers(len(places), size=20)]:
        here = Stance(*map(float, place), float(rng.uniform(-3, 3)))
        for steps in fan(free_m(env.sight(here)), L):
            stances = env.replayed(here, steps)
            asked = trajectory(steps)[-1, :2]
            wrong += abs(math.dist(stances[-1][:2], here[:2]) - math.hypot(*asked)) > 0.1
            tried += 1
    assert tried > 300
    assert wrong < 0.08 * tried


def test_plans_keep_their_bounds_and_cover_directions_and_distances(env: HomeEnv) -> None:
    plans = proposed(env, 12)
    assert len({plan.steps for plan in plans}) == 12
    assert all(len(plan.steps) <= L and plan.steps[-1] is Primitive.FORWARD for plan in plans)
    ends = np.array([trajectory(plan.steps)[-1, :2] for plan in plans])
    every = np.array([trajectory(steps)[-1, :2] for steps in fan(free_m(env.observe()), L)])
    away = np.linalg.norm(every[:, None] - ends[None], axis=-1).min(axis=1)
    # A plan ends near every place that any plan reaches, and better than twelve plans by chance.
    by_chance = every[np.random.default_rng(0).integers(len(every), size=(100, 12))]
    typical = np.median([np.linalg.norm(every[:, None] - some[None], axis=-1).min(axis=1).max() for some in by_chance])
    assert away.max() < 0.8 * typical


def test_the_first_plan_is_drawn_by_chance_and_all_plans_follow_from_the_seed(env: HomeEnv) -> None:
    assert proposed(env, 8, 1) == proposed(env, 8, 1)
    assert proposed(env, 12, 1)[:8] == proposed(env, 8, 1)
    assert len({proposed(env, 1, seed)[0].steps for seed in range(30)}) > 15


def test_where_nothing_is_free_nothing_is_proposed() -> None:
    made = FanProposer(PolicyKit("navigation", L))
    sights: list[Any] = [Walls(1.0), Walls(0.05)]
    free, closed = (made.propose(sight, Goal(), [], 8, np.random.default_rng(0)) for sight in sights)
    assert len(free) == 8
    assert closed == []


def test_a_walker_beside_a_wall_may_go_along_it() -> None:
    assert free_m(Walls(0.11))[4] == pytest.approx(2.9, abs=0.02)  # type: ignore[arg-type]


def test_it_serves_navigation_only() -> None:
    assert proposers.entry("fan").facts["tasks"] == ("navigation",)
