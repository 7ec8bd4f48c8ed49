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


class PlaceWords(NamedTuple):
    """What a kind of world looks like: its buildings, the country around them, and what shows this country."""

    built: str  # the place if buildings are in view; empty if buildings are no settlement
    country: str = ""  # the ground, with its preposition; empty if `built` says all
    sign: str = ""  # category that shows the ground
    open: str = ""  # the place without buildings in view

    def where(self, *, built: bool, sign: bool) -> str:
        """The place, by whether buildings and the sign of the country are in view."""
        if self.built and (built or not self.open):
            return f"{self.built} {self.country}".strip() if sign else self.built
        return self.open if sign or not self.sign else ANYWHERE.built


PLACES: Mapping[str, PlaceWords] = {
    "plains": PlaceWords("a blocky village", "on a grassy plain", "grass", "a grassy plain made of blocks"),
    "desert": PlaceWords("a blocky village", "in a sandy desert", "sand", "a sandy desert made of blocks"),
    "snowy": PlaceWords("a blocky village", "in the snow", "snow", "a snowy landscape made of blocks"),
    "taiga": PlaceWords("a blocky village", "in a conifer forest", "tree", "a conifer forest made of blocks"),
    "savanna": PlaceWords("a blocky village", "in a dry savanna", "grass", "a dry savanna made of blocks"),
    "zombie": PlaceWords("a blocky ruined village", "on an overgrown plain", "grass", "an overgrown plain of blocks"),
    "landscape": PlaceWords("", "in green countryside", "grass", "green countryside made of blocks"),
    "scifi": PlaceWords("a futuristic blocky base", open="an alien landscape made of blocks"),
    "stylized": PlaceWords("a colourful toy-like land made of blocks"),
    "ancient": PlaceWords("blocky ancient ruins", "in a sandy desert", "sand", "a sandy desert made of blocks"),
    "urban": PlaceWords("a blocky city"),
    "industrial": PlaceWords("a blocky industrial site"),
    "interior": PlaceWords("a large, bright hall made of blocks", sign="grass", open="a grassy field made of blocks"),
    "aquatic": PlaceWords("a blocky village", "by the water", "water", "a shore made of blocks"),
}
"""Words for each kind of settlement and each family of scenes."""
ANYWHERE = PlaceWords("a place made of blocks")
"""Words for cells that do not say what they were built as."""


class Drawn(NamedTuple):
    """What an object was drawn as: a design or a species, over the `ground` cell's z."""

    kind: str
    ground: int


@dataclass(frozen=True)
class VoxelWorld:
    """Cells of one metre; cell (i, j, k) fills [i, i+1) x [j, j+1) x [k, k+1) of the world frame.
    `drawn` says what objects 1, 2, ... are, if known. It follows from the other fields, so the digest leaves it out."""

    kind: str
    seed: int
    states: NDArray[np.uint8]  # (X, Y, Z), indices into blocks.STATES
    instances: NDArray[np.uint16]  # (X, Y, Z), the object of a cell (a house, a tree, a pond), 0 for terrain
    centre: tuple[int, int]  # (x, y) cell of the settlement
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
"""Of the viewer that LoopNav recorded with."""

HORIZONTAL_FOV_DEG = 107.51
"""What that is across, at 640x360 with square pixels."""
