"""The floor of a voxel world: where a walker's feet can be, a quarter of a metre at a time.

A column has one floor: the lowest level with room for a walker above it. So a house's floor is inside, not on its roof.
"""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.worlds.voxel.blocks import GROUND, KINDS, LIQUID, SHAPE_OF, SHAPES, STATES, boxes_of
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking.floor import FloorPlan, Landmark

# The things of a voxel world that have a name: buildings, plants, ponds and what stands between them.
#
# A landmark is one object of the world. What is inside a house is part of the house, since the camera's labels do not
# tell them apart; so a barrel in a stall is no landmark.

REACH_CELLS = 2
"""Height above the ground up to which a walker meets an object: a tree's trunk, not its crown; walls, not eaves."""

with (files(__package__) / "landmarks.csv").open(encoding="utf-8") as _table:
    _ROWS = tuple(csv.DictReader(_table))
CATEGORIES: dict[str, str] = {row["kind"]: row["name"] for row in _ROWS}
"""Category of each kind of object (`world.Drawn.kind`) that has a name; pines look like slim spruces."""

NAMES: dict[str, str] = {row["kind"]: row["name"] for row in _ROWS if row["place"] == "family"}
"""Those of them that the settlements do not have."""

_SURFACES = ("pond", "frozen_pond")
_NATURAL = {"path", "water", "pond", "frozen_pond"}


def find_landmarks(world: VoxelWorld) -> tuple[Landmark, ...]:
    """Objects with a name in the order of their numbers; none if the world does not say what they are.
    x and y of a box are those of the part that a walker meets (see REACH_CELLS), z that of the whole object."""
    where = np.argwhere(world.instances)
    owners = world.instances[tuple(where.T)].astype(np.int64)
    kinds = np.array([one.kind in CATEGORIES for one in world.drawn], np.bool_)
    known = owners <= len(kinds)
    known[known] = kinds[owners[known] - 1]
    where, owners = where[known], owners[known]
    ground = np.array([one.ground for one in world.drawn], np.int64)
    flat = np.array([one.kind in _SURFACES for one in world.drawn], np.bool_)
    rise = where[:, 2] - ground[owners - 1]
    met = np.where(flat[owners - 1], rise == 0, (rise > 0) & (rise <= REACH_CELLS))
    low, high = _extent(where, owners, len(kinds))
    near_low, near_high = _extent(where[met], owners[met], len(kinds))
    found = []
    for number, one in enumerate(world.drawn, start=1):
        if one.kind in CATEGORIES and near_high[number, 0] >= 0:
            (x0, y0), (x1, y1) = near_low[number, :2].tolist(), near_high[number, :2].tolist()
            z0, z1 = float(low[number, 2]), float(high[number, 2])
            found.append(Landmark(CATEGORIES[one.kind], number, (x0, y0, z0), (x1, y1, z1)))
    return tuple(found)


def is_terrain(world: VoxelWorld) -> NDArray[np.bool_]:
    """Which object numbers (0, 1, ...) are ground to walk on: terrain and streets; all, where nothing is known."""
    numbers = max(int(world.instances.max(initial=0)), len(world.drawn))
    if not world.drawn:
        return np.ones(numbers + 1, np.bool_)
    named = [one.kind in _NATURAL for one in world.drawn]
    return np.array([True, *named, *[False] * (numbers - len(named))], np.bool_)


