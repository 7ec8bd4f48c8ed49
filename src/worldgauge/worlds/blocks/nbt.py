"""NBT, the format of the game's files: unpacked up to a limit, walked before it is read, taken field by field.

    root = fields_of(unpacked(data, "hut.nbt", limits), "hut.nbt", limits)
    root.whole("DataVersion", 0, 2**31 - 1)

Writing needs the extra 'structures'. `worldgauge.worlds.blocks.regions` reads and writes region files.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, MissingExtraError
from worldgauge.worlds.blocks.blueprint import material

# Fields of an NBT compound, checked as they are taken: every error names the file and the field.

MOST_TEXT = 200
"""Letters kept of a text that only describes."""
MOST_NAME = 120
"""Letters of the way to a field that a message gives, the last ones."""


@dataclass(frozen=True)
class Fields:
    """A compound of an NBT file."""

    tags: Mapping[str, Any]
    what: str  # the file, and chunk, that it belongs to
    at: str = ""  # path to it, with a dot at the end; empty for the root

    def __contains__(self, key: str) -> bool:
        return key in self.tags

    def error(self, key: str, why: str) -> DataError:
        """Make an error that names the file and the path to a field."""
        return DataError(f"{self.what}: field '{plain((self.at + key)[-MOST_NAME:])}' {why}")

    def whole(self, key: str, low: int, high: int) -> int:
        """Read a whole number."""
        value = self._get(key)
        if not isinstance(value, int) or not low <= value <= high:
            raise self.error(key, f"is {_said(value)}, not a whole number from {low} to {high}")
        return int(value)

    def text(self, key: str) -> str:
        """A text."""
        return str(self._get(key, str, "a text"))

    def place(self, key: str) -> tuple[int, int, int]:
        """Three whole numbers of a list or an array: x, y, z."""
        value = self._get(key)
        found = value.tolist() if isinstance(value, np.ndarray) and len(value) == 3 else value
        if not isinstance(found, list) or len(found) != 3 or not all(isinstance(one, int) for one in found):
            raise self.error(key, f"is {_said(value)}, not three whole numbers")
        return int(found[0]), int(found[1]), int(found[2])

    def corner(self, key: str, most: int) -> tuple[int, int, int]:
        """Read the whole numbers x, y and z of a compound."""
        inner = self.compound(key)
        return inner.whole("x", -most, most), inner.whole("y", -most, most), inner.whole("z", -most, most)

    def array(self, key: str, size: int) -> NDArray[Any]:
        """Read an array of numbers. `size`: bytes per number."""
        value = self._get(key)
        if not isinstance(value, np.ndarray) or value.dtype.itemsize != size:
            raise self.error(key, f"is {_said(value)}, not an array of {8 * size}-bit numbers")
        return np.array(value.view(np.ndarray), value.dtype.newbyteorder("="))

    def compound(self, key: str) -> Fields:
        """A compound."""
        return Fields(self._get(key, dict, "a compound"), self.what, f"{self.at}{key}.")

    def compounds(self, key: str, *, needed: bool = True) -> Iterator[Fields]:
        """Yield the compounds of a list. `needed`: false yields none where the field is missing."""
        if not needed and key not in self.tags:
            return
        value = self._get(key)
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.error(key, f"is {_said(value)}, not a list of compounds")
        for number, one in enumerate(value):
            yield Fields(one, self.what, f"{self.at}{key}[{number}].")

    def facts(self, *keys: str) -> dict[str, int | str]:
        """Those of the fields that are there and are whole numbers or texts, texts cut to MOST_TEXT letters."""
        found: dict[str, int | str] = {}
        for key in keys:
            value = self.tags.get(key)
            if isinstance(value, str):
                found[key] = plain(value)[:MOST_TEXT]
            elif isinstance(value, int):
                found[key] = int(value)
        return found

    def _get(self, key: str, kind: type = object, name: str = "") -> Any:
        if key not in self.tags:
            raise self.error(key, "is missing; export the file again")
        value = self.tags[key]
        if not isinstance(value, kind):
            raise self.error(key, f"is {_said(value)}, not {name}")
        return value


def plain(text: str) -> str:
    """A stranger's text for a message: one line, nothing that a terminal obeys."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _said(value: Any) -> str:
    # Never the repr of a list or an array: it may have millions of numbers.
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, str):
        return f"'{plain(value[:40])}'"
    kind = "an array" if isinstance(value, np.ndarray) else "a list" if isinstance(value, list) else "a compound"
    return f"{kind} of {len(value)}"


