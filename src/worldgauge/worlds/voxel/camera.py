"""The ray-cast camera of the voxel world: colour, depth, labels and positions, exact to the pixel.

A pixel shows the nearest face its centre ray meets: no fog, no blending, no entities. A pane reaches out to
those of its four sides where a full block or another pane stands.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera, Panorama, camera_pose
from worldgauge.worlds import View
from worldgauge.worlds.voxel import _raycast as kernel
from worldgauge.worlds.voxel._raycast import FrameArrays, Materials, Rays, VoxelScene
from worldgauge.worlds.voxel.blocks import (
    CATEGORIES,
    CATEGORY_OF,
    LIQUID,
    LIQUID_TOP,
    SHAPE_OF,
    SHAPES,
    STATES,
    Box,
    boxes_of,
)
from worldgauge.worlds.voxel.textures import FACE_GROUP, SHADES, TEXELS, TEXTURE_OF, mipmaps, sky_colours
from worldgauge.worlds.voxel.world import VoxelWorld

VIEW_M = 96.0
"""How far the camera sees; what is farther is sky."""


@dataclass(frozen=True)
class Grid:
    """A world laid out for the kernel; build it once a world, share it between threads."""

    scene: VoxelScene

    @classmethod
    def of(cls, world: VoxelWorld) -> Grid:
        """Lay out `world` for the kernel, without empty top layers, so that rays to the sky end early."""
        filled = np.flatnonzero(world.states.any(axis=(0, 1)))
        height = int(filled[-1]) + 1 if len(filled) else 1
        cells = (world.shape[0] + 2) * (world.shape[1] + 2) * (height + 2)
        if cells >= 2**31:
            raise WorldError(f"a world of {cells} cells is too large for the camera, which numbers fewer than 2**31")
        states = np.pad(world.states[:, :, :height], 1, constant_values=kernel.END_STATE)
        instances = np.pad(world.instances[:, :, :height].astype(np.uint16, copy=False), 1)
        size = np.array([*world.shape[:2], height], np.int64)
        return cls(VoxelScene(states.reshape(-1), instances.reshape(-1), size))

    def state_at(self, position: ArrayLike) -> int:
        """State of the cell that holds a point (3,), 0 outside the world."""
        cell = np.floor(np.asarray(position, np.float64)).astype(np.int64)
        if (cell < 0).any() or (cell >= self.scene.size).any():
            return 0
        padded = tuple(int(n) + 2 for n in self.scene.size)
        return int(self.scene.states.reshape(padded)[tuple(cell + 1)])


def render(
    grid: Grid,
    pose: ArrayLike,
    camera: Camera | Panorama,
    *,
    view_m: float = VIEW_M,
    position: bool = False,
    threads: int = 1,
) -> View:
    """Render what a camera sees, to `view_m` along the ray. The bytes are the same for any number of threads.
    A full block that contains the camera is not drawn, nor is any liquid while it is under water. From outside the
    world, rays enter through its sides."""
    pose = camera_pose(pose)
    rays = _rays(pose, camera, view_m)
    shape = camera.height, camera.width
    frame = FrameArrays(
        np.empty((*shape, 3), np.uint8),
        np.empty(shape, np.float32),
        np.empty(shape, np.uint16),
        np.empty(shape, np.uint16),
        np.empty((*shape, 3) if position else (0, 0, 3), np.float32),
    )
    seen = materials(submerged=_submerged(grid, pose[:3, 3]))
    if threads == 1:
        kernel.cast(grid.scene, seen, rays, frame, 0, camera.height)
    else:
        # More bands than threads: rows of sky are done sooner than rows of leaves.
        edges = np.linspace(0, camera.height, 4 * threads + 1).astype(int).tolist()
        with ThreadPoolExecutor(threads) as pool:
            done = pool.map(lambda band: kernel.cast(grid.scene, seen, rays, frame, *band), pairwise(edges))
            list(done)
    return View(frame.rgb, frame.depth, frame.category, frame.instance, frame.position if position else None)


@lru_cache(maxsize=2)
def materials(*, submerged: bool) -> Materials:
    """The block table as the kernel wants it."""
    roles = {"empty": kernel.AIR, "cross": kernel.CROSS, "pane": kernel.PANE}
    roles["liquid"] = kernel.AIR if submerged else kernel.LIQUID
    n = len(STATES)
    role = np.full(256, kernel.AIR, np.uint8)
    cutout, fused, joins = (np.zeros(256, np.bool_) for _ in range(3))
    category = np.zeros(256, np.uint16)
    category[:n] = CATEGORY_OF
    box_range = np.zeros((256, 2), np.int64)
    boxes: list[Box] = []
    clear = (TEXELS[..., 3] == 0).any(axis=(1, 2))
    for state in range(n):
        shape = SHAPES[SHAPE_OF[state]]
        cutout[state] = shape != "empty" and clear[TEXTURE_OF[state]].any()
        solid_cube = shape == "cube" and not cutout[state]
        role[state] = kernel.OPAQUE if solid_cube else roles.get(shape, kernel.BOXES)
        fused[state] = shape == "cube"
        joins[state] = shape in ("cube", "pane")
        own = boxes_of(state)
        box_range[state] = len(boxes), len(boxes) + len(own)
        boxes += own
    role[kernel.END_STATE] = kernel.END
    page, texels = _pages()
    return Materials(
        role,
        cutout,
        fused,
        joins,
        category,
        box_range,
        np.array(boxes, np.float32),
        page,
        texels,
        _packed(sky_colours(256)),
    )


def _pages() -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """First texel (256, 7) of every state and face, and the lit texels: 341 a page, all sizes."""
    levels = mipmaps(TEXELS)
    page = np.zeros((256, 7), np.int64)
    pages: dict[tuple[int, int], int] = {}
    texels: list[NDArray[np.uint32]] = []
    for state in range(len(STATES)):
        for face in range(7):
            texture = int(TEXTURE_OF[state, FACE_GROUP[face]])
            if (texture, face) not in pages:
                pages[texture, face] = 341 * len(pages)
                texels += [_packed(level[texture].reshape(-1, 4), float(SHADES[face])) for level in levels]
            page[state, face] = pages[texture, face]
    return page, np.concatenate(texels)


def _packed(colours: NDArray[np.uint8], shade: float = 1.0) -> NDArray[np.uint32]:
    """RGB or RGBA (n, 3 or 4) as one integer each, red in the low byte, times `shade`."""
    rgb = np.rint(colours[:, :3] * shade).astype(np.uint32)
    alpha = colours[:, 3].astype(np.uint32) if colours.shape[1] == 4 else np.uint32(255)
    packed: NDArray[np.uint32] = rgb[:, 0] | rgb[:, 1] << 8 | rgb[:, 2] << 16 | alpha << 24
    return packed


def _rays(pose: NDArray[np.float64], camera: Camera | Panorama, view_m: float) -> Rays:
    """Every pixel's ray as a part of its column and a part of its row."""
    rotation, origin = pose[:3, :3], pose[:3, 3]
    parts = rays_by_axis(camera)
    if isinstance(camera, Panorama):
        columns = np.stack([parts.right, np.zeros_like(parts.right), parts.ahead], -1) @ rotation.T
        rows = parts.down[:, None] * rotation[:, 1]
    else:
        columns = parts.right[:, None] * rotation[:, 0]
        rows = parts.down[:, None] * rotation[:, 1] + rotation[:, 2]
    cell = np.floor(origin)
    return Rays(
        columns.astype(np.float32),
        rows.astype(np.float32),
        parts.scale.astype(np.float32),
        cell.astype(np.int64),
        (origin - cell).astype(np.float32),
        np.float32(view_m),
        np.float32(16 * parts.pixel),
        np.uint16(CATEGORIES.index("sky")),
    )


