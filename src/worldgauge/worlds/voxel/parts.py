"""Parts of houses: walls, doors, windows, roofs, chimneys.

Each draws into the Frame `f` with blocks of the Palette `p`; `r` is the rectangle it covers and `w` a level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from worldgauge.worlds.voxel.styles import Biome, Palette
from worldgauge.worlds.voxel.terrain import PlotFrame


class Rect(NamedTuple):
    """A rectangle of a plot, both corners inside it."""

    u0: int
    v0: int
    u1: int
    v1: int

    @property
    def u(self) -> range:
        """All its columns."""
        return range(self.u0, self.u1 + 1)

    @property
    def v(self) -> range:
        """All its rows."""
        return range(self.v0, self.v1 + 1)

    @property
    def middle(self) -> tuple[int, int]:
        """Its middle cell."""
        return (self.u0 + self.u1) // 2, (self.v0 + self.v1) // 2

    def grown(self, by: int) -> Rect:
        """Wider by `by` on all sides; negative for narrower."""
        return Rect(self.u0 - by, self.v0 - by, self.u1 + by, self.v1 + by)

    @property
    def border(self) -> list[tuple[int, int]]:
        """Its outermost cells."""
        return [(u, v) for u in self.u for v in self.v if u in (self.u0, self.u1) or v in (self.v0, self.v1)]

    @property
    def corners(self) -> list[tuple[int, int]]:
        """Its four corner cells."""
        return [(u, v) for u in (self.u0, self.u1) for v in (self.v0, self.v1)]


def one(n: int) -> range:
    """The range of one number."""
    return range(n, n + 1)


def walls(f: PlotFrame, r: Rect, levels: range, name: str, beam: str | None = None) -> None:
    """Draw a hollow box without floor or ceiling. `beam`: block of the corner posts; None for no posts."""
    f.box(r.u, r.v, levels, name)
    inner = r.grown(-1)
    f.box(inner.u, inner.v, levels, "air")
    for u, v in r.corners if beam else ():
        f.box(one(u), one(v), levels, beam or name)


def base(f: PlotFrame, r: Rect, p: Palette) -> None:
    """Draw a floor at ground level inside a plinth."""
    f.box(r.u, r.v, one(0), p.plinth)
    inner = r.grown(-1)
    f.box(inner.u, inner.v, one(0), p.floor)


def band(f: PlotFrame, r: Rect, w: int, name: str) -> None:
    """Draw a ring of the block `name` at one level."""
    for u, v in r.border:
        f.put(u, v, w, name)


def door(f: PlotFrame, u: int, v: int, p: Palette, *, height: int = 2, width: int = 1) -> None:
    """Draw a doorway in a beam frame with a lintel."""
    f.box(range(u - 1, u + width + 1), one(v), range(1, height + 2), p.beam)
    f.box(range(u, u + width), one(v), range(1, height + 1), "air")
    f.box(range(u, u + width), one(v), one(0), p.plinth)


def windows(
    f: PlotFrame, r: Rect, levels: range, p: Palette, every: int = 3, wide: int = 1, sides: str = "lrbf"
) -> None:
    """Draw windows at regular steps along plain parts of the walls `sides`: l(eft), r(ight), b(ack), f(ront)."""
    along_u, along_v = _spread(r.u0, r.u1, every, wide), _spread(r.v0, r.v1, every, wide)
    spots = {
        "f": [[(u, r.v0) for u in span] for span in along_u],
        "b": [[(u, r.v1) for u in span] for span in along_u],
        "l": [[(r.u0, v) for v in span] for span in along_v],
        "r": [[(r.u1, v) for v in span] for span in along_v],
    }
    plain = {p.wall, p.upper, p.plinth}
    for span in (span for side in sides for span in spots[side]):
        if all(f.get(u, v, w) in plain for u, v in span for w in levels):
            for u, v in span:
                f.box(one(u), one(v), levels, p.window)


def timbering(f: PlotFrame, r: Rect, levels: range, p: Palette, every: int = 3) -> None:
    """Draw upright beams in the walls and one along their top."""
    band(f, r, levels[-1], p.beam)
    for u in range(r.u0 + every, r.u1 - 1, every):
        for v in (r.v0, r.v1):
            post(f, u, v, levels, p.beam)
    for v in range(r.v0 + every, r.v1 - 1, every):
        for u in (r.u0, r.u1):
            post(f, u, v, levels, p.beam)


def chimney(f: PlotFrame, u: int, v: int, top: int, name: str = "bricks") -> None:
    """Draw a chimney from the ground to level `top`, of the block `name`."""
    f.box(one(u), one(v), range(0, top + 1), name)
    f.put(u, v, top + 1, "cobblestone_wall")


def gable_roof(f: PlotFrame, r: Rect, w: int, p: Palette, *, along: str = "u", snowy: bool = False) -> int:
    """Draw a gable roof of stairs with an overhang of one cell on all sides."""
    ridge = w
    start, stop = (r.v0 - 1, r.v1 + 1) if along == "u" else (r.u0 - 1, r.u1 + 1)
    ends = (r.u0, r.u1) if along == "u" else (r.v0, r.v1)
    run = range(ends[0] - 1, ends[1] + 2)
    low_side, high_side = ("back", "front") if along == "u" else ("right", "left")
    for step in range((stop - start) // 2 + 1):
        near, far = start + step, stop - step
        ridge = w + step
        for end in ends:
            _strip(f, along, one(end), range(near + 1, far), ridge, p.upper)
        if near == far:
            _strip(f, along, run, one(near), ridge, p.roof_cube if snowy else p.roof_slab)
        else:
            course = p.roof_cube if snowy else p.roof_stairs
            _strip(f, along, run, one(near), ridge, course, low_side)
            _strip(f, along, run, one(far), ridge, course, high_side)
        for row in {near, far} if snowy else ():
            _strip(f, along, run, one(row), ridge + 1, "snow_layer")
    return ridge


def hip_roof(f: PlotFrame, r: Rect, w: int, p: Palette, *, snowy: bool = False) -> int:
    """Draw a roof of four slopes."""
    ring, top = r.grown(1), w
    while ring.u0 <= ring.u1 and ring.v0 <= ring.v1:
        if ring.u0 == ring.u1 or ring.v0 == ring.v1:
            f.box(ring.u, ring.v, one(top), p.roof_cube if snowy else p.roof_slab)
        else:
            course = p.roof_cube if snowy else p.roof_stairs
            f.box(ring.u, one(ring.v0), one(top), course, "back")
            f.box(ring.u, one(ring.v1), one(top), course, "front")
            f.box(one(ring.u0), range(ring.v0 + 1, ring.v1), one(top), course, "right")
            f.box(one(ring.u1), range(ring.v0 + 1, ring.v1), one(top), course, "left")
            for u, v in ring.corners:
                f.put(u, v, top, p.roof_cube)
        if snowy:
            band(f, ring, top + 1, "snow_layer")
        ring, top = ring.grown(-1), top + 1
    return top - 1


def flat_roof(f: PlotFrame, r: Rect, w: int, p: Palette) -> int:
    """Draw a terrace at level `w` behind a parapet with raised corners; return the parapet's level."""
    f.box(r.u, r.v, one(w), p.roof_cube)
    band(f, r, w + 1, p.roof_slab)
    for u, v in r.corners:
        f.put(u, v, w + 1, p.beam)
        f.put(u, v, w + 2, p.roof_slab)
    return w + 1


