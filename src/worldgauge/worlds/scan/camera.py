"""The camera of scans: colour, depth, labels and positions.

Depth, category, instance and position are those of the ray through the pixel's centre. Colour is filtered: texture is
cut off at the pixel's footprint, and pixels on an edge average three rays. Arithmetic is float64 in a fixed order, so a
view has the same bits on every processor, whatever else runs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.geometry import Camera, FloatArray, Panorama, camera_pose
from worldgauge.worlds import View
from worldgauge.worlds.scan import _cover
from worldgauge.worlds.scan._cover import RayGrid, fetch_ahead, inlined, kernel, met, part, wrapped
from worldgauge.worlds.scan.clusters import ScanScene
from worldgauge.worlds.scan.mesh import CLAMP, MIRROR


def render(scene: ScanScene, pose: ArrayLike, camera: Camera | Panorama, *, position: bool = False) -> View:
    """Render a view. Safe to call from several threads.
    In a hole of the scan, the colour is black, depth infinite, category and instance 0."""
    eye, turn, grid, inverse, hit = _covered(scene, pose, camera)
    shape = camera.height, camera.width
    rgb, depth = np.empty((*shape, 3), np.uint8), np.empty(shape, np.float32)
    category, instance = np.empty(shape, np.uint16), np.empty(shape, np.uint16)
    points = np.empty((*shape, 3) if position else (0, 0, 3), np.float32)
    marks, edges = np.zeros(shape, np.uint8), np.empty(hit.size, np.int64)
    work = scene, scales_of(scene), Lot.empty(), hit, inverse, eye, turn, grid, pixel_of(camera), marks, edges
    shade(*work, rgb, depth, category, instance, points)
    return View(rgb, depth, category, instance, points if position else None)


def meets(scene: ScanScene, pose: ArrayLike, camera: Camera | Panorama) -> NDArray[np.bool_]:
    """Whether the centre of each pixel (H, W) meets anything; see `render` for the arguments."""
    return _covered(scene, pose, camera)[4] >= 0


def texels_met(
    scene: ScanScene, pose: ArrayLike, camera: Camera | Panorama
) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """The triangle that each pixel's centre meets, -1 for none, and the nearest texel there, both (H, W).
    RGBA from the lowest byte, 0 where there is none; unfiltered, for textures whose colours are numbers."""
    eye, turn, _, inverse, hit = _covered(scene, pose, camera)
    met = hit >= 0
    points = eye + camera.rays()[met] @ turn.T / inverse[met][:, None]
    texels = np.zeros(hit.shape, np.uint32)
    texels[met] = texels_at(scene, hit[met], points)
    return hit, texels


def texels_at(scene: ScanScene, triangles: NDArray[np.int32], points: FloatArray) -> NDArray[np.uint32]:
    """RGBA (N,) from the lowest byte of the texel under each point (N, 3), metres."""
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
    scene: ScanScene, pose: ArrayLike, camera: Camera | Panorama
) -> tuple[FloatArray, FloatArray, RayGrid, FloatArray, NDArray[np.int32]]:
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
def grid_of(camera: Camera | Panorama) -> RayGrid:
    """Rays of a camera, column by column and row by row."""
    columns, rows = np.arange(camera.width) + 0.5, np.arange(camera.height) + 0.5
    if isinstance(camera, Panorama):
        azimuth, elevation = (columns / camera.width - 0.5) * 2 * np.pi, (0.5 - rows / camera.height) * np.pi
        return RayGrid(np.stack(_sine_cosine(azimuth), -1), np.stack(_sine_cosine(elevation), -1), np.zeros(4))
    across, down = (columns - camera.cx) / camera.fx, (rows - camera.cy) / camera.fy
    lens = np.array([camera.fx, camera.fy, camera.cx, camera.cy], np.float64)
    return RayGrid(np.stack([across, np.zeros_like(across)], -1), np.stack([down, np.ones_like(down)], -1), lens)


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
    return (np.choose(turn, [sine, cosine, -sine, -cosine]), np.choose(turn, [cosine, -sine, -cosine, sine]))


_SPREAD, _HALVES = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0080008000800080)
_BYTE, _S8, _S16, _S24 = np.uint64(255), np.uint64(8), np.uint64(16), np.uint64(24)
_MANTISSA, _EIGHTH, _BIAS = np.uint64(52), np.uint64(44), np.uint64(1023)
# Rays are coloured in lots that stay in the nearest cache. What a lot holds of each ray, and numbers a triangle has:
_LOT, _COLUMNS = np.uintp(256), 10
_ENDX, _ENDY, _ENDZ, _DX, _DY, _DZ, _REACH, _U, _V, _FOOTPRINT = (np.uintp(column) for column in range(_COLUMNS))
_PIXELS = int(_LOT) // 2
# A pixel and its neighbours.
_ASIDE, _DOWN = (0, 1, -1, 0, 0), (0, 0, 0, 1, -1)
_CORNERS, _ROW = np.uintp(9), np.uintp(16)
_EDGE = 0.02
"""A pixel is on an edge where 1 / distance bends by more than this share between its neighbours; on a plane it does
not bend at all."""
_CREASE = 0.8
"""Or where the normals of two neighbours have a smaller cosine."""
# What is known of a pixel: a neighbour shows another triangle; there is an edge to be seen between them.
_DIFFERS, _SEEN = np.uint8(1), np.uint8(2)


class Lot(NamedTuple):
    """Rays that are coloured together; see `_colours`."""

    rays: NDArray[np.float64]
    triangles: NDArray[np.int64]
    texels: NDArray[np.uint64]

    @classmethod
    def empty(cls) -> Lot:
        """Room for as many as there may be."""
        return cls(np.empty((_COLUMNS, _LOT)), np.empty(_LOT, np.int64), np.empty(_LOT, np.uint64))


def scales_of(scene: ScanScene) -> NDArray[np.float64]:
    """Width and height (L, 2) of each level as a share of those of its texture."""
    scales = np.ones((len(scene.levels), 2))
    for first, count in scene.looks[:, :2].tolist():
        if first >= 0:
            own = slice(first, first + count)
            scales[own] = scene.levels[own, 1:] / scene.levels[first, 1:]
    return scales


@kernel
def shade(  # type: ignore[no-untyped-def]
    scene, scales, lot, hit, inverse, eye, turn, grid, pixel, marks, edges, rgb, depth, category, instance, position
):
    """Colour, depth and labels of what was met, into `rgb` to `position` (no rows if it is not wanted); see
    `_cover.cover`. Pixels on edges get the mean colour of three rays. The two further ones test the triangles that the
    pixel and its neighbours on their side met. `pixel`: size of a pixel at distance 1. `lot`, `marks`, `edges` are
    scratch."""
    # Taken out of their tuple once: in the loop each would be counted as one more user of the array.
    corners, rows, _, material, instances, categories, _, _, _, looks, levels, pages = scene
    across, down, lens = grid
    rays, triangles, texels = lot
    flat, placed = lens[0] > 0.0, len(position) > 0
    height, width = np.int64(hit.shape[0]), np.int64(hit.shape[1])
    for v in range(np.uintp(height)):
        for start in range(np.uintp(0), np.uintp(width), _LOT):
            count = min(np.uintp(width) - start, _LOT)
            for n in range(count):
                u = start + n
                rx, ry, rz = _ray(across, down, flat, u, v)
                t = 1.0 / inverse[v, u]
                triangles[n] = hit[v, u]
                _send(rays, n, rx, ry, rz, t, eye, turn, pixel)
                depth[v, u] = t
            _colours(scene, scales, rays, triangles, count, texels)
            for n in range(count):
                u, texel = start + n, texels[n]
                rgb[v, u, 0], rgb[v, u, 1], rgb[v, u, 2] = texel & _BYTE, texel >> _S8 & _BYTE, texel >> _S16 & _BYTE
                found = triangles[n] >= 0
                k = np.uintp(triangles[n] if found else 0)
                category[v, u] = categories[k] if found else 0
                instance[v, u] = instances[k] if found else 0
                if placed:
                    for axis in range(np.uintp(3)):
                        position[v, u, axis] = rays[axis, n] if found else np.nan
    total = _find_edges(rows, instance, hit, inverse, marks, edges)
    for lot_at in range(0, total, _PIXELS):
        pixels = min(total - lot_at, _PIXELS)
        for n in range(pixels):
            y, x = edges[lot_at + n] // width, edges[lot_at + n] % width
            for m in range(5):
                i, j = min(max(x + _ASIDE[m], 0), width - 1), min(max(y + _DOWN[m], 0), height - 1)
                fetch_ahead(corners, np.uintp(max(hit[j, i], 0)) * _CORNERS)
        for n in range(2 * pixels):
            # Two rays a pixel.
            y, x, way = edges[lot_at + n // 2] // width, edges[lot_at + n // 2] % width, n % 2
            i = max(x - 1, 0) if way == 0 else min(x + 1, width - 1)
            j = min(y + 1, height - 1) if way == 0 else max(y - 1, 0)
            rx, ry, rz = _ray(across, down, flat, np.uintp(x), np.uintp(y))
            aside = -0.33 if way == 0 else 0.33
            rx, ry, rz = _shifted(rx, ry, rz, lens, flat, aside, -aside, width, height)
            best, which = 0.0, np.int64(-1)
            first, second, third = which, which, which
            for m in range(4):
                other = np.int64(hit[y if m < 2 else j, x if m % 2 == 0 else i])
                if other < 0 or other in (first, second, third):
                    continue
                first, second, third = other, first, second
                w = met(corners, rows, material, looks, levels, pages, other, rx, ry, rz, eye, turn)
                if w > best:
                    best, which = w, other
            if which < 0:
                # Smaller than a pixel, or a hole: the neighbour on that side stands for it.
                which = np.int64(hit[j, i])
                best = inverse[j, i]
                rx, ry, rz = _ray(across, down, flat, np.uintp(i), np.uintp(j))
            triangles[n] = which
            _send(rays, np.uintp(n), rx, ry, rz, 1.0 / best, eye, turn, pixel)
        _colours(scene, scales, rays, triangles, np.uintp(2 * pixels), texels)
        for n in range(pixels):
            y, x = edges[lot_at + n] // width, edges[lot_at + n] % width
            one, two = texels[2 * n], texels[2 * n + 1]
            for c in range(3):
                shift = np.uint64(8 * c)
                added = np.int64(rgb[y, x, c]) + np.int64(one >> shift & _BYTE) + np.int64(two >> shift & _BYTE)
                rgb[y, x, c] = (2 * added + 3) // 6


@inlined
def _send(rays, n, rx, ry, rz, t, eye, turn, pixel):  # type: ignore[no-untyped-def]
    """Write down ray n of a lot, which goes along r in the camera's frame and ends at distance t."""
    dx = rx * turn[0, 0] + ry * turn[0, 1] + rz * turn[0, 2]
    dy = rx * turn[1, 0] + ry * turn[1, 1] + rz * turn[1, 2]
    dz = rx * turn[2, 0] + ry * turn[2, 1] + rz * turn[2, 2]
    rays[_ENDX, n], rays[_ENDY, n], rays[_ENDZ, n] = eye[0] + t * dx, eye[1] + t * dy, eye[2] + t * dz
    rays[_DX, n], rays[_DY, n], rays[_DZ, n] = dx, dy, dz
    rays[_REACH, n] = t * pixel


