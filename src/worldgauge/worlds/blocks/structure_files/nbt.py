"""Structure files of the game itself (`.nbt`): what a structure block saves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.io import write_file
from worldgauge.worlds.blocks.blueprint import Blueprint, first_seen
from worldgauge.worlds.blocks.nbt import Fields, Limits, material_of
from worldgauge.worlds.blocks.structure_files.palette import (
    Build,
    Final,
    check_box,
    check_size,
    final_of,
    game_states,
    packed,
    settled,
)
from worldgauge.worlds.minecraft.versions import DATA_VERSION

KEYS = frozenset({"size", "blocks"})
"""Fields of the root that only this format has."""


def read_nbt(root: Fields, limits: Limits) -> Build:
    """The build of a structure file: size, palette, and blocks with state and position. Missing cells are air.

    Of several palettes, which the game chooses from at random, the first is used.

    Args:
        root: Content of the file.
        limits: Limits on its size.

    Returns:
        The build.

    Raises:
        DataError: For a damaged file.
    """
    size = root.place("size")
    check_box(size, root, "size", limits)
    width, height, depth = size
    palette, warnings = _palette(root)
    names = ["air", *(material_of(entry) for entry in palette)]
    cells = np.full((height, depth, width), -1, np.int32)
    finals = []
    for block in root.compounds("blocks"):
        state = block.whole("state", 0, len(palette) - 1)
        x, y, z = block.place("pos")
        if not (0 <= x < width and 0 <= y < height and 0 <= z < depth):
            raise block.error("pos", f"is ({x}, {y}, {z}), outside the size of {width} x {height} x {depth}")
        if cells[y, z, x] != -1:
            raise block.error("pos", f"is ({x}, {y}, {z}), which an earlier block has; export the file again")
        cells[y, z, x] = state + 1
        if "nbt" in block and (final := final_of(block.compound("nbt"))) is not None:
            finals.append(Final((x, y, z), final))
    np.maximum(cells, 0, out=cells)
    cells, names, more = settled(cells, names, finals)
    return Build(first_seen(cells, names), root.facts("DataVersion", "author"), (*warnings, *more))


def write_nbt(path: Path, blueprint: Blueprint) -> None:
    """Write a structure file for game version 1.20.4. The same blueprint gives the same bytes.

    Air is written too, so it clears what is there. A structure block accepts at most 48 blocks per side.

    Args:
        path: The file.
        blueprint: The build.

    Raises:
        UsageError: For materials that are not blocks of 1.20.4.
        MissingExtraError: When nbtlib is not installed.
        DataError: When the file cannot be written.
    """
    check_size(blueprint)
    palette = game_states(("air", *blueprint.materials))
    height, depth, width = blueprint.cells.shape
    numbers = np.maximum(blueprint.cells, 0).tolist()

    def content(tags: Any) -> dict[str, Any]:
        ints = tags.List[tags.Int]
        blocks = (
            tags.Compound({"pos": ints([tags.Int(x), tags.Int(y), tags.Int(z)]), "state": tags.Int(numbers[y][z][x])})
            for x in range(width)
            for y in range(height)
            for z in range(depth)
        )
        return {
            "DataVersion": tags.Int(DATA_VERSION),
            "size": ints([tags.Int(width), tags.Int(height), tags.Int(depth)]),
            "palette": tags.List[tags.Compound](_entry(tags, *one) for one in palette),
            "blocks": tags.List[tags.Compound](blocks),
            "entities": tags.List[tags.Compound]([]),
        }

    write_file(path, packed("", content))


def _palette(root: Fields) -> tuple[list[Fields], tuple[str, ...]]:
    if "palette" in root or "palettes" not in root:
        return list(root.compounds("palette")), ()
    several = root.tags["palettes"]
    if not isinstance(several, list) or not several or not isinstance(several[0], list):
        raise root.error("palettes", "is not a list of palettes")
    first = Fields({"palettes[0]": several[0]}, root.what)
    return list(first.compounds("palettes[0]")), (f"the first of {len(several)} palettes is taken",)


def _entry(tags: Any, name: str, states: dict[str, str]) -> Any:
    found = {"Name": tags.String(name)}
    if states:
        found["Properties"] = tags.Compound({key: tags.String(value) for key, value in states.items()})
    return tags.Compound(found)
