"""MIND's training clips: its part `train`, whose worlds no test shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from worldgauge.core.errors import DataError
from worldgauge.suites.mind.format.read import discover, fingerprint_of, load
from worldgauge.training.clip import Split, TrainingClip, training_sources


@training_sources.register("mind")
def mind_clips(folder: Path, split: Split) -> Iterator[TrainingClip]:
    """Clips of the part `train`, in both perspectives; the other parts are of the split `test`.

    Args:
        folder: A folder in MIND's layout.
        split: "train", or "test" for the clips of the two tests.

    Raises:
        DataError: A clip is damaged.
    """
    parts = {"train": ("train",), "val": (), "test": ("mem_test", "action_space_test")}[split]
    if not parts:
        return
    for clip in discover(folder, parts):  # type: ignore[arg-type]
        if clip.fault is not None:
            raise DataError(f"{clip.id}: {clip.fault}")
        yield TrainingClip(load(clip), "mind", split, fingerprint_of(clip))