@part
def _colours(scene, scales, rays, triangles, count, found):  # type: ignore[no-untyped-def]
    """The colours that a lot of rays end at, RGBA from the lowest byte, into `found`; 0 where a ray meets no triangle.
    Triangles and texels are anywhere in a gigabyte, and waiting for them was a third of the time. Each is prefetched
    while other rays of the lot are processed. `rays` (10, N) has the rows _ENDX and so on."""
    _, rows, tints, material, _, _, _, _, _, looks, levels, texels = scene
    tinted = len(tints) > 0
    for n in range(count):
        fetch_ahead(rows, np.uintp(max(triangles[n], 0)) * _ROW)
    for n in range(count):
        k = np.uintp(max(triangles[n], 0))
        look = np.uintp(material[k])
        if triangles[n] < 0 or looks[look, 0] < 0:
            continue
        dx, dy, dz = rays[_DX, n], rays[_DY, n], rays[_DZ, n]
        px, py, pz = rays[_ENDX, n] - rows[k, 12], rays[_ENDY, n] - rows[k, 13], rays[_ENDZ, n] - rows[k, 14]
        u = rows[k, 3] + rows[k, 4] * px + rows[k, 5] * py + rows[k, 6] * pz
        v = rows[k, 7] + rows[k, 8] * px + rows[k, 9] * py + rows[k, 10] * pz
        facing = abs(rows[k, 0] * dx + rows[k, 1] * dy + rows[k, 2] * dz)
        cosine = max(facing / np.sqrt(dx * dx + dy * dy + dz * dz), 0.1)
        footprint = rays[_REACH, n] * rows[k, 11] / np.sqrt(cosine)
        rays[_U, n], rays[_V, n], rays[_FOOTPRINT, n] = u, v, footprint
        level, _ = _level(looks, look, footprint)
        at, wide, high = levels[level, 0], levels[level, 1], levels[level, 2]
        i, j = np.int64(u * scales[level, 0]), np.int64(v * scales[level, 1])
        if 0 <= i < wide and 0 <= j < high:
            start = np.uintp(at + j * wide + i)
            fetch_ahead(texels, start)
            fetch_ahead(texels, start + np.uintp(wide))
    for n in range(count):
        if triangles[n] < 0:
            found[n] = np.uint64(0)
            continue
        k = np.uintp(triangles[n])
        look = np.uintp(material[k])
        texel = np.uint64(0xFFFFFFFF)
        if looks[look, 0] >= 0:
            texel = _filtered(looks, levels, scales, texels, look, rays[_U, n], rays[_V, n], rays[_FOOTPRINT, n])
        if looks[look, 10]:
            texel = _multiplied(texel, looks[look, 6], looks[look, 7], looks[look, 8])
        if tinted:
            texel = _tinted(texel, tints, rows, k, rays[_ENDX, n], rays[_ENDY, n], rays[_ENDZ, n])
        found[n] = texel


