"""Which frames of a video a decoder looks at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError

Indices = NDArray[np.int64]


def evenly_spaced(n_frames: int, n: int) -> Indices:
    """`n` frame indices from the first to the last, int(linspace); all frames when there are fewer.

    Raises UsageError when either number is below 1.
    Source: Target-Bench, sampling of the released VGGT and ViPE decoders (n = 9).
    """
    _check(n_frames, n)
    if n_frames <= n:
        return np.arange(n_frames, dtype=np.int64)
    return np.linspace(0, n_frames - 1, n).astype(np.int64)


def every_second(n_frames: int, fps: float, seconds: int = 8) -> Indices:
    """The frame shown at 0, 1, ... `seconds` seconds: `seconds` + 1 indices, the last one repeated past the end.

    Raises UsageError when `n_frames` is below 1 or the rate is not a positive number.
    Source: Target-Bench, sampling of the released SpatialTrackerV2 decoder.
    """
    _check(n_frames, seconds + 1)
    if not 0 < fps < np.inf:
        raise UsageError(f"a video of {fps} frames a second; give a rate above 0")
    return np.minimum((np.arange(seconds + 1) * fps).astype(np.int64), n_frames - 1)


def _check(n_frames: int, n: int) -> None:
    if n_frames < 1 or n < 1:
        raise UsageError(f"cannot take {n} of {n_frames} frames; both must be at least 1")
