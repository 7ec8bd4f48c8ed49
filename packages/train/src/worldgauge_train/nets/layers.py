"""Layers that the architectures share: attention, rays, recurrence, conditioning, and the moving head."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from worldgauge_train.nets.reckoning import POSE

BASE = 100.0
"""Base of the rotary periods; a window has few steps."""
LONG = 256
"""Tokens from which a mask is cut into blocks, of 128 each: below there are too few to skip any."""


def rotated(x: Tensor, at: Tensor) -> Tensor:
    """Turn pairs of channels by angles that grow with time (rotary embedding, Su et al. 2021, "RoFormer")."""
    half = x.shape[-1] // 2
    rates = BASE ** (-torch.arange(half, device=x.device, dtype=x.dtype) / half)
    angles = at.to(x.dtype)[:, None] * rates
    one, other = x[..., :half], x[..., half:]
    return torch.cat([one * angles.cos() - other * angles.sin(), one * angles.sin() + other * angles.cos()], -1)


def attended(q: Tensor, k: Tensor, v: Tensor, mask: Any = None) -> Tensor:
    """Attend; q, k, v are (B, heads, n, d). The mask is (n, m), True if one sees the other, or is from `blocked`."""
    if mask is None or isinstance(mask, Tensor):
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    mixed: Tensor = _flex(q.is_cuda)(q, k, v, block_mask=mask)
    return mixed


def placed(mask: Tensor, device: torch.device) -> Any:
    """A mask on a device: for a long one on CUDA, blocks for `flex_attention`, which skips empty ones. Its gradients
    add up in any order, so it is not used in deterministic runs."""
    is_long = device.type == "cuda" and min(mask.shape) >= LONG and not torch.are_deterministic_algorithms_enabled()
    return blocked(mask.to(device)) if is_long else mask.to(device)


def blocked(mask: Tensor) -> Any:
    """A mask (n, m), True if one sees the other, as `flex_attention` takes it."""
    from torch.nn.attention.flex_attention import create_block_mask

    def sees(batch: Tensor, head: Tensor, one: Tensor, other: Tensor) -> Tensor:
        return mask[one, other]

    return create_block_mask(sees, None, None, *mask.shape, device=str(mask.device))


@cache
def _flex(compiled: bool) -> Any:
    """`flex_attention`; only compiled it skips anything."""
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention) if compiled else flex_attention


def forced(steps: int, lead: int, window: int) -> Tensor:
    """Teacher-forcing mask over [clean steps 0 .. steps - 2 | noisy steps lead .. steps - 1], True if one sees the
    other. Clean i sees clean j for 0 <= i - j < window; noisy i sees itself, and clean j for 0 < i - j < window."""
    at = torch.cat([torch.arange(steps - 1), torch.arange(lead, steps)])
    noisy = torch.arange(len(at)) >= steps - 1
    apart = at[:, None] - at[None, :]
    to_clean = ~noisy[None, :] & (apart < window) & torch.where(noisy[:, None], apart > 0, apart >= 0)
    return to_clean | (noisy[:, None] & noisy[None, :] & (apart == 0))


def both_ways(lead: int, steps: int) -> Tensor:
    """The mask (steps, steps) with a visible future: steps of the past see each other, all others everything."""
    past = torch.arange(steps) < lead
    return ~past[:, None] | past[None, :]


KEPT = 3.0
"""The share that is kept of a state is sigmoid(3) = 0.95 at first."""


class Recurrence(nn.Module):
    """A state along time. Its output is zero at first."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.keep, self.value, self.gate, self.out = (nn.Linear(width, width) for _ in range(4))
        nn.init.constant_(self.keep.bias, KEPT)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Tensor, clean: int, lead: int, state: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Carry the state (B, N, d) through `clean` finished steps of x (B, T, N, d); each later step reads it. The
        first of these follows finished step `lead` - 1."""
        keep, value = torch.sigmoid(self.keep(x)), self.value(x)
        state = torch.zeros_like(x[:, 0]) if state is None else state
        states = [state]
        for step in range(clean):
            states.append(keep[:, step] * states[-1] + (1 - keep[:, step]) * value[:, step])
        seen = states[1:]
        for step in range(clean, x.shape[1]):
            before = states[lead + step - clean]
            seen.append(keep[:, step] * before + (1 - keep[:, step]) * value[:, step])
        mixed: Tensor = self.out(torch.stack(seen, 1) * nn.functional.silu(self.gate(x)))
        return mixed, states[-1]


RAY = 6
"""Numbers of a ray."""


def rays(relative: Tensor, grid: tuple[int, int]) -> Tensor:
    """Pluecker coordinates of the rays of tokens: direction d, and moment p x d of the camera at p. Poses (..., 5):
    metres forward, left, up, yaw, pitch. Every field of view counts as 90 degrees, to which action rows are scaled
    too."""
    down, across = grid
    columns, rows = (torch.arange(n, device=relative.device, dtype=relative.dtype) + 0.5 for n in (across, down))
    left = (1 - 2 * columns / across).expand(down, across).flatten()
    up = ((1 - 2 * rows / down) * down / across)[:, None].expand(down, across).flatten()
    length = (1 + left.square() + up.square()).sqrt()
    yaw, pitch = relative[..., 3, None], relative[..., 4, None]
    ahead = pitch.cos() - up * pitch.sin()  # tilted up first, then turned
    direction = (
        torch.stack(
            [
                yaw.cos() * ahead - yaw.sin() * left,
                yaw.sin() * ahead + yaw.cos() * left,
                pitch.sin() + up * pitch.cos(),
            ],
            -1,
        )
        / length[:, None]
    )
    place = relative[..., None, :3].expand(direction.shape)
    return torch.cat([direction, torch.linalg.cross(place, direction)], -1)


class StepEmbedding(nn.Module):
    """Embed a step: e = MLP(sines of its level) + A(its actions), A's last layer zero at first. Added as in MIND-World;
    it equals the quality of separate modulation with fewer weights."""

    def __init__(self, width: int, columns: int, frames: int, fetched: int = 0) -> None:
        super().__init__()
        self.level = nn.Sequential(nn.Linear(_SINES, width), nn.SiLU(), nn.Linear(width, width))
        self.actions = nn.Sequential(nn.Linear(columns * frames, width), nn.SiLU(), nn.Linear(width, width))
        last = self.actions[-1]
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.fetched = nn.Linear(POSE * fetched, width) if fetched else None

    def forward(self, t: Tensor, rows: Tensor, relative: Tensor | None = None) -> Tensor:
        """Embed steps."""
        # Sines and cosines of 1000 t at periods from 1 to 10,000 (Vaswani et al. 2017, section 3.5).
        half = _SINES // 2
        rates = torch.exp(-math.log(10_000.0) * torch.arange(half, device=t.device) / half)
        angles = 1000.0 * t[..., None] * rates
        embedded: Tensor = self.level(torch.cat([angles.cos(), angles.sin()], dim=-1)) + self.actions(rows.flatten(-2))
        if self.fetched is not None and relative is not None:
            embedded = embedded + self.fetched(relative.flatten(-2))
        return embedded


_SINES = 256


FLOW_SCALE = 4.0
"""Pixels of flow for an output of 1."""
_REACH = 2
"""Pixels to each side that bicubic interpolation looks at."""


class MovingHead(nn.Module):
    """Turn features into the frames of a step: moves and mixes `sources` frames, and adds a residual. Features have 1 /
    `patch` of the frames' height and width."""

    def __init__(
        self, channels: int, frames: int, sources: int, planes: int = 3, patch: int = 2, wraps: bool = False
    ) -> None:
        super().__init__()
        self.frames, self.patch, self.plain, self.wraps = frames, patch, frames * planes * patch**2, wraps
        self.out = RoundConv(channels, self.plain + 3 * sources * frames, wraps)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, features: Tensor, sources: Tensor) -> Tensor:
        """Generate a step (B, K, P, H, W); features (B, channels, H / patch, W / patch), sources (B, sources, P, H, W),
        newest first."""
        b, s, p, h, w = sources.shape
        k = self.frames
        plain, motion = self.out(features).split([self.plain, 3 * s * k], dim=1)
        residual = functional.pixel_shuffle(plain, self.patch).reshape(b, k, p, h, w)
        motion = self._spread(motion)
        motion = motion.reshape(b, k, s, 3, h, w)
        share = motion[:, :, :, 2].softmax(2)
        flow = FLOW_SCALE * motion[:, :, :, :2]
        known = sources[:, None].expand(b, k, s, p, h, w)
        moved = moved_by(known.reshape(-1, p, h, w), flow.reshape(-1, 2, h, w), self.wraps).reshape(b, k, s, p, h, w)
        drawn: Tensor = (share[:, :, :, None] * moved).sum(2) + residual
        return drawn

    def _spread(self, motion: Tensor) -> Tensor:
        """Motion of each place to each pixel."""
        if self.wraps:
            motion = functional.pad(motion, (1, 1, 0, 0), mode="circular")
        spread = functional.interpolate(motion, scale_factor=self.patch, mode="bilinear", align_corners=False)
        return spread[..., self.patch : -self.patch] if self.wraps else spread


