"""The colour kernel: the texture of the triangle that each pixel met, cut off at the pixel's footprint."""

from __future__ import annotations

import numpy as np
from numba import njit

from worldgauge.worlds.scan.rendering._cover import met, wrapped

_LOW, _HIGH, _HALF = np.uint64(0x00FF00FF), np.uint64(0xFF00FF00), np.uint64(0x00800080)
_BYTE, _S8, _S16 = np.uint64(255), np.uint64(8), np.uint64(16)
_MANTISSA, _EIGHTH, _BIAS = np.uint64(52), np.uint64(44), np.uint64(1023)
_EDGE = 0.02
"""A pixel is on an edge where 1 / distance bends by more than this share between its neighbours; on a plane it does
not bend at all."""
_CREASE = 0.8
"""Or where the normals of two neighbours have a smaller cosine."""


@njit(cache=True, nogil=True, error_model="numpy")
def shade(scene, hit, inverse, eye, turn, grid, pixel, rgb, depth, category, instance, position):  # type: ignore[no-untyped-def]
    """Colour, depth and labels of what was met; see `_cover.cover`.

    Args:
        scene: A `Scene`.
        hit: (H, W) triangles, -1 for none.
        inverse: (H, W) 1 / distance.
        eye: (3,) metres.
        turn: (3, 3), camera to world.
        grid: A `Grid`.
        pixel: Size of a pixel at distance 1.
        rgb: Output (H, W, 3) uint8.
        depth: Output (H, W) float32.
        category: Output (H, W) uint16.
        instance: Output (H, W) uint16.
        position: Output (H, W, 3) float32; no rows where it is not wanted.
    """
    # Taken out of their tuple once: in the loop each would be counted as one more user of the array.
    _, rows, tints, material, instances, categories, _, _, _, looks, levels, texels = scene
    across, down, lens = grid
    flat, tinted, placed = lens[0] > 0.0, len(tints) > 0, len(position) > 0
    ox, oy, oz = eye[0], eye[1], eye[2]
    for v in range(np.uintp(hit.shape[0])):
        for u in range(np.uintp(hit.shape[1])):
            if hit[v, u] < 0:
                rgb[v, u, 0] = rgb[v, u, 1] = rgb[v, u, 2] = 0
                depth[v, u] = np.inf
                category[v, u] = instance[v, u] = 0
                if placed:
                    position[v, u, 0] = position[v, u, 1] = position[v, u, 2] = np.nan
                continue
            k = np.uintp(hit[v, u])
            rx, ry, rz = _ray(across, down, lens, flat, u, v)
            dx = rx * turn[0, 0] + ry * turn[0, 1] + rz * turn[0, 2]
            dy = rx * turn[1, 0] + ry * turn[1, 1] + rz * turn[1, 2]
            dz = rx * turn[2, 0] + ry * turn[2, 1] + rz * turn[2, 2]
            t = 1.0 / inverse[v, u]
            x, y, z = ox + t * dx, oy + t * dy, oz + t * dz
            texel = _texel(rows, material, looks, levels, texels, k, x, y, z, dx, dy, dz, t * pixel)
            if tinted:
                texel = _tinted(texel, tints, rows, k, x, y, z)
            rgb[v, u, 0], rgb[v, u, 1], rgb[v, u, 2] = texel & _BYTE, texel >> _S8 & _BYTE, texel >> _S16 & _BYTE
            depth[v, u] = t
            category[v, u], instance[v, u] = categories[k], instances[k]
            if placed:
                position[v, u, 0], position[v, u, 1], position[v, u, 2] = x, y, z