class RayParts(NamedTuple):
    """Rays of a camera in its own frame: (right[u] * scale[v], down[v], ahead[u] * scale[v] + forward), float64."""

    right: NDArray[np.floating[Any]]
    ahead: NDArray[np.floating[Any]]
    down: NDArray[np.floating[Any]]
    scale: NDArray[np.floating[Any]]
    forward: float
    pixel: float  # size of a pixel at depth 1


def rays_by_axis(camera: Camera | Panorama) -> RayParts:
    """What the rays of a camera have by column and by row."""
    if isinstance(camera, Panorama):
        azimuth = ((np.arange(camera.width) + 0.5) / camera.width - 0.5) * 2 * np.pi
        elevation = (0.5 - (np.arange(camera.height) + 0.5) / camera.height) * np.pi
        parts = np.sin(azimuth), np.cos(azimuth), -np.sin(elevation), np.cos(elevation)
        return RayParts(*parts, 0.0, 2 * np.pi / camera.width)
    right = (np.arange(camera.width) + 0.5 - camera.cx) / camera.fx
    down = (np.arange(camera.height) + 0.5 - camera.cy) / camera.fy
    return RayParts(right, np.zeros(camera.width), down, np.ones(camera.height), 1.0, 1 / camera.fx)


def _submerged(grid: Grid, origin: NDArray[np.float64]) -> bool:
    """Whether a point is below the surface of a liquid."""
    if not LIQUID[grid.state_at(origin)]:
        return False
    return bool(LIQUID[grid.state_at(origin + np.array([0.0, 0.0, 1.0]))] or origin[2] % 1 < LIQUID_TOP)
