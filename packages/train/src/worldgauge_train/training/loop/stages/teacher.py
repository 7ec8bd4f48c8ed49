"""All steps after the past at once, each seeing the others: MIND-World's first stage."""

from __future__ import annotations

from typing import Any

from worldgauge_train.training.loop.stages import stages
from worldgauge_train.training.loop.stages.causal import Causal
from worldgauge_train.training.recipe import Recipe


@stages.register("teacher")
class Teacher(Causal):
    """A network that looks both ways, at one level of noise for all steps; the past is clean."""

    after = ("teacher",)

    @classmethod
    def settings(cls, recipe: Recipe) -> dict[str, Any]:
        """All steps of a window together; see `Stage`."""
        return {**super().settings(recipe), "together": recipe.drawn}
