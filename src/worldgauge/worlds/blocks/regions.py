"""Region files (`.mca`): 32 x 32 chunks in sectors of 4,096 bytes, found by a table at the start.

A table entry is a big-endian word of first sector and number of sectors, at 4 * (x + 32 * z) of the chunk within the
file; a record is a length, a packing and the packed NBT. A chunk of more than 255 sectors is in a file of its own,
`c.X.Z.mcc`; the highest bit of its packing says so.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, UsageError
from worldgauge.worlds.blocks.nbt import Fields, NbtLimits, fields_of, unpacked

SIDE = 16
"""Blocks of a chunk and of a section."""
CHUNKS = 32
"""Of a region file, along x and z."""
SECTOR = 4096
CHUNK_NBT_BYTES, CHUNK_TAGS = 16 << 20, 1 << 18
"""What one chunk may ask for: far more than the game writes, and little enough for a thousand of them."""

REGION_FOLDERS = ("region", "dimensions/minecraft/overworld/region")
"""Of a world's overworld: until 1.21.11, and since 26.1."""

_NAME = re.compile(r"r\.(-?\d{1,7})\.(-?\d{1,7})\.mca")
_ZLIB, _EXTERNAL = 2, 0x80
_MOST_SECTORS = 255


class SavedChunk(NamedTuple):
    """A chunk: its fields without what blocks and creatures hold, and the NBT bytes of all of it."""

    fields: Fields
    body: bytes


def region_folder(world: Path) -> Path:
    """Find the folder of the region files of a world's overworld, or of the dimension that the folder is."""
    found = [world / part for part in REGION_FOLDERS if any((world / part).glob("r.*.mca"))]
    if not found:
        raise DataError(f"{world}: is no saved world: it has no region files in {' or '.join(REGION_FOLDERS)}")
    if len(found) > 1:
        both = " and in ".join(REGION_FOLDERS)
        raise DataError(f"{world}: has region files in {both}; move those that the game does not use out of the world")
    return found[0]


