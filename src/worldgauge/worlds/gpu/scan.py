"""Scans on a GPU: many views at once, equal to those of `scan.rendering.camera` but for rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.worlds.gpu.batch import Out, Views, as_poses, draw, launch, open_device, warp_for
from worldgauge.worlds.scan.rendering._shade import scales_of
from worldgauge.worlds.scan.rendering.camera import grid_of, pixel_of
from worldgauge.worlds.scan.rendering.clusters import Scene

ROOM_M = 1e-4
"""By how much the boxes of triangles are wider than these: a ray is compared with them in float32."""


class ScanBatch:
    """A scan on a device. Build it once, draw from it often.

    Args:
        scene: Its triangles and textures.
        device: As `open_device` takes it.

    Raises:
        MissingExtraError: Warp is not installed.
        UsageError: There is no such device, or the textures are larger than an array of Warp.
    """

    def __init__(self, scene: Scene, device: str) -> None:
        self._wp = wp = warp_for("drawing views in batches")
        self._device = open_device(device)
        from worldgauge.worlds.gpu.kernels import scan as kernel
        from worldgauge.worlds.gpu.kernels import texels

        if len(scene.texels) >= 2**31:
            raise UsageError(f"textures of {len(scene.texels)} texels are too large for a GPU, which counts to 2**31")
        self._kernel = kernel
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
            inputs = [*self._scene, lens, self._put(some), seen]
            for kernel in (self._kernel.cast, self._kernel.smooth):
                launch(self._wp, kernel, (len(some), camera.height, camera.width), inputs, self._device)

        scratch: dict[str, type[np.generic]] = {"hit": np.int32, "inverse": np.float64}
        return draw(paint, as_poses(poses), camera, device=self._device, position=position, out=out, scratch=scratch)

    def _lens(self, camera: Camera | Panorama) -> Any:
        grid = grid_of(camera)
        lens = self._kernel.Lens()
        lens.across, lens.down = self._put(grid.across), self._put(grid.down)
        lens.fx, lens.fy = (self._wp.float64(focal) for focal in grid.lens[:2])
        lens.pixel = self._wp.float64(pixel_of(camera))
        return lens

    def _put(self, array: NDArray[Any]) -> Any:
        return self._wp.array(np.ascontiguousarray(array), device=self._device)
