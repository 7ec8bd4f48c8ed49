"""Commands around models: check-model, adapters, and list, which shows what there is."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated

import typer

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.terminal.commands import listed_kinds
from worldgauge.terminal.options import FAILED, Csv, Json

KINDS = {
    "suites": "suites",
    "collections": "engine.collection",
    "models": "models",
    "agents": "core.agent",
    "metrics": "metrics",
    "worlds": "worlds",
    "estimators": "perception",
    "decoders": "perception.decoders",
    **listed_kinds(),
}
"""What can be listed: name of the registry, and its module."""


def check_model(
    model: Annotated[
        str,
        typer.Option(help="Model, as for run: a name, package.module:Class, ./file.py:Class, cmd:, pipe: or http://."),
    ],
    suite: Annotated[str | None, typer.Option(help="Suite whose kind of request is used, such as mind.")] = None,
    deadline: Annotated[float, typer.Option(help="Seconds without a frame after which a check fails.")] = 600.0,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Check whether a model keeps every promise of the protocol. All checks run, and each violation is explained."""
    from worldgauge.cli import show
    from worldgauge.terminal.output import form_of
    from worldgauge.tools import check_model as conformance

    form = form_of(json, csv)
    with show.Checking() as progress:
        report = conformance.check_model(model, suite=suite, deadline_s=deadline, progress=progress)
    if not show.checked_model(report, form):
        raise typer.Exit(FAILED)


def adapters(
    name: Annotated[str | None, typer.Argument(help="Adapter to copy. Without a name, all are listed.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the copy, and for the file that serves it.")] = Path("."),
    json: Json = False,
    csv: Csv = False,
) -> None:
    """List or copy adapters: single files that serve published models from their own environments."""
    from worldgauge.cli import show
    from worldgauge.terminal.output import form_of

    form = form_of(json, csv)
    if name is None:
        show.adapters(known_adapters(), form)
    elif csv:
        raise UsageError("--csv is for the list: leave NAME out, or give --json")
    else:
        show.handed_out(hand_out(name, out), json)


def adapter_files() -> dict[str, Path]:
    """All adapters by name. Nothing is imported, since their dependencies are not installed here."""
    package = Path(__file__).parents[1]
    # In the package as it is installed, or beside `src` where it is not.
    folder = next(there for there in (package / "adapters", package.parents[1] / "adapters") if there.is_dir())
    return {path.stem: path for path in sorted(folder.glob("*.py"))}


def known_adapters() -> dict[str, str]:
    """First line of every adapter, by name."""
    docs = {name: ast.get_docstring(ast.parse(path.read_text("utf-8"))) for name, path in adapter_files().items()}
    return {name: (text or "").split("\n")[0] for name, text in docs.items()}


def hand_out(name: str, folder: Path) -> list[Path]:
    """Copy an adapter, and the file that serves it, into a folder."""
    import worldgauge_serve
    from worldgauge.engine.store import atomic_write

    if name not in adapter_files():
        raise UnknownNameError("adapter", name, adapter_files())
    sources = [adapter_files()[name], Path(worldgauge_serve.__file__)]
    copies = [folder / source.name for source in sources]
    for source, copy in zip(sources, copies, strict=True):
        if copy.exists() and copy.read_bytes() != source.read_bytes():
            raise UsageError(f"{copy} is there already and differs; remove it, or choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    for source, copy in zip(sources, copies, strict=True):
        atomic_write(copy, source.read_text("utf-8"))
    return copies


def list_(
    kind: Annotated[str, typer.Argument(help=f"What to list: {', '.join(KINDS)}.")],
    json: Json = False,
    csv: Csv = False,
) -> None:
    """List what is available, here and in other installed packages."""
    import importlib

    from worldgauge.cli import show
    from worldgauge.terminal.output import form_of

    form = form_of(json, csv)
    if kind not in KINDS:
        raise UnknownNameError("kind to list", kind, KINDS)
    package = importlib.import_module(f"worldgauge.{KINDS[kind]}")
    show.entries(kind, getattr(package, kind), form)
