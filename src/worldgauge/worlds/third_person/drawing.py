"""The figure drawn into a view: one ray a pixel, the same rays as the world's, nearest hit in front."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View
from worldgauge.worlds.third_person.figure import figure, frames_of, phase_at

_NEAR_M = 0.05
_SUN = np.array([-0.35, 0.45, 0.82]) / np.linalg.norm([-0.35, 0.45, 0.82])


def draw_figure(
    view: View, pose: FloatArray, camera: Camera | Panorama, feet: FloatArray, label: tuple[int, int]
) -> None:
    """Draw the figure into a view, in place. Pixels nearer than the figure stay.

    Args:
        view: The view.
        pose: Camera-to-world pose (4, 4); the figure has its heading.
        camera: The camera.
        feet: (3,) metres.
        label: Category and instance of the figure.
    """
    heading = math.atan2(pose[1, 2], pose[0, 2])
    c, s = math.cos(heading), math.sin(heading)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    parts = figure(phase_at(feet[:2]))
    origins, axes, lengths = frames_of(parts)
    # From the camera's frame to each part's own, in which it is a capsule of radius 1 along z.
    to_part = np.linalg.inv(turn @ axes)
    origins = feet + origins @ turn.T
    starts = np.einsum("pij,pj->pi", to_part, pose[:3, 3] - origins)
    bends = to_part @ pose[:3, :3]
    windows = _windows(camera, pose, origins, turn @ axes, lengths)
    shown = (windows[:, 0] < windows[:, 1]) & (windows[:, 2] < windows[:, 3])
    if not shown.any():
        return
    top, bottom = int(windows[shown, 0].min()), int(windows[shown, 1].max())
    left, right = int(windows[shown, 2].min()), int(windows[shown, 3].max())
    rays = _rays(camera, top, bottom, left, right)
    colours = np.array([part.colour for part in parts], np.float64)
    corner = slice(top, bottom), slice(left, right)
    position = np.empty((0, 0, 3), np.float32) if view.position is None else view.position[corner]
    _paint(
        rays, windows[shown] - np.array([top, top, left, left]),
        starts[shown], bends[shown], lengths[shown], to_part[shown], colours[shown], pose, _SUN,
        view.rgb[corner], view.depth[corner], view.category[corner], view.instance[corner], position, *label,
    )  # fmt: skip


def _windows(
    camera: Camera | Panorama, pose: FloatArray, origins: FloatArray, axes: FloatArray, lengths: FloatArray
) -> NDArray[np.int64]:
    """Rows [0, 1) and columns [2, 3) of the picture (P, 4) outside of which a part cannot be seen."""
    height, width = camera.height, camera.width
    whole = np.array([0, height, 0, width])
    if isinstance(camera, Panorama):
        return np.tile(whole, (len(origins), 1))
    corner = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)
    local = np.tile(corner, (len(origins), 1, 1))
    local[:, corner[:, 2] > 0, 2] += lengths[:, None]
    world = origins[:, None] + np.einsum("pij,pcj->pci", axes, local)
    pixels, depth = camera.project((world - pose[:3, 3]) @ pose[:3, :3])
    low, high = np.floor(pixels.min(1)), np.ceil(pixels.max(1))
    found: FloatArray = np.stack([low[:, 1], high[:, 1], low[:, 0], high[:, 0]], -1)
    found[~np.asarray(depth > _NEAR_M).all(1)] = whole
    found[np.asarray(depth <= 0).all(1)] = 0
    return np.clip(found, 0, np.array([height, height, width, width])).astype(np.int64)


def _rays(camera: Camera | Panorama, top: int, bottom: int, left: int, right: int) -> FloatArray:
    """Directions (rows, columns, 3) of a window's pixel centres, camera frame; depth is their parameter."""
    if isinstance(camera, Panorama):
        return camera.rays()[top:bottom, left:right]
    window = Camera(right - left, bottom - top, camera.fx, camera.fy, camera.cx - left, camera.cy - top)
    return window.rays()


@njit(cache=True, nogil=True, error_model="numpy")
def _paint(  # type: ignore[no-untyped-def]
    rays, windows, starts, bends, lengths, to_part, colours, pose, sun,
    rgb, depth, category, instance, position, label, number,
):  # fmt: skip
    """Paint the parts, each in its window; what is nearer wins."""
    for n in range(len(windows)):
        ox, oy, oz = starts[n]
        bend, length, back = bends[n], lengths[n], to_part[n]
        for v in range(windows[n, 0], windows[n, 1]):
            for u in range(windows[n, 2], windows[n, 3]):
                a, b, c = rays[v, u]
                dx = bend[0, 0] * a + bend[0, 1] * b + bend[0, 2] * c
                dy = bend[1, 0] * a + bend[1, 1] * b + bend[1, 2] * c
                dz = bend[2, 0] * a + bend[2, 1] * b + bend[2, 2] * c
                t = _hit(ox, oy, oz, dx, dy, dz, length)
                if not t < depth[v, u]:
                    continue
                x, y, z = ox + t * dx, oy + t * dy, oz + t * dz
                z -= min(max(z, 0.0), length)
                # A normal goes back by the transpose.
                nx = back[0, 0] * x + back[1, 0] * y + back[2, 0] * z
                ny = back[0, 1] * x + back[1, 1] * y + back[2, 1] * z
                nz = back[0, 2] * x + back[1, 2] * y + back[2, 2] * z
                size = math.sqrt(nx * nx + ny * ny + nz * nz)
                sunny = (nx * sun[0] + ny * sun[1] + nz * sun[2]) / size
                light = 0.6 + 0.16 * nz / size + 0.3 * max(0.0, 0.5 + 0.5 * sunny)
                for channel in range(3):
                    rgb[v, u, channel] = np.uint8(min(255.0, colours[n, channel] * light + 0.5))
                depth[v, u], category[v, u], instance[v, u] = t, label, number
                if len(position) > 0:
                    for axis in range(3):
                        ray = pose[axis, 0] * a + pose[axis, 1] * b + pose[axis, 2] * c
                        position[v, u, axis] = pose[axis, 3] + t * ray


@njit(cache=True, nogil=True, error_model="numpy")
def _hit(ox, oy, oz, dx, dy, dz, length):  # type: ignore[no-untyped-def]
    """Parameter at which a ray enters the capsule of radius 1 from (0, 0, 0) to (0, 0, length); infinite if never."""
    best = np.inf
    a, half, c = dx * dx + dy * dy, ox * dx + oy * dy, ox * ox + oy * oy - 1.0
    inside = half * half - a * c
    if inside < 0.0:
        return best
    if a > 0.0:
        t = (-half - math.sqrt(inside)) / a
        if t > 0.0 and 0.0 <= oz + t * dz <= length:
            return t
    a += dz * dz
    for end in range(2):
        z = oz - length * end
        half = ox * dx + oy * dy + z * dz
        inside = half * half - a * (ox * ox + oy * oy + z * z - 1.0)
        if inside >= 0.0:
            t = (-half - math.sqrt(inside)) / a
            if 0.0 < t < best:
                best = t
    return best
