"""Who is better: paired tests on the same tasks, ranks, and the minimum detectable effect."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.intervals import LEVEL, FloatArray, Interval, effective_number, estimates, known_values

FEWEST_CLUSTERS = 6
"""Clusters that a test needs. With fewer, the spread of the differences is a guess."""
LOG_SPREAD = 0.5
"""Standard deviation of the logarithms of a model's scores from which the test also compares log-normal means."""
_BLOCK = 1 << 16
"""Differences of pairs held at once: they stay in cache."""


class PairedDifference(NamedTuple):
    """Difference a minus b over the tasks that both have.

    Attributes:
        mean: Mean difference; None when they share no task.
        interval: Interval of the mean, see `mean_interval`.
        p: Two-sided p-value of "no difference"; None for fewer than FEWEST_CLUSTERS clusters.
        n: Number of tasks that both have.
        excluded: Tasks that only one of them has.
        clusters: Number of clusters of the n tasks.

    Examples:
        >>> found = paired_difference({"one": 3.0, "two": 5.0}, {"one": 1.0, "three": 2.0})
        >>> found.mean, found.n, found.excluded
        (2.0, 1, 2)
    """

    mean: float | None
    interval: Interval | None
    p: float | None
    n: int
    excluded: int
    clusters: int = 0


class PairedDifferences(NamedTuple):
    """Differences of P pairs of models; arrays (P,). Floats are NaN where `PairedDifference` has None.

    Attributes:
        mean: Mean of a minus b.
        error: Its standard error, by the less certain of the tests that were made.
        degrees: Degrees of freedom of Student's distribution for that error.
        low: Lower end of the interval.
        high: Upper end of the interval.
        p: Two-sided p-value of "no difference".
        n: Number of tasks that both have, int64.
        clusters: Number of their clusters, int64.

    Examples:
        >>> found = paired_differences([{"one": 1.0, "two": 2.0}, {"one": 4.0, "two": 3.0}])
        >>> found.mean.tolist(), found.n.tolist()
        ([-2.0], [2])
    """

    mean: FloatArray
    error: FloatArray
    degrees: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray
    n: NDArray[np.int64]
    clusters: NDArray[np.int64]


class RankRange(NamedTuple):
    """Best and worst rank that the data allow.

    Attributes:
        first: Best rank, from 1.
        last: Worst rank.

    Examples:
        >>> place = rank_ranges(["a", "b", "c"], [("a", "c"), ("b", "c")])["a"]
        >>> place.first, place.last
        (1, 2)
    """

    first: int
    last: int


def paired_difference(
    a: Mapping[str, float | None],
    b: Mapping[str, float | None],
    stratum: Mapping[str, str] = MappingProxyType({}),
    cluster: Mapping[str, str] = MappingProxyType({}),
    *,
    level: float = LEVEL,
) -> PairedDifference:
    """Test whether a differs from b on the same tasks; see `paired_differences` for the test.

    Args:
        a: Value of each task id.
        b: Value of each task id. Tasks that one side lacks, and values that are None or infinite, are left out and
            counted.
        stratum: Stratum of each task; strata count alike whatever their sizes. Default: one stratum.
        cluster: Cluster of each task. A task without an entry is a cluster of its own.
        level: Confidence level of the interval.

    Returns:
        The difference.

    Raises:
        ShapeError: A value is NaN.

    Examples:
        >>> ours = {f"task {k}": k + 1.0 for k in range(8)}
        >>> theirs = {f"task {k}": float(k) for k in range(8)}
        >>> found = paired_difference(ours, theirs)
        >>> found.mean, found.p  # all differences are equal: 2^(1 - 8)
        (1.0, 0.0078125)
    """
    known = [
        {task: value for task, value in side.items() if value is not None and not math.isinf(value)} for side in (a, b)
    ]
    if any(math.isnan(value) for side in known for value in side.values()):
        raise ShapeError("values hold NaN; give None for what is missing")
    found = paired_differences(known, stratum, cluster, level=level)
    n = int(found.n[0])
    excluded = len(a.keys() | b.keys()) - n
    if not n:
        return PairedDifference(None, None, None, 0, excluded)
    mean, low, high, p = (float(column[0]) for column in (found.mean, found.low, found.high, found.p))
    interval = None if math.isnan(low) else Interval(low, high)
    return PairedDifference(mean, interval, None if math.isnan(p) else p, n, excluded, int(found.clusters[0]))


