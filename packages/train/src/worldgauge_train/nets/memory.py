"""Memories: what of all that it has seen a network is given besides its window."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.registry import Registry
from worldgauge_train.nets.reckoning import Poses, angle_between


class FrameMemory:
    """A memory. This one remembers nothing: a new one overrides `picks` or `mixer`.

    Args:
        frames: Frames that it may fetch for each step.

    Attributes:
        frames: Frames that it does fetch for each step, M.
    """

    def __init__(self, frames: int = 0) -> None:
        self.frames = 0

    def picks(self, path: Poses, target: Poses) -> NDArray[np.intp]:
        """Choose frames to fetch.

        Args:
            path: (n, 5) poses of all frames that may be fetched, n from 1, the oldest first.
            target: (5,) pose of the last frame of the step to draw.
        """
        return np.zeros(0, np.intp)

    def mixer(self, width: int) -> Any:
        """Make the module that a block keeps its memory in: a torch module as `nets.recurrence.Recurrence`, or None."""
        return None


memories: Registry[type[FrameMemory]] = Registry("memory")


@memories.register("window")
class WindowMemory(FrameMemory):
    """Nothing besides the window: what left it is forgotten."""


@memories.register("state")
class RecurrentMemory(FrameMemory):
    """A gated diagonal recurrence in every block, at each place: what leaves the window may stay in it."""

    def mixer(self, width: int) -> Any:
        """Make the recurrence of a block."""
        from worldgauge_train.nets.layers import Recurrence

        return Recurrence(width)


METRES, RADIANS = 2.0, np.deg2rad(30.0)
"""A frame this far away, or turned away this far, is as far as 1."""
SPREAD = 12
"""Frames closer in time than this are not fetched together."""


@memories.register("fetched")
class Fetched(FrameMemory):
    """The frames of all seen and drawn ones that were taken nearest to where the step leads, as reckoned from keys.

    Args:
        frames: How many are fetched, M.
    """

    def __init__(self, frames: int = 2) -> None:
        self.frames = frames

    def picks(self, path: Poses, target: Poses) -> NDArray[np.intp]:
        """Choose the nearest in distance / 2 m + angle / 30 degrees, none within 12 frames of another.

        Args:
            path: (n, 5) poses of all frames that may be fetched.
            target: (5,) pose of the last frame of the step to draw.
        """
        far = np.linalg.norm(path[:, :3] - target[:3], axis=1) / METRES + angle_between(path, target) / RADIANS
        numbers = np.arange(len(path))
        chosen: list[int] = []
        while len(chosen) < self.frames and np.isfinite(far).any():
            chosen.append(int(np.argmin(far)))
            far[np.abs(numbers - chosen[-1]) < SPREAD] = np.inf
        return np.array(chosen + chosen[:1] * (self.frames - len(chosen)), np.intp)
