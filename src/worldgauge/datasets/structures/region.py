"""Saved worlds (`.mca`, game version 1.18 and later): a marked box of blocks, without the game."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.blueprint import Blueprint, Cells, first_seen
from worldgauge.datasets.structures._palette import Final, final_of, settled
from worldgauge.errors import DataError, UsageError
from worldgauge.nbt import Fields, Limits, check_numbers, material_of, plain
from worldgauge.nbt.region import SIDE, numbers_of, read_chunk

LEAST_BITS = 4
MOST_COORDINATE = 30_000_000


def read_region_box(
    source: Path, start: Sequence[int], end: Sequence[int], *, limits: Limits | None = None
) -> Blueprint:
    """The blocks of a box of a saved world, jigsaws as what they become.

    source: a world, its folder of region files, or one region file called r.X.Z.mca. start, end: world coordinates
    (x, y, z) of the corner of smallest and of largest numbers, both inside. Cells above, below and in sections that the
    world does not keep are air. Raises UsageError for corners that are no box, DataError naming the chunk for one
    that is missing, unfinished or damaged, MissingExtraError without nbtlib.
    """
    limits = limits or Limits()
    low, high = _corner(start, "start"), _corner(end, "end")
    sides = [b - a + 1 for a, b in zip(low, high, strict=True)]
    if min(sides) < 1:
        raise UsageError(f"the box from {low} to {high} is empty: start is the corner of smallest x, y and z")
    if max(sides) > limits.most_side or sides[0] * sides[1] * sides[2] > limits.most_cells:
        raise UsageError(
            f"the box from {low} to {high} passes the limits of {limits.most_side} blocks a side and "
            f"{limits.most_cells} in all; mark a smaller one"
        )
    box = _Box(low, np.zeros((sides[1], sides[2], sides[0]), np.int32), {"air": 0}, [])
    for cx in range(low[0] // SIDE, high[0] // SIDE + 1):
        for cz in range(low[2] // SIDE, high[2] // SIDE + 1):
            _take(_chunk(source, cx, cz, limits), cx, cz, box)
    cells, names, _ = settled(box.cells, list(box.names), box.finals)
    return first_seen(cells, names)


class _Box(NamedTuple):
    low: tuple[int, int, int]
    cells: Cells
    """(height, depth, width) numbers of `names`."""
    names: dict[str, int]
    finals: list[Final]


def _corner(place: Sequence[int], what: str) -> tuple[int, int, int]:
    if len(place) != 3 or not all(isinstance(one, (int, np.integer)) and abs(one) <= MOST_COORDINATE for one in place):
        raise UsageError(f"{what} is three whole numbers x, y, z within {MOST_COORDINATE}, got {str(place)[:60]}")
    return int(place[0]), int(place[1]), int(place[2])


def _chunk(source: Path, cx: int, cz: int, limits: Limits) -> Fields:
    """The root of a chunk. Raises DataError."""
    chunk = read_chunk(source, cx, cz, limits)
    if "Level" in chunk:
        raise DataError(
            f"{chunk.what} was saved before version 1.18 of the game; open and save the world in a newer one"
        )
    status = chunk.text("Status") if "Status" in chunk else "full"
    if status.removeprefix("minecraft:") != "full":
        raise DataError(
            f"{chunk.what} is not finished (status '{plain(status[:40])}'); walk there in the game and save"
        )
    for key, own in (("xPos", cx), ("zPos", cz)):
        if (said := chunk.whole(key, -(2**31), 2**31 - 1)) != own:
            raise chunk.error(key, f"is {said}, but the chunk's place in the file says {own}")
    return chunk


def _take(chunk: Fields, cx: int, cz: int, box: _Box) -> None:
    """Put the part of a chunk that lies in the box into its cells."""
    height = box.cells.shape[0]
    seen: set[int] = set()
    for section in chunk.compounds("sections"):
        level = section.whole("Y", -128, 127)
        bottom = SIDE * level - box.low[1]
        if "block_states" not in section or not -SIDE < bottom < height:
            continue
        if level in seen:
            raise section.error("Y", f"is {level}, as of an earlier section; get the file again")
        seen.add(level)
        numbers, names = _section(section.compound("block_states"))
        table = np.array([box.names.setdefault(name, len(box.names)) for name in names], np.int32)
        inner, outer = _overlap((SIDE * cx, SIDE * level, SIDE * cz), box)
        box.cells[outer] = table[numbers[inner]]
    for one in chunk.compounds("block_entities", needed=False):
        if (final := final_of(one)) is not None:
            x, y, z = (one.whole(axis, -(2**31), 2**31 - 1) - at for axis, at in zip("xyz", box.low, strict=True))
            box.finals.append(Final((x, y, z), final))


def _section(states: Fields) -> tuple[NDArray[np.int64], list[str]]:
    """Numbers (16, 16, 16) [y][z][x] of the names of a section."""
    names = [material_of(entry) for entry in states.compounds("palette")]
    if len(names) == 1:  # the game then writes no data, some editors an empty array
        return np.zeros((SIDE, SIDE, SIDE), np.int64), names
    bits = max(LEAST_BITS, (len(names) - 1).bit_length())
    numbers = numbers_of(states.array("data", 8), bits, SIDE**3, states, "data")
    check_numbers(numbers, len(names), states, "data")
    return numbers.reshape(SIDE, SIDE, SIDE), names


def _overlap(corner: tuple[int, int, int], box: _Box) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Where a section at `corner` (x, y, z) and the box meet: in the section's cells, and in the box's."""
    height, depth, width = box.cells.shape
    inner, outer = [], []
    for axis, side in ((1, height), (2, depth), (0, width)):
        at = corner[axis] - box.low[axis]
        low, high = max(0, at), min(side, at + SIDE)
        inner.append(slice(low - at, high - at))
        outer.append(slice(low, high))
    return tuple(inner), tuple(outer)
