"""Episodes of navigation, and plans that fan out."""

import math
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.suites.worldinworld.home_env import HomeTaskEnv
from worldgauge.suites.worldinworld.navigation.episodes import (
    BANDS,
    HIDDEN_M,
    OPEN_M,
    HomePlaces,
    NavigationPair,
    _fault,
    navigations,
)
from worldgauge.suites.worldinworld.navigation.fan import DIRECTIONS, FanProposer, fan, free_m
from worldgauge.suites.worldinworld.navigation.format import GOAL_RADIUS_M
from worldgauge.suites.worldinworld.navigation.ways import REACH_M as WAYS_M
from worldgauge.suites.worldinworld.navigation.ways import WaysProposer
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, PolicyKit, proposers
from worldgauge.worlds import View
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import world_of
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.ground import Ground
from worldgauge.worlds.walking.primitives import TURN_DEG, Primitive, Stance, letters, trajectory, walked

FINE = Camera.from_horizontal_fov(256, 256, 90.0)


Found = tuple[Home, Geodesic, list[NavigationPair]]


def find_navigation(
    home: Home, geodesic: Geodesic, rng: np.random.Generator, n: int, *, bands: Sequence[int] | None = None
) -> list[NavigationPair]:
    """Return n pairs in a home, fewer if no more are found.

    Within a band, places are uniform over the floor and headings are uniform; the goal view is the first draw that
    shows something.
    """
    return list(navigations(HomePlaces(home, geodesic), rng, range(n) if bands is None else bands[:n]))


@pytest.fixture(scope="module")
def found() -> Found:
    home = Home(int(world_of("home-train-0004").params["seed"]))
    geodesic = Geodesic(home.floor)
    return home, geodesic, find_navigation(home, geodesic, np.random.default_rng(3), 8)


def test_ways_are_of_all_lengths_by_turns(found: Found) -> None:
    _, geodesic, pairs = found
    assert len(pairs) == 8
    width = (HIDDEN_M[1] - HIDDEN_M[0]) / BANDS
    for number, pair in enumerate(pairs):
        low = HIDDEN_M[0] + number % BANDS * width
        assert low <= pair.distance_m <= low + width
        assert pair.distance_m == pytest.approx(geodesic.distance(pair.start[:2], pair.goal[:2]), abs=1e-3)
        assert pair.distance_m >= np.hypot(pair.start.x - pair.goal.x, pair.start.y - pair.goal.y) - 1e-6


def test_the_reference_steps_arrive_and_no_earlier(found: Found) -> None:
    home, geodesic, pairs = found
    for pair in pairs:
        stance = pair.start
        for step in pair.steps:
            assert geodesic.distance(stance[:2], pair.goal[:2]) > GOAL_RADIUS_M
            stance, _ = walked(home.floor, stance, step)
        assert geodesic.distance(stance[:2], pair.goal[:2]) <= GOAL_RADIUS_M


def test_the_start_is_not_within_the_radius_and_both_have_room(found: Found) -> None:
    home, geodesic, pairs = found
    for pair in pairs:
        assert len(pair.steps) >= 2
        assert geodesic.distance(pair.start[:2], pair.goal[:2]) > GOAL_RADIUS_M
        assert home.floor.clearance_at([pair.start[:2], pair.goal[:2]]).min() >= 0.15


def test_the_goal_view_shows_things_and_no_wall(found: Found) -> None:
    home, _, pairs = found
    for pair in pairs:
        view = home.view(pair.goal.eye(), FINE)
        assert np.median(view.depth[112:144, 112:144]) >= OPEN_M
        pixels = np.bincount(view.instance.ravel())[1:]
        assert (pixels >= 0.008 * view.instance.size).sum() >= 2


