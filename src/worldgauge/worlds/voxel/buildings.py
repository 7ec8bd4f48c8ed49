"""All buildings by name, and the drawing of those that are not dwellings.

Each is drawn on a plot whose front, v = 0, is the street's side, and returns its door's cell.
"""

from __future__ import annotations

from worldgauge.worlds.voxel.parts import (
    BuildingSite,
    Cell,
    Design,
    Rect,
    awning,
    band,
    chimney,
    dome_roof,
    door,
    flat_roof,
    furnish,
    hip_roof,
    one,
    porch,
    post,
    roof,
    room,
    walls,
    windows,
)

# Dwellings. Each is drawn on a plot whose front, v = 0, is the street's side, and returns its door's cell.


def draw_cottage(site: BuildingSite) -> Cell:
    """One room under one roof."""
    f, p, r = site.frame, site.palette, site.body
    top = 3 + int(site.rng.integers(2))
    room(site, r, top)
    door_u = int(site.rng.integers(r.u0 + 2, r.u1 - 1))
    door(f, door_u, r.v0, p)
    windows(f, r, range(2, top), p, every=4, wide=2)
    windows(f, r, range(2, top), p, every=3, sides="f")
    ridge = roof(site, r, top)
    if site.rng.integers(2):
        chimney(f, r.u0 + 1 if door_u > r.middle[0] else r.u1 - 1, r.v1, ridge)
    if site.rng.integers(2):
        porch(site, range(door_u - 1, door_u + 2), 3)
    furnish(site, r)
    return door_u, r.v0


def draw_townhouse(site: BuildingSite) -> Cell:
    """Two storeys; the upper one stands out over the street."""
    f, p, r = site.frame, site.palette, site.body
    room(site, r, 4)
    door(f, r.middle[0], r.v0, p)
    windows(f, r, range(2, 4), p, every=4, wide=2, sides="lrb")
    windows(f, r, range(2, 4), p, every=4, sides="f")
    upper = Rect(r.u0, r.v0 - 1, r.u1, r.v1)
    f.box(upper.u, upper.v, one(4), p.beam)
    walls(f, upper, range(5, 8), p.upper, p.beam)
    windows(f, upper, one(6), p, every=3, wide=2)
    ridge = roof(site, upper, 7, along="v")
    chimney(f, r.u1 - 1, r.v1, ridge)
    furnish(site, r)
    return r.middle[0], r.v0


def draw_longhouse(site: BuildingSite) -> Cell:
    """A long hall with a porch along its front."""
    f, p, r = site.frame, site.palette, site.body
    room(site, r, 4)
    middle = r.middle[0]
    door(f, middle, r.v0, p, width=2)
    windows(f, r, range(2, 4), p, every=4, wide=2)
    ridge = roof(site, r, 4, along="u")
    for u in (r.u0 + 1, r.u1 - 1):
        chimney(f, u, r.v1 - 1, ridge, p.plinth)
    porch(site, range(middle - 3, middle + 5), 4)
    furnish(site, r)
    return middle, r.v0


def draw_corner_house(site: BuildingSite) -> Cell:
    """Two wings at a right angle under crossing roofs."""
    f, p, r = site.frame, site.palette, site.body
    left = bool(site.rng.integers(2))
    hall = Rect(r.u0, r.v0 + 4, r.u1, r.v1)
    wing = Rect(r.u0, r.v0, r.u0 + 5, r.v0 + 5) if left else Rect(r.u1 - 5, r.v0, r.u1, r.v0 + 5)
    room(site, wing, 4)
    room(site, hall, 4)
    f.box(range(wing.u0 + 1, wing.u1), one(hall.v0), range(1, 4), "air")
    door_u = r.u1 - 2 if left else r.u0 + 2
    door(f, door_u, hall.v0, p)
    windows(f, hall, range(2, 4), p, every=4, wide=2, sides="lrb")
    windows(f, wing, range(2, 4), p, every=3, wide=2, sides="lrf")
    roof(site, wing, 4, along="v")
    ridge = roof(site, hall, 4, along="u")
    chimney(f, door_u, r.v1, ridge + 1)
    for u in range(wing.u1 + 1, r.u1 + 1) if left else range(r.u0, wing.u0):
        if u != door_u:
            f.put(u, r.v0 + 1, 1, p.fence)
    furnish(site, hall)
    return door_u, hall.v0


