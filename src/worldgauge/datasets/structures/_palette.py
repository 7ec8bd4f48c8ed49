"""From a file's palette to a blueprint's materials: names, jigsaws, kinds of air, and the order of first sight."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.blueprint import Blueprint, Cells, base_name, material
from worldgauge.datasets.structures._fields import Fields, plain
from worldgauge.datasets.structures._guard import Limits

_NAME = re.compile(r"(?:[a-z0-9_.-]{1,64}:)?[a-z0-9_./-]{1,128}")
_STATE = re.compile(r"[a-z0-9_]{1,64}")


class Final(NamedTuple):
    """What a jigsaw stands for: its cell (x, y, z) in the box, and the material's text."""

    cell: tuple[int, int, int]
    material: str


class Build(NamedTuple):
    """What a reader of one format finds."""

    blueprint: Blueprint
    facts: dict[str, Any]
    warnings: tuple[str, ...] = ()


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


def final_of(fields: Fields) -> str | None:
    """The material that a jigsaw's data say it becomes; None where they say nothing. Raises DataError."""
    if "final_state" not in fields:
        return None
    try:
        return material_of_text(fields.text("final_state"))
    except ValueError as error:
        raise fields.error("final_state", f"{error}; export the file again") from None


def check_box(size: Sequence[int], fields: Fields, key: str, limits: Limits) -> None:
    """Raises DataError where a box of blocks has an empty side or passes the limits."""
    width, height, depth = size
    if min(size) < 1:
        raise fields.error(key, f"gives a box of {width} x {height} x {depth} blocks; all sides must be 1 or more")
    if max(size) > limits.most_side or width * height * depth > limits.most_cells:
        raise fields.error(
            key,
            f"gives a box of {width} x {height} x {depth} blocks, past the limits of {limits.most_side} a side and "
            f"{limits.most_cells} in all; split the build",
        )


def settled(cells: Cells, names: Sequence[str], finals: Iterable[Final]) -> tuple[Cells, list[str], tuple[str, ...]]:
    """Cells and names with every jigsaw as what it stands for, and warnings; jigsaws without a final state are air.

    cells: (height, depth, width) numbers of `names`; changed in place. Finals of other cells are passed over.
    """
    found = list(names)
    jigsaws = np.isin(cells, [number for number, name in enumerate(names) if base_name(name) == "jigsaw"])
    if not jigsaws.any():
        return cells, found, ()
    numbers = {name: number for number, name in reversed(list(enumerate(found)))}
    air = numbers.setdefault("air", len(found))
    found += ["air"] if air == len(found) else []
    cells[jigsaws] = air
    left = int(jigsaws.sum())
    height, depth, width = cells.shape
    for (x, y, z), name in finals:
        if 0 <= x < width and 0 <= y < height and 0 <= z < depth and jigsaws[y, z, x]:
            if name not in numbers:
                numbers[name] = len(found)
                found.append(name)
            cells[y, z, x] = numbers[name]
            jigsaws[y, z, x] = False
            left -= 1
    return cells, found, (f"{left} jigsaw blocks have no final state and are air",) if left else ()


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
