"""Make tables from scores: cells with intervals, sorted rows, and the minimum detectable effect."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np

from worldgauge.core.statistics import (
    FEWEST_CLUSTERS,
    Sample,
    estimate_all,
    mean_std,
    minimum_detectable_effect,
    paired_differences,
)
from worldgauge.engine.suite.contract import Better, Cell, Score, Table, TableRow

_TRAINED = ("trained", "adapted")
"""Models that `worldgauge train` and `post-train` make."""

_SPEED_NOTES = (
    "Frames are the model's own, at its own rate; the time is that in which it was waited for, so writing and scoring "
    "do not count. Answers to a batch arrive together: their first frame is as late as their last.",
    "GPU memory is the most that tensors took during an answer, where the model uses torch or its server tells it.",
    "Speeds of different machines, and of workers that share one, cannot be compared.",
)


def score_cell(scores: Sequence[Score], bounds: tuple[float, float], expected: int | None = None) -> Cell:
    """Mean, population standard deviation, count and 95% interval of scores, within the metric's possible `bounds`."""
    (cell,) = score_cells([scores], bounds)
    return cell if expected is None else replace(cell, expected=expected)


def score_cells(groups: Iterable[Sequence[Score]], bounds: tuple[float, float]) -> list[Cell]:
    """`score_cell` of each group; see `make_cells`."""
    return make_cells(
        [([score.value for score in own], [cluster_of_score(score) for score in own]) for own in groups], bounds
    )


def make_cell(
    values: Iterable[float | None],
    bounds: tuple[float, float],
    expected: int | None = None,
    *,
    clusters: Iterable[str] | None = None,
) -> Cell:
    """Mean, population standard deviation, count and 95% interval of values.

    Missing and infinite values are counted but not averaged.
    """
    values = list(values)
    names = [str(place) for place in range(len(values))] if clusters is None else list(clusters)
    (cell,) = make_cells([(values, names)], bounds)
    return cell if expected is None else replace(cell, expected=expected)


def make_cells(
    groups: Iterable[tuple[Sequence[float | None], Sequence[str]]], bounds: tuple[float, float]
) -> list[Cell]:
    """`make_cell` of each group of values with their clusters: the cells of a table in a fraction of the time."""
    asked, totals, samples = [], [], []
    for values, names in groups:
        pairs = zip(values, names, strict=True)
        known = [(value, name) for value, name in pairs if value is not None and math.isfinite(value)]
        numbers = [value for value, _ in known]
        asked.append(len(values))
        totals.append(mean_std(numbers))
        samples.append(Sample.of([numbers], [[name for _, name in known]]))
    filled = iter(estimate_all([sample for sample in samples if sample.n]))
    cells = []
    for expected, total, sample in zip(asked, totals, samples, strict=True):
        interval = next(filled).interval if sample.n else None
        low, high = (None, None) if interval is None else (min(bounds[1], max(bounds[0], x)) for x in interval)
        method = "" if interval is None else "hall"
        clusters = len(sample.counts)
        cells.append(Cell(*total, low, high, expected=expected, clusters=clusters, method=method))
    return cells


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
    """Cluster of each task."""
    return {score.task: cluster_of_score(score) for own in scores.values() for score in own}


def sort_rows(rows: Sequence[TableRow], better: Better, column: int = -1) -> list[TableRow]:
    """Sort rows by one column, best first. Flagged rows follow the others; rows without a mean come last."""
    sign = 1 if better == "lower" else -1

    def key(row: TableRow) -> tuple[bool, bool, float, str]:
        mean = row.cells[column].mean
        return mean is None, bool(row.flag), sign * mean if mean is not None else 0.0, row.label

    return sorted(rows, key=key)


def detectable_note(
    values: Mapping[str, Mapping[str, float | None]],
    kinds: Mapping[str, str],
    tasks: str,
    clusters: Mapping[str, str] = MappingProxyType({}),
    bounds: tuple[float, float] = (0.0, math.inf),
) -> str:
    """The line below a table that gives the minimum detectable effect of its comparison."""
    pairs = pairs_with_models([kinds.get(label, "subject") for label in values])
    smallest = detectable_effect(values, clusters, pairs=pairs, bounds=bounds)
    if smallest is None:
        return (
            f"Minimum detectable effect: none. A test needs {FEWEST_CLUSTERS} clusters of {tasks} that two rows share, "
            "and differences that vary."
        )
    tested = "the only pair" if len(pairs) == 1 else f"{len(pairs)} pairs"
    return (
        f"Minimum detectable effect: {smallest:.3g} (80 % power, 5 % level, corrected for {tested}; median over pairs)."
    )


def pairs_with_models(kinds: Sequence[str]) -> list[tuple[int, int]]:
    """Places of the pairs of rows that are tested: those with a model; all pairs if all rows are baselines."""
    pairs = list(combinations(range(len(kinds)), 2))
    return [(a, b) for a, b in pairs if "subject" in (kinds[a], kinds[b])] or pairs


def detectable_effect(
    values: Mapping[str, Mapping[str, float | None]],
    clusters: Mapping[str, str] = MappingProxyType({}),
    *,
    pairs: Sequence[tuple[int, int]] | None = None,
    bounds: tuple[float, float] = (0.0, math.inf),
) -> float | None:
    """Minimum detectable effect of tests that are corrected together: the median over the pairs."""
    known = [
        {task: value for task, value in own.items() if value is not None and math.isfinite(value)}
        for own in values.values()
    ]
    found = paired_differences(known, cluster=clusters, pairs=pairs, bounds=bounds)
    testable = ~np.isnan(found.p) & (found.error > 0)
    if not testable.any():
        return None
    effects = minimum_detectable_effect(found.error[testable], found.degrees[testable], tests=len(found.p))
    return float(np.median(effects))


def with_seen(tables: Sequence[Table], runs: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Tables that say of each trained row how many of the scenes it was trained on, or that this is not known.

    A row that was trained on some is also flagged, in red, so that it wins nothing.
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
    """What is known of the scenes that trained models have seen, such as "trained on none of these 8 scenes"."""
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
    """A line below a table: what `told_scenes` gave, those of whom the same is known together."""
    labels: dict[str, list[str]] = {}
    for label, text in told.items():
        labels.setdefault(text, []).append(label)
    line = "; ".join(f"{', '.join(own)}: {text}" for text, own in labels.items())
    return f"{line}."


def speed_table(measured: Mapping[str, Sequence[Mapping[str, Any] | None]], kinds: Mapping[str, str]) -> Table | None:
    """The table of speeds, one row per subject."""
    rows = []
    for label, tasks in measured.items():
        if not any(tasks):
            continue
        columns = (
            [one["first_s"] for one in tasks if one],
            [one["frames"] / one["seconds"] for one in tasks if one and one["seconds"] > 0],
            [one["gpu_peak_bytes"] / 1e9 for one in tasks if one and one["gpu_peak_bytes"] is not None],
        )
        cells = tuple(make_cell(values, (0.0, math.inf), len(tasks)) for values in columns)
        rows.append(TableRow(label, cells, "reference" if kinds[label] == "reference" else "subject"))
    if not rows:
        return None
    return Table(
        "speed",
        "Speed",
        "1",
        "neither",
        ("first frame (s)", "frames/s", "peak GPU memory (GB)"),
        tuple(rows),
        _SPEED_NOTES,
        ("lower", "higher", "lower"),
    )
