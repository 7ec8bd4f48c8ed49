"""What a world model is trained on: recorded walks, one form for all data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from worldgauge.core.actions import CAMERA_MOTION, Actions, path_moves
from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.registry import Registry
from worldgauge.core.video import Clip
from worldgauge.worlds.scan.sources import EXAMPLE, sources

FREE, UNKNOWN = "none", "unknown"
"""No restriction, since a program of worldgauge drew it; and nobody said."""
_DRAWN = ("voxel", "third-person", "indoor", "room", "tabletop")
LICENCE = "licence"
"""Where a checkpoint tells terms in its config.json."""
_CARD = "README.md"


def terms_of_world(world: WorldFacts | None) -> str:
    """Terms of pictures of a world."""
    if world is None:
        return UNKNOWN
    if world.name in _DRAWN:
        return FREE
    source = str(world.params.get("scene", "")).partition("/")[0]
    if world.name != "scan":
        return UNKNOWN
    if source == EXAMPLE:
        return FREE
    known = sources().get(source)
    return (known.terms if known is not None else None) or UNKNOWN


def terms_of_pipeline(folder: Path) -> str:
    """Terms of a brought pipeline, as the head of its card tells them."""
    try:
        lines = (folder / _CARD).read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError:
        return UNKNOWN
    if not lines or lines[0].strip() != "---":
        return UNKNOWN
    for line in lines[1:200]:
        name, colon, value = line.partition(":")
        if line.strip() == "---":
            break
        if colon and name.strip() in ("license", "license_name") and value.strip() not in ("", "other"):
            return value.strip().strip("'\"")[:100]
    return UNKNOWN


def terms_told(config: Mapping[str, Any]) -> list[str]:
    """Under whose terms the pictures are that a checkpoint was trained on; older ones do not tell."""
    told = config.get(LICENCE)
    data = told.get("data") if isinstance(told, dict) else None
    return [str(one) for one in data] if isinstance(data, list) else [UNKNOWN]


Split = Literal["train", "val", "test"]


@dataclass(frozen=True)
class TrainingClip:
    """A recorded episode of T frames to learn from.

    Attributes:
        name: Its name in its source.
        split: Split of its world.
        fingerprint: Digest of all that was read.
        actions: T - 1 rows; row t leads to frame t + 1.
        poses: (T, 4, 4) camera-to-world, metres.
        text: What is seen or done, in words, if known.
        world: The world. None if only the recording exists.
        licence: Of its images, as its set states it. None: by its world; see `terms`.
    """

    name: str
    source: str
    split: Split
    fingerprint: str
    frames: Clip
    actions: Actions
    poses: FloatArray
    camera: Camera | Panorama
    text: str | None = None
    world: WorldFacts | None = None
    licence: str | None = None

    def __post_init__(self) -> None:
        n = len(self.frames)
        if (len(self.poses), len(self.actions)) != (n, max(n - 1, 0)):
            raise DataError(
                f"{self.id}: {n} frames need {n} poses and {max(n - 1, 0)} actions, "
                f"got {len(self.poses)} and {len(self.actions)}"
            )

    @classmethod
    def of_episode(cls, walk: Episode, source: str, split: Split, fingerprint: str) -> TrainingClip:
        """A clip of a recorded walk, with the caption of its first frame."""
        text, camera = walk.caption_at(0), walk.camera
        return cls(walk.id, source, split, fingerprint, walk.clip, walk.actions, walk.poses, camera, text, walk.world)

    def __len__(self) -> int:
        return len(self.frames)

    def every(self, stride: int) -> TrainingClip:
        """One frame in so many, for walks that are slow: actions of those between are taken together."""
        if stride == 1:
            return self
        numbers, fps = range(0, len(self), stride), self.frames.fps / stride
        follows_path = self.actions.space == CAMERA_MOTION
        return replace(
            self,
            fingerprint=f"{self.fingerprint}/{stride}",
            frames=self.frames.picked(list(numbers), fps),
            actions=path_moves(self.poses[::stride]) if follows_path else self.actions.every(stride, fps),
            poses=self.poses[::stride],
        )

    @property
    def id(self) -> str:
        """Source and name."""
        return f"{self.source}/{self.name}"

    @property
    def terms(self) -> str:
        """Under whose terms its pictures are: "none" where there is no restriction, "unknown" where nobody said."""
        return terms_of_world(self.world) if self.licence is None else self.licence

    @property
    def scene(self) -> str | None:
        """Digest of the world, by which training and test scenes are told apart. None where the world is not known."""
        return None if self.world is None else self.world.scene


class DamagedClip(NamedTuple):
    """A clip that cannot be used, by source and name, and why, in one line."""

    id: str
    why: str


def clip_or_damage(id: str, read: Callable[[], TrainingClip]) -> TrainingClip | DamagedClip:
    """Read a clip; one whose files are damaged is told as such."""
    try:
        return read()
    except DataError as error:
        return DamagedClip(id, str(error))


Source = Callable[[Path, Split], Iterator[TrainingClip | DamagedClip]]
"""Reads the clips of a split from a folder of its format. Damaged clips stand among them with the reason."""

training_sources: Registry[Source] = Registry(
    "training source", "worldgauge_train.sources", group="worldgauge.training_sources"
)

MOST_DAMAGED = 0.01
"""Share of the clips that may be left out."""


class FoundClips(NamedTuple):
    """The clips of some folders."""

    clips: list[TrainingClip]
    damaged: list[DamagedClip]


def read_clips(sources: Iterable[tuple[str, Path]], split: Split = "train") -> FoundClips:
    """Read the clips of a split from folders. No frame is decoded."""
    if split not in get_args(Split):
        raise UnknownNameError("split", split, get_args(Split))
    found = FoundClips([], [])
    for name, folder in sources:
        read = training_sources.get(name)
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder")
        ours = list(read(folder, split))
        fine = [one for one in ours if isinstance(one, TrainingClip)]
        broken = [one for one in ours if isinstance(one, DamagedClip)]
        if not ours:
            raise UsageError(_none_of(name, folder, split))
        check_damage(broken, len(ours), str(folder))
        found.clips.extend(fine)
        found.damaged.extend(broken)
    return found


def drawn_clips(clips: Sequence[TrainingClip], count: int, seed: int) -> list[TrainingClip]:
    """Draw clips; fewer are a part of more."""
    if not 1 <= count <= len(clips):
        raise UsageError(f"--clips {count}: there are only {len(clips)}; leave --clips out for all")
    return [clips[number] for number in sorted(np.random.default_rng(seed).permutation(len(clips))[:count])]


def check_damage(damaged: Sequence[DamagedClip], total: int, where: str) -> None:
    """Check that few clips are left out."""
    if len(damaged) > MOST_DAMAGED * total:
        first = damaged[0]
        raise DataError(
            f"{where}: {len(damaged)} of {total} clips are damaged, more than 1 %; the first, {first.id}: {first.why}"
        )


def splits_of(name: str, folder: Path) -> list[Split]:
    """Splits of which a folder has clips, damaged ones too."""
    read = training_sources.get(name)
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder")
    return [split for split in get_args(Split) if next(iter(read(folder, split)), None) is not None]


def _none_of(name: str, folder: Path, split: Split) -> str:
    """Why a folder cannot be used, and what to do."""
    for other in splits_of(name, folder):
        if other != split:
            return f"{folder}: only {other} parts; worldgauge collect {name} --split {split} --out FOLDER makes others"
    return f"{folder}: no {name} clips; make some with: worldgauge collect {name} --split {split} --out {folder}"
