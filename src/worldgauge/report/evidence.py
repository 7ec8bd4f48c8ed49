"""The runs that a report compares, with their scores and the endings of their tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from worldgauge.core.model import PRIVILEGED
from worldgauge.engine.result import TaskCounts
from worldgauge.engine.suite.contract import Failure, Score
from worldgauge.engine.suite.tables import clusters_by_task


@dataclass(frozen=True)
class TaskEnding:
    """How one task of a run ended.

    Attributes:
        task: Id of the task.
        end: Ending, from `engine.result.task_ending`.
        reason: One line. Empty when the task is scored.
    """

    task: str
    end: str
    reason: str = ""


@dataclass(frozen=True)
class ComparedRun:
    """One run: a subject and everything it did.

    Attributes:
        label: Name in the report, unique.
        subject: Label of the subject in its run folder.
        source: Where the model comes from, such as its registered name.
        kind: "subject" or "reference".
        sees: Inputs that it got in addition to frames and controls ("depth", "truth", "world").
        context: Number of frames that it could see. None when that was not limited.
        facts: Content of run.json.
        directory: The run folder.
        scores: All its scores.
        outcomes: How each task ended.
        rollouts: Video by task id.
        failed: Tasks without scores.
        speeds: What was measured of the answers, for each task with a record (`engine.result.list_speeds`).
        bridges: Facts of the rate bridges of its records (`engine.result.list_bridges`).
        told: Number of notes of the model in each record (`engine.result.list_told`).
        fps: Rate of its own, in frames per second. None for any.
    """

    label: str
    subject: str
    source: str
    kind: Literal["subject", "reference"]
    sees: tuple[str, ...]
    context: int | None
    facts: Mapping[str, Any]
    directory: Path
    scores: tuple[Score, ...]
    outcomes: tuple[TaskEnding, ...]
    rollouts: Mapping[str, Path]
    failed: tuple[Failure, ...] = ()
    speeds: tuple[Mapping[str, Any] | None, ...] = ()
    bridges: tuple[Mapping[str, Any], ...] = ()
    told: tuple[int, ...] = ()
    fps: float | None = None

    @cached_property
    def by_metric(self) -> Mapping[str, Mapping[str, Score]]:
        """Scores by metric and task."""
        table: dict[str, dict[str, Score]] = {}
        for score in self.scores:
            table.setdefault(score.metric, {})[score.task] = score
        return table

    def values(self, metric: str) -> Mapping[str, float]:
        """Values of a metric by task, for tasks that have one."""
        return self._values.get(metric, {})

    @cached_property
    def _values(self) -> Mapping[str, Mapping[str, float]]:
        return {
            metric: {task: score.value for task, score in scores.items() if score.value is not None}
            for metric, scores in self.by_metric.items()
        }

    @property
    def counts(self) -> TaskCounts:
        """How its tasks ended."""
        return TaskCounts.of(outcome.end for outcome in self.outcomes)

    @cached_property
    def whoever(self) -> dict[str, Any] | None:
        """Identity of the subject, whatever it is shown. None where the run does not tell it."""
        identity = self.facts["subject"].get("identity")
        if identity is None:
            return None
        settings = {
            name: value for name, value in identity.get("settings", {}).items() if name not in ("shown", "context")
        }
        return {**identity, "max_context": None, "settings": settings}

    @property
    def is_truth(self) -> bool:
        """Whether it is the reference that returns the hidden frames unchanged.

        Other references that see them change them.
        """
        return self.source == "truth" and "truth" in self.sees and self.fps is None

    @property
    def privileged(self) -> bool:
        """Whether it saw what a model under test must not see."""
        return not PRIVILEGED.isdisjoint(self.sees)


@dataclass(frozen=True)
class Evidence:
    """All runs of one report: models under test first, then references, each in its given order.

    Attributes:
        suite: Name of the suite.
        settings: Settings of the first run.
        runs: The runs, in the order of the page.
        notes: What a reader must know before comparing them.
    """

    suite: str
    settings: Mapping[str, Any]
    runs: tuple[ComparedRun, ...]
    notes: tuple[str, ...] = ()

    @property
    def labels(self) -> list[str]:
        """Names on the page, unique."""
        return [run.label for run in self.runs]

    def __getitem__(self, label: str) -> ComparedRun:
        return next(run for run in self.runs if run.label == label)

    @cached_property
    def metrics(self) -> list[str]:
        """All metrics, in the order of the scores."""
        return list(dict.fromkeys(score.metric for e in self.runs for score in e.scores))

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """Group of each task, sorted by table cell, with numbers in numeric order."""
        found = {score.task: score.group for e in self.runs for score in e.scores}
        return dict(sorted(found.items(), key=lambda item: (_natural(cell_of(item[1])), _natural(item[0]))))

    @cached_property
    def clusters(self) -> Mapping[str, str]:
        """Cluster of each task."""
        return clusters_by_task({run.label: run.scores for run in self.runs})

    def shown_less(self, run: ComparedRun) -> ComparedRun | None:
        """The same model shown fewer frames: by its setting "shown" or "context", or by that of the run.

        Args:
            run: A run of this report.

        Returns:
            The run with the fewest frames. None where there is none.
        """
        less = [
            other
            for other in self.runs
            if other.context is not None
            and (run.context is None or other.context < run.context)
            and run.whoever is not None
            and other.whoever == run.whoever
        ]
        return min(less, key=lambda other: other.context or 0, default=None)

    def has(self, metric: str) -> bool:
        """Whether any subject has a value of `metric`."""
        return any(run.values(metric) for run in self.runs)

    def sample(self, metric: str) -> Score | None:
        """Any score of `metric`, for its unit and direction. None where there is none."""
        return next((s for e in self.runs for s in e.by_metric.get(metric, {}).values()), None)


def cell_of(group: Mapping[str, Any]) -> str:
    """The table column of a task's group, such as "ABA 5"."""
    return _values(group, keys_of(group)) or "all"


