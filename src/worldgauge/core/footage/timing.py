"""Frame rates by the times of the frames: whether they are even, and which frames are nearest to given times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldgauge.core.geometry import FloatArray

ROUNDING_S = 1e-3
"""Times of a container that counts milliseconds stay rounded when a file is copied to a finer one."""


def constant_rate(seconds: FloatArray, tick_s: float, stated: Sequence[float]) -> float | None:
    """Find the frame rate of evenly spaced frames.

    Args:
        seconds: Ascending times of the frames, (n,).
        tick_s: Unit of the container's times in seconds; times may be rounded to it.
        stated: Rates that the header states, in frames per second. The first that agrees with the times is the result.

    Returns:
        Frames per second. None if the spacing differs by more than rounding, and for a single frame without a stated
        rate.
    """
    if len(seconds) == 1:
        return next(iter(stated), None)
    shortest = float(np.diff(seconds).min())
    if shortest <= 0:
        return None
    numbers = np.arange(len(seconds), dtype=np.float64)
    centred = numbers - numbers.mean()
    slope = float(centred @ centred / (centred @ (seconds - seconds.mean())))
    for rate in (*stated, round(slope), round(slope) * 1000 / 1001, slope):
        if rate > 0 and np.ptp(seconds - numbers / rate) <= min(tick_s + ROUNDING_S, shortest / 3):
            return float(rate)
    return None


def nearest_frames(seconds: FloatArray, lasts_s: float, tick_s: float, fps: float) -> list[int]:
    """Find the frames nearest to the times 0, 1 / fps, 2 / fps ...; over a gap the frame before it stays.

    Args:
        seconds: Ascending times of the frames from 0, (n,).
        lasts_s: Seconds until the last frame ends.
        tick_s: Unit of the container's times in seconds.
        fps: Frames per second of the result.
    """
    wanted = np.arange(max(1, int(lasts_s * fps + 0.5))) / fps
    last = np.searchsorted(seconds, seconds, "right") - 1
    before = np.maximum(np.searchsorted(seconds, wanted + tick_s / 2, "right") - 1, 0)
    after = last[np.minimum(before + 1, len(seconds) - 1)]
    ahead = seconds[after] - wanted
    is_later = (ahead < wanted - seconds[before] - tick_s) & (ahead < 0.5 / fps - tick_s)
    return [int(index) for index in np.where(is_later, after, before)]


def rate_range(seconds: FloatArray) -> tuple[float, float, int]:
    """Lowest and highest rate between neighbouring frames, and the most usual one as a whole number.

    Args:
        seconds: Ascending times of the frames, (n,).
    """
    steps = np.diff(seconds)
    highest = 1 / steps[steps > 0].min() if steps.any() else np.inf
    usual = np.median(steps[steps > 0]) if steps.any() else 1.0
    return float(1 / steps.max()) if steps.any() else np.inf, float(highest), max(1, round(1 / float(usual)))
