"""The ray-cast camera of box worlds: colour, depth, labels and positions, exact to the pixel.

Depth, category, instance and position are those of the ray through the pixel's centre. Colour is filtered: texture is
cut off at the pixel's footprint, and pixels on an edge average three rays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.geometry import Camera, FloatArray, Panorama, camera_pose
from worldgauge.worlds import View
from worldgauge.worlds.indoor import _paint
from worldgauge.worlds.indoor._paint import BoxGrid, BoxLooks
from worldgauge.worlds.indoor.boxes import Boxes

VIEW_M = 100.0
"""How far the camera sees; what is farther is void."""

CELL_M = 0.6
"""Side of the cells of the ray-caster's grid."""

EDGE_OFFSETS = ((-0.33, 0.33), (0.33, -0.33))
"""Where the two further rays of a pixel on an edge go, pixels off its centre."""


@dataclass(frozen=True)
class BoxScene:
    """Boxes laid out for the kernels; build it once a world, share it between threads."""

    boxes: Boxes
    cells: BoxGrid
    looks: BoxLooks

    @classmethod
    def of(
        cls, boxes: Boxes, air: tuple[float, float] | None = None, light: NDArray[np.float32] | None = None
    ) -> BoxScene:
        """Prepare boxes for rendering. One `air` (z of floor and ceiling) for all rooms is faster.
        `light` is the brightness of floors (X, Y) at 5 cm from the lower corner of all boxes."""
        return cls(boxes, _cells(boxes, air), _looks(boxes, air, light))


def render(scene: BoxScene, pose: ArrayLike, camera: Camera | Panorama, *, position: bool = False) -> View:
    """Render a view. A box that the camera is inside of is not drawn.
    If a ray meets nothing, the colour is black, depth infinite, category and instance 0."""
    pose = camera_pose(pose)
    shape = camera.height, camera.width
    origin, rotation = np.ascontiguousarray(pose[:3, 3]), np.ascontiguousarray(pose[:3, :3])
    pixel = pixel_of(camera)
    rays = _rays(camera, 0.0, 0.0)
    depth, box, face, rgb, category, instance = _seen(scene, origin, rotation, rays, pixel)
    edges = _edges((box * np.int32(8) + face).reshape(shape)).reshape(-1)
    if len(edges):
        beside = np.concatenate([_rays(camera, du, dv)[edges] for du, dv in EDGE_OFFSETS])
        around = _seen(scene, origin, rotation, beside, pixel).rgb.reshape(len(EDGE_OFFSETS), -1, 3)
        total = rgb[edges] + around.sum(0, dtype=np.uint16)
        rgb[edges] = (2 * total + 3) // 6
    points = None
    if position:
        met = np.where(box >= 0, depth, np.nan)
        points = (origin + met[:, None] * (rays @ rotation.T)).astype(np.float32).reshape(*shape, 3)
    return View(
        rgb.reshape(*shape, 3),
        depth.astype(np.float32).reshape(shape),
        category.reshape(shape),
        instance.reshape(shape),
        points,
    )


def pixel_of(camera: Camera | Panorama) -> float:
    """Size of a pixel at depth 1."""
    return 2 * np.pi / camera.width if isinstance(camera, Panorama) else 1 / min(camera.fx, camera.fy)


