"""Takes back what a model did to the colours of a clip, without ground truth.

The embedded worlds show colours of one palette. Of all gains and offsets, the right ones make the clip's colours most
likely under that palette.

    correction = estimate_correction(frames)
    labels = [segment(correction.applied(frame)) for frame in frames]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.perception._colour import BITS, STEADY, colour_table

BLUR_SHARE = 0.006
"""Standard deviation of the blur, as a share of the width. What models and codecs change is finest."""
FRAMES = 16
"""Frames of a clip from which the correction is estimated, spread evenly."""

_SMALL = (80, 45)
_PIXELS = 6000
_SMOOTHING = 1.0
"""Blur of the palette in table cells, so that its likelihood has a slope where the clip's colours begin."""
_RARE = 1e-6
_UNIT = 1 << 12
"""Steps of the log-likelihood. Whole numbers have the same sum in any order, so on any machine."""
_GAIN_STEP, _OFFSET_STEP = 0.1, 10.0
"""Units of the search: of the logarithm of a gain, and of levels."""
_PRIOR = 0.01
"""Cost of a squared unit: without need, a colour stays as it is."""
_EVALUATIONS = 220
_STARTS = (
    (0.0, 0.0, 0.0, 0.0),
    (-0.6, 0.0, 0.6, 0.0),
    (0.6, 0.0, -0.6, 0.0),
    (-1.2, 0.0, 1.2, 0.0),
    (1.2, 0.0, -1.2, 0.0),
    (0.0, 0.0, 0.0, -2.0),
    (0.0, 0.0, 0.0, 2.0),
    (-1.0, -1.0, -1.0, -1.0),
    (1.0, 1.0, 1.0, 0.0),
)
"""Unchanged; warmer and colder; brighter and darker; more and less contrast."""


@dataclass(frozen=True)
class Correction:
    """Gains and an offset of the colours of a clip.

    Attributes:
        gains: Of red, green and blue.
        offset: Of all three, in levels.
    """

    gains: tuple[float, float, float]
    offset: float

    def applied(self, frame: Image) -> Image:
        """The frame, blurred and with corrected colours.

        Args:
            frame: (H, W, 3) uint8.

        Returns:
            (H, W, 3) uint8.
        """
        return np.asarray(cv2.LUT(_blurred(frame), _curves(self.gains, self.offset)[None]), np.uint8)


def estimate_correction(frames: Sequence[Image]) -> Correction:
    """Estimate the gains and the offset that a clip needs.

    The clip must show an embedded world of blocks. Any other is only made as like it as gains and an offset can.

    Args:
        frames: (H, W, 3) uint8, at least one. See FRAMES.

    Returns:
        The correction. It is none where the palette fits best as it is.
    """
    from scipy.optimize import minimize

    small = [cv2.resize(_blurred(frame), _SMALL, interpolation=cv2.INTER_AREA).reshape(-1, 3) for frame in frames]
    pixels = np.concatenate(small)
    pixels = pixels[:: max(1, len(pixels) // _PIXELS)]
    table = _log_likelihood()

    def cost(units: FloatArray) -> float:
        gains, offset = _in_levels(units)
        red, green, blue = (_curves(gains, offset) >> (8 - BITS)).astype(np.int32).T
        cells = (((red << BITS)[pixels[:, 0]] + green[pixels[:, 1]]) << BITS) + blue[pixels[:, 2]]
        return _PRIOR * float(units @ units) - float(table[cells].sum()) / (_UNIT * len(pixels))

    tried = []
    for start in _STARTS:
        corners = np.array(start) + np.concatenate([np.zeros((1, 4)), 0.7 * np.eye(4)])
        options = {"maxfev": _EVALUATIONS, "initial_simplex": corners}
        tried.append(minimize(cost, np.array(start), method="Nelder-Mead", options=options))
    best = min(tried, key=lambda one: float(one.fun))
    return Correction(*_in_levels(best.x))


def _blurred(frame: Image) -> Image:
    return np.asarray(cv2.GaussianBlur(frame, (0, 0), BLUR_SHARE * frame.shape[1]), np.uint8)


def _in_levels(units: FloatArray) -> tuple[tuple[float, float, float], float]:
    red, green, blue = np.exp(_GAIN_STEP * units[:3])
    return (float(red), float(green), float(blue)), float(_OFFSET_STEP * units[3])


def _curves(gains: tuple[float, float, float], offset: float) -> NDArray[np.uint8]:
    """New level of every level, (256, 3)."""
    levels = np.arange(256)[:, None] * np.array(gains) + offset
    return np.asarray(np.clip(np.rint(levels), 0, 255), np.uint8)


@lru_cache(maxsize=1)
def _log_likelihood() -> NDArray[np.int64]:
    """Log-likelihood of every colour cell under the most favourable category, in steps of 1 / _UNIT."""
    from scipy.ndimage import gaussian_filter

    side = 1 << BITS
    likely = np.exp(colour_table(STEADY.spread).max(axis=0).astype(np.float64)).reshape(side, side, side)
    smooth = np.log(gaussian_filter(likely, _SMOOTHING) + _RARE)
    return np.asarray(np.rint(_UNIT * smooth), np.int64).ravel()
