"""One scenario of Target-Bench, the frame of its paths, and finished videos of models: one folder a model.

Paths are seen from the current pose: it is at the origin, heading +y, +x to the right. Rows before the current frame
(the history) then have negative y.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.episode import Captions, WorldFacts, caption_in
from worldgauge.core.errors import DataError, ShapeError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, yaw_pitch_from_pose
from worldgauge.core.io import check_inside, digest_or_fault
from worldgauge.core.video import Clip
from worldgauge.models.videos import SUFFIXES
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
        scene: The recording it is a part of.
        captions: Of the whole walk; `caption_at` finds the sentence of a frame.
        first_frame: The real frame that gives a decoder its scale; the model gets `current_frame`, `history_s` later.
        path_xy: (T, 2) metres, the current frame at the origin and its heading +y, +x to the right.
        history_rows: Rows of `path_xy` before the current frame.
        dt: Seconds per row.
        anchor_distance_m: Metres in the plane between first_frame and current_frame; NaN if `fault` is about it.
        video: Real frames; row 0 of the path is its frame `first_video_frame`.
        world: Embedded worlds only, as are the next four; `poses` are (T, 4, 4) in its frame.
        metadata: The published file, that of the horizon if there is one.
        fault: Why it cannot be used; it is then listed and fails.
        unasked: Why no model can be queried; finished videos are scored all the same.
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
    captions: Captions = ()
    compat: Compat = None

    @property
    def future_xy(self) -> FloatArray:
        """The path from the current frame on, (T - history_rows, 2) metres."""
        return self.path_xy[self.history_rows :]

    def caption_at(self, before_s: float = 0.0) -> str | None:
        """What the frame of so many seconds before the current one shows, in a sentence; None where unknown."""
        row = self.first_video_frame + self.history_rows - before_s / self.dt
        return caption_in(self.captions, max(0, round(row)))


def truth_clip(scenario: Scenario) -> Clip:
    """Real frames from the current one on, one per row from `history_rows`, in proportion if numbers differ."""
    clip = open_video(scenario)
    if len(clip) == _all_rows(scenario):
        return clip[scenario.first_video_frame + scenario.history_rows :]
    frames = video_frames_of(scenario, np.arange(scenario.history_rows, len(scenario.path_xy)), len(clip))
    return clip.picked(frames.tolist(), 1 / scenario.dt)


def video_frames_of(scenario: Scenario, rows: ArrayLike, n_frames: int) -> NDArray[np.int64]:
    """Video frames (n,) for rows (n,), also fractional: one per row, else in proportion; held past the last."""
    at = np.asarray(rows, np.float64) + scenario.first_video_frame
    n_rows = _all_rows(scenario)
    if n_frames != n_rows:
        at = at * (n_frames - 1) / max(n_rows - 1, 1)
    return np.clip(np.rint(at), 0, n_frames - 1).astype(np.int64)


def _all_rows(scenario: Scenario) -> int:
    """Rows of the whole walk, also those before a later horizon."""
    return scenario.first_video_frame + len(scenario.path_xy)


def open_video(scenario: Scenario) -> Clip:
    """All real frames."""
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
    if scenario.captions:
        whole.update(json.dumps(scenario.captions).encode())
    for path in (scenario.first_frame, scenario.current_frame, scenario.video):
        whole.update(digest_or_fault(path))
    return whole.hexdigest()


TANGENT_M = 0.10
"""Least distance in metres between the two rows that a heading is taken from: teleoperated paths jitter by a few
millimetres a row, which over 10 cm is about 2 degrees."""


def rebase(xy: ArrayLike, row: int, heading: float | None = None) -> FloatArray:
    """Points (T, 2) with a row at the origin and its heading (radians from +x; None: the path's direction) as +y."""
    points = _checked(xy, row)
    if heading is None:
        heading = heading_at(points, row)
    angle = 0.0 if heading is None else math.pi / 2 - heading
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    moved: FloatArray = (points - points[row]) @ turn.T
    return moved


def cut_history(xy: ArrayLike, rows: int, heading: float | None = None) -> FloatArray:
    """Cut a path (T, 2) at a row and re-base it there; every horizon is cut with it."""
    return rebase(xy, rows, heading)[rows:]


def cut_released(xy: ArrayLike, rows: int) -> FloatArray:
    """Cut a path (T, 2) as the released horizon scripts do: moved to the origin but not turned to the new heading."""
    points = _checked(xy, rows)
    moved: FloatArray = points[rows:] - points[rows]
    return moved


def heading_at(xy: ArrayLike, row: int) -> float | None:
    """Direction of a path (T, 2) at a row, radians from +x, over rows `TANGENT_M` apart; None if it rests."""
    points = _checked(xy, row)
    for reach in range(1, len(points)):
        before, after = max(row - reach, 0), min(row + reach, len(points) - 1)
        dx, dy = points[after] - points[before]
        if math.hypot(dx, dy) >= TANGENT_M:
            return math.atan2(dy, dx)
    return None


def path_of_poses(poses: ArrayLike, row: int) -> FloatArray:
    """The path (T, 2) of camera poses (T, 4, 4), z up, seen from one of them."""
    poses = np.asarray(poses, np.float64)
    if poses.ndim != 3 or poses.shape[1:] != (4, 4):
        raise ShapeError(f"poses need shape (T, 4, 4), got {poses.shape}")
    yaw, _ = yaw_pitch_from_pose(poses)
    return rebase(poses[:, :2, 3], row, float(yaw[row]))


def world_of_path(xy: ArrayLike, pose: ArrayLike) -> FloatArray:
    """Convert points (n, 2) seen from a pose (4, 4) back to the world's plane; the inverse of `rebase`."""
    points, pose = np.asarray(xy, np.float64), np.asarray(pose, np.float64)
    angle = float(yaw_pitch_from_pose(pose)[0]) - math.pi / 2
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    moved: FloatArray = points @ turn.T + pose[:2, 3]
    return moved


def yaw_of_quaternion(quaternion: ArrayLike) -> FloatArray:
    """Yaw (...) in radians of quaternions (..., 4) in the order x, y, z, w; they need not be of length 1 exactly."""
    x, y, z, w = np.moveaxis(np.asarray(quaternion, np.float64), -1, 0)
    return np.asarray(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)), np.float64)


