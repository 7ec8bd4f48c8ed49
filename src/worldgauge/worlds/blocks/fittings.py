"""Shapes of what is hung, set down or walked over (torches, signs, beds, rails), and of what grows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks.table import Box

# What shapes are made of, drawn as seen by a block that faces north, and turned from there.

Corner = tuple[int, int, int]
QUARTERS = {"north": 0, "east": 1, "south": 2, "west": 3}


class ShapePart(NamedTuple):
    """A box of a block."""

    box: Box  # x0, y0, z0, x1, y1, z1 in sixteenths of a cell
    paint: str | None = None  # name in `colours.PAINTS`; None for the block's own


class ShapeSheet(NamedTuple):
    """A flat quad without thickness, seen from both sides."""

    corners: tuple[Corner, Corner, Corner, Corner]
    paint: str | None = None


@dataclass(frozen=True)
class Shape:
    """A block's boxes and sheets in sixteenths of its side, x east, y up, z south; a banner reaches over its cell."""

    parts: tuple[ShapePart, ...] = ()
    sheets: tuple[ShapeSheet, ...] = ()

    def __add__(self, other: Shape) -> Shape:
        return Shape(self.parts + other.parts, self.sheets + other.sheets)


FULL = (0, 0, 0, 16, 16, 16)
UNITS = 16
SIDES = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))
"""Outward normals x, y, z: east, west, up, down, south, north."""

OPPOSITE = (1, 0, 3, 2, 5, 4)
ALL_SQUARES = (1 << UNITS * UNITS) - 1


def solid(*boxes: Box, paint: str | None = None) -> Shape:
    """A shape of boxes of one colour."""
    return Shape(tuple(ShapePart(box, paint) for box in boxes))


def turned(shape: Shape, facing: str) -> Shape:
    """Turn a shape that faces north."""
    for _ in range(QUARTERS.get(facing, 0)):
        shape = Shape(
            tuple(
                ShapePart((16 - z1, y0, x0, 16 - z0, y1, x1), paint) for (x0, y0, z0, x1, y1, z1), paint in shape.parts
            ),
            tuple(ShapeSheet(_four((16 - z, y, x) for x, y, z in corners), paint) for corners, paint in shape.sheets),
        )
    return shape


def along(shape: Shape, axis: str) -> Shape:
    """Lay down an upright shape."""
    if axis == "y":
        return shape
    order = (1, 0, 2) if axis == "x" else (0, 2, 1)
    return Shape(
        tuple(
            ShapePart(_box(*(box[3 * high + i] for high in (0, 1) for i in order)), paint) for box, paint in shape.parts
        )
    )


def flipped(shape: Shape) -> Shape:
    """A shape upside down."""
    return Shape(
        tuple(ShapePart((x0, 16 - y1, z0, x1, 16 - y0, z1), paint) for (x0, y0, z0, x1, y1, z1), paint in shape.parts),
        tuple(ShapeSheet(_four((x, 16 - y, z) for x, y, z in corners), paint) for corners, paint in shape.sheets),
    )


def cross(low: int, high: int, *, wide: int = 14, paint: str | None = None) -> Shape:
    """Make two upright quads through the middle of the cell at 45 degrees, in sixteenths of a cell."""
    a, b = 8 - wide // 2, 8 + wide // 2
    return Shape(
        (),
        (
            ShapeSheet(((a, low, a), (b, low, b), (b, high, b), (a, high, a)), paint),
            ShapeSheet(((a, low, b), (b, low, a), (b, high, a), (a, high, b)), paint),
        ),
    )


def flat(height: int, low: int = 0, high: int = 16, paint: str | None = None) -> Shape:
    """Make one level quad. `paint`: name of the colour; None for the block's own."""
    corners = ((low, height, low), (low, height, high), (high, height, high), (high, height, low))
    return Shape((), (ShapeSheet(corners, paint),))


def _four(corners: Iterable[Corner]) -> tuple[Corner, Corner, Corner, Corner]:
    a, b, c, d = corners
    return a, b, c, d


def _box(*sides: int) -> Box:
    x0, y0, z0, x1, y1, z1 = sides
    return x0, y0, z0, x1, y1, z1