@njit(cache=True, nogil=True, error_model="numpy")
def smooth(scene, hit, inverse, eye, turn, grid, pixel, rgb):  # type: ignore[no-untyped-def]
    """Average three rays in the pixels on edges, into `rgb`.

    The two further rays ask the triangles that the pixel and its neighbours on their side met.
    """
    corners, rows, tints, material, instances, _, _, _, _, looks, levels, texels = scene
    across, down, lens = grid
    flat, tinted = lens[0] > 0.0, len(tints) > 0
    height, width = hit.shape
    edges = np.empty(hit.size, np.int64)
    count = _find_edges(rows, instances, hit, inverse, edges)
    for n in range(count):
        v, u = edges[n] // width, edges[n] % width
        red, green, blue = 2 * np.int64(rgb[v, u, 0]), 2 * np.int64(rgb[v, u, 1]), 2 * np.int64(rgb[v, u, 2])
        for way in range(2):
            du, dv = (-0.33, 0.33) if way == 0 else (0.33, -0.33)
            i = max(u - 1, 0) if way == 0 else min(u + 1, width - 1)
            j = min(v + 1, height - 1) if way == 0 else max(v - 1, 0)
            rx, ry, rz = _ray(across, down, lens, flat, u, v)
            rx, ry, rz = _shifted(rx, ry, rz, lens, flat, du, dv, width, height)
            best, found = 0.0, np.int64(-1)
            for m in range(4):
                k = np.int64(hit[v if m < 2 else j, u if m % 2 == 0 else i])
                if k < 0 or k == found:
                    continue
                w = met(corners, rows, material, looks, levels, texels, k, rx, ry, rz, eye, turn)
                if w > best:
                    best, found = w, k
            if found < 0:
                # Smaller than a pixel, or a hole: the neighbour on that side stands for it.
                found = np.int64(hit[j, i])
                if found < 0:
                    continue
                best = inverse[j, i]
                rx, ry, rz = _ray(across, down, lens, flat, i, j)
            t = 1.0 / best
            dx = rx * turn[0, 0] + ry * turn[0, 1] + rz * turn[0, 2]
            dy = rx * turn[1, 0] + ry * turn[1, 1] + rz * turn[1, 2]
            dz = rx * turn[2, 0] + ry * turn[2, 1] + rz * turn[2, 2]
            x, y, z = eye[0] + t * dx, eye[1] + t * dy, eye[2] + t * dz
            texel = _texel(rows, material, looks, levels, texels, np.uintp(found), x, y, z, dx, dy, dz, t * pixel)
            if tinted:
                texel = _tinted(texel, tints, rows, found, x, y, z)
            red += 2 * np.int64(texel & _BYTE)
            green += 2 * np.int64(texel >> _S8 & _BYTE)
            blue += 2 * np.int64(texel >> _S16 & _BYTE)
        rgb[v, u, 0], rgb[v, u, 1], rgb[v, u, 2] = (red + 3) // 6, (green + 3) // 6, (blue + 3) // 6


