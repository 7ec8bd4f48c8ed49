"""Scans on a GPU: many views at once, equal to those of `scan.rendering.camera` but for rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.worlds.gpu.batch import DeviceBatch
from worldgauge.worlds.scan.camera import grid_of, pixel_of, scales_of
from worldgauge.worlds.scan.clusters import Scene

ROOM_M = 1e-4
"""By how much the boxes of triangles are wider than these: a ray is compared with them in float32."""


class ScanBatch(DeviceBatch):
    """A scan on a device. Build it once, draw from it often.

    Args:
        scene: Its triangles and textures.
        device: As `open_device` takes it.

    Raises:
        MissingExtraError: Warp is not installed.
        UsageError: There is no such device, or the textures are larger than an array of Warp.
    """

    scratch = (np.int32, np.float64)

    def __init__(self, scene: Scene, device: str) -> None:
        super().__init__(device)
        wp = self._wp
        from worldgauge.worlds.gpu.kernels import scan as kernel
        from worldgauge.worlds.gpu.kernels import texels

        if len(scene.texels) >= 2**31:
            raise UsageError(f"textures of {len(scene.texels)} texels are too large for a GPU, which counts to 2**31")
        self._kernel, self._kernels = kernel, (kernel.cast, kernel.smooth)
        triangles, textures = kernel.Triangles(), texels.Textures()
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
        lens = self._kernel.Lens()
        lens.across, lens.down = self._put(grid.across), self._put(grid.down)
        lens.fx, lens.fy = (self._wp.float64(focal) for focal in grid.lens[:2])
        lens.pixel = self._wp.float64(pixel_of(camera))
        return lens
