"""The geometry kernel: which triangle each pixel's ray meets first, for pinhole cameras and panoramas alike.

With a, b, c the corners seen from the eye, a ray d meets the triangle where d.(c x b), d.(a x c) and d.(b x a) are all
0 or more. That holds for any camera with one centre, and needs no clipping. It leaves no gap between neighbours: both
compute the same products for their common edge, with opposite sign. Numbers are float64, and no compiler may contract
or reorder them.

Compiling is what a first view waits for. Wrappers that nobody calls took a tenth of it, so each kind of kernel has only
its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

_KERNEL: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_PART: dict[str, Any] = {**_KERNEL, "no_cpython_wrapper": True}

kernel: Any = njit(**_KERNEL)
"""What Python calls."""
part: Any = njit(**_PART)
"""What kernels call. Python cannot."""
inlined: Any = njit(**{**_PART, "forceinline": True})
"""A part that becomes a piece of each kernel that calls it."""


def _fetch_ahead(_typing: Any, array: Any, place: Any) -> Any:
    """Start to load the cache line of a number of an array, without waiting. Nothing is read, so any place will do."""

    def built(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        # To be read, in the nearest cache, data.
        builder.call(prefetch, [address, *(ir.Constant(number, one) for one in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, place), built


fetch_ahead: Any = intrinsic(_fetch_ahead)


NEAR_M = 0.01
"""Triangles are cut here when their extent in the picture is bounded."""
BLOCK = 8
"""Side in pixels of the blocks that remember how far all they hold is."""
_PI = np.pi
# Columns as scalars of numpy: of Python's own numbers each would have its copy of a function.
_A, _B, _C = np.uintp(0), np.uintp(3), np.uintp(6)
_ONE, _TWO = np.uintp(1), np.uintp(2)


class RayGrid(NamedTuple):
    """Rays of a camera: for a pinhole x = column, y = row, z = 1; for a panorama see `ray`."""

    across: NDArray[np.float64]  # (W, 2): x of each column and 0; sine and cosine of the azimuth
    down: NDArray[np.float64]  # (H, 2): y of each row and 1; sine and cosine of the elevation
    lens: NDArray[np.float64]  # (4,): fx, fy, cx, cy in pixels; zeros for a panorama


Grid = RayGrid  # see `clusters.Scene`


@inlined
def _cross(ax, ay, az, bx, by, bz):  # type: ignore[no-untyped-def]
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@inlined
def _corner(corners, k, n, eye, turn):  # type: ignore[no-untyped-def]
    """The corner of triangle k that begins at column n, in the camera's frame."""
    x = np.float64(corners[k, n]) - eye[0]
    y = np.float64(corners[k, n + _ONE]) - eye[1]
    z = np.float64(corners[k, n + _TWO]) - eye[2]
    return (
        x * turn[0, 0] + y * turn[1, 0] + z * turn[2, 0],
        x * turn[0, 1] + y * turn[1, 1] + z * turn[2, 1],
        x * turn[0, 2] + y * turn[1, 2] + z * turn[2, 2],
    )


@kernel
def visible(spheres, cones, eye, turn, lens, width, height, nearest):  # type: ignore[no-untyped-def]
    """Clusters that may be seen: their nearest distance (C,) into `nearest`, infinite for the others.
    The distance is along the axis for a pinhole, along the ray for a panorama."""
    flat = lens[0] > 0.0
    # Normals of the four sides of the view.
    left, right = lens[2] / max(lens[0], 1e-9), (width - lens[2]) / max(lens[0], 1e-9)
    top, low = lens[3] / max(lens[1], 1e-9), (height - lens[3]) / max(lens[1], 1e-9)
    sl, sr = np.sqrt(1.0 + left * left), np.sqrt(1.0 + right * right)
    st, sb = np.sqrt(1.0 + top * top), np.sqrt(1.0 + low * low)
    for c in range(len(spheres)):
        nearest[c] = np.inf
        wx, wy, wz = spheres[c, 0] - eye[0], spheres[c, 1] - eye[1], spheres[c, 2] - eye[2]
        r = spheres[c, 3]
        length = np.sqrt(wx * wx + wy * wy + wz * wz)
        along = wx * cones[c, 0] + wy * cones[c, 1] + wz * cones[c, 2]
        if cones[c, 3] < 2.0 and along >= cones[c, 3] * length + r:
            continue
        if not flat:
            nearest[c] = max(length - r, 0.0)
            continue
        z = wx * turn[0, 2] + wy * turn[1, 2] + wz * turn[2, 2]
        if z + r < 0.0:
            continue
        x = wx * turn[0, 0] + wy * turn[1, 0] + wz * turn[2, 0]
        y = wx * turn[0, 1] + wy * turn[1, 1] + wz * turn[2, 1]
        if -x - left * z > r * sl or x - right * z > r * sr or -y - top * z > r * st or y - low * z > r * sb:
            continue
        nearest[c] = max(z - r, 0.0)


