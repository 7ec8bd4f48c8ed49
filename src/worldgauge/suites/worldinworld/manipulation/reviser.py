"""The reviser `similarity` at a table: takes the plan whose imagined end is most like the goal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.core.video import Clip, resize
from worldgauge.suites.worldinworld.policies.contract import (
    Candidates,
    Decision,
    History,
    PolicyKit,
    Rng,
    Rollout,
    TableObservation,
)
from worldgauge.suites.worldinworld.real_colours import restored

WIDTH_PX = 224
"""Width to which images are shrunk; a shift by a pixel of a 448 px clip counts a half."""
SOFT_PX = 0.7
"""Standard deviation of the blur of every image: without it, edges that a model draws softer count as other colours."""
DIFFERS, FULLY = 24.0, 120.0
"""Distance of two colours, of 0 to 442, from which a pixel counts, and from which it has full weight."""
SPREAD, NEITHER = 18.0, 60.0
"""Standard deviation of a colour about the expected one, and the distance from both at which another colour is as
likely."""
SHADOW, SHADED, SHADED_THING = 0.615, 0.8, 0.4
"""Light that is left in the arm's shadow, and how likely a shaded colour is beside a lit one: of the table, and of
things, since the hand is as dark as a grey thing in its shadow."""
CARRIED = 0.7
"""What a thing that is seen at its place, but is not yet down there, counts of that place."""
FOUND = 0.35
"""Likeness, of 0 to 1, from which a thing is taken for found."""
GONE = 0.3
"""Share of a thing's place that must be left before it is looked for elsewhere."""
LIFTED = 0.14
"""How far up a thing may be seen above its place, of the image's width: that of a hand that carries."""
STEEP = 1.4
"""What a row counts beside a column: the camera looks down on the table at a slant."""
FEWEST_PX = 16
"""Pixels of a thing that can be looked for."""
_GRID_PX = 32
"""Side of the images that are compared with the start, to find a change of all colours."""
_ALIKE = 24
"""Width of the bins of colours that are looked for as one."""


class GoalSimilarity:
    """Compares views with those of the start (before anything has moved) and of the goal, (H, W, 3) uint8."""

    def __init__(self, before: Image, goal: Image) -> None:
        height_px = max(1, round(goal.shape[0] * WIDTH_PX / goal.shape[1]))
        self._size = WIDTH_PX, height_px
        self._start, end, self._real = self._colours(before), self._colours(goal), _grid(before)
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
        self._things = self._things_to_move(np.argwhere(self._matters))

    def reached(self, view: Image) -> float:
        """How close a view is to the goal: 0 at the start, 1 at the goal; covered parts count half, lost things as far.

        Neither things that moved by mistake nor order matter.
        """
        if not len(self._before):
            return 1.0
        colours = self._colours(restored(view, _grid(view), self._real))
        seen = colours[self._matters]
        things_before, things_goal = (np.where(part, SHADED_THING, SHADED) for part in (self._left, ~self._left))
        like_before = _likelihood(seen, self._before, things_before)
        like_goal = _likelihood(seen, self._goal, things_goal)
        neither = np.exp(-((NEITHER / SPREAD) ** 2) / 2)
        alike = (1 + (like_goal - like_before) / (like_goal + like_before + neither)) / 2
        shares = [float(np.average(alike, weights=part)) for part in self._weights if part.any()]
        if self._things:
            shares[1] = self._filled(shares[1], alike, colours)
        return float(np.mean(shares))

    def _filled(self, seen: float, alike: FloatArray, view: FloatArray) -> float:
        """Share of the places to fill, by what is seen there and by where the things are."""
        changed = np.linalg.norm(view - self._start, axis=-1) > DIFFERS
        lying = carried = 0.0
        for own, part, thing in self._things:
            gone = float(np.average(alike[own], weights=self._weights[0][own]))
            if gone >= GONE:
                on_table, in_hand = thing.nearness(view, changed)
                lying += part * gone * on_table
                carried += part * gone * in_hand
        return max((seen + lying) / 2, CARRIED * carried)

    def _things_to_move(self, places: NDArray[np.int64]) -> list[tuple[NDArray[np.bool_], float, _Thing]]:
        """Things to move: pixels among those that matter, share, and look; none if too little is seen of them."""
        # SciPy takes a third of a second to import, and every worker of every suite imports this module.
        from scipy.ndimage import label

        left = self._left & (np.linalg.norm(self._before - SHADOW * self._goal, axis=-1) > DIFFERS)
        filled = ~self._left & (np.linalg.norm(self._goal - SHADOW * self._before, axis=-1) > DIFFERS)
        if min(left.sum(), filled.sum()) < FEWEST_PX:
            return []
        apart = np.zeros(self._matters.shape, bool)
        apart[self._matters] = left
        names, count = label(apart, np.ones((3, 3)))
        each = [left & (names[self._matters] == name) for name in range(1, count + 1)]
        each = [own for own in each if own.sum() >= FEWEST_PX]
        total = sum(int(own.sum()) for own in each)
        goal = places[filled].mean(0)
        shape = self._matters.shape
        return [(own, own.sum() / total, _Thing(places[own], self._before[own], goal, shape)) for own in each]

    def _colours(self, picture: Image) -> FloatArray:
        import cv2

        small = resize(picture, *self._size).astype(np.float64)
        return np.asarray(cv2.GaussianBlur(small, (0, 0), SOFT_PX, borderType=cv2.BORDER_REPLICATE))


