"""Furnished rooms of blocks: where every piece stands is known exactly, so questions about a room have exact answers.

    plan = Plan.empty("bedroom", rng)            # of `furnishing`
    plan.furnish(["bed", "wardrobe"], rng)
    room = plan.room()
    room.blueprint, room.piece("bed").cells

Floor cells are (x, z) of the room's blueprint, x east and z south; its walls are at 0 and at width + 1, depth + 1. The
floor is layer 0, people and furniture stand in layers 1 to `HEIGHT`, the ceiling is above.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Image
from worldgauge.worlds.blocks.blueprint import AIR, Blueprint, material, states_of
from worldgauge.worlds.blocks.mesh import mesh_of
from worldgauge.worlds.blocks.render import render

COMPASS: dict[str, tuple[int, int]] = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
"""Steps along x and z."""
SIDES = tuple(COMPASS)


def turned(side: str, quarters: int) -> str:
    """Return a compass side after quarter turns to the right."""
    return SIDES[(SIDES.index(side) + quarters) % 4]


class Block(NamedTuple):
    """One block of a piece.

    Attributes:
        along: Blocks from its left end, seen by somebody who faces its front; `out` is from its back, `up` from the
            floor.
        material: With `{front}`, `{back}`, `{near}`, `{far}` for compass sides.
    """

    along: int
    out: int
    up: int
    material: str


@dataclass(frozen=True)
class PieceDesign:
    """How a piece is built.

    Attributes:
        layers: From the floor up, separated by "|", rows from back to front by "/"; "." is air.
        used: Whether somebody must be able to stand in front of it.
        flat: Whether one walks over it.
        stretch: Default width in blocks, 0 for pieces of one width only.
    """

    layers: str
    legend: Mapping[str, str]
    rooms: frozenset[str]
    used: bool = True
    flat: bool = False
    stretch: int = 0

    def rows(self, width: int | None = None) -> list[list[str]]:
        """Return letters [up][out], `width` wide if the design can be stretched."""
        times = (width or self.stretch) if self.stretch else 1
        return [[row * times for row in layer.split("/")] for layer in self.layers.split("|")]

    def blocks(self, width: int | None = None) -> Iterator[Block]:
        """Return all blocks, in the piece's own frame."""
        for up, layer in enumerate(self.rows(width)):
            for out, row in enumerate(layer):
                for along, letter in enumerate(row):
                    if letter != ".":
                        yield Block(along, out, up, self.legend[letter])

    def size(self, width: int | None = None) -> tuple[int, int, int]:
        """Return width, depth and height in blocks."""
        rows = self.rows(width)
        return len(rows[0][0]), len(rows[0]), len(rows)


@dataclass(frozen=True)
class Style:
    """Materials of a room: a kind of wood, a colour of textiles, blocks of walls and floor."""

    wood: str
    dye: str
    sofa: str
    wall: str
    floor: str


def built_of(text: str, style: Style, front: str) -> str:
    """Return the material of a block as `blueprint.material` writes it."""
    sides = {side: turned(front, quarters) for quarters, side in enumerate(("front", "near", "back", "far"))}
    name, states = states_of(text.format(**sides, **vars(style)))
    return material(name, states)


_FILE = json.loads((files(__package__) / "furniture.json").read_text("utf-8"))
KINDS: dict[str, tuple[str, ...]] = {kind: tuple(names) for kind, names in _FILE["kinds"].items()}
"""Kinds of rooms, and what one commonly finds in them."""
DESIGNS = {name: PieceDesign(**{**row, "rooms": frozenset(row["rooms"])}) for name, row in _FILE["designs"].items()}
"""All pieces by the names that questions use."""
MISPLACED: dict[str, frozenset[str]] = {name: frozenset(rooms) for name, rooms in _FILE["misplaced"].items()}
"""Pieces, and kinds of rooms in which nobody would put them."""


Cell = tuple[int, int]
HEIGHT = 4
"""Blocks between floor and ceiling."""
SILL = 2
"""Lowest layer of a window, which is two blocks high."""


