"""A* over the cells of a voxel world, with the moves and costs of the released LoopNav collector.

A node is a cell in which a body can stand, or swim at the surface. Digging and placing are left out, so the world
does not change. Costs and estimate are those of loopnav 1.6. The same world and question give the same path.

The estimate is that of the release: octile distance plus, for an exact goal, the difference in height. It can exceed
the true cost: a drop, or a climb over a slab, costs as much as a level step, and the radius of a near goal is not
subtracted. In these cases the path need not be the cheapest one, as in the release.
"""

from __future__ import annotations

import heapq
import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.voxel.blocks import LIQUID, SHAPE_OF, SHAPES, SOLID, block, boxes_of
from worldgauge.worlds.voxel.player import HALF_WIDTH_M, STEP_HEIGHT_M
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking.walk import WalkGoal

FORWARD_COST = 1.0
DIAGONAL_COST = math.sqrt(2) + 0.3
JUMP_COST = 2.0
DROP_COST = 1.0
LIQUID_COST = 1.0
"""Added to a move that starts in a liquid."""
CLIMB_COST = 1.0
"""Added to a diagonal that climbs a block."""
MAX_CLIMB_M = 1.2
MAX_DROP = 4

_STEPS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)])

# What the foot cell may hold while a body stands in it, and how high that lifts the feet.
_LOW_SHAPES = {"slab", "layer", "carpet"}
_FULL_SHAPES = {"cube", "top_slab", "stairs"}
_NAMES = [SHAPES[shape] for shape in SHAPE_OF]
_LOW = np.array([float(boxes_of(state)[0][5]) if name in _LOW_SHAPES else 0.0 for state, name in enumerate(_NAMES)])
_FULL = np.array([name in _FULL_SHAPES for name in _NAMES])
# Cells that the planner avoids, although nothing in them stops a body.
_AVOIDED = np.array([state == block("cobweb") for state in range(len(_NAMES))])
_SWIM_LIFT = 0.5


class Planner:
    """Paths through one world. Making it takes about 0.1 s for 320 x 320 x 64 cells."""

    def __init__(self, world: VoxelWorld) -> None:
        self.world = world
        states = world.states
        self._blocked = (SOLID | _AVOIDED)[states]
        self._liquid = LIQUID[states]
        standable, lift = _standable(states, self._blocked, self._liquid)
        self._index = np.full(states.shape, -1, np.int32)
        self._cells = np.argwhere(standable).astype(np.int32)
        self._index[standable] = np.arange(len(self._cells), dtype=np.int32)
        self._feet: FloatArray = self._cells[:, 2] + lift[standable]
        self._low = _LOW[states] > 0

    def standable(self, x: int, y: int, z: int) -> bool:
        """Tell whether a body can stand or swim with its feet in a cell.

        Args:
            x: Cell.
            y: Cell.
            z: Cell.
        """
        return self.world.inside(x, y, z) and bool(self._index[x, y, z] >= 0)

    def feet(self, x: int, y: int, z: int) -> tuple[float, float, float]:
        """Position of the feet of a body in the middle of a standable cell.

        Args:
            x: Cell along x.
            y: Cell along y.
            z: Cell along z.

        Returns:
            (x, y, z) metres.
        """
        if not self.standable(x, y, z):
            raise WorldError(f"nobody can stand in cell ({x}, {y}, {z}) of world '{self.world.kind}'")
        return x + 0.5, y + 0.5, float(self._feet[self._index[x, y, z]])

    def cell_of(self, position: tuple[float, float, float]) -> tuple[int, int, int] | None:
        """The nearest standable cell that carries a body at `position`, (x, y, z) metres. None where there is none."""
        x, y, z = position
        best: tuple[float, tuple[int, int, int]] | None = None
        for i in range(math.floor(x - HALF_WIDTH_M), math.floor(x + HALF_WIDTH_M) + 1):
            for j in range(math.floor(y - HALF_WIDTH_M), math.floor(y + HALF_WIDTH_M) + 1):
                for k in range(math.floor(z) - 1, math.floor(z) + 2):
                    if self.standable(i, j, k):
                        cx, cy, cz = self.feet(i, j, k)
                        off = math.hypot(cx - x, cy - y) + 2 * abs(cz - z)
                        if best is None or (off, (i, j, k)) < best:
                            best = (off, (i, j, k))
        return None if best is None else best[1]

    def plan(self, start: tuple[int, int, int], goal: WalkGoal) -> FloatArray | None:
        """A path from a cell to a goal.

        It is the cheapest one on level ground to an exact goal, and nearly so elsewhere; see the module on the
        estimate.

        Args:
            start: Cell (x, y, z).

        Returns:
            Positions of the feet, (N, 3) metres, without the start. N is 0 when the start satisfies the goal. None when
            there
            is no path.
        """
        self.feet(*start)
        if goal.exact and not self.standable(goal.x, goal.y, goal.z or 0):
            return None
        nodes = _search(
            self._index,
            self._cells,
            self._feet,
            self._blocked,
            self._low,
            self._liquid,
            int(self._index[start]),
            goal.x,
            goal.y,
            -1 if goal.z is None else goal.z,
            goal.range_sq or 0,
        )
        if nodes[0] < 0:
            return None
        cells = self._cells[nodes[1:]]
        return np.column_stack([cells[:, :2] + 0.5, self._feet[nodes[1:]]])


def footing(world: VoxelWorld, x: int, y: int) -> int | None:
    """Find the surface cell of a column in which a body can stand.

    Returns:
        Its z; None on water, fences and the like.
    """
    states = world.states[x : x + 1, y : y + 1]
    blocked, liquid = (SOLID | _AVOIDED)[states], LIQUID[states]
    standable, _ = _standable(states, blocked, liquid)
    dry = (standable & ~liquid)[0, 0]
    surface = world.surface(x, y)
    return next((z for z in (surface, surface + 1) if z < len(dry) and dry[z]), None)


