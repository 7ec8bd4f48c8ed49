"""Changed copies of files: each knows the structure of its format, so that damage gets past the parser."""

from __future__ import annotations

import gzip
import io
import json
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import PurePath
from random import Random
from typing import Any, TypeVar

Part = TypeVar("Part")
NUMBERS: tuple[Any, ...] = (0, -1, 1, 2**31, 2**53 + 1, 2**64, -(2**63), 10**400, 0.5, 1e-320, 1e308, -1e308, 1e999)
TEXTS = (
    "",
    " ",
    "\x00",
    "\n",
    "../../../etc/passwd",
    "/",
    ".",
    "a" * 5000,
    "\ud800",
    "\u202e",
    "<script>",
    "nan",
    "%s",
)
TEXTS += ("1e999", "-0", "\x1b[2J", "true", "٣", "９", "0x10", "1_000")
DEEP = "[" * 3000 + "]" * 3000


def damaged(name: str, data: bytes, rng: Random) -> bytes:
    """A changed copy of a file, in the way that fits the ending of its name; one in six is changed byte by byte."""
    if name.endswith(".gz"):
        return gzip.compress(damaged(name[:-3], gzip.decompress(data), rng), 1, mtime=0)
    if not data or rng.random() < 1 / 6:
        return damaged_bytes(data, rng)
    return BY_ENDING.get(PurePath(name).suffix, _by_content)(data, rng)


def damaged_bytes(data: bytes, rng: Random) -> bytes:
    """Up to three places are changed, cut out, doubled, exchanged, or the file is cut off there."""
    held = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(held) + 1)
        match rng.randrange(9):
            case 0:
                held[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                if at < len(held):
                    held[at] ^= 1 << rng.randrange(8)
            case 2:
                del held[max(at, 1) :]
            case 3:
                held[at : at + 4] = struct.pack(rng.choice("<>") + "I", rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1]))
            case 4:
                held[at:at] = held[at : at + rng.randint(1, 40)]
            case 5:
                places = [n for n in _some(len(held), rng) if 48 <= held[n] <= 57]
                if places:
                    held[rng.choice(places)] = rng.randint(45, 57)
            case 6:
                del held[at : at + rng.randint(1, 40)]
            case 7:
                other, size = rng.randrange(len(held) + 1), rng.randint(1, 16)
                held[at : at + size] = held[other : other + size]
            case 8:
                size = rng.randint(1, 64)
                held[at : at + size] = bytes(size)
    return bytes(held)


def damaged_json(data: bytes, rng: Random) -> bytes:
    """A document with one to three values, keys or entries that do not belong there."""
    try:
        value = json.loads(data)
    except ValueError:
        return damaged_bytes(data, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        value = with_damage(value, rng)
    text = json.dumps(value)
    if rng.random() < 0.04:
        text = text.replace("null", DEEP, 1)
    # Python's own writer makes them, other parsers refuse them.
    return text.encode() if rng.random() < 0.95 else text.encode("utf-16")


def damaged_lines(data: bytes, rng: Random) -> bytes:
    """JSON lines: one is damaged as JSON, left out, doubled, moved, or cut."""
    lines = data.split(b"\n")

    def changed(line: bytes, raw: bool) -> bytes:
        if raw:
            return damaged_bytes(line, rng)
        return damaged_json(line, rng) if line else line

    _rearrange(lines, changed, rng)
    return b"\n".join(lines)


def damaged_table(data: bytes, rng: Random) -> bytes:
    """Rows of text and numbers: a cell is replaced, a row or a cell left out or doubled."""
    rows = data.split(b"\n")
    at = rng.randrange(len(rows))
    separator = next((one for one in (b",", b"\t", b" ") if one in rows[at]), b",")
    cells = rows[at].split(separator)
    place = rng.randrange(len(cells))
    match rng.randrange(7):
        case 0:
            del rows[at]
        case 1:
            rows.insert(rng.randrange(len(rows)), rows[at])
        case 2:
            del cells[place]
            rows[at] = separator.join(cells)
        case 3:
            cells.insert(place, cells[place])
            rows[at] = separator.join(cells)
        case _:
            cells[place] = str(rng.choice(NUMBERS + TEXTS)).encode("utf-8", "surrogatepass")
            rows[at] = separator.join(cells)
    return b"\n".join(rows)


def damaged_text(data: bytes, rng: Random) -> bytes:
    """Words are doubled, left out, exchanged, or replaced by odd ones; brackets and quotes come and go."""
    words = data.decode("utf-8", "replace").split(" ")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(words))
        match rng.randrange(6):
            case 0:
                words[at] = str(rng.choice(TEXTS + NUMBERS))
            case 1:
                words[at] += rng.choice(("{", "}", "[", "]", '"', "'", "```", "\n\n", "\\", ",", ":", "\u00a0", "\r"))
            case 2:
                words.insert(rng.randrange(len(words)), words[at])
            case 3:
                other = rng.randrange(len(words))
                words[at], words[other] = words[other], words[at]
            case 4:
                letter = rng.randrange(len(words[at]) + 1)
                words[at] = (
                    words[at][:letter] + rng.choice("0123456789-.eE[](){}<>#/\\\"'`|*_") + words[at][letter + 1 :]
                )
            case 5:
                if len(words) > 1:
                    del words[at]
    return " ".join(words).encode("utf-8", "surrogatepass")


