"""The camera of scans: colour, depth, labels and positions.

Depth, category, instance and position are those of the ray through the pixel's centre. Colour is filtered: texture is
cut off at the pixel's footprint, and pixels on an edge average three rays. Arithmetic is float64 in a fixed order, so a
view has the same bits on every processor, whatever else runs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View
from worldgauge.worlds.scan.rendering import _cover, _shade
from worldgauge.worlds.scan.rendering._cover import Grid
from worldgauge.worlds.scan.rendering.clusters import Scene


def render(scene: Scene, pose: ArrayLike, camera: Camera | Panorama, *, position: bool = False) -> View:
    """Render a view. Safe to call from several threads.

    Where nothing is met, a hole of the scan, the colour is black, depth infinite, category and instance 0.

    Args:
        scene: The scene.
        pose: Camera-to-world pose (4, 4).
        camera: The camera.
        position: Also the world position of every pixel, metres.

    Returns:
        The view.

    Raises:
        ShapeError: The pose is not a finite (4, 4).
    """
    pose = np.asarray(pose, np.float64)
    if pose.shape != (4, 4) or not np.isfinite(pose).all():
        raise ShapeError(f"a camera needs one finite (4, 4) camera-to-world pose, got shape {pose.shape}")
    shape = camera.height, camera.width
    eye, turn = np.ascontiguousarray(pose[:3, 3]), np.ascontiguousarray(pose[:3, :3])
    grid = grid_of(camera)
    nearest = np.empty(len(scene.spheres))
    _cover.visible(scene.spheres, scene.cones, eye, turn, grid.lens, camera.width, camera.height, nearest)
    seen = np.flatnonzero(nearest < np.inf)
    order = seen[np.argsort(nearest[seen], kind="stable")]
    inverse, hit = np.zeros(shape), np.full(shape, -1, np.int32)
    _cover.cover(scene, order, nearest, eye, turn, grid, inverse, hit)
    rgb, depth = np.empty((*shape, 3), np.uint8), np.empty(shape, np.float32)
    category, instance = np.empty(shape, np.uint16), np.empty(shape, np.uint16)
    points = np.empty((*shape, 3) if position else (0, 0, 3), np.float32)
    pixel = 2 * np.pi / camera.width if isinstance(camera, Panorama) else 1 / min(camera.fx, camera.fy)
    _shade.shade(scene, hit, inverse, eye, turn, grid, pixel, rgb, depth, category, instance, points)
    _shade.smooth(scene, hit, inverse, eye, turn, grid, pixel, rgb)
    return View(rgb, depth, category, instance, points if position else None)


@lru_cache(maxsize=16)
def grid_of(camera: Camera | Panorama) -> Grid:
    """Rays of a camera, column by column and row by row."""
    columns, rows = np.arange(camera.width) + 0.5, np.arange(camera.height) + 0.5
    if isinstance(camera, Panorama):
        azimuth, elevation = (columns / camera.width - 0.5) * 2 * np.pi, (0.5 - rows / camera.height) * np.pi
        return Grid(np.stack(_sine_cosine(azimuth), -1), np.stack(_sine_cosine(elevation), -1), np.zeros(4))
    across, down = (columns - camera.cx) / camera.fx, (rows - camera.cy) / camera.fy
    lens = np.array([camera.fx, camera.fy, camera.cx, camera.cy], np.float64)
    return Grid(np.stack([across, np.zeros_like(across)], -1), np.stack([down, np.ones_like(down)], -1), lens)


def _sine_cosine(angle: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sine and cosine of angles from -pi to pi by their series; libraries round differently from machine to machine."""
    quarter = np.round(angle / (np.pi / 2))
    rest = angle - quarter * (np.pi / 2)
    square = rest * rest
    sine, cosine = np.ones_like(rest), np.ones_like(rest)
    for n in range(20, 0, -2):
        sine = 1 - square / (n * (n + 1)) * sine
        cosine = 1 - square / (n * (n - 1)) * cosine
    sine = rest * sine
    turn = quarter.astype(np.int64) % 4
    return (
        np.choose(turn, [sine, cosine, -sine, -cosine]),
        np.choose(turn, [cosine, -sine, -cosine, sine]),
    )