_NAME = re.compile(r"(?:[a-z0-9_.-]{1,64}:)?[a-z0-9_./-]{1,128}")
_STATE = re.compile(r"[a-z0-9_]{1,64}")


def material_of_text(text: str) -> str:
    """A material from "namespace:name[key=value,...]"."""
    name, bracket, rest = text.strip().partition("[")
    if bracket and not rest.endswith("]"):
        raise ValueError("has no closing bracket")
    parts = [part.partition("=") for part in rest.removesuffix("]").split(",")] if rest.removesuffix("]") else []
    return _checked(name, {key.strip(): value.strip() for key, _, value in parts})


def material_of(entry: Fields) -> str:
    """A material from a palette's compound with Name and Properties."""
    states: dict[str, str] = {}
    if "Properties" in entry:
        properties = entry.compound("Properties")
        states = {str(key): properties.text(key) for key in properties.tags}
    try:
        return _checked(entry.text("Name"), states)
    except ValueError as error:
        raise entry.error("Name", f"{error}, so it is no block of the game; export the file again") from None


def check_numbers(cells: NDArray[Any], count: int, fields: Fields, key: str) -> None:
    """Check that all numbers of cells exist in a palette."""
    if cells.size and (cells.min() < 0 or cells.max() >= count):
        place = int(np.argmax((cells < 0) | (cells >= count)))
        raise fields.error(key, f"holds {cells.ravel()[place]} for cell {place}, but the palette has {count} entries")


def _checked(name: str, states: dict[str, str]) -> str:
    lower = name.strip().lower()
    if not _NAME.fullmatch(lower):
        raise ValueError(f"'{plain(name[:40])}' has letters that no block's name has")
    for key, value in states.items():
        if not _STATE.fullmatch(key) or not _STATE.fullmatch(value):
            raise ValueError(f"state '{plain(key[:40])}={plain(value[:40])}' has letters that no block's state has")
    return material(lower, states)


# NBT bytes as Python values, and where the parts of a compound lie in the bytes, so that an edit keeps all others.
#
# Both take bytes that `guard` has checked.

_NUMBERS = {1: ">b", 2: ">h", 3: ">i", 4: ">q", 5: ">f", 6: ">d"}
_ARRAYS = {7: ">i1", 11: ">i4", 12: ">i8"}
STRING, LIST, COMPOUND = 8, 9, 10


class NbtField(NamedTuple):
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
    Plain UTF-8, which some tools write, is read too. Lone surrogates stay; invalid bytes become U+FFFD."""
    if raw.isascii():
        return raw.decode("ascii")
    try:
        halves = raw.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace")
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def parts(data: bytes, at: int) -> Iterator[NbtField]:
    """Yield the fields of the compound whose value begins at a byte."""
    while kind := data[at]:
        value = at + 3 + int.from_bytes(data[at + 1 : at + 3], "big")
        end = _end(data, kind, value)
        yield NbtField(text_of(data[at + 3 : value]), at, value, end)
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
    """The value of a compound with fields replaced or added. All others keep their bytes and their order."""
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
    if kind == STRING:
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        return text_of(data[at + 2 : end]), end
    if kind == COMPOUND:
        fields: dict[str, Any] = {}
        while inner := data[at]:
            name = at + 3 + int.from_bytes(data[at + 1 : at + 3], "big")
            key = text_of(data[at + 3 : name])
            fields[key], at = _value(data, inner, name)
        return fields, at + 1
    if kind == LIST:
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
    if kind == STRING:
        return at + 2 + int.from_bytes(data[at : at + 2], "big")
    if kind == COMPOUND:
        while inner := data[at]:
            at = _end(data, inner, at + 3 + int.from_bytes(data[at + 1 : at + 3], "big"))
        return at + 1
    if kind == LIST:
        inner, count = data[at], max(0, int.from_bytes(data[at + 1 : at + 5], "big", signed=True))
        at += 5
        if inner in _NUMBERS:
            return at + count * struct.calcsize(_NUMBERS[inner])
        for _ in range(count):
            at = _end(data, inner, at)
        return at
    return at + 4 + int.from_bytes(data[at : at + 4], "big") * np.dtype(_ARRAYS[kind]).itemsize


# Checks of untrusted NBT files before they are read, since the reader trusts every length in a file.
#
# A file is unpacked only up to a limit, then its bytes are walked once: kinds of tags, lengths, depth and number are
# checked before anything is made of them.


@dataclass(frozen=True)
class NbtLimits:
    """What a file may ask for. A million tags hold 1.5 structures of the game's largest size, 48 blocks per side."""

    most_file_bytes: int = 64 << 20
    most_nbt_bytes: int = 128 << 20
    most_depth: int = 48
    most_tags: int = 1_000_000
    most_held_tags: int = 8_000_000  # of what blocks and creatures hold, such as chests; skipped, except jigsaws
    most_cells: int = 1 << 24  # of the box of a build
    most_side: int = 512


