"""How close a table is to its goal, judged from an image of it, without weights.

Images of the table before anything has moved and when the task is solved differ where things have to move, and where
buttons light up. Only these pixels of a third image are compared: each looks more as it did before, more as it will, or
like neither, because the arm is in front of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.core.video import resize

WIDTH_PX = 160
"""Width to which images are shrunk; a shift by a pixel of a 448 px clip counts a third."""
DIFFERS, FULLY = 24.0, 120.0
"""Distance of two colours, of 0 to 442, from which a pixel counts, and from which it has full weight."""
SPREAD, NEITHER = 18.0, 60.0
"""Standard deviation of a colour about the expected one, and the distance from both at which another colour is as
likely."""


class GoalSimilarity:
    """Compares views with those of the start and of the goal.

    Args:
        before: (H, W, 3) uint8 before anything has moved.
        goal: (H, W, 3) uint8 when the task is solved.
    """

    def __init__(self, before: Image, goal: Image) -> None:
        height_px = max(1, round(goal.shape[0] * WIDTH_PX / goal.shape[1]))
        self._size = WIDTH_PX, height_px
        one, other = self._colours(before), self._colours(goal)
        apart = np.linalg.norm(other - one, axis=-1)
        self._matters: NDArray[np.bool_] = apart >= DIFFERS
        self._weights = np.minimum(apart[self._matters], FULLY)
        self._before, self._goal = one[self._matters], other[self._matters]

    def reached(self, view: Image) -> float:
        """Return how close a view is to the goal: 0 as at the start, 1 as in the goal; what is covered counts a half.

        It is 1 if the two do not differ. Neither things that moved by mistake nor order matter.
        """
        if not len(self._weights):
            return 1.0
        seen = self._colours(view)[self._matters]
        like_before, like_goal = (_likelihood(seen - known) for known in (self._before, self._goal))
        neither = np.exp(-((NEITHER / SPREAD) ** 2) / 2)
        leaning = (like_goal - like_before) / (like_goal + like_before + neither)
        return float((1 + np.average(leaning, weights=self._weights)) / 2)

    def _colours(self, picture: Image) -> FloatArray:
        return resize(picture, *self._size).astype(np.float64)


def _likelihood(off: FloatArray) -> FloatArray:
    """Return the likelihood of colours (n, 3) given the expected ones; 1 where they are equal."""
    likelihood: FloatArray = np.exp(-np.square(off / SPREAD).sum(-1) / 2)
    return likelihood
