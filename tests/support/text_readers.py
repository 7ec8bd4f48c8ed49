"""What every reader of text that people write does: it takes a byte order mark and carriage returns, not UTF-16."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldgauge.core.errors import WorldgaugeError

Reader = tuple[str, str, Callable[[Path], Any]]
"""Name of the file, its text, and what reads it."""


def check_marks_and_returns(folder: Path, reader: Reader) -> None:
    """A byte order mark and carriage returns change nothing."""
    name, text, read = reader
    path = folder / name
    path.write_bytes(text.encode())
    plain = read(path)
    blank = "" if path.suffix == ".txt" else " "
    for form in ("\ufeff" + text, text.replace("\n", "\r\n"), "\ufeff" + text.replace("\n", blank + "\r\n") + "\r\n"):
        path.write_bytes(form.encode())
        assert read(path) == plain, form[:20]


def check_another_encoding(folder: Path, reader: Reader) -> None:
    """UTF-16 is refused by its name."""
    name, text, read = reader
    path = folder / name
    path.write_bytes(text.encode("utf-16"))
    with pytest.raises(WorldgaugeError, match="UTF-16"):
        read(path)
