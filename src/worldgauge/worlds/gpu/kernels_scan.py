# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, no-any-unimported"
"""The kernels of `scan.rendering` for many views at once, in NVIDIA Warp: one thread a pixel.

Warp's tree of boxes names the triangles that a ray may meet; whether it does, and where, is decided by the products of
`_cover` in float64. So a ray meets the triangle that the kernel for the CPU finds.
"""

import warp as wp

from worldgauge.worlds.gpu.kernels_pictures import Pictures

# Textures of scans in NVIDIA Warp: the arithmetic of `scan.rendering._shade`, on whole numbers, so colours agree.

wp.set_module_options({"enable_backward": False, "fuse_fp": False})

SPREAD = wp.constant(wp.uint64(0x00FF00FF00FF00FF))
HALVES = wp.constant(wp.uint64(0x0080008000800080))
BYTE = wp.constant(wp.uint64(255))
LOWER = wp.constant(wp.uint64(0xFFFFFFFF))
PARTS = wp.constant(wp.uint64(256))


@wp.struct
class Textures:
    """Materials and textures of a `Scene`; scales are width and height of a level as a share of its texture's."""

    looks: wp.array(dtype=wp.int32, ndim=2)
    levels: wp.array(dtype=wp.int32, ndim=2)
    scales: wp.array(dtype=wp.float64, ndim=2)
    texels: wp.array(dtype=wp.uint32)


@wp.func
def wrapped(at: int, size: int, wrap: int):
    """Texel of a texture that goes on by `wrap`: 0 repeats, 1 keeps its border, 2 is mirrored."""
    i = int(at)
    if i < 0 or i >= size:
        if wrap == 1:
            i = wp.clamp(i, 0, size - 1)
        else:
            period = int(size)
            if wrap == 2:
                period = 2 * size
            i = i % period  # with the sign of i, as in C
            if i < 0:
                i = i + period
            if i >= size:
                i = 2 * size - 1 - i
    return i


@wp.func
def spread(texel: wp.uint32):
    """The four bytes of a texel with room for products between them, in the order 0, 2, 1, 3."""
    wide = wp.uint64(texel)
    return (wide | (wide << wp.uint64(24))) & SPREAD


@wp.func
def mixed(a: wp.uint64, b: wp.uint64, part: wp.uint64):
    """Two spread texels in parts of 256, four bytes at a time."""
    return ((a * (PARTS - part) + b * part + HALVES) >> wp.uint64(8)) & SPREAD


@wp.func
def bilinear(textures: Textures, level: int, wrap_u: int, wrap_v: int, at_u: wp.float64, at_v: wp.float64):
    """Between the four texels round a place, spread."""
    at, wide, high = textures.levels[level, 0], textures.levels[level, 1], textures.levels[level, 2]
    u = at_u * textures.scales[level, 0] - wp.float64(0.5)
    v = at_v * textures.scales[level, 1] - wp.float64(0.5)
    fu, fv = wp.floor(u), wp.floor(v)
    pu = wp.uint64(wp.int64((u - fu) * wp.float64(256.0)))
    pv = wp.uint64(wp.int64((v - fv) * wp.float64(256.0)))
    i, j = int(fu), int(fv)
    i0, i1 = wrapped(i, wide, wrap_u), wrapped(i + 1, wide, wrap_u)
    j0, j1 = at + wrapped(j, high, wrap_v) * wide, at + wrapped(j + 1, high, wrap_v) * wide
    upper = mixed(spread(textures.texels[j0 + i0]), spread(textures.texels[j0 + i1]), pu)
    lower = mixed(spread(textures.texels[j1 + i0]), spread(textures.texels[j1 + i1]), pu)
    return mixed(upper, lower, pv)


