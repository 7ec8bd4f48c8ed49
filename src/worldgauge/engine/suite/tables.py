"""Make tables from scores: cells with intervals, sorted rows, and the smallest difference that can be resolved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from worldgauge.core.statistics import (
    Sample,
    interval_of_sample,
    mean_std,
    method_of_sample,
    paired_means,
    resolvable_differences,
)
from worldgauge.engine.suite.contract import Better, Cell, Score, Table, TableRow

FEWEST_CLUSTERS = 8
"""Fewest shared clusters for which the told difference is found about as often as it says: sign flips of 6, whose p is
0.03 or over 0.06, find it in 6 of 10 runs."""
_BOOTSTRAP_SEED = 20250522
_TRAINED = ("trained", "adapted")
"""Models that `worldgauge train` and `post-train` make."""


def score_cell(scores: Sequence[Score], bounds: tuple[float, float], expected: int | None = None) -> Cell:
    """Mean, population standard deviation, count and 95% interval of scores, whose clusters are resampled.

    Args:
        scores: One score for each task.
        bounds: Smallest and largest possible value of the metric. They limit the interval.
        expected: Number of values that there should be, by default the number of `scores`.

    Returns:
        The cell.
    """
    return make_cell([score.value for score in scores], bounds, expected, clusters=map(cluster_of_score, scores))


def make_cell(
    values: Iterable[float | None],
    bounds: tuple[float, float],
    expected: int | None = None,
    *,
    clusters: Iterable[str] | None = None,
) -> Cell:
    """Mean, population standard deviation, count and 95% bootstrap interval of values.

    Missing and infinite values are counted but not averaged.

    Args:
        values: Numbers, or None where a value is missing.
        bounds: Smallest and largest possible value of the metric. They limit the interval.
        expected: Number of values that there should be, by default the number of `values`.
        clusters: Cluster of each value. By default every value is independent of the others.

    Returns:
        The cell.
    """
    values = list(values)
    names = [str(place) for place in range(len(values))] if clusters is None else list(clusters)
    pairs = zip(values, names, strict=True)
    known = [(value, name) for value, name in pairs if value is not None and math.isfinite(value)]
    numbers, own = [value for value, _ in known], [name for _, name in known]
    total = mean_std(numbers)
    sample = Sample.of([numbers], [own])
    interval = interval_of_sample(sample, rng=_BOOTSTRAP_SEED)
    low, high = (None, None) if interval is None else (min(bounds[1], max(bounds[0], float(x))) for x in interval)
    asked = len(values) if expected is None else expected
    method = "" if interval is None else method_of_sample(sample)
    return Cell(total.mean, total.std, total.n, low, high, expected=asked, clusters=len(sample.counts), method=method)


def cluster_of_score(score: Score) -> str:
    """Cluster of the task of a score; the task itself where it stands alone."""
    return score.cluster or score.task


def by_metric(scores: Iterable[Score]) -> dict[str, list[Score]]:
    """Scores by metric, in their order."""
    found: dict[str, list[Score]] = {}
    for score in scores:
        found.setdefault(score.metric, []).append(score)
    return found


def clusters_by_task(scores: Mapping[str, Iterable[Score]]) -> dict[str, str]:
    """Cluster of each task.

    Args:
        scores: Scores by subject.

    Returns:
        The clusters by task id.
    """
    return {score.task: cluster_of_score(score) for own in scores.values() for score in own}


def sort_rows(rows: Sequence[TableRow], better: Better, column: int = -1) -> list[TableRow]:
    """Sort rows by one column, best first. Flagged rows follow the others; rows without a mean come last.

    Args:
        rows: The rows.
        better: Direction of better values.
        column: Index of the column.

    Returns:
        The sorted rows.
    """
    sign = 1 if better == "lower" else -1

    def key(row: TableRow) -> tuple[bool, bool, float, str]:
        mean = row.cells[column].mean
        return mean is None, bool(row.flag), sign * mean if mean is not None else 0.0, row.label

    return sorted(rows, key=key)


def resolution_note(
    values: Mapping[str, Mapping[str, float | None]], tasks: str, clusters: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The line below a table that gives the smallest difference that the data set can resolve.

    Args:
        values: Values by subject and task id, for two or more subjects.
        tasks: What the tasks are called, in the plural.
        clusters: Cluster of each task; a task that it lacks stands alone.

    Returns:
        The line.
    """
    smallest = smallest_difference(values, clusters)
    needed = f"{FEWEST_CLUSTERS} {tasks} that two subjects share" + (", in as many clusters" if clusters else "")
    return "The smallest difference between two subjects that this set could resolve (80% power, 5% level) " + (
        f"is about {smallest:.3g}, the median over pairs of subjects."
        if smallest
        else f"cannot be estimated: it takes {needed}."
    )


