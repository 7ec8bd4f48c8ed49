"""JSON lines that several processes append to: each line is complete or absent."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from worldgauge.core.errors import RunError


class Lines:
    """A file of JSON lines. It is opened again for each access, so a copy of this object made by a fork is safe too.

    Args:
        path: The file.

    Raises:
        RunError: The file cannot be read or written, or a complete line in it is not valid.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_to = 0
        self._number = 0

    @contextmanager
    def locked(self) -> Iterator[BinaryIO]:
        """Open the file while no other process or thread has it; an incomplete last line, left by a kill, is dropped.

        Yields:
            The file.

        Raises:
            RunError: The file cannot be written.
        """
        try:
            with open(self.path, "ab+", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                end = _end_of_lines(file)
                if end < file.seek(0, os.SEEK_END):
                    os.ftruncate(file.fileno(), end)
                yield file
        except OSError as error:
            raise RunError(f"{self.path}: {error.strerror}; make room or permit it, then start again") from error

    def append(self, line: str, file: BinaryIO) -> None:
        """Write a line through to the disk; no part of it stays when that fails.

        Args:
            line: The line.
            file: The `locked` file.
        """
        data = line.encode() + b"\n"
        end = file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[file.write(data) :]
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), end)
            raise

    def read_new(self, take: Callable[[int, Mapping[str, Any]], None]) -> None:
        """Read each complete line that was not read before.

        Args:
            take: Called with the position in the file and the content of each line.

        Raises:
            RunError: The file cannot be read.
        """
        try:
            file = open(self.path, "rb")  # noqa: SIM115 - an absent file holds no lines
        except FileNotFoundError:
            return
        except OSError as error:
            raise RunError(f"{self.path}: cannot be read ({error.strerror})") from error
        with file:
            file.seek(self._read_to)
            while (line := file.readline()).endswith(b"\n"):
                take(self._read_to, self._parse(line, self._number + 1))
                self._read_to += len(line)
                self._number += 1

    def at(self, place: int) -> Mapping[str, Any]:
        """The line at a position that `read_new` has passed to `take`.

        Args:
            place: Position in the file.

        Returns:
            Content of the line.

        Raises:
            RunError: The file cannot be read.
        """
        try:
            with open(self.path, "rb") as file:
                file.seek(place)
                return self._parse(file.readline(), None)
        except OSError as error:
            raise RunError(f"{self.path}: cannot be read ({error.strerror})") from error

    def _parse(self, line: bytes, number: int | None) -> Mapping[str, Any]:
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            where = "a line" if number is None else f"line {number}"
            raise RunError(f"{self.path}: {where} is damaged; remove it, what it held will be done again")
        return content


def _end_of_lines(file: BinaryIO) -> int:
    """Where the last whole line ends."""
    place = file.seek(0, os.SEEK_END)
    while place > 0:
        start = max(0, place - 2**16)
        file.seek(start)
        found = file.read(place - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        place = start
    return 0
