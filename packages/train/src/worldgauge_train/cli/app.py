"""`worldgauge train`: make a world model from recorded walks, look into one, and prepare what is trained on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args

import typer

from worldgauge.core.errors import MissingExtraError, UnknownNameError, UsageError
from worldgauge.terminal.options import DryRun, Json, result_descriptor

if TYPE_CHECKING:
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge_train.training.adapt import Adaptation
    from worldgauge_train.training.material import Mark, Material, TrainingPlan, Wanted
    from worldgauge_train.training.recipe import Recipe
    from worldgauge_train.training.validation import Validation

Cache = Annotated[Path | None, typer.Option(help="Folder of decoded frames. Default: in the user's cache folder.")]
Clips = Annotated[int | None, typer.Option(help="Train on this number of episodes, sampled with the seed.", min=1)]
AllowOverlap = Annotated[bool, typer.Option("--allow-overlap", help="Validate although scenes are also trained on.")]
AllowTest = Annotated[bool, typer.Option("--allow-test", help="Validate on test scenes if --validate names no others.")]
Minutes = Annotated[float | None, typer.Option(help="Stop after these minutes. The same command continues.", min=0.1)]
Device = Annotated[str, typer.Option(help="Train on cpu, cuda or cuda:N.")]
Precision = Annotated[str, typer.Option(help="Train in float32, or in bfloat16 if that is safe.")]
Deterministic = Annotated[bool, typer.Option("--deterministic", help="Train to equal bytes on a GPU, more slowly.")]
Log = Annotated[str, typer.Option(help="Log also to tensorboard, trackio, or both: tensorboard,trackio.")]


def cache_folder(cache: Path | None) -> Path:
    """Where decoded frames are kept."""
    from platformdirs import user_cache_dir

    return cache or Path(user_cache_dir("worldgauge")) / "training"


def sinks_of(log: str) -> list[str]:
    """Read --log."""
    from worldgauge_train.training.log import check_sinks

    sinks = [one for one in log.split(",") if one]
    check_sinks(sinks)
    return sinks


def check_place(command: str, device: str, precision: str) -> None:
    """Check that it can be trained here."""
    try:
        from worldgauge_train.training import loop, stepping
    except ImportError:
        raise MissingExtraError(command, "train") from None
    if precision not in get_args(stepping.Precision):
        raise UnknownNameError("precision", precision, get_args(stepping.Precision))
    loop.check_device(device)


Gpus = Annotated[int, typer.Option(help="Train with this number of processes, one per GPU.", min=1)]


Spread = Annotated[
    bool | None,
    typer.Option(
        "--spread/--no-spread", help="Shard all weights over processes. Default: above 125 million parameters."
    ),
]


def check_spread(spread: bool | None, count: int) -> None:
    """Check that there is something to spread weights over."""
    if spread and count == 1:
        raise UsageError("--spread spreads weights over several processes; add --gpus N")


def check_shared(count: int, recipes: Sequence[Recipe]) -> None:
    """Check that processes can share the batch of each recipe, before they are started."""
    for one in recipes:
        if one.parts % count:
            raise UsageError(
                f"--gpus {count} cannot share {one.parts} parts of a batch of {one.batch} evenly; "
                f"--set parts={count}, or another number that {count} divides"
            )


def is_started(count: int, device: str, dry_run: bool) -> bool:
    """Start this command again in several processes, where several are asked for, and wait for them."""
    if count == 1 or dry_run or "WORLD_SIZE" in os.environ:
        return False
    try:
        import accelerate  # noqa: F401
        import torch
    except ImportError:
        raise MissingExtraError("--gpus", "train") from None
    if ":" in device:
        raise UsageError(f"--gpus {count} takes all GPUs from the first: give --device cuda, not {device}")
    if device != "cpu" and torch.cuda.device_count() < count:
        raise UsageError(f"--gpus {count}: here are {torch.cuda.device_count()}; with --device cpu they run on cores")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    done = subprocess.run([*launcher, "-m", "worldgauge.cli.main", *sys.argv[1:]], stdout=result_descriptor())
    if done.returncode:
        raise typer.Exit(done.returncode)
    return True


def leave_it_to_the_first() -> None:
    """End this process unless it is the first or only one, which reports to the user. It skips the interpreter's end,
    in which torch sometimes aborts; a finished training would count as failed."""
    if os.environ.get("RANK", "0") != "0":
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


EXAMPLE = "worldgauge train --recipe mind-tiny --data mind=data --out checkpoint"
app = typer.Typer(help="Train a world model on recorded episodes.")

Data = Annotated[
    list[str] | None, typer.Option(help="Train on SOURCE=FOLDER, such as mind=data/mind, or walks. Can be repeated.")
]
Sets = Annotated[list[str] | None, typer.Option("--set", help="Replace NAME=VALUE of the recipe. Can be repeated.")]
Workers = Annotated[int, typer.Option(help="Files to decode, and worlds to render, in parallel.", min=0)]


@app.callback(invoke_without_command=True, epilog=f"Example: {EXAMPLE}")
def train(
    context: typer.Context,
    recipe: Annotated[str | None, typer.Option(help="Recipe: mind-tiny, or a TOML file.")] = None,
    data: Data = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the checkpoint, new or interrupted.")] = None,
    stage: Annotated[
        str | None, typer.Option(help="Train these stages, such as init,distil. Default: the recipe's.")
    ] = None,
    from_: Annotated[Path | None, typer.Option("--from", help="Checkpoint that the first stage begins from.")] = None,
    set_: Sets = None,
    minutes: Minutes = None,
    final: Annotated[
        bool, typer.Option("--final", help="Let the learning rate fall within --minutes, for a finished model.")
    ] = False,
    steps: Annotated[int | None, typer.Option(help="Number of training steps. Default: the recipe's.", min=1)] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed. Default: the recipe's.", min=0)] = None,
    validate: Annotated[
        str | None, typer.Option(help="Validate on SOURCE=FOLDER, or none. Default: the val split.")
    ] = None,
    allow_overlap: AllowOverlap = False,
    allow_test: AllowTest = False,
    cache: Cache = None,
    clips: Clips = None,
    workers: Workers = 1,
    device: Device = "cpu",
    precision: Precision = "float32",
    compile_: Annotated[bool, typer.Option("--compile", help="Compile the network, on a GPU: slow to begin.")] = False,
    shard_mb: Annotated[int | None, typer.Option(help="Split the weights into files of this many MiB.", min=1)] = None,
    deterministic: Deterministic = False,
    gpus: Gpus = 1,
    spread: Spread = None,
    log: Log = "",
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train a world model on recorded episodes.

    Use it with any command: --model trained:OUT.
    """
    if context.invoked_subcommand is not None:
        return
    from worldgauge.terminal.options import resumable
    from worldgauge.terminal.output import print_json, print_text
    from worldgauge.terminal.progress import ProgressBar

    if recipe is None or out is None or not data:
        raise UsageError("worldgauge train needs --recipe, --data and --out; see: worldgauge train --help")
    if final and minutes is None:
        raise UsageError("--final goes with --minutes: without them the learning rate falls over all steps")
    check_place("worldgauge train", device, precision)
    sinks = sinks_of(log)
    from worldgauge_train.training import loop
    from worldgauge_train.training.parents import check_order

    asked = {name: value for name, value in (("steps", steps), ("seed", seed)) if value is not None}
    recipes = [_recipe(recipe, set_, one.strip(), asked) for one in (stage or "").split(",")]
    if compile_ and device == "cpu":
        raise UsageError("--compile is for GPUs: give --device cuda, or leave it out")
    check_spread(spread, gpus)
    check_shared(gpus, recipes)
    check_order(recipes, from_)
    if is_started(gpus, device, dry_run):
        return
    made = recipes[-1]
    given: dict[str, Any] = {"device": device, "precision": precision}
    with resumable(), ProgressBar() as bar:
        material = _material(data, made, cache, clips, workers, bar)
        is_needed = validate is not None or not dry_run
        allowed = Allowed(allow_overlap, allow_test)
        validation = validation_of(validate, allowed, material, made, cache, from_) if is_needed else None
        facts = facts_of(material, made) | {"validated_on": None if validation is None else validation.what}
        if dry_run or (minutes and validation is not None):
            plans = loop.plan_training(recipes, material, parent=from_, **given)
            check_minutes(minutes, plans, validation)
            facts |= facts_of_plans(plans)
        for each in () if dry_run else recipes:
            from_ = loop.train(
                each,
                material,
                out if each is made else out / each.stage,
                parent=from_,
                minutes=minutes,
                final=final,
                validation=validation,
                sinks=sinks,
                compiled=compile_,
                spreads=spread,
                shard_mb=shard_mb if each is made else None,
                deterministic=deterministic,
                progress=lambda mark: _show(bar, mark),
                **given,
            )
        if material.ring is not None:
            material.ring.close()
    leave_it_to_the_first()
    if json:
        print_json(checkpoint=str(out), trained=not dry_run, **facts)
        return
    for line in _sentences(facts, made, validation is not None or not is_needed):
        print_text(line)
    if not dry_run:
        for name, text in table_of_last(out):
            print_text(f"{name} {text}")
        print_text(f"{out}\nnext: worldgauge check-model --model trained:{out}")


