"""When a reconstruction may be believed: what is asked of it before its path counts as `ok` or `partial`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worldgauge.core import polyline
from worldgauge.perception.decoders.contract import DecodedPath, Status
from worldgauge.perception.decoders.frames import Indices

MIN_REGISTERED = 0.9
MIN_REGISTERED_PARTIAL = 0.5
MAX_REPROJECTION_PX = 2.0
MIN_POINTS_PER_FRAME = 10.0
FOCAL_WIDTHS = (0.4, 2.5)
MAX_SPEED_M_S = 3.0
"""All of these: Target-Bench specification, section 9.3."""
MIN_FROM_START = 3
"""Placed frames of a partial path; with one or two, it reads as a camera that stands still. Ours."""


@dataclass(frozen=True)
class Evidence:
    """The quality of a reconstruction.

    Attributes:
        registered: (m,) bool, video frames with a camera.
        anchor: Whether the anchor has one; None where there is no anchor.
        reprojection_px: Mean reprojection error, pixels.
        points_per_frame: Mean over the frames with a camera.
        focal_widths: Focal length in image widths.
    """

    registered: NDArray[np.bool_]
    anchor: bool | None
    reprojection_px: float
    points_per_frame: float
    focal_widths: float


def judge(evidence: Evidence) -> tuple[Status, str]:
    """`ok`, `partial`, `no_scale` (sound, but the anchor has no place in it) or `failed`, and why, in one line."""
    placed = evidence.registered
    share = float(placed.mean()) if len(placed) else 0.0
    least, most = FOCAL_WIDTHS
    faults = (
        (not len(placed) or not placed[0], "the first frame was not placed"),
        (share < MIN_REGISTERED_PARTIAL, f"{int(placed.sum())} of {len(placed)} frames were placed"),
        (not evidence.reprojection_px <= MAX_REPROJECTION_PX, f"reprojection error {evidence.reprojection_px:.2f} px"),
        (
            not evidence.points_per_frame >= MIN_POINTS_PER_FRAME,
            f"{evidence.points_per_frame:.1f} points a frame; needs {MIN_POINTS_PER_FRAME:.0f}",
        ),
        (not least <= evidence.focal_widths <= most, f"focal length of {evidence.focal_widths:.2f} image widths"),
    )
    for wrong, why in faults:
        if wrong:
            return "failed", why
    if evidence.anchor is False:
        return "no_scale", "the anchor frame was not placed"
    if share < MIN_REGISTERED or not placed[-1]:
        return "partial", f"{int(placed.sum())} of {len(placed)} frames were placed, {prefix(placed)} from the start"
    return "ok", ""


def prefix(registered: NDArray[np.bool_]) -> int:
    """How many frames from the first on are placed without a gap."""
    gaps = np.flatnonzero(~registered)
    return int(gaps[0]) if len(gaps) else len(registered)


def from_start(registered: NDArray[np.bool_], frames: Indices, points: Indices) -> tuple[Indices, Indices, str]:
    """Cut a partial reconstruction down to what it has from the start without a gap.

    Args:
        registered: (m,) bool, frames with a camera.
        frames: (m,) indices of the frames in the video.
        points: (n,) frames that are points of the path.

    Returns:
        Frames kept, points kept, and why that is too little for a path: empty with at least `MIN_FROM_START` frames and
        two points.
    """
    kept = np.arange(prefix(registered), dtype=np.int64)
    points = points[points <= frames[kept[-1]]] if len(kept) else points[:0]
    if len(kept) >= MIN_FROM_START and len(points) > 1:
        return kept, points, ""
    count = f"{len(kept)} frame{'' if len(kept) == 1 else 's'}"
    return kept, points, f"only {count} from the start {'was' if len(kept) == 1 else 'were'} placed"


def walkable(path: DecodedPath, fps: float) -> DecodedPath:
    """Mark a path as failed where it is too fast for a walk. Its shape is kept, `xy` is not.

    Args:
        path: The path.
        fps: Frames per second of the video; without a valid rate the path stays as it is.
    """
    if path.xy is None or path.positions is None or not 0 < fps < np.inf:
        return path
    seconds = float(path.frame_indices[-1] - path.frame_indices[0]) / fps
    fault = speed_fault(polyline.length(path.positions), seconds)
    return replace(path, status="failed", reason=fault, xy=None) if fault else path


def speed_fault(length_m: float, seconds: float) -> str:
    """Explain why a path cannot be a walk.

    Args:
        length_m: Its length, metres.
        seconds: Its duration.

    Returns:
        The reason; empty when it can be one, or the time is not known.
    """
    if seconds <= 0 or length_m / seconds <= MAX_SPEED_M_S:
        return ""
    return f"{length_m / seconds:.1f} m/s; nobody walks faster than {MAX_SPEED_M_S:.0f} m/s, the scale is wrong"