def nbt_library() -> Any:
    """Import nbtlib."""
    try:
        import nbtlib
    except ImportError:
        raise MissingExtraError("a structure file", "structures") from None
    return nbtlib


def fields_of_file(path: Path, limits: NbtLimits) -> Fields:
    """The root of an NBT file, packed by gzip or zlib or not packed."""
    try:
        if not path.is_file():
            raise DataError(f"{path}: no such file; name one structure file")
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > limits.most_file_bytes:
                raise DataError(f"{path}: larger than the limit of {limits.most_file_bytes} bytes; split it")
            data = file.read(size)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    if not data:
        raise DataError(f"{path}: is empty; get it again")
    packed = data[:1] != b"\x0a"
    return fields_of(unpacked(data, str(path), limits) if packed else data, str(path), limits)


def fields_of(data: bytes, what: str, limits: NbtLimits) -> Fields:
    """The root of unpacked NBT bytes, without what blocks and creatures hold, except final states of jigsaws."""
    if len(data) > limits.most_nbt_bytes:
        raise DataError(f"{what}: larger than the limit of {limits.most_nbt_bytes} bytes; split it")
    data = _Walk(data, what, limits).check()
    return Fields(compound_at(data, root_value(data)), what)


def unpacked(data: bytes, what: str, limits: NbtLimits) -> bytes:
    """Unpack bytes packed by gzip or zlib."""
    stream = zlib.decompressobj(47)  # either header
    try:
        found = stream.decompress(data, limits.most_nbt_bytes + 1)
    except zlib.error as error:
        raise DataError(f"{what}: neither NBT nor packed by gzip or zlib, or damaged ({error}); get it again") from None
    if len(found) > limits.most_nbt_bytes:
        raise DataError(f"{what}: unpacks to more than the limit of {limits.most_nbt_bytes} bytes; split it")
    if not stream.eof:
        raise DataError(f"{what}: packed data ends early; get it again")
    return found


_FIXED = {1: 1, 2: 2, 3: 4, 4: 8, 5: 4, 6: 8}
_ARRAY = {7: 1, 11: 4, 12: 8}
_LEAST = {7: 4, 8: 2, 9: 5, 10: 1, 11: 4, 12: 4}
"""Bytes that a tag of each kind takes at least, as an element of a list."""
_KINDS = frozenset({*_FIXED, *_ARRAY, STRING, LIST, COMPOUND})

_HOLDERS = frozenset({b"BlockEntities", b"TileEntities", b"block_entities", b"Entities", b"entities"})
"""Lists of what blocks and creatures hold. Readers need only the final states of jigsaws of them."""
_NEEDED = b"final_state"

_U16 = struct.Struct(">H").unpack_from
_I32 = struct.Struct(">i").unpack_from


class _Holder(NamedTuple):
    """A list of what blocks or creatures hold, while it is open."""

    depth: int  # open tags, itself included
    count_at: int  # where its length is
    ends: list[int]  # start of its first element, then the end of each


