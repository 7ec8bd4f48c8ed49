"""Pictures of meshes: a z-buffer without a game, the same bytes for the same input.

Faces are drawn in homogeneous coordinates (Olano and Greer 1997), so nothing is cut at the near plane and a camera may
stand inside of a build. Every pixel is SAMPLES x SAMPLES points; translucent faces are sorted at each point.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.geometry import Camera, FloatArray, camera_pose
from worldgauge.worlds.blocks.fittings import UNITS
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

# Not Python's own, of which compiled code makes a function for each value.
_NEAREST = np.int64(0)
_NO: np.bool_ = np.bool_(False)
_YES: np.bool_ = np.bool_(True)


def render(
    mesh: Mesh, pose: ArrayLike, camera: Camera, background: tuple[int, int, int] = BACKGROUND
) -> NDArray[np.uint8]:
    """Render a mesh from a camera-to-world pose, in metres; z is up. The same input gives the same bytes.
    Cell [y][z][x] fills x to x + 1 east, -(z + 1) to -z north and y to y + 1 up."""
    pose = camera_pose(pose)
    planes, boxes, seen = _faces(mesh, pose, camera)
    colours = mesh.colours[seen, :3] * shades_of(mesh)[seen, None]
    opacity = mesh.colours[seen, 3] / 255.0
    lines = np.array([LINE_PX, LINE_STRENGTH, FAINT_PX, CLEAR_PX])
    ground = np.array(background, np.float64)
    picture = np.empty((camera.height, camera.width, 3), np.uint8)
    for top in range(0, camera.height, BAND_PX):
        band = picture[top : top + BAND_PX]
        rasterise(planes, boxes, colours, opacity, lines, ground, 1 / NEAR_M, top, SAMPLES, band)
    return picture


def _faces(mesh: Mesh, pose: FloatArray, camera: Camera) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Equations and boxes of the faces that may be seen, and which these are; some at a time, for memory's sake."""
    lens = np.array([camera.fx, camera.fy, camera.cx, camera.cy])
    planes, boxes, seen = [np.empty((0, 5, 3))], [np.empty((0, 4))], [np.empty(0, np.int64)]
    for start in range(0, len(mesh.quads), CHUNK):
        quads = mesh.quads[start : start + CHUNK]
        corners = np.ascontiguousarray((in_world(quads) - pose[:3, 3]) @ pose[:3, :3])
        two_sided = mesh.two_sided[start : start + CHUNK]
        equations, frames = face_planes(corners, two_sided, lens, camera.width, camera.height, NEAR_M)
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


