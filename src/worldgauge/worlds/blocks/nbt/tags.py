"""NBT bytes as Python values, and where the parts of a compound lie in the bytes, so that an edit keeps all others.

Both take bytes that `guard` has checked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

_NUMBERS = {1: ">b", 2: ">h", 3: ">i", 4: ">q", 5: ">f", 6: ">d"}
_ARRAYS = {7: ">i1", 11: ">i4", 12: ">i8"}
_STRING, _LIST, COMPOUND = 8, 9, 10


class Part(NamedTuple):
    """A field of a compound: its name, and where its tag and its value begin and end in the bytes."""

    name: str
    start: int
    value: int
    end: int


def root_value(data: bytes) -> int:
    """Where the value of the root compound begins."""
    return 3 + int.from_bytes(data[1:3], "big")


def compound_at(data: bytes, at: int) -> dict[str, Any]:
    """The compound whose value begins at a byte: numbers, texts, arrays (big-endian), lists and compounds."""
    return _value(data, COMPOUND, at)[0]  # type: ignore[no-any-return]


def text_of(raw: bytes) -> str:
    """Decode modified UTF-8: NUL is two bytes, and a character beyond U+FFFF is two surrogates of three bytes each.

    Plain UTF-8, which some tools write, is read too. Surrogates without a partner stay; invalid bytes become U+FFFD.
    """
    if raw.isascii():
        return raw.decode("ascii")
    try:
        halves = raw.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace")
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def parts(data: bytes, at: int) -> Iterator[Part]:
    """Yield the fields of the compound whose value begins at a byte."""
    while kind := data[at]:
        value = at + 3 + int.from_bytes(data[at + 1 : at + 3], "big")
        end = _end(data, kind, value)
        yield Part(text_of(data[at + 3 : value]), at, value, end)
        at = end


def elements(data: bytes, at: int) -> list[tuple[int, int]]:
    """Beginning and end of each element of the list whose value begins at a byte."""
    kind, count = data[at], max(0, int.from_bytes(data[at + 1 : at + 5], "big", signed=True))
    found, at = [], at + 5
    for _ in range(count):
        end = _end(data, kind, at)
        found.append((at, end))
        at = end
    return found


def edited(data: bytes, at: int, new: Mapping[str, bytes]) -> bytes:
    """The value of a compound with fields replaced or added. All others keep their bytes and their order.

    Args:
        data: The bytes.
        at: Where the value of the compound begins.
        new: Whole tags by name.
    """
    left, found = dict(new), []
    for part in parts(data, at):
        # Of two fields of one name the game takes the last, so none of the old ones may stay.
        found.append(left.pop(part.name, b"") if part.name in new else data[part.start : part.end])
    return b"".join([*found, *left.values(), b"\0"])


def tag(kind: int, name: str, value: bytes) -> bytes:
    """A whole tag; the name is ASCII."""
    return struct.pack(">BH", kind, len(name)) + name.encode("ascii") + value


def list_of_compounds(values: list[bytes]) -> bytes:
    """The value of a list of compounds."""
    return struct.pack(">Bi", COMPOUND, len(values)) + b"".join(values)


def _value(data: bytes, kind: int, at: int) -> tuple[Any, int]:
    """The value that begins at a byte, and its end."""
    if kind in _NUMBERS:
        form = _NUMBERS[kind]
        return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    if kind == _STRING:
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        return text_of(data[at + 2 : end]), end
    if kind == COMPOUND:
        fields: dict[str, Any] = {}
        while inner := data[at]:
            name = at + 3 + int.from_bytes(data[at + 1 : at + 3], "big")
            key = text_of(data[at + 3 : name])
            fields[key], at = _value(data, inner, name)
        return fields, at + 1
    if kind == _LIST:
        inner, count = data[at], max(0, int.from_bytes(data[at + 1 : at + 5], "big", signed=True))
        at += 5
        if inner in _NUMBERS:
            form = f">{count}{_NUMBERS[inner][1]}"
            return list(struct.unpack_from(form, data, at)), at + struct.calcsize(form)
        found = []
        for _ in range(count):
            one, at = _value(data, inner, at)
            found.append(one)
        return found, at
    form, count = _ARRAYS[kind], int.from_bytes(data[at : at + 4], "big")
    array = np.frombuffer(data, form, count, at + 4)
    return array, at + 4 + array.nbytes


def _end(data: bytes, kind: int, at: int) -> int:
    """Where the value that begins at a byte ends."""
    if kind in _NUMBERS:
        return at + struct.calcsize(_NUMBERS[kind])
    if kind == _STRING:
        return at + 2 + int.from_bytes(data[at : at + 2], "big")
    if kind == COMPOUND:
        while inner := data[at]:
            at = _end(data, inner, at + 3 + int.from_bytes(data[at + 1 : at + 3], "big"))
        return at + 1
    if kind == _LIST:
        inner, count = data[at], max(0, int.from_bytes(data[at + 1 : at + 5], "big", signed=True))
        at += 5
        if inner in _NUMBERS:
            return at + count * struct.calcsize(_NUMBERS[inner])
        for _ in range(count):
            at = _end(data, inner, at)
        return at
    return at + 4 + int.from_bytes(data[at : at + 4], "big") * np.dtype(_ARRAYS[kind]).itemsize