def test_nothing_at_the_goal_is_in_sight_from_the_start(found: Found) -> None:
    home, _, pairs = found
    for pair in pairs:
        start, goal = np.array(pair.start.at), np.array(pair.goal.at)
        ahead, left = (goal - start)[:2]
        view = home.view(Stance(*start[:2], math.atan2(left, ahead)).eye(), FINE)
        middle = view.depth[96:160, 124:132]
        assert (middle > np.hypot(ahead, left)).mean() < 0.3


def test_same_generator_same_pairs_and_fewer_are_the_first_of_more(found: Found) -> None:
    home, geodesic, pairs = found
    assert find_navigation(home, geodesic, np.random.default_rng(3), 3) == pairs[:3]
    far = find_navigation(home, Geodesic(home.floor), np.random.default_rng(3), 1, bands=[BANDS - 1])
    assert far[0].distance_m >= HIDDEN_M[1] - (HIDDEN_M[1] - HIDDEN_M[0]) / BANDS


def test_a_floor_that_is_too_small_gives_fewer() -> None:
    """A home of which all but one square metre is blocked."""
    home = Home(1)
    free = np.zeros_like(home.floor.free)
    x, y = np.argwhere(home.floor.clearance_m > 0.6)[0]
    free[x - 8 : x + 8, y - 8 : y + 8] = True
    home.__dict__["floor"] = type(home.floor)(free, home.floor.height_m, home.floor.origin, home.floor.cell_m)
    assert find_navigation(home, Geodesic(home.floor), np.random.default_rng(0), 2) == []


class Scanned:
    """A scan whose views show things two metres ahead, and holes."""

    def __init__(self, holes: float, depth_m: float = 2.0, *, named: bool = True) -> None:
        self.share, self.depth_m, self.named = holes, depth_m, named

    def ground(self, sliding: bool | None = None) -> Ground:
        raise NotImplementedError

    def view(self, pose: object, camera: Camera) -> View:
        depth = np.full((camera.height, camera.width), self.depth_m, np.float32)
        depth[:, : round(self.share * camera.width)] = np.inf
        things = np.zeros(depth.shape, np.uint16)
        if self.named:
            things[:20], things[-20:] = 1, 2
        return View(np.zeros((*depth.shape, 3), np.uint8), depth, things, things)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("holes", "depth_m", "passes"),
    [(0, 2, True), (0.03, 2, True), (0.3, 2, False), (0.99, 2, False), (1, 2, False), (0, 0.5, False)],
)
@pytest.mark.filterwarnings("error")
def test_a_view_with_holes_is_no_goal(holes: float, depth_m: float, passes: bool, named: bool) -> None:
    fault = _fault(Scanned(holes, depth_m, named=named), Stance(0.0, 0.0, 0.0))
    assert fault == (
        "" if passes else "goal view has holes" if holes and depth_m > 1 else "goal view shows nothing but a wall"
    )


@pytest.mark.filterwarnings("error")
def test_the_sky_is_open() -> None:
    outdoors = Scanned(1.0)
    world = SimpleNamespace(view=outdoors.view)  # without a ground: what is infinite there is sky
    assert not _fault(world, Stance(0.0, 0.0, 0.0))


def test_why_there_is_no_pair() -> None:
    nowhere, reasons = SimpleNamespace(goal=lambda rng: None, reach_m=HIDDEN_M), Counter[str]()
    assert not list(navigations(nowhere, np.random.default_rng(0), [0, 1], reasons))
    assert set(reasons) == {"no room at the goal"}


L = 12


CAMERA = Camera.from_horizontal_fov(64, 64, 90)


@pytest.fixture(scope="module")
def env() -> HomeTaskEnv:
    home = Home(7)
    places = home.floor.points_of(np.argwhere(home.floor.clearance_m > 0.6))
    return HomeTaskEnv(home, Stance(*map(float, places[0]), 0.5), camera=CAMERA, panorama=Panorama(256, 144))


