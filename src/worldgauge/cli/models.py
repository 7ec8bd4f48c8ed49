"""`worldgauge check-model`, `adapters` and `list`: list what is available, and check a model against the protocol."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from worldgauge.terminal.options import FAILED, Json


class Kind(StrEnum):
    """What can be listed."""

    suites = "suites"
    collections = "collections"
    models = "models"
    agents = "agents"
    critics = "critics"
    metrics = "metrics"
    worlds = "worlds"
    estimators = "estimators"
    decoders = "decoders"


_PLACES = {
    "collections": "engine.collection.collection",
    "decoders": "perception.decoders",
    "estimators": "perception",
    "agents": "core.agent",
    "critics": "suites.build.critics",
}


def check_model(
    model: Annotated[
        str, typer.Option(help="As for run: a name, package.module:Class, ./file.py:Class, cmd:, pipe: or http://.")
    ],
    suite: Annotated[str, typer.Option(help="By whose actions it is driven: loopnav, mind or closedloop.")] = "loopnav",
    deadline: Annotated[float, typer.Option(help="Seconds without a frame after which a check is given up.")] = 600.0,
    json: Json = False,
) -> None:
    """Check whether a model keeps every promise of the protocol. All checks run, and each violation is explained."""
    from worldgauge.cli import check_model as cli_check
    from worldgauge.tools import check_model as conformance

    with cli_check.Checking() as progress:
        report = conformance.check_model(model, suite=cast("Any", suite), deadline_s=deadline, progress=progress)
    if not cli_check.checked_model(report, json):
        raise typer.Exit(FAILED)


def adapters(
    name: Annotated[str | None, typer.Argument(help="The adapter to copy; without one they are listed.")] = None,
    out: Annotated[Path, typer.Option(help="Folder to copy it to, with the file that serves it.")] = Path("."),
    json: Json = False,
) -> None:
    """List or copy adapters: single files that serve published models from the models' own environments."""
    from worldgauge.cli import adapters as cli_adapters
    from worldgauge.cli import show

    if name is None:
        show.adapters(cli_adapters.known(), json)
    else:
        show.handed_out(cli_adapters.hand_out(name, out), json)


def list_(kind: Annotated[Kind, typer.Argument(help="What to list.")], json: Json = False) -> None:
    """List what is available, here and in other packages through entry points."""
    import importlib

    from worldgauge.cli import show

    package = importlib.import_module(f"worldgauge.{_PLACES.get(kind.value, kind.value)}")
    show.entries(kind.value, getattr(package, kind.value), json)