@wp.func
def filtered(textures: Textures, look: int, at_u: wp.float64, at_v: wp.float64, footprint: wp.float64):
    """Texel (RGBA from the lowest byte) for a footprint in texels, between the two levels next to it."""
    wrap_u, wrap_v = textures.looks[look, 2], textures.looks[look, 3]
    level = textures.looks[look, 0]
    last = level + textures.looks[look, 1] - 1
    part = wp.uint64(0)
    u, v = wp.float64(at_u), wp.float64(at_v)
    if footprint > wp.float64(1.0):
        # Exponent and eight bits of the mantissa: the logarithm, and how far it is on the way to the next level.
        bits = wp.cast(wp.min(footprint, wp.float64(1e9)), wp.uint64)
        level = level + int((bits >> wp.uint64(52)) - wp.uint64(1023))
        part = (bits >> wp.uint64(44)) & BYTE
        if level >= last:
            level = last
            part = wp.uint64(0)
    elif textures.looks[look, 9] != 0:
        u = wp.floor(u) + wp.float64(0.5)
        v = wp.floor(v) + wp.float64(0.5)
    texel = bilinear(textures, level, wrap_u, wrap_v, u, v)
    if part != wp.uint64(0):
        texel = mixed(texel, bilinear(textures, level + 1, wrap_u, wrap_v, u, v), part)
    return (texel | (texel >> wp.uint64(24))) & LOWER


@wp.func
def times(texel: wp.uint64, shift: wp.uint64, factor: wp.int64):
    """One byte of a texel times a factor of 255ths, back in its place."""
    value = (wp.int64((texel >> shift) & BYTE) * factor + wp.int64(127)) / wp.int64(255)
    return wp.uint64(value) << shift


@wp.func
def multiplied(texel: wp.uint64, r: wp.int64, g: wp.int64, b: wp.int64):
    """A texel times a colour."""
    return times(texel, wp.uint64(0), r) | times(texel, wp.uint64(8), g) | times(texel, wp.uint64(16), b)


@wp.func
def brightness(x: wp.float64):
    """A brightness as a whole number from 0 to 255."""
    return wp.int64(wp.min(wp.max(x, wp.float64(0.0)), wp.float64(255.0)) + wp.float64(0.5))


@wp.func
def slope(values: wp.array(dtype=wp.float32, ndim=2), k: int, n: int, off: wp.vec3d):
    """A number at the first corner (column n) and its gradient, at a place."""
    return (
        wp.float64(values[k, n])
        + wp.float64(values[k, n + 1]) * off[0]
        + wp.float64(values[k, n + 2]) * off[1]
        + wp.float64(values[k, n + 3]) * off[2]
    )


@wp.func
def tinted(texel: wp.uint64, tints: wp.array(dtype=wp.float32, ndim=2), k: int, off: wp.vec3d):
    """A texel times the colour of triangle k at a place, seen from its first corner."""
    r, g, b = slope(tints, k, 0, off), slope(tints, k, 4, off), slope(tints, k, 8, off)
    return multiplied(texel, brightness(r), brightness(g), brightness(b))


INF = wp.constant(wp.float32(float("inf")))
NAN = wp.constant(wp.float32(float("nan")))
NEAR_M = wp.constant(wp.float64(0.01))
PI = wp.constant(wp.float64(3.141592653589793))
EDGE = wp.constant(wp.float64(0.02))
CREASE = wp.constant(wp.float64(0.8))
BESIDE = wp.constant(wp.float64(0.33))
# Boxes of the tree are tested in float32.
SLACK = wp.constant(wp.float64(1.0001))


@wp.struct
class Triangles:
    """Those of a `Scene`, and Warp's tree of their boxes."""

    tree: wp.uint64
    corners: wp.array(dtype=wp.float32, ndim=2)
    rows: wp.array(dtype=wp.float32, ndim=2)
    tints: wp.array(dtype=wp.float32, ndim=2)
    material: wp.array(dtype=wp.int32)
    instance: wp.array(dtype=wp.uint16)
    category: wp.array(dtype=wp.uint16)


@wp.struct
class ScanLens:
    """`_cover.RayGrid` of a camera, and the size of a pixel at distance 1."""

    across: wp.array(dtype=wp.float64, ndim=2)
    down: wp.array(dtype=wp.float64, ndim=2)
    fx: wp.float64
    fy: wp.float64
    pixel: wp.float64


