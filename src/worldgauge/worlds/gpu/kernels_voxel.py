# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, no-any-unimported"
"""The kernel of `voxel._raycast` for many views at once on a GPU, in NVIDIA Warp: one thread a ray.

The steps and their order are those of the kernel for the CPU, without fused multiply-adds, so the same surface is hit.
The rays themselves are made here, in float64, from what a camera has by column and by row.
"""

import warp as wp

from worldgauge.worlds.gpu.kernels_pictures import Pictures

wp.set_module_options({"enable_backward": False, "fuse_fp": False})

AIR, OPAQUE, END = wp.constant(0), wp.constant(1), wp.constant(2)
CROSS, PANE, LIQUID = wp.constant(4), wp.constant(5), wp.constant(6)
PLANT_FACE = wp.constant(6)
TINY = wp.constant(wp.float32(1e-12))
INF = wp.constant(wp.float32(float("inf")))
NAN = wp.constant(wp.float32(float("nan")))
PLANT_COSINE = wp.constant(wp.float32(0.7))
PLANT_REACH = wp.constant(wp.float32(0.125**0.5))


@wp.struct
class DeviceVoxels:
    """A padded world, flat in C order, and its size without the padding."""

    states: wp.array(dtype=wp.uint8)
    instances: wp.array(dtype=wp.uint16)
    nx: wp.int32
    ny: wp.int32
    nz: wp.int32


@wp.struct
class DeviceMaterials:
    """What `Materials` holds, for cameras above the water, and how high a liquid stands in its cell."""

    role: wp.array(dtype=wp.uint8)
    cutout: wp.array(dtype=wp.uint8)
    fused: wp.array(dtype=wp.uint8)
    joins: wp.array(dtype=wp.uint8)
    category: wp.array(dtype=wp.uint16)
    box_range: wp.array(dtype=wp.int32, ndim=2)
    boxes: wp.array(dtype=wp.float32, ndim=2)
    page: wp.array(dtype=wp.int32, ndim=2)
    texels: wp.array(dtype=wp.uint32)
    sky: wp.array(dtype=wp.uint32)
    liquid_top: wp.float64


@wp.struct
class VoxelLens:
    """A camera: a pixel looks along (right[u] * scale[v], down[v], ahead[u] * scale[v] + forward) of its frame."""

    right: wp.array(dtype=wp.float64)
    ahead: wp.array(dtype=wp.float64)
    down: wp.array(dtype=wp.float64)
    scale: wp.array(dtype=wp.float32)
    forward: wp.float64
    view_m: wp.float32
    pixel_texels: wp.float32
    sky_category: wp.uint16


@wp.func
def upward(d: wp.float32):
    """1 for a direction along the axis, else 0."""
    one = wp.float32(0.0)
    if d > wp.float32(0.0):
        one = wp.float32(1.0)
    return one


@wp.func
def firm(d: wp.float32):
    """A direction that can be divided by."""
    found = d
    if wp.abs(d) < TINY:
        found = TINY
    return found


