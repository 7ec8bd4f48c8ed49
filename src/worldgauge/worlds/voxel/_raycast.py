"""The kernel of the camera: one ray a pixel through the cells, nearest hit, colour and labels.

Grid walk of Amanatides and Woo (1987), with what measuring taught: cells padded by one sentinel layer and
walked by one linear index (no bounds checks), rows in bands on threads that do not hold the interpreter's lock. Indices
of the hot loads are unsigned (np.uintp), which spares the check for negative ones.

Rays go in tiles of 8 x 8 pixels. A tile skips what none of its rays can meet (`_beams`), then all walk in step, in
loops without branches that the compiler turns into vector instructions: one list of numbers for all, at fixed offsets,
and nothing fetched from the world in them. Rays that are still on their way when few are left, or that have met what is
no full block, walk on one by one. The sums are the same in both, so the bits are those of one walk a ray.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# What all rays of a part of the image have in common, found once for all of them: how far they meet nothing.
#
# A beam is the set of rays of a rectangle of pixels. Between two times its hull is a box; while the cells that such a
# box touches are empty, no ray of the beam can have met anything. The box is widened by more than the kernel of the
# camera rounds, so that a walk which starts where the beam ends gives the same bits.

_STEP = 0.5
"""Length of a piece of a beam in cells, to which its width is added."""

_WIDE = 0.5
"""Beams that widen by more than this much a metre of depth are not followed: their boxes hold too many cells."""


@njit(cache=True, nogil=True, error_model="numpy")
def hull(columns, rows, scale, top, bottom, left, right, low, high):  # type: ignore[no-untyped-def]
    """Find the least and the greatest direction of a rectangle's rays on each axis, into `low` and `high` (3,)."""
    least, most = scale[top], scale[top]
    for v in range(top + 1, bottom):
        least, most = min(least, scale[v]), max(most, scale[v])
    for a in range(3):
        c0 = c1 = columns[left, a]
        for u in range(left + 1, right):
            c0, c1 = min(c0, columns[u, a]), max(c1, columns[u, a])
        r0 = r1 = rows[top, a]
        for v in range(top + 1, bottom):
            r0, r1 = min(r0, rows[v, a]), max(r1, rows[v, a])
        low[a] = min(c0 * least, c0 * most) + r0
        high[a] = max(c1 * least, c1 * most) + r1


@njit(cache=True, nogil=True, error_model="numpy")
def follow(states, size, cell, within, low, high, view_m, free, cells):  # type: ignore[no-untyped-def]
    """Time before which a beam from a camera inside the world meets nothing, stays inside and does not end; infinite if
    free. `states` are padded and flat, `size` is without padding, `low` and `high` bound the rays' directions, `cells`
    is scratch."""
    stride_y = size[2] + 2
    stride_x = (size[1] + 2) * stride_y
    longest, shortest, fastest = 0.0, 0.0, 0.0
    for a in range(3):
        far = np.float64(max(abs(low[a]), abs(high[a])))
        longest += far * far
        fastest = max(fastest, far)
        if low[a] > 0.0 or high[a] < 0.0:
            near = np.float64(min(abs(low[a]), abs(high[a])))
            shortest += near * near
        cells[a], cells[a + 3] = 0, -1
    spread = np.float64(max(high[0] - low[0], high[1] - low[1], high[2] - low[2]))
    if spread > _WIDE or shortest == 0.0:
        return free
    # Some rays end at the first time, all at the second one.
    stays, ends = view_m / np.sqrt(longest) * 0.9999, view_m / np.sqrt(shortest) * 1.0001
    while free <= ends:
        after = free + (_STEP + spread * free) / fastest
        reached = after * fastest
        # Sums of n float32 numbers up to s are off by n * s * 2**-24 at most.
        margin = 1e-3 + 1.2e-7 * reached * reached
        gone, known = False, True
        for a in range(3):
            first = np.int64(np.floor(within[a] + min(free * low[a], after * low[a]) - margin)) + cell[a]
            last = np.int64(np.floor(within[a] + max(free * high[a], after * high[a]) + margin)) + cell[a]
            gone = gone or last < 0 or first >= size[a]
            if first < 0 or last >= size[a]:
                stays = min(stays, free)
            first, last = max(first, 0), min(last, size[a] - 1)
            known = known and first == cells[a] and last == cells[a + 3]
            cells[a], cells[a + 3] = first, last
        if gone:
            return np.inf
        if not known:
            for i in range(cells[0], cells[3] + 1):
                for j in range(cells[1], cells[4] + 1):
                    at = (i + 1) * stride_x + (j + 1) * stride_y + 1
                    for k in range(cells[2], cells[5] + 1):
                        if states[np.uintp(at + k)] != 0:
                            return min(free, stays)
        free = after
    return np.inf


