"""How far a video of a path out and back gets, so that one that stands still is not taken for a consistent one.

Example:
    moves(out_leg_motion(start, video[turn_frame(len(video))]), median_of_real_clips)

Source: ours; MIND's scene consistency gives a still video its best score.
"""

from __future__ import annotations

import math

import numpy as np

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Image
from worldgauge.metrics._registry import metric
from worldgauge.metrics.frame_pairs import prepared

MOTION_SHARE = 0.1
"""A video moves when its motion is at least this share of the median of real clips of equal length."""


@metric(
    "out_leg_motion",
    unit="1",
    better="neither",
    bounds=(0.0, 1.0),
    version=2,
    source="ours, in addition to MIND's pairs",
)
def out_leg_motion(start: Image, turn: Image) -> float:
    """Mean squared difference of the start image and the frame at the far end of the path, at 1280x720; 0: no motion.

    Args:
        start: (h, w, 3) uint8, any size.
        turn: (h, w, 3) uint8, any size.

    Raises:
        ShapeError: On other shapes.
    """
    difference = prepared(start) - prepared(turn)
    return float(np.square(difference, out=difference).mean(dtype=np.float64))


def moves(motion: float, real_median: float) -> bool:
    """Whether a motion is at least MOTION_SHARE of the median motion of real clips of equal length.

    Args:
        motion: From `out_leg_motion`.
        real_median: Median of the same number over real clips.

    Raises:
        ShapeError: For a motion below 0 or not finite, and for a median that is not above 0.
    """
    if not (math.isfinite(motion) and motion >= 0 and math.isfinite(real_median) and real_median > 0):
        raise ShapeError(f"a motion >= 0 and a median of real clips > 0 are needed, got {motion} and {real_median}")
    return motion >= MOTION_SHARE * real_median
