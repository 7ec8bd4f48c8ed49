"""The figure: a walker with jacket and backpack, made of capsules, 1.8 m tall.

Body frame: origin between the feet on the ground, x ahead, y left, z up, metres.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View

STRIDE_M = 1.5
"""Way of two steps along x; along other directions about as much."""
_SWING = 0.42
_THIGH_M, _SHANK_M, _HIP_M = 0.43, 0.42, 0.92
_ANKLE_M = 0.05

_SKIN, _HAIR = (214, 164, 132), (74, 48, 32)
_JACKET, _SLEEVE, _COLLAR = (38, 88, 120), (34, 79, 108), (226, 222, 210)
_PACK, _POCKET, _STRAP = (206, 92, 40), (180, 74, 32), (60, 44, 38)
_TROUSERS, _SHOE, _BELT = (58, 60, 74), (150, 112, 78), (36, 30, 28)


class Capsule(NamedTuple):
    """A stretched capsule: all points within the radii of a segment, metres. One of no length gives an ellipsoid."""

    start: tuple[float, float, float]  # in the body frame
    end: tuple[float, float, float]
    width: float  # radius across, along y as far as the segment allows
    colour: tuple[int, int, int]
    flat: float = 1.0  # depth over width
    tall: float = 1.0  # half height of an ellipsoid over width


def figure(phase: float) -> list[Capsule]:
    """The figure's parts at `phase` of its stride in radians; the lower foot is on the ground."""
    swing = _SWING * math.sin(phase)
    legs = [_leg(0.095, swing, math.cos(phase)), _leg(-0.095, -swing, -math.cos(phase))]
    sink = min(part.start[2] for leg in legs for part in leg if part.colour == _SHOE) - _ANKLE_M
    parts = [part for leg in legs for part in leg]
    parts += [*_TRUNK, *_arm(0.222, -0.8 * swing), *_arm(-0.222, 0.8 * swing)]
    lowered = [[(x, y, z - sink) for x, y, z in (part.start, part.end)] for part in parts]
    return [part._replace(start=start, end=end) for part, (start, end) in zip(parts, lowered, strict=True)]


def phase_at(xy: FloatArray) -> float:
    """Phase of the stride of a walker at a place (2,): it runs on along x, and sweeps to and fro along y."""
    k = 2 * math.pi / STRIDE_M
    return k * float(xy[0]) + math.pi * math.sin(k / 2 * float(xy[1]))


