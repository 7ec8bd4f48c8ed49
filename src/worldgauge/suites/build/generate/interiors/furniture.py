"""Furniture of block rooms: what each piece is built of, how much floor it takes, and which rooms it belongs in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from worldgauge.worlds.blocks.blueprint import material, states_of

COMPASS: dict[str, tuple[int, int]] = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
"""Steps along x and z."""
SIDES = tuple(COMPASS)


def turned(side: str, quarters: int) -> str:
    """Return a compass side after quarter turns to the right."""
    return SIDES[(SIDES.index(side) + quarters) % 4]


class Block(NamedTuple):
    """One block of a piece.

    Attributes:
        along: Blocks from its left end, seen by somebody who faces its front.
        out: Blocks from its back.
        up: Blocks from the floor.
        material: With `{front}`, `{back}`, `{near}`, `{far}` for compass sides.
    """

    along: int
    out: int
    up: int
    material: str


@dataclass(frozen=True)
class Design:
    """How a piece is built.

    Attributes:
        layers: From the floor up, separated by "|", rows from back to front by "/"; "." is air.
        legend: Material of each letter.
        rooms: Kinds of rooms it belongs in.
        used: Whether somebody must be able to stand in front of it.
        flat: Whether one walks over it.
        stretch: Default width in blocks, 0 for pieces of one width only.
    """

    layers: str
    legend: Mapping[str, str]
    rooms: frozenset[str]
    used: bool = True
    flat: bool = False
    stretch: int = 0

    def rows(self, width: int | None = None) -> list[list[str]]:
        """Return letters [up][out], `width` wide if the design can be stretched."""
        times = (width or self.stretch) if self.stretch else 1
        return [[row * times for row in layer.split("/")] for layer in self.layers.split("|")]

    def blocks(self, width: int | None = None) -> Iterator[Block]:
        """Return all blocks, in the piece's own frame."""
        for up, layer in enumerate(self.rows(width)):
            for out, row in enumerate(layer):
                for along, letter in enumerate(row):
                    if letter != ".":
                        yield Block(along, out, up, self.legend[letter])

    def size(self, width: int | None = None) -> tuple[int, int, int]:
        """Return width, depth and height in blocks."""
        rows = self.rows(width)
        return len(rows[0][0]), len(rows[0]), len(rows)


@dataclass(frozen=True)
class Style:
    """Materials of a room: a kind of wood, a colour of textiles, blocks of walls and floor."""

    wood: str
    dye: str
    sofa: str
    wall: str
    floor: str


def built_of(text: str, style: Style, front: str) -> str:
    """Return the material of a block as `blueprint.material` writes it.

    Args:
        text: Material with placeholders, see `Block`.
        style: Materials of the room.
        front: Compass side of the piece's front.
    """
    said = text.format(
        front=front,
        back=turned(front, 2),
        near=turned(front, 1),
        far=turned(front, 3),
        wood=style.wood,
        dye=style.dye,
        sofa=style.sofa,
    )
    name, states = states_of(said)
    return material(name, states)


def _rooms(names: str) -> frozenset[str]:
    return frozenset(names.split(","))


_EVERYWHERE = "bedroom,kitchen,living room,bathroom,library,workshop,dining room,study"
_STAIRS = "[facing={back},half=bottom,shape=straight,waterlogged=false]"
_POST = "{wood}_fence[east=false,north=false,south=false,waterlogged=false,west=false]"
_TOP = "{wood}_slab[type=top,waterlogged=false]"
_LEAVES = "oak_leaves[distance=7,persistent=true,waterlogged=false]"

