"""Walks as WebDataset shards: plain tar files in which the files of one walk share a name and lie side by side.

    shard-000000.tar: 000000.mp4, 000000.json, 000000.actions.npy, 000000.poses.npy, 000001.mp4, ...

`json` holds id, text, rate, camera, names of the actions and the world; `actions` is (T - 1, K) float32, `poses` is
(T, 4, 4) float64, camera to world in metres.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.geometry import Camera
from worldgauge.core.io import atomic_folder, dumps
from worldgauge.core.video import Writer
from worldgauge_train.export_data.walks import first_of, rate_of, video_size
from worldgauge_train.training.clip import TrainingClip

SHARD_BYTES = 256 << 20


def write_webdataset(clips: Iterable[TrainingClip], out: Path, *, shard_bytes: int = SHARD_BYTES) -> int:
    """Write walks as shards. The same walks give the same bytes.

    Args:
        clips: The walks.
        out: New folder.
        shard_bytes: Size at which the next shard begins.

    Returns:
        Their number. Without any, no folder is left.

    Raises:
        DataError: The shards cannot be written.
    """
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
