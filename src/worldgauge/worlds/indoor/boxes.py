"""Boxes, what they are painted with, and the lists a ray-caster needs of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from importlib.resources import files
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
    """The look of a surface: one of PATTERNS in two colours, RGB, 0 to 255."""

    pattern: str
    colour: Colour
    second: Colour = (128, 128, 128)
    size_m: float = 0.3  # of its tiles, planks and the like
    contrast: float = 1.0  # of its details; 1 as designed


class Box(NamedTuple):
    """One axis-aligned box: corners in metres, what it is, which object it belongs to (0: none), how it looks."""

    low: Point
    high: Point
    category: int
    instance: int
    paint: Paint


@dataclass(frozen=True)
class Boxes:
    """Many boxes as arrays of N rows."""

    bounds: FloatArray  # (N, 6) metres, x0 y0 z0 x1 y1 z1
    category: NDArray[np.uint16]
    instance: NDArray[np.uint16]
    pattern: NDArray[np.uint8]  # (N,), indices of PATTERNS
    colours: NDArray[np.float32]  # (N, 2, 3)
    details: NDArray[np.float32]  # (N, 2), size in metres and contrast
    face_seeds: NDArray[np.uint64]  # (N, 6), +x -x +y -y +z -z; faces with equal seeds look alike

    @classmethod
    def of(cls, boxes: list[Box], seed: int) -> Boxes:
        """Pack boxes into arrays."""
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
        """Shift one box, with its texture. `offset`: x, y, z in metres."""
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


# Named colours, and the materials of floors, walls and furniture.


def _named_colours(what: str) -> dict[str, Colour]:
    table = json.loads((files(__package__) / "colours.json").read_text("utf-8"))
    return {name: (red, green, blue) for name, (red, green, blue) in table[what].items()}


CLOTHS = _named_colours("cloths")
"""Colours of fabric; the keys are words for questions about colour."""

WOODS, LACQUERS = _named_colours("woods"), _named_colours("lacquers")
STEEL: Colour = (176, 180, 184)
CHROME: Colour = (196, 202, 208)
CERAMIC: Colour = (236, 236, 232)
DARK: Colour = (38, 38, 42)
FOLIAGE: dict[str, tuple[Colour, Colour]] = {
    "green": ((34, 84, 40), (108, 160, 74)),
    "dark green": ((22, 60, 44), (70, 116, 78)),
    "light green": ((70, 112, 48), (164, 190, 96)),
}
WALLS: tuple[Colour, ...] = (
    (226, 218, 202),
    (206, 216, 214),
    (222, 206, 190),
    (202, 210, 192),
    (214, 208, 218),
    (230, 226, 218),
    (196, 206, 220),
    (226, 212, 178),
)
CEILING = Paint("plaster", (238, 236, 230))


def pick(rng: np.random.Generator, colours: dict[str, Colour]) -> tuple[str, Colour]:
    """Draw a colour and vary it a little. `colours`: RGB, 0 to 255, by name. Returns name and RGB."""
    name = list(colours)[int(rng.integers(len(colours)))]
    return name, varied(rng, colours[name], 9)


def varied(rng: np.random.Generator, colour: Colour, by: int) -> Colour:
    """Vary each channel of a colour. `colour`: RGB, 0 to 255."""
    r, g, b = (int(np.clip(c + rng.integers(-by, by + 1), 0, 255)) for c in colour)
    return r, g, b


def shaded(colour: Colour, factor: float) -> Colour:
    """Make a colour darker or lighter. `colour`: RGB, 0 to 255."""
    r, g, b = (int(np.clip(c * factor, 0, 255)) for c in colour)
    return r, g, b


def floor_paint(room: str, rng: np.random.Generator) -> Paint:
    """Draw the material of a room's floor."""
    if room in ("kitchen", "bathroom"):
        colour = ((196, 188, 176), (170, 176, 180), (150, 132, 116), (208, 204, 196))[int(rng.integers(4))]
        size = float(rng.choice([0.2, 0.3, 0.4]))
        return Paint("tiles", varied(rng, colour, 8), shaded(colour, 0.62), size, 1.2)
    if room in ("gym", "study") or (room == "bedroom" and rng.random() < 0.5):
        colour = ((140, 132, 122), (112, 122, 134), (150, 130, 110), (104, 116, 104))[int(rng.integers(4))]
        return Paint("carpet", varied(rng, colour, 8))
    colour = ((178, 134, 88), (150, 108, 70), (196, 160, 116), (118, 84, 60))[int(rng.integers(4))]
    return Paint("planks", varied(rng, colour, 8), size_m=float(rng.uniform(0.10, 0.16)))


def wall_paint(room: str, rng: np.random.Generator) -> Paint:
    """Draw the material of a room's walls."""
    if room == "bathroom":
        colour = ((214, 222, 222), (190, 210, 216), (222, 216, 204))[int(rng.integers(3))]
        return Paint("tiles", varied(rng, colour, 6), shaded(colour, 0.78), float(rng.choice([0.15, 0.2, 0.25])))
    return Paint("plaster", varied(rng, WALLS[int(rng.integers(len(WALLS)))], 5))
