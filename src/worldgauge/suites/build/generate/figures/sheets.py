"""Sheets of mental rotation: the reference on the left, what it is compared with on the right, under captions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Image

GAP_PX, OPTIONS_GAP_PX = 10, 5
"""Between the reference and what is right of it, and between the options (published)."""
CAPTION_PX = 26
_INK, _PAPER = (20, 20, 20), 255


def sheet(reference: Image, options: Sequence[Image]) -> Image:
    """The composed picture of a question; pictures are (s, s, 3) uint8, all of one size.

    Four options: two rows of two, A and B over C and D, the reference beside their middle. One: beside the reference.
    Raises ShapeError for other numbers, and for pictures of other sizes.
    """
    if len(options) not in (1, 4) or any(option.shape != reference.shape for option in options):
        raise ShapeError(f"a sheet takes 1 or 4 options of the reference's size, got {[one.shape for one in options]}")
    left = _captioned(reference, "Reference")
    if len(options) == 1:
        return _beside(left, _captioned(options[0], "Candidate"), GAP_PX)
    a, b, c, d = (_captioned(option, letter) for option, letter in zip(options, "ABCD", strict=True))
    top, bottom = _beside(a, b, OPTIONS_GAP_PX), _beside(c, d, OPTIONS_GAP_PX)
    right = np.concatenate([top, np.full((OPTIONS_GAP_PX, *top.shape[1:]), _PAPER, np.uint8), bottom])
    return _beside(left, right, GAP_PX)


def _beside(left: Image, right: Image, gap_px: int) -> Image:
    """Two pictures on one, both vertically centred."""
    height = max(len(left), len(right))
    whole = np.full((height, left.shape[1] + gap_px + right.shape[1], 3), _PAPER, np.uint8)
    for picture, x in ((left, 0), (right, left.shape[1] + gap_px)):
        y = (height - len(picture)) // 2
        whole[y : y + len(picture), x : x + picture.shape[1]] = picture
    return whole


def _captioned(picture: Image, text: str) -> Image:
    """A picture under its caption."""
    import cv2

    strip = np.full((CAPTION_PX, picture.shape[1], 3), _PAPER, np.uint8)
    (width, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.6, 1)
    place = (max((picture.shape[1] - width) // 2, 0), CAPTION_PX - 8)
    cv2.putText(strip, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.6, _INK, 1, cv2.LINE_AA)
    return np.concatenate([strip, picture])
