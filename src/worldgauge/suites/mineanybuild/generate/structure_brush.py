"""Designs of structures, one type of building and one tier each, and the brushes that they are drawn with.

Cells are (x, y, z), x east, y up, z south, and may be negative; boxes include both corners.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.worlds.blocks.blueprint import AIR, Blueprint, Tier, first_seen

Cell = tuple[int, int, int]
Along = int | Sequence[int]
"""One place along an axis, or several."""
Mask = NDArray[np.bool_]

SIDE = 112
"""Of the canvas, in blocks."""
_ORIGIN = 40


def span(first: int, last: int) -> range:
    """Return the whole numbers from `first` to `last`, both included."""
    return range(first, last + 1)


class Draw:
    """Random choices of one design."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def pick(self, names: Sequence[str]) -> str:
        """Draw one of the names."""
        return names[int(self.rng.integers(len(names)))]

    def two(self, names: Sequence[str]) -> tuple[str, str]:
        """Draw two different names."""
        first, second = self.rng.choice(len(names), 2, replace=False)
        return names[int(first)], names[int(second)]

    def whole(self, least: int, most: int) -> int:
        """Draw a whole number from `least` to `most`, both included."""
        return int(self.rng.integers(least, most + 1))

    def odd(self, least: int, most: int) -> int:
        """Draw an odd number from `least` to `most`, both odd."""
        return least + 2 * self.whole(0, (most - least) // 2)

    def chance(self, share: float) -> bool:
        """Return True with probability `share`."""
        return bool(self.rng.random() < share)


class BlockCanvas:
    """A build in the making; `name` as in "Build a NAME.", `description` in one sentence."""

    def __init__(self, name: str = "", description: str = "") -> None:
        self.title(name, description)
        self._cells: NDArray[np.int32] = np.full((SIDE, SIDE, SIDE), AIR, np.int32)
        self._materials: dict[str, int] = {}
        self._parts: list[tuple[str, int, int]] = []

    def title(self, name: str, description: str) -> None:
        """Name and describe the build."""
        self.name = name
        self.description = description

    def put(self, x: Along, y: Along, z: Along, block: str | None, *, part: str = "") -> None:
        """Place a block at all combinations of x, y, z (None removes); `part` names the layers from first to last y."""
        at = [np.atleast_1d(np.asarray(axis, np.intp)) for axis in (y, z, x)]
        self._cells[np.ix_(*(axis + _ORIGIN for axis in at))] = self._number(block)
        self.part(part, int(at[0][0]), int(at[0][-1]))

    def box(self, low: Cell, high: Cell, block: str | None, *, part: str = "") -> None:
        """Fill a box, which is a part of the build if `part` names it."""
        self._cells[self._slices(low, high)] = self._number(block)
        self.part(part, low[1], high[1])

    def walls(self, low: Cell, high: Cell, block: str | None, *, part: str = "") -> None:
        """Draw the four vertical sides of a box."""
        (x0, y0, z0), (x1, y1, z1) = low, high
        for x in (x0, x1):
            self.box((x, y0, z0), (x, y1, z1), block)
        for z in (z0, z1):
            self.box((x0, y0, z), (x1, y1, z), block)
        self.part(part, y0, y1)

    def corners(self, low: Cell, high: Cell, block: str | None, *, part: str = "") -> None:
        """Draw the four vertical edges of a box."""
        self.put((low[0], high[0]), span(low[1], high[1]), (low[2], high[2]), block, part=part)

    def line(self, start: Cell, end: Cell, block: str | None) -> None:
        """Draw a straight line, one block per step of its longest axis."""
        steps = max(abs(b - a) for a, b in zip(start, end, strict=True))
        for step in range(steps + 1):
            x, y, z = (
                a if steps == 0 else a + int(np.floor((b - a) * step / steps + 0.5))
                for a, b in zip(start, end, strict=True)
            )
            self.put(x, y, z, block)

    def ball(self, centre: Sequence[float], radii: Sequence[float], block: str | None, *, hollow: bool = False) -> None:
        """Draw an ellipsoid."""
        bounds = [(math.floor(at - reach), math.ceil(at + reach)) for at, reach in zip(centre, radii, strict=True)]
        self._round(bounds, centre, radii, (0, 1, 2) if hollow else (), block)

    def disc(
        self,
        centre: Sequence[float],
        radius: float,
        low: int,
        high: int,
        block: str | None,
        *,
        hollow: bool = False,
        axis: str = "y",
    ) -> None:
        """Draw a cylinder."""
        along = "xyz".index(axis)
        at, radii = list(centre), [radius, radius]
        bounds = [(math.floor(value - radius), math.ceil(value + radius)) for value in centre]
        at.insert(along, 0.0)
        radii.insert(along, math.inf)
        bounds.insert(along, (low, high))
        self._round(bounds, at, radii, tuple(other for other in range(3) if other != along) if hollow else (), block)

    def gable(self, low: Cell, high: tuple[int, int], stairs: str, ridge: str, *, fill: str | None = None) -> int:
        """Draw a gable roof of stairs over a rectangle, its ridge along z."""
        x0, y, z0 = low
        x1, z1 = high
        while x0 < x1:
            self.box((x0, y, z0), (x0, y, z1), f"{stairs}[facing=east]")
            self.box((x1, y, z0), (x1, y, z1), f"{stairs}[facing=west]")
            if fill and x1 - x0 > 1:
                for z in (z0 + 1, z1 - 1):
                    self.box((x0 + 1, y, z), (x1 - 1, y, z), fill)
            x0, x1, y = x0 + 1, x1 - 1, y + 1
        if x0 == x1:
            self.box((x0, y, z0), (x0, y, z1), ridge)
            return y
        return y - 1

    def hip(self, low: Cell, high: tuple[int, int], stairs: str, cap: str | None, *, layers: int = 99) -> int:
        """Draw a hip roof of stairs over a rectangle."""
        x0, y, z0 = low
        x1, z1 = high
        while layers and x1 - x0 >= 1 and z1 - z0 >= 1:
            self.box((x0, y, z0), (x0, y, z1), f"{stairs}[facing=east]")
            self.box((x1, y, z0), (x1, y, z1), f"{stairs}[facing=west]")
            self.box((x0, y, z0), (x1, y, z0), f"{stairs}[facing=south]")
            self.box((x0, y, z1), (x1, y, z1), f"{stairs}[facing=north]")
            # Corners of a hip are outer ones; left and right are as seen when walking up the slope.
            self.put(x0, y, z0, f"{stairs}[facing=east,shape=outer_right]")
            self.put(x1, y, z0, f"{stairs}[facing=south,shape=outer_right]")
            self.put(x1, y, z1, f"{stairs}[facing=west,shape=outer_right]")
            self.put(x0, y, z1, f"{stairs}[facing=north,shape=outer_right]")
            x0, x1, z0, z1, y, layers = x0 + 1, x1 - 1, z0 + 1, z1 - 1, y + 1, layers - 1
        if x0 <= x1 and z0 <= z1 and cap:
            self.box((x0, y, z0), (x1, y, z1), cap)
            return y
        return y - 1

    def door(self, x: int, y: int, z: int, wood: str, facing: str = "north") -> None:
        """Place both halves of a shut door, hinged on the left."""
        for half, up in (("lower", 0), ("upper", 1)):
            self.put(x, y + up, z, f"{wood}_door[facing={facing},half={half},hinge=left]")

    def merlons(self, low: Cell, high: tuple[int, int], block: str) -> None:
        """Place every second block of a rectangle's edge, corners included if its sides are odd."""
        x0, y, z0 = low
        for x, z in product(range(x0, high[0] + 1), range(z0, high[1] + 1)):
            if (x in (x0, high[0]) or z in (z0, high[1])) and (x - x0 + z - z0) % 2 == 0:
                self.put(x, y, z, block)

    def tree(self, x: int, y: int, z: int, wood: str, trunk: int, radius: float) -> int:
        """Draw a trunk of logs under a crown of leaves."""
        leaves = f"{wood}_leaves[persistent=true]"
        self.ball((x, y + trunk, z), (radius, radius * 0.8, radius), leaves)
        self.box((x, y, z), (x, y + trunk, z), f"{wood}_log")
        return y + trunk + math.floor(radius * 0.8)

    def drop_loose(self) -> None:
        """Remove floating parts: all but the largest whose blocks touch, corners included."""
        from scipy import ndimage

        labels, _ = ndimage.label(self._cells != AIR, np.ones((3, 3, 3)))
        self._cells[labels != np.bincount(labels[labels > 0]).argmax()] = AIR

    def part(self, words: str, low: int, high: int) -> None:
        """Record what was drawn from layer `low` to `high`, for descriptions of the build; nothing without words."""
        if words:
            self._parts.append((words, low, high))

    def holds(self, x: int, y: int, z: int) -> bool:
        """Whether a cell holds a block."""
        return bool(self._cells[self._slices((x, y, z), (x, y, z))] != AIR)

    def top(self) -> int:
        """Return the highest layer that holds a block."""
        return int(np.flatnonzero((self._cells != AIR).any(axis=(1, 2)))[-1]) - _ORIGIN

    def parts(self) -> tuple[tuple[str, int, int], ...]:
        """Return the parts with their first and last layer, counted from 0 at the lowest block."""
        ground = int(np.flatnonzero((self._cells != AIR).any(axis=(1, 2)))[0]) - _ORIGIN
        return tuple((words, low - ground, high - ground) for words, low, high in self._parts)

    def blueprint(self) -> Blueprint:
        """Return the build, cut to its blocks. Materials are numbered by first occurrence over x, then y, then z."""
        filled = self._cells != AIR
        found = [np.flatnonzero(filled.any(axis=axes)) for axes in ((1, 2), (0, 2), (0, 1))]
        cells = self._cells[tuple(slice(int(layers[0]), int(layers[-1]) + 1) for layers in found)]
        return first_seen(np.maximum(cells, 0), ["air", *self._materials])

    def _number(self, block: str | None) -> int:
        if block is None:
            return AIR
        return self._materials.setdefault(block, len(self._materials) + 1)

    def _slices(self, low: Cell, high: Cell) -> tuple[slice, slice, slice]:
        ends = [sorted(pair) for pair in zip(low, high, strict=True)]
        x, y, z = (slice(a + _ORIGIN, b + 1 + _ORIGIN) for a, b in ends)
        return y, z, x

    def _round(
        self,
        bounds: Sequence[tuple[int, int]],
        centre: Sequence[float],
        radii: Sequence[float],
        hollow: Sequence[int],
        block: str | None,
    ) -> None:
        """Fill an ellipsoid (`bounds` of x, y, z inclusive, radii may be infinite), hollow along axes `hollow`."""
        x, y, z = (
            ((np.arange(low - 1, high + 2) - at) / reach) ** 2
            for (low, high), at, reach in zip(bounds, centre, radii, strict=True)
        )
        inside: Mask = y[:, None, None] + z[None, :, None] + x[None, None, :] <= 1.0
        if hollow:
            # Cells whose neighbours along the axes (x, y, z as 0, 1, 2) are all inside.
            core = inside.copy()
            for axis in hollow:
                index = (2, 0, 1)[axis]
                core &= np.roll(inside, 1, index) & np.roll(inside, -1, index)
            inside = inside & ~core
        low, high = ((bounds[0][end], bounds[1][end], bounds[2][end]) for end in (0, 1))
        self._cells[self._slices(low, high)][inside[1:-1, 1:-1, 1:-1]] = self._number(block)


Design = Callable[[Draw], BlockCanvas]
Painter = Callable[[Draw, BlockCanvas], None]

TIERS: tuple[Tier, ...] = ("easy", "medium", "hard")

_DESIGNS: dict[tuple[str, Tier], list[Design]] = {}


def designs_of(type_: str, tier: Tier) -> tuple[Design, ...]:
    """Return the designs of a type and tier, in the order they were registered."""
    return tuple(_DESIGNS[type_, tier])


def design(type_: str, tier: Tier) -> Callable[[Painter], Design]:
    """Register a design of a type and tier, which paints an empty canvas."""

    def enter(paint: Painter) -> Design:
        @functools.wraps(paint)
        def drawn(draw: Draw) -> BlockCanvas:
            canvas = BlockCanvas()
            paint(draw, canvas)
            return canvas

        _DESIGNS.setdefault((type_, tier), []).append(drawn)
        return drawn

    return enter


WOODS = ("oak", "spruce", "birch", "jungle", "acacia", "dark_oak", "mangrove", "cherry")
COLOURS = ("white", "orange", "light_blue", "yellow", "lime", "pink", "cyan", "purple", "blue", "green", "red")
BRIGHT = ("red", "blue", "yellow", "lime", "orange", "light_blue", "cyan", "purple")
"""Paints of toys and vehicles."""
FLOWERS = ("poppy", "dandelion", "blue_orchid", "allium", "azure_bluet", "cornflower", "oxeye_daisy", "pink_tulip")


class Masonry(NamedTuple):
    """A stone in words, and the blocks it comes in."""

    words: str
    block: str
    stairs: str
    slab: str
    wall: str

    @classmethod
    def cut(cls, words: str) -> Masonry:
        """Return the stone of a name; of bricks the full block has the plural."""
        stem = words.replace(" ", "_")
        block = stem + "s" if stem.endswith("brick") else stem
        return cls(words, block, f"{stem}_stairs", f"{stem}_slab", f"{stem}_wall")


_BRICKS = ("stone brick", "deepslate brick", "brick", "mud brick")
_STONES = ("cobblestone", "sandstone", "red sandstone", "andesite", "diorite")
MASONRY = {words: Masonry.cut(words) for words in (*_BRICKS, *_STONES)}


def plain(name: str) -> str:
    """Return a name as words: "dark oak" for dark_oak."""
    return name.replace("_", " ")
