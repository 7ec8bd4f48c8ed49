"""How accurate the segmenter behind the scores is, where a suite measured it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from worldgauge.engine.suite.contract import Score, mean_of_known
from worldgauge.report.evidence import Evidence
from worldgauge.report.wording import number

METRIC = "segmenter_accuracy"
"""Share of the recording's pixels labelled as the exact masks do.

Its facts: "iou" by category, "sgcs_against_exact" of the masks on the same frames.
"""


def describe_accuracy(evidence: Evidence) -> str:
    """One sentence on the segmenter's accuracy, as means over trajectories. Empty where it was not measured."""
    scores = list(_scores(evidence))
    share = mean_of_known(score.value for score in scores)
    if share is None:
        return ""
    against = mean_of_known(score.facts.get("sgcs_against_exact") for score in scores)
    tail = f" (SGCS of its masks against exact ones: {number(against, digits=2)})" if against is not None else ""
    return f"The segmenter labels {100 * share:.0f} % of the recording's pixels as the exact masks do{tail}."


def describe_categories(evidence: Evidence) -> str:
    """Mean IoU of every category that occurs, best first; empty where it was not measured."""
    found: dict[str, list[float]] = {}
    for score in _scores(evidence):
        iou: dict[str, Any] = score.facts.get("iou") or {}
        for category, value in iou.items():
            if value is not None:
                found.setdefault(category, []).append(value)
    means = sorted(((mean_of_known(values) or 0.0, category) for category, values in found.items()), reverse=True)
    listed = ", ".join(f"{category} {number(mean, digits=2)}" for mean, category in means)
    return f"Overlap (IoU) of its masks with the exact ones by category: {listed}." if listed else ""


def _scores(evidence: Evidence) -> Iterator[Score]:
    """One score a trajectory: it is of the recording, so the same for every subject."""
    seen = set()
    for run in evidence.runs:
        for task, score in run.by_metric.get(METRIC, {}).items():
            if score.value is not None and task not in seen:
                seen.add(task)
                yield score