def _checked(xy: ArrayLike, row: int) -> FloatArray:
    points = np.asarray(xy, np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ShapeError(f"a path needs shape (T, 2), metres in the plane, got {points.shape}")
    if not 0 <= row < len(points):
        raise ShapeError(f"row {row} is not one of the {len(points)} of the path")
    return points


@dataclass(frozen=True)
class MatchedVideos:
    """Videos of one model matched with the scenarios, and the names without a partner."""

    videos: Mapping[str, Path]
    without_video: tuple[str, ...]
    without_scenario: tuple[str, ...]


def model_videos(root: Path, horizon_s: float = 8.0) -> dict[str, dict[str, Path]]:
    """{model: {scenario: video}}; every sub-directory is a model, even an empty one, and names never become paths.

    Of two videos of one scenario the first by name is listed; the model `videos` fails that scenario alone.
    """
    place = videos_folder(root, horizon_s)
    found: dict[str, dict[str, Path]] = {}
    try:
        for folder in sorted(place.iterdir()):
            if not folder.is_dir() or folder.name.startswith("."):
                continue
            check_inside(folder, place)
            videos = found[folder.name] = {}
            for path in sorted(folder.iterdir()):
                if path.suffix.lower() not in SUFFIXES or path.name.startswith(".") or not path.is_file():
                    continue
                check_inside(path, place)
                videos.setdefault(path.stem, path)
    except OSError as error:
        raise DataError(f"{error.filename}: cannot be read ({error.strerror})") from error
    return found


def videos_folder(root: Path, horizon_s: float = 8.0) -> Path:
    """Find the folder of the models' videos of a horizon: in `root`, in `root`/dataset, or `root` itself."""
    root = Path(root)
    if horizon_s not in HORIZONS_S:
        raise UsageError(f"horizon is {horizon_s} s; give one of {', '.join(f'{h:g}' for h in HORIZONS_S)}")
    if not root.is_dir():
        raise DataError(f"{root}: no such folder; expected <model>/<scenario>.mp4 in it")
    late = HORIZONS_S[0] - horizon_s
    name = f"wm_videos_horizon_at_{late:g}s" if late else "wm_videos"
    places = (root / name, root / "dataset" / name)
    return next((place for place in places if place.is_dir()), root)


def match(videos: Mapping[str, Path], scenarios: Iterable[Scenario]) -> MatchedVideos:
    """Match videos of one model and scenarios by name; every one without a partner is listed."""
    ids = [scenario.id for scenario in scenarios]
    return MatchedVideos(
        videos={id: videos[id] for id in ids if id in videos},
        without_video=tuple(id for id in ids if id not in videos),
        without_scenario=tuple(sorted(set(videos) - set(ids))),
    )
