# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, no-any-unimported"
"""The surfaces of `indoor._paint` in NVIDIA Warp: the same steps in the same order, so colours agree."""

import warp as wp

wp.set_module_options({"enable_backward": False, "fuse_fp": False})

A = wp.constant(wp.uint64(0x9E3779B97F4A7C15))
B = wp.constant(wp.uint64(0xC2B2AE3D27D4EB4F))
C = wp.constant(wp.uint64(0xD6E8FEB86659FD93))
UNIT = wp.constant(wp.float64(2.0**-24))
SPAN = wp.constant(wp.float64(2.0**-63))
LIGHT_M = wp.constant(wp.float64(0.05))


@wp.func
def mixed(value: wp.uint64):
    """A number whose bits depend on all bits of another."""
    h = (value ^ (value >> wp.uint64(32))) * C
    return h ^ (h >> wp.uint64(29))


@wp.func
def hashed(i: wp.int64, j: wp.int64, seed: wp.uint64):
    """A number for a cell of a lattice."""
    return mixed(mixed(seed + wp.uint64(i) * A + wp.uint64(j) * B))


@wp.func
def unit(h: wp.uint64):
    """24 bits of a hash as a number in [0, 1)."""
    return wp.float64(wp.int64((h >> wp.uint64(16)) & wp.uint64(0xFFFFFF))) * UNIT


@wp.func
def corner(h: wp.uint64):
    """Value of a lattice point, a signed 64-bit number."""
    return wp.float64(wp.int64((h ^ (h >> wp.uint64(32))) * C))


@wp.func
def clipped(x: wp.float64):
    """A number between 0 and 1."""
    return wp.min(wp.max(x, wp.float64(0.0)), wp.float64(1.0))


@wp.func
def kept_of(cell: wp.float64, w: wp.float64):
    """How much of a detail of size `cell` a footprint `w` leaves."""
    return clipped(cell / w - wp.float64(1.0))


@wp.func
def step(x: wp.float64, edge: wp.float64, width: wp.float64):
    """From 0 below `edge` to 1 above, over `width`."""
    return clipped((x - edge) / wp.max(width, wp.float64(1e-6)) + wp.float64(0.5))


@wp.func
def gap_at(near: wp.float64, half: wp.float64, w: wp.float64, period: wp.float64):
    """Share of a footprint `w` on a line of half width `half`, `near` metres away; lines come every `period`."""
    if w >= period:
        return wp.float64(2.0) * half / period
    low, high = wp.max(near - wp.float64(0.5) * w, -half), wp.min(near + wp.float64(0.5) * w, half)
    return clipped((high - low) / wp.max(w, wp.float64(1e-6)))


@wp.func
def stripes(x: wp.float64, period: wp.float64, w: wp.float64):
    """Stripes half as wide as `period`, grey where they are finer than `w`."""
    a = x / period
    half = wp.float64(0.5)
    wave = wp.float64(4.0) * wp.abs(a - wp.floor(a) - half) - wp.float64(1.0)
    soft = wp.max(wp.float64(4.0) * w / period, wp.float64(0.1))
    return half + (step(wave, wp.float64(0.0), soft) - half) * kept_of(period, w)


@wp.func
def noise(u: wp.float64, v: wp.float64, cell: wp.float64, octaves: int, w: wp.float64, seed: wp.uint64):
    """Value noise, about -1 to 1: lattices of `cell` metres, then 0.4 of that, ...; those finer than `w` are left."""
    total, amplitude = wp.float64(0.0), wp.float64(0.6)
    a, b = u / cell, v / cell
    kept = wp.float64(1.5) * cell / w
    here = wp.uint64(seed)
    one, two, three = wp.float64(1.0), wp.float64(2.0), wp.float64(3.0)
    n = int(0)
    while n < octaves and kept > one:
        fa, fb = wp.floor(a), wp.floor(b)
        x, y = a - fa, b - fb
        x = x * x * (three - two * x)
        y = y * y * (three - two * y)
        base = here + wp.uint64(wp.int64(fa)) * A + wp.uint64(wp.int64(fb)) * B
        p, q = corner(base), corner(base + A)
        s, t = corner(base + B), corner(base + A + B)
        lower, upper = p + x * (q - p), s + x * (t - s)
        total = total + amplitude * wp.min(kept - one, one) * (SPAN * (lower + y * (upper - lower)))
        a = a * wp.float64(2.5)
        b = b * wp.float64(2.5)
        kept = kept * wp.float64(0.4)
        amplitude = amplitude * wp.float64(0.9)
        here = here + C
        n = n + 1
    return total


