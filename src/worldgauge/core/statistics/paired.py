"""Who is better: paired tests on the same tasks, ranks, and the smallest difference that could be seen."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.statistics.means import LEVEL, RESAMPLES, interval_of_sample, known_values
from worldgauge.core.statistics.sample import FloatArray, Interval, Sample, standard_errors, student_quantile

_EXACT_UP_TO = 14
"""Most clusters for the exact test; 2^13 sign patterns, fewer than the draws of the random test."""
_CHUNK = 1 << 20
"""Signs held at once."""
_BLOCK = 1 << 16
"""Differences of pairs held at once: they stay in cache."""


class PairedDifference(NamedTuple):
    """Difference a minus b over the tasks that both have.

    Attributes:
        mean: Mean difference; None when they share no task.
        interval: Interval of the mean; None for fewer than two pairs.
        p: Two-sided p-value of "no difference".
        n: Number of pairs.
        excluded: Tasks of either side that are not among the pairs.
        clusters: Number of clusters that the pairs are of.
    """

    mean: float | None
    interval: Interval | None
    p: float | None
    n: int
    excluded: int
    clusters: int = 0


class PairedMeans(NamedTuple):
    """Mean differences of all pairs of P = N (N - 1) / 2, in the order of `itertools.combinations`.

    Attributes:
        mean: Mean of a minus b, (P,) float64; NaN where they share no task.
        error: Its standard error, (P,) float64; NaN where a stratum has a single cluster.
        degrees: Degrees of freedom of Student's distribution that belongs to it, (P,) float64; NaN as the error.
        n: Number of tasks that both have, (P,) int64.
        clusters: Number of clusters that these are of, (P,) int64.
    """

    mean: FloatArray
    error: FloatArray
    degrees: FloatArray
    n: NDArray[np.int64]
    clusters: NDArray[np.int64]


class RankRange(NamedTuple):
    """Best and worst rank that the data allow.

    Attributes:
        first: Best rank, from 1.
        last: Worst rank.
    """

    first: int
    last: int


def paired_difference(
    a: Mapping[str, float | None],
    b: Mapping[str, float | None],
    stratum: Mapping[str, str] = MappingProxyType({}),
    cluster: Mapping[str, str] = MappingProxyType({}),
    *,
    rng: np.random.Generator,
    n: int = RESAMPLES,
    level: float = LEVEL,
) -> PairedDifference:
    """Test whether a is better than b on the same tasks.

    Computes the mean of a minus b, its interval, and a sign-flip permutation test: under "no difference" a cluster's
    differences could as well all have the other sign. The test takes all sign patterns up to 14 clusters and `n` random
    ones beyond (Phipson & Smyth 2010: p is never zero). The smallest p of G clusters is 2^(1 - G).

    Args:
        a: Value of each task id.
        b: Value of each task id. Tasks that one side lacks, or where a value is None or infinite, are left out and
            counted; so are the clusters that only one side was asked of.
        stratum: Stratum of each task; strata count alike whatever their sizes. By default all tasks are in one stratum.
        cluster: Cluster of each task, see `bootstrap_interval`. A task that it lacks is one of its own.
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
    names: dict[str, list[Hashable]] = {}
    for task in tasks:
        x, y = a.get(task), b.get(task)
        if x is not None and y is not None and not (math.isinf(x) or math.isinf(y)):
            own.setdefault(stratum.get(task, ""), []).append(x - y)
            # A task of its own must not meet a cluster of the same name.
            names.setdefault(stratum.get(task, ""), []).append((task in cluster, cluster.get(task, task)))
    count = sum(map(len, own.values()))
    if not count:
        return PairedDifference(None, None, None, 0, len(tasks))
    sample = Sample.of([own[key] for key in sorted(own)], [names[key] for key in sorted(own)])
    interval = interval_of_sample(sample, rng=rng, n=n, level=level)
    p = _sign_flip_p(sample.shares, n, rng)
    return PairedDifference(sample.mean, interval, p, count, len(tasks) - count, len(sample.counts))


