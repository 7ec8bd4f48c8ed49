"""How far stated probabilities are from the truth, and the temperature that brings them nearest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray


class ConfidenceBin(NamedTuple):
    """Answers of about the same confidence. stated: mean confidence. right: share of them that are right."""

    n: int
    stated: float
    right: float


def reliability(confidence: FloatArray, right: NDArray[np.bool_], bins: int = 10) -> list[ConfidenceBin]:
    """Answers by confidence, in `bins` bins of one width over [0, 1]; empty ones are left out.

    confidence: (n,) in [0, 1]. right: (n,) bool.

    Raises:
        ShapeError: When they do not fit.
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
    """Expected calibration error in [0, 1]: the mean over answers of |stated - right| of their bin.

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks", equation 3. NaN without answers.
    """
    found = reliability(confidence, right, bins)
    n = sum(each.n for each in found)
    return sum(each.n * abs(each.stated - each.right) for each in found) / n if n else float("nan")


def temperature(logits: FloatArray, labels: NDArray[np.int64]) -> float:
    """What to divide logits (n, k) by so that their softmax gives labels (n,) the highest likelihood.

    A search over 0.2 to 5, to a thousandth. Source: Guo et al. 2017, section 4.2.
    """
    grid = np.exp(np.linspace(np.log(0.2), np.log(5.0), 65))
    for _ in range(3):
        losses = [_loss(logits / t, labels) for t in grid]
        best = int(np.argmin(losses))
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 17)
    return float(grid[int(np.argmin([_loss(logits / t, labels) for t in grid]))])


def softmax(logits: FloatArray) -> FloatArray:
    """Probabilities (..., k)."""
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    shares: FloatArray = raised / raised.sum(-1, keepdims=True)
    return shares


def _loss(logits: FloatArray, labels: NDArray[np.int64]) -> float:
    return -float(np.log(np.maximum(softmax(logits)[np.arange(len(labels)), labels], 1e-12)).mean())
