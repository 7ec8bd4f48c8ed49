"""Post-training: a checkpoint goes on learning from other clips, each frame of them once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from worldgauge.core.errors import DataError, UsageError
from worldgauge_train.training.cache import CachedClip
from worldgauge_train.training.recipe import Recipe, changed

RATE = 0.1
"""Learning rate, as a share of that of the first training."""
STAGES = ("regress", "teacher", "causal")
"""Stages that can go on with their own kind. A student is made again from its post-trained teacher."""


def base_recipe(config: Mapping[str, Any], where: str) -> Recipe:
    """Recipe of a checkpoint that is to be trained on, with a tenth of its learning rate."""
    told = config.get("recipe")
    if not isinstance(told, dict):
        raise DataError(f"{where}: no checkpoint of 'worldgauge train'")
    recipe = changed(Recipe(), told, where)
    if recipe.stage not in STAGES:
        raise UsageError(
            f"{where} is of the stage '{recipe.stage}'; post-train one of {', '.join(STAGES)}, and distil it again"
        )
    return changed(recipe, {"learning_rate": RATE * recipe.learning_rate}, where)


def one_epoch(recipe: Recipe, clips: Sequence[CachedClip]) -> Recipe:
    """Set the steps so that as many frames are learned as clips have, each drawn once on average."""
    frames = sum(max(0, len(clip) - recipe.past) for clip in clips if len(clip) >= recipe.length)
    steps = max(1, math.ceil(frames / (recipe.batch * recipe.drawn * recipe.frames)))
    return changed(recipe, {"steps": steps, "warm_up": min(recipe.warm_up, steps // 10)})
