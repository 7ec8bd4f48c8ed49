"""Comparison: who is better, by how much, and whether the data can tell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from types import MappingProxyType

import numpy as np

from worldgauge.core.statistics import LEVEL, balanced_interval, holm, mean_std, paired_difference, places
from worldgauge.report.evidence import Evidence

SEED = 20250522
"""Of the resampling: the same runs give the same page."""


@dataclass(frozen=True)
class Standing:
    """One subject over all trajectories it was scored on. places: best and worst that the data allow it.

    flag: why it is not to be taken at its face; it then has no places.
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
        """ "2" or, where the data cannot tell, "2-4"; a dash without a place."""
        if not self.places:
            return "–"
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
    """standings: subjects with a value, best mean first, flagged ones last. pairs: every two that share a trajectory.

    endless: how many values of a subject are infinite, which no mean can take in; of those that have any.
    higher: whether more is better.

    Places and p-values come from the same tests, so that one page cannot contradict itself.
    """

    standings: tuple[Standing, ...]
    pairs: tuple[Difference, ...]
    endless: Mapping[str, int] = field(default_factory=dict)
    higher: bool = True

    @cached_property
    def signed(self) -> Mapping[tuple[str, str], Difference]:
        """(a, b) -> a minus b, both ways round."""
        return {(d.a, d.b): d for pair in self.pairs for d in (pair, pair.flipped())}

    @cached_property
    def by_label(self) -> Mapping[str, Standing]:
        """label -> standing."""
        return {standing.label: standing for standing in self.standings}

    @property
    def flags(self) -> Mapping[str, str]:
        """label -> flag, of those that have one."""
        return {standing.label: standing.flag for standing in self.standings if standing.flag}

    @property
    def can_order(self) -> bool:
        """Whether so few trajectories could ever order so many subjects.

        The smallest p-value of n sign flips is 2^(1 - n); the correction multiplies it by the number of pairs.
        """
        placed = [pair for pair in self.pairs if pair.a not in self.flags and pair.b not in self.flags]
        return any(2.0 ** (1 - pair.n) * len(self.pairs) <= 1 - LEVEL for pair in placed)

    def shows_lead(self, difference: Difference) -> bool:
        """Whether one side is clearly better, and is one that can win: a flagged subject leads nobody."""
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
) -> Comparison:
    """All subjects that have a finite value of `metric`, and all pairs of them, p-values corrected together (Holm).

    bounds: of the metric; an interval of few values may reach beyond what can be, and is cut there.
    flags: label -> why a subject wins nothing. Its differences are shown like those of others, places it has none.
    balanced: key of the tasks' groups whose values count alike, whatever their numbers of tasks; none unless said.
    """
    everything = {e.label: e.values(metric) for e in evidence.runs}
    values = {label: _finite(theirs) for label, theirs in everything.items()}
    endless = {label: len(everything[label]) - len(theirs) for label, theirs in values.items()}
    values = {label: theirs for label, theirs in values.items() if theirs}
    stratum = {task: str(group.get(balanced, "")) for task, group in evidence.groups.items()}
    means = {label: _mean(_parts(theirs, stratum)) for label, theirs in values.items()}
    sign = -1 if higher else 1
    labels = sorted(values, key=lambda label: (bool(flags.get(label)), sign * means[label], label))
    pairs = _differences(values, labels, bounds[1] - bounds[0], stratum)
    beaten = [
        (d.a, d.b) if (d.mean > 0) == higher else (d.b, d.a)
        for d in pairs
        if d.p_holm is not None and d.p_holm <= 1 - LEVEL
    ]
    ranked = [label for label in labels if not flags.get(label)]
    placed = places(ranked, [(a, b) for a, b in beaten if a in ranked and b in ranked])
    standings = []
    for label in labels:
        rng = np.random.default_rng(SEED)
        interval = balanced_interval(_parts(values[label], stratum), rng=rng)
        low, high = (None, None) if interval is None else np.clip(interval, *bounds).tolist()
        held = tuple(placed[label]) if label in ranked else ()
        standings.append(Standing(label, means[label], low, high, len(values[label]), held, flags.get(label, "")))
    return Comparison(
        tuple(standings), tuple(pairs), {label: count for label, count in endless.items() if count}, higher
    )


def _parts(values: Mapping[str, float], stratum: Mapping[str, str]) -> list[list[float]]:
    """Values by stratum; all in one where there are none."""
    found: dict[str, list[float]] = {}
    for task in sorted(values):
        found.setdefault(stratum.get(task, ""), []).append(values[task])
    return list(found.values())


def _mean(parts: Sequence[Sequence[float]]) -> float:
    means = [mean_std(part).mean for part in parts]
    return mean_std(means).mean or 0.0


def _differences(
    values: Mapping[str, Mapping[str, float]],
    labels: Sequence[str],
    most: float,
    stratum: Mapping[str, str],
) -> list[Difference]:
    """most: by how much two values can differ. stratum: of tasks, where strata count alike."""
    found = []
    for a, b in combinations(labels, 2):
        rng = np.random.default_rng(SEED)
        result = paired_difference(values[a], values[b], stratum, rng=rng)
        if result.mean is not None:
            low, high = (None, None) if result.interval is None else np.clip(result.interval, -most, most).tolist()
            found.append(Difference(a, b, result.mean, low, high, result.p, result.n))
    corrected = holm([difference.p for difference in found])
    return [replace(difference, p_holm=p) for difference, p in zip(found, corrected, strict=True)]


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    return {task: value for task, value in values.items() if math.isfinite(value)}