def columns_by(groups: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> list[str] | None:
    """The keys of the groups that a table's columns are made of.

    Args:
        groups: Groups of the tasks in the table.
        columns: Names of the columns. Further columns, such as one over all tasks, are allowed.

    Returns:
        The smallest choice of keys. None where no choice of up to two fits.
    """
    known = list(groups)
    if not known:
        return None
    shared = [key for key in known[0] if all(key in group for group in known)]
    for count in (1, 2):
        for keys in combinations(shared, count):
            if all(_values(group, keys) in columns for group in known):
                return list(keys)
    return None


def _values(group: Mapping[str, Any], keys: Iterable[str]) -> str:
    return " ".join(str(group[key]) for key in keys)


def keys_of(group: Mapping[str, Any]) -> list[str]:
    """The keys that table columns are made of: type and range, or all except the location."""
    pair = ["type", "range"]
    if all(key in group for key in pair):
        return pair
    # What kind of task it is comes before what is particular to it.
    return sorted((key for key in group if key != "location"), key=lambda key: key != "task")


def _natural(text: str) -> list[tuple[int, int, str]]:
    """A sort key in which 5 comes before 15."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", text) if part]


def unique_labels(names: Sequence[str], marks: Sequence[Iterable[str]]) -> list[str]:
    """Make names unique with the first kind of mark that distinguishes them, else with a number.

    Args:
        names: The names.
        marks: Marks of each name, of the same kinds in the same order.

    Returns:
        Unique names.
    """
    labels = list(names)
    descriptions = [tuple(mark) for mark in marks]
    for name in {n for n in names if names.count(n) > 1}:
        twins = [i for i, n in enumerate(names) if n == name]
        columns = list(zip(*(descriptions[i] for i in twins), strict=True))
        telling = [k for k, column in enumerate(columns) if len(set(column)) > 1]
        for number, i in enumerate(twins, 1):
            words = [descriptions[i][k] for k in telling]
            labels[i] = f"{name} {' '.join(words)}" if words else f"{name} #{number}"
    for i, text in enumerate(labels):
        if labels.index(text) != i:
            labels[i] = f"{text} #{i + 1}"
    return labels
