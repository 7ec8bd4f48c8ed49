"""Data sets on the way: pushed to any address of fsspec as Parquet and videos, and pulled from there.

ADDRESS/index.json            written last: a place without one holds no whole data set
ADDRESS/data/part-*.parquet   small files, a row each: path, sha256, bytes, content
ADDRESS/videos/SHA256.mp4     videos, and other files that are large, under their digests
ADDRESS/README.md, LICENSE    as in the data set, for people
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from worldgauge.core.errors import DataError, MissingExtraError
from worldgauge.core.io import check_inside, digest_of, digest_of_file, dumps, parse_json, read_json_object, write_file
from worldgauge.tools.bundle import root_of
from worldgauge.tools.data_sets import CARD, LICENCE, content_of
from worldgauge.tools.transfer_remote import ListedFile, Moved, Progress, Remote

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


class Held(NamedTuple):
    """A file of the data set; `place` is the Parquet file that holds it, or its own file, at the address."""

    path: str
    sha256: str
    bytes: int
    place: str


class TransferPart(NamedTuple):
    """A Parquet file."""

    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Index:
    """All that lies at an address."""

    files: tuple[Held, ...]
    parts: tuple[TransferPart, ...]

    @property
    def root(self) -> str:
        """Digest of all contents."""
        return root_of({one.path: one.sha256 for one in self.files})

    def to_bytes(self) -> bytes:
        """The index as it is stored."""
        content = {"format": FORMAT, "version": VERSION, "root": self.root, "parts": self.parts, "files": self.files}
        return (dumps(content, indent=1) + "\n").encode()


def read_index(data: bytes, where: str) -> Index:
    """Read an index, which may come from anywhere."""
    content = parse_json(data, where)
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise DataError(f"{where}: not the index of a data set that worldgauge has pushed")
    if content.get("version") != VERSION:
        raise DataError(f"{where}: of version {content.get('version')}, known is {VERSION}; update worldgauge")
    try:
        parts = tuple(TransferPart(*_typed(row, (str, str, int))) for row in content["parts"])
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


def _faults(parts: tuple[TransferPart, ...], files: tuple[Held, ...]) -> Iterator[str]:
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


VIDEOS = frozenset({".mp4", ".avi", ".mkv", ".webm", ".mov"})
PART_BYTES = 64 << 20
"""Size of the files in one Parquet file; a larger file, and every video, lies beside it."""


def push(
    root: Path, address: str, progress: Progress = lambda name, done, total: None, *, check: bool = False
) -> Moved:
    """Copy a data set to an address, except files there with the same size and name, which holds the digest."""
    demand_pyarrow()
    remote = Remote(address)
    found = [_Small(path.relative_to(root).as_posix(), path, path.stat().st_size) for path in content_of(root)]
    if not found:
        raise DataError(f"{root}: holds no files; give the folder of a data set")
    if odd := [one.name for one in found if not is_plain_path(one.name)]:
        raise DataError(f"{root}: pull would refuse the name {odd[0]!r:.80}; give it a plain one. Nothing was pushed")
    loose = [one for one in found if one.path.suffix.lower() in VIDEOS or one.bytes > PART_BYTES]
    apart = set(loose)
    groups = list(_groups([one for one in found if one not in apart]))
    total, sent = len(groups) + len(loose), 0
    files: list[Held] = []
    parts: list[TransferPart] = []
    place = _Place(remote, check)
    with tempfile.TemporaryDirectory(prefix="worldgauge-push-") as scratch:
        for number, group in enumerate(groups):
            made = Path(scratch) / "part.parquet"
            digests = _write_part(group, made)
            digest = digest_of_file(made)
            part = TransferPart(f"data/part-{number:05d}-{digest[:16]}.parquet", digest, made.stat().st_size)
            progress(part.name, number, total)
            sent += place.send({part.name: (made, digest)})
            parts.append(part)
            files += [Held(one.name, sha, one.bytes, part.name) for one, sha in zip(group, digests, strict=True)]
    for start in range(0, len(loose), remote.together):
        batch = loose[start : start + remote.together]
        progress(batch[0].name, len(groups) + start, total)
        named = {}
        for one in batch:
            sha = digest_of_file(one.path)
            name = f"videos/{sha}{one.path.suffix}"
            named[name] = (one.path, sha)
            files.append(Held(one.name, sha, one.bytes, name))
        sent += place.send(named)
    for name in (CARD, LICENCE):
        if (root / name).is_file():
            remote.send({name: (root / name).read_bytes()})
    index = Index(tuple(sorted(files, key=lambda one: one.path)), tuple(parts))
    remote.send({INDEX: index.to_bytes()})
    return Moved(remote.address, len(files), sum(one.bytes for one in files), sent, index.root)


class _Small(NamedTuple):
    name: str
    path: Path
    bytes: int


class _Place:
    """What lies at the address, and what is sent there."""

    def __init__(self, remote: Remote, check: bool) -> None:
        self._remote, self._check = remote, check
        self._there = {**remote.sizes("data"), **remote.sizes("videos")}
        self._sound: set[str] = set()

    def send(self, sources: Mapping[str, tuple[Path, str]]) -> int:
        """Send files, each with its digest, except those that are there; the number of files sent."""
        lacking = {name: path for name, (path, digest) in sources.items() if not self._has(name, path, digest)}
        if lacking:
            self._remote.send(lacking)
        self._sound.update(sources)
        return len(lacking)

    def _has(self, name: str, path: Path, digest: str) -> bool:
        is_there = self._there.get(name) == path.stat().st_size
        return name in self._sound or (is_there and (not self._check or self._remote.digest(name) == digest))


def _groups(found: Sequence[_Small]) -> Iterator[list[_Small]]:
    group: list[_Small] = []
    size = 0
    for one in found:
        if group and size + one.bytes > PART_BYTES:
            yield group
            group, size = [], 0
        group.append(one)
        size += one.bytes
    if group:
        yield group


def _write_part(group: Sequence[_Small], path: Path) -> list[str]:
    import pyarrow
    import pyarrow.parquet

    digests = [digest_of_file(one.path) for one in group]
    columns = {
        "path": ([one.name for one in group], pyarrow.string()),
        "sha256": (digests, pyarrow.string()),
        "bytes": ([one.bytes for one in group], pyarrow.int64()),
        "content": ([one.path.read_bytes() for one in group], pyarrow.large_binary()),
    }
    table = pyarrow.table({name: pyarrow.array(*column) for name, column in columns.items()})
    pyarrow.parquet.write_table(table, path)
    return digests


def demand_pyarrow() -> None:
    """Check that Parquet can be written and read."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("data push and pull", "remote") from None