@wp.func
def blended(first: wp.vec3d, second: wp.vec3d, m: wp.float64):
    """From one colour to another."""
    return first + (second - first) * m


@wp.func
def planks(
    along: wp.float64,
    across: wp.float64,
    w: wp.float64,
    seed: wp.uint64,
    colour: wp.vec3d,
    size: wp.float64,
    contrast: wp.float64,
):
    """Boards of wood, each with its own grain."""
    row = wp.floor(across / size)
    length = wp.float64(9.0) * size
    shift = unit(hashed(wp.int64(row), wp.int64(0), seed)) * length
    board = wp.floor((along + shift) / length)
    h = hashed(wp.int64(row), wp.int64(board), seed + A)
    inside = across - row * size
    end = along + shift - board * length
    near = wp.min(wp.min(inside, size - inside), wp.min(end, length - end))
    gap = gap_at(near, wp.float64(0.003), w, size)
    grain = noise(along * wp.float64(0.07), across, wp.float64(0.03), 3, w, h)
    fade = kept_of(size, w)
    one = wp.float64(1.0)
    light = one + contrast * (
        fade * (wp.float64(0.28) * unit(h) - wp.float64(0.14))
        + wp.float64(0.17) * grain
        + wp.float64(0.06) * noise(along, across, wp.float64(0.7), 2, w, seed)
    )
    light = light * (one - wp.float64(0.55) * gap)
    warm = one + wp.float64(0.10) * fade * (unit(h >> wp.uint64(16)) - wp.float64(0.5))
    return wp.vec3d(colour[0] * light * warm, colour[1] * light, colour[2] * light / warm)


@wp.func
def tiles(
    u: wp.float64,
    v: wp.float64,
    w: wp.float64,
    seed: wp.uint64,
    colour: wp.vec3d,
    grout: wp.vec3d,
    size: wp.float64,
    contrast: wp.float64,
):
    """Tiles with veins, and grout between them."""
    i, j = wp.floor(u / size), wp.floor(v / size)
    h = hashed(wp.int64(i), wp.int64(j), seed)
    a, e = u - i * size, v - j * size
    near = wp.min(wp.min(a, size - a), wp.min(e, size - e))
    m = gap_at(near, wp.float64(0.004), w, size)
    fade = kept_of(size, w)
    veins = noise(u, v, wp.float64(0.10), 4, w, h)
    one, half = wp.float64(1.0), wp.float64(0.5)
    light = one + contrast * (fade * wp.float64(0.22) * (unit(h) - half) + wp.float64(0.10) * veins)
    tint = one + wp.float64(0.06) * fade * (unit(h >> wp.uint64(16)) - half)
    return blended(wp.vec3d(colour[0] * light * tint, colour[1] * light, colour[2] * light / tint), grout, m)


@wp.func
def picture(
    u: wp.float64, v: wp.float64, su: wp.float64, sv: wp.float64, w: wp.float64, seed: wp.uint64, colour: wp.vec3d
):
    """A white mount, then flat shapes with brush marks."""
    zero, one = wp.float64(0.0), wp.float64(1.0)
    edge = wp.min(wp.min(u, su - u), wp.min(v, sv - v)) - wp.float64(0.10) * wp.min(su, sv)
    mount = one - step(edge, zero, wp.max(w, wp.float64(0.002)))
    size = wp.float64(0.35) * wp.min(su, sv)
    form = noise(u, v, size, 2, w, seed)
    hill = noise(u, zero, wp.float64(0.5) * su, 2, w, seed + B) * wp.float64(0.25) * sv + wp.float64(0.45) * sv - v
    low = step(hill, zero, wp.max(w, wp.float64(0.004)))
    m, blot = step(form, zero, wp.float64(0.06)), step(form, wp.float64(0.35), wp.float64(0.06))
    all_of = wp.float64(255.0)
    r2 = all_of * unit((seed * B) >> wp.uint64(16))
    g2 = all_of * unit((seed * C) >> wp.uint64(16))
    b2 = all_of * unit((seed * A) >> wp.uint64(16))
    shown = blended(colour, wp.vec3d(r2, g2, b2), low)
    shown = blended(shown, wp.vec3d(b2, r2, g2), wp.float64(0.45) * m)
    shown = blended(shown, wp.vec3d(wp.float64(240.0), wp.float64(220.0), wp.float64(170.0)), wp.float64(0.7) * blot)
    shown = shown * (one + wp.float64(0.2) * noise(u, v, wp.float64(0.03), 3, w, seed + A))
    return blended(shown, wp.vec3d(wp.float64(235.0), wp.float64(232.0), wp.float64(224.0)), mount)


