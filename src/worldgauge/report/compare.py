"""Comparison: who is better, by how much, and whether the data can tell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from worldgauge.report.evidence import Evidence
from worldgauge.statistics import bootstrap_interval, holm, mean_std, paired_difference, ranks_with_ties

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


def standings(evidence: Evidence, metric: str, *, higher: bool = True) -> list[Standing]:
    """All subjects that have a finite value, best mean first, with the places that the data allow them."""
    values = {e.label: _finite(e.values(metric)) for e in evidence.entrants}
    values = {label: theirs for label, theirs in values.items() if theirs}
    places = ranks_with_ties(values, rng=np.random.default_rng(SEED), higher=higher)
    found = []
    for label, theirs in values.items():
        interval = bootstrap_interval(theirs.values(), rng=np.random.default_rng(SEED))
        mean = mean_std(theirs.values()).mean
        assert mean is not None
        low, high = interval if interval is not None else (None, None)
        found.append(Standing(label, mean, low, high, len(theirs), tuple(places[label])))
    return sorted(found, key=lambda standing: (-standing.mean if higher else standing.mean, standing.label))


def differences(evidence: Evidence, metric: str, labels: Sequence[str]) -> list[Difference]:
    """Every pair of `labels` that has a common task, earlier minus later, p-values corrected together (Holm)."""
    found = []
    for a, b in combinations(labels, 2):
        result = paired_difference(
            _finite(evidence[a].values(metric)), _finite(evidence[b].values(metric)), rng=np.random.default_rng(SEED)
        )
        if result.mean is not None:
            low, high = result.interval if result.interval is not None else (None, None)
            found.append(Difference(a, b, result.mean, low, high, result.p, result.n))
    corrected = holm([difference.p for difference in found])
    return [replace(difference, p_holm=p) for difference, p in zip(found, corrected, strict=True)]


def can_order(pairs: Sequence[Difference]) -> bool:
    """Whether so few trajectories could ever order so many subjects.

    The smallest p-value of n sign flips is 2^(1 - n); the correction multiplies it by the number of pairs.
    """
    return any(2.0 ** (1 - pair.n) * len(pairs) <= 0.05 for pair in pairs)


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    return {task: value for task, value in values.items() if math.isfinite(value)}
