"""Stages: what a step of training asks of the network, and the loss of its answer."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from worldgauge.nets.conv import ConvNet
from worldgauge.nets.levels import draw_levels, level_loss, noised
from worldgauge.training.recipe import Recipe


class Windowed(NamedTuple):
    """A batch as the network takes it.

    Attributes:
        frames: (B, C + 2 K, 3, H, W), -1 to 1.
        rows: (B, C + 2 K, columns).
    """

    frames: Tensor
    rows: Tensor


def losses_of(net: ConvNet, batch: Windowed, recipe: Recipe, generator: torch.Generator) -> Tensor:
    """Loss of each window: of its first step from its true past, or of the second from a past that the network drew.

    Args:
        net: The network.
        batch: Windows.
        recipe: What is trained, and how.
        generator: Source of chance, on the CPU.

    Returns:
        (B,) losses.
    """
    k, c = recipe.frames, recipe.past
    frames, rows = batch
    past, wanted, told = frames[:, :c], frames[:, c : c + k], rows[:, c : c + k]
    own = torch.rand(len(frames), generator=generator) < recipe.own
    if bool(own.any()):
        with torch.no_grad():
            drawn = answered(net, past[own], told[own], recipe, generator)
        past, wanted, told = past.clone(), wanted.clone(), told.clone()
        past[own] = torch.cat([past[own][:, k:], drawn], 1)
        wanted[own] = frames[own, c + k : c + 2 * k]
        told[own] = rows[own, c + k : c + 2 * k]
    if recipe.stage == "regress":
        guess = net(torch.zeros_like(wanted), torch.ones(len(wanted)), past, told)
        return level_loss(guess, wanted, torch.ones(len(wanted)))
    t = draw_levels(len(wanted), generator)
    noise = torch.randn(wanted.shape, generator=generator)
    return level_loss(net(noised(wanted, noise, t), t, past, told), wanted, t)


def answered(net: ConvNet, past: Tensor, rows: Tensor, recipe: Recipe, generator: torch.Generator) -> Tensor:
    """Draw a step in one go.

    Args:
        net: The network.
        past: (B, C, 3, H, W).
        rows: (B, K, columns).
        recipe: What is trained, and how.
        generator: Source of the noise.

    Returns:
        (B, K, 3, H, W).
    """
    shape = (len(past), recipe.frames, *past.shape[2:])
    noise = torch.zeros(shape) if recipe.stage == "regress" else torch.randn(shape, generator=generator)
    drawn: Tensor = net(noise, torch.ones(len(past)), past, rows)
    return drawn.clamp(-1, 1)
