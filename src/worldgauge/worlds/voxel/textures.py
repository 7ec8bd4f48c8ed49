"""The look of the blocks: own procedural 16x16 textures, the light on each face, and the sky.

Colours keep the ten categories apart: turf leans to yellow and leaves to blue-green, paths are rosy grey
and dirt brown, petals are more saturated than anything built, snow and sky differ in blueness.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

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
    """Return the texture (16, 16, 4) RGBA of a block's face, before light; row 0 is the upper edge."""
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
    tiles: dict[str, Any] = {}
    table = json.loads((files(__package__) / "settled_tiles.json").read_text("utf-8"))
    for name, tile in table.items():
        tiles[name] = brush.draw_tile(tile, _BRUSHES, tiles)
    return tiles | _detailed(tiles)


def _detailed(tiles: Mapping[str, Tile]) -> dict[str, Tile | tuple[Tile, Tile, Tile]]:
    """Tiles with details that no brush draws."""
    dirt, planks = tiles["dirt"], tiles["oak_planks"]
    birch_bark = (206, 202, 192)
    birch_side = brush.speckle(birch_bark, 71, 0.05)
    for row, column, length in ((2, 1, 4), (5, 9, 5), (8, 4, 3), (11, 12, 3), (13, 0, 5), (15, 8, 3), (7, 14, 2)):
        birch_side[row, column : column + length, :3] = (58, 54, 52)
    birch_end = brush.rings((208, 190, 142), birch_bark, 104)
    hay_end = brush.rings((214, 178, 58), (168, 128, 32), 81)
    hay = brush.bark((204, 166, 44), 82, 0.18)
    hay[[4, 11], :, :3] = (150, 68, 36)
    barrel = brush.planks((142, 104, 62), 83).transpose(1, 0, 2).copy()
    barrel[[1, 2, 13, 14], :, :3] = (92, 92, 98)
    farmland = brush.speckle((92, 58, 36), 12, 0.15)
    farmland[1::4, :, :3] = (66, 40, 24)
    farmland[2::4, :, :3] = (112, 74, 46)
    cactus = brush.tint((44, 124, 88), 0.6 * ((brush.COLUMN % 4) / 3) + 0.4 * brush.grain(85), 0.25)
    cactus[2::5, 1::4, :3] = (214, 226, 190)
    pumpkin = brush.tint((236, 122, 16), np.abs(np.sin(brush.COLUMN * np.pi / 5)) * 0.8 + 0.2 * brush.grain(86), 0.16)
    pumpkin_top = brush.speckle((232, 118, 16), 87, 0.1)
    pumpkin_top[6:10, 7:9, :3] = (74, 112, 34)
    melon = brush.tint((134, 206, 34), ((brush.COLUMN + 1) // 3 % 2) * 0.8 + 0.2 * brush.grain(88), 0.3)
    flame = brush.speckle((255, 214, 92), 98, 0.06)
    torch = brush.clear()
    torch[6:] = brush.timber((128, 94, 56), 89)[6:]
    torch[3:6] = flame[3:6]
    torch[4:5, 7:9, :3] = (255, 250, 214)
    lantern = brush.timber((92, 70, 50), 90)
    lantern[1:8] = (255, 206, 98, 255)
    lantern[[0, 8]] = (58, 54, 58, 255)
    lantern[1:8, [6, 9]] = (214, 150, 56, 255)
    return {
        "farmland": (farmland, dirt, dirt),
        "ice": brush.tint((146, 218, 236), 0.7 * brush.clouds(54, 4) + 0.3 * brush.streaks(55), 0.07),
        "stone": brush.tint((112, 118, 128), 0.6 * brush.streaks(57) + 0.4 * brush.clouds(58, 4), 0.11),
        "bookshelf": (planks, brush.sketch(brush.HAND_DRAWN["books"], _BOOK_COLOURS, 84, 0.1), planks),
        "hay_bale": (hay_end, hay, hay_end),
        "barrel": (brush.rings((150, 112, 68), (92, 92, 98), 93), barrel, planks),
        "oak_fence": _fence(brush.timber((168, 132, 80), 91)),
        "spruce_fence": _fence(brush.timber((112, 80, 48), 92)),
        "lantern_post": lantern,
        "torch": (flame, torch, torch),
        "birch_log": (birch_end, birch_side, birch_end),
        "cactus": cactus,
        "pumpkin": (pumpkin_top, pumpkin, pumpkin_top),
        "melon": (brush.speckle((112, 186, 30), 115, 0.15), melon, melon),
    }


def trunk(wood: Colour, bark: Colour, seed: int) -> tuple[Tile, Tile, Tile]:
    """Sawn ends and bark."""
    end = brush.rings(wood, bark, seed)
    return end, brush.bark(bark, seed + 50), end


def overgrown(tile: Tile, seed: int, moss_colour: Colour = (86, 116, 58)) -> Tile:
    """Moss in patches."""
    moss = brush.speckle(moss_colour, seed, 0.2)
    return np.where((brush.clouds(seed + 1, 4) > 0.6)[..., None], moss, tile)


def snowed(tile: Tile, snow: Tile, seed: int) -> tuple[Tile, Tile, Tile]:
    """Snow lies on top and hangs over the upper rows of the sides."""
    top = np.where((brush.clouds(seed, 8) > 0.3)[..., None], snow, tile)
    return top, brush.fringe(snow, tile, 4, seed + 1), tile


def below(tile: Tile, row: int) -> Tile:
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


def eared(tile: Tile) -> Tile:
    """Ripe ears at the tips of stalks."""
    ripe = tile.copy()
    heavy = (brush.ROW < 7) & (ripe[..., 3] > 0)
    ripe[heavy | np.roll(heavy & (brush.ROW % 2 == 0), 1, axis=1)] = (232, 188, 40, 255)
    ripe[heavy & (brush.ROW % 2 == 1)] = (204, 152, 24, 255)
    return ripe


def flower(form: str, petal: Colour, heart: Colour) -> Tile:
    """A flower of a hand-drawn form."""
    colours = {"p": petal, "h": heart, "s": (22, 150, 84), "l": (34, 176, 96)}
    return sketch(form, colours, 7, 0.06)


def sketch(name: str, colours: dict[str, Colour], seed: int, contrast: float) -> Tile:
    """Draw the tile of a name in `HAND_DRAWN`."""
    return brush.sketch(brush.HAND_DRAWN[name], colours, seed, contrast)


_BRUSHES = brush.BRUSHES | {draw.__name__: draw for draw in (trunk, overgrown, snowed, below, eared, flower, sketch)}


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
