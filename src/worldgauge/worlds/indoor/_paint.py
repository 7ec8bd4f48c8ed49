"""The colour kernel: procedural surfaces, drawn where a ray meets a face.

Every pattern is a function of the place on the face and of the face's own seed, so nothing repeats and nothing is
stored. Value noise is summed in octaves, and octaves too fine for the pixel's footprint are left out (band-limited);
edges of tiles, letters and boards are blended over the footprint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

_A, _B, _C = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0xD6E8FEB86659FD93)
_S32, _S29, _S40, _S16 = np.uint64(32), np.uint64(29), np.uint64(40), np.uint64(16)
_BYTE = np.uint64(255)
_UNIT, _SPAN = 2.0**-24, 2.0**-63

SHADES = (0.90, 0.80, 0.85, 0.95, 1.0, 0.74)
"""Brightness of faces +x -x +y -y +z -z."""

LIGHT_M = 0.05
"""Side of the cells of a light map."""


class BoxLooks(NamedTuple):
    """What the kernel needs to know of boxes: the arrays of `Boxes`, the air, and the light on the floor."""

    bounds: NDArray[np.float64]
    category: NDArray[np.uint16]
    instance: NDArray[np.uint16]
    pattern: NDArray[np.uint8]
    colours: NDArray[np.float32]
    details: NDArray[np.float32]
    face_seeds: NDArray[np.uint64]
    air: NDArray[np.float32]  # z of floor and ceiling, metres
    light: NDArray[np.float32]  # (X, Y) brightness at LIGHT_M from `light_origin`; one cell means the same everywhere
    light_origin: NDArray[np.float64]


Looks = BoxLooks  # kernels that an earlier version compiled and cached look it up by its old name


@njit(cache=True, nogil=True, error_model="numpy")
def paint(looks, origin, rotation, rays, pixel, depth, box, face, rgb, category, instance):  # type: ignore[no-untyped-def]
    """Paint what rays (N, 3), in the camera's frame, have met; `depth`, `box` and `face` are those of `meet`.
    `pixel` is the size of a pixel at depth 1. Fills `rgb`, `category` and `instance`."""
    bounds, categories, instances, pattern, colours, details, face_seeds, air, light, light_origin = looks
    for k in range(len(rays)):
        if box[k] < 0:
            rgb[k, 0] = rgb[k, 1] = rgb[k, 2] = 0
            category[k] = instance[k] = 0
            continue
        n = np.uintp(box[k])
        category[k], instance[k] = categories[n], instances[n]
        side = face[k]
        t = depth[k]
        rx, ry, rz = rays[k, 0], rays[k, 1], rays[k, 2]
        dx = rx * rotation[0, 0] + ry * rotation[0, 1] + rz * rotation[0, 2]
        dy = rx * rotation[1, 0] + ry * rotation[1, 1] + rz * rotation[1, 2]
        dz = rx * rotation[2, 0] + ry * rotation[2, 1] + rz * rotation[2, 2]
        x, y, z = origin[0] + t * dx, origin[1] + t * dy, origin[2] + t * dz
        # Place on the face, its size, and the ray split into its parts along u, v and the normal.
        if side < 2:
            u, v, su, sv = y - bounds[n, 1], z - bounds[n, 2], bounds[n, 4] - bounds[n, 1], bounds[n, 5] - bounds[n, 2]
            du, dv, dn = dy, dz, dx
        elif side < 4:
            u, v, su, sv = x - bounds[n, 0], z - bounds[n, 2], bounds[n, 3] - bounds[n, 0], bounds[n, 5] - bounds[n, 2]
            du, dv, dn = dx, dz, dy
        else:
            u, v, su, sv = x - bounds[n, 0], y - bounds[n, 1], bounds[n, 3] - bounds[n, 0], bounds[n, 4] - bounds[n, 1]
            du, dv, dn = dx, dy, dz
        reach = t * pixel
        slant = 1.0 / max(abs(dn), 1e-9)
        wu, wv = reach * np.sqrt(1.0 + (du * slant) ** 2), reach * np.sqrt(1.0 + (dv * slant) ** 2)
        # Between the short and the long side: detail seen at a slant neither smears nor flickers much.
        w = max(min(wu, wv), 0.4 * max(wu, wv))
        seed = face_seeds[n, side]
        # Numbers, not slices: a view of an array costs as much as an octave of noise.
        r, g, b = _surface(
            *(pattern[n], u, v, su, sv, w, seed, details[n, 0], details[n, 1]),
            *(colours[n, 0, 0], colours[n, 0, 1], colours[n, 0, 2]),
            *(colours[n, 1, 0], colours[n, 1, 1], colours[n, 1, 2]),
        )
        shade = SHADES[side]
        if side < 4:
            corner = min(z - air[0], air[1] - z)
            if corner < 0.5:
                shade *= 1.0 - 0.26 * (1.0 - 2.0 * max(corner, 0.0)) ** 2
        elif side == 4 and len(light) > 1 and z < air[0] + 0.03:
            shade *= _bilinear(light, (x - light_origin[0]) / LIGHT_M - 0.5, (y - light_origin[1]) / LIGHT_M - 0.5)
        if pattern[n] >= 18:
            # What shines is as bright from every side.
            shade = 1.0
        rgb[k, 0] = int(min(max(r * shade, 0.0), 255.0) + 0.5)
        rgb[k, 1] = int(min(max(g * shade, 0.0), 255.0) + 0.5)
        rgb[k, 2] = int(min(max(b * shade, 0.0), 255.0) + 0.5)


@njit(cache=True, nogil=True, error_model="numpy")
def _surface(pattern, u, v, su, sv, w, seed, size, contrast, r, g, b, r2, g2, b2):  # type: ignore[no-untyped-def]
    """Colour (3 floats) at (u, v) metres on a face of su x sv; indices of `boxes.PATTERNS`."""
    if pattern == 13:
        return _posters(u, v, w, seed, r, g, b, contrast)
    if pattern == 0:
        light = 1.0 + contrast * (0.07 * _noise(u, v, 0.25, 3, w, seed) + 0.07 * _noise(u, v, 0.02, 2, w, seed + _A))
        return r * light, g * light, b * light
    if pattern == 1:
        stain = max(_noise(u, v, 0.9, 3, w, seed) - 0.25, 0.0)
        light = 1.0 + contrast * (0.06 * _noise(u, v, 0.11, 4, w, seed + _A) - 0.09 * stain)
        return r * light, g * light, b * light * (1.0 - 0.06 * stain)
    # The long side of a face is where its grain runs.
    along, across = (u, v) if su >= sv else (v, u)
    if pattern == 2:
        grain = _noise(along * 0.09, across, 0.03, 3, w, seed)
        knots = _noise(along * 0.4, across, 0.22, 2, w, seed + _A)
        light = 1.0 + contrast * (0.13 * grain + 0.09 * knots)
        return r * light, g * light, b * light * (1.0 - 0.05 * grain)
    if pattern == 3:
        return _planks(along, across, w, seed, r, g, b, size, contrast)
    if pattern == 4:
        return _tiles(u, v, w, seed, r, g, b, r2, g2, b2, size, contrast)
    if pattern == 5:
        # By colour, so that all parts in one cloth have one design.
        kind = int(r + 3 * g + 5 * b) % 3
        m = 0.0
        if kind == 0:
            m = _stripes(u, size, w)
        elif kind == 1:
            m = 0.5 * (_stripes(u, size, w) + _stripes(v, size, w))
        else:
            m = _step(_noise(u, v, size, 2, w, seed + _B), 0.2, 0.15)
        m = 0.55 * m * contrast
        weave = 1.0 + contrast * (0.13 * _noise(u, v, 0.03, 3, w, seed) + 0.08 * _noise(u, v, 0.3, 2, w, seed + _A))
        return (r + m * (r2 - r)) * weave, (g + m * (g2 - g)) * weave, (b + m * (b2 - b)) * weave
    if pattern == 6:
        fleck = _step(_noise(u, v, 0.05, 4, w, seed), 0.1, 0.25)
        light = 1.0 + 0.10 * contrast * _noise(u, v, 0.4, 3, w, seed + _A)
        m = 0.7 * fleck * contrast
        return (r + m * (r2 - r)) * light, (g + m * (g2 - g)) * light, (b + m * (b2 - b)) * light
    if pattern == 7:
        light = 1.0 + contrast * (
            0.06 * _noise(u * 0.05, v, 0.012, 2, w, seed) + 0.09 * _noise(u, v, 0.3, 3, w, seed + _A)
        )
        return r * light, g * light, b * light
    if pattern == 8:
        leaf = _noise(u + 0.5 * v, v - 0.3 * u, 0.07, 3, w, seed)
        m = _step(leaf, 0.0, 0.5)
        light = 1.0 + 0.35 * leaf
        return (r + m * (r2 - r)) * light, (g + m * (g2 - g)) * light, (b + m * (b2 - b)) * light
    if pattern == 9:
        return _picture(u, v, su, sv, w, seed, r, g, b)
    if pattern == 10:
        return _books(u, v, sv, w, seed)
    if pattern == 11:
        return _outdoors(u, v, sv, w, seed)
    if pattern == 12:
        streak = _step(_noise(u + v, 0.0, 0.35, 2, w, seed), 0.15, 0.3)
        light = 0.82 + 0.18 * v / sv + 0.10 * streak + 0.06 * _noise(u, v, 0.08, 3, w, seed + _A)
        return r * light, g * light, b * light
    if pattern == 14:
        edge = min(min(u, su - u), min(v, sv - v))
        band = _step(0.10 - edge, 0.0, w) - _step(0.05 - edge, 0.0, w)
        motif = _stripes(u + v, size, w) * _stripes(u - v, size, w)
        m = max(band, 0.6 * motif + 0.3 * _step(_noise(u, v, size, 2, w, seed + _B), 0.1, 0.2))
        pile = 1.0 + contrast * 0.2 * _noise(u, v, 0.03, 3, w, seed)
        return (r + m * (r2 - r)) * pile, (g + m * (g2 - g)) * pile, (b + m * (b2 - b)) * pile
    if pattern == 15:
        glow = 1.0 + 0.9 * max(v / sv - 0.3, 0.0) + 0.25 * _noise(u, v, 0.2, 4, w, seed)
        return r * glow, g * glow, b * glow
    if pattern == 16:
        flame = _noise(u, 0.6 * v, 0.12, 4, w, seed) + 0.7 - 1.4 * v / sv
        m = _step(flame, 0.0, 0.5)
        return 40.0 + 215.0 * m, 24.0 + 150.0 * m * m, 18.0 + 50.0 * m * m * m
    if pattern == 18:
        glow = 1.0 - 0.10 * abs(2.0 * v / sv - 1.0) + 0.05 * _noise(u, v, 0.05, 2, w, seed)
        return r * glow, g * glow, b * glow
    if pattern == 19:
        # Two colours and their opposites in large forms, over a caption.
        form = _step(_noise(u, v, 0.5 * sv, 2, w, seed), 0.0, 0.08)
        m = _step(_noise(u, v, 0.3 * sv, 2, w, seed + _B), 0.2, 0.08)
        r, g, b = r + form * (r2 - r), g + form * (g2 - g), b + form * (b2 - b)
        r, g, b = r + 0.6 * m * (250.0 - r), g + 0.6 * m * (236.0 - g), b + 0.6 * m * (190.0 - b)
        caption = _step(0.16 * sv - v, 0.0, max(w, 0.004)) * _step(v - 0.06 * sv, 0.0, max(w, 0.004))
        r, g, b = r + caption * (246.0 - r), g + caption * (246.0 - g), b + caption * (246.0 - b)
        glow = 1.1 + 0.15 * _noise(u, v, 0.04, 3, w, seed + _A)
        return r * glow, g * glow, b * glow
    pile = 1.0 + contrast * (0.22 * _noise(u, v, 0.04, 4, w, seed) + 0.08 * _noise(u, v, 0.6, 2, w, seed + _A))
    return r * pile, g * pile, b * pile


@njit(cache=True, nogil=True, error_model="numpy")
def _planks(along, across, w, seed, r, g, b, size, contrast):  # type: ignore[no-untyped-def]
    row = np.floor(across / size)
    length = 9.0 * size
    shift = _unit(_hash(int(row), 0, seed)) * length
    board = np.floor((along + shift) / length)
    h = _hash(int(row), int(board), seed + _A)
    inside = across - row * size
    end = along + shift - board * length
    near = min(min(inside, size - inside), min(end, length - end))
    gap = _gap(near, 0.003, w, size)
    grain = _noise(along * 0.07, across, 0.03, 3, w, h)
    fade = _kept(size, w)
    light = 1.0 + contrast * (
        fade * (0.28 * _unit(h) - 0.14) + 0.17 * grain + 0.06 * _noise(along, across, 0.7, 2, w, seed)
    )
    light *= 1.0 - 0.55 * gap
    warm = 1.0 + 0.10 * fade * (_unit(h >> _S16) - 0.5)
    return r * light * warm, g * light, b * light / warm


@njit(cache=True, nogil=True, error_model="numpy")
def _tiles(u, v, w, seed, r, g, b, r2, g2, b2, size, contrast):  # type: ignore[no-untyped-def]
    i, j = np.floor(u / size), np.floor(v / size)
    h = _hash(int(i), int(j), seed)
    a, e = u - i * size, v - j * size
    near = min(min(a, size - a), min(e, size - e))
    m = _gap(near, 0.004, w, size)
    fade = _kept(size, w)
    veins = _noise(u, v, 0.10, 4, w, h)
    light = 1.0 + contrast * (fade * 0.22 * (_unit(h) - 0.5) + 0.10 * veins)
    tint = 1.0 + 0.06 * fade * (_unit(h >> _S16) - 0.5)
    r, g, b = r * light * tint, g * light, b * light / tint
    return r + m * (r2 - r), g + m * (g2 - g), b + m * (b2 - b)


@njit(cache=True, nogil=True, error_model="numpy")
def _picture(u, v, su, sv, w, seed, r, g, b):  # type: ignore[no-untyped-def]
    # A white mount, then flat shapes of the two colours, their mixtures and opposites, with brush marks.
    edge = min(min(u, su - u), min(v, sv - v)) - 0.10 * min(su, sv)
    mount = 1.0 - _step(edge, 0.0, max(w, 0.002))
    size = 0.35 * min(su, sv)
    form = _noise(u, v, size, 2, w, seed)
    hill = _noise(u, 0.0, 0.5 * su, 2, w, seed + _B) * 0.25 * sv + 0.45 * sv - v
    low = _step(hill, 0.0, max(w, 0.004))
    m, blot = _step(form, 0.0, 0.06), _step(form, 0.35, 0.06)
    r2, g2, b2 = 255.0 * _unit(seed * _B >> _S16), 255.0 * _unit(seed * _C >> _S16), 255.0 * _unit(seed * _A >> _S16)
    pr, pg, pb = r + low * (r2 - r), g + low * (g2 - g), b + low * (b2 - b)
    pr, pg, pb = pr + 0.45 * m * (b2 - pr), pg + 0.45 * m * (r2 - pg), pb + 0.45 * m * (g2 - pb)
    pr, pg, pb = pr + 0.7 * blot * (240.0 - pr), pg + 0.7 * blot * (220.0 - pg), pb + 0.7 * blot * (170.0 - pb)
    light = 1.0 + 0.2 * _noise(u, v, 0.03, 3, w, seed + _A)
    pr, pg, pb = pr * light, pg * light, pb * light
    return pr + mount * (235.0 - pr), pg + mount * (232.0 - pg), pb + mount * (224.0 - pb)


@njit(cache=True, nogil=True, error_model="numpy")
def _books(u, v, sv, w, seed):  # type: ignore[no-untyped-def]
    # Books lean on a grid of 4 cm; each border is moved by its own hash.
    cell = 0.04
    i = int(np.floor(u / cell))
    border = i * cell + 0.6 * cell * _unit(_hash(i, 1, seed))
    if u < border:
        i -= 1
    left = i * cell + 0.6 * cell * _unit(_hash(i, 1, seed))
    right = (i + 1) * cell + 0.6 * cell * _unit(_hash(i + 1, 1, seed))
    h = _hash(i, 0, seed)
    near = min(u - left, right - u)
    fade = _kept(cell, w)
    tall = sv * (0.70 + 0.26 * _unit(h >> _S16))
    dark = max(_gap(near, 0.0015, w, cell), _step(v - tall, 0.0, w))
    label = _step(0.012 - abs(v - tall * 0.72), 0.0, w) * (1.0 if (h & np.uint64(1)) == 0 else 0.0)
    r, g, b = 60.0 + 150.0 * _unit(h * _A), 50.0 + 120.0 * _unit(h * _B), 45.0 + 120.0 * _unit(h * _C)
    r, g, b = 128.0 + fade * (r - 128.0), 105.0 + fade * (g - 105.0), 95.0 + fade * (b - 95.0)
    light = (1.0 + 0.12 * _noise(u, v, 0.02, 2, w, h)) * (1.0 - 0.8 * dark)
    return r * light + label * fade * 70.0, g * light + label * fade * 65.0, b * light + label * fade * 40.0


@njit(cache=True, nogil=True, error_model="numpy")
def _outdoors(u, v, sv, w, seed):  # type: ignore[no-untyped-def]
    # What a pane shows: sky with clouds, a line of trees, lawn.
    height = v / sv
    cloud = _step(_noise(0.6 * u, v, 0.5, 4, w, seed), 0.1, 0.5)
    r, g, b = 196.0 - 50.0 * height, 220.0 - 30.0 * height, 240.0
    r, g, b = r + cloud * (250.0 - r), g + cloud * (250.0 - g), b + cloud * (252.0 - b)
    crown = sv * (0.42 + 0.22 * _noise(u, 0.0, 0.35, 4, w, seed + _A))
    tree = _step(crown - v, 0.0, max(w, 0.01))
    leaf = 1.0 + 0.35 * _noise(u, v, 0.06, 3, w, seed + _B)
    r, g, b = r + tree * (96.0 * leaf - r), g + tree * (132.0 * leaf - g), b + tree * (84.0 * leaf - b)
    lawn = _step(0.22 * sv - v, 0.0, max(w, 0.01))
    return r + lawn * (140.0 * leaf - r), g + lawn * (178.0 * leaf - g), b + lawn * (104.0 * leaf - b)


@njit(cache=True, nogil=True, error_model="numpy")
def _posters(u, v, w, seed, r, g, b, contrast):  # type: ignore[no-untyped-def]
    # Noise of six octaves down to 8 mm, a posters' grid of 1.5 m, and rows of marks like letters on the posters.
    lum = 66.0 * _noise(u, v, 0.8, 6, w, seed)
    warm = 40.0 * _noise(u, v, 0.4, 1, w, seed + _A)
    r, g, b = r + lum + warm, g + lum - 0.3 * warm, b + lum - warm
    i, j = int(np.floor(u / 1.5)), int(np.floor(v / 1.5))
    h = _hash(i, j, seed + _B)
    if (h & _BYTE) < 190:
        half_u, half_v = 0.25 + 0.30 * _unit(h >> np.uint64(3)), 0.25 + 0.30 * _unit(h >> np.uint64(9))
        pu = u - (i * 1.5 + half_u + (1.5 - 2.0 * half_u) * _unit(h >> np.uint64(14)))
        pv = v - (j * 1.5 + half_v + (1.5 - 2.0 * half_v) * _unit(h >> np.uint64(20)))
        inside = _step(half_u - abs(pu), 0.0, w) * _step(half_v - abs(pv), 0.0, w)
        if inside > 0.0:
            pr, pg, pb = 255.0 * _unit(h * _A), 255.0 * _unit(h * _B), 255.0 * _unit(h * _C)
            bit = 0.012 + 0.022 * _unit(h >> np.uint64(25))
            ink = _letters((pu + half_u) / bit, (half_v - pv) / bit, w / bit, h)
            far = 30.0 if pr + pg + pb > 382.0 else 225.0
            pr, pg, pb = pr + ink * (far - pr), pg + ink * (far - pg), pb + ink * (far - pb)
            rough = 1.0 + 0.004 * lum
            r, g, b = r + inside * (pr * rough - r), g + inside * (pg * rough - g), b + inside * (pb * rough - b)
    return 125.0 + contrast * (r - 125.0), 125.0 + contrast * (g - 125.0), 125.0 + contrast * (b - 125.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _letters(x, y, w, seed):  # type: ignore[no-untyped-def]
    """Share of ink at (x, y) on a page of random signs, 3 x 5 bits in fields of 4 x 7; units are bits."""
    i, j = int(np.floor(x - 0.5)), int(np.floor(y - 0.5))
    soft = min(max(w, 0.15), 1.0)
    fx = min(max((x - 0.5 - i - 0.5) / soft + 0.5, 0.0), 1.0)
    fy = min(max((y - 0.5 - j - 0.5) / soft + 0.5, 0.0), 1.0)
    upper = (1.0 - fx) * _bit(i, j, seed) + fx * _bit(i + 1, j, seed)
    lower = (1.0 - fx) * _bit(i, j + 1, seed) + fx * _bit(i + 1, j + 1, seed)
    ink = (1.0 - fy) * upper + fy * lower
    # The mean of the page: 15 of 28 bits in a field, half of them set, four fields in five used.
    return 0.21 + min(max(2.5 / w - 1.0, 0.0), 1.0) * (ink - 0.21)


@njit(cache=True, nogil=True, error_model="numpy")
def _bit(i, j, seed):  # type: ignore[no-untyped-def]
    column, line = i % 4, j % 7
    if column == 3 or line >= 5:
        return 0.0
    h = _hash(i // 4, j // 7, seed)
    if (h >> _S40) % np.uint64(5) == 0:
        return 0.0
    return 1.0 if (h >> np.uint64(line * 3 + column)) & np.uint64(1) else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _noise(u, v, cell, octaves, w, seed):  # type: ignore[no-untyped-def]
    """Value noise, about -1 to 1: lattices of `cell` metres, then 0.4 of that, ...; those finer than `w` are left."""
    total, amplitude = 0.0, 0.6
    a, b = u / cell, v / cell
    kept = 1.5 * cell / w
    for _ in range(octaves):
        if kept <= 1.0:
            break
        fa, fb = np.floor(a), np.floor(b)
        x, y = a - fa, b - fb
        x, y = x * x * (3.0 - 2.0 * x), y * y * (3.0 - 2.0 * y)
        base = seed + np.uint64(np.int64(fa)) * _A + np.uint64(np.int64(fb)) * _B
        p, q = _corner(base), _corner(base + _A)
        s, t = _corner(base + _B), _corner(base + _A + _B)
        lower, upper = p + x * (q - p), s + x * (t - s)
        total += amplitude * min(kept - 1.0, 1.0) * (_SPAN * (lower + y * (upper - lower)))
        a *= 2.5
        b *= 2.5
        kept *= 0.4
        amplitude *= 0.9
        seed += _C
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _mixed(h):  # type: ignore[no-untyped-def]
    h = (h ^ (h >> _S32)) * _C
    return h ^ (h >> _S29)


@njit(cache=True, nogil=True, error_model="numpy")
def _hash(i, j, seed):  # type: ignore[no-untyped-def]
    return _mixed(_mixed(seed + np.uint64(i) * _A + np.uint64(j) * _B))


@njit(cache=True, nogil=True, error_model="numpy")
def _unit(h):  # type: ignore[no-untyped-def]
    """24 bits of a hash as a number in [0, 1)."""
    return np.int64((h >> _S16) & np.uint64(0xFFFFFF)) * _UNIT


@njit(cache=True, nogil=True, error_model="numpy")
def _corner(h):  # type: ignore[no-untyped-def]
    """Value of a lattice point, a signed 64-bit number; one multiplication is enough where the eye is the judge."""
    return float(np.int64((h ^ (h >> _S32)) * _C))


@njit(cache=True, nogil=True, error_model="numpy")
def _kept(cell, w):  # type: ignore[no-untyped-def]
    """How much of a detail of size `cell` a footprint `w` leaves."""
    return min(max(cell / w - 1.0, 0.0), 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _step(x, edge, width):  # type: ignore[no-untyped-def]
    """From 0 below `edge` to 1 above, over `width`."""
    return min(max((x - edge) / max(width, 1e-6) + 0.5, 0.0), 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _gap(near, half, w, period):  # type: ignore[no-untyped-def]
    """Share of a footprint `w` on a line of half width `half`, `near` metres away; lines come every `period`."""
    if w >= period:
        return 2.0 * half / period
    covered = min(near + 0.5 * w, half) - max(near - 0.5 * w, -half)
    return min(max(covered / max(w, 1e-6), 0.0), 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _stripes(x, period, w):  # type: ignore[no-untyped-def]
    """Stripes half as wide as `period`, grey where they are finer than `w`."""
    a = x / period
    wave = 4.0 * abs(a - np.floor(a) - 0.5) - 1.0
    return 0.5 + (_step(wave, 0.0, max(4.0 * w / period, 0.1)) - 0.5) * _kept(period, w)


@njit(cache=True, nogil=True, error_model="numpy")
def _bilinear(values, x, y):  # type: ignore[no-untyped-def]
    x, y = min(max(x, 0.0), values.shape[0] - 1.001), min(max(y, 0.0), values.shape[1] - 1.001)
    i, j = int(x), int(y)
    a, b = x - i, y - j
    lower = values[i, j] + a * (values[i + 1, j] - values[i, j])
    upper = values[i, j + 1] + a * (values[i + 1, j + 1] - values[i, j + 1])
    return lower + b * (upper - lower)


# The geometry kernel: the nearest box face that each ray meets.
#
# Rays walk a plane grid of cells (Amanatides and Woo 1987) whose lists name the groups of boxes standing over them; a
# group is tried once a ray, its own box first. Groups wholly under or over the air space (floors, ceilings) are in
# lists of their own: a ray meets them only where it leaves the air, so they need not be tried in every cell.


class BoxGrid(NamedTuple):
    """Boxes and the grid over them, in metres. Cell (i, j) is i * shape[1] + j."""

    boxes: NDArray[np.float64]  # (n, 6), x0 y0 z0 x1 y1 z1
    group_first: NDArray[np.int64]  # group g is boxes[group_first[g]:group_first[g + 1]]
    group_bounds: NDArray[np.float64]  # (g, 6)
    first: NDArray[np.int64]  # groups of cell c are items[first[c]:first[c + 1]]
    items: NDArray[np.int32]
    outer_first: NDArray[np.int64]  # as `first`, of groups outside the air
    outer_items: NDArray[np.int32]
    tallest: NDArray[np.float64]  # highest top among the groups of a cell
    origin: NDArray[np.float64]  # lower corner
    cell_m: float
    shape: NDArray[np.int64]  # cells along x and y
    air: NDArray[np.float64]  # z of floor and ceiling


Cells = BoxGrid  # kernels that an earlier version compiled and cached look it up by its old name


@njit(cache=True, nogil=True, error_model="numpy")
def _slab(boxes, n, ox, oy, oz, ix, iy, iz):  # type: ignore[no-untyped-def]
    """Where a ray enters and leaves box `n`, and the axis it enters along; near >= far when it passes by."""
    a0, a1 = (boxes[n, 0] - ox) * ix, (boxes[n, 3] - ox) * ix
    b0, b1 = (boxes[n, 1] - oy) * iy, (boxes[n, 4] - oy) * iy
    c0, c1 = (boxes[n, 2] - oz) * iz, (boxes[n, 5] - oz) * iz
    near, far, axis = min(a0, a1), max(a0, a1), 0
    b = min(b0, b1)
    if b > near:
        near, axis = b, 1
    c = min(c0, c1)
    if c > near:
        near, axis = c, 2
    return near, min(far, max(b0, b1), max(c0, c1)), axis


@njit(cache=True, nogil=True, error_model="numpy")
def meet(cells, origin, rotation, rays, limit, depth, box, face):  # type: ignore[no-untyped-def]
    """Find what rays (N, 3), in the camera's frame, meet first; fills `depth` (inf for none), `box` (-1) and `face`.
    If two boxes tie, the lower index counts. A box that holds the origin is not met. Faces are +x -x +y -y +z -z."""
    boxes, group_first, group_bounds, first, items, outer_first, outer_items, tallest, corner, cell_m, shape, air = (
        cells
    )
    ox, oy, oz = origin[0], origin[1], origin[2]
    nx, ny = shape[0], shape[1]
    start_x, start_y = (ox - corner[0]) / cell_m, (oy - corner[1]) / cell_m
    in_air = air[0] < oz < air[1]
    tried = np.full(len(group_bounds), -1, np.int64)
    for k in range(len(rays)):
        rx, ry, rz = rays[k, 0], rays[k, 1], rays[k, 2]
        dx = rx * rotation[0, 0] + ry * rotation[0, 1] + rz * rotation[0, 2]
        dy = rx * rotation[1, 0] + ry * rotation[1, 1] + rz * rotation[1, 2]
        dz = rx * rotation[2, 0] + ry * rotation[2, 1] + rz * rotation[2, 2]
        # A direction of 0 would make 0 * inf; this one is as good as parallel.
        dx = 1e-15 if abs(dx) < 1e-15 else dx
        dy = 1e-15 if abs(dy) < 1e-15 else dy
        dz = 1e-15 if abs(dz) < 1e-15 else dz
        ix, iy, iz = 1.0 / dx, 1.0 / dy, 1.0 / dz
        best, hit, axis = limit, -1, 0

        # The stretch of the ray over the grid.
        t_in, t_out = 0.0, limit
        low, high = -start_x * cell_m * ix, (nx - start_x) * cell_m * ix
        t_in, t_out = max(t_in, min(low, high)), min(t_out, max(low, high))
        low, high = -start_y * cell_m * iy, (ny - start_y) * cell_m * iy
        t_in, t_out = max(t_in, min(low, high)), min(t_out, max(low, high))
        t_air = ((air[1] if dz > 0.0 else air[0]) - oz) * iz if in_air else np.inf

        if t_in < t_out:
            cx = min(max(int(np.floor(start_x + t_in * dx / cell_m)), 0), nx - 1)
            cy = min(max(int(np.floor(start_y + t_in * dy / cell_m)), 0), ny - 1)
            step_x, step_y = (1 if dx > 0.0 else -1), (1 if dy > 0.0 else -1)
            tx = (cx + (1 if dx > 0.0 else 0) - start_x) * cell_m * ix
            ty = (cy + (1 if dy > 0.0 else 0) - start_y) * cell_m * iy
            wx, wy = cell_m * abs(ix), cell_m * abs(iy)
            while True:
                leave = min(tx, ty)
                c = np.uintp(cx * ny + cy)
                # The air's own list, then, where the ray leaves the air, what bounds it.
                for outer in range(2):
                    if outer == 0:
                        if oz + (leave if dz < 0.0 else t_in) * dz > tallest[c]:
                            continue
                        m, end = first[c], first[c + np.uintp(1)]
                    else:
                        if in_air and t_air > leave:
                            continue
                        m, end = outer_first[c], outer_first[c + np.uintp(1)]
                    while m < end:
                        g = np.uintp(items[np.uintp(m)] if outer == 0 else outer_items[np.uintp(m)])
                        m += 1
                        if tried[g] == k:
                            continue
                        tried[g] = k
                        t, far, a = _slab(group_bounds, g, ox, oy, oz, ix, iy, iz)
                        if t >= far or far <= 0.0 or t > best:
                            continue
                        n, last = group_first[g], group_first[g + np.uintp(1)]
                        if last - n == 1:
                            if t > 0.0 and (t < best or n < hit):
                                best, hit, axis = t, n, a
                            continue
                        while n < last:
                            t, far, a = _slab(boxes, np.uintp(n), ox, oy, oz, ix, iy, iz)
                            if t < far and t > 0.0 and (t < best or (t == best and n < hit)):
                                best, hit, axis = t, n, a
                            n += 1
                if best <= leave or leave >= t_out:
                    break
                t_in = leave
                if tx < ty:
                    cx += step_x
                    tx += wx
                    if cx < 0 or cx >= nx:
                        break
                else:
                    cy += step_y
                    ty += wy
                    if cy < 0 or cy >= ny:
                        break
        box[k] = hit
        if hit < 0:
            depth[k] = np.inf
            face[k] = 6
        else:
            depth[k] = best
            toward = dx if axis == 0 else dy if axis == 1 else dz
            face[k] = 2 * axis + (1 if toward > 0.0 else 0)
