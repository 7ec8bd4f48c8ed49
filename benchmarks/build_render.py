"""A 512x512 picture of a hollow 20x20x20 build on one core: ours beside a plain numpy z-buffer, turn by turn."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.worlds.blocks.blueprint import AIR, Blueprint
from worldgauge.worlds.blocks.mesh import Mesh, mesh_of
from worldgauge.worlds.blocks.render import BACKGROUND, LINE_STRENGTH, SAMPLES, in_world, render, shades_of
from worldgauge.worlds.blocks.views import AROUND_FOV_DEG, pose_around

SIDE, SIZE_PX = 20, 512
GOAL_MS = 150.0
ROUNDS, OURS_A_ROUND = 5, 5
LEAST_ALIKE = 0.98


def run() -> dict[str, Any]:
    """The reference draws one point a pixel and no lines, ours SAMPLES x SAMPLES; both cull hidden faces first."""
    build = hollow(SIDE)
    pose, camera = pose_around(build, 45.0, 30.0), Camera.from_vertical_fov(SIZE_PX, SIZE_PX, AROUND_FOV_DEG)
    picture, other = render(mesh_of(build), pose, camera), numpy_picture(mesh_of(build), pose, camera)
    # Our lines along edges darken a face by LINE_STRENGTH at most.
    alike = float((np.abs(picture.astype(int) - other) <= 1 + LINE_STRENGTH * other).all(-1).mean())
    ours, reference = [], []
    for _ in range(ROUNDS):
        ours += [_ms(lambda: render(mesh_of(build), pose, camera)) for _ in range(OURS_A_ROUND)]
        reference.append(_ms(lambda: numpy_picture(mesh_of(build), pose, camera)))
    one, two = statistics.median(ours), statistics.median(reference)
    return {
        "name": "build_render",
        "unit": f"processor ms a {SIZE_PX}x{SIZE_PX} picture of a hollow {SIDE}^3 with its mesh, one core, median",
        "ours": round(one, 1),
        "reference": round(two, 1),
        "reference_name": "numpy z-buffer, a face at a time, one point a pixel",
        "ratio": round(two / one, 2),
        "faces": len(mesh_of(build).quads),
        "points_a_pixel": {"ours": SAMPLES**2, "reference": 1},
        "alike": round(alike, 4),
        "goal": f"<= {GOAL_MS:g} ms",
        "met": one <= GOAL_MS and alike >= LEAST_ALIKE,
    }


def hollow(side: int) -> Blueprint:
    """A hollow cube of stone."""
    cells = np.ones((side, side, side), np.int32)
    cells[1:-1, 1:-1, 1:-1] = AIR
    return Blueprint(cells, ("stone",))


def numpy_picture(mesh: Mesh, pose: FloatArray, camera: Camera) -> np.ndarray:
    """Faces in front of the camera as plain numpy draws them: each over its own box of pixels."""
    corners = (in_world(mesh.quads) - pose[:3, 3]) @ pose[:3, :3]
    pixels, _ = camera.project(corners)
    colours = mesh.colours[:, :3] * shades_of(mesh)[:, None]
    depth = np.full((camera.height, camera.width), np.inf)
    picture = np.tile(np.array(BACKGROUND, np.uint8), (camera.height, camera.width, 1))
    rays = camera.rays()
    for quad, corner, colour in zip(pixels, corners, colours, strict=True):
        edges = np.roll(quad, -1, 0) - quad
        if edges[0, 0] * edges[1, 1] - edges[0, 1] * edges[1, 0] >= 0:
            continue  # seen from behind
        left, top = np.clip(np.floor(quad.min(0)).astype(int), 0, (camera.width, camera.height))
        right, bottom = np.clip(np.ceil(quad.max(0)).astype(int) + 1, 0, (camera.width, camera.height))
        u, v = np.meshgrid(np.arange(left, right) + 0.5, np.arange(top, bottom) + 0.5)
        inside = np.ones(u.shape, bool)
        for start, edge in zip(quad, edges, strict=True):
            inside &= edge[0] * (v - start[1]) - edge[1] * (u - start[0]) <= 0
        normal = np.cross(corner[1] - corner[0], corner[2] - corner[0])
        window = slice(top, bottom), slice(left, right)
        with np.errstate(divide="ignore"):
            z = (normal @ corner[0]) / (rays[window] @ normal)
        nearer = inside & (z < depth[window])
        depth[window][nearer] = z[nearer]
        picture[window][nearer] = (colour + 0.5).astype(np.uint8)
    return picture


def _ms(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)
