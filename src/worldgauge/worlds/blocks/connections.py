"""States of blocks that depend on neighbours: sides of fences, walls and panes, corners of stairs, halves of doors.

The rules are those of the game (Java Edition 1.20.4), as its placing rules act on a finished build. States that a
material gives are kept; only missing ones are derived. The game has no rule for the direction of doors, gates and
things on walls, so these are guessed from the surroundings.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.worlds.blocks.blueprint import AIR, AIR_NAMES, Blueprint, base_name, states_of
from worldgauge.worlds.blocks.parts import ALL_SQUARES, covered
from worldgauge.worlds.blocks.shapes import family_of, shape_of
from worldgauge.worlds.blocks.table import properties, stated

Bools = NDArray[np.bool_]
Values = NDArray[np.int64]
COMPASS = ("north", "east", "south", "west")
_STEPS = {"north": (0, -1, 0), "east": (0, 0, 1), "south": (0, 1, 0), "west": (0, 0, -1), "up": (1, 0, 0)}
"""Along y, z, x."""

_FACE_TOWARDS_US = {"north": 4, "east": 1, "south": 5, "west": 0, "up": 3}
"""Of the neighbour in a direction, the side of its cell, an index into SIDES, that touches ours."""

_BACK = {"north": "south", "south": "north", "east": "west", "west": "east"}
_UNJOINED = ("leaves", "pumpkin", "melon", "jack_o_lantern", "shulker_box", "barrier")
_HUNG = ("wall_torch", "_wall_sign", "_wall_banner", "_wall_head", "_wall_skull", "_wall_fan", "ladder")
_UPRIGHT = ("lower", "upper")
"""Values of `half` of what stands two blocks high: doors and tall plants."""


class Joined(NamedTuple):
    """A blueprint with all states known.

    Attributes:
        cells: (height, depth, width) int32, -1 for air, else an index into `blocks`.
        blocks: Names and states. A material whose states differ between cells has several entries.
    """

    cells: NDArray[np.int32]
    blocks: tuple[tuple[str, dict[str, str]], ...]


def joined(blueprint: Blueprint) -> Joined:
    """Complete the states of all blocks: those given, those that neighbours decide, and default ones."""
    grid = _Grid(blueprint)
    cells = np.full(grid.cells.shape, AIR, np.int32)
    blocks: list[tuple[str, dict[str, str]]] = []
    for number, (name, states) in enumerate(grid.blocks):
        here = grid.cells == number
        if not here.any():
            continue
        decided = _decided(grid, number, here)
        if not decided:
            cells[here] = len(blocks)
            blocks.append((name, dict(states)))
            continue
        choices = list(decided.items())
        codes = np.stack([values for _, (_, values) in choices], 1)
        found, which = np.unique(codes, axis=0, return_inverse=True)
        cells[here] = len(blocks) + which.reshape(-1)
        for row in found:
            said = {key: values[code] for (key, (values, _)), code in zip(choices, row, strict=True)}
            blocks.append((name, {**states, **said}))
    return Joined(cells, tuple(blocks))


class _Grid:
    """The materials of a build with default states, and where they are; the last index means air."""

    def __init__(self, blueprint: Blueprint) -> None:
        materials = blueprint.materials
        self.air = len(materials)
        numbers = [self.air, *(self.air if base_name(m) in AIR_NAMES else i for i, m in enumerate(materials))]
        self.cells = np.array(numbers, np.int32)[np.maximum(blueprint.cells, 0)]
        self._padded = np.pad(self.cells, 1, constant_values=self.air)
        self.blocks = [stated(text) for text in materials]
        self.given = [states_of(text)[1] for text in materials]
        self.families = [family_of(name) for name, _ in self.blocks]

    def near(self, way: str) -> NDArray[np.int32]:
        """Of every cell the material of its neighbour."""
        y, z, x = (1 + step for step in _STEPS[way])
        height, depth, width = self.cells.shape
        return self._padded[y : y + height, z : z + depth, x : x + width]

    def of(self, test: Callable[[int], bool]) -> Bools:
        """(materials + 1,), whether `test` holds for each; False for air."""
        return np.array([*(bool(test(i)) for i in range(self.air)), False])

    def sturdy(self, way: str) -> Bools:
        """(materials + 1,), whether the neighbour in this direction has a whole side towards us."""
        side = _FACE_TOWARDS_US[way]
        return self.of(lambda i: self.sides(i)[side] == ALL_SQUARES)

    def sides(self, number: int) -> tuple[int, ...]:
        """What a material fills of its cell's sides."""
        name, states = self.blocks[number]
        return _sides_of(name, tuple(states.items()))


