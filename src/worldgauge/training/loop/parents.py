"""The checkpoint that a stage begins from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import read_json_object
from worldgauge.nets.architectures import Network, architectures
from worldgauge.nets.checkpoint import load_tensors
from worldgauge.nets.drawing import CONFIG, FORMAT, WEIGHTS, checked_shape, open_drawing
from worldgauge.nets.scenes import trained_scenes
from worldgauge.nets.shards import digest_of_weights
from worldgauge.training.loop.stages import Parent, Stage, stages
from worldgauge.training.recipe import Recipe
from worldgauge.training.terms import UNKNOWN

_LICENCE = "licence"
TEACHER = "teacher.safetensors"


def read_parent(recipe: Recipe, stage: type[Stage], folder: Path | None) -> Parent | None:
    """Read the checkpoint that a stage begins from, if it may.

    Args:
        recipe: What is trained.
        stage: Its stage.
        folder: Folder of the checkpoint. None for none.

    Raises:
        UsageError: The stage needs one, or one of another stage or codec.
        DataError: The folder holds no checkpoint, or a damaged one.
    """
    named = " or ".join(stage.after)
    if folder is None:
        if not stage.begins:
            raise UsageError(f"the stage '{recipe.stage}' begins from a checkpoint of {named}: add --from FOLDER")
        return None
    config = read_json_object(folder / CONFIG)
    if config.get("format") != FORMAT or "network" not in config or not isinstance(config.get("recipe"), dict):
        raise DataError(f"{folder / CONFIG}: no finished checkpoint of 'worldgauge train' ({FORMAT})")
    made = str(config["recipe"].get("stage"))
    if made not in stage.after:
        raise UsageError(f"the stage '{recipe.stage}' begins from a checkpoint of {named}; {folder} is one of {made}")
    codec = dict(config.get("codec", {})).get("name", "pixels")
    if codec != recipe.codec:
        raise UsageError(f"{folder} draws in the planes of '{codec}', and the recipe in those of '{recipe.codec}'")
    place = Path(recipe.codec_folder).expanduser() if recipe.codec_folder else None
    drawing = open_drawing(folder, config, codec_folder=place)
    teacher = _teacher(folder, config) if config.get("teacher") else None
    return Parent(
        made,
        drawing.net,
        drawing.codec,
        teacher,
        digest_of_weights(folder / WEIGHTS),
        config.get("lineage", []),
        trained_scenes(config),
        terms_told(config),
    )


def check_order(recipes: Sequence[Recipe], folder: Path | None) -> None:
    """Check that stages can begin from what is there, and each from the one before, before anything is read or trained.

    Args:
        recipes: A recipe for each stage.
        folder: Folder of the checkpoint that the first begins from. None for none.

    Raises:
        UsageError: One cannot.
        UnknownNameError: A stage is not known.
        DataError: The folder holds no checkpoint, or a damaged one.
    """
    kinds = [stages.get(one.stage) for one in recipes]
    read_parent(recipes[0], kinds[0], folder)
    for before, kind, one in zip(recipes, kinds[1:], recipes[1:], strict=False):
        if before.stage not in kind.after:
            named = " or ".join(kind.after)
            raise UsageError(f"the stage '{one.stage}' begins from a checkpoint of {named}, not of {before.stage}")


def terms_told(config: Mapping[str, Any]) -> list[str]:
    """Under whose terms the pictures are that a checkpoint was trained on; older ones do not tell.

    Args:
        config: Content of its config.json.
    """
    told = config.get(_LICENCE)
    data = told.get("data") if isinstance(told, dict) else None
    return [str(one) for one in data] if isinstance(data, list) else [UNKNOWN]


def licence_of(terms: Iterable[str], base: str | None) -> dict[str, Any]:
    """What a checkpoint tells of terms, as an entry of its config.json.

    Args:
        terms: Those of all pictures.
        base: Those of the brought weights that it began from. None where it began from none.
    """
    return {_LICENCE: {"data": sorted({*terms}), "base": base}}


def _teacher(folder: Path, config: dict[str, object]) -> Network:
    try:
        kind = architectures.get(str(config["architecture"]))
        with torch.device("meta"):
            net: Network = kind(checked_shape(kind.shape_read(config["teacher"])))  # type: ignore[arg-type]
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{folder / CONFIG}: teacher: {error!r}") from None
    found = load_tensors(folder / TEACHER, net.state_dict())
    net = net.to_empty(device="cpu")
    net.load_state_dict(found)
    return net