@njit(cache=True, nogil=True, error_model="numpy")
def face_planes(corners, two_sided, lens, width, height, near_m):  # type: ignore[no-untyped-def]
    """Equations (n, 5, 3), row[0] u + row[1] v + row[2], of 4 edges and the inverse depth, and boxes (n, 4) in pixels.
    `corners` (n, 4, 3) are in the camera's frame. A box is left, top, right, bottom; right < left for a hidden face."""
    n = len(corners)
    out = np.zeros((n, 5, 3))
    boxes = np.empty((n, 4))
    fx, fy, cx, cy = lens[0], lens[1], lens[2], lens[3]
    m = np.empty(3)
    for k in range(n):
        boxes[k, 0] = boxes[k, 1] = 0.0
        boxes[k, 2] = boxes[k, 3] = -1.0
        p = corners[k]
        left, top, right, bottom = np.inf, np.inf, -np.inf, -np.inf
        for i in range(4):
            a, b = p[i], p[(i + 1) % 4]
            if a[2] >= near_m:
                u, v = fx * a[0] / a[2] + cx, fy * a[1] / a[2] + cy
                left, right, top, bottom = min(left, u), max(right, u), min(top, v), max(bottom, v)
            if (a[2] >= near_m) != (b[2] >= near_m):
                t = (near_m - a[2]) / (b[2] - a[2])
                u = fx * (a[0] + t * (b[0] - a[0])) / near_m + cx
                v = fy * (a[1] + t * (b[1] - a[1])) / near_m + cy
                left, right, top, bottom = min(left, u), max(right, u), min(top, v), max(bottom, v)
        left, top, right, bottom = max(left, 0.0), max(top, 0.0), min(right, width), min(bottom, height)
        if not (left < right and top < bottom):
            continue
        ax, ay, az = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
        bx, by, bz = p[2, 0] - p[0, 0], p[2, 1] - p[0, 1], p[2, 2] - p[0, 2]
        nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        away = nx * p[0, 0] + ny * p[0, 1] + nz * p[0, 2]
        # The normal is longer than 1e-3 for any face of whole sixteenths: this close to edge-on nothing is seen.
        if abs(away) < 1e-9 or (away > 0.0 and not two_sided[k]):
            continue
        out[k, 4, 0], out[k, 4, 1] = nx / away / fx, ny / away / fy
        out[k, 4, 2] = (nz - nx * cx / fx - ny * cy / fy) / away
        sign = -1.0 if away < 0.0 else 1.0
        for i in range(4):
            a, b = p[i], p[(i + 1) % 4]
            m[0] = a[1] * b[2] - a[2] * b[1]
            m[1] = a[2] * b[0] - a[0] * b[2]
            m[2] = a[0] * b[1] - a[1] * b[0]
            slope_u, slope_v = m[0] / fx, m[1] / fy
            rest = m[2] - slope_u * cx - slope_v * cy
            long = np.hypot(slope_u, slope_v)
            scale = sign / long if long > 0.0 else sign
            out[k, i, 0], out[k, i, 1], out[k, i, 2] = slope_u * scale, slope_v * scale, rest * scale
        boxes[k, 0], boxes[k, 1], boxes[k, 2], boxes[k, 3] = left, top, right, bottom
    return out, boxes


@njit(cache=True, nogil=True, error_model="numpy")
def rasterise(planes, boxes, colours, opacity, lines, ground, most, top, samples, picture):  # type: ignore[no-untyped-def]
    """Draw rows of `picture` in place, with `samples` points per pixel along each axis.
    `lines`: half width of edge lines, their strength, and the face sizes between which they fade in, pixels."""
    rows, width = picture.shape[0] * samples, picture.shape[1] * samples
    inverse = np.zeros((rows, width))
    shown = np.full((rows, width), -1, np.int32)
    ends, depths, faces = np.zeros(1, np.int64), np.empty(0, np.float64), np.empty(0, np.int32)
    clear = _NO
    for k in range(len(planes)):
        if boxes[k, 1] < top + picture.shape[0] and boxes[k, 3] > top:
            if opacity[k] < 1.0:
                clear = _YES
            else:
                _cover(_NEAREST, k, planes[k], boxes[k], most, top, samples, inverse, shown, ends, ends, depths, faces)
    if clear:
        # Count the translucent faces in front of the opaque one at each point, then list them, farthest first.
        ends = np.zeros(rows * width, np.int64)
        starts = np.zeros(rows * width, np.int64)
        for turn in (1, 2):
            if turn == 2:
                total = 0
                for i in range(len(ends)):
                    starts[i] = total
                    total += ends[i]
                depths, faces = np.empty(total, np.float64), np.empty(total, np.int32)
                ends = starts.copy()
            for k in range(len(planes)):
                if opacity[k] < 1.0 and boxes[k, 1] < top + picture.shape[0] and boxes[k, 3] > top:
                    _cover(
                        turn, k, planes[k], boxes[k], most, top, samples, inverse, shown, starts, ends, depths, faces
                    )
    _resolve(planes, colours, opacity, lines, ground, top, samples, shown, clear, ends, faces, picture)


