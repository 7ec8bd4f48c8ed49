"""Walks as a LeRobot data set, version 3.0, and back.

    meta/info.json                            features, sizes, rate
    meta/tasks.parquet                        captions, by `task_index`
    meta/episodes/chunk-*/file-*.parquet      a row each walk: its rows and its video
    meta/stats.json                           mean, spread and range of each feature
    data/chunk-*/file-*.parquet               a row each frame
    videos/observation.images.view/chunk-*/file-*.mp4

Poses, cameras and actions are features: `observation.state` is the first three rows of the camera-to-world matrix, row
by row, in metres (x right, y down, z forward in the camera; z up in the world); `observation.intrinsics` is fx, fy, cx,
cy in pixels; a frame of an odd side has its last column or row twice in the video, and `frame_size` is its own size.
`action` drives a frame to the next one, and the last row of a walk is zero. Source of the layout: the
public code of huggingface/lerobot, version 0.4.4.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.actions import Actions, ActionSpace, Axis, Motion
from worldgauge.core.errors import DataError, MissingExtraError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Image
from worldgauge.core.io import atomic_folder, check_inside, digest_of_file, read_json_object
from worldgauge.core.video import Clip, Writer
from worldgauge_train.export_data_walks import (
    POSE_NAMES,
    STATE,
    check_like,
    first_of,
    pinhole,
    rate_of,
    sound_rate,
    space_from_json,
    space_to_json,
    video_size,
)
from worldgauge_train.training.clip import DamagedClip, Split, TrainingClip, clip_or_damage

_VALUES = np.arange(256) / 255.0


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics (C,) of the columns of a table; `squares` sums the squared distances from the mean."""

    count: int
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, table: Any) -> ColumnStatistics:
        """Those of a table, shape (N, C) or (N,), N at least 1."""
        rows = np.asarray(table, np.float64).reshape(len(table), -1)
        mean = rows.mean(0)
        return cls(len(rows), rows.min(0), rows.max(0), mean, ((rows - mean) ** 2).sum(0))

    @classmethod
    def of_pictures(cls, pictures: list[Image]) -> ColumnStatistics:
        """Those of the channels of pictures, each shape (H, W, 3), 0 to 255; told from 0 to 1. Counts hold no frame."""
        counts = np.zeros((3, 256), np.int64)
        for picture in pictures:
            for channel in range(3):
                counts[channel] += np.bincount(picture[..., channel].ravel(), minlength=256)
        number = int(counts[0].sum())
        seen = counts > 0
        mean = counts @ _VALUES / number
        return cls(
            number,
            _VALUES[seen.argmax(1)],
            _VALUES[255 - seen[:, ::-1].argmax(1)],
            mean,
            (counts * (_VALUES - mean[:, None]) ** 2).sum(1),
        )

    def __add__(self, other: ColumnStatistics) -> ColumnStatistics:
        """Those of both tables together (Chan, Golub and LeVeque, 1979)."""
        count = self.count + other.count
        step = other.mean - self.mean
        return ColumnStatistics(
            count,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.mean + step * (other.count / count),
            self.squares + other.squares + step**2 * (self.count * other.count / count),
        )

    def told(self, shape: tuple[int, ...] = (-1,)) -> dict[str, Any]:
        """Plain lists: min, max, mean, std and count."""
        found = {"min": self.low, "max": self.high, "mean": self.mean, "std": np.sqrt(self.squares / self.count)}
        return {**{name: value.reshape(shape).tolist() for name, value in found.items()}, "count": [self.count]}


VERSION = "v3.0"
VIEW = "observation.images.view"
CHUNK = 1000
"""Videos in a folder."""
MOST_EPISODES, MOST_FRAMES = 100_000, 10**8
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH = "meta/episodes/chunk-000/file-000.parquet"
TASKS_PATH = "meta/tasks.parquet"
_SAMPLED = 8
"""Frames of each walk that the statistics of pictures are of."""
_TOGETHER = 100
"""Walks whose rows wait for one another before they are written."""


def write_lerobot(clips: Iterable[TrainingClip], out: Path) -> int:
    """Write clips of one rate, frame size and action space as a LeRobot dataset; return their number (0: no folder)."""
    _demand_pyarrow()
    first, clips = first_of(clips)
    if first is None:
        return 0
    fps = _whole_rate(first)
    with atomic_folder(out) as folder, _Tables(folder, fps) as tables:
        for clip in clips:
            check_like(clip, first)
            path = folder / _video_of(tables.walks)
            path.parent.mkdir(parents=True, exist_ok=True)
            # Write the frames of a walk; those that the statistics of pictures are of.
            sampled = set(np.linspace(0, len(clip) - 1, min(_SAMPLED, len(clip))).round().astype(int).tolist())
            kept = []
            with Writer(path, fps=fps, kind="viewable") as writer:
                for at, frame in enumerate(clip.frames):
                    writer.write(frame)
                    if at in sampled:
                        kept.append(np.array(frame))
            tables.add(clip, kept)
        tables.finish(first)
    return tables.walks


