"""A strip of frames: what was recorded, and below it what the model imagined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from worldgauge.core.image import Image
from worldgauge.core.video import Clip
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Record
from worldgauge.engine.suite.rollout import open_rollout

COLUMNS, WIDTH_PX, GAP_PX = 6, 160, 2
_WHITE = 255


def strip_of(suite: Suite, record: Record) -> Image | None:
    """The strip of one record: six moments from the first frame to the last.

    Returns:
        (H, W, 3) uint8 with two rows, or one where the suite has nothing to compare with. None without frames.
    """
    looks: tuple[Callable[[Record], tuple[Clip, ...]], ...] = (suite.compared_clips, _rollout_of)
    for clips_of in looks:
        with suppress(Exception):  # a picture costs no number: suites need not compare frames, nor keep a video
            return stack_strips([_row(clip) for clip in clips_of(record) if len(clip)])
    return None


def stack_strips(strips: Sequence[Image]) -> Image | None:
    """Put strips of one width below each other, with a white line between. None where there is none."""
    if not strips:
        return None
    gap = np.full((GAP_PX, strips[0].shape[1], 3), _WHITE, np.uint8)
    return np.concatenate([part for strip in strips for part in (gap, strip)][1:])


def _rollout_of(record: Record) -> tuple[Clip, ...]:
    return (open_rollout(record),)


def _row(clip: Clip) -> Image:
    height = max(1, round(WIDTH_PX * clip.height / clip.width))
    moments = np.linspace(0, len(clip) - 1, COLUMNS).round().astype(int).tolist()
    gap = np.full((height, GAP_PX, 3), _WHITE, np.uint8)
    frames = clip.resized(WIDTH_PX, height).take(moments)
    return np.concatenate([part for frame in frames for part in (gap, frame)][1:], axis=1)
