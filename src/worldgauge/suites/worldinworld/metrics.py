"""Metrics of the closed loop: success, length of the way, rewards, and what a model's frames do to decisions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.image import Frames
from worldgauge.core.video import resize
from worldgauge.metrics._registry import metric
from worldgauge.metrics.psnr_ssim import mse, ssim_table

SIZE_PX = 384
PATCH_PX = 8
APART_PX = 48
"""Distance over which a picture resembles itself and noise does not. Squares of the reference `noise` are smaller, at
views of 64 pixels and more."""
_SIGNIFICANCE = 0.001
"""Share of patches of pure noise that would be taken for structure."""
_exponent = _SIGNIFICANCE ** (1 / (PATCH_PX**2 - 1))
_LEAST_COHERENCE = math.sqrt((1 - _exponent) / (1 + _exponent))


@metric(
    "controllability_ssim",
    unit="1",
    better="higher",
    bounds=(-1.0, 1.0),
    version=1,
    source="worldgauge; the paper has 1 - LPIPS, figure 5b",
)
def controllability_ssim(imagined: Frames, replayed: Frames) -> float:
    """Mean SSIM of imagined plan frames and those of the simulator that replays the plan; 1 for equal ones.

    Args:
        imagined: (n, H, W, 3) uint8, n >= 1, any size.
        replayed: Likewise, as many.

    Raises:
        ShapeError: On other shapes.

    Examples:
        >>> imagined, replayed = np.full((2, 3, 8, 8, 3), 102, np.uint8)
        >>> replayed[:] = 204
        >>> round(controllability_ssim(imagined, replayed), 2)  # 2 * 1 * 2 / (1 + 4) for flat frames
        0.8
    """
    return math.fsum(ssim_table(a, b) for a, b in _pairs(imagined, replayed)) / len(imagined)


@metric(
    "controllability_psnr",
    unit="dB",
    better="higher",
    bounds=(0.0, math.inf),
    version=1,
    source="worldgauge; the paper has 1 - LPIPS, figure 5b",
)
def controllability_psnr(imagined: Frames, replayed: Frames) -> float:
    """PSNR of the mean squared error over all plan frames; infinite for equal ones.

    Args:
        imagined: (n, H, W, 3) uint8, n >= 1, any size.
        replayed: Likewise, as many.

    Raises:
        ShapeError: On other shapes.

    Examples:
        >>> imagined, replayed = np.zeros((2, 3, 8, 8, 3), np.uint8)
        >>> replayed[:] = 51  # a fifth of 255: 10 log10(25)
        >>> round(controllability_psnr(imagined, replayed), 2)
        13.98
    """
    error = math.fsum(mse(a, b) for a, b in _pairs(imagined, replayed)) / len(imagined)
    return math.inf if error == 0 else 10 * math.log10(255**2 / error)


@metric(
    "controllability_lpips",
    unit="1",
    better="higher",
    bounds=(-math.inf, 1.0),
    version=1,
    source="World-in-World, figure 5b: 1 - mean LPIPS",
)
def controllability_lpips(distances: Sequence[float]) -> float:
    """1 - mean distance of imagined plan frames and those of the simulator.

    Args:
        distances: One per frame, each at least 0.

    Raises:
        UsageError: For none, and for one that is negative or not finite.

    Examples:
        >>> controllability_lpips([0.25, 0.75])
        0.5
    """
    if not len(distances) or not all(math.isfinite(one) and one >= 0 for one in distances):
        raise UsageError("controllability takes at least one distance, each finite and not negative")
    return 1 - math.fsum(distances) / len(distances)


@metric(
    "visual_quality",
    unit="1",
    better="higher",
    bounds=(0.0, math.inf),
    version=2,
    source="Zhu and Milanfar 2010, metric Q, at one size, times the correlation over an eighth of the frame",
)
def visual_quality(frame: NDArray[np.uint8]) -> float:
    """How much clear structure one frame shows, without a reference and without weights: blur and noise both lower it.

    Of each 8x8 patch of the grey frame at 384 x 384, s1 (s1 - s2) / (s1 + s2) with the singular values s1 >= s2 of its
    gradients, where their coherence is beyond what noise has, else 0; the mean over all patches. It is multiplied by
    the correlation of pixels 48 apart, at least 0: edges of squares of noise are as clear as those of things, but what
    lies on both sides of them has nothing to do with its surroundings. It depends on what is seen: compare models on
    the same tasks only.

    Args:
        frame: (H, W, 3) uint8.

    Raises:
        ShapeError: On other shapes.

    Examples:
        >>> grey = np.full((64, 64, 3), 128, np.uint8)
        >>> edge = grey.copy()
        >>> edge[:, 32:] = 255
        >>> visual_quality(grey), visual_quality(edge) > 1
        (0.0, True)
    """
    import cv2

    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or min(frame.shape[:2]) < 2:
        raise ShapeError(f"expected a frame (H, W, 3) uint8, got {frame.shape} {frame.dtype}")
    grey = cv2.cvtColor(resize(frame, SIZE_PX, SIZE_PX), cv2.COLOR_RGB2GRAY).astype(np.float64)
    down, across = np.gradient(grey, axis=0), np.gradient(grey, axis=1)
    yy, xx, xy = (_patch_sums(one, other) for one, other in ((down, down), (across, across), (down, across)))
    # Singular values of the gradients are the square roots of the eigenvalues of their (2, 2) products.
    middle, reach = (xx + yy) / 2, np.hypot((xx - yy) / 2, xy)
    s1, s2 = np.sqrt(middle + reach), np.sqrt(np.maximum(middle - reach, 0))
    coherence = (s1 - s2) / np.maximum(s1 + s2, 1e-12)
    return float(np.where(coherence > _LEAST_COHERENCE, s1 * coherence, 0).mean()) * _correlation(grey, APART_PX)


@metric(
    "decision_regret",
    unit="1",
    better="lower",
    bounds=(0.0, math.inf),
    version=1,
    source="worldgauge: value of the best plan less that of the chosen one",
)
def decision_regret(values: Sequence[float | None], chosen: int | None) -> float | None:
    """How much better the best candidate would really have been than the chosen one, in the unit of `values`.

    Args:
        values: True value of each candidate, higher is better, such as less distance left to the goal; -inf for one
            that cannot succeed, None for one that is unknown.
        chosen: Index of the one taken; None where none of them was.

    Returns:
        At least 0; None where none was taken, or a value is unknown.

    Raises:
        UsageError: For an index out of range, and values that are not allowed.

    Examples:
        >>> decision_regret([2.0, 5.0, 4.0], chosen=2)
        1.0
    """
    if chosen is None or any(value is None for value in values):
        return None
    if not 0 <= chosen < len(values):
        raise UsageError(f"candidate {chosen} was chosen among {len(values)}")
    known = [float(value) for value in values if value is not None]
    if any(math.isnan(value) or value == math.inf for value in known):
        raise UsageError(f"values of candidates are numbers or -inf, got {known}")
    best = max(known)
    return 0.0 if known[chosen] == best else best - known[chosen]


def _pairs(imagined: Frames, replayed: Frames) -> Iterator[tuple[Frames, Frames]]:
    """Frames beside frames at one size."""
    if imagined.ndim != 4 or replayed.ndim != 4 or len(imagined) != len(replayed) or not len(imagined):
        raise ShapeError(f"expected as many frames (n, H, W, 3), n >= 1, got {imagined.shape} and {replayed.shape}")
    for a, b in zip(imagined, replayed, strict=True):
        yield resize(a, SIZE_PX, SIZE_PX), resize(b, SIZE_PX, SIZE_PX)


def _correlation(grey: NDArray[np.float64], apart: int) -> float:
    """Correlation of pixels that lie `apart` pixels from each other, along rows and columns alike; at least 0."""
    centred = grey - grey.mean()
    variance = (centred * centred).mean()
    if variance == 0:
        return 0.0
    across, down = centred[:, apart:] * centred[:, :-apart], centred[apart:] * centred[:-apart]
    return max(0.0, float((across.mean() + down.mean()) / (2 * variance)))


def _patch_sums(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of products over patches that do not overlap."""
    n = SIZE_PX // PATCH_PX
    sums: NDArray[np.float64] = (one * other).reshape(n, PATCH_PX, n, PATCH_PX).sum((1, 3))
    return sums


