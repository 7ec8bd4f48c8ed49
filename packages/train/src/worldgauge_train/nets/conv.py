"""A convolutional network that draws the next step of a few past frames and the actions (after DIAMOND).

Alonso et al. 2024, "Diffusion for World Modeling: Visual Details Matter in Atari": past frames enter as channels, the
level and the actions modulate normalised features. Ours draws K frames at once and with a moving head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from worldgauge.core.errors import UsageError
from worldgauge_train.nets.architectures import ClipWindow, Noising, Recalled, Supervised, VideoNetwork, architectures
from worldgauge_train.nets.layers import HEADS, RoundConv, StepEmbedding
from worldgauge_train.nets.memory import memories

PIXELS = 3
"""Planes of frames whose values lie in -1 to 1."""


@dataclass(frozen=True)
class ConvShape:
    """Sizes as in `training.recipe.Recipe`, for actions of `columns` numbers and frames of `planes` planes."""

    columns: int
    frames: int = 4
    past: int = 8
    fetched: int = 0
    channels: tuple[int, ...] = (48, 96)
    blocks: int = 1
    planes: int = 3
    memory: str = "window"
    head: str = "moving"
    wraps: bool = False
    bearings: bool = False


@architectures.register("conv")
class ConvNet(VideoNetwork):
    """Guess the frames of a step from past ones."""

    def __init__(self, shape: ConvShape) -> None:
        super().__init__()
        self.shape = shape
        embedded = 4 * shape.channels[0]
        self.embedding = StepEmbedding(embedded, shape.columns, shape.frames, shape.fetched)
        first, *_ = shape.channels
        seen = 4 * shape.planes * (shape.frames + shape.past + shape.fetched)
        self.enter = RoundConv(seen + 2 * shape.bearings, first, shape.wraps)
        self.down, self.up, self.shrink, self.grow = (nn.ModuleList() for _ in range(4))
        before = first
        for level, channels in enumerate(shape.channels):
            self.shrink.append(RoundConv(before, channels, shape.wraps, stride=2 if level else 1))
            self.down.append(nn.ModuleList(_Block(channels, embedded, shape.wraps) for _ in range(shape.blocks)))
            before = channels
        for level in reversed(range(len(shape.channels))):
            channels = shape.channels[level]
            joined = before + channels
            self.grow.append(RoundConv(joined, channels, shape.wraps))
            self.up.append(nn.ModuleList(_Block(channels, embedded, shape.wraps) for _ in range(shape.blocks)))
            before = channels
        self.normal = nn.GroupNorm(8, first)
        self.head = HEADS[shape.head](first, shape.frames, 1 + shape.fetched, shape.planes, 2, shape.wraps)

    @classmethod
    def shape_from(cls, settings: Mapping[str, Any], *, columns: int, planes: int, size: tuple[int, int]) -> ConvShape:
        """Sizes from the keys of a recipe; see `VideoNetwork`."""
        memory = memories.get(settings["memory"])(settings["fetched"])
        if memory.mixer(8) is not None:
            raise UsageError(f"recipe: 'conv' has no blocks along time for the memory '{settings['memory']}'")
        if min(size) % 2:
            raise UsageError(f"recipe: 'conv' takes even sizes, not {size[0]}x{size[1]}")
        if settings["bearings"] and not settings["wraps"]:
            raise UsageError("recipe: bearings are those of panoramas: they go with wraps = true")
        return ConvShape(
            columns,
            settings["frames"],
            settings["past"],
            memory.frames,
            tuple(settings["channels"]),
            settings["blocks"],
            planes,
            settings["memory"],
            settings["head"],
            settings["wraps"],
            settings["bearings"],
        )

    @classmethod
    def shape_read(cls, values: Mapping[str, Any]) -> ConvShape:
        """Sizes from a checkpoint; see `VideoNetwork`."""
        return ConvShape(**{**values, "channels": tuple(values["channels"])})

    def supervised(self, window: ClipWindow, noising: Noising, own: float, generator: torch.Generator) -> Supervised:
        """Guess the first step of each window from its true past, or the second from a past that the network drew."""
        k, c = self.shape.frames, self.shape.past
        frames, rows = window.frames, window.rows
        past, wanted, told = frames[:, :c], frames[:, c : c + k], rows[:, c : c + k]
        recalled = None if window.fetched is None else _recalled(window, 0)
        drawing = torch.rand(len(frames), generator=generator) < own
        if bool(drawing.any()):
            asked = None if recalled is None else Recalled(*(one[drawing] for one in recalled))
            with torch.no_grad():
                pure, t = noising(wanted[drawing], generator, pure=True)
                drawn = self(pure, t, past[drawing], told[drawing], asked)
                drawn = drawn.clamp(-1, 1) if self.shape.planes == PIXELS else drawn
            past, wanted, told = past.clone(), wanted.clone(), told.clone()
            past[drawing] = torch.cat([past[drawing][:, k:], drawn], 1)
            wanted[drawing] = frames[drawing, c + k : c + 2 * k]
            told[drawing] = rows[drawing, c + k : c + 2 * k]
            if recalled is not None:
                recalled = Recalled(*(one.clone() for one in recalled))
                for mine, other in zip(recalled, _recalled(window, 1), strict=True):
                    mine[drawing] = other[drawing]
        noisy, t = noising(wanted, generator)
        return Supervised(self(noisy, t, past, told, recalled), wanted, t)

    def guesses(self, window: ClipWindow, noisy: Tensor, t: Tensor) -> Tensor:
        """Guess all steps; see `VideoNetwork`."""
        k, c, steps = self.shape.frames, self.shape.past, noisy.shape[1]
        starts = range(0, steps * k, k)
        past = torch.stack([window.frames[:, at : at + c] for at in starts], 1)
        rows = window.rows[:, c : c + steps * k].unflatten(1, (steps, k))
        recalled = None
        if window.fetched is not None and window.relative is not None:
            recalled = Recalled(window.fetched[:, :steps].flatten(0, 1), window.relative[:, :steps].flatten(0, 1))
        flat = (one.flatten(0, 1) for one in (noisy, t, past, rows))
        guess: Tensor = self(*flat, recalled)
        return guess.unflatten(0, (-1, steps))

    def begin(self, seen: Tensor, rows: Tensor) -> Tensor:
        """Keep the last frames; see `VideoNetwork`."""
        return seen[:, -self.shape.past :]

    def guess(self, kept: Tensor, noisy: Tensor, t: Tensor, rows: Tensor, recalled: Recalled | None = None) -> Tensor:
        """Guess the next step; see `VideoNetwork`."""
        guess: Tensor = self(noisy, t, kept, rows, recalled)
        return guess

    def take(self, kept: Tensor, drawn: Tensor, rows: Tensor, level: float = 0.0) -> Tensor:
        """Keep the last frames; see `VideoNetwork`."""
        return torch.cat([kept, drawn], 1)[:, -self.shape.past :]

    def forward(self, noisy: Tensor, t: Tensor, past: Tensor, rows: Tensor, recalled: Recalled | None = None) -> Tensor:
        """Guess steps (B, K, P, H, W) from noisy ones at t (B,), the past (B, C, P, H, W), newest last, and rows (B, K,
        columns)."""
        seen = [noisy, past] if recalled is None else [noisy, past, recalled.fetched]
        e = self.embedding(t, rows, None if recalled is None else recalled.relative)
        x = functional.pixel_unshuffle(torch.cat(seen, 1).flatten(1, 2), 2)
        x = self.enter(torch.cat([x, _bearings(x)], 1) if self.shape.bearings else x)
        kept = []
        for shrink, blocks in zip(self.shrink, self.down, strict=True):
            x = shrink(x)
            for block in blocks:
                x = self.through(block, x, e)
            kept.append(x)
        for grow, blocks in zip(self.grow, self.up, strict=True):
            beside = kept.pop()
            if x.shape[-2:] != beside.shape[-2:]:
                x = functional.interpolate(x, size=beside.shape[-2:], mode="nearest")
            x = grow(torch.cat([x, beside], 1))
            for block in blocks:
                x = self.through(block, x, e)
        newest = past[:, -1:]
        sources = newest if recalled is None else torch.cat([newest, recalled.fetched], 1)
        drawn: Tensor = self.head(functional.silu(self.normal(x)), sources)
        return drawn


def _bearings(x: Tensor) -> Tensor:
    """Sine and cosine (B, 2, H, W) of where the columns of panoramas (B, C, H, W) look; the middle looks ahead."""
    b, _, h, w = x.shape
    azimuth = (2 * (torch.arange(w, device=x.device, dtype=x.dtype) + 0.5) / w - 1) * torch.pi
    return torch.stack([azimuth.sin(), azimuth.cos()])[None, :, None].expand(b, 2, h, w)


def _recalled(window: ClipWindow, step: int) -> Recalled:
    assert window.fetched is not None
    assert window.relative is not None
    return Recalled(window.fetched[:, step], window.relative[:, step])


class _Block(nn.Module):
    """Two convolutions beside a shortcut; the step's embedding scales and shifts between them."""

    def __init__(self, channels: int, embedded: int, wraps: bool) -> None:
        super().__init__()
        self.first_normal, self.second_normal = nn.GroupNorm(8, channels), nn.GroupNorm(8, channels)
        self.first = RoundConv(channels, channels, wraps)
        self.second = RoundConv(channels, channels, wraps)
        self.modulation = nn.Linear(embedded, 2 * channels)
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, x: Tensor, e: Tensor) -> Tensor:
        scale, shift = self.modulation(functional.silu(e))[..., None, None].chunk(2, dim=1)
        y = self.first(functional.silu(self.first_normal(x)))
        y = self.second(functional.silu(self.second_normal(y) * (1 + scale) + shift))
        added: Tensor = x + y
        return added