@app.command(epilog="Example: worldgauge train cache --recipe mind-tiny --data mind=data")
def cache(
    recipe: Annotated[str, typer.Option(help="Recipe: mind-tiny, or a TOML file.")],
    data: Data = None,
    set_: Sets = None,
    cache: Cache = None,
    workers: Workers = 1,
    json: Json = False,
) -> None:
    """Decode the frames of a training beforehand, without torch."""
    from worldgauge.terminal.options import resumable
    from worldgauge.terminal.output import print_json, print_text
    from worldgauge.terminal.progress import ProgressBar

    made, place = _recipe(recipe, set_), cache_folder(cache)
    with resumable(), ProgressBar() as bar:
        material = _material(data, made, cache, None, max(1, workers), bar)
    frames, damaged = sum(map(len, material.clips)), [one._asdict() for one in material.damaged]
    if json:
        print_json(cache=str(place), clips=len(material.clips), frames=frames, damaged=damaged)
        return
    for one in damaged:
        print_text(f"left out: {one['id']}: {one['why']}")
    print_text(f"{len(material.clips)} clips, {frames} frames of {made.size[0]}x{made.size[1]} in {place}")


@app.command(epilog="Example: worldgauge train inspect checkpoint")
def inspect(
    folder: Annotated[Path, typer.Argument(help="Folder of a checkpoint.")],
    page: Annotated[Path | None, typer.Option(help="Write its learning curve as a page, .html, with drawings.")] = None,
    json: Json = False,
) -> None:
    """Show a checkpoint: network, lineage, data, validation."""
    from worldgauge.terminal.output import print_json, print_text, written
    from worldgauge_train.training.log import inspected, sentences_of

    found = inspected(folder)
    if page is not None:
        from worldgauge_train.training.log import write_learning_curve

        write_learning_curve(folder, page, f"worldgauge train inspect {folder} --page {page}")
    if json:
        print_json(**found, **({} if page is None else {"page": str(page)}))
        return
    for line in sentences_of(found):
        print_text(line)
    if page is not None:
        written(page, json=False)