@wp.struct
class Normals:
    """Of the planes through the eye and each edge, in the camera's frame; six times the volume; the largest z."""

    a: wp.vec3d
    b: wp.vec3d
    c: wp.vec3d
    det: wp.float64
    farthest: wp.float64


@wp.func
def crossed(a: wp.vec3d, b: wp.vec3d):
    """The cross product, as `_cover` forms it."""
    return wp.vec3d(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@wp.func
def eye_of(poses: wp.array(dtype=wp.float64, ndim=3), i: int):
    """Where a camera is, metres."""
    return wp.vec3d(poses[i, 0, 3], poses[i, 1, 3], poses[i, 2, 3])


@wp.func
def turn_of(poses: wp.array(dtype=wp.float64, ndim=3), i: int):
    """Rotation of a pose, camera to world."""
    found = wp.mat33d()
    for row in range(3):
        for column in range(3):
            found[row, column] = poses[i, row, column]
    return found


@wp.func
def corner(corners: wp.array(dtype=wp.float32, ndim=2), k: int, n: int, eye: wp.vec3d, turn: wp.mat33d):
    """The corner of triangle k that begins at column n, in the camera's frame."""
    x = wp.float64(corners[k, n]) - eye[0]
    y = wp.float64(corners[k, n + 1]) - eye[1]
    z = wp.float64(corners[k, n + 2]) - eye[2]
    return wp.vec3d(
        x * turn[0, 0] + y * turn[1, 0] + z * turn[2, 0],
        x * turn[0, 1] + y * turn[1, 1] + z * turn[2, 1],
        x * turn[0, 2] + y * turn[1, 2] + z * turn[2, 2],
    )


@wp.func
def normals(corners: wp.array(dtype=wp.float32, ndim=2), k: int, eye: wp.vec3d, turn: wp.mat33d):
    """Of the planes through the eye and the edges of triangle k."""
    a, b, c = corner(corners, k, 0, eye, turn), corner(corners, k, 3, eye, turn), corner(corners, k, 6, eye, turn)
    found = Normals()
    found.a = crossed(c, b)
    found.b = crossed(a, c)
    found.c = crossed(b, a)
    found.det = a[0] * found.a[0] + a[1] * found.a[1] + a[2] * found.a[2]
    found.farthest = wp.max(wp.max(a[2], b[2]), c[2])
    return found


@wp.func
def inside(normal: wp.vec3d, lens: ScanLens, u: int, v: int):
    """Product of a plane's normal and the ray of a pixel, in the order of `_cover.cover`."""
    x0, y0 = lens.across[u, 0], lens.down[v, 0]
    found = normal[0] * x0 + (normal[1] * y0 + normal[2])
    if lens.fx <= wp.float64(0.0):
        found = lens.down[v, 1] * (normal[0] * x0 + normal[2] * lens.across[u, 1]) + -(normal[1] * y0)
    return found


@wp.func
def is_hole(
    triangles: Triangles, textures: Textures, k: int, e0: wp.float64, e1: wp.float64, e2: wp.float64, cutoff: int
):
    """Whether the texel at the point of triangle k with these areas is not opaque enough."""
    look = triangles.material[k]
    first = textures.looks[look, 0]
    found = cutoff > 255
    if first >= 0:
        total = e0 + e1 + e2
        p, q = e1 / total, e2 / total
        off = wp.vec3d()
        for axis in range(3):
            start = triangles.corners[k, axis]
            one = wp.float64(triangles.corners[k, 3 + axis] - start)
            two = wp.float64(triangles.corners[k, 6 + axis] - start)
            off[axis] = p * one + q * two
        u, v = slope(triangles.rows, k, 3, off), slope(triangles.rows, k, 7, off)
        at, wide, high = textures.levels[first, 0], textures.levels[first, 1], textures.levels[first, 2]
        i = wrapped(int(wp.floor(u)), wide, textures.looks[look, 2])
        j = wrapped(int(wp.floor(v)), high, textures.looks[look, 3])
        found = int(textures.texels[at + j * wide + i] >> wp.uint32(24)) < cutoff
    return found


@wp.func
def met(triangles: Triangles, textures: Textures, k: int, ray: wp.vec3d, eye: wp.vec3d, turn: wp.mat33d):
    """1 / distance at which a ray (in the camera's frame) meets triangle k; 0 where it does not."""
    zero = wp.float64(0.0)
    found = wp.float64(0.0)
    planes = normals(triangles.corners, k, eye, turn)
    look = triangles.material[k]
    if planes.det > zero or (planes.det < zero and textures.looks[look, 4] != 0):
        side = wp.sign(planes.det)
        e0 = side * (planes.a[0] * ray[0] + planes.a[1] * ray[1] + planes.a[2] * ray[2])
        e1 = side * (planes.b[0] * ray[0] + planes.b[1] * ray[1] + planes.b[2] * ray[2])
        e2 = side * (planes.c[0] * ray[0] + planes.c[1] * ray[1] + planes.c[2] * ray[2])
        if e0 >= zero and e1 >= zero and e2 >= zero and e0 + e1 + e2 > zero:
            cutoff = textures.looks[look, 5]
            hole = bool(False)
            if cutoff > 0:
                hole = is_hole(triangles, textures, k, e0, e1, e2, cutoff)
            if not hole:
                found = (e0 + e1 + e2) / (side * planes.det)
    return found


@wp.func
def ray_of(lens: ScanLens, u: int, v: int):
    """Ray through the centre of a pixel, in the camera's frame."""
    found = wp.vec3d(lens.across[u, 0], lens.down[v, 0], wp.float64(1.0))
    if lens.fx <= wp.float64(0.0):
        level = lens.down[v, 1]
        found = wp.vec3d(level * lens.across[u, 0], -lens.down[v, 0], level * lens.across[u, 1])
    return found


@wp.func
def shifted(ray: wp.vec3d, lens: ScanLens, du: wp.float64, dv: wp.float64, width: int, height: int):
    """The ray that lies (du, dv) pixels beside; on a panorama to second order in the angle."""
    found = wp.vec3d(ray)
    if lens.fx > wp.float64(0.0):
        found = wp.vec3d(ray[0] + du / lens.fx, ray[1] + dv / lens.fy, ray[2])
    else:
        one, half = wp.float64(1.0), wp.float64(0.5)
        a, e = du * wp.float64(2.0) * PI / wp.float64(width), -dv * PI / wp.float64(height)
        level = wp.sqrt(ray[0] * ray[0] + ray[2] * ray[2])
        sa, ca, se, ce = ray[0] / level, ray[2] / level, -ray[1], level
        sa2, ca2 = sa * (one - half * a * a) + ca * a, ca * (one - half * a * a) - sa * a
        se2, ce2 = se * (one - half * e * e) + ce * e, ce * (one - half * e * e) - se * e
        found = wp.vec3d(ce2 * sa2, -se2, ce2 * ca2)
    return found


@wp.func
def turned(ray: wp.vec3d, turn: wp.mat33d):
    """A ray of the camera's frame in the world."""
    return wp.vec3d(
        ray[0] * turn[0, 0] + ray[1] * turn[0, 1] + ray[2] * turn[0, 2],
        ray[0] * turn[1, 0] + ray[1] * turn[1, 1] + ray[2] * turn[1, 2],
        ray[0] * turn[2, 0] + ray[1] * turn[2, 1] + ray[2] * turn[2, 2],
    )


@wp.func
def colour_at(
    triangles: Triangles, textures: Textures, k: int, eye: wp.vec3d, d: wp.vec3d, t: wp.float64, pixel: wp.float64
):
    """RGBA from the lowest byte of the place at distance t on triangle k; 0 where there is none."""
    texel = wp.uint64(0)
    if k >= 0:
        look = triangles.material[k]
        rows = triangles.rows
        off = wp.vec3d(
            eye[0] + t * d[0] - wp.float64(rows[k, 12]),
            eye[1] + t * d[1] - wp.float64(rows[k, 13]),
            eye[2] + t * d[2] - wp.float64(rows[k, 14]),
        )
        texel = LOWER
        if textures.looks[look, 0] >= 0:
            u, v = slope(rows, k, 3, off), slope(rows, k, 7, off)
            facing = wp.abs(
                wp.float64(rows[k, 0]) * d[0] + wp.float64(rows[k, 1]) * d[1] + wp.float64(rows[k, 2]) * d[2]
            )
            cosine = wp.max(facing / wp.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), wp.float64(0.1))
            footprint = t * pixel * wp.float64(rows[k, 11]) / wp.sqrt(cosine)
            texel = filtered(textures, look, u, v, footprint)
        if textures.looks[look, 10] != 0:
            r, g, b = textures.looks[look, 6], textures.looks[look, 7], textures.looks[look, 8]
            texel = multiplied(texel, wp.int64(r), wp.int64(g), wp.int64(b))
        if triangles.tints.shape[0] > 0:
            texel = tinted(texel, triangles.tints, k, off)
    return texel


