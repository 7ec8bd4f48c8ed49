"""`worldgauge collect`: a command for each benchmark that data can be made for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup

from worldgauge.cli_coverage import add_coverage
from worldgauge.cli_demonstrations import add_demonstrations
from worldgauge.cli_options import FAILED, DryRun, Json, On, Out, Seed, Size, Workers, resumable, size_of
from worldgauge.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from worldgauge.engine.collect import Collected, Game


class _Collections(TyperGroup):
    """A command for each benchmark."""

    def get_command(self, context: Any, name: str) -> Any:
        """The command, or one line that says which there are."""
        command = super().get_command(context, name)
        if command is None:
            raise UsageError(f"nothing is collected for '{name}'; known: {', '.join(self.list_commands(context))}")
        return command


collect_app = typer.Typer(
    cls=_Collections,
    help="Make a data set in embedded worlds; may be stopped at any moment and started again.",
    no_args_is_help=True,
)
add_coverage(collect_app)
add_demonstrations(collect_app)


@collect_app.command("loopnav")
def collect_loopnav(
    out: Out,
    settlements: Annotated[int, typer.Option(help="Villages, each a world of its own.")] = 12,
    ranges: Annotated[str, typer.Option(help="Distances of the goals in blocks.")] = "5,15,30,50",
    types: Annotated[str, typer.Option(help="Forms of the loop.")] = "ABA,ABCA",
    per_combination: Annotated[int, typer.Option(help="Loops for each village, type and range.")] = 20,
    seed: Seed = 42,
    workers: Workers = 1,
    on: On = None,
    size: Size = "640x360",
    sampling: Annotated[str, typer.Option(help='How goals are drawn: "released" or "continuous".')] = "released",
    world: Annotated[str, typer.Option(help='"voxel", embedded, or "minecraft", the real game.')] = "voxel",
    mode: Annotated[
        str | None,
        typer.Option(
            help='Of the game: "js-server", ours; "offline", no server; "java", --server.', show_default=False
        ),
    ] = None,
    server: Annotated[str | None, typer.Option(help="Of the game: HOST:PORT of a server that you run.")] = None,
    places: Annotated[
        str | None, typer.Option(help="On that server: published names, or NAME@X,Y,Z, between spaces.")
    ] = None,
    pictures: Annotated[
        str | None,
        typer.Option(help='Of the game: "ours" (if not said), "viewer" (as published), "released" (no stairs).'),
    ] = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Loops in generated villages, or in the real game, in LoopNav's layout."""
    from worldgauge.engine import collect as engine

    arguments: dict[str, Any] = {
        "settlements": settlements,
        "ranges": [_whole(part, "--ranges") for part in ranges.split(",")],
        "types": types.split(","),
        "per_combination": per_combination,
        "seed": seed,
        "size": size_of(size),
        "sampling": sampling,
        "game": _game(world, mode, server, places, pictures),
    }
    _collect("loopnav", engine.collect_loopnav, engine.count_loopnav, out, arguments, workers, on, dry_run, json)


