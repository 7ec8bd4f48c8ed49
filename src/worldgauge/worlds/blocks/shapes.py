"""Shapes of blocks: boxes and sheets in sixteenths of a block's side.

Where the collision boxes are also what one sees (stairs, slabs, doors, trapdoors, panes, carpets, cauldrons), they come
from the table. Fences, walls and everything that a body walks through have shapes of their own here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks.fittings import fitting_shape_of, plant_shape_of
from worldgauge.worlds.blocks.parts import FULL, Shape, solid, turned
from worldgauge.worlds.blocks.table import Box

__all__ = ["Shape", "family_of", "shape_of"]

_COMPASS = ("north", "east", "south", "west")
States = Mapping[str, str]

_NONE = Shape()
_UNSEEN = frozenset({"air", "cave_air", "void_air", "structure_void", "barrier", "light", "moving_piston"})
_CUBES = frozenset({"soul_sand", "mud", "honey_block", "powder_snow", "end_gateway"})
"""What a body sinks into or is stopped by a little earlier than by what one sees."""


def shape_of(name: str, states: States) -> Shape:
    """Shape of a block in given states.

    Args:
        name: Name of the block. An unknown one is a full cube.
        states: Its states; missing ones have their default. `full=true` is our own state for a fluid below the same
            fluid.

    Returns:
        The shape.
    """
    if name in _UNSEEN:
        return _NONE
    if not table.known(name):
        return solid(FULL)
    said = {**table.default_states(name), **states}
    family = family_of(name)
    if family in _FAMILIES:
        return _FAMILIES[family](name, said)
    own = fitting_shape_of(name, said) or plant_shape_of(name, said)
    if own is not None:
        return own
    if name in _CUBES or name.endswith("shulker_box"):
        return solid(FULL)
    clipped = [tuple(min(max(side, 0), 16) for side in box) for box in table.boxes(name, said)]
    return solid(*(cast("Box", box) for box in clipped if all(box[i] < box[i + 3] for i in range(3))))


def family_of(name: str) -> str:
    """The family of blocks whose shape neighbours may decide: stairs, fence, gate, wall, pane, fluid; else ""."""
    if not table.known(name):
        return ""
    if name.endswith("_stairs"):
        return "stairs"
    if name.endswith("_fence_gate"):
        return "gate"
    if name.endswith("_fence"):
        return "fence"
    if name.endswith("_wall"):
        return "wall"
    if name.endswith("glass_pane") or name == "iron_bars":
        return "pane"
    return "fluid" if name in ("water", "lava", "bubble_column") else ""


def _fence(name: str, states: States) -> Shape:
    arm = solid((7, 6, 0, 9, 9, 6), (7, 12, 0, 9, 15, 6))
    return sum(_arms(arm, states, "true"), solid((6, 0, 6, 10, 16, 10)))


def _gate(name: str, states: States) -> Shape:
    posts = solid((0, 5, 7, 2, 16, 9), (14, 5, 7, 16, 16, 9))
    if states["open"] == "true":
        leaf = ((0, 6, 1, 2, 9, 7), (0, 12, 1, 2, 15, 7), (0, 9, 1, 2, 12, 3))
        rails = solid(*leaf, *((14, y0, z0, 16, y1, z1) for _, y0, z0, _, y1, z1 in leaf))
    else:
        rails = solid((2, 6, 7, 14, 9, 9), (2, 12, 7, 14, 15, 9), (6, 9, 7, 10, 12, 9))
    gate = turned(posts + rails, states["facing"])
    if states["in_wall"] == "true":
        lower = (((x0, y0 - 3, z0, x1, y1 - 3, z1), paint) for (x0, y0, z0, x1, y1, z1), paint in gate.parts)
        return solid(*(box for box, _ in lower))
    return gate


def _wall(name: str, states: States) -> Shape:
    post = solid((4, 0, 4, 12, 16, 12)) if states["up"] == "true" else _NONE
    low, tall = solid((5, 0, 0, 11, 14, 8)), solid((5, 0, 0, 11, 16, 8))
    return sum(_arms(low, states, "low"), post) + sum(_arms(tall, states, "tall"), _NONE)


def _pane(name: str, states: States) -> Shape:
    return sum(_arms(solid((7, 0, 0, 9, 16, 7)), states, "true"), solid((7, 0, 7, 9, 16, 9)))


def _fluid(name: str, states: States) -> Shape:
    level = int(states.get("level", "0"))
    falling = level >= 8 or states.get("full") == "true"
    return solid((0, 0, 0, 16, 16 if falling else 14 - 2 * level if level < 7 else 1, 16))


def _arms(arm: Shape, states: States, value: str) -> list[Shape]:
    """An arm made for the north, on each side whose state has `value`."""
    return [turned(arm, side) for side in _COMPASS if states.get(side) == value]


_FAMILIES: dict[str, Callable[[str, States], Shape]] = {
    "fence": _fence,
    "gate": _gate,
    "wall": _wall,
    "pane": _pane,
    "fluid": _fluid,
}
