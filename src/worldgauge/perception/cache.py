"""A cache of answers of networks and decoders, so that none runs twice on the same frames.

    identity = {"network": "lpips-alex", "version": 1, "weights": digest, "precision": "float32", "device": "cpu"}
    distances = cached_rows(identity, {"x": x, "y": y}, network.answer)["distances"]

It lies in the user's cache folder. The environment variable WORLDGAUGE_CACHE names another folder, or "off", and
WORLDGAUGE_CACHE_GB sets its size limit (20); the oldest entries are removed first. Processes share it, also over NFS.
What cannot be written or read, such as on a full disk, is computed again.

On disk are packs: files to which one process appends answers, and which all processes read. So many answers need only
few files, and no locks. A record is magic, key, length of header and of payload, CRC-32 of these; header (JSON: name,
type and shape of each array); payload (their bytes, C order, little-endian); CRC-32 of header and payload. A record
that a killed process left incomplete, or a disk has damaged, fails its CRC and is skipped.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import re
import struct
import threading
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.io import digest_of

FOLDER_VARIABLE = "WORLDGAUGE_CACHE"
LIMIT_VARIABLE = "WORLDGAUGE_CACHE_GB"
DEFAULT_LIMIT_GB = 20.0
FORMAT_VERSION = 1
PACK_BYTES = 256 * 2**20
"""Size at which a new pack is started; the oldest packs are removed as a whole."""

_MAGIC = b"WGA\x01"
_START = struct.Struct("<4s32sIQ")
_CRC = struct.Struct("<I")
_LEAD = _START.size + _CRC.size
_TYPES = re.compile(r"[<|][biuf][1-8]")

Arrays = Mapping[str, NDArray[Any]]

_open: dict[tuple[int, Path, int], Packs] = {}  # by process, too: a fork writes to its own packs


def cached_rows(
    identity: Mapping[str, Any], arrays: Arrays, ask: Callable[[Arrays], Arrays]
) -> dict[str, NDArray[Any]]:
    """Return `ask(arrays)` from the cache, for a network whose row i of each answer depends on row i of each array
    only. Only rows that are not in the cache are computed, each once and all in one call."""
    n = _rows(arrays, "arrays")
    packs = _packs(identity)
    if packs is None or n == 0:
        return dict(ask(arrays))
    keys = [_key({name: array[i] for name, array in arrays.items()}) for i in range(n)]
    known = packs.read(keys)
    asked = sorted({key: i for i, key in enumerate(keys) if key not in known}.values())
    if asked:
        answers = dict(ask(arrays if len(asked) == n else {name: array[asked] for name, array in arrays.items()}))
        if _rows(answers, "answers") != len(asked):
            raise ShapeError(f"a network answered {_rows(answers, 'answers')} rows to {len(asked)}")
        fresh = {keys[i]: {name: answer[j] for name, answer in answers.items()} for j, i in enumerate(asked)}
        packs.write(fresh)
        if len(asked) == n:
            return answers
        known |= fresh
    if len({_layout(known[key]) for key in keys}) > 1:
        return dict(ask(arrays))  # the shape of a row depends on its batch: all at once
    return {name: np.stack([known[key][name] for key in keys]) for name in known[keys[0]]}


def cached(identity: Mapping[str, Any], content: bytes | str, make: Callable[[], Arrays]) -> dict[str, NDArray[Any]]:
    """Return `make()` from the cache, such as the masks of a frame."""
    known = find(identity, content)
    if known is not None:
        return known
    made = dict(make())
    keep(identity, content, made)
    return made


def find(identity: Mapping[str, Any], content: bytes | str) -> dict[str, NDArray[Any]] | None:
    """Look up an answer."""
    packs = _packs(identity)
    key = _content_key(content)
    return None if packs is None else packs.read([key]).get(key)


def keep(identity: Mapping[str, Any], content: bytes | str, answer: Arrays) -> None:
    """Store an answer for `find`, as far as the disk allows."""
    packs = _packs(identity)
    if packs is not None:
        _check(answer, "answers", 0)
        packs.write({_content_key(content): answer})


def cache_folder() -> Path | None:
    """The user's cache folder, or the one that WORLDGAUGE_CACHE names; None when that is "off"."""
    from platformdirs import user_cache_dir

    given = os.environ.get(FOLDER_VARIABLE, "")
    return None if given.lower() == "off" else Path(given or user_cache_dir("worldgauge"))


