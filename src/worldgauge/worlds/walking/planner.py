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
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.minecraft.cells import Cells, split_state
from worldgauge.worlds.voxel.blocks import GROUND, LIQUID, SHAPE_OF, SHAPES, SOLID, block, boxes_of
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
_LOW_SHAPES = {"slab", "layer", "carpet", "quarter", "three_quarter"}
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
        self._low = ((_LOW > 0) & (_LOW <= STEP_HEIGHT_M))[states]

    def standable(self, x: int, y: int, z: int) -> bool:
        """Tell whether a body can stand or swim with its feet in a cell. `x`, `y`, `z`: cell."""
        return self.world.inside(x, y, z) and bool(self._index[x, y, z] >= 0)

    def feet(self, x: int, y: int, z: int) -> tuple[float, float, float]:
        """Position of the feet, in metres, of a body in the middle of a standable cell."""
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
        """A path from a cell to a goal: feet (N, 3) in metres without the start; empty if already there, None for no
        path. It is the cheapest one on level ground to an exact goal, and nearly so elsewhere (see the module on the
        estimate)."""
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
    """Find z of the surface cell of a column in which a body can stand; None on water, fences and the like."""
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


# Random goals of a loop: places at about a given distance, on open ground.
#
# The released rule of LoopNav (loopnav 1.3) draws whole offsets from a square, repeats those that are too near, and
# then rejects places by three tests that the paper does not print. The printed rule, "continuous", draws from a
# continuum, repeats those that are too near, and accepts any block that can be stood on, also a roof or one far from
# the centre. `GroundColumns` says where the ground of a place is and whether it is natural, which keeps goals off roofs
# and out of ponds.

Rule = Literal["released", "continuous"]

NEAREST = 0.8
"""Share of the radius below which an offset is redrawn."""
MAX_FROM_CENTRE = 80
MAX_HEIGHT_DIFFERENCE = 10
MAX_REJECTIONS = 1000

Cell = tuple[int, int, int]

RELEASED_LEVEL = 64
"""y of the game at which the release begins to look for the ground."""
RELEASED_NATURAL = frozenset(
    (
        *("dirt", "stone", "grass_path", "dirt_path", "sand", "grass_block", "snow", "gravel", "sandstone", "red_sand"),
        *("terracotta", "mycelium", "end_stone", "nether_bricks", "blackstone", "polished_blackstone_bricks"),
        *("cracked_polished_blackstone_bricks", "netherrack"),
    )
)
"""Blocks that the release takes for natural ground (loopnav 1.3); dirt_path is the later name of grass_path."""

_SNOW_LAYER = block("snow_layer")
_FLAT = _LOW > 0
_FLAT_NAMES = ("snow", "carpet")
_AIRS = ("air", "cave_air", "void_air")


@dataclass(frozen=True)
class GroundColumns:
    """The columns of a place, in the axes of a voxel world.
    The search for the ground starts at z `level`: up to the first open cell, or down to the first that is not open."""

    values: NDArray[Any]  # (X, Y, Z), content of each cell; an index into the three below
    open: NDArray[np.bool_]  # above ground
    natural: NDArray[np.bool_]  # natural ground
    flat: NDArray[np.bool_]  # a body stands in the cell itself
    level: int | None = None  # None to search from above

    def inside(self, x: int, y: int) -> bool:
        """Tell whether column (x, y) exists and has a ground."""
        nx, ny, _ = self.values.shape
        return 0 <= x < nx and 0 <= y < ny and not self.open[self.values[x, y]].all()

    def surface(self, x: int, y: int) -> int:
        """Find the surface cell of a column."""
        opened = self.open[self.values[x, y]]
        filled = np.flatnonzero(~opened)
        if not len(filled):
            raise WorldError(f"column ({x}, {y}) is empty")
        if self.level is None:
            return int(filled[-1])
        level = min(max(self.level, 0), len(opened) - 1)
        if opened[level]:
            below = filled[filled < level]
            return int(below[-1]) if len(below) else 0
        above = np.flatnonzero(opened[level:])
        return level + int(above[0]) - 1 if len(above) else len(opened) - 1

    def is_natural(self, x: int, y: int) -> bool:
        """Tell whether the surface of a column and the cell below it are natural ground: no roof, no water."""
        surface = self.surface(x, y)
        return surface > 0 and bool(self.natural[self.values[x, y, surface - 1 : surface + 1]].all())

    def standing_level(self, x: int, y: int) -> int:
        """Return z of the cell that holds the feet of a body on the surface of a column."""
        surface = self.surface(x, y)
        return surface if self.flat[self.values[x, y, surface]] else surface + 1