def paired_means(
    values: Iterable[Mapping[str, float]],
    stratum: Mapping[str, str] = MappingProxyType({}),
    cluster: Mapping[str, str] = MappingProxyType({}),
) -> PairedMeans:
    """Mean differences of all pairs of many subjects with their standard errors, worked out together.

    Each is that of a `Sample` of the differences. Pairs that share the same tasks are one array.

    Args:
        values: Finite value of each task id, for each of N subjects.
        stratum: Stratum of each task; strata count alike. By default all tasks are in one stratum.
        cluster: Cluster of each task. A task that it lacks stands alone.

    Returns:
        The differences.
    """
    each = list(values)
    tasks = sorted({task for own in each for task in own})
    table = np.array([[own.get(task, math.nan) for task in tasks] for own in each])
    # A task of its own must not meet a cluster of the same name.
    rows = _numbered([(task in cluster, cluster.get(task, task)) for task in tasks])
    columns = _numbered([stratum.get(task, "") for task in tasks])
    first, second = np.triu_indices(len(each), 1)
    mean, error, degrees = np.full((3, len(first)), math.nan)
    n, clusters = np.zeros((2, len(first)), np.int64)
    for chosen, pairs in _by_shared_tasks(~np.isnan(table), first, second) if tasks and len(first) else ():
        counts, places = _grid(rows[chosen], columns[chosen])
        n[pairs], clusters[pairs] = len(chosen), len(counts)
        step = max(1, _BLOCK // max(len(chosen), counts.size))
        for block in (pairs[start : start + step] for start in range(0, len(pairs), step)):
            apart = table[np.ix_(first[block], chosen)] - table[np.ix_(second[block], chosen)]
            totals = np.zeros((len(block), *counts.shape))
            for row, column, at in places:
                totals[:, row, column] += apart[:, at]
            mean[block] = (totals.sum(1) / counts.sum(0)).mean(1)
            found = standard_errors(totals, counts)
            if found is not None:
                error[block], degrees[block] = found
    return PairedMeans(mean, error, degrees, n, clusters)


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
    known = known_values(means)
    ordered = known if higher else -known
    return [
        None if mean is None else 1 + int(np.count_nonzero(ordered > (mean if higher else -mean))) for mean in means
    ]


def ranks_with_ties(
    scores: Mapping[str, Mapping[str, float | None]],
    *,
    cluster: Mapping[str, str] = MappingProxyType({}),
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
        cluster: Cluster of each task, see `paired_difference`.
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
    results = [paired_difference(scores[a], scores[b], cluster=cluster, rng=rng, n=n, level=level) for a, b in pairs]
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
    known = known_values(p_values)
    if len(known) and (known[0] < 0 or known[-1] > 1):
        raise ShapeError(f"p-values lie in [0, 1], got {known[0]} to {known[-1]}")
    adjusted = np.minimum(1, np.maximum.accumulate(known * np.arange(len(known), 0, -1)))
    found = iter(adjusted[np.searchsorted(known, [p for p in p_values if p is not None])].tolist())
    return [None if p is None else next(found) for p in p_values]


def smallest_resolvable_difference(
    differences: Iterable[float | None],
    clusters: Iterable[Hashable] | None = None,
    *,
    level: float = LEVEL,
    power: float = 0.8,
) -> float | None:
    """Smallest true mean difference that these clusters would show, in units of the score.

    A two-sided test at `level` finds it with probability `power`: (t[(1 + level) / 2] + t[power]) times the standard
    error of `Sample.standard_error`, with t the quantiles of Student's distribution with its degrees of freedom. Of
    independent values that is s / sqrt(n), with s the sample standard deviation.

    Args:
        differences: Paired differences, or the values of one subject for its mean against a fixed number.
        clusters: Cluster of each difference. By default every one is independent of the others.
        level: Confidence level of the test.
        power: Probability of finding the difference.

    Returns:
        The difference; None for fewer than two clusters or an infinite value.

    Raises:
        ShapeError: A value is NaN, or there is not one cluster for each.
    """
    sample = Sample.of([differences], None if clusters is None else [clusters])
    error = sample.standard_error() if sample.is_finite else None
    if error is None:
        return None
    value, degrees = np.array([error.value]), np.array([error.degrees])
    return float(resolvable_differences(value, degrees, level=level, power=power)[0])


def resolvable_differences(
    errors: FloatArray, degrees: FloatArray, *, level: float = LEVEL, power: float = 0.8
) -> FloatArray:
    """`smallest_resolvable_difference` of many mean differences whose standard errors are known.

    Args:
        errors: The standard errors, (P,).
        degrees: Degrees of freedom of each, (P,).
        level: Confidence level of the test.
        power: Probability of finding the difference.

    Returns:
        The differences, (P,).
    """
    occurring, which = np.unique(degrees, return_inverse=True)
    quantiles = [student_quantile((1 + level) / 2, one) + student_quantile(power, one) for one in occurring.tolist()]
    found: FloatArray = np.array(quantiles, np.float64)[which] * errors
    return found


def _by_shared_tasks(
    known: NDArray[np.bool_], first: NDArray[np.int64], second: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Places of tasks, (T,), and of all pairs that share just these, (P,). Pairs without a task are left out.

    known: whether a subject has a task, (N, tasks). first, second: the subjects of each pair.
    """
    kind = _numbered([one.tobytes() for one in known])
    example = dict(zip(kind.tolist(), known, strict=True))
    # Most subjects of a board have all tasks, so there are few kinds of pairs.
    both = kind[first] * len(known) + kind[second]
    order = np.argsort(both, kind="stable")
    starts = np.flatnonzero(np.diff(both[order], prepend=-1))
    shared: dict[bytes, list[NDArray[np.int64]]] = {}
    for pairs in np.split(order, starts[1:]):
        a, b = (example[int(kind[one[pairs[0]]])] for one in (first, second))
        shared.setdefault((a & b).tobytes(), []).append(pairs)
    for mask, groups in shared.items():
        chosen = np.flatnonzero(np.frombuffer(mask, np.bool_))
        if len(chosen):
            yield chosen, np.concatenate(groups)


def _numbered(names: Sequence[Any]) -> NDArray[np.int64]:
    """Place of each name among all that occur, sorted."""
    places = {name: place for place, name in enumerate(sorted(set(names)))}
    return np.array([places[name] for name in names], np.int64)


def _grid(
    rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> tuple[FloatArray, list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]]:
    """Number of tasks of each cluster in each stratum, (G, K), and how their values are added up there.

    Each step adds one value to every cell that has one left: rows and columns of the cells, and places of the tasks.
    """
    rows, columns = (_numbered(one.tolist()) for one in (rows, columns))
    counts = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(counts, (rows, columns), 1.0)
    seen = np.zeros(counts.shape, np.int64)
    turn = np.zeros(len(rows), np.int64)
    for place, cell in enumerate(zip(rows, columns, strict=True)):
        turn[place] = seen[cell]
        seen[cell] += 1
    steps = [np.flatnonzero(turn == one) for one in range(turn.max() + 1)]
    return counts, [(rows[at], columns[at], at) for at in steps]


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
