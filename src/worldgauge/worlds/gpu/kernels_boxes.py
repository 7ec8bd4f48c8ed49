# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, no-any-unimported"
"""The kernels of `indoor._paint` for many views at once, in NVIDIA Warp: one thread a pixel.

`cast` draws every pixel by the ray through its centre, `smooth` averages those on an edge with two rays beside. A group
of boxes that stands over several cells is tried in each of them: it is cheaper here than to remember.
"""

import warp as wp

from worldgauge.worlds.gpu.kernels_pictures import Pictures
from worldgauge.worlds.gpu.kernels_surfaces import LIGHT_M, light_at, surface

wp.set_module_options({"enable_backward": False, "fuse_fp": False})

INF = wp.constant(wp.float32(float("inf")))
NAN = wp.constant(wp.float32(float("nan")))
PARALLEL = wp.constant(wp.float64(1e-15))
NONE = wp.constant(-8)
SHINES = wp.constant(18)


@wp.struct
class DeviceBoxGrid:
    """`indoor._paint.BoxGrid`."""

    boxes: wp.array(dtype=wp.float64, ndim=2)
    group_first: wp.array(dtype=wp.int32)
    group_bounds: wp.array(dtype=wp.float64, ndim=2)
    first: wp.array(dtype=wp.int32)
    items: wp.array(dtype=wp.int32)
    outer_first: wp.array(dtype=wp.int32)
    outer_items: wp.array(dtype=wp.int32)
    tallest: wp.array(dtype=wp.float64)
    corner_x: wp.float64
    corner_y: wp.float64
    cell_m: wp.float64
    nx: wp.int32
    ny: wp.int32
    floor: wp.float64
    ceiling: wp.float64


@wp.struct
class DeviceBoxLooks:
    """`indoor._paint.BoxLooks`, with the brightness of the six faces."""

    category: wp.array(dtype=wp.uint16)
    instance: wp.array(dtype=wp.uint16)
    pattern: wp.array(dtype=wp.uint8)
    colours: wp.array(dtype=wp.float32, ndim=3)
    details: wp.array(dtype=wp.float32, ndim=2)
    face_seeds: wp.array(dtype=wp.uint64, ndim=2)
    shades: wp.array(dtype=wp.float64)
    floor: wp.float64
    ceiling: wp.float64
    light: wp.array(dtype=wp.float32, ndim=2)
    light_x: wp.float64
    light_y: wp.float64


@wp.struct
class BoxLens:
    """A camera: ray s of pixel (u, v) is (right[s, u] * scale[s, v], down[s, v], ahead[s, u] * scale[s, v])."""

    right: wp.array(dtype=wp.float64, ndim=2)
    ahead: wp.array(dtype=wp.float64, ndim=2)
    down: wp.array(dtype=wp.float64, ndim=2)
    scale: wp.array(dtype=wp.float64, ndim=2)
    pixel: wp.float64
    limit: wp.float64


@wp.struct
class Hit:
    """The box that a ray meets (-1: none), the axis of its face, and the ray's parameter."""

    t: wp.float64
    box: wp.int32
    axis: wp.int32


@wp.func
def firm(d: wp.float64):
    """A direction that can be divided by; this one is as good as parallel."""
    found = d
    if wp.abs(d) < PARALLEL:
        found = PARALLEL
    return found


@wp.func
def slab(boxes: wp.array(dtype=wp.float64, ndim=2), n: int, o: wp.vec3d, inverse: wp.vec3d):
    """Where a ray enters and leaves box `n`, and the axis it enters along; near >= far when it passes by."""
    a0, a1 = (boxes[n, 0] - o[0]) * inverse[0], (boxes[n, 3] - o[0]) * inverse[0]
    b0, b1 = (boxes[n, 1] - o[1]) * inverse[1], (boxes[n, 4] - o[1]) * inverse[1]
    c0, c1 = (boxes[n, 2] - o[2]) * inverse[2], (boxes[n, 5] - o[2]) * inverse[2]
    near = wp.min(a0, a1)
    axis = int(0)
    if wp.min(b0, b1) > near:
        near = wp.min(b0, b1)
        axis = 1
    if wp.min(c0, c1) > near:
        near = wp.min(c0, c1)
        axis = 2
    return near, wp.min(wp.max(a0, a1), wp.min(wp.max(b0, b1), wp.max(c0, c1))), axis


