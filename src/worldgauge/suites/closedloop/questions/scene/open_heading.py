"""Heading of the largest open region of a view, for plans in words (World-in-World, 5.3)."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError, UsageError

OPEN_M = 2.4
"""Depth beyond which a pixel is open."""
MIN_SHARE = 0.02
"""Least share of the view that an open region covers."""

HeadingRule = Literal["pinhole", "linear"]


def open_heading(
    depth: NDArray[np.floating[Any]],
    hfov_deg: float,
    *,
    min_depth_m: float = OPEN_M,
    min_area_ratio: float = MIN_SHARE,
    rule: HeadingRule = "pinhole",
) -> float | None:
    """Return the heading of the largest open region of a view.

    The region is the largest 4-connected one (of equals the first in reading order); its heading is that of the median
    column of its pixels.

    Args:
        depth: (H, W) metres; infinite is open, NaN is not.
        hfov_deg: Horizontal field of view, degrees.
        min_depth_m: Least depth of an open pixel.
        min_area_ratio: Least share of the image.
        rule: "pinhole" is the exact bearing of that column, "linear" the published approximation, up to 6.8 degrees off
            at 105 degrees.

    Returns:
        Radians to the right of the axis; None if nothing is open.

    Raises:
        ShapeError: If depth is not (H, W) or empty.
        UsageError: For an unknown rule or a field of view outside (0, 180).
    """
    import cv2

    if depth.ndim != 2 or 0 in depth.shape:
        raise ShapeError(f"the depth of a view is (H, W) and not empty, got shape {depth.shape}")
    if rule not in ("pinhole", "linear"):
        raise UsageError(f"no rule '{rule}' for open headings; choose 'pinhole' or 'linear'")
    if not 0.0 < hfov_deg < 180.0:
        raise UsageError(f"the field of view must be between 0 and 180 degrees, got {hfov_deg}")
    deep = (depth > min_depth_m).astype(np.uint8)
    _, regions = cv2.connectedComponents(deep, connectivity=4)
    sizes = np.bincount(np.asarray(regions, np.int64).ravel())
    sizes[0] = 0
    largest = int(sizes.argmax())
    if sizes[largest] == 0 or sizes[largest] < min_area_ratio * depth.size:
        return None
    width = depth.shape[1]
    column = float(np.median(np.nonzero(np.asarray(regions) == largest)[1]))
    if rule == "linear":
        return float((column - width / 2) / width * math.radians(hfov_deg))
    focal = width / 2 / math.tan(math.radians(hfov_deg) / 2)
    return math.atan((column + 0.5 - width / 2) / focal)