SCRATCH = ".pull"
"""Folder, in that of the data set, of what an interrupted pull has brought so far."""

_OVERHEAD = 16 << 20
"""Bytes of a Parquet file beside the contents: paths, digests and its own bookkeeping."""


def pull(address: str, out: Path, progress: Progress = lambda name, done, total: None) -> Moved:
    """Copy a data set, or files that others published, from an address.

    Correct files that are here stay, and files of another content are replaced.
    """
    demand_pyarrow()
    remote = Remote(address)
    where = f"{remote.address}/{INDEX}"
    try:
        content = remote.read(INDEX, MAX_INDEX_BYTES)
    except DataError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            listed = remote.listing()
            if listed and not any(_PART.fullmatch(one.path) or _LOOSE.fullmatch(one.path) for one in listed):
                return _pull_listed(remote, listed, out, progress)
            raise DataError(
                f"{where}: not there; the address is wrong, or the push is not finished (the index is sent last): push "
                "the data set again, which goes on from where it stopped"
            ) from error
        raise
    index = read_index(content, where)
    for one in index.files:
        check_inside(out / one.path, out)
    lacking = []
    for one in index.files:
        here = out / one.path
        if not (here.is_file() and here.stat().st_size == one.bytes and digest_of_file(here) == one.sha256):
            lacking.append(one)
    by_place: dict[str, list[Held]] = {}
    for one in lacking:
        by_place.setdefault(one.place, []).append(one)
    parts = {part.name: part for part in index.parts}
    scratch = out / SCRATCH
    _check_room(out, lacking, index.parts, scratch)
    sent = 0
    for done, (place, wanted) in enumerate(by_place.items()):
        progress(place, done, len(by_place))
        part = parts.get(place) or TransferPart(place, wanted[0].sha256, wanted[0].bytes)
        brought, travelled = _bring(remote, part, scratch)
        sent += travelled
        if place in parts:
            sizes = [one.bytes for one in index.files if one.place == place]
            _unpack(brought, wanted, out, f"{remote.address}/{place}", sum(sizes), len(sizes))
            brought.unlink()
        else:
            paths = [out / one.path for one in wanted]
            for path in paths:
                path.parent.mkdir(parents=True, exist_ok=True)
            for path in paths[:-1]:
                with open(brought, "rb") as file:
                    write_file(path, iter(partial(file.read, 1 << 20), b""))
            os.replace(brought, paths[-1])
    shutil.rmtree(scratch, ignore_errors=True)
    return Moved(str(out), len(index.files), sum(one.bytes for one in index.files), sent, index.root)


MANIFEST = ".pulled.json"
"""File, in the folder of files that others published, with the address and the SHA-256 of each file as it came."""


