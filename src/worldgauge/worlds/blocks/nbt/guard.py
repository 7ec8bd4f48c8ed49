"""Checks of untrusted NBT files before they are read, since the reader trusts every length in a file.

A file is unpacked only up to a limit, then its bytes are walked once: kinds of tags, lengths, depth and number are
checked before anything is made of them.
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from worldgauge.core.errors import DataError, MissingExtraError
from worldgauge.worlds.blocks.nbt.fields import MOST_NAME, Fields, plain
from worldgauge.worlds.blocks.nbt.tags import compound_at, root_value, text_of


@dataclass(frozen=True)
class Limits:
    """What a file may ask for. Sizes in bytes; cells and side are of the box of a build.

    A million tags hold a structure of the game's largest size, 48 blocks a side, one and a half times. What blocks and
    creatures hold, such as the contents of chests, is counted apart and walked over; only jigsaws' data are kept.
    """

    most_file_bytes: int = 64 << 20
    most_nbt_bytes: int = 128 << 20
    most_depth: int = 48
    most_tags: int = 1_000_000
    most_held_tags: int = 8_000_000
    most_cells: int = 1 << 24
    most_side: int = 512


def nbt_library() -> Any:
    """Import nbtlib.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import nbtlib
    except ImportError:
        raise MissingExtraError("a structure file", "structures") from None
    return nbtlib


def fields_of_file(path: Path, limits: Limits) -> Fields:
    """The root of an NBT file, packed by gzip or zlib or not packed.

    Args:
        path: The file.
        limits: Limits on its size.

    Returns:
        The root.

    Raises:
        DataError: For a file that is missing, damaged or exceeds the limits.
    """
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


def fields_of(data: bytes, what: str, limits: Limits) -> Fields:
    """The root of unpacked NBT bytes, without what blocks and creatures hold, except final states of jigsaws.

    Args:
        data: The bytes.
        what: File, and chunk, for messages.
        limits: Limits on the size.

    Returns:
        The root.

    Raises:
        DataError: For bytes that are damaged or exceed the limits.
    """
    if len(data) > limits.most_nbt_bytes:
        raise DataError(f"{what}: larger than the limit of {limits.most_nbt_bytes} bytes; split it")
    data = _Walk(data, what, limits).check()
    return Fields(compound_at(data, root_value(data)), what)


def unpacked(data: bytes, what: str, limits: Limits) -> bytes:
    """Unpack bytes packed by gzip or zlib.

    Args:
        data: The bytes.
        what: File, and chunk, for messages.
        limits: Limits on the size.

    Returns:
        The unpacked bytes.

    Raises:
        DataError: When the limit is exceeded, for other bytes, and for data that end early.
    """
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
_STRING, _LIST, _COMPOUND = 8, 9, 10
_LEAST = {7: 4, 8: 2, 9: 5, 10: 1, 11: 4, 12: 4}
"""Bytes that a tag of each kind takes at least, as an element of a list."""
_KINDS = frozenset({*_FIXED, *_ARRAY, _STRING, _LIST, _COMPOUND})

_HOLDERS = frozenset({b"BlockEntities", b"TileEntities", b"block_entities", b"Entities", b"entities"})
"""Lists of what blocks and creatures hold. Readers need only the final states of jigsaws of them."""
_NEEDED = b"final_state"

_U16 = struct.Struct(">H").unpack_from
_I32 = struct.Struct(">i").unpack_from


class _Holder(NamedTuple):
    """A list of what blocks or creatures hold, while it is open.

    Attributes:
        depth: Open tags, itself included.
        count_at: Where its length stands.
        ends: Start of its first element, then the end of each.
    """

    depth: int
    count_at: int
    ends: list[int]


class _Walk:
    """One pass over NBT bytes without making anything of them."""

    def __init__(self, data: bytes, what: str, limits: Limits) -> None:
        self._data, self._what, self._limits = data, what, limits
        self._open: list[list[int]] = []
        """Kind of the elements (0 in a compound), elements left, and start of the name, of each open tag."""
        self._name = 1
        self._kept: list[bytes] = []
        """Parts of the bytes that are kept, up to `_copied`; what stands between them is dropped."""
        self._copied = 0

    def check(self) -> bytes:
        """Check the bytes.

        Returns:
            The bytes without what blocks and creatures hold, but for jigsaws.

        Raises:
            DataError: They are not NBT or pass a limit; the message names the field.
        """
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
            elif kind == _STRING:
                at += 2 + _U16(data, at)[0]
            elif kind == _COMPOUND:
                stack.append([0, 0, self._name])
            elif kind == _LIST:
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
                    if holder is None and of == _COMPOUND and not top[0] and self._is_holder():
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
