"""Writing scenarios in Target-Bench's published layout, each whole or not at all."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Captions, WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, FloatArray, quaternion_of_pose
from worldgauge.core.image import Image, write_png
from worldgauge.core.io import atomic_folder, write_file
from worldgauge.core.video import Writer
from worldgauge.suites.targetbench.format.read import LABELS_FILE, NAME, SIDECAR_FORMAT, SIDECAR_VERSION
from worldgauge.suites.targetbench.format.scenario import DT_S, HORIZONS_S, Label, rebase, yaw_of_quaternion

if TYPE_CHECKING:
    from worldgauge.suites.targetbench.walks import TargetWalk


DECIMALS = 6
"""Of metres in files: a micrometre. What embedded poses are rendered from is in the side-car with all digits."""


@dataclass(frozen=True)
class Segment:
    """A piece of a recording, T rows `dt` seconds apart and as many frames.

    Positions are (T, 3) metres, z up; quaternions (T, 4) x, y, z, w of the body (x ahead, y left, z up).
    """

    positions: FloatArray
    quaternions: FloatArray
    history_rows: int
    caption: str
    scene: str
    first_row: int = 0
    dt: float = DT_S
    metadata: Mapping[str, Any] = field(default_factory=dict)
    sidecar: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        n = len(self.positions)
        if self.positions.shape != (n, 3) or self.quaternions.shape != (n, 4):
            raise DataError(f"a segment needs (T, 3) and (T, 4), got {self.positions.shape}, {self.quaternions.shape}")
        if not 0 <= self.history_rows < n - 1:
            raise DataError(f"a segment of {n} rows cannot have {self.history_rows} of history and a path after it")

    @property
    def xy(self) -> FloatArray:
        """The path (T, 2) in metres, seen from the current row."""
        return self.seen_from(self.history_rows)

    def seen_from(self, row: int) -> FloatArray:
        """The path (T, 2) in metres with row `row` at the origin and its heading +y."""
        return rebase(self.positions[:, :2], row, float(yaw_of_quaternion(self.quaternions[row])))

    def distance_m(self, row: int, other: int) -> float:
        """Return the distance in the plane between two rows, metres."""
        return float(np.linalg.norm(self.positions[row, :2] - self.positions[other, :2]))


def scenario_name(scene: str, first: int, last: int) -> str:
    """Name a scenario: <scene>_custom_segment_<first>_<last>."""
    return f"{scene}_custom_segment_{first:03d}_{last:03d}"


def write_scenario(
    root: Path,
    name: str,
    walk: TargetWalk,
    frames: Iterable[Image],
    *,
    world: WorldFacts,
    camera: Camera,
    scene: str = "",
    captions: Captions = (),
    split: str = "benchmark",
    horizons_s: Sequence[float] = HORIZONS_S[1:],
) -> Path:
    """Write a collected walk as the scenario <root>/<name>/, with its world in `<name>_world.json`."""
    sidecar = {
        "format": SIDECAR_FORMAT,
        "version": SIDECAR_VERSION,
        "world": asdict(world),
        "camera": asdict(camera),
        "poses": [[float(value) for value in pose[:3].ravel()] for pose in walk.poses],
        "history_rows": walk.history_rows,
        "dt": walk.dt,
        "target": {
            "category": walk.target.category,
            "instance": int(walk.target.instance),
            "low": [float(value) for value in walk.target.low],
            "high": [float(value) for value in walk.target.high],
        },
        "wordings": {"explicit": walk.explicit, "implicit": walk.implicit},
        "label": walk.label,
        "category": walk.category,
        "split": split,
        "place": walk.place,
        "camera_height_m": walk.camera_height_m,
        "captions": captions,
    }
    segment = Segment(
        positions=np.asarray(walk.poses[:, :3, 3], np.float64),
        quaternions=quaternion_of_pose(walk.poses),
        history_rows=walk.history_rows,
        caption=walk.implicit if walk.label == "implicit" else walk.explicit,
        scene=scene or name,
        dt=walk.dt,
        metadata={"category": walk.category, "extraction_method": "worldgauge"},
        sidecar=sidecar,
    )
    return write_segment(root, name, segment, frames, horizons_s=horizons_s)


def write_segment(
    root: Path, name: str, segment: Segment, frames: Iterable[Image], *, horizons_s: Sequence[float] = HORIZONS_S[1:]
) -> Path:
    """Write all published files of a scenario, then move its folder into place, replacing one of that name.

    `frames` are (H, W, 3) or chunks (n, H, W, 3). Pictures are PNG, so that the two frames that matter are exact.
    """
    if not NAME.fullmatch(name):
        raise DataError(f"the name {name!r} needs letters, digits, '.', '_' or '-', and no leading '.'; rename it")
    folder = Path(root) / name
    with atomic_folder(folder) as part:
        delays = [HORIZONS_S[0] - horizon_s for horizon_s in horizons_s]
        later = {f"{late_s:g}s": segment.history_rows + round(late_s / segment.dt) for late_s in delays}
        later = {suffix: row for suffix, row in later.items() if row + 1 < len(segment.positions)}
        _write_frames(part / name, segment, frames, later)
        _write_texts(part / name, segment, later)
    return folder


def write_labels(root: Path, labels: Mapping[str, Label]) -> Path:
    """Write the labels csv of a folder; "unknown" ones are left out, as in the release."""
    lines = [f"{name},{int(label == 'explicit')}\n" for name, label in sorted(labels.items()) if label != "unknown"]
    path = Path(root) / LABELS_FILE
    write_file(path, "name,is_explicit\n" + "".join(lines))
    return path


def _write_frames(stem: Path, segment: Segment, frames: Iterable[Image], later: Mapping[str, int]) -> None:
    pictures = {0: ["first_frame.png"]}
    pictures.setdefault(segment.history_rows, []).append("current_frame.png")
    for suffix, row in later.items():
        pictures.setdefault(row, []).append(f"{suffix}.png")
    number = 0
    with Writer(f"{stem}_video.mp4", fps=1 / segment.dt, kind="viewable") as video:
        for chunk in frames:
            video.write(chunk)
            for frame in chunk if chunk.ndim == 4 else chunk[None]:
                for end in pictures.get(number, ()):
                    write_png(Path(f"{stem}_{end}"), frame)
                number += 1
        if number != len(segment.positions):
            raise DataError(f"{stem.name}: {number} frames for {len(segment.positions)} rows; give one frame a row")


def _write_texts(stem: Path, segment: Segment, later: Mapping[str, int]) -> None:
    xy = segment.xy
    _write_path(Path(f"{stem}_trajectory.csv"), xy)
    _write_json(Path(f"{stem}_trajectory.json"), _trajectory(segment, xy))
    _write_json(Path(f"{stem}_metadata.json"), _metadata(stem.name, segment, xy))
    Path(f"{stem}_caption.txt").write_text(segment.caption, encoding="utf-8")
    write_png(Path(f"{stem}_trajectory_plot.png"), plot_of_path(xy, segment.history_rows))
    for suffix, row in later.items():
        content = {
            "scene_name": segment.scene,
            "sample_name": stem.name,
            "user_caption": segment.caption,
            f"horizon_{suffix}_frame_index_relative": row,
            f"distance_current_to_{suffix}_meters": segment.distance_m(segment.history_rows, row),
        }
        _write_json(Path(f"{stem}_metadata_{suffix}.json"), content)
    if "4s" in later:
        _write_path(Path(f"{stem}_trajectory_4s.csv"), segment.seen_from(later["4s"]))
    if segment.sidecar is not None:
        _write_json(Path(f"{stem}_world.json"), segment.sidecar, indent=None)


def _write_path(path: Path, xy: FloatArray) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("x", "y"))
        rows.writerows((f"{x + 0.0:.{DECIMALS}f}", f"{y + 0.0:.{DECIMALS}f}") for x, y in np.round(xy, DECIMALS))


def _write_json(path: Path, content: Mapping[str, Any], indent: int | None = 2) -> None:
    path.write_text(json.dumps(content, indent=indent, allow_nan=False) + "\n", encoding="utf-8")


def _trajectory(segment: Segment, xy: FloatArray) -> dict[str, Any]:
    first, last = segment.first_row, segment.first_row + len(xy) - 1
    return {
        "x_coordinates": np.round(xy[:, 0], DECIMALS).tolist(),
        "y_coordinates": np.round(xy[:, 1], DECIMALS).tolist(),
        "start_frame": first,
        "end_frame": last,
        "video_start_idx": first,
        "video_end_idx": last,
        "total_points": len(xy),
        "transformation_applied": True,
        "heading_aligned_to_y_axis": True,
    }


_PLANAR = "euclidean_distance_xy_only"


def _metadata(name: str, segment: Segment, xy: FloatArray) -> dict[str, Any]:
    """Keys and words of the annotation tool; save_timestamp is null, so that the same walk gives the same bytes."""
    n, current = len(xy), segment.history_rows
    first, last = segment.first_row, segment.first_row + n - 1
    ends = {"first_frame": 0, "current_frame": current, "end_frame": n - 1}
    rows = {end: _row(segment, xy, row) for end, row in ends.items()}
    return {
        "scene_name": segment.scene,
        "segment_type": "custom_selected_segment",
        "segment_description": f"Custom segment from video frame {first} to {last}",
        "user_caption": segment.caption,
        "trajectory_start_frame": first,
        "trajectory_end_frame": last,
        "video_start_idx": first,
        "video_end_idx": last,
        "frame_duration": last - first,
        "video_frame_duration": n,
        "total_distance_meters": float(np.linalg.norm(np.diff(xy, axis=0), axis=1).sum()),
        "trajectory_points": n,
        "sample_name": name,
        "save_timestamp": None,
        "extraction_method": "custom_segment_selection_with_progress_based_transformation",
        "transformation_applied": True,
        "transformation_reference": "progress_bar_current_frame",
        "heading_aligned_to_y_axis": True,
        "progress_frame_heading_rotated_to_90_degrees": True,
        "includes_first_frame_image": True,
        "includes_current_frame_image": True,
        "progress_bar_state": {
            "current_video_frame_index": first + current,
            "total_video_frames": last + 1,
            "progress_percentage": 100 * (first + current) / max(1, last),
            "is_playing": False,
            "trajectory_info": {key: value for key, value in rows["current_frame"].items() if key != "video_index"},
        },
        "distance_first_to_current": {
            "distance_meters": segment.distance_m(0, current),
            "time_duration_seconds": current * segment.dt,
            "first_frame": rows["first_frame"],
            "current_frame": rows["current_frame"],
            "calculation_method": _PLANAR,
        },
        "distance_current_to_end": {
            "distance_meters": segment.distance_m(current, n - 1),
            "time_duration_seconds": (n - 1 - current) * segment.dt,
            "current_frame": rows["current_frame"],
            "end_frame": rows["end_frame"],
            "calculation_method": _PLANAR,
        },
        **segment.metadata,
    }


def _row(segment: Segment, xy: FloatArray, row: int) -> dict[str, float]:
    position, quaternion = segment.positions[row].tolist(), segment.quaternions[row].tolist()
    if not all(math.isfinite(value) for value in (*position, *quaternion)):
        raise DataError(f"row {row} of the segment has values that are not finite")
    return {
        "trajectory_frame": segment.first_row + row,
        "video_index": segment.first_row + row,
        **{f"position_{axis}": value for axis, value in zip("xyz", position, strict=True)},
        **{f"quaternion_{axis}": value for axis, value in zip("xyzw", quaternion, strict=True)},
        "transformed_x": float(xy[row, 0]),
        "transformed_y": float(xy[row, 1]),
    }


SIZE_PX = 400
MARGIN_PX = 40
_HISTORY, _FUTURE, _MARK, _GRID = (150, 150, 150), (33, 102, 172), (178, 24, 43), (225, 225, 225)


def plot_of_path(xy: FloatArray, history_rows: int) -> Image:
    """Render a path (T, 2) from above, +y up: history grey, rest blue, current row red; grid 1 m, or 10 m."""
    import cv2

    image = np.full((SIZE_PX, SIZE_PX, 3), 255, np.uint8)
    low, high = xy.min(axis=0), xy.max(axis=0)
    span = max(float((high - low).max()), 1.0)
    scale = (SIZE_PX - 2 * MARGIN_PX) / span
    middle = (low + high) / 2

    def pixels(points: FloatArray) -> NDArray[np.int32]:
        return np.asarray(np.rint((points - middle) * (scale, -scale) + SIZE_PX / 2), np.int32)

    step = 1 if span <= 20 else 10
    reach = SIZE_PX / 2 / scale
    for axis in (0, 1):
        for at in np.arange(np.ceil((middle[axis] - reach) / step), (middle[axis] + reach) / step) * step:
            ends = np.array([[at, at], [at, at]])
            ends[:, 1 - axis] = middle[1 - axis] - reach, middle[1 - axis] + reach
            start, stop = pixels(ends).tolist()
            cv2.line(image, start, stop, _GRID, 1)
    for points, colour in ((xy[: history_rows + 1], _HISTORY), (xy[history_rows:], _FUTURE)):
        cv2.polylines(image, [pixels(points)], isClosed=False, color=colour, thickness=2, lineType=cv2.LINE_AA)
    cv2.circle(image, pixels(xy[history_rows]).tolist(), 5, _MARK, -1, cv2.LINE_AA)
    cv2.circle(image, pixels(xy[-1]).tolist(), 5, _FUTURE, -1, cv2.LINE_AA)
    return image
