"""How well one labelling of pixels agrees with another, from counts pooled over frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.metrics import metrics

Counts = NDArray[np.int64]


def confusion(got: NDArray[np.uint16], exact: NDArray[np.uint16], n_categories: int) -> Counts:
    """Pixels (n + 1, n + 1) by exact label (row) and label got (column); label 0 is none. Add those of frames up.

    got, exact: (H, W) labels 0..n_categories. Raises ShapeError on other shapes or labels.
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
    """Share of the pixels that have an exact category to which it was given; None when no pixel has one.

    counts: of `confusion`. Pixels whose exact label is none are left out.
    """
    labelled = int(counts[1:].sum())
    return float(np.trace(counts[1:, 1:]) / labelled) if labelled else None


def category_iou(counts: Counts) -> list[float | None]:
    """Intersection over union of categories 1..n; None for those that occur in neither labelling."""
    hits = np.diag(counts)
    unions = counts.sum(0) + counts.sum(1) - hits
    return [float(hits[i] / unions[i]) if unions[i] else None for i in range(1, len(counts))]
