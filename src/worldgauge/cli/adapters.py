"""Copy adapters: single files that a user puts into the environment of a model, decoder or policy."""

from __future__ import annotations

import ast
from pathlib import Path

import worldgauge_serve
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.engine.store import atomic_write

_PACKAGE = Path(__file__).parents[1]
FOLDER = next(folder for folder in (_PACKAGE / "adapters", _PACKAGE.parents[1] / "adapters") if folder.is_dir())
"""In the package as it is installed, or beside `src` where it is not."""


def files() -> dict[str, Path]:
    """All adapters by name. Nothing is imported, since their dependencies are not installed here."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.py"))}


def known() -> dict[str, str]:
    """First line of every adapter, by name."""
    return {name: _first_line(path) for name, path in files().items()}


def hand_out(name: str, folder: Path) -> list[Path]:
    """Copy an adapter, and the file that serves it, into a folder."""
    if name not in files():
        raise UnknownNameError("adapter", name, files())
    sources = [files()[name], Path(worldgauge_serve.__file__)]
    copies = [folder / source.name for source in sources]
    for source, copy in zip(sources, copies, strict=True):
        if copy.exists() and copy.read_bytes() != source.read_bytes():
            raise UsageError(f"{copy} is there already and differs; remove it, or choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    for source, copy in zip(sources, copies, strict=True):
        atomic_write(copy, source.read_text("utf-8"))
    return copies


def _first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return text.split("\n")[0]