@dataclass(frozen=True)
class Furniture:
    """A piece of furniture; `corner` is the floor cell of its back left block, seen by somebody who faces its front."""

    name: str
    corner: Cell
    front: str
    width: int | None = None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Floor cells that it occupies."""
        wide, deep, _ = DESIGNS[self.name].size(self.width)
        return tuple(self.at(along, out) for out in range(deep) for along in range(wide))

    @property
    def height(self) -> int:
        """Height in blocks."""
        return DESIGNS[self.name].size(self.width)[2]

    @property
    def centre(self) -> tuple[float, float]:
        """x and z of its centre; the centre of cell (1, 1) is at 1.5, 1.5."""
        xs, zs = zip(*self.cells, strict=True)
        return (min(xs) + max(xs) + 1) / 2, (min(zs) + max(zs) + 1) / 2

    @property
    def before(self) -> tuple[Cell, ...]:
        """Cells along its front, where one stands to use it."""
        wide, deep, _ = DESIGNS[self.name].size(self.width)
        return tuple(self.at(along, deep) for along in range(wide))

    def at(self, along: int, out: int) -> Cell:
        """Return the floor cell `along` blocks from its left end and `out` blocks from its back."""
        right, forward = COMPASS[turned(self.front, 3)], COMPASS[self.front]
        x, z = self.corner
        return x + along * right[0] + out * forward[0], z + along * right[1] + out * forward[1]


@dataclass(frozen=True)
class WallOpening:
    """A door or window: the compass side of its wall, its cells, and the floor cells in front of it."""

    wall: str
    cells: tuple[Cell, ...]
    inside: tuple[Cell, ...]

    @property
    def beside(self) -> tuple[Cell, ...]:
        """The floor cells in front of it and one more on each side."""
        (x, z), (dx, dz) = self.inside[0], COMPASS[turned(self.wall, 1)]
        return *self.inside, (x + dx, z + dz), (x - dx, z - dz)

    @property
    def inward(self) -> str:
        """Compass side that somebody faces who enters."""
        return turned(self.wall, 2)


@dataclass(frozen=True)
class FurnishedRoom:
    """A room with its furniture; width and depth are blocks of floor along x and z."""

    kind: str
    width: int
    depth: int
    style: Style
    door: WallOpening
    window: WallOpening
    pieces: tuple[Furniture, ...]

    def piece(self, name: str) -> Furniture:
        """Return the piece of a name."""
        found = [piece for piece in self.pieces if piece.name == name]
        if len(found) != 1:
            raise WorldError(f"this {self.kind} has {len(found)} pieces called '{name}', not one")
        return found[0]

    def long(self, wall: str) -> int:
        """Return the inner length of a wall in blocks."""
        return self.width if wall in ("north", "south") else self.depth

    def along(self, wall: str) -> tuple[Cell, ...]:
        """Return floor cells along a wall, from its west or north end."""
        return {
            "north": tuple((x, 1) for x in range(1, self.width + 1)),
            "south": tuple((x, self.depth) for x in range(1, self.width + 1)),
            "west": tuple((1, z) for z in range(1, self.depth + 1)),
            "east": tuple((self.width, z) for z in range(1, self.depth + 1)),
        }[wall]

    def within(self, cell: Cell) -> bool:
        """Whether a cell is floor."""
        return 1 <= cell[0] <= self.width and 1 <= cell[1] <= self.depth

    @cached_property
    def taken(self) -> dict[Cell, Furniture]:
        """Obstacles, by cell."""
        return {cell: piece for piece in self.pieces if not DESIGNS[piece.name].flat for cell in piece.cells}

    @cached_property
    def reached(self) -> frozenset[Cell]:
        """Floor cells that can be walked to from the door through cells' sides, without climbing."""
        found: set[Cell] = set()
        waiting = list(self.door.inside)
        while waiting:
            x, z = cell = waiting.pop()
            if cell in found or cell in self.taken or not self.within(cell):
                continue
            found.add(cell)
            waiting += [(x + dx, z + dz) for dx, dz in COMPASS.values()]
        return frozenset(found)

    def is_reached(self, piece: Furniture) -> bool:
        """Whether one can walk up to a piece: to its front if it has one, else to any side."""
        around = [(x + dx, z + dz) for x, z in piece.cells for dx, dz in COMPASS.values()]
        return any(cell in self.reached for cell in (piece.before if DESIGNS[piece.name].used else around))

    @cached_property
    def blueprint(self) -> Blueprint:
        """Floor, walls, door, window, furniture and ceiling, of full block states."""
        return _built(self)


