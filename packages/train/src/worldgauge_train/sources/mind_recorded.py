"""MIND's training clips: its part `train`, whose worlds no test shows, or a folder collected for another split."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from worldgauge.core.errors import DataError
from worldgauge.engine.collection.manifest import told_split
from worldgauge.suites.mind.format.layout import MindClip, Part, data_folder
from worldgauge.suites.mind.format.read import discover, fingerprint_of, load
from worldgauge_train.training.clip import DamagedClip, Split, TrainingClip, clip_or_damage, training_sources

_RECORDED: tuple[Part, ...] = ("train", "mem_test", "action_space_test")


@training_sources.register("mind")
def mind_clips(folder: Path, split: Split) -> Iterator[TrainingClip | DamagedClip]:
    """Clips of both perspectives. Where the manifest names no split, the part `train` is "train" and the rest "test".

    Args:
        folder: A folder in MIND's layout.
        split: Split of the clips.

    Raises:
        DataError: The folder cannot be read.
    """
    told = told_split(data_folder(folder))
    if told in ("train", "val"):
        parts = _RECORDED if split == told else ()
    else:
        parts = {"train": _RECORDED[:1], "val": (), "test": _RECORDED[1:]}[split]
    for clip in discover(folder, parts) if parts else []:
        yield clip_or_damage(f"mind/{clip.id}", partial(_clip, clip, split))


def _clip(clip: MindClip, split: Split) -> TrainingClip:
    if clip.fault is not None:
        raise DataError(clip.fault)
    walk = load(clip)
    return TrainingClip.of_episode(walk, "mind", split, fingerprint_of(clip), walk.facts["caption"] or None)
