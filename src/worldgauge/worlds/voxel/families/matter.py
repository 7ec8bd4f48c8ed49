"""What the families are built of beyond the settlements' blocks: name, category, shapes and tile of each material.

The order is that of the block table, which only ever grows at its end: worlds are stored as indices into it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from worldgauge.worlds.voxel import tile_brushes as brush
from worldgauge.worlds.voxel.families import tiles
from worldgauge.worlds.voxel.tile_brushes import Colour, Tile

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
    return Matter(name, category, GROUND, lambda: tiles.ground(paint(), seed + 4, colour), ground=True)


def _plain(name: str, look: Callable[[], Look], category: str = "building") -> Matter:
    return Matter(name, category, CUBE, look)


def _floor(name: str, look: Callable[[], Look], shapes: tuple[str, ...] = CUBE, category: str = "building") -> Matter:
    return Matter(name, category, shapes, look, ground=True)


def _enamel(number: int, name: str, colour: Colour) -> Matter:
    shapes = STEPS if name in _SLABBED else CUBE
    return Matter(f"{name}_enamel", "building", shapes, lambda: tiles.enamel(colour, 400 + number))


_ASPHALT: Colour = (78, 80, 86)
_WHITE: Colour = (232, 232, 226)


def _asphalt() -> Tile:
    return brush.speckle(_ASPHALT, 300, 0.1, 0.3)


def _ballast() -> Tile:
    return brush.stones((120, 112, 106), 301, 18, 0.18, 0.7)


def _plating() -> Tile:
    return tiles.plate((98, 106, 122), 302, cross=True)


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
    _floor("lane_x", lambda: (tiles.dashed(_asphalt(), along_x=True), _asphalt(), _asphalt()), category="path"),
    _floor("lane_y", lambda: (tiles.dashed(_asphalt(), along_x=False), _asphalt(), _asphalt()), category="path"),
    _floor(
        "crossing_x",
        lambda: (tiles.bars(_asphalt(), along_x=True, colour=_WHITE), _asphalt(), _asphalt()),
        category="path",
    ),
    _floor(
        "crossing_y",
        lambda: (tiles.bars(_asphalt(), along_x=False, colour=_WHITE), _asphalt(), _asphalt()),
        category="path",
    ),
    _floor("pavement", lambda: tiles.slabs((182, 178, 172), 334, 8), ("cube", "quarter"), "path"),
    _floor("apron", lambda: tiles.slabs((158, 156, 150), 336, 16, 0.86), category="path"),
    _floor("plating", _plating),
    _floor("lit_plating", lambda: tiles.tube(_plating(), (96, 236, 250))),
    _floor("boards", lambda: brush.planks((166, 138, 108), 338), STEPS),
    _floor("flagstone", lambda: tiles.slabs((196, 178, 146), 340, 8, 0.78), GROUND),
    _floor("mosaic", lambda: tiles.mosaic(((214, 196, 160), (46, 96, 136), (176, 76, 52)), 342)),
    _floor("parquet", lambda: tiles.parquet((158, 106, 62), 346)),
    _floor("white_tile", lambda: tiles.slabs((224, 220, 212), 348, 16, 0.9)),
    _floor("black_tile", lambda: tiles.slabs((62, 62, 70), 350, 16, 0.8)),
    _floor("red_rug", lambda: tiles.rug((148, 34, 44), (216, 168, 84), 352)),
    _floor("blue_rug", lambda: tiles.rug((40, 58, 118), (190, 178, 140), 353)),
    _floor("green_rug", lambda: tiles.rug((38, 92, 70), (206, 186, 120), 354)),
    _floor("pink_check", lambda: tiles.enamel((250, 160, 190), 355), category="path"),
    _floor("white_check", lambda: tiles.enamel((252, 246, 250), 356), category="path"),
    _floor("rails_x", lambda: (tiles.rails(_ballast(), along_x=True), _ballast(), _ballast()), category="path"),
    _floor("rails_y", lambda: (tiles.rails(_ballast(), along_x=False), _ballast(), _ballast()), category="path"),
    # paint
    *(_enamel(number, name, colour) for number, (name, colour) in enumerate(ENAMELS.items())),
    # metal
    _plain("hull", lambda: tiles.plate((226, 230, 236), 430)),
    _plain("dark_hull", lambda: tiles.plate((66, 72, 92), 432, bolts=True)),
    Matter("steel", "building", ("cube", "post"), lambda: tiles.plate((148, 156, 166), 434, seam=0.82)),
    Matter("steel_rail", "building", ("pane",), lambda: tiles.rail((170, 176, 184), 436)),
    _plain("rust", lambda: brush.speckle((142, 82, 52), 438, 0.22, 0.8)),
    _plain("tank", lambda: tiles.plate((214, 214, 204), 440, bolts=True, seam=0.86)),
    _plain("red_sheet", lambda: tiles.corrugated((176, 54, 46), 442)),
    _plain("blue_sheet", lambda: tiles.corrugated((48, 92, 152), 444)),
    _plain("green_sheet", lambda: tiles.corrugated((52, 116, 84), 446)),
    _plain("amber_sheet", lambda: tiles.corrugated((214, 138, 46), 448)),
    _plain("pale_sheet", lambda: tiles.corrugated((196, 198, 196), 450)),
    _plain("hazard", lambda: tiles.striped(((244, 200, 30), (40, 38, 38)), 452)),
    # light
    _plain("cyan_glow", lambda: tiles.glowing((30, 220, 250), 460)),
    _plain("pink_glow", lambda: tiles.glowing((250, 50, 190), 461)),
    _plain("amber_glow", lambda: tiles.glowing((255, 170, 40), 462)),
    _plain("lime_glow", lambda: tiles.glowing((120, 250, 70), 463)),
    Matter("white_glow", "building", ("cube", "top_slab"), lambda: tiles.glowing((236, 232, 210), 464)),
    # fronts and windows
    _plain("brownstone", lambda: brush.courses((124, 76, 58), (92, 58, 46), 470, 4, 8)),
    _plain("soot_bricks", lambda: brush.courses((112, 66, 58), (66, 52, 50), 472, 4, 8)),
    _plain("concrete", lambda: tiles.slabs((172, 172, 168), 474, 16, 0.84)),
    _plain("rose_front", lambda: tiles.enamel((212, 152, 138), 476)),
    _plain("sage_front", lambda: tiles.enamel((158, 178, 148), 477)),
    _plain("blue_front", lambda: tiles.enamel((136, 164, 190), 478)),
    _plain("window", lambda: tiles.pane((92, 134, 172), 480, frame=(232, 230, 224), bars=(7, 8), level=(6,))),
    _plain("warm_window", lambda: tiles.pane((246, 204, 120), 481, frame=(96, 74, 58), bars=(5, 10), level=(5, 10))),
    _plain("curtain_glass", lambda: tiles.pane((70, 130, 160), 482, frame=(50, 66, 84))),
    _plain("works_window", lambda: tiles.pane((126, 156, 158), 483, frame=(58, 70, 66), bars=(4, 8, 12), level=(8,))),
    _plain("dome_glass", lambda: tiles.pane((70, 196, 206), 484, frame=(222, 240, 244))),
    # antiquity
    Matter("marble", "building", STEPS, lambda: brush.tint((232, 226, 216), brush.clouds(490, 8), 0.06)),
    _plain("marble_shaft", lambda: tiles.fluted((228, 220, 206), 492)),
    _plain("frieze", lambda: tiles.frieze((224, 206, 170), (168, 70, 48), 494)),
    _plain("bronze", lambda: brush.tint((84, 136, 116), brush.clouds(496, 8), 0.2)),
    _plain("gold", lambda: brush.tint((240, 196, 70), brush.clouds(498, 4), 0.14)),
    # toys
    _plain("candy", lambda: tiles.striped(((250, 246, 246), (226, 46, 66)), 500)),
    _plain("blue_candy", lambda: tiles.striped(((250, 248, 240), (64, 140, 230)), 502)),
    _plain("toadstool", lambda: tiles.dotted((224, 44, 48), (252, 250, 246), 504)),
    Matter("pink_leaves", "tree", CUBE, lambda: tiles.puffs((250, 150, 196), 506)),
    Matter("blue_leaves", "tree", CUBE, lambda: tiles.puffs((102, 178, 250), 508)),
    Matter("golden_leaves", "tree", CUBE, lambda: tiles.puffs((242, 186, 52), 510)),
    Matter("violet_leaves", "tree", CUBE, lambda: tiles.puffs((176, 118, 232), 512)),
    Matter("scarlet_leaves", "tree", CUBE, lambda: brush.foliage((200, 78, 40), 514, 0.14)),
    # rooms
    _plain("red_wall", lambda: tiles.damask((134, 46, 50), 520)),
    _plain("green_wall", lambda: tiles.damask((72, 108, 92), 521)),
    _plain("ochre_wall", lambda: tiles.damask((204, 162, 94), 522)),
    _plain("blue_wall", lambda: tiles.damask((88, 112, 152), 523)),
    _plain("wainscot", lambda: brush.timber((104, 66, 42), 524)),
    _plain("coffer", lambda: tiles.coffer((222, 212, 192), 525)),
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
    return tiles.canvases()


def _shelf(seed: int, *, warm: bool) -> tuple[Tile, Tile, Tile]:
    """Two shelves of spines between boards."""
    board = brush.planks((104, 66, 42), seed)
    first = ((152, 52, 44), (178, 110, 50), (96, 40, 52)) if warm else ((52, 78, 128), (58, 106, 108), (92, 92, 132))
    spine = brush.grain(seed).ravel()[brush.COLUMN // 2 + 8 * (brush.ROW // 8)]
    low = brush.grain(seed + 1).ravel()[brush.COLUMN // 2 + 8 * (brush.ROW // 8)] > 0.6
    tile = brush.tint(first[0], brush.grain(seed + 2), 0.1)
    tile = tiles.painted(tile, (spine > 0.4) & (spine < 0.75), first[1], seed, 0.1)
    tile = tiles.painted(tile, spine >= 0.75, first[2], seed, 0.1)
    tile = tiles.painted(tile, (brush.COLUMN % 2 == 1) & (brush.grain(seed + 3) < 0.5), (40, 30, 28), seed, 0.1)
    tile = tiles.painted(tile, (brush.ROW % 8 == 1) | (low & (brush.ROW % 8 == 2)), (38, 28, 22), seed, 0.1)
    return board, tiles.painted(tile, brush.ROW % 8 == 0, (124, 82, 52), seed, 0.1), board
