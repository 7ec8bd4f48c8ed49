"""How a room is shown: as somebody sees it who stands in the door, and from above without its ceiling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Image
from worldgauge.suites.build.generate.interiors.interiors import HEIGHT, Room
from worldgauge.suites.build.generate.interiors.pieces import COMPASS
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.mesh import mesh_of
from worldgauge.worlds.blocks.render import render

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
class Scene:
    """One picture to be drawn. caption: what it shows. pose: (4, 4) camera to world, metres."""

    caption: str
    blueprint: Blueprint
    pose: FloatArray
    camera: Camera

    def picture(self) -> Image:
        """(H, W, 3) uint8."""
        return render(mesh_of(self.blueprint), self.pose, self.camera)


def scenes(room: Room) -> tuple[Scene, ...]:
    """Two pictures of a room: inside, and from above with north at the top."""
    return _inside(room), _above(room)


def _inside(room: Room) -> Scene:
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
    return Scene(caption, room.blueprint, pose, camera)


def _above(room: Room) -> Scene:
    """From straight above the middle, so that the inner faces of all walls show."""
    camera = Camera.from_vertical_fov(*SIZE_PX, _FROM_ABOVE_DEG)
    rise = math.tan(math.radians(_FROM_ABOVE_DEG / 2))
    half = max((room.depth + 2) / 2, (room.width + 2) / 2 * SIZE_PX[1] / SIZE_PX[0]) * _MARGIN
    middle = (room.width / 2 + 1, -(room.depth / 2 + 1), HEIGHT + half / rise)
    pose = pose_from_yaw_pitch(middle, math.pi / 2, -math.pi / 2)
    caption = f"the {room.kind} from above, without its ceiling; north is at the top. {LEGEND}"
    open_above = Blueprint(np.ascontiguousarray(room.blueprint.cells[:HEIGHT]), room.blueprint.materials)
    return Scene(caption, open_above, pose, camera)
