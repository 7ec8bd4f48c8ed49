"""Where the ground of a place is, and whether it is natural: what keeps goals off roofs and out of ponds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import WorldError
from worldgauge.worlds.minecraft.cells.cells import Cells, split_state
from worldgauge.worlds.voxel.blocks import GROUND, LIQUID, SHAPE_OF, SHAPES, SOLID, block
from worldgauge.worlds.voxel.world import VoxelWorld

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

    values: (X, Y, Z) of whole numbers, what is in each cell. open, natural, flat: bool for every value; whether it is
    above ground, whether it is natural ground, and whether a body stands in the cell itself. level: z at which the
    ground is looked for, up to the first open cell or down to the first that is none; None: from above.
    """

    values: NDArray[Any]
    open: NDArray[np.bool_]
    natural: NDArray[np.bool_]
    flat: NDArray[np.bool_]
    level: int | None = None

    def inside(self, x: int, y: int) -> bool:
        """Whether column (x, y) exists and has a ground."""
        nx, ny, _ = self.values.shape
        return 0 <= x < nx and 0 <= y < ny and not self.open[self.values[x, y]].all()

    def surface(self, x: int, y: int) -> int:
        """z of the cell that is the surface of column (x, y). Raises WorldError for one that has none."""
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
        """Whether the surface of column (x, y) and the cell under it are natural ground: no roof, no water."""
        surface = self.surface(x, y)
        return surface > 0 and bool(self.natural[self.values[x, y, surface - 1 : surface + 1]].all())

    def standing_level(self, x: int, y: int) -> int:
        """z of the cell that holds the feet of a body on the surface of column (x, y)."""
        surface = self.surface(x, y)
        return surface if self.flat[self.values[x, y, surface]] else surface + 1


def embedded_ground(world: VoxelWorld) -> Ground:
    """Of a world of ours: the highest solid or liquid cell, so that roofs and leaves hide what is under them."""
    natural = GROUND.copy()
    natural[_SNOW_LAYER] = True  # the game's own list counts lying snow as ground
    return Ground(world.states, ~(SOLID | LIQUID), natural, _FLAT)


def released_ground(cells: Cells) -> Ground:
    """Of a world of the game by the released rule: its names, and up or down from y = RELEASED_LEVEL."""
    names = [split_state(text)[0] for text in cells.palette]
    return Ground(
        cells.index[:, :, ::-1].transpose(0, 2, 1),
        np.array([name in _AIRS for name in names]),
        np.array([name in RELEASED_NATURAL for name in names]),
        np.array([name.endswith(_FLAT_NAMES) for name in names]),
        RELEASED_LEVEL - cells.origin[1],
    )
