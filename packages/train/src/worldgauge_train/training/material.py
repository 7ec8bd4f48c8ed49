"""What a training is given, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from worldgauge.core.actions import ActionSpace, Motion
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Panorama
from worldgauge.core.io import digest_of, dumps
from worldgauge.core.model import View
from worldgauge.models.baselines.tiny import Rows, Told, mirror_of, row_width
from worldgauge_train.training.cache import Cached, CachedClip, cached_clips
from worldgauge_train.training.clip import (
    FREE,
    DamagedClip,
    FoundClips,
    Split,
    TrainingClip,
    drawn_clips,
    read_clips,
    splits_of,
)
from worldgauge_train.training.walks import WalkRing


class SourceProof(NamedTuple):
    """What was read from one training source.

    Attributes:
        source: Its name, with its settings if it generates episodes.
        scenes: Digests of their worlds, sorted.
        unknown: Number of clips whose world is not known.
        digest: Digest of `scenes`.
        terms: Licences of its images, sorted; "none" if there is no restriction.
        drawn: Whether its clips are generated during training, more at every step.
    """

    source: str
    split: Split
    clips: int
    frames: int
    scenes: list[str]
    unknown: int
    digest: str
    terms: list[str]
    drawn: bool = False


def proof_of(clips: Sequence[CachedClip], split: Split = "train") -> list[SourceProof]:
    """Tell what clips were trained on, a row a source."""
    found = []
    for source in sorted({clip.source for clip in clips}):
        own = [clip for clip in clips if clip.source == source]
        scenes = sorted({clip.scene for clip in own if clip.scene is not None})
        unknown = sum(clip.scene is None for clip in own)
        frames, terms = sum(len(clip) for clip in own), sorted({clip.terms for clip in own})
        found.append(SourceProof(source, split, len(own), frames, scenes, unknown, _digest(scenes), terms))
    return found


def proof_of_walks(text: str, clips: int, frames: int, scenes: Collection[str]) -> SourceProof:
    """Tell what walks were drawn and trained on."""
    known = sorted(scenes)
    return SourceProof(text, "train", clips, frames, known, 0, _digest(known), [FREE], drawn=True)


def same_data(before: Any, now: Sequence[SourceProof]) -> bool:
    """Whether a checkpoint was trained on the same data; of walks that are drawn, only what they are is compared."""
    if not isinstance(before, list) or not all(isinstance(row, dict) for row in before):
        return False
    return [_compared(row) for row in before] == [_compared(one._asdict()) for one in now]


def check_apart(
    trained: Sequence[CachedClip], validated: Sequence[CachedClip], what: str, before: Collection[str] = ()
) -> None:
    """Check that no scene is trained and validated on."""
    known = {clip.scene for clip in trained if clip.scene is not None}
    asked = {clip.scene for clip in validated}
    for shared, how in ((asked & known, "are also trained on"), (asked & {*before}, "were trained on before")):
        if shared:
            raise UsageError(
                f"{what}: {len(shared)} of its {len(asked)} scenes {how}; give other data, or say --allow-overlap"
            )


def _compared(row: Mapping[str, Any]) -> dict[str, Any]:
    """What of a row tells whether data are the same. Terms do not, and older checkpoints tell none."""
    if row.get("drawn"):
        return {name: row.get(name) for name in ("source", "split")}
    return {name: value for name, value in row.items() if name != "terms"}


def _digest(scenes: Sequence[str]) -> str:
    return digest_of(dumps(list(scenes)))


Tell = Callable[[int, int], None]
"""Called with the number of clips that are ready, and of all."""


class Wanted(Protocol):
    """What a recipe says of the clips that it wants."""

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""

    @property
    def told(self) -> Told:
        """What is told of an action."""

    @property
    def stride(self) -> int:
        """Frames of a clip from one that is used to the next."""

    @property
    def seed(self) -> int:
        """Seed of all draws."""


@dataclass(frozen=True)
class Material:
    """What is trained on.

    Attributes:
        columns: Columns of the action rows.
        mirror: What a mirror makes of a row. None without mirroring.
        fps: Frames per second. None if clips differ.
        space: One of the action spaces.
        place: Folder of their decoded frames. None if in memory.
        ring: Episodes that are generated during training.
        damaged: Clips that are left out.
    """

    clips: Sequence[CachedClip]
    spaces: tuple[str, ...]
    columns: int
    mirror: Rows | None
    fps: float | None
    space: ActionSpace
    view: View = "perspective"
    place: Path | None = None
    ring: WalkRing | None = None
    damaged: Sequence[DamagedClip] = ()

    def clips_at(self, step: int, progress: Tell = lambda done, total: None) -> list[CachedClip]:
        """The clips that windows of a step are cut from."""
        return [*self.clips, *(self.ring.clips_at(step, progress) if self.ring is not None else ())]

    def proof(self, step: int = 0, drawn_scenes: Iterable[str] = ()) -> list[SourceProof]:
        """What was trained on after some steps."""
        found = proof_of(self.clips)
        if self.ring is not None:
            count = self.ring.drawn_by(max(step - 1, 0)) if step else 0
            found.append(proof_of_walks(self.ring.text, count, count * self.ring.source.frames, set(drawn_scenes)))
        return found


@dataclass(frozen=True)
class Mark:
    """How far a training has come; `loss` is the median of the latest losses."""

    step: int
    steps: int
    seconds: float
    loss: float


@dataclass(frozen=True)
class TrainingPlan:
    """What a stage of a training would take.

    Attributes:
        parameters: Weights of the network.
        flops: Floating-point operations of a step, forward and backward.
        step_s: Measured seconds per step here; the mean if steps differ.
        memory_gb: Peak memory of this process until then.
        codec_s: Seconds of training its codec first.
        encoding_s: Seconds of encoding all clips with the codec.
        prepared_s: Seconds of other preparation, such as the trajectories of its teacher.
        frames_per_s: Speed of eight rollouts at once; it does not depend on what was learned.
        hours: Total at that speed, without validation.
    """

    stage: str
    steps: int
    parameters: int
    flops: float
    step_s: float
    memory_gb: float
    codec_s: float
    encoding_s: float
    prepared_s: float
    frames_per_s: float
    hours: float


def read_material(
    sources: Sequence[tuple[str, Path]],
    recipe: Wanted,
    cache: Path,
    *,
    walks: str | None = None,
    clips: int | None = None,
    workers: int = 1,
    progress: Tell = lambda done, total: None,
) -> Material:
    """Read what is to be trained on; frames that are not cached at the recipe's size are decoded."""
    ring = None
    if walks is not None:
        _check_stride(recipe)
        ring = WalkRing(walks, recipe.seed, recipe.size, recipe.told, workers)
    found = read_clips(sources) if sources else FoundClips([], [])
    if clips is not None:
        found = FoundClips(drawn_clips(found.clips, clips, recipe.seed), found.damaged)
    found = FoundClips([one.every(recipe.stride) for one in found.clips], found.damaged)
    spaces = {one.actions.space for one in found.clips} | ({ring.source.space} if ring else set())
    rates = sorted({one.frames.fps for one in found.clips} | ({ring.source.fps} if ring else set()))
    if not spaces:
        raise UsageError("there is nothing to train on: give --data SOURCE=FOLDER, or --data walks")
    families = {tuple(axis.name for axis in space.axes) for space in spaces}
    if len(families) > 1 and recipe.told not in ("motion", "nothing"):
        raise UsageError(f"the clips have {len(families)} kinds of actions; train on one, or with told=motion")
    if recipe.told == "motion" and not all(_moves_camera(space) for space in spaces):
        still = ", ".join(sorted(space.name for space in spaces if not _moves_camera(space)))
        raise UsageError(f"actions of {still} move no camera, so told=motion gives no condition; --set told=both")
    if len(rates) > 1 and recipe.told != "motion":
        several = " and ".join(f"{rate:g}" for rate in rates)
        raise UsageError(f"the clips have {several} frames/s; train on one rate, or with told=motion")
    ready = Cached([], [], cache)
    if found.clips:
        ready = cached_clips(found.clips, recipe.size, cache, told=recipe.told, workers=workers, progress=progress)
    names = {space.name for space in spaces} | set(ring.source.space_names if ring else ())
    views = {"panorama" if isinstance(one.camera, Panorama) else "perspective" for one in found.clips}
    if len(views | ({"perspective"} if ring else set())) > 1:
        raise UsageError("some clips are panoramas and some are not; train on one kind")
    space = min(spaces, key=lambda one: one.name)
    return Material(
        ready.clips,
        tuple(sorted(names)),
        row_width(space, recipe.told),
        mirror_of(space, recipe.told) if _moves_camera(space) else None,
        rates[0] if len(rates) == 1 else None,
        space,
        "panorama" if views == {"panorama"} else "perspective",
        ready.folder if found.clips else None,
        ring,
        (*found.damaged, *ready.damaged),
    )


