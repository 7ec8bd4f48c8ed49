"""Dwellings. Each is drawn on a plot whose front, v = 0, is the street's side, and returns its door's cell."""

from __future__ import annotations

from worldgauge.worlds.voxel.settlements.parts import Rect, chimney, door, one, post, walls, windows
from worldgauge.worlds.voxel.settlements.site import Cell, Site, furnish, porch, roof, room


def draw_cottage(site: Site) -> Cell:
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


def draw_townhouse(site: Site) -> Cell:
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


def draw_longhouse(site: Site) -> Cell:
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


def draw_corner_house(site: Site) -> Cell:
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


def draw_tent(site: Site) -> Cell:
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


def draw_igloo(site: Site) -> Cell:
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


def draw_round_hut(site: Site) -> Cell:
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
