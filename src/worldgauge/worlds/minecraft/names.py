"""Our cells as Minecraft's and back: every state of the voxel world has a block of Minecraft 1.16.5 of its shape.

A settlement comes back as it went. Of the families' blocks some share one of the game's (earth that lies at a quarter
of a metre is snow there); those come back as the first that has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import UnknownNameError, WorldError
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, base_name
from worldgauge.worlds.minecraft import _name_table as table
from worldgauge.worlds.minecraft.cells import nearest_block as _foreign
from worldgauge.worlds.minecraft.cells.cells import AIR, Cells, split_state, state_text
from worldgauge.worlds.voxel.blocks import CATEGORIES, CATEGORY_OF, FACINGS, KINDS, SHAPE_OF, SHAPES, STATES
from worldgauge.worlds.voxel.world import VoxelWorld

SIDES = ("east", "north", "west", "south")
"""Where a thin wall can reach; bit n of a mask is the n-th."""


_PLAIN_STAIRS = {"half": "bottom", "shape": "straight", "waterlogged": "false"}


class Substitution(NamedTuple):
    """A foreign state, the state of ours that it became, and in how many cells."""

    foreign: str
    ours: str
    cells: int


def state_of(state: int, joined: Iterable[str] = ()) -> str:
    """Return the game's state for one of our block states.

    Args:
        state: Index of ours.
        joined: The SIDES that a fence, wall or pane connects to.
    """
    kind = KINDS[STATES[state].kind]
    match kind.shape:
        case "stairs":
            facing = FACINGS[STATES[state].facing]
            return state_text(kind.name, {"facing": facing, **_PLAIN_STAIRS})
        case "slab" | "top_slab":
            half = "top" if kind.shape == "top_slab" else "bottom"
            return state_text(table.SLABS.get(kind.name, kind.name), {"type": half, "waterlogged": "false"})
        case "pane":
            return _pane(table.PANES.get(kind.name, kind.name), set(joined))
        case "cross":
            return state_text(table.PLANTS.get(kind.name, kind.name))
        case "post":
            return state_text(table.POSTS[kind.name])
        case "layer" | "quarter" | "three_quarter" | "liquid":
            return state_text(table.LEVELS[kind.shape])
    return state_text(table.CUBES.get(kind.name, kind.name))


def nearest(text: str) -> tuple[int, bool]:
    """Our state for a state of the game, and whether it is the one that stands for it (else the nearest one)."""
    exact = _back().get(text)
    if exact is not None:
        return exact, True
    name, states = split_state(text)
    named = _by_name().get(name)
    if named is not None and SHAPES[SHAPE_OF[named]] not in ("stairs", "slab", "top_slab", "layer"):
        return named, False
    return _foreign.nearest(name, states), False


def cells_of(voxels: VoxelWorld, at: tuple[int, int, int] | None = None, version: str = "1.16.5") -> Cells:
    """Convert a voxel world to cells of the game.

    Args:
        voxels: The world.
        at: Game coordinates of the box's lowest corner; by default the game's (x, y, z) is our (x, -z, y).
        version: Version whose names are used, 1.16.5 or 1.20.4.

    Returns:
        The cells.

    Raises:
        UnknownNameError: Another version.
    """
    if version not in table.RENAMED:
        raise UnknownNameError("version of the game", version, table.RENAMED)
    renamed = table.RENAMED[version]
    count = 16 * len(STATES)
    keys = voxels.states.astype(np.int64)
    keys += len(STATES) * _reach(voxels.states)
    present = np.flatnonzero(np.bincount(keys.reshape(-1), minlength=count))
    texts = [state_of(int(key) % len(STATES), _sides(int(key) // len(STATES))) for key in present]
    texts = [renamed.get(text, text) for text in texts]
    palette = tuple(dict.fromkeys((AIR, *texts)))
    place = {text: number for number, text in enumerate(palette)}
    lookup = np.zeros(count, np.uint16)
    lookup[present] = [place[text] for text in texts]
    # Ours runs x, y (north), z (up); the game's x, y (up), z (south).
    index = np.ascontiguousarray(lookup[keys].transpose(0, 2, 1)[:, :, ::-1])
    return Cells((0, 0, -voxels.shape[1]) if at is None else at, palette, index)


def voxels_of(cells: Cells, original: VoxelWorld | None = None) -> VoxelWorld:
    """Convert cells of the game to a voxel world; blocks that we lack become the nearest ones, see `substitutions`.

    Args:
        cells: The cells.
        original: The world that the cells were made of, if any: unchanged cells keep their objects; kind, seed and
            centre are taken over. Other cells belong to the connected part of their category.

    Returns:
        The world.

    Raises:
        WorldError: The original has another shape.
    """
    ours = np.array([nearest(text)[0] for text in cells.palette], np.uint8)
    states = np.ascontiguousarray(ours[cells.index][:, :, ::-1].transpose(0, 2, 1))
    if original is None:
        parts = _parts(states, np.zeros(states.shape, np.uint16))
        return VoxelWorld("minecraft", 0, states, parts, (states.shape[0] // 2, states.shape[1] // 2))
    if original.shape != states.shape:
        raise WorldError(f"cells of {states.shape} are not those of a world of {original.shape}")
    same = original.states == states
    instances = original.instances if same.all() else _parts(states, np.where(same, original.instances, 0))
    return VoxelWorld(original.kind, original.seed, states, instances, original.centre, original.drawn)


def substitutions(cells: Cells) -> list[Substitution]:
    """The blocks that `voxels_of` replaces by another, most cells first: nothing is left out silently.

    All kinds of air are one block, and so are all states of one name: levels of water, leaves near and far from a log.
    """
    counts = np.bincount(cells.index.reshape(-1), minlength=len(cells.palette))
    found = [(text, *nearest(text), int(n)) for text, n in zip(cells.palette, counts, strict=True) if n]
    named = [(text, STATES[ours].name, n) for text, ours, exact, n in found if not exact]
    replaced = [Substitution(*one) for one in named if not _same_block(*one[:2])]
    return sorted(replaced, key=lambda one: (-one.cells, one.foreign))


def _same_block(foreign: str, ours: str) -> bool:
    one, other = base_name(foreign), base_name(ours)
    return one == other or {one, other} <= AIR_NAMES


def _sides(mask: int) -> list[str]:
    return [side for bit, side in enumerate(SIDES) if mask >> bit & 1]


def _pane(name: str, joined: set[str]) -> str:
    wall = name.endswith("_wall")
    states = {side: ("low" if wall else "true") if side in joined else ("none" if wall else "false") for side in SIDES}
    return state_text(name, {**states, "waterlogged": "false", **({"up": "true"} if wall else {})})


def _reach(states: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Of every pane a mask of the SIDES where a full block or another pane stands; 0 elsewhere."""
    shape = SHAPE_OF[states]
    pane = shape == SHAPES.index("pane")
    joins = np.pad(pane | (shape == SHAPES.index("cube")), ((1, 1), (1, 1), (0, 0)))
    mask = np.zeros(states.shape, np.int64)
    nx, ny, _ = states.shape
    for bit, (dx, dy) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
        mask += joins[1 + dx : 1 + dx + nx, 1 + dy : 1 + dy + ny].astype(np.int64) << bit
    mask[~pane] = 0
    return mask


