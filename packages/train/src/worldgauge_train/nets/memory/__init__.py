"""Memories: what of all that it has seen a network is given besides its window."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.registry import Registry
from worldgauge_train.nets.reckoning import Poses


class Memory:
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

        Returns:
            (M,) numbers of frames, the best first.
        """
        return np.zeros(0, np.intp)

    def mixer(self, width: int) -> Any:
        """Make the module that a block keeps its memory in: a torch module as `nets.recurrence.Recurrence`, or None.

        Args:
            width: Size of a token.
        """
        return None


memories: Registry[type[Memory]] = Registry("memory", "worldgauge_train.nets.memory", group="worldgauge.memories")
