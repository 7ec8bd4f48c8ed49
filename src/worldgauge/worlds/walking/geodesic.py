"""Shortest paths of a walker over a floor: distances, paths, places to stand, and the primitives that lead there."""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray, wrap_angle
from worldgauge.worlds.walking.floor import FloorPlan, place_of
from worldgauge.worlds.walking.primitives import RADIUS_M, STEP_M, TURN_DEG, Primitive, Stance, Steps, stands, walked

# Finding the primitives that bring a walker near a goal, over any ground.

_HEADINGS = round(360 / TURN_DEG)
_EAGER = 1.6
"""Weight of the way left: of 20 ways in homes 1.05 takes 580 ms each, this 8 ms for 2 % more steps."""
_SEARCHED = 20_000
"""Stances that are looked at before the search gives up."""
_MOVES = ((Primitive.FORWARD, 0), (Primitive.TURN_LEFT, 1), (Primitive.TURN_RIGHT, -1))

_Place = TypeVar("_Place")


def approach(
    start: Stance,
    *,
    arrived: Callable[[Stance], bool],
    left: Callable[[Stance], float],
    moved: Callable[[Stance, Primitive], Stance],
    place: Callable[[Stance], _Place],
) -> Steps | None:
    """Primitives that bring a walker to a goal, empty when already there; None when steps do not come that near.
    A*, with estimates (`left`, in primitives) a little too high: it follows the way and searches aside only when
    stuck."""
    if not np.isfinite(left(start)):
        return None
    came: dict[tuple[_Place, int], tuple[tuple[_Place, int], Primitive] | None] = {(place(start), 0): None}
    queue: list[tuple[float, int, int, Stance, int]] = [(0.0, 0, 0, start, 0)]
    order = 0
    while queue and order < _SEARCHED:
        _, _, taken, here, heading = heapq.heappop(queue)
        key = place(here), heading
        if arrived(here):
            steps: list[Primitive] = []
            before = came[key]
            while before is not None:
                key, step = before
                steps.append(step)
                before = came[key]
            return tuple(reversed(steps))
        for step, turn in _MOVES:
            there = moved(here, step)
            reached = place(there), (heading + turn) % _HEADINGS
            if reached in came or not np.isfinite(more := left(there)):
                continue
            came[reached] = key, step
            order += 1
            heapq.heappush(queue, (taken + 1 + _EAGER * more, order, taken + 1, there, reached[1]))
    return None


_FIELDS = 32
"""Goals whose distances are kept; 1 MB each in a home."""
_IN_CELL = np.array([(0.5, 0.5), (1e-4, 1e-4), (1e-4, 1 - 1e-4), (1 - 1e-4, 1e-4), (1 - 1e-4, 1 - 1e-4)])


