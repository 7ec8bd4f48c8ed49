"""NBT, its packings and the formats on it, written the slow and plain way: what the readers are held against."""

import gzip
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldgauge.worlds.blocks.blueprint import Blueprint, states_of

Tag = tuple[int, bytes]


def byte(value: int) -> Tag:
    return 1, struct.pack(">b", value)


def short(value: int) -> Tag:
    return 2, struct.pack(">h", value)


def integer(value: int) -> Tag:
    return 3, struct.pack(">i", value)


def long(value: int) -> Tag:
    return 4, struct.pack(">q", value)


def text(value: str) -> Tag:
    raw = value.encode()
    return 8, struct.pack(">H", len(raw)) + raw


def raw_bytes(values: bytes) -> Tag:
    return 7, struct.pack(">i", len(values)) + values


def integers(values: Sequence[int]) -> Tag:
    return 11, struct.pack(f">i{len(values)}i", len(values), *values)


def longs(values: Sequence[int]) -> Tag:
    return 12, struct.pack(f">i{len(values)}Q", len(values), *values)


def listed(items: Iterable[Tag], kind: int = 0) -> Tag:
    every = list(items)
    head = struct.pack(">bi", every[0][0] if every else kind, len(every))
    return 9, head + b"".join(payload for _, payload in every)


def place(x: int, y: int, z: int) -> Tag:
    return listed([integer(x), integer(y), integer(z)])


def compound(fields: Mapping[str, Tag]) -> Tag:
    parts = (bytes([kind]) + text(name)[1] + payload for name, (kind, payload) in fields.items())
    return 10, b"".join(parts) + b"\0"


def root(fields: Mapping[str, Tag], name: str = "") -> bytes:
    return b"\x0a" + text(name)[1] + compound(fields)[1]


def put(path: Path, data: bytes, packing: Callable[[bytes], bytes] = gzip.compress) -> Path:
    path.write_bytes(packing(data))
    return path


def _full(name: str) -> str:
    return name if ":" in name else f"minecraft:{name}"


def entry(material: str) -> Tag:
    """A material as palettes of compounds have it."""
    name, states = states_of(material)
    fields = {"Name": text(_full(name))}
    return compound(fields | ({"Properties": compound({k: text(v) for k, v in states.items()})} if states else {}))


def numbers_of(blueprint: Blueprint) -> list[list[list[int]]]:
    """Cells [y][z][x] with 0 for air."""
    return [[[max(0, cell) for cell in row] for row in layer] for layer in blueprint.rows()]


def structure(blueprint: Blueprint, **fields: Tag) -> dict[str, Tag]:
    width, height, depth = blueprint.size
    numbers = numbers_of(blueprint)
    blocks = [
        compound({"state": integer(numbers[y][z][x]), "pos": place(x, y, z)})
        for z in reversed(range(depth))
        for y in range(height)
        for x in range(width)
    ]
    return {
        "size": place(width, height, depth),
        "palette": listed(map(entry, ("air", *blueprint.materials))),
        "blocks": listed(blocks),
        "DataVersion": integer(3700),
        **fields,
    }


def varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def schematic(blueprint: Blueprint, **fields: Tag) -> dict[str, Tag]:
    """Version 2."""
    width, height, depth = blueprint.size
    palette = {_full(name): integer(number) for name, number in blueprint.mapping.items() if number > 0}
    numbers = [cell for layer in numbers_of(blueprint) for row in layer for cell in row]
    return {
        "Version": integer(2),
        "Width": short(width),
        "Height": short(height),
        "Length": short(depth),
        "Palette": compound({"minecraft:air": integer(0), **palette}),
        "BlockData": raw_bytes(b"".join(map(varint, numbers))),
        **fields,
    }