def test_ways_lead_around_corners_and_end_apart(found: Found) -> None:
    home, geodesic, pairs = found
    camera, panorama = Camera.from_horizontal_fov(64, 64, 90), Panorama(256, 144)
    made = WaysProposer(PolicyKit("navigation", 20))
    around = 0
    for pair in pairs[1:]:
        there = HomeTaskEnv(home, pair.start, camera=camera, panorama=panorama)
        for plan in made.propose(there.observe(), Goal(), [], 8, np.random.default_rng(1)):
            end = there.led_to(0.0, plan.steps)
            around += geodesic.distance(pair.start[:2], end[:2]) > 1.05 * math.dist(pair.start[:2], end[:2])
    assert around >= 8, "of 56 ways"
    env = HomeTaskEnv(home, pairs[0].start, camera=camera, panorama=panorama)
    plans = made.propose(env.observe(), Goal(), [], 8, np.random.default_rng(1))
    ends = np.array([env.led_to(0.0, plan.steps)[:2] for plan in plans])
    metres = [geodesic.distance(env.stance[:2], end) for end in ends]
    assert len(plans) >= 6
    assert all(len(plan.steps) <= 20 for plan in plans)
    assert all(WAYS_M[0] - 0.3 <= one <= WAYS_M[1] + 0.3 for one in metres)
    away = np.linalg.norm(ends[:, None] - ends[None], axis=-1) + 9 * np.eye(len(ends))
    assert away.min() > 0.4
    again = made.propose(env.observe(), Goal(), [], 8, np.random.default_rng(1))
    assert [plan.steps for plan in again] == [plan.steps for plan in plans]


def proposed(env: HomeTaskEnv, n: int, seed: int = 0) -> list[ActionPlan]:
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
    assert (plans[:6], max(plans, key=len)) == (["F", "FF", "FFF", "FFFF", "FFFFF", "FFFFFF"], "LLLLLLFFFFFF")
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
    assert (reach[0], reach[8]) == (pytest.approx(0.9, abs=0.02), pytest.approx(0.9, abs=0.02))
    assert (reach[4], reach[12]) == (pytest.approx(2.9, abs=0.02), pytest.approx(2.9, abs=0.02))
    aslant = (1.0 - 0.14 * math.sin(math.radians(45))) / math.cos(math.radians(45)) - 0.1
    assert reach[2] == pytest.approx(aslant, abs=0.08)


def test_free_metres_turn_with_the_walker(env: HomeTaskEnv) -> None:
    ahead = free_m(env.sight(env.stance))
    turned = free_m(env.sight(env.stance.turned(math.radians(4 * TURN_DEG))))
    np.testing.assert_allclose(turned, np.roll(ahead, -4), atol=1e-6)


def test_ways_that_look_free_are_free(env: HomeTaskEnv) -> None:
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


def test_plans_keep_their_bounds_and_cover_directions_and_distances(env: HomeTaskEnv) -> None:
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


def test_the_first_plan_is_drawn_by_chance_and_all_plans_follow_from_the_seed(env: HomeTaskEnv) -> None:
    assert (proposed(env, 8, 1), proposed(env, 12, 1)[:8]) == (proposed(env, 8, 1), proposed(env, 8, 1))
    assert len({proposed(env, 1, seed)[0].steps for seed in range(30)}) > 15


def test_where_nothing_is_free_nothing_is_proposed() -> None:
    made = FanProposer(PolicyKit("navigation", L))
    sights: list[Any] = [Walls(1.0), Walls(0.05)]
    free, closed = (made.propose(sight, Goal(), [], 8, np.random.default_rng(0)) for sight in sights)
    assert (len(free), closed) == (8, [])


def test_a_walker_beside_a_wall_may_go_along_it() -> None:
    assert free_m(Walls(0.11))[4] == pytest.approx(2.9, abs=0.02)  # type: ignore[arg-type]


def test_it_serves_navigation_only() -> None:
    assert proposers.entry("fan").facts["tasks"] == ("navigation",)
