"""Worlds of the game on disk: a box of one is read, and cells are written as one, without the game and without Node.

    cells = read_cells(Path("saves/village"), ((0, 56, 0), (127, 103, 127)))
    write_world(Path("copy"), cells, "1.20.4")
    put_cells(Path("saves/village"), Path("edited"), cells)

Read are the layouts of 1.16 to 1.17 and of 1.18 and later, distinguished by the chunk; written are those of 1.16.5 and
1.20.4. Writing needs the extra 'structures'. In both, a section's numbers take max(4, ceil(log2(palette))) bits, run
along x, then z, then y, and none crosses from word to word.

`put_cells` edits a copy. What the game works out by itself is left to it: heights and light of the chunks that were
touched are marked as not known.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import write_file
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, base_name
from worldgauge.worlds.blocks.nbt import (
    COMPOUND,
    Fields,
    check_numbers,
    edited,
    elements,
    list_of_compounds,
    material_of,
    nbt_library,
    parts,
    plain,
    root_value,
    tag,
)
from worldgauge.worlds.blocks.regions import (
    CHUNKS,
    SIDE,
    SavedChunk,
    numbers_of,
    read_chunk,
    region_bytes,
    region_folder,
    region_name,
    replaced,
    words_of,
)
from worldgauge.worlds.minecraft.cells import AIR, MOST_COORDINATE, MOST_STATES, Cells, split_state
from worldgauge.worlds.minecraft.versions import DATA_VERSION, VERSIONS, version_of_save

MOST_CELLS = 1 << 27

Corner = tuple[int, int, int]
Box = tuple[Corner, Corner]
"""Corners of smallest and of largest x, y and z, in game coordinates, both inside."""


def read_cells(world: Path, box: Box) -> Cells:
    """Read a box of a saved world; what the world does not keep of a chunk is air."""
    low, high = check_box(box)
    index = np.zeros([b - a + 1 for a, b in zip(low, high, strict=True)], np.uint16)
    names: dict[str, int] = {AIR: 0}
    for cx, cz in product(range(low[0] // SIDE, high[0] // SIDE + 1), range(low[2] // SIDE, high[2] // SIDE + 1)):
        for section in sections_of(read_chunk(world, cx, cz).fields, (cx, cz)):
            corner = (SIDE * cx, SIDE * section.level, SIDE * cz)
            if not -SIDE < corner[1] - low[1] < index.shape[1]:
                continue
            numbers, own = section_numbers(section)
            if len(names) + len(own) > MOST_STATES:
                raise section.fields.error(section.palette, f"is one state too many: a box holds {MOST_STATES}")
            table = np.array([names.setdefault(name, len(names)) for name in own], np.uint16)
            inner, outer = overlap(corner, low, index.shape)
            index[outer] = table[numbers.transpose(2, 0, 1)[inner]]
    # Without the states that only lie outside the box.
    counts = np.bincount(index.ravel(), minlength=len(names))
    kept = np.flatnonzero((counts > 0) | (np.arange(len(names)) == 0))
    table = np.zeros(len(names), np.uint16)
    table[kept] = np.arange(len(kept))
    palette = list(names)
    return Cells(low, tuple(palette[number] for number in kept), table[index])


def write_world(folder: Path, cells: Cells, version: str = "1.16.5") -> None:
    """Write a new world: region files of the chunks that the cells touch, and level.dat; complete or not at all.
    Other cells of these chunks are air; the biome is plains, and the sky lights all. Same cells, same bytes. `cells`
    need complete states, since readers differ in the defaults. Give a server a copy: it may write into the folder."""
    if version not in LAYOUTS:
        raise UsageError(f"worlds are written for {' and '.join(LAYOUTS)}, not for '{plain(version[:20])}'")
    layout = LAYOUTS[version]
    low, high = box_of(cells)
    demand_inside(low[1], high[1], version)
    spans = (range(low[axis] // SIDE, high[axis] // SIDE + 1) for axis in (2, 0))
    chunks = [(cx, cz) for cz, cx in product(*spans)]
    with atomic_folder(folder) as part:
        for rx, rz in dict.fromkeys((cx // CHUNKS, cz // CHUNKS) for cx, cz in chunks):
            own = ((cx, cz) for cx, cz in chunks if (cx // CHUNKS, cz // CHUNKS) == (rx, rz))
            data = region_bytes((cx, cz, chunk_bytes(cells, cx, cz, layout)) for cx, cz in own)
            write_file(part / "region" / region_name(rx * CHUNKS, rz * CHUNKS), data)
        write_file(part / "level.dat", level_bytes(cells, version))


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Make a new folder that appears under its name after the block has finished; after an error nothing is left."""
    if folder.exists():
        raise UsageError(f"{folder}: is there already; name a new folder")
    part = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)  # what a killed process left
        yield part
        os.rename(part, folder)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def box_of(cells: Cells) -> Box:
    """The box that cells fill. Raises as `check_box`."""
    (x, y, z), (width, height, depth) = cells.origin, cells.size
    return check_box((cells.origin, (x + width - 1, y + height - 1, z + depth - 1)))


def check_box(box: Box) -> Box:
    """Return the box in whole numbers."""
    low, high = (_corner(place) for place in box)
    sides = [b - a + 1 for a, b in zip(low, high, strict=True)]
    if min(sides) < 1:
        raise UsageError(f"the box from {low} to {high} is empty: the first corner is that of smallest x, y and z")
    if sides[0] * sides[1] * sides[2] > MOST_CELLS:
        raise UsageError(f"the box from {low} to {high} has more than {MOST_CELLS} cells; mark a smaller one")
    return low, high


