"""Episodes of image-goal navigation: a start, and the stance at which the goal image was taken."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.suites.closedloop.navigation.format import GOAL_RADIUS_M
from worldgauge.worlds import View
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Steps
from worldgauge.worlds.walking.stance import Stance

REACH_M = (1.0, 5.0)
"""Least and most path length from start to goal."""
BANDS = 4
"""Equal bands of REACH_M; episodes use them in turn, so there are as many paths of 1 to 2 m as of 4 to 5 m."""
OPEN_M = 0.6
"""Least depth in the middle of the goal view: closer, it is an image of a wall."""

_VIEW = Camera.from_horizontal_fov(96, 96, 90.0)
_ROOM_M = 0.2
_TRIES = 60
_YAWS = 8
_LEAST_THINGS, _THING = 2, 0.01
_MOST_NEAR = 0.2


@dataclass(frozen=True)
class NavigationPair:
    """One episode of image-goal navigation.

    Attributes:
        start: Where the walker starts.
        goal: Where the goal image was taken.
        distance_m: Geodesic metres from start to goal.
        steps: Primitives of a walker that follows the shortest path from `start` until within the goal's radius;
            their number is the published `step_to_goal`.
        discards: Why earlier tries were discarded.
    """

    start: Stance
    goal: Stance
    distance_m: float
    steps: Steps
    discards: tuple[str, ...] = ()


def find_navigation(
    home: Home, geodesic: Geodesic, rng: np.random.Generator, n: int, *, bands: Sequence[int] | None = None
) -> list[NavigationPair]:
    """Return n pairs in a home, fewer if no more are found.

    Within a band, places are uniform over the floor and headings are uniform; the goal view is the first draw that
    shows something. Of 144 pairs in 60 homes `step_to_goal` is 20.0 on average, quartiles 13, 20 and 26, from 5 to 37;
    by band 10, 17, 23 and 30.

    Args:
        home: The home.
        geodesic: Distances on its floor.
        rng: Source of all randomness.
        n: Number of pairs.
        bands: n of them, for each pair the band of its path length; by default in turn.
    """
    return list(navigations(home, geodesic, rng, range(n) if bands is None else bands[:n]))


def navigations(
    home: Home, geodesic: Geodesic, rng: np.random.Generator, bands: Iterable[int]
) -> Iterator[NavigationPair]:
    """Yield a pair per band; stop if none is found.

    Args:
        home: The home.
        geodesic: Distances on its floor.
        rng: Source of all randomness.
        bands: Band of each path length, modulo BANDS.
    """
    for band in bands:
        pair = _find(home, geodesic, rng, band % BANDS)
        if pair is None:
            return
        yield pair


def _find(home: Home, geodesic: Geodesic, rng: np.random.Generator, band: int) -> NavigationPair | None:
    """Return a pair of this band, or of another if there is none."""
    discards: list[str] = []
    width = (REACH_M[1] - REACH_M[0]) / BANDS
    for wanted in sorted(range(BANDS), key=lambda other: abs(other - band)):
        low = REACH_M[0] + wanted * width
        for _ in range(_TRIES):
            pair = _try(home, geodesic, rng, low, low + width)
            if isinstance(pair, NavigationPair):
                return NavigationPair(pair.start, pair.goal, pair.distance_m, pair.steps, tuple(discards))
            discards.append(pair)
    return None


def _try(home: Home, geodesic: Geodesic, rng: np.random.Generator, low: float, high: float) -> NavigationPair | str:
    """Return a pair with a path of `low` to `high` metres, or why this draw gives none."""
    place = geodesic.random_point(rng)
    if home.floor.clearance_at(place) < _ROOM_M:
        return "no room at the goal"
    yaws = rng.uniform(-math.pi, math.pi, _YAWS)
    goal = next((one for one in (_stance(place, yaw) for yaw in yaws) if _shows(home, one)), None)
    if goal is None:
        return "goal view shows nothing but a wall"
    # The distance field is slightly longer than the path, so the chosen path is measured again.
    metres = geodesic.field(place)
    cells = np.argwhere((metres >= low) & (metres <= high * 1.08) & (home.floor.clearance_m >= _ROOM_M))
    if not len(cells):
        return "no start at the right distance"
    from_centre = rng.uniform(-0.49, 0.49, 2) * home.floor.cell_m
    start_xy = home.floor.points_of(cells[int(rng.integers(len(cells)))]) + from_centre
    start = _stance(start_xy, rng.uniform(-math.pi, math.pi))
    distance_m = geodesic.distance(start_xy, place)
    if not low <= distance_m <= high:
        return "no start at the right distance"
    if _near(home.view(start.eye(), _VIEW)) > _MOST_NEAR:
        return "something covers the lens at the start"
    steps = geodesic.steps_to(start, place, GOAL_RADIUS_M)
    if steps is None:
        return "steps do not lead to the goal"
    return NavigationPair(start, goal, distance_m, steps)


def _stance(xy: FloatArray, yaw: float) -> Stance:
    # Rounded to micrometres, which files keep in full: readers of the files render the same pixels.
    return Stance(round(float(xy[0]), 6), round(float(xy[1]), 6), round(float(yaw), 6))


def _shows(home: Home, goal: Stance) -> bool:
    """Whether the view at the goal faces no wall and shows things that can be looked for."""
    view = home.view(goal.eye(), _VIEW)
    height, width = view.depth.shape
    middle = view.depth[height // 4 : -height // 4, width // 4 : -width // 4]
    if float(np.quantile(middle, 0.1)) < OPEN_M or _near(view) > _MOST_NEAR:
        return False
    pixels = np.bincount(view.instance.ravel())[1:]
    return int((pixels >= _THING * view.instance.size).sum()) >= _LEAST_THINGS


def _near(view: View) -> float:
    """Return the share of the pixels closer than 35 cm, where the lens is covered."""
    return float((view.depth < 0.35).mean())
