"""How accurate a segmenter is: its labels of pixels against the exact ones, from counts pooled over frames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.metrics._registry import metric
from worldgauge.perception.instances import CATEGORIES
from worldgauge.perception.segment import Labels
from worldgauge.suites.loopnav.metrics.sgcs import frame_sgcs, video_score

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


@metric(
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


class Accuracy(NamedTuple):
    """Agreement of a segmenter with exact labels.

    Attributes:
        pixel_accuracy: Share of the pixels with an exact category that have this category.
        iou: Intersection over union of each category; None when it occurs in neither.
        sgcs: Mean SGCS of the masks against the exact ones.
        frames: Number of frames.
    """

    pixel_accuracy: float | None
    iou: dict[str, float | None]
    sgcs: float | None
    frames: int


def accuracy_against_exact(pairs: Iterable[tuple[Labels, Labels]]) -> Accuracy:
    """Accuracy of a segmenter over frames.

    Args:
        pairs: Pairs (its labels, exact labels) of the same frames.

    Returns:
        The accuracy: pixel accuracy and IoU over all frames together, SGCS as the mean over frames.

    Raises:
        ShapeError: There are no frames.
    """
    size = len(CATEGORIES)
    counts = np.zeros((size + 1, size + 1), np.int64)
    scores: list[float | None] = []
    for got, exact in pairs:
        counts += confusion(got.category, exact.category, size)
        height, width = exact.category.shape
        scores.append(frame_sgcs(got.scene(), exact.scene(), height=height, width=width).value)
    if not scores:
        raise ShapeError("no frames to measure a segmenter on")
    iou = dict(zip(CATEGORIES, category_iou(counts), strict=True))
    return Accuracy(pixel_accuracy(counts), iou, video_score(scores).value, len(scores))