def draw_tent(site: BuildingSite) -> Cell:
    """A ridge tent of striped cloth."""
    f, p, r = site.frame, site.palette, site.body
    f.box(r.u, r.v, one(0), p.floor)
    for n, v in enumerate(r.v):
        cloth = p.cloth if n % 2 == 0 else "white_plaster"
        for step in range((len(r.u) + 1) // 2):
            f.put(r.u0 + step, v, step + 1, cloth)
            f.put(r.u1 - step, v, step + 1, cloth)
    middle = r.middle[0]
    f.box(range(r.u0 + 1, r.u1), one(r.v1), one(1), p.cloth)
    f.box(range(r.u0 + 2, r.u1 - 1), one(r.v1), one(2), p.cloth)
    post(f, middle, r.v1, range(1, (len(r.u) + 1) // 2), p.fence)
    f.put(middle - 1, r.v1 - 1, 1, "barrel")
    f.box(range(middle, middle + 2), range(r.v0 + 1, r.v1 - 1), one(1), "white_carpet")
    return middle, r.v0


def draw_igloo(site: BuildingSite) -> Cell:
    """A dome of ice and packed snow with a low tunnel."""
    f, r = site.frame, site.body
    mid_u, mid_v = r.middle[0], r.v1 - 4
    for u in r.u:
        for v in range(mid_v - 4, r.v1 + 1):
            for w in range(6):
                d2 = (u - mid_u) * (u - mid_u) + (v - mid_v) * (v - mid_v) + w * w
                if d2 <= 20:
                    f.put(u, v, w, "spruce_planks" if w == 0 else "ice_bricks" if d2 > 11 else "air")
    for u, top in ((mid_u - 1, 2), (mid_u, 3), (mid_u + 1, 2)):
        f.box(one(u), range(r.v0, r.v0 + 3), range(1, top + 1), "white_plaster")
    f.box(one(mid_u), range(r.v0, r.v0 + 4), range(1, 3), "air")
    f.put(mid_u, mid_v, 1, "white_carpet")
    f.put(mid_u + 2, mid_v, 1, "barrel")
    return mid_u, r.v0


def draw_round_hut(site: BuildingSite) -> Cell:
    """A round hut under a cone of thatch."""
    f, p, r = site.frame, site.palette, site.body
    mid_u, mid_v = (r.u0 + r.u1) / 2, (r.v0 + r.v1) / 2
    half = (r.u1 - r.u0) / 2
    thatch = "hay_bale" if site.rng.integers(2) else p.roof_cube
    for u in range(r.u0 - 1, r.u1 + 2):
        for v in range(r.v0 - 1, r.v1 + 2):
            d2 = (u - mid_u) * (u - mid_u) + (v - mid_v) * (v - mid_v)
            inside, hollow = d2 <= (half + 0.2) * (half + 0.2), d2 <= (half - 0.8) * (half - 0.8)
            if inside:
                f.put(u, v, 0, p.floor if hollow else p.plinth)
                for w in range(1, 4):
                    f.put(u, v, w, "air" if hollow else p.plinth if w == 1 else p.wall)
            for step in range(int(half) + 2):
                if d2 <= (half + 1.0 - step) * (half + 1.0 - step):
                    f.put(u, v, 4 + step, thatch)
    u = r.middle[0]
    door(f, u, r.v0, p)
    f.box(one(u), range(r.v0, r.v0 + 2), range(1, 3), "air")
    f.put(r.u0, r.middle[1], 2, p.window)
    f.put(r.u1, r.middle[1], 2, p.window)
    f.put(u, r.middle[1], 1, "barrel")
    return u, r.v0


def draw_barn(site: BuildingSite) -> Cell:
    """A tall barn, open in front, full of hay."""
    f, p, r = site.frame, site.palette, site.body
    room(site, r, 5)
    f.box(range(r.u0 + 1, r.u1), range(r.v0 + 1, r.v1), one(0), "coarse_dirt")
    middle = r.middle[0]
    door(f, middle - 1, r.v0, p, height=4, width=3)
    windows(f, r, one(3), p, every=4, sides="lrb")
    ridge = roof(site, r, 5, along="v")
    f.put(middle, r.v0, ridge - 2, p.window)
    for v in range(r.v0 + 2, r.v1):
        for u in (r.u0 + 1, r.u1 - 1):
            f.box(one(u), one(v), range(1, 2 + int(site.rng.integers(3))), "hay_bale")
    return middle, r.v0


def draw_smithy(site: BuildingSite) -> Cell:
    """A stone room next to an open forge with a broad chimney."""
    f, p, r = site.frame, site.palette, site.body
    split = r.u0 + (r.u1 - r.u0) // 2
    room = Rect(r.u0, r.v0, split, r.v1)
    forge = Rect(split + 1, r.v0, r.u1, r.v1)
    f.box(r.u, r.v, one(0), p.plinth)
    walls(f, room, range(1, 5), p.plinth, p.beam)
    door(f, room.middle[0], r.v0, p)
    windows(f, room, range(2, 4), p, every=3, sides="lb")
    for u, v in ((r.u1, r.v0), (split + 2, r.v0), (r.u1, r.middle[1])):
        post(f, u, v, range(1, 5), p.beam)
    f.box(forge.u, one(r.v1), range(1, 5), p.plinth)
    f.box(r.u, one(r.v0), one(4), p.beam)
    f.box(range(r.u1 - 2, r.u1), one(r.v1 - 1), one(1), "bricks")
    f.put(r.u1 - 3, r.v1 - 1, 1, "barrel")
    f.put(split + 2, r.v0 + 2, 1, "cobblestone_slab")
    ridge = roof(site, r, 4, along="u")
    f.box(range(r.u1 - 2, r.u1), one(r.v1 - 1), range(2, ridge + 2), "bricks")
    return room.middle[0], r.v0


def draw_library(site: BuildingSite) -> Cell:
    """A tall hall on columns of beams, with high windows and walls of books."""
    f, p, r = site.frame, site.palette, site.body
    room(site, r, 6)
    for u in range(r.u0 + 3, r.u1 - 2, 3):
        for v in (r.v0, r.v1):
            post(f, u, v, range(1, 7), p.beam)
    door(f, r.middle[0], r.v0, p)
    windows(f, r, range(2, 6), p, every=3, sides="lrb")
    windows(f, r, range(2, 6), p, every=2, sides="f")
    inner = r.grown(-1)
    for u, v in inner.border:
        if v != inner.v0 and (u + v) % 2:
            f.box(one(u), one(v), range(1, 4), "bookshelf")
    f.box(range(r.middle[0] - 1, r.middle[0] + 2), range(r.v0 + 1, r.v1 - 1), one(1), "white_carpet")
    band(f, r, 6, p.beam)
    if site.biome.roofs[0] == "flat":
        flat_roof(f, r, 7, p)
        dome_roof(f, r.grown(-2), 7, p.cloth, p.roof_cube)
    else:
        hip_roof(f, r, 7, p, snowy=site.biome.snowy)
    return r.middle[0], r.v0


def draw_church(site: BuildingSite) -> Cell:
    """A nave behind a steeple."""
    f, p, r = site.frame, site.palette, site.body
    middle = r.middle[0]
    nave = Rect(r.u0, r.v0 + 4, r.u1, r.v1)
    tower = Rect(middle - 2, r.v0, middle + 2, r.v0 + 4)
    room(site, nave, 5)
    windows(f, nave, range(2, 5), p, every=2, sides="lrb")
    roof(site, nave, 5, along="v")
    f.box(tower.u, tower.v, one(0), p.plinth)
    walls(f, tower, range(1, 14), p.wall, p.plinth)
    for w in (5, 10):
        band(f, tower, w, p.plinth)
    f.box(range(middle - 1, middle + 2), one(nave.v0), range(1, 4), "air")
    door(f, middle, tower.v0, p, height=3)
    windows(f, tower, range(6, 9), p, every=3)
    for u, v in ((middle, tower.v0), (middle, tower.v1), (tower.u0, tower.v0 + 2), (tower.u1, tower.v0 + 2)):
        f.box(one(u), one(v), range(11, 13), "air")
    top = hip_roof(f, tower, 14, p, snowy=site.biome.snowy)
    f.put(middle, tower.v0 + 2, top + 1, p.fence)
    return middle, tower.v0


def draw_windmill(site: BuildingSite) -> Cell:
    """A tapering tower with four sails."""
    f, p, r = site.frame, site.palette, site.body
    middle, centre_v = r.middle[0], r.v1 - 3
    foot = Rect(middle - 3, centre_v - 3, middle + 3, centre_v + 3)
    f.box(foot.u, foot.v, one(0), p.plinth)
    walls(f, foot, range(1, 5), p.plinth, p.beam)
    shaft = foot.grown(-1)
    f.box(foot.u, foot.v, one(5), p.roof_slab)
    f.box(shaft.u, shaft.v, one(5), p.beam)
    walls(f, shaft, range(6, 12), p.upper, p.beam)
    door(f, middle, foot.v0, p)
    windows(f, foot, one(2), p, every=4, sides="lrb")
    windows(f, shaft, one(8), p, every=3, sides="lrb")
    hip_roof(f, shaft, 12, p)
    hub = 9
    f.box(one(middle), range(foot.v0 - 1, shaft.v0), one(hub), p.beam)
    for arm in range(1, 6):
        for du, dw, su, sw in ((arm, arm, 1, 0), (-arm, arm, 0, 1), (-arm, -arm, -1, 0), (arm, -arm, 0, -1)):
            f.put(middle + du, foot.v0 - 1, hub + dw, p.fence)
            if arm > 1:
                f.put(middle + du - su, foot.v0 - 1, hub + dw - sw, "white_plaster")
    return middle, foot.v0


def draw_watchtower(site: BuildingSite) -> Cell:
    """A high platform on a shaft, under a small roof."""
    f, p, r = site.frame, site.palette, site.body
    middle_u, middle_v = r.middle
    shaft = Rect(middle_u - 1, middle_v - 1, middle_u + 1, middle_v + 1).grown(1)
    f.box(shaft.u, shaft.v, one(0), p.plinth)
    walls(f, shaft, range(1, 4), p.plinth, p.beam)
    walls(f, shaft, range(4, 10), p.wall, p.beam)
    door(f, middle_u, shaft.v0, p)
    windows(f, shaft, range(5, 7), p, every=3)
    deck = shaft.grown(1)
    f.box(deck.u, deck.v, one(10), p.roof_cube)
    band(f, deck, 11, p.fence)
    for u, v in deck.corners:
        post(f, u, v, range(11, 14), p.beam)
    f.put(middle_u, middle_v, 11, "lantern_post")
    hip_roof(f, deck, 14, p, snowy=site.biome.snowy)
    return middle_u, shaft.v0


def draw_minaret(site: BuildingSite) -> Cell:
    """A slender tower with a balcony and a cupola."""
    f, p, r = site.frame, site.palette, site.body
    middle_u, middle_v = r.middle
    shaft = Rect(middle_u - 2, middle_v - 2, middle_u + 2, middle_v + 2)
    f.box(shaft.grown(1).u, shaft.grown(1).v, one(0), p.plinth)
    walls(f, shaft, range(1, 13), p.wall, p.beam)
    for w in (4, 8):
        band(f, shaft, w, p.cloth)
    door(f, middle_u, shaft.v0, p)
    windows(f, shaft, range(6, 8), p, every=3)
    windows(f, shaft, range(9, 11), p, every=3)
    f.box(shaft.grown(1).u, shaft.grown(1).v, one(12), p.roof_slab)
    f.box(shaft.u, shaft.v, one(12), p.roof_cube)
    for u, v in shaft.corners:
        post(f, u, v, range(13, 16), p.beam)
    f.put(middle_u, middle_v, 13, "lantern_post")
    dome_roof(f, shaft, 16, p.cloth, p.roof_cube)
    return middle_u, shaft.v0


def draw_temple(site: BuildingSite) -> Cell:
    """A stepped pyramid with a gate between two pillars."""
    f, p, r = site.frame, site.palette, site.body
    middle = r.middle[0]
    body = Rect(r.u0, r.v0 + 1, r.u1, r.v1)
    f.box(body.u, body.v, one(0), p.plinth)
    for step in range((len(body.u) + 1) // 2):
        ring = body.grown(-step)
        if ring.u0 > ring.u1 or ring.v0 > ring.v1:
            break
        band(f, ring, step + 1, p.cloth if step % 3 == 2 else p.wall)
        inner = ring.grown(-1)
        f.box(inner.u, inner.v, one(step + 1), "air")
    for u in (middle - 3, middle + 3):
        f.box(one(u), range(body.v0, body.v0 + 2), range(1, 6), p.beam)
        f.put(u, body.v0, 6, p.roof_slab)
    f.box(range(middle - 2, middle + 3), range(body.v0, body.v0 + 4), range(1, 5), p.wall)
    f.box(range(middle - 2, middle + 3), one(body.v0), one(5), p.cloth)
    f.box(range(middle - 1, middle + 2), range(body.v0, body.v0 + 4), range(1, 4), "air")
    return middle, body.v0


def draw_watermill(site: BuildingSite) -> Cell:
    """A mill house with a great wheel on its side."""
    f, p = site.frame, site.palette
    r = Rect(site.body.u0 + 2, site.body.v0, site.body.u1, site.body.v1)
    room(site, r, 5)
    door(f, r.middle[0], r.v0, p)
    windows(f, r, range(2, 4), p, every=3, wide=2)
    ridge = roof(site, r, 5, along="v")
    chimney(f, r.u1 - 1, r.v1, ridge)
    hub_v, hub_w = r.middle[1], 4
    f.box(range(r.u0 - 2, r.u0), one(hub_v), one(hub_w), p.beam)
    for dv in range(-4, 5):
        for dw in range(-4, 5):
            d2 = dv * dv + dw * dw
            if d2 in (9, 10, 13) or (d2 <= 9 and (dv == 0 or dw == 0) and d2 > 0) or d2 == 16:
                f.put(r.u0 - 2, hub_v + dv, max(hub_w + dw, 0), p.roof_cube if d2 > 9 else p.beam)
    furnish(site, r)
    return r.middle[0], r.v0


def draw_stall(site: BuildingSite) -> Cell:
    """A market stall: a counter under a striped awning."""
    f, p, r = site.frame, site.palette, site.body
    for u, v in r.corners:
        post(f, u, v, range(1, 4), p.fence)
    for v in r.v:
        awning(f, r.u, v, 4, p.cloth)
    f.box(r.u, one(r.v0 - 1), one(4), p.roof_slab)
    for u in range(r.u0 + 1, r.u1):
        f.put(u, r.v0, 1, ("barrel", "hay_bale", p.roof_cube)[int(site.rng.integers(3))])
    f.put(r.u0 + 1, r.v1, 1, "barrel")
    for u, name in ((r.u0 + 1, "pumpkin"), (r.u1 - 1, "melon")):
        f.put(u, r.v0, 2, name)
    return r.middle[0], r.v0


DESIGNS: dict[str, Design] = {
    "cottage": Design((6, 8), (6, 7), draw_cottage),
    "townhouse": Design((7, 7), (7, 8), draw_townhouse),
    "longhouse": Design((11, 13), (7, 8), draw_longhouse),
    "corner_house": Design((11, 12), (10, 11), draw_corner_house),
    "barn": Design((9, 9), (10, 12), draw_barn),
    "smithy": Design((10, 11), (7, 7), draw_smithy),
    "library": Design((9, 9), (9, 9), draw_library),
    "church": Design((9, 9), (14, 16), draw_church),
    "windmill": Design((11, 11), (9, 9), draw_windmill),
    "watchtower": Design((7, 7), (7, 7), draw_watchtower),
    "minaret": Design((7, 7), (7, 7), draw_minaret),
    "temple": Design((15, 15), (15, 15), draw_temple),
    "tent": Design((7, 7), (7, 8), draw_tent),
    "igloo": Design((9, 9), (11, 11), draw_igloo),
    "round_hut": Design((7, 9), (7, 9), draw_round_hut),
    "watermill": Design((10, 10), (9, 9), draw_watermill),
    "stall": Design((5, 5), (3, 3), draw_stall),
}
