"""Blueprints put into a world of the game by its commands and compared cell by cell, and a world's box as a blueprint.

built = build(blueprint, (100, 64, -20), server)
built = build_saved(blueprint, (100, 64, -20), Path("saves/village"), Path("copy"))
blueprint_of(read_cells(Path("saves/village"), ((0, 60, 0), (15, 80, 15))))
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import WorldError
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, Blueprint, base_name, first_seen, material, states_of
from worldgauge.worlds.minecraft.bridge import BridgeError
from worldgauge.worlds.minecraft.cells import AIR, Cells, split_state, state_text
from worldgauge.worlds.minecraft.regions import Box, Corner, check_box, demand_inside, put_cells, read_cells, version_of
from worldgauge.worlds.minecraft.versions import current, full_states, spelled

if TYPE_CHECKING:
    from worldgauge.worlds.minecraft.server import Player

MOST_FILLED = 32_768
"""Cells of one fill (the game's own limit)."""
MOST_SENT = 256
"""Commands of one batch."""
MOST_DIFFERENCES = 10_000
LOOK_S, MOST_LOOKS = 0.25, 20
"""Between two looks at a build that is not as planned; and how many, at most."""

_LEANING = re.compile(
    r"torch|ladder|door|button|lever|rail|sign|banner|carpet|pressure_plate|repeater|comparator|redstone_wire|tripwire|vine"
    r"|sapling|flower|tulip|poppy|dandelion|orchid|allium|bluet|daisy|lily|rose|peony|lilac|fern|grass$|bush|mushroom$"
    r"|wheat|carrots|potatoes|beetroots|stem|cactus|sugar_cane|bamboo|kelp|coral|lantern|bell|bed$|snow$|chorus|scaffolding"
)
"""Names of what pops off when its support is not there yet."""


class CellDifference(NamedTuple):
    """A cell, in game coordinates, that is not as planned: states in full."""

    cell: Corner
    planned: str
    found: str


class Verified(NamedTuple):
    """A build compared with its plan."""

    right: int  # blocks that are as planned, name and states
    wrong: int
    missing: int  # blocks with air in their place
    differences: tuple[CellDifference, ...]  # the first MOST_DIFFERENCES, x outermost, then y, then z


def build(blueprint: Blueprint, at: Corner, place: Player) -> Verified:
    """Build a blueprint in a running world, with the lowest corner of its box at `at`, and read back what became of it.
    Clears the box first and touches nothing else. Blocks that need a support come last. Nothing is tried twice: falls
    and refused commands are reported."""
    box = _box(blueprint, at)
    demand_inside(box[0][1], box[1][1], place.version)
    plan = _plan(blueprint, box[0], lambda texts: place.full_states([spelled(text, place.version) for text in texts]))
    texts = [*_clearing(place.read(box)), *_placing(plan)]
    for start in range(0, len(texts), MOST_SENT):
        _send(place, texts[start : start + MOST_SENT])
    # Removes items that clearing has dropped in the box, and nothing else.
    (x, y, z), (i, j, k) = box
    _send(place, [f"kill @e[type=item,x={x},y={y},z={z},dx={i - x},dy={j - y},dz={k - z}]"])
    return compare(plan, _settled(place, box, plan))


def build_saved(blueprint: Blueprint, at: Corner, world: Path, out: Path) -> Verified:
    """Build a blueprint in a copy of a saved world, without a server. Nothing falls until the game loads it."""
    box = _box(blueprint, at)
    version = version_of(world, box)
    plan = _plan(blueprint, box[0], lambda texts: full_states(texts, version))
    put_cells(world, out, plan)
    return compare(plan, read_cells(out, box))


def compare(plan: Cells, found: Cells) -> Verified:
    """Compare planned cells with those found."""
    if (plan.origin, plan.size) != (found.origin, found.size):
        raise WorldError(
            f"cells read: {found.size} from {found.origin}, planned: {plan.size} from {plan.origin}; read the same box"
        )
    numbers = {text: number for number, text in enumerate(dict.fromkeys(map(_one_air, plan.palette + found.palette)))}
    mine, theirs = (
        np.array([numbers[_one_air(text)] for text in cells.palette])[cells.index] for cells in (plan, found)
    )
    air = numbers[AIR]
    apart = mine != theirs
    missing = int((apart & (theirs == air)).sum())
    x, y, z = plan.origin
    differences = (
        CellDifference(
            (x + int(i), y + int(j), z + int(k)), plan.palette[plan.index[i, j, k]], found.palette[found.index[i, j, k]]
        )
        for i, j, k in np.argwhere(apart)[:MOST_DIFFERENCES]
    )
    return Verified(int((~apart & (mine != air)).sum()), int(apart.sum()) - missing, missing, tuple(differences))


def blueprint_of(cells: Cells) -> Blueprint:
    """Convert cells to a blueprint with complete states in the names of 1.20.4; all kinds of air become air."""
    names = [material(*split_state(current(text))) for text in cells.palette]
    return first_seen(cells.index.transpose(1, 2, 0).astype(np.int32), names)


def _box(blueprint: Blueprint, at: Corner) -> Box:
    """The cells of a blueprint whose lowest corner is `at`."""
    width, height, depth = blueprint.size
    return check_box((at, (at[0] + width - 1, at[1] + height - 1, at[2] + depth - 1)))


def _plan(blueprint: Blueprint, at: Corner, in_full: Callable[[Sequence[str]], Sequence[str]]) -> Cells:
    """The blueprint's cells in the game's own words."""
    used = np.unique(blueprint.cells[blueprint.solid])
    texts = [state_text(*states_of(blueprint.materials[number - 1])) for number in used]
    full = in_full(texts)
    palette = tuple(dict.fromkeys((AIR, *full)))
    table = np.zeros(len(blueprint.materials) + 1, np.uint16)
    table[used] = [palette.index(text) for text in full]
    return Cells(at, palette, np.ascontiguousarray(table[np.maximum(blueprint.cells, 0)].transpose(2, 0, 1)))


def _clearing(before: Cells) -> Iterator[str]:
    """Fills with air; none of what is air already, which the game would call a failure."""
    solid = np.array([_one_air(text) != AIR for text in before.palette])[before.index]
    for (low, high), _ in _boxes(np.zeros(before.size, np.int32)):
        if solid[tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))].any():
            yield _command((low, high), before.origin, AIR)