def dome_roof(f: PlotFrame, r: Rect, w: int, name: str, cap: str) -> int:
    """Draw a dome on a flat ceiling."""
    f.box(r.u, r.v, one(w), cap)
    half = min(len(r.u), len(r.v)) / 2 - 0.4
    mid_u, mid_v = (r.u0 + r.u1) / 2, (r.v0 + r.v1) / 2
    top = w
    for rise in range(1, int(half) + 2):
        for u in r.u:
            for v in r.v:
                d2 = (u - mid_u) * (u - mid_u) + (v - mid_v) * (v - mid_v) + (rise - 0.5) * (rise - 0.5)
                if d2 <= half * half:
                    f.put(u, v, w + rise, name)
                    top = w + rise
    return top


def post(f: PlotFrame, u: int, v: int, levels: range, name: str) -> None:
    """Draw a pillar at (u, v) over the given levels."""
    f.box(one(u), one(v), levels, name)


def awning(f: PlotFrame, u: range, v: int, w: int, cloth: str, other: str = "white_plaster") -> None:
    """Draw a striped awning."""
    for n, column in enumerate(u):
        f.put(column, v, w, cloth if n % 2 == 0 else other)


def _strip(f: PlotFrame, along: str, run: range, rows: range, w: int, name: str, side: str | None = None) -> None:
    """A box given along the ridge and across it."""
    if along == "u":
        f.box(run, rows, one(w), name, side)
    else:
        f.box(rows, run, one(w), name, side)