# What a cell does to a ray.
AIR, OPAQUE, END, BOXES, CROSS, PANE, LIQUID = range(7)

END_STATE = 255
"""The state of the sentinel layer round the world."""

PLANT_FACE = 6

_SIDE, _BLOCK = 8, 32
"""Pixels along the side of a tile, and of a block of tiles, which are looked at together first."""

_LANES = _SIDE * _SIDE
_FEW = 12
"""So many rays of a tile are left to walk one by one."""

# Where the numbers of a tile's rays lie: direction, its inverse, next crossing on each axis, length, time, end, time
# at the face of a full block.
_DX, _DY, _DZ, _IX, _IY, _IZ, _TX, _TY, _TZ, _LENGTH, _T, _LIMIT, _HIT = (_LANES * n for n in range(13))
# The same of whole numbers: cell, axis crossed last, state of the cell; face and texel of a full block; sky.
_AT, _AXIS, _STATE, _FACE, _TEXEL, _SKY = (_LANES * n for n in range(6))

_ZERO, _HALF, _ONE, _SIXTEEN = np.float32(0), np.float32(0.5), np.float32(1), np.float32(16)
_TINY = np.float32(1e-12)
_INF = np.float32(np.inf)
_NAN = np.float32(np.nan)
_PLANT_COSINE = np.float32(0.7)
# Half the extent along x of a diagonal plane one metre wide.
_PLANT_REACH = np.float32(np.sqrt(0.125))


class VoxelScene(NamedTuple):
    """A padded world, flat in C order: states, objects; cells along x, y, z without the padding."""

    states: NDArray[np.uint8]
    instances: NDArray[np.uint16]
    size: NDArray[np.int64]


Scene = VoxelScene  # kernels that an earlier version compiled and cached look it up by its old name


class Materials(NamedTuple):
    """Tables of the 256 states."""

    role: NDArray[np.uint8]  # AIR to LIQUID
    cutout: NDArray[np.bool_]  # has clear texels
    fused: NDArray[np.bool_]  # hides faces it shares with its own state
    joins: NDArray[np.bool_]  # panes connect to it
    category: NDArray[np.uint16]
    box_range: NDArray[np.int64]  # (256, 2) rows of `boxes`
    boxes: NDArray[np.float32]  # (n, 6), x0 y0 z0 x1 y1 z1 in the cell
    page: NDArray[np.int64]  # (256, 7) first texel of each face
    texels: NDArray[np.uint32]  # pages of five sizes, lit, red in the low byte, clear 0 on top
    sky: NDArray[np.uint32]  # from bottom to top


class Rays(NamedTuple):
    """Rays of pixels (v, u): columns[u] * scale[v] + rows[v], world frame; depth is their parameter."""

    columns: NDArray[np.float32]
    rows: NDArray[np.float32]
    scale: NDArray[np.float32]
    cell: NDArray[np.int64]  # of the camera
    within: NDArray[np.float32]  # its place in that cell, [0, 1)
    view_m: np.float32  # where rays end
    pixel_texels: np.float32  # size of a pixel at depth 1
    sky_category: np.uint16  # of rays that end in the sky


