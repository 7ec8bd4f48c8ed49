"""Values grouped by cluster and stratum; their mean, its standard error and its interval."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError

FloatArray = NDArray[np.float64]
LEVEL = 0.95
"""Confidence level of all intervals and tests."""
FEWEST_DIFFERENT = 3
"""Clusters that must differ from the most frequent mean before there is an interval. Without this rule, intervals of
scores of which 90 % are zero hold the mean in 0.5 to 0.9 of data sets (python -m benchmarks.coverage)."""


class Interval(NamedTuple):
    """Two-sided confidence interval.

    Attributes:
        low: Lower end.
        high: Upper end.
    """

    low: float
    high: float


@dataclass(frozen=True)
class Sample:
    """G clusters of values in K strata. A value counts alike within its stratum, and strata count alike.

    Rows are sorted, so that nothing depends on the order of the values.

    Attributes:
        totals: Sum of the values of each cluster in each stratum, (G, K) float64.
        counts: Their numbers, (G, K) float64; 0 where a cluster has none in a stratum.
    """

    totals: FloatArray
    counts: FloatArray

    @classmethod
    def of(
        cls, strata: Iterable[Iterable[float | None]], clusters: Iterable[Iterable[Hashable]] | None = None
    ) -> Sample:
        """Group values.

        Args:
            strata: Values of each stratum; None is missing, and a stratum without a value is left out.
            clusters: Cluster of each value, in the same form. By default each value is a cluster of its own.

        Returns:
            The sample.

        Raises:
            ShapeError: A value is NaN, or there is not one cluster for each value.
        """
        values = [list(own) for own in strata]
        if clusters is None:
            labels: list[list[Hashable]] = [[(k, i) for i in range(len(own))] for k, own in enumerate(values)]
        else:
            labels = [list(own) for own in clusters]
            if [len(own) for own in labels] != [len(own) for own in values]:
                raise ShapeError("there must be one cluster for each value")
        filled: list[dict[Hashable, list[float]]] = []
        for numbers, names in zip(values, labels, strict=True):
            own: dict[Hashable, list[float]] = {}
            for number, name in zip(numbers, names, strict=True):
                if number is not None:
                    own.setdefault(name, []).append(number)
            if own:
                filled.append(own)
        rows = {name: row for row, name in enumerate(dict.fromkeys(name for own in filled for name in own))}
        totals, counts = np.zeros((2, len(rows), len(filled)))
        for column, own in enumerate(filled):
            for name, members in own.items():
                totals[rows[name], column] = _total(members)
                counts[rows[name], column] = len(members)
        order = np.lexsort((*counts.T, *totals.T)) if len(rows) else np.zeros(0, np.int64)
        return cls(totals[order], counts[order])

    @property
    def n(self) -> int:
        """Number of values."""
        return int(self.counts.sum())

    @property
    def is_finite(self) -> bool:
        """Whether no value is infinite."""
        return bool(np.isfinite(self.totals).all())

    @property
    def is_flat(self) -> bool:
        """Whether each value is a cluster of its own."""
        return bool((self.counts.sum(1) == 1).all())

    @cached_property
    def means(self) -> FloatArray:
        """Mean of each stratum, (K,)."""
        found: FloatArray = self.totals.sum(0) / self.counts.sum(0)
        return found

    @property
    def mean(self) -> float:
        """Mean of the strata's means."""
        return float(self.means.mean())

    @cached_property
    def weights(self) -> FloatArray:
        """Share of each value of a stratum in the mean, (K,)."""
        found: FloatArray = 1 / (self.counts.sum(0) * self.counts.shape[1])
        return found

    def effective_clusters(self) -> float:
        """Number of clusters of equal weight whose weights vary as much: (sum w)^2 / sum w^2 (Kish 1965, 11.7)."""
        return effective_number(self.counts @ self.weights)

    def estimate(self, level: float = LEVEL) -> Estimate:
        """The mean with its standard error and interval; see `estimates`."""
        found = estimates(self.totals, self.counts, level=level)
        return Estimate(*(float(column) for column in found))


class Estimate(NamedTuple):
    """Mean of clusters of values; every field but `mean` is NaN where there is none.

    Attributes:
        mean: The mean.
        error: Its standard error.
        degrees: Degrees of freedom of Student's distribution for that error.
        low: Lower end of the interval.
        high: Upper end of the interval.
    """

    mean: float
    error: float
    degrees: float
    low: float
    high: float

    @property
    def interval(self) -> Interval | None:
        """The interval, if there is one."""
        return None if math.isnan(self.low) else Interval(self.low, self.high)


def estimate_all(samples: Sequence[Sample], *, level: float = LEVEL) -> list[Estimate]:
    """What `Sample.estimate` gives for each sample; samples with equal counts are computed together.

    Args:
        samples: The samples.
        level: Confidence level of the intervals.
    """
    alike: dict[tuple[tuple[int, ...], bytes], list[int]] = {}
    for place, sample in enumerate(samples):
        alike.setdefault((sample.counts.shape, sample.counts.tobytes()), []).append(place)
    found: dict[int, Estimate] = {}
    for places in alike.values():
        totals = np.stack([samples[place].totals for place in places])
        columns = estimates(totals, samples[places[0]].counts, level=level)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        found.update(zip(places, (Estimate(*row) for row in rows), strict=True))
    return [found[place] for place in range(len(samples))]


class Estimates(NamedTuple):
    """Arrays of the fields of `Estimate`, one value per sample."""

    mean: FloatArray
    error: FloatArray
    degrees: FloatArray
    low: FloatArray
    high: FloatArray


