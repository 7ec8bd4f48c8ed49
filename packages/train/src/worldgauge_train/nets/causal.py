"""A transformer over steps: what is drawn depends on earlier steps alone, and finished steps are kept in a cache.

As MIND-World's student, small: each place attends along time, and all places of a step to each other; the level and the
actions of a step modulate its tokens (Peebles and Xie 2023, "Scalable Diffusion Models with Transformers"). In training
one pass holds the true steps and all steps to guess (teacher forcing). With `together` it looks both ways and draws all
steps at once: the teacher of MIND-World's first stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from worldgauge.core.errors import UsageError
from worldgauge_train.nets.architectures import (
    ClipWindow,
    Noising,
    Recalled,
    Supervised,
    VideoNetwork,
    architectures,
    noised,
)
from worldgauge_train.nets.layers import HEADS, RAY, StepEmbedding, attended, both_ways, forced, placed, rays, rotated
from worldgauge_train.nets.memory import memories
from worldgauge_train.nets.reckoning import POSE

CLEAN_NOISE = 0.15
"""Largest level of the steps that are seen, in training; the network is told."""


@dataclass(frozen=True)
class CausalShape:
    """Sizes of a transformer over steps; other fields as in `training.recipe.Recipe`.

    Attributes:
        columns: Numbers that describe the action of one frame.
        grid: (rows, columns) of tokens.
        past: Frames that are needed to begin, C, a multiple of K.
        planes: Planes of a frame, P.
        together: Steps generated at once, attending both ways. 0: one by one, attending back.
    """

    columns: int
    grid: tuple[int, int]
    frames: int = 4
    past: int = 4
    planes: int = 3
    patch: int = 4
    width: int = 128
    depth: int = 4
    heads: int = 4
    window: int = 8
    memory: str = "window"
    fetched: int = 0
    head: str = "moving"
    together: int = 0
    ratio: int = 3
    modulation: str = "block"
    poses: str = "numbers"


class _Layer(NamedTuple):
    """What a block keeps of finished steps: keys and values (B N, heads, steps, d), and the state of its memory."""

    k: Tensor
    v: Tensor
    state: Tensor | None


class Kept(NamedTuple):
    """What the transformer retains of finished steps.

    Attributes:
        steps: Number of finished steps.
        newest: (B, N, D) patches of the last step.
        last: (B, 1, P, H, W) its last frame.
        past: (B, C, P, H, W) and their rows, for networks that generate steps together.
    """

    steps: int
    layers: tuple[_Layer | None, ...]
    newest: Tensor
    last: Tensor
    past: tuple[Tensor, Tensor]


@architectures.register("causal")
class CausalNet(VideoNetwork):
    """Guess steps from earlier ones."""

    def __init__(self, shape: CausalShape) -> None:
        super().__init__()
        self.shape = shape
        self.at_once, self.sees_beyond = max(1, shape.together), not shape.together
        patches = shape.frames * shape.planes * shape.patch**2
        self.embedding = StepEmbedding(shape.width, shape.columns, shape.frames, shape.fetched)
        self.enter = nn.Linear(2 * patches, shape.width)
        self.places = nn.Parameter(0.02 * torch.randn(shape.grid[0] * shape.grid[1], shape.width))
        if shape.fetched:
            self.fetch = nn.Linear(shape.planes * shape.patch**2, shape.width)
            self.where = nn.Linear(RAY if shape.poses == "rays" else POSE, shape.width)
        self.told = _zeroed(nn.Linear(shape.width, 9 * shape.width)) if shape.modulation == "shared" else None
        self.blocks = nn.ModuleList(_Block(shape) for _ in range(shape.depth))
        self.modulation = _zeroed(nn.Linear(shape.width, 2 * shape.width))
        self.head = HEADS[shape.head](shape.width, shape.frames, 1 + shape.fetched, shape.planes, shape.patch)

    @classmethod
    def shape_from(cls, settings: Mapping[str, Any], *, columns: int, planes: int, size: tuple[int, int]) -> Any:
        """Sizes from the keys of a recipe; see `VideoNetwork`."""
        patch, k, past = settings["patch"], settings["frames"], settings["past"]
        width, heads = settings["width"], settings["heads"]
        near = "x".join(str(patch * max(1, round(side / patch))) for side in size)
        fits = not (size[0] % patch or size[1] % patch)
        for fine, told in (
            (fits, f"size {size[0]}x{size[1]} is no multiple of patch = {patch}; the nearest is {near}"),
            (past % k == 0, f"past = {past} is no multiple of frames = {k}"),
            (width % (2 * heads) == 0, f"width = {width} is no multiple of 2 heads = {2 * heads}"),
        ):
            if not fine:
                raise UsageError(f"recipe: {told}")
        if settings["together"] and settings["memory"] != "window":
            raise UsageError(f"recipe: a bidirectional network takes no memory such as '{settings['memory']}'")
        memory = memories.get(settings["memory"])(settings["fetched"])
        return CausalShape(
            columns,
            (size[1] // patch, size[0] // patch),
            k,
            past,
            planes,
            patch,
            width,
            settings["depth"],
            heads,
            settings["window"],
            settings["memory"],
            memory.frames,
            settings["head"],
            settings["together"],
            settings["ratio"],
            settings["modulation"],
            settings["poses"],
        )

    @classmethod
    def shape_read(cls, values: Mapping[str, Any]) -> CausalShape:
        """Sizes from a checkpoint; see `VideoNetwork`."""
        return CausalShape(**{**values, "grid": tuple(values["grid"])})

    @property
    def pieces(self) -> list[nn.Module]:
        """The blocks; see `VideoNetwork`."""
        return list(self.blocks)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the blocks, in place; what is around them is little work."""
        for block in self.blocks:
            block.compile(*args, **kwargs)

    def supervised(self, window: ClipWindow, noising: Noising, own: float, generator: torch.Generator) -> Supervised:
        """Guess all steps after the past in one pass (teacher forcing); what is seen has a little noise."""
        steps = self._steps(window.frames)
        lead = self.shape.past // self.shape.frames
        wanted = steps[:, lead:]
        if self.shape.together:
            noisy, t = noising(wanted, generator)
            guess = self.guesses(window, noisy, t[:, None].expand(-1, wanted.shape[1]))
            return Supervised(guess, wanted, t)
        b, s = wanted.shape[:2]
        noisy, t = noising(wanted.flatten(0, 1), generator)
        noisy, levels = noisy.unflatten(0, (b, s)), t.unflatten(0, (b, s))
        tau = CLEAN_NOISE * torch.rand(b, steps.shape[1], generator=generator).to(steps)
        added = torch.randn(steps.shape, generator=generator).to(steps)
        guess = self.guesses(
            window, noisy, levels, noised(steps.flatten(0, 1), added.flatten(0, 1), tau.flatten()), tau
        )
        return Supervised(guess.flatten(0, 1), wanted.flatten(0, 1), t)

    def guesses(
        self, window: ClipWindow, noisy: Tensor, t: Tensor, seen: Tensor | None = None, tau: Tensor | None = None
    ) -> Tensor:
        """Guess all steps; see `VideoNetwork`. `seen` (B T, K, P, H, W): all steps with a little noise, of levels `tau`
        (B, T)."""
        steps, rows = self._steps(window.frames), window.rows.unflatten(1, (-1, self.shape.frames))
        total, drawn = steps.shape[1], noisy.shape[1]
        lead = self.shape.past // self.shape.frames
        total = min(total, lead + drawn)
        clean = self._patches(steps if seen is None else seen.unflatten(0, steps.shape[:2]))
        tau = torch.zeros(clean.shape[:2]).to(clean) if tau is None else tau
        recalled, beside = window.relative, None
        if window.fetched is not None and recalled is not None:
            recalled = recalled[:, :drawn]
            beside = self._beside(window.fetched[:, :drawn], recalled)
        # What is seen: each step beside the one before it; and what is drawn, beside the last seen before it.
        shown = lead if self.shape.together else total - 1
        before = torch.cat([torch.zeros_like(clean[:, :1]), clean[:, : shown - 1]], 1)
        newest = clean[:, lead - 1 : lead].expand(-1, drawn, -1, -1)
        newest = newest if self.shape.together else clean[:, lead - 1 : total - 1]
        tokens = torch.cat([clean[:, :shown], self._patches(noisy)], 1)
        x = self.enter(torch.cat([tokens, torch.cat([before, newest], 1)], -1)) + self.places
        e_seen = self.embedding(tau[:, :shown], rows[:, :shown])
        e = torch.cat([e_seen, self.embedding(t, rows[:, lead:total], recalled)], 1)
        at = torch.cat([torch.arange(shown), torch.arange(lead, total)]).to(x.device)
        seen_by = both_ways(lead, total) if self.shape.together else forced(total, lead, self.shape.window)
        mask, told = placed(seen_by, x.device), self._told(e)
        for block in self.blocks:
            x, _ = self.through(block, x, told, at, mask, shown, lead, None, beside)
        last = steps[:, lead - 1 : lead, -1:].expand(-1, drawn, -1, -1, -1, -1)
        last = last if self.shape.together else steps[:, lead - 1 : total - 1, -1:]
        sources = last if window.fetched is None else torch.cat([last, window.fetched[:, :drawn]], 2)
        return self._drawn(x[:, shown:], e[:, shown:], sources)

    def begin(self, seen: Tensor, rows: Tensor) -> Kept:
        """Take in what was seen, step by step; see `VideoNetwork`."""
        k, c = self.shape.frames, self.shape.past
        kept = Kept(0, (None,) * len(self.blocks), self._patches(seen[:, :k]).new_zeros(0), seen[:, :1], (seen, rows))
        if self.shape.together:
            return kept._replace(past=(seen[:, -c:], rows[:, -c:]))
        for first in range(0, seen.shape[1], k):
            kept = self.take(kept, seen[:, first : first + k], rows[:, first : first + k])
        return kept

    def guess(self, kept: Kept, noisy: Tensor, t: Tensor, rows: Tensor, recalled: Recalled | None = None) -> Tensor:
        """Guess the next step from the cache; see `VideoNetwork`."""
        if self.shape.together:
            frames = torch.cat([kept.past[0], noisy], 1)
            drawn = self._steps(noisy)
            whole = ClipWindow(frames, torch.cat([kept.past[1], rows], 1))
            return self.guesses(whole, drawn, t[:, None].expand(-1, drawn.shape[1])).flatten(1, 2)
        e = self.embedding(t, rows, None if recalled is None else recalled.relative)[:, None]
        x = self.enter(torch.cat([self._patches(noisy), kept.newest], -1))[:, None] + self.places
        beside = None if recalled is None else self._beside(*(one[:, None] for one in recalled))
        at, told = torch.tensor([kept.steps], device=x.device), self._told(e)
        for block, layer in zip(self.blocks, kept.layers, strict=True):
            x, _ = block(x, told, at, None, 0, 0, layer, beside)
        sources = kept.last if recalled is None else torch.cat([kept.last, recalled.fetched], 1)
        return self._drawn(x, e, sources[:, None])[:, 0]

    def take(self, kept: Kept, drawn: Tensor, rows: Tensor, level: float = 0.0) -> Kept:
        """Write a finished step into the cache; see `VideoNetwork`."""
        if self.shape.together:
            c, (frames, told) = self.shape.past, kept.past
            return kept._replace(past=(torch.cat([frames, drawn], 1)[:, -c:], torch.cat([told, rows], 1)[:, -c:]))
        tokens = self._patches(drawn)
        before = kept.newest if kept.steps else torch.zeros_like(tokens)
        e = self.embedding(torch.full((len(drawn),), level).to(tokens), rows)[:, None]
        x = self.enter(torch.cat([tokens, before], -1))[:, None] + self.places
        at, told = torch.tensor([kept.steps], device=x.device), self._told(e)
        layers = []
        for block, layer in zip(self.blocks, kept.layers, strict=True):
            x, layer = block(x, told, at, None, 1, 0, layer)
            most = self.shape.window - 1
            first = max(0, layer.k.shape[2] - most)
            layers.append(_Layer(layer.k[:, :, first:], layer.v[:, :, first:], layer.state))
        return Kept(kept.steps + 1, tuple(layers), tokens, drawn[:, -1:], kept.past)

    def _steps(self, frames: Tensor) -> Tensor:
        return frames.unflatten(1, (-1, self.shape.frames))

    def _patches(self, steps: Tensor) -> Tensor:
        """(..., K, P, H, W) to (..., N, K P patch^2)."""
        flat = steps.flatten(-4, -3)
        cut = functional.pixel_unshuffle(flat.reshape(-1, *flat.shape[-3:]), self.shape.patch)
        return cut.flatten(2).transpose(1, 2).unflatten(0, steps.shape[:-4])

    def _beside(self, fetched: Tensor, relative: Tensor) -> Tensor:
        """Tokens of fetched frames (B, S, M, P, H, W) with their poses (B, S, M, 5): (B, S, M N, d)."""
        taken = rays(relative, self.shape.grid) if self.shape.poses == "rays" else relative[..., None, :]
        tokens = self.fetch(self._patches(fetched[..., None, :, :, :])) + self.places + self.where(taken)
        return tokens.flatten(2, 3)

    def _told(self, e: Tensor) -> Tensor:
        """What blocks are told of steps (B, T, d), or where they share a layer, what it makes of that (B, T, 9 d)."""
        return e if self.told is None else self.told(functional.silu(e))

    def _drawn(self, x: Tensor, e: Tensor, sources: Tensor) -> Tensor:
        """Tokens (B, S, N, d), embeddings (B, S, d) and sources (B, S, 1 + M, P, H, W) to steps."""
        scale, shift = self.modulation(functional.silu(e))[:, :, None].chunk(2, -1)
        x = functional.layer_norm(x, x.shape[-1:]) * (1 + scale) + shift
        features = x.flatten(0, 1).transpose(1, 2).unflatten(2, self.shape.grid)
        drawn: Tensor = self.head(features, sources.flatten(0, 1)).unflatten(0, x.shape[:2])
        return drawn