class FrameArrays(NamedTuple):
    """Arrays (H, W, ...) to paint; position has no rows when it is not asked for."""

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    category: NDArray[np.uint16]
    instance: NDArray[np.uint16]
    position: NDArray[np.float32]


Frame = FrameArrays  # kernels that an earlier version compiled and cached look it up by its old name


@njit(cache=True, nogil=True, error_model="numpy")
def cast(scene, materials, rays, frame, first_row, last_row):  # type: ignore[no-untyped-def]
    """Paint rows [first_row, last_row) of a frame in place. Rows do not depend on each other."""
    states, _, size = scene
    columns, rows, scale, cell, within, view_m = rays[:6]
    outside = False
    for a in range(3):
        outside = outside or cell[a] < 0 or cell[a] >= size[a]
    start = 0 if outside else ((cell[0] + 1) * (size[1] + 2) + cell[1] + 1) * (size[2] + 2) + cell[2] + 1
    clear = not outside and states[start] == 0
    low, high, cells = np.empty(3, np.float32), np.empty(3, np.float32), np.empty(6, np.int64)
    reals, wholes = np.zeros(13 * _LANES, np.float32), np.zeros(6 * _LANES, np.int32)
    for top in range(first_row, last_row, _BLOCK):
        bottom = min(top + _BLOCK, last_row)
        for left in range(0, len(columns), _BLOCK):
            right = min(left + _BLOCK, len(columns))
            common = 0.0
            if clear:
                hull(columns, rows, scale, top, bottom, left, right, low, high)
                common = follow(states, size, cell, within, low, high, view_m, 0.0, cells)
            for v in range(top, bottom, _SIDE):
                for u in range(left, right, _SIDE):
                    free = common
                    below, beside = min(v + _SIDE, bottom), min(u + _SIDE, right)
                    if clear and free < np.inf:
                        hull(columns, rows, scale, v, below, u, beside, low, high)
                        free = follow(states, size, cell, within, low, high, view_m, free, cells)
                    _aim(rays, v, below, u, beside, reals)
                    if outside:
                        _enter(scene, rays, reals, wholes)
                    else:
                        for n in range(_LANES):
                            wholes[_AT + n], wholes[_AXIS + n], wholes[_STATE + n] = start, 3, states[start]
                    if free == np.inf:
                        for n in range(_LANES):
                            wholes[_AT + n] = 0
                    else:
                        if clear:
                            _skip(size, reals, wholes, low, high, np.float32(free))
                        _walk(states, size, reals, wholes)
                    _shade(rays, np.float32(len(materials.sky) - 1), reals, wholes)
                    _paint(scene, materials, rays, frame, v, below, u, beside, reals, wholes)
    if len(frame.position) > 0:
        _locate(rays, frame, first_row, last_row)


