"""Few of many points, as far from each other as can be."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError


def spread(points: ArrayLike, count: int) -> list[int]:
    """Indices of up to `count` of points (m, k), in the order in which they were taken; all of fewer.

    The first point, then again and again the one whose nearest taken point is farthest away, the earlier of equal ones.
    Raises ShapeError for what are no points, or not finite. Source: World-in-World, section 5.4: more plans than are
    wanted are thinned by their ends. Which one comes first is ours.
    """
    known = np.asarray(points, np.float64)
    if known.ndim != 2 or not np.isfinite(known).all():
        raise ShapeError(f"points have shape (m, k) and are finite, got shape {known.shape}")
    taken: list[int] = []
    nearest_m = np.full(len(known), np.inf)
    while len(taken) < min(count, len(known)):
        taken.append(int(nearest_m.argmax()))
        nearest_m = np.minimum(nearest_m, np.linalg.norm(known - known[taken[-1]], axis=1))
        # Of points in the same place as a taken one, none is taken twice.
        nearest_m[taken] = -1.0
    return taken
