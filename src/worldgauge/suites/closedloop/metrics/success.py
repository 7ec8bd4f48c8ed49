"""Success of an agent and its cost: contributions of one episode, to be averaged over the list of episodes.

Shares are in percent, so that their mean over N episodes is the rate. Episodes that failed to run count too: the
denominator is the list, not what was found on disk. Source: World-in-World, sections 6.1 to 6.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import UsageError
from worldgauge.metrics._registry import metric

MARKS = range(1, 6)
"""What a judge may give."""
FAILED_RELEASED = -0.25
"""Share of a judge's failure in the release, which stores it as mark 0."""


class Term(NamedTuple):
    """What one episode adds.

    Flags: no_answer: none was given. judge_error: an invalid mark was taken as 1, judge again. unreachable: no path
    leads to the goal, the episode is invalid. no_length: the length walked is missing, counted as 0. no_reference: the
    reference length is missing. hop_without_path: a straight line was taken for a part of the length.

    Attributes:
        value: None where it cannot be known, which is not zero.
        flags: To be counted and listed.
    """

    value: float | None
    flags: tuple[str, ...] = ()


@metric("success", unit="%", better="higher", bounds=(0.0, 100.0), version=1, source="World-in-World, 6.1")
def success(done: bool) -> float:
    """100 for an episode that succeeded, else 0; what could not start has failed."""
    return 100.0 if done else 0.0


@metric(
    "trajectory_steps", unit="steps", better="lower", bounds=(0.0, math.inf), version=1, source="World-in-World, 6.1"
)
def trajectory_steps(steps: int | None) -> float | None:
    """Primitives, or decisions where a task counts those, that were executed; None where it could not start.

    It counts all episodes that started, successful or not: read it together with the success rate.

    Raises:
        UsageError: For a negative number.
    """
    if steps is not None and steps < 0:
        raise UsageError(f"an episode of {steps} steps cannot be")
    return None if steps is None else float(steps)


@metric("trajectory_m", unit="m", better="lower", bounds=(0.0, math.inf), version=1, source="World-in-World, 6.1")
def trajectory_m(metres: float) -> float:
    """Metres walked, of embodied questions.

    Raises:
        UsageError: For a negative length.
    """
    if not metres >= 0:
        raise UsageError(f"an episode of {metres} metres cannot be")
    return metres


@metric("task_progress", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="worldgauge")
def task_progress(progress: float) -> float:
    """Progress of a task at the table, in [0, 1]: 1 exactly when it is solved. The paper has success only.

    Raises:
        UsageError: Out of range.
    """
    if not 0 <= progress <= 1:
        raise UsageError(f"progress of a task lies in 0 to 1, got {progress}")
    return float(progress)


@metric(
    "model_calls", unit="1", better="neither", bounds=(0.0, math.inf), version=1, source="World-in-World, 6.4, 11.4"
)
def model_calls(rollouts: int) -> float:
    """Rollouts that a world model was asked for in an episode.

    Raises:
        UsageError: For a negative number.
    """
    if rollouts < 0:
        raise UsageError(f"an episode of {rollouts} rollouts cannot be")
    return float(rollouts)


@metric("answer_score", unit="%", better="higher", bounds=(0.0, 100.0), version=1, source="World-in-World, 6.1, 6.2")
def answer_score(answered: bool, mark: int | None, blind_mark: int | None = None, *, failed: float = 0.0) -> Term:
    """A judge's mark of 1 to 5 as 0 to 100.

    Args:
        answered: Whether there is an answer.
        mark: Mark of the answer.
        blind_mark: Mark of an answer given without pictures. It counts where there is no answer; the lowest mark where
            it is missing too.
        failed: Share that a judge's failure counts as; FAILED_RELEASED in the release.
    """
    if answered:
        share, flags = share_of_mark(mark, failed)
        return Term(100 * share, flags)
    share, flags = (0.0, ()) if blind_mark is None else share_of_mark(blind_mark, failed)
    return Term(100 * share, ("no_answer", *flags))


def length_m(places: ArrayLike, distance: Callable[[Sequence[float], Sequence[float]], float]) -> Term:
    """Metres along places.

    Args:
        places: (n, 2), metres.
        distance: Length between two places; a straight line is taken where it finds no path.
    """
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


def released_answers(episodes: Sequence[tuple[int, float, float | None]]) -> tuple[float, float, float]:
    """Answer score, metres and SPL as the release computes them, scores in percent.

    A judge's failure is mark 0 and takes 25 points away; episodes without a length are left out of the latter two.

    Args:
        episodes: (mark, shortest, travelled) of every episode.

    Raises:
        ZeroDivisionError: For an episode whose lengths are both 0.
    """
    lengths = [(mark, shortest, travelled) for mark, shortest, travelled in episodes if travelled is not None]
    weighted = [(mark - 1) / 4 * 100 * (shortest / max(shortest, travelled)) for mark, shortest, travelled in lengths]
    return (
        float(np.mean([(mark - 1) / 4 * 100 for mark, _, _ in episodes])),
        float(np.mean([travelled for _, _, travelled in lengths])),
        float(np.mean(weighted)),
    )


def share_of_mark(mark: int | None, failed: float = 0.0) -> tuple[float, tuple[str, ...]]:
    """A mark as 0 to 1; anything that is no mark, such as a judge's failure, is the lowest, or `failed`."""
    if mark is not None and mark in MARKS:
        return (mark - 1) / 4, ()
    return failed, ("judge_error",)
