"""Pictures prepared for a language model: titles above them, a red box, several in one. cv2 is imported on use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.image import Box, Image

RED = (230, 20, 20)
TITLE_PX = 28
"""Height of the strip with a title."""
_PAPER, _INK, _GAP_PX = 255, (20, 20, 20), 6


def titled(image: Image, title: str) -> Image:
    """Add a white strip with a title above a picture.

    Words that do not fit are cut. Characters outside ASCII are shown as question marks, because the font lacks them.

    Args:
        image: (H, W, 3) uint8.

    Returns:
        (H + TITLE_PX, W, 3) uint8.
    """
    import cv2

    width = image.shape[1]
    strip = np.full((TITLE_PX, width, 3), _PAPER, np.uint8)
    said = title.encode("ascii", "replace").decode()
    font, size = cv2.FONT_HERSHEY_SIMPLEX, 0.6
    while said and cv2.getTextSize(said, font, size, 1)[0][0] > width - 8:
        if size > 0.4:
            size -= 0.05
        else:
            said = said[:-1]
    cv2.putText(strip, said, (4, TITLE_PX - 8), font, size, _INK, 1, cv2.LINE_AA)
    return np.vstack([strip, image])


def boxed(image: Image, box: Box | None, colour: tuple[int, int, int] = RED) -> Image:
    """A copy of a picture with the outline of a box, drawn just inside its edges.

    Args:
        image: (H, W, 3) uint8.
        colour: RGB colour.
    """
    if box is None:
        return image
    x0, y0, x1, y1 = box
    if not (0 <= x0 < x1 <= image.shape[1] and 0 <= y0 < y1 <= image.shape[0]):
        raise ShapeError(f"box {box} does not lie in an image of {image.shape[1]} x {image.shape[0]}")
    drawn = image.copy()
    thick = max(2, round(min(image.shape[:2]) / 128))
    inner = drawn[y0 + thick : max(y0 + thick, y1 - thick), x0 + thick : max(x0 + thick, x1 - thick)].copy()
    drawn[y0:y1, x0:x1] = colour
    drawn[y0 + thick : y0 + thick + inner.shape[0], x0 + thick : x0 + thick + inner.shape[1]] = inner
    return drawn


def sheet(images: Sequence[Image], columns: int = 3) -> Image:
    """Put pictures on one sheet in reading order, with white between them.

    Smaller pictures get white below and to the right.

    Args:
        images: (H, W, 3) uint8 each.
    """
    if not images or columns < 1:
        raise UsageError("a sheet needs at least one picture and one column")
    columns = min(columns, len(images))
    height, width = (max(image.shape[axis] for image in images) for axis in (0, 1))
    rows = -(-len(images) // columns)
    page = np.full((rows * (height + _GAP_PX) - _GAP_PX, columns * (width + _GAP_PX) - _GAP_PX, 3), _PAPER, np.uint8)
    for place, image in enumerate(images):
        top, left = place // columns * (height + _GAP_PX), place % columns * (width + _GAP_PX)
        page[top : top + image.shape[0], left : left + image.shape[1]] = image
    return page


def smaller(image: Image, divisor: int) -> Image:
    """Divide each side of a picture by `divisor`, averaged by area; 1 returns the picture itself."""
    import cv2

    if divisor == 1:
        return image
    height, width = image.shape[:2]
    size = (max(1, width // divisor), max(1, height // divisor))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