def damaged_zip(data: bytes, rng: Random) -> bytes:
    """An archive whose member is damaged in its own way, renamed, left out or doubled, packed again with right sums."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(entry.filename, archive.read(entry), entry.compress_type) for entry in archive.infolist()]
    except (zipfile.BadZipFile, zlib.error, ValueError, KeyError, NotImplementedError):
        return damaged_bytes(data, rng)
    at = rng.randrange(len(members))
    name, held, packing = members[at]
    match rng.randrange(8):
        case 0:
            del members[at]
        case 1:
            members[at] = (rng.choice(("../" + name, "/" + name, "", name + "/", name.upper(), "a\\b")), held, packing)
        case 2:
            members.append(members[at])
        case _:
            members[at] = (name, damaged(name, held, rng), packing)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compresslevel=1) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of two members with one name
        for name, held, packing in members:
            entry = zipfile.ZipInfo(name or " ")
            entry.compress_type = packing
            archive.writestr(entry, held, compresslevel=1)
    return out.getvalue()


def damaged_npy(data: bytes, rng: Random) -> bytes:
    """An array whose header tells another type, order or shape, or whose values are bits of any kind."""
    if not data.startswith(b"\x93NUMPY\x01\x00") or rng.random() < 0.3:
        return damaged_bytes(data, rng)
    size = struct.unpack("<H", data[8:10])[0]
    head, body = data[10 : 10 + size].decode("latin-1"), data[10 + size :]
    match rng.randrange(4):
        case 0:
            kind = rng.choice(("|O", "<f8", "<f2", ">i4", "|b1", "<U9", "<M8[s]", "|V3", "<c16", "<u8", "<f4,<i4"))
            head = _replaced(head, "'descr': '", "'", kind)
        case 1:
            sides = [str(rng.choice((0, 1, 2, 3, 2**31, 2**62, -1))) for _ in range(rng.randrange(5))]
            head = _replaced(head, "'shape': (", ")", ", ".join(sides) + ("," if len(sides) == 1 else ""))
        case 2:
            head = head.replace("False", "True")
        case 3:
            held = bytearray(body)
            for _ in range(rng.randint(1, 8)):
                at = rng.randrange(max(len(held), 1)) // 4 * 4
                held[at : at + 4] = rng.choice(
                    (b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\xff\xff\x7f\x7f", b"\xff" * 4, bytes(4))
                )
            body = bytes(held)
    packed = head.encode("latin-1", "replace")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(packed) & 0xFFFF) + packed + body


def damaged_glb(data: bytes, rng: Random) -> bytes:
    """A binary glTF whose document is damaged as JSON and packed again with right lengths."""
    if len(data) < 20 or rng.random() < 0.4:
        return damaged_bytes(data, rng)
    size = struct.unpack("<I", data[12:16])[0]
    text = damaged_json(data[20 : 20 + size], rng)
    text += b" " * (-len(text) % 4)
    rest = data[20 + size :]
    return data[:8] + struct.pack("<II", 20 + len(text) + len(rest), len(text)) + data[16:20] + text + rest


def damaged_safetensors(data: bytes, rng: Random) -> bytes:
    """Tensors whose table is damaged as JSON, with the right length before it."""
    size = int.from_bytes(data[:8], "little")
    text = damaged_json(data[8 : 8 + size], rng)
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


def damaged_messages(data: bytes, rng: Random) -> bytes:
    """Messages of the wire protocol in a row: one's header is damaged as JSON; or they are doubled, moved, cut."""
    messages = _messages(data)

    def changed(message: tuple[bytes, bytes], raw: bool) -> tuple[bytes, bytes]:
        header, rest = message
        return (header, damaged_bytes(rest, rng)) if raw else (damaged_json(header, rng), rest)

    _rearrange(messages, changed, rng)
    return b"".join(struct.pack("<I", len(header)) + header + rest for header, rest in messages)


