"""A walk over the floor of a home to all its waypoints, in primitives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.suites.closedloop.training_data.coverage.paths import PathLengths
from worldgauge.suites.closedloop.training_data.coverage.tour import PAPER, Tour, TourRules, leaf_count, point_count
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Primitive, Steps
from worldgauge.worlds.walking.stance import Stance, walked

MOST_STEPS = 7500
"""In a scene (released collector)."""
ARRIVED_M = 0.2
"""A walker that is as close has reached a waypoint: one step."""


class WalkStep(NamedTuple):
    """Where the walker stands after an action; STOP where a clip begins. goal_index: of the leg it is on."""

    action: Primitive
    stance: Stance
    collided: bool
    goal_index: int


@dataclass(frozen=True)
class CoverageWalk:
    """A walk, one clip after the other.

    By the paper there is one clip; by the released rules one a leg, since the walker is turned between two of them.
    area_m2: of the floor that can be walked on. points: (n, 2) metres, evenly spread over it. near_m: (n,) how close
    the walk came to each. waypoints: of the points, as first chosen. goals: points, in the order of the legs; the last
    is not reached where steps ran out. given_up: goals that steps of 0.2 m do not lead to.
    """

    clips: tuple[tuple[WalkStep, ...], ...]
    area_m2: float
    points: FloatArray
    near_m: FloatArray
    waypoints: tuple[int, ...]
    goals: tuple[int, ...]
    given_up: int

    @property
    def frames(self) -> int:
        """Rows of all clips."""
        return sum(map(len, self.clips))

    def covered(self, radius_m: float) -> float:
        """Share of the floor within `radius_m` of the walk, by the shortest way; estimated on `points`."""
        return float((self.near_m < radius_m).mean())


def coverage_walk(
    geodesic: Geodesic,
    rng: np.random.Generator,
    *,
    rules: TourRules = PAPER,
    points: int | None = None,
    most_steps: int = MOST_STEPS,
) -> CoverageWalk:
    """Walk to the waypoints of a floor until none is left, or `most_steps` actions are done.

    Where the walk starts, and where it looks there, is drawn. At most `points` points are sampled.

    Raises:
        UsageError: For no points or steps.
        WorldError: Where a walker can stand nowhere.
    """
    if most_steps < 1 or (points is not None and points < 1):
        raise UsageError(f"a walk takes a point and a step at least, got {points} and {most_steps}")
    area_m2 = floor_area(geodesic)
    count = min(point_count(area_m2, rules), points or point_count(area_m2, rules))
    places = np.stack([geodesic.random_point(rng) for _ in range(count)])
    ways = PathLengths(geodesic)
    # Of the released rules, the last point is where the walker was put.
    put = rules.n_points == "min" and count > 1
    tour = Tour(ways.all_pairs(places), leaf_count(count, rules), rules, points=range(count - put))
    first, waypoints = count - 1 if put else int(rng.choice(tour.leaves)), tour.waypoints
    x, y = places[first].tolist()
    start = Stance(x, y, float(rng.uniform(-math.pi, math.pi)))
    walker = _Walker(geodesic, ways, places, start, most_steps, turned=rules.turned)
    goals, given_up = [], 0
    for leg in tour.legs(walker.go, first):
        goals += [leg.goal] * leg.reached
        given_up += not leg.reached
        if walker.tired:
            break
    return CoverageWalk(
        tuple(map(tuple, walker.clips)), area_m2, places, walker.near_m, waypoints, tuple(goals), given_up
    )


def floor_area(geodesic: Geodesic) -> float:
    """Square metres of the floor that can be walked on."""
    return float(geodesic.main.sum()) * geodesic.floor.cell_m**2


class _Walker:
    """Walks legs and keeps their rows. turned: towards the way before each leg, which begins a clip."""

    def __init__(
        self, geodesic: Geodesic, ways: PathLengths, places: FloatArray, start: Stance, most_steps: int, *, turned: bool
    ) -> None:
        self._geodesic, self._ways, self._places = geodesic, ways, places
        self._left, self._turned = most_steps, turned
        self._goal_index = -1
        self.clips = [[WalkStep(Primitive.STOP, start, False, 0)]]
        self.near_m = ways.distances([start[:2]], places)[0]

    @property
    def tired(self) -> bool:
        """Whether no step is left."""
        return self._left == 0

    def go(self, start: int, goal: int) -> FloatArray | None:
        """How close (n,) the steps to a point come to each; None when they do not lead there."""
        here, place = self.clips[-1][-1].stance, self._places[goal]
        if self._turned:
            here = self._towards(here, place)
        steps = self._geodesic.steps_to(here, place, ARRIVED_M)
        if steps is None:
            return None
        self._goal_index += 1
        rows = list(self._rows(here, steps[: self._left]))
        self._left -= len(rows)
        if self._turned:
            begin = WalkStep(Primitive.STOP, here, False, self._goal_index)
            self.clips = [*(self.clips if self._goal_index else []), [begin, *rows]]
        else:
            self.clips[-1] += rows
        way = np.array([here[:2], *(row.stance[:2] for row in rows)])
        near_m: FloatArray = self._ways.distances(way, self._places).min(0)
        np.minimum(self.near_m, near_m, out=self.near_m)
        return near_m

    def _rows(self, here: Stance, steps: Steps) -> Iterator[WalkStep]:
        for step in steps:
            here, collided = walked(self._geodesic.floor, here, step, radius_m=self._geodesic.radius_m)
            yield WalkStep(step, here, collided, self._goal_index)

    def _towards(self, here: Stance, place: FloatArray) -> Stance:
        path = self._geodesic.path(here[:2], place)
        if path is None:
            return here
        ahead = path[1] - path[0]
        return here._replace(yaw=math.atan2(ahead[1], ahead[0]))
