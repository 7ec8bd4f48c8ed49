"""The voxel world on a GPU: many views at once, equal to those of `voxel.camera` but for rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldgauge.core.geometry import Camera, Panorama
from worldgauge.worlds.gpu.batch import DeviceBatch
from worldgauge.worlds.voxel.blocks import CATEGORIES, LIQUID_TOP
from worldgauge.worlds.voxel.camera import VIEW_M, Grid, materials, rays_by_axis


class VoxelBatch(DeviceBatch):
    """A world on a device. Build it once, draw from it often.

    Args:
        grid: The world.
        device: As `open_device` takes it.

    Raises:
        MissingExtraError: Warp is not installed.
        UsageError: There is no such device.
    """

    def __init__(self, grid: Grid, device: str) -> None:
        super().__init__(device)
        wp = self._wp
        from worldgauge.worlds.gpu.kernels import voxel as kernel

        self._kernel, self._kernels = kernel, (kernel.cast,)
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

    def _given(self, camera: Camera | Panorama) -> list[Any]:
        return [self._cells, self._tables, self._lens(camera)]

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