def embedded_ground(world: VoxelWorld) -> GroundColumns:
    """Ground of an embedded world: the highest solid or liquid cell, so roofs and leaves hide what is below them."""
    natural = GROUND.copy()
    natural[_SNOW_LAYER] = True  # the game's own list counts lying snow as ground
    return GroundColumns(world.states, ~(SOLID | LIQUID), natural, _FLAT)


def indoor_ground(world: VoxelWorld) -> GroundColumns:
    """Ground of an embedded world below its roofs: the search starts at the lowest room in the middle."""
    ground = embedded_ground(world)
    return replace(ground, level=int(ground.open[world.states[world.centre]].argmax()))


def released_ground(cells: Cells) -> GroundColumns:
    """Ground of one of the game's worlds by the released rule: its names, and up or down from y = RELEASED_LEVEL."""
    names = [split_state(text)[0] for text in cells.palette]
    return GroundColumns(
        cells.index[:, :, ::-1].transpose(0, 2, 1),
        np.array([name in _AIRS for name in names]),
        np.array([name in RELEASED_NATURAL for name in names]),
        np.array([name.endswith(_FLAT_NAMES) for name in names]),
        RELEASED_LEVEL - cells.origin[1],
    )


def sample_place(
    world: VoxelWorld,
    around: Cell,
    radius: float,
    rng: np.random.Generator,
    *,
    rule: Rule = "released",
    ground: GroundColumns | None = None,
    max_from_centre: float = MAX_FROM_CENTRE,
    max_height_difference: float = MAX_HEIGHT_DIFFERENCE,
    max_rejections: int = MAX_REJECTIONS,
) -> Cell:
    """A random cell to stand in, about `radius` cells from another one; all limits are in cells.
    The released rule rejects places outside the world, too far from the centre, too different in height, or not on
    natural ground. The continuous rule rejects places outside the world and those where no body can stand."""
    ground = ground or embedded_ground(world)
    rejected: dict[str, int] = {}
    for _ in range(max_rejections):
        dx, dy = sample_offset(radius, rng, rule)
        x, y = around[0] + dx, around[1] + dy
        if not ground.inside(x, y):
            found: int | str = "outside the world"
        elif rule == "released":
            far = math.hypot(x - world.centre[0], y - world.centre[1]) > max_from_centre
            found = "too far from the centre" if far else _released(ground, x, y, around[2], max_height_difference)
        else:
            foot = footing(world, x, y)
            found = "nowhere to stand" if foot is None else foot
        if not isinstance(found, str):
            return x, y, found
        rejected[found] = rejected.get(found, 0) + 1
    counts = ", ".join(f"{count} {fault}" for fault, count in sorted(rejected.items()))
    raise WorldError(
        f"no place about {radius} cells from {around} in {max_rejections} draws ({counts}); "
        f"take a smaller radius or another world"
    )


def sample_offset(radius: float, rng: np.random.Generator, rule: Rule = "released") -> tuple[int, int]:
    """A random offset of at least NEAREST x radius cells along x and y. About half of the draws count.
    "released" draws whole numbers floor(2 u r) - r for the game's x and z (ours: y = -z). "continuous" draws uniformly
    in (-r, r), then rounds."""
    nearest = (NEAREST * radius) ** 2
    while True:
        if rule == "released":
            dx, dz = (float(math.floor(u * 2 * radius) - radius) for u in rng.random(2))
        else:
            dx, dz = (float(u) for u in rng.uniform(-radius, radius, 2))
        if dx * dx + dz * dz >= nearest:
            return round(dx), -round(dz)


def start_place(world: VoxelWorld, ground: GroundColumns | None = None) -> Cell:
    """The cell on natural ground nearest to the centre of the settlement, where a walker starts."""
    ground = ground or embedded_ground(world)
    cx, cy = world.centre
    for dx, dy in _nearest_first(MAX_FROM_CENTRE):
        x, y = cx + dx, cy + dy
        if ground.inside(x, y) and ground.is_natural(x, y):
            return x, y, ground.standing_level(x, y)
    raise WorldError(f"world '{world.kind}' (seed {world.seed}) has no natural ground near its centre {world.centre}")


@lru_cache(maxsize=1)
def _nearest_first(reach: int) -> list[tuple[int, int]]:
    offsets = [(dx, dy) for dx in range(-reach, reach + 1) for dy in range(-reach, reach + 1)]
    return sorted(offsets, key=lambda offset: (offset[0] ** 2 + offset[1] ** 2, offset))


def _released(ground: GroundColumns, x: int, y: int, foot: int, max_difference: float) -> int | str:
    """z of the place, or why the released rule rejects it."""
    found = ground.standing_level(x, y)
    if abs(found - foot) > max_difference:
        return "at another height"
    return found if ground.is_natural(x, y) else "not on natural ground"
