"""All buildings by name, and the drawing of those that are not dwellings.

Each is drawn on a plot whose front, v = 0, is the street's side, and returns its door's cell.
"""

from __future__ import annotations

from worldgauge.worlds.voxel.settlements.dwellings import (
    draw_corner_house,
    draw_cottage,
    draw_igloo,
    draw_longhouse,
    draw_round_hut,
    draw_tent,
    draw_townhouse,
)
from worldgauge.worlds.voxel.settlements.parts import (
    Rect,
    awning,
    band,
    chimney,
    dome_roof,
    door,
    flat_roof,
    hip_roof,
    one,
    post,
    walls,
    windows,
)
from worldgauge.worlds.voxel.settlements.site import Cell, Design, Site, furnish, roof, room


def draw_barn(site: Site) -> Cell:
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


def draw_smithy(site: Site) -> Cell:
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


def draw_library(site: Site) -> Cell:
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


def draw_church(site: Site) -> Cell:
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


def draw_windmill(site: Site) -> Cell:
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


def draw_watchtower(site: Site) -> Cell:
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


def draw_minaret(site: Site) -> Cell:
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


def draw_temple(site: Site) -> Cell:
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


def draw_watermill(site: Site) -> Cell:
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


def draw_stall(site: Site) -> Cell:
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
