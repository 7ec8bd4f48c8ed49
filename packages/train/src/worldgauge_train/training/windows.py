"""Batches of windows: cut from clips at random, mirrored, and with short pasts among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.models.references.tiny.action_rows import Rows
from worldgauge_train.nets.memory import Memory
from worldgauge_train.nets.reckoning import POSE, Poses, in_mirror, seen_from
from worldgauge_train.training.cache import CachedClip

SHORT_PAST = 0.25
"""Share of windows whose past is one frame again and again, as of a model that is shown one picture."""
NO_ACTIONS = 0.1
"""Share of windows that are told no action, for guidance."""
Look = Callable[[CachedClip, bool], NDArray[Any]]
"""Gives the frames of a clip (T, ...) as a network is shown them, as they are or in the mirror."""


def as_pixels(clip: CachedClip, turned: bool) -> NDArray[Any]:
    """Frames (T, H, W, 3) as they are; see `Look`.

    Args:
        clip: The clip.
        turned: In the mirror.
    """
    return clip.frames[:, :, ::-1] if turned else clip.frames


class Batch(NamedTuple):
    """Windows of clips.

    Attributes:
        frames: (B, T, H, W, 3) uint8, or as `Windows.look` gives them.
        rows: (B, T, columns): what led to each frame.
        fetched: (B, S, M, ...) frames alike that a memory fetched for each step after the past; M may be 0.
        relative: (B, S, M, 5) their poses as seen from the end of the step.
        places: The clip of each window by its id, and where in it the window begins.
    """

    frames: NDArray[Any]
    rows: Rows
    fetched: NDArray[Any]
    relative: NDArray[np.float32]
    places: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Windows:
    """Draws windows of clips, each start of a window as likely as any other.

    Attributes:
        clips: The clips.
        past: Frames of a window that a model is shown, C.
        length: Frames of a window in all.
        mirror: What a mirror makes of `rows`. None where nothing is mirrored, such as of words or an arm.
        seed: Seed of all draws.
        step: Frames a step, K, for memories that fetch frames for each.
        memory: What fetches frames of the same clip.
        look: How frames are looked at.

    Raises:
        UsageError: Every clip is shorter than a window.
    """

    clips: Sequence[CachedClip]
    past: int
    length: int
    mirror: Rows | None
    seed: int
    step: int = 4
    memory: Memory = field(default_factory=Memory)
    look: Look = as_pixels

    def __post_init__(self) -> None:
        if not self.usable:
            longest = max(len(clip) for clip in self.clips)
            raise UsageError(f"the longest of {len(self.clips)} clips has {longest} frames: windows need {self.length}")

    @cached_property
    def usable(self) -> list[CachedClip]:
        """Clips that are as long as a window."""
        return [clip for clip in self.clips if len(clip) >= self.length]

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(len(clip) - self.length + 1 for clip in self.usable)])

    @property
    def count(self) -> int:
        """Windows in all."""
        return int(self._starts[-1])

    def batch(self, step: int, count: int) -> Batch:
        """Draw the windows of a step: the same ones for the same seed and step.

        Args:
            step: Number of the step.
            count: Windows.
        """
        rng = np.random.default_rng([self.seed, step])
        clips, starts = self.usable, self._starts
        frames, rows, fetched, relative, places = [], [], [], [], []
        for place in rng.integers(starts[-1], size=count):
            number = int(np.searchsorted(starts, place, side="right")) - 1
            at = int(place - starts[number])
            short, mute, mirrored = rng.random(3) < (SHORT_PAST, NO_ACTIONS, 0.5)
            turned = bool(mirrored) and self.mirror is not None
            shown = self.look(clips[number], turned)
            seen = np.array(shown[at : at + self.length])
            told = clips[number].rows[at : at + self.length].copy()
            if short:
                seen[: self.past - 1] = seen[self.past - 1]
                told[: self.past] = 0
            if mute:
                told[:] = 0
            if turned and self.mirror is not None:
                told = told @ self.mirror
            frames.append(seen)
            places.append((clips[number].id, at))
            rows.append(told)
            recalled, poses = self._recalled(clips[number], shown, at, bool(short))
            fetched.append(recalled)
            relative.append(in_mirror(poses) if turned else poses)
        told_poses = np.stack(relative).astype(np.float32)
        told_rows = np.stack(rows).astype(np.float32)
        return Batch(np.stack(frames), told_rows, np.stack(fetched), told_poses, tuple(places))

    def _recalled(self, clip: CachedClip, shown: NDArray[Any], at: int, short: bool) -> tuple[NDArray[Any], Poses]:
        """Frames that are fetched for each step of a window that begins at a frame, and where they were taken.

        What the network sees anyhow, its past, is not fetched again. In a short window only one frame was ever seen.
        """
        steps, first = (self.length - self.past) // self.step, at + self.past
        if not self.memory.frames:
            return np.zeros((steps, 0, *shown.shape[1:]), shown.dtype), np.zeros((steps, 0, POSE))
        numbers, poses = [], []
        for step in range(steps):
            here = clip.poses[first + (step + 1) * self.step - 1]
            known = slice(first - 1, first) if short else slice(0, max(1, at + step * self.step))
            picks = self.memory.picks(clip.poses[known], here) + known.start
            numbers.append(picks)
            poses.append(seen_from(clip.poses[picks], here))
        fetched = np.array(shown[np.concatenate(numbers)]).reshape(steps, self.memory.frames, *shown.shape[1:])
        return fetched, np.stack(poses)