def _recipe(name: str, sets: list[str] | None, stage: str = "", more: Mapping[str, Any] | None = None) -> Recipe:
    from worldgauge.terminal.options import settings_of
    from worldgauge_train.training.recipe import changed, named_recipe

    return changed(changed(named_recipe(name, stage), settings_of(sets), "--set"), more or {}, "options")


class Allowed(NamedTuple):
    """Scenes that a validation may use: those that are also trained on (`overlap`), those of the split "test"."""

    overlap: bool
    test: bool


def validation_of(
    text: str | None, allowed: Allowed, material: Material, recipe: Wanted, cache: Path | None, parent: Path | None
) -> Validation | None:
    """Read what is validated with."""
    from worldgauge.core.io import read_json_object
    from worldgauge.models.baselines.tiny import trained_scenes
    from worldgauge_train.training.material import check_apart, read_validation
    from worldgauge_train.training.validation import Validation, opposite_of
    from worldgauge_train.training.walks import walks_of

    if text == "none":
        return None
    source: tuple[str, Path] | str
    if text is None:
        source = "walks"
        if recipe.stride != 1:
            return None
        if {one.name for one in walks_of(source).space.axes} != {one.name for one in material.space.axes}:
            return None
    else:
        folders, walks = sources_of([text])
        source = folders[0] if folders else str(walks)
    clips, split = read_validation(source, recipe, cache_folder(cache), allow_test=allowed.test)
    if any(clip.rows.shape[1] != material.columns for clip in clips):
        raise UsageError(f"--validate {text}: its actions are of another kind than those that are trained on")
    if not allowed.overlap:
        before = () if parent is None else trained_scenes(read_json_object(parent / "config.json"))
        check_apart(material.clips_at(0), clips, f"--validate {text or source}", before)
    what = f"{len(clips)} clips of the split {split}, {text or source}"
    return Validation(clips, material.fps or material.space.fps, opposite_of(material.space, recipe.told), what)


def check_minutes(minutes: float | None, plans: Sequence[TrainingPlan], validation: Validation | None) -> None:
    """Refuse minutes that do not hold a validation, at the speed at which a plan drew frames."""
    if minutes is None or validation is None:
        return
    frames = len(validation.clips) * (validation.horizon + min(round(validation.fps), validation.horizon))
    takes = max(frames / plan.frames_per_s for plan in plans)
    if 60 * minutes < takes:
        raise UsageError(f"--minutes {minutes:g} is less than one validation, about {takes:.0f} s; or --validate none")