Decided = dict[str, tuple[tuple[str, ...], Values]]
"""For each state its values, and the index of the value of each cell of the material."""


def _decided(grid: _Grid, number: int, here: Bools) -> Decided:
    """What the neighbours decide of the states that material `number`, which is `here`, leaves out."""
    name, family = grid.blocks[number][0], grid.families[number]
    found: Decided = {}
    if family in ("fence", "pane"):
        found = {way: (("false", "true"), _joins(grid, number, way)[here].astype(np.int64)) for way in COMPASS}
    elif family == "wall":
        found = _walls(grid, number, here)
    elif family == "stairs":
        found = {"shape": (_CORNERS, _corners(grid, number)[here])}
    elif family == "fluid":
        same = grid.of(lambda i: grid.blocks[i][0] == name)
        found = {"full": (("false", "true"), same[grid.near("up")][here].astype(np.int64))}
    elif family == "gate":
        found = _gate(grid, here)
    elif set(properties(name).get("half", ())) == set(_UPRIGHT):
        found = {"half": (_UPRIGHT, _halves(grid, name)[here])}
        if name.endswith("_door"):
            found["facing"] = (("north", "east"), _spanning(grid)[here])
    elif name in ("vine", "glow_lichen", "sculk_vein"):
        found = {way: (("false", "true"), grid.sturdy(way)[grid.near(way)][here].astype(np.int64)) for way in COMPASS}
    elif name == "redstone_wire":
        wires = grid.of(lambda i: "redstone" in grid.blocks[i][0] or "repeater" in grid.blocks[i][0])
        found = {way: (("none", "side"), wires[grid.near(way)][here].astype(np.int64)) for way in COMPASS}
    elif name.endswith(_HUNG) and "hanging" not in name:
        held = [grid.sturdy(_BACK[way])[grid.near(_BACK[way])][here] for way in COMPASS]
        found = {"facing": (COMPASS, np.argmax(held, 0))}
    return {key: value for key, value in found.items() if key not in grid.given[number]}


def _joins(grid: _Grid, number: int, way: str) -> Bools:
    """Of every cell whether a fence, pane or wall of material `number` there would reach out this way."""
    family, name = grid.families[number], grid.blocks[number][0]
    sturdy = grid.sturdy(way)

    def joins(other: int) -> bool:
        theirs, kind = grid.blocks[other][0], grid.families[other]
        if kind == "gate" and family in ("fence", "wall"):
            across = ("east", "west") if way in ("north", "south") else ("north", "south")
            return grid.blocks[other][1]["facing"] in across
        if kind == "fence" and family == "fence":
            return (name == "nether_brick_fence") == (theirs == "nether_brick_fence")
        if kind in ("pane", "wall") and family in ("pane", "wall"):
            return True
        return bool(sturdy[other]) and not any(word in theirs for word in _UNJOINED)

    return grid.of(joins)[grid.near(way)]


