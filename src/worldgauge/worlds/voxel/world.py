"""A voxel world: a box of cells, the objects they belong to, and where its settlement is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import WorldError
from worldgauge.worlds.voxel.blocks import LIQUID, SOLID

KINDS = ("plains", "desert", "snowy", "taiga", "savanna", "zombie")
"""The six settlement kinds; zombie is an abandoned plains settlement, overgrown and broken."""

FAMILIES = ("landscape", "scifi", "stylized", "ancient", "urban", "industrial", "interior", "aquatic")
"""Eight families of scenes besides the settlements, for walks in first and third person; see voxel.families."""


PLACES: Mapping[str, str] = {
    "plains": "a village on a grassy plain",
    "desert": "a village in a desert of sand",
    "snowy": "a village in snow-covered country",
    "taiga": "a village among dark conifers",
    "savanna": "a village in a dry savanna",
    "zombie": "an abandoned, overgrown village on a grassy plain",
    "landscape": "open country",
    "scifi": "a base of a far future",
    "stylized": "a toy-like land of plain colours",
    "ancient": "the ruins of an ancient town",
    "urban": "the streets of a city",
    "industrial": "an industrial site",
    "interior": "the rooms of a large building",
    "aquatic": "a shore with water and piers",
}
"""What each kind of settlement and each family of scenes shows, in words."""


class Drawn(NamedTuple):
    """What an object was drawn as.

    Attributes:
        kind: A design or a species.
        ground: z of the ground cell that it stands on.
    """

    kind: str
    ground: int


@dataclass(frozen=True)
class VoxelWorld:
    """Cells of one metre; cell (i, j, k) fills [i, i+1) x [j, j+1) x [k, k+1) of the world frame.

    Attributes:
        kind: Kind of the world.
        seed: Its seed.
        states: (X, Y, Z) uint8, indices into blocks.STATES.
        instances: (X, Y, Z) uint16, the object of a cell (a house, a tree, a pond: 1, 2, ...), 0 for terrain.
        centre: (x, y) cell of the settlement.
        drawn: What object 1, 2, ... is. It follows from the other facts of a generated world, so it is not in the
            digest. Empty where nothing is known.
    """

    kind: str
    seed: int
    states: NDArray[np.uint8]
    instances: NDArray[np.uint16]
    centre: tuple[int, int]
    drawn: tuple[Drawn, ...] = ()

    def __post_init__(self) -> None:
        if self.states.ndim != 3 or self.states.shape != self.instances.shape:
            raise WorldError(
                f"states {self.states.shape} and instances {self.instances.shape} must be equal 3-d shapes"
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Cells along x, y, z."""
        x, y, z = self.states.shape
        return x, y, z

    def inside(self, x: int, y: int, z: int = 0) -> bool:
        """Tell whether cell (x, y, z) exists."""
        return 0 <= x < self.shape[0] and 0 <= y < self.shape[1] and 0 <= z < self.shape[2]

    def surface(self, x: int, y: int) -> int:
        """Find the highest solid or liquid cell of a column; roofs and leaves count."""
        column = self.states[x, y]
        filled = np.flatnonzero(SOLID[column] | LIQUID[column])
        if len(filled) == 0:
            raise WorldError(f"column ({x}, {y}) is empty")
        return int(filled[-1])

    def digest(self) -> str:
        """SHA-256 of cells and objects: equal for equal worlds, on every machine."""
        sha = hashlib.sha256(repr((self.kind, self.seed, self.shape, self.centre)).encode())
        sha.update(np.ascontiguousarray(self.states).tobytes())
        sha.update(np.ascontiguousarray(self.instances).astype("<u2").tobytes())
        return sha.hexdigest()


# The walker's eye, as LoopNav's viewer has it: height and field of view of every frame, published or made here.


EYE_HEIGHT_M = 1.6
"""Above the feet. The game's own physics has 1.62."""

VERTICAL_FOV_DEG = 75.0
"""Of the viewer that LoopNav recorded with (specification of its data)."""

HORIZONTAL_FOV_DEG = 107.51
"""What that is across, at 640x360 with square pixels."""
