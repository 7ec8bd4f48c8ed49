"""When a reconstruction may be believed: what is asked of it before its path counts as `ok` or `partial`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worldgauge.core import polyline
from worldgauge.perception.decoders.contract import DecodedPath, DecodeRequest, Status
from worldgauge.perception.decoders.frames import Indices
from worldgauge.perception.decoders.poses import GroundPath

MIN_REGISTERED = 0.9
MIN_REGISTERED_PARTIAL = 0.5
MAX_REPROJECTION_PX = 2.0
MIN_POINTS_PER_FRAME = 10.0
FOCAL_WIDTHS = (0.4, 2.5)
"""Of an unknown field of view: 103 to 23 degrees. All of these: Target-Bench specification, section 9.3."""
FOCAL_FACTOR = 1.4
"""How far the focal length may be from that of a given field of view, as a factor. Ours."""
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
        given_widths: Focal length that the given field of view has; None when none is given.
    """

    registered: NDArray[np.bool_]
    anchor: bool | None
    reprojection_px: float
    points_per_frame: float
    focal_widths: float
    given_widths: float | None = None


def judge(evidence: Evidence) -> tuple[Status, str]:
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


def _focal_fault(evidence: Evidence) -> str:
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


def anchor_too_far(path: GroundPath) -> str:
    """Why the anchor of a reconstruction cannot be right: it is farther from the start than the path is long.

    Such a path says too little about what the anchor sees. Empty when the anchor can be right.
    """
    length = polyline.length(path.positions) / (path.scale or 1.0)
    if path.anchor_estimated is None or path.anchor_estimated <= length:
        return ""
    away = f"{path.anchor_estimated:.3g} units from the start of a path {length:.3g} long"
    return f"the anchor is {away}; too far for a scale"


def walkable(path: DecodedPath, request: DecodeRequest) -> DecodedPath:
    """Mark a path as failed when it is faster than the request allows. Its shape stays, `xy` does not.

    Args:
        path: The path.
        request: What is decoded. Without a limit or a valid frame rate the path stays as it is.
    """
    fps, limit = request.video.fps, request.max_speed_m_s
    if path.xy is None or path.positions is None or limit is None or not 0 < fps < np.inf:
        return path
    seconds = float(path.frame_indices[-1] - path.frame_indices[0]) / fps
    length_m = polyline.length(path.positions)
    if seconds <= 0 or length_m / seconds <= limit:
        return path
    fault = f"{length_m / seconds:.1f} m/s; the data allow {limit:.1f} m/s, so the scale is wrong"
    return replace(path, status="failed", reason=fault, xy=None)