@wp.kernel
def cast(
    cells: DeviceVoxels,
    tables: DeviceMaterials,
    lens: VoxelLens,
    poses: wp.array(dtype=wp.float64, ndim=3),
    seen: Pictures,
):
    """Paint one pixel of one view. `poses`: camera-to-world poses (N, 4, 4), metres."""
    i, v, u = wp.tid()
    zero, half, one = wp.float32(0.0), wp.float32(0.5), wp.float32(1.0)

    origin_x, origin_y, origin_z = poses[i, 0, 3], poses[i, 1, 3], poses[i, 2, 3]
    x0, y0, z0 = int(wp.floor(origin_x)), int(wp.floor(origin_y)), int(wp.floor(origin_z))
    ox = wp.float32(origin_x - wp.floor(origin_x))
    oy = wp.float32(origin_y - wp.floor(origin_y))
    oz = wp.float32(origin_z - wp.floor(origin_z))
    right, ahead, down = lens.right[u], lens.ahead[u], lens.down[v]
    scale = lens.scale[v]
    dx = wp.float32(right * poses[i, 0, 0] + ahead * poses[i, 0, 2]) * scale + wp.float32(
        down * poses[i, 0, 1] + lens.forward * poses[i, 0, 2]
    )
    dy = wp.float32(right * poses[i, 1, 0] + ahead * poses[i, 1, 2]) * scale + wp.float32(
        down * poses[i, 1, 1] + lens.forward * poses[i, 1, 2]
    )
    dz = wp.float32(right * poses[i, 2, 0] + ahead * poses[i, 2, 2]) * scale + wp.float32(
        down * poses[i, 2, 1] + lens.forward * poses[i, 2, 2]
    )

    nx, ny, nz = cells.nx, cells.ny, cells.nz
    stride_y = nz + 2
    stride_x = (ny + 2) * stride_y
    outside = x0 < 0 or y0 < 0 or z0 < 0 or x0 >= nx or y0 >= ny or z0 >= nz
    start = int(0)
    submerged = bool(False)
    if not outside:
        start = (x0 + 1) * stride_x + (y0 + 1) * stride_y + z0 + 1
        if int(tables.role[int(cells.states[start])]) == LIQUID:
            above = int(tables.role[int(cells.states[start + 1])]) == LIQUID
            submerged = above or origin_z - wp.floor(origin_z) < tables.liquid_top

    length = wp.sqrt(dx * dx + dy * dy + dz * dz)
    dx, dy, dz = firm(dx), firm(dy), firm(dz)
    ix, iy, iz = one / dx, one / dy, one / dz
    wx, wy, wz = wp.abs(ix), wp.abs(iy), wp.abs(iz)
    px, py, pz = upward(dx), upward(dy), upward(dz)
    step_x, step_y, step_z = int(-stride_x), int(-stride_y), int(-1)
    if px > zero:
        step_x = stride_x
    if py > zero:
        step_y = stride_y
    if pz > zero:
        step_z = int(1)
    limit = lens.view_m / length
    t = wp.float32(0.0)
    axis = int(3)
    at = int(start)
    tx, ty, tz = (px - ox) * ix, (py - oy) * iy, (pz - oz) * iz

    reaches = bool(not outside)
    if outside:
        # Enter the box: the latest of the three near sides, if it comes before the first far side.
        lx0, lx1 = (wp.float32(-x0) - ox) * ix, (wp.float32(nx - x0) - ox) * ix
        ly0, ly1 = (wp.float32(-y0) - oy) * iy, (wp.float32(ny - y0) - oy) * iy
        lz0, lz1 = (wp.float32(-z0) - oz) * iz, (wp.float32(nz - z0) - oz) * iz
        t = -INF
        if wp.min(lx0, lx1) > t:
            t = wp.min(lx0, lx1)
            axis = int(0)
        if wp.min(ly0, ly1) > t:
            t = wp.min(ly0, ly1)
            axis = int(1)
        if wp.min(lz0, lz1) > t:
            t = wp.min(lz0, lz1)
            axis = int(2)
        leave = wp.min(wp.max(lx0, lx1), wp.min(wp.max(ly0, ly1), wp.max(lz0, lz1)))
        reaches = t < leave and t >= zero and t <= limit
        if reaches:
            cx = int(wp.floor(ox + t * dx)) + x0
            cy = int(wp.floor(oy + t * dy)) + y0
            cz = int(wp.floor(oz + t * dz)) + z0
            if axis == 0:
                cx = int(one - px) * (nx - 1)
            elif axis == 1:
                cy = int(one - py) * (ny - 1)
            else:
                cz = int(one - pz) * (nz - 1)
            cx = wp.min(wp.max(cx, 0), nx - 1)
            cy = wp.min(wp.max(cy, 0), ny - 1)
            cz = wp.min(wp.max(cz, 0), nz - 1)
            at = (cx + 1) * stride_x + (cy + 1) * stride_y + cz + 1
            tx = (wp.float32(cx - x0 + int(px)) - ox) * ix
            ty = (wp.float32(cy - y0 + int(py)) - oy) * iy
            tz = (wp.float32(cz - z0 + int(pz)) - oz) * iz

    state = int(cells.states[at])
    face = int(-1)
    lx, ly, lz = wp.float32(0.0), wp.float32(0.0), wp.float32(0.0)
    while reaches:
        kind = int(tables.role[state])
        if kind == LIQUID and submerged:
            kind = AIR
        if kind == OPAQUE and axis < 3:
            # A camera inside a full block does not see that block.
            if axis == 0:
                face = 1 - int(one - px)
                t = (wp.rint(ox + t * dx) - ox) * ix
                ly = oy + t * dy
                lz = oz + t * dz
            elif axis == 1:
                face = 3 - int(one - py)
                t = (wp.rint(oy + t * dy) - oy) * iy
                lx = ox + t * dx
                lz = oz + t * dz
            else:
                face = 5 - int(one - pz)
                t = (wp.rint(oz + t * dz) - oz) * iz
                lx = ox + t * dx
                ly = oy + t * dy
            lx = lx - wp.floor(lx)
            ly = ly - wp.floor(ly)
            lz = lz - wp.floor(lz)
        elif kind > END:
            # Origin of the ray as seen from the lower corner of this cell.
            qx = ox + px - wp.rint(ox + tx * dx)
            qy = oy + py - wp.rint(oy + ty * dy)
            qz = oz + pz - wp.rint(oz + tz * dz)
            back = int(step_z)
            if axis == 0:
                back = step_x
            elif axis == 1:
                back = step_y
            hidden = axis < 3 and int(tables.fused[state]) == 1 and int(cells.states[at - back]) == state
            best = wp.float32(limit)
            first = tables.box_range[state, 0]
            for n in range(first, tables.box_range[state, 1]):
                part = n - first
                hit = wp.float32(0.0)
                hx, hy, hz = wp.float32(0.0), wp.float32(0.0), wp.float32(0.0)
                side = int(0)
                met = bool(True)
                if kind == CROSS:
                    # Plane x = y, then plane x + y = 1.
                    slope, gap = dx - dy, qy - qx
                    if part != 0:
                        slope = dx + dy
                        gap = one - qx - qy
                    hit = -one
                    if wp.abs(slope) > TINY:
                        hit = gap / slope
                    hx = qx + hit * dx
                    hy = qy + hit * dy
                    hz = qz + hit * dz
                    met = wp.abs(hx - half) < PLANT_REACH and hz >= zero and hz < one
                    # From here on hx is the share of the plane's width, which is one metre.
                    hx = half + (hx - half) * half / PLANT_REACH
                    side = PLANT_FACE
                else:
                    if kind == PANE and part > 0:
                        beside = int(stride_x)
                        if part == 2:
                            beside = stride_y
                        elif part == 3:
                            beside = -stride_x
                        elif part == 4:
                            beside = -stride_y
                        met = int(tables.joins[int(cells.states[at + beside])]) == 1
                    top = tables.boxes[n, 5]
                    if kind == LIQUID and int(tables.role[int(cells.states[at + 1])]) == LIQUID:
                        top = one
                    a0, a1 = (tables.boxes[n, 0] - qx) * ix, (tables.boxes[n, 3] - qx) * ix
                    b0, b1 = (tables.boxes[n, 1] - qy) * iy, (tables.boxes[n, 4] - qy) * iy
                    c0, c1 = (tables.boxes[n, 2] - qz) * iz, (top - qz) * iz
                    hit = wp.min(a0, a1)
                    far = wp.max(a0, a1)
                    side = 1 - int(one - px)
                    if wp.min(b0, b1) > hit:
                        hit = wp.min(b0, b1)
                        side = 3 - int(one - py)
                    if wp.min(c0, c1) > hit:
                        hit = wp.min(c0, c1)
                        side = 5 - int(one - pz)
                    far = wp.min(far, wp.min(wp.max(b0, b1), wp.max(c0, c1)))
                    if hit >= far or (hidden and side // 2 == axis):
                        met = bool(False)
                    hx = qx + hit * dx
                    hy = qy + hit * dy
                    hz = qz + hit * dz
                if hit <= zero or hit > best or (hit == best and face >= 0):
                    met = bool(False)
                if met:
                    hx = wp.min(wp.max(hx, zero), one)
                    hy = wp.min(wp.max(hy, zero), one)
                    hz = wp.min(wp.max(hz, zero), one)
                    if int(tables.cutout[state]) == 1:
                        across = one - hx
                        if side == 3 or side >= 4:
                            across = hx
                        if side == 0:
                            across = hy
                        elif side == 1:
                            across = one - hy
                        deep = one - hz
                        if side == 4:
                            deep = one - hy
                        elif side == 5:
                            deep = hy
                        row = wp.min(int(deep * wp.float32(16.0)), 15)
                        column = wp.min(int(across * wp.float32(16.0)), 15)
                        texel = tables.texels[tables.page[state, side] + row * 16 + column]
                        met = (texel >> wp.uint32(24)) != wp.uint32(0)
                if met:
                    best = hit
                    face = side
                    lx = hx
                    ly = hy
                    lz = hz
            if face >= 0:
                t = best
        if face >= 0 or kind == END:
            reaches = bool(False)
        else:
            walking = bool(True)
            while walking:
                if tx <= ty and tx <= tz:
                    t = tx
                    tx = tx + wx
                    at = at + step_x
                    axis = int(0)
                elif ty <= tz and ty < tx:
                    t = ty
                    ty = ty + wy
                    at = at + step_y
                    axis = int(1)
                else:
                    t = tz
                    tz = tz + wz
                    at = at + step_z
                    axis = int(2)
                state = int(cells.states[at])
                walking = state == 0 and t <= limit
            reaches = t <= limit

    colour = wp.uint32(0)
    if face < 0:
        steps = wp.float32(tables.sky.shape[0] - 1)
        colour = tables.sky[int(wp.max(dz, zero) / length * steps)]
        seen.depth[i, v, u] = INF
        seen.category[i, v, u] = lens.sky_category
        seen.instance[i, v, u] = wp.uint16(0)
    else:
        across, deep, slant = lx, one - lz, PLANT_COSINE * length
        if face < 2:
            slant = wp.abs(dx)
            across = one - ly
            if face == 0:
                across = ly
        elif face < 4:
            slant = wp.abs(dy)
            if face == 2:
                across = one - lx
        elif face < 6:
            slant = wp.abs(dz)
            deep = ly
            if face == 4:
                deep = one - ly
        row = wp.min(int(deep * wp.float32(16.0)), 15)
        column = wp.min(int(across * wp.float32(16.0)), 15)
        # Texels under one pixel, squared: between the short and the long side of its footprint.
        reach = t * lens.pixel_texels
        spread = reach * reach * length / slant
        place = int(tables.page[state, face])
        if spread < wp.float32(2.0):
            place = place + row * 16 + column
        elif spread < wp.float32(8.0):
            place = place + 256 + (row >> 1) * 8 + (column >> 1)
        elif spread < wp.float32(32.0):
            place = place + 320 + (row >> 2) * 4 + (column >> 2)
        elif spread < wp.float32(128.0):
            place = place + 336 + (row >> 3) * 2 + (column >> 3)
        else:
            place = place + 340
        colour = tables.texels[place]
        seen.depth[i, v, u] = t
        seen.category[i, v, u] = tables.category[state]
        seen.instance[i, v, u] = cells.instances[at]
    seen.rgb[i, v, u, 0] = wp.uint8(colour & wp.uint32(255))
    seen.rgb[i, v, u, 1] = wp.uint8((colour >> wp.uint32(8)) & wp.uint32(255))
    seen.rgb[i, v, u, 2] = wp.uint8((colour >> wp.uint32(16)) & wp.uint32(255))
    if seen.position.shape[0] > 0:
        if face < 0:
            seen.position[i, v, u, 0] = NAN
            seen.position[i, v, u, 1] = NAN
            seen.position[i, v, u, 2] = NAN
        else:
            far_t = wp.float64(t)
            seen.position[i, v, u, 0] = wp.float32(far_t * wp.float64(dx) + (wp.float64(ox) + wp.float64(x0)))
            seen.position[i, v, u, 1] = wp.float32(far_t * wp.float64(dy) + (wp.float64(oy) + wp.float64(y0)))
            seen.position[i, v, u, 2] = wp.float32(far_t * wp.float64(dz) + (wp.float64(oz) + wp.float64(z0)))
