"""How well one labelling of pixels agrees with another, from counts pooled over frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.metrics import metrics

Counts = NDArray[np.int64]


def confusion(got: NDArray[np.uint16], exact: NDArray[np.uint16], n_categories: int) -> Counts:
    """Count the pixels of every pair of exact label and predicted label; add up the counts of several frames.

    Args:
        got: (H, W) uint16 predicted labels 0..n_categories; 0 is none.
        exact: (H, W) uint16 exact labels 0..n_categories; 0 is none.
        n_categories: Number of categories n.

    Returns:
        (n + 1, n + 1) counts by exact label (row) and predicted label (column).

    Raises:
        ShapeError: The shapes differ, or a label is above `n_categories`.
    """
    if got.shape != exact.shape or got.ndim != 2:
        raise ShapeError(f"label images need equal (H, W) shapes, got {got.shape} and {exact.shape}")
    size = n_categories + 1
    if got.size and max(int(got.max()), int(exact.max())) >= size:
        raise ShapeError(f"a label is above {n_categories}")
    codes = exact.astype(np.int64) * size + got
    return np.bincount(codes.ravel(), minlength=size * size).reshape(size, size)


@metrics.register(
    "segmenter_accuracy", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="pixel accuracy, definition"
)
def pixel_accuracy(counts: Counts) -> float | None:
    """Share of the pixels with an exact category that were given this category.

    Args:
        counts: Counts of `confusion`. Pixels whose exact label is none are left out.

    Returns:
        The share, 0 to 1; None when no pixel has an exact category.
    """
    labelled = int(counts[1:].sum())
    return float(np.trace(counts[1:, 1:]) / labelled) if labelled else None


def category_iou(counts: Counts) -> list[float | None]:
    """Intersection over union of categories 1..n; None for those that occur in neither labelling.

    Args:
        counts: Counts of `confusion`.

    Returns:
        One value for each category, 0 to 1 or None.
    """
    hits = np.diag(counts)
    unions = counts.sum(0) + counts.sum(1) - hits
    return [float(hits[i] / unions[i]) if unions[i] else None for i in range(1, len(counts))]