class _Block(nn.Module):
    """Attention inside a step, attention along time, a memory's state, and a layer that looks at neighbours."""

    def __init__(self, shape: CausalShape) -> None:
        super().__init__()
        d = shape.width
        inner = shape.ratio * d
        self.heads, self.grid = shape.heads, shape.grid
        self.modulation = _Table(9 * d) if shape.modulation == "shared" else _Modulation(d, 9 * d)
        self.inside, self.along = nn.Linear(d, 3 * d), nn.Linear(d, 3 * d)
        self.from_inside, self.from_along = nn.Linear(d, d), nn.Linear(d, d)
        self.wide, self.near = nn.Linear(d, inner), nn.Conv2d(inner, inner, 3, padding=1, groups=inner)
        self.narrow = nn.Linear(inner, d)
        self.mixer = memories.get(shape.memory)(shape.fetched).mixer(d)

    def forward(
        self,
        x: Tensor,
        told: Tensor,
        at: Tensor,
        mask: Any,
        clean: int,
        lead: int,
        kept: _Layer | None = None,
        beside: Tensor | None = None,
    ) -> tuple[Tensor, _Layer]:
        """Run the block on tokens (B, T, N, d): `clean` seen steps, then generated ones, the first after `lead` steps.
        `kept` is from earlier steps, seen by all; `beside` (B, T - clean, M N, d) are fetched tokens."""
        b, t, n, d = x.shape
        parts = self.modulation(told)[:, :, None].chunk(9, -1)
        y = _modulated(x, parts[0], parts[1])
        x = x + parts[2] * self.from_inside(self._inside(y, clean, beside))
        y = _modulated(x, parts[3], parts[4])
        q, k, v = self.along(y).permute(0, 2, 1, 3).reshape(b * n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = rotated(q, at), rotated(k, at)
        if kept is not None:
            k, v = torch.cat([kept.k, k], 2), torch.cat([kept.v, v], 2)
        mixed = attended(q, k, v, mask).transpose(1, 2).reshape(b, n, t, d).transpose(1, 2)
        x = x + parts[5] * self.from_along(mixed)
        state = None
        if self.mixer is not None:
            added, state = self.mixer(_normal(x), clean, lead, None if kept is None else kept.state)
            x = x + added
        y = self.wide(_modulated(x, parts[6], parts[7]))
        near = self.near(y.flatten(0, 1).transpose(1, 2).unflatten(2, self.grid))
        y = functional.gelu(near.flatten(2).transpose(1, 2).unflatten(0, (b, t)))
        return x + parts[8] * self.narrow(y), _Layer(k, v, state)

    def _inside(self, y: Tensor, clean: int, beside: Tensor | None) -> Tensor:
        b, t = y.shape[:2]
        q, k, v = self._parted(y.flatten(0, 1))
        if beside is None:
            return attended(q, k, v).transpose(1, 2).reshape(y.shape)
        _, more_k, more_v = (one.unflatten(0, (b, t - clean)) for one in self._parted(_normal(beside).flatten(0, 1)))
        q, k, v = (one.unflatten(0, (b, t)) for one in (q, k, v))
        seen = (
            [attended(*(one[:, :clean].flatten(0, 1) for one in (q, k, v))).unflatten(0, (b, clean))] if clean else []
        )
        wider = (torch.cat([one[:, clean:], more], 3).flatten(0, 1) for one, more in ((k, more_k), (v, more_v)))
        drawn = attended(q[:, clean:].flatten(0, 1), *wider).unflatten(0, (b, t - clean))
        return torch.cat([*seen, drawn], 1).transpose(2, 3).reshape(y.shape)

    def _parted(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values (B, heads, n, d) of tokens (B, n, d)."""
        q, k, v = self.inside(tokens).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return q, k, v


class _Table(nn.Module):
    """What a block adds to a modulation that all blocks share. Zero at first."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(size))

    def forward(self, told: Tensor) -> Tensor:
        return told + self.table


class _Modulation(nn.Linear):
    """A block's own modulation of `size` numbers from the embeddings of steps. Zero at first."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__(width, size)
        _zeroed(self)

    def forward(self, told: Tensor) -> Tensor:
        made: Tensor = super().forward(functional.silu(told))
        return made


def _zeroed(layer: nn.Linear) -> nn.Linear:
    """The layer, which gives zero at first."""
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def _normal(x: Tensor) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:])


def _modulated(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    return _normal(x) * (1 + scale) + shift
