"""What the families are built of beyond the settlements' blocks: name, category, shapes and tile of each material.

The order is that of the block table, which only ever grows at its end: worlds are stored as indices into it.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from worldgauge.worlds.voxel import tile_brushes as brush
from worldgauge.worlds.voxel.tile_brushes import COLUMN, ROW, SIZE, Colour, Tile

# Tiles of the families' materials: patterns that the settlements do not use.
#
# `colour` is the base colour, RGB 0 to 255, and `seed` that of the noise. Each returns a tile (16, 16, 4) uint8.

Mask = NDArray[np.bool_]
Faces = tuple[Tile, Tile, Tile]
"""Top, side, bottom."""


def enamel(colour: Colour, seed: int) -> Tile:
    """Draw smooth paint, a little darker along the edges."""
    return brush.panel(colour, seed, 0.94)


def ground(top: Tile, seed: int, colour: Colour) -> Faces:
    """Return faces of ground whose sides look like its top, so that steps of a quarter metre read as one slope."""
    return top, brush.speckle(colour, seed, 0.14, 0.5), top


def painted(tile: Tile, mask: Mask, colour: Colour, seed: int = 3, contrast: float = 0.05) -> Tile:
    """Paint the texels of a mask (16, 16)."""
    out = tile.copy()
    out[mask] = brush.tint(colour, brush.grain(seed), contrast)[mask]
    return out


def dashed(tile: Tile, *, along_x: bool) -> Tile:
    """Paint a dash of lane marking on a tile."""
    across, along = (ROW, COLUMN) if along_x else (COLUMN, ROW)
    return painted(tile, (across >= 6) & (across < 9) & (along >= 2) & (along < 14), (236, 236, 228))


def bars(tile: Tile, *, along_x: bool, colour: Colour) -> Tile:
    """Paint two stripes of a crossing on a tile."""
    across = ROW if along_x else COLUMN
    return painted(tile, across % 8 < 4, colour)


def rails(bed: Tile, *, along_x: bool) -> Tile:
    """Paint sleepers and two rails on a bed of gravel."""
    across, along = (ROW, COLUMN) if along_x else (COLUMN, ROW)
    tile = painted(bed, (along % 8 < 3) & (across > 0) & (across < 15), (86, 66, 52), 4, 0.12)
    return painted(tile, (across == 3) | (across == 12), (176, 180, 188))


def slabs(colour: Colour, seed: int, side: int, joint: float = 0.8) -> Tile:
    """Draw square slabs of `side` texels, each of its own tone."""
    tone = brush.grain(seed).ravel()[(ROW // side * SIZE + COLUMN // side) * 3 % 256]
    tile = brush.tint(colour, 0.55 * tone + 0.45 * brush.grain(seed + 1), 0.07)
    tile[(ROW % side == side - 1) | (COLUMN % side == side - 1), :3] = brush.shade(colour, joint)
    return tile


def mosaic(colours: tuple[Colour, Colour, Colour], seed: int) -> Tile:
    """Draw small stones in a diamond pattern of three colours."""
    d = (np.abs(ROW % 8 - 3.5) + np.abs(COLUMN % 8 - 3.5)).astype(int)
    tile = brush.tint(colours[0], brush.grain(seed), 0.08)
    tile = painted(painted(tile, d < 4, colours[1], seed + 1, 0.08), d < 2, colours[2], seed + 2, 0.08)
    tile[(ROW % 4 == 3) | (COLUMN % 4 == 3), :3] = brush.shade(tile[(ROW % 4 == 3) | (COLUMN % 4 == 3), :3], 0.88)
    return tile


def parquet(colour: Colour, seed: int) -> Tile:
    """Draw parquet: blocks of four short boards, alternately along and across."""
    flip = (ROW // 8 + COLUMN // 8) % 2 == 0
    board = np.where(flip, ROW % 8 // 2, COLUMN % 8 // 2)
    number = (ROW // 8 * 2 + COLUMN // 8) * 4 + board
    tile = brush.tint(colour, 0.7 * brush.grain(seed).ravel()[number * 5] + 0.3 * brush.grain(seed + 1), 0.13)
    tile[np.where(flip, ROW % 2 == 1, COLUMN % 2 == 1) & ((ROW + COLUMN) % 2 == 0), :3] = brush.shade(colour, 0.78)
    return tile


def rug(colour: Colour, thread: Colour, seed: int) -> Tile:
    """Draw carpet with small crosses in the colour `thread`."""
    tile = brush.weave(colour, seed)
    u, v = ROW % 8 - 4, COLUMN % 8 - 4
    return painted(tile, (np.abs(u) + np.abs(v) <= 1), thread, seed, 0.06)


def striped(colours: tuple[Colour, Colour], seed: int) -> Tile:
    """Draw slanting stripes of two colours."""
    tile = brush.tint(colours[0], brush.grain(seed), 0.05)
    return painted(tile, (ROW + COLUMN) // 4 % 2 == 1, colours[1], seed + 1)


def dotted(colour: Colour, dot: Colour, seed: int) -> Tile:
    """Draw round dots in two sizes, in the colour `dot`."""
    big = (ROW - 5) * (ROW - 5) + (COLUMN - 5) * (COLUMN - 5) < 11
    small = (ROW - 12) * (ROW - 12) + (COLUMN - 12) * (COLUMN - 12) < 5
    return painted(brush.tint(colour, brush.grain(seed), 0.05), big | small, dot, seed)


def puffs(colour: Colour, seed: int) -> Tile:
    """Draw soft toy leaves: clumps of light without dark gaps."""
    return brush.tint(colour, 0.75 * brush.clouds(seed, 4) + 0.25 * brush.grain(seed + 1), 0.16)


def plate(colour: Colour, seed: int, *, bolts: bool = False, seam: float = 0.72, cross: bool = False) -> Tile:
    """Draw sheet metal with a seam around it."""
    tile = brush.tint(colour, 0.6 * brush.streaks(seed) + 0.4 * brush.grain(seed + 1), 0.045)
    edge = (ROW == 15) | (COLUMN == 15) | (cross & ((ROW == 7) | (COLUMN == 7)))
    tile[edge, :3] = brush.shade(colour, seam)
    tile[((ROW == 0) | (COLUMN == 0)) & ~edge, :3] = np.clip(brush.shade(colour, 1.1), 0, 255)
    if bolts:
        tile[np.isin(ROW, (2, 12)) & np.isin(COLUMN, (2, 12)), :3] = brush.shade(colour, 0.62)
    return tile


def corrugated(colour: Colour, seed: int) -> Tile:
    """Draw ribbed sheet metal: upright waves between two rails."""
    wave = np.array([0.2, 0.9, 0.9, 0.4])[COLUMN % 4]
    tile = brush.tint(colour, 0.8 * wave + 0.2 * brush.grain(seed), 0.2)
    tile[np.isin(ROW, (0, 15)), :3] = brush.shade(colour, 0.7)
    return tile


def glowing(colour: Colour, seed: int) -> Tile:
    """Draw a lamp: nearly white in the middle, saturated at its edges."""
    d = np.maximum(np.abs(ROW - 7.5), np.abs(COLUMN - 7.5)) / 7.5
    share = (0.62 * (1 - d * d))[..., None]
    tile = brush.tint(colour, brush.grain(seed), 0.03)
    tile[..., :3] = np.rint(tile[..., :3] * (1 - share) + 255 * share).astype(np.uint8)
    return tile


def tube(field: Tile, colour: Colour) -> Tile:
    """Paint a bright frame of `colour` on the dark plate `field`: strips of light between floor plates."""
    rim = (ROW < 2) | (COLUMN < 2) | (ROW > 13) | (COLUMN > 13)
    return painted(field, rim, colour, 5, 0.05)


def pane(sky: Colour, seed: int, *, frame: Colour, bars: tuple[int, ...] = (), level: tuple[int, ...] = ()) -> Tile:
    """Draw a window that reflects `sky`: brighter above, a slanting gleam, a frame and glazing bars."""
    field = 0.75 - 0.6 * ROW / 15 + 0.5 * (((ROW + COLUMN) % 16 < 5) & (ROW > 1)) - 0.1 * brush.grain(seed)
    tile = brush.tint(sky, field, 0.2)
    edge = (ROW == 0) | (ROW == 15) | (COLUMN == 0) | (COLUMN == 15) | np.isin(COLUMN, bars) | np.isin(ROW, level)
    return painted(tile, edge, frame, seed, 0.04)


def damask(colour: Colour, seed: int) -> Tile:
    """Draw wallpaper: lozenges a shade brighter than their ground."""
    u, v = np.abs(ROW % 8 - 3.5), np.abs((COLUMN + 4 * (ROW // 8 % 2)) % 8 - 3.5)
    tile = brush.tint(colour, brush.grain(seed), 0.04)
    mask = (u + v > 2) & (u + v < 4)
    tile[mask, :3] = brush.shade(tile[mask, :3], 1.14)
    return tile


def coffer(colour: Colour, seed: int) -> Tile:
    """Draw a sunk square of a ceiling: light rim, shaded field."""
    d = np.minimum(np.minimum(ROW, 15 - ROW), np.minimum(COLUMN, 15 - COLUMN))
    return brush.tint(colour, np.array([0.95, 0.8, 0.1, 0.5, 0.5, 0.5, 0.5, 0.5])[d] + 0.1 * brush.grain(seed), 0.09)


def fluted(colour: Colour, seed: int) -> Tile:
    """Draw the shaft of a column: upright grooves."""
    wave = np.array([0.15, 0.55, 0.95, 0.7])[COLUMN % 4]
    return brush.tint(colour, 0.85 * wave + 0.15 * brush.grain(seed), 0.12)


def frieze(colour: Colour, line: Colour, seed: int) -> Tile:
    """Draw a band of meanders in the colour `line` between two mouldings."""
    key = np.array([list(row) for row in ("11111110", "10000010", "10111010", "10101010", "10100010", "10111111")])
    tile = brush.tint(colour, brush.grain(seed), 0.05)
    mask = np.zeros((SIZE, SIZE), np.bool_)
    mask[5:11] = np.tile(key, (1, 2)) == "1"
    mask[[1, 14]] = True
    return painted(tile, mask, line, seed, 0.06)


def rail(colour: Colour, seed: int) -> Tile:
    """Draw a railing: hand rail, knee rail and posts; the rest is clear."""
    tile = brush.timber(colour, seed)
    solid = (ROW < 2) | (ROW == 8) | (ROW == 9) | (COLUMN % 8 == 3) | (COLUMN % 8 == 4)
    tile[..., 3] = 255 * solid
    return tile


@cache
def canvases() -> dict[str, Tile]:
    """Pictures in gilt frames: four small ones, and two of 2 x 2 tiles named by corner (`_ul`, `_ur`, `_ll`, `_lr`)."""
    found = {f"picture_{n}": _framed(_scene(n, SIZE), SIZE) for n in range(1, 5)}
    for n, name in ((5, "harbour"), (6, "mountain")):
        whole = _framed(_scene(n, 2 * SIZE), 2 * SIZE)
        for row, column, corner in ((0, 0, "ul"), (0, 1, "ur"), (1, 0, "ll"), (1, 1, "lr")):
            found[f"{name}_{corner}"] = whole[row * SIZE : (row + 1) * SIZE, column * SIZE : (column + 1) * SIZE].copy()
    return found


def _framed(picture: Tile, side: int) -> Tile:
    row, column = np.mgrid[0:side, 0:side]
    d = np.minimum(np.minimum(row, side - 1 - row), np.minimum(column, side - 1 - column))
    out = picture.copy()
    out[d < 2, :3] = (188, 146, 62)
    out[d == 0, :3] = (132, 96, 38)
    return out


def _scene(number: int, side: int) -> Tile:
    """A simple picture: land and sky, a portrait, a still life, an abstract, a harbour, a mountain."""
    row, column = (a / side for a in np.mgrid[0:side, 0:side])
    tile = np.full((side, side, 4), 255, np.uint8)

    def paint(mask: Mask, colour: Colour) -> None:
        tile[mask, :3] = colour

    def disc(v: float, u: float, r: float) -> Mask:
        return np.asarray((row - v) * (row - v) + (column - u) * (column - u) < r * r)

    everywhere = np.ones((side, side), np.bool_)
    if number == 1:
        paint(everywhere, (232, 168, 110))
        paint(disc(0.42, 0.62, 0.15), (250, 232, 150))
        paint(row > 0.56 + 0.12 * np.abs(column - 0.4), (70, 96, 88))
        paint(row > 0.74, (52, 64, 50))
    elif number == 2:
        paint(everywhere, (54, 42, 40))
        paint(disc(0.86, 0.5, 0.34), (120, 32, 44))
        paint(disc(0.4, 0.5, 0.2), (226, 182, 148))
        paint(disc(0.26, 0.5, 0.2) & (row < 0.34), (84, 52, 30))
    elif number == 3:
        paint(everywhere, (176, 190, 168))
        paint(row > 0.66, (112, 76, 50))
        paint(disc(0.6, 0.36, 0.15), (206, 66, 40))
        paint(disc(0.62, 0.6, 0.13), (222, 176, 50))
        paint((np.abs(column - 0.76) < 0.06) & (row > 0.28) & (row < 0.72), (50, 92, 72))
    elif number == 4:
        paint(everywhere, (236, 228, 210))
        paint((row < 0.5) & (column < 0.44), (190, 48, 44))
        paint((row > 0.62) & (column > 0.56), (44, 74, 156))
        paint((row > 0.7) & (column < 0.3), (236, 196, 58))
        paint((np.abs(row - 0.56) < 0.04) | (np.abs(column - 0.5) < 0.04), (30, 30, 34))
    elif number == 5:
        paint(everywhere, (170, 206, 224))
        paint(row > 0.56, (44, 104, 138))
        paint((np.abs(column - 0.45) < 0.02) & (row > 0.16) & (row < 0.62), (84, 58, 38))
        paint((column > 0.47) & (row > 0.2) & (row < 0.56) & (column - 0.47 < (row - 0.2) * 0.8), (244, 240, 226))
        paint((row > 0.6) & (row < 0.72) & (np.abs(column - 0.5) < 0.3 - (row - 0.6)), (150, 52, 40))
        paint((row > 0.8) & ((row * 20 + column * 6).astype(int) % 2 == 0), (90, 150, 178))
    else:
        paint(everywhere, (250, 214, 170))
        paint(row > 0.2 + 1.1 * np.abs(column - 0.42), (96, 92, 128))
        paint((row > 0.2 + 1.1 * np.abs(column - 0.42)) & (row < 0.36), (244, 246, 250))
        paint(row > 0.5 + 0.5 * np.abs(column - 0.8), (64, 70, 106))
        paint(row > 0.78, (60, 104, 72))
    return tile


def canvas(name: str) -> Tile:
    """A picture, or a corner of one, by the name of its block."""
    return canvases()[name]


def asphalt() -> Tile:
    """Draw a road without markings."""
    return brush.speckle((78, 80, 86), 300, 0.1, 0.3)


def ballast() -> Tile:
    """Draw the gravel that rails lie on."""
    return brush.stones((120, 112, 106), 301, 18, 0.18, 0.7)


def plating() -> Tile:
    """Draw a floor of metal plates."""
    return plate((98, 106, 122), 302, cross=True)


def shelf(seed: int, *, warm: bool) -> tuple[Tile, Tile, Tile]:
    """Two shelves of spines between boards."""
    board = brush.planks((104, 66, 42), seed)
    first = ((152, 52, 44), (178, 110, 50), (96, 40, 52)) if warm else ((52, 78, 128), (58, 106, 108), (92, 92, 132))
    spine = brush.grain(seed).ravel()[COLUMN // 2 + 8 * (ROW // 8)]
    low = brush.grain(seed + 1).ravel()[COLUMN // 2 + 8 * (ROW // 8)] > 0.6
    tile = brush.tint(first[0], brush.grain(seed + 2), 0.1)
    tile = painted(tile, (spine > 0.4) & (spine < 0.75), first[1], seed, 0.1)
    tile = painted(tile, spine >= 0.75, first[2], seed, 0.1)
    tile = painted(tile, (COLUMN % 2 == 1) & (brush.grain(seed + 3) < 0.5), (40, 30, 28), seed, 0.1)
    tile = painted(tile, (ROW % 8 == 1) | (low & (ROW % 8 == 2)), (38, 28, 22), seed, 0.1)
    return board, painted(tile, ROW % 8 == 0, (124, 82, 52), seed, 0.1), board


_BRUSHES = brush.BRUSHES | {
    draw.__name__: draw
    for draw in (
        *(enamel, ground, dashed, bars, rails, slabs, mosaic, parquet, rug, striped, dotted, puffs, plate, corrugated),
        *(glowing, tube, pane, damask, coffer, fluted, frieze, rail, canvas, asphalt, ballast, plating, shelf),
    )
}


class Matter(NamedTuple):
    """A material: its cube's `name`, `category`, `shapes` (names in blocks.SHAPES), and its faces' drawing (`tile`)."""

    name: str
    tile: list[Any]
    category: str = "building"
    shapes: tuple[str, ...] = ("cube",)
    ground: bool = False  # counts as natural ground

    def kinds(self) -> list[tuple[str, str]]:
        """(name, shape) of each of its blocks."""
        plain = self.shapes[0] if len(self.shapes) == 1 else "cube"
        return [(self.name if shape == plain else f"{self.name}_{shape}", shape) for shape in self.shapes]

    def look(self) -> Tile | Faces:
        """Draw its faces: one tile, or top, side and bottom."""
        return cast("Tile | Faces", brush.draw_tile(self.tile, _BRUSHES))


def _materials() -> tuple[Matter, ...]:
    rows = json.loads((files(__package__) / "materials.json").read_text("utf-8"))
    return tuple(Matter(**{**row, "shapes": tuple(row.get("shapes", ("cube",)))}) for row in rows)


MATTER = _materials()
"""Materials in the order of the block table, which only ever grows at its end."""
