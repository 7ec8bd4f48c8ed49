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
"""Per scene (released collector)."""
ARRIVED_M = 0.2
"""A walker within this distance, one step, has reached a waypoint."""


class WalkStep(NamedTuple):
    """Where the walker stands after an action.

    Attributes:
        action: The action; STOP where a clip begins.
        stance: The stance after it.
        collided: Whether it collided.
        goal_index: Of the leg it belongs to.
    """

    action: Primitive
    stance: Stance
    collided: bool
    goal_index: int


@dataclass(frozen=True)
class CoverageWalk:
    """A walk, one clip after the other.

    In the paper there is one clip; by the released rules one per leg, since the walker is turned between two of them.

    Attributes:
        clips: Rows of each clip.
        area_m2: Walkable floor area.
        points: (n, 2) metres, evenly spread over the floor.
        near_m: (n,) least path length from the walk to each point.
        waypoints: Indices of points, as first chosen.
        goals: Indices of points, in the order of the legs; the last is not reached if steps ran out.
        given_up: Goals that steps of 0.2 m do not lead to.
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
        """Return the share of the floor within `radius_m` of the walk, by shortest path; estimated on `points`."""
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

    Args:
        geodesic: Paths on the floor.
        rng: Draws the points, the start and its heading.
        rules: Parameters of the tour.
        points: Most points that are sampled; by default all.
        most_steps: Most actions.

    Raises:
        UsageError: If points or steps are less than 1.
        WorldError: If there is no place to stand.
    """
    if most_steps < 1 or (points is not None and points < 1):
        raise UsageError(f"a walk needs at least 1 point and 1 step, got {points} and {most_steps}")
    area_m2 = floor_area(geodesic)
    count = min(point_count(area_m2, rules), points or point_count(area_m2, rules))
    places = np.stack([geodesic.random_point(rng) for _ in range(count)])
    ways = PathLengths(geodesic)
    # By the released rules, the last point is the start.
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
        if walker.out_of_steps:
            break
    return CoverageWalk(
        tuple(map(tuple, walker.clips)), area_m2, places, walker.near_m, waypoints, tuple(goals), given_up
    )


def floor_area(geodesic: Geodesic) -> float:
    """Return the walkable floor area in square metres."""
    return float(geodesic.main.sum()) * geodesic.floor.cell_m**2


class _Walker:
    """Walks legs and stores their rows; `turned`: turned towards the path before each leg, which begins a clip."""

    def __init__(
        self, geodesic: Geodesic, ways: PathLengths, places: FloatArray, start: Stance, most_steps: int, *, turned: bool
    ) -> None:
        self._geodesic, self._ways, self._places = geodesic, ways, places
        self._left, self._turned = most_steps, turned
        self._goal_index = -1
        self.clips = [[WalkStep(Primitive.STOP, start, False, 0)]]
        self.near_m = ways.distances([start[:2]], places)[0]

    @property
    def out_of_steps(self) -> bool:
        """Whether no step is left."""
        return self._left == 0

    def go(self, start: int, goal: int) -> FloatArray | None:
        """Walk to a point; return (n,), path lengths from the walk to each point, or None if it is not reachable."""
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
