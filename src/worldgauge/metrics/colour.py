"""How far the colours of imagined frames wander: from the truth of the same moment, and from their own start.

A frame's colours are told by their mean and spread in CIELAB, where equal distances look about equally large: 1 is just
visible side by side, 2.3 the usual figure for a noticeable difference. Where things are in the picture does not count,
nor does fine detail, since the colours are those of a small picture.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Image
from worldgauge.core.video import resize
from worldgauge.metrics._registry import metric

WIDTH_PX = 160
"""Width at which colours are taken, so that sharpness and frame size do not count."""

_KNEE = np.float32(6 / 29)
_LEVELS = np.arange(256) / 255
_LINEAR = np.where(_LEVELS <= 0.04045, _LEVELS / 12.92, ((_LEVELS + 0.055) / 1.055) ** 2.4).astype(np.float32)
"""Linear light of each level of sRGB (IEC 61966-2-1)."""
_PRIMARIES = [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
_WHITE = [0.950456, 1.0, 1.088754]
_TO_XYZ = (np.array(_PRIMARIES) / np.array(_WHITE)[:, None]).T.astype(np.float32)
"""From linear RGB to X, Y, Z as parts of white (D65)."""


class ColourMoments(NamedTuple):
    """The colours of a frame: (3,) mean and population standard deviation of L*, a* and b*."""

    mean: NDArray[np.float64]
    spread: NDArray[np.float64]


def colour_moments(frame: Image) -> ColourMoments:
    """Mean and spread of the colours of a frame (H, W, 3) uint8 in CIELAB (sRGB, white D65), at `WIDTH_PX`."""
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or 0 in frame.shape:
        raise ShapeError(f"expected a frame (H, W, 3) uint8, got {frame.shape} {frame.dtype}")
    small = resize(frame, WIDTH_PX, max(1, round(WIDTH_PX * frame.shape[0] / frame.shape[1])))
    # OpenCV's own CIELAB is a table, and off by up to 0.1 in L*.
    xyz = _LINEAR[small].reshape(-1, 3) @ _TO_XYZ
    roots = np.where(xyz > _KNEE**3, np.cbrt(xyz), xyz / (3 * _KNEE**2) + np.float32(4 / 29))
    x, y, z = roots.T
    lab = np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])
    return ColourMoments(lab.mean(1, dtype=np.float64), lab.std(1, dtype=np.float64))


def colour_distance(one: ColourMoments, other: ColourMoments) -> float:
    """2-Wasserstein distance of two frames' colours, as normal distributions with independent axes."""
    shift, widening = one.mean - other.mean, one.spread - other.spread
    return math.sqrt(float(shift @ shift + widening @ widening))


@metric("colour_drift", unit="dE", better="lower", bounds=(0.0, math.inf), source="own: colours against truth")
def colour_drift(got: Image, want: Image) -> float:
    """How far the colours of an imagined frame are from those of the true one (`colour_distance`).

    Args:
        got: Imagined frame (H, W, 3) uint8.
        want: True frame of the same moment, of any size.

    Returns:
        The distance, 0 or more; 0 for the truth.

    Raises:
        ShapeError: A frame is not (H, W, 3) uint8.

    Examples:
        >>> black, white = np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 255, np.uint8)
        >>> round(colour_drift(black, white), 2), colour_drift(white, white)
        (100.0, 0.0)
    """
    return colour_distance(colour_moments(got), colour_moments(want))


@metric("colour_change", unit="dE", better="neither", bounds=(0.0, math.inf), source="own: colours against start")
def colour_change(got: Image, first: Image) -> float:
    """How far the colours of an imagined frame are from those of the first one that was imagined (`colour_distance`).

    It needs no truth. A walk through a place changes colours too, so compare it with the recording's own change.

    Args:
        got: Imagined frame (H, W, 3) uint8.
        first: The first imagined frame, of any size.

    Returns:
        The distance, 0 or more; 0 for a still picture.

    Raises:
        ShapeError: A frame is not (H, W, 3) uint8.

    Examples:
        >>> first, darker = np.full((8, 8, 3), 255, np.uint8), np.full((8, 8, 3), 119, np.uint8)
        >>> round(colour_change(darker, first)), colour_change(first, first)
        (50, 0.0)
    """
    return colour_distance(colour_moments(got), colour_moments(first))


DETAIL_SIGMA_PX = 1.5
"""Detail is what a Gaussian of this width removes."""
_LEAST = 1e-6
"""Mean square, in squared grey levels, up to which a picture has no detail: rounding of the blur leaves less."""


@metric("detail", unit="1", better="higher", bounds=(-1.0, 1.0), source="own: correlation of fine detail")
def detail_correlation(got: Image, want: Image) -> float | None:
    """Correlation of the detail of two frames over all pixels. Brightness and contrast do not change it.

    Args:
        got: The model's frame, (H, W, 3) uint8.
        want: The true frame, of the same shape.

    Returns:
        -1 to 1, 1 for equal frames; 0 for a frame without any detail; None where the truth has none.

    Raises:
        ShapeError: The frames differ in shape or are not (H, W, 3) uint8.

    Examples:
        >>> stripes = np.zeros((16, 16, 3), np.uint8)
        >>> stripes[::2] = 200
        >>> round(detail(stripes // 2, stripes), 3), detail(np.zeros_like(stripes), stripes)
        (1.0, 0.0)
    """
    drawn, true = fine_detail(got), fine_detail(want)
    if drawn.shape != true.shape:
        raise ShapeError(f"frames differ in shape: {got.shape} and {want.shape}; resize one to the other first")
    return correlation(true.size, *(float(np.vdot(a, b)) for a, b in ((true, drawn), (true, true), (drawn, drawn))))


def fine_detail(frame: Image) -> NDArray[np.float64]:
    """The grey picture (H, W) of a frame (H, W, 3) uint8 less its Gaussian blur."""
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or not frame.size:
        raise ShapeError(f"expected a frame (H, W, 3) uint8, got {frame.shape} {frame.dtype}")
    grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY).astype(np.float32)
    return (grey - cv2.GaussianBlur(grey, (0, 0), DETAIL_SIGMA_PX)).astype(np.float64)


def correlation(pixels: float, cross: float, true: float, drawn: float) -> float | None:
    """Correlation of detail from sums over pixels."""
    if true <= _LEAST * pixels:
        return None
    if drawn <= _LEAST * pixels:
        return 0.0
    return max(-1.0, min(1.0, cross / math.sqrt(true * drawn)))