def read_chunk(source: Path, cx: int, cz: int, limits: NbtLimits | None = None) -> SavedChunk:
    """Read a chunk."""
    limits = limits or NbtLimits()
    path = _file(source, cx // CHUNKS, cz // CHUNKS, f"chunk ({cx}, {cz})")
    what = f"{path}: chunk ({cx}, {cz})"
    small = replace(
        limits, most_nbt_bytes=min(limits.most_nbt_bytes, CHUNK_NBT_BYTES), most_tags=min(limits.most_tags, CHUNK_TAGS)
    )
    try:
        data = _record(path, cx % CHUNKS + CHUNKS * (cz % CHUNKS), what)
        packing, body = data[0], data[1:]
        if packing & _EXTERNAL:
            packing, body, small = packing - _EXTERNAL, _external(path, cx, cz, what, limits), limits
            what = f"{path.with_name(_external_name(cx, cz))}: chunk ({cx}, {cz})"
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    if packing not in (1, 2, 3):
        raise DataError(f"{what} is packed in way {packing}; only gzip, zlib and plain (1 to 3) are read: save it so")
    body = body if packing == 3 else unpacked(body, what, small)
    return SavedChunk(fields_of(body, what, small), body)


def region_name(cx: int, cz: int) -> str:
    """Return the name of the file that holds a chunk."""
    return f"r.{cx // CHUNKS}.{cz // CHUNKS}.mca"


def replaced(data: bytes, chunks: Iterable[tuple[int, int, bytes]]) -> tuple[bytes, dict[str, bytes | None]]:
    """A region file with `chunks` put at its end, and the content of each chunk's own file by name; None for a file
    that goes. All other chunks, and the times, stay where they are."""
    table, records, external = bytearray(data[:SECTOR]), [], dict[str, bytes | None]()
    sector = sectors = -(-len(data) // SECTOR)
    for cx, cz, body in chunks:
        packed, name = zlib.compress(body), _external_name(cx, cz)
        external[name] = packed if _sectors(packed) > _MOST_SECTORS else None
        record = _record_of(packed) if external[name] is None else _record_of(b"", _ZLIB | _EXTERNAL)
        at, count = 4 * (cx % CHUNKS + CHUNKS * (cz % CHUNKS)), len(record) // SECTOR
        table[at : at + 4] = (sector << 8 | count).to_bytes(4, "big")
        records.append(record)
        sector += count
    return bytes(table) + data[SECTOR:].ljust(SECTOR * (sectors - 1), b"\0") + b"".join(records), external


def region_bytes(chunks: Iterable[tuple[int, int, bytes]]) -> bytes:
    """The region file of some chunks. Times are 0, so the same chunks give the same bytes."""
    table, records, sector = np.zeros((2, CHUNKS, CHUNKS), ">u4"), [], 2
    for cx, cz, body in chunks:
        data = zlib.compress(body)
        if (count := _sectors(data)) > _MOST_SECTORS:
            raise UsageError(f"chunk ({cx}, {cz}) takes {count} sectors, not {_MOST_SECTORS} at most; use fewer states")
        table[0, cz % CHUNKS, cx % CHUNKS] = sector << 8 | count
        records.append(_record_of(data))
        sector += count
    return table.tobytes() + b"".join(records)


def numbers_of(words: NDArray[Any], bits: int, count: int, fields: Fields, key: str) -> NDArray[np.int64]:
    """Unpack numbers (count,) from 64-bit words, lowest bits first. No number crosses from word to word."""
    each = 64 // bits
    if len(words) != -(-count // each):
        raise fields.error(key, f"has {len(words)} words, not {-(-count // each)} for {count} numbers of {bits} bits")
    shifts = np.uint64(bits) * np.arange(each, dtype=np.uint64)
    parts = (words.view(np.uint64)[:, None] >> shifts) & np.uint64((1 << bits) - 1)
    return parts.ravel()[:count].astype(np.int64)


def words_of(numbers: NDArray[Any], bits: int) -> NDArray[np.int64]:
    """Pack numbers, each below 2**bits, into 64-bit words; the inverse of `numbers_of`."""
    each = 64 // bits
    padded = np.zeros((-(-len(numbers) // each), each), np.uint64)
    padded.ravel()[: len(numbers)] = numbers
    shifts = np.uint64(bits) * np.arange(each, dtype=np.uint64)
    words: NDArray[np.int64] = np.bitwise_or.reduce(padded << shifts, axis=1).view(np.int64)
    return words


def _file(source: Path, rx: int, rz: int, chunk: str) -> Path:
    """The region file that holds a chunk. Raises DataError where there is none."""
    name = f"r.{rx}.{rz}.mca"
    if source.is_dir():
        own = any(source.glob("r.*.mca")) or not any(any((source / part).glob("r.*.mca")) for part in REGION_FOLDERS)
        found = (source if own else region_folder(source)) / name
        if not found.is_file():
            raise DataError(f"{source}: has no {name}, which {chunk} of the box lies in; is the box in this dimension?")
        if not found.resolve().is_relative_to(source.resolve()):
            raise DataError(f"{found}: a link that leads out of {source}; put the file itself there")
        return found
    match = _NAME.fullmatch(source.name)
    if not match or not source.is_file():
        raise DataError(f"{source}: is neither a folder nor a region file called r.X.Z.mca")
    if (int(match[1]), int(match[2])) != (rx, rz):
        raise DataError(f"{source}: does not hold {chunk} of the box, {name} does; give the folder of both")
    return source


def _external_name(cx: int, cz: int) -> str:
    return f"c.{cx}.{cz}.mcc"


def _external(path: Path, cx: int, cz: int, what: str, limits: NbtLimits) -> bytes:
    """The packed bytes of a chunk that has a file of its own. Raises DataError where that is missing or too large."""
    own = path.with_name(_external_name(cx, cz))
    if not own.is_file():
        raise DataError(f"{what} is in a file of its own, {own.name}, which is missing; copy it beside {path.name}")
    if own.is_symlink():
        raise DataError(f"{own}: is a link; put the file itself there")
    if own.stat().st_size > limits.most_file_bytes:
        raise DataError(f"{own}: larger than the limit of {limits.most_file_bytes} bytes; mark another box")
    return own.read_bytes()


def _sectors(packed: bytes) -> int:
    """Sectors that a record of these packed bytes takes."""
    return -(-(len(packed) + 5) // SECTOR)


def _record_of(packed: bytes, packing: int = _ZLIB) -> bytes:
    record = (len(packed) + 1).to_bytes(4, "big") + bytes([packing]) + packed
    return record.ljust(SECTOR * _sectors(packed), b"\0")


def _record(path: Path, index: int, what: str) -> bytes:
    """Packing and packed bytes of the chunk of this index. Raises DataError."""
    with open(path, "rb") as file:
        file.seek(4 * index)
        entry = file.read(4)
        if len(entry) < 4:
            raise DataError(f"{path}: is shorter than its table of chunks; get it again")
        first, sectors = int.from_bytes(entry[:3], "big"), entry[3]
        if first == 0 and sectors == 0:
            raise DataError(f"{what} was never saved; walk there in the game and save, or mark another box")
        if first < 2 or sectors == 0:
            raise DataError(f"{what} is said to lie in {sectors} sectors from {first}, which cannot be; get it again")
        file.seek(SECTOR * first)
        head = file.read(5)
        size = int.from_bytes(head[:4], "big")
        external = len(head) == 5 and size == 1 and head[4] & _EXTERNAL
        if len(head) < 5 or not (external or 1 < size <= SECTOR * sectors - 4):
            raise DataError(f"{what} is said to have {size} bytes in {sectors} sectors, which cannot be; get it again")
        data = head[4:] + file.read(size - 1)
    if len(data) < size:
        raise DataError(f"{what}: the file ends early; get it again")
    return data