def squares_of(box: Box, side: int) -> int:
    """Return which of the 16 x 16 squares on a side of the cell a box covers."""
    axis, high = side // 2, side % 2 == 0
    if box[axis + 3 * high] != (UNITS if high else 0):
        return 0
    one, two = (other for other in range(3) if other != axis)
    row = sum(1 << place for place in range(max(box[two], 0), min(box[two + 3], UNITS)))
    return sum(row << UNITS * place for place in range(max(box[one], 0), min(box[one + 3], UNITS)))


def covered(shape: Shape) -> tuple[int, ...]:
    """For each of the cell's sides the bits of the squares that a shape fills."""
    sides = [0] * len(SIDES)
    for part in shape.parts:
        for side in range(len(SIDES)):
            sides[side] |= squares_of(part.box, side)
    return tuple(sides)


States = Mapping[str, str]
_COMPASS = ("south", "west", "north", "east")
"""Of rotation 0, 4, 8 and 12; those between are drawn as the nearest of these."""


def fitting_shape_of(name: str, states: States) -> Shape | None:
    """Return the shape of a fitting, or None for other blocks."""
    draw = _BY_NAME.get(name) or next(
        (draw for ending, draw in _BY_ENDING if name.endswith(ending) and name not in _OTHERS), None
    )
    if not isinstance(draw, Shape):
        return draw and draw(name, states)
    if "rotation" in table.properties(name):
        return turned(draw, _COMPASS[(int(states.get("rotation", "8")) + 2) // 4 % 4])
    return turned(draw, states.get("facing", "north"))


def _torch(name: str, states: States) -> Shape:
    flame = _flame(name, states)
    if "wall" in name:
        stick = solid((7, 3, 13, 9, 11, 15), paint="wood") + solid((7, 11, 13, 9, 13, 15), paint=flame)
        return turned(stick, states["facing"])
    return solid((7, 0, 7, 9, 8, 9), paint="wood") + solid((7, 8, 7, 9, 10, 9), paint=flame)


def _flame(name: str, states: States) -> str:
    if "soul" in name:
        return "soul_flame"
    if "redstone" in name:
        return "red_flame" if states.get("lit") != "false" else "ember"
    return "flame"


def _lantern(name: str, states: States) -> Shape:
    up = 1 if states["hanging"] == "true" else 0
    glow = "soul_flame" if "soul" in name else "flame"
    body = solid((5, up, 5, 11, up + 1, 11)) + solid((5, up + 1, 5, 11, up + 6, 11), paint=glow)
    top = solid((5, up + 6, 5, 11, up + 7, 11), (6, up + 7, 6, 10, up + 9, 10))
    return body + top + (solid((7, 10, 7, 9, 16, 9)) if up else Shape())


def _button(name: str, states: States) -> Shape:
    high = 1 if states["powered"] == "true" else 2
    if states["face"] == "wall":
        return turned(solid((5, 6, 16 - high, 11, 10, 16)), states["facing"])
    pressed = turned(solid((5, 0, 6, 11, high, 10)), states["facing"])
    return flipped(pressed) if states["face"] == "ceiling" else pressed


def _lever(name: str, states: States) -> Shape:
    base = solid((5, 0, 4, 11, 3, 12), paint="rock")
    stick = solid((7, 3, 4, 9, 10, 6) if states["powered"] == "true" else (7, 3, 10, 9, 10, 12), paint="wood")
    lever = base + stick
    if states["face"] == "wall":
        # Laid back onto the wall in the south: up becomes north.
        laid = (((x0, z0, 16 - y1, x1, z1, 16 - y0), paint) for (x0, y0, z0, x1, y1, z1), paint in lever.parts)
        lever = sum((solid(box, paint=paint) for box, paint in laid), Shape())
    elif states["face"] == "ceiling":
        lever = flipped(lever)
    return turned(lever, states["facing"])


def _bed(name: str, states: States) -> Shape:
    mattress = solid((0, 5, 0, 16, 9, 16))
    frame = solid((0, 3, 0, 16, 5, 16), paint="wood")
    if states["part"] == "head":
        legs = solid((0, 0, 0, 3, 3, 3), (13, 0, 0, 16, 3, 3), paint="wood")
        return turned(mattress + frame + legs + solid((1, 9, 1, 15, 10, 8), paint="white"), states["facing"])
    legs = solid((0, 0, 13, 3, 3, 16), (13, 0, 13, 16, 3, 16), paint="wood")
    return turned(mattress + frame + legs, states["facing"])


def _chest(name: str, states: States) -> Shape:
    body = solid(*table.boxes(name, dict(states)))
    kind = states.get("type", "single")
    # A double chest's latch is where its halves meet.
    left, right = {"left": (15, 16), "right": (0, 1)}.get(kind, (7, 9))
    latch = solid((left, 7, 0, right, 11, 1), paint="iron")
    return body + turned(latch, states["facing"])


def _door(name: str, states: States) -> Shape:
    (leaf,) = table.boxes(name, dict(states))
    if states["half"] == "lower" or not name.startswith(_GLAZED):
        return solid(leaf)
    x0, _, z0, x1, _, z1 = leaf
    # Two openings side by side, left free by stiles and rails.
    frame = [(0, 3, 0, 16), (7, 9, 4, 12), (13, 16, 0, 16), (3, 13, 0, 4), (3, 13, 12, 16)]
    if x1 - x0 > z1 - z0:
        return solid(*((a, low, z0, b, high, z1) for a, b, low, high in frame))
    return solid(*((x0, low, a, x1, high, b) for a, b, low, high in frame))


_GLAZED = ("oak_", "jungle_", "acacia_", "cherry_", "bamboo_", "iron_", "copper_", "warped_")


def _candle(name: str, states: States) -> Shape:
    places = ((7, 7, 6), (4, 6, 5), (9, 5, 4), (6, 10, 3))[: int(states["candles"])]
    return _candles([(x, 0, z, high) for x, z, high in places], states)


def _candles(places: list[tuple[int, int, int, int]], states: States) -> Shape:
    wax = solid(*((x, low, z, x + 2, low + high, z + 2) for x, low, z, high in places))
    tips = solid(*((x, low + high, z, x + 1, low + high + 1, z + 1) for x, low, z, high in places), paint="dark")
    lit = solid(*((x, low + high, z, x + 1, low + high + 2, z + 1) for x, low, z, high in places), paint="flame")
    return wax + (lit if states["lit"] == "true" else tips)


def _candle_cake(name: str, states: States) -> Shape:
    return (
        solid((1, 0, 1, 15, 7, 15), paint="cake")
        + solid((1, 7, 1, 15, 8, 15), paint="white")
        + _candles([(7, 8, 7, 6)], states)
    )


def _cake(name: str, states: States) -> Shape:
    west = 1 + 2 * int(states["bites"])
    return solid((west, 0, 1, 15, 7, 15), paint="cake") + solid((west, 7, 1, 15, 8, 15), paint="white")


def _chain(name: str, states: States) -> Shape:
    return along(solid((7, 0, 7, 9, 16, 9)), states["axis"])


def _rail(name: str, states: States) -> Shape:
    shape = states["shape"]
    if shape.startswith("ascending"):
        slope = ShapeSheet(((0, 1, 16), (16, 1, 16), (16, 17, 0), (0, 17, 0)))
        return turned(Shape((), (slope,)), shape.removeprefix("ascending_"))
    bed = flat(1, paint="wood")
    straight = solid((2, 1, 0, 4, 2, 16), (12, 1, 0, 14, 2, 16))
    if shape == "north_south":
        return bed + straight
    if shape == "east_west":
        return bed + turned(straight, "east")
    corner = solid((12, 1, 0, 14, 2, 4), (12, 1, 2, 16, 2, 4), (2, 1, 0, 4, 2, 14), (2, 1, 12, 16, 2, 14))
    return bed + turned(corner, {"north_east": "north", "south_east": "east", "south_west": "south"}.get(shape, "west"))


def _wire(name: str, states: States) -> Shape:
    arms = [turned(solid((7, 0, 0, 9, 1, 7)), way) for way in _COMPASS if states[way] != "none"]
    up = [turned(solid((7, 0, 0, 9, 16, 1)), way) for way in _COMPASS if states[way] == "up"]
    dot = solid((7, 0, 7, 9, 1, 9) if len(arms) > 1 else (5, 0, 5, 11, 1, 11))
    return sum(arms + up, dot)


def _snow(name: str, states: States) -> Shape:
    return solid((0, 0, 0, 16, 2 * int(states["layers"]), 16))


def _campfire(name: str, states: States) -> Shape:
    logs = solid((1, 0, 0, 5, 4, 16), (11, 0, 0, 15, 4, 16), (0, 3, 1, 16, 7, 5), (0, 3, 11, 16, 7, 15), paint="wood")
    bed = solid((5, 0, 0, 11, 1, 16), paint="ember")
    fire = cross(1, 14, wide=10, paint=_flame(name, states)) if states["lit"] == "true" else Shape()
    return turned(logs + bed + fire, states["facing"])


def _cauldron(name: str, states: States) -> Shape:
    body = solid(*table.boxes(name, dict(states)))
    filling = {"water_cauldron": "water", "lava_cauldron": "flame", "powder_snow_cauldron": "white"}.get(name)
    if filling is None:
        return body
    return body + flat(6 + 3 * int(states.get("level", "3")), 2, 14, filling)


def _portal(name: str, states: States) -> Shape:
    return turned(solid((0, 0, 6, 16, 16, 10)), "north" if states["axis"] == "x" else "east")


def _scaffolding(name: str, states: States) -> Shape:
    posts: list[Box] = [(x, 0, z, x + 2, 14, z + 2) for x in (0, 14) for z in (0, 14)]
    return solid((0, 14, 0, 16, 16, 16)) + solid(*posts)


_Drawn = Shape | Callable[[str, States], Shape]
"""A shape that is turned to where its block faces, or one that depends on the block's name and states."""

_SIGN_CHAINS = solid((2, 10, 7, 4, 16, 9), (12, 10, 7, 14, 16, 9), paint="chain")
_WALL_SIGN_CHAINS = solid((2, 10, 7, 4, 14, 9), (12, 10, 7, 14, 14, 9), paint="chain")
_HEAD = solid((4, 0, 4, 12, 8, 12)) + solid((5, 3, 3, 7, 5, 4), (9, 3, 3, 11, 5, 4), paint="dark")
_WALL_HEAD = solid((4, 4, 8, 12, 12, 16)) + solid((5, 7, 7, 7, 9, 8), (9, 7, 7, 11, 9, 8), paint="dark")
_BANNER_POLE = solid((7, 0, 7, 9, 28, 9), (1, 28, 7, 15, 29, 9), paint="wood")
_RUNGS: tuple[Box, ...] = tuple((4, y, 15, 12, y + 2, 16) for y in (1, 5, 9, 13))

_BY_NAME: dict[str, _Drawn] = {
    "lever": _lever,
    "ladder": solid((2, 0, 15, 4, 16, 16), (12, 0, 15, 14, 16, 16), *_RUNGS),
    "chest": _chest,
    "trapped_chest": _chest,
    "ender_chest": _chest,
    "candle": _candle,
    "cake": _cake,
    "chain": _chain,
    "redstone_wire": _wire,
    "snow": _snow,
    "nether_portal": _portal,
    "end_portal": lambda name, states: solid((0, 6, 0, 16, 12, 16)),
    "scaffolding": _scaffolding,
    "tripwire_hook": solid((6, 1, 14, 10, 9, 16), paint="wood") + solid((7, 4, 8, 9, 6, 14), paint="iron"),
    "tripwire": lambda name, states: solid((0, 1, 8, 16, 2, 9), (8, 1, 0, 9, 2, 16)),
}
_BY_ENDING: tuple[tuple[str, _Drawn], ...] = (
    ("torch", _torch),
    ("lantern", _lantern),
    ("_door", _door),
    ("_button", _button),
    ("_pressure_plate", solid((1, 0, 1, 15, 1, 15))),
    ("_bed", _bed),
    ("_wall_hanging_sign", solid((1, 0, 7, 15, 10, 9), (0, 14, 6, 16, 16, 10)) + _WALL_SIGN_CHAINS),
    ("_hanging_sign", solid((1, 0, 7, 15, 10, 9)) + _SIGN_CHAINS),
    ("_wall_sign", solid((0, 4, 14, 16, 12, 16))),
    ("_sign", solid((0, 8, 7, 16, 16, 9), (7, 0, 7, 9, 8, 9))),
    ("_wall_head", _WALL_HEAD),
    ("_wall_skull", _WALL_HEAD),
    ("_head", _HEAD),
    ("_skull", _HEAD),
    ("_wall_banner", solid((1, -14, 14, 15, 13, 15)) + solid((1, 13, 14, 15, 14, 16), paint="wood")),
    ("_banner", solid((1, 1, 6, 15, 28, 7)) + _BANNER_POLE),
    ("candle_cake", _candle_cake),
    ("_candle", _candle),
    ("rail", _rail),
    ("campfire", _campfire),
    ("cauldron", _cauldron),
)
"""The first match counts."""

_OTHERS = frozenset({"sea_lantern", "jack_o_lantern", "piston_head"})
"""Other blocks that end alike."""

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


def plant_shape_of(name: str, states: States) -> Shape | None:
    """Return the shape of a plant, or None for other blocks."""
    if name.startswith("potted_"):
        pot = solid((5, 0, 5, 11, 6, 11), paint="pot")
        plant = name.removeprefix("potted_")
        if plant in ("cactus", "bamboo"):
            return pot + solid((6, 6, 6, 10, 16, 10))
        if plant in FLOWERS:
            return pot + cross(6, 11, wide=4, paint="leaf") + cross(10, 15, wide=6)
        return pot + cross(6, 15, wide=10)
    if name in FLOWERS:
        if name in _TALL and states.get("half") == "lower":
            return cross(0, 16, wide=6, paint="leaf")
        return cross(0, 8, wide=6, paint="leaf") + cross(7, 14, wide=10 if name in _TALL else 8)
    if name in _CROPS:
        return _crop(2 + 12 * int(states["age"]) // _CROPS[name])
    if name in ("melon_stem", "pumpkin_stem"):
        return cross(0, 2 * (1 + int(states["age"])), wide=6)
    if name.endswith("_sapling") and name != "bamboo_sapling":
        return cross(0, 6, wide=4, paint="wood") + cross(5, 15, wide=12)
    if name in ("red_mushroom", "brown_mushroom", "crimson_fungus", "warped_fungus"):
        return solid((7, 0, 7, 9, 4, 9), paint="white") + solid((5, 4, 5, 11, 7, 11))
    if name in ("vine", "glow_lichen", "sculk_vein"):
        # Sheets on the sides that hold it, a sixteenth off the wall; standing free for itself where none does.
        leaf = Shape((), (ShapeSheet(((0, 0, 1), (16, 0, 1), (16, 16, 1), (0, 16, 1))),))
        held = [turned(leaf, side) for side in _SIDES if states.get(side) == "true"]
        if states.get("up") == "true":
            held.append(flat(15))
        if states.get("down") == "true":
            held.append(flat(1))
        return sum(held or [leaf], Shape())
    return _other(name, states)


def _other(name: str, states: States) -> Shape | None:
    if name in _LOW:
        return cross(0, _LOW[name])
    if name in _CROSSED:
        return cross(0, 16)
    if name.endswith("_wall_fan"):
        leaf = ShapeSheet(((1, 5, 16), (15, 5, 16), (15, 9, 3), (1, 9, 3)))
        return turned(Shape((), (leaf,)), states["facing"])
    if name.endswith(("_coral_fan", "_coral")):
        return cross(0, 14) if name.endswith("_coral") else cross(0, 5, wide=16)
    if name in ("lily_pad", "frogspawn", "pink_petals"):
        return flat(2 if name == "pink_petals" else 1, 1, 15)
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


def _crop(high: int) -> Shape:
    """Four upright quads, as rows of a field."""
    rows = tuple(ShapeSheet(((0, 0, z), (16, 0, z), (16, high, z), (0, high, z))) for z in (4, 12))
    return Shape((), rows) + turned(Shape((), rows), "east")
