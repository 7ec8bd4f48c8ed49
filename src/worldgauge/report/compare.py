"""Comparison: who is better, by how much, and whether the data can tell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from worldgauge.report.evidence import Evidence
from worldgauge.statistics import LEVEL, bootstrap_interval, holm, mean_std, paired_difference, places

SEED = 20250522
"""Of the resampling: the same runs give the same page."""


@dataclass(frozen=True)
class Standing:
    """One subject over all trajectories it was scored on. places: best and worst that the data allow it."""

    label: str
    mean: float
    low: float | None
    high: float | None
    n: int
    places: tuple[int, ...]

    @property
    def rank(self) -> str:
        """ "2" or, where the data cannot tell, "2-4"."""
        first, last = self.places
        return str(first) if first == last else f"{first}–{last}"


@dataclass(frozen=True)
class Difference:
    """a minus b on the trajectories that both were scored on, so that positive means a is higher.

    p: two-sided, of this pair alone; p_holm: corrected for all pairs of the page.
    """

    a: str
    b: str
    mean: float
    low: float | None
    high: float | None
    p: float | None
    n: int
    p_holm: float | None = None

    @property
    def clear(self) -> bool:
        """True when the interval leaves zero out."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def flipped(self) -> Difference:
        """b minus a."""
        low, high = (None, None) if self.low is None or self.high is None else (-self.high, -self.low)
        return Difference(self.b, self.a, -self.mean, low, high, self.p, self.n, self.p_holm)


@dataclass(frozen=True)
class Comparison:
    """standings: subjects with a value, best mean first. pairs: every two of them that share a trajectory.

    Places and p-values come from the same tests, so that one page cannot contradict itself.
    """

    standings: tuple[Standing, ...]
    pairs: tuple[Difference, ...]

    @cached_property
    def signed(self) -> Mapping[tuple[str, str], Difference]:
        """(a, b) -> a minus b, both ways round."""
        return {(d.a, d.b): d for pair in self.pairs for d in (pair, pair.flipped())}

    @cached_property
    def by_label(self) -> Mapping[str, Standing]:
        """label -> standing."""
        return {standing.label: standing for standing in self.standings}

    @property
    def can_order(self) -> bool:
        """Whether so few trajectories could ever order so many subjects.

        The smallest p-value of n sign flips is 2^(1 - n); the correction multiplies it by the number of pairs.
        """
        return any(2.0 ** (1 - pair.n) * len(self.pairs) <= 1 - LEVEL for pair in self.pairs)


def compare(
    evidence: Evidence, metric: str, *, higher: bool = True, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Comparison:
    """All subjects that have a finite value of `metric`, and all pairs of them, p-values corrected together (Holm).

    bounds: of the metric; an interval of few values may reach beyond what can be, and is cut there.
    """
    values = {e.label: _finite(e.values(metric)) for e in evidence.entrants}
    values = {label: theirs for label, theirs in values.items() if theirs}
    means = {label: mean_std(theirs.values()).mean or 0.0 for label, theirs in values.items()}
    labels = sorted(values, key=lambda label: (-means[label] if higher else means[label], label))
    pairs = _differences(values, labels, bounds[1] - bounds[0])
    beaten = [
        (d.a, d.b) if (d.mean > 0) == higher else (d.b, d.a)
        for d in pairs
        if d.p_holm is not None and d.p_holm <= 1 - LEVEL
    ]
    placed = places(labels, beaten)
    standings = []
    for label in labels:
        interval = bootstrap_interval(values[label].values(), rng=np.random.default_rng(SEED))
        low, high = (None, None) if interval is None else np.clip(interval, *bounds).tolist()
        standings.append(Standing(label, means[label], low, high, len(values[label]), tuple(placed[label])))
    return Comparison(tuple(standings), tuple(pairs))


def _differences(values: Mapping[str, Mapping[str, float]], labels: Sequence[str], most: float) -> list[Difference]:
    """most: by how much two values can differ."""
    found = []
    for a, b in combinations(labels, 2):
        result = paired_difference(values[a], values[b], rng=np.random.default_rng(SEED))
        if result.mean is not None:
            low, high = (None, None) if result.interval is None else np.clip(result.interval, -most, most).tolist()
            found.append(Difference(a, b, result.mean, low, high, result.p, result.n))
    corrected = holm([difference.p for difference in found])
    return [replace(difference, p_holm=p) for difference, p in zip(found, corrected, strict=True)]


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    return {task: value for task, value in values.items() if math.isfinite(value)}
