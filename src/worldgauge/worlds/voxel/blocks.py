"""The block table: every kind of cell, its category, its shape, and whether a body collides with it.

A cell of a world is one byte, an index into STATES. A kind with a direction (stairs, torches) has one
state a direction, written `oak_stairs[facing=east]`. Directions are those of the world frame: east is
+x, north is +y; a stair faces the side on which it is high.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UnknownNameError
from worldgauge.worlds.voxel.families.matter import MATTER

CATEGORIES = ("none", "building", "tree", "flower", "grass", "path", "water", "sky", "sand", "dirt", "snow")
"""Index 0 is what has no category of the paper (bare rock); the ten others are the paper's, in its order."""

SHAPES = (
    *("empty", "cube", "slab", "top_slab", "stairs", "cross", "post", "pane", "layer", "liquid", "carpet"),
    *("quarter", "three_quarter"),
)
"""empty: nothing. cube: full cell. slab: lower half. top_slab: upper half. stairs: slab and a half cube on
the high side. cross: two diagonal planes of a plant. post: centred pillar of a quarter cell. pane: thin wall
(fence, window) towards the full blocks and panes next to it. layer: an eighth of a cell high. liquid: lower
7/8, not solid. carpet: 1/16. quarter, three_quarter: that much of the cell from below."""

FACINGS = ("east", "north", "west", "south")

LIQUID_TOP = 0.875
"""Height of a liquid's surface in its cell, where no liquid lies on it."""

Box = tuple[float, float, float, float, float, float]
"""A part of a cell, metres from its lower corner: x0, y0, z0, x1, y1, z1."""


class Kind(NamedTuple):
    """One kind of block."""

    name: str
    category: str
    shape: str
    ground: bool = False
    """True where the collector's rule takes it for natural ground (LoopNav release: no goals on roofs)."""


def _settled() -> tuple[Kind, ...]:
    """What settlements are made of, from the table beside this file."""
    with (files(__package__) / "settled_blocks.csv").open(encoding="utf-8") as table:
        return tuple(Kind(r["name"], r["category"], r["shape"], bool(r["ground"])) for r in csv.DictReader(table))


_SETTLED = _settled()

KINDS: tuple[Kind, ...] = (
    *_SETTLED,
    *(Kind(name, one.category, shape, one.ground) for one in MATTER for name, shape in one.kinds()),
)
"""The settlements' blocks, then those of the families; new ones come last, since worlds are stored as indices."""

_SOLID_SHAPES = {
    *("cube", "slab", "top_slab", "stairs", "post", "pane", "layer", "carpet"),
    *("quarter", "three_quarter"),
}
_PASSABLE_KINDS = {"torch"}


class State(NamedTuple):
    """One value a cell can take: a kind and, where it has one, a direction (index into FACINGS)."""

    name: str
    kind: int
    facing: int


def _states() -> tuple[State, ...]:
    states = []
    for index, kind in enumerate(KINDS):
        if kind.shape == "stairs":
            states += [State(f"{kind.name}[facing={f}]", index, i) for i, f in enumerate(FACINGS)]
        else:
            states.append(State(kind.name, index, 0))
    return tuple(states)


STATES: tuple[State, ...] = _states()
SETTLED_STATES = sum(len(FACINGS) if kind.shape == "stairs" else 1 for kind in _SETTLED)
"""States that settlements are made of: the first ones. The others occur in the families only."""

_INDEX = {state.name: index for index, state in enumerate(STATES)}

AIR = 0

CATEGORY_OF: NDArray[np.uint16] = np.array([CATEGORIES.index(KINDS[s.kind].category) for s in STATES], np.uint16)
SHAPE_OF: NDArray[np.uint8] = np.array([SHAPES.index(KINDS[s.kind].shape) for s in STATES], np.uint8)
FACING_OF: NDArray[np.uint8] = np.array([s.facing for s in STATES], np.uint8)
GROUND: NDArray[np.bool_] = np.array([KINDS[s.kind].ground for s in STATES])
SOLID: NDArray[np.bool_] = np.array(
    [KINDS[s.kind].shape in _SOLID_SHAPES and KINDS[s.kind].name not in _PASSABLE_KINDS for s in STATES]
)
LIQUID: NDArray[np.bool_] = np.array([KINDS[s.kind].shape == "liquid" for s in STATES])


def block(name: str) -> int:
    """Return the state index of a name, such as "stone" or "oak_stairs[facing=east]"."""
    try:
        return _INDEX[name]
    except KeyError:
        raise UnknownNameError("block", name, _INDEX) from None


def boxes_of(state: int) -> list[Box]:
    """The parts of a state as it is drawn; none for air. A cross has a row for each of its two planes.
    A pane has its core, then the arm towards each of FACINGS. An arm needs a full block or another pane on that
    side."""
    kind = KINDS[STATES[state].kind]
    match kind.shape:
        case "empty":
            return []
        case "stairs":
            return [(0, 0, 0, 1, 1, 0.5), _HIGH_SIDES[STATES[state].facing]]
        case "cross":
            return [(0, 0, 0, 1, 1, 1)] * 2
        case "post":
            return [(0.375, 0.375, 0, 0.625, 0.625, 0.8125 if kind.name == "torch" else 1)]
        case "pane":
            core, arm = _PANE_HALVES.get(kind.name, (0.125, 0.0625))
            near, far, low, high = 0.5 - core, 0.5 + core, 0.5 - arm, 0.5 + arm
            arms: list[Box] = [(far, low, 0, 1, high, 1), (low, far, 0, high, 1, 1)]
            arms += [(0, low, 0, near, high, 1), (low, 0, 0, high, near, 1)]
            return [(near, near, 0, far, far, 1), *arms]
    low, high = _LAYERS[kind.shape]
    return [(0, 0, low, 1, 1, high)]


_HIGH_SIDES: tuple[Box, ...] = (
    (0.5, 0, 0.5, 1, 1, 1),
    (0, 0.5, 0.5, 1, 1, 1),
    (0, 0, 0.5, 0.5, 1, 1),
    (0, 0, 0.5, 1, 0.5, 1),
)
# Half the width of a pane's core and of its arms.
_PANE_HALVES = {"glass_pane": (0.0625, 0.0625), "cobblestone_wall": (0.25, 0.1875)}
# Shapes that fill their cell in the plane: from where to where in height.
_LAYERS = {
    "cube": (0, 1),
    "slab": (0, 0.5),
    "top_slab": (0.5, 1),
    "layer": (0, 0.125),
    "liquid": (0, LIQUID_TOP),
    "carpet": (0, 0.0625),
    "quarter": (0, 0.25),
    "three_quarter": (0, 0.75),
}
