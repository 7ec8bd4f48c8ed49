"""What a training is given, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldgauge.core.errors import UsageError
from worldgauge.nets.action_rows import Rows, mirror_of, row_width
from worldgauge.training.cache import CachedClip, cached_clips
from worldgauge.training.clip import read_clips
from worldgauge.training.recipe import Recipe


@dataclass(frozen=True)
class Material:
    """What is trained on.

    Attributes:
        clips: The clips.
        spaces: Names of their action spaces.
        columns: Columns of their rows.
        mirror: What a mirror makes of a row. None where nothing is mirrored.
        fps: Frames a second; None where clips differ.
    """

    clips: Sequence[CachedClip]
    spaces: tuple[str, ...]
    columns: int
    mirror: Rows | None
    fps: float | None


@dataclass(frozen=True)
class Mark:
    """How far a training has come.

    Attributes:
        step: Steps done.
        steps: Steps in all.
        seconds: Seconds they took.
        loss: Median of the latest losses.
    """

    step: int
    steps: int
    seconds: float
    loss: float


def read_material(
    sources: Mapping[str, Path],
    recipe: Recipe,
    cache: Path,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Material:
    """Read what is to be trained on; frames that are not cached at the recipe's size are decoded.

    Args:
        sources: Folders by name of their training source.
        recipe: The recipe.
        cache: Folder of all caches.
        progress: Called with the number of clips that are ready, and of all.

    Raises:
        UsageError: There are no training clips, or their actions or rates differ.
        DataError: A folder or a clip cannot be read.
    """
    clips = list(read_clips(sources))
    columns, rates = {one.walk.actions.space.axes for one in clips}, sorted({one.walk.clip.fps for one in clips})
    families = {tuple(axis.name for axis in axes) for axes in columns}
    if len(families) > 1 and recipe.told != "motion":
        raise UsageError(f"the clips have {len(families)} kinds of actions; train on one, or with told=motion")
    if len(rates) > 1 and recipe.told != "motion":
        several = " and ".join(f"{rate:g}" for rate in rates)
        raise UsageError(f"the clips have {several} frames/s; train on one rate, or with told=motion")
    space = clips[0].walk.actions.space
    ready = cached_clips(clips, recipe.size, cache, told=recipe.told, progress=progress)
    fps = rates[0] if len(rates) == 1 else None
    names = tuple(sorted({one.walk.actions.space.name for one in clips}))
    return Material(ready, names, row_width(space, recipe.told), mirror_of(space, recipe.told), fps)
