"""The beginning of a file that is on its way, and a note beside it of which bytes it is the beginning."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from worldgauge.core.io import write_file
from worldgauge.weights.store import part_of


@dataclass(frozen=True)
class Version:
    """Which bytes an address has: etag, one that promises equal bytes; sha256, where the host says it."""

    url: str
    etag: str
    sha256: str

    def continues(self, begun: Version, checked: bool) -> bool:
        """Whether these bytes follow those of `begun`. checked: a digest will tell in the end, so that it may be so."""
        if begun.sha256 and self.sha256:
            return begun.sha256 == self.sha256
        if begun.etag and self.etag:
            return begun.etag == self.etag
        return checked


class Part:
    """Beginning of the file `path`."""

    def __init__(self, path: Path) -> None:
        self.path = part_of(path)
        self._note = self.path.with_name(f"{self.path.name}.json")

    @property
    def size(self) -> int:
        """Bytes that are there."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def version(self, url: str) -> Version | None:
        """Of the bytes there are; None where none are, or of another address."""
        try:
            found = Version(**json.loads(self._note.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        return found if self.size and found.url == url else None

    def open(self, start: int, version: Version) -> IO[bytes]:
        """To be written to from byte `start`; what stood behind is cut off."""
        if start == 0:
            self.drop()
            write_file(self._note, json.dumps(asdict(version)).encode())
        file = self.path.open("r+b" if start else "wb")
        file.seek(start)
        file.truncate()
        return file

    def drop(self) -> None:
        """Remove both."""
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)
