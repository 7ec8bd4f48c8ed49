"""A chunk and level.dat as the game saves them, in the layouts of 1.16.5 and 1.20.4.

In both, a section's numbers take max(4, ceil(log2(palette))) bits, run along x, then z, then y, and none crosses from
word to word.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, UsageError
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, base_name
from worldgauge.worlds.blocks.nbt import Fields, check_numbers, material_of, nbt_library, plain
from worldgauge.worlds.blocks.regions import SIDE, numbers_of, words_of
from worldgauge.worlds.minecraft.cells.cells import Cells, split_state
from worldgauge.worlds.minecraft.versions import DATA_VERSION, VERSIONS

LEAST_BITS = 4
OLDEST = 2529
"""DataVersion from which no number of a palette crosses from word to word (a snapshot of 1.16)."""
_HEIGHT_BITS = 9
"""Of a height: enough for 384 blocks."""
_PLAINS = 1
_LEVEL_FORMAT = 19133


class Layout(NamedTuple):
    """How a version saves: DataVersion, lowest y, blocks from there to the top."""

    data_version: int
    bottom: int
    height: int


LAYOUTS = {"1.16.5": Layout(2586, 0, 256), "1.20.4": Layout(DATA_VERSION, -64, 384)}


def demand_inside(low_y: int, high_y: int, version: str) -> None:
    """Check that heights lie inside a world.

    Args:
        low_y: Lowest y.
        high_y: Highest y, included.
        version: Version of the game; one that is not in `versions.VERSIONS` is not checked.

    Raises:
        UsageError: They do not.
    """
    if version not in VERSIONS:
        return
    layout = LAYOUTS["1.16.5" if version.startswith("1.16.") else "1.20.4"]
    bottom, top = layout.bottom, layout.bottom + layout.height - 1
    if low_y < bottom or high_y > top:
        raise UsageError(f"y {low_y} to {high_y} is not within {bottom} to {top}, as a world of {version} is")


def chunk_bytes(cells: Cells, cx: int, cz: int, layout: Layout) -> bytes:
    """Encode a chunk; what the cells do not cover is air.

    Args:
        cells: The cells.
        cx: Chunk along x.
        cz: Chunk along z.
        layout: Layout of the version.

    Returns:
        Uncompressed NBT.
    """
    tags = nbt_library()
    numbers = _column(cells, cx, cz, layout)
    old = layout.height == 256
    heights = {"WORLD_SURFACE": tags.LongArray(words_of(_heights(numbers, cells.palette), _HEIGHT_BITS))}
    common = {
        "xPos": tags.Int(cx),
        "zPos": tags.Int(cz),
        "Status": tags.String("full" if old else "minecraft:full"),
        "Heightmaps": tags.Compound(heights),
        "LastUpdate": tags.Long(0),
        "InhabitedTime": tags.Long(0),
        "isLightOn": tags.Byte(1),
    }
    nothing = tags.List[tags.Compound]([])
    sections = _sections_1_16(tags, numbers, cells) if old else _sections_1_20(tags, numbers, cells, layout)
    listed = tags.List[tags.Compound](sections)
    version = tags.Int(layout.data_version)
    if old:
        biomes = tags.IntArray(np.full(1024, _PLAINS, np.int32))
        level = common | {"Biomes": biomes, "Sections": listed, "Entities": nothing, "TileEntities": nothing}
        return bytes_of(tags, {"DataVersion": version, "Level": tags.Compound(level)})
    empty = dict.fromkeys(("block_entities", "block_ticks", "fluid_ticks"), nothing)
    more = {
        "DataVersion": version,
        "yPos": tags.Int(layout.bottom // SIDE),
        "sections": listed,
        "PostProcessing": tags.List[tags.List]([]),
        "structures": tags.Compound({"References": tags.Compound(), "starts": tags.Compound()}),
    }
    return bytes_of(tags, common | more | empty)


def level_bytes(cells: Cells, version: str) -> bytes:
    """Encode the level.dat of a world of these cells.

    Args:
        cells: The cells.
        version: One of LAYOUTS.

    Returns:
        NBT, compressed by gzip.
    """
    tags, layout = nbt_library(), LAYOUTS[version]
    width, _, depth = cells.index.shape
    x, z = cells.origin[0] + width // 2, cells.origin[2] + depth // 2
    column = _column(cells, x // SIDE, z // SIDE, layout)[x % SIDE, :, z % SIDE]
    height = int(_heights(column[None, :, None], cells.palette)[0])
    data = {
        "DataVersion": tags.Int(layout.data_version),
        "LevelName": tags.String("worldgauge"),
        "RandomSeed": tags.Long(0),
        "SpawnX": tags.Int(x),
        "SpawnY": tags.Int(layout.bottom + height),
        "SpawnZ": tags.Int(z),
        "Version": tags.Compound({"Id": tags.Int(layout.data_version), "Name": tags.String(version)}),
        "version": tags.Int(_LEVEL_FORMAT),
    }
    return gzip.compress(bytes_of(tags, {"Data": tags.Compound(data)}), mtime=0)


class Section(NamedTuple):
    """A cube of 16 x 16 x 16 blocks of a chunk.

    Attributes:
        level: Its y, in sections.
        fields: Its compound.
        palette: Name of the field with the names of blocks.
        data: Name of the field with their numbers.
    """

    level: int
    fields: Fields
    palette: str
    data: str


def sections_of(chunk: Fields, at: tuple[int, int]) -> Iterator[Section]:
    """Yield the sections of a chunk that hold blocks, of either layout.

    Args:
        chunk: Root of the chunk.
        at: Its place cx, cz.

    Raises:
        DataError: The chunk is too old, unfinished, or of another place.
    """
    old = "Level" in chunk
    data_version(chunk)
    root = chunk.compound("Level") if old else chunk
    if (status := root.text("Status").removeprefix("minecraft:")) != "full":
        raise DataError(f"{chunk.what} is unfinished (status '{plain(status[:40])}'); walk there in the game and save")
    for key, own in zip(("xPos", "zPos"), at, strict=True):
        if (said := root.whole(key, -(2**31), 2**31 - 1)) != own:
            raise root.error(key, f"is {said}, but the chunk's place in the file says {own}")
    seen: set[int] = set()
    for section in root.compounds("Sections" if old else "sections"):
        level = section.whole("Y", -128, 127)
        if ("Palette" if old else "block_states") not in section:
            continue
        if level in seen:
            raise section.error("Y", f"is {level}, as of an earlier section; get the file again")
        seen.add(level)
        if old:
            yield Section(level, section, "Palette", "BlockStates")
        else:
            yield Section(level, section.compound("block_states"), "palette", "data")


def data_version(chunk: Fields) -> int:
    """The DataVersion of a chunk.

    Raises:
        DataError: The chunk is too old, or it does not say.
    """
    # Before 1.9 a chunk had none.
    if ("Level" in chunk and "DataVersion" not in chunk) or (
        (number := chunk.whole("DataVersion", 0, 2**31 - 1)) < OLDEST
    ):
        raise DataError(f"{chunk.what} was saved before version 1.16 of the game; open and save it in a newer one")
    return number


def section_numbers(section: Section) -> tuple[NDArray[np.int64], list[str]]:
    """Numbers (16, 16, 16) [y][z][x] of the states of a section."""
    texts = (material_of(entry) for entry in section.fields.compounds(section.palette))
    names = [text if ":" in text.partition("[")[0] else f"minecraft:{text}" for text in texts]
    if len(names) == 1:  # newer games then write no data, some editors an empty array
        return np.zeros((SIDE, SIDE, SIDE), np.int64), names
    bits = max(LEAST_BITS, (len(names) - 1).bit_length())
    words = section.fields.array(section.data, 8)
    numbers = numbers_of(words, bits, SIDE**3, section.fields, section.data)
    check_numbers(numbers, len(names), section.fields, section.data)
    return numbers.reshape(SIDE, SIDE, SIDE), names


def overlap(
    corner: tuple[int, int, int], low: tuple[int, int, int], sides: tuple[int, ...]
) -> tuple[tuple[slice, slice, slice], tuple[slice, slice, slice]]:
    """Return where a section and a box overlap.

    Args:
        corner: Lowest corner of the section, x, y, z.
        low: Lowest corner of the box.
        sides: Sides of the box.

    Returns:
        Slices into the section, and slices into the box.
    """
    starts = [a - b for a, b in zip(corner, low, strict=True)]
    spans = [(max(0, at), min(side, at + SIDE)) for at, side in zip(starts, sides, strict=True)]
    (x, y, z), (i, j, k) = starts, spans
    inner = slice(i[0] - x, i[1] - x), slice(j[0] - y, j[1] - y), slice(k[0] - z, k[1] - z)
    return inner, (slice(*i), slice(*j), slice(*k))


def _column(cells: Cells, cx: int, cz: int, layout: Layout) -> NDArray[np.uint16]:
    """(16, height, 16) numbers of the palette, the whole chunk from the bottom of the world."""
    found = np.zeros((SIDE, layout.height, SIDE), np.uint16)
    starts = [a - b for a, b in zip(cells.origin, (SIDE * cx, layout.bottom, SIDE * cz), strict=True)]
    spans = [
        (max(0, at), min(side, at + own)) for at, own, side in zip(starts, cells.index.shape, found.shape, strict=True)
    ]
    outer = tuple(slice(low, high) for low, high in spans)
    inner = tuple(slice(low - at, high - at) for (low, high), at in zip(spans, starts, strict=True))
    found[outer] = cells.index[inner]
    return found


def _heights(numbers: NDArray[np.uint16], palette: tuple[str, ...]) -> NDArray[np.int64]:
    """Blocks from the bottom to the top of the highest one, of each column, along x then z; 0 where all is air."""
    solid = np.array([base_name(text) not in AIR_NAMES for text in palette])[numbers]
    tops = numbers.shape[1] - solid[:, ::-1].argmax(axis=1)
    return np.where(solid.any(axis=1), tops, 0).T.ravel()


def _sections_1_16(tags: Any, numbers: NDArray[np.uint16], cells: Cells) -> list[Any]:
    parts = ((level, _part(numbers, level)) for level in range(len(numbers[0]) // SIDE))
    # Not those of air, as the game.
    return [
        tags.Compound(bare_section(tags, level, old=True) | blocks_of(tags, part, cells.palette, old=True))
        for level, part in parts
        if part.any()
    ]


def _sections_1_20(tags: Any, numbers: NDArray[np.uint16], cells: Cells, layout: Layout) -> list[Any]:
    bottom = layout.bottom // SIDE
    return [
        tags.Compound(
            bare_section(tags, bottom + level, old=False)
            | blocks_of(tags, _part(numbers, level), cells.palette, old=False)
        )
        for level in range(layout.height // SIDE)
    ]


def bare_section(tags: Any, level: int, *, old: bool) -> dict[str, Any]:
    """Make the fields of a section without blocks, in full daylight.

    Args:
        tags: nbtlib's classes.
        level: Number of the section along y.
        old: In the layout of 1.16.5.
    """
    fields = {"Y": tags.Byte(level), "SkyLight": tags.ByteArray(np.full(SIDE**3 // 2, -1, np.int8))}
    if not old:
        fields["biomes"] = tags.Compound({"palette": tags.List[tags.String]([tags.String("minecraft:plains")])})
    return fields


def blocks_of(tags: Any, part: NDArray[Any], palette: Sequence[str], *, old: bool) -> dict[str, Any]:
    """Make the fields that hold the blocks of a section.

    Args:
        tags: nbtlib's classes.
        part: Numbers (4096,) of `palette` along x, then z, then y; 0 is air.
        palette: States of the blocks.
        old: In the layout of 1.16.5.
    """
    # The game put air first in 1.16, met or not, and readers count on it: one took a section of stone for nothing.
    used = np.union1d(part, [0]) if old else np.unique(part)
    entries = tags.List[tags.Compound](_entry(tags, palette[number]) for number in used)
    words = words_of(np.searchsorted(used, part), max(LEAST_BITS, (len(used) - 1).bit_length()))
    data = tags.LongArray(words)
    if old:
        return {"Palette": entries, "BlockStates": data}
    return {"block_states": tags.Compound({"palette": entries} | ({"data": data} if len(used) > 1 else {}))}


def _part(numbers: NDArray[np.uint16], level: int) -> NDArray[np.uint16]:
    """The numbers of a section along x, then z, then y."""
    return numbers[:, SIDE * level : SIDE * (level + 1)].transpose(1, 2, 0).ravel()


def _entry(tags: Any, text: str) -> Any:
    name, states = split_state(text)
    found = {"Name": tags.String(name if ":" in name else f"minecraft:{name}")}
    if states:
        found["Properties"] = tags.Compound({key: tags.String(value) for key, value in states.items()})
    return tags.Compound(found)


def bytes_of(tags: Any, content: Mapping[str, Any]) -> bytes:
    """Encode a root compound as uncompressed NBT.

    Args:
        tags: nbtlib's classes.
        content: Tags by name.
    """
    file = io.BytesIO()
    tags.File(content).write(file)
    return file.getvalue()
