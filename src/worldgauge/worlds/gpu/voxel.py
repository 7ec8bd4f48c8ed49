"""The voxel world on a GPU: many views at once, equal to those of `voxel.camera` but for rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.geometry import Camera, Panorama
from worldgauge.worlds.gpu.batch import Out, Views, as_poses, draw, launch, open_device, warp_for
from worldgauge.worlds.voxel.blocks import CATEGORIES, LIQUID_TOP
from worldgauge.worlds.voxel.camera import VIEW_M, Grid, materials, rays_by_axis


class VoxelBatch:
    """A world on a device. Build it once, draw from it often.

    Args:
        grid: The world.
        device: As `open_device` takes it.

    Raises:
        MissingExtraError: Warp is not installed.
        UsageError: There is no such device.
    """

    def __init__(self, grid: Grid, device: str) -> None:
        self._wp = wp = warp_for("drawing views in batches")
        self._device = open_device(device)
        from worldgauge.worlds.gpu.kernels import voxel as kernel

        self._kernel = kernel
        table = materials(submerged=False)
        self._cells = kernel.Cells()
        self._cells.states = self._put(grid.scene.states)
        self._cells.instances = self._put(grid.scene.instances)
        self._cells.nx, self._cells.ny, self._cells.nz = (int(n) for n in grid.scene.size)
        self._tables = kernel.Tables()
        for name in ("role", "category", "boxes", "texels", "sky"):
            setattr(self._tables, name, self._put(getattr(table, name)))
        for name in ("cutout", "fused", "joins"):
            setattr(self._tables, name, self._put(getattr(table, name).astype(np.uint8)))
        for name in ("box_range", "page"):
            setattr(self._tables, name, self._put(getattr(table, name).astype(np.int32)))
        self._tables.liquid_top = wp.float64(LIQUID_TOP)

    def views(
        self, poses: ArrayLike, camera: Camera | Panorama, *, position: bool = False, out: Out = "numpy"
    ) -> Views:
        """Draw what N cameras see.

        Args:
            poses: Camera-to-world poses, (N, 4, 4), metres.
            camera: Size and kind of the images.
            position: Whether hit points are drawn as well.
            out: "numpy", copied back, or "torch", on the device.

        Returns:
            The views.

        Raises:
            ShapeError: The poses are not finite (N, 4, 4).
            UsageError: No room on the device.
        """
        lens = self._lens(camera)

        def paint(some: NDArray[np.float64], arrays: dict[str, Any]) -> None:
            seen = self._kernel.Pictures()
            for name, array in arrays.items():
                setattr(seen, name, array)
            inputs = [self._cells, self._tables, lens, self._put(some), seen]
            dim = len(some), camera.height, camera.width
            launch(self._wp, self._kernel.cast, dim, inputs, self._device)

        return draw(paint, as_poses(poses), camera, device=self._device, position=position, out=out)

    def _lens(self, camera: Camera | Panorama) -> Any:
        parts = rays_by_axis(camera)
        lens = self._kernel.Lens()
        lens.right, lens.ahead, lens.down = (self._put(one) for one in (parts.right, parts.ahead, parts.down))
        lens.scale = self._put(parts.scale.astype(np.float32))
        lens.forward = self._wp.float64(parts.forward)
        lens.view_m = VIEW_M
        lens.pixel_texels = np.float32(16 * parts.pixel)
        lens.sky_category = CATEGORIES.index("sky")
        return lens

    def _put(self, array: NDArray[Any]) -> Any:
        return self._wp.array(np.ascontiguousarray(array), device=self._device)
