"""Raw scenes of Target-Bench: a table of poses and one long video, and cutting scenarios out of them.

On disk: data/<scene>.parquet and video/<scene>_rgb_camera.mp4 (specification: target, section 2.3). Poses are the
robot's: x ahead, y left, z up, metres.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import DataError, MissingExtraError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.core.video import Clip
from worldgauge.suites.target.format.coordinates import rebase, yaw_of_quaternion
from worldgauge.suites.target.format.read import NAME, PLAUSIBLE_DT_S, load
from worldgauge.suites.target.format.scenario import DT_S, Scenario
from worldgauge.suites.target.format.write import Segment, scenario_name, write_segment

COLUMNS = ("frame", "pos_x", "pos_y", "pos_z", "quat_x", "quat_y", "quat_z", "quat_w")
STAMPS = "image_timestamp"
MAX_ROWS = 5_000_000


@dataclass(frozen=True)
class RawScene:
    """One recording of T rows.

    Attributes:
        name: Name of the scene.
        frames: (T,) frame numbers of its rows.
        positions: (T, 3) metres.
        quaternions: (T, 4) x, y, z, w.
        dt: Seconds per row.
        video: Video of its camera; None where there is none.
    """

    name: str
    frames: NDArray[np.int64]
    positions: FloatArray
    quaternions: FloatArray
    dt: float
    video: Path | None = None

    def __len__(self) -> int:
        return len(self.frames)

    def video_frames(self, rows: range) -> Iterator[Image]:
        """The frame of every row, in proportion: row i of T is frame i F / T of F.

        Raises:
            DataError: Without a video.
        """
        if self.video is None:
            raise DataError(f"{self.name}: no video/{self.name}_rgb_camera.mp4 next to its table")
        clip = Clip.open(self.video)
        return clip.take(min(row * len(clip) // len(self), len(clip) - 1) for row in rows)


class Rebased(NamedTuple):
    """Rows of a table as a path.

    Attributes:
        xy: (n, 2) metres seen from `row`.
        rows: Numbers of the rows.
        row: The reference among them.
        turn: The turn in radians; None without rows.
        anchor_m: Metres from the first row to the reference; None where the table lacks that row and another stands for
            it.
    """

    xy: FloatArray
    rows: NDArray[np.int64]
    row: int | None
    turn: float | None
    anchor_m: float | None


def read_raw(root: Path, scene: str) -> RawScene:
    """Read a scene from <root>/data/<scene>.parquet. Needs the extra "analysis".

    Args:
        root: The folder.
        scene: Name of the scene.

    Raises:
        DataError: Columns are missing or the table cannot be read; the message names the file.
        MissingExtraError: The extra is not installed.
    """
    if not NAME.fullmatch(scene):
        raise DataError(f"the scene {scene!r} needs letters, digits, '.', '_' or '-', and no leading '.'")
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("reading raw scenes", "analysis") from error
    path = Path(root) / "data" / f"{scene}.parquet"
    try:
        file = parquet.ParquetFile(path)
        if file.metadata.num_rows > MAX_ROWS:
            raise DataError(f"{path}: {file.metadata.num_rows} rows pass the limit of {MAX_ROWS}")
        names = file.schema_arrow.names
        missing = [name for name in COLUMNS if name not in names]
        if missing:
            raise DataError(f"{path}: lacks the columns {', '.join(missing)}")
        table = file.read([*COLUMNS, *([STAMPS] if STAMPS in names else [])])
        values = np.stack([np.asarray(table[name].to_numpy(), np.float64) for name in COLUMNS], axis=-1)
        stamps = _stamps(table[STAMPS].to_numpy()) if STAMPS in names else np.zeros(0)
    except (OSError, pyarrow.ArrowException, ValueError, TypeError) as error:
        raise DataError(f"{path}: not a readable table of poses ({error}); download it again") from error
    whole = np.isfinite(values).all(axis=1)
    if whole.sum() < 2:
        raise DataError(f"{path}: {int(whole.sum())} rows with a pose are no walk")
    video = Path(root) / "video" / f"{scene}_rgb_camera.mp4"
    values = values[whole]
    return RawScene(
        name=scene,
        frames=values[:, 0].astype(np.int64),
        positions=np.ascontiguousarray(values[:, 1:4]),
        quaternions=np.ascontiguousarray(values[:, 4:8]),
        dt=_seconds_a_row(stamps),
        video=video if video.is_file() else None,
    )


def rebase_rows(
    frames: ArrayLike, xy: ArrayLike, quaternions: ArrayLike, *, first: int, last: int, current: int
) -> Rebased:
    """Rows within a range of frame numbers, seen from the row numbered `current`, else from the nearest.

    Source: specification target, section 3 (the annotation tool).

    Args:
        frames: Frame numbers (T,).
        xy: (T, 2) metres.
        quaternions: (T, 4) x, y, z, w.
        first: First frame number, included.
        last: Last frame number, included.
        current: Frame number of the reference.

    Returns:
        The path; without rows for a range that has none.
    """
    numbers = np.asarray(frames, np.float64)
    points, turns = np.asarray(xy, np.float64), np.asarray(quaternions, np.float64)
    inside = np.flatnonzero((numbers >= first) & (numbers <= last))
    if len(inside) == 0:
        return Rebased(np.zeros((0, 2)), inside, None, None, None)
    off = np.abs(numbers[inside] - current)
    row = int(np.argmin(off))
    yaw = float(yaw_of_quaternion(turns[inside[row]]))
    path = rebase(points[inside], row, yaw)
    anchor = float(np.linalg.norm(path[0])) if off[row] == 0 else None
    return Rebased(path, inside, row, math.pi / 2 - yaw, anchor)


def scenario_from_raw(
    raw: RawScene, root: Path, *, first: int, current: int, last: int, caption: str, name: str | None = None
) -> Scenario:
    """Cut the frames numbered first..last out of a recording, as the annotation tool does, and write it as a scenario.

    Args:
        raw: The recording.
        root: Folder to write into, as <root>/<name>/.
        first: First frame number.
        current: Number of the frame that a model is given.
        last: Last frame number.
        caption: The sentence.
        name: By default <scene>_custom_segment_<first>_<last>.

    Raises:
        DataError: For a range without rows before or after `current`, or without a video.
    """
    cut = rebase_rows(raw.frames, raw.positions[:, :2], raw.quaternions, first=first, last=last, current=current)
    if cut.row is None or cut.anchor_m is None:
        raise DataError(f"{raw.name}: no row has the frame number {current} within {first} to {last}")
    segment = Segment(
        positions=raw.positions[cut.rows],
        quaternions=raw.quaternions[cut.rows],
        history_rows=cut.row,
        caption=caption,
        scene=raw.name,
        first_row=int(raw.frames[cut.rows[0]]),
        dt=raw.dt,
    )
    rows = range(int(cut.rows[0]), int(cut.rows[-1]) + 1)
    folder = write_segment(root, name or scenario_name(raw.name, first, last), segment, raw.video_frames(rows))
    return load(folder)


def _stamps(values: NDArray[np.generic]) -> FloatArray:
    """Times as numbers of an unknown unit; moments are nanoseconds."""
    if np.issubdtype(values.dtype, np.datetime64):
        return values.astype("datetime64[ns]").astype(np.float64)
    return np.asarray(values, np.float64)


def _seconds_a_row(stamps: FloatArray) -> float:
    """From stamps in seconds, milli-, micro- or nanoseconds: the unit that makes a robot's camera of it."""
    steps = np.diff(stamps[np.isfinite(stamps)])
    typical = float(np.median(steps)) if len(steps) else 0.0
    for unit in (1.0, 1e-3, 1e-6, 1e-9):
        if PLAUSIBLE_DT_S[0] <= typical * unit <= PLAUSIBLE_DT_S[1]:
            return typical * unit
    return DT_S
