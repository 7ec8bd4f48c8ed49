"""Agreement of a critic with matching measures: Spearman's coefficient.

Builds of one truth are not independent, so intervals are over truths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.statistics import LEVEL, Interval, mean_interval
from worldgauge.suites.build.kinds import Kind
from worldgauge.suites.build.validation.damage import SHIFTED

MEASURES = ("matching", "f1")
"""What evaluations are correlated with. Typed IoU orders builds of one truth as F1 does: it is f1 / (2 - f1)."""
UNMOVED = "unmoved"
"""All cases but shifted ones, which the critic forgives and matching does not."""
RESAMPLES = 1000

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StudyCase:
    """One build.

    Attributes:
        structure: Its number in the study.
        blocks: Blocks of the truth.
        damage: Name of the damage.
        dose: Dose of the damage.
        matching: Matching score to the truth, 0 to 10.
        f1: Matching F1 to the truth.
        typed_iou: Typed IoU to the truth.
        grades: The critic's evaluation, 1 to 10, by kind of task.
    """

    structure: int
    blocks: int
    damage: str
    dose: float
    matching: float
    f1: float
    typed_iou: float
    grades: Mapping[Kind, float]


@dataclass(frozen=True)
class Agreement:
    """Spearman's coefficient of evaluations with a measure.

    Attributes:
        kind: Kind of task.
        measure: Name of the measure.
        over: "all", UNMOVED or a damage for the cases of all structures together; "each structure, all" or unmoved for
            the mean over structures of the coefficient within each.
        spearman: The coefficient; None where undefined.
        interval: 95% interval over structures; None where undefined.
        n: Number of cases, or of structures.
    """

    kind: Kind
    measure: str
    over: str
    spearman: float | None
    interval: Interval | None
    n: int


def agreement_of(cases: Sequence[StudyCase], rng: np.random.Generator) -> Iterator[Agreement]:
    """Yield the agreement of each kind of task with each measure: within structures, over all cases, and by damage.

    Args:
        cases: Damaged builds only: truths and empty ones, on which all agree, would raise it.
        rng: Of the bootstrap.
    """
    damages = list(dict.fromkeys(case.damage for case in cases))
    groups = {"all": list(cases), UNMOVED: [case for case in cases if case.damage != SHIFTED.name]}
    for kind in dict.fromkeys(kind for case in cases for kind in case.grades):
        for measure in MEASURES:
            for over, own in groups.items():
                yield _within(own, kind, measure, f"each structure, {over}")
            for over, own in (groups | {name: [c for c in cases if c.damage == name] for name in damages}).items():
                found = _coefficient(own, kind, measure)
                interval = None if found is None else _interval(own, kind, measure, rng)
                yield Agreement(kind, measure, over, found, interval, len(own))


def spearman(x: Array, y: Array, weights: Array) -> Array:
    """Return coefficients (draws,) of n pairs; NaN if one of the two is constant.

    Args:
        x: (n,).
        y: (n,).
        weights: (draws, n), how often each pair counts.
    """
    a, b = (_centred(values, weights) for values in (x, y))
    spread = (weights * a * a).sum(1) * (weights * b * b).sum(1)
    found = np.full(len(weights), np.nan)
    np.divide((weights * a * b).sum(1), np.sqrt(spread), out=found, where=spread > 1e-9)
    clipped: Array = np.clip(found, -1, 1)
    return clipped


def _centred(values: Array, weights: Array) -> Array:
    """(draws, n) ranks less their mean; equal values share the mean of their ranks."""
    levels = np.unique(values, return_inverse=True)[1]
    order = np.argsort(levels, kind="stable")
    counts = np.add.reduceat(weights[:, order], np.flatnonzero(np.diff(levels[order], prepend=-1)), axis=1)
    ranks: Array = (np.cumsum(counts, axis=1) - counts / 2)[:, levels]
    centred: Array = ranks - (weights * ranks).sum(1, keepdims=True) / weights.sum(1, keepdims=True)
    return centred


def _within(cases: Sequence[StudyCase], kind: Kind, measure: str, over: str) -> Agreement:
    numbers = sorted({case.structure for case in cases})
    each = [_coefficient([case for case in cases if case.structure == number], kind, measure) for number in numbers]
    known = [value for value in each if value is not None]
    mean = float(np.mean(known)) if known else None
    return Agreement(kind, measure, over, mean, mean_interval(known), len(known))


def _pairs(cases: Sequence[StudyCase], kind: Kind, measure: str) -> tuple[Array, Array]:
    return np.array([case.grades[kind] for case in cases]), np.array([getattr(case, measure) for case in cases])


def _coefficient(cases: Sequence[StudyCase], kind: Kind, measure: str) -> float | None:
    if len(cases) < 3:
        return None
    found = float(spearman(*_pairs(cases, kind, measure), np.ones((1, len(cases))))[0])
    return None if np.isnan(found) else found


def _interval(cases: Sequence[StudyCase], kind: Kind, measure: str, rng: np.random.Generator) -> Interval | None:
    """Percentile bootstrap that draws structures with all their cases, since those of one are not independent."""
    numbers, place = np.unique([case.structure for case in cases], return_inverse=True)
    if len(numbers) < 2:
        return None
    weights = rng.multinomial(len(numbers), np.full(len(numbers), 1 / len(numbers)), RESAMPLES)[:, place]
    drawn = spearman(*_pairs(cases, kind, measure), weights.astype(float))
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))