def _spread(first: int, last: int, every: int, wide: int) -> list[range]:
    """Spans of `wide` cells between two corners, `every` apart and centred."""
    inner = last - first - 1
    count = max((inner - wide) // every + 1, 1)
    start = first + 1 + (inner - (count - 1) * every - wide) // 2
    return [range(start + n * every, start + n * every + wide) for n in range(count)]


# A plot to build on, and what most buildings share: rooms, roofs, porches, furniture.

Cell = tuple[int, int]
YARD = 2
"""Free rows of a plot before the front wall; on the other sides one cell is free for the eaves."""


class BuildingSite(NamedTuple):
    """All that a design needs to draw itself."""

    frame: PlotFrame
    palette: Palette
    biome: Biome
    rng: np.random.Generator

    @property
    def body(self) -> Rect:
        """The rectangle of the outer walls."""
        return Rect(1, YARD, self.frame.width - 2, self.frame.depth - 2)


class Design(NamedTuple):
    """A kind of building: how wide and deep its walls can be (least, most), and how it is drawn."""

    width: tuple[int, int]
    depth: tuple[int, int]
    draw: Callable[[BuildingSite], Cell]  # returns the plot cell of the door

    def plot(self, rng: np.random.Generator) -> tuple[int, int]:
        """Width and depth in cells of a plot for one building of this kind."""
        width, depth = (int(rng.integers(low, high + 1)) for low, high in (self.width, self.depth))
        return width + 2, depth + YARD + 1


def room(site: BuildingSite, r: Rect, top: int) -> None:
    """Draw floor and walls, the lowest course of plinth."""
    f, p = site.frame, site.palette
    base(f, r, p)
    walls(f, r, range(1, top + 1), p.wall, p.beam)
    for u, v in r.border:
        if (u, v) not in r.corners:
            f.put(u, v, 1, p.plinth)
    if "plaster" in p.wall and site.biome.roofs[0] != "flat":
        timbering(f, r, range(2, top + 1), p, every=4)


def roof(site: BuildingSite, r: Rect, top: int, along: str | None = None) -> int:
    """Draw a roof in the style of the biome. `along`: "u" or "v", the direction of the ridge; None draws it."""
    f, p, biome, rng = site
    style = biome.roofs[int(rng.integers(len(biome.roofs)))]
    ridge = along or ("u", "v")[int(rng.integers(2))]
    if style == "gable" or (along and style == "hip"):
        return gable_roof(f, r, top, p, along=ridge, snowy=biome.snowy)
    if style == "hip":
        return hip_roof(f, r, top, p, snowy=biome.snowy)
    flat = flat_roof(f, r, top, p)
    if style == "dome":
        side = min(len(r.u), len(r.v)) - 2
        return dome_roof(f, Rect(r.u0 + 1, r.v0 + 1, r.u0 + side, r.v0 + side), top, p.cloth, p.roof_cube)
    if top > 3 and rng.integers(2):
        f.box(range(r.u0 + 1, r.u1), one(r.v0 - 1), one(top - 1), p.roof_slab)
        awning(f, range(r.u0 + 1, r.u1), r.v0 - 1, top, p.cloth)
    return flat


def porch(site: BuildingSite, u: range, w: int) -> None:
    """Draw a slab roof on posts before the door: `u` its cells along the front, `w` its level."""
    f, p = site.frame, site.palette
    v = site.body.v0 - 1
    f.box(u, one(v), one(w), p.roof_slab)
    for end in (u[0], u[-1]):
        post(f, end, v, range(1, w), p.fence)
    f.box(u, one(v), one(0), p.plinth)


def furnish(site: BuildingSite, r: Rect) -> None:
    """Put a few things into room `r` that can be seen through door and windows."""
    f = site.frame
    inner = r.grown(-1)
    f.put(inner.u0, inner.v1, 1, "barrel")
    f.box(one(inner.u1), one(inner.v1), range(1, 3), "bookshelf")
    f.put(*r.middle, 1, "white_carpet")
    if not site.biome.ruined:
        f.put(inner.u1, inner.v0, 1, "torch")
