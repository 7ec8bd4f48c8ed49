"""What a network is told of a step besides frames: its level of noise, and the actions that lead to its frames."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from worldgauge_train.nets.reckoning import POSE


class StepEmbedding(nn.Module):
    """Embed a step: e = MLP(sines of its level) + A(its actions), A's last layer zero at first.

    Actions are added to the level's embedding, as in MIND-World; equal in quality to modulation of their own and for
    fewer weights.

    Args:
        width: Size of e.
        columns: Numbers that describe the action of one frame.
        frames: Frames a step.
        fetched: Frames fetched from memory, M; their poses are told too.
    """

    def __init__(self, width: int, columns: int, frames: int, fetched: int = 0) -> None:
        super().__init__()
        self.level = nn.Sequential(nn.Linear(_SINES, width), nn.SiLU(), nn.Linear(width, width))
        self.actions = nn.Sequential(nn.Linear(columns * frames, width), nn.SiLU(), nn.Linear(width, width))
        last = self.actions[-1]
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.fetched = nn.Linear(POSE * fetched, width) if fetched else None

    def forward(self, t: Tensor, rows: Tensor, relative: Tensor | None = None) -> Tensor:
        """Embed steps.

        Args:
            t: Levels (...,).
            rows: (..., K, columns) actions that lead to the frames of each step.
            relative: (..., M, 5) poses of fetched frames. None for steps that nothing is fetched for.

        Returns:
            (..., width).
        """
        embedded: Tensor = self.level(_sines(t)) + self.actions(rows.flatten(-2))
        if self.fetched is not None and relative is not None:
            embedded = embedded + self.fetched(relative.flatten(-2))
        return embedded


_SINES = 256


def _sines(t: Tensor) -> Tensor:
    """Sines and cosines of 1000 t at periods from 1 to 10,000 (Vaswani et al. 2017, section 3.5)."""
    half = _SINES // 2
    rates = torch.exp(-math.log(10_000.0) * torch.arange(half, device=t.device) / half)
    angles = 1000.0 * t[..., None] * rates
    return torch.cat([angles.cos(), angles.sin()], dim=-1)
