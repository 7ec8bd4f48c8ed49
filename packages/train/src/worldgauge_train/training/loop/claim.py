"""One training in a folder at a time."""

from __future__ import annotations

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from worldgauge.core.errors import DataError, RunError
from worldgauge_train.nets.drawing import CONFIG
from worldgauge_train.training.log import LINES, TABLE
from worldgauge_train.training.loop.state import is_kept


@contextmanager
def claimed(out: Path, *made: str) -> Iterator[None]:
    """Hold a folder while training in it.

    A new training that fails before its first state is kept leaves the folder to another: its config.json is removed,
    with all that it made and another would take for its own.

    Args:
        out: The folder, made where it is not there.
        made: Names of files that a training makes before its first state, besides config.json and the log.

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
            new = [one for one in (out / name for name in (CONFIG, LINES, TABLE, *made)) if not one.exists()]
            try:
                yield
            except Exception:
                if out / CONFIG in new and not is_kept(out):
                    for one in new:
                        one.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise DataError(f"{out}: {error.strerror}") from None
