"""Our cells as Minecraft's and back: every state of the voxel world has a block of Minecraft 1.16.5 of its shape.

A settlement comes back as it went. Of the families' blocks some share one of the game's (earth that lies at a quarter
of a metre is snow there); those come back as the first that has it.

Blocks are chosen so that a body moves over both alike: where the game's namesake has another shape or grip (a path and
farmland are a sixteenth lower, packed ice is slippery), a block of the same look and the right shape stands in for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import UnknownNameError, WorldError
from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, base_name
from worldgauge.worlds.minecraft.cells import AIR, Cells, split_state, state_text
from worldgauge.worlds.voxel.blocks import CATEGORIES, CATEGORY_OF, FACINGS, KINDS, SHAPE_OF, SHAPES, STATES, block
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
    """Return the game's state for one of our block states."""
    kind = KINDS[STATES[state].kind]
    match kind.shape:
        case "stairs":
            facing = FACINGS[STATES[state].facing]
            return state_text(kind.name, {"facing": facing, **_PLAIN_STAIRS})
        case "slab" | "top_slab":
            half = "top" if kind.shape == "top_slab" else "bottom"
            return state_text(SLABS.get(kind.name, kind.name), {"type": half, "waterlogged": "false"})
        case "pane":
            name = PANES.get(kind.name, kind.name)
            off, on, more = ("none", "low", {"up": "true"}) if name.endswith("_wall") else ("false", "true", {})
            sides = {side: on if side in joined else off for side in SIDES}
            return state_text(name, {**sides, "waterlogged": "false", **more})
        case "cross":
            return state_text(PLANTS.get(kind.name, kind.name))
        case "post":
            return state_text(POSTS[kind.name])
        case "layer" | "quarter" | "three_quarter" | "liquid":
            return state_text(LEVELS.get(kind.name, LEVELS[kind.shape]))
    return state_text(CUBES.get(kind.name, kind.name))


def nearest(text: str) -> tuple[int, bool]:
    """Our state for a state of the game, and whether it is the one that stands for it (else the nearest one)."""
    exact = _back().get(text)
    if exact is not None:
        return exact, True
    name, states = split_state(text)
    named = None if name in _NEAREST_TO else _by_name().get(name)
    if named is not None and SHAPES[SHAPE_OF[named]] not in ("stairs", "slab", "top_slab", "layer"):
        return named, False
    return block(_nearest(name, states)), False


def cells_of(voxels: VoxelWorld, at: tuple[int, int, int] | None = None, version: str = "1.16.5") -> Cells:
    """Convert a voxel world to cells of the game, with the lowest corner at `at` (game coordinates).
    By default the game's (x, y, z) is our (x, -z, y)."""
    if version not in RENAMED:
        raise UnknownNameError("version of the game", version, RENAMED)
    renamed = RENAMED[version]
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
    """Convert cells of the game to a voxel world; blocks that we lack become the nearest ones, see `substitutions`."""
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
    """The blocks that `voxels_of` replaces by another, most cells first.
    All kinds of air are one block, and so are all states of one name."""
    counts = np.bincount(cells.index.reshape(-1), minlength=len(cells.palette))
    replaced = []
    for text, n in zip(cells.palette, counts.tolist(), strict=True):
        ours, exact = nearest(text)
        both = {base_name(text), base_name(STATES[ours].name)}
        if n and not exact and len(both) > 1 and not both <= AIR_NAMES:
            replaced.append(Substitution(text, STATES[ours].name, n))
    return sorted(replaced, key=lambda one: (-one.cells, one.foreign))


def _sides(mask: int) -> list[str]:
    return [side for bit, side in enumerate(SIDES) if mask >> bit & 1]


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
    for renamed in RENAMED.values():
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


_TABLES: dict[str, Any] = json.loads((files(__package__) / "names.json").read_text("utf-8"))
CUBES: dict[str, str] = _TABLES["cubes"]
"""Kinds that fill a cell; those left out have the game's own name."""
SLABS: dict[str, str] = _TABLES["slabs"]
PLANTS: dict[str, str] = _TABLES["plants"]
"""Kinds of crossed planes; those left out have the game's own name."""
PANES: dict[str, str] = _TABLES["panes"]
POSTS: dict[str, str] = _TABLES["posts"]
"""An end rod is the game's one block with the posts' shape."""
LEVELS: dict[str, str] = _TABLES["levels"]
"""By shape, or by name. Snow stops a body an eighth below its drawn height: two layers carry it as high as our one."""

_LEAVES = "distance=7,persistent=true"
_WET = {
    f"minecraft:{wood}_leaves[{_LEAVES}]": f"minecraft:{wood}_leaves[{_LEAVES},waterlogged=false]"
    for wood in ("oak", "spruce", "acacia", "birch", "jungle")
}
RENAMED: dict[str, dict[str, str]] = {"1.16.5": {}, "1.20.4": {"minecraft:grass": "minecraft:short_grass", **_WET}}
"""By version, what it writes differently."""

_NEAREST_TO: dict[str, str] = {name: ours for ours, names in _TABLES["nearest"].items() for name in names}
_MATERIALS: list[tuple[str, str, str, str, str]] = [tuple(row) for row in _TABLES["materials"]]
"""Parts of a name between two underscores, of which the first that fits counts: full cell, stairs, slab, thin wall."""
_THIN = ("_fence", "_wall", "_pane", "_door", "_gate", "_bars", "chain")
"""How names end."""
_FLOWERS = ("flower", "tulip", "rose", "mushroom", "fungus", "petals", "blossom", "pitcher")
_GREEN = ("sapling", "grass", "stem", "vine", "roots", "berry", "wart", "coral", "lichen", "leaf", "vein")


def _nearest(name: str, states: dict[str, str]) -> str:
    """Name of our block nearest to one of the game: by its shape, then by words of its name. Others are stone."""
    if name in _NEAREST_TO:
        return _NEAREST_TO[name]
    cube, stairs, slab, thin = next(row[1:] for row in _MATERIALS if row[0] in f"_{name}_")
    if name.endswith("_stairs"):
        facing = states.get("facing", "north")
        return f"{stairs}_stairs[facing={facing if facing in ('east', 'south', 'west') else 'north'}]"
    if name.endswith("_slab"):
        top = "oak_top_slab" if "oak" in slab or "acacia" in slab else "spruce_top_slab"
        return {"double": cube, "top": top}.get(states.get("type", ""), f"{slab}_slab")
    boxes = table.boxes(name, states)
    if not boxes:
        if states.get("open") == "true":
            return "air"
        return "poppy" if _has(name, _FLOWERS) else "tall_grass" if _has(name, _GREEN) else "torch"
    if boxes == (_FULL,):
        return cube
    if name.endswith(_THIN):
        return "air" if states.get("open") == "true" else thin
    x0, _, z0, x1, _, z1 = (fold(side) for fold, side in zip(_FOLDS, zip(*boxes, strict=True), strict=True))
    if max(x1 - x0, z1 - z0) < 10:
        return "lantern_post"
    if min(x1 - x0, z1 - z0) < 5:
        return thin
    height = max(box[4] for box in boxes)
    levels = ((1, "white_carpet"), (5, "flagstone_quarter"), (9, f"{slab}_slab"))
    return next((low for most, low in levels if height <= most), "flagstone_three_quarter" if height <= 12 else cube)


_FULL = (0, 0, 0, 16, 16, 16)
_FOLDS = (min, min, min, max, max, max)


def _has(name: str, words: tuple[str, ...]) -> bool:
    return any(word in name for word in words)