@wp.kernel
def cast(
    triangles: Triangles,
    textures: Textures,
    lens: ScanLens,
    poses: wp.array(dtype=wp.float64, ndim=3),
    seen: Pictures,
    hits: wp.array(dtype=wp.int32, ndim=3),
    inverses: wp.array(dtype=wp.float64, ndim=3),
):
    """Draw every pixel by its centre; fills `seen`, and `hits` with the triangle of each pixel."""
    i, v, u = wp.tid()
    zero, one = wp.float64(0.0), wp.float64(1.0)
    eye, turn = eye_of(poses, i), turn_of(poses, i)
    d = turned(ray_of(lens, u, v), turn)
    best, hit = wp.float64(0.0), int(-1)
    limit = wp.float32(wp.inf)
    query = wp.bvh_query_ray(
        triangles.tree,
        wp.vec3(wp.float32(eye[0]), wp.float32(eye[1]), wp.float32(eye[2])),
        wp.vec3(wp.float32(d[0]), wp.float32(d[1]), wp.float32(d[2])),
    )
    k = int(0)
    while wp.bvh_query_next(query, k, limit):
        planes = normals(triangles.corners, k, eye, turn)
        look = triangles.material[k]
        facing = planes.det > zero or (planes.det < zero and textures.looks[look, 4] != 0)
        if facing and (lens.fx <= zero or planes.farthest >= NEAR_M):
            side = wp.sign(planes.det)
            e0, e1 = inside(side * planes.a, lens, u, v), inside(side * planes.b, lens, u, v)
            e2 = inside(side * planes.c, lens, u, v)
            w = ((e0 + e1) + e2) * (one / (side * planes.det))
            if e0 >= zero and e1 >= zero and e2 >= zero and w > zero and (w > best or (w == best and k < hit)):
                cutoff = textures.looks[look, 5]
                hole = bool(False)
                if cutoff > 0:
                    hole = is_hole(triangles, textures, k, e0, e1, e2, cutoff)
                if not hole:
                    best = w
                    hit = k
                    limit = wp.float32(one / w * SLACK)
    hits[i, v, u] = hit
    inverses[i, v, u] = best
    t = one / best
    texel = colour_at(triangles, textures, hit, eye, d, t, lens.pixel)
    for c in range(3):
        seen.rgb[i, v, u, c] = wp.uint8((texel >> wp.uint64(8 * c)) & BYTE)
    if hit < 0:
        seen.depth[i, v, u] = INF
        seen.category[i, v, u] = wp.uint16(0)
        seen.instance[i, v, u] = wp.uint16(0)
    else:
        seen.depth[i, v, u] = wp.float32(t)
        seen.category[i, v, u] = triangles.category[hit]
        seen.instance[i, v, u] = triangles.instance[hit]
    if seen.position.shape[0] > 0:
        for c in range(3):
            if hit < 0:
                seen.position[i, v, u, c] = NAN
            else:
                seen.position[i, v, u, c] = wp.float32(eye[c] + t * d[c])


