"""Cells put into a copy of a saved world, without the game and without Node.

    version = version_of(Path("saves/village"), box)
    put_cells(Path("saves/village"), Path("copy"), cells)

What the game works out by itself is left to it: heights and light of the chunks that were touched are marked as not
known. Needs the extra 'structures'.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import write_file
from worldgauge.worlds.blocks.nbt import Fields, nbt_library
from worldgauge.worlds.blocks.nbt.region import SECTOR, SIDE, read_chunk, region_bytes, region_name
from worldgauge.worlds.minecraft.cells.cells import AIR, Cells
from worldgauge.worlds.minecraft.cells.chunks import (
    bare_section,
    blocks_of,
    bytes_of,
    demand_inside,
    overlap,
    section_numbers,
    sections_of,
)
from worldgauge.worlds.minecraft.cells.regions import Box, atomic_folder, box_of

_LAST_1_16, _FIRST_1_20_3 = 2586, 3698
"""DataVersions: between them blocks were renamed and added, one by one."""


def version_of(world: Path, box: Box) -> str:
    """Find the version whose names a box of a saved world uses.

    Args:
        world: Folder of the saved world.
        box: The box.

    Returns:
        "1.16.5" (for 1.16 to 1.16.5) or "1.20.4" (for 1.20.3 and later).

    Raises:
        UsageError: The box is above or below the world.
        DataError: Not a saved world, or a chunk is missing, damaged, of another version, or of another one than the
            chunks before.
    """
    if not world.is_dir():
        raise DataError(f"{world}: no such folder")
    if not (world / "region").is_dir():
        raise DataError(f"{world}: is no saved world: it has no folder 'region'")
    found = ""
    for chunk, _ in _chunks(world, box):
        number = chunk.whole("DataVersion", 0, 2**31 - 1)
        if _LAST_1_16 < number < _FIRST_1_20_3:
            why = f"was saved by a version between 1.16.5 and 1.20.3 (DataVersion {number})"
            raise DataError(f"{chunk.what} {why}; open and save it in a newer one")
        own = "1.16.5" if number <= _LAST_1_16 else "1.20.4"
        if found not in ("", own):
            raise DataError(f"{chunk.what} was saved by another version than those beside it; save them all in one")
        found = own
    demand_inside(box[0][1], box[1][1], found)
    return found


def put_cells(world: Path, out: Path, cells: Cells) -> None:
    """Copy a saved world to a new folder, with cells in place of what is there; complete or not at all.

    Chunks that the cells touch lose what chests, signs and the like hold where cells are put. All else stays the same
    to the byte.

    Args:
        world: Folder of the saved world.
        out: The new folder, outside `world`.
        cells: Cells with complete states, in the names of `version_of`.

    Raises:
        UsageError: `out` exists or lies in the world, or as `version_of`.
        DataError: The world has links, cannot be read as `version_of`, or cannot be written.
    """
    box = box_of(cells)
    old = version_of(world, box) == "1.16.5"
    if out.resolve().is_relative_to(world.resolve()):
        raise UsageError(f"{out}: lies in the world itself; name a folder beside it")
    if link := next((path for path in world.rglob("*") if path.is_symlink()), None):
        raise DataError(f"{link}: is a link; put the file itself there")
    changed: dict[str, list[tuple[int, int, bytes]]] = {}
    for chunk, (cx, cz) in _chunks(world, box):
        changed.setdefault(region_name(cx, cz), []).append((cx, cz, _edited(chunk, (cx, cz), cells, old=old)))
    with atomic_folder(out) as part:
        shutil.copytree(world, part)
        for name, chunks in changed.items():
            path = part / "region" / name
            write_file(path, _patched(path.read_bytes(), chunks))


def _chunks(world: Path, box: Box) -> Iterator[tuple[Fields, tuple[int, int]]]:
    """The chunks of a box, each with its place."""
    low, high = box
    for cx in range(low[0] // SIDE, high[0] // SIDE + 1):
        for cz in range(low[2] // SIDE, high[2] // SIDE + 1):
            yield read_chunk(world / "region", cx, cz), (cx, cz)


def _edited(chunk: Fields, at: tuple[int, int], cells: Cells, *, old: bool) -> bytes:
    """Unpacked NBT of a chunk with those cells in it that lie there."""
    tags = nbt_library()
    known = {section.level: section for section in sections_of(chunk, at)}
    fields = chunk.compound("Level") if old else chunk
    root: Any = fields.tags
    listed = "Sections" if old else "sections"
    own = {section.whole("Y", -128, 127): dict(section.tags) for section in fields.compounds(listed)}
    low, height = cells.origin[1], cells.size[1]
    for level in range(low // SIDE, (low + height - 1) // SIDE + 1):
        numbers, names = np.zeros((SIDE, SIDE, SIDE), np.int64), [AIR]
        if level in known:
            found, said = section_numbers(known[level])
            names = list(dict.fromkeys([AIR, *said]))
            numbers = np.array([names.index(name) for name in said])[found]
        palette = list(dict.fromkeys([*names, *cells.palette]))
        inner, outer = overlap((SIDE * at[0], SIDE * level, SIDE * at[1]), cells.origin, cells.size)
        table = np.array([palette.index(name) for name in cells.palette])
        numbers.transpose(2, 0, 1)[inner] = table[cells.index[outer]]
        section = own.get(level, bare_section(tags, level, old=old))
        own[level] = section | blocks_of(tags, numbers.ravel(), palette, old=old)
    root[listed] = tags.List[tags.Compound](tags.Compound(own[level]) for level in sorted(own))
    holders = "TileEntities" if old else "block_entities"
    kept = [one.tags for one in fields.compounds(holders, needed=False) if not _inside(one, cells)]
    root[holders] = tags.List[tags.Compound](kept)
    root["Heightmaps"] = tags.Compound()
    root["isLightOn"] = tags.Byte(0)
    return bytes_of(tags, chunk.tags)


def _inside(holder: Fields, cells: Cells) -> bool:
    """Whether what a block holds belongs to a block that is replaced."""
    place = [holder.whole(axis, -(2**31), 2**31 - 1) - low for axis, low in zip("xyz", cells.origin, strict=True)]
    return all(0 <= at < side for at, side in zip(place, cells.size, strict=True))


def _patched(data: bytes, chunks: list[tuple[int, int, bytes]]) -> bytes:
    """A region file with chunks replaced: they go to its end, and all others stay where they are."""
    sectors = -(-len(data) // SECTOR)
    new = region_bytes(chunks)
    theirs, ours = (np.frombuffer(table[:SECTOR], ">u4") for table in (data, new))
    moved = ours + ((sectors - 2) << 8)  # a new file's chunks begin after two sectors of tables
    table = np.where(ours > 0, moved, theirs).astype(">u4")
    return table.tobytes() + data[SECTOR:].ljust(SECTOR * (sectors - 1), b"\0") + new[2 * SECTOR :]
