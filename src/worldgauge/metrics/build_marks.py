"""Marks of any kind of task on one scale, and single grades of a critic."""

from __future__ import annotations

from worldgauge.errors import UsageError
from worldgauge.metrics import metrics

FULL = 10.0


@metrics.register(
    "full_marks",
    unit="%",
    better="higher",
    bounds=(0.0, 100.0),
    version=1,
    source="MineAnyBuild, 4.1",
)
def full_marks(points: float | None) -> float | None:
    """Points of 10 in percent of full marks; None where there are none. The mean over kinds is the overall score.

    Raises UsageError for points out of range.
    """
    if points is not None and not 0 <= points <= FULL:
        raise UsageError(f"{points} points cannot be; give 0 to 10")
    return None if points is None else 100 * points / FULL


@metrics.register(
    "build_grade", unit="points", better="higher", bounds=(1.0, 10.0), version=1, source="MineAnyBuild, 3.3"
)
def build_grade(grade: float) -> float:
    """A critic's grade in one dimension. Raises UsageError for one out of range."""
    if not 1 <= grade <= FULL:
        raise UsageError(f"a grade of {grade} cannot be; grades are 1 to 10")
    return float(grade)
