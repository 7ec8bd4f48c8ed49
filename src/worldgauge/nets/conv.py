"""A convolutional network that draws the next step of a few past frames and the actions (after DIAMOND).

Alonso et al. 2024, "Diffusion for World Modeling: Visual Details Matter in Atari": past frames enter as channels, the
level and the actions modulate normalised features. Ours draws K frames at once and with a moving head.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from worldgauge.nets.conditioning import StepEmbedding
from worldgauge.nets.moving_head import MovingHead


@dataclass(frozen=True)
class ConvShape:
    """Sizes of a convolutional network.

    Attributes:
        frames: Frames a step, K.
        past: Past frames that it sees, C.
        fetched: Frames fetched from memory, M.
        columns: Numbers that describe the action of one frame.
        channels: Channels of each level; each has half the size of the one before.
        blocks: Blocks a level.
    """

    columns: int
    frames: int = 4
    past: int = 8
    fetched: int = 0
    channels: tuple[int, ...] = (48, 96)
    blocks: int = 1


class ConvNet(nn.Module):
    """Guess the frames of a step from past ones.

    Args:
        shape: Its sizes.
    """

    def __init__(self, shape: ConvShape) -> None:
        super().__init__()
        self.shape = shape
        embedded = 4 * shape.channels[0]
        self.embedding = StepEmbedding(embedded, shape.columns, shape.frames)
        first, *_ = shape.channels
        self.enter = nn.Conv2d(12 * (shape.frames + shape.past + shape.fetched), first, 3, padding=1)
        self.down, self.up, self.shrink, self.grow = (nn.ModuleList() for _ in range(4))
        before = first
        for level, channels in enumerate(shape.channels):
            self.shrink.append(nn.Conv2d(before, channels, 3, stride=2 if level else 1, padding=1))
            self.down.append(nn.ModuleList(_Block(channels, embedded) for _ in range(shape.blocks)))
            before = channels
        for level in reversed(range(len(shape.channels))):
            channels = shape.channels[level]
            joined = before + channels
            self.grow.append(nn.Conv2d(joined, channels, 3, padding=1))
            self.up.append(nn.ModuleList(_Block(channels, embedded) for _ in range(shape.blocks)))
            before = channels
        self.normal = nn.GroupNorm(8, first)
        self.head = MovingHead(first, shape.frames, 1 + shape.fetched)

    def forward(self, noisy: Tensor, t: Tensor, past: Tensor, rows: Tensor, fetched: Tensor | None = None) -> Tensor:
        """Guess steps.

        Args:
            noisy: (B, K, 3, H, W) the step at its level.
            t: Levels (B,).
            past: (B, C, 3, H, W), the newest last.
            rows: (B, K, columns) actions that lead to the frames of the step.
            fetched: (B, M, 3, H, W) frames from memory. None where the network takes none.

        Returns:
            (B, K, 3, H, W).
        """
        seen = [noisy, past] if fetched is None else [noisy, past, fetched]
        e = self.embedding(t, rows)
        x = self.enter(functional.pixel_unshuffle(torch.cat(seen, 1).flatten(1, 2), 2))
        kept = []
        for shrink, blocks in zip(self.shrink, self.down, strict=True):
            x = shrink(x)
            for block in blocks:
                x = block(x, e)
            kept.append(x)
        for grow, blocks in zip(self.grow, self.up, strict=True):
            beside = kept.pop()
            if x.shape[-2:] != beside.shape[-2:]:
                x = functional.interpolate(x, size=beside.shape[-2:], mode="nearest")
            x = grow(torch.cat([x, beside], 1))
            for block in blocks:
                x = block(x, e)
        newest = past[:, -1:]
        sources = newest if fetched is None else torch.cat([newest, fetched], 1)
        drawn: Tensor = self.head(functional.silu(self.normal(x)), sources)
        return drawn


class _Block(nn.Module):
    """Two convolutions beside a shortcut; the step's embedding scales and shifts between them."""

    def __init__(self, channels: int, embedded: int) -> None:
        super().__init__()
        self.first_normal, self.second_normal = nn.GroupNorm(8, channels), nn.GroupNorm(8, channels)
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.modulation = nn.Linear(embedded, 2 * channels)
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, x: Tensor, e: Tensor) -> Tensor:
        scale, shift = self.modulation(functional.silu(e))[..., None, None].chunk(2, dim=1)
        y = self.first(functional.silu(self.first_normal(x)))
        y = self.second(functional.silu(self.second_normal(y) * (1 + scale) + shift))
        added: Tensor = x + y
        return added
