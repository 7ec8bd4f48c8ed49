"""The small top view that lies beside a published path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image

SIZE_PX = 400
MARGIN_PX = 40
_HISTORY, _FUTURE, _MARK, _GRID = (150, 150, 150), (33, 102, 172), (178, 24, 43), (225, 225, 225)


def plot_of_path(xy: FloatArray, history_rows: int) -> Image:
    """Path (T, 2) seen from above, +y up, (400, 400, 3) uint8 RGB: history grey, the rest blue, the current row red.

    Lines of the grid are a metre apart (ten, where the path is longer than 20 m).
    """
    import cv2

    image = np.full((SIZE_PX, SIZE_PX, 3), 255, np.uint8)
    low, high = xy.min(axis=0), xy.max(axis=0)
    span = max(float((high - low).max()), 1.0)
    scale = (SIZE_PX - 2 * MARGIN_PX) / span
    middle = (low + high) / 2

    def pixels(points: FloatArray) -> NDArray[np.int32]:
        return np.asarray(np.rint((points - middle) * (scale, -scale) + SIZE_PX / 2), np.int32)

    step = 1 if span <= 20 else 10
    reach = SIZE_PX / 2 / scale
    for axis in (0, 1):
        for at in np.arange(np.ceil((middle[axis] - reach) / step), (middle[axis] + reach) / step) * step:
            ends = np.array([[at, at], [at, at]])
            ends[:, 1 - axis] = middle[1 - axis] - reach, middle[1 - axis] + reach
            start, stop = pixels(ends).tolist()
            cv2.line(image, start, stop, _GRID, 1)
    for points, colour in ((xy[: history_rows + 1], _HISTORY), (xy[history_rows:], _FUTURE)):
        cv2.polylines(image, [pixels(points)], isClosed=False, color=colour, thickness=2, lineType=cv2.LINE_AA)
    cv2.circle(image, pixels(xy[history_rows]).tolist(), 5, _MARK, -1, cv2.LINE_AA)
    cv2.circle(image, pixels(xy[-1]).tolist(), 5, _FUTURE, -1, cv2.LINE_AA)
    return image