_TIE = 1e-12
"""Rewards this close are equal: means of equal numbers differ in the last bits."""


class Ranking(NamedTuple):
    """Candidates by reward; higher is better, -inf for one without frames."""

    rewards: tuple[float, ...]
    best: int


def ranked_by_distance(distances: Sequence[Sequence[float]]) -> Ranking:
    """1 - mean distance to the goal of a candidate's frames without frame 0; shorter plans repeat their last frame.

    Source: World-in-World, section 7, revision by LPIPS.
    """
    if not distances:
        raise UsageError("there are no candidates to choose from")
    if not all(math.isfinite(one) for clip in distances for one in clip):
        raise UsageError("distances to the goal are not all finite")
    longest = max(len(clip) for clip in distances)
    rewards = tuple(_reward(clip, longest) for clip in distances)
    highest = max(rewards)
    return Ranking(rewards, next(index for index, reward in enumerate(rewards) if reward >= highest - _TIE))


def _reward(clip: Sequence[float], longest: int) -> float:
    if not clip:
        return -math.inf
    return 1 - math.fsum([*clip, *[clip[-1]] * (longest - len(clip))]) / longest


MARKS = range(1, 6)
"""What a judge may give."""
FAILED_RELEASED = -0.25
"""Share of a judge's failure in the release, which stores it as mark 0."""


