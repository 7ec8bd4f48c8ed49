"""Walks as steps, which all forms of export share, and the export as WebDataset shards."""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.actions import ActionSpace, Axis, Motion
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera
from worldgauge.core.io import atomic_folder, dumps
from worldgauge.core.video import Writer
from worldgauge_train.training.clip import TrainingClip

POSE_NAMES = tuple(f"r{row}{column}" if column < 3 else "xyz"[row] for row in range(3) for column in range(4))
"""The first three rows of a camera-to-world matrix, row by row."""
MOST_FPS = 10_000
STATE = "camera to world, rows of 3x4, metres; camera x right, y down, z forward; world z up"


def first_of(clips: Iterable[TrainingClip]) -> tuple[TrainingClip | None, Iterable[TrainingClip]]:
    """The first walk, None where there is none, and all of them."""
    rest = iter(clips)
    first = next(rest, None)
    return first, () if first is None else chain([first], rest)


def rate_of(clip: TrainingClip) -> float:
    """Frames a second of a walk."""
    return clip.frames.fps or clip.actions.space.fps


def pinhole(clip: TrainingClip) -> Camera:
    """The camera of a walk."""
    if not isinstance(clip.camera, Camera):
        raise DataError(f"{clip.id}: panoramas have no pinhole camera, which this format needs")
    return clip.camera


def video_size(clip: TrainingClip) -> tuple[int, int]:
    """Width and height of the video of a walk: an odd side is one longer, as 4:2:0 colour needs."""
    return clip.frames.width + clip.frames.width % 2, clip.frames.height + clip.frames.height % 2


def check_like(clip: TrainingClip, first: TrainingClip) -> None:
    """Check that a walk fits into one data set with the first."""
    for what, one, other in (
        ("frame size", (clip.frames.width, clip.frames.height), (first.frames.width, first.frames.height)),
        ("rate", rate_of(clip), rate_of(first)),
        ("split", clip.split, first.split),
        ("actions", [axis.name for axis in clip.actions.space.axes], [axis.name for axis in first.actions.space.axes]),
    ):
        if one != other:
            raise DataError(f"{clip.id}: its {what} is {one}, that of {first.id} is {other}; export them apart")


def space_to_json(space: ActionSpace) -> dict[str, Any]:
    """Name and axes of a space of actions; its rate stands elsewhere."""
    axes = [{"name": axis.name, "kind": axis.kind, "motion": list(axis.motion)} for axis in space.axes]
    return {"space": space.name, "axes": axes}


def space_from_json(told: dict[str, Any], fps: Any) -> ActionSpace:
    """The space that `space_to_json` wrote."""
    axes = tuple(Axis(one["name"], one["kind"], Motion(*map(float, one["motion"]))) for one in told["axes"])
    return ActionSpace(str(told["space"]), axes, sound_rate(fps))


def sound_rate(fps: Any) -> float:
    """A rate that a file tells."""
    if not 0 < float(fps) <= MOST_FPS:
        raise ValueError(f"{fps} frames a second")
    return float(fps)


SHARD_BYTES = 256 << 20


def write_webdataset(clips: Iterable[TrainingClip], out: Path, *, shard_bytes: int = SHARD_BYTES) -> int:
    """Write clips as shards of about `shard_bytes`; return their number (0: no folder). Equal clips, equal bytes."""
    count = shard = 0
    first, clips = first_of(clips)
    if first is None:
        return 0
    with atomic_folder(out) as folder, tempfile.TemporaryDirectory(prefix="worldgauge-shards-") as scratch:
        tar = _open(folder, shard)
        for clip in clips:
            if tar.offset >= shard_bytes:
                tar.close()
                shard += 1
                tar = _open(folder, shard)
            for name, data in _files(clip, count, Path(scratch)):
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
            count += 1
        tar.close()
    return count


def _open(folder: Path, shard: int) -> tarfile.TarFile:
    return tarfile.open(folder / f"shard-{shard:06d}.tar", "w", format=tarfile.USTAR_FORMAT)


def _files(clip: TrainingClip, number: int, scratch: Path) -> Iterator[tuple[str, bytes]]:
    key = f"{number:06d}"
    rate = rate_of(clip)
    video = scratch / "walk.mp4"
    with Writer(video, fps=rate, kind="viewable") as writer:
        for frame in clip.frames:
            writer.write(frame)
    camera = clip.camera
    facts: dict[str, Any] = {
        "id": clip.id,
        "split": clip.split,
        "text": clip.text,
        "fps": rate,
        "frames": len(clip),
        "actions": [axis.name for axis in clip.actions.space.axes],
        "frame_size": [clip.frames.width, clip.frames.height],
        # Of the video. More columns to the right and rows below leave the intrinsics as they are.
        "camera": dict(zip(("width", "height"), video_size(clip), strict=True))
        | {name: getattr(camera, name) for name in ("fx", "fy", "cx", "cy")}
        if isinstance(camera, Camera)
        else "equirectangular",
        "world": None if clip.world is None else {"name": clip.world.name, "params": dict(clip.world.params)},
        "fingerprint": clip.fingerprint,
    }
    yield f"{key}.mp4", video.read_bytes()
    yield f"{key}.json", dumps(facts).encode()
    yield f"{key}.actions.npy", _npy(clip.actions.values.astype(np.float32))
    yield f"{key}.poses.npy", _npy(clip.poses.astype(np.float64))


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()
