"""Structure files: builds as the game and its editors save them, read from anywhere and written for the game.

    build = read_structure(Path("hut.litematic")).blueprint
    box = read_region_box(Path("saves/world"), (58, 88, 571), (61, 89, 574))
    write_schem(Path("hut.schem"), build)

Writing needs the extra 'structures'. Materials come in the order of first sight, x outermost, then y, then z.
"""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import write_file
from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, Blueprint, Cells, base_name, first_seen, material, states_of
from worldgauge.worlds.blocks.nbt import (
    Fields,
    NbtLimits,
    check_numbers,
    fields_of_file,
    material_of,
    material_of_text,
    nbt_library,
    plain,
)
from worldgauge.worlds.blocks.regions import SIDE, read_chunk
from worldgauge.worlds.minecraft.cells import split_state, state_text
from worldgauge.worlds.minecraft.regions import data_version, overlap, section_numbers, sections_of
from worldgauge.worlds.minecraft.versions import DATA_VERSION, FIRST_NAMES, NAMES, current

# From the palette of a file to the materials of a blueprint: names, jigsaws, kinds of air, and their order.


class Final(NamedTuple):
    """The final block of a jigsaw: its cell (x, y, z) in the box, and the text of its material."""

    cell: tuple[int, int, int]
    material: str


class Build(NamedTuple):
    """What a reader of one format returns. `warnings`: what was left out or guessed."""

    blueprint: Blueprint
    facts: dict[str, Any]
    warnings: tuple[str, ...] = ()


def final_of(fields: Fields) -> str | None:
    """The material that a jigsaw becomes, without data of the block; None if the fields do not say."""
    if "final_state" not in fields:
        return None
    try:
        return material_of_text(fields.text("final_state").partition("{")[0])
    except ValueError as error:
        raise fields.error("final_state", f"{error}; export the file again") from None


def check_box(size: Sequence[int], fields: Fields, key: str, limits: NbtLimits) -> None:
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
    """Replace jigsaw blocks in `cells`, in place, by what they become; those without a final state become air."""
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
    """Names, with namespace, and all states of materials in 1.20.4. Unknown and missing states get their defaults."""
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


# Schematics of Litematica (`.litematic`): several regions, each with a palette and bit-packed numbers.

_MOST_OFFSET = 1 << 26
LEAST_BITS = 2


def read_litematic(root: Fields, limits: NbtLimits) -> Build:
    """The build of all regions, in the smallest box around them."""
    every = root.compound("Regions")
    if not every.tags:
        raise root.error("Regions", "is empty")
    regions = [_region(every.compound(name), limits) for name in every.tags]
    low = np.min([region.low for region in regions], axis=0)
    high = np.max([np.add(region.low, region.size) for region in regions], axis=0)
    width, height, depth = size = [int(side) for side in high - low]
    check_box(size, root, "Regions", limits)
    if sum(math.prod(region.size) for region in regions) > limits.most_cells:
        raise root.error("Regions", f"have more than the limit of {limits.most_cells} cells in all; split the build")
    cells, warnings = np.zeros((height, depth, width), np.int32), list[str]()
    known: dict[str, int] = {}
    for region in regions:
        inner, own, more = _cells(region)
        warnings += more
        x, y, z = (int(at) for at in np.subtract(region.low, low))
        spot = cells[y : y + inner.shape[0], z : z + inner.shape[1], x : x + inner.shape[2]]
        table = [0 if name in AIR_NAMES else known.setdefault(name, 1 + len(known)) for name in own]
        numbers = np.array(table, np.int32)[inner]
        if ((spot > 0) & (numbers > 0) & (spot != numbers)).any():
            raise region.fields.error("Position", "lets the region lie over another that has other blocks there")
        np.maximum(spot, numbers, out=spot)
    facts: dict[str, Any] = root.facts("Version", "MinecraftDataVersion")
    if "MinecraftDataVersion" in facts:
        facts["DataVersion"] = facts.pop("MinecraftDataVersion")
    if "Metadata" in root:
        facts |= root.compound("Metadata").facts("Name", "Author")
    return Build(first_seen(cells, ["air", *known]), facts | {"regions": len(regions)}, tuple(warnings))


def spread(words: NDArray[np.uint64], bits: int, count: int) -> NDArray[np.int64]:
    """Unpack numbers (count,) from 64-bit words, lowest bits first, across the limits of words."""
    starts = np.arange(count, dtype=np.uint64) * np.uint64(bits)
    word, shift = (starts >> np.uint64(6)).astype(np.int64), starts & np.uint64(63)
    found = words[word] >> shift
    split = shift + np.uint64(bits) > 64
    found[split] |= words[word[split] + 1] << (np.uint64(64) - shift[split])
    return (found & np.uint64((1 << bits) - 1)).astype(np.int64)


