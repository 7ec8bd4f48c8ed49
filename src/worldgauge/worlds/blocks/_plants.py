"""Shapes of what grows: crossed upright quads as a rule."""

from __future__ import annotations

from collections.abc import Mapping

from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks._parts import Shape, Sheet, cross, flat, flipped, solid, turned

States = Mapping[str, str]

_FLOWERS_NAMES = """
    dandelion poppy blue_orchid allium azure_bluet red_tulip orange_tulip white_tulip pink_tulip oxeye_daisy
    cornflower lily_of_the_valley wither_rose torchflower sunflower lilac rose_bush peony pitcher_plant
"""
FLOWERS = frozenset(_FLOWERS_NAMES.split())
_TALL = frozenset({"sunflower", "lilac", "rose_bush", "peony", "pitcher_plant"})
_CROPS = {"wheat": 7, "carrots": 7, "potatoes": 7, "beetroots": 3, "nether_wart": 3}
"""Ages at which they are ripe."""

_LOW = {"short_grass": 12, "fern": 13, "dead_bush": 12, "nether_sprouts": 6, "seagrass": 14, "crimson_roots": 12}
_CROSSED_NAMES = """
    tall_grass large_fern tall_seagrass cobweb sugar_cane kelp kelp_plant sweet_berry_bush bamboo_sapling
    warped_roots weeping_vines weeping_vines_plant twisting_vines twisting_vines_plant cave_vines
    cave_vines_plant hanging_roots small_dripleaf torchflower_crop fire soul_fire attached_melon_stem
    attached_pumpkin_stem mangrove_propagule
"""
_CROSSED = frozenset(_CROSSED_NAMES.split())
_SIDES = ("north", "east", "south", "west")


def shape_of(name: str, states: States) -> Shape | None:
    """The shape of a plant; None for other blocks."""
    if name.startswith("potted_"):
        return _potted(name)
    if name in FLOWERS:
        return _flower(name, states)
    if name in _CROPS:
        return _crop(2 + 12 * int(states["age"]) // _CROPS[name])
    if name in ("melon_stem", "pumpkin_stem"):
        return cross(0, 2 * (1 + int(states["age"])), wide=6)
    if name.endswith("_sapling") and name != "bamboo_sapling":
        return cross(0, 6, wide=4, paint="wood") + cross(5, 15, wide=12)
    if name in ("red_mushroom", "brown_mushroom", "crimson_fungus", "warped_fungus"):
        return solid((7, 0, 7, 9, 4, 9), paint="white") + solid((5, 4, 5, 11, 7, 11))
    if name in ("vine", "glow_lichen", "sculk_vein"):
        return _clinging(states)
    return _other(name, states)


def _other(name: str, states: States) -> Shape | None:
    if name in _LOW:
        return cross(0, _LOW[name])
    if name in _CROSSED:
        return cross(0, 16)
    if name.endswith("_wall_fan"):
        leaf = Sheet(((1, 5, 16), (15, 5, 16), (15, 9, 3), (1, 9, 3)))
        return turned(Shape((), (leaf,)), states["facing"])
    if name.endswith("_coral_fan"):
        return cross(0, 5, wide=16)
    if name.endswith("_coral"):
        return cross(0, 14)
    if name in ("lily_pad", "frogspawn"):
        return flat(1, 1, 15)
    if name == "pink_petals":
        return flat(2, 1, 15)
    if name == "spore_blossom":
        return flipped(flat(1, 1, 15) + cross(1, 8, wide=8))
    if name == "bamboo":
        leaves = cross(8, 16, wide=12) if states["leaves"] != "none" else Shape()
        return solid((7, 0, 7, 9, 16, 9)) + leaves
    if name == "cactus":
        return solid((1, 0, 1, 15, 16, 15))
    if name == "big_dripleaf_stem":
        return solid((7, 0, 7, 9, 16, 9))
    if name == "pitcher_crop":
        return cross(0, 10) if states["half"] == "upper" else solid((5, 0, 5, 11, 4, 11)) + cross(4, 14)
    if name == "big_dripleaf":
        # A leaf that gives way hangs down from its stem in the south.
        pad = (0, 1, 12, 16, 15, 13) if states["tilt"] == "full" else (0, 14, 0, 16, 15, 16)
        return turned(solid(pad) + solid((7, 0, 13, 9, 14, 15), paint="leaf"), states["facing"])
    if name == "cocoa":
        return solid(*table.boxes(name, dict(states)))
    return None


def _flower(name: str, states: States) -> Shape:
    if name in _TALL and states.get("half") == "lower":
        return cross(0, 16, wide=6, paint="leaf")
    return cross(0, 8, wide=6, paint="leaf") + cross(7, 14, wide=10 if name in _TALL else 8)


def _crop(high: int) -> Shape:
    """Four upright quads, as rows of a field."""
    rows = tuple(Sheet(((0, 0, z), (16, 0, z), (16, high, z), (0, high, z))) for z in (4, 12))
    return Shape((), rows) + turned(Shape((), rows), "east")


def _potted(name: str) -> Shape:
    pot = solid((5, 0, 5, 11, 6, 11), paint="pot")
    plant = name.removeprefix("potted_")
    if plant in ("cactus", "bamboo"):
        return pot + solid((6, 6, 6, 10, 16, 10))
    if plant in FLOWERS:
        return pot + cross(6, 11, wide=4, paint="leaf") + cross(10, 15, wide=6)
    return pot + cross(6, 15, wide=10)


def _clinging(states: States) -> Shape:
    """Sheets on the sides that hold it, a sixteenth off the wall; standing free for itself where none does."""
    leaf = Shape((), (Sheet(((0, 0, 1), (16, 0, 1), (16, 16, 1), (0, 16, 1))),))
    held = [turned(leaf, side) for side in _SIDES if states.get(side) == "true"]
    if states.get("up") == "true":
        held.append(flat(15))
    if states.get("down") == "true":
        held.append(flat(1))
    return sum(held or [leaf], Shape())
