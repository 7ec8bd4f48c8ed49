"""Recorded walks in the forms that others load: LeRobot v3, RLDS, and WebDataset shards for training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge_train.export_data_lerobot import read_lerobot, write_lerobot
from worldgauge_train.export_data_rlds import read_rlds, write_rlds
from worldgauge_train.export_data_walks import write_webdataset
from worldgauge_train.training.clip import DamagedClip, Source, Split, TrainingClip, training_sources

LEROBOT, RLDS = "lerobot", "rlds"
FORMS: dict[str, Callable[..., int]] = {LEROBOT: write_lerobot, RLDS: write_rlds, "webdataset": write_webdataset}
"""Writers by name. Each takes clips and a new folder, and returns the number of clips."""
READERS: dict[str, Source] = {LEROBOT: read_lerobot, RLDS: read_rlds}
"""Readers of forms that are no training sources."""


@dataclass(frozen=True)
class ExportedData:
    """What was written."""

    folder: Path
    clips: int
    damaged: tuple[DamagedClip, ...]


def export_data(
    data: Path,
    out: Path,
    *,
    source: str,
    to: str = LEROBOT,
    split: str = "test",
    progress: Callable[[str, int], None] = lambda name, done: None,
) -> ExportedData:
    """Write the walks of a data set in another form."""
    if to not in FORMS:
        raise UnknownNameError("dataset format", to, FORMS)
    if split not in get_args(Split):
        raise UnknownNameError("split", split, get_args(Split))
    if out.exists():
        raise UsageError(f"{out}: exists already; choose another --out")
    damaged: list[DamagedClip] = []

    def sound() -> Iterator[TrainingClip]:
        done = 0
        for one in _clips(data, source, split):
            if isinstance(one, DamagedClip):
                damaged.append(one)
                continue
            progress(one.id, done)
            yield one
            done += 1

    count = FORMS[to](sound(), out)
    if not count:
        why = f"; the first of {len(damaged)} damaged ones: {damaged[0].why}" if damaged else ""
        raise DataError(f"{data}: no episode of split '{split}'{why}")
    return ExportedData(out, count, tuple(damaged))


def _clips(data: Path, source: str, split: Any) -> Iterator[TrainingClip | DamagedClip]:
    if source in READERS:
        return READERS[source](data, split)
    if source not in training_sources:
        raise UnknownNameError("training source", source, [*training_sources.names(), *READERS])
    return training_sources.get(source)(data, split)


__all__ = [
    "FORMS",
    "ExportedData",
    "export_data",
    "read_lerobot",
    "read_rlds",
    "write_lerobot",
    "write_rlds",
    "write_webdataset",
]
