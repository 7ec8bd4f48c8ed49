"""The embedded voxel world: settlements in six kinds of country, with exact depth, labels and poses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, cast

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View, worlds
from worldgauge.worlds.captions import sentence
from worldgauge.worlds.gpu.batch import Batched
from worldgauge.worlds.voxel.blocks import CATEGORIES
from worldgauge.worlds.voxel.world import ANYWHERE, PLACES, VoxelWorld
from worldgauge.worlds.walking.floor import FloorPlan, Landmark

if TYPE_CHECKING:
    from worldgauge.worlds.gpu.scenes import VoxelBatch
    from worldgauge.worlds.voxel.camera import Grid


@worlds.register("voxel", walkable=True, example={"kind": "plains", "seed": 1})
class Voxel(Batched):
    """A generated settlement in open country, ray-cast on the CPU.

    The same arguments give the same cells.

    Args:
        kind: One of world.KINDS.
        seed: 0 or more.
        size: Cells (metres) along x, y, z.

    Raises:
        WorldError: For an unknown kind, a negative seed or a size that is too small.

    Examples:
        >>> Voxel("desert", seed=1, size=(160, 160, 56)).facts.params
        {'kind': 'desert', 'seed': 1, 'size': (160, 160, 56)}
    """

    categories: tuple[str, ...] = CATEGORIES
    viewpoint: ClassVar[str] = ", seen at eye height"
    """From where a walker is filmed: the end of a caption."""

    def __init__(self, kind: str, seed: int, size: Sequence[int] = (320, 320, 64)) -> None:
        # The generator is imported when a world is built: listing the registry must stay quick.
        from worldgauge.worlds.voxel.generate import generate

        self.voxels = generate(kind, seed, cast("tuple[int, int, int]", tuple(size)))

    @classmethod
    def from_cells(cls, voxels: VoxelWorld) -> Voxel:
        """The world of given cells. Its facts carry their digest, so it cannot be confused with a generated world."""
        world = cls.__new__(cls)
        world.voxels = voxels
        return world

    @classmethod
    def describe(cls, kind: str, seed: int = 0, size: Sequence[int] = ()) -> str:
        """Describe the world of these arguments in a sentence, from its kind alone."""
        return sentence(PLACES.get(kind, ANYWHERE).where(built=True, sign=True), (), cls.viewpoint)

    def caption(self, view: View, pose: FloatArray) -> str:
        """Describe a view in a sentence; see `voxel.words`."""
        from worldgauge.worlds.voxel.words import caption_of_cells

        return caption_of_cells(self.voxels, view, pose, self.viewpoint)

    @property
    def facts(self) -> WorldFacts:
        """Kind, seed, size and the digest of the cells."""
        params = {"kind": self.voxels.kind, "seed": self.voxels.seed, "size": self.voxels.shape}
        return WorldFacts("voxel", params, self._digest)

    def view(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """Render what a camera sees. Safe to call from several threads.

        Args:
            pose: Camera-to-world pose, (4, 4), metres.
            camera: Size and kind of the image.
            position: Whether hit points are computed as well.

        Returns:
            The view.
        """
        from worldgauge.worlds.voxel.camera import render

        return render(self._grid, pose, camera, position=position)

    def _put_on(self, device: str) -> VoxelBatch:
        from worldgauge.worlds.gpu.scenes import VoxelBatch

        return VoxelBatch(self._grid, device)

    @cached_property
    def floor(self) -> FloorPlan:
        """Where a walker can stand; see `voxel.floor.floor_of`."""
        from worldgauge.worlds.voxel.floor import floor_of

        return floor_of(self.voxels)

    @cached_property
    def landmarks(self) -> tuple[Landmark, ...]:
        """Houses, trees, ponds and the like; see `voxel.floor.find_landmarks`."""
        from worldgauge.worlds.voxel.floor import find_landmarks

        return find_landmarks(self.voxels)

    @cached_property
    def _digest(self) -> str:
        return self.voxels.digest()

    @cached_property
    def _grid(self) -> Grid:
        from worldgauge.worlds.voxel.camera import Grid

        return Grid.of(self.voxels)
