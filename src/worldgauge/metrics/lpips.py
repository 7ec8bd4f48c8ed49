"""LPIPS: the learned perceptual distance of two frames (Zhang et al. 2018), at the sizes that suites report.

The distance itself comes from a network: `perception/networks/lpips.py` has it in torch, `perception/lpips_numpy.py`
without.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Image
from worldgauge.core.video import resize
from worldgauge.metrics import metrics
from worldgauge.metrics.frame_pairs import Prepared, prepared


@metrics.register(
    "lpips_720p", unit="1", better="lower", bounds=(0.0, math.inf), version=2, source="MIND; LPIPS 0.1, AlexNet"
)
def lpips_720p(x: Image, y: Image, distance: Callable[[Prepared, Prepared], float]) -> float:
    """A learned distance (LPIPS) of two frames at 1280x720.

    Args:
        x: (h, w, 3) uint8 of any size.
        y: The other frame, of any size.
        distance: Distance of two prepared frames, such as `perception.lpips_numpy.Lpips.distance`.

    Returns:
        The distance, 0 for equal frames.

    Raises:
        ShapeError: A frame is not (h, w, 3) uint8.
    """
    return float(distance(prepared(x), prepared(y)))


@metrics.register(
    "lpips", unit="1", better="lower", bounds=(0.0, math.inf), version=1, source="LoopNav, section 4; LPIPS 0.1"
)
def lpips(x: Image, y: Image, distance: Callable[[Prepared, Prepared], float]) -> float:
    """A learned distance (LPIPS) of two frames at their own size.

    Args:
        x: (h, w, 3) uint8.
        y: The other frame, of the same shape.
        distance: Distance of two frames (h, w, 3) float32 in [0, 1].

    Returns:
        The distance, 0 for equal frames.

    Raises:
        ShapeError: The frames differ in shape, or are not (h, w, 3) uint8.
    """
    if x.shape != y.shape:
        raise ShapeError(f"frames differ in shape: {x.shape} and {y.shape}")
    return float(distance(x.astype(np.float32) / np.float32(255), y.astype(np.float32) / np.float32(255)))


@metrics.register(
    "lpips_320x180", unit="1", better="lower", bounds=(0.0, math.inf), version=2, source="lpips at one common size"
)
def lpips_320x180(x: Image, y: Image, distance: Callable[[Prepared, Prepared], float]) -> float:
    """A learned distance (LPIPS) of two frames at 320x180. Fewer pixels lack detail and raise it.

    Give the true frame in its own size: shrunk to a model's size before, it lacks the same detail.

    Args:
        x: (h, w, 3) uint8 of any size.
        y: The other frame, of any size.
        distance: Distance of two frames (h, w, 3) float32 in [0, 1].

    Returns:
        The distance, 0 for equal frames.

    Raises:
        ShapeError: A frame is not (h, w, 3) uint8.
    """
    return float(lpips(resize(x, 320, 180), resize(y, 320, 180), distance))
