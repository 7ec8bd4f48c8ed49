"""Camera poses of the frames of a video from any decoder: one pose for each frame, without a known scale.

track = recover_poses(Clip.open("video.mp4")[:97], "klt-vo", content=sha256, hfov_deg=90.0)
action_accuracy(truth, track.filled(97), labels)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray, relative
from worldgauge.core.video import Clip
from worldgauge.perception.decoders import DecodedPath, Decoder, DecodeRequest, decode_cached, open_decoder
from worldgauge.serving import served_code

TrackStatus = Literal["ok", "stationary", "partial", "failed"]
"""ok: every frame. stationary: the camera stays in one place, though it may turn. partial: only the frames in `frames`.
failed: none, `poses` is None."""

DEFAULT_SOURCE = "klt-vo"
LEAP = 5.0
_MIN_PART = 8


@dataclass(frozen=True)
class PoseTrack:
    """Camera poses of the frames of a video."""

    status: TrackStatus
    reason: str
    poses: FloatArray | None  # (n, 4, 4) camera-to-world in the frame of the first camera, in the source's own unit
    frames: NDArray[np.int64]  # (n,), ascending
    source: str
    diagnostics: Mapping[str, Any] = field(default_factory=dict)

    def filled(self, count: int) -> FloatArray:
        """Poses of all frames from 0. Returns (count, 4, 4) poses, NaN where a frame has none."""
        every = np.full((count, 4, 4), np.nan)
        if self.poses is not None:
            kept = self.frames < count
            every[self.frames[kept]] = self.poses[kept]
        return every


def recover_poses(
    video: Clip,
    source: str = DEFAULT_SOURCE,
    *,
    content: str,
    name: str = "",
    hfov_deg: float | None = None,
    poses: FloatArray | None = None,
) -> PoseTrack:
    """Find the camera pose of every frame of a video, from camera-to-world `poses` if they are known."""
    decoder = _opened(source, served_code(source))
    if getattr(decoder, "anchored", False):
        raise UsageError(
            f"decoder '{decoder.name}' needs a real frame at a known distance, which a generated video has not; "
            "take klt-vo, sfm-global or a served one of layout vipe"
        )
    request = DecodeRequest(
        video,
        anchor=None,
        anchor_distance_m=None,
        hfov_deg=hfov_deg,
        n_points=max(len(video), 1),
        poses=poses,
        content=content,
        name=name,
    )
    return _track(decode_cached(decoder, request, content), len(video), source)


def _track(path: DecodedPath, count: int, source: str) -> PoseTrack:
    """A decoded path without its scale: a path that fails only because its scale is unknown is a valid track."""
    details = {"decoder": path.decoder, **path.diagnostics}
    if path.positions is None or path.rotations is None:
        why = path.reason if path.positions is None else f"'{path.decoder}' says nothing of rotations here"
        return PoseTrack("failed", why, None, np.zeros(0, np.int64), source, details)
    poses = np.tile(np.eye(4), (len(path.positions), 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = path.rotations, path.positions
    seen = ~np.isin(path.frame_indices, path.diagnostics.get("interpolated", []))
    poses, frames = poses[seen], path.frame_indices[seen]
    if path.status == "stationary":
        return PoseTrack("stationary", path.reason or "the camera does not move", poses, frames, source, details)
    if path.decoder != "exact" and (cut := _unbroken(poses, frames)) != slice(0, len(frames)):
        poses, frames = relative(poses[cut.start], poses[cut]), frames[cut]
        why = f"the camera leaps where its track breaks; kept are frames {frames[0]} to {frames[-1]} of {count}"
        return PoseTrack("partial", why, poses, frames, source, details)
    if len(frames) == count:
        return PoseTrack("ok", "", poses, frames, source, details)
    why = path.reason if path.status == "partial" else ""
    return PoseTrack("partial", why or f"{len(frames)} of {count} frames were placed", poses, frames, source, details)


def _unbroken(poses: FloatArray, frames: NDArray[np.int64]) -> slice:
    """The longest part of a track without a jump, which is a step `LEAP` times as long as every other.
    At a jump the decoder has lost the shared points and continues in another unit, so that one scale does not fit
    both."""
    start, stop = 0, len(frames)
    while stop - start >= _MIN_PART:
        steps = np.linalg.norm(np.diff(poses[start:stop, :3, 3], axis=0), axis=1) / np.diff(frames[start:stop])
        at = int(steps.argmax())
        others = np.delete(steps, slice(max(at - 1, 0), at + 2))
        if steps[at] <= LEAP * others.max():
            break
        start, stop = (start, start + at + 1) if at + 1 >= stop - start - at - 1 else (start + at + 1, stop)
    return slice(start, stop)


@lru_cache(maxsize=2)
def _opened(source: str, code: str = "") -> Decoder:
    """One decoder for all videos: that of a server loads its network when it is opened."""
    return open_decoder(source)
