"""Blueprints as coloured faces, for the camera and for a viewer in a page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.worlds.blocks.blueprint import AIR, Blueprint
from worldgauge.worlds.blocks.colours import OPAQUE, PAINTS, Look, look_of
from worldgauge.worlds.blocks.connections import joined
from worldgauge.worlds.blocks.parts import OPPOSITE, SIDES, UNITS, covered, squares_of
from worldgauge.worlds.blocks.shapes import Shape, shape_of
from worldgauge.worlds.blocks.table import Box

if TYPE_CHECKING:
    from worldgauge.worlds.blocks.resource_pack import ResourcePack

__all__ = ["MOST_SIDE", "UNITS", "Mesh", "mesh_of"]

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
    """Flat faces with four corners.

    Attributes:
        quads: (n, 4, 3) int16 in sixteenths of a block from the blueprint's pivot: x east, y up, z south. Corners are
            counter-clockwise seen from outside.
        colours: (n, 4) uint8, RGB and opacity. An opacity of 255 hides everything behind it.
        two_sided: (n,) bool, whether a face is a thin sheet that is visible from both sides.
        block: (n,) int32, index into `names`.
        names: Blocks that the build is made of, without states; one in several states is there several times.
    """

    quads: NDArray[np.int16]
    colours: NDArray[np.uint8]
    two_sided: NDArray[np.bool_]
    block: NDArray[np.int32]
    names: tuple[str, ...]


def mesh_of(blueprint: Blueprint, pack: ResourcePack | None = None) -> Mesh:
    """The faces of a blueprint that are visible from somewhere, unshaded, in a fixed order.

    Faces that a neighbour covers are left out: those next to opaque blocks, and those between blocks of one translucent
    material. States that neighbours decide are derived where the materials do not give them.

    Args:
        blueprint: The build.
        pack: Colours that are used before our own palette.

    Returns:
        The mesh.

    Raises:
        ShapeError: For sides of more than 2000 blocks.
    """
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
    """A face of one kind of block. side: index into SIDES, -1 for a sheet. squares: bits of the 16 x 16 squares of the
    cell's side that it takes, 0 when it lies inside of the cell.
    """

    corners: NDArray[np.int16]
    colour: NDArray[np.uint8]
    side: int
    squares: int


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