@part
def _find_edges(rows, instance, hit, inverse, marks, edges):  # type: ignore[no-untyped-def]
    """Pixels on an edge of depth, instance or direction, into `edges`; returns how many."""
    height, width, one = np.uintp(hit.shape[0]), np.uintp(hit.shape[1]), np.uintp(1)
    count = 0
    for v in range(height):
        for u in range(width):
            k, mark = hit[v, u], marks[v, u]
            # The neighbours to the left and above have marked this pixel; it marks those to the right and below.
            for m in range(2):
                i, j = (u + one, v) if m == 0 else (u, v + one)
                if i == width or j == height:
                    continue
                other = hit[j, i]
                if k != other:
                    apart = k < 0 or other < 0 or instance[v, u] != instance[j, i] or _cosine(rows, k, other) < _CREASE
                    mark |= _SEEN if apart else _DIFFERS
                    marks[j, i] |= _SEEN if apart else _DIFFERS
            found = mark >= _SEEN
            if mark == _DIFFERS:
                w = inverse[v, u]
                bend = _EDGE * w
                found = 0 < u < width - one and abs(inverse[v, u - one] - 2.0 * w + inverse[v, u + one]) > bend
                found = found or (
                    0 < v < height - one and abs(inverse[v - one, u] - 2.0 * w + inverse[v + one, u]) > bend
                )
            if found:
                edges[count] = v * width + u
                count += 1
    return count


