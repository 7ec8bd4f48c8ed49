"""Copy adapters: single files that a user puts into the environment of a model, decoder or policy."""

from __future__ import annotations

import ast
from pathlib import Path

import worldgauge_serve
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.engine.store import atomic_write
from worldgauge.models import adapters as of_models
from worldgauge.perception.decoders import adapters as of_decoders

_SUITES = Path(__file__).parents[1] / "suites"
FOLDERS = [*(Path(package.__path__[0]) for package in (of_models, of_decoders)), *sorted(_SUITES.glob("**/adapters"))]


def files() -> dict[str, Path]:
    """All adapters by name. Nothing is imported, since their dependencies are not installed here."""
    found = (path for folder in FOLDERS for path in sorted(folder.glob("*.py")))
    return {path.stem: path for path in found if not path.name.startswith("_")}


def known() -> dict[str, str]:
    """First line of every adapter, by name."""
    return {name: _first_line(path) for name, path in files().items()}


def hand_out(name: str, folder: Path) -> list[Path]:
    """Copy an adapter, and the file that serves it, into a folder.

    Args:
        name: Name of the adapter.
        folder: The folder.

    Returns:
        Paths of the copies.

    Raises:
        UnknownNameError: For an unknown adapter, with the nearest name.
        UsageError: Where another file with the same name exists.
    """
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
