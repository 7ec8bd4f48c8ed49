"""A plot to build on, and what most buildings share: rooms, roofs, porches, furniture."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from worldgauge.worlds.voxel.settlements.canvas import Frame
from worldgauge.worlds.voxel.settlements.parts import (
    Rect,
    awning,
    base,
    dome_roof,
    flat_roof,
    gable_roof,
    hip_roof,
    one,
    post,
    timbering,
    walls,
)
from worldgauge.worlds.voxel.settlements.styles import Biome, Palette

Cell = tuple[int, int]
YARD = 2
"""Free rows of a plot before the front wall; on the other sides one cell is free for the eaves."""


class Site(NamedTuple):
    """All that a design needs to draw itself."""

    frame: Frame
    palette: Palette
    biome: Biome
    rng: np.random.Generator

    @property
    def body(self) -> Rect:
        """The rectangle of the outer walls."""
        return Rect(1, YARD, self.frame.width - 2, self.frame.depth - 2)


class Design(NamedTuple):
    """A kind of building: how wide and deep its walls can be (least, most), and how it is drawn.

    draw returns the plot cell of the door.
    """

    width: tuple[int, int]
    depth: tuple[int, int]
    draw: Callable[[Site], Cell]

    def plot(self, rng: np.random.Generator) -> tuple[int, int]:
        """Width and depth in cells of a plot for one building of this kind."""
        width, depth = (int(rng.integers(low, high + 1)) for low, high in (self.width, self.depth))
        return width + 2, depth + YARD + 1


def room(site: Site, r: Rect, top: int) -> None:
    """Draw floor and walls, the lowest course of plinth.

    Args:
        site: The plot.
        r: Outline.
        top: Highest level of the walls.
    """
    f, p = site.frame, site.palette
    base(f, r, p)
    walls(f, r, range(1, top + 1), p.wall, p.beam)
    for u, v in r.border:
        if (u, v) not in r.corners:
            f.put(u, v, 1, p.plinth)
    if "plaster" in p.wall and site.biome.roofs[0] != "flat":
        timbering(f, r, range(2, top + 1), p, every=4)


def roof(site: Site, r: Rect, top: int, along: str | None = None) -> int:
    """Draw a roof in the style of the biome.

    Args:
        site: The plot.
        r: Outline of the walls.
        top: Level where the walls end.
        along: "u" or "v", the direction of the ridge; None draws it.

    Returns:
        Its highest level.
    """
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


def porch(site: Site, u: range, w: int) -> None:
    """Draw a slab roof on posts before the door: `u` its cells along the front, `w` its level."""
    f, p = site.frame, site.palette
    v = site.body.v0 - 1
    f.box(u, one(v), one(w), p.roof_slab)
    for end in (u[0], u[-1]):
        post(f, end, v, range(1, w), p.fence)
    f.box(u, one(v), one(0), p.plinth)


def furnish(site: Site, r: Rect) -> None:
    """Put a few things into room `r` that can be seen through door and windows."""
    f = site.frame
    inner = r.grown(-1)
    f.put(inner.u0, inner.v1, 1, "barrel")
    f.box(one(inner.u1), one(inner.v1), range(1, 3), "bookshelf")
    f.put(*r.middle, 1, "white_carpet")
    if not site.biome.ruined:
        f.put(inner.u1, inner.v0, 1, "torch")
