"""LoopNav's training clips: the loops of a folder that was collected for training, or of the published villages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.engine.collection.manifest import MANIFEST, told_split
from worldgauge.suites.loopnav.format.trajectories import Trajectory, discover, fingerprint_of, load
from worldgauge.suites.loopnav.format.validity import FILE_FAULTS
from worldgauge.suites.loopnav.format.write import pictures_of, worlds_of
from worldgauge_train.training.clip import DamagedClip, Split, TrainingClip, clip_or_damage, training_sources
from worldgauge_train.training.terms import UNKNOWN

_PUBLISHED: dict[str | None, Split] = {"train": "train", "validation": "val", "test": "test"}


@training_sources.register("loopnav")
def loopnav_clips(folder: Path, split: Split) -> Iterator[TrainingClip | DamagedClip]:
    """Loops, also walks that are none, for keys and frames fit all the same.

    A folder that was collected is of one split, by default "test". Of the published set, villages 1 to 16 are "train",
    17 and 18 "val", 19 and 20 "test".

    Args:
        folder: A folder in LoopNav's layout.
        split: Split of the loops.

    Raises:
        DataError: The folder cannot be read.
    """
    collected = (folder / MANIFEST).exists()
    own = told_split(folder) or "test"
    worlds, pictures = worlds_of(folder), pictures_of(folder)
    for one in discover(folder):
        if split == (own if collected else _published(one)):
            yield clip_or_damage(f"loopnav/{one.id}", partial(_clip, one, worlds.get(one.location), pictures, split))


def _clip(one: Trajectory, world: WorldFacts | None, pictures: str, split: Split) -> TrainingClip:
    if one.fault in FILE_FAULTS:
        raise DataError(one.invalid or str(one.fault))
    clip = TrainingClip.of_episode(load(one, world, pictures), "loopnav", split, fingerprint_of(one, world))
    return clip if pictures == "ours" else replace(clip, licence=UNKNOWN)  # the game's renderer drew its own textures


def _published(one: Trajectory) -> Split:
    return _PUBLISHED.get(one.split, "test")