def damaged_nbt(data: bytes, rng: Random) -> bytes:
    """Named tags, unpacked, with damage at kinds, lengths and values, and packed again in the same way."""
    if data[:2] == b"\x1f\x8b":
        return gzip.compress(_damaged_tags(gzip.decompress(data), rng), 1, mtime=0)
    with suppress(zlib.error):
        return zlib.compress(_damaged_tags(zlib.decompress(data), rng), 1)
    return _damaged_tags(data, rng)


def damaged_region(data: bytes, rng: Random) -> bytes:
    """A file of chunks, one of which holds damaged tags under a right length; or another table of places."""
    held = bytearray(data)
    used = [n for n in range(0, min(4096, len(held)), 4) if any(held[n : n + 4])]
    if not used or rng.random() < 0.3:
        return damaged_bytes(data, rng)
    at = int.from_bytes(held[(place := rng.choice(used)) : place + 3], "big") * 4096
    size = int.from_bytes(held[at : at + 4], "big")
    with suppress(zlib.error):
        chunk = damaged_nbt(bytes(held[at + 5 : at + 4 + size]), rng)
        held[at : at + 5 + len(chunk)] = struct.pack(">IB", 1 + len(chunk), held[at + 4]) + chunk
    return bytes(held)


def damaged_boxes(data: bytes, rng: Random) -> bytes:
    """A video of boxes or chunks: sizes, kinds and the numbers behind them; frames less often than tables."""
    held = bytearray(data)
    kinds = (b"moov", b"trak", b"mdia", b"stbl", b"stts", b"stsz", b"stco", b"stsc", b"stsd", b"avcC", b"tkhd", b"mdhd")
    kinds += (
        b"mvhd",
        b"ctts",
        b"elst",
        b"ftyp",
        b"mdat",
        b"avih",
        b"strh",
        b"strf",
        b"idx1",
        b"movi",
        b"hdrl",
        b"RIFF",
    )
    places = [at for kind in kinds if (at := held.find(kind)) >= 0]
    if not places or rng.random() < 0.3:
        return damaged_bytes(data, rng)
    for _ in range(rng.randint(1, 3)):
        at = rng.choice(places) + rng.randint(-4, 40)
        held[at : at + 4] = rng.choice((bytes(4), b"\xff" * 4, b"\x7f\xff\xff\xff", b"\0\0\0\1", rng.randbytes(4)))
    return bytes(held)


def damaged_png(data: bytes, rng: Random) -> bytes:
    """A PNG whose parts are changed and have right sums."""
    if not data.startswith(b"\x89PNG") or rng.random() < 0.3:
        return damaged_bytes(data, rng)
    parts, at = [], 8
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        parts.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + size]))
        at += 12 + size
    place = rng.randrange(len(parts))
    kind, held = parts[place]
    match rng.randrange(4):
        case 0:
            del parts[place]
        case 1:
            parts.insert(rng.randrange(len(parts)), parts[place])
        case _:
            parts[place] = (kind, damaged_bytes(held, rng))
    return data[:8] + b"".join(
        struct.pack(">I", len(held)) + kind + held + struct.pack(">I", zlib.crc32(kind + held)) for kind, held in parts
    )


def _rearrange(parts: list[Part], changed: Callable[[Part, bool], Part], rng: Random) -> None:
    """One part is left out, doubled, moved, or changed: once in five as raw bytes, else by its structure."""
    at = rng.randrange(len(parts))
    match rng.randrange(8):
        case 0:
            del parts[at]
        case 1:
            parts.insert(at, parts[at])
        case 2:
            parts.insert(rng.randrange(len(parts)), parts.pop(at))
        case other:
            parts[at] = changed(parts[at], other == 3)


def _by_content(data: bytes, rng: Random) -> bytes:
    start = data[:64].lstrip()[:1]
    if start in (b"{", b"["):
        return damaged_json(data, rng)
    return damaged_text(data, rng) if b"\0" not in data[:200] else damaged_bytes(data, rng)


BY_ENDING: dict[str, Callable[[bytes, Random], bytes]] = {
    ".json": damaged_json,
    ".jsonl": damaged_lines,
    ".csv": damaged_table,
    ".txt": damaged_text,
    ".npz": damaged_zip,
    ".zip": damaged_zip,
    ".npy": damaged_npy,
    ".glb": damaged_glb,
    ".safetensors": damaged_safetensors,
    ".wire": damaged_messages,
    ".nbt": damaged_nbt,
    ".schem": damaged_nbt,
    ".litematic": damaged_nbt,
    ".dat": damaged_nbt,
    ".mca": damaged_region,
    ".mp4": damaged_boxes,
    ".avi": damaged_boxes,
    ".png": damaged_png,
}


