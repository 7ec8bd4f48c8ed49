"""Means with intervals, of independent values or of clusters of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.statistics.sample import FloatArray, Interval, Sample, student_quantile

RESAMPLES = 10_000
LEVEL = 0.95
FEWEST_RESAMPLED = 8
"""Fewest clusters that are resampled. With fewer, the interval is Student's (docs/statistics.md has the coverage)."""
_CHUNK = 1 << 20
"""Resampled values held at once."""


class MeanStd(NamedTuple):
    """Mean and spread of the values that exist.

    Attributes:
        mean: Mean; None where undefined.
        std: Population standard deviation (ddof 0); None where undefined, as that of a single value.
        n: Number of values.
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


def bootstrap_interval(
    values: Iterable[float | None],
    clusters: Iterable[Hashable] | None = None,
    *,
    rng: np.random.Generator,
    n: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval | None:
    """Interval of the mean of values, of which those of one cluster are not independent.

    Whole clusters are resampled, and the mean is that over the values drawn, so each value counts alike. Percentile
    bootstrap, with levels widened so that few clusters do not look more certain than with Student's t (Hesterberg 2015,
    "expanded percentile"). Below FEWEST_RESAMPLED clusters it is Student's t with the standard error of
    `Sample.standard_error`, because resampling cannot leave the range of the clusters. Clusters of unequal size count
    as fewer (`Sample.effective_clusters`).

    Args:
        values: One value for each task; None is missing.
        clusters: Cluster of each value. By default every value is independent of the others.
        rng: Random generator of the resampling.
        n: Number of resamples.
        level: Confidence level.

    Returns:
        The interval; None for fewer than two clusters or an infinite value.

    Raises:
        ShapeError: A value is NaN, or there is not one cluster for each value.
    """
    return balanced_interval([values], None if clusters is None else [clusters], rng=rng, n=n, level=level)


def balanced_interval(
    strata: Iterable[Iterable[float | None]],
    clusters: Iterable[Iterable[Hashable]] | None = None,
    *,
    rng: np.random.Generator | int,
    n: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval | None:
    """Interval of the mean of the means of several strata, which count alike whatever their sizes.

    Clusters are resampled among those that lie in the same strata, with levels widened for the smallest such group (see
    `bootstrap_interval`). With fewer than FEWEST_RESAMPLED clusters in one of them it is Student's t.

    Args:
        strata: Values of each stratum; None is missing.
        clusters: Cluster of each value, in the same form. A cluster may lie in several strata. By default every value
            is independent of the others.
        rng: Random generator of the resampling, or the seed of a new one.
        n: Number of resamples.
        level: Confidence level.

    Returns:
        The interval; None when a stratum has a single cluster, whose spread is unknown, or an infinite value.

    Raises:
        ShapeError: A value is NaN, or there is not one cluster for each value.
    """
    return interval_of_sample(Sample.of(strata, clusters), rng=rng, n=n, level=level)


def interval_of_sample(
    sample: Sample, *, rng: np.random.Generator | int, n: int = RESAMPLES, level: float = LEVEL
) -> Interval | None:
    """Interval of the mean of a sample, see `balanced_interval`.

    Args:
        sample: The values.
        rng: Random generator of the resampling, or the seed of a new one.
        n: Number of resamples.
        level: Confidence level.
    """
    error = sample.standard_error() if sample.is_finite else None
    if error is None:
        return None
    if sample.fewest_clusters < FEWEST_RESAMPLED:
        return error.interval(sample.mean, level)
    tail = _tail(sample.fewest_clusters, level)
    low, high = np.quantile(_resampled_means(sample, sample.patterns, n, rng), [tail, 1 - tail])
    return Interval(float(low), float(high))


def interval_method(
    strata: Iterable[Iterable[float | None]], clusters: Iterable[Iterable[Hashable]] | None = None
) -> Literal["bootstrap", "student"]:
    """Which of its two ways `balanced_interval` takes for these values; `bootstrap_interval` is that of one stratum."""
    return method_of_sample(Sample.of(strata, clusters))


def method_of_sample(sample: Sample) -> Literal["bootstrap", "student"]:
    """Which of its two ways `interval_of_sample` takes for a sample."""
    return "student" if sample.fewest_clusters < FEWEST_RESAMPLED else "bootstrap"


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
    """The values that exist, sorted, so that nothing depends on their order.

    Args:
        values: The values; None is missing.

    Raises:
        ShapeError: A value is NaN.
    """
    known = np.array([value for value in values if value is not None], np.float64)
    known.sort()
    if len(known) and math.isnan(known[-1]):  # it comes last
        raise ShapeError("values hold NaN; give None for what is missing")
    return known


def _tail(count: float, level: float) -> float:
    """Share of resamples beyond each end of an interval of `count` clusters (Hesterberg 2015)."""
    degrees = count - 1
    return NormalDist().cdf(-math.sqrt(count / degrees) * student_quantile((1 + level) / 2, degrees))


def _resampled_means(
    sample: Sample, patterns: Sequence[NDArray[np.int64]], n: int, rng: np.random.Generator | int
) -> FloatArray:
    """Means of `n` samples of clusters, drawn among those of the same pattern, (n,)."""
    totals, counts = np.zeros((2, n, sample.counts.shape[1]))
    groups = tuple(map(len, patterns))
    if not isinstance(rng, int):
        draws = _draws(groups, n, rng)
    elif n * sum(groups) <= _CHUNK:
        draws = iter(_kept_draws(groups, n, rng))
    else:
        draws = _draws(groups, n, np.random.default_rng(rng))
    for which, drawn, picks in draws:
        rows = patterns[which]
        for k in np.flatnonzero(sample.counts[rows[0]]):
            totals[drawn, k] += sample.totals[rows, k].take(picks).sum(1)
            sizes = sample.counts[rows, k]
            equal = sizes[0] == sizes[-1] and (sizes == sizes[0]).all()
            counts[drawn, k] += sizes[0] * len(rows) if equal else sizes.take(picks).sum(1)
    totals /= counts
    means: FloatArray = totals.mean(1) if totals.shape[1] > 1 else totals[:, 0]
    return means


def _draws(
    groups: Sequence[int], n: int, rng: np.random.Generator
) -> Iterator[tuple[int, slice, NDArray[np.unsignedinteger | np.int64]]]:
    """For each group of clusters, by its place: which of the `n` samples, and the clusters drawn for each of them."""
    for which, size in enumerate(groups):
        step = max(1, _CHUNK // size)
        for start in range(0, n, step):
            picks = rng.integers(0, size, (min(step, n - start), size), dtype=np.uint32)
            yield which, slice(start, start + len(picks)), picks


@lru_cache(maxsize=8)
def _kept_draws(
    groups: tuple[int, ...], n: int, seed: int
) -> list[tuple[int, slice, NDArray[np.unsignedinteger | np.int64]]]:
    """`_draws` of a new generator, which all cells of a table share; 8 MB at most each, as indices."""
    return [
        (which, drawn, picks.astype(np.intp)) for which, drawn, picks in _draws(groups, n, np.random.default_rng(seed))
    ]
