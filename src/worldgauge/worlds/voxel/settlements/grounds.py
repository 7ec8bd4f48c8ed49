"""What stands between the houses: farms, pens, the well, stalls' square, and landmarks of the countryside."""

from __future__ import annotations

from worldgauge.worlds.voxel.settlements.parts import awning, band, hip_roof, one, post
from worldgauge.worlds.voxel.settlements.site import Cell, Design, Site


def draw_farm(site: Site) -> Cell:
    """Rows of crops along a channel, edged with beams."""
    f, p, r = site.frame, site.palette, site.body
    band(f, r, 0, p.beam)
    inner = r.grown(-1)
    f.box(inner.u, inner.v, one(0), "farmland")
    channel = inner.middle[0]
    f.box(one(channel), inner.v, one(0), "water")
    f.box(one(channel), inner.v, one(-1), "clay")
    first = int(site.rng.integers(4))
    for n, u in enumerate(u for u in inner.u if u != channel):
        crop = (*site.biome.crops, "wheat", "melon")[(first + n // 2) % 4]
        for v in inner.v:
            if site.rng.random() < (0.25 if crop == "melon" else 0.55 if site.biome.ruined else 0.93):
                f.put(u, v, 1, crop)
    if site.rng.integers(2):
        for u, v in r.border:
            if v != r.v0:
                f.put(u, v, 1, p.fence)
    scarecrow = (r.u0 + 1, r.v1)
    post(f, *scarecrow, range(1, 3), p.fence)
    f.put(*scarecrow, 3, "pumpkin")
    return r.middle[0], r.v0


def draw_pen(site: Site) -> Cell:
    """A fenced yard with a trough, hay and a small shelter."""
    f, p, r = site.frame, site.palette, site.body
    band(f, r, 1, p.fence)
    middle = r.middle[0]
    f.put(middle, r.v0, 1, "air")
    for u, v in r.corners:
        f.put(u, v, 1, p.beam)
    f.box(range(r.u0 + 1, r.u0 + 3), one(r.v1 - 1), one(1), "hay_bale")
    f.put(r.u0 + 1, r.v1 - 1, 2, "hay_bale")
    f.box(range(r.u1 - 3, r.u1), one(r.v1 - 3), range(1, 3), "air")
    for u, v in ((r.u1 - 3, r.v1 - 3), (r.u1 - 1, r.v1 - 3), (r.u1 - 3, r.v1 - 1), (r.u1 - 1, r.v1 - 1)):
        post(f, u, v, range(1, 3), p.fence)
    f.box(range(r.u1 - 4, r.u1 + 1), range(r.v1 - 4, r.v1 + 1), one(3), p.roof_slab)
    f.put(middle, r.middle[1], 1, "barrel")
    return middle, r.v0


def draw_well(site: Site) -> Cell:
    """A square shaft of water under a small roof, for the middle of the settlement."""
    f, p, r = site.frame, site.palette, site.body
    band(f, r, 0, p.plinth)
    band(f, r, 1, p.plinth)
    inner = r.grown(-1)
    f.box(inner.u, inner.v, range(-3, 1), "water")
    f.box(inner.u, inner.v, one(1), "air")
    for u, v in r.corners:
        post(f, u, v, range(2, 4), p.fence)
    hip_roof(f, inner.grown(1), 4, p, snowy=site.biome.snowy)
    if not site.biome.ruined:
        f.put(*inner.middle, 3, "lantern_post")
    return r.middle[0], r.v0


def draw_ruin(site: Site) -> Cell:
    """A broken arch and the stumps of a wall."""
    f, r = site.frame, site.body
    stone = ("mossy_cobblestone", "cobblestone", site.palette.plinth)
    for u, v in r.border:
        height = int(site.rng.integers(0, 4))
        for w in range(1, height + 1):
            f.put(u, v, w, stone[int(site.rng.integers(3))])
    middle = r.middle[0]
    for u in (middle - 2, middle + 2):
        for w in range(1, 7):
            f.put(u, r.v0, w, stone[int(site.rng.integers(3))])
    f.box(range(middle - 2, middle + 3), one(r.v0), one(6), site.palette.plinth)
    f.box(range(middle - 1, middle + 2), range(r.v0, r.v0 + 2), range(1, 5), "air")
    return middle, r.v0


def draw_stones(site: Site) -> Cell:
    """A ring of standing stones around an altar."""
    f, r = site.frame, site.body
    for n, (u, v) in enumerate(
        ((2, 0), (6, 0), (8, 2), (8, 6), (6, 8), (2, 8), (0, 6), (0, 2)),
    ):
        f.box(one(r.u0 + u), one(r.v0 + v), range(1, 4 + (n * 5 + f.x) % 3), ("stone", "granite")[n % 2])
    f.box(range(r.u0 + 3, r.u0 + 6), range(r.v0 + 3, r.v0 + 6), one(1), "cobblestone_slab")
    f.put(r.u0 + 4, r.v0 + 4, 1, "mossy_cobblestone")
    return r.u0 + 4, r.v0


def draw_camp(site: Site) -> Cell:
    """Two small tents by a fire."""
    f, p, r = site.frame, site.palette, site.body
    for left, cloth in ((r.u0, p.cloth), (r.u1 - 3, "white_plaster")):
        for v in range(r.v1 - 4, r.v1 + 1):
            for step in range(2):
                f.put(left + step, v, step + 1, cloth)
                f.put(left + 3 - step, v, step + 1, cloth)
            f.box(range(left + 1, left + 3), one(v), one(3), p.roof_slab)
    middle = r.middle[0]
    f.box(range(middle - 1, middle + 2), range(r.v0 + 1, r.v0 + 4), one(0), "gravel")
    f.put(middle, r.v0 + 2, 1, "barrel" if site.biome.ruined else "torch")
    for u in (middle - 2, middle + 2):
        f.put(u, r.v0 + 2, 1, p.beam)
    return middle, r.v0


def draw_pavilion(site: Site) -> Cell:
    """A raised floor under a roof on posts, with benches."""
    f, p, r = site.frame, site.palette, site.body
    f.box(r.u, r.v, one(0), p.floor)
    for u, v in r.corners:
        post(f, u, v, range(1, 5), p.beam)
    for u in range(r.u0 + 1, r.u1):
        f.put(u, r.v1, 1, p.fence)
    awning(f, range(r.u0 + 1, r.u1), r.v0, 4, p.cloth)
    hip_roof(f, r, 5, p, snowy=site.biome.snowy)
    f.box(r.u, one(r.v0), one(5), p.roof_cube)
    for v in range(r.v0 + 1, r.v1):
        f.put(r.u0, v, 1, p.roof_stairs, "left")
        f.put(r.u1, v, 1, p.roof_stairs, "right")
    return r.middle[0], r.v0


GROUNDS: dict[str, Design] = {
    "farm": Design((9, 11), (7, 11), draw_farm),
    "pen": Design((9, 11), (8, 9), draw_pen),
    "well": Design((4, 4), (4, 4), draw_well),
    "pavilion": Design((7, 7), (6, 6), draw_pavilion),
    "ruin": Design((9, 11), (8, 10), draw_ruin),
    "stones": Design((9, 9), (9, 9), draw_stones),
    "camp": Design((10, 12), (9, 9), draw_camp),
}
