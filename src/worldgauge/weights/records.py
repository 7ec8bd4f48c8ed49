"""What is known of the files of a set from when they were last read: so that gigabytes are hashed once.

A record lies beside the files. It also holds the digests of first copies that came without a published one; those are
kept when a file changes, since they are what it is held to.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

RECORD = ".record.json"


@dataclass(frozen=True)
class Seen:
    """A file as it was when it was hashed; sha256: hexadecimal."""

    bytes: int
    mtime_ns: int
    sha256: str

    def still(self, path: Path) -> bool:
        """Whether size and time of `path` are the same, so that it need not be read again."""
        now = path.stat()
        return (self.bytes, self.mtime_ns) == (now.st_size, now.st_mtime_ns)


def seen_at(path: Path) -> Seen:
    """Read and hash a file. One that changes meanwhile has the time of before, and so is read again the next time."""
    with path.open("rb") as file:
        before = os.fstat(file.fileno())
        return Seen(before.st_size, before.st_mtime_ns, hashlib.file_digest(file, "sha256").hexdigest())


def records_of(folder: Path) -> dict[str, Seen]:
    """By name of file; nothing where there is no record, or none that can be read."""
    try:
        written = json.loads((folder / RECORD).read_text("utf-8"))["files"]
        return {
            name: Seen(int(one["bytes"]), int(one["mtime_ns"]), str(one["sha256"])) for name, one in written.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_records(folder: Path, records: Mapping[str, Seen]) -> None:
    """Put the record in place in one step; several processes may. A folder that cannot be written to is left so."""
    text = json.dumps({"files": {name: asdict(seen) for name, seen in sorted(records.items())}}, indent=1)
    with suppress(OSError):
        handle, part = tempfile.mkstemp(prefix=f"{RECORD}.", dir=folder)  # a name of its own: workers open at once
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), 0o644)  # a store may be shared
                file.write(text + "\n")
            os.replace(part, folder / RECORD)
        except OSError:
            os.unlink(part)
            raise
