"""One training in a folder at a time."""

from __future__ import annotations

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from worldgauge.core.errors import DataError, RunError


@contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Hold a folder while training in it.

    Args:
        out: The folder, made where it is not there.

    Raises:
        RunError: Another process trains in it; the message says which.
        DataError: It cannot be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with open(out / ".lock", "a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise RunError(f"{out}: {file.read(200) or 'another process'} trains in this folder") from None
            file.truncate(0)
            file.write(f"process {os.getpid()} on {platform.node()}")
            file.flush()
            yield
    except OSError as error:
        raise DataError(f"{out}: {error.strerror}") from None
