"""Commands around models: check-model and adapters."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated

import typer

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.terminal.options import FAILED, Csv, Json


def check_model(
    model: Annotated[str, typer.Option(help="Model, as for worldgauge run.")],
    suite: Annotated[str | None, typer.Option(help="Suite whose kind of request is used, such as mind.")] = None,
    deadline: Annotated[float, typer.Option(help="Seconds without a frame after which a check fails.")] = 600.0,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Check whether a model follows the protocol.

    All checks run, and each violation is explained.
    """
    from worldgauge.cli import show
    from worldgauge.terminal.output import form_of
    from worldgauge.tools import check_model as conformance
    from worldgauge.tools.plan import SIZES

    form = form_of(json, csv)
    with show.Checking() as progress:
        report = conformance.check_model(model, suite=suite, deadline_s=deadline, sizes=SIZES, progress=progress)
    if not show.checked_model(report, form):
        raise typer.Exit(FAILED)


def check_world(
    server: Annotated[str, typer.Argument(metavar="CMD", help="Server of tables: cmd:..., pipe:... or http://...")],
) -> None:
    """Check whether a server of tables follows the protocol.

    All checks run: repeated poses, names, several tables, a killed server.
    """
    from worldgauge.terminal.output import out as terminal
    from worldgauge.tools import check_world as conformance

    faults = count = 0
    for one in conformance.check_world(server):
        count += 1
        faults += one.fault is not None
        line = (
            f"{'ok' if one.fault is None else 'FAIL':5} {one.name}: {one.measured if one.fault is None else one.fault}"
        )
        terminal.print(line, markup=False, highlight=False, soft_wrap=True)
    terminal.print(f"{count - faults} of {count} checks ok", markup=False, highlight=False)
    if faults:
        raise typer.Exit(FAILED)


def adapters(
    name: Annotated[str, typer.Argument(help="Adapter to copy; see: worldgauge list adapters")],
    out: Annotated[Path, typer.Option(help="Folder for the copy, and for the file that serves it.")] = Path("."),
    json: Json = False,
) -> None:
    """Copy an adapter, which serves a published model from its environment."""
    from worldgauge.terminal.output import out as terminal
    from worldgauge.terminal.output import print_json

    copies = hand_out(name, out)
    if json:
        print_json(files=[str(path) for path in copies])
        return
    for path in copies:
        terminal.print(f"wrote {path}", soft_wrap=True, markup=False)
    terminal.print(f"its first lines say how it is used: {copies[0]}", soft_wrap=True, markup=False)


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
