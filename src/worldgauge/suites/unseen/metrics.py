"""Metrics of one episode: what the thing has done while it was out of view, as the last frames show it."""

from __future__ import annotations

from typing import Literal

from worldgauge.metrics._registry import metric

Outcome = Literal["advanced", "as left", "other", "did not look away"]
OUTCOMES: tuple[Outcome, ...] = ("advanced", "as left", "other", "did not look away")
NEAR = 1 / 4
"""Part of the way within which a state counts as the true one, or as the one that was left."""


@metric("advanced", unit="%", better="higher", bounds=(0.0, 100.0), source="own: the thing is where its law takes it")
def advanced(outcome: Outcome) -> float:
    """100 if the thing is where its law takes it, else 0; the mean is the share of all tasks.

    Args:
        outcome: What is read of an episode, one of `OUTCOMES`.

    Returns:
        100 or 0, percent.

    Examples:
        >>> advanced("advanced"), advanced("as left"), advanced("did not look away")
        (100.0, 0.0, 0.0)
    """
    return 100.0 * (outcome == "advanced")


@metric("as_left", unit="%", better="lower", bounds=(0.0, 100.0), source="own: the thing is as it was left")
def as_left(outcome: Outcome) -> float:
    """100 if the thing is as it was when it left the view, else 0.

    Args:
        outcome: What is read of an episode, one of `OUTCOMES`.

    Returns:
        100 or 0, percent.

    Examples:
        >>> as_left("as left"), as_left("advanced")
        (100.0, 0.0)
    """
    return 100.0 * (outcome == "as left")


@metric("looked_away", unit="%", better="higher", bounds=(0.0, 100.0), source="own: the wait shows no thing")
def looked_away(outcome: Outcome) -> float:
    """100 if the model looked away as asked, else 0.

    Args:
        outcome: What is read of an episode, one of `OUTCOMES`.

    Returns:
        100 or 0, percent.

    Examples:
        >>> looked_away("other"), looked_away("did not look away")
        (100.0, 0.0)
    """
    return 100.0 * (outcome != "did not look away")


@metric(
    "progress", unit="1", better="neither", bounds=(float("-inf"), float("inf")), source="own: share of the true way"
)
def progress(state: float, left: float, true: float) -> float:
    """How far the thing has come: 0 as it was left, 1 where its law takes it, 2 as far again.

    Args:
        state: State that is read, such as metres along a rail.
        left: State in the last frame that was watched.
        true: State that the law gives; not `left`.

    Returns:
        The share of the way. Below 0 for a thing that went the wrong way.

    Examples:
        >>> progress(0.75, left=0.5, true=1.0), progress(0.5, left=0.5, true=1.0)
        (0.5, 0.0)
    """
    return (state - left) / (true - left)
