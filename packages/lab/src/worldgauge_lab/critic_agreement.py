"""Agreement of a critic with measures on damaged builds, criteria for its grades, and limits that are only reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.intervals import LEVEL, Interval, mean_interval
from worldgauge.suites.mineanybuild.critics import BEST, WORST
from worldgauge.suites.mineanybuild.format import Kind
from worldgauge_lab.critic_damage import ANOTHER, DAMAGES, EMPTY, SAME, SHIFTED, TRUTH

MEASURES = ("matching", "f1")
"""What evaluations are correlated with. Typed IoU orders builds of one truth as F1 does: it is f1 / (2 - f1)."""
UNMOVED = "unmoved"
"""All cases but shifted ones, which the critic forgives and matching does not."""
RESAMPLES = 1000

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StudyCase:
    """One build, with its scores against the ground truth.

    Attributes:
        blocks: Blocks of the ground truth.
        matching: Matching score, 0 to 10.
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
class CriticAgreement:
    """Spearman's coefficient of evaluations with a measure.

    Attributes:
        over: "all", UNMOVED or a damage for pooled cases; "each structure, ..." for the mean within structures.
        interval: 95 % interval over structures. None if undefined, as the coefficient.
        n: Number of cases, or of structures.
    """

    kind: Kind
    measure: str
    over: str
    spearman: float | None
    interval: Interval | None
    n: int


def agreement_of(cases: Sequence[StudyCase], rng: np.random.Generator) -> Iterator[CriticAgreement]:
    """Yield the agreement of each kind of task with each measure: within structures, over all cases, and by damage."""
    damages = list(dict.fromkeys(case.damage for case in cases))
    groups = {"all": list(cases), UNMOVED: [case for case in cases if case.damage != SHIFTED.name]}
    for kind in dict.fromkeys(kind for case in cases for kind in case.grades):
        for measure in MEASURES:
            for over, own in groups.items():
                yield _within(own, kind, measure, f"each structure, {over}")
            for over, own in (groups | {name: [c for c in cases if c.damage == name] for name in damages}).items():
                found = _coefficient(own, kind, measure)
                interval = None if found is None else _interval(own, kind, measure, rng)
                yield CriticAgreement(kind, measure, over, found, interval, len(own))


def spearman(x: Array, y: Array, weights: Array) -> Array:
    """Coefficients (draws,) of n pairs, weighted by (draws, n) counts; NaN if one of the two is constant."""
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


def _within(cases: Sequence[StudyCase], kind: Kind, measure: str, over: str) -> CriticAgreement:
    numbers = sorted({case.structure for case in cases})
    each = [_coefficient([case for case in cases if case.structure == number], kind, measure) for number in numbers]
    known = [value for value in each if value is not None]
    mean = float(np.mean(known)) if known else None
    return CriticAgreement(kind, measure, over, mean, mean_interval(known), len(known))


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


GRADED: tuple[Kind, ...] = ("planning", "understanding", "creativity")
BESIDE: tuple[Kind, ...] = ("planning", "understanding")
"""Kinds whose builds are graded beside a reference."""
FALLING = ("exchanged", "removed", "added", "truncated")
"""Damages of which a larger dose must never be graded higher."""
STREWN = ("exchanged", "removed", "added")
"""Damages that destroy all order."""
POSES = ("shifted", "turned", "mirrored")
"""Changes that must not lower a grade without reference."""

ALWAYS, MOSTLY, AGREED = 1.0, 0.9, 0.85
"""Least share of structures for what must hold without and with exceptions; least mean Spearman with F1."""
SEVERAL = 100
"""Blocks from which on strewn ones can be told from shape."""
HALF = 0.5

Falling = Mapping[tuple[Kind, str], float | None]
Test = Callable[[Sequence[StudyCase]], bool | None]
"""Whether the cases of one structure pass; None where they do not say."""


@dataclass(frozen=True)
class Criterion:
    """One statement; `least` must be reached, or is None for a limit of the critic that is only reported."""

    name: str
    value: float | None
    least: float | None

    @property
    def holds(self) -> bool:
        """Whether it is reached; a bar without a value is not."""
        return self.least is None or (self.value is not None and self.value >= self.least)


