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
    """
    errors = (guess - x0).square().flatten(1).mean(1)
    return errors / t.clamp(min=least).square()


def sampling_levels(steps: int, *, shift: float = SHIFT) -> list[float]:
    """Levels from 1 down to 0."""
    return [float(shifted(torch.tensor(1 - k / steps), shift)) for k in range(steps + 1)]


def descended(x: Tensor, guess: Tensor, t: float, following: float) -> Tensor:
    """Go from one level down to the next along the straight line to the guess (Euler's step)."""
    return guess + (x - guess) * (following / t)


class ClipWindow(NamedTuple):
    """Windows of clips: a past of C frames, and S steps of K that are drawn after it.

    Attributes:
        frames: (B, C + S K, P, H, W).
        rows: (B, C + S K, columns): what led to each frame.
        fetched: (B, S, M, P, H, W) frames from memory for each step. None where nothing is fetched.
        relative: (B, S, M, 5) their poses as seen from the end of the step.
    """

    frames: Tensor
    rows: Tensor
    fetched: Tensor | None = None
    relative: Tensor | None = None


class Recalled(NamedTuple):
    """What a memory fetched for one step.

    Attributes:
        fetched: (B, M, P, H, W).
        relative: (B, M, 5).
    """

    fetched: Tensor
    relative: Tensor


class Noised(NamedTuple):
    """Steps at levels of noise.

    Attributes:
        frames: Frames, as given.
        t: (B,) levels.
    """

    frames: Tensor
    t: Tensor


class Supervised(NamedTuple):
    """Guesses and what was to be guessed.

    Attributes:
        guess: (B, ...) steps.
        wanted: (B, ...) the true ones.
        t: (B,) levels that they were guessed from.
    """

    guess: Tensor
    wanted: Tensor
    t: Tensor


class Noising(Protocol):
    """Brings steps to levels of its choice."""

    def __call__(self, steps: Tensor, generator: torch.Generator, *, pure: bool = False) -> Noised:
        """Bring steps to levels.

        Args:
            steps: (B, ...).
            generator: Source of chance, on the CPU.
            pure: To the level from which a step is drawn at once.
        """
        ...


class VideoNetwork(nn.Module):
    """What every architecture can do. Drawing is: `begin`, then for each step some `guess`es and one `take`.

    Attributes:
        shape: Its sizes, a frozen dataclass with at least columns, frames (K), past (C, the frames that are needed to
            begin), planes (P), memory and fetched (M).
        at_once: Steps that are drawn at once; 1 but for networks that look into the future.
        sees_beyond: Whether more frames than C are of use to it: all that a window held in training.
        checkpointing: Whether what blocks compute is computed again on the way back, which saves memory.
    """

    shape: Any
    at_once: int = 1
    sees_beyond: bool = False
    checkpointing: bool = False

    @classmethod
    def shape_from(cls, settings: Mapping[str, Any], *, columns: int, planes: int, size: tuple[int, int]) -> Any:
        """Sizes from the keys of a recipe.

        Args:
            settings: Keys of the recipe.
            columns: Numbers that describe the action of one frame.
            planes: Planes of a frame.
            size: (width, height) of these planes.
        """
        raise NotImplementedError

    @classmethod
    def shape_read(cls, values: Mapping[str, Any]) -> Any:
        """Sizes from what a checkpoint tells of them."""
        raise NotImplementedError

    @property
    def pieces(self) -> list[nn.Module]:
        """Modules in it whose weights may be gathered one at a time, where they are spread over processes.

        Each is called as a whole, and as often in one process as in the others whatever chance says there.
        """
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
        """Guess all steps after the past, each from the frames of the window before it.

        Args:
            window: The windows.
            noisy: (B, S, K, P, H, W) the steps at their levels.
            t: Levels (B, S).

        Returns:
            (B, S, K, P, H, W).
        """
        raise NotImplementedError

    def begin(self, seen: Tensor, rows: Tensor) -> Any:
        """Take in what was seen.

        Args:
            seen: (B, n, P, H, W), n at least C, a multiple of K.
            rows: (B, n, columns) what led to each.
        """
        raise NotImplementedError

    def guess(self, kept: Any, noisy: Tensor, t: Tensor, rows: Tensor, recalled: Recalled | None = None) -> Tensor:
        """Guess the next step, or the next `at_once` ones.

        Args:
            kept: What the network keeps; it is not changed.
            noisy: (B, K, P, H, W) the step at its level.
            t: Levels (B,).
            rows: (B, K, columns) what leads to each of its frames.
            recalled: What the memory fetched. None where nothing is fetched.

        Returns:
            (B, K, P, H, W).
        """
        raise NotImplementedError

    def take(self, kept: Any, drawn: Tensor, rows: Tensor, level: float = 0.0) -> Any:
        """Add a finished step to what is kept.

        Args:
            kept: What the network keeps; it is not changed.
            drawn: (B, K, P, H, W).
            rows: (B, K, columns) what led to each of its frames.
            level: Level of noise that the drawn frames have, where the network is told one.
        """
        raise NotImplementedError


architectures: Registry[type[VideoNetwork]] = Registry(
    "architecture", "worldgauge_train.nets.causal", "worldgauge_train.nets.conv", group="worldgauge.architectures"
)
