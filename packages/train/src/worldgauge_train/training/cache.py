"""Clips in memory, and the windows of them that a network is trained on."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import motions
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import atomic_file, digest_of, dumps, read_json_object, write_file
from worldgauge.models.baselines.tiny import Rows, Told, action_rows
from worldgauge_train.nets.memory import FrameMemory
from worldgauge_train.nets.reckoning import POSE, Poses, in_mirror, reckoned, seen_from
from worldgauge_train.training.clip import UNKNOWN, DamagedClip, TrainingClip, check_damage


def check_disk(folder: Path, needed: Mapping[str, int]) -> None:
    """Check that a disk has room."""
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    wanted, free = sum(needed.values()), shutil.disk_usage(there).free
    if free < wanted:
        parts = " and ".join(f"{what} {count / 1e9:.2g} GB" for what, count in needed.items() if count)
        raise DataError(f"{folder}: {parts} are needed, and {free / 1e9:.2g} GB are free on the disk")


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Let one process at a time fill a folder of a cache; others wait. It is not reentrant for a folder."""
    path = folder.with_name(f".{folder.name}.lock")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise DataError(f"{path}: cannot be locked ({error.strerror or error}); name another --cache") from error
        yield


SHARD_FRAMES = 2048
"""Most frames of a file; a longer clip has a file of its own."""
_FORMAT = "worldgauge-training-frames/2"


@dataclass(frozen=True)
class CachedClip:
    """A clip as it is trained on.

    Attributes:
        scene: Digest of its world, or None.
        frames: (T, H, W, 3) uint8, memory-mapped.
        rows: (T, columns): the action that led to each frame; zeros for the first.
        poses: (T, 5), dead reckoning from the actions.
        terms: Licence of its images.
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
        """A clip with its frames (T, H, W, 3) uint8; `told` as for `action_rows`."""
        rows = action_rows(clip.actions, clip.camera, told)
        rows = np.concatenate([np.zeros((1, rows.shape[1]), np.float32), rows])
        poses = np.concatenate([np.zeros((1, POSE)), reckoned(motions(clip.actions))])
        return cls(clip.id, clip.source, clip.scene, frames, rows, poses, clip.terms)

    def __len__(self) -> int:
        return len(self.frames)


class Cached(NamedTuple):
    """Clips whose frames are in the cache."""

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
    """Map the frames of clips at a size (width, height), and decode missing ones: the same bytes by any workers.
    `folder` holds a folder per cache, named by its content; `progress` gets the clips that are ready and their
    total."""
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


SHORT_PAST = 0.25
"""Share of windows whose past is one frame again and again, as of a model that is shown one picture."""
NO_ACTIONS = 0.1
"""Share of windows that are told no action, for guidance."""
Look = Callable[[CachedClip, bool], NDArray[Any]]
"""Gives the frames of a clip (T, ...) as a network is shown them, as they are or in the mirror."""


def as_pixels(clip: CachedClip, turned: bool) -> NDArray[Any]:
    """Frames (T, H, W, 3) as they are; see `Look`."""
    return clip.frames[:, :, ::-1] if turned else clip.frames


class Batch(NamedTuple):
    """Windows of clips.

    Attributes:
        frames: (B, T, H, W, 3) uint8, or as `Windows.look` gives them.
        rows: (B, T, columns): what led to each frame.
        fetched: (B, S, M, ...) frames from memory for each step after the past; M may be 0.
        relative: (B, S, M, 5) their poses as seen from the end of the step.
        places: Clip id and first frame of each window.
    """

    frames: NDArray[Any]
    rows: Rows
    fetched: NDArray[Any]
    relative: NDArray[np.float32]
    places: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Windows:
    """Samples windows of clips uniformly over all possible starts.

    Attributes:
        past: Frames of a window that a model is shown, C.
        length: Frames of a window in all.
        mirror: What a mirror makes of `rows`. None without mirroring, as for words or an arm.
        step: Frames per step, K, for memories that fetch frames for each.
        look: Maps clips to the frames of the batch.
    """

    clips: Sequence[CachedClip]
    past: int
    length: int
    mirror: Rows | None
    seed: int
    step: int = 4
    memory: FrameMemory = field(default_factory=FrameMemory)
    look: Look = as_pixels

    def __post_init__(self) -> None:
        if not self.usable:
            longest = max(len(clip) for clip in self.clips)
            raise UsageError(f"the longest of {len(self.clips)} clips has {longest} frames: windows need {self.length}")

    @cached_property
    def usable(self) -> list[CachedClip]:
        """Clips that are as long as a window."""
        return [clip for clip in self.clips if len(clip) >= self.length]

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(len(clip) - self.length + 1 for clip in self.usable)])

    @property
    def count(self) -> int:
        """Windows in all."""
        return int(self._starts[-1])

    def batch(self, step: int, count: int) -> Batch:
        """Draw the windows of a step: the same ones for the same seed and step."""
        rng = np.random.default_rng([self.seed, step])
        clips, starts = self.usable, self._starts
        frames, rows, fetched, relative, places = [], [], [], [], []
        for place in rng.integers(starts[-1], size=count):
            number = int(np.searchsorted(starts, place, side="right")) - 1
            at = int(place - starts[number])
            short, mute, mirrored = rng.random(3) < (SHORT_PAST, NO_ACTIONS, 0.5)
            turned = bool(mirrored) and self.mirror is not None
            shown = self.look(clips[number], turned)
            seen = np.array(shown[at : at + self.length])
            told = clips[number].rows[at : at + self.length].copy()
            if short:
                seen[: self.past - 1] = seen[self.past - 1]
                told[: self.past] = 0
            if mute:
                told[:] = 0
            if turned and self.mirror is not None:
                told = told @ self.mirror
            frames.append(seen)
            places.append((clips[number].id, at))
            rows.append(told)
            recalled, poses = self._recalled(clips[number], shown, at, bool(short))
            fetched.append(recalled)
            relative.append(in_mirror(poses) if turned else poses)
        told_poses = np.stack(relative).astype(np.float32)
        told_rows = np.stack(rows).astype(np.float32)
        return Batch(np.stack(frames), told_rows, np.stack(fetched), told_poses, tuple(places))

    def _recalled(self, clip: CachedClip, shown: NDArray[Any], at: int, short: bool) -> tuple[NDArray[Any], Poses]:
        """Frames fetched for each step of a window, and their poses; none of its past, which the network sees anyway.
        In a short window only one frame was ever seen."""
        steps, first = (self.length - self.past) // self.step, at + self.past
        if not self.memory.frames:
            return np.zeros((steps, 0, *shown.shape[1:]), shown.dtype), np.zeros((steps, 0, POSE))
        numbers, poses = [], []
        for step in range(steps):
            here = clip.poses[first + (step + 1) * self.step - 1]
            known = slice(first - 1, first) if short else slice(0, max(1, at + step * self.step))
            picks = self.memory.picks(clip.poses[known], here) + known.start
            numbers.append(picks)
            poses.append(seen_from(clip.poses[picks], here))
        fetched = np.array(shown[np.concatenate(numbers)]).reshape(steps, self.memory.frames, *shown.shape[1:])
        return fetched, np.stack(poses)
