"""Where the camera of each frame of a video was, whoever finds it out: one pose a frame, of no known size.

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

TrackStatus = Literal["ok", "stationary", "partial", "failed"]
"""ok: every frame. stationary: the camera stays in one place, though it may turn. partial: only the frames in `frames`.
failed: none, `poses` is None."""

DEFAULT_SOURCE = "klt-vo"
LEAP = 5.0
_MIN_PART = 8


@dataclass(frozen=True)
class PoseTrack:
    """Poses (n, 4, 4) of the frames `frames` (n,), ascending, camera-to-world in the frame of the first camera.

    Their unit is the source's own. reason: one line, empty when ok. source: as it was asked for. diagnostics: of the
    decoder, plain JSON values.
    """

    status: TrackStatus
    reason: str
    poses: FloatArray | None
    frames: NDArray[np.int64]
    source: str
    diagnostics: Mapping[str, Any] = field(default_factory=dict)

    def filled(self, count: int) -> FloatArray:
        """Poses (count, 4, 4) of frames 0 to count - 1, NaN where a frame was not placed."""
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
    """The camera of every frame of `video`, by the decoder `source`; never raises for what a video may hold.

    source: "exact" for `poses` as they are, else a decoder as `open_decoder` takes it, such as "klt-vo",
    "precomputed?folder=..." or "cmd:...". content: what these very frames are, such as the SHA-256 of their file and
    which of its frames; where it is not empty they are decoded once (`decode_cached`). name: for recorded poses, such
    as "model/1st_data/mem_test/data-25". hfov_deg: horizontal field of view, None when unknown. poses: (len(video), 4,
    4) where they are known.
    Raises what `open_decoder` and servers raise, and UsageError for a decoder that cannot do without a real frame.
    """
    decoder = _opened(source)
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
    """A decoded path without its size: what fails for its metres alone is a track as good as any."""
    told = {"decoder": path.decoder, **path.diagnostics}
    if path.positions is None or path.rotations is None:
        why = path.reason if path.positions is None else f"'{path.decoder}' says nothing of rotations here"
        return PoseTrack("failed", why, None, np.zeros(0, np.int64), source, told)
    poses = np.tile(np.eye(4), (len(path.positions), 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = path.rotations, path.positions
    seen = ~np.isin(path.frame_indices, path.diagnostics.get("interpolated", []))
    poses, frames = poses[seen], path.frame_indices[seen]
    if path.status == "stationary":
        return PoseTrack("stationary", path.reason or "the camera does not move", poses, frames, source, told)
    if path.decoder != "exact" and (cut := _unbroken(poses, frames)) != slice(0, len(frames)):
        poses, frames = relative(poses[cut.start], poses[cut]), frames[cut]
        why = f"the camera leaps where its track breaks; kept are frames {frames[0]} to {frames[-1]} of {count}"
        return PoseTrack("partial", why, poses, frames, source, told)
    if len(frames) == count:
        return PoseTrack("ok", "", poses, frames, source, told)
    why = path.reason if path.status == "partial" else ""
    return PoseTrack("partial", why or f"{len(frames)} of {count} frames were placed", poses, frames, source, told)


def _unbroken(poses: FloatArray, frames: NDArray[np.int64]) -> slice:
    """The longest part of a track without a leap: a step `LEAP` times as long as every other.

    There a decoder has lost what both sides share, and goes on in another unit: one scale does not fit both.
    """
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
def _opened(source: str) -> Decoder:
    """One decoder for all videos: that of a server loads its network when it is opened."""
    return open_decoder(source)