def _pull_listed(remote: Remote, listed: Sequence[ListedFile], out: Path, progress: Progress) -> Moved:
    """Copy files that no push has written. Without a digest of the place, that of the first copy counts."""
    seen: set[str] = set()
    for one in listed:
        if not is_plain_path(one.path) or not 0 <= one.bytes <= MAX_FILE_BYTES or one.path.lower() in seen:
            raise DataError(f"{remote.address}: {one.path!r:.80} has no plain name or usable size, or comes twice")
        check_inside(out / one.path, out)
        seen.add(one.path.lower())
    manifest, scratch = out / MANIFEST, out / SCRATCH
    known = read_json_object(manifest).get("files", {}) if manifest.exists() else {}
    lacking = [one for one in listed if not _is_listed(out / one.path, one, one.sha256 or known.get(one.path, ""))]
    _check_room(out, [Held(one.path, one.sha256, one.bytes, one.path) for one in lacking], (), scratch)
    for done, one in enumerate(lacking):
        progress(one.path, done, len(lacking))
        # Named by its digest too: a file that has changed at the place begins anew.
        part = scratch / digest_of(" ".join(map(str, one)))
        remote.bring(one.path, part, one.bytes)
        if not _is_listed(part, one, one.sha256):
            part.unlink()
            raise DataError(f"{remote.address}/{one.path}: not what its place lists; start the same command again")
        (out / one.path).parent.mkdir(parents=True, exist_ok=True)
        os.replace(part, out / one.path)
    shutil.rmtree(scratch, ignore_errors=True)
    digests = {one.path: digest_of_file(out / one.path) for one in listed}
    write_file(manifest, dumps({"address": remote.address, "files": digests}, indent=1) + "\n")
    return Moved(str(out), len(listed), sum(one.bytes for one in listed), len(lacking), root_of(digests))


def _is_listed(path: Path, one: ListedFile, sha256: str) -> bool:
    """Whether a file has the size, and the digest if one is known."""
    if not path.is_file() or path.stat().st_size != one.bytes:
        return False
    if one.sha1:
        with path.open("rb") as file:
            begun = hashlib.sha1(b"blob %d\0" % one.bytes, usedforsecurity=False)
            return hashlib.file_digest(file, lambda: begun).hexdigest() == one.sha1
    return not sha256 or digest_of_file(path) == sha256


def _check_room(out: Path, lacking: Sequence[Held], parts: Sequence[TransferPart], scratch: Path) -> None:
    """Refuse a pull that the disk has no room for, before a byte has travelled."""
    wanted = {one.place for one in lacking}
    largest = max((part.bytes for part in parts if part.name in wanted), default=0)
    there = sum(_size(out / one.path) for one in lacking) + sum(map(_size, scratch.glob("*")))
    needed = sum(one.bytes for one in lacking) + largest - there
    folder = next(path for path in (out, *out.absolute().parents) if path.is_dir())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DataError(
            f"{out}: {needed / 1e9:.2f} GB are still to come, and {free / 1e9:.2f} GB are free there; make room, or"
            " name another folder. Nothing was pulled"
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _bring(remote: Remote, part: TransferPart, scratch: Path) -> tuple[Path, bool]:
    """A file of the place, whole and checked, in the scratch folder; and whether any of it had to travel."""
    target = scratch / part.name.replace("/", "-")
    travels = not (target.exists() and target.stat().st_size == part.bytes)
    if travels:
        remote.bring(part.name, target, part.bytes)
    if digest_of_file(target) != part.sha256:
        target.unlink()
        raise DataError(f"{remote.address}/{part.name}: not what the index says; push the data set again, with --check")
    return target, travels


def _unpack(part: Path, wanted: Sequence[Held], out: Path, where: str, most: int, count: int) -> None:
    import pyarrow
    import pyarrow.parquet

    try:
        facts = pyarrow.parquet.read_metadata(part)
        size = sum(facts.row_group(n).total_byte_size for n in range(facts.num_row_groups))
        if size > most + _OVERHEAD:
            raise DataError(f"{where}: would unpack to {size} bytes, its files have {most}; nothing was unpacked")
        if facts.num_rows != count:
            raise DataError(
                f"{where}: holds {facts.num_rows} files, not {count} as the index says; nothing was unpacked"
            )
        lacking = {one.path: one for one in wanted}
        # Row by row: a few bytes may stand for the same large content in every row.
        with pyarrow.parquet.ParquetFile(part) as file:
            for batch in file.iter_batches(batch_size=1, columns=["path", "content"]):
                (row,) = batch.to_pylist()
                one = lacking.pop(row["path"], None)
                if one is not None:
                    _write(out / one.path, one, row["content"], where)
        for one in lacking.values():
            _write(out / one.path, one, None, where)
    except (pyarrow.ArrowException, KeyError, TypeError) as error:
        raise DataError(f"{where}: cannot be read as Parquet ({' '.join(str(error).split())[:200]})") from error


def _write(path: Path, one: Held, data: object, where: str) -> None:
    if not isinstance(data, bytes) or digest_of(data) != one.sha256:
        raise DataError(f"{where}: {one.path} is not what the index says; push the data set again")
    write_file(path, data)


__all__ = ["Moved", "pull", "push"]
