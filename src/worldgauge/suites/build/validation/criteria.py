"""Criteria for a critic's grades of damaged builds, and limits of it that are only reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from worldgauge.suites.build.critics import BEST, WORST
from worldgauge.suites.build.kinds import Kind
from worldgauge.suites.build.validation.agreement import UNMOVED, Agreement, StudyCase
from worldgauge.suites.build.validation.damage import ANOTHER, DAMAGES, EMPTY, SAME, TRUTH

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
    """One statement.

    Attributes:
        name: The statement.
        value: A share of structures, or a mean coefficient; None where there is nothing to measure.
        least: What must be reached; None for a limit of the critic, which is reported and not required.
    """

    name: str
    value: float | None
    least: float | None

    @property
    def holds(self) -> bool:
        """Whether it is reached; a bar without a value is not."""
        return self.least is None or (self.value is not None and self.value >= self.least)


def criteria_of(cases: Sequence[StudyCase], agreement: Iterable[Agreement]) -> Iterator[Criterion]:
    """Yield all criteria, then the limits.

    Args:
        cases: All builds of the study.
        agreement: Of the damaged ones.
    """
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
