"""Furnished rooms of blocks: where every piece stands is known exactly, so questions about a room have exact answers.

    plan = Plan.empty("bedroom", rng)            # of `furnishing`
    plan.furnish(["bed", "wardrobe"], rng)
    room = plan.room()
    room.blueprint, room.piece("bed").cells

Floor cells are (x, z) of the room's blueprint, x east and z south; its walls are at 0 and at width + 1, depth + 1. The
floor is layer 0, people and furniture stand in layers 1 to `HEIGHT`, the ceiling is above.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Image
from worldgauge.suites.build.generate.interiors.furniture import COMPASS, DESIGNS, Style, built_of, turned
from worldgauge.worlds.blocks.blueprint import AIR, Blueprint, material
from worldgauge.worlds.blocks.mesh import mesh_of
from worldgauge.worlds.blocks.render import render

Cell = tuple[int, int]
HEIGHT = 4
"""Blocks between floor and ceiling."""
SILL = 2
"""Lowest layer of a window, which is two blocks high."""


@dataclass(frozen=True)
class Piece:
    """A piece of furniture.

    Attributes:
        name: Of its design.
        corner: Floor cell of its back left block, seen by somebody who faces its front.
        front: Compass side of its front.
        width: Blocks, None for the design's own.
    """

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
class Opening:
    """A door or window.

    Attributes:
        wall: Compass side.
        cells: Cells of the wall.
        inside: Floor cells in front of it.
    """

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
class Room:
    """A room with its furniture; width and depth are blocks of floor along x and z."""

    kind: str
    width: int
    depth: int
    style: Style
    door: Opening
    window: Opening
    pieces: tuple[Piece, ...]

    def piece(self, name: str) -> Piece:
        """Return the piece of a name.

        Raises:
            WorldError: If there is none, or more than one.
        """
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
    def taken(self) -> dict[Cell, Piece]:
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

    def is_reached(self, piece: Piece) -> bool:
        """Whether one can walk up to a piece: to its front if it has one, else to any side."""
        sides = piece.before if DESIGNS[piece.name].used else tuple(_around(piece))
        return any(cell in self.reached for cell in sides)

    @cached_property
    def blueprint(self) -> Blueprint:
        """Floor, walls, door, window, furniture and ceiling, of full block states."""
        return _built(self)


def _around(piece: Piece) -> Iterator[Cell]:
    for x, z in piece.cells:
        yield from ((x + dx, z + dz) for dx, dz in COMPASS.values())


def _built(room: Room) -> Blueprint:
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
    """One image to be rendered.

    Attributes:
        caption: What it shows.
        blueprint: The room.
        pose: (4, 4) camera-to-world, metres.
        camera: The camera.
    """

    caption: str
    blueprint: Blueprint
    pose: FloatArray
    camera: Camera

    def picture(self) -> Image:
        """Render it, (H, W, 3) uint8."""
        return render(mesh_of(self.blueprint), self.pose, self.camera)


def views(room: Room) -> tuple[RoomView, ...]:
    """Return two images of a room: from inside, and from above with north at the top."""
    return _inside(room), _above(room)


def _inside(room: Room) -> RoomView:
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


def _above(room: Room) -> RoomView:
    """From straight above the middle, so that the inner faces of all walls show."""
    camera = Camera.from_vertical_fov(*SIZE_PX, _FROM_ABOVE_DEG)
    rise = math.tan(math.radians(_FROM_ABOVE_DEG / 2))
    half = max((room.depth + 2) / 2, (room.width + 2) / 2 * SIZE_PX[1] / SIZE_PX[0]) * _MARGIN
    middle = (room.width / 2 + 1, -(room.depth / 2 + 1), HEIGHT + half / rise)
    pose = pose_from_yaw_pitch(middle, math.pi / 2, -math.pi / 2)
    caption = f"the {room.kind} from above, without its ceiling; north is at the top. {LEGEND}"
    open_above = Blueprint(np.ascontiguousarray(room.blueprint.cells[:HEIGHT]), room.blueprint.materials)
    return RoomView(caption, open_above, pose, camera)
