"""Blocks as NBT has them: a palette's compounds of Name and Properties, and numbers that must lie within it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.worlds.blocks.blueprint import material
from worldgauge.worlds.blocks.nbt._fields import Fields, plain

_NAME = re.compile(r"(?:[a-z0-9_.-]{1,64}:)?[a-z0-9_./-]{1,128}")
_STATE = re.compile(r"[a-z0-9_]{1,64}")


def material_of_text(text: str) -> str:
    """A material of "namespace:name[key=value,...]". Raises ValueError for what the game would not take."""
    name, bracket, rest = text.strip().partition("[")
    if bracket and not rest.endswith("]"):
        raise ValueError("has no closing bracket")
    parts = [part.partition("=") for part in rest.removesuffix("]").split(",")] if rest.removesuffix("]") else []
    return _checked(name, {key.strip(): value.strip() for key, _, value in parts})


def material_of(entry: Fields) -> str:
    """A material of a palette's compound: Name and Properties. Raises DataError."""
    states: dict[str, str] = {}
    if "Properties" in entry:
        properties = entry.compound("Properties")
        states = {str(key): properties.text(key) for key in properties.tags}
    try:
        return _checked(entry.text("Name"), states)
    except ValueError as error:
        raise entry.error("Name", f"{error}, so it is no block of the game; export the file again") from None


def check_numbers(cells: NDArray[Any], count: int, fields: Fields, key: str) -> None:
    """Raises DataError where a cell has a number that the palette of `count` entries has not."""
    if cells.size and (cells.min() < 0 or cells.max() >= count):
        place = int(np.argmax((cells < 0) | (cells >= count)))
        raise fields.error(key, f"holds {cells.ravel()[place]} for cell {place}, but the palette has {count} entries")


def _checked(name: str, states: dict[str, str]) -> str:
    lower = name.strip().lower()
    if not _NAME.fullmatch(lower):
        raise ValueError(f"'{plain(name[:40])}' has letters that no block's name has")
    for key, value in states.items():
        if not _STATE.fullmatch(key) or not _STATE.fullmatch(value):
            raise ValueError(f"state '{plain(key[:40])}={plain(value[:40])}' has letters that no block's state has")
    return material(lower, states)
