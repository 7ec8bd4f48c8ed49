"""How drawn steps look beside the true ones, in three numbers: contrast, detail, and the error of the first."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

SIGMA = 1.5
"""Pixels; what is finer is detail."""


class Looks(NamedTuple):
    """Looks of drawn steps.

    Attributes:
        energy: Mean size of differences between neighbours in a row.
        detail: Correlation of what is finer than a Gaussian of 1.5 pixels with the truth's.
        error: Mean squared error of the first step.
    """

    energy: float
    detail: float
    error: float


def looks_of(drawn: Tensor, truth: Tensor) -> Looks:
    """Compare drawn steps with the true ones.

    Args:
        drawn: (B, S, K, P, H, W).
        truth: The same of the recording.
    """
    energy = float(drawn.diff(dim=-1).abs().mean())
    fine, true = (_fine(one.flatten(0, 2)).flatten(1) for one in (drawn, truth))
    both = (fine * true).sum(1)
    norms = fine.norm(dim=1) * true.norm(dim=1)
    return Looks(energy, float((both / norms.clamp(min=1e-9)).mean()), float((drawn - truth)[:, 0].square().mean()))


def _fine(frames: Tensor) -> Tensor:
    """Frames (N, P, H, W) less the same under a Gaussian."""
    reach = int(3 * SIGMA + 0.5)
    weights = torch.exp(-0.5 * (torch.arange(-reach, reach + 1).to(frames) / SIGMA) ** 2)
    weights = weights / weights.sum()
    planes = frames.shape[1]
    across, down = (weights.reshape(1, 1, *shape).expand(planes, 1, *shape) for shape in ((1, -1), (-1, 1)))
    padded = functional.pad(frames, (reach,) * 4, mode="replicate")
    return frames - functional.conv2d(functional.conv2d(padded, across, groups=planes), down, groups=planes)