class Term(NamedTuple):
    """An episode's contribution; `value` is None if it cannot be known, which is not zero.

    Flags: no_answer; judge_error, an invalid mark counted as 1; unreachable, no path to the goal, so invalid;
    no_length, counted as 0; no_reference, no reference length; hop_without_path, a straight line was taken for a part.
    """

    value: float | None
    flags: tuple[str, ...] = ()


@metric("success", unit="%", better="higher", bounds=(0.0, 100.0), version=1, source="World-in-World, B.1, B.2, B.4")
def success(done: bool) -> float:
    """100 for an episode that succeeded, else 0; what could not start has failed.

    Examples:
        >>> success(True), success(False)
        (100.0, 0.0)
    """
    return 100.0 if done else 0.0


@metric(
    "trajectory_steps",
    unit="steps",
    better="lower",
    bounds=(0.0, math.inf),
    version=1,
    source="World-in-World, B.1, B.2, B.4",
)
def trajectory_steps(steps: int | None) -> float | None:
    """Primitives, or decisions where a task counts those, that were executed; None where it could not start.

    It counts all episodes that started, successful or not: read it together with the success rate.

    Raises:
        UsageError: For a negative number.

    Examples:
        >>> trajectory_steps(30), trajectory_steps(None)
        (30.0, None)
    """
    if steps is not None and steps < 0:
        raise UsageError(f"an episode of {steps} steps cannot be")
    return None if steps is None else float(steps)


@metric("trajectory_m", unit="m", better="lower", bounds=(0.0, math.inf), version=1, source="World-in-World, B.3")
def trajectory_m(metres: float) -> float:
    """Metres walked, of embodied questions.

    Raises:
        UsageError: For a negative length.

    Examples:
        >>> trajectory_m(-1.0)
        Traceback (most recent call last):
        worldgauge.core.errors.UsageError: an episode of -1.0 metres cannot be
        >>> trajectory_m(7.5)
        7.5
    """
    if not metres >= 0:
        raise UsageError(f"an episode of {metres} metres cannot be")
    return metres


@metric("task_progress", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="worldgauge")
def task_progress(progress: float) -> float:
    """Progress of a task at the table, in [0, 1]: 1 exactly when it is solved. The paper has success only.

    Raises:
        UsageError: Out of range.

    Examples:
        >>> task_progress(1)
        1.0
    """
    if not 0 <= progress <= 1:
        raise UsageError(f"progress of a task lies in 0 to 1, got {progress}")
    return float(progress)


@metric("model_calls", unit="1", better="neither", bounds=(0.0, math.inf), version=1, source="World-in-World, 3.2")
def model_calls(rollouts: int) -> float:
    """Rollouts that a world model was asked for in an episode.

    Raises:
        UsageError: For a negative number.

    Examples:
        >>> model_calls(12)
        12.0
    """
    if rollouts < 0:
        raise UsageError(f"an episode of {rollouts} rollouts cannot be")
    return float(rollouts)


