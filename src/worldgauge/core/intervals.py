"""Values grouped by cluster and stratum: means, rates and correlations with their standard errors and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
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

    Examples:
        >>> wilson(0, 10)
        Interval(low=0.0, high=0.277...)
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

    Examples:
        >>> sample = Sample.of([[0.0, 1.0], [4.0]])  # two strata, with means 0.5 and 4
        >>> sample.mean, sample.n
        (2.25, 3)
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

    Examples:
        >>> found = Sample.of([[1.0, 2.0, 3.0, 4.0]]).estimate()
        >>> found.mean, round(found.error, 3), round(found.degrees, 3)
        (2.5, 0.645, 3.0)
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
    """What `Sample.estimate` gives for each sample; samples with equal counts are computed together."""
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
    """Means, standard errors and intervals of samples (...) whose values are in the same clusters and strata.

    `totals` (..., G, K) holds the sum per cluster and stratum, `counts` (G, K) the number of values.
    """
    from scipy.special import stdtrit  # 0.4 s

    sizes = counts.sum(0)
    weights = 1 / (sizes * len(sizes))
    means = totals.sum(-2) / sizes
    mean = means.mean(-1)
    if not counts.size or (np.count_nonzero(counts, axis=0) < 2).any():
        return Estimates(mean, *np.full((4, *mean.shape), math.nan))
    parts = (totals - means[..., None, :] * counts) * weights
    # CR2 (Bell and McCaffrey 2002): the squares are unbiased for independent values and clusters of any sizes.
    adjusted = parts / np.sqrt(1 - counts / sizes)
    variance = (adjusted.sum(-1) ** 2).sum(-1)  # a cluster's parts in several strata depend on each other: added first
    error = np.sqrt(variance)
    # Each stratum has its effective clusters less one; Welch and Satterthwaite join the strata.
    own = np.array([max(1.0, effective_number(column) - 1) for column in counts.T])
    spread = ((adjusted**2).sum(-2) ** 2 / own).sum(-1)
    joined = np.divide(variance * variance, spread, out=np.full(spread.shape, own.sum()), where=spread > 0)
    degrees = np.clip(joined, 1.0, own.sum())
    reach = stdtrit(degrees, (1 + level) / 2)
    residuals = parts.sum(-1)
    bent = _skewness(residuals, degrees + 1)
    # Student's interval, widened by Hall's (1992, equation 2.9), which corrects for the skewness of the residuals.
    low = mean - error * np.maximum(reach, _hall(reach, bent))
    high = mean + error * np.maximum(reach, -_hall(-reach, bent))
    # A sample in which nearly all clusters are equal does not know its spread.
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


class MeanStd(NamedTuple):
    """Mean and spread of the values that exist.

    Attributes:
        mean: Mean; None where undefined.
        std: Population standard deviation (ddof 0); None where undefined, as that of a single value.
        n: Number of values.

    Examples:
        >>> mean_std([1.0, 3.0]).std
        1.0
    """

    mean: float | None
    std: float | None
    n: int


def mean_std(values: Iterable[float | None]) -> MeanStd:
    """Mean and population standard deviation of the values that exist.

    Args:
        values: The values; None is missing.

    Returns:
        The mean, the deviation and the number of values. A single value has no deviation: its spread is unknown. An
        infinite value gives an infinite mean and no deviation.

    Raises:
        ShapeError: A value is NaN.

    Examples:
        >>> mean_std([1.0, 3.0, None])
        MeanStd(mean=2.0, std=1.0, n=2)
    """
    known = known_values(values)
    n = len(known)
    if not n:
        return MeanStd(None, None, 0)
    if math.isinf(known[0]) or math.isinf(known[-1]):
        mean = float(known[np.isinf(known)].mean()) if len(set(known[np.isinf(known)])) == 1 else None
        return MeanStd(mean, None, n)
    # The steps of numpy's own mean and std, whose checks take three times as long: tables have thousands of cells.
    centre = np.add.reduce(known) / n
    apart = known - centre
    return MeanStd(float(centre), math.sqrt(np.add.reduce(apart * apart) / n) if n > 1 else None, n)


def mean_interval(
    values: Iterable[float | None], clusters: Iterable[Hashable] | None = None, *, level: float = LEVEL
) -> Interval | None:
    """Interval of the mean of values; values of one cluster are not independent.

    Each value counts alike, so a large cluster counts more. See `estimates` for the formula and its sources.

    Args:
        values: One value per task; None is missing.
        clusters: Cluster of each value. Default: every value is independent of the others.
        level: Confidence level.

    Returns:
        The interval. None for an infinite value, and for fewer than FEWEST_DIFFERENT clusters that differ from the
        most frequent one.

    Raises:
        ShapeError: A value is NaN, or there is not one cluster per value.

    Examples:
        >>> low, high = mean_interval([0.80, 0.83, 0.85, 0.90])
        >>> round(low, 3), round(high, 3)
        (0.778, 1.11)
    """
    return balanced_interval([values], None if clusters is None else [clusters], level=level)


def student_interval(values: Iterable[float | None], *, level: float = LEVEL) -> Interval | None:
    """Student's interval of the mean of a few measurements of one thing.

    It suits measurements whose errors are about normal, from two on. Values without spread give a point. For scores,
    use `mean_interval`.

    Args:
        values: The measurements; None is missing.
        level: Confidence level.

    Returns:
        The interval; None for fewer than two values or an infinite one.

    Raises:
        ShapeError: A value is NaN.

    Examples:
        >>> low, high = student_interval([1.0, 2.0, 3.0, 4.0])
        >>> round(low, 2), round(high, 2)
        (0.45, 4.55)
    """
    known = known_values(values)
    if len(known) < 2 or not np.isfinite(known).all():
        return None
    reach = student_quantile((1 + level) / 2, len(known) - 1) * float(known.std(ddof=1)) / math.sqrt(len(known))
    return Interval(float(known.mean()) - reach, float(known.mean()) + reach)


def balanced_interval(
    strata: Iterable[Iterable[float | None]],
    clusters: Iterable[Iterable[Hashable]] | None = None,
    *,
    level: float = LEVEL,
) -> Interval | None:
    """Interval of the mean of the means of several strata, which count alike whatever their sizes.

    Args:
        strata: Values of each stratum; None is missing.
        clusters: Cluster of each value, in the same form. A cluster may lie in several strata. Default: every value
            is independent of the others.
        level: Confidence level.

    Returns:
        The interval; None as for `mean_interval`, and for a stratum with a single cluster.

    Raises:
        ShapeError: A value is NaN, or there is not one cluster per value.

    Examples:
        >>> low, high = balanced_interval([[0.7, 0.8, 0.9], [0.1, 0.2, 0.3]])
        >>> round(low, 2), round(high, 2)
        (0.39, 0.61)
    """
    sample = Sample.of(strata, clusters)
    return sample.estimate(level).interval if sample.is_finite and sample.n else None


def jackknife_interval(
    n: int,
    statistic: Callable[[NDArray[np.int64]], float],
    clusters: Sequence[Hashable] | None = None,
    *,
    groups: int = 20,
    level: float = LEVEL,
) -> Interval | None:
    """Interval of a number that is computed from `n` items together, such as a distance of two sets.

    Resampling would bias such a number. One cluster is left out at a time, or one of `groups` groups of clusters when
    there are more, and Student's t is applied to the changes.
    Source: Efron and Tibshirani 1993, sections 11.2 and 11.5.

    Args:
        n: Number of items.
        statistic: Computes the number from the items with the given indices.
        clusters: Cluster of each item. By default every one is independent of the others.
        groups: Largest number of groups.
        level: Confidence level.

    Returns:
        The interval; None for fewer than three clusters, or when the number is not finite.

    Examples:
        >>> values = np.array([1.0, 2.0, 3.0, 4.0])
        >>> low, high = jackknife_interval(4, lambda chosen: float(values[chosen].mean()))
        >>> round(low, 2), round(high, 2)
        (0.45, 4.55)
    """
    things = np.arange(n)
    order = {name: place for place, name in enumerate(dict.fromkeys(things.tolist() if clusters is None else clusters))}
    if len(order) < 3:
        return None
    number = min(len(order), groups)
    place = things if clusters is None else np.array([order[name] for name in clusters])
    left_out = np.array([statistic(things[place % number != group]) for group in range(number)])
    if not np.isfinite(left_out).all():
        return None
    spread = math.sqrt((number - 1) / number * ((left_out - left_out.mean()) ** 2).sum())
    reach = student_quantile((1 + level) / 2, number - 1) * spread
    centre = statistic(things)
    return Interval(centre - reach, centre + reach)


def known_values(values: Iterable[float | None]) -> FloatArray:
    """The values that exist, sorted, so that nothing depends on their order."""
    known = np.array([value for value in values if value is not None], np.float64)
    known.sort()
    if len(known) and math.isnan(known[-1]):  # it comes last
        raise ShapeError("values hold NaN; give None for what is missing")
    return known


PRIOR = 0.25
"""Clusters that the prior variance counts like, see `rate_interval`."""


def wilson(successes: int, n: int, *, level: float = LEVEL) -> Interval | None:
    """Interval of a proportion; also right for proportions of 0 and 1.

    Source: Wilson 1927, without correction for continuity.

    Args:
        successes: Number of successes.
        n: Number of trials.
        level: Confidence level.

    Returns:
        The interval, within [0, 1]; None when `n` is 0.

    Raises:
        ShapeError: `successes` is not from 0 to `n`.

    Examples:
        >>> low, high = wilson(9, 10)
        >>> round(low, 2), round(high, 2)
        (0.6, 0.98)
    """
    if not 0 <= successes <= n:
        raise ShapeError(f"{successes} successes among {n} cannot be")
    if n == 0:
        return None
    return _score_interval(successes / n, n, level)


def rate_interval(
    successes: Iterable[bool | None], clusters: Iterable[Hashable] | None = None, *, level: float = LEVEL
) -> Interval | None:
    """Interval of a proportion of which those of one cluster are not independent.

    Wilson's interval for the number of independent trials that would be as uncertain: p (1 - p) / V, at most the
    number of trials, times (z / t)^2, since V itself is an estimate (Korn and Graubard 1998; Dean and Pagano 2015).
    V is the squared standard error of clusters. It counts like the number of clusters with the rarer outcome, less one.
    It is averaged with the V of clusters that are one trial each, which counts like PRIOR clusters: few failures say
    little about how they spread. If all trials end alike, each cluster counts as one trial.

    Args:
        successes: Whether each trial succeeded; None is missing.
        clusters: Cluster of each trial. By default every one is independent of the others.
        level: Confidence level.

    Returns:
        The interval, within [0, 1]; None without a trial.

    Raises:
        ShapeError: There is not one cluster for each trial.

    Examples:
        >>> low, high = rate_interval([True, True, True, False])
        >>> round(low, 2), round(high, 2)
        (0.3, 0.95)
    """
    sample = Sample.of(
        [(None if one is None else float(one) for one in successes)], None if clusters is None else [clusters]
    )
    if not sample.n:
        return None
    share, trials = sample.mean, float(sample.n)
    if not sample.is_flat:
        trials = _effective_trials(sample, level)
    return _score_interval(share, trials, level)


def _effective_trials(sample: Sample, level: float) -> float:
    """Number of independent trials that are as uncertain as these."""
    found, clusters, share = sample.estimate(level), sample.effective_clusters(), sample.mean
    if math.isnan(found.error) or share in (0.0, 1.0):
        return clusters
    spread = share * (1 - share)
    successes, sizes = sample.totals.sum(1), sample.counts.sum(1)
    rarer = min(int(np.count_nonzero(successes)), int(np.count_nonzero(successes < sizes)))
    known = min(found.degrees, rarer - 1)
    variance = (known * found.error**2 + PRIOR * spread / clusters) / (known + PRIOR)
    t = student_quantile((1 + level) / 2, found.degrees)
    return min(float(sample.n), spread / variance) * (NormalDist().inv_cdf((1 + level) / 2) / t) ** 2


def _score_interval(share: float, trials: float, level: float) -> Interval:
    """Wilson's interval of a share of any number of trials."""
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    reach = math.sqrt(z2 * (share * (1 - share) / trials + z2 / (4 * trials * trials))) / (1 + z2 / trials)
    return Interval(0.0 if share == 0 else centre - reach, 1.0 if share == 1 else centre + reach)


