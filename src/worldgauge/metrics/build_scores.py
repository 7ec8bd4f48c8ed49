"""Scores of builds from grades: weighted means, what comes on top of them, and the overall score of an agent.

All are between 0 and 10, except the overall score (0 to 100). A plan that cannot be built scores 0; one that no grade
came for has no score, which is not 0. Source: MineAnyBuild, sections 3.3 and 4.1, table 1, and its released code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from worldgauge.errors import UsageError
from worldgauge.metrics import metrics

Weighting = Literal["paper", "released"]
Weights = Mapping[str, Mapping[str, float]]

_SAME = {
    "understanding": {"completeness": 1.0},
    "creativity": {
        "creativity": 0.8,
        "completeness": 0.05,
        "complexity": 0.05,
        "structure": 0.05,
        "aesthetic": 0.05,
    },
}
WEIGHTS: Mapping[str, Weights] = MappingProxyType(
    {
        "paper": {"planning": {"completeness": 0.4, "complexity": 0.3, "aesthetic": 0.3}, **_SAME},
        "released": {"planning": {"completeness": 0.3, "complexity": 0.3, "aesthetic": 0.4}, **_SAME},
    }
)
"""Weight of each dimension by kind of task, as the paper states them and as its code has them."""
ON_TOP = 0.05
"""Share of the matching or voting score in the comprehensive one."""
SUCCESS = 7.0
"""Least mark of an answer of commonsense that counts as a success; the code tests >= 7, its comment says > 7."""
LOWEST, HIGHEST = 1.0, 10.0
"""Of a critic's grade."""

_DIMENSIONS = {
    "creativity": "creativity",
    "completeness": "completeness",
    "completenessinstructionfollowing": "completeness",
    "instructionfollowingcompleteness": "completeness",
    "instructionfollowing": "completeness",
    "complexity": "complexity",
    "structure": "structure",
    "architecturestructure": "structure",
    "aesthetic": "aesthetic",
    "overallaesthetic": "aesthetic",
    "overallaestheticatmosphereandfidelity": "aesthetic",
}


def dimension_of(name: str) -> str | None:
    """Our word for a dimension that the paper or its code spells otherwise; None for what is none."""
    return _DIMENSIONS.get(re.sub(r"[^a-z]", "", name[:200].lower()))


@metrics.register(
    "build_evaluation", unit="points", better="higher", bounds=(0.0, 10.0), version=1, source="MineAnyBuild, 3.3"
)
def evaluation(
    kind: str,
    executable: bool,
    grades: Mapping[str, float] | None,
    *,
    weights: Weighting | Mapping[str, float] = "paper",
) -> float | None:
    """A critic's grades, 1 to 10 a dimension, as one: their weighted mean; 0 for what cannot be built.

    grades: by dimension, None where none came: then there is no score. weights: the paper's, those of its code, or by
    dimension. Raises UsageError for grades that are missing or out of range, and weights that do not add up to 1.
    """
    own = _weights(kind, weights)
    if not executable:
        return 0.0
    return None if grades is None else _mean(own, grades)


@metrics.register(
    "build_graded", unit="points", better="higher", bounds=(1.0, 10.0), version=1, source="MineAnyBuild, released code"
)
def graded_only(
    kind: str,
    executable: bool,
    grades: Mapping[str, float] | None,
    *,
    weights: Weighting | Mapping[str, float] = "paper",
) -> float | None:
    """As `evaluation`, but none for what cannot be built: the released code leaves failures out of its means."""
    return evaluation(kind, executable, grades, weights=weights) if executable else None


@metrics.register(
    "build_comprehensive", unit="points", better="higher", bounds=(0.0, 10.0), version=1, source="MineAnyBuild, 3.3"
)
def comprehensive(
    executable: bool, evaluated: float | None, on_top: float | None, *, share: float = ON_TOP
) -> float | None:
    """The evaluation score with `share` of the matching score (planning, understanding) or voting score (creativity).

    0 for what cannot be built, None where either score is missing. Raises UsageError for a share outside 0 to 1.
    """
    if not 0 <= share <= 1:
        raise UsageError(f"a share of {share} cannot be; give 0 to 1")
    if not executable:
        return 0.0
    return None if evaluated is None or on_top is None else (1 - share) * evaluated + share * on_top


@metrics.register(
    "build_commonsense", unit="points", better="higher", bounds=(0.0, 10.0), version=1, source="MineAnyBuild, 3.3"
)
def commonsense(mark: float | None) -> float | None:
    """A judge's mark of an answer, 0 to 10; None where none came. Raises UsageError for a mark out of range."""
    if mark is not None and not 0 <= mark <= HIGHEST:
        raise UsageError(f"a mark of {mark} cannot be; marks are 0 to 10")
    return None if mark is None else float(mark)


@metrics.register(
    "build_commonsense_success",
    unit="%",
    better="higher",
    bounds=(0.0, 100.0),
    version=1,
    source="MineAnyBuild, released code",
)
def commonsense_success(mark: float | None) -> float | None:
    """100 for a mark of at least 7, else 0; None where none came. Raises UsageError for a mark out of range."""
    checked = commonsense(mark)
    return None if checked is None else 100.0 if checked >= SUCCESS else 0.0


@metrics.register(
    "build_overall", unit="points", better="higher", bounds=(0.0, 100.0), version=1, source="MineAnyBuild, table 1"
)
def overall(
    planning: float, understanding: float, reasoning_percent: float, creativity: float, commonsense: float
) -> float:
    """Of 100: the five kinds of tasks count alike, whatever their numbers. All but reasoning are means of 0 to 10.

    Raises UsageError for a mean out of its range.
    """
    means = (planning, understanding, reasoning_percent / 10, creativity, commonsense)
    if not all(0 <= mean <= HIGHEST for mean in means):
        raise UsageError(
            f"means of 0 to 10 and a percentage are wanted, got {means[:2]}, {reasoning_percent}, {means[3:]}"
        )
    return 10 / len(means) * math.fsum(means)


def mean_of(scores: Sequence[float | None]) -> float | None:
    """Mean over those that there are; None without any. State beside it how many are missing."""
    known = [score for score in scores if score is not None]
    return math.fsum(known) / len(known) if known else None


def _weights(kind: str, weights: Weighting | Mapping[str, float]) -> Mapping[str, float]:
    if isinstance(weights, str):
        if weights not in WEIGHTS:
            raise UsageError(f"no weights '{weights}'; known: {', '.join(WEIGHTS)}")
        if kind not in WEIGHTS[weights]:
            raise UsageError(f"builds are graded in {', '.join(WEIGHTS[weights])}, not in '{kind}'")
        return WEIGHTS[weights][kind]
    if not math.isclose(math.fsum(weights.values()), 1, abs_tol=1e-9) or min(weights.values()) < 0:
        raise UsageError(f"weights add up to 1 and are not negative, got {dict(weights)}")
    return weights


def _mean(weights: Mapping[str, float], grades: Mapping[str, float]) -> float:
    if missing := sorted(set(weights) - set(grades)):
        raise UsageError(f"no grade for {', '.join(missing)}")
    for name in weights:
        if not LOWEST <= grades[name] <= HIGHEST:
            raise UsageError(f"the grade of {name} is {grades[name]}; grades are 1 to 10")
    return math.fsum(weight * grades[name] for name, weight in weights.items())