def facts_of_plans(plans: Sequence[TrainingPlan]) -> dict[str, Any]:
    """What plans of the stages of a training say, for --json."""
    return {"hours": sum(plan.hours for plan in plans), "stages": [asdict(plan) for plan in plans]}


def _sentences(facts: dict[str, Any], recipe: Recipe, validated: bool) -> Iterator[str]:
    steps = f"{recipe.steps} steps of {recipe.batch}"
    if facts["clips"]:
        windows = f"{facts['windows']} windows of {recipe.length} frames"
        yield f"{facts['clips']} clips, {facts['frames']} frames: {windows}, {steps}"
    if "walks" in facts:
        yield f"{facts['walks']}: rendered while training, {facts['walks_held']} at a time; {steps}"
    yield from sentences_of_clips(facts)
    if not validated:
        yield "Not validated: give --validate SOURCE=FOLDER of other worlds."
    yield from sentences_of_plan(facts)


def sentences_of_clips(facts: Mapping[str, Any]) -> Iterator[str]:
    """Which clips are left out, and which are validated on, for a reader."""
    if facts["too_short"]:
        yield f"{facts['too_short']} clips are shorter than a window and left out"
    for one in facts["damaged"]:
        yield f"left out: {one['id']}: {one['why']}"
    if facts.get("validated_on"):
        yield f"validated on {facts['validated_on']}"


def sentences_of_plan(facts: Mapping[str, Any]) -> Iterator[str]:
    """What a plan of a training says, for a reader."""
    for plan in facts.get("stages", ()):
        first = [("training the codec", plan["codec_s"]), ("encoding clips", plan["encoding_s"])]
        first.append(("getting ready", plan["prepared_s"]))
        before = "".join(f"{taken:.3g} s of {what}, " for what, taken in first if taken >= 0.01)
        yield (
            f"{plan['stage']}: {plan['parameters']} weights; {before}{plan['steps']} steps of "
            f"{plan['flops'] / 1e9:.3g} GFLOP and {plan['step_s']:.3g} s here; {plan['memory_gb']:.2g} GB"
        )
    if "stages" in facts:
        yield f"{facts['hours']:.2g} hours in all, without validation"
    if facts.get("parameters"):
        yield f"{facts['parameters']} weights"
    if facts.get("trained"):
        yield f"{facts['trained']} of them are trained; with gradients they take {facts['held_gb']:.3g} GB"
    if facts.get("paper_hours"):
        yield (
            f"{facts['flops'] / 1e15:.3g} PFLOP a step on paper, {facts['paper_hours']:.3g} hours in all at "
            f"{facts['flops_per_s'] / 1e12:g} TFLOP/s; nothing was loaded or tried"
        )


def table_of_last(out: Path) -> list[tuple[str, str]]:
    """The numbers of the last validation of a training, for a reader."""
    from worldgauge_train.training.log import read_log
    from worldgauge_train.training.validation import COLUMNS, table_of

    last: dict[str, Any] = next((row for row in reversed(read_log(out)) if "mse_1s" in row), {})
    return list(table_of({name: last.get(name) for name in COLUMNS}))


def _material(
    data: list[str] | None, recipe: Recipe, cache: Path | None, clips: int | None, workers: int, bar: ProgressBar
) -> Material:
    from worldgauge_train.training.material import read_material

    folders, walks = sources_of(data or [])
    return read_material(
        folders,
        recipe,
        cache_folder(cache),
        walks=walks,
        clips=clips,
        workers=workers,
        progress=lambda done, of: bar.show("clips read", done, of),
    )


def sources_of(data: list[str]) -> tuple[list[tuple[str, Path]], str | None]:
    """Read --data."""
    folders, walks = [], []
    for text in data:
        name, equals, folder = text.partition("=")
        if equals and "?" not in name:
            folders.append((name, Path(folder)))
        else:
            walks.append(text)
    if len(walks) > 1:
        raise UsageError(f"--data takes one generator, not {' and '.join(walks)}; give its settings after '?'")
    return folders, walks[0] if walks else None


def facts_of(material: Material, recipe: Recipe | Adaptation) -> dict[str, Any]:
    """Clips, frames and windows of a training, and what of them is left out, for --json."""
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
        **({} if material.ring is None else {"walks": material.ring.text, "walks_held": material.ring.count}),
    }


def _show(bar: ProgressBar, mark: Mark) -> None:
    bar.show("steps", mark.step, mark.steps, doing=f"loss {mark.loss:.4f}")
