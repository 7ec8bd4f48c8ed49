"""From the palette of a file to the materials of a blueprint: names, jigsaws, kinds of air, and their order."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks.blueprint import Blueprint, Cells, base_name, first_seen, material, states_of
from worldgauge.worlds.blocks.nbt import Fields, Limits, material_of_text, nbt_library, plain
from worldgauge.worlds.minecraft.cells.cells import split_state, state_text
from worldgauge.worlds.minecraft.versions import NAMES, current


class Final(NamedTuple):
    """The final block of a jigsaw.

    Attributes:
        cell: Cell (x, y, z) in the box.
        material: Text of the material.
    """

    cell: tuple[int, int, int]
    material: str


class Build(NamedTuple):
    """What a reader of one format returns.

    Attributes:
        blueprint: The build.
        facts: Facts in the file.
        warnings: What was left out or guessed.
    """

    blueprint: Blueprint
    facts: dict[str, Any]
    warnings: tuple[str, ...] = ()


def final_of(fields: Fields) -> str | None:
    """The material that a jigsaw becomes; data of the block, as of a spawner, are left out.

    Returns:
        Text of the material. None where the data do not say.
    """
    if "final_state" not in fields:
        return None
    try:
        return material_of_text(fields.text("final_state").partition("{")[0])
    except ValueError as error:
        raise fields.error("final_state", f"{error}; export the file again") from None


def check_box(size: Sequence[int], fields: Fields, key: str, limits: Limits) -> None:
    """Check a box of blocks."""
    width, height, depth = size
    if min(size) < 1:
        raise fields.error(key, f"gives a box of {width} x {height} x {depth} blocks; all sides must be 1 or more")
    if max(size) > limits.most_side or width * height * depth > limits.most_cells:
        raise fields.error(
            key,
            f"gives a box of {width} x {height} x {depth} blocks, past the limits of {limits.most_side} a side and "
            f"{limits.most_cells} in all; split the build",
        )


def settled(cells: Cells, names: Sequence[str], finals: Iterable[Final]) -> tuple[Cells, list[str], tuple[str, ...]]:
    """Replace jigsaw blocks by what they become; jigsaws without a final state become air.

    Args:
        cells: Numbers (height, depth, width) of `names`; changed in place.
        names: Names of the blocks.

    Returns:
        Cells, names and warnings.
    """
    found = list(names)
    jigsaws = np.isin(cells, [number for number, name in enumerate(names) if base_name(name) == "jigsaw"])
    if not jigsaws.any():
        return cells, found, ()
    numbers = {name: number for number, name in reversed(list(enumerate(found)))}
    air = numbers.setdefault("air", len(found))
    found += ["air"] if air == len(found) else []
    cells[jigsaws] = air
    left = int(jigsaws.sum())
    height, depth, width = cells.shape
    for (x, y, z), name in finals:
        if 0 <= x < width and 0 <= y < height and 0 <= z < depth and jigsaws[y, z, x]:
            if name not in numbers:
                numbers[name] = len(found)
                found.append(name)
            cells[y, z, x] = numbers[name]
            jigsaws[y, z, x] = False
            left -= 1
    return cells, found, (f"{left} jigsaw blocks have no final state and are air",) if left else ()


MOST_SIDE = 0xFFFF
MOST_NAMED = 8
"""Materials in a message."""


def current_material(text: str, data_version: int | None) -> str:
    """The material of a block state of any version, in the names of 1.20.4; see `versions.current`."""
    return material(*split_state(current(state_text(*states_of(text)), data_version)))


def in_current_names(blueprint: Blueprint, data_version: int | None) -> Blueprint:
    """The build with its materials in the names of 1.20.4; materials that become one are one."""
    names = [current_material(name, data_version) for name in blueprint.materials]
    return first_seen(np.maximum(blueprint.cells, 0), ["air", *names])


def game_states(materials: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    """Names, with namespace, and all states of materials, as 1.20.4 has them.

    States that 1.20.4 does not have, and missing ones, get their defaults. Names of another namespace stay.
    """
    found, missing = [], []
    for text in materials:
        try:
            said = material_of_text(text)
        except ValueError as error:
            raise UsageError(
                f"material '{plain(text[:80])}' cannot be written: {error}; give the game's own name"
            ) from None
        name, states = states_of(current_material(said, None))
        if ":" not in name:
            if not table.known(name):
                missing.append(name)
            name, states = table.stated(material(name, states))
        found.append((name if ":" in name else f"minecraft:{name}", states))
    if missing:
        names = list(dict.fromkeys(missing))
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        raise UsageError(
            f"structure files are written for {NAMES}, which has no block {', '.join(names[:MOST_NAMED])}{more}; "
            "replace it in the build"
        )
    return found


def check_size(blueprint: Blueprint) -> None:
    """Check that a structure file can hold a blueprint."""
    if not 1 <= min(blueprint.size) <= max(blueprint.size) <= MOST_SIDE:
        raise UsageError(f"a structure file has 1 to {MOST_SIDE} blocks a side, this blueprint {tuple(blueprint.size)}")


def packed(name: str, content: Callable[[Any], dict[str, Any]]) -> bytes:
    """Encode a root compound as NBT, compressed by gzip."""
    library = nbt_library()
    file = io.BytesIO()
    library.File(content(library), root_name=name).write(file)
    return gzip.compress(file.getvalue(), mtime=0)