@wp.func
def books(u: wp.float64, v: wp.float64, sv: wp.float64, w: wp.float64, seed: wp.uint64):
    """Books that lean on a grid of 4 cm."""
    cell, part = wp.float64(0.04), wp.float64(0.6)
    zero, one = wp.float64(0.0), wp.float64(1.0)
    i = wp.int64(wp.floor(u / cell))
    border = wp.float64(i) * cell + part * cell * unit(hashed(i, wp.int64(1), seed))
    if u < border:
        i = i - wp.int64(1)
    left = wp.float64(i) * cell + part * cell * unit(hashed(i, wp.int64(1), seed))
    after = i + wp.int64(1)
    right = wp.float64(after) * cell + part * cell * unit(hashed(after, wp.int64(1), seed))
    h = hashed(i, wp.int64(0), seed)
    near = wp.min(u - left, right - u)
    fade = kept_of(cell, w)
    tall = sv * (wp.float64(0.70) + wp.float64(0.26) * unit(h >> wp.uint64(16)))
    dark = wp.max(gap_at(near, wp.float64(0.0015), w, cell), step(v - tall, zero, w))
    label = step(wp.float64(0.012) - wp.abs(v - tall * wp.float64(0.72)), zero, w)
    if (h & wp.uint64(1)) != wp.uint64(0):
        label = zero
    r = wp.float64(60.0) + wp.float64(150.0) * unit(h * A)
    g = wp.float64(50.0) + wp.float64(120.0) * unit(h * B)
    b = wp.float64(45.0) + wp.float64(120.0) * unit(h * C)
    spine = blended(wp.vec3d(wp.float64(128.0), wp.float64(105.0), wp.float64(95.0)), wp.vec3d(r, g, b), fade)
    light = (one + wp.float64(0.12) * noise(u, v, wp.float64(0.02), 2, w, h)) * (one - wp.float64(0.8) * dark)
    paper = label * fade
    return wp.vec3d(
        spine[0] * light + paper * wp.float64(70.0),
        spine[1] * light + paper * wp.float64(65.0),
        spine[2] * light + paper * wp.float64(40.0),
    )


@wp.func
def outdoors(u: wp.float64, v: wp.float64, sv: wp.float64, w: wp.float64, seed: wp.uint64):
    """What a pane shows: sky with clouds, a line of trees, lawn."""
    zero, one, hair = wp.float64(0.0), wp.float64(1.0), wp.float64(0.01)
    height = v / sv
    cloud = step(noise(wp.float64(0.6) * u, v, wp.float64(0.5), 4, w, seed), wp.float64(0.1), wp.float64(0.5))
    sky = wp.vec3d(
        wp.float64(196.0) - wp.float64(50.0) * height, wp.float64(220.0) - wp.float64(30.0) * height, wp.float64(240.0)
    )
    shown = blended(sky, wp.vec3d(wp.float64(250.0), wp.float64(250.0), wp.float64(252.0)), cloud)
    crown = sv * (wp.float64(0.42) + wp.float64(0.22) * noise(u, zero, wp.float64(0.35), 4, w, seed + A))
    tree = step(crown - v, zero, wp.max(w, hair))
    leaf = one + wp.float64(0.35) * noise(u, v, wp.float64(0.06), 3, w, seed + B)
    shown = blended(shown, wp.vec3d(wp.float64(96.0) * leaf, wp.float64(132.0) * leaf, wp.float64(84.0) * leaf), tree)
    lawn = step(wp.float64(0.22) * sv - v, zero, wp.max(w, hair))
    grass = wp.vec3d(wp.float64(140.0) * leaf, wp.float64(178.0) * leaf, wp.float64(104.0) * leaf)
    return blended(shown, grass, lawn)


