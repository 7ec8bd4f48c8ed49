"""Push a data set: small files into Parquet, videos beside it, the index last."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldgauge.core.errors import DataError, MissingExtraError
from worldgauge.core.io import digest_of_file
from worldgauge.tools.data_sets.card import CARD, LICENCE
from worldgauge.tools.data_sets.checking import content_of
from worldgauge.tools.data_sets.transfer.index import INDEX, Held, Index, Part, is_plain_path
from worldgauge.tools.data_sets.transfer.remote import Moved, Progress, Remote

VIDEOS = frozenset({".mp4", ".avi", ".mkv", ".webm", ".mov"})
PART_BYTES = 64 << 20
"""Size of the files in one Parquet file; a larger file, and every video, lies beside it."""


def push(
    root: Path, address: str, progress: Progress = lambda name, done, total: None, *, check: bool = False
) -> Moved:
    """Copy a data set to an address. What is there already, also of a push that was interrupted, is not sent again.

    A file counts as there when it has its name and its size; the name holds the digest.

    Args:
        root: Folder of the data set, or of a named set.
        address: Where it goes; see `Remote`.
        progress: Called before each file is sent.
        check: Read what is there, too, and send again what does not have its digest.

    Returns:
        What was sent.

    Raises:
        MissingExtraError: Without pyarrow or fsspec.
        UsageError: For an address of no known kind.
        DataError: The folder holds no files, or one whose name is not plain, or the place cannot be written.
    """
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
    parts: list[Part] = []
    place = _Place(remote, check)
    with tempfile.TemporaryDirectory(prefix="worldgauge-push-") as scratch:
        for number, group in enumerate(groups):
            made = Path(scratch) / "part.parquet"
            digests = _write_part(group, made)
            digest = digest_of_file(made)
            part = Part(f"data/part-{number:05d}-{digest[:16]}.parquet", digest, made.stat().st_size)
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
            remote.write(name, (root / name).read_bytes())
    index = Index(tuple(sorted(files, key=lambda one: one.path)), tuple(parts))
    remote.write(INDEX, index.to_bytes())
    return Moved(remote.address, len(files), sum(one.bytes for one in files), sent, index.root)


@dataclass(frozen=True)
class _Small:
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
        if name in self._sound:
            return True
        if self._there.get(name) != path.stat().st_size:
            return False
        return not self._check or self._remote.digest(name) == digest


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
    table = pyarrow.table(
        {
            "path": pyarrow.array([one.name for one in group], pyarrow.string()),
            "sha256": pyarrow.array(digests, pyarrow.string()),
            "bytes": pyarrow.array([one.bytes for one in group], pyarrow.int64()),
            "content": pyarrow.array([one.path.read_bytes() for one in group], pyarrow.large_binary()),
        }
    )
    pyarrow.parquet.write_table(table, path)
    return digests


def demand_pyarrow() -> None:
    """Check that Parquet can be written and read.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("data push and pull", "remote") from None