@njit(cache=True, nogil=True, error_model="numpy")
def _aim(rays, top, bottom, left, right, reals):  # type: ignore[no-untyped-def]
    """Directions of a tile's rays and their first crossings; what is missing to 8 x 8 repeats the last ones."""
    columns, rows, scale, _, within, view_m, _, _ = rays
    ox, oy, oz = within[0], within[1], within[2]
    across = np.empty(3 * _SIDE, np.float32)
    for n in range(_SIDE):
        u = min(left + n, right - 1)
        for a in range(3):
            across[a * _SIDE + n] = columns[u, a]
    for row in range(_SIDE):
        v = min(top + row, bottom - 1)
        s, x, y, z = scale[v], rows[v, 0], rows[v, 1], rows[v, 2]
        for n in range(_SIDE):
            reals[_DX + row * _SIDE + n] = across[n] * s + x
            reals[_DY + row * _SIDE + n] = across[_SIDE + n] * s + y
            reals[_DZ + row * _SIDE + n] = across[2 * _SIDE + n] * s + z
    for n in range(_LANES):
        dx, dy, dz = reals[_DX + n], reals[_DY + n], reals[_DZ + n]
        length = np.sqrt(dx * dx + dy * dy + dz * dz)
        # A direction of 0 would make 0 * inf; this one is as good as parallel.
        dx = _TINY if abs(dx) < _TINY else dx
        dy = _TINY if abs(dy) < _TINY else dy
        dz = _TINY if abs(dz) < _TINY else dz
        ix, iy, iz = _ONE / dx, _ONE / dy, _ONE / dz
        reals[_DX + n], reals[_DY + n], reals[_DZ + n] = dx, dy, dz
        reals[_IX + n], reals[_IY + n], reals[_IZ + n] = ix, iy, iz
        reals[_TX + n] = (_ONE - ox) * ix if dx > _ZERO else -ox * ix
        reals[_TY + n] = (_ONE - oy) * iy if dy > _ZERO else -oy * iy
        reals[_TZ + n] = (_ONE - oz) * iz if dz > _ZERO else -oz * iz
        reals[_LENGTH + n], reals[_T + n], reals[_LIMIT + n] = length, _ZERO, view_m / length


@njit(cache=True, nogil=True, error_model="numpy")
def _enter(scene, rays, reals, wholes):  # type: ignore[no-untyped-def]
    """Where rays from outside enter the world, by its sides; those that do not are as good as at its end."""
    states, _, size = scene
    cell, within = rays[3], rays[4]
    x0, y0, z0 = cell[0], cell[1], cell[2]
    ox, oy, oz = within[0], within[1], within[2]
    for n in range(_LANES):
        dx, dy, dz = reals[_DX + n], reals[_DY + n], reals[_DZ + n]
        ix, iy, iz = reals[_IX + n], reals[_IY + n], reals[_IZ + n]
        # The latest of the three near sides, if it comes before the first far side.
        leave = _INF
        t = -_INF
        axis = 3
        for a in range(3):
            if a == 0:
                low, high = (np.float32(-x0) - ox) * ix, (np.float32(size[0] - x0) - ox) * ix
            elif a == 1:
                low, high = (np.float32(-y0) - oy) * iy, (np.float32(size[1] - y0) - oy) * iy
            else:
                low, high = (np.float32(-z0) - oz) * iz, (np.float32(size[2] - z0) - oz) * iz
            if min(low, high) > t:
                t = min(low, high)
                axis = a
            leave = min(leave, max(low, high))
        reals[_T + n] = t
        wholes[_AXIS + n] = axis
        wholes[_AT + n] = 0
        wholes[_STATE + n] = END_STATE
        if t < leave and t >= _ZERO and t <= reals[_LIMIT + n]:
            cx = np.int64(np.floor(ox + t * dx)) + x0
            cy = np.int64(np.floor(oy + t * dy)) + y0
            cz = np.int64(np.floor(oz + t * dz)) + z0
            if axis == 0:
                cx = 0 if dx > _ZERO else size[0] - 1
            elif axis == 1:
                cy = 0 if dy > _ZERO else size[1] - 1
            else:
                cz = 0 if dz > _ZERO else size[2] - 1
            cx, cy, cz = (min(max(cx, 0), size[0] - 1), min(max(cy, 0), size[1] - 1), min(max(cz, 0), size[2] - 1))
            at = ((cx + 1) * (size[1] + 2) + cy + 1) * (size[2] + 2) + cz + 1
            wholes[_AT + n] = at
            wholes[_STATE + n] = states[at]
            reals[_TX + n] = (np.float32(cx - x0 + (1 if dx > _ZERO else 0)) - ox) * ix
            reals[_TY + n] = (np.float32(cy - y0 + (1 if dy > _ZERO else 0)) - oy) * iy
            reals[_TZ + n] = (np.float32(cz - z0 + (1 if dz > _ZERO else 0)) - oz) * iz


