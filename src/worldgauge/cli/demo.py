"""`worldgauge demo`: every suite on a small data set, one live view, one page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.terminal.options import FAILED, Json, resumable

if TYPE_CHECKING:
    from worldgauge.tools.demo.schedule import Demo

FOLDER = Path("worldgauge-demo")


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the demo, new or interrupted.")] = FOLDER,
    full: Annotated[
        bool, typer.Option("--full", help="Use more tasks and all references. Takes about five times as long.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Number of parallel worker processes. By default the number of cores.", min=1)
    ] = None,
    json: Json = False,
) -> None:
    """Measure reference models in every suite, and open the way to your own model. Takes about three minutes.

    It can be stopped at any moment; the same command continues it.
    """
    from worldgauge.terminal.output import print_json
    from worldgauge.tools.demo.index import commands_for_own_model, write_index
    from worldgauge.tools.demo.live_view import DemoView
    from worldgauge.tools.demo.schedule import open_demo, perform

    processes = workers or len(os.sched_getaffinity(0))
    opened = open_demo(out, full=full, workers=processes)
    with resumable(), DemoView(opened) as view:
        perform(opened, processes, view)
    page = write_index(opened)
    if json:
        print_json(page=str(page), parts=[_facts(opened, place) for place in range(len(opened.parts))])
    else:
        view.end(page, commands_for_own_model(opened))
    if any(part.error for part in opened.parts):
        raise typer.Exit(FAILED)


def _facts(opened: Demo, place: int) -> dict[str, object]:
    part = opened.parts[place]
    card = {} if part.card is None else {name: value for name, value in part.card.items() if name != "previews"}
    return {"suite": part.suite, "error": part.error or None, **card}
