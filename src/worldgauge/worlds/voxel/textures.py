"""The look of the blocks: own procedural 16x16 textures, the light on each face, and the sky.

Colours keep the ten categories apart: turf leans to yellow and leaves to blue-green, paths are rosy grey
and dirt brown, petals are more saturated than anything built, snow and sky differ in blueness.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import WorldError
from worldgauge.worlds.voxel import tile_brushes as brush
from worldgauge.worlds.voxel.blocks import KINDS, STATES, block
from worldgauge.worlds.voxel.families.matter import MATTER
from worldgauge.worlds.voxel.tile_brushes import Colour, Tile

FACES = ("east", "west", "north", "south", "up", "down", "plant")
"""Faces by their outward normal: +x, -x, +y, -y, +z, -z; plant: the diagonal planes of a cross."""

FACE_GROUP = (1, 1, 1, 1, 0, 2, 1)
"""Column of TEXTURE_OF for each of FACES: 0 top, 1 side, 2 bottom."""

SHADES: NDArray[np.float64] = np.array([0.90, 0.72, 0.78, 0.84, 1.0, 0.58, 0.96])
"""Brightness of each of FACES: a sun high in the south-east, the same all day; a colour is texel x shade, rounded."""

SKY: Colour = (190, 218, 242)
SKY_ZENITH: Colour = (112, 168, 230)
"""Sky at and below the horizon, and straight up; between them it follows the sine of the elevation."""

MIP_LEVELS = 5
"""Sizes 16, 8, 4, 2, 1 texels; far surfaces are painted from the smaller ones."""

_SHAPE_SUFFIXES = ("_stairs", "_top_slab", "_slab", "_three_quarter", "_quarter", "_post")
_MATERIAL_OF = {"oak": "oak_planks", "spruce": "spruce_planks", "acacia": "acacia_planks", "sandstone": "cut_sandstone"}
_BOOK_COLOURS: dict[str, Colour] = {
    "o": (168, 132, 80),
    "d": (66, 48, 32),
    "r": (150, 44, 40),
    "b": (56, 66, 120),
    "y": (198, 158, 70),
    "g": (60, 92, 70),
    "w": (216, 204, 180),
}


def texture_of(state: int | str, face: str) -> Tile:
    """Return the texture of a block's face, before light.

    Args:
        state: Index or name of a block state.

    Returns:
        (16, 16, 4) uint8 RGBA; row 0 is the upper edge.
    """
    index = block(state) if isinstance(state, str) else state
    tile: Tile = TEXELS[TEXTURE_OF[index, FACE_GROUP[FACES.index(face)]]]
    return tile


def sky_colours(n: int) -> NDArray[np.uint8]:
    """(n, 3) colours of the sky for sines of the elevation from 0 to 1."""
    share = np.sqrt(np.linspace(0, 1, n))[:, None]
    mixed = (1 - share) * np.array(SKY, float) + share * np.array(SKY_ZENITH, float)
    rounded: NDArray[np.uint8] = np.rint(mixed).astype(np.uint8)
    return rounded


def mipmaps(texels: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """Textures (n, 16, 16, 4) at MIP_LEVELS sizes; RGB is the mean of what is not transparent."""
    opaque = (texels[..., 3:] > 0).astype(float)
    colour, weight = texels[..., :3] * opaque, opaque
    levels = []
    for _ in range(MIP_LEVELS):
        rgb = np.rint(colour / np.maximum(weight, 1e-9))
        levels.append(np.concatenate([rgb, 255 * (weight > 0)], -1).astype(np.uint8))
        n, side = colour.shape[:2]
        if side > 1:
            colour, weight = (a.reshape(n, side // 2, 2, side // 2, 2, -1).mean((2, 4)) for a in (colour, weight))
    return levels


def _tiles() -> dict[str, Tile | tuple[Tile, Tile, Tile]]:
    """Tile of every kind, or its three tiles: top, side, bottom."""
    dirt = brush.speckle((122, 84, 54), 11, 0.17)
    turf = brush.blades((108, 156, 60), 21)
    dry_turf = brush.blades((172, 168, 74), 31)
    snow = brush.speckle((238, 245, 252), 41, 0.034, 0.7)
    sand = brush.speckle((229, 211, 150), 51, 0.05, 0.4)
    oak, spruce, acacia = (168, 132, 80), (112, 80, 48), (184, 98, 52)
    oak_bark, spruce_bark, acacia_bark, birch_bark = (92, 74, 58), (70, 52, 44), (100, 90, 88), (206, 202, 192)
    oak_planks, spruce_planks = brush.planks(oak, 61), brush.planks(spruce, 62)
    spruce_leaves = brush.foliage((38, 88, 66), 106, 0.26)
    birch_side = brush.speckle(birch_bark, 71, 0.05)
    for row, column, length in ((2, 1, 4), (5, 9, 5), (8, 4, 3), (11, 12, 3), (13, 0, 5), (15, 8, 3), (7, 14, 2)):
        birch_side[row, column : column + length, :3] = (58, 54, 52)
    birch_end = brush.rings((208, 190, 142), birch_bark, 104)
    glass = brush.sketch(brush.GLASS, {"f": (214, 232, 236), "g": (244, 250, 250)}, 3, 0.03)
    hay_end = brush.rings((214, 178, 58), (168, 128, 32), 81)
    hay = brush.bark((204, 166, 44), 82, 0.18)
    hay[[4, 11], :, :3] = (150, 68, 36)
    barrel = brush.planks((142, 104, 62), 83).transpose(1, 0, 2).copy()
    barrel[[1, 2, 13, 14], :, :3] = (92, 92, 98)
    shelf = brush.sketch(brush.BOOKS, _BOOK_COLOURS, 84, 0.1)
    farmland = brush.speckle((92, 58, 36), 12, 0.15)
    farmland[1::4, :, :3] = (66, 40, 24)
    farmland[2::4, :, :3] = (112, 74, 46)
    cactus = brush.tint((44, 124, 88), 0.6 * ((brush.COLUMN % 4) / 3) + 0.4 * brush.grain(85), 0.25)
    cactus[2::5, 1::4, :3] = (214, 226, 190)
    pumpkin = brush.tint((236, 122, 16), np.abs(np.sin(brush.COLUMN * np.pi / 5)) * 0.8 + 0.2 * brush.grain(86), 0.16)
    pumpkin_top = brush.speckle((232, 118, 16), 87, 0.1)
    pumpkin_top[6:10, 7:9, :3] = (74, 112, 34)
    melon = brush.tint((134, 206, 34), ((brush.COLUMN + 1) // 3 % 2) * 0.8 + 0.2 * brush.grain(88), 0.3)
    podzol_top = brush.speckle((104, 66, 28), 13, 0.22)
    path_top = brush.stones((174, 150, 136), 14, 16, 0.09, 0.86)
    flame = brush.speckle((255, 214, 92), 98, 0.06)
    torch = brush.clear()
    torch[6:] = brush.timber((128, 94, 56), 89)[6:]
    torch[3:6] = flame[3:6]
    torch[4:5, 7:9, :3] = (255, 250, 214)
    lantern = brush.timber((92, 70, 50), 90)
    lantern[1:8] = (255, 206, 98, 255)
    lantern[[0, 8]] = (58, 54, 58, 255)
    lantern[1:8, [6, 9]] = (214, 150, 56, 255)
    fence = {
        name: _fence(brush.timber(colour, seed)) for name, colour, seed in (("oak", oak, 91), ("spruce", spruce, 92))
    }

    return {
        "grass_block": (turf, brush.fringe(brush.speckle((100, 148, 56), 22, 0.16), dirt, 7, 23), dirt),
        "dry_grass_block": (dry_turf, brush.fringe(brush.speckle((160, 156, 68), 32, 0.14), dirt, 7, 33), dirt),
        "snowy_grass_block": (snow, brush.fringe(snow, dirt, 7, 43), dirt),
        "dirt": dirt,
        "coarse_dirt": brush.stones((116, 78, 50), 15, 14, 0.24, 0.8),
        "podzol": (podzol_top, brush.fringe(podzol_top, dirt, 4, 16), dirt),
        "farmland": (farmland, dirt, dirt),
        "clay": brush.speckle((150, 118, 96), 17, 0.06, 0.7),
        "terracotta": brush.strata((146, 92, 66), 18),
        "path": (path_top, brush.fringe(path_top, dirt, 4, 19), dirt),
        "gravel": brush.stones((150, 132, 132), 20, 18, 0.2, 0.74),
        "sand": sand,
        "red_sand": brush.speckle((212, 148, 88), 52, 0.06, 0.4),
        "sandstone": (sand, brush.strata((226, 206, 142), 53), sand),
        "snow_block": snow,
        "snow_layer": snow,
        "ice": brush.tint((146, 218, 236), 0.7 * brush.clouds(54, 4) + 0.3 * brush.streaks(55), 0.07),
        "water": brush.ripples((48, 110, 206), 56),
        "stone": brush.tint((112, 118, 128), 0.6 * brush.streaks(57) + 0.4 * brush.clouds(58, 4), 0.11),
        "granite": brush.speckle((136, 104, 104), 59, 0.15, 0.3),
        "mossy_rock": _overgrown(brush.stones((104, 110, 118), 60, 8, 0.16, 0.7), 63, (70, 104, 66)),
        "cobblestone": brush.stones((142, 142, 140), 64, 11, 0.15, 0.62),
        "mossy_cobblestone": _overgrown(brush.stones((132, 132, 130), 64, 11, 0.15, 0.62), 65),
        "stone_bricks": brush.courses((138, 138, 134), (92, 92, 90), 66, 8, 16),
        "cut_sandstone": brush.courses((220, 184, 122), (178, 142, 88), 67, 8, 16),
        "smooth_sandstone": brush.panel((226, 190, 130), 68, 0.92),
        "bricks": brush.courses((164, 76, 60), (188, 176, 164), 69, 4, 8),
        "white_plaster": brush.panel((234, 224, 204), 70, 0.98),
        "orange_plaster": brush.panel((206, 112, 44), 72, 0.93),
        "ice_bricks": brush.courses((186, 206, 232), (136, 162, 204), 73, 8, 8),
        "oak_planks": oak_planks,
        "spruce_planks": spruce_planks,
        "acacia_planks": brush.planks(acacia, 74),
        "oak_beam": brush.timber((146, 110, 64), 75),
        "spruce_beam": brush.timber((92, 64, 38), 76),
        "acacia_beam": brush.timber((160, 82, 44), 77),
        "rotten_planks": _overgrown(brush.planks((124, 106, 78), 78), 79),
        "bookshelf": (oak_planks, shelf, oak_planks),
        "hay_bale": (hay_end, hay, hay_end),
        "barrel": (brush.rings((150, 112, 68), (92, 92, 98), 93), barrel, oak_planks),
        "red_wool": brush.weave((166, 48, 46), 94),
        "blue_wool": brush.weave((62, 72, 134), 95),
        "yellow_wool": brush.weave((222, 176, 76), 96),
        "glass": glass,
        "cobweb": brush.sketch(brush.WEB, {"w": (232, 232, 230)}, 4, 0.03),
        "oak_fence": fence["oak"],
        "spruce_fence": fence["spruce"],
        "glass_pane": glass,
        "cobblestone_wall": _below(brush.stones((142, 142, 140), 64, 11, 0.15, 0.62), 2),
        "lantern_post": lantern,
        "torch": (flame, torch, torch),
        "white_carpet": brush.weave((232, 222, 214), 97),
        "oak_log": _trunk((178, 144, 92), oak_bark, 101),
        "spruce_log": _trunk((126, 94, 60), spruce_bark, 102),
        "acacia_log": _trunk((186, 106, 62), acacia_bark, 103),
        "birch_log": (birch_end, birch_side, birch_end),
        "oak_leaves": brush.foliage((44, 118, 52), 105),
        "spruce_leaves": spruce_leaves,
        "acacia_leaves": brush.foliage((66, 128, 48), 107),
        "birch_leaves": brush.foliage((78, 142, 76), 108, 0.16),
        "snowy_leaves": _snowed(spruce_leaves, brush.speckle((226, 238, 246), 41, 0.03, 0.7), 109),
        "cactus": cactus,
        "dead_bush": brush.sketch(brush.BUSH, {"b": (112, 74, 62), "k": (84, 54, 46)}, 5, 0.1),
        "tall_grass": brush.stalks((114, 172, 62), 111, 12, 8, 15),
        "dry_tall_grass": brush.stalks((196, 186, 84), 112, 12, 8, 15),
        "fern": brush.sketch(brush.FERN, {"f": (112, 170, 52), "k": (84, 134, 42)}, 6, 0.14),
        "wheat": _eared(brush.stalks((206, 190, 66), 113, 9, 11, 15)),
        "carrots": brush.stalks((126, 196, 58), 114, 10, 4, 9),
        "poppy": _flower(brush.POPPY, (236, 32, 36), (120, 10, 30)),
        "dandelion": _flower(brush.DANDELION, (255, 226, 20), (255, 178, 12)),
        "cornflower": _flower(brush.POPPY, (72, 62, 240), (38, 20, 160)),
        "white_daisy": _flower(brush.DAISY, (255, 252, 255), (255, 206, 20)),
        "orange_tulip": _flower(brush.TULIP, (255, 124, 20), (255, 176, 60)),
        "sunflower_bush": _flower(brush.SUNFLOWER, (255, 212, 12), (126, 66, 10)),
        "pumpkin": (pumpkin_top, pumpkin, pumpkin_top),
        "melon": (brush.speckle((112, 186, 30), 115, 0.15), melon, melon),
    }  # fmt: skip


def _trunk(wood: Colour, bark: Colour, seed: int) -> tuple[Tile, Tile, Tile]:
    end = brush.rings(wood, bark, seed)
    return end, brush.bark(bark, seed + 50), end


def _overgrown(tile: Tile, seed: int, moss_colour: Colour = (86, 116, 58)) -> Tile:
    """Moss in patches."""
    moss = brush.speckle(moss_colour, seed, 0.2)
    return np.where((brush.clouds(seed + 1, 4) > 0.6)[..., None], moss, tile)


def _snowed(tile: Tile, snow: Tile, seed: int) -> tuple[Tile, Tile, Tile]:
    """Snow lies on top and hangs over the upper rows of the sides."""
    top = np.where((brush.clouds(seed, 8) > 0.3)[..., None], snow, tile)
    return top, brush.fringe(snow, tile, 4, seed + 1), tile


def _below(tile: Tile, row: int) -> Tile:
    """The tile with its first rows cut away."""
    cut = tile.copy()
    cut[:row, :, 3] = 0
    return cut


def _fence(wood: Tile) -> Tile:
    """Two rails and a post; the rest is open."""
    rails = (brush.ROW >= 2) & (brush.ROW < 5) | (brush.ROW >= 8) & (brush.ROW < 11)
    post = (brush.COLUMN >= 6) & (brush.COLUMN < 10)
    tile = wood.copy()
    tile[rails & ~post, :3] = brush.shade(tile[rails & ~post, :3], 0.92)
    tile[..., 3] = 255 * (rails | post)
    return tile


def _eared(tile: Tile) -> Tile:
    """Ripe ears at the tips of stalks."""
    ripe = tile.copy()
    heavy = (brush.ROW < 7) & (ripe[..., 3] > 0)
    ripe[heavy | np.roll(heavy & (brush.ROW % 2 == 0), 1, axis=1)] = (232, 188, 40, 255)
    ripe[heavy & (brush.ROW % 2 == 1)] = (204, 152, 24, 255)
    return ripe


def _flower(rows: str, petal: Colour, heart: Colour) -> Tile:
    return brush.sketch(rows, {"p": petal, "h": heart, "s": (22, 150, 84), "l": (34, 176, 96)}, 7, 0.06)


def _by_state() -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """The distinct tiles, and their indices (n_states, 3) for top, side and bottom."""
    tiles = _tiles() | {matter.name: matter.look() for matter in MATTER}
    texels = [brush.clear()]
    index: dict[bytes, int] = {texels[0].tobytes(): 0}

    def store(tile: Tile) -> int:
        key = tile.tobytes()
        if key not in index:
            index[key] = len(texels)
            texels.append(tile)
        return index[key]

    rows = []
    for state in STATES:
        kind = KINDS[state.kind]
        found = brush.clear() if kind.shape == "empty" else tiles.get(kind.name, tiles.get(_material(kind.name)))
        if found is None:
            raise WorldError(f"block '{kind.name}' has no texture: paint it in worlds/voxel/textures.py")
        rows.append([store(tile) for tile in (found if isinstance(found, tuple) else (found,) * 3)])
    return np.stack(texels), np.array(rows, np.int32)


def _material(name: str) -> str:
    """The kind whose tile a shaped block wears: oak_stairs wears oak_planks."""
    for suffix in _SHAPE_SUFFIXES:
        if name.endswith(suffix):
            stem = name.removesuffix(suffix)
            return _MATERIAL_OF.get(stem, stem)
    return name


TEXELS, TEXTURE_OF = _by_state()
"""TEXELS: (n_textures, 16, 16, 4) uint8. TEXTURE_OF: (n_states, 3) int32, the texture on top, side, bottom."""
