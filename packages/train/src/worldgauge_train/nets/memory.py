"""Memories: what of all that it has seen a network is given besides its window."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.registry import Registry
from worldgauge_train.nets.reckoning import Poses, angle_between


class FrameMemory:
    """A memory of frames, M fetched per step. This one remembers nothing: subclasses override `picks` or `mixer`."""

    def __init__(self, frames: int = 0) -> None:
        self.frames = 0

    def picks(self, path: Poses, target: Poses) -> NDArray[np.intp]:
        """Choose frames to fetch: `path` (n, 5) are poses, oldest first; `target` (5,) is the step's last one."""
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
    """The frames of all seen and drawn ones that were taken nearest to where the step leads, as reckoned from keys."""

    def __init__(self, frames: int = 2) -> None:
        self.frames = frames

    def picks(self, path: Poses, target: Poses) -> NDArray[np.intp]:
        """Choose the nearest in distance / 2 m + angle / 30 degrees, none within 12 frames of another."""
        far = np.linalg.norm(path[:, :3] - target[:3], axis=1) / METRES + angle_between(path, target) / RADIANS
        numbers = np.arange(len(path))
        chosen: list[int] = []
        while len(chosen) < self.frames and np.isfinite(far).any():
            chosen.append(int(np.argmin(far)))
            far[np.abs(numbers - chosen[-1]) < SPREAD] = np.inf
        return np.array(chosen + chosen[:1] * (self.frames - len(chosen)), np.intp)
