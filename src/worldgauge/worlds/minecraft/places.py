"""The 147 places that LoopNav walked at: 120 villages, 18 biomes and 9 structures of the game's world of one seed.

Source: the released collector's list of teleport points, Java Edition VERSION, seed SEED.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from worldgauge.core.errors import UsageError

SEED = 42
VERSION = "1.16.5"
OVERWORLD = "minecraft:overworld"
OWN = "own"
"""The kind of places that are not published."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CORNER = re.compile(r"-?\d{1,8},-?\d{1,4},-?\d{1,8}")


class Place(NamedTuple):
    """A point around which the published walks start, in game coordinates: a cell for the feet."""

    name: str
    kind: str  # of a village "desert", "plains", "savanna", "snowy", "taiga" or "zombie"; else "biome" or "structure"
    x: int
    y: int
    z: int
    dimension: str
    loose: bool
    split: str | None  # "train", "val" or "test" of a village

    @property
    def published(self) -> bool:
        """Whether it is one of `places()`, which lie in the world of SEED."""
        return self.kind != OWN


@cache
def places() -> MappingProxyType[str, Place]:
    """All of them by name, in the published order. plains_village_2 and taiga_village_2 are one point."""
    usual = {"dimension": OVERWORLD, "loose": False, "split": None}
    found = {}
    for row in json.loads((files(__package__) / "places.json").read_text("utf-8")):
        x, y, z = row.pop("at")
        found[row["name"]] = Place(x=x, y=y, z=z, **usual | row)
    return MappingProxyType(found)


def place(name: str) -> Place:
    """Return the published place of a name."""
    known = places()
    if name not in known:
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean '{near[0]}'?" if near else "such as plains_village_1, desert_temple, beach"
        raise UsageError(f"LoopNav has no place '{name[:80]}' among its {len(known)}: {hint}")
    return known[name]


def place_of(text: str) -> Place:
    """Parse a place: the name of a published one, or NAME@X,Y,Z, a cell for the feet in the overworld."""
    name, mark, numbers = text.partition("@")
    if not mark:
        return place(name)
    if not (_NAME.fullmatch(name) and _CORNER.fullmatch(numbers)):
        raise UsageError(f"'{text[:80]}' is no place: write a published name, or NAME@X,Y,Z such as home@100,64,-20")
    x, y, z = (int(number) for number in numbers.split(","))
    return Place(name, OWN, x, y, z, OVERWORLD, loose=False, split=None)
