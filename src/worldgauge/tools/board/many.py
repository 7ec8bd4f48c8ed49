"""Ranks of more results than random sign flips can order: Student's paired test over clusters, for all pairs at once.

A report tests pairs by 10,000 random sign flips, so no p-value is below 1/10,001, and corrected for the pairs of more
than 32 results none is below 0.05. A board may be longer. There the paired test is Student's t with the standard error
of clusters, whose p-values have no such end; it is also a hundred times faster.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from worldgauge.core.statistics import LEVEL, Sample, holm, rank_ranges
from worldgauge.report.compare import Comparison, Difference, Standing, compare
from worldgauge.report.evidence import Evidence

MOST_BY_SIGN_FLIPS = 32


def compare_many(
    evidence: Evidence,
    metric: str,
    *,
    higher: bool,
    bounds: tuple[float, float],
    flags: Mapping[str, str],
    balanced: str = "",
) -> Comparison:
    """Compare all results that have a finite value of a metric, p-values corrected for all pairs (Holm).

    Args:
        evidence: The compared runs.
        metric: Name of the metric.
        higher: Whether higher values are better.
        bounds: Smallest and largest possible value. Intervals are cut there.
        flags: Why a result cannot win, by label. It has no place.
        balanced: Key of the tasks' groups whose values have equal weight. Empty for none.

    Returns:
        The comparison, with the means and intervals of a report.
    """
    alone: dict[str, Standing] = {}
    endless: dict[str, int] = {}
    for run in evidence.runs:
        one = compare(
            replace(evidence, runs=(run,)), metric, higher=higher, bounds=bounds, flags=flags, balanced=balanced
        )
        alone |= one.by_label
        endless |= one.endless
    labels = sorted(alone, key=lambda name: (bool(flags.get(name)), (-1 if higher else 1) * alone[name].mean, name))
    stratum = {task: str(group.get(balanced, "")) for task, group in evidence.groups.items()}
    pairs = _differences({name: _finite(evidence[name].values(metric)) for name in labels}, stratum, evidence.clusters)
    ranked = {name for name in labels if not flags.get(name)}
    beaten = [
        (pair.a, pair.b) if (pair.mean > 0) == higher else (pair.b, pair.a)
        for pair in pairs
        if pair.clear and pair.a in ranked and pair.b in ranked
    ]
    placed = rank_ranges([name for name in labels if name in ranked], beaten)
    standings = [replace(alone[name], places=tuple(placed[name]) if name in ranked else ()) for name in labels]
    return Comparison(tuple(standings), tuple(pairs), endless, higher)


def _differences(
    values: Mapping[str, Mapping[str, float]], stratum: Mapping[str, str], cluster: Mapping[str, str]
) -> list[Difference]:
    from scipy.special import stdtr

    tasks = {name: sorted(theirs) for name, theirs in values.items()}
    shaped: dict[tuple[str, ...], tuple[np.ndarray, np.ndarray]] = {}
    found = []
    for a, b in combinations(values, 2):
        shared = tasks[a] if tasks[a] == tasks[b] else sorted(values[a].keys() & values[b].keys())
        if not shared:
            continue
        key = tuple(shared)
        if key not in shaped:
            shaped[key] = _places(shared, stratum, cluster)
        rows, columns = shaped[key]
        apart = np.array([values[a][task] - values[b][task] for task in shared])
        totals, counts = np.zeros((2, rows.max() + 1, columns.max() + 1))
        np.add.at(totals, (rows, columns), apart)
        np.add.at(counts, (rows, columns), 1.0)
        sample = Sample(totals, counts)
        error, mean = sample.standard_error(), sample.mean
        low = high = p = None
        if error is not None:
            low, high = error.interval(mean, LEVEL)
            # Equal differences have no spread: they are either none at all, or certain.
            p = float(2 * stdtr(error.degrees, -abs(mean) / error.value)) if error.value else float(mean == 0)
        found.append(Difference(a, b, mean, low, high, p, len(shared), clusters=len(totals)))
    corrected = holm([pair.p for pair in found])
    return [replace(pair, p_holm=p) for pair, p in zip(found, corrected, strict=True)]


def _places(tasks: list[str], stratum: Mapping[str, str], cluster: Mapping[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Number of the cluster and of the stratum of each task."""
    rows = np.unique([cluster.get(task, task) for task in tasks], return_inverse=True)[1]
    columns = np.unique([stratum.get(task, "") for task in tasks], return_inverse=True)[1]
    return rows, columns


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    return {task: value for task, value in values.items() if math.isfinite(value)}
