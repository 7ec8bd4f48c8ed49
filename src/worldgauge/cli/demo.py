"""`worldgauge demo`: every suite on a small data set, one live view, one page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.terminal.options import FAILED, Csv, Json, resumable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from worldgauge.tools.demo import DemoPart

FOLDER = Path("worldgauge-demo")
COLUMNS = ("suite", "title", "model", "rank", "n", "mean", "low", "high", "unit", "better")
"""Columns of CSV: a row per model of every suite."""


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the demo, new or interrupted.")] = FOLDER,
    full: Annotated[
        bool, typer.Option("--full", help="Use more tasks and all baselines. Takes about five times as long.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Parallel worker processes. Default: one per core.", min=1)
    ] = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Run baselines in every suite, and show the commands for your model.

    Takes about five minutes on two cores.

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
        cards = [
            {name: value for name, value in (part.card or {}).items() if name != "previews"} for part in opened.parts
        ]
        parts = [{"suite": part.suite, "error": part.error or None} for part in opened.parts]
        print_json(page=str(page), parts=[{**part, **card} for part, card in zip(parts, cards, strict=True)])
    else:
        view.end(page, commands_for_own_model(opened))
    if any(part.error for part in opened.parts):
        raise typer.Exit(FAILED)


def _rows(part: DemoPart) -> Iterator[tuple[object, ...]]:
    card = part.card or {"rows": ()}
    for row in card["rows"]:
        numbers = (row["n"], row["mean"], row["low"], row["high"])
        yield part.suite, card["title"], row["label"], row["rank"], *numbers, card["unit"], card["better"]