class _Nearness(NamedTuple):
    """How near to its place a thing is seen: 1 there, 0 as far as at the start, or where it is not."""

    on_table: float
    in_hand: float


class _Thing:
    """The look of what is to move: `places` (n, 2), rows and columns at the start, and `colours` (n, 3)."""

    def __init__(
        self, places: NDArray[np.int64], colours: FloatArray, goal: FloatArray, shape: tuple[int, ...]
    ) -> None:
        self._places = places - places.min(0)
        self._extent = np.ptp(places, axis=0) + 1
        self._middle, self._goal = self._places.mean(0), goal
        self._far = float(np.linalg.norm(places.mean(0) - goal))
        _, kind = np.unique((colours // _ALIKE).astype(int), axis=0, return_inverse=True)
        kinds = [kind.reshape(-1) == one for one in range(kind.max() + 1)]
        self._kinds = []
        for one in kinds:
            own = np.zeros(shape)
            own[tuple(self._places[one].T)] = 1
            self._kinds.append((colours[one].mean(0), np.conj(np.fft.rfft2(own))))

    def nearness(self, view: FloatArray, changed: NDArray[np.bool_]) -> _Nearness:
        """How near to its place it is seen in `view` (H, W, 3), where colours `changed` (H, W) since the start."""
        found = self._match(view, changed)
        if found is None or not self._far:
            return _Nearness(0.0, 0.0)
        down, right = found + self._middle - self._goal
        too_high = max(0.0, -down - LIFTED * view.shape[1], down)
        on_table, in_hand = (float(np.hypot(away, right)) / self._far for away in (STEEP * down, too_high))
        return _Nearness(max(0.0, 1 - on_table), max(0.0, 1 - in_hand))

    def _match(self, view: FloatArray, changed: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """Return row and column of the corner of where it is seen; None where it is not."""
        seen = view[changed]
        products = []
        for colour, own in self._kinds:
            likely = np.zeros(changed.shape)
            likely[changed] = _likelihood(seen, colour, SHADED_THING)
            products.append(np.fft.rfft2(likely) * own)
        rows, columns = (whole - own + 1 for whole, own in zip(changed.shape, self._extent, strict=True))
        total = np.fft.irfft2(np.sum(products, axis=0), changed.shape)[:rows, :columns]
        if total.max() < FOUND * len(self._places):
            return None
        return np.array(np.unravel_index(int(total.argmax()), total.shape))


def _grid(image: Image) -> FloatArray:
    """Return (n, 3) colours of a shrunken image."""
    return resize(image, _GRID_PX, _GRID_PX).reshape(-1, 3).astype(np.float64)


def _likelihood(seen: FloatArray, known: FloatArray, shade: float | FloatArray) -> FloatArray:
    """Return the likelihood of colours (..., 3) given the expected ones, lit or shaded; 1 where they are equal."""
    apart = ((seen - light * known) / SPREAD for light in (1.0, SHADOW))
    # Summing three channels by einsum takes a third of the time of `sum`.
    lit, shaded = (np.exp(-np.einsum("...i,...i", off, off) / 2) for off in apart)
    likelihood: FloatArray = np.maximum(lit, shade * shaded)
    return likelihood


class GoalSimilarityReviser:
    """Takes the plan whose last frame is closest to the goal (`goal_similarity`), the first of equals.

    Without rollouts it takes the first. Experiments: docs/decisions/closed_loop.md.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._goal: Goal | None = None
        self._shown = (0, 0)
        self._likeness: GoalSimilarity | None = None

    def revise(
        self, candidates: Candidates, observation: TableObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """Choose the plan that seems to bring the table closest to the goal; see `Reviser.revise`."""
        rollouts = [candidate.rollout for candidate in candidates]
        if all(rollout is None for rollout in rollouts):
            return Decision(candidates[0].plan, 0)
        scores = tuple(self._score(rollout, goal) for rollout in rollouts)
        chosen = max(range(len(scores)), key=lambda n: (scores[n] is not None, scores[n] or 0.0))
        return Decision(candidates[chosen].plan, chosen, scores=scores)

    def _score(self, rollout: Rollout | None, goal: Goal) -> float | None:
        if goal.image is None or goal.before is None:
            needed = "images of the table at the start and at the goal"
            raise UsageError(f"the reviser 'similarity' needs {needed}; give another, such as --set reviser=oracle")
        if rollout is None or rollout.valid_len < 2:
            return None
        # The aspect ratio of what the camera sees of the square table view, as a model may take a crop.
        camera = rollout.camera
        shown = round(1e6 * camera.width / camera.fx), round(1e6 * camera.height / camera.fy)
        if self._likeness is None or self._goal is not goal or self._shown != shown:
            self._goal, self._shown = goal, shown
            self._likeness = GoalSimilarity(_cut(goal.before, shown), _cut(goal.image, shown))
        return self._likeness.reached(rollout.seen(rollout.valid_len - 1))


def _cut(picture: Image, shown: tuple[int, int]) -> Image:
    """Crop the centre of an image to an aspect ratio."""
    return Clip.from_array(picture[None], 1.0).cropped(*shown)[0]