@inlined
def _cosine(rows, k, other):  # type: ignore[no-untyped-def]
    k, other = np.uintp(k), np.uintp(other)
    return rows[k, 0] * rows[other, 0] + rows[k, 1] * rows[other, 1] + rows[k, 2] * rows[other, 2]


@inlined
def _ray(across, down, flat, u, v):  # type: ignore[no-untyped-def]
    """Ray through the centre of pixel (u, v), in the camera's frame."""
    if flat:
        return across[u, 0], down[v, 0], 1.0
    return down[v, 1] * across[u, 0], -down[v, 0], down[v, 1] * across[u, 1]


@inlined
def _shifted(rx, ry, rz, lens, flat, du, dv, width, height):  # type: ignore[no-untyped-def]
    """The ray that lies (du, dv) pixels beside; on a panorama to second order in the angle."""
    if flat:
        return rx + du / lens[0], ry + dv / lens[1], rz
    a, e = du * 2.0 * np.pi / width, -dv * np.pi / height
    level = np.sqrt(rx * rx + rz * rz)
    sa, ca, se, ce = rx / level, rz / level, -ry, level
    sa, ca = sa * (1.0 - 0.5 * a * a) + ca * a, ca * (1.0 - 0.5 * a * a) - sa * a
    se, ce = se * (1.0 - 0.5 * e * e) + ce * e, ce * (1.0 - 0.5 * e * e) - se * e
    return ce * sa, -se, ce * ca


