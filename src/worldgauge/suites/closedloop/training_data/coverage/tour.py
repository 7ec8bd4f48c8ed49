"""The order in which a walk through a scene visits its waypoints, so that little is left unseen or seen twice.

Algorithm 1 of World-in-World (specification, section 10.2) on distances alone, of a graph or a home. `RELEASED` are the
rules of the collector that was released with the paper (10.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import FloatArray

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
        alpha: Weight of the mean distance.
        spacing_m: Between waypoints (r_f).
        leaf_ratio: Share of all points that are open goals at a time (eta).
        n_points: "max" of MANY_POINTS and the density's, or the "min", of which one is the start.
        next_goal: The "nearest", or the one whose distance is nearest to 2 m ("near_2m").
        visit_radius_m: A waypoint is visited if the path comes closer.
        reserve: Whether points that are neither leaves nor close to one may become leaves later.
        turned: Whether the walker is turned towards each goal without an action, so that each leg is a clip by itself.
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


class Leg(NamedTuple):
    """A path from one point to the next, and what is left after it.

    Attributes:
        start: Point at which it starts.
        goal: Point to which it leads.
        reached: Whether it could be walked.
        visited: Waypoints that are done with it, ascending.
        waypoints: Those left, by falling leaf score.
        leaves: Those of them that are the next goals.
    """

    start: int
    goal: int
    reached: bool
    visited: tuple[int, ...]
    waypoints: tuple[int, ...]
    leaves: tuple[int, ...]


class Tour:
    """The waypoints among the points of a scene, and the legs of a walk to them.

    Args:
        distances_m: (n, n) metres by the shortest path, infinite where there is none.
        n_leaf: Goals open at a time.
        rules: Parameters of the algorithm.
        points: Rows that may become waypoints, all by default.

    Raises:
        ShapeError: If distances are not (n, n), or negative.
        UsageError: Without a point or a leaf.
    """

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

    def legs(self, go: Go, start: int) -> Iterator[Leg]:
        """Walk from point `start` to one leaf after the other until none is left but the walker's own point.

        In the paper the start is a random leaf. A goal that cannot be reached is given up. `waypoints` and `leaves` are
        updated after each leg.

        Args:
            go: Walks a leg.
            start: Index of the first point.
        """
        here = start
        while others := [leaf for leaf in self.leaves if leaf != here]:
            goal = self._next(here, others)
            near_m = go(here, goal)
            left = np.array(self.waypoints)
            done = left == goal
            if near_m is not None:
                done |= near_m[left] < self.rules.visit_radius_m
            self.waypoints, self.leaves = self._select(tuple(left[~done].tolist()))
            visited = tuple(sorted(left[done].tolist()))
            yield Leg(here, goal, near_m is not None, visited, self.waypoints, self.leaves)
            here = goal if near_m is not None else here

    def _next(self, here: int, leaves: Sequence[int]) -> int:
        metres = self._distances[here, list(leaves)]
        if self.rules.next_goal == "near_2m":
            metres = np.abs(metres - NEAR_GOAL_M)
        return leaves[int(np.argmin(np.round(metres, _DECIMALS)))]

    def _select(self, among: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return those of `among` that stay waypoints, and the first n_leaf of them.

        Waypoints at least `spacing_m` apart all stay; then this only sorts.
        """
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
    """Return the number of points sampled on a floor of `area_m2`.

    Raises:
        UsageError: If the area is not positive and finite.
    """
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
    """Return how many leaves are open at a time, 1 or more.

    The share is rounded up; by the "min" rule down, of all points but the start, which is one of them there.
    """
    if rules.n_points == "max":
        return max(math.ceil(Fraction(str(rules.leaf_ratio)) * n_points), 1)
    return max(int(rules.leaf_ratio * (n_points - 1)), 1)


def leaf_scores(distances_m: FloatArray, among: Sequence[int], alpha: float) -> FloatArray:
    """Score how far out points lie: the largest distance to the others, plus alpha times the mean one.

    Args:
        distances_m: (n, n) metres.
        among: k rows.
        alpha: Weight of the mean distance.

    Returns:
        (k,) metres.
    """
    within = distances_m[np.ix_(among, among)]
    if len(within) < 2:
        return np.zeros(len(within))
    scores: FloatArray = within.max(1) + alpha * within.sum(1) / (len(within) - 1)
    return scores


def ranked(distances_m: FloatArray, among: Sequence[int], alpha: float) -> tuple[int, ...]:
    """Return `among` by falling leaf score, then by number."""
    scores = np.round(leaf_scores(distances_m, among, alpha), _DECIMALS)
    return tuple(int(among[row]) for row in np.lexsort((np.array(among, np.int64), -scores)))