@collect_app.command("target")
def collect_target(
    out: Out,
    scenes: Annotated[int, typer.Option(help="Settlements and homes, each a world of its own.")] = 25,
    per_scene: Annotated[int, typer.Option(help="Scenarios for each scene.")] = 5,
    places: Annotated[str, typer.Option(help="Where scenes are, by turns.")] = "outdoors,indoors",
    seed: Seed = 42,
    workers: Workers = 1,
    on: On = None,
    size: Size = "640x360",
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Walks to named things, in Target-Bench's layout."""
    from worldgauge.engine import collect as engine

    arguments: dict[str, Any] = {
        "scenes": scenes,
        "per_scene": per_scene,
        "places": places.split(","),
        "seed": seed,
        "size": size_of(size),
    }
    _collect("target", engine.collect_target, engine.count_target, out, arguments, workers, on, dry_run, json)


@collect_app.command("mind")
def collect_mind(
    out: Out,
    families: Annotated[str | None, typer.Option(help="Where scenes are, by turns; all eight if not said.")] = None,
    perspectives: Annotated[str, typer.Option(help="Through the walker's eyes, and over its shoulder.")] = "1st,3rd",
    train: Annotated[int, typer.Option(help="Clips to train on, for each perspective.")] = 50,
    mem: Annotated[int, typer.Option(help="Clips of the memory test, for each perspective.")] = 50,
    action_space: Annotated[int, typer.Option(help="Clips in five action spaces, for each perspective.")] = 25,
    mirror: Annotated[int, typer.Option(help="Start images of the ten mirrored paths, for each perspective.")] = 50,
    frames: Annotated[int, typer.Option(help="Frames of a clip, 24 a second; the first third is context.")] = 720,
    seed: Seed = 42,
    workers: Workers = 1,
    on: On = None,
    size: Size = "640x360",
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Walks driven by keys in eight kinds of scene, in MIND's layout."""
    from worldgauge.engine import collect as engine
    from worldgauge.worlds.voxel.world import FAMILIES

    arguments: dict[str, Any] = {
        "families": list(FAMILIES) if families is None else families.split(","),
        "perspectives": perspectives.split(","),
        "train": train,
        "mem": mem,
        "action_space": action_space,
        "mirror": mirror,
        "frames": frames,
        "seed": seed,
        "size": size_of(size),
    }
    _collect("mind", engine.collect_mind, engine.count_mind, out, arguments, workers, on, dry_run, json)


@collect_app.command("closedloop")
def collect_closedloop(
    out: Out,
    scenes: Annotated[int, typer.Option(help="Homes, over which episodes are spread evenly.")] = 60,
    recognition: Annotated[int, typer.Option(help="Episodes: what is in the red box?")] = 551,
    navigation: Annotated[int, typer.Option(help="Episodes: go to where this picture was taken.")] = 144,
    questions: Annotated[int, typer.Option(help="Episodes: walk about and answer.")] = 184,
    manipulation: Annotated[int, typer.Option(help="Trials with an arm at a table (extra manipulation).")] = 200,
    split: Annotated[str, typer.Option(help='Which homes: "train", "val" or "test", which share none.')] = "test",
    seed: Seed = 42,
    workers: Workers = 1,
    on: On = None,
    size: Annotated[str, typer.Option(help="Width and height of a goal panorama in pixels.")] = "1024x576",
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Tasks of an agent, in World-in-World's schemas: recognition, navigation, questions in homes, manipulation."""
    from worldgauge.engine import collect as engine

    arguments: dict[str, Any] = {
        "scenes": scenes,
        "recognition": recognition,
        "navigation": navigation,
        "questions": questions,
        "manipulation": manipulation,
        "split": split,
        "seed": seed,
        "panorama": size_of(size),
    }
    _collect(
        "closedloop", engine.collect_closedloop, engine.count_closedloop, out, arguments, workers, on, dry_run, json
    )


@collect_app.command("build")
def collect_build(
    out: Out,
    structures: Annotated[int, typer.Option(help="Builds, each with six tasks: 22 types in three tiers.")] = 66,
    stimuli: Annotated[int, typer.Option(help="Figures to turn in the mind, each with 36 questions.")] = 48,
    commonsense: Annotated[int, typer.Option(help="Questions about furnished rooms.")] = 50,
    views: Annotated[
        str, typer.Option(help='Figures turned about the vertical only, as published ("yaw"), or in any way ("full").')
    ] = "full",
    size: Annotated[int, typer.Option(help="Side of the pictures of builds in pixels.")] = 512,
    seed: Seed = 42,
    workers: Workers = 1,
    on: On = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Builds, figures and rooms of our own with their tasks, in MineAnyBuild's layout."""
    from worldgauge.engine.collect import build as engine

    arguments: dict[str, Any] = {
        "structures": structures,
        "stimuli": stimuli,
        "commonsense": commonsense,
        "views": views,
        "size_px": size,
        "seed": seed,
    }
    _collect("build", engine.collect_build, engine.count_build, out, arguments, workers, on, dry_run, json)


def _collect(
    benchmark: str,
    collect: Callable[..., Collected],
    count: Callable[[Path, Mapping[str, Any]], tuple[int, int]],
    out: Path,
    arguments: Mapping[str, Any],
    workers: int,
    on: str | None,
    dry_run: bool,
    json: bool,
) -> None:
    from worldgauge import cli_show as show
    from worldgauge.engine.collect import Game

    if dry_run:
        settings = {name: asdict(value) if isinstance(value, Game) else value for name, value in arguments.items()}
        show.collection_plan(benchmark, out, settings, count(out, arguments), json)
        return
    with resumable(), show.Collecting(benchmark) as progress:
        collected = collect(out, **arguments, workers=workers, on=on, progress=progress)
    show.collected(benchmark, collected, json)
    if collected.failures:
        raise typer.Exit(FAILED)


def _game(world: str, mode: str | None, server: str | None, places: str | None, pictures: str | None) -> Game | None:
    """How the real game is used; None for the embedded world."""
    from worldgauge.engine.collect import Game

    given = {"mode": mode, "server": server, "places": places, "pictures": pictures}
    if world not in ("voxel", "minecraft"):
        raise UnknownNameError("world of loops", world, ("voxel", "minecraft"))
    if world == "voxel":
        if lone := [name for name, value in given.items() if value is not None]:
            raise UsageError(f"--{lone[0]} goes with --world minecraft")
        return None
    chosen: Any = mode or ("js-server" if server is None else "java")
    return Game(chosen, server, tuple((places or "").split()), cast("Any", pictures or "ours"))


def _whole(text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{option} takes whole numbers, not '{text}'") from None
