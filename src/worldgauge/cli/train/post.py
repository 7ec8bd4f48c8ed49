"""`worldgauge post-train`: a checkpoint goes on learning from other clips."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from worldgauge.core.errors import MissingExtraError
from worldgauge.terminal.options import DryRun, Json

EXAMPLE = "worldgauge post-train --base checkpoint --data coverage=data --clips 400 --out homes"


def post_train(
    base: Annotated[Path, typer.Option(help="Folder of the checkpoint that goes on.")],
    data: Annotated[list[str], typer.Option(help="SOURCE=FOLDER, such as mind=data/mind. May be given several times.")],
    out: Annotated[Path, typer.Option(help="Folder of the new checkpoint, new or interrupted.")],
    clips: Annotated[
        int | None, typer.Option(help="Train on so many clips, drawn by the seed; fewer are a part of more.", min=1)
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE in place of the base's. May be given several times.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of decoded frames. By default in the user's cache folder.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Files that are decoded at once.", min=1)] = 1,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train a checkpoint on other clips: all weights, a tenth of the learning rate, each frame once.

    Stopped, it goes on. Steps and learning rate can be set (--set steps=500).
    """
    from platformdirs import user_cache_dir

    from worldgauge.core.io import read_json_object
    from worldgauge.terminal.options import resumable, settings_of, texts_of
    from worldgauge.terminal.output import print_json
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.terminal.tables import print_text
    from worldgauge.training.material import read_material
    from worldgauge.training.post import base_recipe, one_epoch
    from worldgauge.training.recipe import changed

    try:
        from worldgauge.training.loop.loop import train
    except ImportError:
        raise MissingExtraError("worldgauge post-train", "train") from None
    recipe = base_recipe(read_json_object(base / "config.json"), str(base))
    folders = [(name, Path(folder)) for name, folder in texts_of(data, "--data").items()]
    place = cache or Path(user_cache_dir("worldgauge")) / "training"
    with resumable(), ProgressBar() as bar:
        material = read_material(
            folders,
            recipe,
            place,
            clips=clips,
            workers=workers,
            progress=lambda done, of: bar.show("clips read", done, of),
        )
        recipe = changed(one_epoch(recipe, material.clips), settings_of(set_), "--set")
        if not dry_run:
            train(
                recipe,
                material,
                out,
                parent=base,
                progress=lambda mark: bar.show("steps", mark.step, mark.steps, doing=f"loss {mark.loss:.4f}"),
            )
    frames = sum(map(len, material.clips))
    if json:
        print_json(
            checkpoint=str(out), trained=not dry_run, clips=len(material.clips), frames=frames, steps=recipe.steps
        )
        return
    print_text(f"{len(material.clips)} clips, {frames} frames: {recipe.steps} steps of {recipe.batch} windows")
    if not dry_run:
        print_text(f"{out}\nnext: worldgauge check-model --model 'trained?folder={out}'")
