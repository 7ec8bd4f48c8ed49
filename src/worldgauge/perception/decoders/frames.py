"""Which frames of a video a decoder looks at, at what size, whether the camera moves, and which paths are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core import geometry
from worldgauge.core.errors import UsageError
from worldgauge.core.image import Image
from worldgauge.core.video import resize
from worldgauge.perception.decoders import DecodedPath, DecodeRequest, Status
from worldgauge.perception.decoders.poses import GroundPath

Indices = NDArray[np.int64]


def evenly_spaced(n_frames: int, n: int) -> Indices:
    """Choose frames from the first to the last, int(linspace). Source: Target-Bench, VGGT and ViPE decoders."""
    _check(n_frames, n)
    if n_frames <= n:
        return np.arange(n_frames, dtype=np.int64)
    return np.linspace(0, n_frames - 1, n).astype(np.int64)


def every_second(n_frames: int, fps: float, seconds: int = 8) -> Indices:
    """Choose the frames shown at 0, 1, ... `seconds`. Source: Target-Bench, released SpatialTrackerV2 decoder."""
    _check(n_frames, seconds + 1)
    if not 0 < fps < np.inf:
        raise UsageError(f"a video of {fps} frames a second; give a rate above 0")
    return np.minimum((np.arange(seconds + 1) * fps).astype(np.int64), n_frames - 1)


def _check(n_frames: int, n: int) -> None:
    if n_frames < 1 or n < 1:
        raise UsageError(f"cannot take {n} of {n_frames} frames; both must be at least 1")


Gray = NDArray[np.uint8]

LONGEST_SIDE_PX = 640


def working_size(width: int, height: int, longest_px: int = LONGEST_SIDE_PX) -> tuple[int, int]:
    """Scale a size so that its longer side is `longest_px`."""
    factor = longest_px / max(width, height)
    return max(1, round(width * factor)), max(1, round(height * factor))


def gray_at(frame: Image, size: tuple[int, int]) -> Gray:
    """Resize a frame and convert it to grey. frame: (H, W, 3) uint8. Returns (height, width) uint8."""
    import cv2

    return np.asarray(cv2.cvtColor(np.ascontiguousarray(resize(frame, *size)), cv2.COLOR_RGB2GRAY), np.uint8)


STILL_PX = 0.5
"""A still room with noise and compression moves 0.1 px, a walk over 100 px."""

_MIN_CORNERS = 20
_MIN_TRACKED = 0.5


def displacement_px(frames: Sequence[Gray]) -> float | None:
    """Measure how far the picture moves away from its first frame: the largest median over the later frames.
    Corners are tracked directly into each other frame, the last first, until one shows movement: more than `STILL_PX`
    (for a longest side of 640), or half of the corners lost. A few moving things do not change a median."""
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
    """Make the path of a camera that does not move: the origin for every frame."""
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


MIN_REGISTERED = 0.9
MIN_REGISTERED_PARTIAL = 0.5
MAX_REPROJECTION_PX = 2.0
MIN_POINTS_PER_FRAME = 10.0
FOCAL_WIDTHS = (0.4, 2.5)
"""Of an unknown field of view: 103 to 23 degrees."""
FOCAL_FACTOR = 1.4
"""How far the focal length may be from that of a given field of view, as a factor. Ours."""
MIN_FROM_START = 3
"""Placed frames of a partial path; with one or two, it reads as a camera that stands still. Ours."""


@dataclass(frozen=True)
class PathQuality:
    """The quality of a reconstruction."""

    registered: NDArray[np.bool_]
    anchor: bool | None
    reprojection_px: float
    points_per_frame: float
    focal_widths: float
    given_widths: float | None = None


def judge(evidence: PathQuality) -> tuple[Status, str]:
    """`ok`, `partial`, `no_scale` (sound, but the anchor has no place in it) or `failed`, and why, in one line."""
    status, reason = judge_placed(evidence.registered)
    faults = (
        (status == "failed", reason),
        (not evidence.reprojection_px <= MAX_REPROJECTION_PX, f"reprojection error {evidence.reprojection_px:.2f} px"),
        (
            not evidence.points_per_frame >= MIN_POINTS_PER_FRAME,
            f"{evidence.points_per_frame:.1f} points a frame; needs {MIN_POINTS_PER_FRAME:.0f}",
        ),
        ((wrong_focal := _focal_fault(evidence)) != "", wrong_focal),
    )
    for wrong, why in faults:
        if wrong:
            return "failed", why
    if evidence.anchor is False:
        return "no_scale", "the anchor frame has no certain place"
    return status, reason


def judge_placed(placed: NDArray[np.bool_]) -> tuple[Status, str]:
    """`ok`, `partial` or `failed` by which frames (m,) have a camera, and why."""
    count = f"{int(placed.sum())} of {len(placed)} frames were placed"
    if not len(placed) or not placed[0]:
        return "failed", "the first frame was not placed"
    if placed.mean() < MIN_REGISTERED_PARTIAL:
        return "failed", count
    if placed.mean() < MIN_REGISTERED or not placed[-1]:
        return "partial", f"{count}, {prefix(placed)} from the start"
    return "ok", ""


def _focal_fault(evidence: PathQuality) -> str:
    """Why the field of view that was found cannot be; empty when it can."""
    found, given = evidence.focal_widths, evidence.given_widths
    least, most = FOCAL_WIDTHS if given is None else (given / FOCAL_FACTOR, given * FOCAL_FACTOR)
    if least <= found <= most:
        return ""
    seen = f"found a field of view of {_degrees(found):.0f} degrees"
    if given is not None:
        return f"{seen}; {_degrees(given):.0f} is given. Check the given value"
    return f"{seen}, outside {_degrees(most):.0f} to {_degrees(least):.0f}. Give the field of view of the videos"


def _degrees(focal_widths: float) -> float:
    return float(np.degrees(2 * np.arctan(0.5 / focal_widths)))


def prefix(registered: NDArray[np.bool_]) -> int:
    """How many frames from the first on are placed without a gap."""
    gaps = np.flatnonzero(~registered)
    return int(gaps[0]) if len(gaps) else len(registered)


def from_start(registered: NDArray[np.bool_], frames: Indices, points: Indices) -> tuple[Indices, Indices, str]:
    """Cut a partial reconstruction to what it has from the start without a gap; `points` are the path's frames."""
    kept = np.arange(prefix(registered), dtype=np.int64)
    points = points[points <= frames[kept[-1]]] if len(kept) else points[:0]
    if len(kept) >= MIN_FROM_START and len(points) > 1:
        return kept, points, ""
    count = f"{len(kept)} frame{'' if len(kept) == 1 else 's'}"
    return kept, points, f"only {count} from the start {'was' if len(kept) == 1 else 'were'} placed"


def anchor_too_far(path: GroundPath) -> str:
    """Why the anchor of a reconstruction cannot be right: it is farther from the start than the path is long; else "".
    Such a path says too little about what the anchor sees."""
    length = geometry.length(path.positions) / (path.scale or 1.0)
    if path.anchor_estimated is None or path.anchor_estimated <= length:
        return ""
    away = f"{path.anchor_estimated:.3g} units from the start of a path {length:.3g} long"
    return f"the anchor is {away}; too far for a scale"


def walkable(path: DecodedPath, request: DecodeRequest) -> DecodedPath:
    """Mark a path as failed when it is faster than the request allows. Its shape stays, `xy` does not."""
    fps, limit = request.video.fps, request.max_speed_m_s
    if path.xy is None or path.positions is None or limit is None or not 0 < fps < np.inf:
        return path
    seconds = float(path.frame_indices[-1] - path.frame_indices[0]) / fps
    length_m = geometry.length(path.positions)
    if seconds <= 0 or length_m / seconds <= limit:
        return path
    fault = f"{length_m / seconds:.1f} m/s; the data allow {limit:.1f} m/s, so the scale is wrong"
    return replace(path, status="failed", reason=fault, xy=None)
