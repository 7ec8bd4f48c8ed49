"""Batches of windows: cut from clips at random, mirrored, and with short pasts among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.nets.action_rows import Rows
from worldgauge.training.cache import CachedClip

SHORT_PAST = 0.25
"""Share of windows whose past is one frame again and again, as of a model that is shown one picture."""
NO_ACTIONS = 0.1
"""Share of windows that are told no action, for guidance."""


class Batch(NamedTuple):
    """Windows of clips.

    Attributes:
        frames: (B, T, H, W, 3) uint8.
        rows: (B, T, columns): what led to each frame.
    """

    frames: NDArray[np.uint8]
    rows: Rows


@dataclass(frozen=True)
class Windows:
    """Draws windows of clips, each start of a window as likely as any other.

    Attributes:
        clips: The clips.
        past: Frames of a window that a model is shown, C.
        length: Frames of a window in all.
        mirror: What a mirror makes of `rows`. None where nothing is mirrored, such as of words or an arm.
        seed: Seed of all draws.

    Raises:
        UsageError: Every clip is shorter than a window.
    """

    clips: Sequence[CachedClip]
    past: int
    length: int
    mirror: Rows | None
    seed: int

    def __post_init__(self) -> None:
        if not self.usable:
            longest = max(len(clip) for clip in self.clips)
            raise UsageError(f"the longest of {len(self.clips)} clips has {longest} frames: windows need {self.length}")

    @property
    def usable(self) -> list[CachedClip]:
        """Clips that are as long as a window."""
        return [clip for clip in self.clips if len(clip) >= self.length]

    def batch(self, step: int, count: int) -> Batch:
        """Draw the windows of a step: the same ones for the same seed and step.

        Args:
            step: Number of the step.
            count: Windows.
        """
        rng = np.random.default_rng([self.seed, step])
        clips = self.usable
        starts = np.cumsum([0, *(len(clip) - self.length + 1 for clip in clips)])
        frames, rows = [], []
        for place in rng.integers(starts[-1], size=count):
            number = int(np.searchsorted(starts, place, side="right")) - 1
            at = int(place - starts[number])
            seen = np.array(clips[number].frames[at : at + self.length])
            told = clips[number].rows[at : at + self.length].copy()
            short, mute, mirrored = rng.random(3) < (SHORT_PAST, NO_ACTIONS, 0.5)
            if short:
                seen[: self.past - 1] = seen[self.past - 1]
                told[: self.past] = 0
            if mute:
                told[:] = 0
            if mirrored and self.mirror is not None:
                seen, told = seen[:, :, ::-1], told @ self.mirror
            frames.append(seen)
            rows.append(told)
        return Batch(np.stack(frames), np.stack(rows).astype(np.float32))
