"""A step is guessed at any level of noise, from a past that is clean."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from worldgauge_train.nets.architectures import Noised
from worldgauge_train.nets.levels import draw_levels, noised
from worldgauge_train.training.loop.stages import Stage, stages


@stages.register("causal")
class Causal(Stage):
    """The next step at any level of noise (flow matching), from true earlier ones."""

    after: ClassVar[tuple[str, ...]] = ("causal", "teacher")

    def noising(self, steps: Tensor, generator: torch.Generator, *, pure: bool = False) -> Noised:
        """Draw levels and noise; see `Stage`."""
        if pure:
            return Noised(torch.randn(steps.shape, generator=generator).to(steps), torch.ones(len(steps)).to(steps))
        t = draw_levels(len(steps), generator).to(steps)
        return Noised(noised(steps, torch.randn(steps.shape, generator=generator).to(steps), t), t)
