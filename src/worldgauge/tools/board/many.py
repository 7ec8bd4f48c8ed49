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

from worldgauge.core.statistics import LEVEL, StandardError, holm, paired_means, rank_ranges
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

    names = list(combinations(values, 2))
    means = paired_means(values.values(), stratum, cluster)
    p = 2 * stdtr(means.degrees, -np.abs(means.mean) / np.where(means.error > 0, means.error, math.nan))
    # Equal differences have no spread: they are either none at all, or certain.
    p = np.where(means.error == 0, means.mean == 0, p)
    shared = np.flatnonzero(means.n)
    columns = [column[shared].tolist() for column in (*means, p)]
    corrected = holm([None if math.isnan(one) else one for one in columns[-1]])
    found = []
    for place, mean, error, degrees, n, clusters, alone, joint in zip(
        shared.tolist(), *columns, corrected, strict=True
    ):
        low = high = None
        if not math.isnan(error):
            low, high = StandardError(error, degrees).interval(mean, LEVEL)
        a, b = names[place]
        found.append(Difference(a, b, mean, low, high, None if math.isnan(alone) else alone, n, joint, clusters))
    return found


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    return {task: value for task, value in values.items() if math.isfinite(value)}
