"""Grey pictures at the size that decoders work at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.image import Image
from worldgauge.core.video import resize

Gray = NDArray[np.uint8]

LONGEST_SIDE_PX = 640


def working_size(width: int, height: int) -> tuple[int, int]:
    """Width and height with a longest side of `LONGEST_SIDE_PX`."""
    factor = LONGEST_SIDE_PX / max(width, height)
    return max(1, round(width * factor)), max(1, round(height * factor))


def gray_at(frame: Image, size: tuple[int, int]) -> Gray:
    """`frame` at (width, height), then grey."""
    import cv2

    return np.asarray(cv2.cvtColor(np.ascontiguousarray(resize(frame, *size)), cv2.COLOR_RGB2GRAY), np.uint8)
