"""A chunk and level.dat as the game saves them, in the layouts of 1.16.5 and 1.20.4.

In both, a section's numbers take max(4, ceil(log2(palette))) bits, run along x, then z, then y, and none crosses from
word to word.
"""

from __future__ import annotations

import gzip
import io
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.blueprint import AIR_NAMES, base_name
from worldgauge.nbt import nbt_library
from worldgauge.nbt.region import SIDE, words_of
from worldgauge.worlds.minecraft.cells import Cells, split_state

LEAST_BITS = 4
_HEIGHT_BITS = 9
"""Of a height: enough for 384 blocks."""
_PLAINS = 1
_LEVEL_FORMAT = 19133


class Layout(NamedTuple):
    """How a version saves: DataVersion, lowest y, blocks from there to the top."""

    data_version: int
    bottom: int
    height: int


LAYOUTS = {"1.16.5": Layout(2586, 0, 256), "1.20.4": Layout(3700, -64, 384)}


def chunk_bytes(cells: Cells, cx: int, cz: int, layout: Layout) -> bytes:
    """Unpacked NBT of chunk (cx, cz); air where the cells have nothing."""
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
        return _bytes(tags, {"DataVersion": version, "Level": tags.Compound(level)})
    empty = dict.fromkeys(("block_entities", "block_ticks", "fluid_ticks"), nothing)
    more = {
        "DataVersion": version,
        "yPos": tags.Int(layout.bottom // SIDE),
        "sections": listed,
        "PostProcessing": tags.List[tags.List]([]),
        "structures": tags.Compound({"References": tags.Compound(), "starts": tags.Compound()}),
    }
    return _bytes(tags, common | more | empty)


def level_bytes(cells: Cells, version: str) -> bytes:
    """Packed level.dat of a world of these cells."""
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
    return gzip.compress(_bytes(tags, {"Data": tags.Compound(data)}), mtime=0)


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
    found = []
    for level in range(len(numbers[0]) // SIDE):
        part = _part(numbers, level)
        if not part.any():
            continue  # as the game: it keeps no section of air
        # The game put air first then, met or not, and readers count on it: one took a section of stone for nothing.
        palette, words = _packed(tags, part, cells, np.union1d(part, [0]))
        light = tags.ByteArray(np.full(SIDE**3 // 2, -1, np.int8))
        own = {"Y": tags.Byte(level), "Palette": palette, "BlockStates": tags.LongArray(words), "SkyLight": light}
        found.append(tags.Compound(own))
    return found


def _sections_1_20(tags: Any, numbers: NDArray[np.uint16], cells: Cells, layout: Layout) -> list[Any]:
    found = []
    for level in range(layout.height // SIDE):
        part = _part(numbers, level)
        palette, words = _packed(tags, part, cells, np.unique(part))
        states = {"palette": palette} | ({"data": tags.LongArray(words)} if len(palette) > 1 else {})
        biomes = tags.Compound({"palette": tags.List[tags.String]([tags.String("minecraft:plains")])})
        own = {
            "Y": tags.Byte(layout.bottom // SIDE + level),
            "block_states": tags.Compound(states),
            "biomes": biomes,
            "SkyLight": tags.ByteArray(np.full(SIDE**3 // 2, -1, np.int8)),
        }
        found.append(tags.Compound(own))
    return found


def _part(numbers: NDArray[np.uint16], level: int) -> NDArray[np.uint16]:
    """The numbers of a section along x, then z, then y."""
    return numbers[:, SIDE * level : SIDE * (level + 1)].transpose(1, 2, 0).ravel()


def _packed(tags: Any, part: NDArray[np.uint16], cells: Cells, used: NDArray[Any]) -> tuple[Any, NDArray[np.int64]]:
    """The palette of a section, the states `used` in ascending order, and its words."""
    entries = tags.List[tags.Compound](_entry(tags, cells.palette[number]) for number in used)
    return entries, words_of(np.searchsorted(used, part), max(LEAST_BITS, (len(used) - 1).bit_length()))


def _entry(tags: Any, text: str) -> Any:
    name, states = split_state(text)
    found = {"Name": tags.String(name if ":" in name else f"minecraft:{name}")}
    if states:
        found["Properties"] = tags.Compound({key: tags.String(value) for key, value in states.items()})
    return tags.Compound(found)


def _bytes(tags: Any, content: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    tags.File(content).write(file)
    return file.getvalue()
