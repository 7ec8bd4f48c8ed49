"""Names of materials that designs choose from."""

from __future__ import annotations

from typing import NamedTuple

WOODS = ("oak", "spruce", "birch", "jungle", "acacia", "dark_oak", "mangrove", "cherry")
COLOURS = ("white", "orange", "light_blue", "yellow", "lime", "pink", "cyan", "purple", "blue", "green", "red")
BRIGHT = ("red", "blue", "yellow", "lime", "orange", "light_blue", "cyan", "purple")
"""Paints of toys and vehicles."""
FLOWERS = ("poppy", "dandelion", "blue_orchid", "allium", "azure_bluet", "cornflower", "oxeye_daisy", "pink_tulip")


class Masonry(NamedTuple):
    """A stone with the shapes it is cut in. words: its name in sentences."""

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
    """A name as words: "dark oak" for dark_oak."""
    return name.replace("_", " ")
