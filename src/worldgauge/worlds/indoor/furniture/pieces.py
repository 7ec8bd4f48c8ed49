"""What furniture is: parts in a frame of its own, and the objects that it consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.indoor.boxes import Paint, Point

Maker = Callable[[np.random.Generator], "Piece"]
"""Makes one piece of furniture of random size and colour."""


class Part(NamedTuple):
    """One box of a piece.

    Attributes:
        low: Lower corner in the piece's frame, metres.
        high: Upper corner, metres.
        paint: Its material.
        of: Number of the object it belongs to.
    """

    low: Point
    high: Point
    paint: Paint
    of: int = 0


class Thing(NamedTuple):
    """One object: category word, plain name, word for its colour, and for the state it shows ("" for none)."""

    category: str
    name: str
    colour: str
    state: str = ""


@dataclass
class Piece:
    """Furniture in its own frame: x along the wall behind it, y away from the wall, z up, from (0, 0, 0) to `size`.

    Attributes:
        things: Its objects, the main one first, then what lies or stands on it.
        size: Width, depth, height in metres.
        access_m: Depth of floor kept clear in front of it, metres.
        parts: Its boxes.
    """

    things: list[Thing]
    size: Point
    access_m: float = 0.55
    parts: list[Part] = field(default_factory=list)
    _corners: tuple[FloatArray, FloatArray] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls, category: str, name: str, colour: str, size: Point, access_m: float = 0.55, *, state: str = ""
    ) -> Piece:
        """Make a piece without parts.

        Args:
            category: Category of its first object.
            name: Name of that object.
            colour: Its colour in words.
            size: Width, depth, height in metres.
            access_m: Free depth wanted in front of it, metres.
            state: State of the object, if it has any.
        """
        return cls([Thing(category, name, colour, state)], size, access_m)

    @property
    def corners(self) -> tuple[FloatArray, FloatArray]:
        """Low and high corners (n, 3) of its parts."""
        if self._corners is None or len(self._corners[0]) != len(self.parts):
            self._corners = np.array([part.low for part in self.parts]), np.array([part.high for part in self.parts])
        return self._corners

    def add(self, low: Point, high: Point, paint: Paint, of: int = 0) -> None:
        """Add a box.

        Args:
            low: Lower corner in the piece's frame, metres.
            high: Upper corner, metres.
            paint: Its material.
            of: Number of the object it belongs to.
        """
        self.parts.append(Part(low, high, paint, of))

    def thing(self, category: str, name: str, colour: str, state: str = "") -> int:
        """Add an object.

        Args:
            category: Its category.
            name: Its name.
            colour: Its colour in words.
            state: Its state, if it has any.

        Returns:
            Its number, for `add`.
        """
        self.things.append(Thing(category, name, colour, state))
        return len(self.things) - 1

    def legs(self, height: float, thick: float, paint: Paint, inset: float = 0.0) -> None:
        """Add four legs at the corners.

        Args:
            height: Metres.
            thick: Thickness, metres.
            paint: Their material.
            inset: Distance from the edges, metres.
        """
        w, d, _ = self.size
        for x in (inset, w - inset - thick):
            for y in (inset, d - inset - thick):
                self.add((x, y, 0.0), (x + thick, y + thick, height), paint)

    def put(self, other: Piece, at: Point) -> None:
        """Put another piece on or into this one; its objects join.

        Args:
            other: The other piece.
            at: Place of its lower corner in this piece's frame, metres.
        """
        first = len(self.things)
        self.things += other.things
        for part in other.parts:
            low = (part.low[0] + at[0], part.low[1] + at[1], part.low[2] + at[2])
            high = (part.high[0] + at[0], part.high[1] + at[1], part.high[2] + at[2])
            self.parts.append(Part(low, high, part.paint, part.of + first))
