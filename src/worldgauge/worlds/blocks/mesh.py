"""Blueprints as coloured faces, for the camera and for a viewer in a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks.blueprint import AIR, AIR_NAMES, Blueprint, base_name, states_of
from worldgauge.worlds.blocks.colours import OPAQUE, PAINTS, Look, look_of
from worldgauge.worlds.blocks.fittings import (
    ALL_SQUARES,
    FULL,
    OPPOSITE,
    SIDES,
    UNITS,
    Shape,
    covered,
    fitting_shape_of,
    plant_shape_of,
    solid,
    squares_of,
    turned,
)
from worldgauge.worlds.blocks.table import Box, properties, stated

if TYPE_CHECKING:
    from worldgauge.worlds.blocks.resource_pack import ResourcePack


# Shapes of blocks: boxes and sheets in sixteenths of a block's side.
#
# Where the collision boxes are also what one sees (stairs, slabs, doors, trapdoors, panes, carpets, cauldrons), they
# come from the table. Fences, walls and everything that a body walks through have shapes of their own here.

_COMPASS = ("north", "east", "south", "west")
States = Mapping[str, str]

_NONE = Shape()
_UNSEEN = frozenset({"air", "cave_air", "void_air", "structure_void", "barrier", "light", "moving_piston"})
_CUBES = frozenset({"soul_sand", "mud", "honey_block", "powder_snow", "end_gateway"})
"""What a body sinks into or is stopped by a little earlier than by what one sees."""


def shape_of(name: str, states: States) -> Shape:
    """Shape of a block; missing states have their default. `full=true` is our state: a fluid below the same fluid."""
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


_FAMILIES_BY_ENDING = {
    **{"_stairs": "stairs", "_fence_gate": "gate", "_fence": "fence", "_wall": "wall"},
    **{"glass_pane": "pane", "iron_bars": "pane"},
}


def family_of(name: str) -> str:
    """The family of blocks whose shape neighbours may decide: stairs, fence, gate, wall, pane, fluid; else ""."""
    if not table.known(name):
        return ""
    if name in ("water", "lava", "bubble_column"):
        return "fluid"
    endings = (family for ending, family in _FAMILIES_BY_ENDING.items() if name.endswith(ending))
    return next(endings, "")


def _fence(name: str, states: States) -> Shape:
    arm = solid((7, 6, 0, 9, 9, 6), (7, 12, 0, 9, 15, 6))
    return sum(_arms(arm, states, "true"), solid((6, 0, 6, 10, 16, 10)))


def _gate_shape(name: str, states: States) -> Shape:
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
    "gate": _gate_shape,
    "wall": _wall,
    "pane": _pane,
    "fluid": _fluid,
}

# States of blocks that depend on neighbours: sides of fences, walls and panes, corners of stairs, halves of doors.
#
# The rules are those of the game (Java Edition 1.20.4), as its placing rules act on a finished build. States that a
# material gives are kept; only missing ones are derived. The game has no rule for the direction of doors, gates and
# things on walls, so these are guessed from the surroundings.

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
    """A blueprint with all states known. A material whose states differ between cells has several entries."""

    cells: NDArray[np.int32]  # (height, depth, width), -1 for air, else an index into `blocks`
    blocks: tuple[tuple[str, dict[str, str]], ...]  # names and states


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
        found = {"shape": (_CORNERS, _stair_corners(grid, number)[here])}
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


def _stair_corners(grid: _Grid, number: int) -> Values:
    """For every cell, the shape that stairs of material `number` would have there, as an index into _CORNERS.
    Stairs behind decide an outer corner first, those in front an inner one; straight stairs at the side prevent
    both."""
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
    return {"facing": (("north", "east"), facing[here]), "in_wall": (("false", "true"), lowered[here].astype(np.int64))}


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

MOST_SIDE = 2000
"""Blocks: their sixteenths still fit into 16 bits."""

# Which corner of a box, low 0 or high 1 in x, y, z, comes in turn; counter-clockwise seen from outside.
_TURNS = (
    ((1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)),
    ((0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0)),
    ((0, 1, 0), (0, 1, 1), (1, 1, 1), (1, 1, 0)),
    ((0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)),
    ((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)),
    ((0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 0, 0)),
)


@dataclass(frozen=True)
class Mesh:
    """Flat faces with four corners, n of them."""

    quads: NDArray[np.int16]  # (n, 4, 3), sixteenths of a block from the pivot: x east, y up, z south; ccw from outside
    colours: NDArray[np.uint8]  # (n, 4), RGB and opacity; 255 hides everything behind it
    two_sided: NDArray[np.bool_]  # (n,), a thin sheet that is visible from both sides
    block: NDArray[np.int32]  # (n,), index into `names`
    names: tuple[str, ...]  # without states; a block in several states is there several times


def mesh_of(blueprint: Blueprint, pack: ResourcePack | None = None) -> Mesh:
    """The faces of a blueprint that are visible from somewhere, unshaded, in a fixed order.
    Left out are faces next to opaque blocks, and between blocks of one translucent material."""
    if max(blueprint.size) > MOST_SIDE:
        raise ShapeError(f"a mesh takes at most {MOST_SIDE} blocks a side, got {tuple(blueprint.size)}; cut the build")
    build = joined(blueprint)
    kinds = [_kind_of(name, tuple(sorted(states.items())), pack) for name, states in build.blocks]
    padded = np.pad(build.cells, 1, constant_values=AIR)
    places = np.argwhere(build.cells != AIR)
    numbers = build.cells[tuple(places.T)]
    order = np.argsort(numbers, kind="stable")
    bounds = np.searchsorted(numbers[order], np.arange(len(kinds) + 1))
    hidden = np.zeros(len(kinds) + 1, np.bool_)  # by what is next to a face; the last one, for air, stays False
    found: list[tuple[NDArray[np.int16], _Face]] = []
    blocks: list[int] = []
    for number, kind in enumerate(kinds):
        here = places[order[bounds[number] : bounds[number + 1]]]
        if not len(here):
            continue
        corners = (here[:, [2, 0, 1]] * UNITS).astype(np.int16)
        for side in range(-1, len(SIDES)):
            faces = [face for face in kind.faces if face.side == side]
            if side < 0 or not any(face.squares for face in faces):
                found += [(corners, face) for face in faces]
                continue
            dx, dy, dz = SIDES[side]
            near = padded[here[:, 0] + 1 + dy, here[:, 1] + 1 + dz, here[:, 2] + 1 + dx]
            others = np.flatnonzero(np.bincount(near - AIR)[1:]).tolist()
            for face in faces:
                hidden[others] = [_hides(kinds[other], kind, face) for other in others]
                found.append((corners[~hidden[near]], face))
        blocks += [number] * (len(found) - len(blocks))
    lengths = np.array([len(at) for at, _ in found], np.int64)
    return Mesh(
        np.concatenate([np.zeros((0, 4, 3), np.int16), *(at[:, None] + face.corners for at, face in found)]),
        np.repeat(np.array([face.colour for _, face in found], np.uint8).reshape(-1, 4), lengths, axis=0),
        np.repeat(np.array([face.side < 0 for _, face in found], np.bool_), lengths),
        np.repeat(np.array(blocks, np.int32), lengths),
        tuple(name for name, _ in build.blocks),
    )


class _Face(NamedTuple):
    """A face of one kind of block."""

    corners: NDArray[np.int16]
    colour: NDArray[np.uint8]
    side: int  # index into SIDES, -1 for a sheet
    squares: int  # bits of the 16 x 16 squares of the cell's side that it takes; 0 inside the cell


class _Kind(NamedTuple):
    """A block in one of its states. covered: for each side of the cell the bits of the squares that it fills."""

    name: str
    faces: tuple[_Face, ...]
    covered: tuple[int, ...]
    opaque: bool


def _hides(other: _Kind, kind: _Kind, face: _Face) -> bool:
    """Whether a neighbour on the face's side leaves nothing of it to see."""
    if not face.squares or not (other.opaque or other.name == kind.name):
        return False
    return not face.squares & ~other.covered[OPPOSITE[face.side]]


