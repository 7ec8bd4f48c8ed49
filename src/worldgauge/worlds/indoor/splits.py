"""Homes for training, validation and test: three ranges of seeds that share no home."""

from __future__ import annotations

import re

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UnknownNameError, UsageError

SPLITS = ("train", "val", "test")
SPLIT_SIZE = 1_000_000
"""Homes of a split. Seeds below that are in no split: examples and other collections use them."""

_NAME = re.compile(r"home-([a-z]+)-([0-9]{4,6})")


def scene_seed(split: str, number: int) -> int:
    """Seed of home `number`, 0 to SPLIT_SIZE - 1, of a split.

    Raises UnknownNameError on another split, UsageError on another number.
    """
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    if not 0 <= number < SPLIT_SIZE:
        raise UsageError(f"split '{split}' has homes 0 to {SPLIT_SIZE - 1}, not {number}")
    return (SPLITS.index(split) + 1) * SPLIT_SIZE + number


def scene_name(split: str, number: int) -> str:
    """Such as "home-test-0007". Raises as `scene_seed`."""
    scene_seed(split, number)
    return f"home-{split}-{number:04d}"


def world_of(scene: str) -> WorldFacts:
    """The world of a scene's name, without a digest. Raises UsageError on a name that `scene_name` does not give."""
    found = _NAME.fullmatch(scene)
    if found is None or found[1] not in SPLITS or scene_name(found[1], int(found[2])) != scene:
        raise UsageError(f"no home is called '{scene[:60]}'; names are like 'home-test-0007'")
    return WorldFacts("indoor", {"seed": scene_seed(found[1], int(found[2]))})
