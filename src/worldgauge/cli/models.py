"""Commands around models: check-model, adapters, and list, which shows what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.terminal.commands import listed_kinds
from worldgauge.terminal.options import FAILED, Csv, Json

KINDS = {
    "suites": "suites",
    "collections": "engine.collection.collection",
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
    from worldgauge.cli import adapters as cli_adapters
    from worldgauge.cli import show
    from worldgauge.terminal.output import form_of

    form = form_of(json, csv)
    if name is None:
        show.adapters(cli_adapters.known(), form)
    elif csv:
        raise UsageError("--csv is for the list: leave NAME out, or give --json")
    else:
        show.handed_out(cli_adapters.hand_out(name, out), json)


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