def paired_differences(
    values: Sequence[Mapping[str, float]],
    stratum: Mapping[str, str] = MappingProxyType({}),
    cluster: Mapping[str, str] = MappingProxyType({}),
    *,
    pairs: Iterable[tuple[int, int]] | None = None,
    bounds: tuple[float, float] = (0.0, math.inf),
    level: float = LEVEL,
) -> PairedDifferences:
    """Mean differences of many pairs of models, with their intervals and tests.

    The test is Student's, of the differences of clusters, with the standard error of `estimates`. Equal means of
    unequally skewed scores fool it: the model without rare large errors seems worse. So for positive scores whose
    logarithms vary by LOG_SPREAD or more, the means of log-normal distributions are compared as well (Cox, in Land
    1972), and the larger p-value counts. The distributions are cut at the largest possible score: mean of min(x,
    highest). If all differences are equal, p is 2^(1 - clusters), that of a sign test.

    Args:
        values: Finite value of each task id, per model.
        stratum: Stratum of each task; strata count alike. Default: one stratum. Only the first test is made of several.
        cluster: Cluster of each task. A task without an entry is a cluster of its own.
        pairs: Places of the two models of each pair. Default: all pairs in the order of `itertools.combinations`.
        bounds: Smallest and largest possible score. The second test needs a smallest score of 0 or more.
        level: Confidence level of the intervals.

    Returns:
        The differences.

    Examples:
        >>> models = [{"one": 1.0, "two": 3.0}, {"one": 1.0, "two": 1.0}, {"one": 0.0, "two": 0.0}]
        >>> paired_differences(models).mean.tolist()  # models 0 and 1, 0 and 2, 1 and 2
        [1.0, 2.0, 1.0]
    """
    tasks = sorted({task for own in values for task in own})
    table = np.array([[own.get(task, math.nan) for task in tasks] for own in values]).reshape(len(values), len(tasks))
    # A task of its own must not meet a cluster of the same name.
    rows = _numbered([(task in cluster, cluster.get(task, task)) for task in tasks])
    columns = _numbered([stratum.get(task, "") for task in tasks])
    both = list(combinations(range(len(values)), 2) if pairs is None else pairs)
    first, second = np.array(both, np.int64).reshape(-1, 2).T
    numbers = np.full((6, len(first)), math.nan)
    n, clusters = np.zeros((2, len(first)), np.int64)
    for chosen, shared in _by_shared_tasks(~np.isnan(table), first, second) if tasks and len(first) else ():
        models, places = np.unique(np.concatenate([first[shared], second[shared]]), return_inverse=True)
        one, other = np.split(places, 2)
        totals, counts = _sums(table[np.ix_(models, chosen)], rows[chosen], columns[chosen])
        n[shared], clusters[shared] = len(chosen), len(counts)
        fitted = counts.shape[1] == 1 and len(counts) >= FEWEST_CLUSTERS and bounds[0] >= 0
        fits = _log_normal(totals, counts, bounds[1]) if fitted else None
        step = max(1, _BLOCK // counts.size)
        for at in (slice(start, start + step) for start in range(0, len(shared), step)):
            found = estimates(totals[one[at]] - totals[other[at]], counts, level=level)
            p = np.full(found.mean.shape, math.nan)
            if len(counts) >= FEWEST_CLUSTERS:
                p = _student_p(found.mean, found.error, found.degrees, len(counts))
                if fits is not None:
                    p_log, error = _log_normal_test(fits, one[at], other[at], found.degrees)
                    p, found = np.fmax(p, p_log), found._replace(error=np.fmax(found.error, error))
            numbers[:, shared[at]] = (*found, p)
    mean, error, degrees, low, high, p_values = numbers
    return PairedDifferences(mean, error, degrees, low, high, p_values, n, clusters)


def _student_p(mean: FloatArray, error: FloatArray, degrees: FloatArray, clusters: int) -> FloatArray:
    """Two-sided p-values; differences without spread are either none at all, or as sure as a sign test is."""
    from scipy.special import stdtr

    scale = np.where(error > 1e-12 * np.abs(mean), error, math.nan)
    p = 2 * stdtr(degrees, -np.abs(mean) / scale)
    return np.where(np.isnan(scale) & ~np.isnan(error), np.where(mean == 0, 1.0, 2.0 ** (1 - clusters)), p)


class _LogNormal(NamedTuple):
    """Log-normal distributions of models, cut at the largest possible score; NaN unless all clusters are positive.

    Attributes:
        parts: What each cluster adds to the means, (S, G). All others are (S,).
        varied: Whether the logarithms of the scores vary by LOG_SPREAD.
        cut: Whether the largest score is within three standard deviations of the logarithms.
    """

    mean: FloatArray
    parts: FloatArray
    varied: NDArray[np.bool_]
    cut: NDArray[np.bool_]


@np.errstate(over="ignore", invalid="ignore")
def _log_normal(totals: FloatArray, counts: FloatArray, highest: float) -> _LogNormal:
    """Fit models from the sums of their clusters, (S, G, 1)."""
    from scipy.special import ndtr

    means = totals[..., 0] / counts[:, 0]
    logs = np.log(np.where((means > 0).all(-1, keepdims=True), means, math.nan))
    share = counts[:, 0] / counts.sum()
    unbiased = len(counts) / (len(counts) - 1)
    centre = logs @ share
    apart = logs - centre[:, None]
    variance = unbiased * (apart**2 @ share)
    spread = np.sqrt(np.maximum(variance, 1e-18))  # scores that are all equal
    room = (math.log(highest) - centre) / spread
    uncut = np.exp(centre + variance / 2)
    below = uncut * ndtr(room - spread)
    by_variance = below / 2 - uncut * np.exp(-((room - spread) ** 2) / 2) / (spread * math.sqrt(8 * math.pi))
    mean = below + (highest * ndtr(-room) if math.isfinite(highest) else 0)
    parts = share * (below[:, None] * apart + by_variance[:, None] * (unbiased * apart**2 - variance[:, None]))
    return _LogNormal(mean, parts, spread >= LOG_SPREAD, room < 3)


def _log_normal_test(
    fits: _LogNormal, one: NDArray[np.int64], other: NDArray[np.int64], degrees: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """p-values of equal log-normal means, and standard errors in the score's unit; NaN if neither varies enough."""
    # A ratio of means has nearly normal errors, unless the limit of the scores rules large values out.
    cut = (fits.varied & fits.cut)[one] | (fits.varied & fits.cut)[other]
    a, b = fits.mean[one], fits.mean[other]
    difference = np.where(cut, a - b, np.log(a / b))
    scales = (np.where(cut, 1.0, mean)[:, None] for mean in (a, b))
    parts = fits.parts[one] / next(scales) - fits.parts[other] / next(scales)
    clusters = parts.shape[1]
    error = np.sqrt((parts**2).sum(-1) * clusters / (clusters - 2))
    error = np.where(fits.varied[one] | fits.varied[other], error, math.nan)
    return _student_p(difference, error, degrees, clusters), error * np.where(cut, 1.0, np.sqrt(a * b))


def ranks(means: Sequence[float | None], *, higher: bool = True) -> list[int | None]:
    """Rank of each mean, 1 for the best; equal means share the better rank (1, 2, 2, 4).

    Args:
        means: The means; None is missing and gets no rank.
        higher: Whether a higher mean is better.

    Returns:
        One rank for each mean, None where it is missing.

    Raises:
        ShapeError: A mean is NaN.

    Examples:
        >>> ranks([0.9, 0.5, None, 0.5, 0.1])
        [1, 2, None, 2, 4]
    """
    known = known_values(means)
    ordered = known if higher else -known
    return [
        None if mean is None else 1 + int(np.count_nonzero(ordered > (mean if higher else -mean))) for mean in means
    ]


def rank_ranges(names: Iterable[str], beaten: Iterable[tuple[str, str]]) -> dict[str, RankRange]:
    """Places from the pairs of models that the data tell apart; all other pairs share theirs.

    Args:
        names: All models.
        beaten: Pairs (better, worse).

    Returns:
        The place of each model.

    Examples:
        >>> rank_ranges(["a", "b", "c"], [("a", "c")])
        {'a': RankRange(first=1, last=2), 'b': RankRange(first=1, last=3), 'c': RankRange(first=2, last=3)}
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

    Examples:
        >>> holm([0.01, 0.04, None, 0.03])
        [0.03, 0.06, None, 0.06]
    """
    known = known_values(p_values)
    if len(known) and (known[0] < 0 or known[-1] > 1):
        raise ShapeError(f"p-values lie in [0, 1], got {known[0]} to {known[-1]}")
    adjusted = np.minimum(1, np.maximum.accumulate(known * np.arange(len(known), 0, -1)))
    found = iter(adjusted[np.searchsorted(known, [p for p in p_values if p is not None])].tolist())
    return [None if p is None else next(found) for p in p_values]


def minimum_detectable_effect(
    error: FloatArray, degrees: FloatArray, *, tests: int = 1, level: float = LEVEL, power: float = 0.8
) -> FloatArray:
    """Smallest true difference that the paired test finds with a given probability (MDE).

    It is the noncentrality at which Student's two-sided test at (1 - level) / tests rejects with probability `power`,
    times the standard error. Dividing by the number of tests is Holm's first step.

    Args:
        error: Standard errors of differences, (P,).
        degrees: Degrees of freedom of each, (P,).
        tests: Number of tests that are corrected together.
        level: Confidence level of the test.
        power: Probability of finding the difference.

    Returns:
        The differences, (P,), in units of the score.

    Examples:
        >>> minimum_detectable_effect(np.array([0.5]), np.array([7.0])).round(2).tolist()
        [1.63]
    """
    from scipy.special import nctdtrinc, stdtrit

    occurring, which = np.unique(degrees, return_inverse=True)
    reach = stdtrit(occurring, 1 - (1 - level) / (2 * tests))
    found: FloatArray = nctdtrinc(occurring, 1 - power, reach)[which] * error
    return found


def _by_shared_tasks(
    known: NDArray[np.bool_], first: NDArray[np.int64], second: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Places of tasks (T,), and of all pairs (P,) that share just these, at least one; `known` is (N, tasks)."""
    kind = _numbered([one.tobytes() for one in known])
    example = dict(zip(kind.tolist(), known, strict=True))
    # Most models of a board have all tasks, so there are few kinds of pairs.
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


def _sums(values: FloatArray, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Sums of values (S, T) per cluster and stratum, (S, G, K), and numbers of values there, (G, K)."""
    rows, columns = (_numbered(one.tolist()) for one in (rows, columns))
    shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    counts = np.zeros(shape)
    np.add.at(counts, (rows, columns), 1.0)
    totals = np.zeros((*shape, len(values)))
    np.add.at(totals, (rows, columns), values.T)
    return np.ascontiguousarray(totals.transpose(2, 0, 1)), counts


LARGE_EFFECT = 2.0
"""Difference that orders two models, in standard deviations: the better one is ahead in 98 % of clusters."""
MOST_MODELS = 50
"""Largest number of models that is reported."""


@dataclass(frozen=True)
class Power:
    """What tests with 80 % power can find. Unit: standard deviation of the difference of two models over clusters.

    Attributes:
        clusters: Number of clusters.
        models: Largest number of models that can be ordered if they differ by LARGE_EFFECT; 0 for none, at most
            MOST_MODELS.
        tests: Number of tests that are corrected together; 0 if unknown.
        effect: Minimum detectable effect of these tests; None without a test.

    Examples:
        >>> print(Power(clusters=2, models=0))
        Power: 2 clusters cannot order models. A test needs 6.
    """

    clusters: int
    models: int
    tests: int = 0
    effect: float | None = None

    def __str__(self) -> str:
        """One line for the user."""
        held = f"Power: {self.clusters} cluster{'' if self.clusters == 1 else 's'}"
        if self.clusters < FEWEST_CLUSTERS:
            return f"{held} cannot order models. A test needs {FEWEST_CLUSTERS}."
        if self.models:
            most = "or more " if self.models == MOST_MODELS else ""
            line = f"{held} can order {self.models} {most}models that differ by {LARGE_EFFECT:g} standard deviations"
        else:
            line = f"{held} of very unequal sizes cannot order models"
        if self.effect is None:
            return f"{line}."
        tests = "one test finds" if self.tests == 1 else f"{self.tests} tests find"
        return f"{line}; {tests} differences of {self.effect:.2g} with 80 % power."


def power_of(clusters: Iterable[str], tests: int = 0) -> Power:
    """What paired tests can find in a data set.

    Args:
        clusters: Cluster of each task.
        tests: Number of tests that are corrected together; 0 if unknown.

    Returns:
        The power.

    Examples:
        >>> found = power_of([f"scene {k}" for k in range(8)], tests=1)
        >>> found.models, round(found.effect, 2)
        (6, 1.16)
    """
    sizes = Counter(clusters)
    if len(sizes) < FEWEST_CLUSTERS:
        return Power(len(sizes), 0, tests)
    effective = effective_number(np.array([*sizes.values()], np.float64))
    error, degrees = np.array([1 / math.sqrt(effective)]), np.array([max(1.0, effective - 1)])

    def effect(tests: int) -> float:
        return float(minimum_detectable_effect(error, degrees, tests=tests)[0])

    models = max((n for n in range(2, MOST_MODELS + 1) if effect(n * (n - 1) // 2) <= LARGE_EFFECT), default=0)
    return Power(len(sizes), models, tests, effect(tests) if tests else None)
