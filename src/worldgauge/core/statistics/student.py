"""Quantiles of Student's distribution, without an import that takes a second."""

from __future__ import annotations

import math
from functools import cache

import numpy as np


def student_quantile(p: float, degrees: float) -> float:
    """Quantile of Student's distribution.

    Between whole degrees of freedom its logarithm is interpolated over their inverse: it is then up to 3 % too far from
    zero, and never too near.

    Args:
        p: Probability.
        degrees: Degrees of freedom, 1 or more.

    Returns:
        The t with P(T <= t) = p.
    """
    whole = math.floor(degrees)
    low = _quantile(p, whole)
    if degrees == whole:
        return low
    share = (1 / whole - 1 / degrees) / (1 / whole - 1 / (whole + 1))
    return low * (_quantile(p, whole + 1) / low) ** share if low else 0.0


@cache
def _quantile(p: float, degrees: int) -> float:
    """Quantile for whole degrees of freedom, by bisection of the closed form."""
    if p < 0.5:
        return -_quantile(1 - p, degrees)
    low, high = 0.0, 1.0
    while _cdf(high, degrees) < p:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _cdf(middle, degrees) < p else (low, middle)
    return high


def _cdf(t: float, degrees: int) -> float:
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
