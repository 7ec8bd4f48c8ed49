"""The index of a pushed data set: every file with its digest, and where its bytes lie.

ADDRESS/index.json            written last: a place without one holds no whole data set
ADDRESS/data/part-*.parquet   small files, a row each: path, sha256, bytes, content
ADDRESS/videos/SHA256.mp4     videos, and other files that are large, under their digests
ADDRESS/README.md, LICENSE    as in the data set, for people
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from worldgauge.core.errors import DataError
from worldgauge.core.io import dumps, parse_json
from worldgauge.tools.bundle.hash_tree import root_of

INDEX = "index.json"
FORMAT, VERSION = "worldgauge-data", 1
MAX_INDEX_BYTES = 64 << 20
MAX_PART_BYTES = 256 << 20
MAX_FILE_BYTES = 64 << 30
MAX_PATH = 300

_NAME = re.compile(r"[A-Za-z0-9_+-][A-Za-z0-9._+ -]*")
_PART = re.compile(r"data/part-\d{5}-[0-9a-f]{16}\.parquet")
_LOOSE = re.compile(r"videos/[0-9a-f]{64}(\.[A-Za-z0-9]{1,8})?")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Held:
    """A file of the data set.

    Attributes:
        path: Its path in the data set.
        sha256: Its digest.
        bytes: Its size.
        place: Name of the Parquet file that holds it, or of its own file, at the address.
    """

    path: str
    sha256: str
    bytes: int
    place: str


@dataclass(frozen=True)
class Part:
    """A Parquet file.

    Attributes:
        name: Its name at the address.
        sha256: Its digest.
        bytes: Its size.
    """

    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Index:
    """All that lies at an address.

    Attributes:
        files: The files of the data set, sorted by path.
        parts: The Parquet files.
    """

    files: tuple[Held, ...]
    parts: tuple[Part, ...]

    @property
    def root(self) -> str:
        """Digest of all contents."""
        return root_of({one.path: one.sha256 for one in self.files})

    def to_bytes(self) -> bytes:
        """The index as it is stored."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "root": self.root,
            "parts": [[one.name, one.sha256, one.bytes] for one in self.parts],
            "files": [[one.path, one.sha256, one.bytes, one.place] for one in self.files],
        }
        return (dumps(content, indent=1) + "\n").encode()


def read_index(data: bytes, where: str) -> Index:
    """Read an index, which may come from anywhere.

    Args:
        data: Its content.
        where: Its address, for messages.

    Returns:
        The index, with all paths and sizes checked.

    Raises:
        DataError: It is of another format or version, names a path that leads elsewhere, or contradicts itself.
    """
    content = parse_json(data, where)
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise DataError(f"{where}: not the index of a data set that worldgauge has pushed")
    if content.get("version") != VERSION:
        raise DataError(f"{where}: of version {content.get('version')}, known is {VERSION}; update worldgauge")
    try:
        parts = tuple(Part(*_typed(row, (str, str, int))) for row in content["parts"])
        files = tuple(Held(*_typed(row, (str, str, int, str))) for row in content["files"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{where}: a row is damaged ({error}); push the data set again") from error
    for fault in _faults(parts, files):
        raise DataError(f"{where}: {fault}; nothing was pulled")
    index = Index(files, parts)
    if content.get("root") != index.root:
        raise DataError(f"{where}: its digests do not follow from its root; push the data set again")
    return index


def is_plain_path(path: str) -> bool:
    """Whether a path below a data set is one that any folder can hold and that leads nowhere else."""
    return len(path) <= MAX_PATH and all(_NAME.fullmatch(word) for word in path.split("/"))


def _typed(row: Any, kinds: tuple[type, ...]) -> list[Any]:
    if not isinstance(row, list) or len(row) != len(kinds):
        raise TypeError("a row of another length")
    for value, kind in zip(row, kinds, strict=True):
        if type(value) is not kind:
            raise TypeError(f"{value!r:.40} is no {kind.__name__}")
    return row


def _faults(parts: tuple[Part, ...], files: tuple[Held, ...]) -> Iterator[str]:
    known = {one.name for one in parts}
    for part in parts:
        if not (_PART.fullmatch(part.name) and _DIGEST.fullmatch(part.sha256) and 0 <= part.bytes <= MAX_PART_BYTES):
            yield f"part {part.name!r:.60} has no usable name, digest or size"
    seen: set[str] = set()
    held = dict.fromkeys(known, 0)
    for one in files:
        if not is_plain_path(one.path):
            yield f"the path {one.path!r:.80} is not one of plain names"
        if not _DIGEST.fullmatch(one.sha256) or not 0 <= one.bytes <= MAX_FILE_BYTES:
            yield f"{one.path}: no usable digest or size"
        if one.place not in known and not (_LOOSE.fullmatch(one.place) and one.sha256 in one.place):
            yield f"{one.path}: lies at {one.place!r:.60}, which is no name of a file there"
        if one.place in known:
            held[one.place] += one.bytes
        if one.path.lower() in seen:
            yield f"{one.path}: comes twice, or in another case only"
        seen.add(one.path.lower())
    for place, size in held.items():
        if size > MAX_PART_BYTES:
            yield f"{place}: its files have {size} bytes, the limit is {MAX_PART_BYTES}"