def _extent(
    cells: NDArray[np.int64], owners: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper corners (count + 1, 3) of every object; the upper one is -1 where it has no cell."""
    low = np.full((count + 1, 3), np.inf)
    high = np.full((count + 1, 3), -1.0)
    np.minimum.at(low, owners, cells)
    np.maximum.at(high, owners, cells + 1)
    return low, high


PARTS = 4
"""Cells of the plan along a side of a world cell."""
CELL_M = 1 / PARTS
WALKER_M = 1.8
"""Room above the floor that a walker needs."""
STEP_M = 0.5
"""Highest step that a walker takes."""

_PASSED = {"cross", "liquid", "empty"}
_AVOIDED = {"cobweb", "torch"}


def floor_of(world: VoxelWorld) -> FloorPlan:
    """Find where a walker can stand, in quarters of a metre: about 0.3 s for 320 x 320 x 64 cells.
    Free is a cell with dry floor and WALKER_M of air over it. Not free are the upper side of an edge higher than
    STEP_M, and what has no way from natural ground, such as a roof."""
    height, natural = _stand(world.states, world.instances, is_terrain(world), *_TABLES)
    free = np.isfinite(height)
    # Cells with a neighbour, also a diagonal one, that lies more than a step lower.
    lowest = np.pad(np.where(np.isfinite(height), height, np.inf), 1, constant_values=np.inf)
    lowest = np.minimum(np.minimum(lowest[:-2], lowest[1:-1]), lowest[2:])
    lowest = np.minimum(np.minimum(lowest[:, :-2], lowest[:, 1:-1]), lowest[:, 2:])
    with np.errstate(invalid="ignore"):
        above: NDArray[np.bool_] = height - lowest > STEP_M + 1e-6
    free &= ~above
    # Free cells that hang together with one that is natural ground.
    import cv2

    count, part = cv2.connectedComponents(free.astype(np.uint8), connectivity=4)
    walked = np.zeros(count, np.bool_)
    walked[np.unique(part[free & natural])] = True
    walked[0] = False
    reached: NDArray[np.bool_] = walked[part]
    free &= reached
    return FloorPlan(free, np.where(free, height, 0).astype(np.float32), (0.0, 0.0), CELL_M)


def _tables() -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_]]:
    """Heights (low, high) that fill each part (states, PARTS, PARTS) of a cell, panes and what panes join, by state."""
    n = len(STATES)
    low, high = np.zeros((2, n, PARTS, PARTS), np.float32)
    joins = np.array([SHAPES[shape] in ("cube", "pane") for shape in SHAPE_OF])
    for state in range(n):
        kind = KINDS[STATES[state].kind]
        if kind.shape in _PASSED and kind.name not in _AVOIDED:
            continue
        boxes = [(0.0, 0.0, 0.0, 1.0, 1.0, 1.0)] if kind.shape == "cross" else boxes_of(state)
        for x0, y0, z0, x1, y1, z1 in boxes[:1] if kind.shape == "pane" else boxes:
            columns, rows = (slice(int(np.floor(a * PARTS)), int(np.ceil(b * PARTS))) for a, b in ((x0, x1), (y0, y1)))
            filled = high[state, columns, rows] > 0
            low[state, columns, rows] = np.where(filled, np.minimum(low[state, columns, rows], z0), z0)
            high[state, columns, rows] = np.maximum(high[state, columns, rows], z1)
    pane = np.array([SHAPES[shape] == "pane" for shape in SHAPE_OF])
    return low, high, pane, joins


_ARM = np.full((PARTS, PARTS), -1, np.int8)
_ARM[3, 1:3], _ARM[1:3, 3], _ARM[0, 1:3], _ARM[1:3, 0] = 0, 1, 2, 3
"""Which of blocks.FACINGS the arm of a pane over this part reaches to."""

_TABLES = (*_tables(), LIQUID, GROUND, _ARM)


@njit(cache=True, nogil=True)
def _stand(states, instances, terrain, low, high, pane, joins, wet, ground, arm):  # type: ignore[no-untyped-def]
    """Height of the floor (X * PARTS, Y * PARTS), infinite where there is none, and whether it is natural ground."""
    sx, sy, sz = states.shape
    height = np.full((sx * PARTS, sy * PARTS), np.inf, np.float32)
    natural = np.zeros((sx * PARTS, sy * PARTS), np.bool_)
    for x in range(sx):
        for y in range(sy):
            column = states[x, y]
            first = 0
            # Solid rock is the same for all parts of the column.
            while first + 1 < sz and ground[column[first + 1]]:
                first += 1
            for a in range(PARTS):
                for b in range(PARTS):
                    top, under, flooded = -1.0, -1, False
                    for z in range(first, sz + 1):
                        bottom, lid, liquid = 0.0, 0.0, False
                        if z < sz:
                            state = column[z]
                            bottom, lid, liquid = low[state, a, b], high[state, a, b], wet[state]
                            side = arm[a, b]
                            if lid == 0 and pane[state] and side >= 0:
                                i = x + (1 if side == 0 else -1 if side == 2 else 0)
                                j = y + (1 if side == 1 else -1 if side == 3 else 0)
                                if 0 <= i < sx and 0 <= j < sy and joins[states[i, j, z]]:
                                    lid = 1.0
                        else:
                            bottom, lid = WALKER_M, 2 * WALKER_M
                        flooded = flooded or liquid
                        if under >= 0 and not flooded and (z + (bottom if lid > 0 else 1.0)) - top >= WALKER_M:
                            break
                        if lid > 0:
                            top, under, flooded = z + lid, z, False
                    else:
                        continue
                    height[x * PARTS + a, y * PARTS + b] = top
                    owner = instances[x, y, under]
                    natural[x * PARTS + a, y * PARTS + b] = ground[column[under]] and terrain[owner]
    return height, natural