@wp.func
def meet(cells: DeviceBoxGrid, o: wp.vec3d, d: wp.vec3d, limit: wp.float64):
    """The first box that a ray meets; see `indoor._paint.meet`."""
    zero, one = wp.float64(0.0), wp.float64(1.0)
    inverse = wp.vec3d(one / d[0], one / d[1], one / d[2])
    found = Hit()
    found.t = limit
    found.box = -1
    found.axis = 0
    cell_m = cells.cell_m
    start_x, start_y = (o[0] - cells.corner_x) / cell_m, (o[1] - cells.corner_y) / cell_m
    in_air = cells.floor < o[2] and o[2] < cells.ceiling
    low, high = -start_x * cell_m * inverse[0], (wp.float64(cells.nx) - start_x) * cell_m * inverse[0]
    t_in, t_out = wp.max(zero, wp.min(low, high)), wp.min(limit, wp.max(low, high))
    low = -start_y * cell_m * inverse[1]
    high = (wp.float64(cells.ny) - start_y) * cell_m * inverse[1]
    t_in = wp.max(t_in, wp.min(low, high))
    t_out = wp.min(t_out, wp.max(low, high))
    t_air = (cells.floor - o[2]) * inverse[2]
    if d[2] > zero:
        t_air = (cells.ceiling - o[2]) * inverse[2]
    cx = wp.clamp(int(wp.floor(start_x + t_in * d[0] / cell_m)), 0, cells.nx - 1)
    cy = wp.clamp(int(wp.floor(start_y + t_in * d[1] / cell_m)), 0, cells.ny - 1)
    step_x, step_y, ahead_x, ahead_y = int(-1), int(-1), int(0), int(0)
    if d[0] > zero:
        step_x = 1
        ahead_x = 1
    if d[1] > zero:
        step_y = 1
        ahead_y = 1
    tx = (wp.float64(cx + ahead_x) - start_x) * cell_m * inverse[0]
    ty = (wp.float64(cy + ahead_y) - start_y) * cell_m * inverse[1]
    wx, wy = cell_m * wp.abs(inverse[0]), cell_m * wp.abs(inverse[1])
    walking = bool(t_in < t_out)
    while walking:
        leave = wp.min(tx, ty)
        c = cx * cells.ny + cy
        # The air's own list, then, where the ray leaves the air, what bounds it.
        lowest = wp.float64(t_in)
        if d[2] < zero:
            lowest = leave
        for outer in range(2):
            m, end = int(0), int(0)
            if outer == 0:
                if not (o[2] + lowest * d[2] > cells.tallest[c]):
                    m = cells.first[c]
                    end = cells.first[c + 1]
            else:
                if not (in_air and t_air > leave):
                    m = cells.outer_first[c]
                    end = cells.outer_first[c + 1]
            while m < end:
                # Not in one expression: Warp would look up both.
                g = int(0)
                if outer == 0:
                    g = cells.items[m]
                else:
                    g = cells.outer_items[m]
                m = m + 1
                near, far, axis = slab(cells.group_bounds, g, o, inverse)
                if near < far and far > zero and near <= found.t:
                    n = cells.group_first[g]
                    last = cells.group_first[g + 1]
                    while n < last:
                        near, far, axis = slab(cells.boxes, n, o, inverse)
                        if near < far and near > zero and (near < found.t or (near == found.t and n < found.box)):
                            found.t = near
                            found.box = n
                            found.axis = axis
                        n = n + 1
        if found.t <= leave or leave >= t_out:
            walking = False
        else:
            t_in = leave
            if tx < ty:
                cx = cx + step_x
                tx = tx + wx
                walking = cx >= 0 and cx < cells.nx
            else:
                cy = cy + step_y
                ty = ty + wy
                walking = cy >= 0 and cy < cells.ny
    return found