def data_cache() -> Path:
    """The cache folder, for data sets that a command makes there."""
    folder = cache_folder()
    if folder is None:
        raise UsageError(f"{FOLDER_VARIABLE} is off, so data sets have no place; give the folder of a data set")
    return folder


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock beside a folder; other processes wait."""
    lock = folder.with_name(f".{folder.name}.lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("w")
    except OSError as error:
        raise UsageError(
            f"{lock.parent}: cannot be written ({error.strerror}); name another folder with {FOLDER_VARIABLE}, "
            "or give the folder of a data set"
        ) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _packs(identity: Mapping[str, Any]) -> Packs | None:
    """The packs with the answers of `identity`; None when the cache is off."""
    folder, limit = cache_folder(), limit_bytes()
    if folder is None or limit <= 0:
        return None
    who = json.dumps({**identity, "format": FORMAT_VERSION}, sort_keys=True, allow_nan=False)
    place = folder / "answers" / digest_of(who)
    return _open.setdefault((os.getpid(), place, limit), Packs(place, limit))


def _content_key(content: bytes | str) -> bytes:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).digest()


def limit_bytes() -> int:
    """The most bytes that one kind of entry may need: what WORLDGAUGE_CACHE_GB says."""
    given = os.environ.get(LIMIT_VARIABLE, "")
    try:
        limit = float(given) if given else DEFAULT_LIMIT_GB
    except ValueError:
        limit = math.nan
    if not 0 <= limit < math.inf:
        raise UsageError(f"{LIMIT_VARIABLE} is '{given}'; give gigabytes, such as 20, or 0 to keep nothing")
    return int(limit * 1e9)


def _key(row: Arrays) -> bytes:
    """SHA-256 of names, types, shapes and bytes: on processors that have it built in, the fastest there is."""
    key = hashlib.sha256(repr(_layout(row)).encode())
    for name in sorted(row):
        key.update(np.ascontiguousarray(row[name]).reshape(-1).view(np.uint8).data)
    return key.digest()


def _layout(row: Arrays) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    return tuple((name, row[name].dtype.str, row[name].shape) for name in sorted(row))


def _rows(arrays: Arrays, what: str) -> int:
    """How many rows all of them have."""
    _check(arrays, what, 1)
    numbers = {len(array) for array in arrays.values()}
    if len(numbers) != 1:
        raise ShapeError(f"{what} differ in rows: " + ", ".join(f"{name} {len(a)}" for name, a in arrays.items()))
    return numbers.pop()


def _check(arrays: Arrays, what: str, ndim: int) -> None:
    for name, array in arrays.items():
        if array.ndim < ndim or not is_kept(array.dtype):
            raise ShapeError(f"{what}: '{name}' is {array.shape} {array.dtype}; {'rows of ' * ndim}numbers are needed")


def is_kept(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this dtype can be stored: numbers and booleans, little-endian."""
    return _TYPES.fullmatch(dtype.str) is not None


