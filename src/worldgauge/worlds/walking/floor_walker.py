"""A walker on any floor plan: LoopNav's keys at its speed, on paths with room on both sides.

Places are cells of one metre, as in a voxel world. The walker stands in a cell at the free place nearest to its centre.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from worldgauge.core.actions import WALK_STEP_M
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.walking.clearance import RADIUS_M, find_way, straightened
from worldgauge.worlds.walking.controller import IDLE, TURN_DONE, Control, turn_towards
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.sampling import Cell
from worldgauge.worlds.walking.walk import WalkGoal
from worldgauge.worlds.walking.walkers import MAX_TICKS, Stride, WalkFailedError

REACH_M = WALK_STEP_M / 2 + 0.02
"""A corner nearer than this is reached: all steps are of one length, so one may end half a step past it."""


class FloorWalker:
    """A `Walker` without momentum: a held key moves it by WALK_STEP_M per tick. It is deterministic.

    Args:
        floor: The floor plan.
        radius_m: Clearance of its paths. Where it turns it may pass up to REACH_M closer to things.
    """

    def __init__(self, floor: FloorPlan, radius_m: float = RADIUS_M) -> None:
        self._floor = floor
        self._radius_m = radius_m
        self._geodesic = Geodesic(floor, radius_m)
        self._points = _points_of_cells(self._geodesic)
        self._xy: FloatArray = np.zeros(2)
        self._yaw = 0.0
        self._control = IDLE

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Cells in which it can stand, each reachable from every other, in a fixed order."""
        return tuple((x, y, self._level(point)) for (x, y), point in self._points.items())

    def cell_at(self, x: int, y: int) -> Cell | None:
        """Return the cell of column (x, y), or None where the walker cannot stand.

        Args:
            x: Column.
            y: Column.
        """
        point = self._points.get((x, y))
        return None if point is None else (x, y, self._level(point))

    def stand(self, cell: Cell, yaw: float) -> None:
        """Put the walker into a cell; see `Walker.stand`.

        Args:
            cell: The cell.
            yaw: Heading, radians.

        Raises:
            WorldError: It cannot stand there.
        """
        if cell[:2] not in self._points:
            raise WorldError(f"no room to stand in cell ({cell[0]}, {cell[1]})")
        self._xy, self._yaw, self._control = self._points[cell[:2]].copy(), yaw, IDLE

    def walk(self, goal: WalkGoal) -> Iterator[Stride]:
        """See `Walker.walk`."""
        corners = self._way(goal)
        for _ in range(MAX_TICKS):
            self._move()
            control = None if self._is_near(goal) else self._towards(corners)
            yield self._turned(control or IDLE)
            if control is None:
                return
        raise WalkFailedError("too long")

    def turn(self, angle: float) -> Stride:
        """See `Walker.turn`."""
        self._move()
        return self._turned(Control((angle, 0.0)))

    def _way(self, goal: WalkGoal) -> list[FloatArray]:
        """Remaining corners, the next one first."""
        end = self._points.get((goal.x, goal.y))
        start = self._geodesic.nearest(self._xy)
        way = None if end is None else find_way(self._floor, start, end, radius_m=self._radius_m)
        if way is None:
            raise WalkFailedError("no path")
        return list(straightened(self._floor, way)[1:])

    def _is_near(self, goal: WalkGoal) -> bool:
        x, y = (math.floor(v) for v in self._xy)
        return goal.range_sq is not None and (x - goal.x) ** 2 + (y - goal.y) ** 2 <= goal.range_sq

    def _towards(self, corners: list[FloatArray]) -> Control | None:
        """The next action. None when the last corner is reached."""
        while corners and math.dist(self._xy, corners[0]) <= REACH_M:
            corners.pop(0)
        if not corners:
            return None
        dx, dy = corners[0] - self._xy
        turn = turn_towards(self._yaw, math.atan2(dy, dx))
        return Control((turn, 0.0)) if abs(turn) >= TURN_DONE else Control((turn, 0.0), forward=True)

    def _move(self) -> None:
        """Apply the key of the last tick: move along the heading of that tick."""
        if self._control.forward:
            self._xy = self._xy + WALK_STEP_M * np.array([math.cos(self._yaw), math.sin(self._yaw)])

    def _turned(self, control: Control) -> Stride:
        self._control = control
        self._yaw += control.camera[0]
        x, y = (float(v) for v in self._xy)
        return Stride((x, y, float(self._floor.height_at(self._xy))), self._yaw, control)

    def _level(self, point: FloatArray) -> int:
        return math.floor(float(self._floor.height_at(point)) + 1e-6)


def _points_of_cells(geodesic: Geodesic) -> dict[tuple[int, int], FloatArray]:
    """Place in each cell of a metre, (2,) metres: the reachable place nearest to the centre of the cell."""
    points = geodesic.floor.points_of(np.argwhere(geodesic.main))
    if not len(points):
        raise WorldError(f"a walker of {geodesic.radius_m} m radius can stand nowhere on this floor")
    cells = np.floor(points).astype(int)
    off = ((points - cells - 0.5) ** 2).sum(1)
    found: dict[tuple[int, int], FloatArray] = {}
    for index in np.lexsort((np.arange(len(off)), off)):
        found.setdefault((int(cells[index, 0]), int(cells[index, 1])), points[index])
    return dict(sorted(found.items()))
