"""Saved worlds (`.mca`, game version 1.16 and later): a marked box of blocks, without the game."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.worlds.blocks.blueprint import Blueprint, Cells, first_seen
from worldgauge.worlds.blocks.nbt import Fields, Limits
from worldgauge.worlds.blocks.nbt.region import SIDE, read_chunk
from worldgauge.worlds.blocks.structure_files.palette import Final, current_material, final_of, settled
from worldgauge.worlds.minecraft.cells.chunks import data_version, overlap, section_numbers, sections_of

MOST_COORDINATE = 30_000_000


def read_region_box(
    source: Path, start: Sequence[int], end: Sequence[int], *, limits: Limits | None = None
) -> Blueprint:
    """Read the blocks of a box of a saved world, in the names of 1.20.4, with jigsaws as what they become.

    Cells above, below and in sections that the world does not keep are air.

    Args:
        source: A world, its folder of region files, or one region file called r.X.Z.mca.
        start: Corner (x, y, z) of smallest world coordinates.
        end: Corner of largest ones, included.
        limits: Largest size.

    Returns:
        The blueprint.

    Raises:
        UsageError: The corners do not make a box, or it passes the limits.
        DataError: A chunk is missing, unfinished or damaged; the message names it.
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
            _take(read_chunk(source, cx, cz, limits).fields, (cx, cz), box)
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


def _take(chunk: Fields, at: tuple[int, int], box: _Box) -> None:
    """Put the part of a chunk that lies in the box into its cells."""
    cells, version = box.cells.transpose(2, 0, 1), data_version(chunk)
    for section in sections_of(chunk, at):
        corner = (SIDE * at[0], SIDE * section.level, SIDE * at[1])
        if not -SIDE < corner[1] - box.low[1] < cells.shape[1]:
            continue
        numbers, names = section_numbers(section)
        table = np.array(
            [box.names.setdefault(current_material(name, version), len(box.names)) for name in names], np.int32
        )
        inner, outer = overlap(corner, box.low, cells.shape)
        cells[outer] = table[numbers.transpose(2, 0, 1)[inner]]
    old = "Level" in chunk
    holders = chunk.compound("Level") if old else chunk
    for one in holders.compounds("TileEntities" if old else "block_entities", needed=False):
        if (final := final_of(one)) is not None:
            x, y, z = (one.whole(axis, -(2**31), 2**31 - 1) - low for axis, low in zip("xyz", box.low, strict=True))
            box.finals.append(Final((x, y, z), current_material(final, version)))