@wp.func
def painted(
    cells: DeviceBoxGrid, looks: DeviceBoxLooks, o: wp.vec3d, d: wp.vec3d, pixel: wp.float64, hit: Hit, side: int
):
    """Colour (3 numbers from 0 to 255) of the place that a ray has met; see `indoor._paint.paint`."""
    zero, one, half = wp.float64(0.0), wp.float64(1.0), wp.float64(0.5)
    n = hit.box
    x, y, z = o[0] + hit.t * d[0], o[1] + hit.t * d[1], o[2] + hit.t * d[2]
    # Place on the face, its size, and the ray split into its parts along u, v and the normal.
    u, v = y - cells.boxes[n, 1], z - cells.boxes[n, 2]
    su, sv = cells.boxes[n, 4] - cells.boxes[n, 1], cells.boxes[n, 5] - cells.boxes[n, 2]
    du, dv, dn = wp.float64(d[1]), wp.float64(d[2]), wp.float64(d[0])
    if side >= 2:
        u = x - cells.boxes[n, 0]
        su = cells.boxes[n, 3] - cells.boxes[n, 0]
        du = d[0]
        dn = d[1]
    if side >= 4:
        v = y - cells.boxes[n, 1]
        sv = cells.boxes[n, 4] - cells.boxes[n, 1]
        dv = d[1]
        dn = d[2]
    reach = hit.t * pixel
    slant = one / wp.max(wp.abs(dn), wp.float64(1e-9))
    wu = reach * wp.sqrt(one + (du * slant) * (du * slant))
    wv = reach * wp.sqrt(one + (dv * slant) * (dv * slant))
    # Between the short and the long side: detail seen at a slant neither smears nor flickers much.
    w = wp.max(wp.min(wu, wv), wp.float64(0.4) * wp.max(wu, wv))
    pattern = int(looks.pattern[n])
    first, second = colour_of(looks, n, 0), colour_of(looks, n, 1)
    size, contrast = wp.float64(looks.details[n, 0]), wp.float64(looks.details[n, 1])
    colour = surface(pattern, u, v, su, sv, w, looks.face_seeds[n, side], size, contrast, first, second)
    shade = looks.shades[side]
    if side < 4:
        corner = wp.min(z - looks.floor, looks.ceiling - z)
        if corner < half:
            away = one - wp.float64(2.0) * wp.max(corner, zero)
            shade = shade * (one - wp.float64(0.26) * (away * away))
    elif side == 4 and looks.light.shape[0] > 1 and z < looks.floor + wp.float64(0.03):
        shade = shade * light_at(
            looks.light, (x - looks.light_x) / LIGHT_M - half, (y - looks.light_y) / LIGHT_M - half
        )
    if pattern >= SHINES:
        # What shines is as bright from every side.
        shade = one
    return wp.vec3d(level(colour[0] * shade), level(colour[1] * shade), level(colour[2] * shade))


@wp.func
def colour_of(looks: DeviceBoxLooks, n: int, k: int):
    """Colour `k` of box `n`."""
    return wp.vec3d(
        wp.float64(looks.colours[n, k, 0]), wp.float64(looks.colours[n, k, 1]), wp.float64(looks.colours[n, k, 2])
    )


@wp.func
def level(x: wp.float64):
    """A brightness as a whole number from 0 to 255."""
    return wp.floor(wp.min(wp.max(x, wp.float64(0.0)), wp.float64(255.0)) + wp.float64(0.5))


