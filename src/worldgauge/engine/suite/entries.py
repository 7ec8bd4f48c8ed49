"""One subject of a suite of several kinds of tasks, as its tables see it: scores by name, and the tasks that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from worldgauge.core.statistics import wilson
from worldgauge.engine.suite.contract import Better, Cell, Failure, Score
from worldgauge.engine.suite.tables import cell_of
from worldgauge.metrics import metrics


class Entry:
    """headline: name of the score that every task has. The key "task" of a task's group names its kind."""

    def __init__(
        self, label: str, kind: str, scores: Sequence[Score], failed: Sequence[Failure], *, headline: str
    ) -> None:
        self.label = label
        self.kind: Literal["subject", "reference"] = "reference" if kind == "reference" else "subject"
        self.failed = failed
        self._headline = headline
        self._by_metric: dict[str, list[Score]] = {}
        for score in scores:
            self._by_metric.setdefault(score.metric, []).append(score)

    def of(self, metric: str, task: str | None = None, **group: object) -> list[Score]:
        """Its scores of one metric, of a kind of task, of a group; all where nothing is said."""
        return [
            score
            for score in self._by_metric.get(metric, ())
            if task in (None, score.group["task"]) and all(score.group.get(key) == one for key, one in group.items())
        ]

    def lost(self, task: str | None = None) -> int:
        """Tasks of a kind that failed; told by the task's id, since a damaged record has no group."""
        return sum(task in (None, failure.task.partition("/")[0]) for failure in self.failed)

    def expected(self, task: str) -> int:
        """Tasks of a kind that were asked."""
        return len(self.of(self._headline, task)) + self.lost(task)

    def cell(self, metric: str, task: str | None = None, **group: object) -> Cell:
        """Mean over tasks; of a rate with Wilson's interval."""
        values = [score.value for score in self.of(metric, task, **group)]
        expected = len(values) + (0 if group else self.lost(task))
        cell = cell_of(values, declared(metric)[2], expected=expected)
        if cell.n and self.is_rate(metric, task):
            interval = wilson(sum(value == 100.0 for value in values), cell.n)
            assert interval is not None
            return Cell(cell.mean, cell.std, cell.n, 100 * interval.low, 100 * interval.high, expected)
        return cell

    def is_rate(self, metric: str, task: str | None) -> bool:
        """Whether scores are 0 or 100 by nature, and their mean a rate; a suite says which."""
        return False


def declared(metric: str) -> tuple[str, Better, tuple[float, float]]:
    """Unit, direction and bounds of a score's metric."""
    facts = metrics.entry(metric.rpartition("/")[2]).facts
    low, high = facts["bounds"]
    return facts["unit"], facts["better"], (low, high)
