"""Make scores from records, and select the scores of one subject for tables. Units come from the metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from worldgauge.core.statistics import rate_interval
from worldgauge.engine.suite.contract import Better, Cell, Failure, Record, Score, mean_of_known
from worldgauge.engine.suite.tables import cluster_of_score, score_cell
from worldgauge.metrics._registry import metrics

Series = Sequence[tuple[int, float | None]]


def make_score(
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
    """Make a score of a record for a registered metric.

    Args:
        record: The record.
        metric: Registered name of the metric.
        value: The value. None requires a `reason`.
        n: Number of frames that the value is a mean over.
        reason: Why the value is missing.
        series: Pairs of frame index and value or None.
        facts: Plain JSON values needed for variants and aggregation.
        prefix: Prefix of the score's name, such as "lcm/". For a metric that is used in several tests whose scores are
            never averaged together.

    Returns:
        The score.
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


def make_mean_score(
    record: Record,
    metric: str,
    series: Series,
    *,
    reason: str = "no frame has a value",
    prefix: str = "",
    **facts: Any,
) -> Score:
    """Make a score from the mean over the frames that have a value.

    Args:
        record: The record.
        metric: Registered name of the metric.
        series: Pairs of frame index and value or None.
        reason: Why the value is missing, where no frame has one.
        prefix: Prefix of the score's name, as for `make_score`.
        **facts: Plain JSON values needed for variants and aggregation.

    Returns:
        The score.
    """
    known = [value for _, value in series if value is not None]
    value = mean_of_known(known)
    why = None if known else reason
    return make_score(record, metric, value, n=len(known), reason=why, series=series, facts=facts, prefix=prefix)


class SubjectScores:
    """The scores and failed tasks of one subject, for the tables of a suite with several kinds of tasks.

    The key "task" of a task's group names its kind.

    Args:
        label: Label of the subject.
        kind: "subject" or "reference".
        scores: All its scores.
        failed: Its tasks without scores.
        headline: Name of the score that every task has.
    """

    def __init__(
        self, label: str, kind: str, scores: Sequence[Score], failed: Sequence[Failure], *, headline: str
    ) -> None:
        self.label = label
        self.kind: Literal["subject", "reference"] = "reference" if kind == "reference" else "subject"
        self.failed = failed
        self._headline = headline
        self._by_kind: dict[tuple[str, object], list[Score]] = {}
        for score in scores:
            for task in (None, score.group["task"]):
                self._by_kind.setdefault((score.metric, task), []).append(score)

    def of(self, metric: str, task: str | None = None, **group: object) -> list[Score]:
        """Scores of one metric."""
        scores = self._by_kind.get((metric, task), [])
        if not group:
            return list(scores)
        return [score for score in scores if all(score.group.get(key) == one for key, one in group.items())]

    def lost(self, task: str | None = None) -> int:
        """Number of failed tasks of a kind. The kind comes from the task's id, since a damaged record has no group."""
        return sum(task in (None, failure.task.partition("/")[0]) for failure in self.failed)

    def expected(self, task: str) -> int:
        """Number of tasks of a kind that were asked."""
        return len(self.of(self._headline, task)) + self.lost(task)

    def cell(self, metric: str, task: str | None = None, **group: object) -> Cell:
        """Mean over tasks for a table, with the interval of their clusters. A rate gets Wilson's interval."""
        scores = self.of(metric, task, **group)
        cell = score_cell(scores, metric_facts(metric)[2], len(scores) + (0 if group else self.lost(task)))
        if cell.n and self.is_rate(metric, task):
            ended = [None if score.value is None else score.value == 100.0 for score in scores]
            interval = rate_interval(ended, map(cluster_of_score, scores))
            assert interval is not None
            return replace(cell, low=100 * interval.low, high=100 * interval.high, method="wilson")
        return cell

    def is_rate(self, metric: str, task: str | None) -> bool:
        """Whether scores are always 0 or 100, so that their mean is a rate. False by default; suites override it."""
        return False


def metric_facts(metric: str) -> tuple[str, Better, tuple[float, float]]:
    """Unit, direction and bounds of the metric of a score."""
    facts = metrics.entry(metric.rpartition("/")[2]).facts
    low, high = facts["bounds"]
    return facts["unit"], facts["better"], (low, high)
