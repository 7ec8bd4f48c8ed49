"""Values grouped by what is independent: sums and counts of each cluster in each stratum, and their standard error."""

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


class Interval(NamedTuple):
    """Two-sided confidence interval.

    Attributes:
        low: Lower end.
        high: Upper end.
    """

    low: float
    high: float


class StandardError(NamedTuple):
    """Standard error of a mean of clusters.

    Attributes:
        value: The standard error.
        degrees: Degrees of freedom of Student's distribution that belongs to it.
    """

    value: float
    degrees: float

    def interval(self, centre: float, level: float) -> Interval:
        """Student's interval around a centre.

        Args:
            centre: The mean.
            level: Confidence level.
        """
        reach = student_quantile((1 + level) / 2, self.degrees) * self.value
        return Interval(centre - reach, centre + reach)


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

    @property
    def shares(self) -> FloatArray:
        """What each cluster adds to the mean, (G,)."""
        found: FloatArray = self.totals @ self.weights
        return found

    @property
    def patterns(self) -> list[NDArray[np.int64]]:
        """Rows of the clusters that lie in the same strata, as one array for each choice of strata."""
        if self.counts.shape[1] == 1:
            return [np.arange(len(self.counts))]
        _, kind = np.unique(self.counts > 0, axis=0, return_inverse=True)
        return [np.flatnonzero(kind == one) for one in range(kind.max(initial=-1) + 1)]

    def effective_clusters(self, rows: Sequence[int] | NDArray[np.int64] | slice = slice(None)) -> float:
        """Number of clusters of equal weight that would vary as much in weight: (sum w)^2 / sum w^2.

        Source: Kish 1965, section 11.7.

        Args:
            rows: The clusters to count.
        """
        weight = self.counts[rows] @ self.weights
        return effective_number(weight)

    @cached_property
    def fewest_clusters(self) -> float:
        """Clusters that count, in the smallest group of those that lie in the same strata."""
        return min((self.effective_clusters(rows) for rows in self.patterns), default=0.0)

    def standard_error(self) -> StandardError | None:
        """Standard error of the mean from the spread of the clusters.

        A cluster's residual is the sum of its values' distances from the mean of their stratum. It is divided by
        sqrt(1 - h), with h the cluster's share in the stratum, which makes the squares unbiased where values are
        independent (CR2: Bell and McCaffrey 2002), whatever the sizes of the clusters. A cluster's parts in several
        strata are added before squaring. Degrees of freedom of a stratum are its effective number of clusters less
        one; several strata are joined by Welch and Satterthwaite.

        Returns:
            The error; None where a stratum has a single cluster, whose spread is unknown, or no value.
        """
        found = standard_errors(self.totals, self.counts)
        return None if found is None else StandardError(float(found.value), float(found.degrees))


class StandardErrors(NamedTuple):
    """Standard errors of means of clusters, one for each sample.

    Attributes:
        value: The standard errors, float64.
        degrees: Degrees of freedom of Student's distribution that belongs to each.
    """

    value: FloatArray
    degrees: FloatArray


def standard_errors(totals: FloatArray, counts: FloatArray) -> StandardErrors | None:
    """`Sample.standard_error` of many samples whose values lie in the same clusters and strata.

    Args:
        totals: Sum of the values of each cluster in each stratum, (..., G, K) float64.
        counts: Their numbers, (G, K) float64.

    Returns:
        The errors, (...); None where a stratum has a single cluster, or no value.
    """
    if not counts.size or (np.count_nonzero(counts, axis=0) < 2).any():
        return None
    sizes = counts.sum(0)
    means = totals.sum(-2, keepdims=True) / sizes
    residuals = (totals - means * counts) * (1 / (sizes * len(sizes))) / np.sqrt(1 - counts / sizes)
    variance = (residuals.sum(-1) ** 2).sum(-1)
    degrees = np.array([max(1.0, effective_number(column) - 1) for column in counts.T])
    most = degrees.sum()
    spread = ((residuals**2).sum(-2) ** 2 / degrees).sum(-1)
    joined = np.divide(variance**2, spread, out=np.full(spread.shape, most), where=spread > 0)
    return StandardErrors(np.sqrt(variance), np.minimum(np.maximum(1.0, joined), most))


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