class PlainHead(nn.Module):
    """Add what the last frame, the first of `sources`, lacks, and move nothing; sizes as for `MovingHead`."""

    def __init__(
        self, channels: int, frames: int, sources: int, planes: int = 3, patch: int = 2, wraps: bool = False
    ) -> None:
        super().__init__()
        self.frames, self.patch = frames, patch
        self.out = RoundConv(channels, frames * planes * patch**2, wraps)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, features: Tensor, sources: Tensor) -> Tensor:
        """Generate a step (B, K, P, H, W); features (B, channels, H / patch, W / patch), sources (B, sources, P, H, W),
        newest first."""
        added = functional.pixel_shuffle(self.out(features), self.patch)
        drawn: Tensor = sources[:, :1] + added.unflatten(1, (self.frames, -1))
        return drawn


HEADS: Mapping[str, type[MovingHead] | type[PlainHead]] = {"moving": MovingHead, "plain": PlainHead}


class RoundConv(nn.Conv2d):
    """A 3x3 convolution; with `wraps` the left border joins the right one, otherwise zeros are outside."""

    def __init__(self, inner: int, outer: int, wraps: bool, stride: int = 1) -> None:
        super().__init__(inner, outer, 3, stride=stride, padding=(1, 0 if wraps else 1))
        self.wraps = wraps

    def forward(self, x: Tensor) -> Tensor:
        """Convolve (B, inner, H, W)."""
        made: Tensor = super().forward(functional.pad(x, (1, 1, 0, 0), mode="circular") if self.wraps else x)
        return made


