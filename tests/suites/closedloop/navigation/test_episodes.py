"""Pairs of image-goal navigation: a way of the length asked for, steps that arrive, a goal view of something."""

from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from worldgauge.core.geometry import Camera
from worldgauge.suites.closedloop.navigation.episodes import (
    BANDS,
    OPEN_M,
    REACH_M,
    HomePlaces,
    NavigationPair,
    _fault,
    navigations,
)
from worldgauge.suites.closedloop.navigation.format import GOAL_RADIUS_M
from worldgauge.worlds import View
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import world_of
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.ground import Ground
from worldgauge.worlds.walking.primitives import Stance, walked

FINE = Camera.from_horizontal_fov(256, 256, 90.0)
Found = tuple[Home, Geodesic, list[NavigationPair]]


def find_navigation(
    home: Home, geodesic: Geodesic, rng: np.random.Generator, n: int, *, bands: Sequence[int] | None = None
) -> list[NavigationPair]:
    """Return n pairs in a home, fewer if no more are found.

    Within a band, places are uniform over the floor and headings are uniform; the goal view is the first draw that
    shows something. Of 144 pairs in 60 homes `step_to_goal` is 20.0 on average, quartiles 13, 20 and 26, from 5 to 37;
    by band 10, 17, 23 and 30.
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
    width = (REACH_M[1] - REACH_M[0]) / BANDS
    for number, pair in enumerate(pairs):
        low = REACH_M[0] + number % BANDS * width
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


def test_same_generator_same_pairs_and_fewer_are_the_first_of_more(found: Found) -> None:
    home, geodesic, pairs = found
    assert find_navigation(home, geodesic, np.random.default_rng(3), 3) == pairs[:3]
    far = find_navigation(home, Geodesic(home.floor), np.random.default_rng(3), 1, bands=[BANDS - 1])
    assert far[0].distance_m >= REACH_M[1] - 1


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
    nowhere, reasons = SimpleNamespace(goal=lambda rng: None), Counter[str]()
    assert not list(navigations(nowhere, np.random.default_rng(0), [0, 1], reasons))
    assert set(reasons) == {"no room at the goal"}
