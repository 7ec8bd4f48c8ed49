"""Sponge schematics (`.schem`), versions 2 and 3: what WorldEdit and its kin save."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.core.io import write_file
from worldgauge.worlds.blocks.blueprint import Blueprint, Cells, first_seen
from worldgauge.worlds.blocks.nbt import Fields, Limits, check_numbers, material_of_text
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
from worldgauge.worlds.minecraft.cells.cells import state_text
from worldgauge.worlds.minecraft.versions import DATA_VERSION

WRAP = "Schematic"
"""Field of the root that version 3 puts all others into."""
MOST_PALETTE = 1 << 16
MOST_NUMBER_BYTES = 3
"""Of a palette's number in groups of seven bits."""
SLAB = 1 << 20
"""Cells that are packed at a time: the arrays in between are ten times the result."""


def read_schem(root: Fields, limits: Limits) -> Build:
    """Read a schematic, wrapped or not. Its cells run along x, then z, then y.

    Args:
        root: Root compound.
        limits: Largest size.

    Returns:
        The build.

    Raises:
        DataError: It is malformed or too large.
    """
    body = root.compound(WRAP) if WRAP in root else root
    version = body.whole("Version", 0, 2**31 - 1)
    if version not in (2, 3):
        raise body.error("Version", f"is {version}; save it again as version 2 or 3")
    width, height, depth = size = [
        body.whole(key, -(2**15), 2**16 - 1) & 0xFFFF for key in ("Width", "Height", "Length")
    ]
    check_box(size, body, "Width", limits)
    blocks = body.compound("Blocks") if version == 3 else body
    names, numbers = _palette(blocks)
    data = "Data" if version == 3 else "BlockData"
    found = _numbers(blocks, data, width * height * depth)
    check_numbers(found, len(numbers), blocks, data)
    cells: Cells = numbers[found]
    if (cells < 0).any():
        raise blocks.error(data, f"holds {found[np.argmax(cells < 0)]}, which the palette leaves out")
    finals = []
    for one in blocks.compounds("BlockEntities", needed=False):
        inner = one.compound("Data") if version == 3 and "Data" in one else one
        if (final := final_of(inner)) is not None:
            finals.append(Final(one.place("Pos"), final))
    cells, names, warnings = settled(cells.reshape(height, depth, width), names, finals)
    facts: dict[str, Any] = body.facts("Version", "DataVersion")
    if "Metadata" in body:
        facts |= body.compound("Metadata").facts("Name", "Author")
    return Build(first_seen(cells, names), facts, warnings)


def write_schem(path: Path, blueprint: Blueprint, version: Literal[2, 3] = 2) -> None:
    """Write a schematic for game version 1.20.4, air included. The same blueprint gives the same bytes.

    States that a material leaves out are written with their defaults: other readers guess what is missing.

    Args:
        path: The file.
        blueprint: The blueprint.
        version: Version of the format.

    Raises:
        UsageError: Another version, materials that are not blocks of 1.20.4, or a size that no schematic has.
        MissingExtraError: nbtlib is not installed.
        DataError: It cannot be written.
    """
    if version not in (2, 3):
        raise UsageError(f"schematics are written in version 2 or 3, not {version}")
    check_size(blueprint)
    height, depth, width = blueprint.cells.shape
    names: dict[str, int] = {}
    states = game_states(("air", *blueprint.materials))
    table = [names.setdefault(state_text(*one), len(names)) for one in states]
    data = _packed(np.array(table, np.int32)[np.maximum(blueprint.cells, 0)].ravel())

    def content(tags: Any) -> dict[str, Any]:
        palette = tags.Compound({name: tags.Int(number) for name, number in names.items()})
        entities = tags.List[tags.Compound]([])
        body = {
            "Version": tags.Int(version),
            "DataVersion": tags.Int(DATA_VERSION),
            "Width": tags.Short.from_unsigned(width),
            "Height": tags.Short.from_unsigned(height),
            "Length": tags.Short.from_unsigned(depth),
            "Offset": tags.IntArray([0, 0, 0]),
        }
        cells = tags.ByteArray(data.view(np.int8))
        if version == 2:
            last = tags.Int(len(names))
            return body | {"PaletteMax": last, "Palette": palette, "BlockData": cells, "BlockEntities": entities}
        body["Blocks"] = tags.Compound({"Palette": palette, "Data": cells, "BlockEntities": entities})
        return {WRAP: tags.Compound(body)}

    write_file(path, packed(WRAP if version == 2 else "", content))


def _palette(blocks: Fields) -> tuple[list[str], NDArray[np.int32]]:
    """Names, and the position in them of each number that cells may hold; -1 for numbers left out."""
    palette = blocks.compound("Palette")
    if not palette.tags:
        raise blocks.error("Palette", "is empty")
    names, places = [], []
    for text in palette.tags:
        try:
            names.append(material_of_text(text))
        except ValueError as error:
            raise palette.error(text[:80], f"{error}; export the file again") from None
        places.append(palette.whole(text, 0, MOST_PALETTE - 1))
    if len(set(places)) < len(places):
        raise blocks.error("Palette", "gives two blocks one number; export the file again")
    numbers = np.full(max(places) + 1, -1, np.int32)
    numbers[places] = np.arange(len(places), dtype=np.int32)
    return names, numbers


def _numbers(blocks: Fields, key: str, count: int) -> NDArray[np.int32]:
    """`count` numbers of groups of seven bits, the lowest first; the eighth bit says that another group follows."""
    data = blocks.array(key, 1).view(np.uint8)
    ends = np.flatnonzero(data < 0x80).astype(np.int32)
    if len(ends) != count or data[-1] >= 0x80:
        raise blocks.error(key, f"holds {len(ends)} whole numbers for {count} cells; export the file again")
    starts = np.concatenate([np.zeros(1, np.int32), ends[:-1] + 1])
    sizes = ends - starts + 1
    if sizes.max() > MOST_NUMBER_BYTES:
        raise blocks.error(key, f"has a number of more than {MOST_NUMBER_BYTES} bytes at byte {starts[sizes.argmax()]}")
    found: NDArray[np.int32] = (data[starts] & 0x7F).astype(np.int32)
    for group in range(1, int(sizes.max())):
        longer = sizes > group
        found[longer] |= (data[starts[longer] + group] & 0x7F).astype(np.int32) << (7 * group)
    return found


def _packed(numbers: NDArray[np.int32]) -> NDArray[np.uint8]:
    """The inverse of `_numbers`."""
    shifts = 7 * np.arange(max(1, -(-int(numbers.max()).bit_length() // 7)), dtype=np.int32)
    slabs = []
    for start in range(0, len(numbers), SLAB):
        rest = numbers[start : start + SLAB, None] >> shifts
        used = (rest > 0) | (shifts == 0)
        slabs.append(((rest & 0x7F) | np.where(rest > 0x7F, 0x80, 0)).astype(np.uint8)[used])
    return np.concatenate(slabs)