@lru_cache(maxsize=8192)
def _kind_of(name: str, states: tuple[tuple[str, str], ...], pack: ResourcePack | None) -> _Kind:
    look = (pack.look_of(name) if pack is not None else None) or look_of(name)
    shape = shape_of(name, dict(states))
    faces = [
        _Face(_corners(part.box, side), _colour(look, side, part.paint), side, squares_of(part.box, side))
        for part in shape.parts
        for side in range(len(SIDES))
        if not _inside(part.box, side, shape)
    ]
    faces += [_Face(np.array(sheet.corners, np.int16), _colour(look, -1, sheet.paint), -1, 0) for sheet in shape.sheets]
    return _Kind(name, tuple(faces), covered(shape), look.opacity == OPAQUE)


def _corners(box: Box, side: int) -> NDArray[np.int16]:
    return np.array([[box[3 * high + axis] for axis, high in enumerate(turn)] for turn in _TURNS[side]], np.int16)


def _inside(box: Box, side: int, shape: Shape) -> bool:
    """Whether another box of the same block covers this face, or the face has no extent."""
    axis, high = side // 2, side % 2 == 0
    plane = box[axis + 3 * high]
    flat = [other for other in range(3) if other != axis]
    if any(box[other] >= box[other + 3] for other in flat):
        return True
    return any(
        (part.box[axis] <= plane < part.box[axis + 3] if high else part.box[axis] < plane <= part.box[axis + 3])
        and all(part.box[other] <= box[other] and box[other + 3] <= part.box[other + 3] for other in flat)
        for part in shape.parts
        if part.box != box
    )


def _colour(look: Look, side: int, paint: str | None) -> NDArray[np.uint8]:
    if paint is not None:
        return np.array([*PAINTS[paint], OPAQUE], np.uint8)
    face = look.top if side == 2 else look.bottom if side == 3 else look.side
    return np.array([*face, look.opacity], np.uint8)