class Validated(NamedTuple):
    """Clips to validate with."""

    clips: list[CachedClip]
    split: Split


def read_validation(
    source: tuple[str, Path] | str,
    recipe: Wanted,
    cache: Path,
    *,
    count: int = 8,
    seed: int = 0,
    allow_test: bool = False,
) -> Validated:
    """Read clips to validate with: of the split "val", else of "train". Test scenes are only looked at when asked."""
    if isinstance(source, str):
        _check_stride(recipe)
        ring = WalkRing(source, seed, recipe.size, recipe.told, 0, split="val")
        return Validated([ring.first_of_world(number) for number in range(count)], "val")
    found, split = _to_validate(source, allow_test)
    numbers = np.unique(np.linspace(0, len(found) - 1, count).round().astype(int))
    chosen = [found[number].every(recipe.stride) for number in numbers]
    return Validated(cached_clips(chosen, recipe.size, cache, told=recipe.told).clips, split)


def _to_validate(source: tuple[str, Path], allow_test: bool) -> tuple[list[TrainingClip], Split]:
    there = splits_of(*source)
    wanted: tuple[Split, ...] = ("val", "test", "train") if allow_test else ("val", "train")
    split = next((one for one in wanted if one in there), None)
    if split is not None:
        return read_clips([source], split).clips, split
    try:
        return read_clips([source], "val").clips, "val"
    except UsageError as error:
        more = "; or, to use test scenes, add --allow-test" if there else ""
        raise UsageError(f"--validate {error}{more}") from None


def _check_stride(recipe: Wanted) -> None:
    if recipe.stride != 1:
        raise UsageError(f"stride = {recipe.stride} is for clips of folders: generated episodes have their own rate")


def _moves_camera(space: ActionSpace) -> bool:
    """Whether its columns move the camera; a picture whose camera stands still is not mirrored."""
    return any(axis.motion != Motion() for axis in space.axes)