def _walls(grid: _Grid, number: int, here: Bools) -> Decided:
    """Sides and posts of a wall. All walls of a build are reckoned as if of this material: they all join."""
    walls = grid.of(lambda i: grid.families[i] == "wall")[grid.cells]
    roofed = grid.sturdy("up")[grid.near("up")]
    reach = {way: _joins(grid, number, way) & walls for way in COMPASS}
    tall = {way: side & (roofed | _above(side)) for way, side in reach.items()}
    north, east, south, west = (reach[way].astype(np.int64) + tall[way] for way in COMPASS)
    straight = (north == south) & (east == west) & ((north > 0) | (east > 0))
    both = ((north == 2) & (south == 2)) | ((east == 2) & (west == 2))
    held = grid.of(lambda i: bool(grid.sides(i)[3] & _MIDDLE))[grid.near("up")]
    post = walls & (~straight | (~both & held & ~_above(walls)))
    for layer in range(len(post) - 2, -1, -1):
        post[layer] |= walls[layer] & post[layer + 1]
    sides = {"north": north, "east": east, "south": south, "west": west}
    found: Decided = {way: (("none", "low", "tall"), side[here]) for way, side in sides.items()}
    return {**found, "up": (("false", "true"), post[here].astype(np.int64))}


def _above(grid: Bools) -> Bools:
    """Of every cell the value of the one above it; False over the top."""
    return np.concatenate([grid[1:], np.zeros_like(grid[:1])])


_CORNERS = ("straight", "inner_left", "inner_right", "outer_left", "outer_right")


def _corners(grid: _Grid, number: int) -> Values:
    """Of every cell the shape that stairs of material `number` would have there, as an index into _CORNERS.

    The stairs behind decide about an outer corner first, those in front about an inner one; neither does when the
    stairs next to it continue straight.
    """
    states = grid.blocks[number][1]
    facing, half = states["facing"], states["half"]

    def stairs(way: str) -> Values:
        """Which way the neighbour's stairs of our half face, as an index into COMPASS; -1 for other blocks."""
        faces = [
            COMPASS.index(said["facing"]) if family == "stairs" and said["half"] == half else -1
            for (_, said), family in zip(grid.blocks, grid.families, strict=True)
        ]
        return np.array([*faces, -1])[grid.near(way)]

    mine = COMPASS.index(facing)
    left, right = COMPASS[mine - 1], COMPASS[(mine + 1) % 4]
    shape = np.zeros(grid.cells.shape, np.int64)
    # The later ones win: outer corners over inner ones.
    for seen, first in ((stairs(_BACK[facing]), "inner"), (stairs(facing), "outer")):
        for toward, side in ((left, "left"), (right, "right")):
            beside = stairs(toward if first == "inner" else _BACK[toward])
            shape[(seen == COMPASS.index(toward)) & (beside != mine)] = _CORNERS.index(f"{first}_{side}")
    return shape


def _gate(grid: _Grid, here: Bools) -> Decided:
    facing = _spanning(grid)
    walls = grid.of(lambda i: grid.families[i] == "wall")
    sides = {way: walls[grid.near(way)] for way in COMPASS}
    lowered = np.where(facing == 0, sides["east"] | sides["west"], sides["north"] | sides["south"])
    return {
        "facing": (("north", "east"), facing[here]),
        "in_wall": (("false", "true"), lowered[here].astype(np.int64)),
    }


def _spanning(grid: _Grid) -> Values:
    """Of every cell 1 where what spans it is held from north and south, so that it faces east; else 0."""
    filled = np.arange(grid.air + 1) < grid.air
    along_x = filled[grid.near("east")] & filled[grid.near("west")]
    return (filled[grid.near("north")] & filled[grid.near("south")] & ~along_x).astype(np.int64)


def _halves(grid: _Grid, name: str) -> Values:
    """Of every cell 1 where it is the upper one of a pair of blocks of this name, counted from below."""
    same = grid.of(lambda i: grid.blocks[i][0] == name)[grid.cells]
    upper = np.zeros(same.shape, np.int64)
    for layer in range(1, len(same)):
        upper[layer] = same[layer] & same[layer - 1] & (upper[layer - 1] == 0)
    return upper


@lru_cache(maxsize=8192)
def _sides_of(name: str, states: tuple[tuple[str, str], ...]) -> tuple[int, ...]:
    return covered(shape_of(name, dict(states)))


_MIDDLE = sum(1 << 16 * row + column for row in (7, 8) for column in (7, 8))
"""The squares of a cell's lower side over a wall's post."""
