"""How far two ways to judge builds go together, where builds of one truth are not independent: Spearman's coefficient,
with intervals over truths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.statistics import LEVEL, Interval, bootstrap_interval

MEASURES = ("matching", "f1")
"""What evaluations are correlated with. Typed IoU orders builds of one truth as F1 does: it is f1 / (2 - f1)."""
RESAMPLES = 1000

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One build. structure: its number among the study's. matching (0 to 10), f1, typed_iou: beside the truth.

    grades: the critic's evaluation, 1 to 10, by kind of task.
    """

    structure: int
    damage: str
    dose: float
    matching: float
    f1: float
    typed_iou: float
    grades: dict[str, float]


@dataclass(frozen=True)
class Agreement:
    """Spearman's coefficient of evaluations with a measure, and a 95% interval over structures; None where undefined.

    over: "each structure" for the mean over structures of the coefficient within each; "all" or a damage for cases of
    all structures together. n: structures, or cases.
    """

    kind: str
    measure: str
    over: str
    spearman: float | None
    interval: Interval | None
    n: int


def agreement_of(cases: Sequence[Case], rng: np.random.Generator) -> Iterator[Agreement]:
    """Of each kind of task with each measure: within structures, over all cases, and over those of each damage.

    Give damaged builds only: truths and empty ones, on which all agree, would make it look better.
    """
    damages = list(dict.fromkeys(case.damage for case in cases))
    for kind in dict.fromkeys(kind for case in cases for kind in case.grades):
        for measure in MEASURES:
            within = [
                found
                for number in sorted({case.structure for case in cases})
                if (found := _coefficient([c for c in cases if c.structure == number], kind, measure)) is not None
            ]
            mean = float(np.mean(within)) if within else None
            yield Agreement(kind, measure, "each structure", mean, bootstrap_interval(within, rng=rng), len(within))
            for over in ("all", *damages):
                own = [case for case in cases if over in ("all", case.damage)]
                found = _coefficient(own, kind, measure)
                interval = None if found is None else _interval(own, kind, measure, rng)
                yield Agreement(kind, measure, over, found, interval, len(own))


def spearman(x: Array, y: Array, weights: NDArray[Any]) -> float | None:
    """Spearman's coefficient of pairs that count so many times each; None where one of the two does not change."""
    a, b = _ranks(x, weights), _ranks(y, weights)
    a, b = (ranks - np.average(ranks, weights=weights) for ranks in (a, b))
    spread = float((weights * a * a).sum() * (weights * b * b).sum())
    return float(np.clip((weights * a * b).sum() / np.sqrt(spread), -1, 1)) if spread > 1e-9 else None


def _ranks(values: Array, weights: NDArray[Any]) -> Array:
    """From 0, equal values sharing the mean of theirs."""
    levels = np.unique(values, return_inverse=True)[1]
    counts = np.bincount(levels, weights)
    ranks: Array = (np.cumsum(counts) - counts + (counts - 1) / 2)[levels]
    return ranks


def _pairs(cases: Sequence[Case], kind: str, measure: str) -> tuple[Array, Array]:
    return np.array([case.grades[kind] for case in cases]), np.array([getattr(case, measure) for case in cases])


def _coefficient(cases: Sequence[Case], kind: str, measure: str) -> float | None:
    return spearman(*_pairs(cases, kind, measure), np.ones(len(cases))) if len(cases) > 2 else None


def _interval(cases: Sequence[Case], kind: str, measure: str, rng: np.random.Generator) -> Interval | None:
    """Percentile bootstrap that draws structures with all their cases, since those of one are not independent."""
    pairs = _pairs(cases, kind, measure)
    numbers, place = np.unique([case.structure for case in cases], return_inverse=True)
    drawn = [
        spearman(*pairs, np.bincount(rng.integers(0, len(numbers), len(numbers)), minlength=len(numbers))[place])
        for _ in range(RESAMPLES)
    ]
    known = [value for value in drawn if value is not None]
    if len(numbers) < 2 or not known:
        return None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))