def read_lerobot(folder: Path, split: Split = "test") -> Iterator[TrainingClip | DamagedClip]:
    """The clips of a LeRobot dataset with poses and cameras, as `write_lerobot` writes it; `split` is only assigned."""
    _demand_pyarrow()
    import pandas as pd

    info = read_json_object(folder / "meta/info.json")
    where = folder / "meta/info.json"
    if info.get("codebase_version") != VERSION:
        raise DataError(f"{where}: version {info.get('codebase_version')!r}, known is {VERSION}")
    features = info.get("features")
    for name, count in (("observation.state", 12), ("observation.intrinsics", 4), ("action", None), (VIEW, None)):
        one = features.get(name) if isinstance(features, dict) else None
        if not isinstance(one, dict) or (count is not None and list(one.get("shape", ())) != [count]):
            raise DataError(
                f"{where}: no feature '{name}'{f' of {count} numbers' if count else ''}; episodes need poses, cameras, "
                "actions and frames"
            )
    space, size = _space_of(info, where), _frame_size_of(info, where)
    try:
        episodes = _all_files(folder, "meta/episodes", MOST_EPISODES)
        table = _all_files(folder, "data", MOST_FRAMES)
        tasks = pd.read_parquet(folder / TASKS_PATH)
        words = {int(number): str(text) for text, number in tasks["task_index"].items()}
        _check_whole(info, episodes, table, where)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{folder}: a table cannot be read ({' '.join(str(error).split())[:200]})") from error
    table = table.set_index("index").sort_index()
    for row in episodes.sort_values("episode_index").to_dict("records"):
        name = f"lerobot/{int(row['episode_index']):06d}"
        yield clip_or_damage(name, partial(_read_clip, folder, row, table, words, space, size, split))


def _all_files(folder: Path, below: str, most: int) -> Any:
    """The rows of all files of a table, counted before they are read."""
    import pandas as pd
    from pyarrow import parquet

    paths = sorted((folder / below).glob("chunk-*/file-*.parquet"))
    if not paths:
        raise DataError(f"{folder / below}: no chunk-*/file-*.parquet there")
    rows = sum(parquet.read_metadata(check_inside(path, folder)).num_rows for path in paths)
    if rows > most:
        raise DataError(f"{folder / below}: {rows} rows are more than the {most} that can be read")
    return pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)


def _check_whole(info: dict[str, Any], episodes: Any, table: Any, where: Path) -> None:
    for key, rows, column, what in (
        ("total_episodes", episodes, "episode_index", "walks"),
        ("total_frames", table, "index", "frames"),
    ):
        if info.get(key) != len(rows):
            raise DataError(
                f"{where}: states {info.get(key)} {what}, the tables hold {len(rows)}; fetch the files that are missing"
            )
        if not np.array_equal(np.sort(rows[column].to_numpy()), np.arange(len(rows))):
            raise DataError(f"{where}: the {what} of the tables are not numbered 0 to {len(rows) - 1}, each once")


def _read_clip(
    folder: Path,
    row: dict[Any, Any],
    table: Any,
    words: dict[int, str],
    space: Any,
    size: tuple[int, int],
    split: Split,
) -> TrainingClip:
    try:
        begin, end = int(row["dataset_from_index"]), int(row["dataset_to_index"])
        chunk, file = (int(row[f"videos/{VIEW}/{part}"]) for part in ("chunk_index", "file_index"))
        start = float(row[f"videos/{VIEW}/from_timestamp"])
        path = folder / VIDEO_PATH.format(video_key=VIEW, chunk_index=chunk, file_index=file)
        own = table.loc[begin : end - 1]
        state = np.stack(own["observation.state"].to_list()).astype(np.float64)
        focal = np.asarray(own["observation.intrinsics"].iloc[0], np.float64)
        values = np.stack(own["action"].to_list()).astype(np.float32)[:-1]
        text = words.get(int(own["task_index"].iloc[0]))
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise DataError(f"{folder}: episode {row.get('episode_index')}: a row is damaged ({error})") from error
    clip = Clip.open(check_inside(path, folder))
    if abs(clip.fps - space.fps) * len(clip) >= 0.5 * space.fps:
        raise DataError(f"{path}: runs at {clip.fps:g} frames/s, info.json says {space.fps:g}; export it again")
    at = round(start * space.fps)
    if at < 0 or at + (end - begin) > len(clip):
        raise DataError(f"{path}: has {len(clip)} frames, the table wants {at} to {at + end - begin}")
    frames = _without_padding(clip[at : at + end - begin], size, path)
    poses = np.tile(np.eye(4), (len(state), 1, 1))
    poses[:, :3] = state.reshape(-1, 3, 4)
    camera = Camera(frames.width, frames.height, *map(float, focal))
    name = f"{int(row['episode_index']):06d}"
    return TrainingClip(
        name, "lerobot", split, digest_of_file(path), frames, Actions(space, values), poses, camera, text or None
    )


