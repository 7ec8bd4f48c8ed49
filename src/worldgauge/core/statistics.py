"""Statistics of scores: means with intervals, paired tests, ranks, and the smallest difference that could be seen.

Everywhere None is a missing value, left out and never zero. NaN is refused. Results do not depend on the order of the
values. One value is one trajectory: frames of a video are not independent, so average them first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations
from statistics import NormalDist
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError

FloatArray = NDArray[np.float64]

RESAMPLES = 10_000
LEVEL = 0.95
_EXACT_UP_TO = 14
"""Most pairs for the exact test; 2^13 sign patterns, fewer than the draws of the random test."""
_CHUNK = 1 << 20
"""Resampled values held at once."""


FEWEST_RESAMPLED = 5
"""Fewest values for which the measured coverage of the bootstrap is right (0.93 at 5, 0.95 at 8)."""


class MeanStd(NamedTuple):
    """Mean and spread of the values that exist.

    Attributes:
        mean: Mean; None where undefined.
        std: Population standard deviation (ddof 0); None where undefined.
        n: Number of values.
    """

    mean: float | None
    std: float | None
    n: int


class Interval(NamedTuple):
    """Two-sided confidence interval.

    Attributes:
        low: Lower end.
        high: Upper end.
    """

    low: float
    high: float


class PairedDifference(NamedTuple):
    """Difference a minus b over the tasks that both have.

    Attributes:
        mean: Mean difference; None when they share no task.
        interval: Interval of the mean; None for fewer than two pairs.
        p: Two-sided p-value of "no difference".
        n: Number of pairs.
        excluded: Tasks of either side that are not among the pairs.
    """

    mean: float | None
    interval: Interval | None
    p: float | None
    n: int
    excluded: int


class Correlation(NamedTuple):
    """How two quantities vary together over n pairs; None for fewer than three, or when one of them is constant.

    Attributes:
        pearson: Pearson's coefficient.
        spearman: Spearman's coefficient.
        interval: Interval of `spearman`.
        n: Number of pairs.
    """

    pearson: float | None
    spearman: float | None
    interval: Interval | None
    n: int


class RankRange(NamedTuple):
    """Best and worst rank that the data allow.

    Attributes:
        first: Best rank, from 1.
        last: Worst rank.
    """

    first: int
    last: int


def mean_std(values: Iterable[float | None]) -> MeanStd:
    """Mean and population standard deviation of the values that exist.

    Args:
        values: The values; None is missing.

    Returns:
        The mean, the deviation and the number of values. An infinite value gives an infinite mean and no deviation.

    Raises:
        ShapeError: A value is NaN.
    """
    known = _known(values)
    if not len(known):
        return MeanStd(None, None, 0)
    if np.isinf(known).any():
        mean = float(known[np.isinf(known)].mean()) if len(set(known[np.isinf(known)])) == 1 else None
        return MeanStd(mean, None, len(known))
    return MeanStd(float(known.mean()), float(known.std()), len(known))


def bootstrap_interval(
    values: Iterable[float | None], *, rng: np.random.Generator, n: int = RESAMPLES, level: float = LEVEL
) -> Interval | None:
    """Interval of the mean over trajectories.

    Percentile bootstrap, with levels widened so that few values do not look more certain than with Student's t
    (Hesterberg 2015, "expanded percentile"). Below FEWEST_RESAMPLED values it is Student's t itself, because resampling
    cannot leave their range: with two values it would hold the true mean half the time.

    Args:
        values: One value for each trajectory; None is missing.
        rng: Random generator of the resampling.
        n: Number of resamples.
        level: Confidence level.

    Returns:
        The interval; None for fewer than two values or an infinite one.

    Raises:
        ShapeError: A value is NaN.
    """
    return balanced_interval([values], rng=rng, n=n, level=level)


def balanced_interval(
    strata: Iterable[Iterable[float | None]], *, rng: np.random.Generator, n: int = RESAMPLES, level: float = LEVEL
) -> Interval | None:
    """Interval of the mean of the means of several strata, which count alike whatever their sizes.

    Values are resampled within each stratum, with levels widened for the smallest one (see `bootstrap_interval`). With
    fewer than FEWEST_RESAMPLED values in one of them it is Student's t, with degrees of freedom by Welch and
    Satterthwaite.

    Args:
        strata: Values of each stratum; None is missing.
        rng: Random generator of the resampling.
        n: Number of resamples.
        level: Confidence level.

    Returns:
        The interval; None when a stratum has a single value, whose spread is unknown, or an infinite one.

    Raises:
        ShapeError: A value is NaN.
    """
    known = [own for own in map(_known, strata) if len(own)]
    if not known or min(map(len, known)) < 2 or not all(np.isfinite(own).all() for own in known):
        return None
    fewest = min(map(len, known))
    if fewest < FEWEST_RESAMPLED:
        centre = float(np.mean([own.mean() for own in known]))
        parts = [own.var(ddof=1) / len(own) for own in known]
        spread = sum(part**2 / (len(own) - 1) for part, own in zip(parts, known, strict=True))
        # Slightly more: for one stratum it is a whole number, apart from rounding.
        degrees = max(1, math.floor(sum(parts) ** 2 / spread + 1e-9)) if spread > 0 else 1
        reach = _student_quantile((1 + level) / 2, degrees) * math.sqrt(sum(parts)) / len(known)
        return Interval(centre - reach, centre + reach)
    tail = _tail(fewest, level)
    means = np.mean([_resampled_means(own, n, rng) for own in known], axis=0)
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(low), float(high))


def jackknife_interval(
    n: int, statistic: Callable[[NDArray[np.int64]], float], *, groups: int = 20, level: float = LEVEL
) -> Interval | None:
    """Interval of a number that is computed from `n` items together, such as a distance of two sets.

    Resampling would bias such a number. One item is left out at a time, or one of `groups` equal groups when there are
    more, and Student's t is applied to the changes.
    Source: Efron and Tibshirani 1993, sections 11.2 and 11.5.

    Args:
        n: Number of items.
        statistic: Computes the number from the items with the given indices.
        groups: Largest number of groups.
        level: Confidence level.

    Returns:
        The interval; None for fewer than three items, or when the number is not finite.
    """
    if n < 3:
        return None
    number = min(n, groups)
    things = np.arange(n)
    left_out = np.array([statistic(things[things % number != group]) for group in range(number)])
    if not np.isfinite(left_out).all():
        return None
    spread = math.sqrt((number - 1) / number * ((left_out - left_out.mean()) ** 2).sum())
    reach = _student_quantile((1 + level) / 2, number - 1) * spread
    centre = statistic(things)
    return Interval(centre - reach, centre + reach)


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
    """
    if not 0 <= successes <= n:
        raise ShapeError(f"{successes} successes among {n} cannot be")
    if n == 0:
        return None
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    share = successes / n
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return Interval(0.0 if successes == 0 else centre - reach, 1.0 if successes == n else centre + reach)


