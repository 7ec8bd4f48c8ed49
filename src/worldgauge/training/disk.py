"""Whether a disk has room for what a training is going to write, asked before its first step."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
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