def words(numbers: Sequence[int], bits: int, *, across: bool) -> list[int]:
    """Numbers in 64-bit words, running on across words or not."""
    each = 64 // bits
    groups = [numbers] if across else [numbers[at : at + each] for at in range(0, len(numbers), each)]
    found = []
    for group in groups:
        whole = sum(number << (bits * place) for place, number in enumerate(group))
        count = -(-len(group) * bits // 64)
        found += [(whole >> (64 * word)) & (2**64 - 1) for word in range(count)]
    return found


def corner(x: int, y: int, z: int) -> Tag:
    return compound({"x": integer(x), "y": integer(y), "z": integer(z)})


def litematic_region(
    blueprint: Blueprint, low: Sequence[int] = (0, 0, 0), signs: Sequence[int] = (1, 1, 1), **fields: Tag
) -> dict[str, Tag]:
    """A region whose smallest corner is `low`, said with sizes of these signs."""
    numbers = [cell for layer in numbers_of(blueprint) for row in layer for cell in row]
    bits = max(2, len(blueprint.materials).bit_length())
    size = [side * sign for side, sign in zip(blueprint.size, signs, strict=True)]
    position = [at if side > 0 else at - side - 1 for at, side in zip(low, size, strict=True)]
    return {
        "Position": corner(*position),
        "Size": corner(*size),
        "BlockStatePalette": listed(map(entry, ("air", *blueprint.materials))),
        "BlockStates": longs(words(numbers, bits, across=True)),
        **fields,
    }


def litematic(regions: Mapping[str, Mapping[str, Tag]], **fields: Tag) -> dict[str, Tag]:
    every = compound({name: compound(region) for name, region in regions.items()})
    return {"Version": integer(6), "MinecraftDataVersion": integer(2975), "Regions": every, **fields}


def chunk(cx: int, cz: int, sections: Iterable[Mapping[str, Tag]], **fields: Tag) -> dict[str, Tag]:
    return {
        "DataVersion": integer(3700),
        "xPos": integer(cx),
        "zPos": integer(cz),
        "Status": text("minecraft:full"),
        "sections": listed(map(compound, sections), 10),
        **fields,
    }


def section(level: int, blocks: Mapping[tuple[int, int, int], str]) -> dict[str, Tag]:
    """A section of these blocks by (x, y, z) within it, and air."""
    names = list(dict.fromkeys(["air", *blocks.values()]))
    cells = ((x, y, z) for y in range(16) for z in range(16) for x in range(16))
    numbers = [names.index(blocks.get(cell, "air")) for cell in cells]
    states = {"palette": listed(map(entry, names))}
    if len(names) > 1:
        bits = max(4, (len(names) - 1).bit_length())
        states["data"] = longs(words(numbers, bits, across=False))
    return {"Y": byte(level), "block_states": compound(states)}


PACKINGS: dict[int, Callable[[bytes], bytes]] = {1: gzip.compress, 2: zlib.compress, 3: bytes}


def region_file(chunks: Mapping[tuple[int, int], Mapping[str, Tag]], packing: int = 2) -> bytes:
    """The file that holds these chunks by (cx, cz)."""
    table, sectors = bytearray(8192), b""
    for (cx, cz), fields in chunks.items():
        body = PACKINGS[packing](root(fields))
        record = struct.pack(">IB", len(body) + 1, packing) + body
        count = -(-len(record) // 4096)
        at = 4 * (cx % 32 + 32 * (cz % 32))
        table[at : at + 4] = (2 + len(sectors) // 4096).to_bytes(3, "big") + bytes([count])
        sectors += record.ljust(4096 * count, b"\0")
    return bytes(table) + sectors


def world_chunks(blocks: Mapping[tuple[int, int, int], str], **fields: Any) -> dict[tuple[int, int], dict[str, Tag]]:
    """Chunks by (cx, cz) that hold these blocks by world coordinates (x, y, z)."""
    parts: dict[tuple[int, int], dict[int, dict[tuple[int, int, int], str]]] = {}
    for (x, y, z), name in blocks.items():
        levels = parts.setdefault((x // 16, z // 16), {})
        levels.setdefault(y // 16, {})[x % 16, y % 16, z % 16] = name
    return {at: chunk(*at, [section(y, own) for y, own in levels.items()], **fields) for at, levels in parts.items()}
