"""Random goals of a loop: places at about a given distance, on open ground.

The released rule of LoopNav (loopnav 1.3) draws whole offsets from a square, repeats those that are too near, and then
rejects places by three tests that the paper does not print. The printed rule, "continuous", draws from a continuum,
repeats those that are too near, and accepts any block that can be stood on, also a roof or one far from the centre.
`Ground` says where the ground of a place is and whether it is natural, which keeps goals off roofs and out of ponds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import WorldError
from worldgauge.worlds.minecraft.cells.cells import Cells, split_state
from worldgauge.worlds.voxel.blocks import GROUND, LIQUID, SHAPE_OF, SHAPES, SOLID, block
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking.planner import footing

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
_FLAT = np.array([SHAPES[shape] in ("layer", "carpet") for shape in SHAPE_OF])
_FLAT_NAMES = ("snow", "carpet")
_AIRS = ("air", "cave_air", "void_air")


@dataclass(frozen=True)
class Ground:
    """The columns of a place, in the axes of a voxel world.

    Attributes:
        values: (X, Y, Z) whole numbers, the content of each cell.
        open: bool for every value, whether it is above ground.
        natural: bool for every value, whether it is natural ground.
        flat: bool for every value, whether a body stands in the cell itself.
        level: z at which the search for the ground starts: up to the first open cell, or down to the first that is not
            open. None to search from above.
    """

    values: NDArray[Any]
    open: NDArray[np.bool_]
    natural: NDArray[np.bool_]
    flat: NDArray[np.bool_]
    level: int | None = None

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


def embedded_ground(world: VoxelWorld) -> Ground:
    """Ground of an embedded world: the highest solid or liquid cell, so roofs and leaves hide what is below them."""
    natural = GROUND.copy()
    natural[_SNOW_LAYER] = True  # the game's own list counts lying snow as ground
    return Ground(world.states, ~(SOLID | LIQUID), natural, _FLAT)


def released_ground(cells: Cells) -> Ground:
    """Ground of one of the game's worlds by the released rule: its names, and up or down from y = RELEASED_LEVEL."""
    names = [split_state(text)[0] for text in cells.palette]
    return Ground(
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
    ground: Ground | None = None,
    max_from_centre: float = MAX_FROM_CENTRE,
    max_height_difference: float = MAX_HEIGHT_DIFFERENCE,
    max_rejections: int = MAX_REJECTIONS,
) -> Cell:
    """A random cell to stand in, about `radius` cells from another one.

    The released rule rejects places outside the world, too far from the centre, too different in height, or not on
    natural ground. The continuous rule rejects places outside the world and those where no body can stand.

    Args:
        around: The cell (x, y, z) to start from.
        radius: Distance in cells.
        max_from_centre: Largest distance from the centre of the settlement, in cells.
        max_height_difference: Largest difference in height from `around`, in cells.

    Returns:
        The cell.
    """
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
    """A random offset of at least NEAREST x radius in the plane, drawn in the game's axes.

    About half of the draws count.

    Args:
        radius: Distance r in cells.
        rule: "released" draws whole numbers floor(2 u r) - r for the game's x and z (ours: y = -z). "continuous" draws
            uniformly in (-r, r), then rounds to the cell.

    Returns:
        Cells along x and y.
    """
    nearest = (NEAREST * radius) ** 2
    while True:
        if rule == "released":
            dx, dz = (float(math.floor(u * 2 * radius) - radius) for u in rng.random(2))
        else:
            dx, dz = (float(u) for u in rng.uniform(-radius, radius, 2))
        if dx * dx + dz * dz >= nearest:
            return round(dx), -round(dz)


def start_place(world: VoxelWorld, ground: Ground | None = None) -> Cell:
    """The cell on natural ground nearest to the centre of the settlement, where a walker starts.

    Returns:
        The cell.
    """
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


def _released(ground: Ground, x: int, y: int, foot: int, max_difference: float) -> int | str:
    """z of the place, or why the released rule rejects it."""
    found = ground.standing_level(x, y)
    if abs(found - foot) > max_difference:
        return "at another height"
    return found if ground.is_natural(x, y) else "not on natural ground"
