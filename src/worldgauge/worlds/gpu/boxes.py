"""Box worlds (homes) on a GPU: many views at once, equal to those of `indoor.camera` but for rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, Panorama
from worldgauge.worlds.gpu.batch import DeviceBatch
from worldgauge.worlds.indoor._paint import SHADES
from worldgauge.worlds.indoor.camera import EDGE_OFFSETS, VIEW_M, BoxScene, pixel_of


class BoxBatch(DeviceBatch):
    """Boxes on a device. Build it once, draw from it often.

    Args:
        scene: The boxes.
        device: As `open_device` takes it.

    Raises:
        MissingExtraError: Warp is not installed.
        UsageError: There is no such device.
    """

    scratch = (np.int32,)

    def __init__(self, scene: BoxScene, device: str) -> None:
        super().__init__(device)
        wp = self._wp
        from worldgauge.worlds.gpu.kernels import boxes as kernel

        self._kernel, self._kernels = kernel, (kernel.cast, kernel.smooth)
        cells, looks = scene.cells, scene.looks
        self._cells, self._looks = kernel.Cells(), kernel.Looks()
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
        lens = self._kernel.Lens()
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
