"""Compare the scores that a bundle states with those that were computed again, exactly or within a tolerance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from worldgauge.core.io import loads
from worldgauge.engine.collection import counted
from worldgauge.engine.suite.contract import Score, mean_of_known
from worldgauge.engine.suite.decoy import arm_of

RELATIVE, ABSOLUTE = 1e-4, 1e-6
"""How far a score of a whole video may differ: other processors round in another way."""
TOLERANCE = "film_tolerance.json"
"""How far a score of a film may differ from that of the whole video, as `benchmarks.film_tolerance` measured it."""


@dataclass(frozen=True)
class Rescored:
    """A task's scores as stated and as computed here; `video`: all whole, or films of the same or a smaller size."""

    stated: Sequence[Score]
    here: Sequence[Score]
    video: Literal["whole", "same size", "smaller"] = "whole"


@dataclass(frozen=True)
class Number:
    """The scores of one metric.

    Attributes:
        again: Tasks scored from whole videos: `same` with the same score, `valued` with a stated value.
        films: Tasks whose films were scored, for metrics with a tolerance: `within` it.
        shift: Mean of the stated scores less that of the films; `steady` if within its tolerance.
    """

    metric: str
    tasks: int
    mean: float | None
    again: int = 0
    same: int = 0
    largest: float | None = None
    valued: int = 0
    films: int = 0
    within: int = 0
    shift: float | None = None
    steady: bool = True

    @property
    def verdict(self) -> str:
        """What is known of the scores, such as "8 of 192 tasks reproduced"; "differs" if one is not reproduced."""
        if self.same < self.again or self.within < self.films or not self.steady:
            return "differs"
        if self.again and not self.valued and not self.films:
            return "no value"  # missing in both, which confirms no number
        parts = [f"{self.same} of {counted(self.tasks, 'task')} reproduced"] if self.again else []
        parts += [f"{self.within} within tolerance of the small video"] if self.films else []
        return ", ".join(parts) or "the author's word"


def _same(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


@cache
def tolerances() -> Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]:
    """By suite, metric and size of the film: how far one score, and the mean of many, may differ."""
    held: dict[str, Any] = loads((files(__package__) / TOLERANCE).read_text("utf-8"))["suites"]
    return held


def _is_near(stated: Score, here: Score, tolerance: float) -> bool:
    if stated.value is None or here.value is None:
        return stated.value is here.value
    return _same(stated.value, here.value) or abs(level_of(stated) - level_of(here)) <= tolerance


def level_of(score: Score) -> float:
    """A value to compare: decibels as the error that they state, since films never reach high ones."""
    assert score.value is not None
    return 10 ** (-score.value / 10) if score.unit == "dB" else score.value


def agrees(one: Rescored, suite: str) -> bool:
    """Whether the stated scores of a task are those that were computed here, as far as its videos show."""
    here = {score.metric: score for score in one.here}
    if here.keys() != {score.metric for score in one.stated}:
        return False
    pairs = [(score, here[score.metric]) for score in one.stated]
    if any(stated.group != again.group for stated, again in pairs):
        return False
    if one.video == "whole":
        return all(_same(stated.value, again.value) for stated, again in pairs)
    known = tolerances().get(suite, {})
    return all(
        _is_near(stated, again, known[stated.metric][one.video][0])
        for stated, again in pairs
        if one.video in known.get(stated.metric, {})
    )


def numbers_of(scores: Sequence[Score], pairs: Mapping[str, Rescored], suite: str) -> tuple[Number, ...]:
    """What is known of each metric. Arms of the decoy test are left out."""
    found = []
    scores = [score for score in scores if not arm_of(score.task)]
    pairs = {task: one for task, one in pairs.items() if not arm_of(task)}
    for metric in dict.fromkeys(score.metric for score in scores):
        values = [score.value for score in scores if score.metric == metric]
        finite = [value for value in values if value is not None and math.isfinite(value)]
        known = tolerances().get(suite, {}).get(metric, {})
        both, films = [], []
        for one in pairs.values():
            here = next((score for score in one.here if score.metric == metric), None)
            stated = [score for score in one.stated if score.metric == metric]
            if one.video == "whole":
                both += [(score.value, None if here is None else here.value) for score in stated]
            elif one.video in known and here is not None:
                films += [(score, here, one.video) for score in stated]
        apart = [abs(a - b) for a, b in both if a is not None and b is not None and math.isfinite(a - b)]
        number = Number(metric, len(values), mean_of_known(finite), len(both), largest=max(apart, default=None))
        same, valued = sum(_same(a, b) for a, b in both), sum(a is not None for a, _ in both)
        near = sum(_is_near(stated, here, known[video][0]) for stated, here, video in films)
        shift, steady = _shift(films, known)
        found.append(
            replace(number, same=same, valued=valued, films=len(films), within=near, shift=shift, steady=steady)
        )
    return tuple(found)


def _shift(
    films: Sequence[tuple[Score, Score, str]], known: Mapping[str, Sequence[float]]
) -> tuple[float | None, bool]:
    """Mean stated minus film score, and if it is within tolerance: systematic part, plus the rest over sqrt(n)."""
    valued = [(a, b, video) for a, b, video in films if a.value is not None and b.value is not None]
    if not valued:
        return None, True
    apart = [level_of(a) - level_of(b) for a, b, _ in valued]
    each, mean = (max(known[video][part] for _, _, video in valued) for part in (0, 1))
    limit = min(each, mean + (each - mean) / math.sqrt(len(valued)))
    plain = [a.value - b.value for a, b, _ in valued if a.value is not None and b.value is not None]
    return mean_of_known(one for one in plain if math.isfinite(one)), abs(math.fsum(apart)) / len(apart) <= limit