def criteria_of(cases: Sequence[StudyCase], agreement: Iterable[CriticAgreement]) -> Iterator[Criterion]:
    """Yield all criteria, then the limits."""
    large, small = ([case for case in cases if (case.blocks >= SEVERAL) == wanted] for wanted in (True, False))
    same = [damage.name for damage in SAME]
    yield Criterion("the truth, and nothing else, gets full marks beside a reference", _share(cases, _best), ALWAYS)
    yield Criterion("an empty build gets the lowest marks", _share(cases, _worst), ALWAYS)
    ignored = "order of materials, namespace, air around and states change nothing"
    yield Criterion(ignored, _share(cases, lambda own: _alike(own, GRADED, same)), ALWAYS)
    posed = "place, turn and mirror change no creativity"
    yield Criterion(posed, _share(cases, lambda own: _alike(own, ["creativity"], POSES)), ALWAYS)
    falling = falling_of(cases)
    for kind in BESIDE:
        for damage in FALLING:
            yield Criterion(f"{kind} never rises the more is {damage}", falling[kind, damage], MOSTLY)
    for damage in STREWN:
        name = f"creativity falls where half is {damage}, of {SEVERAL} blocks or more"
        yield Criterion(name, _share(large, _spoils(damage)), MOSTLY)
    for one in agreement:
        if (one.measure, one.over) == ("f1", f"each structure, {UNMOVED}") and one.kind in BESIDE:
            yield Criterion(f"{one.kind} orders unmoved builds as F1 does (Spearman)", one.spearman, AGREED)
    for damage in STREWN:
        name = f"creativity falls where half is {damage}, of fewer than {SEVERAL} blocks"
        yield Criterion(name, _share(small, _spoils(damage)), None)
    other = "creativity is above that of another build of the tier for the same brief; half is chance"
    yield Criterion(other, _share(cases, _tells_itself), None)


def falling_of(cases: Sequence[StudyCase]) -> Falling:
    """Return the share of structures whose evaluation never rises with the dose, by kind and damage."""
    graded = [damage.name for damage in DAMAGES if damage.graded]
    return {(kind, damage): _share(cases, _falls(kind, damage)) for kind in GRADED for damage in graded}


def _share(cases: Iterable[StudyCase], test: Test) -> float | None:
    """Share of structures that pass, of those that say."""
    own: dict[int, list[StudyCase]] = {}
    for case in cases:
        own.setdefault(case.structure, []).append(case)
    told = [passed for mine in own.values() if (passed := test(mine)) is not None]
    return sum(told) / len(told) if told else None


def _of(cases: Iterable[StudyCase], kind: Kind, *damages: str) -> list[float]:
    """Evaluations in the order of the cases, which is that of the doses."""
    return [case.grades[kind] for case in cases if case.damage in damages]


def _best(own: Sequence[StudyCase]) -> bool:
    sound = (TRUTH, *(damage.name for damage in SAME))
    damaged = [case for case in own if case.damage not in sound]
    return all(_of(own, kind, TRUTH) == [BEST] and all(case.grades[kind] < BEST for case in damaged) for kind in BESIDE)


def _worst(own: Sequence[StudyCase]) -> bool:
    return all(_of(own, kind, EMPTY) == [WORST] for kind in GRADED)


def _alike(own: Sequence[StudyCase], kinds: Iterable[Kind], damages: Iterable[str]) -> bool:
    return all(set(_of(own, kind, *damages)) <= set(_of(own, kind, TRUTH)) for kind in kinds)


def _falls(kind: Kind, damage: str) -> Test:
    def test(own: Sequence[StudyCase]) -> bool | None:
        grades = _of(own, kind, damage)
        steps = pairwise([*_of(own, kind, TRUTH), *grades])
        return all(less >= more for less, more in steps) if grades else None

    return test


def _spoils(damage: str) -> Test:
    def test(own: Sequence[StudyCase]) -> bool | None:
        half = _of([case for case in own if case.dose == HALF], "creativity", damage)
        return all(grade < _of(own, "creativity", TRUTH)[0] for grade in half) if half else None

    return test


def _tells_itself(own: Sequence[StudyCase]) -> bool | None:
    other = _of(own, "creativity", ANOTHER)
    return _of(own, "creativity", TRUTH)[0] > other[0] if other else None