@wp.func
def ray(lens: BoxLens, s: int, u: int, v: int, poses: wp.array(dtype=wp.float64, ndim=3), i: int):
    """Direction of ray `s` of a pixel in the world."""
    rx, ry, rz = lens.right[s, u] * lens.scale[s, v], lens.down[s, v], lens.ahead[s, u] * lens.scale[s, v]
    return wp.vec3d(
        firm(rx * poses[i, 0, 0] + ry * poses[i, 0, 1] + rz * poses[i, 0, 2]),
        firm(rx * poses[i, 1, 0] + ry * poses[i, 1, 1] + rz * poses[i, 1, 2]),
        firm(rx * poses[i, 2, 0] + ry * poses[i, 2, 1] + rz * poses[i, 2, 2]),
    )


@wp.func
def side_of(hit: Hit, d: wp.vec3d):
    """Face of a hit, 0 to 5 by outward normal +x -x +y -y +z -z."""
    side = 2 * hit.axis
    if d[hit.axis] > wp.float64(0.0):
        side = side + 1
    return side


@wp.kernel
def cast(
    cells: DeviceBoxGrid,
    looks: DeviceBoxLooks,
    lens: BoxLens,
    poses: wp.array(dtype=wp.float64, ndim=3),
    seen: Pictures,
    face: wp.array(dtype=wp.int32, ndim=3),
):
    """Draw every pixel by its centre; fills `seen`, and `face` with the box and face that each pixel shows."""
    i, v, u = wp.tid()
    o = wp.vec3d(poses[i, 0, 3], poses[i, 1, 3], poses[i, 2, 3])
    d = ray(lens, 0, u, v, poses, i)
    hit = meet(cells, o, d, lens.limit)
    if hit.box < 0:
        for k in range(3):
            seen.rgb[i, v, u, k] = wp.uint8(0)
        seen.depth[i, v, u] = INF
        seen.category[i, v, u] = wp.uint16(0)
        seen.instance[i, v, u] = wp.uint16(0)
        # As the kernel for the CPU numbers it: box -1, face 6.
        face[i, v, u] = NONE + 6
    else:
        side = side_of(hit, d)
        colour = painted(cells, looks, o, d, lens.pixel, hit, side)
        for k in range(3):
            seen.rgb[i, v, u, k] = wp.uint8(colour[k])
        seen.depth[i, v, u] = wp.float32(hit.t)
        seen.category[i, v, u] = looks.category[hit.box]
        seen.instance[i, v, u] = looks.instance[hit.box]
        face[i, v, u] = 8 * hit.box + side
    if seen.position.shape[0] > 0:
        for k in range(3):
            if hit.box < 0:
                seen.position[i, v, u, k] = NAN
            else:
                seen.position[i, v, u, k] = wp.float32(o[k] + hit.t * d[k])


@wp.kernel
def smooth(
    cells: DeviceBoxGrid,
    looks: DeviceBoxLooks,
    lens: BoxLens,
    poses: wp.array(dtype=wp.float64, ndim=3),
    seen: Pictures,
    face: wp.array(dtype=wp.int32, ndim=3),
):
    """Average the pixels whose neighbour shows another face with two rays beside their centre, after `cast`."""
    i, v, u = wp.tid()
    here = face[i, v, u]
    edge = bool(False)
    if u > 0:
        edge = edge or face[i, v, u - 1] != here
    if v > 0:
        edge = edge or face[i, v - 1, u] != here
    if u + 1 < face.shape[2]:
        edge = edge or face[i, v, u + 1] != here
    if v + 1 < face.shape[1]:
        edge = edge or face[i, v + 1, u] != here
    if edge:
        o = wp.vec3d(poses[i, 0, 3], poses[i, 1, 3], poses[i, 2, 3])
        total = wp.vec3d(
            wp.float64(seen.rgb[i, v, u, 0]), wp.float64(seen.rgb[i, v, u, 1]), wp.float64(seen.rgb[i, v, u, 2])
        )
        for s in range(1, 3):
            d = ray(lens, s, u, v, poses, i)
            hit = meet(cells, o, d, lens.limit)
            if hit.box >= 0:
                total = total + painted(cells, looks, o, d, lens.pixel, hit, side_of(hit, d))
        for k in range(3):
            seen.rgb[i, v, u, k] = wp.uint8((2 * int(total[k]) + 3) / 6)
