"""How far a table is on the way to a goal, from a picture of it, without weights.

Two pictures of the table, before anything has moved and when all is done, differ where things have to go to and from,
and where buttons light up. A third one is looked at there alone: each of these pixels looks more as it did before, more
as it will, or like neither, because the arm is in front of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.core.video import resize

WIDTH_PX = 160
"""To which pictures are shrunk: a pixel of a clip of 448 px off counts a third."""
DIFFERS, FULLY = 24.0, 120.0
"""Distance of two colours, of 0 to 442, from which a pixel matters, and from which it matters no more than others."""
SPREAD, NEITHER = 18.0, 60.0
"""Standard deviation of a colour about the one that it is, and how far from both it is as likely another one."""


class GoalSimilarity:
    """Compares views with the one before anything has moved and the one when all is done, (H, W, 3) uint8, any size."""

    def __init__(self, before: Image, goal: Image) -> None:
        height_px = max(1, round(goal.shape[0] * WIDTH_PX / goal.shape[1]))
        self._size = WIDTH_PX, height_px
        one, other = self._colours(before), self._colours(goal)
        apart = np.linalg.norm(other - one, axis=-1)
        self._matters: NDArray[np.bool_] = apart >= DIFFERS
        self._weights = np.minimum(apart[self._matters], FULLY)
        self._before, self._goal = one[self._matters], other[self._matters]

    def reached(self, view: Image) -> float:
        """From 0, all is as before, to 1, all is as in the goal; what is covered counts a half.

        1 where nothing differs between the two. It does not see what moved that should have stayed, nor order.
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
    """Of colours (n, 3) off one that is expected; 1 where they are it."""
    likelihood: FloatArray = np.exp(-np.square(off / SPREAD).sum(-1) / 2)
    return likelihood
