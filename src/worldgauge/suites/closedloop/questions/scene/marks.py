"""Set-of-marks: the landmarks of a view drawn as numbered contours, for a vision language model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Image

_COLOURS = (
    *((230, 60, 60), (40, 140, 240), (40, 170, 80), (240, 150, 20), (160, 80, 220)),
    *((0, 170, 180), (220, 60, 160), (130, 140, 20), (90, 90, 240), (150, 90, 40)),
)
"""By number, so that a landmark keeps its colour from view to view."""


def draw_marks(image: Image, masks: Mapping[int, NDArray[np.bool_]]) -> Image:
    """Draw the contour of each mask, and its number inside it, on a copy of an image.

    Larger masks are drawn first. A number stands where its mask is widest, moved so that it hides no other number.

    Args:
        image: (H, W, 3) uint8.
        masks: (H, W) bool, by number.

    Returns:
        (H, W, 3) uint8.

    Raises:
        ShapeError: If a mask has another size.
    """
    import cv2

    drawn = np.ascontiguousarray(image.copy())
    height, width = image.shape[:2]
    size = max(height / 800, 0.4)
    taken: list[tuple[int, int, int, int]] = []
    labels = []
    for number, mask in sorted(masks.items(), key=lambda item: (-int(item[1].sum()), item[0])):
        if mask.shape != (height, width):
            raise ShapeError(f"mask of shape {mask.shape} does not fit an image of {height} x {width}")
        if not mask.any():
            continue
        colour = _COLOURS[(number - 1) % len(_COLOURS)]
        contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        cv2.drawContours(drawn, contours, -1, colour, max(round(height / 250), 1), cv2.LINE_AA)
        labels.append((number, mask, colour))
    # Numbers last, the smallest mask's first, as it has the least room for one.
    for number, mask, colour in reversed(labels):
        text = str(number)
        (w, h), base = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, size, 1)
        x0, y0, x1, y1 = _place(mask, w + 4, h + base + 2, taken)
        taken.append((x0, y0, x1, y1))
        cv2.rectangle(drawn, (x0, y0), (x1 - 1, y1 - 1), colour, -1)
        cv2.putText(drawn, text, (x0 + 2, y0 + h + 1), cv2.FONT_HERSHEY_SIMPLEX, size, (255, 255, 255), 1, cv2.LINE_AA)
    return drawn


def _place(
    mask: NDArray[np.bool_], w: int, h: int, taken: list[tuple[int, int, int, int]]
) -> tuple[int, int, int, int]:
    """Return the box of a label of w x h about the innermost free point of a mask, inside the image."""
    import cv2

    inner = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 3)[1:-1, 1:-1]
    height, width = mask.shape
    box = (0, 0, w, h)
    for _ in range(8):
        y, x = (int(n) for n in np.unravel_index(int(inner.argmax()), inner.shape))
        x0, y0 = int(np.clip(x - w // 2, 0, max(width - w, 0))), int(np.clip(y - h // 2, 0, max(height - h, 0)))
        box = (x0, y0, x0 + w, y0 + h)
        if inner[y, x] <= 0 or not any(_overlap(box, other) for other in taken):
            return box
        inner[max(y - h, 0) : y + h, max(x - w, 0) : x + w] = 0
    return box


def _overlap(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
