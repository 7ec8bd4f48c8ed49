"""The list of designs, each for one type of building and one tier of difficulty, and the materials they choose from."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from worldgauge.suites.build.generate.structures.brush import Canvas, Draw
from worldgauge.worlds.blocks.blueprint import Tier

Design = Callable[[Draw], Canvas]

TYPES = (
    "houses",
    "animals",
    "items",
    "town_centers",
    "fictional_characters",
    "cars",
    "military_buildings",
    "buses",
    "emergency_vehicles",
    "miscellaneous",
    "famous_films",
    "working_vehicles",
    "bridges",
    "garden",
    "parks",
    "ruins",
    "ships",
    "sightseeing_buildings",
    "planes",
    "minecraft_villages",
    "lamps",
    "others",
)
"""Types of buildings, in the order of Table 5."""
TIERS: tuple[Tier, ...] = ("easy", "medium", "hard")

_DESIGNS: dict[tuple[str, Tier], list[Design]] = {}


def designs_of(type_: str, tier: Tier) -> tuple[Design, ...]:
    """Return the designs of a type and tier, in the order they were registered."""
    return tuple(_DESIGNS[type_, tier])


def design(type_: str, tier: Tier) -> Callable[[Design], Design]:
    """Register a design of a type and tier."""

    def enter(drawn: Design) -> Design:
        _DESIGNS.setdefault((type_, tier), []).append(drawn)
        return drawn

    return enter


WOODS = ("oak", "spruce", "birch", "jungle", "acacia", "dark_oak", "mangrove", "cherry")
COLOURS = ("white", "orange", "light_blue", "yellow", "lime", "pink", "cyan", "purple", "blue", "green", "red")
BRIGHT = ("red", "blue", "yellow", "lime", "orange", "light_blue", "cyan", "purple")
"""Paints of toys and vehicles."""
FLOWERS = ("poppy", "dandelion", "blue_orchid", "allium", "azure_bluet", "cornflower", "oxeye_daisy", "pink_tulip")


class Masonry(NamedTuple):
    """A stone and the shapes it comes in.

    Attributes:
        words: Its name in sentences.
        block: The full block.
        stairs: Stairs of it.
        slab: Slabs of it.
        wall: Walls of it.
    """

    words: str
    block: str
    stairs: str
    slab: str
    wall: str


def _cut(words: str, block: str, stem: str) -> Masonry:
    return Masonry(words, block, f"{stem}_stairs", f"{stem}_slab", f"{stem}_wall")


MASONRY = {
    made.words: made
    for made in (
        _cut("stone brick", "stone_bricks", "stone_brick"),
        _cut("cobblestone", "cobblestone", "cobblestone"),
        _cut("deepslate brick", "deepslate_bricks", "deepslate_brick"),
        _cut("brick", "bricks", "brick"),
        _cut("mud brick", "mud_bricks", "mud_brick"),
        _cut("sandstone", "sandstone", "sandstone"),
        _cut("red sandstone", "red_sandstone", "red_sandstone"),
        _cut("andesite", "andesite", "andesite"),
        _cut("diorite", "diorite", "diorite"),
    )
}


def said(name: str) -> str:
    """Return a name as words: "dark oak" for dark_oak."""
    return name.replace("_", " ")
