"""Scores made of records: unit and direction come from where the metric is declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from worldgauge.engine.suite.contract import Record, Score, mean_of
from worldgauge.metrics import metrics

Series = Sequence[tuple[int, float | None]]


def score_of(
    record: Record,
    metric: str,
    value: float | None,
    *,
    n: int = 1,
    reason: str | None = None,
    series: Series = (),
    facts: Mapping[str, Any] | None = None,
    prefix: str = "",
) -> Score:
    """A score of `record` for a registered metric. Without a value there must be a reason.

    prefix: "lcm/" of the score's name, where one metric is taken of several tests that are never averaged together.
    """
    declared = metrics.entry(metric).facts
    return Score(
        task=record.task.id,
        metric=prefix + metric,
        value=value,
        unit=declared["unit"],
        better=declared["better"],
        n=n if value is not None else 0,
        reason=reason,
        series=tuple(series),
        group=record.task.group,
        facts=facts or {},
    )


def mean_score(
    record: Record,
    metric: str,
    series: Series,
    *,
    reason: str = "no frame has a value",
    prefix: str = "",
    **facts: Any,
) -> Score:
    """The mean over the frames of `series` that have a value; None with `reason` when none has."""
    known = [value for _, value in series if value is not None]
    value = mean_of(known)
    why = None if known else reason
    return score_of(record, metric, value, n=len(known), reason=why, series=series, facts=facts, prefix=prefix)
