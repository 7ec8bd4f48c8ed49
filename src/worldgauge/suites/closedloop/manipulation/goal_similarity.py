"""How close a table is to its goal, judged from an image of it, without weights.

Images of the table before anything has moved and when the task is solved differ where things have to leave, where they
have to come to, and where buttons light up. Only these pixels of a third image are compared: each looks more as it did
before, more as it will, or like neither, because the arm is in front of it. Places to leave and places to fill count a
half each. A thing in the hand is in neither: it is looked for by its own look, and the nearer it is seen to its place,
or above it, the more of that place counts.
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
SHADOW, SHADED = 0.615, 0.8
"""Light that is left in the arm's shadow, and how likely a shaded colour is beside a lit one."""
CARRIED = 0.7
"""What a thing that is seen at its place, but is not yet down there, counts of that place."""
FOUND = 0.35
"""Likeness, of 0 to 1, from which a thing is taken for found."""
LIFTED = 0.14
"""How far up a thing may be seen above its place, of the image's width: that of a hand that carries."""
FEWEST_PX = 8
"""Pixels of a thing that can be looked for."""
_ALIKE = 24
"""Width of the bins of colours that are looked for as one."""


class GoalSimilarity:
    """Compares views with those of the start and of the goal.

    Args:
        before: (H, W, 3) uint8 before anything has moved.
        goal: (H, W, 3) uint8 when the task is solved.
    """

    def __init__(self, before: Image, goal: Image) -> None:
        height_px = max(1, round(goal.shape[0] * WIDTH_PX / goal.shape[1]))
        self._size = WIDTH_PX, height_px
        self._start, end = self._colours(before), self._colours(goal)
        apart = np.linalg.norm(end - self._start, axis=-1)
        self._matters: NDArray[np.bool_] = apart >= DIFFERS
        self._before, self._goal = self._start[self._matters], end[self._matters]
        if not len(self._before):
            return
        rows, columns = (slice(min(at), max(at) + 1) for at in np.nonzero(self._matters))
        table = np.median(np.concatenate([self._start[rows, columns], end[rows, columns]]), axis=(0, 1))
        self._left = np.linalg.norm(self._goal - table, axis=-1) < np.linalg.norm(self._before - table, axis=-1)
        weights = np.minimum(apart[self._matters], FULLY)
        self._weights = [np.where(part, weights, 0.0) for part in (self._left, ~self._left)]
        self._thing = self._thing_to_move(np.argwhere(self._matters))

    def reached(self, view: Image) -> float:
        """Return how close a view is to the goal: 0 as at the start, 1 as in the goal; what is covered counts a half.

        It is 1 if the two do not differ. Neither things that moved by mistake nor order matter.
        """
        if not len(self._before):
            return 1.0
        colours = self._colours(view)
        seen = colours[self._matters]
        like_before, like_goal = (_likelihood(seen, known) for known in (self._before, self._goal))
        neither = np.exp(-((NEITHER / SPREAD) ** 2) / 2)
        alike = (1 + (like_goal - like_before) / (like_goal + like_before + neither)) / 2
        shares = [float(np.average(alike, weights=part)) for part in self._weights if part.any()]
        if self._thing is not None:
            shares[1] = max(shares[1], CARRIED * shares[0] * self._thing.nearness(colours, self._start))
        return float(np.mean(shares))

    def _thing_to_move(self, places: NDArray[np.int64]) -> _Thing | None:
        """Return what is to leave its place; None where nothing is, or too little is seen of it."""
        left = self._left & (np.linalg.norm(self._before - SHADOW * self._goal, axis=-1) > DIFFERS)
        filled = ~self._left & (np.linalg.norm(self._goal - SHADOW * self._before, axis=-1) > DIFFERS)
        if min(left.sum(), filled.sum()) < FEWEST_PX:
            return None
        return _Thing(places[left], self._before[left], places[filled].mean(0))

    def _colours(self, picture: Image) -> FloatArray:
        return resize(picture, *self._size).astype(np.float64)


class _Thing:
    """The look of what is to be moved, and where to.

    Args:
        places: (n, 2) rows and columns of its pixels at the start.
        colours: (n, 3) their colours.
        goal: Row and column of the middle of where it belongs.
    """

    def __init__(self, places: NDArray[np.int64], colours: FloatArray, goal: FloatArray) -> None:
        self._corner = places.min(0)
        self._places, self._extent = places - self._corner, np.ptp(places, axis=0) + 1
        self._middle, self._goal = self._places.mean(0), goal
        self._far = float(np.linalg.norm(places.mean(0) - goal))
        _, self._kind = np.unique((colours // _ALIKE).astype(int), axis=0, return_inverse=True)
        self._kinds = [colours[self._kind == kind].mean(0) for kind in range(self._kind.max() + 1)]

    def nearness(self, view: FloatArray, start: FloatArray) -> float:
        """Return how near to its place it is seen: 1 there or above it, 0 as far as at the start, or where it is not.

        Args:
            view: (H, W, 3) colours.
            start: (H, W, 3) those of the start; what looks the same is not it.
        """
        changed = np.linalg.norm(view - start, axis=-1) > DIFFERS
        likely = [np.where(changed, _likelihood(view, colour), 0.0) for colour in self._kinds]
        rows, columns = (whole - own + 1 for whole, own in zip(view.shape, self._extent, strict=False))
        total = np.zeros((rows, columns))
        for (row, column), kind in zip(self._places, self._kind, strict=True):
            total += likely[kind][row : row + rows, column : column + columns]
        if total.max() < FOUND * len(self._places):
            return 0.0
        down, right = np.unravel_index(int(total.argmax()), total.shape) + self._middle - self._goal
        too_high, too_low = -down - LIFTED * view.shape[1], down
        return max(0.0, 1.0 - float(np.hypot(max(0.0, too_high, too_low), right)) / self._far) if self._far else 0.0


def _likelihood(seen: FloatArray, known: FloatArray) -> FloatArray:
    """Return the likelihood of colours (..., 3) given the expected ones, lit or shaded; 1 where they are equal."""
    lit, shaded = (np.exp(-np.square((seen - light * known) / SPREAD).sum(-1) / 2) for light in (1.0, SHADOW))
    likelihood: FloatArray = np.maximum(lit, SHADED * shaded)
    return likelihood