def _frame_size_of(info: dict[str, Any], where: Path) -> tuple[int, int]:
    """Width and height of frames, without what makes their sides even in the video."""
    told = info.get("worldgauge")
    try:
        height, width, _ = info["features"][VIEW]["shape"]
        width, height = told.get("frame_size", (width, height)) if isinstance(told, dict) else (width, height)
        if not all(type(side) is int and 0 < side < 2**16 for side in (width, height)):
            raise ValueError(f"{width}x{height}")
    except (TypeError, ValueError, KeyError) as error:
        raise DataError(f"{where}: feature '{VIEW}' has no usable shape (height, width, channels)") from error
    return width, height


def _without_padding(clip: Clip, size: tuple[int, int], path: Path) -> Clip:
    """The frames of a video in their own size (width, height)."""
    width, height = size
    if (clip.width, clip.height) == size:
        return clip
    if (clip.width, clip.height) != (width + width % 2, height + height % 2):
        raise DataError(f"{path}: its frames are {clip.width}x{clip.height}; meta/info.json says {width}x{height}")
    return Clip.rendered(lambda at: clip[at][:height, :width], len(clip), clip.fps, size)


def _space_of(info: dict[str, Any], where: Path) -> ActionSpace:
    told, names = info.get("worldgauge", {}), info["features"]["action"].get("names")
    try:
        if "axes" in told:
            return space_from_json(told, info["fps"])
        # Of somebody else: what its columns move is not known.
        axes = tuple(Axis(str(name), "length", Motion()) for name in names)
        return ActionSpace("lerobot", axes, sound_rate(info["fps"]))
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise DataError(f"{where}: the actions have no usable names or rate ({error})") from error


