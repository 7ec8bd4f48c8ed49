"""Paths of a careful walker over a floor plan, with a minimum clearance everywhere and more where there is room.

A step costs its length, and up to `SHYNESS` times more where the clearance is below `comfort_m`. Everything is
deterministic.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from worldgauge.core import geometry
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.walking.floor import FloorPlan, place_of

RADIUS_M = 0.3
"""Least clearance of a way."""
COMFORT_M = 0.6
"""Clearance from which more makes no difference."""
SHYNESS = 3.0
LAST_M = 0.8
"""Metres before the goal from which a way is taken to be headed for it."""

_STEPS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)])
_WHOLE = 1e9


class Reach(NamedTuple):
    """Paths from everywhere to one goal.
    `metres` sums steps between cells, and is therefore up to 8 % longer than a smoothed path."""

    metres: FloatArray  # (X, Y), infinite for no path
    heading: FloatArray  # (X, Y) radians of arrival, over the last LAST_M; NaN for nearer cells


def find_way(
    floor: FloorPlan, start: ArrayLike, goal: ArrayLike, *, radius_m: float = RADIUS_M, comfort_m: float = COMFORT_M
) -> FloatArray | None:
    """The cheapest path (N, 2), in metres, between two places: the start, centres of cells, and the goal; None for no
    path. At a corner both adjacent cells have the radius too, so each point has a clearance of at least `radius_m`."""
    ends = np.array([place_of(start), place_of(goal)])
    for name, point, room in zip(("start", "goal"), ends, floor.clearance_at(ends), strict=True):
        if room < radius_m:
            raise WorldError(
                f"{name} ({point[0]:.2f}, {point[1]:.2f}) has {room:.2f} m of clearance, the walker needs "
                f"{radius_m} m; take another place"
            )
    first, last = (tuple(int(n) for n in cell) for cell in floor.cells_of(ends))
    price, parent, _, _ = _spread(floor.clearance_m, floor.cell_m, first, last, radius_m, comfort_m, _WHOLE)
    if not np.isfinite(price[last]):
        return None
    cells, at = [], np.int64(last[0] * floor.free.shape[1] + last[1])
    while at >= 0:
        cells.append(divmod(int(at), floor.free.shape[1]))
        at = parent.ravel()[at]
    centres = floor.points_of(np.array(cells[::-1]))
    return np.concatenate([ends[:1], centres[1:-1], ends[1:]])


def ways_to(
    floor: FloorPlan, goal: ArrayLike, *, reach_m: float, radius_m: float = RADIUS_M, comfort_m: float = COMFORT_M
) -> Reach:
    """The paths of `find_way` from every cell to one goal. `goal`: (2,) metres. `reach_m`: longest path in metres."""
    point = place_of(goal)
    room = float(floor.clearance_at(point))
    if room < radius_m:
        raise WorldError(f"goal ({point[0]:.2f}, {point[1]:.2f}) has {room:.2f} m of clearance, needs {radius_m} m")
    cell = tuple(int(n) for n in floor.cells_of(point))
    _, _, metres, gate = _spread(floor.clearance_m, floor.cell_m, cell, (-1, -1), radius_m, comfort_m, reach_m)
    came = point - floor.points_of(np.stack(np.divmod(gate, floor.free.shape[1]), -1))
    return Reach(metres, np.where(gate >= 0, np.arctan2(came[..., 1], came[..., 0]), np.nan))


def straightened(floor: FloorPlan, way: ArrayLike, *, comfort_m: float = COMFORT_M) -> FloatArray:
    """Corners (M, 2) of a path (N, 2), without points past which the straight line has as much clearance."""
    points = np.asarray(way, np.float64)
    keep = _shortcuts(
        floor.clearance_m, floor.cells_of(points), points, np.array(floor.origin), floor.cell_m, comfort_m
    )
    corners: FloatArray = points[keep]
    return corners


def least_clearance(floor: FloorPlan, way: ArrayLike) -> float:
    """Return the least clearance along a path, sampled ten times per cell. `way`: (N, 2) metres. Returns metres."""
    points = np.asarray(way, np.float64)
    steps = max(1, math.ceil(geometry.length(points) / (floor.cell_m / 10)))
    return float(floor.clearance_at(resampled(points, steps + 1)).min())


def resampled(way: ArrayLike, count: int) -> FloatArray:
    """Points spread evenly over the arc length of a geometry. `way`: (N, 2). Returns (count, 2), with both ends."""
    points = np.asarray(way, np.float64)
    return geometry.at(points, np.linspace(0.0, geometry.along(points)[-1], count))


@njit(cache=True, nogil=True)
def _spread(clearance, cell_m, start, goal, radius, comfort, reach):  # type: ignore[no-untyped-def]
    """Price, parent, length and where LAST_M is passed of the cheapest ways from `start`, until `goal` or `reach`."""
    sx, sy = clearance.shape
    price = np.full((sx, sy), np.inf)
    length = np.full((sx, sy), np.inf)
    parent = np.full((sx, sy), -1, np.int64)
    gate = np.full((sx, sy), -1, np.int64)
    closed = np.zeros((sx, sy), np.bool_)
    price[start], length[start] = 0.0, 0.0
    order = 0
    heap = [(0.0, order, start[0], start[1])]
    while len(heap) > 0:
        _, _, i, j = heapq.heappop(heap)
        if closed[i, j]:
            continue
        closed[i, j] = True
        if i == goal[0] and j == goal[1]:
            break
        for n in range(8):
            a, b = i + _STEPS[n, 0], j + _STEPS[n, 1]
            if a < 0 or b < 0 or a >= sx or b >= sy or closed[a, b] or clearance[a, b] < radius:
                continue
            diagonal = n >= 4
            if diagonal and (clearance[a, j] < radius or clearance[i, b] < radius):
                continue
            step = cell_m * (math.sqrt(2.0) if diagonal else 1.0)
            far = length[i, j] + step
            if far > reach:
                continue
            tight = max(0.0, comfort - clearance[a, b]) / max(comfort - radius, 1e-9)
            total = price[i, j] + step * (1.0 + SHYNESS * tight)
            if total < price[a, b] - 1e-9:
                price[a, b], length[a, b] = total, far
                parent[a, b] = i * sy + j
                gate[a, b] = gate[i, j] if gate[i, j] >= 0 or far < LAST_M else a * sy + b
                order += 1
                ahead = 0.0 if goal[0] < 0 else cell_m * math.hypot(a - goal[0], b - goal[1])
                heapq.heappush(heap, (total + ahead, order, a, b))
    return price, parent, length, gate


@njit(cache=True, nogil=True)
def _shortcuts(clearance, cells, points, origin, cell_m, comfort):  # type: ignore[no-untyped-def]
    """Numbers of the points that stay."""
    n = len(points)
    keep = np.zeros(n, np.bool_)
    keep[0] = keep[n - 1] = True
    at = 0
    while at < n - 1:
        best = at + 1
        room = min(comfort, clearance[cells[at, 0], cells[at, 1]], clearance[cells[best, 0], cells[best, 1]])
        for far in range(at + 2, n):
            room = min(room, clearance[cells[far, 0], cells[far, 1]])
            gap = points[far] - points[at]
            steps = int(math.hypot(gap[0], gap[1]) / (cell_m / 10)) + 1
            clear = True
            for k in range(1, steps):
                x = (points[at, 0] + gap[0] * k / steps - origin[0]) / cell_m
                y = (points[at, 1] + gap[1] * k / steps - origin[1]) / cell_m
                if clearance[math.floor(x), math.floor(y)] < room:
                    clear = False
                    break
            if clear:
                best = far
        keep[best] = True
        at = best
    return keep
