"""The checkpoint that a stage begins from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.io import read_json_object
from worldgauge.models.baselines.tiny import trained_scenes
from worldgauge_train.nets.architectures import VideoNetwork, architectures
from worldgauge_train.nets.checkpoint import load_tensors
from worldgauge_train.nets.drawing import CONFIG, FORMAT, WEIGHTS, checked_shape, open_drawing
from worldgauge_train.nets.shards import digest_of_weights
from worldgauge_train.training.clip import LICENCE, terms_told
from worldgauge_train.training.recipe import Recipe
from worldgauge_train.training.stages import Parent, TrainingStage, stages
from worldgauge_train.training.validation import COLUMNS

TEACHER = "teacher.safetensors"


def read_parent(recipe: Recipe, stage: type[TrainingStage], folder: Path | None) -> Parent | None:
    """Read the checkpoint that a stage begins from, if it may."""
    config = _config(recipe, stage, folder)
    if folder is None or config is None:
        return None
    place = Path(recipe.codec_folder).expanduser() if recipe.codec_folder else None
    drawing = open_drawing(folder, config, codec_folder=place)
    teacher = _teacher(folder, config) if config.get("teacher") else None
    return Parent(
        str(config["recipe"]["stage"]),
        drawing.net,
        drawing.codec,
        teacher,
        digest_of_weights(folder / WEIGHTS),
        config.get("lineage", []),
        trained_scenes(config),
        terms_told(config),
    )


def check_order(recipes: Sequence[Recipe], folder: Path | None) -> None:
    """Check that stages can begin from what is there, and each from the one before, before anything is read."""
    kinds = [stages.get(one.stage) for one in recipes]
    _config(recipes[0], kinds[0], folder)
    for (before, _), (one, kind) in pairwise(zip(recipes, kinds, strict=True)):
        _check_after(one, kind, before.stage, "the stage before is")


def licence_of(terms: Iterable[str], base: str | None) -> dict[str, Any]:
    """What a checkpoint tells of terms, as an entry of its config.json."""
    return {LICENCE: {"data": sorted({*terms}), "base": base}}


def made_by(device: str, precision: str, processes: int = 1) -> dict[str, Any]:
    """What a checkpoint tells of where and by what it was made, as entries of its config.json."""
    names = ("worldgauge", "torch", "numpy", "safetensors", *(("accelerate",) if processes > 1 else ()))
    found = {name: version(name) for name in names}
    return {"device": device, "precision": precision, "threads": torch.get_num_threads(), "versions": found}


def last_validation(rows: Sequence[Mapping[str, Any]], what: str) -> dict[str, Any] | None:
    """What a checkpoint tells of its last validation."""
    row = next((one for one in reversed(rows) if "mse_1s" in one), None)
    if row is None:
        return None
    return {"step": row["step"], "on": what, **{name: row[name] for name in COLUMNS if name in row}}


def check_precision(out: Path, before: Mapping[str, Any], precision: str) -> None:
    """Check that a training goes on in the precision that it began in."""
    if before.get("precision", precision) != precision:
        raise RunError(f"{out} holds a training in {before['precision']}, not {precision}; take another folder")


def _config(recipe: Recipe, stage: type[TrainingStage], folder: Path | None) -> dict[str, Any] | None:
    """What the checkpoint that a stage begins from says of itself, if it may begin from that."""
    if folder is None:
        if not stage.begins:
            named = " or ".join(stage.after)
            raise UsageError(f"the stage '{recipe.stage}' begins from a checkpoint of {named}: add --from FOLDER")
        return None
    config = read_json_object(folder / CONFIG)
    if config.get("format") != FORMAT or "network" not in config or not isinstance(config.get("recipe"), dict):
        raise DataError(f"{folder / CONFIG}: no finished checkpoint of 'worldgauge train' ({FORMAT})")
    _check_after(recipe, stage, str(config["recipe"].get("stage")), f"{folder} is")
    told = config.get("codec", {})
    codec = told.get("name", "pixels") if isinstance(told, dict) else None
    if codec != recipe.codec:
        raise UsageError(f"{folder} uses the latents of '{codec}', and the recipe those of '{recipe.codec}'")
    return config


def _check_after(recipe: Recipe, stage: type[TrainingStage], before: str, what: str) -> None:
    if before not in stage.after:
        named = " or ".join(stage.after)
        raise UsageError(f"the stage '{recipe.stage}' begins from a checkpoint of {named}; {what} one of {before}")


def _teacher(folder: Path, config: dict[str, object]) -> VideoNetwork:
    try:
        kind = architectures.get(str(config["architecture"]))
        with torch.device("meta"):
            net: VideoNetwork = kind(checked_shape(kind.shape_read(config["teacher"])))  # type: ignore[arg-type]
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{folder / CONFIG}: teacher: {error!r}") from None
    found = load_tensors(folder / TEACHER, net.state_dict())
    net = net.to_empty(device="cpu")
    net.load_state_dict(found)
    return net