class _Tables:
    """The tables of a data set: rows go to disk every few walks, and of all walks only statistics are held."""

    def __init__(self, folder: Path, fps: int) -> None:
        self.walks = 0
        self._folder, self._fps = folder, fps
        self._frames = 0
        self._words: dict[str, int] = {}
        self._whole: dict[str, ColumnStatistics] = {}
        self._rows = _TableFile(folder / DATA_PATH.format(chunk_index=0, file_index=0))
        self._episodes = _TableFile(folder / EPISODES_PATH)

    def __enter__(self) -> _Tables:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.close()
        self._episodes.close()

    def add(self, clip: TrainingClip, pictures: list[Image]) -> None:
        """Add the rows of a walk."""
        import pyarrow as pa

        number, begin, length = self.walks, self._frames, len(clip)
        text = clip.text or "walk"
        word = self._words.setdefault(text, len(self._words))
        vectors = _vectors_of(clip)
        frame = np.arange(length)
        scalars = {
            "timestamp": (frame / self._fps).astype(np.float32),
            "frame_index": frame,
            "episode_index": np.full(length, number),
            "index": begin + frame,
            "task_index": np.full(length, word),
        }
        columns = {
            name: pa.FixedSizeListArray.from_arrays(pa.array(value.ravel(), pa.float32()), value.shape[1])
            for name, value in vectors.items()
        }
        self._rows.add(pa.table(columns | scalars))
        found = {name: ColumnStatistics.of(value) for name, value in (vectors | scalars).items()}
        found[VIEW] = ColumnStatistics.of_pictures(pictures)
        self._whole = {name: self._whole[name] + one if self._whole else one for name, one in found.items()}
        place = {"chunk_index": number // CHUNK, "file_index": number % CHUNK}
        told = {
            "episode_index": number,
            "tasks": [text],
            "length": length,
            "data/chunk_index": 0,
            "data/file_index": 0,
            "dataset_from_index": begin,
            "dataset_to_index": begin + length,
            **{f"videos/{VIEW}/{name}": value for name, value in place.items()},
            f"videos/{VIEW}/from_timestamp": 0.0,
            f"videos/{VIEW}/to_timestamp": length / self._fps,
            "meta/episodes/chunk_index": 0,
            "meta/episodes/file_index": 0,
            "worldgauge/name": clip.id,
            **{
                f"stats/{feature}/{name}": value for feature, own in _told(found).items() for name, value in own.items()
            },
        }
        self._episodes.add(pa.Table.from_pylist([told]))
        self.walks += 1
        self._frames += length

    def finish(self, first: TrainingClip) -> None:
        """Write what is of all walks."""
        import pandas as pd

        words = pd.DataFrame({"task_index": list(self._words.values())}, index=list(self._words))
        words.to_parquet(self._folder / TASKS_PATH)
        (self._folder / "meta/stats.json").write_text(json.dumps(_told(self._whole), indent=4))
        info = _info(first, self._fps, self.walks, self._frames, len(self._words))
        (self._folder / "meta/info.json").write_text(json.dumps(info, indent=4))


class _TableFile:
    """A Parquet file that is written piece by piece."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        self._path = path
        self._writer: Any = None
        self._waiting: list[Any] = []

    def add(self, table: Any) -> None:
        """Add rows of the same columns."""
        self._waiting.append(table)
        if len(self._waiting) >= _TOGETHER:
            self._write()

    def close(self) -> None:
        """Write what waits."""
        if self._waiting:
            self._write()
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, self._waiting[0].schema)
        self._writer.write_table(pa.concat_tables(self._waiting))
        self._waiting.clear()


def _vectors_of(clip: TrainingClip) -> dict[str, FloatArray]:
    camera = pinhole(clip)
    actions = np.zeros((len(clip), len(clip.actions.space)))
    actions[:-1] = clip.actions.values
    return {
        "observation.state": clip.poses[:, :3].reshape(-1, 12).astype(np.float32),
        "observation.intrinsics": np.tile(
            np.array([camera.fx, camera.fy, camera.cx, camera.cy], np.float32), (len(clip), 1)
        ),
        "action": actions.astype(np.float32),
    }


def _told(found: dict[str, ColumnStatistics]) -> dict[str, dict[str, Any]]:
    # One number a channel, in the shape (3, 1, 1) that loaders of pictures broadcast.
    return {name: one.told((3, 1, 1) if name == VIEW else (-1,)) for name, one in found.items()}


def _info(first: TrainingClip, fps: int, episodes: int, frames: int, words: int) -> dict[str, Any]:
    width, height = video_size(first)
    size = [height, width, 3]
    video = {
        "video.height": size[0],
        "video.width": size[1],
        "video.codec": "h264",
        "video.pix_fmt": "yuv420p",
        "video.is_depth_map": False,
        "video.fps": fps,
        "video.channels": 3,
        "has_audio": False,
    }
    vectors = {
        "observation.state": list(POSE_NAMES),
        "observation.intrinsics": ["fx", "fy", "cx", "cy"],
        "action": [axis.name for axis in first.actions.space.axes],
    }
    scalars = {
        "timestamp": "float32",
        **dict.fromkeys(("frame_index", "episode_index", "index", "task_index"), "int64"),
    }
    return {
        "codebase_version": VERSION,
        "robot_type": None,
        "total_episodes": episodes,
        "total_frames": frames,
        "total_tasks": words,
        "chunks_size": CHUNK,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": fps,
        "splits": {first.split: f"0:{episodes}"},  # walks of one data set are of one split
        "data_path": DATA_PATH,
        "video_path": VIDEO_PATH,
        "features": {
            VIEW: {"dtype": "video", "shape": size, "names": ["height", "width", "channels"], "info": video},
            **{name: {"dtype": "float32", "shape": [len(names)], "names": names} for name, names in vectors.items()},
            **{name: {"dtype": kind, "shape": [1], "names": None} for name, kind in scalars.items()},
        },
        "worldgauge": {
            **space_to_json(first.actions.space),
            "state": STATE,
            "frame_size": [first.frames.width, first.frames.height],
        },
    }


def _video_of(number: int) -> str:
    return VIDEO_PATH.format(video_key=VIEW, chunk_index=number // CHUNK, file_index=number % CHUNK)


def _whole_rate(clip: TrainingClip) -> int:
    rate = rate_of(clip)
    if not rate or abs(rate - round(rate)) > 1e-3:
        raise DataError(f"{clip.id}: {rate} frames a second; LeRobot takes whole numbers")
    return round(rate)


def _demand_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("LeRobot data", "analysis") from None