@wp.func
def floor_divided(i: wp.int64, n: wp.int64):
    """Quotient rounded down; Warp's own rounds towards zero."""
    found = i / n
    if i < wp.int64(0) and found * n != i:
        found = found - wp.int64(1)
    return found


@wp.func
def bit_at(i: wp.int64, j: wp.int64, seed: wp.uint64):
    """One bit of a page of signs, 0 or 1."""
    a, b = floor_divided(i, wp.int64(4)), floor_divided(j, wp.int64(7))
    column, line = i - a * wp.int64(4), j - b * wp.int64(7)
    found = wp.float64(0.0)
    if column < wp.int64(3) and line < wp.int64(5):
        h = hashed(a, b, seed)
        used = (h >> wp.uint64(40)) % wp.uint64(5) != wp.uint64(0)
        if used and ((h >> wp.uint64(line * wp.int64(3) + column)) & wp.uint64(1)) != wp.uint64(0):
            found = wp.float64(1.0)
    return found


@wp.func
def letters(x: wp.float64, y: wp.float64, w: wp.float64, seed: wp.uint64):
    """Share of ink at (x, y) on a page of random signs, 3 x 5 bits in fields of 4 x 7; units are bits."""
    half, one = wp.float64(0.5), wp.float64(1.0)
    i, j = wp.int64(wp.floor(x - half)), wp.int64(wp.floor(y - half))
    after_i, after_j = i + wp.int64(1), j + wp.int64(1)
    soft = wp.min(wp.max(w, wp.float64(0.15)), one)
    fx = clipped((x - half - wp.float64(i) - half) / soft + half)
    fy = clipped((y - half - wp.float64(j) - half) / soft + half)
    upper = (one - fx) * bit_at(i, j, seed) + fx * bit_at(after_i, j, seed)
    lower = (one - fx) * bit_at(i, after_j, seed) + fx * bit_at(after_i, after_j, seed)
    ink = (one - fy) * upper + fy * lower
    mean = wp.float64(0.21)
    return mean + clipped(wp.float64(2.5) / w - one) * (ink - mean)


@wp.func
def posters(u: wp.float64, v: wp.float64, w: wp.float64, seed: wp.uint64, colour: wp.vec3d, contrast: wp.float64):
    """Noise of six octaves, and posters with rows of marks."""
    lum = wp.float64(66.0) * noise(u, v, wp.float64(0.8), 6, w, seed)
    warm = wp.float64(40.0) * noise(u, v, wp.float64(0.4), 1, w, seed + A)
    shown = wp.vec3d(colour[0] + lum + warm, colour[1] + lum - wp.float64(0.3) * warm, colour[2] + lum - warm)
    grid, two, zero = wp.float64(1.5), wp.float64(2.0), wp.float64(0.0)
    i, j = wp.int64(wp.floor(u / grid)), wp.int64(wp.floor(v / grid))
    h = hashed(i, j, seed + B)
    if (h & wp.uint64(255)) < wp.uint64(190):
        half_u = wp.float64(0.25) + wp.float64(0.30) * unit(h >> wp.uint64(3))
        half_v = wp.float64(0.25) + wp.float64(0.30) * unit(h >> wp.uint64(9))
        pu = u - (wp.float64(i) * grid + half_u + (grid - two * half_u) * unit(h >> wp.uint64(14)))
        pv = v - (wp.float64(j) * grid + half_v + (grid - two * half_v) * unit(h >> wp.uint64(20)))
        inside = step(half_u - wp.abs(pu), zero, w) * step(half_v - wp.abs(pv), zero, w)
        if inside > zero:
            all_of = wp.float64(255.0)
            page = wp.vec3d(all_of * unit(h * A), all_of * unit(h * B), all_of * unit(h * C))
            bit = wp.float64(0.012) + wp.float64(0.022) * unit(h >> wp.uint64(25))
            ink = letters((pu + half_u) / bit, (half_v - pv) / bit, w / bit, h)
            far = wp.float64(225.0)
            if page[0] + page[1] + page[2] > wp.float64(382.0):
                far = wp.float64(30.0)
            page = blended(page, wp.vec3d(far, far, far), ink)
            shown = blended(shown, page * (wp.float64(1.0) + wp.float64(0.004) * lum), inside)
    grey = wp.vec3d(wp.float64(125.0), wp.float64(125.0), wp.float64(125.0))
    return blended(grey, shown, contrast)