def _corner(place: Corner) -> Corner:
    if len(place) != 3 or not all(isinstance(one, (int, np.integer)) and abs(one) <= MOST_COORDINATE for one in place):
        raise UsageError(f"a corner is three whole numbers x, y, z within {MOST_COORDINATE}, got {str(place)[:60]}")
    x, y, z = place
    return int(x), int(y), int(z)


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
    """Check that heights, both included, are inside a world. A version that is not in VERSIONS is not checked."""
    if version not in VERSIONS:
        return
    layout = LAYOUTS["1.16.5" if version.startswith("1.16.") else "1.20.4"]
    bottom, top = layout.bottom, layout.bottom + layout.height - 1
    if low_y < bottom or high_y > top:
        raise UsageError(f"y {low_y} to {high_y} is not within {bottom} to {top}, as a world of {version} is")


def chunk_bytes(cells: Cells, cx: int, cz: int, layout: Layout) -> bytes:
    """Encode a chunk; what the cells do not cover is air."""
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
    sections = []
    for n in range(layout.height // SIDE):
        part = numbers[:, SIDE * n : SIDE * (n + 1)].transpose(1, 2, 0).ravel()
        if part.any() or not old:  # 1.16 saves no sections of air
            fields = bare_section(tags, layout.bottom // SIDE + n, old=old)
            sections.append(tags.Compound(fields | blocks_of(tags, part, cells.palette, old=old)))
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
    """Encode the level.dat of a world of these cells."""
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
    """A cube of 16 x 16 x 16 blocks of a chunk."""

    level: int  # its y, in sections
    fields: Fields
    palette: str
    data: str


def sections_of(chunk: Fields, at: tuple[int, int]) -> Iterator[Section]:
    """Yield the sections of a chunk that hold blocks, of either layout."""
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
    """The DataVersion of a chunk."""
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
    corner: tuple[int, int, int],
    low: tuple[int, int, int],
    sides: tuple[int, ...],
    own: tuple[int, ...] = (SIDE, SIDE, SIDE),
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Slices in which a section, or a part with sides `own`, overlaps a box: of the part, and of the box."""
    starts = [a - b for a, b in zip(corner, low, strict=True)]
    spans = [(max(0, at), min(side, at + width)) for at, side, width in zip(starts, sides, own, strict=True)]
    inner = tuple(slice(first - at, last - at) for (first, last), at in zip(spans, starts, strict=True))
    return inner, tuple(slice(*span) for span in spans)


def _column(cells: Cells, cx: int, cz: int, layout: Layout) -> NDArray[np.uint16]:
    """(16, height, 16) numbers of the palette, the whole chunk from the bottom of the world."""
    found = np.zeros((SIDE, layout.height, SIDE), np.uint16)
    inner, outer = overlap((SIDE * cx, layout.bottom, SIDE * cz), cells.origin, cells.size, found.shape)
    found[inner] = cells.index[outer]
    return found


def _heights(numbers: NDArray[np.uint16], palette: tuple[str, ...]) -> NDArray[np.int64]:
    """Blocks from the bottom to the top of the highest one, of each column, along x then z; 0 where all is air."""
    solid = np.array([base_name(text) not in AIR_NAMES for text in palette])[numbers]
    tops = numbers.shape[1] - solid[:, ::-1].argmax(axis=1)
    return np.where(solid.any(axis=1), tops, 0).T.ravel()


def bare_section(tags: Any, level: int, *, old: bool) -> dict[str, Any]:
    """Make the fields of a section without blocks, in full daylight."""
    fields = {"Y": tags.Byte(level), "SkyLight": tags.ByteArray(np.full(SIDE**3 // 2, -1, np.int8))}
    if not old:
        fields["biomes"] = tags.Compound({"palette": tags.List[tags.String]([tags.String("minecraft:plains")])})
    return fields


def blocks_of(tags: Any, part: NDArray[Any], palette: Sequence[str], *, old: bool) -> dict[str, Any]:
    """Make the fields that hold a section: `part` is (4096,) numbers of `palette` along x, then z, then y; 0 is air."""
    # The game put air first in 1.16, met or not, and readers count on it: one took a section of stone for nothing.
    used = np.union1d(part, [0]) if old else np.unique(part)
    entries = tags.List[tags.Compound](_entry(tags, palette[number]) for number in used)
    words = words_of(np.searchsorted(used, part), max(LEAST_BITS, (len(used) - 1).bit_length()))
    data = tags.LongArray(words)
    if old:
        return {"Palette": entries, "BlockStates": data}
    return {"block_states": tags.Compound({"palette": entries} | ({"data": data} if len(used) > 1 else {}))}


def _entry(tags: Any, text: str) -> Any:
    name, states = split_state(text)
    found = {"Name": tags.String(name if ":" in name else f"minecraft:{name}")}
    if states:
        found["Properties"] = tags.Compound({key: tags.String(value) for key, value in states.items()})
    return tags.Compound(found)


def bytes_of(tags: Any, content: Mapping[str, Any]) -> bytes:
    """Encode a root compound as uncompressed NBT."""
    file = io.BytesIO()
    tags.File(content).write(file)
    return file.getvalue()


_INTEGERS, _LIST = (1, 2, 3, 4), 9
"""Kinds of tags."""


def version_of(world: Path, box: Box) -> str:
    """Find the version whose names a box of a saved world uses."""
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
    """Copy a saved world to a new folder, with cells in the place of what is there; complete or not at all.
    Chunks that the cells touch lose what chests and signs under them hold. All else stays the same to the byte."""
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