class Packs:
    """The packs `*.pack` in a folder; this process writes one at a time.
    `limit` is the bytes of all packs in the parent of `folder`; each writer keeps to it within the size of one pack."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder, self._limit = folder, limit
        self._pack_bytes = min(PACK_BYTES, limit // 8)
        self._index: dict[bytes, list[_Place]] = {}  # every record of a key: another process may have asked the same
        self._seen: dict[str, int] = {}  # how far each pack of others has been looked through
        self._own = ""
        self._written: set[str] = set()
        self._refused = False
        self._lock = threading.Lock()

    def read(self, keys: Iterable[bytes]) -> dict[bytes, dict[str, NDArray[Any]]]:
        """Look up answers."""
        wanted = set(keys)
        found: dict[bytes, dict[str, NDArray[Any]]] = {}
        with self._lock:
            if not wanted <= self._index.keys():
                # Learn what other processes have written since the last time.
                for path in self._folder.glob("*.pack"):
                    if path.name in self._written:
                        continue
                    with suppress(OSError):  # removed in the meantime
                        size, seen = path.stat().st_size, self._seen.get(path.name, 0)
                        if size != seen:
                            with path.open("rb") as file:
                                self._seen[path.name] = self._scan(path.name, file, seen if seen < size else 0, size)
            while missing := sorted((self._index[key][-1], key) for key in wanted - found.keys() if key in self._index):
                for pack, places in groupby(missing, key=lambda each: each[0].pack):
                    found |= _read(self._folder / pack, places)
                for _, key in missing:
                    if key not in found:  # damaged since, or gone with its pack; there may be another one
                        self._index[key].pop()
                        if not self._index[key]:
                            del self._index[key]
        return found

    def write(self, answers: Mapping[bytes, Arrays]) -> None:
        """Append answers as far as the disk allows; after a failed write this process does not try again."""
        records = {key: _record(key, arrays) for key, arrays in answers.items()}
        fitting = {key: record for key, record in records.items() if len(record) <= self._pack_bytes}
        with self._lock, suppress(OSError):
            if fitting and not self._refused:
                self._refused = True
                self._append(fitting)
                self._refused = False

    def _append(self, records: Mapping[bytes, bytes]) -> None:
        if not self._own or ((own := self._folder / self._own).exists() and own.stat().st_size >= self._pack_bytes):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._make_room()
            self._own = f"{uuid.uuid4().hex}.pack"
            self._written.add(self._own)
        with (self._folder / self._own).open("ab") as file:
            start = file.seek(0, os.SEEK_END)
            try:
                file.write(b"".join(records.values()))
                file.flush()
            except OSError:
                with suppress(OSError):
                    file.truncate(start)
                raise
        for key, record in records.items():
            self._index.setdefault(key, []).append(_Place(self._own, start, len(record)))
            start += len(record)

    def _make_room(self) -> None:
        """Remove the oldest packs until another one fits."""
        packs = []
        for path in self._folder.parent.glob("*/*.pack"):
            with suppress(OSError):  # removed in the meantime
                facts = path.stat()
                packs.append((facts.st_mtime_ns, facts.st_size, path))
        total = sum(size for _, size, _ in packs)
        for _, size, path in sorted(packs):
            if total + self._pack_bytes <= self._limit:
                break
            path.unlink(missing_ok=True)
            total -= size

    def _scan(self, pack: str, file: IO[bytes], position: int, size: int) -> int:
        """Put the records from `position` on into the index; returns where the next one will start."""
        while position + _LEAD <= size:
            file.seek(position)
            found = _lead(file.read(_LEAD))
            if found is None:
                position = _next_magic(file, position + 1, size)
                continue
            key, length = found
            if position + length > size:
                break  # being written, or never finished
            self._index.setdefault(key, []).append(_Place(pack, position, length))
            position += length
        return position


class _Place(NamedTuple):
    """Where a record lies: name of its pack, offset and length in bytes."""

    pack: str
    offset: int
    length: int


def _read(pack: Path, places: Iterable[tuple[_Place, bytes]]) -> dict[bytes, dict[str, NDArray[Any]]]:
    """By key, the records of one pack that are whole."""
    found = {}
    with suppress(OSError), pack.open("rb") as file:
        for (_, offset, length), key in places:
            file.seek(offset)
            arrays = _arrays(file.read(length), key)
            if arrays is not None:
                found[key] = arrays
    return found


def _record(key: bytes, arrays: Arrays) -> bytes:
    header = json.dumps([[name, array.dtype.str, array.shape] for name, array in arrays.items()]).encode()
    payload = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())
    start = _START.pack(_MAGIC, key, len(header), len(payload))
    body = header + payload
    return b"".join((start, _CRC.pack(zlib.crc32(start)), body, _CRC.pack(zlib.crc32(body))))


def _lead(data: bytes) -> tuple[bytes, int] | None:
    """Key and length in bytes of the record that begins so; None where none does."""
    if len(data) < _LEAD or _CRC.unpack_from(data, _START.size)[0] != zlib.crc32(data[: _START.size]):
        return None
    magic, key, header, payload = _START.unpack_from(data)
    length = _LEAD + header + payload + _CRC.size
    return (key, length) if magic == _MAGIC and length <= PACK_BYTES else None


def _arrays(record: bytes, key: bytes) -> dict[str, NDArray[Any]] | None:
    """What a record holds; None where it is not the whole record of `key`."""
    if _lead(record[:_LEAD]) != (key, len(record)):
        return None
    body = memoryview(record)[_LEAD : -_CRC.size]
    if _CRC.unpack_from(record, len(record) - _CRC.size)[0] != zlib.crc32(body):
        return None
    _, _, size, _ = _START.unpack_from(record)
    found, position = {}, size
    try:
        for name, kind, shape in json.loads(bytes(body[:size])):
            if _TYPES.fullmatch(kind) is None or not all(isinstance(side, int) and side >= 0 for side in shape):
                return None
            count = math.prod(shape)
            array = np.frombuffer(body, kind, count, position) if count else np.zeros(0, kind)
            found[name] = array.reshape(shape).copy()
            position += array.nbytes
    except (ValueError, TypeError, RecursionError):
        return None
    return found if position == len(body) else None


def _next_magic(file: IO[bytes], position: int, size: int) -> int:
    """Where a record may begin again after a damaged one; `size` where none does."""
    step = 1 << 20
    while position + _LEAD <= size:
        file.seek(position)
        found = file.read(step + len(_MAGIC) - 1).find(_MAGIC)
        if found >= 0:
            return position + found
        position += step
    return size
