"""Which frames of a video a decoder looks at, at what size, and whether the camera moves between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.core.image import Image
from worldgauge.core.video import resize
from worldgauge.perception.decoders.contract import DecodedPath

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


Gray = NDArray[np.uint8]

LONGEST_SIDE_PX = 640


def working_size(width: int, height: int) -> tuple[int, int]:
    """Width and height with a longest side of `LONGEST_SIDE_PX`."""
    factor = LONGEST_SIDE_PX / max(width, height)
    return max(1, round(width * factor)), max(1, round(height * factor))


def gray_at(frame: Image, size: tuple[int, int]) -> Gray:
    """`frame` at (width, height), then grey."""
    import cv2

    return np.asarray(cv2.cvtColor(np.ascontiguousarray(resize(frame, *size)), cv2.COLOR_RGB2GRAY), np.uint8)


STILL_PX = 0.5
"""Target-Bench specification, section 9.3; a still room with noise and compression moves 0.1 px, a walk over 100 px."""

_MIN_CORNERS = 20
_MIN_TRACKED = 0.5


def displacement_px(frames: Sequence[Gray]) -> float | None:
    """How far the picture moves away from its first frame, in pixels: the largest median over the later frames.

    frames: (H, W) uint8, at a longest side of 640 for `STILL_PX` to hold. Corners of the first frame are tracked
    straight into each other frame, the last first, and no further once one shows movement: more than `STILL_PX`, or
    half of the corners lost (infinite, as after a cut). A few things that move do not change a median.
    None when the first frame has too little texture to tell.
    """
    import cv2

    corners = cv2.goodFeaturesToTrack(frames[0], 400, 0.01, 8)
    if corners is None or len(corners) < _MIN_CORNERS:
        return None
    track: Any = cv2.calcOpticalFlowPyrLK
    largest = 0.0
    for frame in reversed(frames[1:]):
        there, found, _ = track(frames[0], frame, corners, None, winSize=(21, 21), maxLevel=3)
        back, again, _ = track(frame, frames[0], there, None, winSize=(21, 21), maxLevel=3)
        kept = (found.ravel() == 1) & (again.ravel() == 1) & (np.linalg.norm(back - corners, axis=-1).ravel() < 1.0)
        if kept.mean() < _MIN_TRACKED:
            return float("inf")
        moved = float(np.median(np.linalg.norm((there - corners)[kept], axis=-1)))
        largest = max(largest, moved)
        if largest >= STILL_PX:
            break
    return largest


def stationary_path(
    decoder: str, indices: Indices, reason: str, *, looked_at: int, anchor_real_m: float | None, **diagnostics: Any
) -> DecodedPath:
    """The path of a camera that stays where it is: a point at the origin for each of `indices`."""
    n = len(indices)
    return DecodedPath(
        "stationary",
        decoder,
        reason,
        xy=np.zeros((n, 2)),
        positions=np.zeros((n, 3)),
        rotations=np.tile(np.eye(3), (n, 1, 1)),
        frame_indices=indices,
        registered=np.ones(looked_at, bool),
        anchor_real=anchor_real_m,
        diagnostics={"turn_deg": 0.0, "path_length": 0.0, **diagnostics},
    )
