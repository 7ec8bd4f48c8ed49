"""The embedded voxel world: settlements in six kinds of country, with exact depth, labels and poses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, cast

from numpy.typing import ArrayLike

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View, worlds
from worldgauge.worlds.voxel.blocks import CATEGORIES
from worldgauge.worlds.voxel.world import PLACES, VoxelWorld
from worldgauge.worlds.walking.floor import FloorPlan, Landmark

if TYPE_CHECKING:
    from worldgauge.worlds.gpu.batch import Out, Views
    from worldgauge.worlds.gpu.voxel import VoxelBatch
    from worldgauge.worlds.voxel.camera import Grid


@worlds.register("voxel", walkable=True, example={"kind": "plains", "seed": 1})
class Voxel:
    """A generated settlement in open country, ray-cast on the CPU.

    The same arguments give the same cells.

    Args:
        kind: One of world.KINDS.
        seed: 0 or more.
        size: Cells (metres) along x, y, z.

    Raises:
        WorldError: For an unknown kind, a negative seed or a size that is too small.
    """

    categories: tuple[str, ...] = CATEGORIES
    standpoint: ClassVar[str] = "in first person"
    """From where a walker is filmed, in the words of its description."""

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
        """Describe the world of these arguments in a sentence; only its kind tells."""
        return f"A walk through {PLACES.get(kind, 'a place')} in a world built of blocks, {cls.standpoint}."

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

    def views(
        self,
        poses: ArrayLike,
        camera: Camera | Panorama,
        *,
        position: bool = False,
        out: Out = "numpy",
        device: str = "cuda",
    ) -> Views:
        """Render what N cameras see, on a GPU (extra `gpu`). The world stays on the device for the next call.

        Pixels are those of `view` but for rounding: a ray that meets an edge may take the other side.

        Args:
            poses: Camera-to-world poses, (N, 4, 4), metres.
            camera: Size and kind of the images.
            position: Whether hit points are computed as well.
            out: "numpy", copied back, or "torch", left on the device.
            device: "cuda", "cuda:1" or "cpu".

        Returns:
            The views.

        Raises:
            MissingExtraError: Warp, or torch where it is asked for, is not installed.
            ShapeError: The poses are not finite (N, 4, 4).
            UsageError: There is no such device, or no room on it.
        """
        from worldgauge.worlds.gpu.voxel import VoxelBatch

        if device not in self._batches:
            self._batches[device] = VoxelBatch(self._grid, device)
        return self._batches[device].views(poses, camera, position=position, out=out)

    @cached_property
    def _batches(self) -> dict[str, VoxelBatch]:
        return {}

    @cached_property
    def floor(self) -> FloorPlan:
        """Where a walker can stand; see `voxel.floor.floor_of`."""
        from worldgauge.worlds.voxel.floor import floor_of

        return floor_of(self.voxels)

    @cached_property
    def landmarks(self) -> tuple[Landmark, ...]:
        """Houses, trees, ponds and the like; see `voxel.landmarks.find_landmarks`."""
        from worldgauge.worlds.voxel.landmarks import find_landmarks

        return find_landmarks(self.voxels)

    @cached_property
    def _digest(self) -> str:
        return self.voxels.digest()

    @cached_property
    def _grid(self) -> Grid:
        from worldgauge.worlds.voxel.camera import Grid

        return Grid.of(self.voxels)