def smallest_difference(
    values: Mapping[str, Mapping[str, float | None]], clusters: Mapping[str, str] = MappingProxyType({})
) -> float | None:
    """Smallest difference between two subjects that a data set can resolve: the median over pairs of subjects.

    Args:
        values: Values by subject and task id.
        clusters: Cluster of each task; a task that it lacks stands alone.

    Returns:
        The paired difference. None where no pair shares FEWEST_CLUSTERS clusters.
    """
    known = [
        {task: value for task, value in own.items() if value is not None and math.isfinite(value)}
        for own in values.values()
    ]
    pairs = paired_means(known, cluster=clusters)
    told = (pairs.clusters >= FEWEST_CLUSTERS) & np.isfinite(pairs.error)
    found = resolvable_differences(pairs.error[told], pairs.degrees[told])
    return float(np.median(found)) if len(found) else None


def with_seen(tables: Sequence[Table], runs: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Tables that say of each trained row how many of the scenes it was trained on, or that this is not known.

    A row that was trained on some is also flagged, in red, so that it wins nothing.

    Args:
        tables: The tables.
        runs: Content of run.json by subject.
    """
    told = told_scenes(runs)
    if not told:
        return list(tables)
    said = {label: text for label, text in told.items() if _count(runs[label].get("trained_on"), "seen")}
    alarms = tuple(f"{label} was {text}: its numbers are no test." for label, text in said.items())
    note = scenes_note(told)
    return [
        replace(
            table,
            rows=tuple(
                replace(row, flag=", ".join(filter(None, [row.flag, said.get(row.label)]))) for row in table.rows
            ),
            notes=(*table.notes, note),
            alarms=(*table.alarms, *alarms),
        )
        for table in tables
    ]


def told_scenes(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What is known of the scenes that trained models have seen, such as "trained on none of these 8 scenes".

    Args:
        runs: Content of run.json by subject.

    Returns:
        A text for each model that was trained by worldgauge, or that tells its scenes; none for others.
    """
    found = {}
    for label, facts in runs.items():
        known = facts.get("trained_on")
        seen, scenes, unknown, unplaced = (
            _count(known, name) for name in ("seen", "scenes", "unknown", "unplaced_clips")
        )
        if not scenes:
            source = facts.get("subject", {}).get("identity", {}).get("source")
            if known is not None or source in _TRAINED:
                found[label] = "not known whether it was trained on these scenes"
            continue
        lacking = f"; those of {unknown} tasks are not known" if unknown else ""
        lacking += f"; the scenes of {unplaced} clips that it was trained on are not known" if unplaced else ""
        found[label] = f"trained on {seen or 'none'} of these {scenes} scenes{lacking}"
    return found


def _count(known: Any, name: str) -> int:
    """A number of what a run.json tells of scenes, which anybody may have written; 0 where there is none."""
    value = known.get(name) if isinstance(known, Mapping) else None
    return value if type(value) is int and value > 0 else 0


def scenes_note(told: Mapping[str, str]) -> str:
    """A line below a table: what `told_scenes` gave, those of whom the same is known together.

    Args:
        told: A text for each row.
    """
    labels: dict[str, list[str]] = {}
    for label, text in told.items():
        labels.setdefault(text, []).append(label)
    line = "; ".join(f"{', '.join(own)}: {text}" for text, own in labels.items())
    return f"{line}."
