"""Frames of training clips, decoded once, at the size that a model sees, in files that are mapped into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import motions
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import atomic_file, digest_of, dumps
from worldgauge.nets.action_rows import Rows, Told, action_rows
from worldgauge.nets.reckoning import POSE, Poses, reckoned
from worldgauge.training.clip import TrainingClip

SHARD_FRAMES = 2048
"""Most frames of a file; a longer clip has a file of its own."""
_FORMAT = "worldgauge-training-frames/1"


@dataclass(frozen=True)
class CachedClip:
    """A clip as it is trained on.

    Attributes:
        id: Id of the clip.
        source: Name of its training source.
        scene: Digest of its world, or None.
        frames: (T, H, W, 3) uint8, mapped.
        rows: (T, columns): what is told of the action that led to each frame; zeros for the first.
        poses: (T, 5) reckoned from the actions.
    """

    id: str
    source: str
    scene: str | None
    frames: NDArray[np.uint8]
    rows: Rows
    poses: Poses

    def __len__(self) -> int:
        return len(self.frames)


def cached_clips(
    clips: Sequence[TrainingClip],
    size: tuple[int, int],
    folder: Path,
    *,
    told: Told = "both",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[CachedClip]:
    """Map the frames of clips. Those that are not in the cache are decoded first.

    Args:
        clips: The clips.
        size: (width, height) of the frames, averaged over areas.
        folder: Folder of all caches. Each lies in a folder named by what it holds.
        told: As for `action_rows`.
        progress: Called with the number of clips that are ready, and of all.

    Returns:
        One cached clip a clip, in order.

    Raises:
        UsageError: There are no clips.
        DataError: A clip cannot be decoded, or the folder not written.
    """
    if not clips:
        raise UsageError("there are no clips to train on")
    place = folder / digest_of(dumps([_FORMAT, *size, *(clip.fingerprint for clip in clips)]))[:32]
    ready = []
    for number, shard in enumerate(_shards(clips)):
        path = place / f"frames-{number:05d}.npy"
        if not path.exists():
            _decode(shard, size, path)
        frames = _mapped(path, (sum(len(clip.walk) for clip in shard), size[1], size[0], 3))
        first = 0
        for clip in shard:
            rows = action_rows(clip.walk.actions, clip.walk.camera, told)
            rows = np.concatenate([np.zeros((1, rows.shape[1]), np.float32), rows])
            last = first + len(clip.walk)
            poses = np.concatenate([np.zeros((1, POSE)), reckoned(motions(clip.walk.actions))])
            ready.append(CachedClip(clip.id, clip.source, clip.scene, frames[first:last], rows, poses))
            first = last
        progress(len(ready), len(clips))
    return ready


def _shards(clips: Sequence[TrainingClip]) -> Iterator[list[TrainingClip]]:
    shard: list[TrainingClip] = []
    for clip in clips:
        if shard and sum(len(one.walk) for one in shard) + len(clip.walk) > SHARD_FRAMES:
            yield shard
            shard = []
        shard.append(clip)
    yield shard


def _decode(shard: Sequence[TrainingClip], size: tuple[int, int], path: Path) -> None:
    shape = (sum(len(clip.walk) for clip in shard), size[1], size[0], 3)
    with atomic_file(path) as file:
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for clip in shard:
            for frame in clip.walk.clip.resized(*size):
                file.write(np.ascontiguousarray(frame).tobytes())


def _mapped(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    try:
        frames: NDArray[np.uint8] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: {error}; delete it, and it is made again") from None
    if frames.shape != shape or frames.dtype != np.uint8:
        raise DataError(
            f"{path}: {frames.dtype} {frames.shape} in place of uint8 {shape}; delete it, and it is made again"
        )
    return frames
