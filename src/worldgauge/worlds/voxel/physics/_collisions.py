"""What a body meets in a cell, state by state: boxes that stop it, water, webs, ice.

The boxes are the collision boxes of the blocks of the 1.16.5 game that stand for the states (worlds.minecraft.names).
Most are those that are drawn; a fence is half again as high, and a cactus pricks a sixteenth inside its cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.voxel.blocks import FACINGS, KINDS, LIQUID, SHAPE_OF, SHAPES, SOLID, STATES, Box, block, boxes_of
from worldgauge.worlds.voxel.physics._body import HAS_ARMS, IS_ICE, IS_LIQUID, IS_SOLID, IS_WEB, JOINS


class Tables(NamedTuple):
    """What a body needs to know of every state.

    Attributes:
        boxes: (S, 5, 6) collision boxes, x0 y0 z0 x1 y1 z1 in the cell; of a thin wall its core and the arms towards
            each of FACINGS.
        counts: (S,) how many of them count.
        traits: (S,) bits of `_body`.
    """

    boxes: FloatArray
    counts: NDArray[np.int64]
    traits: NDArray[np.uint8]


_FENCE_HEIGHT_M = 1.5
# Of thin walls: half the width of the core, half that of the arms, height. Those left out are fences.
_THIN = {
    "cobblestone_wall": (0.25, 0.1875, _FENCE_HEIGHT_M),
    "glass_pane": (0.0625, 0.0625, 1.0),
    "steel_rail": (0.0625, 0.0625, 1.0),
}
_FENCE = (0.125, 0.125, _FENCE_HEIGHT_M)
_CACTUS: Box = (0.0625, 0.0625, 0, 0.9375, 0.9375, 0.9375)


def _boxes_that_stop(state: int) -> list[Box]:
    """Collision boxes of a solid state; of a thin wall its core, then its four arms."""
    kind = KINDS[STATES[state].kind]
    if kind.shape == "pane":
        return _thin(*_THIN.get(kind.name, _FENCE))
    return [_CACTUS] if kind.name == "cactus" else boxes_of(state)


def _thin(core: float, arm: float, height: float) -> list[Box]:
    near, far, low, high = 0.5 - core, 0.5 + core, 0.5 - arm, 0.5 + arm
    east, north = (far, low, 0, 1, high, height), (low, far, 0, high, 1, height)
    west, south = (0, low, 0, near, high, height), (low, 0, 0, high, near, height)
    return [(near, near, 0, far, far, height), east, north, west, south]


def _tables() -> Tables:
    boxes = np.zeros((len(STATES), 1 + len(FACINGS), 6))
    counts = np.zeros(len(STATES), np.int64)
    for state in np.flatnonzero(SOLID).tolist():
        own = _boxes_that_stop(state)
        counts[state] = len(own)
        boxes[state, : len(own)] = own
    return Tables(boxes, counts, _traits())


def _traits() -> NDArray[np.uint8]:
    shapes = [SHAPES[shape] for shape in SHAPE_OF]
    numbers = np.arange(len(STATES))
    bits = {
        IS_SOLID: SOLID,
        IS_LIQUID: LIQUID,
        IS_ICE: numbers == block("ice"),
        IS_WEB: numbers == block("cobweb"),
        HAS_ARMS: np.isin(shapes, "pane"),
        JOINS: np.isin(shapes, ("cube", "pane")),
    }
    traits = np.zeros(len(STATES), np.uint8)
    for bit, holds in bits.items():
        traits[holds] |= bit
    return traits


TABLES = _tables()
