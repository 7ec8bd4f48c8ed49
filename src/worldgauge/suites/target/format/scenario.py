"""One scenario of Target-Bench, as the rest of the package sees it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.io import digest_of_file
from worldgauge.core.video import Clip
from worldgauge.worlds.walking.floor import Landmark

Label = Literal["explicit", "implicit", "unknown"]
"""Whether the words name the target or describe it."""

Compat = Literal["released"] | None
"""released: horizons cut as the released scripts do. None: cut and turned, by one function for every horizon."""

HORIZONS_S = (8.0, 6.0, 4.0)
"""Seconds from the current frame to the end. Files of 6 and 4 s are named `2s` and `4s`, by their delay."""

DT_S = 0.04
"""Rows and frames come at 25 a second (paper, section 3)."""


@dataclass(frozen=True)
class Scenario:
    """A walk towards a named target.

    Attributes:
        id: Name of its folder.
        scene: The recording it is a part of.
        folder: Its folder.
        target_text: The sentence that the model is given.
        label: Whether the sentence names the target.
        category: Category of the target; "unknown" where it is not stored.
        split: Split of the data.
        horizon_s: Seconds from the current frame to the end.
        first_frame: The real frame that gives a decoder its scale.
        current_frame: The frame that a model is given.
        path_xy: (T, 2) float64 metres, the current frame at the origin and its heading +y, +x to the right.
        history_rows: Rows of `path_xy` before the current frame.
        dt: Seconds per row.
        anchor_distance_m: Metres in the plane between first_frame and current_frame; NaN where `fault` is about it.
        video: Real frames; row 0 of the path is its frame `first_video_frame`.
        world: The world; embedded worlds only, as for the next four.
        camera: The camera.
        poses: (T, 4, 4) in the world frame.
        target: The target.
        wordings: Sentences by label.
        metadata: The published file, that of the horizon where there is one.
        warnings: Noteworthy facts; the scenario is usable.
        fault: Why it cannot be used; it is then listed and fails.
        unasked: Why no model can be asked; finished videos are scored all the same.
        history_s: Seconds from first_frame to current_frame.
        first_video_frame: See `video`.
        compat: Whether it was read as the release reads it.
    """

    id: str
    scene: str
    folder: Path
    target_text: str = ""
    label: Label = "unknown"
    category: str = "unknown"
    split: str = "unknown"
    horizon_s: float = 8.0
    first_frame: Path | None = None
    current_frame: Path | None = None
    path_xy: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))
    history_rows: int = 0
    dt: float = DT_S
    anchor_distance_m: float = float("nan")
    video: Path | None = None
    world: WorldFacts | None = None
    camera: Camera | None = None
    poses: FloatArray | None = None
    target: Landmark | None = None
    wordings: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    fault: str | None = None
    unasked: str | None = None
    history_s: float = 0.0
    first_video_frame: int = 0
    compat: Compat = None

    @property
    def future_xy(self) -> FloatArray:
        """The path from the current frame on, (T - history_rows, 2) metres."""
        return self.path_xy[self.history_rows :]


def truth_clip(scenario: Scenario) -> Clip:
    """The real frames from the current one to the end, one per row; frame k belongs to row `history_rows` + k.

    Where the video has another number of frames than the path has rows, each is found in proportion, and the rate is
    that of the rows.

    Raises:
        DataError: Where there is no video or it cannot be read.
    """
    clip = open_video(scenario)
    if len(clip) == _all_rows(scenario):
        return clip[scenario.first_video_frame + scenario.history_rows :]
    frames = video_frames_of(scenario, np.arange(scenario.history_rows, len(scenario.path_xy)), len(clip))
    return clip.picked(frames.tolist(), 1 / scenario.dt)


def video_frames_of(scenario: Scenario, rows: ArrayLike, n_frames: int) -> NDArray[np.int64]:
    """Frames of the scenario's video that belong to rows of its path.

    Row and frame are the same where there is one frame per row, counted from frame `first_video_frame`; else they are
    in proportion, first to first and last to last.

    Args:
        scenario: The scenario.
        rows: (n,); may be fractions, or before the path. Beyond the video its last frame is held.
        n_frames: Frames of the video.

    Returns:
        Frame numbers (n,).
    """
    at = np.asarray(rows, np.float64) + scenario.first_video_frame
    n_rows = _all_rows(scenario)
    if n_frames != n_rows:
        at = at * (n_frames - 1) / max(n_rows - 1, 1)
    return np.clip(np.rint(at), 0, n_frames - 1).astype(np.int64)


def _all_rows(scenario: Scenario) -> int:
    """Rows of the whole walk, also those before a later horizon."""
    return scenario.first_video_frame + len(scenario.path_xy)


def open_video(scenario: Scenario) -> Clip:
    """All real frames.

    Raises:
        DataError: Where there is no video or it cannot be read.
    """
    if scenario.video is None:
        raise DataError(f"{scenario.id}: no video of the real walk; expected {scenario.id}_video.mp4 next to its path")
    return Clip.open(scenario.video)


def fingerprint_of(scenario: Scenario) -> str:
    """SHA-256 over all that defines a task: path, words, frames, video and world."""
    facts = [
        [scenario.id, scenario.target_text, scenario.label, scenario.category, scenario.horizon_s, scenario.compat],
        [scenario.history_rows, scenario.dt, repr(scenario.anchor_distance_m), scenario.history_s, scenario.fault],
        [list(scenario.path_xy.shape), scenario.first_video_frame, dict(scenario.wordings)],
        None if scenario.world is None else [scenario.world.name, dict(scenario.world.params), scenario.world.digest],
        None if scenario.camera is None else repr(scenario.camera),
        None if scenario.target is None else repr(scenario.target),
    ]
    whole = hashlib.sha256(json.dumps(facts, sort_keys=True, allow_nan=False).encode())
    whole.update(np.ascontiguousarray(scenario.path_xy, "<f8").tobytes())
    if scenario.poses is not None:
        whole.update(np.ascontiguousarray(scenario.poses, "<f8").tobytes())
    for path in (scenario.first_frame, scenario.current_frame, scenario.video):
        whole.update(_digest(path))
    return whole.hexdigest()


def _digest(path: Path | None) -> bytes:
    """SHA-256 of a file; one that cannot be read is a fault of its scenario alone, found where it is opened."""
    if path is None:
        return b"none"
    try:
        return bytes.fromhex(digest_of_file(path))
    except OSError as error:
        return f"unreadable: {error.strerror}".encode()
