"""The recording: a folder with every question and every reply, from which answers are replayed.

asks.jsonl   one line for each finished question: the question, every attempt with the raw body of its reply, the result
spent.jsonl  the money (see `Ledger`)
images/      each picture as it was sent, once, named by its digest
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worldgauge.chat.client._lines import Lines
from worldgauge.core.errors import RunError

VERSION = 1
_SHORTEST_SECRET = 8
"""Shorter keys are placeholders such as "EMPTY"; hiding those would garble the answers."""


class Recording:
    """The recording in a folder; any number of processes may add to it at the same time.

    Args:
        folder: The folder.
        secret: Key of the endpoint, which is hidden wherever it appears.

    Raises:
        RunError: The folder cannot be used, or a line is damaged; an incomplete last line is ignored.
    """

    def __init__(self, folder: Path, secret: str | None = None) -> None:
        self.folder = folder
        self._secret = secret
        try:
            (folder / "images").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{folder}: cannot hold a recording ({error.strerror})") from error
        self._lines = Lines(folder / "asks.jsonl")
        self._places: dict[str, int] = {}
        self._failed: dict[str, int] = {}
        self._lock = threading.Lock()

    def find(self, key: str) -> Mapping[str, Any] | None:
        """Look up the latest answer to a question, also of another process.

        Args:
            key: Key of the question.

        Returns:
            The line; None when there is none.
        """
        with self._lock:
            if key not in self._places:
                self._lines.read_new(self._take)
            place = self._places.get(key)
            return None if place is None else self._lines.at(place)

    def find_failed(self, key: str) -> Mapping[str, Any] | None:
        """Look up the latest failed attempt at a question.

        Args:
            key: Key of the question.

        Returns:
            The line; None when there is none.
        """
        with self._lock:
            self._lines.read_new(self._take)
            place = self._failed.get(key)
            return None if place is None else self._lines.at(place)

    def add(self, line: Mapping[str, Any]) -> None:
        """Record a finished question.

        Args:
            line: Its `key`, its `status` ("answer" is replayed, everything else is only a trace), and more.
        """
        text = hidden(json.dumps({"version": VERSION, **line}, allow_nan=False), self._secret)
        with self._lock, self._lines.locked() as file:
            self._lines.append(text, file)

    def keep_image(self, name: str, data: bytes, suffix: str) -> None:
        """Store a picture, unless it is there.

        Args:
            name: Its digest.
            data: The encoded picture.
            suffix: Suffix of the file.

        Raises:
            RunError: The file cannot be written.
        """
        path = self.folder / "images" / f"{name}.{suffix}"
        if path.exists():
            return
        try:
            handle, part = tempfile.mkstemp(prefix=".part-", dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror})") from error

    def _take(self, place: int, line: Mapping[str, Any]) -> None:
        if line.get("version") != VERSION or not isinstance(line.get("key"), str):
            raise RunError(
                f"{self._lines.path}: the line at byte {place} is of another version; record into a new folder"
            )
        places = self._places if line.get("status") == "answer" else self._failed
        places[line["key"]] = place


def hidden(text: str, secret: str | None) -> str:
    """Remove the secret from a text, both as it is and as JSON writes it."""
    if not secret or len(secret) < _SHORTEST_SECRET:
        return text
    return text.replace(secret, "[key]").replace(json.dumps(secret)[1:-1], "[key]")
