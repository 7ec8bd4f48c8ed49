"""How two quantities vary together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from worldgauge.core.errors import ShapeError
from worldgauge.core.statistics.sample import LEVEL, FloatArray, Interval

_CHUNK = 1 << 20
"""Resampled values held at once."""


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
