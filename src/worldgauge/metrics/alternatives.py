"""What a frame shows, read by comparison with exactly rendered alternatives: no network and no detector.

`shown_alternative` names the nearest of several pictures. The other functions score twins: two rollouts of one context
and one seed whose actions differ from some frame on, beside the ground truth of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.image import Frames, Image
from worldgauge.metrics._registry import metric

DIFFERS = 6
"""Grey levels. Rounding to 8 bits and lossless video never change a channel by more than this."""
_LEAST_SHARED = 0.01
"""Share of the frame in which all alternatives agree from which colour drift is measured and removed."""
_TIE = 1e-9
_LEAST_APART = 1.0
"""Mean squared grey levels: twin truths that are nearer to each other show no difference, such as before a wall."""


@dataclass(frozen=True)
class ShownAlternative:
    """Which alternative a frame shows, as `shown_alternative` returns it.

    Examples:
        >>> ShownAlternative(index=2, fit=0.1).readable, ShownAlternative(index=2, fit=3.0).readable
        (True, False)
    """

    index: int | None
    """The nearest alternative; None if two are equally near."""
    fit: float
    """Squared distance from it over its own from `null`. 0: exactly that one; below 1/4: nearer to it than to `null`
    for any kind of error."""

    @property
    def readable(self) -> bool:
        """Whether the frame shows one alternative: `fit` is at most 1, and no other is equally near."""
        return self.index is not None and self.fit <= 1


def shown_alternative(frame: Image, alternatives: Frames, null: int) -> ShownAlternative:
    """Which of several pictures a frame shows.

    Only pixels count in which the alternatives differ by more than 6 grey levels. The mean colour difference from
    `null` in all other pixels is drift, and is subtracted.

    Args:
        frame: (H, W, 3) uint8.
        alternatives: (K, H, W, 3) uint8, the pictures that the frame may show.
        null: Index of the alternative that evidence is measured against, such as "the thing is not there".

    Returns:
        The nearest alternative and how well it fits.

    Raises:
        ShapeError: Shapes differ, or `null` is no index of an alternative.
        DataError: No pixel differs between the alternatives, or none between `null` and the nearest one.

    Examples:
        >>> left, right = np.zeros((2, 4, 4, 3), np.uint8)
        >>> left[:, 0], right[:, 3] = 200, 200
        >>> nothing = np.zeros((4, 4, 3), np.uint8)
        >>> shown_alternative(right // 2, np.stack([nothing, left, right]), null=0)
        ShownAlternative(index=None, fit=0.25)
        >>> shown_alternative(right - right // 4, np.stack([nothing, left, right]), null=0)
        ShownAlternative(index=2, fit=0.0625)
    """
    if alternatives.ndim != 4 or alternatives.shape[1:] != frame.shape or not 0 <= null < len(alternatives):
        raise ShapeError(f"expected K alternatives of {frame.shape} and null below K, got {alternatives.shape}, {null}")
    _check(frame), _check(alternatives[0])
    asked = (alternatives.max(0) - alternatives.min(0) > DIFFERS).any(-1)
    if not asked.any():
        raise DataError(f"no pixel differs by more than {DIFFERS} grey levels among the alternatives; choose others")
    against = alternatives[null].astype(np.float64)
    shared = frame[~asked] - against[~asked]
    drift = shared.mean(0) if len(shared) >= _LEAST_SHARED * asked.size else np.zeros(3)
    looks = frame[asked] - drift
    distances = np.array([np.square(looks - each[asked]).sum() for each in alternatives])
    evidence = np.array([np.square(each[asked] - against[asked]).sum() for each in alternatives])
    evidence[null] = np.delete(evidence, null).min()
    nearest = int(distances.argmin())
    if evidence[nearest] == 0:
        raise DataError("the nearest alternative equals `null` in all pixels; leave one of them out")
    least, second = np.partition(distances, 1)[:2]
    tied = second - least <= _TIE * second
    return ShownAlternative(None if tied else nearest, float(distances[nearest] / evidence[nearest]))


class TwinFrame(NamedTuple):
    """One frame of a pair of twins, as sums over pixels and channels."""

    right: float
    """Mean over both twins of 1, 1/2 or 0: its own truth is nearer, as near as, or less near than the other's."""
    along: int
    """Drawn difference times true difference."""
    apart: int
    """Squared true difference."""


def twin_frames(
    drawn_a: Iterable[Image], drawn_b: Iterable[Image], true_a: Iterable[Image], true_b: Iterable[Image]
) -> Iterator[TwinFrame | None]:
    """Compare twins frame by frame; None for a frame in which the truths show no difference."""
    for frames in zip_longest(drawn_a, drawn_b, true_a, true_b):
        if any(frame is None for frame in frames):
            raise ShapeError("twins and their truths differ in length; cut all four to one length")
        if len({frame.shape for frame in frames}) > 1:
            raise ShapeError(f"twins differ in shape: {[frame.shape for frame in frames]}; resize them first")
        # Whole numbers below 2^53 are exact in float64, so equal distances are equal.
        a, b, real_a, real_b = (_check(frame).astype(np.float64).ravel() for frame in frames)
        apart = _square(real_a - real_b)
        if apart <= _LEAST_APART * a.size:
            yield None
            continue
        margins = _square(a - real_b) - _square(a - real_a), _square(b - real_a) - _square(b - real_b)
        right = sum((1 + np.sign(margin)) / 2 for margin in margins) / 2
        yield TwinFrame(float(right), sum(margins) // 2, apart)


@metric(
    "twin_accuracy",
    unit="1",
    better="higher",
    bounds=(0.0, 1.0),
    source="own: which of two exact futures a frame shows",
)
def twin_accuracy(drawn_a: Frames, drawn_b: Frames, true_a: Frames, true_b: Frames) -> float | None:
    """Share of frames of two twins that are nearer to their own ground truth than to the other's.

    Frames count if the mean squared difference of the two truths is above 1 squared grey level. Equally near is 1/2.

    Args:
        drawn_a: (T, H, W, 3) uint8, generated with one action.
        drawn_b: The same, generated with the opposite action.
        true_a: Ground truth of the first action.
        true_b: Ground truth of the second.

    Returns:
        0 to 1. A model that ignores its actions has 1/2; None if no frame counts.

    Raises:
        ShapeError: Shapes differ, or frames are not (H, W, 3) uint8.

    Examples:
        >>> black, white = np.zeros((2, 4, 4, 3), np.uint8), np.full((2, 4, 4, 3), 255, np.uint8)
        >>> twin_accuracy(black, white, black, white), twin_accuracy(black, black, black, white)
        (1.0, 0.5)
        >>> twin_accuracy(white, black, black, white)  # keys exchanged
        0.0
    """
    frames = [frame for frame in twin_frames(drawn_a, drawn_b, true_a, true_b) if frame is not None]
    return sum(frame.right for frame in frames) / len(frames) if frames else None


@metric(
    "twin_gain",
    unit="1",
    better="higher",
    bounds=(-np.inf, np.inf),
    source="own: drawn difference of two futures along the true one",
)
def twin_gain(drawn_a: Frames, drawn_b: Frames, true_a: Frames, true_b: Frames) -> float | None:
    """How much of the true difference of two twins their rollouts show: the slope of drawn on true differences.

    Args:
        drawn_a: (T, H, W, 3) uint8, generated with one action.
        drawn_b: The same, generated with the opposite action.
        true_a: Ground truth of the first action.
        true_b: Ground truth of the second.

    Returns:
        1 for the ground truth, 0 for a model that ignores its actions, -1 for one that exchanges them. Blur lowers it.
        None if no frame counts (see `twin_accuracy`).

    Raises:
        ShapeError: Shapes differ, or frames are not (H, W, 3) uint8.

    Examples:
        >>> black, white = np.zeros((2, 4, 4, 3), np.uint8), np.full((2, 4, 4, 3), 200, np.uint8)
        >>> twin_gain(black, white // 2, black, white), twin_gain(white, white, black, white)
        (0.5, 0.0)
    """
    frames = [frame for frame in twin_frames(drawn_a, drawn_b, true_a, true_b) if frame is not None]
    return sum(frame.along for frame in frames) / sum(frame.apart for frame in frames) if frames else None


@metric("twin_ahead", unit="grey^2", better="lower", bounds=(0.0, 65025.0), source="own: twins before they part")
def twin_ahead(drawn_a: Frames, drawn_b: Frames) -> float | None:
    """Largest mean squared difference of two twins in a frame before their actions differ.

    Args:
        drawn_a: (T, H, W, 3) uint8, the frames before the first action that differs.
        drawn_b: The same of the other twin.

    Returns:
        Squared grey levels. 0 for a causal model with one seed; None without a frame.

    Raises:
        ShapeError: Shapes differ, or frames are not (H, W, 3) uint8.

    Examples:
        >>> black = np.zeros((2, 4, 4, 3), np.uint8)
        >>> grey = black.copy()
        >>> grey[1] = 3
        >>> twin_ahead(black, black), twin_ahead(black, grey)
        (0.0, 9.0)
    """
    if len(drawn_a) != len(drawn_b) or any(a.shape != b.shape for a, b in zip(drawn_a, drawn_b, strict=True)):
        raise ShapeError("twins differ in shape; cut both to one length and size")
    pairs = zip(drawn_a, drawn_b, strict=True)
    found = [_square((_check(a).astype(np.float64) - _check(b)).ravel()) / a.size for a, b in pairs]
    return max(found, default=None)


def _check(frame: Image) -> Image:
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or not frame.size:
        raise ShapeError(f"expected a frame (H, W, 3) uint8, got {frame.shape} {frame.dtype}")
    return frame


def _square(values: NDArray[np.float64]) -> int:
    # Not a dot product: BLAS starts threads for it, which cost more than the sum where workers share cores.
    return int(np.square(values).sum())