class _Walk:
    """One pass over NBT bytes without making anything of them."""

    def __init__(self, data: bytes, what: str, limits: NbtLimits) -> None:
        self._data, self._what, self._limits = data, what, limits
        self._open: list[list[int]] = []
        """Kind of the elements (0 in a compound), elements left, and start of the name, of each open tag."""
        self._name = 1
        self._kept: list[bytes] = []
        """Parts of the bytes that are kept, up to `_copied`; what stands between them is dropped."""
        self._copied = 0

    def check(self) -> bytes:
        """Check the bytes. Returns the bytes without what blocks and creatures hold, but for jigsaws."""
        if self._data[:1] != b"\x0a":
            raise DataError(f"{self._what}: starts with no compound, so it is no NBT of the Java edition; export again")
        try:
            self._check()
        except (IndexError, struct.error):
            raise self._error("the file ends early") from None
        return b"".join([*self._kept, self._data[self._copied :]]) if self._kept else self._data

    def _check(self) -> None:
        data, end, limits = self._data, len(self._data), self._limits
        at = 3 + _U16(data, 1)[0]
        stack, tags, held = self._open, 0, 0
        holder: _Holder | None = None
        stack.append([0, 0, 1])
        while stack:
            top = stack[-1]
            if top[0]:
                if holder is not None and len(stack) == holder.depth:
                    holder.ends.append(at)
                if not top[1]:
                    stack.pop()
                    if holder is not None and len(stack) < holder.depth:
                        self._drop(holder)
                        holder = None
                    continue
                top[1] -= 1
                kind, self._name = top[0], top[2]
            else:
                kind = data[at]
                at += 1
                if not kind:
                    stack.pop()
                    continue
                self._name = at
                at += 2 + _U16(data, at)[0]
            if holder is None:
                tags += 1
            else:
                held += 1
            if kind in _FIXED:
                at += _FIXED[kind]
            elif kind == STRING:
                at += 2 + _U16(data, at)[0]
            elif kind == COMPOUND:
                stack.append([0, 0, self._name])
            elif kind == LIST:
                of, count = data[at], max(0, _I32(data, at + 1)[0])
                at += 5
                if of in _FIXED:
                    at += count * _FIXED[of]
                    if at <= end and holder is None:
                        tags += count
                elif count:
                    if of not in _KINDS:
                        raise self._error(f"a list of tags of kind {of}, which there is not")
                    if count * _LEAST[of] > end - at:
                        raise self._error(f"a list of {count} tags, more than the file has bytes for")
                    stack.append([of, count, self._name])
                    if holder is None and of == COMPOUND and not top[0] and self._is_holder():
                        holder = _Holder(len(stack), at - 4, [])
            elif kind in _ARRAY:
                count = _I32(data, at)[0]
                if count < 0:
                    raise self._error(f"an array of {count} numbers")
                at += 4 + count * _ARRAY[kind]
            else:
                raise self._error(f"a tag of kind {kind}, which there is not")
            if at > end:
                raise self._error("the file ends early")
            if len(stack) > limits.most_depth:
                raise self._error(f"nested deeper than the limit of {limits.most_depth}")
            if tags > limits.most_tags:
                mend = "split the build" if self._what.endswith(".schem") else "split the build, or save it as .schem"
                raise self._error(f"more than the limit of {limits.most_tags} tags", mend)
            if held > limits.most_held_tags:
                why = f"more than the limit of {limits.most_held_tags} tags of what blocks and creatures hold"
                raise self._error(why, "empty them, or split the build")

    def _drop(self, holder: _Holder) -> None:
        """Leave out the elements of a list that hold no final state, and mend its length."""
        spans = zip(holder.ends, holder.ends[1:], strict=False)
        kept = [self._data[start:end] for start, end in spans if self._data.find(_NEEDED, start, end) >= 0]
        self._kept += [self._data[self._copied : holder.count_at], struct.pack(">i", len(kept)), *kept]
        self._copied = holder.ends[-1]

    def _is_holder(self) -> bool:
        """Whether the tag that is being read is a list to be left out."""
        key = self._data[self._name + 2 : self._name + 2 + _U16(self._data, self._name)[0]]
        return key in _HOLDERS

    def _error(self, why: str, mend: str = "export the file again") -> DataError:
        starts = [start for _, _, start in self._open[1:]]
        names = [self._text(start) for start in dict.fromkeys([*starts, self._name]) if start > 1]
        field = f"field '{'.'.join(names)[-MOST_NAME:]}': " if names else ""
        return DataError(f"{self._what}: {field}{why}; {mend}")

    def _text(self, start: int) -> str:
        size = int.from_bytes(self._data[start : start + 2], "big")
        return plain(text_of(self._data[start + 2 : start + 2 + min(size, 40)]))