@njit(cache=True, nogil=True, error_model="numpy")
def _find_edges(rows, instances, hit, inverse, edges):  # type: ignore[no-untyped-def]
    """Pixels on an edge of depth, instance or direction, into `edges`; returns how many."""
    height, width = hit.shape
    count = 0
    for v in range(height):
        up, low = max(v - 1, 0), min(v + 1, height - 1)
        for u in range(width):
            left, right = max(u - 1, 0), min(u + 1, width - 1)
            y, x = np.uintp(v), np.uintp(u)
            k = hit[y, x]
            a, b = hit[y, np.uintp(left)], hit[y, np.uintp(right)]
            c, d = hit[np.uintp(up), x], hit[np.uintp(low), x]
            if a == k and b == k and c == k and d == k:
                continue
            w = inverse[y, x]
            bend = _EDGE * w
            found = left < u < right and abs(inverse[y, np.uintp(left)] - 2.0 * w + inverse[y, np.uintp(right)]) > bend
            found |= up < v < low and abs(inverse[np.uintp(up), x] - 2.0 * w + inverse[np.uintp(low), x]) > bend
            if not found:
                found = (
                    _parts(rows, instances, k, a)
                    or _parts(rows, instances, k, b)
                    or _parts(rows, instances, k, c)
                    or _parts(rows, instances, k, d)
                )
            if found:
                edges[count] = v * width + u
                count += 1
    return count


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _parts(rows, instances, k, other):  # type: ignore[no-untyped-def]
    """Whether between two triangles there is an edge to be seen."""
    if k == other:
        return False
    if k < 0 or other < 0:
        return True
    p, q = np.uintp(k), np.uintp(other)
    return instances[p] != instances[q] or (
        rows[p, 0] * rows[q, 0] + rows[p, 1] * rows[q, 1] + rows[p, 2] * rows[q, 2] < _CREASE
    )


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _ray(across, down, lens, flat, u, v):  # type: ignore[no-untyped-def]
    """Ray through the centre of pixel (u, v), in the camera's frame."""
    if flat:
        return across[u, 0], down[v, 0], 1.0
    return down[v, 1] * across[u, 0], -down[v, 0], down[v, 1] * across[u, 1]


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
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


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _texel(rows, material, looks, levels, texels, k, x, y, z, dx, dy, dz, reach):  # type: ignore[no-untyped-def]
    """Colour of triangle k at a place that a ray d meets, where a pixel is `reach` metres wide."""
    look = np.uintp(material[k])
    texel = np.uint64(0xFFFFFFFF)
    if looks[look, 0] >= 0:
        px, py, pz = x - rows[k, 12], y - rows[k, 13], z - rows[k, 14]
        u = rows[k, 3] + rows[k, 4] * px + rows[k, 5] * py + rows[k, 6] * pz
        v = rows[k, 7] + rows[k, 8] * px + rows[k, 9] * py + rows[k, 10] * pz
        facing = abs(rows[k, 0] * dx + rows[k, 1] * dy + rows[k, 2] * dz)
        cosine = max(facing / np.sqrt(dx * dx + dy * dy + dz * dz), 0.1)
        footprint = reach * rows[k, 11] / np.sqrt(cosine)
        texel = _filtered(looks, levels, texels, look, u, v, footprint)
    if looks[look, 10]:
        texel = _multiplied(texel, looks[look, 6], looks[look, 7], looks[look, 8])
    return texel


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _multiplied(texel, r, g, b):  # type: ignore[no-untyped-def]
    red = (np.int64(texel & _BYTE) * r + 127) // 255
    green = (np.int64(texel >> _S8 & _BYTE) * g + 127) // 255
    blue = (np.int64(texel >> _S16 & _BYTE) * b + 127) // 255
    return np.uint64(red | green << 8 | blue << 16)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _filtered(looks, levels, texels, look, u, v, footprint):  # type: ignore[no-untyped-def]
    """Texel (RGBA from the lowest byte) for a footprint in texels, between the two levels next to it."""
    first, last = np.uintp(looks[look, 0]), np.uintp(looks[look, 0] + looks[look, 1] - 1)
    wrap_u, wrap_v = looks[look, 2], looks[look, 3]
    level, part = first, np.uint64(0)
    if footprint > 1.0:
        # Exponent and eight bits of the mantissa: the logarithm, and how far it is on the way to the next level.
        bits = np.float64(min(footprint, 1e9)).view(np.uint64)
        level = first + np.uintp((bits >> _MANTISSA) - _BIAS)
        part = bits >> _EIGHTH & _BYTE
        if level >= last:
            level, part = last, np.uint64(0)
    elif looks[look, 9]:
        u, v = np.floor(u) + 0.5, np.floor(v) + 0.5
    texel = _bilinear(levels, texels, first, level, wrap_u, wrap_v, u, v)
    if part != 0:
        texel = _mixed(texel, _bilinear(levels, texels, first, level + np.uintp(1), wrap_u, wrap_v, u, v), part)
    return texel


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _bilinear(levels, texels, first, level, wrap_u, wrap_v, u, v):  # type: ignore[no-untyped-def]
    at, wide, high = levels[level, 0], levels[level, 1], levels[level, 2]
    if level != first:
        u *= wide / levels[first, 1]
        v *= high / levels[first, 2]
    u -= 0.5
    v -= 0.5
    fu, fv = np.floor(u), np.floor(v)
    pu, pv = np.uint64((u - fu) * 256.0), np.uint64((v - fv) * 256.0)
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
    return _mixed(_mixed(np.uint64(p), np.uint64(q), pu), _mixed(np.uint64(s), np.uint64(e), pu), pv)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _mixed(a, b, part):  # type: ignore[no-untyped-def]
    """Two texels in parts of 256, two bytes at a time."""
    rest = np.uint64(256) - part
    low = ((a & _LOW) * rest + (b & _LOW) * part + _HALF) >> _S8
    high = (a >> _S8 & _LOW) * rest + (b >> _S8 & _LOW) * part + _HALF
    return (low & _LOW) | (high & _HIGH)
