"""What the writers of structure files share: names as the game has them, and packed bytes that repeat."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from typing import Any

from worldgauge.core.errors import UsageError
from worldgauge.worlds.blocks.blueprint import Blueprint, states_of
from worldgauge.worlds.blocks.nbt import material_of_text, nbt_library, plain

DATA_VERSION = 3700
"""Of the game's version 1.20.4."""
MOST_SIDE = 0xFFFF


def game_name(text: str) -> tuple[str, dict[str, str]]:
    """A material's name with its namespace, and its states. Raises UsageError for what is no name of the game."""
    try:
        name, states = states_of(material_of_text(text))
    except ValueError as error:
        raise UsageError(
            f"material '{plain(text[:80])}' cannot be written: {error}; give the game's own name"
        ) from None
    return name if ":" in name else f"minecraft:{name}", states


def check_size(blueprint: Blueprint) -> None:
    """Raises UsageError for a blueprint that no structure file holds."""
    if not 1 <= min(blueprint.size) <= max(blueprint.size) <= MOST_SIDE:
        raise UsageError(f"a structure file has 1 to {MOST_SIDE} blocks a side, this blueprint {tuple(blueprint.size)}")


def packed(name: str, content: Callable[[Any], dict[str, Any]]) -> bytes:
    """The gzip bytes of a root compound called `name`, whose tags `content` makes from nbtlib's classes."""
    library = nbt_library()
    file = io.BytesIO()
    library.File(content(library), root_name=name).write(file)
    return gzip.compress(file.getvalue(), mtime=0)
