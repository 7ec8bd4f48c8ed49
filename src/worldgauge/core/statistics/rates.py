"""Intervals of rates: shares of tasks that succeeded."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from statistics import NormalDist

import numpy as np

from worldgauge.core.errors import ShapeError
from worldgauge.core.statistics.sample import LEVEL, Interval, Sample, student_quantile

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
