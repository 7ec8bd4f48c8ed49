"""Boxes, what they are painted with, and the lists a ray-caster needs of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray

Point = tuple[float, float, float]
Colour = tuple[int, int, int]

PATTERNS = (
    "plain", "plaster", "wood", "planks", "tiles", "fabric", "stone", "metal",
    "foliage", "picture", "books", "view", "mirror", "posters", "rug", "screen", "fire", "carpet",
    "lit", "broadcast",
)  # fmt: skip
"""How a surface varies; `_paint.py` draws them."""


class Paint(NamedTuple):
    """The look of a surface.

    Attributes:
        pattern: One of PATTERNS.
        colour: RGB, 0 to 255.
        second: Second colour of the pattern.
        size_m: Size of its tiles, planks and the like, metres.
        contrast: Contrast of its details; 1 as designed.
    """

    pattern: str
    colour: Colour
    second: Colour = (128, 128, 128)
    size_m: float = 0.3
    contrast: float = 1.0


class Box(NamedTuple):
    """One axis-aligned box: corners in metres, what it is, which object it belongs to (0: none), how it looks."""

    low: Point
    high: Point
    category: int
    instance: int
    paint: Paint


@dataclass(frozen=True)
class Boxes:
    """Many boxes as arrays of N rows.

    Attributes:
        bounds: (N, 6) float64 metres, x0 y0 z0 x1 y1 z1.
        category: (N,) uint16.
        instance: (N,) uint16.
        pattern: (N,) uint8, indices of PATTERNS.
        colours: (N, 2, 3) float32.
        details: (N, 2) float32, size in metres and contrast.
        face_seeds: (N, 6) uint64, one per face (+x -x +y -y +z -z): faces with equal seeds look alike.
    """

    bounds: FloatArray
    category: NDArray[np.uint16]
    instance: NDArray[np.uint16]
    pattern: NDArray[np.uint8]
    colours: NDArray[np.float32]
    details: NDArray[np.float32]
    face_seeds: NDArray[np.uint64]

    @classmethod
    def of(cls, boxes: list[Box], seed: int) -> Boxes:
        """Pack boxes into arrays.

        Args:
            boxes: The boxes.
            seed: Seed of the textures, with a box's place in the list.

        Returns:
            The packed boxes.

        Raises:
            WorldError: A box is flat or not finite.
        """
        bounds = np.array([[*box.low, *box.high] for box in boxes], np.float64).reshape(-1, 6)
        flat = np.flatnonzero(~(bounds[:, 3:] > bounds[:, :3]).all(1) | ~np.isfinite(bounds).all(1))
        if len(flat):
            raise WorldError(f"box {int(flat[0])} has corners {bounds[flat[0]].tolist()}: each high must pass its low")
        rng = np.random.default_rng([seed, 0xB0C5])
        return cls(
            bounds,
            np.array([box.category for box in boxes], np.uint16),
            np.array([box.instance for box in boxes], np.uint16),
            np.array([PATTERNS.index(box.paint.pattern) for box in boxes], np.uint8),
            np.array([[box.paint.colour, box.paint.second] for box in boxes], np.float32).reshape(-1, 2, 3),
            np.array([[box.paint.size_m, box.paint.contrast] for box in boxes], np.float32).reshape(-1, 2),
            rng.integers(2**64, size=(len(boxes), 6), dtype=np.uint64),
        )

    def __len__(self) -> int:
        return len(self.bounds)

    def kept(self, rows: NDArray[np.bool_]) -> Boxes:
        """The boxes of `rows` only, with the textures that they had."""
        return replace(self, **{name: getattr(self, name)[rows] for name in self.__dataclass_fields__})

    def moved(self, row: int, offset: Point) -> Boxes:
        """Shift one box, with its texture.

        Args:
            row: Its index.
            offset: x, y, z in metres.

        Returns:
            The boxes with this one moved.
        """
        bounds = self.bounds.copy()
        bounds[row] += np.tile(np.asarray(offset, np.float64), 2)
        return replace(self, bounds=bounds)

    def digest(self) -> str:
        """SHA-256 of all arrays: equal for equal boxes, on every machine."""
        sha = hashlib.sha256()
        for name in self.__dataclass_fields__:
            values = np.ascontiguousarray(getattr(self, name))
            sha.update(f"{name}{values.shape}".encode())
            sha.update(values.astype(values.dtype.newbyteorder("<")).tobytes())
        return sha.hexdigest()
