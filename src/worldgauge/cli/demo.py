"""`worldgauge demo`: every suite on a small data set, one live view, one page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.terminal.options import FAILED, Csv, Json, resumable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from worldgauge.tools.demo import Demo, Part

FOLDER = Path("worldgauge-demo")
COLUMNS = ("suite", "title", "column", "subject", "n", "mean", "low", "high", "unit", "better")
"""Columns of CSV: a row per subject of every suite."""


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the demo, new or interrupted.")] = FOLDER,
    full: Annotated[
        bool, typer.Option("--full", help="Use more tasks and all references. Takes about five times as long.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Number of parallel worker processes. By default the number of cores.", min=1)
    ] = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Measure reference models in every suite, and open the way to your own model. Takes about three minutes.

    It can be stopped at any moment; the same command continues it.
    """
    from worldgauge.terminal.output import form_of, print_csv, print_json
    from worldgauge.tools.demo import open_demo, perform
    from worldgauge.tools.demo_view import DemoView, commands_for_own_model, write_index

    form = form_of(json, csv)
    processes = workers or len(os.sched_getaffinity(0))
    opened = open_demo(out, full=full, workers=processes)
    with resumable(), DemoView(opened) as view:
        perform(opened, processes, view)
    page = write_index(opened)
    if form == "csv":
        print_csv(COLUMNS, [row for part in opened.parts for row in _rows(part)])
    elif form == "json":
        print_json(page=str(page), parts=[_facts(opened, place) for place in range(len(opened.parts))])
    else:
        view.end(page, commands_for_own_model(opened))
    if any(part.error for part in opened.parts):
        raise typer.Exit(FAILED)


def _facts(opened: Demo, place: int) -> dict[str, object]:
    part = opened.parts[place]
    card = {} if part.card is None else {name: value for name, value in part.card.items() if name != "previews"}
    return {"suite": part.suite, "error": part.error or None, **card}


def _rows(part: Part) -> Iterator[tuple[object, ...]]:
    card = part.card or {"rows": ()}
    for row in card["rows"]:
        numbers = (row["n"], row["mean"], row["low"], row["high"])
        yield part.suite, card["title"], card["column"], row["label"], *numbers, card["unit"], card["better"]