def with_damage(value: Any, rng: Random) -> Any:
    """The value with one change, at a place that is found by going down at random."""
    if not isinstance(value, (dict, list)) or not value or rng.random() < 0.15:
        return _odd(value, rng)
    key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
    match rng.randrange(24):
        case 0:
            del value[key]
        case 1 if isinstance(value, list):
            value.insert(rng.randrange(len(value)), value[key])
        case 1:
            value[rng.choice(TEXTS)] = value.pop(key)
        case 2 if isinstance(value, list):
            del value[key:]
        case 2:
            value[rng.choice(TEXTS)] = _odd(value[key], rng)
        case 3:
            value[key] = [value[key]]
        case 4:
            value[key] = rng.choice(list(value.values()) if isinstance(value, dict) else value)
        case _:
            value[key] = with_damage(value[key], rng)
    return value


def _odd(value: Any, rng: Random) -> Any:
    """Another value: often of the same kind, so that only a look at its meaning tells."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**60
    if number and rng.random() < 0.6:
        return rng.choice((value + 1, -value, float(value), value * 1000, str(value), value + 0.5, *NUMBERS))
    if isinstance(value, str) and rng.random() < 0.6:
        other = rng.choice(TEXTS)
        return rng.choice((other, value + other, value[:-1], value.upper(), value * 2, [value]))
    return rng.choice((None, True, False, [], {}, [[]], [None], {"a": 1}, float("nan"), *NUMBERS, *TEXTS))


def _damaged_tags(data: bytes, rng: Random) -> bytes:
    places = list(_tag_places(data))
    held = bytearray(data)
    if not places or rng.random() < 0.2:
        return damaged_bytes(data, rng)
    for _ in range(rng.randint(1, 3)):
        at, size, what = rng.choice(places)
        if what == "kind":
            held[at] = rng.randrange(14)
        elif what == "length":
            held[at : at + size] = rng.choice((0, 1, 2 ** (8 * size - 1) - 1, 2 ** (8 * size) - 1)).to_bytes(
                size, "big"
            )
        else:
            held[at : at + size] = rng.choice(
                (bytes(size), b"\xff" * size, b"\x7f" + b"\xff" * (size - 1), rng.randbytes(size))
            )
    return bytes(held)


_SIZES = {1: 1, 2: 2, 3: 4, 4: 8, 5: 4, 6: 8}
_UNITS = {7: 1, 11: 4, 12: 8}


def _tag_places(data: bytes) -> list[tuple[int, int, str]]:
    """(offset, size, what) of kinds, lengths and values of a sound file of tags."""
    found: list[tuple[int, int, str]] = []

    def value(kind: int, at: int) -> int:
        if kind in _SIZES:
            found.append((at, _SIZES[kind], "value"))
            return at + _SIZES[kind]
        if kind == 8:
            size = int.from_bytes(data[at : at + 2], "big")
            found.extend([(at, 2, "length"), (at + 2, max(size, 1), "value")])
            return at + 2 + size
        if kind in _UNITS:
            count = int.from_bytes(data[at : at + 4], "big")
            found.append((at, 4, "length"))
            if count:
                found.append((at + 4, _UNITS[kind], "value"))
            return at + 4 + count * _UNITS[kind]
        if kind == 9:
            inner, count = data[at], int.from_bytes(data[at + 1 : at + 5], "big")
            found.extend([(at, 1, "kind"), (at + 1, 4, "length")])
            at += 5
            for _ in range(count):
                at = value(inner, at)
            return at
        while data[at]:
            found.append((at, 1, "kind"))
            inner, size = data[at], int.from_bytes(data[at + 1 : at + 3], "big")
            found.append((at + 3, max(size, 1), "value"))
            at = value(inner, at + 3 + size)
        return at + 1

    with suppress(IndexError, RecursionError):
        value(10, 3 + int.from_bytes(data[1:3], "big"))
    return found


def _messages(data: bytes) -> list[tuple[bytes, bytes]]:
    """(header, bytes of its arrays) of each message of a sound stream."""
    found, at = [], 0
    while at + 4 <= len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        header = data[at + 4 : at + 4 + size]
        at += 4 + size
        behind = 0
        for entry in json.loads(header).get("arrays", []):
            count = int("".join(filter(str.isdigit, entry["dtype"]))) // 8
            for side in entry["shape"]:
                count *= side
            behind += count
        found.append((header, data[at : at + behind]))
        at += behind
    return found


def _replaced(text: str, before: str, after: str, other: str) -> str:
    start = text.find(before)
    end = text.find(after, start + len(before))
    return text if start < 0 or end < 0 else text[: start + len(before)] + other + text[end:]


def _some(count: int, rng: Random) -> list[int]:
    """Up to 64 places of `count`, so that a large file costs no more than a small one."""
    return [rng.randrange(count) for _ in range(min(64, count))]
