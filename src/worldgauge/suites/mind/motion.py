"""Does the video move? A video that stands still gets good errors and good consistency."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.core.image import Image
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import mean_of_known
from worldgauge.suites.mind import format as mind
from worldgauge.suites.mind.format import MindClip, Part, Perspective
from worldgauge.suites.mind.metrics.out_leg_motion import out_leg_motion

PERIOD = 24
"""Frames between two that are compared: a leg of the mirrored paths, one second."""
_CLIPS, _WINDOWS = 8, 4
"""Real clips that are looked at, and legs of each."""


def leg_motion(start: Image, out: Clip) -> float:
    """How far the way out gets from the start image, judged by both the turn and the median of its second half.

    One odd frame at the turn does not count as motion.

    Args:
        start: The start image.
        out: The way out; its last frame is the turn.
    """
    half = [out_leg_motion(start, frame) for frame in out[len(out) // 2 :]]
    return float(min(half[-1], np.median(half)))


class MotionMeter:
    """Mean change of a video over `PERIOD` frames, from each PERIOD-th frame and the last."""

    def __init__(self) -> None:
        self._last: Image | None = None
        self._seen: list[float] = []

    def see(self, frame: Image) -> None:
        """Add the next of these frames, (H, W, 3)."""
        if self._last is not None:
            self._seen.append(out_leg_motion(self._last, frame))
        self._last = frame

    @property
    def mean(self) -> float | None:
        """Mean squared change; None for a single frame."""
        return mean_of_known(self._seen)


def real_motion(source: str, perspective: Perspective) -> float | None:
    """Compute the median change of real clips over one leg (specification, section 4.4).

    It uses the first clips of the memory test in their order, else of those to train on, else of those in other action
    spaces, so that it is the same for every subject.

    Args:
        source: The data folder.
        perspective: First or third person.

    Returns:
        The median; None where no clip can be read.
    """
    parts: tuple[Part, ...] = ("mem_test", "train", "action_space_test")
    for part in parts:
        clips = mind.discover(Path(source), parts=(part,), perspectives=(perspective,))
        sound = [clip for clip in clips if clip.fault is None][:_CLIPS]
        found = [change for clip in sound for change in _changes(clip, mind.fingerprint_of(clip))]
        if found:
            return float(np.median(found))
    return None


@lru_cache(maxsize=64)
def _changes(clip: MindClip, fingerprint: str) -> list[float]:
    """Changes over the legs of a clip; none of one that cannot be read, whose own task fails by it."""
    try:
        return _legs(mind.load(clip).clip)
    except DataError:
        return []


def _legs(clip: Clip) -> list[float]:
    """Change over legs that are spread evenly over a clip."""
    last = len(clip) - 1 - PERIOD
    if last < 0:
        return []
    starts = np.unique(np.linspace(0, last, _WINDOWS).round().astype(int)).tolist()
    pairs = [(clip[start], clip[start + PERIOD]) for start in starts]
    return [out_leg_motion(one, other) for one, other in pairs]
