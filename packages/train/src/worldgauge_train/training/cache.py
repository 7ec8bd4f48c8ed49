"""Frames of training clips, decoded once, at the size that a model sees, in files that are mapped into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import motions
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import atomic_file, digest_of, dumps, read_json_object, write_file
from worldgauge.models.references.tiny.action_rows import Rows, Told, action_rows
from worldgauge_train.nets.reckoning import POSE, Poses, reckoned
from worldgauge_train.training.clip import DamagedClip, TrainingClip, check_damage
from worldgauge_train.training.disk import check_disk, one_writer
from worldgauge_train.training.terms import UNKNOWN

SHARD_FRAMES = 2048
"""Most frames of a file; a longer clip has a file of its own."""
_FORMAT = "worldgauge-training-frames/2"


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
        terms: Under whose terms its pictures are.
    """

    id: str
    source: str
    scene: str | None
    frames: NDArray[np.uint8]
    rows: Rows
    poses: Poses
    terms: str = UNKNOWN

    @classmethod
    def of(cls, clip: TrainingClip, frames: NDArray[np.uint8], told: Told) -> CachedClip:
        """A clip with its frames.

        Args:
            clip: The clip.
            frames: (T, H, W, 3) uint8.
            told: As for `action_rows`.
        """
        rows = action_rows(clip.actions, clip.camera, told)
        rows = np.concatenate([np.zeros((1, rows.shape[1]), np.float32), rows])
        poses = np.concatenate([np.zeros((1, POSE)), reckoned(motions(clip.actions))])
        return cls(clip.id, clip.source, clip.scene, frames, rows, poses, clip.terms)

    def __len__(self) -> int:
        return len(self.frames)


class Cached(NamedTuple):
    """Clips whose frames are in the cache.

    Attributes:
        clips: The clips.
        damaged: Clips whose frames cannot be decoded.
        folder: Where the frames lie.
    """

    clips: list[CachedClip]
    damaged: list[DamagedClip]
    folder: Path


def cached_clips(
    clips: Sequence[TrainingClip],
    size: tuple[int, int],
    folder: Path,
    *,
    told: Told = "both",
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Cached:
    """Map the frames of clips. Those that are not in the cache are decoded first, to the same bytes by any workers.

    Args:
        clips: The clips.
        size: (width, height) of the frames, averaged over areas.
        folder: Folder of all caches. Each lies in a folder named by what it holds.
        told: As for `action_rows`.
        workers: Files that are decoded at once.
        progress: Called with the number of clips that are ready, and of all.

    Returns:
        The clips in order, and those that cannot be decoded.

    Raises:
        UsageError: There are no clips.
        DataError: Too many clips cannot be decoded, or the folder cannot be written or has no room.
    """
    if not clips:
        raise UsageError("there are no clips to train on")
    place = folder / digest_of(dumps([_FORMAT, *size, *(clip.fingerprint for clip in clips)]))[:32]
    found = Cached([], [], place)
    shards = list(_shards(clips))
    paths = [place / f"frames-{number:05d}.npy" for number in range(len(shards))]
    # What is whole is read without a lock: the folder may be one that is only to be read.
    alone = nullcontext() if all(map(_is_decoded, paths)) else one_writer(place)
    with alone, ThreadPoolExecutor(max(1, workers)) as pool:
        lacking = sum(sum(map(len, shard)) for shard, path in zip(shards, paths, strict=True) if not _is_decoded(path))
        check_disk(place, {"decoded frames": 3 * size[0] * size[1] * lacking})
        made = pool.map(lambda shard, path: _decoded(shard, size, path), shards, paths)
        for shard, path, damage in zip(shards, paths, made, strict=True):
            fine = [clip for clip in shard if clip.id not in damage]
            found.damaged.extend(DamagedClip(id, why) for id, why in damage.items())
            frames = _mapped(path, (sum(map(len, fine)), size[1], size[0], 3)) if fine else None
            first = 0
            for clip in fine:
                assert frames is not None
                found.clips.append(CachedClip.of(clip, frames[first : first + len(clip)], told))
                first += len(clip)
            progress(len(found.clips), len(clips))
    check_damage(found.damaged, len(clips), "decoding")
    return found


def _shards(clips: Sequence[TrainingClip]) -> Iterator[list[TrainingClip]]:
    shard: list[TrainingClip] = []
    for clip in clips:
        if shard and sum(map(len, shard)) + len(clip) > SHARD_FRAMES:
            yield shard
            shard = []
        shard.append(clip)
    yield shard


def _decoded(shard: Sequence[TrainingClip], size: tuple[int, int], path: Path) -> dict[str, str]:
    """Decode a shard that is not there; why clips of it are left out, by id."""
    index = path.with_suffix(".json")
    if not _is_decoded(path):
        damage = _decode(shard, size, path)
        write_file(index, dumps({"clips": [[clip.id, len(clip)] for clip in shard], "damaged": damage}))
    return dict(read_json_object(index).get("damaged", {}))


def _is_decoded(path: Path) -> bool:
    return path.exists() and path.with_suffix(".json").exists()


def _decode(shard: Sequence[TrainingClip], size: tuple[int, int], path: Path) -> dict[str, str]:
    damage: dict[str, str] = {}
    parts = []
    for clip in shard:
        try:
            frames = np.stack([np.ascontiguousarray(frame) for frame in clip.frames.resized(*size)])
        except DataError as error:
            damage[clip.id] = str(error)
            continue
        if len(frames) != len(clip):
            damage[clip.id] = f"{len(frames)} frames of {len(clip)}"
            continue
        parts.append(frames)
    with atomic_file(path) as file:
        shape = (sum(map(len, parts)), size[1], size[0], 3)
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
        for part in parts:
            file.write(part.tobytes())
    return damage


def _mapped(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    try:
        frames: NDArray[np.uint8] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (EOFError, OSError, ValueError) as error:
        raise DataError(f"{path}: {error}; delete it, and it is made again") from None
    if frames.shape != shape or frames.dtype != np.uint8:
        raise DataError(
            f"{path}: {frames.dtype} {frames.shape} in place of uint8 {shape}; delete it, and it is made again"
        )
    return frames