@part
def _tinted(texel, tints, rows, k, x, y, z):  # type: ignore[no-untyped-def]
    """A texel times the colour of triangle k at a place."""
    x, y, z = x - rows[k, 12], y - rows[k, 13], z - rows[k, 14]
    r = tints[k, 0] + tints[k, 1] * x + tints[k, 2] * y + tints[k, 3] * z
    g = tints[k, 4] + tints[k, 5] * x + tints[k, 6] * y + tints[k, 7] * z
    b = tints[k, 8] + tints[k, 9] * x + tints[k, 10] * y + tints[k, 11] * z
    return _multiplied(
        texel,
        np.int64(min(max(r, 0.0), 255.0) + 0.5),
        np.int64(min(max(g, 0.0), 255.0) + 0.5),
        np.int64(min(max(b, 0.0), 255.0) + 0.5),
    )


@inlined
def _multiplied(texel, r, g, b):  # type: ignore[no-untyped-def]
    red = (np.int64(texel & _BYTE) * r + 127) // 255
    green = (np.int64(texel >> _S8 & _BYTE) * g + 127) // 255
    blue = (np.int64(texel >> _S16 & _BYTE) * b + 127) // 255
    return np.uint64(red | green << 8 | blue << 16)


@inlined
def _filtered(looks, levels, scales, texels, look, u, v, footprint):  # type: ignore[no-untyped-def]
    """Texel (RGBA from the lowest byte) for a footprint in texels, between the two levels next to it."""
    wrap_u, wrap_v = looks[look, 2], looks[look, 3]
    level, part = _level(looks, look, footprint)
    if looks[look, 9] and footprint <= 1.0:
        u, v = np.floor(u) + 0.5, np.floor(v) + 0.5
    texel = _bilinear(levels, scales, texels, level, wrap_u, wrap_v, u, v)
    if part != 0:
        texel = _mixed(texel, _bilinear(levels, scales, texels, level + np.uintp(1), wrap_u, wrap_v, u, v), part)
    return (texel | texel >> _S24) & np.uint64(0xFFFFFFFF)


@inlined
def _level(looks, look, footprint):  # type: ignore[no-untyped-def]
    """The finer of the two levels for a footprint in texels, and the way to the coarser one in parts of 256."""
    first, last = np.uintp(looks[look, 0]), np.uintp(looks[look, 0] + looks[look, 1] - 1)
    level, part = first, np.uint64(0)
    if footprint > 1.0:
        # Exponent and eight bits of the mantissa: the logarithm, and how far it is on the way to the next level.
        bits = np.float64(min(footprint, 1e9)).view(np.uint64)
        level = first + np.uintp((bits >> _MANTISSA) - _BIAS)
        part = bits >> _EIGHTH & _BYTE
        if level >= last:
            level, part = last, np.uint64(0)
    return level, part


@inlined
def _bilinear(levels, scales, texels, level, wrap_u, wrap_v, u, v):  # type: ignore[no-untyped-def]
    at, wide, high = levels[level, 0], levels[level, 1], levels[level, 2]
    u = u * scales[level, 0] - 0.5
    v = v * scales[level, 1] - 0.5
    fu, fv = np.floor(u), np.floor(v)
    # By way of signed numbers, for which processors have an instruction.
    pu, pv = np.uint64(np.int64((u - fu) * 256.0)), np.uint64(np.int64((v - fv) * 256.0))
    i, j = np.int64(fu), np.int64(fv)
    if 0 <= i < wide - 1 and 0 <= j < high - 1:
        start = np.uintp(at + j * wide + i)
        p, q = texels[start], texels[start + np.uintp(1)]
        start += np.uintp(wide)
        s, e = texels[start], texels[start + np.uintp(1)]
    else:
        i0, i1 = wrapped(i, wide, wrap_u), wrapped(i + 1, wide, wrap_u)
        j0, j1 = at + wrapped(j, high, wrap_v) * wide, at + wrapped(j + 1, high, wrap_v) * wide
        p, q, s, e = texels[j0 + i0], texels[j0 + i1], texels[j1 + i0], texels[j1 + i1]
    return _mixed(_mixed(_spread(p), _spread(q), pu), _mixed(_spread(s), _spread(e), pu), pv)


@inlined
def _spread(texel):  # type: ignore[no-untyped-def]
    """The four bytes of a texel with room for products between them, in the order 0, 2, 1, 3."""
    wide = np.uint64(texel)
    return (wide | wide << _S24) & _SPREAD


@inlined
def _mixed(a, b, part):  # type: ignore[no-untyped-def]
    """Two spread texels in parts of 256, four bytes at a time."""
    return ((a * (np.uint64(256) - part) + b * part + _HALVES) >> _S8) & _SPREAD