@njit(cache=True, nogil=True, error_model="numpy")
def _skip(size, reals, wholes, low, high, free):  # type: ignore[no-untyped-def]
    """Pass all crossings up to a time; in which order does not matter where all cells are empty."""
    stride_y = np.int32(size[2] + 2)
    stride_x = np.int32(size[1] + 2) * stride_y
    for a in range(3):
        stride = stride_x if a == 0 else stride_y if a == 1 else np.int32(1)
        d, i, t = (_DX, _IX, _TX) if a == 0 else (_DY, _IY, _TY) if a == 1 else (_DZ, _IZ, _TZ)
        for _ in range(int(free * max(abs(low[a]), abs(high[a]))) + 2):
            for n in range(_LANES):
                next_one = reals[t + n]
                reals[t + n] = next_one + abs(reals[i + n]) if next_one <= free else next_one
                step = stride if reals[d + n] > _ZERO else -stride
                wholes[_AT + n] += step if next_one <= free else np.int32(0)


@njit(cache=True, nogil=True, error_model="numpy")
def _walk(states, size, reals, wholes):  # type: ignore[no-untyped-def]
    """Walk all rays of a tile in step, until all but a few are where something is."""
    stride_y = np.int32(size[2] + 2)
    stride_x = np.int32(size[1] + 2) * stride_y
    none, one, two = np.int32(0), np.int32(1), np.int32(2)
    going = _LANES
    while going > _FEW:
        for n in range(_LANES):
            tx, ty, tz, t = reals[_TX + n], reals[_TY + n], reals[_TZ + n], reals[_T + n]
            goes = (wholes[_STATE + n] == none) & (t <= reals[_LIMIT + n])
            by_x = goes & (tx <= ty) & (tx <= tz)
            by_y = goes & (ty < tx) & (ty <= tz)
            by_z = goes & (tz < tx) & (tz < ty)
            reals[_T + n] = tx if by_x else ty if by_y else tz if by_z else t
            reals[_TX + n] = tx + abs(reals[_IX + n]) if by_x else tx
            reals[_TY + n] = ty + abs(reals[_IY + n]) if by_y else ty
            reals[_TZ + n] = tz + abs(reals[_IZ + n]) if by_z else tz
            step_x = stride_x if reals[_DX + n] > _ZERO else -stride_x
            step_y = stride_y if reals[_DY + n] > _ZERO else -stride_y
            step_z = one if reals[_DZ + n] > _ZERO else -one
            wholes[_AT + n] += step_x if by_x else step_y if by_y else step_z if by_z else none
            wholes[_AXIS + n] = none if by_x else one if by_y else two if by_z else wholes[_AXIS + n]
        going = 0
        for n in range(_LANES):
            state = states[np.uintp(wholes[_AT + n])]
            wholes[_STATE + n] = state
            going += 1 if (state == 0) & (reals[_T + n] <= reals[_LIMIT + n]) else 0


