"""Boxes of masks: the red box of a target, and the boxes that a tracker keeps."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Box

GROWN = 1.15
"""Scale of a target's box relative to that of its mask."""


class MaskBox(NamedTuple):
    """Box (corners included) and offset of a tracked mask; None if its area is out of range, or it is empty.

    `shift_px` to the right centres it, and `turn_left_deg` does the same to a panorama.
    """

    box: Box | None
    shift_px: float | None
    turn_left_deg: float | None


def target_box(mask: NDArray[np.bool_], *, grown: float = GROWN) -> Box | None:
    """Box (ends exclusive) of a mask's largest 8-connected part, scaled and clipped; None for an empty mask.

    Sides are rounded outwards; of equal parts the upper left counts. Source: released code, active recognition.
    """
    import cv2

    _check(mask)
    if not mask.any():
        return None
    _, _, facts, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    x, y, width, height, _ = (int(value) for value in facts[1 + int(np.argmax(facts[1:, cv2.CC_STAT_AREA]))])
    more_x, more_y = width * (grown - 1) / 2, height * (grown - 1) / 2
    return (
        max(0, math.floor(x - more_x)),
        max(0, math.floor(y - more_y)),
        min(mask.shape[1], math.ceil(x + width + more_x)),
        min(mask.shape[0], math.ceil(y + height + more_y)),
    )


def mask_box(mask: NDArray[np.bool_], area_range: tuple[float, float]) -> MaskBox:
    """Box around all pixels of a mask (H, W), returned if its area is strictly within `area_range` of the image.

    The area multiplies differences of corners, so a line has none. Source: released code; vectors: wiw_loop.json,
    mask_box.
    """
    _check(mask)
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        return MaskBox(None, None, None)
    x0, x1, y0, y1 = int(columns[0]), int(columns[-1]), int(rows[0]), int(rows[-1])
    area = (x1 - x0) * (y1 - y0) / mask.size
    kept = area_range[0] < area < area_range[1]
    shift = mask.shape[1] / 2 - (x0 + x1) / 2
    return MaskBox((x0, y0, x1, y1) if kept else None, shift, shift / mask.shape[1] * 360)


def _check(mask: NDArray[np.bool_]) -> None:
    if mask.ndim != 2 or mask.dtype != np.bool_ or not mask.size:
        raise ShapeError(f"expected a mask of shape (H, W) and type bool, got {mask.shape} {mask.dtype}")
