"""`worldgauge check NAME`: look a data set over."""

from __future__ import annotations

from typing import Annotated

import typer

from worldgauge.terminal.options import FAILED, Csv, Data, Json


def check(
    collection: Annotated[
        str,
        typer.Argument(
            help="Collection with this layout: its name, or ./FILE.py:CLASS; see: worldgauge list collections"
        ),
    ],
    data: Data,
    decode: Annotated[bool, typer.Option("--decode", help="Also decode every video, to find damaged frames.")] = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Check a data set, and list the problems by file."""
    from worldgauge.cli import show
    from worldgauge.engine.collection.collection import check_data
    from worldgauge.terminal.output import form_of

    form = form_of(json, csv)
    found = check_data(collection, data, decode=decode)
    show.data_report(data, found, form)
    if not found.ok:
        raise typer.Exit(FAILED)
