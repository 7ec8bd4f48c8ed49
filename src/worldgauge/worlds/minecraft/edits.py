"""Cells put into a copy of a saved world, without the game and without Node.

    version = version_of(Path("saves/village"), box)
    put_cells(Path("saves/village"), Path("copy"), cells)

What the game works out by itself is left to it: heights and light of the chunks that were touched are marked as not
known. Needs the extra 'structures'.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import write_file
from worldgauge.worlds.blocks.nbt import (
    COMPOUND,
    Fields,
    edited,
    elements,
    list_of_compounds,
    nbt_library,
    parts,
    root_value,
    tag,
)
from worldgauge.worlds.blocks.regions import SIDE, SavedChunk, read_chunk, region_folder, region_name, replaced
from worldgauge.worlds.minecraft.cells import AIR, Cells
from worldgauge.worlds.minecraft.regions import (
    Box,
    atomic_folder,
    bare_section,
    blocks_of,
    box_of,
    data_version,
    demand_inside,
    overlap,
    section_numbers,
    sections_of,
)
from worldgauge.worlds.minecraft.versions import DATA_VERSION, version_of_save

_INTEGERS, _LIST = (1, 2, 3, 4), 9
"""Kinds of tags."""


def version_of(world: Path, box: Box) -> str:
    """Find the version whose names a box of a saved world uses.

    Args:
        world: Folder of the saved world.
        box: The box.

    Returns:
        One of `versions.VERSIONS`.

    Raises:
        UsageError: The box is above or below the world.
        DataError: Not a saved world, or a chunk is missing, damaged, of another version, or of another one than the
            chunks before.
    """
    if not world.is_dir():
        raise DataError(f"{world}: no such folder")
    found = ""
    for chunk, _ in _chunks(region_folder(world), box):
        number = data_version(chunk.fields)
        if (own := version_of_save(number)) is None:
            why = "a version between 1.16.5 and 1.20.3", "open and save it in a newer one"
            if number > DATA_VERSION:
                why = "a version later than 26.2", "its block names are not known; take a save of an earlier one"
            raise DataError(f"{chunk.fields.what} was saved by {why[0]} (DataVersion {number}); {why[1]}")
        if found not in ("", own):
            raise DataError(
                f"{chunk.fields.what} was saved by another version than those beside it; save them all in one"
            )
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
    version_of(world, box)
    if out.resolve().is_relative_to(world.resolve()):
        raise UsageError(f"{out}: lies in the world itself; name a folder beside it")
    if link := next((path for path in world.rglob("*") if path.is_symlink()), None):
        raise DataError(f"{link}: is a link; put the file itself there")
    regions = region_folder(world)
    changed: dict[str, list[tuple[int, int, bytes]]] = {}
    for chunk, (cx, cz) in _chunks(regions, box):
        changed.setdefault(region_name(cx, cz), []).append((cx, cz, _edited(chunk, (cx, cz), cells)))
    with atomic_folder(out) as part:
        shutil.copytree(world, part)
        for name, chunks in changed.items():
            path = part / regions.relative_to(world) / name
            data, external = replaced(path.read_bytes(), chunks)
            write_file(path, data)
            for own, content in external.items():
                if content is None:
                    path.with_name(own).unlink(missing_ok=True)
                else:
                    write_file(path.with_name(own), content)


def _chunks(regions: Path, box: Box) -> Iterator[tuple[SavedChunk, tuple[int, int]]]:
    """The chunks of a box, each with its place."""
    low, high = box
    for cx in range(low[0] // SIDE, high[0] // SIDE + 1):
        for cz in range(low[2] // SIDE, high[2] // SIDE + 1):
            yield read_chunk(regions, cx, cz), (cx, cz)


def _edited(chunk: SavedChunk, at: tuple[int, int], cells: Cells) -> bytes:
    """Unpacked NBT of a chunk with those cells in it that lie there; what they do not touch keeps its bytes."""
    fields, body = chunk
    old = "Level" in fields
    root = root_value(body)
    if not old:
        return body[:root] + _with_cells(body, root, fields, fields, at, cells, old=False)
    level = next(part.value for part in parts(body, root) if part.name == "Level")
    inner = _with_cells(body, level, fields, fields.compound("Level"), at, cells, old=True)
    return body[:root] + edited(body, root, {"Level": tag(COMPOUND, "Level", inner)})


def _with_cells(
    body: bytes, start: int, chunk: Fields, fields: Fields, at: tuple[int, int], cells: Cells, *, old: bool
) -> bytes:
    """The value of the compound that holds a chunk's sections, with cells in it."""
    tags = nbt_library()
    known = {section.level: section for section in sections_of(chunk, at)}
    listed, holders = ("Sections", "TileEntities") if old else ("sections", "block_entities")
    places = {part.name: part.value for part in parts(body, start)}
    raw = [body[first:last] for first, last in elements(body, places[listed])]
    sections = list(fields.compounds(listed))
    levels = [section.whole("Y", -128, 127) for section in sections]
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
        blocks = blocks_of(tags, numbers.ravel(), palette, old=old)
        own = [place for place, found_level in enumerate(levels) if found_level == level]
        if own:
            place = max(own, key=lambda place: set(blocks) <= set(sections[place].tags))
            raw[place] = edited(raw[place], 0, _tags(blocks))
        else:
            raw.append(edited(b"\0", 0, _tags(bare_section(tags, level, old=old) | blocks)))
    new = {listed: tag(_LIST, listed, list_of_compounds(raw))} | _tags(
        {"Heightmaps": tags.Compound(), "isLightOn": tags.Byte(0)}
    )
    if holders in places:
        every = elements(body, places[holders])
        kept = [body[first:last] for first, last in every if not _inside(body, first, chunk.what, cells)]
        if len(kept) < len(every):
            new[holders] = tag(_LIST, holders, list_of_compounds(kept))
    return edited(body, start, new)


def _tags(content: dict[str, Any]) -> dict[str, bytes]:
    """The whole tags of nbtlib's values, by name."""
    found = {}
    for name, value in content.items():
        file = io.BytesIO()
        value.write(file)
        found[name] = tag(value.tag_id, name, file.getvalue())
    return found


def _inside(body: bytes, start: int, what: str, cells: Cells) -> bool:
    """Whether what a block holds, a compound in the bytes, belongs to a block that is replaced."""
    own = {part.name: body[part.value : part.end] for part in parts(body, start) if body[part.start] in _INTEGERS}
    holder = Fields({name: int.from_bytes(value, "big", signed=True) for name, value in own.items()}, what)
    place = [holder.whole(axis, -(2**31), 2**31 - 1) - low for axis, low in zip("xyz", cells.origin, strict=True)]
    return all(0 <= at < side for at, side in zip(place, cells.size, strict=True))
