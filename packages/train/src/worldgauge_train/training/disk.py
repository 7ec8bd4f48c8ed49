"""Room on a disk for what a training is going to write, and a folder that several trainings share."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from worldgauge.core.errors import DataError


def check_disk(folder: Path, needed: Mapping[str, int]) -> None:
    """Check that a disk has room.

    Args:
        folder: A folder on that disk, there or to be made.
        needed: Bytes that are going to be written, by what they are for.

    Raises:
        DataError: It has not; the message says for what.
    """
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    wanted, free = sum(needed.values()), shutil.disk_usage(there).free
    if free < wanted:
        parts = " and ".join(f"{what} {count / 1e9:.2g} GB" for what, count in needed.items() if count)
        raise DataError(f"{folder}: {parts} are needed, and {free / 1e9:.2g} GB are free on the disk")


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Let one process at a time make what a folder of a cache lacks; others wait, and then find it made.

    Within it, it cannot be entered again for the same folder.

    Args:
        folder: The folder, there or to be made.

    Raises:
        DataError: The file of the lock, beside the folder, cannot be written, or its disk has no locks.
    """
    path = folder.with_name(f".{folder.name}.lock")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise DataError(f"{path}: cannot be locked ({error.strerror or error}); name another --cache") from error
        yield
