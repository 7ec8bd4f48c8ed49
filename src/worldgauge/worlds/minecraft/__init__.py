"""The real game: its physics, its servers, and cells of its worlds to look at."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.io import digest_of
from worldgauge.worlds import View, worlds
from worldgauge.worlds.captions import sentence
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import CATEGORIES
from worldgauge.worlds.voxel.world import ANYWHERE
from worldgauge.worlds.walking.floor import FloorPlan, Landmark

EXAMPLE = str(Path(__file__).parent / "example.grid.gz")


@worlds.register("minecraft", walkable=True, example={"grid": EXAMPLE}, files=("grid",))
class Minecraft:
    """Cells that were read from a world of the game, rendered by our own camera.
    The game's (x, y, z) is (x, -z, y) here, at any place in its world. Blocks that we do not have are drawn as the
    nearest ones (`names.substitutions`). `grid` is a file of `cells.write`."""

    categories: tuple[str, ...] = CATEGORIES

    def __init__(self, grid: str) -> None:
        # The cells are read when a world is built: listing the registry must stay quick.
        from worldgauge.worlds.minecraft import cells, names

        self._grid = grid
        self.cells = cells.read(Path(grid))
        self._placed = Voxel.from_cells(names.voxels_of(self.cells))
        self.voxels = self._placed.voxels
        x, y, z = self.cells.origin
        self.origin: tuple[float, float, float] = (float(x), -float(z + self.cells.size[2]), float(y))
        """Where cell [0, 0, 0] of `voxels` has its lowest corner, metres."""

    @classmethod
    def describe(cls, grid: str) -> str:
        """Describe the place in a sentence; cells do not say what they were built as."""
        return sentence(ANYWHERE.built, (), Voxel.viewpoint)

    def caption(self, view: View, pose: FloatArray) -> str:
        """Describe a view in a sentence."""
        moved = np.array(pose, np.float64)
        moved[:3, 3] -= self.origin
        return self._placed.caption(view, moved)

    @property
    def facts(self) -> WorldFacts:
        """The file and the digest of the cells in it."""
        return WorldFacts("minecraft", {"grid": self._grid}, self._digest)

    def view(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """Render what a camera sees. Safe to call from several threads."""
        moved = np.array(pose, np.float64)
        moved[:3, 3] -= self.origin
        seen = self._placed.view(moved, camera, position=position)
        if seen.position is None:
            return seen
        return replace(seen, position=seen.position + np.array(self.origin, np.float32))

    @cached_property
    def floor(self) -> FloorPlan:
        """Where a walker can stand; see `voxel.floor.floor_of`."""
        plan, (x, y, z) = self._placed.floor, self.origin
        origin = (plan.origin[0] + x, plan.origin[1] + y)
        return replace(plan, origin=origin, height_m=plan.height_m + np.float32(z))

    @cached_property
    def landmarks(self) -> tuple[Landmark, ...]:
        """Houses, trees, ponds and the like; see `voxel.floor.find_landmarks`."""
        return tuple(
            replace(one, low=self._moved(one.low), high=self._moved(one.high)) for one in self._placed.landmarks
        )

    def _moved(self, point: tuple[float, float, float]) -> tuple[float, float, float]:
        x, y, z = (a + b for a, b in zip(point, self.origin, strict=True))
        return x, y, z

    @cached_property
    def _digest(self) -> str:
        from worldgauge.worlds.minecraft.cells import to_bytes

        return digest_of(to_bytes(self.cells))
