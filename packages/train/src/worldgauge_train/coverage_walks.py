"""Walks that cover a home: waypoints, the way between them, and shortest paths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Primitive, Stance, walked


class PathLengths:
    """Shortest path lengths over the floor of `geodesic`, with bends at cell corners only. Exact to 1e-4 of a cell per
    corner: equal to `Geodesic.distance`, or shorter."""

    def __init__(self, geodesic: Geodesic) -> None:
        self._free = geodesic.navigable
        self._origin, self._cell_m = np.array(geodesic.floor.origin), geodesic.floor.cell_m

    def distances(self, a_xy: ArrayLike, b_xy: ArrayLike) -> FloatArray:
        """Path lengths (n, m) in metres; infinite without a path, or where an agent cannot be."""
        from worldgauge_train import coverage_paths as kernel

        a, b = self._cells(a_xy), self._cells(b_xy)
        direct = kernel.sight(self._free, a, b)
        bent = kernel.joined(
            np.full((len(a), len(self._corners)), np.inf), kernel.sight(self._free, a, self._corners), self._between
        )
        last = kernel.sight(self._free, b, self._corners)
        return np.asarray(kernel.joined(direct.T.copy(), last, bent.T.copy()).T * self._cell_m)

    def all_pairs(self, xy: ArrayLike) -> FloatArray:
        """Return `distances` (n, n) of points (n, 2) among themselves; symmetric, 0 on the diagonal."""
        metres = self.distances(xy, xy)
        return np.minimum(metres, metres.T)

    @cached_property
    def _corners(self) -> FloatArray:
        from worldgauge_train import coverage_paths as kernel

        return np.asarray(kernel.corners(self._free))

    @cached_property
    def _between(self) -> NDArray[np.float64]:
        from worldgauge_train import coverage_paths as kernel

        return np.asarray(kernel.between(kernel.sight(self._free, self._corners, self._corners)))

    def _cells(self, xy: ArrayLike) -> FloatArray:
        points = np.asarray(xy, np.float64)
        if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
            raise ShapeError(f"expected finite points of shape (n, 2), got {points.shape}")
        cells: FloatArray = (points - self._origin) / self._cell_m
        return cells


MANY_POINTS = 1400
"""Of the formula. Distances of all pairs are stored, so the cost grows with the square."""
UNREACHABLE_M = 15.0
"""Distance of pairs without a path, as in the released collector; the paper has none."""
NEAR_GOAL_M = 2.0

_RELEASED_MOST = 7500
_DECIMALS = 9
"""Sums of the same distances in another order are ties."""

Go = Callable[[int, int], FloatArray | None]
"""Walks from one point to another. Returns (n,), the shortest path length in metres from the walked path to each point;
None if it could not be walked."""


@dataclass(frozen=True)
class TourRules:
    """Parameters of the algorithm; the defaults are the paper's.

    Attributes:
        density_m2: Points per square metre (rho).
        n_points: "max" of MANY_POINTS and the density's number, or their "min", which includes the start.
        next_goal: The "nearest", or the one whose distance is nearest to 2 m ("near_2m").
        reserve: Whether points that are neither leaves nor close to one may become leaves later.
        turned: Whether each leg begins turned towards its goal without an action, and is a clip by itself.
    """

    density_m2: float = 4.0
    alpha: float = 1.7
    spacing_m: float = 3.0
    leaf_ratio: float = 0.08
    n_points: Literal["max", "min"] = "max"
    next_goal: Literal["nearest", "near_2m"] = "nearest"
    visit_radius_m: float = 3.0
    reserve: bool = False
    turned: bool = False


PAPER = TourRules()
RELEASED = TourRules(n_points="min", next_goal="near_2m", visit_radius_m=0.5, reserve=True, turned=True)


class TourLeg(NamedTuple):
    """A path from one point to the next, and what is left after it."""

    start: int
    goal: int
    reached: bool
    visited: tuple[int, ...]
    waypoints: tuple[int, ...]
    leaves: tuple[int, ...]


class Tour:
    """The waypoints of a scene and the legs to them; `distances_m` (n, n) are path lengths, infinite without a path."""

    def __init__(
        self, distances_m: ArrayLike, n_leaf: int, rules: TourRules = PAPER, *, points: Sequence[int] | None = None
    ) -> None:
        distances = np.asarray(distances_m, np.float64)
        if distances.ndim != 2 or len(set(distances.shape)) != 1 or not (distances >= 0).all():
            raise ShapeError(f"expected distances of shape (n, n), none below 0, got shape {distances.shape}")
        chosen = tuple(range(len(distances))) if points is None else tuple(points)
        if not chosen or n_leaf < 1:
            raise UsageError(f"a tour needs at least 1 point and 1 leaf, got {len(chosen)} and {n_leaf}")
        self.rules = rules
        self.n_leaf = n_leaf
        self._distances = np.where(np.isfinite(distances), distances, UNREACHABLE_M)
        self.waypoints, self.leaves = self._select(chosen)

    def legs(self, go: Go, start: int) -> Iterator[TourLeg]:
        """Go from point `start` to leaf after leaf until none is left; an unreachable goal is given up. In the paper
        the start is a random leaf. `waypoints` and `leaves` change after each leg."""
        here = start
        while others := [leaf for leaf in self.leaves if leaf != here]:
            metres = self._distances[here, list(others)]
            if self.rules.next_goal == "near_2m":
                metres = np.abs(metres - NEAR_GOAL_M)
            goal = others[int(np.argmin(np.round(metres, _DECIMALS)))]
            near_m = go(here, goal)
            left = np.array(self.waypoints)
            done = left == goal
            if near_m is not None:
                done |= near_m[left] < self.rules.visit_radius_m
            self.waypoints, self.leaves = self._select(tuple(left[~done].tolist()))
            visited = tuple(sorted(left[done].tolist()))
            yield TourLeg(here, goal, near_m is not None, visited, self.waypoints, self.leaves)
            here = goal if near_m is not None else here

    def _select(self, among: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Those of `among` that stay waypoints (all if `spacing_m` apart), and the first n_leaf of them."""
        order = ranked(self._distances, among, self.rules.alpha)
        kept: list[int] = []
        reserve: list[int] = []
        free = np.full(len(self._distances), np.inf)
        for point in order:
            if free[point] < self.rules.spacing_m:
                continue
            if self.rules.reserve and len(kept) == self.n_leaf:
                reserve.append(point)
                continue
            kept.append(point)
            np.minimum(free, self._distances[point], out=free)
        return (*kept, *reserve), tuple(kept[: self.n_leaf])