@kernel
def cover(scene, order, nearest, eye, turn, grid, far, stale, box, inverse, hit):  # type: ignore[no-untyped-def]
    """Find the nearest triangle for each pixel: `hit` (H, W) of -1, and 1 / distance in `inverse` (H, W) of zeros.
    `nearest` is from `visible`. `far` holds the least 1 / distance of each block (zeros), `stale` the blocks that
    changed since (zeros), `box` (4,) is scratch."""
    corners, rows, _, material, _, _, first, spheres, _, looks, levels, texels = scene
    across, down, lens = grid
    height, width = inverse.shape
    flat = lens[0] > 0.0
    for position in range(len(order)):
        cluster = order[position]
        if _hidden(spheres, cluster, nearest[cluster], eye, turn, lens, inverse, far, stale):
            continue
        for k in range(first[cluster], first[cluster + 1]):
            ax, ay, az = _corner(corners, k, _A, eye, turn)
            bx, by, bz = _corner(corners, k, _B, eye, turn)
            cx, cy, cz = _corner(corners, k, _C, eye, turn)
            # Edges in turn: opposite corner a, b, c.
            n0x, n0y, n0z = _cross(cx, cy, cz, bx, by, bz)
            det = ax * n0x + ay * n0y + az * n0z
            look = material[k]
            if det <= 0.0 and (looks[look, 4] == 0 or det == 0.0):
                continue
            if flat:
                if not _bounds_flat(ax, ay, az, bx, by, bz, cx, cy, cz, lens, width, height, box):
                    continue
            elif not _bounds_round(ax, ay, az, bx, by, bz, cx, cy, cz, width, height, box):
                continue
            n1x, n1y, n1z = _cross(ax, ay, az, cx, cy, cz)
            n2x, n2y, n2z = _cross(bx, by, bz, ax, ay, az)
            if det < 0.0:
                det = -det
                n0x, n0y, n0z = -n0x, -n0y, -n0z
                n1x, n1y, n1z = -n1x, -n1y, -n1z
                n2x, n2y, n2z = -n2x, -n2y, -n2z
            scale = 1.0 / det
            cut = looks[look, 5] > 0
            narrow = flat and box[1] - box[0] > 12
            for v in range(box[2], box[3]):
                row = np.uintp(v)
                y0, y1 = down[row, 0], down[row, 1]
                if flat:
                    b0, b1, b2 = n0y * y0 + n0z, n1y * y0 + n1z, n2y * y0 + n2z
                else:
                    b0, b1, b2 = -(n0y * y0), -(n1y * y0), -(n2y * y0)
                u0, u1 = box[0], box[1]
                if narrow:
                    low, high = _span(n0x, b0, -1e30, 1e30)
                    low, high = _span(n1x, b1, low, high)
                    low, high = _span(n2x, b2, low, high)
                    u0 = max(u0, int(min(max(low * lens[0] + lens[2] - 1.5, -1.0), 1e9)))
                    u1 = min(u1, int(max(min(high * lens[0] + lens[2] + 1.5, 1e9), -1.0)) + 1)
                for u in range(u0, u1):
                    column = np.uintp(u if u < width else u - width)
                    if flat:
                        x0 = across[column, 0]
                        e0, e1, e2 = n0x * x0 + b0, n1x * x0 + b1, n2x * x0 + b2
                    else:
                        x0, z0 = across[column, 0], across[column, 1]
                        e0 = y1 * (n0x * x0 + n0z * z0) + b0
                        e1 = y1 * (n1x * x0 + n1z * z0) + b1
                        e2 = y1 * (n2x * x0 + n2z * z0) + b2
                    if e0 < 0.0 or e1 < 0.0 or e2 < 0.0:
                        continue
                    w = ((e0 + e1) + e2) * scale
                    held = inverse[row, column]
                    if w < held or w <= 0.0 or (w == held and k > hit[row, column]):
                        continue
                    if cut and _is_hole(corners, rows, material, looks, levels, texels, k, e0, e1, e2):
                        continue
                    inverse[row, column] = w
                    hit[row, column] = k
                    stale[row // np.uintp(BLOCK), column // np.uintp(BLOCK)] = 1


@part
def met(corners, rows, material, looks, levels, texels, k, rx, ry, rz, eye, turn):  # type: ignore[no-untyped-def]
    """1 / distance at which a ray (in the camera's frame) meets triangle k; 0 where it does not."""
    ax, ay, az = _corner(corners, k, _A, eye, turn)
    bx, by, bz = _corner(corners, k, _B, eye, turn)
    cx, cy, cz = _corner(corners, k, _C, eye, turn)
    n0x, n0y, n0z = _cross(cx, cy, cz, bx, by, bz)
    det = ax * n0x + ay * n0y + az * n0z
    look = material[k]
    if det == 0.0 or (det < 0.0 and looks[look, 4] == 0):
        return 0.0
    side = 1.0 if det > 0.0 else -1.0
    # Most rays that miss do so at the first or second edge.
    e0 = side * (n0x * rx + n0y * ry + n0z * rz)
    if e0 < 0.0:
        return 0.0
    n1x, n1y, n1z = _cross(ax, ay, az, cx, cy, cz)
    e1 = side * (n1x * rx + n1y * ry + n1z * rz)
    if e1 < 0.0:
        return 0.0
    n2x, n2y, n2z = _cross(bx, by, bz, ax, ay, az)
    e2 = side * (n2x * rx + n2y * ry + n2z * rz)
    if e2 < 0.0 or e0 + e1 + e2 <= 0.0:
        return 0.0
    if looks[look, 5] > 0 and _is_hole(corners, rows, material, looks, levels, texels, k, e0, e1, e2):
        return 0.0
    return (e0 + e1 + e2) / (side * det)


@inlined
def _span(n, b, low, high):  # type: ignore[no-untyped-def]
    """Narrow the interval of x where n x + b >= 0, generously."""
    if n > 0.0:
        return max(low, -b / n), high
    if n < 0.0:
        return low, min(high, -b / n)
    return low, high


@part
def _is_hole(corners, rows, material, looks, levels, texels, k, e0, e1, e2):  # type: ignore[no-untyped-def]
    """Whether the texel at the point of triangle k with these areas is not opaque enough."""
    look = material[k]
    first = looks[look, 0]
    if first < 0:
        return looks[look, 5] > 255
    total = e0 + e1 + e2
    p, q = e1 / total, e2 / total
    x = p * (corners[k, 3] - corners[k, 0]) + q * (corners[k, 6] - corners[k, 0])
    y = p * (corners[k, 4] - corners[k, 1]) + q * (corners[k, 7] - corners[k, 1])
    z = p * (corners[k, 5] - corners[k, 2]) + q * (corners[k, 8] - corners[k, 2])
    u = rows[k, 3] + rows[k, 4] * x + rows[k, 5] * y + rows[k, 6] * z
    v = rows[k, 7] + rows[k, 8] * x + rows[k, 9] * y + rows[k, 10] * z
    at, wide, high = levels[first, 0], levels[first, 1], levels[first, 2]
    i, j = wrapped(int(np.floor(u)), wide, looks[look, 2]), wrapped(int(np.floor(v)), high, looks[look, 3])
    return np.int64(texels[at + j * wide + i] >> np.uint32(24)) < looks[look, 5]


@kernel
def wrapped(i, size, wrap):  # type: ignore[no-untyped-def]
    """Texel i of a texture that goes on by `wrap`: 0 repeats, 1 keeps its border, 2 is mirrored."""
    if 0 <= i < size:
        return i
    if wrap == 1:
        return 0 if i < 0 else size - 1
    if wrap == 0:
        return i % size
    i %= 2 * size
    return i if i < size else 2 * size - 1 - i


@part
def _hidden(spheres, cluster, near, eye, turn, lens, inverse, far, stale):  # type: ignore[no-untyped-def]
    """Whether all pixels that a cluster can reach already hold something nearer."""
    height, width = inverse.shape
    if near <= NEAR_M:
        return False
    w = 1.0 / near
    wx, wy, wz = spheres[cluster, 0] - eye[0], spheres[cluster, 1] - eye[1], spheres[cluster, 2] - eye[2]
    r = spheres[cluster, 3]
    x = wx * turn[0, 0] + wy * turn[1, 0] + wz * turn[2, 0]
    y = wx * turn[0, 1] + wy * turn[1, 1] + wz * turn[2, 1]
    z = wx * turn[0, 2] + wy * turn[1, 2] + wz * turn[2, 2]
    if lens[0] > 0.0:
        z0, z1 = z - r, z + r
        left, right = min((x - r) / z0, (x - r) / z1), max((x + r) / z0, (x + r) / z1)
        top, low = min((y - r) / z0, (y - r) / z1), max((y + r) / z0, (y + r) / z1)
        u0, u1 = left * lens[0] + lens[2], right * lens[0] + lens[2]
        v0, v1 = top * lens[1] + lens[3], low * lens[1] + lens[3]
    else:
        length = np.sqrt(x * x + y * y + z * z)
        level = np.sqrt(x * x + z * z)
        if level < 2.0 * r or r > 0.5 * length:
            return False
        # Sines of small angles: 1.1 covers what they lack, up to half a radian.
        azimuth, elevation = np.arctan2(x, z), np.arctan2(-y, level)
        da, de = 1.1 * r / level, 1.1 * r / length
        if azimuth - da < -_PI or azimuth + da > _PI:
            return False
        u0, u1 = ((azimuth - da) / (2 * _PI) + 0.5) * width, ((azimuth + da) / (2 * _PI) + 0.5) * width
        v0, v1 = (0.5 - (elevation + de) / _PI) * height, (0.5 - (elevation - de) / _PI) * height
    i0, i1 = int(min(max(u0 - 1.0, 0.0), width - 1.0)) // BLOCK, int(min(max(u1 + 1.0, 0.0), width - 1.0)) // BLOCK
    j0, j1 = int(min(max(v0 - 1.0, 0.0), height - 1.0)) // BLOCK, int(min(max(v1 + 1.0, 0.0), height - 1.0)) // BLOCK
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            if stale[j, i]:
                least = 1e30
                for v in range(j * BLOCK, min((j + 1) * BLOCK, height)):
                    for u in range(i * BLOCK, min((i + 1) * BLOCK, width)):
                        least = min(least, inverse[v, u])
                far[j, i] = least
                stale[j, i] = 0
            if far[j, i] < w:
                return False
    return True


@part
def _bounds_flat(ax, ay, az, bx, by, bz, cx, cy, cz, lens, width, height, box):  # type: ignore[no-untyped-def]
    """Columns and rows of a pinhole picture that a triangle can reach: u0, u1, v0, v1; False for none."""
    fx, fy, mx, my = lens[0], lens[1], lens[2], lens[3]
    if az >= NEAR_M and bz >= NEAR_M and cz >= NEAR_M:
        ia, ib, ic = 1.0 / az, 1.0 / bz, 1.0 / cz
        x0, x1, x2 = ax * ia, bx * ib, cx * ic
        y0, y1, y2 = ay * ia, by * ib, cy * ic
        left, right = min(min(x0, x1), x2), max(max(x0, x1), x2)
        top, low = min(min(y0, y1), y2), max(max(y0, y1), y2)
    elif az < NEAR_M and bz < NEAR_M and cz < NEAR_M:
        return False
    else:
        left, right, top, low = 1e30, -1e30, 1e30, -1e30
        for n in range(3):
            px, py, pz = (ax, ay, az) if n == 0 else (bx, by, bz) if n == 1 else (cx, cy, cz)
            qx, qy, qz = (bx, by, bz) if n == 0 else (cx, cy, cz) if n == 1 else (ax, ay, az)
            if pz >= NEAR_M:
                left, right = min(left, px / pz), max(right, px / pz)
                top, low = min(top, py / pz), max(low, py / pz)
            if (pz >= NEAR_M) != (qz >= NEAR_M):
                s = (NEAR_M - pz) / (qz - pz)
                x, y = (px + s * (qx - px)) / NEAR_M, (py + s * (qy - py)) / NEAR_M
                left, right, top, low = min(left, x), max(right, x), min(top, y), max(low, y)
    # From pixel centres to whole numbers, with a hair of room for rounding.
    u0, u1 = left * fx + mx - 0.500001, right * fx + mx - 0.499999
    v0, v1 = top * fy + my - 0.500001, low * fy + my - 0.499999
    if not (u1 >= 0.0 and v1 >= 0.0 and u0 <= width - 1.0 and v0 <= height - 1.0):
        return False
    box[0], box[1] = int(np.ceil(max(u0, 0.0))), int(np.floor(min(u1, width - 1.0))) + 1
    box[2], box[3] = int(np.ceil(max(v0, 0.0))), int(np.floor(min(v1, height - 1.0))) + 1
    return box[0] < box[1] and box[2] < box[3]


@part
def _bounds_round(ax, ay, az, bx, by, bz, cx, cy, cz, width, height, box):  # type: ignore[no-untyped-def]
    """Columns (they may pass the right border, and go on at the left one) and rows of a panorama; False for none."""
    la, lb, lc = np.sqrt(ax * ax + az * az), np.sqrt(bx * bx + bz * bz), np.sqrt(cx * cx + cz * cz)
    e0, e1, e2 = _angle(-ay, la), _angle(-by, lb), _angle(-cy, lc)
    low, high = min(min(e0, e1), e2), max(max(e0, e1), e2)
    a0, a1, a2 = _angle(ax, az), _angle(bx, bz), _angle(cx, cz)
    d1, d2, d3 = _turned(a1 - a0), _turned(a2 - a1), _turned(a0 - a2)
    a1, a2 = a0 + d1, a0 + d1 + d2
    wide = max(max(abs(d1), abs(d2)), abs(d3))
    around = abs(d1 + d2 + d3) > 1.0 or wide > 3.0
    if around:
        # A pole lies inside or close by: all columns, from the corner farthest from that pole.
        box[0], box[1], box[2], box[3] = 0, width, 0, height
        if high < 0.0:
            box[2] = int(max((0.5 - high / _PI) * height - 1.5, 0.0))
        elif low > 0.0:
            box[3] = int(min((0.5 - low / _PI) * height + 1.5, height - 0.0))
        return box[2] < box[3]
    if wide > 0.5:
        # Arcs bulge towards the pole: the highest point of each edge's great circle, if it lies on the edge.
        for n in range(3):
            px, py, pz = (ax, ay, az) if n == 0 else (bx, by, bz) if n == 1 else (cx, cy, cz)
            qx, qy, qz = (bx, by, bz) if n == 0 else (cx, cy, cz) if n == 1 else (ax, ay, az)
            nx, ny, nz = _cross(px, py, pz, qx, qy, qz)
            level = np.sqrt(nx * nx + nz * nz)
            steep = np.arctan2(level, abs(ny))
            high = max(high, steep if max(-py, -qy) > 0.0 else high)
            low = min(low, -steep if max(py, qy) > 0.0 else low)
    else:
        bulge = 0.13 * wide * wide
        low, high = low - bulge, high + bulge
    left, right = min(min(a0, a1), a2), max(max(a0, a1), a2)
    # From pixel centres to whole numbers, with room for what `_angle` leaves out.
    u0 = (left / (2 * _PI) + 0.5) * width - 0.502
    u1 = (right / (2 * _PI) + 0.5) * width - 0.498
    v0 = (0.5 - high / _PI) * height - 0.502
    v1 = (0.5 - low / _PI) * height - 0.498
    first, last = int(np.ceil(u0)), int(np.floor(u1)) + 1
    if first < 0:
        first, last = first + width, last + width
    box[0], box[1] = first, last
    box[2], box[3] = int(np.ceil(max(v0, 0.0))), int(np.floor(min(v1, height - 1.0))) + 1
    if last - first >= width:
        box[0], box[1] = 0, width
    return box[0] < box[1] and box[2] < box[3]


@inlined
def _turned(angle):  # type: ignore[no-untyped-def]
    if angle > _PI:
        return angle - 2 * _PI
    if angle < -_PI:
        return angle + 2 * _PI
    return angle


@inlined
def _angle(y, x):  # type: ignore[no-untyped-def]
    """The angle of (x, y) to 5e-7, for bounds: a polynomial, at a fifth of what arctan2 takes."""
    wide, high = abs(x), abs(y)
    most = max(wide, high)
    r = min(wide, high) / most if most > 0.0 else 0.0
    s = r * r
    angle = ((-0.03689905 + 0.007825574 * s) * s + 0.083742241) * s - 0.134804562
    angle = (((angle * s + 0.198798897) * s - 0.333263771) * s + 0.999999329) * r
    if high > wide:
        angle = 0.5 * _PI - angle
    if x < 0.0:
        angle = _PI - angle
    return -angle if y < 0.0 else angle
