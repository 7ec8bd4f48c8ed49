"""Farthest point sampling."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError


def farthest_points(points: ArrayLike, count: int) -> list[int]:
    """Pick points far from each other: greedy farthest point sampling.

    The first point, then repeatedly the one whose nearest picked point is farthest away, the earlier of equals.

    Source: World-in-World, section 5.4: more plans than are wanted are thinned by their ends. That the first point
    comes first is our choice.

    Args:
        points: (m, k).
        count: Most points.

    Returns:
        Indices in the order in which they were picked; fewer if m is less.

    Raises:
        ShapeError: If points are not (m, k) or not finite.
    """
    known = np.asarray(points, np.float64)
    if known.ndim != 2 or not np.isfinite(known).all():
        raise ShapeError(f"expected finite points of shape (m, k), got shape {known.shape}")
    taken: list[int] = []
    nearest_m = np.full(len(known), np.inf)
    while len(taken) < min(count, len(known)):
        taken.append(int(nearest_m.argmax()))
        nearest_m = np.minimum(nearest_m, np.linalg.norm(known - known[taken[-1]], axis=1))
        # A picked point is not picked again, even if others lie in the same place.
        nearest_m[taken] = -1.0
    return taken
