"""`worldgauge train`: make a world model from recorded walks, look into one, and prepare what is trained on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.terminal.options import DryRun, Json

if TYPE_CHECKING:
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.training.material import Mark, Material
    from worldgauge.training.recipe import Recipe

EXAMPLE = "worldgauge train --recipe mind-tiny --data mind=data --out checkpoint"
app = typer.Typer(help="Train a world model on recorded walks.")

Data = Annotated[
    list[str] | None,
    typer.Option(
        help="SOURCE=FOLDER, such as mind=data/mind, or walks, which are drawn while training "
        "(walks?families=urban,desert). May be given several times."
    ),
]
Sets = Annotated[
    list[str] | None, typer.Option("--set", help="NAME=VALUE in place of the recipe's. May be given several times.")
]
Cache = Annotated[Path | None, typer.Option(help="Folder of decoded frames. By default in the user's cache folder.")]
Clips = Annotated[
    int | None, typer.Option(help="Train on so many clips, drawn by the seed; fewer are a part of more.", min=1)
]
Workers = Annotated[int, typer.Option(help="Files that are decoded, and worlds that are drawn, at once.", min=0)]


@app.callback(invoke_without_command=True, epilog=f"Example: {EXAMPLE}")
def train(
    context: typer.Context,
    recipe: Annotated[str | None, typer.Option(help="Recipe: mind-tiny, or a TOML file.")] = None,
    data: Data = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the checkpoint, new or interrupted.")] = None,
    stage: Annotated[
        str | None,
        typer.Option(help="Stage in place of the recipe's, or several: init,distil. All but the last go to OUT/STAGE."),
    ] = None,
    from_: Annotated[Path | None, typer.Option("--from", help="Checkpoint that the first stage begins from.")] = None,
    set_: Sets = None,
    minutes: Annotated[
        float | None, typer.Option(help="Stop after so long; the same command goes on.", min=0.1)
    ] = None,
    cache: Cache = None,
    clips: Clips = None,
    workers: Workers = 1,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train a world model on recorded walks. A training that was stopped goes on, to the same weights.

    Use it with any command: --model "trained?folder=OUT".
    """
    if context.invoked_subcommand is not None:
        return
    from worldgauge.terminal.options import resumable
    from worldgauge.terminal.output import print_json
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.terminal.tables import print_text

    if recipe is None or out is None:
        raise UsageError("worldgauge train needs --recipe, --data and --out; see: worldgauge train --help")
    try:
        from worldgauge.training.loop.loop import train as begin
    except ImportError:
        raise MissingExtraError("worldgauge train", "train") from None
    named = [one.strip() for one in (stage or "").split(",")]
    recipes = [_recipe(recipe, set_, one) for one in named]
    made = recipes[-1]
    with resumable(), ProgressBar() as bar:
        material = _material(data, made, cache, clips, workers, bar)
        facts = _facts(material, made)
        for each in () if dry_run else recipes:
            place = out if each is made else out / each.stage
            from_ = begin(each, material, place, parent=from_, minutes=minutes, progress=lambda mark: _show(bar, mark))
    if json:
        print_json(checkpoint=str(out), trained=not dry_run, **facts)
        return
    print_text(
        f"{facts['clips']} clips, {facts['frames']} frames: {facts['windows']} windows of {made.length} frames, "
        f"{made.steps} steps of {made.batch}"
    )
    if not dry_run:
        print_text(f"{out}\nnext: worldgauge check-model --model 'trained?folder={out}'")


@app.command(epilog="Example: worldgauge train cache --recipe mind-tiny --data mind=data")
def cache(
    recipe: Annotated[str, typer.Option(help="Recipe: mind-tiny, or a TOML file.")],
    data: Data = None,
    set_: Sets = None,
    cache: Cache = None,
    workers: Workers = 1,
    json: Json = False,
) -> None:
    """Decode the frames that a training needs, which it would else do itself. Needs no torch."""
    from worldgauge.terminal.options import resumable
    from worldgauge.terminal.output import print_json
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.terminal.tables import print_text

    made, place = _recipe(recipe, set_), _place(cache)
    with resumable(), ProgressBar() as bar:
        material = _material(data, made, cache, None, max(1, workers), bar)
    frames = sum(map(len, material.clips))
    if json:
        print_json(cache=str(place), clips=len(material.clips), frames=frames)
        return
    print_text(f"{len(material.clips)} clips, {frames} frames of {made.size[0]}x{made.size[1]} in {place}")


def _recipe(name: str, sets: list[str] | None, stage: str = "") -> Recipe:
    from worldgauge.terminal.options import settings_of
    from worldgauge.training.recipe import changed, named_recipe

    return changed(named_recipe(name, stage), settings_of(sets), "--set")


def _place(cache: Path | None) -> Path:
    from platformdirs import user_cache_dir

    return cache or Path(user_cache_dir("worldgauge")) / "training"


def _material(
    data: list[str] | None,
    recipe: Recipe,
    cache: Path | None,
    clips: int | None,
    workers: int,
    bar: ProgressBar,
) -> Material:
    from worldgauge.training.material import read_material

    folders, walks = sources_of(data or [])
    return read_material(
        folders,
        recipe,
        _place(cache),
        walks=walks,
        clips=clips,
        workers=workers,
        progress=lambda done, of: bar.show("clips read", done, of),
    )


def sources_of(data: list[str]) -> tuple[list[tuple[str, Path]], str | None]:
    """Read --data.

    Args:
        data: Texts SOURCE=FOLDER, or walks with settings.

    Returns:
        Names of training sources with a folder of each, and the walks.

    Raises:
        UsageError: For text in another form, or several sources of walks.
    """
    folders, walks = [], []
    for text in data:
        name, equals, folder = text.partition("=")
        if equals and "?" not in name:
            folders.append((name, Path(folder)))
        else:
            walks.append(text)
    if len(walks) > 1:
        raise UsageError(f"--data takes one source of walks, not {' and '.join(walks)}; give its settings after '?'")
    return folders, walks[0] if walks else None


def _facts(material: Material, recipe: Recipe) -> dict[str, Any]:
    lengths = [len(clip) for clip in material.clips]
    windows = sum(max(0, length - recipe.length + 1) for length in lengths)
    short = sum(length < recipe.length for length in lengths)
    return {
        "clips": len(lengths),
        "frames": sum(lengths),
        "windows": windows,
        "too_short": short,
        "damaged": [one._asdict() for one in material.damaged],
        "steps": recipe.steps,
    }


def _show(bar: ProgressBar, mark: Mark) -> None:
    bar.show("steps", mark.step, mark.steps, doing=f"loss {mark.loss:.4f}")
