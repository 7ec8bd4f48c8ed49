"""The journal of a run: one JSON line per finished task. It alone decides what is done."""

from __future__ import annotations

import fcntl
import json
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType, TracebackType
from typing import Any

from worldgauge.core.errors import RunError
from worldgauge.core.io import dumps
from worldgauge.engine.store import sync_folder, write_error

_FIELDS: Mapping[str, Any] = {
    "task": str,
    "key": str,
    "scores": (str, NoneType),
    "status": str,
    "stage": str,
    "error": (str, NoneType),
    "seconds": (int, float),
}
_STATUSES = ("done", "skipped", "failed")


class Journal:
    """Append-only lines in a file, each on disk before `append` returns, with one writer at a time.

    A last line that is incomplete after a kill is dropped on opening, so its task counts as not done.

    Args:
        path: The file.

    Raises:
        RunError: When another process has the journal open, or a line is not valid.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._owner = path.with_suffix(".owner")
        new = not path.exists()
        try:
            self._file = open(path, "ab+", buffering=0)  # noqa: SIM115 - held open as long as the lock
        except OSError as error:
            raise write_error(error, path) from error
        try:
            self._lock()
            self._drop_torn_line()
            _parse(path, self._content())
            self._sign()
            if new:
                sync_folder(path.parent)
        except BaseException:
            self._file.close()
            raise

    def append(self, line: Mapping[str, Any]) -> None:
        """Write one line through to the disk. If that is full, RunError, and no part of the line is left."""
        data = dumps(line).encode() + b"\n"
        end = self._file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[self._file.write(data) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):  # a disk that has turned read-only; the next run drops a torn line
                os.ftruncate(self._file.fileno(), end)
            raise write_error(error, self.path) from error

    @property
    def lines(self) -> list[dict[str, Any]]:
        """All lines, read anew: a run of 100,000 tasks need not hold what it has written."""
        return _parse(self.path, self._content())

    def latest(self) -> dict[str, dict[str, Any]]:
        """The last line of every task, by task id."""
        return {line["task"]: line for line in self.lines}

    def move(self, directory: Path) -> None:
        """Rename the folder of the journal while nobody else can work in it, and release the lock."""
        try:
            self.path.parent.rename(directory)
            sync_folder(directory.parent)
        except OSError as error:
            raise write_error(error, directory) from error
        self.path, self._owner = directory / self.path.name, directory / self._owner.name
        self.close()

    def close(self) -> None:
        """Release the lock."""
        with suppress(OSError):
            self._owner.unlink(missing_ok=True)
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(
                f"{self.path.parent}: another process{self._of_owner()} is working on this run; "
                "wait for it or choose another --out"
            ) from None

    def _sign(self) -> None:
        """Write down who holds the lock. This is only information; the lock itself decides."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with suppress(OSError):
            self._owner.write_text(f"process {os.getpid()} on {platform.node()} since {now}\n")

    def _of_owner(self) -> str:
        try:
            return f" ({self._owner.read_text()[:200].strip()})"
        except (OSError, ValueError):
            return ""

    def _content(self) -> bytes:
        self._file.seek(0)
        return self._file.read()

    def _drop_torn_line(self) -> None:
        data = self._content()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self._file.fileno(), whole)
            os.fsync(self._file.fileno())


def read_journal(path: Path) -> dict[str, dict[str, Any]]:
    """Read the last line of every task, without a lock and without changes. An incomplete last line is ignored."""
    if not path.exists():
        return {}
    return {line["task"]: line for line in _parse(path, path.read_bytes())}


def _parse(path: Path, data: bytes) -> list[dict[str, Any]]:
    """The whole lines in `data`, each with all its fields."""
    lines = []
    for number, text in enumerate(data.split(b"\n")[:-1], 1):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if not isinstance(line, dict) or not all(
            name in line and isinstance(line[name], kind) for name, kind in _FIELDS.items()
        ):
            line = None
        if line is None or line["status"] not in _STATUSES:
            raise RunError(f"{path}: line {number} is damaged; remove that line, and its task will be done again")
        lines.append(line)
    return lines
