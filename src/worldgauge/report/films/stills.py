"""Stills: the frames of each film that were looked at, in one small picture per film."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.video import Clip, resize

MOST = 9
"""Frames in a row; of more, evenly many are shown."""
GAP_PX = 3
STEPS = ((128, 74), (128, 56), (112, 44), (96, 34), (96, 18))
"""(width of a frame in px, WebP quality), tried in turn until the picture fits its budget."""


@dataclass(frozen=True)
class StillsRow:
    """Stills of one film.

    Attributes:
        name: Name of the film.
        data: Picture in WebP.
        size: Width and height in pixels.
        frames: Indices of the frames shown.
        times_s: Their times in seconds from the first frame.
        looked: Number of frames that were looked at.
        length: Number of frames of the film.
    """

    name: str
    data: bytes
    size: tuple[int, int]
    frames: tuple[int, ...]
    times_s: tuple[float, ...]
    looked: int
    length: int

    @property
    def encoded(self) -> str:
        """The picture as a data URL."""
        return f"data:image/webp;base64,{base64.b64encode(self.data).decode()}"


def contact_sheet(
    clips: Mapping[str, Clip], stills: Mapping[str, Sequence[int]], *, budget: int, width: int = STEPS[0][0]
) -> tuple[list[StillsRow], list[tuple[str, str]]]:
    """Stills of several clips.

    Args:
        clips: Clips by name.
        stills: Indices of frames by name. A clip without any gets as many as the others, evenly spread.
        budget: Approximate largest size of a row in bytes.
        width: Width of a frame in pixels, where the budget allows it.

    Returns:
        One row per clip, and name and reason of each broken clip.
    """
    usual = max((len(each) for each in stills.values()), default=0) or MOST
    rows, broken = [], []
    for name, clip in clips.items():
        asked = [i for i in stills.get(name, ()) if 0 <= i < len(clip)]
        indices = asked or sorted({int(i) for i in np.linspace(0, len(clip) - 1, usual)})
        shown = tuple(indices[int(k)] for k in np.linspace(0, len(indices) - 1, min(len(indices), MOST)))
        try:
            frames = list(clip.take(shown))
        except WorldgaugeError as error:
            broken.append((name, str(error)))
            continue
        data, size = _picture(frames, budget, width)
        times = tuple(i / clip.fps if clip.fps else 0.0 for i in shown)
        rows.append(StillsRow(name, data, size, shown, times, len(indices), len(clip)))
    return rows, broken


def _picture(frames: Sequence[NDArray[np.uint8]], budget: int, most: int) -> tuple[bytes, tuple[int, int]]:
    """The frames in a row as WebP, as fine as the budget lets it be."""
    for step, quality in STEPS:
        width = step * most // STEPS[0][0]
        tall = max(1, round(width * frames[0].shape[0] / frames[0].shape[1]))
        sheet = np.full((tall, len(frames) * (width + GAP_PX) - GAP_PX, 3), 255, np.uint8)
        for k, frame in enumerate(frames):
            left = k * (width + GAP_PX)
            sheet[:, left : left + width] = resize(frame, width, tall)
        _, coded = cv2.imencode(".webp", sheet[:, :, ::-1], [cv2.IMWRITE_WEBP_QUALITY, quality])
        if coded.nbytes <= budget:
            break
    return coded.tobytes(), (sheet.shape[1], sheet.shape[0])