@njit(cache=True, nogil=True, error_model="numpy")
def _shade(rays, sky_steps, reals, wholes):  # type: ignore[no-untyped-def]
    """What each ray shows if it has met a full block, or the sky."""
    within, pixel_texels = rays[4], rays[6]
    ox, oy, oz = within[0], within[1], within[2]
    none, one, two = np.int32(0), np.int32(1), np.int32(2)
    for n in range(_LANES):
        axis, t = wholes[_AXIS + n], reals[_T + n]
        dx, dy, dz, length = reals[_DX + n], reals[_DY + n], reals[_DZ + n], reals[_LENGTH + n]
        by_x, by_y = axis == none, axis == one
        d = dx if by_x else dy if by_y else dz
        o = ox if by_x else oy if by_y else oz
        ix, iy, iz = reals[_IX + n], reals[_IY + n], reals[_IZ + n]
        inverse = ix if by_x else iy if by_y else iz
        hit = (np.rint(o + t * d) - o) * inverse
        lx, ly, lz = ox + hit * dx, oy + hit * dy, oz + hit * dz
        lx -= np.floor(lx)
        ly -= np.floor(ly)
        lz -= np.floor(lz)
        face = (none if by_x else two if by_y else np.int32(4)) + (one if d > _ZERO else none)
        across = ly if by_x else lx
        across = _ONE - across if (face == one) | (face == two) else across
        down = lz if by_x | by_y else ly
        down = down if face == np.int32(5) else _ONE - down
        row = np.int32(min(max(down * _SIXTEEN, _ZERO), np.float32(15)))
        column = np.int32(min(max(across * _SIXTEEN, _ZERO), np.float32(15)))
        # Texels under one pixel, squared: between the short and the long side of its footprint.
        reach = hit * pixel_texels
        spread = reach * reach * length / abs(d)
        size = (
            (one if spread >= np.float32(2) else none)
            + (one if spread >= np.float32(8) else none)
            + (one if spread >= np.float32(32) else none)
            + (one if spread >= np.float32(128) else none)
        )
        first = (
            (np.int32(256) if size > none else none)
            + (np.int32(64) if size > one else none)
            + (np.int32(16) if size > two else none)
            + (np.int32(4) if size > np.int32(3) else none)
        )
        reals[_HIT + n] = hit
        wholes[_FACE + n] = face
        wholes[_TEXEL + n] = first + ((row >> size) << (np.int32(4) - size)) + (column >> size)
        wholes[_SKY + n] = np.int32(max(dz, _ZERO) / length * sky_steps)