def estimates(totals: FloatArray, counts: FloatArray, *, level: float = LEVEL) -> Estimates:
    """Means with standard errors and intervals of many samples whose values lie in the same clusters and strata.

    The residual of a cluster is the sum of its values' distances from the mean of their stratum. It is divided by
    sqrt(1 - h), with h the cluster's share of the stratum: the squares are then unbiased for independent values and
    any sizes (CR2: Bell and McCaffrey 2002). The parts of a cluster in several strata are added before squaring.
    The degrees of freedom of a stratum are its effective number of clusters less one. Several strata are joined by
    Welch and Satterthwaite.

    The interval joins Student's interval with Hall's (1992, equation 2.9), which corrects Student's t for the skewness
    of the residuals. It needs FEWEST_DIFFERENT clusters whose mean differs from the most frequent one: a sample in
    which nearly all clusters are equal does not know its spread.

    Args:
        totals: Sum of the values of each cluster in each stratum, (..., G, K) float64, finite.
        counts: Their numbers, (G, K) float64.
        level: Confidence level of the intervals.

    Returns:
        Arrays of shape (...). Error and interval are NaN if a stratum has a single cluster.
    """
    from scipy.special import stdtrit  # 0.4 s

    sizes = counts.sum(0)
    weights = 1 / (sizes * len(sizes))
    means = totals.sum(-2) / sizes
    mean = means.mean(-1)
    if not counts.size or (np.count_nonzero(counts, axis=0) < 2).any():
        return Estimates(mean, *np.full((4, *mean.shape), math.nan))
    parts = (totals - means[..., None, :] * counts) * weights
    adjusted = parts / np.sqrt(1 - counts / sizes)
    variance = (adjusted.sum(-1) ** 2).sum(-1)
    error = np.sqrt(variance)
    own = np.array([max(1.0, effective_number(column) - 1) for column in counts.T])
    spread = ((adjusted**2).sum(-2) ** 2 / own).sum(-1)
    joined = np.divide(variance * variance, spread, out=np.full(spread.shape, own.sum()), where=spread > 0)
    degrees = np.clip(joined, 1.0, own.sum())
    reach = stdtrit(degrees, (1 + level) / 2)
    residuals = parts.sum(-1)
    bent = _skewness(residuals, degrees + 1)
    low = mean - error * np.maximum(reach, _hall(reach, bent))
    high = mean + error * np.maximum(reach, -_hall(-reach, bent))
    known = _is_varied(residuals / (counts @ weights), mean)
    return Estimates(mean, error, degrees, np.where(known, low, math.nan), np.where(known, high, math.nan))


def _skewness(residuals: FloatArray, clusters: FloatArray) -> FloatArray:
    """Skewness of the mean of clusters: that of the residuals, unbiased for normal ones, over sqrt(clusters)."""
    variance = (residuals**2).sum(-1)
    spread = variance * np.sqrt(variance)  # the power 1.5 rounds differently in arrays
    clusters = np.maximum(clusters, 3.0)
    third = np.divide((residuals**2 * residuals).sum(-1), spread, out=np.zeros(spread.shape), where=spread > 0)
    found: FloatArray = third * np.sqrt(clusters * (clusters - 1)) / (clusters - 2)
    return found


def _hall(t: FloatArray, skewness: FloatArray) -> FloatArray:
    """The T whose skew-corrected value T + a T^2 + a^2 T^3 / 3 + a / 2 is `t` (Hall's cubic), a = skewness / 3."""
    a = np.where(np.abs(skewness) < 1e-6, 1e-6, skewness) / 3
    found: FloatArray = (np.cbrt(1 + 3 * a * (t - a / 2)) - 1) / a
    return found


def _is_varied(values: FloatArray, mean: FloatArray) -> NDArray[np.bool_]:
    """Whether FEWEST_DIFFERENT values (..., G) differ from the most frequent one by more than rounding."""
    ordered = np.sort(values, axis=-1)
    rounding = 1e-9 * np.abs(values).max(-1) + 1e-12 * np.abs(mean)
    reach = max(0, values.shape[-1] - FEWEST_DIFFERENT)
    # So many more equal values in a row would leave too few that differ.
    apart = ordered[..., reach:] - ordered[..., : values.shape[-1] - reach]
    found: NDArray[np.bool_] = (apart > rounding[..., None]).all(-1)
    return found


def effective_number(weights: FloatArray) -> float:
    """Number of equal weights that vary as much in sum as these: (sum w)^2 / sum w^2 (Kish 1965)."""
    squares = float((weights**2).sum())
    # Rounding must not make 8 equal weights less than 8.
    return round(float(weights.sum()) ** 2 / squares, 9) if squares else 0.0


def student_quantile(p: float, degrees: float) -> float:
    """The t with P(T <= t) = p of Student's distribution; degrees of freedom need not be whole."""
    from scipy.special import stdtrit  # 0.4 s

    if not degrees > 0:
        raise ShapeError(f"Student's distribution has more than 0 degrees of freedom, not {degrees}")
    return float(stdtrit(degrees, p))


def _total(numbers: Sequence[float]) -> float:
    """Sum that does not depend on the order of the numbers; infinite with any of them. NaN is refused."""
    if all(map(math.isfinite, numbers)):
        return math.fsum(numbers)
    if any(map(math.isnan, numbers)):
        raise ShapeError("values hold NaN; give None for what is missing")
    return math.inf