def _standable(
    states: NDArray[np.uint8], blocked: NDArray[np.bool_], liquid: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Cells (X, Y, Z) in which a body's feet can be, and the height (X, Y, Z) of the feet above the cell's floor."""
    full, low = _FULL[states], _LOW[states]

    def above(cells: NDArray[np.bool_], n: int, outside: bool) -> NDArray[np.bool_]:
        shifted = np.full_like(cells, outside)
        shifted[:, :, :-n] = cells[:, :, n:]
        return shifted

    head_free = ~above(blocked, 1, False)
    on_block = ~blocked & ~liquid & head_free
    on_block[:, :, 1:] &= full[:, :, :-1]
    on_block[:, :, 0] = False
    on_low = (low > 0) & head_free & (~above(blocked, 2, False) | (low <= 0.125))
    swimming = liquid & head_free & ~above(liquid, 1, False)
    lift = np.where(on_low, low, np.where(swimming, _SWIM_LIFT, 0.0))
    return on_block | on_low | swimming, lift


@njit(cache=True, nogil=True)
def _estimate(x, y, z, gx, gy, gz):  # type: ignore[no-untyped-def]
    """Octile distance in the plane, plus the difference in height for an exact goal. It is not a lower bound."""
    dx, dy = abs(x - gx), abs(y - gy)
    planar = abs(dx - dy) + min(dx, dy) * math.sqrt(2.0)
    return planar if gz < 0 else planar + abs(z - gz)


@njit(cache=True, nogil=True)
def _search(index, cells, feet, blocked, low, liquid, start, gx, gy, gz, range_sq):  # type: ignore[no-untyped-def]
    """Node numbers of the path, after a leading 0 and without the start. [-1] when there is no path."""
    cost = np.full(len(cells), np.inf)
    parent = np.full(len(cells), -1, np.int32)
    closed = np.zeros(len(cells), np.bool_)
    cost[start] = 0.0
    order = 0
    heap = [(0.0, order, np.int64(start))]
    while len(heap) > 0:
        _, _, node = heapq.heappop(heap)
        if closed[node]:
            continue
        closed[node] = True
        i, j, k = cells[node]
        near = (i - gx) ** 2 + (j - gy) ** 2
        if (gz >= 0 and near == 0 and k == gz) or (gz < 0 and near <= range_sq):
            length = 1
            walk = node
            while walk != start:
                length += 1
                walk = parent[walk]
            path = np.zeros(length, np.int64)
            while node != start:
                length -= 1
                path[length] = node
                node = np.int64(parent[node])
            return path
        for direction in range(8):
            target, price = _neighbour(index, feet, blocked, low, liquid, node, i, j, k, direction)
            if target < 0 or closed[target]:
                continue
            total = cost[node] + price
            if total < cost[target] - 1e-9:
                cost[target] = total
                parent[target] = node
                order += 1
                a, b, c = cells[target]
                heapq.heappush(heap, (total + _estimate(a, b, c, gx, gy, gz), order, np.int64(target)))
    return np.full(1, -1, np.int64)


@njit(cache=True, nogil=True)
def _neighbour(index, feet, blocked, low, liquid, node, i, j, k, direction):  # type: ignore[no-untyped-def]
    """The node that one move leads to and its cost; (-1, 0) where the move is impossible."""
    sx, sy, sz = index.shape
    di, dj = _STEPS[direction]
    a, b = i + di, j + dj
    if a < 0 or b < 0 or a >= sx or b >= sy:
        return -1, 0.0
    diagonal = di != 0 and dj != 0
    top = min(k + 2, sz - 1)
    price = DIAGONAL_COST if diagonal else FORWARD_COST
    wet = LIQUID_COST if liquid[i, j, k] else 0.0
    if diagonal and not (_open_side(blocked, low, a, j, k, top) and _open_side(blocked, low, i, b, k, top)):
        return -1, 0.0

    for level in range(min(k + 2, sz - 1), max(k - MAX_DROP - 2, -1), -1):
        target = index[a, b, level]
        if target < 0:
            if level <= k and blocked[a, b, level]:
                return -1, 0.0
            continue
        rise = feet[target] - feet[node]
        if rise > MAX_CLIMB_M:
            continue
        if rise > STEP_HEIGHT_M:
            if blocked[i, j, top] or (diagonal and (blocked[a, j, top] or blocked[i, b, top])):
                return -1, 0.0
            return target, (price + CLIMB_COST if diagonal else JUMP_COST) + wet
        # The body passes over the edge at its own height before it falls.
        for passing in range(level + 2, min(k + 2, sz)):
            if blocked[a, b, passing]:
                return -1, 0.0
        if rise >= -STEP_HEIGHT_M:
            return target, price + wet
        if diagonal:
            return (target, price + wet) if rise >= -1.0 else (-1, 0.0)
        if -rise <= MAX_DROP or liquid[a, b, level]:
            return target, DROP_COST + wet
        return -1, 0.0
    # Any height is safe above water.
    if not diagonal:
        for level in range(k - MAX_DROP - 2, -1, -1):
            if index[a, b, level] >= 0:
                return (index[a, b, level], DROP_COST + wet) if liquid[a, b, level] else (-1, 0.0)
            if blocked[a, b, level]:
                return -1, 0.0
    return -1, 0.0


@njit(cache=True, nogil=True)
def _open_side(blocked, low, i, j, k, top):  # type: ignore[no-untyped-def]
    """Whether a body can pass along column (i, j): only low things at its feet, nothing at its head."""
    return (not blocked[i, j, k] or low[i, j, k]) and not blocked[i, j, min(k + 1, top)]