_CHUNK = 1 << 20
"""Resampled values held at once."""


class Correlation(NamedTuple):
    """How two quantities vary together over n pairs; None for fewer than three, or when one of them is constant.

    Attributes:
        pearson: Pearson's coefficient.
        spearman: Spearman's coefficient.
        interval: Interval of `spearman`.
        n: Number of pairs.

    Examples:
        >>> correlation([1.0, 2.0], [3.0, 4.0], rng=np.random.default_rng(0))
        Correlation(pearson=None, spearman=None, interval=None, n=2)
    """

    pearson: float | None
    spearman: float | None
    interval: Interval | None
    n: int


def correlation(
    x: Sequence[float | None],
    y: Sequence[float | None],
    *,
    rng: np.random.Generator,
    n: int = 10_000,
    level: float = LEVEL,
) -> Correlation:
    """Pearson's and Spearman's coefficients of pairs of values, and a percentile bootstrap interval of the latter.

    Pairs that lack a value or hold an infinite one are left out. Resamples in which one of the two is constant are not
    counted.

    Args:
        x: Values of one quantity.
        y: Values of the other, as many as `x`.
        rng: Random generator of the resampling.
        n: Number of resamples.
        level: Confidence level of the interval.

    Returns:
        The coefficients and the interval.

    Raises:
        ShapeError: The lengths differ, or a value is NaN.

    Examples:
        >>> found = correlation([1.0, 2.0, 3.0, 4.0], [1.0, 4.0, 9.0, 16.0], rng=np.random.default_rng(0), n=100)
        >>> round(found.pearson, 3), round(found.spearman, 3), found.n
        (0.984, 1.0, 4)
    """
    if len(x) != len(y):
        raise ShapeError(f"a correlation takes pairs, got {len(x)} and {len(y)} values")
    pairs = np.array(sorted((a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None), np.float64)
    pairs = pairs.reshape(-1, 2)
    if np.isnan(pairs).any():
        raise ShapeError("values hold NaN; give None for what is missing")
    pairs = pairs[np.isfinite(pairs).all(1)]
    count = len(pairs)
    if count < 3 or (np.ptp(pairs, axis=0) == 0).any():
        return Correlation(None, None, None, count)
    drawn = []
    for first in range(0, n, rows := max(1, _CHUNK // count**2)):
        picks = rng.integers(0, count, (min(rows, n - first), count))
        with np.errstate(invalid="ignore"):
            drawn.append(_pearson(_mean_ranks(pairs[picks, 0]), _mean_ranks(pairs[picks, 1])))
    known = np.concatenate(drawn)
    low, high = np.quantile(known[np.isfinite(known)], [(1 - level) / 2, (1 + level) / 2])
    ranked = _pearson(_mean_ranks(pairs[:, 0]), _mean_ranks(pairs[:, 1]))
    return Correlation(
        float(_pearson(pairs[:, 0], pairs[:, 1])), float(ranked), Interval(float(low), float(high)), count
    )


def _pearson(x: FloatArray, y: FloatArray) -> FloatArray:
    """Coefficients (...) of values (..., n)."""
    a, b = x - x.mean(-1, keepdims=True), y - y.mean(-1, keepdims=True)
    found: FloatArray = (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return np.clip(found, -1, 1)


def _mean_ranks(values: FloatArray) -> FloatArray:
    """Ranks along the last axis from 0, equal values sharing the mean of theirs."""
    below = (values[..., None, :] < values[..., :, None]).sum(-1)
    level = (values[..., None, :] == values[..., :, None]).sum(-1)
    ranked: FloatArray = below + (level - 1) / 2
    return ranked
