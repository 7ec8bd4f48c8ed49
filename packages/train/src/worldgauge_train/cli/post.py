"""`worldgauge post-train`: a checkpoint, or a brought pipeline of diffusers, goes on learning from other clips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.terminal.options import DryRun, Json
from worldgauge_train.cli.app import (
    Allowed,
    AllowOverlap,
    AllowTest,
    Cache,
    Clips,
    Deterministic,
    Device,
    Gpus,
    Log,
    Minutes,
    Precision,
    Spread,
    cache_folder,
    check_minutes,
    check_place,
    check_spread,
    facts_of,
    facts_of_plans,
    is_started,
    leave_it_to_the_first,
    sentences_of_clips,
    sentences_of_plan,
    sinks_of,
    validation_of,
)

if TYPE_CHECKING:
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge_train.training.adapt import Adaptation
    from worldgauge_train.training.material import Mark, Material, Wanted
    from worldgauge_train.training.recipe import Recipe

EXAMPLE = "worldgauge post-train --base checkpoint --data coverage=data --clips 400 --out homes"
BROUGHT = "diffusers:"


def post_train(
    base: Annotated[
        str, typer.Option(help="Train this checkpoint further, or an external pipeline: diffusers:FOLDER.")
    ],
    data: Annotated[list[str], typer.Option(help="Train on SOURCE=FOLDER, such as mind=data/mind. Can be repeated.")],
    out: Annotated[Path, typer.Option(help="Folder of the new checkpoint, new or interrupted.")],
    recipe: Annotated[
        str | None, typer.Option(help="Recipe: base, target-lora, wiw-svd, actions-lora, or a TOML file.")
    ] = None,
    write: Annotated[
        str | None, typer.Option(help="Write the input of the papers' trainer: diffsynth or diffsynth-four.")
    ] = None,
    clips: Clips = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Replace NAME=VALUE of the base or recipe. Can be repeated.")
    ] = None,
    validate: Annotated[str, typer.Option(help="Validate on SOURCE=FOLDER of other worlds, walks, or none.")] = "none",
    allow_overlap: AllowOverlap = False,
    allow_test: AllowTest = False,
    cache: Cache = None,
    workers: Annotated[int, typer.Option(help="Files that are decoded at once.", min=1)] = 1,
    minutes: Minutes = None,
    device: Device = "cpu",
    precision: Precision = "float32",
    deterministic: Deterministic = False,
    gpus: Gpus = 1,
    spread: Spread = None,
    log: Log = "",
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train a checkpoint or an external pipeline on other episodes.

    Of a checkpoint all weights, at a tenth of the learning rate, each frame once; steps and learning rate can be set
    (--set steps=500). Of a brought pipeline what the recipe says. Stopped, it goes on.
    """
    from worldgauge.terminal.options import resumable, texts_of
    from worldgauge.terminal.output import print_json, print_text
    from worldgauge.terminal.progress import ProgressBar

    folders = [(name, Path(folder)) for name, folder in texts_of(data, "--data").items()]
    sinks = sinks_of(log)
    if base.startswith(BROUGHT) != (recipe is not None):
        raise UsageError("--recipe goes with --base diffusers:FOLDER, and that with --recipe, such as target-lora")
    if write is not None:
        _export(recipe, set_, folders, clips, out, write, json)
        return
    check_spread(spread, gpus)
    if spread and recipe is not None:
        raise UsageError("--spread is for checkpoints of ours: each process holds a brought pipeline whole")
    check_place("worldgauge post-train", device, precision)
    if is_started(gpus, device, dry_run):
        return
    how: dict[str, Any] = {"minutes": minutes, "sinks": sinks, "device": device, "precision": precision}
    how["deterministic"] = deterministic
    made: Recipe | Adaptation
    with resumable(), ProgressBar() as bar:
        allowed = Allowed(allow_overlap, allow_test)
        reading = {"clips": clips, "workers": workers}
        job = _Job(base, folders, cache_folder(cache), reading, set_, out, validate, allowed, bar)
        if recipe is None:
            made, material, plan = _go_on(job, dry_run, {**how, "spreads": spread})
        else:
            made, material, plan = _adapt(job, recipe, dry_run, how)
    leave_it_to_the_first()
    facts = facts_of(material, made) | plan
    if json:
        print_json(checkpoint=str(out), trained=not dry_run, **facts)
        return
    print_text(f"{facts['clips']} clips, {facts['frames']} frames: {made.steps} steps of {made.batch} windows")
    for line in (*sentences_of_clips(facts), *sentences_of_plan(facts)):
        print_text(line)
    if not dry_run:
        named = f"trained?folder={out}" if recipe is None else f"adapted?folder={out}&base={base.removeprefix(BROUGHT)}"
        print_text(f"{out}\nnext: worldgauge check-model --model '{named}'")