@wp.func
def surface(
    pattern: int,
    u: wp.float64,
    v: wp.float64,
    su: wp.float64,
    sv: wp.float64,
    w: wp.float64,
    seed: wp.uint64,
    size: wp.float64,
    contrast: wp.float64,
    colour: wp.vec3d,
    second: wp.vec3d,
):
    """Colour at (u, v) metres on a face of su x sv; `pattern` is an index of `boxes.PATTERNS`."""
    zero, one, half = wp.float64(0.0), wp.float64(1.0), wp.float64(0.5)
    found = wp.vec3d(zero, zero, zero)
    # The long side of a face is where its grain runs.
    along, across = wp.float64(u), wp.float64(v)
    if su < sv:
        along = v
        across = u
    if pattern == 13:
        found = posters(u, v, w, seed, colour, contrast)
    elif pattern == 0:
        fine = wp.float64(0.07) * noise(u, v, wp.float64(0.02), 2, w, seed + A)
        found = colour * (one + contrast * (wp.float64(0.07) * noise(u, v, wp.float64(0.25), 3, w, seed) + fine))
    elif pattern == 1:
        stain = wp.max(noise(u, v, wp.float64(0.9), 3, w, seed) - wp.float64(0.25), zero)
        rough = wp.float64(0.06) * noise(u, v, wp.float64(0.11), 4, w, seed + A)
        light = one + contrast * (rough - wp.float64(0.09) * stain)
        found = wp.vec3d(colour[0] * light, colour[1] * light, colour[2] * light * (one - wp.float64(0.06) * stain))
    elif pattern == 2:
        grain = noise(along * wp.float64(0.09), across, wp.float64(0.03), 3, w, seed)
        knots = noise(along * wp.float64(0.4), across, wp.float64(0.22), 2, w, seed + A)
        light = one + contrast * (wp.float64(0.13) * grain + wp.float64(0.09) * knots)
        found = wp.vec3d(colour[0] * light, colour[1] * light, colour[2] * light * (one - wp.float64(0.05) * grain))
    elif pattern == 3:
        found = planks(along, across, w, seed, colour, size, contrast)
    elif pattern == 4:
        found = tiles(u, v, w, seed, colour, second, size, contrast)
    elif pattern == 5:
        # By colour, so that all parts in one cloth have one design.
        kind = wp.int64(colour[0] + wp.float64(3.0) * colour[1] + wp.float64(5.0) * colour[2]) % wp.int64(3)
        m = wp.float64(0.0)
        if kind == wp.int64(0):
            m = stripes(u, size, w)
        elif kind == wp.int64(1):
            m = half * (stripes(u, size, w) + stripes(v, size, w))
        else:
            m = step(noise(u, v, size, 2, w, seed + B), wp.float64(0.2), wp.float64(0.15))
        m = wp.float64(0.55) * m * contrast
        weave = one + contrast * (
            wp.float64(0.13) * noise(u, v, wp.float64(0.03), 3, w, seed)
            + wp.float64(0.08) * noise(u, v, wp.float64(0.3), 2, w, seed + A)
        )
        found = blended(colour, second, m) * weave
    elif pattern == 6:
        fleck = step(noise(u, v, wp.float64(0.05), 4, w, seed), wp.float64(0.1), wp.float64(0.25))
        light = one + wp.float64(0.10) * contrast * noise(u, v, wp.float64(0.4), 3, w, seed + A)
        found = blended(colour, second, wp.float64(0.7) * fleck * contrast) * light
    elif pattern == 7:
        brushed = wp.float64(0.06) * noise(u * wp.float64(0.05), v, wp.float64(0.012), 2, w, seed)
        found = colour * (one + contrast * (brushed + wp.float64(0.09) * noise(u, v, wp.float64(0.3), 3, w, seed + A)))
    elif pattern == 8:
        leaf = noise(u + half * v, v - wp.float64(0.3) * u, wp.float64(0.07), 3, w, seed)
        found = blended(colour, second, step(leaf, zero, half)) * (one + wp.float64(0.35) * leaf)
    elif pattern == 9:
        found = picture(u, v, su, sv, w, seed, colour)
    elif pattern == 10:
        found = books(u, v, sv, w, seed)
    elif pattern == 11:
        found = outdoors(u, v, sv, w, seed)
    elif pattern == 12:
        streak = step(noise(u + v, zero, wp.float64(0.35), 2, w, seed), wp.float64(0.15), wp.float64(0.3))
        light = wp.float64(0.82) + wp.float64(0.18) * v / sv + wp.float64(0.10) * streak
        found = colour * (light + wp.float64(0.06) * noise(u, v, wp.float64(0.08), 3, w, seed + A))
    elif pattern == 14:
        edge = wp.min(wp.min(u, su - u), wp.min(v, sv - v))
        band = step(wp.float64(0.10) - edge, zero, w) - step(wp.float64(0.05) - edge, zero, w)
        motif = stripes(u + v, size, w) * stripes(u - v, size, w)
        knots = step(noise(u, v, size, 2, w, seed + B), wp.float64(0.1), wp.float64(0.2))
        m = wp.max(band, wp.float64(0.6) * motif + wp.float64(0.3) * knots)
        pile = one + contrast * wp.float64(0.2) * noise(u, v, wp.float64(0.03), 3, w, seed)
        found = blended(colour, second, m) * pile
    elif pattern == 15:
        glow = one + wp.float64(0.9) * wp.max(v / sv - wp.float64(0.3), zero)
        found = colour * (glow + wp.float64(0.25) * noise(u, v, wp.float64(0.2), 4, w, seed))
    elif pattern == 16:
        flame = noise(u, wp.float64(0.6) * v, wp.float64(0.12), 4, w, seed) + wp.float64(0.7)
        m = step(flame - wp.float64(1.4) * v / sv, zero, half)
        found = wp.vec3d(
            wp.float64(40.0) + wp.float64(215.0) * m,
            wp.float64(24.0) + wp.float64(150.0) * m * m,
            wp.float64(18.0) + wp.float64(50.0) * m * m * m,
        )
    elif pattern == 18:
        glow = one - wp.float64(0.10) * wp.abs(wp.float64(2.0) * v / sv - one)
        found = colour * (glow + wp.float64(0.05) * noise(u, v, wp.float64(0.05), 2, w, seed))
    elif pattern == 19:
        # Two colours and their opposites in large forms, over a caption.
        form = step(noise(u, v, half * sv, 2, w, seed), zero, wp.float64(0.08))
        m = step(noise(u, v, wp.float64(0.3) * sv, 2, w, seed + B), wp.float64(0.2), wp.float64(0.08))
        found = blended(colour, second, form)
        found = blended(found, wp.vec3d(wp.float64(250.0), wp.float64(236.0), wp.float64(190.0)), wp.float64(0.6) * m)
        thin, white = wp.max(w, wp.float64(0.004)), wp.float64(246.0)
        caption = step(wp.float64(0.16) * sv - v, zero, thin) * step(v - wp.float64(0.06) * sv, zero, thin)
        found = blended(found, wp.vec3d(white, white, white), caption)
        found = found * (wp.float64(1.1) + wp.float64(0.15) * noise(u, v, wp.float64(0.04), 3, w, seed + A))
    else:
        pile = wp.float64(0.22) * noise(u, v, wp.float64(0.04), 4, w, seed)
        found = colour * (one + contrast * (pile + wp.float64(0.08) * noise(u, v, wp.float64(0.6), 2, w, seed + A)))
    return found


@wp.func
def light_at(values: wp.array(dtype=wp.float32, ndim=2), u: wp.float64, v: wp.float64):
    """Brightness between the middles of cells; (u, v) in cells."""
    zero, edge = wp.float64(0.0), wp.float64(1.001)
    x = wp.min(wp.max(u, zero), wp.float64(values.shape[0]) - edge)
    y = wp.min(wp.max(v, zero), wp.float64(values.shape[1]) - edge)
    i, j = int(x), int(y)
    a, b = x - wp.float64(i), y - wp.float64(j)
    lower = wp.float64(values[i, j]) + a * wp.float64(values[i + 1, j] - values[i, j])
    upper = wp.float64(values[i, j + 1]) + a * wp.float64(values[i + 1, j + 1] - values[i, j + 1])
    return lower + b * (upper - lower)
