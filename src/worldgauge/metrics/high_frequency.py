"""Detail: what is finer than a Gaussian of 1.5 px. A blur, which MSE and SSIM reward, has none."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Image
from worldgauge.metrics._registry import metric

DETAIL_SIGMA_PX = 1.5
"""Detail is what a Gaussian of this width removes."""
_LEAST = 1e-6
"""Mean square, in squared grey levels, up to which a picture has no detail: rounding of the blur leaves less."""


@metric("detail", unit="1", better="higher", bounds=(-1.0, 1.0), version=1, source="own: correlation of fine detail")
def detail_correlation(got: Image, want: Image) -> float | None:
    """Correlation of the detail of two frames over all pixels. Brightness and contrast do not change it.

    Args:
        got: The model's frame, (H, W, 3) uint8.
        want: The true frame, of the same shape.

    Returns:
        -1 to 1, 1 for equal frames; 0 for a frame without any detail; None where the truth has none.

    Raises:
        ShapeError: The frames differ in shape or are not (H, W, 3) uint8.
    """
    drawn, true = fine_detail(got), fine_detail(want)
    if drawn.shape != true.shape:
        raise ShapeError(f"frames differ in shape: {got.shape} and {want.shape}; resize one to the other first")
    return correlation(true.size, *(float(np.vdot(a, b)) for a, b in ((true, drawn), (true, true), (drawn, drawn))))


def fine_detail(frame: Image) -> NDArray[np.float64]:
    """The grey picture less its Gaussian blur.

    Args:
        frame: (H, W, 3) uint8.

    Returns:
        (H, W) grey levels around 0.

    Raises:
        ShapeError: The frame is not (H, W, 3) uint8, or is empty.
    """
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or not frame.size:
        raise ShapeError(f"expected a frame (H, W, 3) uint8, got {frame.shape} {frame.dtype}")
    grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY).astype(np.float32)
    return (grey - cv2.GaussianBlur(grey, (0, 0), DETAIL_SIGMA_PX)).astype(np.float64)


def correlation(pixels: float, cross: float, true: float, drawn: float) -> float | None:
    """Correlation of detail from sums over pixels.

    Args:
        pixels: Number of pixels.
        cross: Sum of the products of both details.
        true: Sum of squares of the truth's detail.
        drawn: Sum of squares of the model's.

    Returns:
        -1 to 1; 0 where nothing was drawn; None where the truth has no detail, or without a pixel.
    """
    if true <= _LEAST * pixels:
        return None
    if drawn <= _LEAST * pixels:
        return 0.0
    return max(-1.0, min(1.0, cross / math.sqrt(true * drawn)))
