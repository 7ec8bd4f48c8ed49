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


class MovingHead(nn.Module):
    """Turn features into the frames of a step.

    Args:
        channels: Channels of the features.
        frames: Frames a step, K.
        sources: Frames that may be moved.
        planes: Planes of a frame, P.
        patch: How many times the height and width of frames are those of the features.
    """

    def __init__(self, channels: int, frames: int, sources: int, planes: int = 3, patch: int = 2) -> None:
        super().__init__()
        self.frames, self.patch, self.plain = frames, patch, frames * planes * patch**2
        self.out = nn.Conv2d(channels, self.plain + 3 * sources * frames, 3, padding=1)
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
        motion = functional.interpolate(motion, size=(h, w), mode="bilinear", align_corners=False)
        motion = motion.reshape(b, k, s, 3, h, w)
        share = motion[:, :, :, 2].softmax(2)
        flow = FLOW_SCALE * motion[:, :, :, :2]
        known = sources[:, None].expand(b, k, s, p, h, w)
        moved = moved_by(known.reshape(-1, p, h, w), flow.reshape(-1, 2, h, w)).reshape(b, k, s, p, h, w)
        drawn: Tensor = (share[:, :, :, None] * moved).sum(2) + residual
        return drawn


class PlainHead(nn.Module):
    """Add what the last frame lacks, and move nothing.

    Args:
        channels: Channels of the features.
        frames: Frames a step, K.
        sources: Frames that are given; the first is added to.
        planes: Planes of a frame, P.
        patch: How many times the height and width of frames are those of the features.
    """

    def __init__(self, channels: int, frames: int, sources: int, planes: int = 3, patch: int = 2) -> None:
        super().__init__()
        self.frames, self.patch = frames, patch
        self.out = nn.Conv2d(channels, frames * planes * patch**2, 3, padding=1)
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


def moved_by(frames: Tensor, flow: Tensor) -> Tensor:
    """Look up each pixel of frames at a distance, with bicubic interpolation; beyond the border lies its last pixel.

    Args:
        frames: (N, C, H, W).
        flow: (N, 2, H, W), how many pixels to the right and down of itself each pixel looks.
    """
    h, w = frames.shape[-2:]
    x = torch.arange(w, device=frames.device, dtype=frames.dtype)
    y = torch.arange(h, device=frames.device, dtype=frames.dtype)
    across = (2 * (x + flow[:, 0]) + 1) / w - 1
    down = (2 * (y[:, None] + flow[:, 1]) + 1) / h - 1
    places = torch.stack([across, down], dim=-1)
    return functional.grid_sample(frames, places, mode="bicubic", padding_mode="border", align_corners=False)
