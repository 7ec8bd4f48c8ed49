"""Box worlds (homes) on a GPU: many views at once, equal to those of `indoor.camera` but for rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.worlds.gpu.batch import DeviceBatch
from worldgauge.worlds.indoor._paint import SHADES
from worldgauge.worlds.indoor.camera import EDGE_OFFSETS, VIEW_M, BoxScene, pixel_of
from worldgauge.worlds.scan.camera import grid_of, scales_of
from worldgauge.worlds.scan.camera import pixel_of as scan_pixel_of
from worldgauge.worlds.scan.clusters import ScanScene
from worldgauge.worlds.voxel.blocks import CATEGORIES, LIQUID_TOP
from worldgauge.worlds.voxel.camera import VIEW_M as VOXEL_VIEW_M
from worldgauge.worlds.voxel.camera import Grid, materials, rays_by_axis


class BoxBatch(DeviceBatch):
    """Boxes on a device. Build it once, render from it often."""

    scratch = (np.int32,)

    def __init__(self, scene: BoxScene, device: str) -> None:
        super().__init__(device)
        wp = self._wp
        from worldgauge.worlds.gpu import kernels_boxes as kernel

        self._kernel, self._kernels = kernel, (kernel.cast, kernel.smooth)
        cells, looks = scene.cells, scene.looks
        self._cells, self._looks = kernel.DeviceBoxGrid(), kernel.DeviceBoxLooks()
        for name in ("boxes", "group_bounds", "items", "outer_items", "tallest"):
            setattr(self._cells, name, self._put(getattr(cells, name)))
        for name in ("group_first", "first", "outer_first"):
            setattr(self._cells, name, self._put(getattr(cells, name).astype(np.int32)))
        self._cells.nx, self._cells.ny = (int(n) for n in cells.shape)
        self._cells.corner_x, self._cells.corner_y = (wp.float64(x) for x in cells.origin)
        self._cells.cell_m = wp.float64(cells.cell_m)
        self._cells.floor, self._cells.ceiling = (wp.float64(z) for z in cells.air)
        for name in ("category", "instance", "pattern", "colours", "details", "face_seeds", "light"):
            setattr(self._looks, name, self._put(getattr(looks, name)))
        self._looks.shades = self._put(np.array(SHADES))
        self._looks.floor, self._looks.ceiling = (wp.float64(z) for z in looks.air)
        self._looks.light_x, self._looks.light_y = (wp.float64(x) for x in looks.light_origin)

    def _given(self, camera: Camera | Panorama) -> list[Any]:
        return [self._cells, self._looks, self._lens(camera)]

    def _lens(self, camera: Camera | Panorama) -> Any:
        parts = [_rays_by_axis(camera, *offset) for offset in ((0.0, 0.0), *EDGE_OFFSETS)]
        lens = self._kernel.BoxLens()
        for name, arrays in zip(("right", "ahead", "down", "scale"), zip(*parts, strict=True), strict=True):
            setattr(lens, name, self._put(np.stack(arrays)))
        lens.pixel, lens.limit = self._wp.float64(pixel_of(camera)), self._wp.float64(VIEW_M)
        return lens


def _rays_by_axis(camera: Camera | Panorama, du: float, dv: float) -> tuple[NDArray[Any], ...]:
    """What rays (du, dv) pixels off the middles have by column (right, ahead) and by row (down, scale)."""
    across, down = np.arange(camera.width) + 0.5, np.arange(camera.height) + 0.5
    if isinstance(camera, Panorama):
        azimuth = ((across + du) / camera.width - 0.5) * 2 * np.pi
        elevation = (0.5 - (down + dv) / camera.height) * np.pi
        return np.sin(azimuth), np.cos(azimuth), -np.sin(elevation), np.cos(elevation)
    right, below = (across - (camera.cx - du)) / camera.fx, (down - (camera.cy - dv)) / camera.fy
    return right, np.ones(camera.width), below, np.ones(camera.height)


# Scans on a GPU: many views at once, equal to those of `scan.rendering.camera` but for rounding.

ROOM_M = 1e-4
"""By how much the boxes of triangles are wider than these: a ray is compared with them in float32."""


class ScanBatch(DeviceBatch):
    """A scan on a device. Build it once, render from it often."""

    scratch = (np.int32, np.float64)

    def __init__(self, scene: ScanScene, device: str) -> None:
        super().__init__(device)
        wp = self._wp
        from worldgauge.worlds.gpu import kernels_scan as kernel

        if len(scene.texels) >= 2**31:
            raise UsageError(f"textures of {len(scene.texels)} texels are too large for a GPU, which counts to 2**31")
        self._kernel, self._kernels = kernel, (kernel.cast, kernel.smooth)
        triangles, textures = kernel.Triangles(), kernel.Textures()
        for name in ("corners", "rows", "tints", "material", "instance", "category"):
            setattr(triangles, name, self._put(getattr(scene, name)))
        for name in ("looks", "levels"):
            setattr(textures, name, self._put(getattr(scene, name).astype(np.int32)))
        textures.scales, textures.texels = self._put(scales_of(scene)), self._put(scene.texels)
        corners = scene.corners.reshape(-1, 3, 3)
        low, high = corners.min(1) - np.float32(ROOM_M), corners.max(1) + np.float32(ROOM_M)
        # Kept: the tree lives as long as this object does.
        self._tree = wp.Bvh(*(wp.array(one, dtype=wp.vec3, device=self._device) for one in (low, high)))
        triangles.tree = self._tree.id
        self._scene = triangles, textures

    def _given(self, camera: Camera | Panorama) -> list[Any]:
        return [*self._scene, self._lens(camera)]

    def _lens(self, camera: Camera | Panorama) -> Any:
        grid = grid_of(camera)
        lens = self._kernel.ScanLens()
        lens.across, lens.down = self._put(grid.across), self._put(grid.down)
        lens.fx, lens.fy = (self._wp.float64(focal) for focal in grid.lens[:2])
        lens.pixel = self._wp.float64(scan_pixel_of(camera))
        return lens


# The voxel world on a GPU: many views at once, equal to those of `voxel.camera` but for rounding.


class VoxelBatch(DeviceBatch):
    """A voxel world on a device. Build it once, render from it often."""

    def __init__(self, grid: Grid, device: str) -> None:
        super().__init__(device)
        wp = self._wp
        from worldgauge.worlds.gpu import kernels_voxel as kernel

        self._kernel, self._kernels = kernel, (kernel.cast,)
        table = materials(submerged=False)
        self._cells = kernel.DeviceVoxels()
        self._cells.states = self._put(grid.scene.states)
        self._cells.instances = self._put(grid.scene.instances)
        self._cells.nx, self._cells.ny, self._cells.nz = (int(n) for n in grid.scene.size)
        self._tables = kernel.DeviceMaterials()
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
        lens = self._kernel.VoxelLens()
        lens.right, lens.ahead, lens.down = (self._put(one) for one in (parts.right, parts.ahead, parts.down))
        lens.scale = self._put(parts.scale.astype(np.float32))
        lens.forward = self._wp.float64(parts.forward)
        lens.view_m = VOXEL_VIEW_M
        lens.pixel_texels = np.float32(16 * parts.pixel)
        lens.sky_category = CATEGORIES.index("sky")
        return lens