def _placing(plan: Cells) -> Iterator[str]:
    """The commands that make the plan of air."""
    leaning = np.array([bool(_LEANING.search(base_name(text))) for text in plan.palette])
    for later in (False, True):
        wanted = np.where(leaning[plan.index] == later, plan.index, 0).astype(np.int32)
        for box, number in _boxes(wanted - 1):
            yield _command(box, plan.origin, plan.palette[number + 1])


def _settled(place: Player, box: Box, plan: Cells) -> Cells:
    """The box once it is as planned, or once two looks at it find the same: what falls takes its time."""
    found = place.read(box)
    for _ in range(MOST_LOOKS):
        if not compare(plan, found).differences:
            break
        time.sleep(LOOK_S)
        before, found = found, place.read(box)
        if not compare(before, found).differences:
            break
    return found


def _boxes(numbers: NDArray[np.int32]) -> Iterator[tuple[Box, int]]:
    """Boxes of one number each, with that number, that hold every cell from 0 up once, from below.
    A box starts at the lowest cell that is left and grows along x, then z, then y while the number stays the same."""
    left = numbers.copy()
    for y in range(left.shape[1]):
        for z, x in np.argwhere(left[:, y].T >= 0).tolist():
            number = int(left[x, y, z])
            if number < 0:
                continue  # a box from before holds it
            start, end = (x, y, z), [x + 1, y + 1, z + 1]
            for axis in (0, 2, 1):
                rest = math.prod(end[other] - start[other] for other in range(3) if other != axis)
                most = min(left.shape[axis], start[axis] + MOST_FILLED // rest)
                layer = [slice(a, b) for a, b in zip(start, end, strict=True)]
                while end[axis] < most:
                    layer[axis] = slice(end[axis], end[axis] + 1)
                    if (left[tuple(layer)] != number).any():
                        break
                    end[axis] += 1
            left[x : end[0], y : end[1], z : end[2]] = -1
            yield (start, (end[0] - 1, end[1] - 1, end[2] - 1)), number


def _command(box: Box, origin: Corner, state: str) -> str:
    """The command that puts a state into a box of cells counted from `origin`."""
    low, high = (" ".join(str(a + b) for a, b in zip(corner, origin, strict=True)) for corner in box)
    return f"setblock {low} {state}" if low == high else f"fill {low} {high} {state}"


def _send(place: Player, texts: Sequence[str]) -> None:
    """Commands, of which some may find nothing to do, which the game calls a failure: what became of them is read."""
    try:
        place.commands(texts)
    except BridgeError as error:
        if error.kind != "command":
            raise


def _one_air(text: str) -> str:
    return AIR if base_name(text) in AIR_NAMES else text