@metric("answer_score", unit="%", better="higher", bounds=(0.0, 100.0), version=1, source="World-in-World, B.3")
def answer_score(answered: bool, mark: int | None, blind_mark: int | None = None, *, failed: float = 0.0) -> Term:
    """A judge's mark of 1 to 5 as 0 to 100.

    Args:
        answered: Whether there is an answer.
        mark: Mark of the answer.
        blind_mark: Mark of an answer given without pictures. It counts where there is no answer; the lowest mark where
            it is missing too.
        failed: Share that a judge's failure counts as; FAILED_RELEASED in the release.

    Examples:
        >>> answer_score(True, mark=4)
        Term(value=75.0, flags=())
    """
    if answered:
        share, flags = share_of_mark(mark, failed)
        return Term(100 * share, flags)
    share, flags = (0.0, ()) if blind_mark is None else share_of_mark(blind_mark, failed)
    return Term(100 * share, ("no_answer", *flags))


def length_m(places: ArrayLike, distance: Callable[[Sequence[float], Sequence[float]], float]) -> Term:
    """Metres along places (n, 2); a hop without a finite `distance` counts straight, flagged."""
    points = np.asarray(places, np.float64).reshape(-1, 2)
    total, flags = 0.0, set()
    for here, there in pairwise(points):
        if not np.array_equal(here, there):
            hop = distance(here.tolist(), there.tolist())
            if not math.isfinite(hop):
                hop = float(np.linalg.norm(there - here))
                flags.add("hop_without_path")
            total += hop
    return Term(total, tuple(flags))


def share_of_mark(mark: int | None, failed: float = 0.0) -> tuple[float, tuple[str, ...]]:
    """A mark as 0 to 1; anything that is no mark, such as a judge's failure, is the lowest, or `failed`."""
    if mark is not None and mark in MARKS:
        return (mark - 1) / 4, ()
    return failed, ("judge_error",)


@metric("spl", unit="%", better="higher", bounds=(0.0, 100.0), version=1, source="World-in-World, B.2")
def spl(done: bool, shortest: float | None, travelled: float | None) -> Term:
    """Success weighted by path length, in percent: 100 shortest / max(travelled, shortest), 0 where it failed.

    Args:
        done: Whether the episode succeeded.
        shortest: Length of the reference, in metres or steps.
        travelled: Length of the agent's path, in the same unit.

    Examples:
        >>> spl(True, shortest=4.0, travelled=8.0).value
        50.0
    """
    return _weighted(1.0 if done else 0.0, shortest, travelled)


@metric("answer_spl", unit="%", better="higher", bounds=(0.0, 100.0), version=1, source="World-in-World, B.3")
def answer_spl(
    answered: bool, mark: int | None, shortest_m: float | None, travelled_m: float | None, *, failed: float = 0.0
) -> Term:
    """A judge's mark weighted as in `spl`, in percent; 0 without an answer, whatever a blind one is worth.

    Args:
        answered: Whether there is an answer.
        mark: Mark of the answer, 1 to 5.
        shortest_m: Length of the reference, metres.
        travelled_m: Length of the agent's path, metres.
        failed: Share that a judge's failure counts as, see `answer_score`.

    Examples:
        >>> answer_spl(True, mark=3, shortest_m=4.0, travelled_m=8.0).value
        25.0
    """
    share, flags = share_of_mark(mark, failed) if answered else (0.0, ("no_answer",))
    term = _weighted(share, shortest_m, travelled_m)
    return Term(term.value, flags + term.flags)


def _weighted(share: float, shortest: float | None, travelled: float | None) -> Term:
    """A share of success in percent, less for a long way."""
    for name, length in (("shortest", shortest), ("travelled", travelled)):
        if length is not None and not length >= 0:
            raise UsageError(f"the {name} length is {length}; lengths are not negative")
    if shortest is None:
        return Term(None, ("no_reference",))
    if math.isinf(shortest):
        return Term(0.0, ("unreachable",))
    if travelled is None:
        return Term(0.0, ("no_length",))
    longest = max(shortest, travelled)
    return Term(100 * share * (shortest / longest if longest > 0 else 1.0))
