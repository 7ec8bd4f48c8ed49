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
    """Return the seed of a home.

    Args:
        split: One of SPLITS.
        number: 0 to SPLIT_SIZE - 1.

    Raises:
        UnknownNameError: There is no such split.
        UsageError: There is no such number.
    """
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    if not 0 <= number < SPLIT_SIZE:
        raise UsageError(f"split '{split}' has homes 0 to {SPLIT_SIZE - 1}, not {number}")
    return (SPLITS.index(split) + 1) * SPLIT_SIZE + number


def scene_name(split: str, number: int) -> str:
    """Name a home, such as "home-test-0007".

    Args:
        split: One of SPLITS.
        number: 0 to SPLIT_SIZE - 1.

    Raises:
        UnknownNameError: There is no such split.
        UsageError: There is no such number.
    """
    scene_seed(split, number)
    return f"home-{split}-{number:04d}"


def world_of(scene: str) -> WorldFacts:
    """Return the world of a scene's name, without a digest.

    Raises:
        UsageError: `scene_name` does not give this name.
    """
    found = _NAME.fullmatch(scene)
    if found is None or found[1] not in SPLITS or scene_name(found[1], int(found[2])) != scene:
        raise UsageError(f"no home is called '{scene[:60]}'; names are like 'home-test-0007'")
    return WorldFacts("indoor", {"seed": scene_seed(found[1], int(found[2]))})