def paired_difference(
    a: Mapping[str, float | None],
    b: Mapping[str, float | None],
    stratum: Mapping[str, str] = MappingProxyType({}),
    *,
    rng: np.random.Generator,
    n: int = RESAMPLES,
    level: float = LEVEL,
) -> PairedDifference:
    """Test whether a is better than b on the same tasks.

    Computes the mean of a minus b, its interval, and a sign-flip permutation test. The test takes all sign patterns
    up to 14 pairs and `n` random ones beyond (Phipson & Smyth 2010: p is never zero).

    Args:
        a: Value of each task id.
        b: Value of each task id. Tasks that one side lacks, or where a value is None or infinite, are left out and
            counted.
        stratum: Stratum of each task; strata count alike whatever their sizes. By default all tasks are in one stratum.
        rng: Random generator of the resampling and the test.
        n: Number of resamples.
        level: Confidence level of the interval.

    Returns:
        The difference.

    Raises:
        ShapeError: A value is NaN.
    """
    tasks = sorted(a.keys() | b.keys())
    own: dict[str, list[float]] = {}
    for task in tasks:
        x, y = a.get(task), b.get(task)
        if x is not None and y is not None and not (math.isinf(x) or math.isinf(y)):
            own.setdefault(stratum.get(task, ""), []).append(x - y)
    count = sum(map(len, own.values()))
    if not count:
        return PairedDifference(None, None, None, 0, len(tasks))
    groups = [_known(own[name]) for name in sorted(own)]
    interval = balanced_interval(groups, rng=rng, n=n, level=level)
    # One sign for each task: its share of the mean of means changes sign with it.
    p = _sign_flip_p(np.concatenate([group / (len(groups) * len(group)) for group in groups]), n, rng)
    mean = float(np.mean([group.mean() for group in groups]))
    return PairedDifference(mean, interval, p, count, len(tasks) - count)


