"""From the blocks of a marked box of a world to a blueprint (specification: mineanybuild, 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.worlds.blocks.blueprint import AIR, Blueprint, Cells, base_name, first_seen, material, states_of

Block = tuple[int, int, int, str, Mapping[str, Any] | None]
"""World coordinates x, y, z, name, and states, if it has any; those of a jigsaw hold its final_state."""

MAX_SIDE = 512
MAX_CELLS = 2**24
_VOID = ""
"""Stands for what the release takes for air, among names of blocks."""


def box_to_blueprint(
    blocks: Iterable[Block], start: Sequence[int], end: Sequence[int], *, parity: Literal["released"] | None = None
) -> Blueprint:
    """Make the blueprint of a box.

    Materials are numbered by first occurrence, x outermost, then y, then z, with their states. A jigsaw stands for its
    final state; all kinds of air are air.

    Args:
        blocks: Every cell of the box once, in any order.
        start: Corner of smallest x, y and z, included.
        end: Corner of largest x, y and z, included.
        parity: "released" does as the released curation: materials are numbered in the order in which blocks are given,
            and only "air", and jigsaws that become structure_void, are air. Cave air, void air and jigsaws that become
            air are materials there, which is wrong: nothing is built in those cells.

    Raises:
        DataError: If the corners are no box, or a cell is missing, duplicate or outside; names the first.
    """
    low, high = (tuple(int(value) for value in corner) for corner in (start, end))
    if len(low) != 3 or len(high) != 3 or any(a > b for a, b in zip(low, high, strict=False)):
        raise DataError(f"a box from {low} to {high}; give three numbers each, the smallest corner first")
    width, height, depth = (b - a + 1 for a, b in zip(low, high, strict=True))
    if max(width, height, depth) > MAX_SIDE or width * height * depth > MAX_CELLS:
        raise DataError(f"a box of {width} x {height} x {depth} blocks passes {MAX_SIDE} a side or {MAX_CELLS} in all")
    numbers: dict[str, int] = {}
    seen = np.full((height, depth, width), -1, np.int32)
    for x, y, z, name, states in blocks:
        at = (y - low[1], z - low[2], x - low[0])
        if any(not 0 <= place < side for place, side in zip(at, seen.shape, strict=True)):
            raise DataError(f"the block at {(x, y, z)} lies outside the box from {low} to {high}")
        if seen[at] >= 0:
            raise DataError(f"the block at {(x, y, z)} is there twice; which one stands?")
        stands_for = settled(name, states)
        void = base_name(stands_for) == ("structure_void" if base_name(name) == "jigsaw" else "air")
        seen[at] = numbers.setdefault(_VOID if void else stands_for, len(numbers))
    missing = np.argwhere(seen.transpose(2, 0, 1) < 0)
    if len(missing):
        first = tuple(int(a + b) for a, b in zip(missing[0], low, strict=True))
        raise DataError(
            f"{len(missing)} of {seen.size} blocks of the box are missing (first: {first}); load that part of the world"
        )
    if parity == "released":
        return _released(seen, [name for name in numbers if name != _VOID], numbers.get(_VOID))
    return first_seen(seen, ["air" if name == _VOID else name for name in numbers])


def _released(seen: Cells, materials: Sequence[str], void: int | None) -> Blueprint:
    """All but `void` are materials, in the order in which they were given."""
    table = np.arange(1, len(materials) + (void is not None) + 1, dtype=np.int32)
    if void is not None:
        table[void:] -= 1
        table[void] = AIR
    return Blueprint(table[seen], tuple(materials))


def settled(name: str, states: Mapping[str, Any] | None) -> str:
    """Return the material that a block stands for: a jigsaw's final state, else its own.

    Args:
        name: Of the block.
        states: Of the block, if it has any.

    Raises:
        DataError: For a jigsaw without final state.
    """
    if base_name(name) != "jigsaw":
        return material(name, states)
    final = (states or {}).get("final_state")
    if not isinstance(final, str) or not final.strip():
        raise DataError("a jigsaw without final_state stands for nothing; give the block that it becomes")
    return material(*states_of(final))