class Geodesic:
    """Shortest paths of a walker over one floor, without changes of storey. Do not share an instance between threads.
    A path uses only cells with a clearance of the radius or more, and cuts no corner. Distances are cached per goal
    cell."""

    def __init__(self, floor: FloorPlan, radius_m: float = RADIUS_M) -> None:
        self.floor = floor
        self.radius_m = radius_m
        self._fields: OrderedDict[tuple[int, int], FloatArray] = OrderedDict()
        self._ways: OrderedDict[tuple[int, int], tuple[FloatArray, NDArray[np.int32]]] = OrderedDict()

    @cached_property
    def navigable(self) -> NDArray[np.bool_]:
        """(X, Y) bool: cells with a clearance of the radius or more."""
        return stands(self.floor.clearance_m, self.radius_m)

    @cached_property
    def main(self) -> NDArray[np.bool_]:
        """(X, Y) bool: the largest part of `navigable` whose cells are all connected."""
        import cv2

        # No way cuts a corner, so whatever is connected is connected by sides.
        _, found = cv2.connectedComponents(self.navigable.astype(np.uint8), connectivity=4)
        part = np.asarray(found, np.int64)
        sizes = np.bincount(part.ravel())
        sizes[0] = 0
        largest: NDArray[np.bool_] = (part == int(sizes.argmax())) & self.navigable
        return largest

    def stands(self, xy: ArrayLike) -> bool:
        """Whether a walker can stand at `xy` (2,), metres."""
        return self._cell(place_of(xy)) is not None

    def field(self, goal_xy: ArrayLike) -> FloatArray:
        """Distances (X, Y) in metres from all cells to one goal, by steps to the 8 neighbours; read-only, infinite for
        no path. Up to 8 % more than `distance`."""
        cell = self._cell(place_of(goal_xy))
        if cell is None:
            return np.full(self.navigable.shape, np.inf)
        if cell not in self._fields:
            field = self._spread(cell, bent=False)[0] * self.floor.cell_m
            field.flags.writeable = False
            self._fields[cell] = field
            if len(self._fields) > _FIELDS:
                self._fields.popitem(last=False)
        self._fields.move_to_end(cell)
        return self._fields[cell]

    def distance(self, a_xy: ArrayLike, b_xy: ArrayLike) -> float:
        """Length of `path`, infinite for none; 0.05 ms for a recent goal, about 7 ms for a new one."""
        path = self.path(a_xy, b_xy)
        return math.inf if path is None else float(np.hypot(*np.diff(path, axis=0).T).sum())

    def path(self, a_xy: ArrayLike, b_xy: ArrayLike) -> FloatArray | None:
        """Find the shortest path (n, 2) between two places, metres, both included; None if there is none."""
        from worldgauge.worlds.walking import _geodesic as kernel

        a, b = place_of(a_xy), place_of(b_xy)
        first, last = self._cell(a), self._cell(b)
        if first is None or last is None:
            return None
        origin, cell_m = np.array(self.floor.origin), self.floor.cell_m
        start, end = (a - origin) / cell_m, (b - origin) / cell_m
        if kernel.sees(self.navigable, *start, *end):
            return np.stack([a, b])
        far, towards = self._bent(last)
        if not np.isfinite(far[first]):
            return None
        # The cells where the way bends: round corners it is shorter through a corner of the cell than its centre.
        bends = [first[0] * towards.shape[1] + first[1]]
        while towards.flat[bends[-1]] != bends[-1]:
            bends.append(int(towards.flat[bends[-1]]))
        cells = np.stack(np.divmod(np.array(bends), towards.shape[1]), -1)
        points = np.concatenate([start[None], (cells[:, None] + _IN_CELL).reshape(-1, 2), end[None]])
        corners: FloatArray = points[kernel.shortest(self.navigable, points)] * cell_m + origin
        corners[0], corners[-1] = a, b
        return corners

    def random_point(self, rng: np.random.Generator) -> FloatArray:
        """A random place, uniform over `main`. Returns (2,) metres."""
        cells = self._main_cells
        cell = cells[int(rng.integers(len(cells)))]
        # Off the cell's border by a hair, so that rounding does not put it into the next.
        inside = cell + 1e-6 + (1 - 2e-6) * rng.random(2)
        point: FloatArray = inside * self.floor.cell_m + np.array(self.floor.origin)
        return point

    def nearest(self, xy: ArrayLike) -> FloatArray:
        """The place of `main` nearest to a point (2,), metres: the point itself, or the centre of a cell."""
        point = place_of(xy)
        cell = self._cell(point)
        if cell is not None and self.main[cell]:
            return point
        centres = self.floor.points_of(self._main_cells)
        nearest: FloatArray = centres[int(np.argmin(((centres - point) ** 2).sum(1)))]
        return nearest

    def steps_to(self, stance: Stance, goal_xy: ArrayLike, radius_m: float) -> Steps | None:
        """Primitives to within `radius_m` of a goal (2,), metres; empty when already there, None when steps do not come
        that close. They are tried out with `walked` and do arrive, with a few per cent more steps than the minimum."""
        goal = place_of(goal_xy)
        return approach(
            stance,
            arrived=lambda here: (
                math.hypot(here.x - goal[0], here.y - goal[1]) <= radius_m and self.distance(here[:2], goal) <= radius_m
            ),
            left=lambda here: self._left(goal, here, radius_m),
            moved=lambda here, step: walked(self.floor, here, step, radius_m=self.radius_m)[0],
            place=lambda here: tuple(self.floor.cells_of(here[:2]).tolist()),
        )

    def steps_left(self, stance: Stance, goal_xy: ArrayLike, radius_m: float) -> float:
        """Approximate number of primitives to a goal, from the path's length and turns; infinite for no path."""
        goal = place_of(goal_xy)
        return 0.0 if self.distance(stance[:2], goal) <= radius_m else self._left(goal, stance, radius_m)

    def _bent(self, cell: tuple[int, int]) -> tuple[FloatArray, NDArray[np.int32]]:
        if cell not in self._ways:
            self._ways[cell] = self._spread(cell, bent=True)
            if len(self._ways) > _FIELDS:
                self._ways.popitem(last=False)
        self._ways.move_to_end(cell)
        return self._ways[cell]

    def _spread(self, cell: tuple[int, int], *, bent: bool) -> tuple[FloatArray, NDArray[np.int32]]:
        from worldgauge.worlds.walking._geodesic import spread

        far, towards = spread(self.navigable, *cell, bent)
        return far, towards

    @cached_property
    def _main_cells(self) -> NDArray[np.int64]:
        cells: NDArray[np.int64] = np.argwhere(self.main)
        if not len(cells):
            raise WorldError(f"a walker of {self.radius_m} m radius can stand nowhere on this floor")
        return cells

    def _cell(self, point: FloatArray) -> tuple[int, int] | None:
        """The cell of a point (2,), None where a walker cannot stand."""
        x, y = (int(n) for n in self.floor.cells_of(point))
        inside = 0 <= x < self.navigable.shape[0] and 0 <= y < self.navigable.shape[1]
        return (x, y) if inside and self.navigable[x, y] else None

    def _left(self, goal: FloatArray, stance: Stance, radius_m: float) -> float:
        """Approximate number of primitives to the goal: turns towards the path, and its length in steps."""
        here, last = self._cell(np.array(stance[:2])), self._cell(goal)
        if here is None or last is None:
            return math.inf
        far, towards = self._bent(last)
        metres = float(far[here]) * self.floor.cell_m
        bend = divmod(int(towards[here]), towards.shape[1])
        x, y = goal if bend == last else self.floor.points_of(bend)
        off = float(wrap_angle(math.atan2(y - stance.y, x - stance.x) - stance.yaw))
        return max(metres - radius_m, 0.0) / STEP_M + abs(off) / math.radians(TURN_DEG)