def frames_of(parts: list[Capsule]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Where the parts are (P, 3), their unit axes times radii as columns (P, 3, 3), lengths in radii (P,)."""
    origins, axes, lengths = np.zeros((len(parts), 3)), np.zeros((len(parts), 3, 3)), np.zeros(len(parts))
    for n, part in enumerate(parts):
        along = np.subtract(part.end, part.start)
        length = float(np.linalg.norm(along))
        z = along / length if length > 0 else np.array([0.0, 0.0, 1.0])
        # A segment across the body takes its depth from x instead.
        x = np.array([1.0, 0.0, 0.0]) - z[0] * z
        x = x / np.linalg.norm(x) if np.linalg.norm(x) > 0.1 else np.array([0.0, 0.0, 1.0]) - z[2] * z
        axes[n] = np.stack([x, np.cross(z, x), z], -1) * part.width * np.array([part.flat, 1.0, part.tall])
        origins[n], lengths[n] = part.start, length / (part.width * part.tall)
    return origins, axes, lengths


def _leg(y: float, swing: float, lifting: float) -> list[Capsule]:
    """A leg: swing of the thigh in radians, ahead positive; lifting: 1 while it comes forward, -1 while it bears."""
    bend = 0.1 + 0.6 * max(0.0, lifting)
    hip = (0.0, y, _HIP_M)
    knee = _hung(hip, _THIGH_M, swing)
    ankle = _hung(knee, _SHANK_M, swing - bend)
    toe = (ankle[0] + 0.15 * math.cos(0.5 * (swing - bend)), y, ankle[2] + 0.15 * math.sin(0.5 * (swing - bend)))
    return [
        Capsule(hip, knee, 0.088, _TROUSERS),
        Capsule(knee, ankle, 0.062, _TROUSERS),
        Capsule(ankle, toe, _ANKLE_M, _SHOE),
        Capsule(toe, toe, _ANKLE_M, _SHOE),
    ]


def _arm(y: float, swing: float) -> list[Capsule]:
    shoulder = (0.0, y, 1.395)
    elbow = _hung((shoulder[0], y * 1.12, shoulder[2]), 0.27, swing)
    wrist = _hung((elbow[0], y * 1.12, elbow[2]), 0.23, swing + 0.35)
    hand = _hung(wrist, 0.07, swing + 0.35)
    return [
        Capsule(shoulder, elbow, 0.06, _SLEEVE),
        Capsule(elbow, wrist, 0.05, _SLEEVE),
        Capsule(wrist, hand, 0.04, _SKIN),
    ]


def _hung(point: tuple[float, float, float], length: float, angle: float) -> tuple[float, float, float]:
    return point[0] + length * math.sin(angle), point[1], point[2] - length * math.cos(angle)


_TRUNK = (
    Capsule((0.0, 0.0, 0.9), (0.0, 0.0, 0.97), 0.165, _TROUSERS, flat=0.72, tall=0.4),
    Capsule((0.0, 0.0, 1.0), (0.0, 0.0, 1.02), 0.168, _BELT, flat=0.72, tall=0.15),
    Capsule((0.0, 0.0, 1.07), (0.0, 0.0, 1.36), 0.188, _JACKET, flat=0.62, tall=0.45),
    Capsule((0.0, -0.14, 1.395), (0.0, 0.14, 1.395), 0.085, _JACKET),
    Capsule((0.0, 0.0, 1.44), (0.0, 0.0, 1.48), 0.078, _COLLAR, tall=0.5),
    Capsule((0.0, 0.0, 1.45), (0.0, 0.0, 1.55), 0.055, _SKIN),
    Capsule((0.02, 0.0, 1.64), (0.02, 0.0, 1.64), 0.08, _SKIN, flat=1.2, tall=1.45),
    Capsule((0.0, 0.085, 1.625), (0.0, 0.085, 1.625), 0.018, _SKIN, tall=1.6),
    Capsule((0.0, -0.085, 1.625), (0.0, -0.085, 1.625), 0.018, _SKIN, tall=1.6),
    Capsule((-0.015, 0.0, 1.682), (-0.015, 0.0, 1.682), 0.092, _HAIR, flat=1.15, tall=1.2),
    Capsule((-0.045, 0.0, 1.60), (-0.045, 0.0, 1.60), 0.082, _HAIR, flat=0.8, tall=1.15),
    Capsule((-0.17, 0.0, 1.1), (-0.17, 0.0, 1.32), 0.13, _PACK, flat=0.62, tall=0.5),
    Capsule((-0.245, 0.0, 1.08), (-0.245, 0.0, 1.16), 0.09, _POCKET, flat=0.5, tall=0.4),
    Capsule((-0.13, 0.095, 1.33), (-0.02, 0.1, 1.475), 0.022, _STRAP),
    Capsule((-0.13, -0.095, 1.33), (-0.02, -0.1, 1.475), 0.022, _STRAP),
)


# The figure drawn into a view: one ray a pixel, the same rays as the world's, nearest hit in front.


_NEAR_M = 0.05
_SUN = np.array([-0.35, 0.45, 0.82]) / np.linalg.norm([-0.35, 0.45, 0.82])


def draw_figure(
    view: View, pose: FloatArray, camera: Camera | Panorama, feet: FloatArray, label: tuple[int, int]
) -> None:
    """Draw the figure at `feet` (3,), metres, with the heading of `pose`, in place. Nearer pixels stay."""
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
