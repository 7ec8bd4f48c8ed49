"""Comparison of subjects: who is better, by how much, and whether the data can show it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from types import MappingProxyType

import numpy as np

from worldgauge.core.statistics import LEVEL, balanced_interval, holm, mean_std, paired_differences, rank_ranges
from worldgauge.engine.suite.contract import Cell, Table
from worldgauge.engine.suite.tables import pairs_with_models
from worldgauge.report.evidence import Evidence


@dataclass(frozen=True)
class Standing:
    """One subject over all trajectories with a score.

    Attributes:
        label: Label of the subject.
        mean: Mean over trajectories.
        low: Lower end of its interval, or None.
        high: Upper end of its interval, or None.
        n: Number of trajectories.
        places: Best and worst place that the data allow. Empty for a flagged subject.
        flag: Why the value is misleading.
    """

    label: str
    mean: float
    low: float | None
    high: float | None
    n: int
    places: tuple[int, ...]
    flag: str = ""

    @property
    def rank(self) -> str:
        """ "2", or "2-4" where the data cannot decide; a dash without a place."""
        if not self.places:
            return "–"
        first, last = self.places
        return str(first) if first == last else f"{first}–{last}"


@dataclass(frozen=True)
class Difference:
    """a minus b on the trajectories that both have scores for; positive means that a is higher.

    Attributes:
        a: Label of the first subject.
        b: Label of the second subject.
        mean: Mean difference.
        low: Lower end of its interval, or None.
        high: Upper end of its interval, or None.
        p: Two-sided p-value of this pair alone; None for a pair that is not tested, see `pairs_with_models`.
        n: Number of trajectories.
        p_holm: p-value corrected for all tested pairs of the page.
        clusters: Number of clusters of the trajectories.
    """

    a: str
    b: str
    mean: float
    low: float | None
    high: float | None
    p: float | None
    n: int
    p_holm: float | None = None
    clusters: int = 0

    @property
    def clear(self) -> bool:
        """Whether the corrected test shows a difference. The interval is of this pair alone and may exclude zero."""
        return self.p_holm is not None and self.p_holm <= 1 - LEVEL

    def flipped(self) -> Difference:
        """b minus a."""
        low, high = (None, None) if self.low is None or self.high is None else (-self.high, -self.low)
        return replace(self, a=self.b, b=self.a, mean=-self.mean, low=low, high=high)


@dataclass(frozen=True)
class Comparison:
    """All subjects and pairs for one metric.

    Places and p-values come from the same tests, so one page cannot contradict itself.

    Attributes:
        standings: Subjects with a value, best mean first, flagged ones last.
        pairs: All pairs that share a trajectory.
        endless: Number of infinite values by subject, for subjects that have any. A mean cannot include them.
        higher: Whether higher values are better.
    """

    standings: tuple[Standing, ...]
    pairs: tuple[Difference, ...]
    endless: Mapping[str, int] = field(default_factory=dict)
    higher: bool = True

    @cached_property
    def signed(self) -> Mapping[tuple[str, str], Difference]:
        """a minus b for every pair (a, b), in both orders."""
        return {(d.a, d.b): d for pair in self.pairs for d in (pair, pair.flipped())}

    @cached_property
    def by_label(self) -> Mapping[str, Standing]:
        """Standing by label."""
        return {standing.label: standing for standing in self.standings}

    @cached_property
    def flags(self) -> Mapping[str, str]:
        """Flag by label, for flagged subjects."""
        return {standing.label: standing.flag for standing in self.standings if standing.flag}

    @property
    def can_order(self) -> bool:
        """Whether a pair without a flag could be tested."""
        return any(pair.p is not None and not {pair.a, pair.b} & self.flags.keys() for pair in self.pairs)

    @property
    def tested(self) -> int:
        """Number of tests that the p-values are corrected for."""
        return sum(pair.p is not None for pair in self.pairs)

    def shows_lead(self, difference: Difference) -> bool:
        """Whether one side is clearly better and is not flagged."""
        ahead = difference.a if (difference.mean > 0) == self.higher else difference.b
        return difference.clear and ahead not in self.flags


def compare(
    evidence: Evidence,
    metric: str,
    *,
    higher: bool = True,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    flags: Mapping[str, str] = MappingProxyType({}),
    balanced: str = "",
    table: Table | None = None,
) -> Comparison:
    """Compare all rows that have a finite value of a metric. p-values of tested pairs are corrected together (Holm).

    Args:
        evidence: The compared runs.
        metric: Name of the metric.
        higher: Whether higher values are better.
        bounds: Smallest and largest possible value. Intervals are cut there.
        flags: Why a subject cannot win, by label. Its differences are shown, but it has no place.
        balanced: Key of the tasks' groups whose values have equal weight, whatever their number of tasks. Empty for
            none.
        table: Table of the metric. A cell over the same values lends its interval, so that a page shows one.

    Returns:
        The comparison.
    """
    everything = {e.label: e.values(metric) for e in evidence.runs}
    values = {label: _finite(theirs) for label, theirs in everything.items()}
    endless = {label: len(everything[label]) - len(theirs) for label, theirs in values.items()}
    values = {label: theirs for label, theirs in values.items() if theirs}
    stratum = {task: str(group.get(balanced, "")) for task, group in evidence.groups.items()}
    means = {label: _mean(theirs, stratum) for label, theirs in values.items()}
    sign = -1 if higher else 1
    labels = sorted(values, key=lambda label: (bool(flags.get(label)), sign * means[label], label))
    kinds = [evidence[label].kind for label in labels]
    pairs = _differences(values, labels, kinds, bounds, stratum, evidence.clusters)
    beaten = [(d.a, d.b) if (d.mean > 0) == higher else (d.b, d.a) for d in pairs if d.clear]
    ranked = [label for label in labels if not flags.get(label)]
    placed = rank_ranges(ranked, [(a, b) for a, b in beaten if a in ranked and b in ranked])
    standings = []
    for label in labels:
        tasks = _by_stratum(values[label], stratum)
        cell = _cell_of(table, label, means[label], len(values[label]))
        if cell is not None:
            low, high = cell.low, cell.high
        else:
            parts = [[values[label][task] for task in own] for own in tasks]
            clusters = [[evidence.clusters[task] for task in own] for own in tasks]
            interval = balanced_interval(parts, clusters)
            low, high = (None, None) if interval is None else np.clip(interval, *bounds).tolist()
        held = tuple(placed[label]) if label in ranked else ()
        standings.append(Standing(label, means[label], low, high, len(values[label]), held, flags.get(label, "")))
    return Comparison(
        tuple(standings), tuple(pairs), {label: count for label, count in endless.items() if count}, higher
    )


def _cell_of(table: Table | None, label: str, mean: float, n: int) -> Cell | None:
    """The cell of a row that is over the same values: as many, with the same mean."""
    cells = [cell for row in (table.rows if table else ()) if row.label == label for cell in row.cells]
    alike = (cell for cell in reversed(cells) if cell.n == n and cell.mean is not None)
    return next((cell for cell in alike if math.isclose(cell.mean or 0.0, mean, rel_tol=1e-9, abs_tol=1e-12)), None)


def _by_stratum(values: Mapping[str, float], stratum: Mapping[str, str]) -> list[list[str]]:
    """Tasks by stratum; one part where there are no strata."""
    found: dict[str, list[str]] = {}
    for task in sorted(values):
        found.setdefault(stratum.get(task, ""), []).append(task)
    return list(found.values())


def _mean(values: Mapping[str, float], stratum: Mapping[str, str]) -> float:
    means = [mean_std([values[task] for task in tasks]).mean for tasks in _by_stratum(values, stratum)]
    return mean_std(means).mean or 0.0


def _differences(
    values: Mapping[str, Mapping[str, float]],
    labels: Sequence[str],
    kinds: Sequence[str],
    bounds: tuple[float, float],
    stratum: Mapping[str, str],
    cluster: Mapping[str, str],
) -> list[Difference]:
    """All pairs of rows that share a task."""
    most = bounds[1] - bounds[0]
    both = list(combinations(range(len(labels)), 2))
    tested = set(pairs_with_models(kinds))
    found = paired_differences([values[label] for label in labels], stratum, cluster, pairs=both, bounds=bounds)
    pairs = []
    for (a, b), mean, _, _, low, high, p, n, clusters in zip(both, *(one.tolist() for one in found), strict=True):
        if n:
            least, greatest = (None, None) if math.isnan(low) else (max(low, -most), min(high, most))
            alone = None if math.isnan(p) or (a, b) not in tested else p
            pairs.append(Difference(labels[a], labels[b], mean, least, greatest, alone, n, clusters=clusters))
    corrected = holm([pair.p for pair in pairs])
    return [replace(pair, p_holm=p) for pair, p in zip(pairs, corrected, strict=True)]


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    return {task: value for task, value in values.items() if math.isfinite(value)}
