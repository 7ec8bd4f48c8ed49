# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, no-any-unimported"
"""Textures of scans in NVIDIA Warp: the arithmetic of `scan.rendering._shade`, on whole numbers, so colours agree."""

import warp as wp

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