@wp.func
def apart(triangles: Triangles, k: int, other: int):
    """Whether there is an edge to be seen between two triangles."""
    found = bool(True)
    if k >= 0 and other >= 0 and triangles.instance[k] == triangles.instance[other]:
        rows = triangles.rows
        cosine = rows[k, 0] * rows[other, 0] + rows[k, 1] * rows[other, 1] + rows[k, 2] * rows[other, 2]
        found = wp.float64(cosine) < CREASE
    return found


@wp.func
def on_edge(
    triangles: Triangles,
    hits: wp.array(dtype=wp.int32, ndim=3),
    inverses: wp.array(dtype=wp.float64, ndim=3),
    i: int,
    v: int,
    u: int,
):
    """Whether a pixel is on an edge of depth, instance or direction."""
    height, width = hits.shape[1], hits.shape[2]
    here, w = hits[i, v, u], inverses[i, v, u]
    differs, found = bool(False), bool(False)
    for m in range(4):
        a, b = int(u), int(v)
        if m == 0:
            a = u - 1
        elif m == 1:
            a = u + 1
        elif m == 2:
            b = v - 1
        else:
            b = v + 1
        if a >= 0 and a < width and b >= 0 and b < height:
            other = hits[i, b, a]
            if other != here:
                differs = True
                found = found or apart(triangles, here, other)
    if differs and not found:
        bend, two = EDGE * w, wp.float64(2.0)
        if u > 0 and u < width - 1:
            found = wp.abs(inverses[i, v, u - 1] - two * w + inverses[i, v, u + 1]) > bend
        if not found and v > 0 and v < height - 1:
            found = wp.abs(inverses[i, v - 1, u] - two * w + inverses[i, v + 1, u]) > bend
    return found


