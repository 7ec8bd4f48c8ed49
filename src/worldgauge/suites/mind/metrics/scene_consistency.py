"""Generated scene consistency: a video of a path out and back, compared with itself. And how far the way out gets.

Example:
    found = scene_errors(video, start_image)
    mean_error(found.released).mse, mean_error(found.aligned).mse
    moves(out_leg_motion(start, video[turn_frame(len(video))]), median_of_real_clips)

| pairing | compares | what a perfect renderer gets |
| --- | --- | --- |
| released | frame k with frame N - 1 - k | not 0: after N/2 actions out and N/2 back the two are one action apart |
| aligned | state k with state N - k, the start image being state 0 | 0: the two are seen from one place |

A video that stands still gets 0 in both, so `out_leg_motion` shows whether it moves. Errors are those of
`metrics.frame_pairs`. Source: MIND, section on generated scene consistency; the aligned pairing and motion are ours.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Image
from worldgauge.core.video import Clip, ahead
from worldgauge.engine.suite.contract import mean_of_known
from worldgauge.metrics._registry import metric
from worldgauge.metrics.colour import detail_correlation
from worldgauge.metrics.frame_pairs import SIZE, PairError, Prepared, mean_error, pair_error, prepared
from worldgauge.perception.score_device import Means, pairs_at_once

MOTION_SHARE = 0.1
"""A video moves when its motion is at least this share of the median of real clips of equal length."""


@metric(
    "out_leg_motion",
    unit="1",
    better="neither",
    bounds=(0.0, 1.0),
    version=2,
    source="ours, in addition to MIND's pairs",
)
def out_leg_motion(start: Image, turn: Image) -> float:
    """Mean squared difference of the start image and the frame at the far end of the path, at 1280x720; 0: no motion.

    Args:
        start: (h, w, 3) uint8, any size.
        turn: (h, w, 3) uint8, any size.

    Raises:
        ShapeError: On other shapes.

    Examples:
        >>> start, turn = np.zeros((2, 8, 8, 3), np.uint8)
        >>> turn[:] = 51  # a fifth of 255
        >>> round(out_leg_motion(start, turn), 3)
        0.04
    """
    return motions(start, [turn])[0]


def motions(start: Image, frames: Iterable[Image]) -> list[float]:
    """`out_leg_motion` of each frame."""
    first = prepared(start)
    differences = (first - prepared(frame) for frame in frames)
    return [float(np.square(each, out=each).mean(dtype=np.float64)) for each in differences]


def moves(motion: float, real_median: float) -> bool:
    """Whether a motion is at least MOTION_SHARE of the median motion of real clips of equal length."""
    if not (math.isfinite(motion) and motion >= 0 and math.isfinite(real_median) and real_median > 0):
        raise ShapeError(f"a motion >= 0 and a median of real clips > 0 are needed, got {motion} and {real_median}")
    return motion >= MOTION_SHARE * real_median


_SOURCE = "MIND, released scorer"
_OURS = "MIND's pairs, put at the same place of the path"
_DETAIL = "own: correlation of fine detail"
_HELD = 64
"""Frames of the way out that are in memory at a time."""

Distances = Callable[[NDArray[np.float32], NDArray[np.float32]], NDArray[np.float64]]
"""Learned distances (n,) of frames x and y, each (n, 720, 1280, 3) float32 in [0, 1], such as LPIPS."""


T = TypeVar("T")


class BothPairings(NamedTuple, Generic[T]):
    """A value of each of `released_pairs`, and of each of `aligned_pairs`, which are empty without a start image."""

    released: tuple[T, ...] = ()
    aligned: tuple[T, ...] = ()


def released_pairs(n: int) -> list[tuple[int, int]]:
    """Frames (k, n - 1 - k), k < n / 2, of a video of n frames."""
    _check(n)
    return [(k, n - 1 - k) for k in range(n // 2)]


def aligned_pairs(n: int) -> list[tuple[int, int]]:
    """States (k, n - k), k < n / 2, of a video of n frames: state 0 is the start image, state j the frame j - 1."""
    _check(n)
    return [(k, n - k) for k in range(n // 2)]


def turn_frame(n: int) -> int:
    """The frame at the far end of the path of a video of n frames."""
    _check(n)
    return n // 2 - 1


def scene_errors(video: Clip, start: Image | None = None, *, means: Means = Means()) -> BothPairings[PairError]:  # noqa: B008
    """Errors of all pairs of both pairings, in constant memory; a CPU prepares frames once, a device per pair."""
    _check(len(video))
    # Pairs come from the turn outwards, so that the way back is decoded once, forwards.
    found: Iterator[tuple[PairError, PairError | None]]
    if means.device is None:
        found = means.each(partial(_errors_of, _errors_of_prepared), _triples(video, start, prepared))
    else:
        compare = partial(_errors_of, means.device.pair_errors)
        found = means.each(compare, _triples(video, start, np.asarray), at_once=pairs_at_once(*SIZE) // 2)
    pairs = list(found)[::-1]
    return BothPairings(tuple(one for one, _ in pairs), tuple(other for _, other in pairs if other is not None))


def scene_distances(
    video: Clip, distances: Distances, start: Image | None = None, *, batch: int = 10
) -> BothPairings[float]:
    """Learned distances of all pairs of both pairings, otherwise like `scene_errors`."""
    _check(len(video))
    released: list[float] = []
    aligned: list[float] = []
    triples = ahead(_triples(video, start, prepared))
    while part := list(islice(triples, batch)):
        back = np.stack([triple[0] for triple in part])
        released += distances(back, np.stack([triple[1] for triple in part])).tolist()
        if start is not None:
            aligned += distances(back, np.stack([before for _, _, before in part if before is not None])).tolist()
    return BothPairings(tuple(released[::-1]), tuple(aligned[::-1]))


def scene_details(video: Clip, start: Image | None = None, *, means: Means = Means()) -> BothPairings[float | None]:  # noqa: B008
    """Correlation of detail of all pairs of both pairings, otherwise like `scene_errors`."""
    _check(len(video))
    pairs = list(means.each(_details_of, _triples(video, start, np.asarray)))[::-1]
    return BothPairings(tuple(one for one, _ in pairs), () if start is None else tuple(other for _, other in pairs))


@metric("gsc_mse", unit="1", better="lower", bounds=(0.0, 1.0), version=2, source=_SOURCE)
def gsc_mse(video: Clip) -> float:
    """Mean squared difference of the way out and the way back reversed, released pairing; see `scene_errors`.

    Examples:
        >>> from worldgauge.data import Clip
        >>> frames = np.stack([np.full((8, 8, 3), grey, np.uint8) for grey in (204, 102)])  # there and back
        >>> round(gsc_mse(Clip.from_array(frames, fps=10)), 3)  # (102 / 255)^2
        0.16
    """
    return mean_error(scene_errors(video).released).mse


@metric("gsc_psnr", unit="dB", better="higher", bounds=(0.0, math.inf), version=2, source=_SOURCE)
def gsc_psnr(video: Clip) -> float:
    """Mean peak signal-to-noise ratio of the way out and the way back reversed, released pairing.

    Examples:
        >>> from worldgauge.data import Clip
        >>> frames = np.stack([np.full((8, 8, 3), grey, np.uint8) for grey in (204, 102)])  # there and back
        >>> round(gsc_psnr(Clip.from_array(frames, fps=10)), 2)  # 10 log10(1 / 0.16)
        7.96
    """
    return mean_error(scene_errors(video).released).psnr


@metric("gsc_ssim", unit="1", better="higher", bounds=(-1.0, 1.0), version=2, source=_SOURCE)
def gsc_ssim(video: Clip) -> float:
    """Mean structural similarity of the way out and the way back reversed, released pairing.

    Examples:
        >>> from worldgauge.data import Clip
        >>> frames = np.stack([np.full((8, 8, 3), grey, np.uint8) for grey in (204, 102)])  # there and back
        >>> round(gsc_ssim(Clip.from_array(frames, fps=10)), 2)  # 2 * 1 * 2 / (1 + 4) for flat frames
        0.8
    """
    return mean_error(scene_errors(video).released).ssim


@metric("gsc_detail", unit="1", better="higher", bounds=(-1.0, 1.0), version=1, source=_DETAIL)
def gsc_detail(video: Clip) -> float | None:
    """Mean correlation of detail of the way out and the way back reversed, released pairing; see `scene_details`.

    Examples:
        >>> from worldgauge.data import Clip
        >>> squares = np.kron(np.eye(2), np.full((8, 8), 200)).astype(np.uint8)
        >>> picture = np.stack([squares] * 3, axis=-1)
        >>> equal, inverse = np.stack([picture, picture]), np.stack([picture, 200 - picture])
        >>> [round(gsc_detail(Clip.from_array(frames, fps=10)), 1) for frames in (equal, inverse)]
        [1.0, -1.0]
    """
    return mean_of_known(scene_details(video).released)


@metric("gsc_lpips", unit="1", better="lower", bounds=(0.0, math.inf), version=2, source=_SOURCE)
def gsc_lpips(video: Clip, distances: Distances) -> float:
    """Compute the mean learned distance of the way out and the reversed way back (pairing of the release).

    Args:
        video: The path out and back.
        distances: The learned distance.

    Examples:
        >>> from worldgauge.data import Clip
        >>> frames = np.stack([np.full((8, 8, 3), grey, np.uint8) for grey in (204, 102)])  # there and back
        >>> mean_difference = lambda x, y: np.abs(x - y).mean((1, 2, 3))  # stands for LPIPS
        >>> round(gsc_lpips(Clip.from_array(frames, fps=10), mean_difference), 3)
        0.4
    """
    distance = scene_distances(video, distances).released
    return math.fsum(distance) / len(distance)


@metric("gsc_aligned_mse", unit="1", better="lower", bounds=(0.0, 1.0), version=2, source=_OURS)
def gsc_aligned_mse(video: Clip, start: Image) -> float:
    """Compute the mean squared difference of frames seen from one place on the way out and back.

    Args:
        video: The path out and back.
        start: The start image (H, W, 3) uint8.

    Returns:
        0 for a perfect renderer.

    Examples:
        >>> from worldgauge.data import Clip
        >>> frames = np.stack([np.full((8, 8, 3), grey, np.uint8) for grey in (204, 102)])  # there and back
        >>> gsc_aligned_mse(Clip.from_array(frames, fps=10), start=frames[1])
        0.0
    """
    return mean_error(scene_errors(video, start).aligned).mse


@metric("gsc_aligned_psnr", unit="dB", better="higher", bounds=(0.0, math.inf), version=2, source=_OURS)
def gsc_aligned_psnr(video: Clip, start: Image) -> float:
    """Compute the mean peak signal-to-noise ratio of frames seen from one place on the way out and back.

    Args:
        video: The path out and back.
        start: The start image (H, W, 3) uint8.

    Returns:
        Decibels.

    Examples:
        >>> from worldgauge.data import Clip
        >>> frames = np.stack([np.full((8, 8, 3), grey, np.uint8) for grey in (204, 102)])  # there and back
        >>> gsc_aligned_psnr(Clip.from_array(frames, fps=10), start=frames[1])
        inf
    """
    return mean_error(scene_errors(video, start).aligned).psnr


@metric("gsc_aligned_ssim", unit="1", better="higher", bounds=(-1.0, 1.0), version=2, source=_OURS)
def gsc_aligned_ssim(video: Clip, start: Image) -> float:
    """Compute the mean structural similarity of frames seen from one place on the way out and back.

    Args:
        video: The path out and back.
        start: The start image (H, W, 3) uint8.

    Returns:
        1 for a perfect renderer.

    Examples:
        >>> from worldgauge.data import Clip
        >>> frames = np.stack([np.full((8, 8, 3), grey, np.uint8) for grey in (204, 102)])  # there and back
        >>> round(gsc_aligned_ssim(Clip.from_array(frames, fps=10), start=frames[1]), 2)
        1.0
    """
    return mean_error(scene_errors(video, start).aligned).ssim


@metric("gsc_aligned_detail", unit="1", better="higher", bounds=(-1.0, 1.0), version=1, source=_DETAIL)
def gsc_aligned_detail(video: Clip, start: Image) -> float | None:
    """Compute the mean correlation of detail of frames seen from one place on the way out and back.

    Args:
        video: The path out and back.
        start: The start image, as large as the frames.

    Returns:
        1 for a perfect renderer; None where the way out shows no detail.

    Examples:
        >>> from worldgauge.data import Clip
        >>> squares = np.kron(np.eye(2), np.full((8, 8), 200)).astype(np.uint8)
        >>> picture = np.stack([squares] * 3, axis=-1)
        >>> video = Clip.from_array(np.stack([picture[::-1], picture]), fps=10)
        >>> round(gsc_aligned_detail(video, start=picture), 2)
        1.0
    """
    return mean_of_known(scene_details(video, start).aligned)


@metric("gsc_aligned_lpips", unit="1", better="lower", bounds=(0.0, math.inf), version=2, source=_OURS)
def gsc_aligned_lpips(video: Clip, start: Image, distances: Distances) -> float:
    """Compute the mean learned distance of frames seen from one place on the way out and back.

    Args:
        video: The path out and back.
        start: The start image (H, W, 3) uint8.
        distances: The learned distance.

    Returns:
        0 for a perfect renderer.

    Examples:
        >>> from worldgauge.data import Clip
        >>> frames = np.stack([np.full((8, 8, 3), grey, np.uint8) for grey in (204, 102)])  # there and back
        >>> mean_difference = lambda x, y: np.abs(x - y).mean((1, 2, 3))  # stands for LPIPS
        >>> gsc_aligned_lpips(Clip.from_array(frames, fps=10), frames[1], mean_difference)
        0.0
    """
    distance = scene_distances(video, distances, start).aligned
    return math.fsum(distance) / len(distance)


Array = TypeVar("Array", Image, Prepared)


def _triples(video: Clip, start: Image | None, prepare: Callable[[Image], T]) -> Iterator[tuple[T, T, T | None]]:
    """Frame N - 1 - k of the way back, frames k and k - 1 (-1: start image) of the way out, k falls from N/2 - 1."""
    half, frames = len(video) // 2, iter(video)
    last = deque(islice(frames, half), _HELD)
    out = _backwards(video[: half - len(last)], last, start, prepare)
    there = next(out)
    for frame in frames:
        before = next(out, None)
        yield prepare(frame), there, before if start is not None else None
        there = there if before is None else before


def _backwards(video: Clip, last: deque[Image], start: Image | None, prepare: Callable[[Image], T]) -> Iterator[T]:
    """Frames from the last to the first, then the start image. A video is decoded forwards, a block at a time."""
    while last:
        yield prepare(last.pop())
    for end in range(len(video), 0, -_HELD):
        for frame in reversed(list(video[max(0, end - _HELD) : end])):
            yield prepare(frame)
    if start is not None:
        yield prepare(start)


def _errors_of_prepared(pairs: Sequence[tuple[Prepared, Prepared]]) -> list[PairError]:
    return [pair_error(*pair) for pair in pairs]


def _errors_of(
    errors: Callable[[Sequence[tuple[Array, Array]]], list[PairError]],
    triples: Sequence[tuple[Array, Array, Array | None]],
) -> list[tuple[PairError, PairError | None]]:
    # Which of a pair is the reference does not matter to any of the errors.
    # The start image, the last to come, may have another size than the frames, so it goes alone.
    pairs = [(back, before) for back, _, before in triples if before is not None]
    alike = [pair for pair in pairs if pair[0].shape == pair[1].shape]
    aligned: Sequence[PairError | None] = errors(alike) + errors(pairs[len(alike) :])
    released = errors([(back, there) for back, there, _ in triples])
    return list(zip(released, aligned if pairs else [None] * len(released), strict=True))


def _details_of(triples: Sequence[tuple[Image, Image, Image | None]]) -> list[tuple[float | None, float | None]]:
    return [
        (detail_correlation(back, there), None if before is None else detail_correlation(back, before))
        for back, there, before in triples
    ]


def _check(n: int) -> None:
    if n < 2 or n % 2:
        raise ShapeError(f"a path out and back needs an even number of frames, at least 2, got {n}")