DESIGNS: dict[str, Design] = {
    "bed": Design(
        "HH/FF",
        {
            "H": "{dye}_bed[facing={back},occupied=false,part=head]",
            "F": "{dye}_bed[facing={back},occupied=false,part=foot]",
        },
        _rooms("bedroom"),
        used=False,
    ),
    "wardrobe": Design("ww|ww|ww", {"w": "{wood}_planks"}, _rooms("bedroom")),
    "desk": Design("t|.", {"t": _TOP}, _rooms("bedroom,study,library"), stretch=3),
    "chair": Design("s", {"s": "{wood}_stairs" + _STAIRS}, _rooms(_EVERYWHERE), used=False),
    "table": Design("tt/tt/tt", {"t": _TOP}, _rooms("kitchen,living room,dining room,library"), used=False),
    "sofa": Design("s", {"s": "{sofa}_stairs" + _STAIRS}, _rooms("living room,library"), stretch=3),
    "television": Design(
        "ccc|TTT",
        {"c": "{wood}_slab[type=double,waterlogged=false]", "T": "black_concrete"},
        _rooms("living room,bedroom"),
    ),
    "bookshelf": Design("b|b", {"b": "bookshelf"}, _rooms("bedroom,living room,library,study"), stretch=3),
    "lamp": Design("f|f|g", {"f": _POST, "g": "glowstone"}, _rooms(_EVERYWHERE), used=False),
    "stove": Design(
        "f|p",
        {"f": "furnace[facing={front},lit=true]", "p": "heavy_weighted_pressure_plate[power=0]"},
        _rooms("kitchen"),
    ),
    "refrigerator": Design("i|i", {"i": "iron_block"}, _rooms("kitchen")),
    "sink": Design("c", {"c": "water_cauldron[level=3]"}, _rooms("kitchen,bathroom")),
    "counter": Design("q", {"q": "smooth_quartz"}, _rooms("kitchen"), stretch=3),
    "bathtub": Design(
        "nmf",
        {
            "n": "quartz_stairs[facing={near},half=bottom,shape=straight,waterlogged=true]",
            "m": "water_cauldron[level=3]",
            "f": "quartz_stairs[facing={far},half=bottom,shape=straight,waterlogged=true]",
        },
        _rooms("bathroom"),
    ),
    "toilet": Design(
        "Q/s", {"Q": "quartz_block", "s": "quartz_slab[type=bottom,waterlogged=false]"}, _rooms("bathroom")
    ),
    "chest": Design(
        "c", {"c": "chest[facing={front},type=single,waterlogged=false]"}, _rooms("bedroom,living room,workshop,study")
    ),
    "workbench": Design("w", {"w": "crafting_table"}, _rooms("workshop"), stretch=2),
    "anvil": Design("a", {"a": "anvil[facing={near}]"}, _rooms("workshop")),
    "piano": Design(
        "ppp/kkk|ppp/...",
        {"p": "dark_oak_planks", "k": "quartz_slab[type=top,waterlogged=false]"},
        _rooms("living room,library"),
    ),
    "plant": Design("t|l", {"t": "terracotta", "l": _LEAVES}, _rooms(_EVERYWHERE), used=False),
    "fireplace": Design(
        "bCb|bbb|.b.",
        {"b": "bricks", "C": "campfire[facing={front},lit=true,signal_fire=false,waterlogged=false]"},
        _rooms("living room,library,dining room"),
    ),
    "rug": Design("rrr/rrr", {"r": "{dye}_carpet"}, _rooms("bedroom,living room,library,study"), used=False, flat=True),
}
"""All pieces by the names that questions use."""

MISPLACED: dict[str, frozenset[str]] = {
    "refrigerator": _rooms("bathroom,bedroom,library,workshop"),
    "toilet": _rooms("kitchen,living room,library,dining room,workshop"),
    "bathtub": _rooms("kitchen,library,dining room,living room,workshop"),
    "bed": _rooms("kitchen,bathroom,workshop,dining room"),
    "anvil": _rooms("bedroom,bathroom,library,kitchen"),
    "stove": _rooms("bathroom,bedroom,library"),
}
"""Pieces, and kinds of rooms in which nobody would put them."""
