"""Pictures of meshes: a z-buffer without a game, the same bytes for the same input.

Faces are drawn in homogeneous coordinates (Olano and Greer 1997), so nothing is cut at the near plane and a camera may
stand inside of a build. Every pixel is SAMPLES x SAMPLES points; translucent faces are sorted at each point.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.worlds.blocks import _raster
from worldgauge.worlds.blocks._parts import UNITS
from worldgauge.worlds.blocks.mesh import Mesh

BACKGROUND = (222, 230, 238)
SAMPLES = 3
"""Points a pixel across and down."""

BAND_PX = 16
"""Rows drawn at a time, so that the lists of translucent faces stay small."""

CHUNK = 2**16
NEAR_M = 0.05
SHADES = {"x": 0.72, "up": 1.0, "down": 0.5, "z": 0.86, "sheet": 0.92}
"""Brightness of faces by where they look."""

LINE_PX = 0.75
"""Half the width of the darker line along a face's edge."""

LINE_STRENGTH = 0.22
FAINT_PX, CLEAR_PX = 5.0, 20.0
"""Sizes of faces in the picture between which lines come in; on smaller ones they would be all there is to see."""


def render(
    mesh: Mesh, pose: ArrayLike, camera: Camera, background: tuple[int, int, int] = BACKGROUND
) -> NDArray[np.uint8]:
    """What `camera` sees of `mesh` from camera-to-world `pose` (4, 4): (height, width, 3) uint8 RGB.

    World frame: z up, metres; the cell [y][z][x] of the blueprint fills x to x + 1 east, -(z + 1) to -z north and y to
    y + 1 up. What is nearer than NEAR_M is not drawn, and faces only from the side they look to.
    Raises ShapeError on a pose that is not a finite (4, 4).
    """
    pose = np.asarray(pose, np.float64)
    if pose.shape != (4, 4) or not np.isfinite(pose).all():
        raise ShapeError(f"a camera needs one finite (4, 4) camera-to-world pose, got shape {pose.shape}")
    planes, boxes, seen = _faces(mesh, pose, camera)
    colours = mesh.colours[seen, :3] * shades_of(mesh)[seen, None]
    opacity = mesh.colours[seen, 3] / 255.0
    lines = np.array([LINE_PX, LINE_STRENGTH, FAINT_PX, CLEAR_PX])
    ground = np.array(background, np.float64)
    picture = np.empty((camera.height, camera.width, 3), np.uint8)
    for top in range(0, camera.height, BAND_PX):
        band = picture[top : top + BAND_PX]
        _raster.draw(planes, boxes, colours, opacity, lines, ground, 1 / NEAR_M, top, SAMPLES, band)
    return picture


def _faces(mesh: Mesh, pose: FloatArray, camera: Camera) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Equations and boxes of the faces that may be seen, and which these are; some at a time, for memory's sake."""
    lens = np.array([camera.fx, camera.fy, camera.cx, camera.cy])
    planes, boxes, seen = [np.empty((0, 5, 3))], [np.empty((0, 4))], [np.empty(0, np.int64)]
    for start in range(0, len(mesh.quads), CHUNK):
        quads = mesh.quads[start : start + CHUNK]
        corners = np.ascontiguousarray((in_world(quads) - pose[:3, 3]) @ pose[:3, :3])
        two_sided = mesh.two_sided[start : start + CHUNK]
        equations, frames = _raster.planes(corners, two_sided, lens, camera.width, camera.height, NEAR_M)
        kept = np.flatnonzero(frames[:, 2] > frames[:, 0])
        planes.append(equations[kept])
        boxes.append(frames[kept])
        seen.append(kept + start)
    return np.concatenate(planes), np.concatenate(boxes), np.concatenate(seen)


def in_world(quads: NDArray[np.int16]) -> FloatArray:
    """Corners (..., 3) of a mesh in metres of the world frame: east, north, up."""
    return quads[..., [0, 2, 1]] * (np.array([1.0, -1.0, 1.0]) / UNITS)


def shades_of(mesh: Mesh) -> FloatArray:
    """Brightness (n,) of the faces by the side that they look to."""
    corners = mesh.quads.astype(np.int64)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    axis = np.abs(normals).argmax(1)
    upward = np.where(normals[:, 1] > 0, SHADES["up"], SHADES["down"])
    shades = np.choose(axis, [np.full(len(axis), SHADES["x"]), upward, np.full(len(axis), SHADES["z"])])
    return np.where(mesh.two_sided, SHADES["sheet"], shades)