@wp.kernel
def smooth(
    triangles: Triangles,
    textures: Textures,
    lens: ScanLens,
    poses: wp.array(dtype=wp.float64, ndim=3),
    seen: Pictures,
    hits: wp.array(dtype=wp.int32, ndim=3),
    inverses: wp.array(dtype=wp.float64, ndim=3),
):
    """Average pixels on edges with two rays beside their centre, which test the triangles near them, after `cast`."""
    i, v, u = wp.tid()
    if on_edge(triangles, hits, inverses, i, v, u):
        height, width = hits.shape[1], hits.shape[2]
        eye, turn = eye_of(poses, i), turn_of(poses, i)
        total = wp.vec3i(int(seen.rgb[i, v, u, 0]), int(seen.rgb[i, v, u, 1]), int(seen.rgb[i, v, u, 2]))
        for way in range(2):
            a, b, aside = wp.max(u - 1, 0), wp.min(v + 1, height - 1), wp.float64(-BESIDE)
            if way == 1:
                a = wp.min(u + 1, width - 1)
                b = wp.max(v - 1, 0)
                aside = BESIDE
            ray = shifted(ray_of(lens, u, v), lens, aside, -aside, width, height)
            best, which = wp.float64(0.0), int(-1)
            for m in range(4):
                x, y = int(u), int(v)
                if m % 2 == 1:
                    x = a
                if m >= 2:
                    y = b
                other = hits[i, y, x]
                if other >= 0:
                    w = met(triangles, textures, other, ray, eye, turn)
                    if w > best:
                        best = w
                        which = other
            if which < 0:
                # Smaller than a pixel, or a hole: the neighbour on that side stands for it.
                which = hits[i, b, a]
                best = inverses[i, b, a]
                ray = ray_of(lens, a, b)
            t = wp.float64(1.0) / best
            texel = colour_at(triangles, textures, which, eye, turned(ray, turn), t, lens.pixel)
            for c in range(3):
                total[c] = total[c] + int((texel >> wp.uint64(8 * c)) & BYTE)
        for c in range(3):
            seen.rgb[i, v, u, c] = wp.uint8((2 * total[c] + 3) / 6)
