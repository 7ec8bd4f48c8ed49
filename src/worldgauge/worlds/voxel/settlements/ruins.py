"""How an abandoned house falls apart: holes, moss, rot and cobwebs."""

from __future__ import annotations

import numpy as np

from worldgauge.worlds.voxel.blocks import AIR, block
from worldgauge.worlds.voxel.settlements.canvas import Canvas
from worldgauge.worlds.voxel.settlements.terrain import BoolArray

_TALLEST = 24
_BECOMES = {
    "oak_planks": ("rotten_planks", 0.5),
    "spruce_planks": ("rotten_planks", 0.5),
    "cobblestone": ("mossy_cobblestone", 0.6),
    "stone_bricks": ("mossy_cobblestone", 0.3),
    "bricks": ("mossy_cobblestone", 0.25),
    "white_plaster": ("rotten_planks", 0.2),
    "glass_pane": ("air", 0.65),
    "torch": ("air", 1.0),
    "lantern_post": ("air", 1.0),
    "white_carpet": ("air", 0.7),
    "bookshelf": ("cobweb", 0.5),
    "hay_bale": ("air", 0.4),
}


def decay(rng: np.random.Generator, canvas: Canvas, area: tuple[slice, slice], z: int, instance: int) -> None:
    """Let a building fall into ruin; what nothing supports falls.

    Args:
        rng: Generator.
        canvas: What is drawn on.
        area: Columns of the building along x and y.
        z: Its ground cell.
        instance: Its object number.
    """
    where = (*area, slice(z, min(z + _TALLEST, canvas.states.shape[2])))
    states, owner = canvas.states[where], canvas.instances[where]
    mine = (owner == instance) & (states != AIR)
    hole = _blobs(rng, mine.shape) > 0.74
    hole |= rng.random(mine.shape) < 0.03
    hole[..., :2] = False
    states[mine & hole] = AIR
    for old, (new, share) in _BECOMES.items():
        states[mine & (states == block(old)) & (rng.random(mine.shape) < share)] = block(new)
    mine &= states != AIR
    inside = _between(mine) & (states == AIR)
    states[inside & (rng.random(mine.shape) < 0.03)] = block("cobweb")
    mine |= inside & (states == block("cobweb"))
    held = _held(mine)
    states[mine & ~held] = AIR
    owner[held] = instance
    owner[mine & ~held] = 0
    owner[(states == AIR)] = 0


def _blobs(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Random values in lumps of three cells, (X, Y, Z)."""
    coarse = rng.random(tuple(n // 3 + 1 for n in shape))
    for axis in range(3):
        coarse = np.repeat(coarse, 3, axis)
    return coarse[: shape[0], : shape[1], : shape[2]] * 0.8 + 0.2 * rng.random(shape)


def _between(mine: BoolArray) -> BoolArray:
    """Cells with parts of the building on both sides along x and along y."""
    inside = np.ones_like(mine)
    for axis in (0, 1):
        before = np.maximum.accumulate(mine, axis)
        after = np.flip(np.maximum.accumulate(np.flip(mine, axis), axis), axis)
        inside &= before & after
    return inside


def _held(mine: BoolArray) -> BoolArray:
    """Cells joined to the ground, cell by cell through faces."""
    held = np.zeros_like(mine)
    held[..., 0] = mine[..., 0]
    held[..., 1] = mine[..., 1]
    count = -1
    while count != int(held.sum()):
        count = int(held.sum())
        wide = np.pad(held, 1)
        near = wide[1:-1, 1:-1, 1:-1].copy()
        for axis in range(3):
            for shift in (-1, 1):
                near |= np.roll(wide, shift, axis)[1:-1, 1:-1, 1:-1]
        held = near & mine
    return held