def light_of(occupied: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Brightness (X, Y) of a floor whose cells of 5 cm are `occupied` or not: darker close to what stands on it."""
    import cv2

    near = cv2.GaussianBlur(occupied.astype(np.float32), (0, 0), 4.0)
    return np.asarray(1.04 - 0.45 * near, np.float32)


class _Seen(NamedTuple):
    """What rays (N,) meet."""

    depth: FloatArray
    box: NDArray[np.int32]
    face: NDArray[np.uint8]
    rgb: NDArray[np.uint8]
    category: NDArray[np.uint16]
    instance: NDArray[np.uint16]


def _seen(scene: BoxScene, origin: FloatArray, rotation: FloatArray, rays: FloatArray, pixel: float) -> _Seen:
    n = len(rays)
    seen = _Seen(
        *(np.empty(n, np.float64), np.empty(n, np.int32), np.empty(n, np.uint8)),
        *(np.empty((n, 3), np.uint8), np.empty(n, np.uint16), np.empty(n, np.uint16)),
    )
    met = seen.depth, seen.box, seen.face
    _paint.meet(scene.cells, origin, rotation, rays, VIEW_M, *met)
    _paint.paint(scene.looks, origin, rotation, rays, pixel, *met, seen.rgb, seen.category, seen.instance)
    return seen


@lru_cache(maxsize=16)
def _rays(camera: Camera | Panorama, du: float, dv: float) -> FloatArray:
    """Rays (H * W, 3) of `camera` in its own frame through points (du, dv) pixels off the pixels' centres."""
    if isinstance(camera, Panorama):
        azimuth = ((np.arange(camera.width) + 0.5 + du) / camera.width - 0.5) * 2 * np.pi
        elevation = (0.5 - (np.arange(camera.height) + 0.5 + dv) / camera.height) * np.pi
        a, e = np.meshgrid(azimuth, elevation)
        rays = np.stack([np.cos(e) * np.sin(a), -np.sin(e), np.cos(e) * np.cos(a)], -1)
    else:
        shifted = Camera(camera.width, camera.height, camera.fx, camera.fy, camera.cx - du, camera.cy - dv)
        rays = shifted.rays()
    return np.ascontiguousarray(rays.reshape(-1, 3))


def _edges(keys: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where a pixel's right or lower, left or upper neighbour shows another face: indices into the flat image."""
    differs = np.zeros(keys.shape, np.bool_)
    across, down = keys[:, 1:] != keys[:, :-1], keys[1:] != keys[:-1]
    differs[:, 1:] |= across
    differs[:, :-1] |= across
    differs[1:] |= down
    differs[:-1] |= down
    found: NDArray[np.int64] = np.flatnonzero(differs)
    return found


def _looks(boxes: Boxes, air: tuple[float, float] | None, light: NDArray[np.float32] | None) -> BoxLooks:
    low = boxes.bounds[:, :2].min(0)
    return BoxLooks(
        boxes.bounds,
        boxes.category,
        boxes.instance,
        boxes.pattern,
        boxes.colours,
        boxes.details,
        boxes.face_seeds,
        np.array(air if air is not None else (-np.inf, np.inf), np.float32),
        np.ones((1, 1), np.float32) if light is None else np.ascontiguousarray(light, np.float32),
        low,
    )


def _cells(boxes: Boxes, air: tuple[float, float] | None) -> BoxGrid:
    # One after the other, the boxes of an object are a group; those of the building stand alone.
    starts = np.ones(len(boxes), np.bool_)
    starts[1:] = (boxes.instance[1:] != boxes.instance[:-1]) | (boxes.instance[1:] == 0)
    first = np.flatnonzero(starts)
    bounds = np.concatenate(
        [np.minimum.reduceat(boxes.bounds[:, :3], first), np.maximum.reduceat(boxes.bounds[:, 3:], first)], 1
    )
    origin = bounds[:, :2].min(0)
    shape = np.maximum(np.ceil((bounds[:, 3:5].max(0) - origin) / CELL_M).astype(np.int64), 1)
    z0, z1 = air if air is not None else (-np.inf, np.inf)
    outer = (bounds[:, 5] <= z0) | (bounds[:, 2] >= z1)
    # A hair wider: a ray on the border between two cells finds the box in either.
    first_cell = np.clip(np.floor((bounds[:, :2] - 1e-6 - origin) / CELL_M).astype(np.int64), 0, shape - 1)
    last_cell = np.clip(np.floor((bounds[:, 3:5] + 1e-6 - origin) / CELL_M).astype(np.int64), 0, shape - 1)
    lists: list[list[list[int]]] = [[[] for _ in range(int(shape.prod()))] for _ in range(2)]
    tallest = np.full(int(shape.prod()), -np.inf)
    for g in range(len(bounds)):
        for i in range(first_cell[g, 0], last_cell[g, 0] + 1):
            for j in range(first_cell[g, 1], last_cell[g, 1] + 1):
                c = int(i * shape[1] + j)
                lists[int(outer[g])][c].append(g)
                if not outer[g]:
                    tallest[c] = max(tallest[c], bounds[g, 5])
    group_first = np.append(first, len(boxes)).astype(np.int64)
    (held, items), (outer_held, outer_items) = (_packed(some) for some in lists)
    height = np.array([z0, z1])
    return BoxGrid(
        *(boxes.bounds, group_first, bounds, held, items, outer_held, outer_items, tallest),
        *(origin, CELL_M, shape, height),
    )


def _packed(lists: list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Lists one after the other, and where each begins."""
    first = np.concatenate([[0], np.cumsum([len(items) for items in lists])]).astype(np.int64)
    return first, np.array([n for items in lists for n in items], np.int32)