@njit(cache=True, nogil=True, error_model="numpy")
def _cover(turn, k, plane, box, most, top, samples, inverse, shown, starts, ends, depths, faces):  # type: ignore[no-untyped-def]
    """Visit the points that face `k` covers. turn 0: keep the nearest face; 1: count it in `ends` if it is nearer than
    the opaque one; 2: then sort it into the point's list, which ends at `ends`."""
    rows, width = inverse.shape
    y0 = max(int(np.ceil((box[1] - top) * samples - 0.5)), 0)
    y1 = min(int(np.floor((box[3] - top) * samples - 0.5)), rows - 1)
    for y in range(y0, y1 + 1):
        v = top + (y + 0.5) / samples
        low, high = box[0], box[2]
        for i in range(4):
            slope, rest = plane[i, 0], plane[i, 1] * v + plane[i, 2]
            if slope > 0.0:
                low = max(low, -rest / slope)
            elif slope < 0.0:
                high = min(high, -rest / slope)
            elif rest < 0.0:
                high = -1.0
        if low > high:
            continue
        x0 = max(int(np.ceil(low * samples - 0.5)), 0)
        x1 = min(int(np.floor(high * samples - 0.5)), width - 1)
        step, start = plane[4, 0] / samples, plane[4, 0] * 0.5 / samples + plane[4, 1] * v + plane[4, 2]
        for x in range(x0, x1 + 1):
            z = start + step * x
            if not inverse[y, x] < z <= most:
                continue
            if turn == 0:
                inverse[y, x], shown[y, x] = z, k
                continue
            i = y * width + x
            if turn == 2:
                j = ends[i]
                while j > starts[i] and depths[j - 1] > z:
                    depths[j], faces[j] = depths[j - 1], faces[j - 1]
                    j -= 1
                depths[j], faces[j] = z, k
            ends[i] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _resolve(planes, colours, opacity, lines, ground, top, samples, shown, clear, ends, faces, picture):  # type: ignore[no-untyped-def]
    """Points to pixels. A face has one colour in a pixel, that at the pixel's middle."""
    share = 1.0 / (samples * samples)
    width = shown.shape[1]
    for row in range(picture.shape[0]):
        v = top + row + 0.5
        for column in range(picture.shape[1]):
            u = column + 0.5
            red, green, blue, last, shade = 0.0, 0.0, 0.0, -1, 1.0
            for y in range(row * samples, (row + 1) * samples):
                for x in range(column * samples, (column + 1) * samples):
                    k = shown[y, x]
                    r, g, b = ground[0], ground[1], ground[2]
                    if k >= 0:
                        if k != last:
                            shade = _shade(planes[k], lines, u, v)
                            last = k
                        r, g, b = colours[k, 0] * shade, colours[k, 1] * shade, colours[k, 2] * shade
                    if clear:
                        i = y * width + x
                        for j in range(ends[i - 1] if i > 0 else 0, ends[i]):
                            face = faces[j]
                            lit, a = _shade(planes[face], lines, u, v), opacity[face]
                            r += a * (colours[face, 0] * lit - r)
                            g += a * (colours[face, 1] * lit - g)
                            b += a * (colours[face, 2] * lit - b)
                    red += r
                    green += g
                    blue += b
            picture[row, column, 0] = int(red * share + 0.5)
            picture[row, column, 1] = int(green * share + 0.5)
            picture[row, column, 2] = int(blue * share + 0.5)


@njit(cache=True, nogil=True, error_model="numpy")
def _shade(plane, lines, u, v):  # type: ignore[no-untyped-def]
    """Brightness of a face at a point: less close to its edges, where its line is; lines of small faces are fainter."""
    nearest, across, down = np.inf, 0.0, 0.0
    for i in range(4):
        d = plane[i, 0] * u + plane[i, 1] * v + plane[i, 2]
        nearest = min(nearest, d)
        if i % 2 == 0:
            across += d
        else:
            down += d
    near = min(max(lines[0] + 0.5 - nearest, 0.0), 1.0)
    size = min(max((min(across, down) - lines[2]) / (lines[3] - lines[2]), 0.0), 1.0)
    return 1.0 - lines[1] * near * size