class _Region(NamedTuple):
    fields: Fields
    low: tuple[int, int, int]
    size: tuple[int, int, int]


def _region(fields: Fields, limits: NbtLimits) -> _Region:
    at, size = (fields.corner(key, _MOST_OFFSET) for key in ("Position", "Size"))
    sides = (abs(size[0]), abs(size[1]), abs(size[2]))
    check_box(sides, fields, "Size", limits)
    x, y, z = (place + min(0, side + 1) for place, side in zip(at, size, strict=True))
    return _Region(fields, (x, y, z), sides)


def _cells(region: _Region) -> tuple[Cells, list[str], tuple[str, ...]]:
    fields, (width, height, depth) = region.fields, region.size
    names = [material_of(entry) for entry in fields.compounds("BlockStatePalette")]
    bits = max(LEAST_BITS, (len(names) - 1).bit_length())
    words = fields.array("BlockStates", 8).view(np.uint64)
    count = width * height * depth
    needed = -(-count * bits // 64)
    if len(words) != needed:
        raise fields.error("BlockStates", f"has {len(words)} words, not {needed} for {count} cells of {bits} bits")
    numbers = spread(words, bits, count)
    check_numbers(numbers, len(names), fields, "BlockStates")
    finals = []
    for one in fields.compounds("TileEntities", needed=False):
        if (final := final_of(one)) is not None:
            x, y, z = (one.whole(axis, -(2**31), 2**31 - 1) for axis in "xyz")
            finals.append(Final((x, y, z), final))
    return settled(numbers.astype(np.int32).reshape(height, depth, width), names, finals)


# Structure files of the game itself (`.nbt`): what a structure block saves.

KEYS = frozenset({"size", "blocks"})
"""Fields of the root that only this format has."""


def read_nbt(root: Fields, limits: NbtLimits) -> Build:
    """Read the build of a structure file. Missing cells are air. If it has several palettes, the first is used."""
    size = root.place("size")
    check_box(size, root, "size", limits)
    width, height, depth = size
    palette, warnings = _nbt_palette(root)
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
    Air is written too, so it clears what is there. A structure block accepts at most 48 blocks per side."""
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


def _nbt_palette(root: Fields) -> tuple[list[Fields], tuple[str, ...]]:
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


# Sponge schematics (`.schem`), versions 2 and 3: what WorldEdit and its kin save.

WRAP = "Schematic"
"""Field of the root that version 3 puts all others into."""
MOST_PALETTE = 1 << 16
MOST_NUMBER_BYTES = 3
"""Of a palette's number in groups of seven bits."""
SLAB = 1 << 20
"""Cells that are packed at a time: the arrays in between are ten times the result."""


def read_schem(root: Fields, limits: NbtLimits) -> Build:
    """Read a schematic, wrapped or not. Its cells run along x, then z, then y."""
    body = root.compound(WRAP) if WRAP in root else root
    version = body.whole("Version", 0, 2**31 - 1)
    if version not in (2, 3):
        raise body.error("Version", f"is {version}; save it again as version 2 or 3")
    width, height, depth = size = [
        body.whole(key, -(2**15), 2**16 - 1) & 0xFFFF for key in ("Width", "Height", "Length")
    ]
    check_box(size, body, "Width", limits)
    blocks = body.compound("Blocks") if version == 3 else body
    names, numbers = _schem_palette(blocks)
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
    All states are written, since other readers guess what is missing."""
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


def _schem_palette(blocks: Fields) -> tuple[list[str], NDArray[np.int32]]:
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


# Saved worlds (`.mca`, game version 1.16 and later): a marked box of blocks, without the game.

MOST_COORDINATE = 30_000_000


def read_region_box(
    source: Path, start: Sequence[int], end: Sequence[int], *, limits: NbtLimits | None = None
) -> Blueprint:
    """Read a box of a saved world, corners included, in the names of 1.20.4, with jigsaws as what they become.
    Cells that the world does not hold are air."""
    limits = limits or NbtLimits()
    low, high = _corner(start, "start"), _corner(end, "end")
    sides = [b - a + 1 for a, b in zip(low, high, strict=True)]
    if min(sides) < 1:
        raise UsageError(f"the box from {low} to {high} is empty: start is the corner of smallest x, y and z")
    if max(sides) > limits.most_side or sides[0] * sides[1] * sides[2] > limits.most_cells:
        raise UsageError(
            f"the box from {low} to {high} passes the limits of {limits.most_side} blocks a side and "
            f"{limits.most_cells} in all; mark a smaller one"
        )
    box = _Box(low, np.zeros((sides[1], sides[2], sides[0]), np.int32), {"air": 0}, [])
    for cx in range(low[0] // SIDE, high[0] // SIDE + 1):
        for cz in range(low[2] // SIDE, high[2] // SIDE + 1):
            _take(read_chunk(source, cx, cz, limits).fields, (cx, cz), box)
    cells, names, _ = settled(box.cells, list(box.names), box.finals)
    return first_seen(cells, names)


class _Box(NamedTuple):
    low: tuple[int, int, int]
    cells: Cells
    """(height, depth, width) numbers of `names`."""
    names: dict[str, int]
    finals: list[Final]


def _corner(place: Sequence[int], what: str) -> tuple[int, int, int]:
    if len(place) != 3 or not all(isinstance(one, (int, np.integer)) and abs(one) <= MOST_COORDINATE for one in place):
        raise UsageError(f"{what} is three whole numbers x, y, z within {MOST_COORDINATE}, got {str(place)[:60]}")
    return int(place[0]), int(place[1]), int(place[2])


def _take(chunk: Fields, at: tuple[int, int], box: _Box) -> None:
    """Put the part of a chunk that lies in the box into its cells."""
    cells, version = box.cells.transpose(2, 0, 1), data_version(chunk)
    for section in sections_of(chunk, at):
        corner = (SIDE * at[0], SIDE * section.level, SIDE * at[1])
        if not -SIDE < corner[1] - box.low[1] < cells.shape[1]:
            continue
        numbers, names = section_numbers(section)
        table = np.array(
            [box.names.setdefault(current_material(name, version), len(box.names)) for name in names], np.int32
        )
        inner, outer = overlap(corner, box.low, cells.shape)
        cells[outer] = table[numbers.transpose(2, 0, 1)[inner]]
    old = "Level" in chunk
    holders = chunk.compound("Level") if old else chunk
    for one in holders.compounds("TileEntities" if old else "block_entities", needed=False):
        if (final := final_of(one)) is not None:
            x, y, z = (one.whole(axis, -(2**31), 2**31 - 1) - low for axis, low in zip("xyz", box.low, strict=True))
            box.finals.append(Final((x, y, z), current_material(final, version)))


__all__ = ["SUFFIXES", "NbtLimits", "Structure", "read_region_box", "read_structure", "write_nbt", "write_schem"]

Format = Literal["nbt", "schem", "litematic", "mca", "server"]
SUFFIXES = (".nbt", ".schem", ".litematic")
"""Of the files that `read_structure` is made for."""


@dataclass(frozen=True)
class Structure:
    """Content of a structure file."""

    name: str  # of the file, without suffix
    blueprint: Blueprint
    format: Format  # "mca" for a box of a world
    facts: Mapping[str, Any]  # metadata such as DataVersion, Name and Author; the texts come from a stranger
    warnings: tuple[str, ...] = ()  # what was left out or guessed


def read_structure(path: Path, *, limits: NbtLimits | None = None) -> Structure:
    """Read a structure file of the game, a Sponge schematic (2 or 3) or one of Litematica; the content decides the
    format. Names and states become those of 1.20.4, jigsaws their final block, and all kinds of air become air."""
    limits = limits or NbtLimits()
    if path.suffix == ".mca":
        raise DataError(f"{path}: is a part of a world; take a marked box of it with read_region_box")
    root = fields_of_file(path, limits)
    kind = _kind(root)
    read = {"nbt": read_nbt, "schem": read_schem, "litematic": read_litematic}[kind]
    blueprint, facts, warnings = read(root, limits)
    version = facts.get("DataVersion")
    if isinstance(version, int) and 0 < version < FIRST_NAMES:
        raise DataError(
            f"{path}: was saved before version 1.13 of the game (DataVersion {version}), whose block names mean other "
            "blocks; open and save it in a newer one"
        )
    blueprint = in_current_names(blueprint, version if isinstance(version, int) else None)
    return Structure(path.stem, blueprint, kind, facts, warnings)


def _kind(root: Fields) -> Format:
    if "Regions" in root:
        return "litematic"
    if all(key in root for key in KEYS):
        return "nbt"
    if "Materials" in root and "Data" in root:
        raise DataError(f"{root.what}: an old schematic of numbers instead of names; save it again as .schem")
    if WRAP in root or "Version" in root:
        return "schem"
    raise DataError(f"{root.what}: NBT, but none of .nbt, .schem and .litematic; export the build as one of them")
