"""Heads: features become the frames of a step.

The moving one draws frames by moving known ones, and adding what they lack: x0 = sum_i m_i bicubic(source_i, flow_i) +
residual, with weights m that sum to 1 at every pixel. At first all outputs are zero, so that an untrained network
repeats its last frame.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

FLOW_SCALE = 4.0
"""Pixels of flow for an output of 1."""
_REACH = 2
"""Pixels to each side that bicubic interpolation looks at."""


class MovingHead(nn.Module):
    """Turn features into the frames of a step.

    Args:
        channels: Channels of the features.
        frames: Frames a step, K.
        sources: Frames that may be moved.
        planes: Planes of a frame, P.
        patch: How many times the height and width of frames are those of the features.
        wraps: The left border joins the right one, as in panoramas.
    """

    def __init__(
        self, channels: int, frames: int, sources: int, planes: int = 3, patch: int = 2, wraps: bool = False
    ) -> None:
        super().__init__()
        self.frames, self.patch, self.plain, self.wraps = frames, patch, frames * planes * patch**2, wraps
        self.out = RoundConv(channels, self.plain + 3 * sources * frames, wraps)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, features: Tensor, sources: Tensor) -> Tensor:
        """Draw a step.

        Args:
            features: (B, channels, H / patch, W / patch).
            sources: (B, sources, P, H, W), the last frame first.

        Returns:
            (B, K, P, H, W).
        """
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
    """Add what the last frame lacks, and move nothing.

    Args:
        channels: Channels of the features.
        frames: Frames a step, K.
        sources: Frames that are given; the first is added to.
        planes: Planes of a frame, P.
        patch: How many times the height and width of frames are those of the features.
        wraps: The left border joins the right one, as in panoramas.
    """

    def __init__(
        self, channels: int, frames: int, sources: int, planes: int = 3, patch: int = 2, wraps: bool = False
    ) -> None:
        super().__init__()
        self.frames, self.patch = frames, patch
        self.out = RoundConv(channels, frames * planes * patch**2, wraps)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, features: Tensor, sources: Tensor) -> Tensor:
        """Draw a step.

        Args:
            features: (B, channels, H / patch, W / patch).
            sources: (B, sources, P, H, W), the last frame first.

        Returns:
            (B, K, P, H, W).
        """
        added = functional.pixel_shuffle(self.out(features), self.patch)
        drawn: Tensor = sources[:, :1] + added.unflatten(1, (self.frames, -1))
        return drawn


HEADS: Mapping[str, type[MovingHead] | type[PlainHead]] = {"moving": MovingHead, "plain": PlainHead}


class RoundConv(nn.Conv2d):
    """A convolution of 3x3 whose input may go round: the left border joins the right one.

    Args:
        inner: Channels of the input.
        outer: Channels of the output.
        wraps: Whether it goes round; zeros lie beyond the borders otherwise.
        stride: Step of the output.
    """

    def __init__(self, inner: int, outer: int, wraps: bool, stride: int = 1) -> None:
        super().__init__(inner, outer, 3, stride=stride, padding=(1, 0 if wraps else 1))
        self.wraps = wraps

    def forward(self, x: Tensor) -> Tensor:
        """Convolve.

        Args:
            x: (B, inner, H, W).

        Returns:
            (B, outer, H / stride, W / stride).
        """
        made: Tensor = super().forward(functional.pad(x, (1, 1, 0, 0), mode="circular") if self.wraps else x)
        return made


def moved_by(frames: Tensor, flow: Tensor, wraps: bool = False) -> Tensor:
    """Look up each pixel of frames at a distance, with bicubic interpolation.

    Args:
        frames: (N, C, H, W).
        flow: (N, 2, H, W), how many pixels to the right and down of itself each pixel looks.
        wraps: Beyond the left border lies the right one. Otherwise beyond a border lies its last pixel.
    """
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
    """Look up frames at places, with bicubic interpolation, as `grid_sample` does, in operations of one order.

    The gradient of `grid_sample` adds up in any order on GPUs; this takes several times as long, to the same bytes.

    Args:
        frames: (N, C, H, W). Beyond a border lies its last pixel.
        right: (N, h, w) pixels from the left, 0 for the middle of the first.
        below: (N, h, w) pixels from the top.
    """
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
