"""Files that are put in place in one step: a reader sees the old one or the new one, never a part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from worldgauge.errors import DataError


def put_whole(path: Path, data: bytes) -> None:
    """Put a file in place. Raises DataError as `whole_file`."""
    with whole_file(path) as file:
        file.write(data)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which is in place under `path` after the block; folders on the way are made.

    Nothing happens to an old one when the block raises. For one writer of a path at a time.
    Raises DataError when the system refuses, such as on a full disk; the refusal is its cause.
    """
    part = path.with_name(f".{path.name}.part")  # one name, so that what a killed process left is overwritten
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(part, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error
