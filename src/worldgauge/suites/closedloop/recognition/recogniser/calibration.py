"""Calibration of probabilities: reliability, expected calibration error and temperature scaling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray


class ConfidenceBin(NamedTuple):
    """Answers of similar confidence.

    Attributes:
        n: Number of answers.
        stated: Mean confidence.
        right: Share that is right.
    """

    n: int
    stated: float
    right: float


def reliability(confidence: FloatArray, right: NDArray[np.bool_], bins: int = 10) -> list[ConfidenceBin]:
    """Bin answers by confidence, for a reliability diagram.

    Args:
        confidence: (n,) in [0, 1].
        right: (n,) bool.
        bins: Bins of equal width over [0, 1].

    Returns:
        The bins that are not empty.

    Raises:
        ShapeError: If the shapes differ or values are not finite.
    """
    confidence = np.asarray(confidence, np.float64)
    if confidence.shape != right.shape or confidence.ndim != 1 or not np.isfinite(confidence).all():
        raise ShapeError(f"reliability needs (n,) and (n,) finite values, got {confidence.shape} and {right.shape}")
    place = np.clip((confidence * bins).astype(np.int64), 0, bins - 1)
    return [
        ConfidenceBin(int(of.sum()), float(confidence[of].mean()), float(right[of].mean()))
        for of in (place == k for k in range(bins))
        if of.any()
    ]


def calibration_error(confidence: FloatArray, right: NDArray[np.bool_], bins: int = 10) -> float:
    """Return the expected calibration error: the mean over answers of |stated - right| of their bin.

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks", equation 3.

    Args:
        confidence: (n,) in [0, 1].
        right: (n,) bool.
        bins: Bins of equal width over [0, 1].

    Returns:
        In [0, 1]; NaN without answers.
    """
    found = reliability(confidence, right, bins)
    n = sum(each.n for each in found)
    return sum(each.n * abs(each.stated - each.right) for each in found) / n if n else float("nan")


def temperature(logits: FloatArray, labels: NDArray[np.int64]) -> float:
    """Return the temperature that maximises the likelihood of labels: softmax(logits / temperature).

    A grid search from 0.2 to 5, to a thousandth. Source: Guo et al. 2017, section 4.2.

    Args:
        logits: (n, k).
        labels: (n,).
    """
    grid = np.exp(np.linspace(np.log(0.2), np.log(5.0), 65))
    for _ in range(3):
        losses = [_loss(logits / t, labels) for t in grid]
        best = int(np.argmin(losses))
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 17)
    return float(grid[int(np.argmin([_loss(logits / t, labels) for t in grid]))])


def softmax(logits: FloatArray) -> FloatArray:
    """Return probabilities (..., k)."""
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    shares: FloatArray = raised / raised.sum(-1, keepdims=True)
    return shares


def _loss(logits: FloatArray, labels: NDArray[np.int64]) -> float:
    return -float(np.log(np.maximum(softmax(logits)[np.arange(len(labels)), labels], 1e-12)).mean())
