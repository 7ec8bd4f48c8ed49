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
    """Choose frames from the first to the last, int(linspace).

    Source: Target-Bench, sampling of the released VGGT and ViPE decoders (n = 9).

    Args:
        n_frames: Length of the video.
        n: Number of frames wanted.

    Returns:
        Indices; all frames when there are fewer than `n`.

    Raises:
        UsageError: One of the two is below 1.
    """
    _check(n_frames, n)
    if n_frames <= n:
        return np.arange(n_frames, dtype=np.int64)
    return np.linspace(0, n_frames - 1, n).astype(np.int64)


def every_second(n_frames: int, fps: float, seconds: int = 8) -> Indices:
    """Choose the frames shown at 0, 1, ... `seconds` seconds.

    Source: Target-Bench, sampling of the released SpatialTrackerV2 decoder.

    Args:
        n_frames: Length of the video.
        fps: Its frames per second.
        seconds: Last second.

    Returns:
        seconds + 1 indices; the last one is repeated past the end.

    Raises:
        UsageError: `n_frames` is below 1, or the rate is not a positive number.
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
    """Scale a size so that its longer side is `LONGEST_SIDE_PX`.

    Args:
        width: Pixels.
        height: Pixels.

    Returns:
        Width and height.
    """
    factor = LONGEST_SIDE_PX / max(width, height)
    return max(1, round(width * factor)), max(1, round(height * factor))


def gray_at(frame: Image, size: tuple[int, int]) -> Gray:
    """Resize a frame and convert it to grey.

    Args:
        frame: (H, W, 3) uint8.
        size: Width and height.

    Returns:
        (height, width) uint8.
    """
    import cv2

    return np.asarray(cv2.cvtColor(np.ascontiguousarray(resize(frame, *size)), cv2.COLOR_RGB2GRAY), np.uint8)


STILL_PX = 0.5
"""Target-Bench specification, section 9.3; a still room with noise and compression moves 0.1 px, a walk over 100 px."""

_MIN_CORNERS = 20
_MIN_TRACKED = 0.5


def displacement_px(frames: Sequence[Gray]) -> float | None:
    """Measure how far the picture moves away from its first frame: the largest median over the later frames.

    Corners of the first frame are tracked directly into each other frame, the last first, until one shows movement:
    more than `STILL_PX`, or half of the corners lost. A few moving things do not change a median.

    Args:
        frames: (H, W) uint8, with a longest side of 640 for `STILL_PX` to hold.

    Returns:
        Pixels; infinite when half of the corners are lost, as after a cut; None when the first frame has too little
        texture.
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
    """Make the path of a camera that does not move: the origin for every frame.

    Args:
        decoder: Name of the decoder.
        indices: Frames of the path.
        reason: Why it counts as stationary.
        looked_at: Number of frames that were examined.
        anchor_real_m: Real distance of the anchor, metres.
        **diagnostics: Added to the diagnostics.
    """
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