def point_count(area_m2: float, rules: TourRules = PAPER) -> int:
    """Return the number of points sampled on a floor of `area_m2`."""
    if not (math.isfinite(area_m2) and area_m2 > 0):
        raise UsageError(f"the floor area must be positive, got {area_m2} m2")
    count = math.floor(rules.density_m2 * area_m2)
    return max(count, MANY_POINTS) if rules.n_points == "max" else max(min(count, _RELEASED_MOST, MANY_POINTS), 1)


def crowding(n_points: int) -> str | None:
    """Return a warning if more than MANY_POINTS are sampled in a scene, else None."""
    if n_points <= MANY_POINTS:
        return None
    return (
        f"{n_points} points in one scene, more than {MANY_POINTS}: time and memory for the distances between them grow "
        "with the square; take fewer by --points, or by --n-points min"
    )


def leaf_count(n_points: int, rules: TourRules = PAPER) -> int:
    """Leaves that are open at a time, at least 1; by "max" rounded up, by "min" rounded down and without the start."""
    if rules.n_points == "max":
        return max(math.ceil(Fraction(str(rules.leaf_ratio)) * n_points), 1)
    return max(int(rules.leaf_ratio * (n_points - 1)), 1)


def leaf_scores(distances_m: FloatArray, among: Sequence[int], alpha: float) -> FloatArray:
    """Score (k,) in metres how far out points are: largest distance to the others plus alpha times the mean one."""
    within = distances_m[np.ix_(among, among)]
    if len(within) < 2:
        return np.zeros(len(within))
    scores: FloatArray = within.max(1) + alpha * within.sum(1) / (len(within) - 1)
    return scores


def ranked(distances_m: FloatArray, among: Sequence[int], alpha: float) -> tuple[int, ...]:
    """Return `among` by falling leaf score, then by number."""
    scores = np.round(leaf_scores(distances_m, among, alpha), _DECIMALS)
    return tuple(int(among[row]) for row in np.lexsort((np.array(among, np.int64), -scores)))


MOST_STEPS = 7500
"""Per scene (released collector)."""
ARRIVED_M = 0.2
"""A walker within this distance, one step, has reached a waypoint."""


class WalkStep(NamedTuple):
    """Where the walker stands after an action."""

    action: Primitive
    stance: Stance
    collided: bool
    goal_index: int


@dataclass(frozen=True)
class CoverageWalk:
    """An episode of one clip in the paper, and of one clip per leg by the released rules.

    Attributes:
        points: (n, 2) metres, evenly spread over the floor.
        near_m: (n,) least path length from the episode to each point.
        goals: Indices of points, in the order of the legs; the last is not reached if steps ran out.
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
    """Walk to the waypoints of a floor until none is left, or `most_steps` actions are done."""
    if most_steps < 1 or (points is not None and points < 1):
        raise UsageError(f"a trajectory needs at least 1 point and 1 step, got {points} and {most_steps}")
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
        rows, at = [], here
        for step in steps[: self._left]:
            at, collided = walked(self._geodesic.floor, at, step, radius_m=self._geodesic.radius_m)
            rows.append(WalkStep(step, at, collided, self._goal_index))
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

    def _towards(self, here: Stance, place: FloatArray) -> Stance:
        path = self._geodesic.path(here[:2], place)
        if path is None:
            return here
        ahead = path[1] - path[0]
        return here._replace(yaw=math.atan2(ahead[1], ahead[0]))
