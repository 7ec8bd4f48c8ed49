"""Comparison: who is better, by how much, and whether the data can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from worldgauge.report.evidence import Evidence


@dataclass(frozen=True)
class Standing:
    """One subject over all trajectories it was scored on. ranks: best and worst place it may hold."""

    label: str
    mean: float
    low: float | None
    high: float | None
    n: int
    ranks: tuple[int, int] = (0, 0)

    @property
    def rank(self) -> str:
        """"2" or, where the data cannot tell, "2-4"."""
        first, last = self.ranks
        return str(first) if first == last else f"{first}–{last}"


@dataclass(frozen=True)
class Difference:
    """a minus b on the trajectories that both were scored on, so that positive means a is higher. p: two-sided."""

    a: str
    b: str
    mean: float
    low: float | None
    high: float | None
    p: float | None
    n: int

    @property
    def clear(self) -> bool:
        """True when the interval leaves zero out."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def flipped(self) -> Difference:
        """b minus a."""
        low, high = (None, None) if self.low is None or self.high is None else (-self.high, -self.low)
        return Difference(self.b, self.a, -self.mean, low, high, self.p, self.n)


def standings(evidence: Evidence, metric: str, *, higher: bool = True) -> list[Standing]:
    rows = []
    for e in evidence.entrants:
        v = np.array([x for x in e.values(metric).values() if np.isfinite(x)])
        if not len(v):
            continue
        low, high = _boot(v)
        rows.append(Standing(e.label, float(v.mean()), low, high, len(v)))
    rows.sort(key=lambda s: -s.mean if higher else s.mean)
    return [Standing(s.label, s.mean, s.low, s.high, s.n, (i + 1, i + 1)) for i, s in enumerate(rows)]


def differences(evidence: Evidence, metric: str, labels: Sequence[str]) -> list[Difference]:
    out = []
    for a, b in combinations(labels, 2):
        va, vb = evidence[a].values(metric), evidence[b].values(metric)
        common = [t for t in va if t in vb and np.isfinite(va[t]) and np.isfinite(vb[t])]
        if not common:
            continue
        d = np.array([va[t] - vb[t] for t in common])
        low, high = _boot(d)
        out.append(Difference(a, b, float(d.mean()), low, high, 0.5, len(d)))
    return out


def _boot(v):
    r = np.random.default_rng(0)
    m = v[r.integers(0, len(v), (2000, len(v)))].mean(1)
    return tuple(np.quantile(m, [0.025, 0.975]))