def _built(room: FurnishedRoom) -> Blueprint:
    names: dict[str, int] = {}
    cells = np.full((HEIGHT + 2, room.depth + 2, room.width + 2), AIR, np.int32)

    def number(name: str) -> int:
        return names.setdefault(name, len(names) + 1)

    cells[0] = number(room.style.floor)
    wall = number(room.style.wall)
    cells[1:, [0, -1]] = wall
    cells[1:, :, [0, -1]] = wall
    cells[-1] = number("smooth_stone")
    for x, z in room.window.cells:
        cells[SILL : SILL + 2, z, x] = number("glass")
    for x, z in room.door.cells:
        for up, half in enumerate(("lower", "upper"), 1):
            # A leaf hangs on the side that its block does not face: on the inner one, where it is seen from above.
            states = {"facing": room.door.wall, "half": half, "hinge": "left", "open": False, "powered": False}
            cells[up, z, x] = number(material(f"{room.style.wood}_door", states))
    for piece in sorted(room.pieces, key=lambda one: not DESIGNS[one.name].flat):
        for block in DESIGNS[piece.name].blocks(piece.width):
            x, z = piece.at(block.along, block.out)
            cells[1 + block.up, z, x] = number(built_of(block.material, room.style, piece.front))
    return Blueprint(cells, tuple(names))


SIZE_PX = (640, 480)
_EYE_M = 2.8
"""Above the room's lowest layer: a block of floor, and 1.8 for the eyes of somebody who stands on it."""
_ACROSS_DEG, _FROM_ABOVE_DEG = 100.0, 62.0
_MARGIN = 1.04
"""Of the picture from above around the room."""
LEGEND = (
    "Furniture is built of blocks: a lamp is a glowing block on a post, a bookshelf brown blocks two high, a wardrobe "
    "planks two wide and three high, a desk or table a row or field of slabs, a sofa a row of stairs, a chair a single "
    "one, a television black, a piano dark with white keys, a plant leaves on a pot, a stove a grey furnace, a "
    "refrigerator a pale column, a sink a cauldron, a bathtub a cauldron between white steps, a toilet a white block "
    "with a low seat."
)
"""The same for every room, so that it gives nothing away."""


@dataclass(frozen=True)
class RoomView:
    """One image to be rendered; pose: (4, 4) camera-to-world, metres."""

    caption: str
    blueprint: Blueprint
    pose: FloatArray
    camera: Camera

    def picture(self) -> Image:
        """Render it, (H, W, 3) uint8."""
        return render(mesh_of(self.blueprint), self.pose, self.camera)


def views(room: FurnishedRoom) -> tuple[RoomView, ...]:
    """Return two images of a room: from inside, and from above with north at the top."""
    # From straight above the middle, so that the inner faces of all walls show.
    camera = Camera.from_vertical_fov(*SIZE_PX, _FROM_ABOVE_DEG)
    rise = math.tan(math.radians(_FROM_ABOVE_DEG / 2))
    half = max((room.depth + 2) / 2, (room.width + 2) / 2 * SIZE_PX[1] / SIZE_PX[0]) * _MARGIN
    middle = (room.width / 2 + 1, -(room.depth / 2 + 1), HEIGHT + half / rise)
    pose = pose_from_yaw_pitch(middle, math.pi / 2, -math.pi / 2)
    caption = f"the {room.kind} from above, without its ceiling; north is at the top. {LEGEND}"
    open_above = Blueprint(np.ascontiguousarray(room.blueprint.cells[:HEIGHT]), room.blueprint.materials)
    return _inside(room), RoomView(caption, open_above, pose, camera)


def _inside(room: FurnishedRoom) -> RoomView:
    """From the door; from a corner under the ceiling where something tall stands behind the door."""
    camera = Camera.from_horizontal_fov(*SIZE_PX, _ACROSS_DEG)
    (x, z), inward = room.door.inside[0], COMPASS[room.door.inward]
    near = [room.taken[cell] for cell in room.door.beside if cell in room.taken]
    if all(piece.height == 1 for piece in near):
        # Just behind the leaf of the door.
        eye = (x + 0.5 - 0.45 * inward[0], -(z + 0.5 - 0.45 * inward[1]), _EYE_M)
        caption = f"the {room.kind} from its door, looking {room.door.inward}"
        pose = pose_from_yaw_pitch(eye, math.atan2(-inward[1], inward[0]), math.radians(-14))
    else:
        east, south = inward[0] >= 0 and x <= room.width / 2, inward[1] >= 0 and z <= room.depth / 2
        corner = (room.width + 0.7 if east else 1.3, -(room.depth + 0.7 if south else 1.3))
        middle = ((room.width + 2) / 2, -(room.depth + 2) / 2)
        said = f"{'south' if south else 'north'}-{'east' if east else 'west'}"
        caption = f"the {room.kind} from its {said} corner, under the ceiling"
        yaw = math.atan2(middle[1] - corner[1], middle[0] - corner[0])
        pose = pose_from_yaw_pitch((*corner, HEIGHT + 0.7), yaw, math.radians(-30))
    return RoomView(caption, room.blueprint, pose, camera)
