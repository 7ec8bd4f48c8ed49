"""What each kind of settlement is made of: its land, its plants, and the materials of its houses."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Palette:
    """Materials of one house."""

    wall: str
    beam: str
    plinth: str
    roof_stairs: str
    roof_slab: str
    roof_cube: str
    floor: str
    fence: str
    window: str
    cloth: str
    upper: str
    """Wall of gables and upper storeys."""


@dataclass(frozen=True)
class Biome:
    """Land, plants and houses of one kind of settlement. Densities are shares of free ground cells."""

    ground: str
    soil: str
    shore: str
    bed: str
    relief: float
    patches: tuple[tuple[str, float, int], ...]  # (block, threshold in [0, 1], period in metres) of other ground
    stream: bool
    ponds: int
    trees: tuple[tuple[str, int], ...]  # (species, weight)
    forest: float  # share of the countryside's 7 m squares with a tree
    herbs: tuple[tuple[str, float], ...]
    flowers: tuple[str, ...]
    boulders: tuple[str, ...]
    path: str
    path_worn: str
    palettes: tuple[Palette, ...]
    crops: tuple[str, ...]
    roofs: tuple[str, ...]
    designs: tuple[str, ...]
    special: tuple[str, ...]
    post: str
    bridge: str
    shore_tree: str = ""
    frozen: bool = False
    ruined: bool = False
    snowy: bool = False


def _biomes() -> dict[str, Biome]:
    """Biomes from the table beside this file; `like` names the entry that gives what an entry leaves out."""
    data = json.loads((files(__package__) / "biomes.json").read_text("utf-8"))
    palettes = {name: Palette(**fields) for name, fields in data["palettes"].items()}
    biomes: dict[str, Biome] = {}
    for name, fields in data["biomes"].items():
        fields = {key: _as_tuples(value) for key, value in fields.items()}
        if "like" in fields:
            biomes[name] = replace(biomes[fields.pop("like")], **fields)
            continue
        fields["palettes"] = tuple(replace(palettes[one.pop("like")], **one) for one in fields["palettes"])
        biomes[name] = Biome(**fields)
    return biomes


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(item) for item in value) if isinstance(value, list) else value


BIOMES = _biomes()