class _Job(NamedTuple):
    """What is to be post-trained, on what."""

    base: str
    folders: list[tuple[str, Path]]
    cache: Path
    reading: Mapping[str, Any]
    sets: list[str] | None
    out: Path
    validate: str
    allowed: Allowed
    bar: ProgressBar

    def material(self, recipe: Wanted) -> Material:
        """Read the clips."""
        from worldgauge_train.training.material import read_material

        return read_material(
            self.folders,
            recipe,
            self.cache,
            progress=lambda done, of: self.bar.show("clips read", done, of),
            **self.reading,
        )

    def show(self, mark: Mark) -> None:
        """Show how far training is."""
        self.bar.show("steps", mark.step, mark.steps, doing=f"loss {mark.loss:.4f}")


def _go_on(job: _Job, dry_run: bool, how: Mapping[str, Any]) -> tuple[Recipe, Material, dict[str, Any]]:
    """Go on with a checkpoint of ours."""
    from worldgauge.core.io import read_json_object
    from worldgauge.terminal.options import settings_of
    from worldgauge_train.training.loop import plan_training, train
    from worldgauge_train.training.recipe import base_recipe, changed, one_epoch

    base = Path(job.base)
    made = base_recipe(read_json_object(base / "config.json"), str(base))
    material = job.material(made)
    made = changed(one_epoch(made, material.clips), settings_of(job.sets), "--set")
    validation = validation_of(job.validate, job.allowed, material, made, job.cache, base)
    plan = {"validated_on": None if validation is None else validation.what}
    if dry_run or (how["minutes"] and validation is not None):
        where = {name: how[name] for name in ("device", "precision")}
        plans = plan_training([made], material, parent=base, **where)
        check_minutes(how["minutes"], plans, validation)
        plan |= facts_of_plans(plans)
    if dry_run:
        return made, material, plan
    train(made, material, job.out, parent=base, validation=validation, progress=job.show, **how)
    return made, material, plan


def _adapt(
    job: _Job, recipe: str, dry_run: bool, how: Mapping[str, Any]
) -> tuple[Adaptation, Material, dict[str, Any]]:
    """Post-train a brought pipeline."""
    from importlib.util import find_spec

    from worldgauge_train.nets.brought import kind_of
    from worldgauge_train.training.adapting import adapt
    from worldgauge_train.training.clip import read_clips
    from worldgauge_train.training.on_paper import plan_adaptation

    made, base = _recipe(recipe, job.sets), Path(job.base.removeprefix(BROUGHT)).expanduser()
    if any(find_spec(name) is None for name in ("diffusers", "transformers", "peft")):
        raise MissingExtraError("post-training of a pipeline of diffusers", "adapt")
    kind_of(base)
    material = job.material(made)
    usable = {one.id for one in material.clips if len(one) >= made.frames}
    made = made.with_steps(len(usable))
    if job.validate != "none" and (made.prompt or not made.actions):
        raise UsageError(f"--validate passes actions only, and the recipe has prompt = '{made.prompt}'; leave it out")
    validation = validation_of(job.validate, job.allowed, material, made, job.cache, None)
    plan = {"validated_on": None if validation is None else validation.what}
    if dry_run:
        return made, material, plan | asdict(plan_adaptation(made, base))
    texts = {one.id: one.every(made.stride) for one in read_clips(job.folders).clips if one.id in usable}
    adapt(made, material, texts, base, job.out, validation=validation, progress=job.show, **how)
    return made, material, plan


def _export(
    recipe: str | None,
    sets: list[str] | None,
    folders: list[tuple[str, Path]],
    clips: int | None,
    out: Path,
    form: str,
    json: bool,
) -> None:
    """Write what DiffSynth-Studio reads."""
    from worldgauge.terminal.output import print_json, print_text
    from worldgauge_train.training.adapt import write_diffsynth
    from worldgauge_train.training.clip import drawn_clips, read_clips

    made = _recipe(recipe or "target-lora", sets)
    found = read_clips(folders).clips
    if clips is not None:
        found = drawn_clips(found, clips, made.seed)
    written = write_diffsynth(found, out, made, form)
    if json:
        print_json(folder=str(out), trained=False, clips=written.clips, left_out=written.left_out)
        return
    for name, why in written.left_out.items():
        print_text(f"left out: {name}: {why}")
    print_text(f"{written.clips} clips of 121 frames in {out}\nnext: DATA={out} sh {out}/train.sh, in DiffSynth-Studio")


def _recipe(name: str, sets: list[str] | None) -> Adaptation:
    from worldgauge.terminal.options import settings_of
    from worldgauge_train.training.adapt import named_adaptation
    from worldgauge_train.training.recipe import changed

    return changed(named_adaptation(name), settings_of(sets), "--set")
