"""Pull a data set: the index first, then what is missing here, each file checked against its digest."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from worldgauge.core.errors import DataError
from worldgauge.core.io import check_inside, digest_of, digest_of_file, write_file
from worldgauge.tools.data_sets.transfer.index import INDEX, MAX_INDEX_BYTES, Held, Part, read_index
from worldgauge.tools.data_sets.transfer.push import demand_pyarrow
from worldgauge.tools.data_sets.transfer.remote import Moved, Progress, Remote

SCRATCH = ".pull"
"""Folder, in that of the data set, of what an interrupted pull has brought so far."""

_OVERHEAD = 16 << 20
"""Bytes of a Parquet file beside the contents: paths, digests and its own bookkeeping."""


def pull(address: str, out: Path, progress: Progress = lambda name, done, total: None) -> Moved:
    """Copy a data set from an address. What is here already is kept, and a file of another content is replaced.

    Args:
        address: Where `push` put it.
        out: Folder of the data set, new or to be continued.
        progress: Called before each file is brought.

    Returns:
        What was brought.

    Raises:
        MissingExtraError: Without pyarrow or fsspec.
        UsageError: For an address of no known kind.
        DataError: The place holds no whole data set, a file is not what the index says, the disk has no room for it,
            or the network fails.
    """
    demand_pyarrow()
    remote = Remote(address)
    where = f"{remote.address}/{INDEX}"
    try:
        content = remote.read(INDEX, MAX_INDEX_BYTES)
    except DataError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise DataError(
                f"{where}: not there; the address is wrong, or the push is not finished (the index is sent last): push "
                "the data set again, which goes on from where it stopped"
            ) from error
        raise
    index = read_index(content, where)
    for one in index.files:
        check_inside(out / one.path, out)
    lacking = [one for one in index.files if not _is_here(out / one.path, one)]
    by_place: dict[str, list[Held]] = {}
    for one in lacking:
        by_place.setdefault(one.place, []).append(one)
    parts = {part.name: part for part in index.parts}
    scratch = out / SCRATCH
    _check_room(out, lacking, index.parts, scratch)
    sent = 0
    for done, (place, wanted) in enumerate(by_place.items()):
        progress(place, done, len(by_place))
        part = parts.get(place) or Part(place, wanted[0].sha256, wanted[0].bytes)
        brought, travelled = _bring(remote, part, scratch)
        sent += travelled
        if place in parts:
            most = sum(one.bytes for one in index.files if one.place == place)
            count = sum(one.place == place for one in index.files)
            _unpack(brought, wanted, out, f"{remote.address}/{place}", most, count)
            brought.unlink()
        else:
            _place(brought, [out / one.path for one in wanted])
    shutil.rmtree(scratch, ignore_errors=True)
    size = sum(one.bytes for one in index.files)
    return Moved(str(out), len(index.files), size, sent, index.root)


def _check_room(out: Path, lacking: Sequence[Held], parts: Sequence[Part], scratch: Path) -> None:
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


def _is_here(path: Path, one: Held) -> bool:
    return path.is_file() and path.stat().st_size == one.bytes and digest_of_file(path) == one.sha256


def _bring(remote: Remote, part: Part, scratch: Path) -> tuple[Path, bool]:
    """A file of the place, whole and checked, in the scratch folder; and whether any of it had to travel."""
    target = scratch / part.name.replace("/", "-")
    travels = not (target.exists() and target.stat().st_size == part.bytes)
    if travels:
        remote.bring(part.name, target, part.bytes)
    if digest_of_file(target) != part.sha256:
        target.unlink()
        raise DataError(f"{remote.address}/{part.name}: not what the index says; push the data set again, with --check")
    return target, travels


def _place(brought: Path, paths: Sequence[Path]) -> None:
    """Put a file under all the paths that have its content; the last one takes the file itself."""
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    for path in paths[:-1]:
        with open(brought, "rb") as file:
            write_file(path, iter(lambda: file.read(1 << 20), b""))
    os.replace(brought, paths[-1])


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
