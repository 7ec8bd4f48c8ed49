"""Means with intervals, of independent values or of clusters of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.statistics.sample import LEVEL, FloatArray, Interval, Sample, student_quantile


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

    Example:
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
