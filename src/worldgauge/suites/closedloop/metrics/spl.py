"""SPL, success weighted by path length (World-in-World, sections 6.1 to 6.3), of walks and of answers."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.metrics._registry import metric
from worldgauge.suites.closedloop.metrics.success import Term, share_of_mark


@metric("spl", unit="%", better="higher", bounds=(0.0, 100.0), version=1, source="World-in-World, 6.1, 6.3")
def spl(done: bool, shortest: float | None, travelled: float | None) -> Term:
    """Success weighted by path length, in percent: 100 shortest / max(travelled, shortest), 0 where it failed.

    Args:
        done: Whether the episode succeeded.
        shortest: Length of the reference, in metres or steps.
        travelled: Length of the agent's path, in the same unit.
    """
    return _weighted(1.0 if done else 0.0, shortest, travelled)


@metric("answer_spl", unit="%", better="higher", bounds=(0.0, 100.0), version=1, source="World-in-World, 6.1, 6.2")
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
    """
    share, flags = share_of_mark(mark, failed) if answered else (0.0, ("no_answer",))
    term = _weighted(share, shortest_m, travelled_m)
    return Term(term.value, flags + term.flags)


def released_spl(episodes: Iterable[tuple[bool, float, float]]) -> tuple[float, float]:
    """Success rate and SPL as fractions, as the release computes them.

    One episode of 0 steps, or without a path, makes the whole of SPL NaN.

    Args:
        episodes: (done, shortest, travelled) of every episode.
    """
    done, shortest, travelled = (np.array(column, np.float64) for column in zip(*episodes, strict=True))
    with np.errstate(invalid="ignore"):
        return float(done.mean()), float((done * shortest / np.maximum(shortest, travelled)).mean())


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