@cache
def _back() -> dict[str, int]:
    back: dict[str, int] = {}
    for state in range(len(STATES)):
        masks = range(16) if SHAPES[SHAPE_OF[state]] == "pane" else (0,)
        for mask in masks:
            back.setdefault(state_of(state, _sides(mask)), state)
    for renamed in table.RENAMED.values():
        back |= {new: back[old] for old, new in renamed.items()}
    return back


@cache
def _by_name() -> dict[str, int]:
    named: dict[str, int] = {}
    for text, state in _back().items():
        named.setdefault(split_state(text)[0], state)
    return named


def _parts(states: NDArray[np.uint8], known: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Objects (X, Y, Z): those `known`, and every other connected part of a thing's category as one of its own."""
    things = [CATEGORIES.index(name) for name in ("building", "tree", "flower", "water")]
    category = CATEGORY_OF[states].astype(np.uint8)
    category[~np.isin(category, things) | (known > 0)] = 0
    labels = known.astype(np.uint16, copy=True)
    _flood(category, labels, int(known.max()))
    return labels


@njit(cache=True, nogil=True)
def _flood(category, labels, last):  # type: ignore[no-untyped-def]
    """Number the 26-connected parts of equal category after `last`; those beyond 65,535 stay 0."""
    sx, sy, sz = category.shape
    stack = [(0, 0, 0)]
    for i in range(sx):
        for j in range(sy):
            for k in range(sz):
                if category[i, j, k] == 0 or labels[i, j, k] > 0 or last == 65535:
                    continue
                last += 1
                labels[i, j, k] = last
                stack.append((i, j, k))
                while len(stack) > 1:
                    a, b, c = stack.pop()
                    for x in range(max(a - 1, 0), min(a + 2, sx)):
                        for y in range(max(b - 1, 0), min(b + 2, sy)):
                            for z in range(max(c - 1, 0), min(c + 2, sz)):
                                if labels[x, y, z] == 0 and category[x, y, z] == category[a, b, c]:
                                    labels[x, y, z] = last
                                    stack.append((x, y, z))