@njit(cache=True, nogil=True, error_model="numpy")
def _paint(scene, materials, rays, frame, first_row, last_row, first_column, last_column, reals, wholes):  # type: ignore[no-untyped-def]
    """Paint a tile: what is shaded as it is, the rest by walking on, one ray after another."""
    states, instances, size = scene
    role, cutout, fused, joins, category, box_range, boxes, page, texels, sky = materials
    within, pixel_texels, sky_category = rays[4], rays[6], rays[7]
    rgb, depth, labels, owners, _ = frame

    stride_y = size[2] + 2
    stride_x = (size[1] + 2) * stride_y
    ox, oy, oz = within[0], within[1], within[2]
    sky_steps = np.float32(len(sky) - 1)
    for n in range((last_row - first_row) * _SIDE):
        v, u = first_row + n // _SIDE, first_column + n % _SIDE
        if u >= last_column:
            continue
        t, at = reals[_T + n], np.int64(wholes[_AT + n])
        state = states[np.uintp(at)]
        kind = END if t > reals[_LIMIT + n] else role[np.uintp(state)]
        full = kind == OPAQUE and wholes[_AXIS + n] < 3
        if full or kind == END:
            if full:
                colour = texels[np.uintp(page[np.uintp(state), np.uintp(wholes[_FACE + n])] + wholes[_TEXEL + n])]
                depth[v, u] = reals[_HIT + n]
                labels[v, u] = category[np.uintp(state)]
                owners[v, u] = instances[np.uintp(at)]
            else:
                colour = sky[np.uintp(wholes[_SKY + n])]
                depth[v, u] = _INF
                labels[v, u] = sky_category
                owners[v, u] = 0
            rgb[v, u, 0] = colour & np.uint32(255)
            rgb[v, u, 1] = (colour >> np.uint32(8)) & np.uint32(255)
            rgb[v, u, 2] = (colour >> np.uint32(16)) & np.uint32(255)
            continue
        dx, dy, dz = reals[_DX + n], reals[_DY + n], reals[_DZ + n]
        ix, iy, iz = reals[_IX + n], reals[_IY + n], reals[_IZ + n]
        tx, ty, tz = reals[_TX + n], reals[_TY + n], reals[_TZ + n]
        wx, wy, wz = abs(ix), abs(iy), abs(iz)
        step_x = stride_x if dx > _ZERO else -stride_x
        step_y = stride_y if dy > _ZERO else -stride_y
        step_z = 1 if dz > _ZERO else -1
        length, limit, axis = reals[_LENGTH + n], reals[_LIMIT + n], wholes[_AXIS + n]
        face = -1
        lx = ly = lz = _ZERO
        while True:
            if state != 0:
                kind = role[state]
                if kind == OPAQUE:
                    # A camera inside a full block does not see that block.
                    if axis == 0:
                        face = 1 if dx > _ZERO else 0
                        t = (np.rint(ox + t * dx) - ox) * ix
                        ly, lz = oy + t * dy, oz + t * dz
                    elif axis == 1:
                        face = 3 if dy > _ZERO else 2
                        t = (np.rint(oy + t * dy) - oy) * iy
                        lx, lz = ox + t * dx, oz + t * dz
                    elif axis == 2:
                        face = 5 if dz > _ZERO else 4
                        t = (np.rint(oz + t * dz) - oz) * iz
                        lx, ly = ox + t * dx, oy + t * dy
                    if face >= 0:
                        lx -= np.floor(lx)
                        ly -= np.floor(ly)
                        lz -= np.floor(lz)
                        break
                elif kind == END:
                    break
                elif kind != AIR:
                    # Origin of the ray as seen from the lower corner of this cell.
                    qx = ox + (_ONE if dx > _ZERO else _ZERO) - np.rint(ox + tx * dx)
                    qy = oy + (_ONE if dy > _ZERO else _ZERO) - np.rint(oy + ty * dy)
                    qz = oz + (_ONE if dz > _ZERO else _ZERO) - np.rint(oz + tz * dz)
                    behind = states[at - (step_x if axis == 0 else step_y if axis == 1 else step_z)]
                    hidden = axis < 3 and fused[state] and behind == state
                    best = limit
                    for m in range(box_range[state, 0], box_range[state, 1]):
                        part = m - box_range[state, 0]
                        if kind == CROSS:
                            # Plane x = y, then plane x + y = 1.
                            if part == 0:
                                slope, gap = dx - dy, qy - qx
                            else:
                                slope, gap = dx + dy, _ONE - qx - qy
                            hit = gap / slope if abs(slope) > _TINY else -_ONE
                            hx, hy, hz = qx + hit * dx, qy + hit * dy, qz + hit * dz
                            if not (abs(hx - _HALF) < _PLANT_REACH and hz >= _ZERO and hz < _ONE):
                                continue
                            # From here on hx is the share of the plane's width, which is one metre.
                            hx = _HALF + (hx - _HALF) * _HALF / _PLANT_REACH
                            side = PLANT_FACE
                        else:
                            if kind == PANE and part > 0:
                                beside = stride_x if part == 1 else stride_y if part == 2 else -stride_x
                                if not joins[states[at + (-stride_y if part == 4 else beside)]]:
                                    continue
                            top = boxes[m, 5]
                            if kind == LIQUID and role[states[at + 1]] == LIQUID:
                                top = _ONE
                            a0, a1 = (boxes[m, 0] - qx) * ix, (boxes[m, 3] - qx) * ix
                            b0, b1 = (boxes[m, 1] - qy) * iy, (boxes[m, 4] - qy) * iy
                            c0, c1 = (boxes[m, 2] - qz) * iz, (top - qz) * iz
                            hit, far = min(a0, a1), max(a0, a1)
                            side = 1 if dx > _ZERO else 0
                            if min(b0, b1) > hit:
                                hit = min(b0, b1)
                                side = 3 if dy > _ZERO else 2
                            if min(c0, c1) > hit:
                                hit = min(c0, c1)
                                side = 5 if dz > _ZERO else 4
                            far = min(far, max(b0, b1), max(c0, c1))
                            if hit >= far or (hidden and side // 2 == axis):
                                continue
                            hx, hy, hz = qx + hit * dx, qy + hit * dy, qz + hit * dz
                        if hit <= _ZERO or hit > best or (hit == best and face >= 0):
                            continue
                        hx = min(max(hx, _ZERO), _ONE)
                        hy = min(max(hy, _ZERO), _ONE)
                        hz = min(max(hz, _ZERO), _ONE)
                        if cutout[state]:
                            across = hx if side == 3 or side >= 4 else _ONE - hx
                            if side < 2:
                                across = hy if side == 0 else _ONE - hy
                            down = _ONE - hz
                            if side == 4:
                                down = _ONE - hy
                            elif side == 5:
                                down = hy
                            row = min(int(down * _SIXTEEN), 15)
                            column = min(int(across * _SIXTEEN), 15)
                            if texels[page[state, side] + row * 16 + column] >> np.uint32(24) == 0:
                                continue
                        best = hit
                        face = side
                        lx, ly, lz = hx, hy, hz
                    if face >= 0:
                        t = best
                        break
            while True:
                if tx <= ty and tx <= tz:
                    t = tx
                    tx += wx
                    at += step_x
                    axis = 0
                elif ty <= tz:
                    t = ty
                    ty += wy
                    at += step_y
                    axis = 1
                else:
                    t = tz
                    tz += wz
                    at += step_z
                    axis = 2
                state = states[np.uintp(at)]
                if state != 0 or t > limit:
                    break
            if t > limit:
                break

        if face < 0:
            colour = sky[np.uintp(max(dz, _ZERO) / length * sky_steps)]
            depth[v, u] = _INF
            labels[v, u] = sky_category
            owners[v, u] = 0
        else:
            if face < 2:
                across, down, slant = ly if face == 0 else _ONE - ly, _ONE - lz, abs(dx)
            elif face < 4:
                across, down, slant = lx if face == 3 else _ONE - lx, _ONE - lz, abs(dy)
            elif face < 6:
                across, down, slant = lx, _ONE - ly if face == 4 else ly, abs(dz)
            else:
                across, down, slant = lx, _ONE - lz, _PLANT_COSINE * length
            row = min(int(down * _SIXTEEN), 15)
            column = min(int(across * _SIXTEEN), 15)
            # Texels under one pixel, squared: between the short and the long side of its footprint.
            reach = t * pixel_texels
            spread = reach * reach * length / slant
            texel = page[state, face]
            if spread < np.float32(2):
                texel += row * 16 + column
            elif spread < np.float32(8):
                texel += 256 + (row >> 1) * 8 + (column >> 1)
            elif spread < np.float32(32):
                texel += 320 + (row >> 2) * 4 + (column >> 2)
            elif spread < np.float32(128):
                texel += 336 + (row >> 3) * 2 + (column >> 3)
            else:
                texel += 340
            colour = texels[np.uintp(texel)]
            depth[v, u] = t
            labels[v, u] = category[state]
            owners[v, u] = instances[np.uintp(at)]
        rgb[v, u, 0] = colour & np.uint32(255)
        rgb[v, u, 1] = (colour >> np.uint32(8)) & np.uint32(255)
        rgb[v, u, 2] = (colour >> np.uint32(16)) & np.uint32(255)


@njit(cache=True, nogil=True, error_model="numpy")
def _locate(rays, frame, first_row, last_row):  # type: ignore[no-untyped-def]
    """Fill in where rays end, from how far they go."""
    columns, rows, scale, cell, within, _, _, _ = rays
    depth, position = frame.depth, frame.position
    for v in range(first_row, last_row):
        for u in range(len(columns)):
            t = np.float64(depth[v, u])
            for a in range(3):
                d = columns[u, a] * scale[v] + rows[v, a]
                d = _TINY if abs(d) < _TINY else d
                position[v, u, a] = _NAN if t == np.inf else t * d + (np.float64(within[a]) + cell[a])
