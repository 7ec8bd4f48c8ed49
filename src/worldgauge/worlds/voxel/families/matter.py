"""What the families are built of beyond the settlements' blocks: name, category, shapes and tile of each material.

The order is that of the block table, which only ever grows at its end: worlds are stored as indices into it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

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
    """Paint over a part of a tile.

    Args:
        mask: Texels (16, 16) to paint.
        colour: RGB, 0 to 255.
    """
    out = tile.copy()
    out[mask] = brush.tint(colour, brush.grain(seed), contrast)[mask]
    return out


def dashed(tile: Tile, *, along_x: bool, colour: Colour = (236, 236, 228)) -> Tile:
    """Paint a dash of lane marking on a tile.

    Args:
        colour: RGB, 0 to 255.
    """
    across, along = (ROW, COLUMN) if along_x else (COLUMN, ROW)
    return painted(tile, (across >= 6) & (across < 9) & (along >= 2) & (along < 14), colour)


def bars(tile: Tile, *, along_x: bool, colour: Colour) -> Tile:
    """Paint two stripes of a crossing on a tile.

    Args:
        colour: RGB, 0 to 255.
    """
    across = ROW if along_x else COLUMN
    return painted(tile, across % 8 < 4, colour)


def rails(bed: Tile, *, along_x: bool) -> Tile:
    """Paint sleepers and two rails on a bed of gravel."""
    across, along = (ROW, COLUMN) if along_x else (COLUMN, ROW)
    tile = painted(bed, (along % 8 < 3) & (across > 0) & (across < 15), (86, 66, 52), 4, 0.12)
    return painted(tile, (across == 3) | (across == 12), (176, 180, 188))


def slabs(colour: Colour, seed: int, side: int, joint: float = 0.8) -> Tile:
    """Draw square slabs, each of its own tone.

    Args:
        colour: RGB, 0 to 255.
        side: Side of a slab in texels.
    """
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


def striped(colours: tuple[Colour, Colour], seed: int, *, lean: int = 1, width: int = 4) -> Tile:
    """Draw stripes.

    Args:
        colours: The two colours, RGB, 0 to 255.
        width: Width of a stripe in texels.
    """
    phase = {1: ROW + COLUMN, 0: COLUMN, -1: ROW}[lean]
    tile = brush.tint(colours[0], brush.grain(seed), 0.05)
    return painted(tile, phase // width % 2 == 1, colours[1], seed + 1)


def dotted(colour: Colour, dot: Colour, seed: int) -> Tile:
    """Draw round dots in two sizes, in the colour `dot`."""
    big = (ROW - 5) * (ROW - 5) + (COLUMN - 5) * (COLUMN - 5) < 11
    small = (ROW - 12) * (ROW - 12) + (COLUMN - 12) * (COLUMN - 12) < 5
    return painted(brush.tint(colour, brush.grain(seed), 0.05), big | small, dot, seed)


def puffs(colour: Colour, seed: int) -> Tile:
    """Draw soft toy leaves: clumps of light without dark gaps."""
    return brush.tint(colour, 0.75 * brush.clouds(seed, 4) + 0.25 * brush.grain(seed + 1), 0.16)


def plate(colour: Colour, seed: int, *, bolts: bool = False, seam: float = 0.72, cross: bool = False) -> Tile:
    """Draw sheet metal with a seam around it.

    Args:
        colour: RGB, 0 to 255.
    """
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
    """Draw a window with a reflection: brighter above, a slanting gleam, a frame and glazing bars.

    Args:
        sky: Colour of the reflection, RGB, 0 to 255.
    """
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


Look = Tile | tuple[Tile, Tile, Tile]

CUBE = ("cube",)
GROUND = ("cube", "quarter", "slab", "three_quarter")
"""Ground that can lie at any quarter of a metre."""
STEPS = ("cube", "slab")

ENAMELS: dict[str, Colour] = {
    "red": (200, 44, 40),
    "orange": (232, 120, 36),
    "yellow": (240, 198, 48),
    "lime": (150, 204, 60),
    "green": (38, 128, 72),
    "teal": (40, 160, 160),
    "sky": (110, 186, 232),
    "blue": (44, 84, 176),
    "violet": (128, 76, 180),
    "pink": (240, 142, 176),
    "white": (240, 240, 236),
    "grey": (150, 154, 158),
    "black": (46, 48, 54),
    "cream": (238, 222, 186),
    "brown": (120, 80, 52),
}
"""Paints; blocks are named `red_enamel` and so on."""

_SLABBED = {"red", "yellow", "blue", "white", "grey", "black"}


class Matter(NamedTuple):
    """A material.

    Attributes:
        name: Name of its cube; other shapes append theirs.
        category: Category of its blocks.
        shapes: Names in blocks.SHAPES.
        look: Draws its faces.
        ground: Counts as natural ground.
    """

    name: str
    category: str
    shapes: tuple[str, ...]
    look: Callable[[], Look]
    ground: bool = False

    def kinds(self) -> list[tuple[str, str]]:
        """(name, shape) of each of its blocks."""
        plain = self.shapes[0] if len(self.shapes) == 1 else "cube"
        return [(self.name if shape == plain else f"{self.name}_{shape}", shape) for shape in self.shapes]


def _earth(name: str, category: str, colour: Colour, seed: int, top: Callable[[], Tile] | None = None) -> Matter:
    paint = top or (lambda: brush.speckle(colour, seed, 0.14, 0.5))
    return Matter(name, category, GROUND, lambda: ground(paint(), seed + 4, colour), ground=True)


def _plain(name: str, look: Callable[[], Look], category: str = "building") -> Matter:
    return Matter(name, category, CUBE, look)


def _floor(name: str, look: Callable[[], Look], shapes: tuple[str, ...] = CUBE, category: str = "building") -> Matter:
    return Matter(name, category, shapes, look, ground=True)


def _enamel(number: int, name: str, colour: Colour) -> Matter:
    shapes = STEPS if name in _SLABBED else CUBE
    return Matter(f"{name}_enamel", "building", shapes, lambda: enamel(colour, 400 + number))


_ASPHALT: Colour = (78, 80, 86)
_WHITE: Colour = (232, 232, 226)


def _asphalt() -> Tile:
    return brush.speckle(_ASPHALT, 300, 0.1, 0.3)


def _ballast() -> Tile:
    return brush.stones((120, 112, 106), 301, 18, 0.18, 0.7)


def _plating() -> Tile:
    return plate((98, 106, 122), 302, cross=True)


def _picture(name: str) -> Matter:
    return _plain(name, lambda: _canvases()[name])


_PICTURES = [f"picture_{n}" for n in range(1, 5)]
_PICTURES += [f"{name}_{corner}" for name in ("harbour", "mountain") for corner in ("ul", "ur", "ll", "lr")]

MATTER: tuple[Matter, ...] = (
    # earth
    _earth("turf", "grass", (98, 150, 58), 310, lambda: brush.blades((106, 158, 62), 310)),
    _earth("trail", "path", (176, 148, 122), 314, lambda: brush.stones((182, 154, 128), 314, 16, 0.09, 0.88)),
    _earth("dune", "sand", (228, 204, 146), 318, lambda: brush.tint((230, 206, 148), brush.streaks(318), 0.045)),
    _earth("regolith", "dirt", (112, 92, 126), 322, lambda: brush.speckle((116, 96, 130), 322, 0.15, 0.7)),
    _earth("mint", "grass", (150, 222, 128), 326, lambda: brush.speckle((152, 224, 130), 326, 0.05)),
    _earth("clover", "grass", (116, 198, 104), 330, lambda: brush.speckle((118, 200, 106), 330, 0.05)),
    # paving
    _floor("asphalt", _asphalt, category="path"),
    _floor("lane_x", lambda: (dashed(_asphalt(), along_x=True), _asphalt(), _asphalt()), category="path"),
    _floor("lane_y", lambda: (dashed(_asphalt(), along_x=False), _asphalt(), _asphalt()), category="path"),
    _floor(
        "crossing_x",
        lambda: (bars(_asphalt(), along_x=True, colour=_WHITE), _asphalt(), _asphalt()),
        category="path",
    ),
    _floor(
        "crossing_y",
        lambda: (bars(_asphalt(), along_x=False, colour=_WHITE), _asphalt(), _asphalt()),
        category="path",
    ),
    _floor("pavement", lambda: slabs((182, 178, 172), 334, 8), ("cube", "quarter"), "path"),
    _floor("apron", lambda: slabs((158, 156, 150), 336, 16, 0.86), category="path"),
    _floor("plating", _plating),
    _floor("lit_plating", lambda: tube(_plating(), (96, 236, 250))),
    _floor("boards", lambda: brush.planks((166, 138, 108), 338), STEPS),
    _floor("flagstone", lambda: slabs((196, 178, 146), 340, 8, 0.78), GROUND),
    _floor("mosaic", lambda: mosaic(((214, 196, 160), (46, 96, 136), (176, 76, 52)), 342)),
    _floor("parquet", lambda: parquet((158, 106, 62), 346)),
    _floor("white_tile", lambda: slabs((224, 220, 212), 348, 16, 0.9)),
    _floor("black_tile", lambda: slabs((62, 62, 70), 350, 16, 0.8)),
    _floor("red_rug", lambda: rug((148, 34, 44), (216, 168, 84), 352)),
    _floor("blue_rug", lambda: rug((40, 58, 118), (190, 178, 140), 353)),
    _floor("green_rug", lambda: rug((38, 92, 70), (206, 186, 120), 354)),
    _floor("pink_check", lambda: enamel((250, 160, 190), 355), category="path"),
    _floor("white_check", lambda: enamel((252, 246, 250), 356), category="path"),
    _floor("rails_x", lambda: (rails(_ballast(), along_x=True), _ballast(), _ballast()), category="path"),
    _floor("rails_y", lambda: (rails(_ballast(), along_x=False), _ballast(), _ballast()), category="path"),
    # paint
    *(_enamel(number, name, colour) for number, (name, colour) in enumerate(ENAMELS.items())),
    # metal
    _plain("hull", lambda: plate((226, 230, 236), 430)),
    _plain("dark_hull", lambda: plate((66, 72, 92), 432, bolts=True)),
    Matter("steel", "building", ("cube", "post"), lambda: plate((148, 156, 166), 434, seam=0.82)),
    Matter("steel_rail", "building", ("pane",), lambda: rail((170, 176, 184), 436)),
    _plain("rust", lambda: brush.speckle((142, 82, 52), 438, 0.22, 0.8)),
    _plain("tank", lambda: plate((214, 214, 204), 440, bolts=True, seam=0.86)),
    _plain("red_sheet", lambda: corrugated((176, 54, 46), 442)),
    _plain("blue_sheet", lambda: corrugated((48, 92, 152), 444)),
    _plain("green_sheet", lambda: corrugated((52, 116, 84), 446)),
    _plain("amber_sheet", lambda: corrugated((214, 138, 46), 448)),
    _plain("pale_sheet", lambda: corrugated((196, 198, 196), 450)),
    _plain("hazard", lambda: striped(((244, 200, 30), (40, 38, 38)), 452)),
    # light
    _plain("cyan_glow", lambda: glowing((30, 220, 250), 460)),
    _plain("pink_glow", lambda: glowing((250, 50, 190), 461)),
    _plain("amber_glow", lambda: glowing((255, 170, 40), 462)),
    _plain("lime_glow", lambda: glowing((120, 250, 70), 463)),
    Matter("white_glow", "building", ("cube", "top_slab"), lambda: glowing((236, 232, 210), 464)),
    # fronts and windows
    _plain("brownstone", lambda: brush.courses((124, 76, 58), (92, 58, 46), 470, 4, 8)),
    _plain("soot_bricks", lambda: brush.courses((112, 66, 58), (66, 52, 50), 472, 4, 8)),
    _plain("concrete", lambda: slabs((172, 172, 168), 474, 16, 0.84)),
    _plain("rose_front", lambda: enamel((212, 152, 138), 476)),
    _plain("sage_front", lambda: enamel((158, 178, 148), 477)),
    _plain("blue_front", lambda: enamel((136, 164, 190), 478)),
    _plain("window", lambda: pane((92, 134, 172), 480, frame=(232, 230, 224), bars=(7, 8), level=(6,))),
    _plain("warm_window", lambda: pane((246, 204, 120), 481, frame=(96, 74, 58), bars=(5, 10), level=(5, 10))),
    _plain("curtain_glass", lambda: pane((70, 130, 160), 482, frame=(50, 66, 84))),
    _plain("works_window", lambda: pane((126, 156, 158), 483, frame=(58, 70, 66), bars=(4, 8, 12), level=(8,))),
    _plain("dome_glass", lambda: pane((70, 196, 206), 484, frame=(222, 240, 244))),
    # antiquity
    Matter("marble", "building", STEPS, lambda: brush.tint((232, 226, 216), brush.clouds(490, 8), 0.06)),
    _plain("marble_shaft", lambda: fluted((228, 220, 206), 492)),
    _plain("frieze", lambda: frieze((224, 206, 170), (168, 70, 48), 494)),
    _plain("bronze", lambda: brush.tint((84, 136, 116), brush.clouds(496, 8), 0.2)),
    _plain("gold", lambda: brush.tint((240, 196, 70), brush.clouds(498, 4), 0.14)),
    # toys
    _plain("candy", lambda: striped(((250, 246, 246), (226, 46, 66)), 500)),
    _plain("blue_candy", lambda: striped(((250, 248, 240), (64, 140, 230)), 502)),
    _plain("toadstool", lambda: dotted((224, 44, 48), (252, 250, 246), 504)),
    Matter("pink_leaves", "tree", CUBE, lambda: puffs((250, 150, 196), 506)),
    Matter("blue_leaves", "tree", CUBE, lambda: puffs((102, 178, 250), 508)),
    Matter("golden_leaves", "tree", CUBE, lambda: puffs((242, 186, 52), 510)),
    Matter("violet_leaves", "tree", CUBE, lambda: puffs((176, 118, 232), 512)),
    Matter("scarlet_leaves", "tree", CUBE, lambda: brush.foliage((200, 78, 40), 514, 0.14)),
    # rooms
    _plain("red_wall", lambda: damask((134, 46, 50), 520)),
    _plain("green_wall", lambda: damask((72, 108, 92), 521)),
    _plain("ochre_wall", lambda: damask((204, 162, 94), 522)),
    _plain("blue_wall", lambda: damask((88, 112, 152), 523)),
    _plain("wainscot", lambda: brush.timber((104, 66, 42), 524)),
    _plain("coffer", lambda: coffer((222, 212, 192), 525)),
    _plain("red_books", lambda: _shelf(526, warm=True)),
    _plain("blue_books", lambda: _shelf(527, warm=False)),
    *(_picture(name) for name in _PICTURES),
    # shores
    _plain("pink_coral", lambda: brush.foliage((248, 116, 128), 530, 0.12)),
    _plain("orange_coral", lambda: brush.foliage((250, 152, 74), 532, 0.12)),
    Matter("pile", "building", ("post",), lambda: brush.bark((120, 98, 78), 534)),
)  # fmt: skip


@cache
def _canvases() -> dict[str, Tile]:
    return canvases()


def _shelf(seed: int, *, warm: bool) -> tuple[Tile, Tile, Tile]:
    """Two shelves of spines between boards."""
    board = brush.planks((104, 66, 42), seed)
    first = ((152, 52, 44), (178, 110, 50), (96, 40, 52)) if warm else ((52, 78, 128), (58, 106, 108), (92, 92, 132))
    spine = brush.grain(seed).ravel()[brush.COLUMN // 2 + 8 * (brush.ROW // 8)]
    low = brush.grain(seed + 1).ravel()[brush.COLUMN // 2 + 8 * (brush.ROW // 8)] > 0.6
    tile = brush.tint(first[0], brush.grain(seed + 2), 0.1)
    tile = painted(tile, (spine > 0.4) & (spine < 0.75), first[1], seed, 0.1)
    tile = painted(tile, spine >= 0.75, first[2], seed, 0.1)
    tile = painted(tile, (brush.COLUMN % 2 == 1) & (brush.grain(seed + 3) < 0.5), (40, 30, 28), seed, 0.1)
    tile = painted(tile, (brush.ROW % 8 == 1) | (low & (brush.ROW % 8 == 2)), (38, 28, 22), seed, 0.1)
    return board, painted(tile, brush.ROW % 8 == 0, (124, 82, 52), seed, 0.1), board
