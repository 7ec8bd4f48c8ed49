"""Architectures: networks that draw a step of K frames from earlier ones, all with the same members.

Frames are (..., P, H, W) in the planes of a codec: P = 3 for pixels, -1 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from worldgauge.core.registry import Registry

SHIFT = 5.0
PURE_NOISE = 0.25
"""Share of samples at t = 1, where nothing but the past and the actions tell what comes."""
LEAST_WEIGHTED = 0.6
"""Below this level the loss weighs no more: with 0.2 here, control was learned ten times later."""


def shifted(t: Tensor, shift: float = SHIFT) -> Tensor:
    """Shift levels towards noise."""
    return shift * t / (1 + (shift - 1) * t)


def draw_levels(
    count: int, generator: torch.Generator, *, shift: float = SHIFT, pure_noise: float = PURE_NOISE
) -> Tensor:
    """Draw levels for training."""
    t = shifted(1 - torch.rand(count, generator=generator), shift)
    return torch.where(torch.rand(count, generator=generator) < pure_noise, torch.ones_like(t), t)


def noised(x0: Tensor, noise: Tensor, t: Tensor) -> Tensor:
    """Mix frames (B, ...) with noise at levels t (B,)."""
    level = t.reshape(-1, *[1] * (x0.ndim - 1))
    return (1 - level) * x0 + level * noise


def level_loss(guess: Tensor, x0: Tensor, t: Tensor, *, least: float = LEAST_WEIGHTED) -> Tensor:
    """Squared error (B,) of a guess of x0, weighted as that of the velocity, but no more than at level `least`."""
    errors = (guess - x0).square().flatten(1).mean(1)
    return errors / t.clamp(min=least).square()


def sampling_levels(steps: int, *, shift: float = SHIFT) -> list[float]:
    """Levels from 1 down to 0."""
    return [float(shifted(torch.tensor(1 - k / steps), shift)) for k in range(steps + 1)]


def descended(x: Tensor, guess: Tensor, t: float, following: float) -> Tensor:
    """Go from one level down to the next along the straight line to the guess (Euler's step)."""
    return guess + (x - guess) * (following / t)


class ClipWindow(NamedTuple):
    """Windows of clips: a past of C frames, and S steps of K after it.

    Attributes:
        frames: (B, C + S K, P, H, W).
        rows: (B, C + S K, columns): what led to each frame.
        fetched: (B, S, M, P, H, W) frames from memory for each step, if any.
        relative: (B, S, M, 5) their poses as seen from the end of the step.
    """

    frames: Tensor
    rows: Tensor
    fetched: Tensor | None = None
    relative: Tensor | None = None


class Recalled(NamedTuple):
    """What a memory fetched for one step: frames (B, M, P, H, W) and relative poses (B, M, 5)."""

    fetched: Tensor
    relative: Tensor


class Noised(NamedTuple):
    """Steps at noise levels `t` (B,)."""

    frames: Tensor
    t: Tensor


class Supervised(NamedTuple):
    """Guesses (B, ...), the wanted steps, and the levels (B,) of the guesses."""

    guess: Tensor
    wanted: Tensor
    t: Tensor


class Noising(Protocol):
    """Brings steps to levels of its choice."""

    def __call__(self, steps: Tensor, generator: torch.Generator, *, pure: bool = False) -> Noised:
        """Bring steps (B, ...) to noise levels; `pure`: to the level from which a step is generated at once."""
        ...


class VideoNetwork(nn.Module):
    """Base of all architectures. To generate: `begin`, then for each step some `guess`es and one `take`.

    Attributes:
        shape: Frozen dataclass with at least columns, frames (K), past (C), planes (P), memory and fetched (M).
        at_once: Steps generated at once; above 1 for networks that look into the future.
        sees_beyond: Whether more frames than C are of use to it: all that a window held in training.
        checkpointing: Whether the backward pass computes the blocks again, which saves memory.
    """

    shape: Any
    at_once: int = 1
    sees_beyond: bool = False
    checkpointing: bool = False

    @classmethod
    def shape_from(cls, settings: Mapping[str, Any], *, columns: int, planes: int, size: tuple[int, int]) -> Any:
        """Sizes from the keys of a recipe; `columns`: numbers per action, `size`: (width, height) of the planes."""
        raise NotImplementedError

    @classmethod
    def shape_read(cls, values: Mapping[str, Any]) -> Any:
        """Sizes from what a checkpoint tells of them."""
        raise NotImplementedError

    @property
    def pieces(self) -> list[nn.Module]:
        """Modules whose weights may be gathered one at a time when they are spread over processes. Each is called as a
        whole, and as often in every process, whatever is drawn at random."""
        return []

    def through(self, block: nn.Module, *given: Any) -> Any:
        """Go through a block."""
        if self.checkpointing and torch.is_grad_enabled():
            return checkpoint(block, *given, use_reentrant=False)
        return block(*given)

    def supervised(self, window: ClipWindow, noising: Noising, own: float, generator: torch.Generator) -> Supervised:
        """Guess steps of windows, for training."""
        raise NotImplementedError

    def guesses(self, window: ClipWindow, noisy: Tensor, t: Tensor) -> Tensor:
        """Guess all steps after the past from the frames before each; `noisy`, result (B, S, K, P, H, W), t (B, S)."""
        raise NotImplementedError

    def begin(self, seen: Tensor, rows: Tensor) -> Any:
        """Take in n frames (B, n, P, H, W), n at least C and a multiple of K, and their rows (B, n, columns)."""
        raise NotImplementedError

    def guess(self, kept: Any, noisy: Tensor, t: Tensor, rows: Tensor, recalled: Recalled | None = None) -> Tensor:
        """Guess the next `at_once` steps (B, K, P, H, W) from noisy ones at levels t (B,); `kept` does not change."""
        raise NotImplementedError

    def take(self, kept: Any, drawn: Tensor, rows: Tensor, level: float = 0.0) -> Any:
        """Return `kept` with a finished step (B, K, P, H, W) added; `level` is the noise level of its frames."""
        raise NotImplementedError


architectures: Registry[type[VideoNetwork]] = Registry(
    "architecture", "worldgauge_train.nets.causal", "worldgauge_train.nets.conv", group="worldgauge.architectures"
)