def correlation(
    x: Sequence[float | None],
    y: Sequence[float | None],
    *,
    rng: np.random.Generator,
    n: int = RESAMPLES,
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


def ranks(means: Sequence[float | None], *, higher: bool = True) -> list[int | None]:
    """Rank of each mean, 1 for the best; equal means share the better rank (1, 2, 2, 4).

    Args:
        means: The means; None is missing and gets no rank.
        higher: Whether a higher mean is better.

    Returns:
        One rank for each mean, None where it is missing.

    Raises:
        ShapeError: A mean is NaN.
    """
    known = _known(means)
    ordered = known if higher else -known
    return [
        None if mean is None else 1 + int(np.count_nonzero(ordered > (mean if higher else -mean))) for mean in means
    ]


def ranks_with_ties(
    scores: Mapping[str, Mapping[str, float | None]],
    *,
    rng: np.random.Generator,
    higher: bool = True,
    level: float = LEVEL,
    n: int = RESAMPLES,
) -> dict[str, RankRange]:
    """Ranks that the data can tell apart.

    Every pair of subjects is tested (`paired_difference`), and the p-values are corrected together (`holm`). The first
    place of a subject is 1 + the number of subjects significantly better than it. Its last place is the number of
    subjects minus the number significantly worse. Subjects with the same first place share that rank.

    Args:
        scores: {subject: {task id: value}}.
        rng: Random generator of the tests.
        higher: Whether a higher value is better.
        level: Confidence level; differences with a corrected p-value of at most 1 - level are significant.
        n: Number of resamples.

    Returns:
        {subject: RankRange}.

    Raises:
        ShapeError: A value is NaN.
    """
    pairs = list(combinations(scores, 2))
    results = [paired_difference(scores[a], scores[b], rng=rng, n=n, level=level) for a, b in pairs]
    corrected = holm([result.p for result in results])
    return rank_ranges(
        scores,
        [
            (a, b) if (result.mean > 0) == higher else (b, a)
            for (a, b), result, p in zip(pairs, results, corrected, strict=True)
            if p is not None and result.mean is not None and p <= 1 - level
        ],
    )


def rank_ranges(names: Iterable[str], beaten: Iterable[tuple[str, str]]) -> dict[str, RankRange]:
    """Places from the pairs of subjects that the data tell apart; all other pairs share theirs.

    Args:
        names: All subjects.
        beaten: Pairs (better, worse).

    Returns:
        The place of each subject.
    """
    names, beaten = list(names), list(beaten)
    wins = Counter(better for better, _ in beaten)
    losses = Counter(worse for _, worse in beaten)
    return {name: RankRange(1 + losses[name], len(names) - wins[name]) for name in names}


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p-values for multiple tests (Holm 1979): those at or under alpha hold together.

    Args:
        p_values: The p-values; None is missing.

    Returns:
        The corrected p-values; None stays None.

    Raises:
        ShapeError: A p-value is not in [0, 1].
    """
    known = _known(p_values)
    if len(known) and (known[0] < 0 or known[-1] > 1):
        raise ShapeError(f"p-values lie in [0, 1], got {known[0]} to {known[-1]}")
    adjusted = np.minimum(1, np.maximum.accumulate(known * np.arange(len(known), 0, -1)))
    return [None if p is None else float(adjusted[np.searchsorted(known, p)]) for p in p_values]


def smallest_resolvable_difference(
    differences: Iterable[float | None], *, level: float = LEVEL, power: float = 0.8
) -> float | None:
    """Smallest true mean difference that this number of pairs would show, in units of the score.

    A two-sided test at `level` finds it with probability `power`: (t[(1 + level) / 2] + t[power]) s / sqrt(n), with s
    the sample standard deviation and t the quantiles of Student's distribution with n - 1 degrees of freedom.

    Args:
        differences: Paired differences, or the values of one subject for its mean against a fixed number.
        level: Confidence level of the test.
        power: Probability of finding the difference.

    Returns:
        The difference; None for fewer than two values or an infinite one.

    Raises:
        ShapeError: A value is NaN.
    """
    known = _known(differences)
    if len(known) < 2 or not np.isfinite(known).all():
        return None
    degrees = len(known) - 1
    quantiles = _student_quantile((1 + level) / 2, degrees) + _student_quantile(power, degrees)
    return float(quantiles * known.std(ddof=1) / math.sqrt(len(known)))


def _known(values: Iterable[float | None]) -> FloatArray:
    """The values that exist, sorted, so that nothing depends on their order."""
    known = np.sort(np.array([value for value in values if value is not None], np.float64))
    if np.isnan(known).any():
        raise ShapeError("values hold NaN; give None for what is missing")
    return known


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


def _tail(count: int, level: float) -> float:
    """Share of resamples beyond each end of an interval of `count` values (Hesterberg 2015)."""
    degrees = count - 1
    return NormalDist().cdf(-math.sqrt(count / degrees) * _student_quantile((1 + level) / 2, degrees))


def _resampled_means(values: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    size = len(values)
    rows = max(1, _CHUNK // size)
    parts = []
    for start in range(0, n, rows):
        picks = rng.integers(0, size, (min(rows, n - start), size), dtype=np.uint32)
        parts.append(values[picks].mean(1))
    return np.concatenate(parts)


def _sign_flip_p(differences: FloatArray, n: int, rng: np.random.Generator) -> float:
    """Share of sign patterns whose sum is at least as far from zero as the one observed."""
    size = len(differences)
    observed = abs(differences.sum())
    # Sums in another order differ in the last bits; equal ones must count as equal.
    reach = observed - 1e-12 * np.abs(differences).sum()
    if size <= _EXACT_UP_TO:
        # The first sign is fixed: the other half of the patterns mirrors these.
        patterns = np.arange(2 ** (size - 1))[:, None] >> np.arange(size) & 1
        return float(np.mean(np.abs((1 - 2 * patterns) @ differences) >= reach))
    rows = max(1, _CHUNK // size)
    hits = 0
    for start in range(0, n, rows):
        signs = rng.integers(0, 2, (min(rows, n - start), size), dtype=np.int8) * 2 - 1
        hits += int(np.count_nonzero(np.abs(signs @ differences) >= reach))
    return (hits + 1) / (n + 1)


@cache
def _student_quantile(p: float, degrees: int) -> float:
    """Quantile of Student's distribution, by bisection of its closed form for whole degrees of freedom."""
    if p < 0.5:
        return -_student_quantile(1 - p, degrees)
    low, high = 0.0, 1.0
    while _student_cdf(high, degrees) < p:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_cdf(middle, degrees) < p else (low, middle)
    return high


def _student_cdf(t: float, degrees: int) -> float:
    """P(T <= t), t >= 0 (Abramowitz & Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    first = 2 if degrees % 2 == 0 else 3
    steps = np.arange(first, degrees - 1, 2, dtype=np.float64)
    if degrees % 2 == 0:
        series = 1 + np.cumprod((steps - 1) / steps * cosine**2).sum()
        inside = sine * series
    else:
        series = (1 + np.cumprod((steps - 1) / steps * cosine**2).sum()) if degrees > 1 else 0.0
        inside = 2 / math.pi * (angle + sine * cosine * series)
    return float((1 + inside) / 2)
