"""Walks as a LeRobot data set, version 3.0, and back.

    meta/info.json                            features, sizes, rate
    meta/tasks.parquet                        captions, by `task_index`
    meta/episodes/chunk-000/file-000.parquet  a row each walk: its rows and its video
    meta/stats.json                           mean, spread and range of each feature
    data/chunk-000/file-000.parquet           a row each frame
    videos/observation.images.view/chunk-*/file-*.mp4

Poses, cameras and actions are features: `observation.state` is the first three rows of the camera-to-world matrix, row
by row, in metres (x right, y down, z forward in the camera; z up in the world); `observation.intrinsics` is fx, fy, cx,
cy in pixels; `action` drives a frame to the next one, and the last row of a walk is zero. Source of the layout: the
public code of huggingface/lerobot, version 0.4.4.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.actions import Actions, ActionSpace, Axis, Motion
from worldgauge.core.errors import DataError, MissingExtraError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.io import atomic_folder, check_inside, digest_of_file, read_json_object
from worldgauge.core.video import Clip, Writer
from worldgauge.tools.export_data.walks import (
    POSE_NAMES,
    STATE,
    check_like,
    first_of,
    pinhole,
    rate_of,
    sound_rate,
    space_from_json,
    space_to_json,
)
from worldgauge.training.clip import DamagedClip, Split, TrainingClip, clip_or_damage

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


@dataclass(frozen=True)
class _Rows:
    """What a walk adds to the tables."""

    name: str
    text: str
    state: FloatArray
    intrinsics: FloatArray
    action: FloatArray
    pixels: FloatArray


def write_lerobot(clips: Iterable[TrainingClip], out: Path) -> int:
    """Write walks as a LeRobot data set.

    Args:
        clips: The walks; all with one rate, frame size and space of actions.
        out: New folder.

    Returns:
        Their number. Without any, no folder is left.

    Raises:
        DataError: They do not fit into one data set, or cannot be written.
        MissingExtraError: Without pyarrow.
    """
    _demand_pyarrow()
    first, clips = first_of(clips)
    if first is None:
        return 0
    fps = _whole_rate(first)
    rows: list[_Rows] = []
    with atomic_folder(out) as folder:
        for number, clip in enumerate(clips):
            check_like(clip, first)
            path = folder / _video_of(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            rows.append(_rows_of(clip, path, fps))
        _write_tables(folder, rows, first, fps)
    return len(rows)


def read_lerobot(folder: Path, split: Split = "test") -> Iterator[TrainingClip | DamagedClip]:
    """The walks of a LeRobot data set that has poses and cameras, as `write_lerobot` writes them.

    Args:
        folder: The data set.
        split: Split that the walks are told to be of; a data set of this form has none of its own worlds.

    Yields:
        The walks.

    Raises:
        DataError: It is of another version, lacks a feature, or its tables contradict each other.
        MissingExtraError: Without pyarrow.
    """
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
                f"{where}: no feature '{name}'{f' of {count} numbers' if count else ''}; walks need poses, cameras, "
                "actions and frames"
            )
    space = _space_of(info, where)
    try:
        episodes = pd.read_parquet(folder / EPISODES_PATH)
        table = pd.concat([pd.read_parquet(path) for path in sorted((folder / "data").glob("chunk-*/file-*.parquet"))])
        tasks = pd.read_parquet(folder / TASKS_PATH)
        words = {int(number): str(text) for text, number in tasks["task_index"].items()}
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{folder}: a table cannot be read ({' '.join(str(error).split())[:200]})") from error
    if len(episodes) > MOST_EPISODES or len(table) > MOST_FRAMES:
        raise DataError(f"{folder}: {len(episodes)} walks of {len(table)} frames are more than can be read")
    table = table.set_index("index").sort_index()
    for row in episodes.sort_values("episode_index").to_dict("records"):
        name = f"lerobot/{int(row['episode_index']):06d}"
        yield clip_or_damage(name, partial(_read_clip, folder, row, table, words, space, split))


def _read_clip(
    folder: Path, row: dict[Any, Any], table: Any, words: dict[int, str], space: Any, split: Split
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
        raise DataError(f"{folder}: walk {row.get('episode_index')}: a row is damaged ({error})") from error
    clip = Clip.open(check_inside(path, folder))
    at = round(start * space.fps)
    if at < 0 or at + (end - begin) > len(clip):
        raise DataError(f"{path}: has {len(clip)} frames, the table wants {at} to {at + end - begin}")
    frames = clip[at : at + end - begin]
    poses = np.tile(np.eye(4), (len(state), 1, 1))
    poses[:, :3] = state.reshape(-1, 3, 4)
    camera = Camera(frames.width, frames.height, *map(float, focal))
    name = f"{int(row['episode_index']):06d}"
    return TrainingClip(
        name, "lerobot", split, digest_of_file(path), frames, Actions(space, values), poses, camera, text or None
    )


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


def _rows_of(clip: TrainingClip, path: Path, fps: int) -> _Rows:
    camera = pinhole(clip)
    sampled = set(np.linspace(0, len(clip) - 1, min(_SAMPLED, len(clip))).round().astype(int).tolist())
    pixels = []
    with Writer(path, fps=fps, kind="viewable") as writer:
        for at, frame in enumerate(clip.frames):
            writer.write(frame)
            if at in sampled:
                pixels.append(frame.reshape(-1, 3) / 255.0)
    actions = np.zeros((len(clip), len(clip.actions.space)))
    actions[:-1] = clip.actions.values
    return _Rows(
        clip.id,
        clip.text or "walk",
        clip.poses[:, :3].reshape(-1, 12).astype(np.float32),
        np.tile(np.array([camera.fx, camera.fy, camera.cx, camera.cy], np.float32), (len(clip), 1)),
        actions.astype(np.float32),
        np.concatenate(pixels),
    )


def _write_tables(folder: Path, rows: Sequence[_Rows], first: TrainingClip, fps: int) -> None:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = {text: number for number, text in enumerate(dict.fromkeys(one.text for one in rows))}
    lengths = [len(one.state) for one in rows]
    ends = np.cumsum(lengths)
    starts = ends - lengths
    frame = np.concatenate([np.arange(length) for length in lengths])
    episode = np.repeat(np.arange(len(rows)), lengths)
    vectors = {
        "observation.state": np.concatenate([one.state for one in rows]),
        "observation.intrinsics": np.concatenate([one.intrinsics for one in rows]),
        "action": np.concatenate([one.action for one in rows]),
    }
    columns: dict[str, Any] = {
        name: pa.FixedSizeListArray.from_arrays(pa.array(value.ravel(), pa.float32()), value.shape[1])
        for name, value in vectors.items()
    }
    scalars = {
        "timestamp": (frame / fps).astype(np.float32),
        "frame_index": frame,
        "episode_index": episode,
        "index": np.arange(len(frame)),
        "task_index": np.repeat([words[one.text] for one in rows], lengths),
    }
    path = folder / DATA_PATH.format(chunk_index=0, file_index=0)
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table(columns | scalars), path)
    told = []
    for number, one in enumerate(rows):
        part = {name: value[starts[number] : ends[number]] for name, value in (vectors | scalars).items()}
        place = {"chunk_index": number // CHUNK, "file_index": number % CHUNK}
        told.append(
            {
                "episode_index": number,
                "tasks": [one.text],
                "length": lengths[number],
                "data/chunk_index": 0,
                "data/file_index": 0,
                "dataset_from_index": int(starts[number]),
                "dataset_to_index": int(ends[number]),
                **{f"videos/{VIEW}/{name}": value for name, value in place.items()},
                f"videos/{VIEW}/from_timestamp": 0.0,
                f"videos/{VIEW}/to_timestamp": lengths[number] / fps,
                "meta/episodes/chunk_index": 0,
                "meta/episodes/file_index": 0,
                "worldgauge/name": one.name,
                **_flat_statistics(part, one.pixels),
            }
        )
    (folder / EPISODES_PATH).parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(told), folder / EPISODES_PATH)
    pd.DataFrame({"task_index": list(words.values())}, index=list(words)).to_parquet(folder / TASKS_PATH)
    whole = _statistics(vectors | scalars, np.concatenate([one.pixels for one in rows]))
    (folder / "meta/stats.json").write_text(json.dumps(whole, indent=4))
    info = _info(first, fps, len(rows), int(ends[-1]), len(words))
    (folder / "meta/info.json").write_text(json.dumps(info, indent=4))


def _info(first: TrainingClip, fps: int, episodes: int, frames: int, words: int) -> dict[str, Any]:
    size = [first.frames.height, first.frames.width, 3]
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
        "splits": {"train": f"0:{episodes}"},
        "data_path": DATA_PATH,
        "video_path": VIDEO_PATH,
        "features": {
            VIEW: {"dtype": "video", "shape": size, "names": ["height", "width", "channels"], "info": video},
            **{name: {"dtype": "float32", "shape": [len(names)], "names": names} for name, names in vectors.items()},
            **{name: {"dtype": kind, "shape": [1], "names": None} for name, kind in scalars.items()},
        },
        "worldgauge": {**space_to_json(first.actions.space), "state": STATE},
    }


def _statistics(values: dict[str, Any], pixels: FloatArray) -> dict[str, dict[str, Any]]:
    found = {}
    for name, value in values.items():
        table = np.asarray(value, np.float64).reshape(len(value), -1)
        found[name] = _of_columns(table)
    # One number a channel, in the shape (3, 1, 1) that loaders of pictures broadcast.
    seen = {name: np.asarray(value) for name, value in _of_columns(pixels).items()}
    found[VIEW] = {
        name: value.tolist() if name == "count" else value.reshape(3, 1, 1).tolist() for name, value in seen.items()
    }
    return found


def _of_columns(table: FloatArray) -> dict[str, Any]:
    return {
        "min": table.min(0).tolist(),
        "max": table.max(0).tolist(),
        "mean": table.mean(0).tolist(),
        "std": table.std(0).tolist(),
        "count": [len(table)],
    }


def _flat_statistics(values: dict[str, Any], pixels: FloatArray) -> dict[str, Any]:
    return {
        f"stats/{feature}/{name}": value
        for feature, own in _statistics(values, pixels).items()
        for name, value in own.items()
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
