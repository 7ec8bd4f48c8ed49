"""Scores of builds from grades: weighted means, additions to them, and the overall score of an agent.

All are between 0 and 10, except full marks and the overall score (percent). A plan that cannot be built scores 0; one
without any grade has no score, which is not 0. Source: MineAnyBuild, sections 3.3 and 4.1, table 1, and its released
code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from worldgauge.core.errors import UsageError
from worldgauge.metrics._registry import metric

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
"""Weight of the matching or voting score in the comprehensive one."""
SUCCESS = 7.0
"""Least mark of an answer of commonsense that counts as a success; the code tests >= 7, its comment says > 7."""
LOWEST, HIGHEST = 1.0, 10.0
"""Of a critic's grade; 10 are full marks in every kind of task."""

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
    """Return our name of a dimension that the paper or its code spells otherwise; None if it is not a dimension."""
    return _DIMENSIONS.get(re.sub(r"[^a-z]", "", name[:200].lower()))


@metric("build_grade", unit="points", better="higher", bounds=(1.0, 10.0), version=1, source="MineAnyBuild, 3.3")
def build_grade(grade: float) -> float:
    """Return a critic's grade in one dimension, 1 to 10.

    Raises:
        UsageError: If it is out of range.
    """
    if not LOWEST <= grade <= HIGHEST:
        raise UsageError(f"a grade of {grade} cannot be; grades are 1 to 10")
    return float(grade)


@metric("build_evaluation", unit="points", better="higher", bounds=(0.0, 10.0), version=1, source="MineAnyBuild, 3.3")
def evaluation(
    kind: str,
    executable: bool,
    grades: Mapping[str, float] | None,
    *,
    weights: Weighting | Mapping[str, float] = "paper",
) -> float | None:
    """Return the weighted mean of a critic's grades; 0 for what cannot be built.

    Args:
        kind: Kind of task.
        executable: Whether the answer can be built.
        grades: 1 to 10 by dimension; None if there are none, and then there is no score.
        weights: The paper's, those of its code, or by dimension.

    Raises:
        UsageError: If grades are missing or out of range, or weights do not sum to 1.
    """
    own = _weights(kind, weights)
    if not executable:
        return 0.0
    return None if grades is None else _mean(own, grades)


@metric(
    "build_graded", unit="points", better="higher", bounds=(1.0, 10.0), version=1, source="MineAnyBuild, released code"
)
def graded_only(
    kind: str,
    executable: bool,
    grades: Mapping[str, float] | None,
    *,
    weights: Weighting | Mapping[str, float] = "paper",
) -> float | None:
    """Return `evaluation`, but None for what cannot be built: the released code leaves failures out of its means.

    Args:
        kind: Kind of task.
        executable: Whether the answer can be built.
        grades: As of `evaluation`.
        weights: As of `evaluation`.
    """
    return evaluation(kind, executable, grades, weights=weights) if executable else None


@metric(
    "build_comprehensive", unit="points", better="higher", bounds=(0.0, 10.0), version=1, source="MineAnyBuild, 3.3"
)
def comprehensive(executable: bool, evaluated: float | None, on_top: float | None) -> float | None:
    """Return 0.95 of the evaluation score plus 0.05 of the matching or, for creativity, voting score.

    Args:
        executable: Whether the answer can be built.
        evaluated: Evaluation score, 0 to 10.
        on_top: Matching or voting score, 0 to 10.

    Returns:
        0 for what cannot be built, None if either score is missing.
    """
    if not executable:
        return 0.0
    return None if evaluated is None or on_top is None else (1 - ON_TOP) * evaluated + ON_TOP * on_top


@metric("build_commonsense", unit="points", better="higher", bounds=(0.0, 10.0), version=2, source="MineAnyBuild, 3.3")
def commonsense(mark: float | None) -> float | None:
    """Return a judge's mark of an answer, 0 to 10; None without a mark.

    Raises:
        UsageError: If it is out of range.
    """
    if mark is not None and not 0 <= mark <= HIGHEST:
        raise UsageError(f"a mark of {mark} cannot be; marks are 0 to 10")
    return None if mark is None else float(mark)


@metric(
    "build_commonsense_success",
    unit="%",
    better="higher",
    bounds=(0.0, 100.0),
    version=2,
    source="MineAnyBuild, released code",
)
def commonsense_success(mark: float | None) -> float | None:
    """Return 100 for a mark of at least 7, else 0; None without a mark.

    Raises:
        UsageError: If it is out of range.
    """
    checked = commonsense(mark)
    return None if checked is None else 100.0 if checked >= SUCCESS else 0.0


@metric("full_marks", unit="%", better="higher", bounds=(0.0, 100.0), version=2, source="MineAnyBuild, 4.1")
def full_marks(points: float | None) -> float | None:
    """Return points of 10, for any kind of task, in percent; None without points.

    Raises:
        UsageError: If they are out of range.
    """
    if points is not None and not 0 <= points <= HIGHEST:
        raise UsageError(f"{points} points cannot be; give 0 to 10")
    return None if points is None else 100 * points / HIGHEST


@metric("build_overall", unit="points", better="higher", bounds=(0.0, 100.0), version=1, source="MineAnyBuild, table 1")
def overall(marks: Sequence[float]) -> float:
    """Return the overall score of 100: the mean of the kinds' full marks, equally weighted.

    In the paper, with all five kinds: 10 / 5 of the sum of four means of 0 to 10 and of reasoning's accuracy / 10.

    Args:
        marks: Percent, one per kind.

    Raises:
        UsageError: Without kinds, or if marks are out of range.
    """
    if not marks or not all(0 <= mark <= 100 for mark in marks):
        raise UsageError(f"the overall score is of means of 0 to 100, one a kind of task; got {list(marks)}")
    return math.fsum(marks) / len(marks)


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
    return math.fsum(weight * build_grade(grades[name]) for name, weight in weights.items())
