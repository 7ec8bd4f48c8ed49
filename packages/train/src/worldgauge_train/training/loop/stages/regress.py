"""A step is guessed at once."""

from __future__ import annotations

import torch
from torch import Tensor

from worldgauge_train.nets.architectures import Noised
from worldgauge_train.training.loop.stages import Stage, stages


@stages.register("regress")
class Regress(Stage):
    """The next step at once, from no noise: an honest, blurred baseline."""

    after = ("regress",)
    at_once = True

    def noising(self, steps: Tensor, generator: torch.Generator, *, pure: bool = False) -> Noised:
        """No noise, and the highest level; see `Stage`."""
        return Noised(torch.zeros_like(steps), torch.ones(len(steps)).to(steps))
