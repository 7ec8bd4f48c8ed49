"""Reads the object streams of Python in which World-in-World released its trials; nothing in them is run.

The 28 instructions that those files use are known, and four names, which stand for records and arrays of numbers.
Anything else is refused.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.core.io import read_bytes

MOST_BYTES, MOST_STEPS, MOST_MEMORIES, DEEPEST = 4 << 20, 1_000_000, 100_000, 64
_RECORDS = {"amsolver.demo Demo", "amsolver.backend.observation Observation"}
_ARRAY, _KIND = "numpy.core.numeric _frombuffer", "numpy dtype"
_KINDS: Mapping[Any, np.dtype[Any]] = {(name, False, True): np.dtype(f"<{name}") for name in ("f8", "u4")}
_LITTLE_ENDIAN = (3, "<", None, None, None, -1, -1, 0)
_CONSTANTS = {b"N": None, b"\x88": True, b"\x89": False, b")": ()}
_NUMBERS = {b"K": "<B", b"M": "<H", b"J": "<i", b"G": ">d"}


class _Name(str):
    """One of the four names."""


@dataclass(eq=False)
class ObjectRecord:
    """An object whose class is not here: the name of the class, and its fields; None until the stream gives them."""

    kind: str
    fields: dict[str, Any] | None = None


def read_objects(path: Path) -> Any:
    """Read numbers, texts, tuples, lists, dicts by text, arrays and `ObjectRecord`s; DataError for anything else."""
    stream = _Stream(read_bytes(path, MOST_BYTES))
    try:
        return stream.read()
    except (ValueError, TypeError, IndexError, KeyError) as error:
        said = error if type(error) is ValueError else "the stream is damaged"
        raise DataError(f"{path}: byte {stream.at}: {said}; download the file again") from error


class _Stream:
    """A stream and what was read of it so far. Below each mark lies a stack of its own."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []
        self._memories: list[Any] = []

    def read(self) -> Any:
        """The one object of the stream."""
        need(self._take(2) == b"\x80\x05", "no stream of protocol 5")
        for _ in range(MOST_STEPS):
            if (code := self._take(1)) == b".":
                break
            self._step(code, self._stack)
        is_whole = code == b"." and len(self._stack) == 1 and not self._below and self.at == len(self._data)
        need(is_whole, f"it does not end as one object, or not within {MOST_STEPS} instructions")
        return self._stack[0]

    def _take(self, size: int) -> bytes:
        need(size <= len(self._data) - self.at, "the stream ends too early")
        self.at += size
        return self._data[self.at - size : self.at]

    def _step(self, code: bytes, stack: list[Any]) -> None:
        """Carry out an instruction."""
        match code:
            case b"h":
                stack.append(self._memories[self._take(1)[0]])
            case b"\x94":
                need(len(self._memories) < MOST_MEMORIES, f"more than {MOST_MEMORIES} objects are referred to")
                self._memories.append(stack[-1])
            case b"N" | b"\x88" | b"\x89" | b")":
                stack.append(_CONSTANTS[code])
            case b"K" | b"M" | b"J" | b"G":
                form = _NUMBERS[code]
                stack.append(struct.unpack(form, self._take(struct.calcsize(form)))[0])
            case b"\x85" | b"\x86" | b"\x87":
                stack.append(tuple(reversed([stack.pop() for _ in range(code[0] - 0x84)])))
            case b"(":
                need(len(self._below) < DEEPEST, f"it is nested deeper than {DEEPEST}")
                self._below.append(stack)
                self._stack = []
            case b"t" | b"u" | b"e":
                self._stack = self._below.pop()
                _gather(code, self._stack, stack)
            case b"\x96":
                stack.append(self._take(int.from_bytes(self._take(8), "little")))
            case b"\x8c":
                stack.append(self._take(self._take(1)[0]).decode())
            case b"]" | b"}":
                stack.append([] if code == b"]" else {})
            case b"\x93":
                name, module = stack.pop(), stack.pop()
                need(isinstance(name, str) and isinstance(module, str), "a name is no text")
                need(f"{module} {name}" in {*_RECORDS, _ARRAY, _KIND}, "it names more than a trial and its arrays")
                stack.append(_Name(f"{module} {name}"))
            case b"\x81" | b"R":
                given, name = stack.pop(), stack.pop()
                stack.append(_made(name, given, is_record=code == b"\x81"))
            case b"b":
                _fill(stack[-2], stack.pop())
            case b"\x95":
                need(int.from_bytes(self._take(8), "little") <= len(self._data) - self.at, "the stream ends too early")
            case _:
                raise ValueError(f"the instruction {code.hex()} is not known")


def need(is_so: bool, otherwise: str) -> None:
    """Raise ValueError for what is not so."""
    if not is_so:
        raise ValueError(otherwise)


def _gather(code: bytes, stack: list[Any], items: list[Any]) -> None:
    """Put what was found since a mark into a tuple, list or dict."""
    if code == b"t":
        stack.append(tuple(items))
    elif code == b"e":
        need(isinstance(stack[-1], list), "items are of no list")
        stack[-1].extend(items)
    else:
        # Hashing a key that is no text could take forever.
        is_sound = isinstance(stack[-1], dict) and len(items) % 2 == 0 and all(isinstance(k, str) for k in items[::2])
        need(is_sound, "fields are of no record")
        stack[-1].update(zip(items[::2], items[1::2], strict=True))


def _made(name: Any, given: Any, *, is_record: bool) -> Any:
    """An empty record, a kind of numbers, or an array, as the name says."""
    is_known = isinstance(name, _Name) and isinstance(given, tuple) and is_record == (name in _RECORDS)
    need(is_known, "something is made that is no trial and no array")
    if is_record:
        need(given == (), "a record is made of more than its fields")
        return ObjectRecord(name.split()[1])
    if name == _KIND:
        need(all(isinstance(one, (str, bool)) for one in given), "a kind of numbers is not known")
        return _KINDS[given]
    data, kind, shape, order = given
    is_array = isinstance(data, bytes) and isinstance(kind, np.dtype) and isinstance(shape, tuple) and order == "C"
    need(is_array and all(type(side) is int and side >= 0 for side in shape), "an array has no numbers or no shape")
    need(math.prod(shape) * kind.itemsize == len(data), "an array does not fit its numbers")
    return np.frombuffer(data, kind).reshape(shape)


def _fill(target: Any, state: Any) -> None:
    """Give a record its fields; of a kind of numbers, check the byte order."""
    if isinstance(target, ObjectRecord) and isinstance(state, dict) and target.fields is None:
        target.fields = state
    else:
        need(isinstance(target, np.dtype) and state == _LITTLE_ENDIAN, "a record has no fields")
