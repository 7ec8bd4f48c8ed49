"""Levels of noise, the loss at each, and the sampler that goes back down.

A frame at level t is x_t = (1 - t) x0 + t n with normal noise n: flow matching along straight lines (Lipman et al.
2023, "Flow Matching for Generative Modeling"; Liu et al. 2023, "Flow Straight and Fast"). Networks give x0; the
velocity that diffusers' schedulers want is (x_t - x0) / t. Levels are shifted towards noise, t' = s t / (1 + (s - 1) t)
(Esser et al. 2024, "Scaling Rectified Flow Transformers", section 5.3.2).
"""

from __future__ import annotations

import torch
from torch import Tensor

SHIFT = 5.0
PURE_NOISE = 0.25
"""Share of samples at t = 1, where nothing but the past and the actions tell what comes."""
LEAST_WEIGHTED = 0.6
"""Below this level the loss weighs no more: with 0.2 here, control was learned ten times later."""


def shifted(t: Tensor, shift: float = SHIFT) -> Tensor:
    """Shift levels towards noise.

    Args:
        t: Levels, 0 to 1.
        shift: s; 1 leaves them.
    """
    return shift * t / (1 + (shift - 1) * t)


def draw_levels(
    count: int, generator: torch.Generator, *, shift: float = SHIFT, pure_noise: float = PURE_NOISE
) -> Tensor:
    """Draw levels for training.

    Args:
        count: How many.
        generator: Source of chance, on the CPU.
        shift: Shift of the uniform levels.
        pure_noise: Share of levels that are 1.

    Returns:
        (count,) float32, above 0, at most 1.
    """
    t = shifted(1 - torch.rand(count, generator=generator), shift)
    return torch.where(torch.rand(count, generator=generator) < pure_noise, torch.ones_like(t), t)


def noised(x0: Tensor, noise: Tensor, t: Tensor) -> Tensor:
    """Bring frames to levels.

    Args:
        x0: Frames (B, ...).
        noise: Normal noise of that shape.
        t: Levels (B,).
    """
    level = t.reshape(-1, *[1] * (x0.ndim - 1))
    return (1 - level) * x0 + level * noise


def level_loss(guess: Tensor, x0: Tensor, t: Tensor, *, least: float = LEAST_WEIGHTED) -> Tensor:
    """Squared error of a guess of x0, weighted as that of the velocity, but no more than at level `least`.

    Args:
        guess: Frames (B, ...) that the network gives.
        x0: The true ones.
        t: Levels (B,).
        least: Level below which the weight no longer grows.

    Returns:
        (B,) losses.
    """
    errors = (guess - x0).square().flatten(1).mean(1)
    return errors / t.clamp(min=least).square()


def sampling_levels(steps: int, *, shift: float = SHIFT) -> list[float]:
    """Levels from 1 down to 0.

    Args:
        steps: Denoising steps.
        shift: Shift of the even ones.

    Returns:
        steps + 1 levels.
    """
    return [float(shifted(torch.tensor(1 - k / steps), shift)) for k in range(steps + 1)]


def descended(x: Tensor, guess: Tensor, t: float, following: float) -> Tensor:
    """Go from one level down to the next along the straight line to the guess (Euler's step).

    Args:
        x: Frames at level t.
        guess: What the network takes for x0.
        t: Level, above 0.
        following: The next level.
    """
    return guess + (x - guess) * (following / t)
