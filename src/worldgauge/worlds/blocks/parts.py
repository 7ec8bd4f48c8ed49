"""What shapes are made of, drawn as seen by a block that faces north, and turned from there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from worldgauge.worlds.blocks.table import Box

Corner = tuple[int, int, int]
QUARTERS = {"north": 0, "east": 1, "south": 2, "west": 3}


class Part(NamedTuple):
    """A box of a block.

    Attributes:
        box: x0, y0, z0, x1, y1, z1 in sixteenths of a cell.
        paint: Name of a colour in `colours.PAINTS`; None for the block's own.
    """

    box: Box
    paint: str | None = None


class Sheet(NamedTuple):
    """A flat quad without thickness, seen from both sides."""

    corners: tuple[Corner, Corner, Corner, Corner]
    paint: str | None = None


@dataclass(frozen=True)
class Shape:
    """A block's boxes and sheets in sixteenths of its side, x east, y up, z south; a banner reaches over its cell."""

    parts: tuple[Part, ...] = ()
    sheets: tuple[Sheet, ...] = ()

    def __add__(self, other: Shape) -> Shape:
        return Shape(self.parts + other.parts, self.sheets + other.sheets)


FULL = (0, 0, 0, 16, 16, 16)
UNITS = 16
SIDES = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))
"""Outward normals x, y, z: east, west, up, down, south, north."""

OPPOSITE = (1, 0, 3, 2, 5, 4)
ALL_SQUARES = (1 << UNITS * UNITS) - 1


def solid(*boxes: Box, paint: str | None = None) -> Shape:
    """A shape of boxes of one colour."""
    return Shape(tuple(Part(box, paint) for box in boxes))


def turned(shape: Shape, facing: str) -> Shape:
    """Turn a shape that faces north.

    Args:
        shape: The shape.
        facing: Where it is to face; up and down leave it.
    """
    for _ in range(QUARTERS.get(facing, 0)):
        shape = Shape(
            tuple(Part((16 - z1, y0, x0, 16 - z0, y1, x1), paint) for (x0, y0, z0, x1, y1, z1), paint in shape.parts),
            tuple(Sheet(_four((16 - z, y, x) for x, y, z in corners), paint) for corners, paint in shape.sheets),
        )
    return shape


def along(shape: Shape, axis: str) -> Shape:
    """Lay down an upright shape.

    Args:
        shape: The shape.
        axis: "x" or "z"; "y" leaves it.
    """
    if axis == "y":
        return shape
    order = (1, 0, 2) if axis == "x" else (0, 2, 1)
    return Shape(
        tuple(Part(_box(*(box[3 * high + i] for high in (0, 1) for i in order)), paint) for box, paint in shape.parts)
    )


def flipped(shape: Shape) -> Shape:
    """A shape upside down."""
    return Shape(
        tuple(Part((x0, 16 - y1, z0, x1, 16 - y0, z1), paint) for (x0, y0, z0, x1, y1, z1), paint in shape.parts),
        tuple(Sheet(_four((x, 16 - y, z) for x, y, z in corners), paint) for corners, paint in shape.sheets),
    )


def cross(low: int, high: int, *, wide: int = 14, paint: str | None = None) -> Shape:
    """Make two upright quads through the middle of the cell at 45 degrees.

    Args:
        low: Lower end, sixteenths of a cell.
        high: Upper end.
        wide: Width.
        paint: Name of the colour; None for the block's own.
    """
    a, b = 8 - wide // 2, 8 + wide // 2
    return Shape(
        (),
        (
            Sheet(((a, low, a), (b, low, b), (b, high, b), (a, high, a)), paint),
            Sheet(((a, low, b), (b, low, a), (b, high, a), (a, high, b)), paint),
        ),
    )


def flat(height: int, low: int = 0, high: int = 16, paint: str | None = None) -> Shape:
    """Make one level quad.

    Args:
        height: Sixteenths of a cell.
        low: Smallest x and z.
        high: Largest x and z.
        paint: Name of the colour; None for the block's own.
    """
    corners = ((low, height, low), (low, height, high), (high, height, high), (high, height, low))
    return Shape((), (Sheet(corners, paint),))


def _four(corners: Iterable[Corner]) -> tuple[Corner, Corner, Corner, Corner]:
    a, b, c, d = corners
    return a, b, c, d


def _box(*sides: int) -> Box:
    x0, y0, z0, x1, y1, z1 = sides
    return x0, y0, z0, x1, y1, z1


def squares_of(box: Box, side: int) -> int:
    """Return which of the 16 x 16 squares on a side of the cell a box covers.

    Args:
        box: x0, y0, z0, x1, y1, z1 in sixteenths of a cell.
        side: 2 * axis, plus 1 for the lower side.

    Returns:
        A bit per square; 0 when the box does not reach that side.
    """
    axis, high = side // 2, side % 2 == 0
    if box[axis + 3 * high] != (UNITS if high else 0):
        return 0
    one, two = (other for other in range(3) if other != axis)
    row = sum(1 << place for place in range(max(box[two], 0), min(box[two + 3], UNITS)))
    return sum(row << UNITS * place for place in range(max(box[one], 0), min(box[one + 3], UNITS)))


def covered(shape: Shape) -> tuple[int, ...]:
    """For each of the cell's sides the bits of the squares that a shape fills."""
    sides = [0] * len(SIDES)
    for part in shape.parts:
        for side in range(len(SIDES)):
            sides[side] |= squares_of(part.box, side)
    return tuple(sides)
