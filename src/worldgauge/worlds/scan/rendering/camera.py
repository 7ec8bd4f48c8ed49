"""The camera of scans: colour, depth, labels and positions.

Depth, category, instance and position are those of the ray through the pixel's centre. Colour is filtered: texture is
cut off at the pixel's footprint, and pixels on an edge average three rays. Arithmetic is float64 in a fixed order, so a
view has the same bits on every processor, whatever else runs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.geometry import Camera, FloatArray, Panorama, camera_pose
from worldgauge.worlds import View
from worldgauge.worlds.scan.mesh import CLAMP, MIRROR
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
    eye, turn, grid, inverse, hit = _covered(scene, pose, camera)
    shape = camera.height, camera.width
    rgb, depth = np.empty((*shape, 3), np.uint8), np.empty(shape, np.float32)
    category, instance = np.empty(shape, np.uint16), np.empty(shape, np.uint16)
    points = np.empty((*shape, 3) if position else (0, 0, 3), np.float32)
    marks, edges = np.zeros(shape, np.uint8), np.empty(hit.size, np.int64)
    work = (
        scene,
        _shade.scales_of(scene),
        _shade.Lot.empty(),
        hit,
        inverse,
        eye,
        turn,
        grid,
        pixel_of(camera),
        marks,
        edges,
    )
    _shade.shade(*work, rgb, depth, category, instance, points)
    return View(rgb, depth, category, instance, points if position else None)


def meets(scene: Scene, pose: ArrayLike, camera: Camera | Panorama) -> NDArray[np.bool_]:
    """Whether the centre of each pixel (H, W) meets anything; see `render` for the arguments."""
    return _covered(scene, pose, camera)[4] >= 0


def texels_met(
    scene: Scene, pose: ArrayLike, camera: Camera | Panorama
) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """What each pixel's centre meets, without any filter: for textures whose colours are numbers.

    Args:
        scene: The scene.
        pose: Camera-to-world pose (4, 4).
        camera: The camera.

    Returns:
        (H, W) triangle, -1 for none; (H, W) RGBA of the nearest texel from the lowest byte, 0 where there is none.

    Raises:
        ShapeError: The pose is not a finite (4, 4).
    """
    eye, turn, _, inverse, hit = _covered(scene, pose, camera)
    met = hit >= 0
    points = eye + camera.rays()[met] @ turn.T / inverse[met][:, None]
    texels = np.zeros(hit.shape, np.uint32)
    texels[met] = texels_at(scene, hit[met], points)
    return hit, texels


def texels_at(scene: Scene, triangles: NDArray[np.int32], points: FloatArray) -> NDArray[np.uint32]:
    """RGBA (N,) from the lowest byte of the texel under each point.

    Args:
        scene: The scene.
        triangles: (N,) the triangle of each point.
        points: (N, 3) metres.

    Returns:
        The texels, 0 for triangles without a texture.
    """
    rows, look = scene.rows[triangles].astype(np.float64), scene.looks[scene.material[triangles]]
    off = points - rows[:, 12:15]
    level = scene.levels[np.maximum(look[:, 0], 0)] if len(scene.levels) else np.zeros((len(rows), 3), np.int64)
    place = level[:, 0].copy()
    for axis, stride in ((0, np.ones(len(rows), np.int64)), (1, level[:, 1])):
        column = 3 + 4 * axis
        at = np.floor(rows[:, column] + (rows[:, column + 1 : column + 4] * off).sum(1)).astype(np.int64)
        side, wrap = np.maximum(level[:, 1 + axis], 1), look[:, 2 + axis]
        mirrored = np.minimum(at % (2 * side), 2 * side - 1 - at % (2 * side))
        place += stride * np.select([wrap == CLAMP, wrap == MIRROR], [np.clip(at, 0, side - 1), mirrored], at % side)
    textured = look[:, 0] >= 0
    found = np.zeros(len(rows), np.uint32)
    found[textured] = scene.texels[place[textured]]
    return found


def _covered(
    scene: Scene, pose: ArrayLike, camera: Camera | Panorama
) -> tuple[FloatArray, FloatArray, Grid, FloatArray, NDArray[np.int32]]:
    """Eye, rotation, rays, and for each pixel 1 / distance and the triangle that is met."""
    pose = camera_pose(pose)
    shape = camera.height, camera.width
    eye, turn = np.ascontiguousarray(pose[:3, 3]), np.ascontiguousarray(pose[:3, :3])
    grid = grid_of(camera)
    nearest = np.empty(len(scene.spheres))
    _cover.visible(scene.spheres, scene.cones, eye, turn, grid.lens, camera.width, camera.height, nearest)
    seen = np.flatnonzero(nearest < np.inf)
    order = seen[np.argsort(nearest[seen], kind="stable")]
    inverse, hit = np.zeros(shape), np.full(shape, -1, np.int32)
    blocks = -(-camera.height // _cover.BLOCK), -(-camera.width // _cover.BLOCK)
    far, stale, box = np.zeros(blocks), np.zeros(blocks, np.uint8), np.empty(4, np.int64)
    _cover.cover(scene, order, nearest, eye, turn, grid, far, stale, box, inverse, hit)
    return eye, turn, grid, inverse, hit


def pixel_of(camera: Camera | Panorama) -> float:
    """Size of a pixel at distance 1."""
    return 2 * np.pi / camera.width if isinstance(camera, Panorama) else 1 / min(camera.fx, camera.fy)


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
