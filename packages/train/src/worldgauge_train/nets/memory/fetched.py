"""Frames fetched by where they were taken (after WorldMem's idea, by distance in place of overlapping views)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge_train.nets.memory import Memory, memories
from worldgauge_train.nets.reckoning import Poses, angle_between

METRES, RADIANS = 2.0, np.deg2rad(30.0)
"""A frame this far away, or turned away this far, is as far as 1."""
SPREAD = 12
"""Frames closer in time than this are not fetched together."""


@memories.register("fetched")
class Fetched(Memory):
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

        Returns:
            (M,) numbers of frames, the nearest first. Where too few are apart in time, the nearest comes again.
        """
        far = np.linalg.norm(path[:, :3] - target[:3], axis=1) / METRES + angle_between(path, target) / RADIANS
        numbers = np.arange(len(path))
        chosen: list[int] = []
        while len(chosen) < self.frames and np.isfinite(far).any():
            chosen.append(int(np.argmin(far)))
            far[np.abs(numbers - chosen[-1]) < SPREAD] = np.inf
        return np.array(chosen + chosen[:1] * (self.frames - len(chosen)), np.intp)
