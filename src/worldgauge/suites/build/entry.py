"""One subject of the suite as its tables see it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from worldgauge.core.statistics import balanced_interval, mean_std
from worldgauge.engine.suite.contract import Cell, mean_of_known
from worldgauge.engine.suite.scores import SubjectScores
from worldgauge.engine.suite.tables import cluster_of_score
from worldgauge.suites.build.metrics.scores import overall
from worldgauge.suites.build.scoring import HEADLINE

RATES = ("build_executable", "build_strict", "reasoning_accuracy", "build_commonsense_success")
"""Scores that are 0 or 100, so that their mean is a rate."""


class BuildScores(SubjectScores):
    """One subject, its overall score, and why its row may win nothing."""

    def is_rate(self, metric: str, task: str | None) -> bool:
        """See `SubjectScores`."""
        return metric.rpartition("/")[2] in RATES or (metric == HEADLINE and task == "reasoning")

    def flag(self, kinds: Iterable[str]) -> str:
        """Return why its row wins nothing: a mean over part of the tasks is not a mean over all."""
        wanted = list(kinds)
        if missing := [kind for kind in wanted if not self.expected(kind)]:
            return f"not asked {', '.join(missing)}"
        lost = sum(self.lost(kind) for kind in wanted)
        total = sum(self.expected(kind) for kind in wanted)
        if lost:
            return f"{lost} of {total} tasks failed"
        unknown = [kind for kind in wanted if all(score.value is None for score in self.of(HEADLINE, kind))]
        if not unknown:
            return ""
        why = next((score.reason for score in self.of(HEADLINE, unknown[0]) if score.reason), "")
        return f"no score of {', '.join(unknown)}: {why[:80]}"

    def overall(self, kinds: Sequence[str]) -> Cell:
        """Return the mean of the kinds' means, equally weighted (the paper's overall score)."""
        # In the order of the report's own comparison, so that one page shows one interval.
        scores = [sorted(self.of(HEADLINE, kind), key=lambda one: one.task) for kind in sorted(kinds)]
        parts = [[score.value for score in own] for own in scores]
        means = [mean_of_known(part) for part in parts]
        known = sum(value is not None for part in parts for value in part)
        clusters = [[cluster_of_score(score) for score in own] for own in scores]
        count = len({cluster_of_score(score) for own in scores for score in own if score.value is not None})
        expected = sum(self.expected(kind) for kind in kinds)
        there = [mean for mean in means if mean is not None]
        if len(there) < len(means):
            return Cell(None, None, known, expected=expected, clusters=count)
        interval = balanced_interval(parts, clusters)
        low, high = (None, None) if interval is None else np.clip(interval, 0.0, 100.0).tolist()
        spread = mean_std([value for part in parts for value in part]).std
        method = "" if interval is None else "hall"
        return Cell(overall(there), spread, known, low, high, expected, count, method)
