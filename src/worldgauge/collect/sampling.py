"""Where a loop goes: random places at about a given distance, on open ground.

The released rule of LoopNav (loopnav 1.3): whole offsets from a square, too near ones redrawn, then three
rejections that the paper does not print. The printed rule, "continuous": offsets from a continuum, too near ones
redrawn, and any block that can be stood on is taken, be it a roof or far from the centre.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np

from worldgauge.collect.planner import footing
from worldgauge.errors import WorldError
from worldgauge.worlds.voxel.blocks import AIR, GROUND, SHAPE_OF, SHAPES, SOLID, block
from worldgauge.worlds.voxel.world import VoxelWorld

Rule = Literal["released", "continuous"]

NEAREST = 0.8
"""Share of the radius below which an offset is redrawn."""
MAX_FROM_CENTRE = 80
MAX_HEIGHT_DIFFERENCE = 10
MAX_REJECTIONS = 1000

Cell = tuple[int, int, int]

_SNOW_LAYER = block("snow_layer")
_FLAT = np.array([SHAPES[shape] in ("layer", "carpet") for shape in SHAPE_OF])


def sample_place(
    world: VoxelWorld,
    around: Cell,
    radius: float,
    rng: np.random.Generator,
    *,
    rule: Rule = "released",
    level: int | None = None,
    max_from_centre: float = MAX_FROM_CENTRE,
    max_height_difference: float = MAX_HEIGHT_DIFFERENCE,
    max_rejections: int = MAX_REJECTIONS,
) -> Cell:
    """A cell to stand in, about `radius` cells from cell `around`.

    Rejected are places outside the world; by the released rule also those farther than `max_from_centre` from the
    settlement's centre, whose height differs by more than `max_height_difference` from `around`'s, or that are no
    natural ground; by the continuous rule those where nobody can stand. level: z from which the ground is looked for;
    see `ground`. Raises WorldError after `max_rejections` of them.
    """
    rejected: dict[str, int] = {}
    for _ in range(max_rejections):
        dx, dy = sample_offset(radius, rng, rule)
        x, y = around[0] + dx, around[1] + dy
        if not world.inside(x, y) or not _has_surface(world, x, y):
            found: int | str = "outside the world"
        elif rule == "released":
            found = _released(world, x, y, around[2], level, max_from_centre, max_height_difference)
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
    """Cells along x and y, at least NEAREST x radius apart in the plane; drawn in the game's axes.

    released: whole numbers floor(2 u r) - r for the game's x and z (ours: y = -z). continuous: uniform in
    (-r, r), then rounded to the cell. Acceptance about 0.5.
    """
    nearest = (NEAREST * radius) ** 2
    while True:
        if rule == "released":
            dx, dz = (float(math.floor(u * 2 * radius) - radius) for u in rng.random(2))
        else:
            dx, dz = (float(u) for u in rng.uniform(-radius, radius, 2))
        if dx * dx + dz * dz >= nearest:
            return round(dx), -round(dz)


def ground(world: VoxelWorld, x: int, y: int, level: int | None = None) -> int:
    """z of the cell that column (x, y) has for its surface.

    level: the released rule, which begins there (at y = 64 of the game): up to the first air and the cell below it, or
    down to the first that is none. None: the highest solid or liquid cell, roofs and leaves too.
    """
    if level is None:
        return world.surface(x, y)
    column = world.states[x, y]
    level = min(max(level, 0), len(column) - 1)
    if column[level] == AIR:
        below = np.flatnonzero(column[:level] != AIR)
        return int(below[-1]) if len(below) else 0
    above = np.flatnonzero(column[level:] == AIR)
    return level + int(above[0]) - 1 if len(above) else len(column) - 1


def is_natural(world: VoxelWorld, x: int, y: int, level: int | None = None) -> bool:
    """Whether the surface of column (x, y) and the cell under it are natural ground: no roof, no water."""
    surface = ground(world, x, y, level)
    if surface == 0:
        return False
    top, under = int(world.states[x, y, surface]), int(world.states[x, y, surface - 1])
    # The game's own list counts lying snow as ground.
    return bool((GROUND[top] or top == _SNOW_LAYER) and GROUND[under])


def standing_level(world: VoxelWorld, x: int, y: int, level: int | None = None) -> int:
    """z of the cell that holds the feet of a body on the surface of column (x, y)."""
    surface = ground(world, x, y, level)
    return surface if _FLAT[world.states[x, y, surface]] else surface + 1


def start_place(world: VoxelWorld, level: int | None = None) -> Cell:
    """The natural ground nearest to the settlement's centre: where the walker is put down.

    Raises WorldError when there is none within MAX_FROM_CENTRE.
    """
    cx, cy = world.centre
    for dx, dy in _nearest_first(MAX_FROM_CENTRE):
        x, y = cx + dx, cy + dy
        if world.inside(x, y) and _has_surface(world, x, y) and is_natural(world, x, y, level):
            return x, y, standing_level(world, x, y, level)
    raise WorldError(f"world '{world.kind}' (seed {world.seed}) has no natural ground near its centre {world.centre}")


@lru_cache(maxsize=1)
def _nearest_first(reach: int) -> list[tuple[int, int]]:
    offsets = [(dx, dy) for dx in range(-reach, reach + 1) for dy in range(-reach, reach + 1)]
    return sorted(offsets, key=lambda offset: (offset[0] ** 2 + offset[1] ** 2, offset))


def _released(
    world: VoxelWorld,
    x: int,
    y: int,
    foot: int,
    level: int | None,
    max_from_centre: float,
    max_difference: float,
) -> int | str:
    """z of the place, or why the released rule rejects it."""
    if math.hypot(x - world.centre[0], y - world.centre[1]) > max_from_centre:
        return "too far from the centre"
    found = standing_level(world, x, y, level)
    if abs(found - foot) > max_difference:
        return "at another height"
    if not is_natural(world, x, y, level):
        return "not on natural ground"
    return found


def _has_surface(world: VoxelWorld, x: int, y: int) -> bool:
    return bool(SOLID[world.states[x, y]].any())