def moved_by(frames: Tensor, flow: Tensor, wraps: bool = False) -> Tensor:
    """Sample frames (N, C, H, W), bicubic, at `flow` (N, 2, H, W): pixels right and down of each pixel. `wraps` joins
    left and right; other borders repeat."""
    h, w = frames.shape[-2:]
    x = torch.arange(w, device=frames.device, dtype=frames.dtype)
    y = torch.arange(h, device=frames.device, dtype=frames.dtype)
    right, below = x + flow[:, 0], y[:, None] + flow[:, 1]
    if wraps:
        frames = functional.pad(frames, (_REACH, _REACH, 0, 0), mode="circular")
        right, w = torch.remainder(right, w) + _REACH, w + 2 * _REACH
    if frames.is_cuda and torch.are_deterministic_algorithms_enabled():
        return interpolated(frames, right, below)
    across = (2 * right + 1) / w - 1
    down = (2 * below + 1) / h - 1
    places = torch.stack([across, down], dim=-1)
    return functional.grid_sample(frames, places, mode="bicubic", padding_mode="border", align_corners=False)


def interpolated(frames: Tensor, right: Tensor, below: Tensor) -> Tensor:
    """Sample frames (N, C, H, W) at pixels (N, h, w), 0 the middle of the first: as bicubic `grid_sample`, but to the
    same bytes. Its gradient adds up in any order on GPUs; this takes several times as long."""
    (h, w), (first_x, first_y) = frames.shape[-2:], (right.floor(), below.floor())
    across, down = _cubic(right - first_x), _cubic(below - first_y)
    flat, made = frames.flatten(2), torch.zeros((), device=frames.device, dtype=frames.dtype)
    for j in range(4):
        row = (first_y + j - 1).clamp(0, h - 1).long() * w
        line = torch.zeros_like(made)
        for i in range(4):
            at = row + (first_x + i - 1).clamp(0, w - 1).long()
            seen = flat.gather(2, at.flatten(1)[:, None].expand(-1, flat.shape[1], -1)).unflatten(2, at.shape[1:])
            line = line + across[i][:, None] * seen
        made = made + down[j][:, None] * line
    return made


def _cubic(share: Tensor) -> list[Tensor]:
    """Weights of four neighbours, the second of which is `share` of a pixel away (Keys 1981, with a = -0.75)."""
    a = -0.75
    near, far = [share, 1 - share], [share + 1, 2 - share]
    inner = [((a + 2) * one - (a + 3)) * one * one + 1 for one in near]
    outer = [((a * one - 5 * a) * one + 8 * a) * one - 4 * a for one in far]
    return [outer[0], *inner, outer[1]]
