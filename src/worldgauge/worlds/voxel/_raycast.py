"""The kernel of the camera: one ray a pixel through the cells, nearest hit, colour and labels.

Grid walk of Amanatides and Woo (1987), with what measuring taught: cells padded by one sentinel layer and
walked by one linear index (no bounds checks), everything in one function, float32 and int64 throughout,
rows in bands on threads that do not hold the interpreter's lock. Indices of the hot loads are unsigned
(np.uintp), which spares the check for negative ones: 5 % of a frame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# What a cell does to a ray.
AIR, OPAQUE, END, BOXES, CROSS, PANE, LIQUID = range(7)

END_STATE = 255
"""The state of the sentinel layer round the world."""

PLANT_FACE = 6

_ZERO, _HALF, _ONE, _SIXTEEN = np.float32(0), np.float32(0.5), np.float32(1), np.float32(16)
_TINY = np.float32(1e-12)
_INF = np.float32(np.inf)
_NAN = np.float32(np.nan)
_PLANT_COSINE = np.float32(0.7)
# Half the extent along x of a diagonal plane one metre wide.
_PLANT_REACH = np.float32(np.sqrt(0.125))


class Scene(NamedTuple):
    """A padded world, flat in C order: states, objects; cells along x, y, z without the padding."""

    states: NDArray[np.uint8]
    instances: NDArray[np.uint16]
    size: NDArray[np.int64]


class Materials(NamedTuple):
    """Tables of the 256 states.

    Attributes:
        role: AIR to LIQUID.
        cutout: Has clear texels.
        fused: Hides faces it shares with its own state.
        joins: Panes connect to it.
        category: Label of the category.
        box_range: (256, 2) rows of `boxes`.
        boxes: (n, 6), x0 y0 z0 x1 y1 z1 in the cell.
        page: (256, 7) first texel of each face.
        texels: Pages of five sizes, lit, red in the low byte, clear 0 on top.
        sky: Colours of the sky from bottom to top.
    """

    role: NDArray[np.uint8]
    cutout: NDArray[np.bool_]
    fused: NDArray[np.bool_]
    joins: NDArray[np.bool_]
    category: NDArray[np.uint16]
    box_range: NDArray[np.int64]
    boxes: NDArray[np.float32]
    page: NDArray[np.int64]
    texels: NDArray[np.uint32]
    sky: NDArray[np.uint32]


class Rays(NamedTuple):
    """Rays of pixels (v, u): columns[u] * scale[v] + rows[v], world frame; depth is their parameter.

    Attributes:
        columns: By column.
        rows: By row.
        scale: By row.
        cell: Cell of the camera.
        within: Place of the camera in its cell, [0, 1).
        view_m: Where rays end, metres.
        pixel_texels: Size of a pixel at depth 1, in texels.
        sky_category: Label of rays that end in the sky.
    """

    columns: NDArray[np.float32]
    rows: NDArray[np.float32]
    scale: NDArray[np.float32]
    cell: NDArray[np.int64]
    within: NDArray[np.float32]
    view_m: np.float32
    pixel_texels: np.float32
    sky_category: np.uint16


class Frame(NamedTuple):
    """Arrays (H, W, ...) to paint; position has no rows when it is not asked for."""

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    category: NDArray[np.uint16]
    instance: NDArray[np.uint16]
    position: NDArray[np.float32]


@njit(cache=True, nogil=True, error_model="numpy")
def cast(scene, materials, rays, frame, first_row, last_row):  # type: ignore[no-untyped-def]
    """Paint rows [first_row, last_row) of a frame in place. Rows do not depend on each other.

    Args:
        scene: States and instances of the padded cells, and the size without padding.
        materials: Tables by state: role, shape, category and texture, and the sky.
        rays: Ray directions, and where and how far they are cast.
        frame: The arrays to fill: colour, depth, category, instance, and position or an empty array.
        first_row: First row.
        last_row: Row after the last one.
    """
    states, instances, size = scene
    role, cutout, fused, joins, category, box_range, boxes, page, texels, sky = materials
    columns, rows, scale, cell, within, view_m, pixel_texels, sky_category = rays
    rgb, depth, labels, owners, position = frame

    stride_y = size[2] + 2
    stride_x = (size[1] + 2) * stride_y
    x0, y0, z0 = cell[0], cell[1], cell[2]
    outside = x0 < 0 or y0 < 0 or z0 < 0 or x0 >= size[0] or y0 >= size[1] or z0 >= size[2]
    start = 0 if outside else (x0 + 1) * stride_x + (y0 + 1) * stride_y + z0 + 1
    ox, oy, oz = within[0], within[1], within[2]
    sky_steps = np.float32(len(sky) - 1)
    want_position = len(position) > 0

    for v in range(first_row, last_row):
        for u in range(len(columns)):
            dx = columns[u, 0] * scale[v] + rows[v, 0]
            dy = columns[u, 1] * scale[v] + rows[v, 1]
            dz = columns[u, 2] * scale[v] + rows[v, 2]
            length = np.sqrt(dx * dx + dy * dy + dz * dz)
            # A direction of 0 would make 0 * inf; this one is as good as parallel.
            dx = _TINY if abs(dx) < _TINY else dx
            dy = _TINY if abs(dy) < _TINY else dy
            dz = _TINY if abs(dz) < _TINY else dz
            ix, iy, iz = _ONE / dx, _ONE / dy, _ONE / dz
            wx, wy, wz = abs(ix), abs(iy), abs(iz)
            step_x = stride_x if dx > _ZERO else -stride_x
            step_y = stride_y if dy > _ZERO else -stride_y
            step_z = 1 if dz > _ZERO else -1
            limit = view_m / length
            t = _ZERO
            axis = 3
            at = start
            tx = (_ONE - ox) * ix if dx > _ZERO else -ox * ix
            ty = (_ONE - oy) * iy if dy > _ZERO else -oy * iy
            tz = (_ONE - oz) * iz if dz > _ZERO else -oz * iz

            reaches = not outside
            if outside:
                # Enter the box: the latest of the three near sides, if it comes before the first far side.
                leave = _INF
                t = -_INF
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
                reaches = bool(t < leave and t >= _ZERO and t <= limit)
                if reaches:
                    cx = np.int64(np.floor(ox + t * dx)) + x0
                    cy = np.int64(np.floor(oy + t * dy)) + y0
                    cz = np.int64(np.floor(oz + t * dz)) + z0
                    if axis == 0:
                        cx = 0 if dx > _ZERO else size[0] - 1
                    elif axis == 1:
                        cy = 0 if dy > _ZERO else size[1] - 1
                    else:
                        cz = 0 if dz > _ZERO else size[2] - 1
                    cx, cy, cz = (
                        min(max(cx, 0), size[0] - 1),
                        min(max(cy, 0), size[1] - 1),
                        min(max(cz, 0), size[2] - 1),
                    )
                    at = (cx + 1) * stride_x + (cy + 1) * stride_y + cz + 1
                    tx = (np.float32(cx - x0 + (1 if dx > _ZERO else 0)) - ox) * ix
                    ty = (np.float32(cy - y0 + (1 if dy > _ZERO else 0)) - oy) * iy
                    tz = (np.float32(cz - z0 + (1 if dz > _ZERO else 0)) - oz) * iz

            state = states[at]
            face = -1
            lx = ly = lz = _ZERO
            while reaches:
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
                        for n in range(box_range[state, 0], box_range[state, 1]):
                            part = n - box_range[state, 0]
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
                                top = boxes[n, 5]
                                if kind == LIQUID and role[states[at + 1]] == LIQUID:
                                    top = _ONE
                                a0, a1 = (boxes[n, 0] - qx) * ix, (boxes[n, 3] - qx) * ix
                                b0, b1 = (boxes[n, 1] - qy) * iy, (boxes[n, 4] - qy) * iy
                                c0, c1 = (boxes[n, 2] - qz) * iz, (top - qz) * iz
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
                    if tx <= ty:
                        if tx <= tz:
                            t = tx
                            tx += wx
                            at += step_x
                            axis = 0
                        else:
                            t = tz
                            tz += wz
                            at += step_z
                            axis = 2
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
            if want_position:
                if face < 0:
                    position[v, u, 0] = position[v, u, 1] = position[v, u, 2] = _NAN
                else:
                    position[v, u, 0] = np.float64(t) * dx + (np.float64(ox) + x0)
                    position[v, u, 1] = np.float64(t) * dy + (np.float64(oy) + y0)
                    position[v, u, 2] = np.float64(t) * dz + (np.float64(oz) + z0)
