"""The commands of worldgauge-train. `worldgauge` finds them by their entry point."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from worldgauge.terminal.commands import Command
from worldgauge.terminal.options import FAILED, Data, Json
from worldgauge_train.cli import study
from worldgauge_train.cli.app import app
from worldgauge_train.cli.post import EXAMPLE, post_train


def export_data(
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder to write; it must be new.")],
    source: Annotated[str, typer.Option("--from", help="Suite of the data, such as loopnav; or lerobot, rlds.")],
    to: Annotated[
        str, typer.Option(help="Form: lerobot (version 3.0), rlds (TensorFlow Datasets) or webdataset (shards).")
    ] = "lerobot",
    split: Annotated[str, typer.Option(help="Split of the episodes: train, val or test.")] = "test",
    json: Json = False,
) -> None:
    """Write recorded episodes as LeRobot, RLDS or WebDataset files."""
    from worldgauge.terminal.output import endings, print_json
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.tools.data_sets import find_data
    from worldgauge_train.export_data import export_data as write

    data = find_data(data, source)
    with ProgressBar() as bar:
        made = write(
            data, out, source=source, to=to, split=split, progress=lambda name, done: bar.show("walks", done, 0, name)
        )
    if json:
        print_json(folder=str(made.folder), walks=made.clips, damaged=[list(one) for one in made.damaged])
    else:
        print(f"{made.folder}: {made.clips} walks")
        endings("left out", [(one.id, one.why) for one in made.damaged])
    if made.damaged:
        raise typer.Exit(FAILED)


COMMANDS = (
    Command(app, "Models and data", "", name="train"),
    Command(post_train, "Models and data", EXAMPLE, name="post-train"),
    Command(
        export_data, "Publish", "worldgauge export-data --data data --from loopnav --out walks", name="export-data"
    ),
    *study.COMMANDS,
)
