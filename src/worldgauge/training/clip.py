"""What a world model is trained on: recorded walks, one form for all data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from worldgauge.core.episode import Episode
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.io import digest_of, dumps
from worldgauge.core.registry import Registry

Split = Literal["train", "val", "test"]


@dataclass(frozen=True)
class TrainingClip:
    """A recorded walk to learn from.

    Attributes:
        walk: Frames, poses, actions and camera; row t of the actions leads to frame t + 1.
        source: Name of the training source that it comes from.
        split: Split of its world.
        fingerprint: Digest of all that was read.
    """

    walk: Episode
    source: str
    split: Split
    fingerprint: str

    @property
    def id(self) -> str:
        """Source and id of the walk."""
        return f"{self.source}/{self.walk.id}"

    @property
    def scene(self) -> str | None:
        """Digest of the world, by which training and test scenes are told apart. None where the world is not known."""
        world = self.walk.world
        if world is None:
            return None
        return world.digest or digest_of(dumps([world.name, dict(world.params)]))


Source = Callable[[Path, Split], Iterator[TrainingClip]]
"""Reads the clips of a split from a folder of its format. Clips that cannot be used raise DataError when they come."""

training_sources: Registry[Source] = Registry(
    "training source", group="worldgauge.training_sources", in_suites="training_clips"
)


def read_clips(sources: Mapping[str, Path], split: Split = "train") -> Iterator[TrainingClip]:
    """Read the clips of a split from folders.

    Args:
        sources: Folders by name of their training source.
        split: The split.

    Yields:
        The clips, source by source, in the order of the data.

    Raises:
        UsageError: A folder has no clip of the split.
        UnknownNameError: A source or the split is not known.
        DataError: A folder or a clip cannot be read.
    """
    if split not in get_args(Split):
        raise UnknownNameError("split", split, get_args(Split))
    for name, folder in sources.items():
        found = 0
        for clip in training_sources.get(name)(folder, split):
            found += 1
            yield clip
        if not found:
            raise UsageError(f"{folder}: no {name} clips of the split '{split}'; collect some for it")
