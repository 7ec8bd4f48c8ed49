"""What every family draws on: a canvas with a middle, a memory of what is taken, and solid shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.voxel.blocks import AIR, LIQUID, STATES, block
from worldgauge.worlds.voxel.terrain import BoolArray, Canvas, IntArray, Stamp

FLOOR_Z = 12
"""z of the first free cell over level ground: the ground's top lies at this height in metres."""

EDGE = 6
"""Nothing is placed nearer to the edge of the world, in cells."""

_FILLINGS = ("", "_quarter", "_slab", "_three_quarter")
"""What a ground material's name ends in by quarters of a metre that it fills of its highest cell, 0 for full."""

_NAMES = {state.name for state in STATES}

T = TypeVar("T")

Inside = Callable[[FloatArray, FloatArray, FloatArray], NDArray[np.bool_]]
"""Whether points x, y, z (middles of cells, metres, broadcastable) belong to a shape."""


@dataclass
class Stage:
    """A scene in the making. All boxes are half open, in cells, and cut off at the world's edge."""

    canvas: Canvas
    rng: np.random.Generator
    centre: tuple[int, int]  # cell (x, y) around which people walk
    taken: BoolArray  # (X, Y) ground that is reserved
    quarters: IntArray  # (X, Y) height of the ground in quarters of a metre

    @classmethod
    def empty(cls, size: tuple[int, int, int], seed: int, family: int) -> Stage:
        """Make an empty stage with a centre near its middle."""
        rng = np.random.default_rng([seed, 1000 + family])
        centre = size[0] // 2 + int(rng.integers(-4, 5)), size[1] // 2 + int(rng.integers(-4, 5))
        flat = np.full(size[:2], 4 * FLOOR_Z, np.int64)
        return cls(Canvas.blank(size), rng, centre, np.zeros(size[:2], np.bool_), flat)

    @property
    def size(self) -> tuple[int, int, int]:
        """Cells along x, y, z."""
        x, y, z = self.canvas.states.shape
        return x, y, z

    @property
    def away(self) -> FloatArray:
        """(X, Y) metres from the centre."""
        dx, dy = (np.arange(n) - c for n, c in zip(self.size[:2], self.centre, strict=True))
        return np.sqrt((dx * dx)[:, None] + (dy * dy)[None, :]).astype(np.float64)

    def pick(self, items: Sequence[T]) -> T:
        """One of `items`, all as likely."""
        return items[int(self.rng.integers(len(items)))]

    def between(self, low: int, high: int) -> int:
        """Draw a whole number from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def shuffled(self, items: list[T]) -> list[T]:
        """`items` in another order."""
        return [items[int(n)] for n in np.argsort(self.rng.random(len(items)), kind="stable")]

    def foot(self, x: int, y: int) -> int:
        """z of the cell in which something stands on the ground."""
        return int(self.quarters[x, y]) // 4

    def begin(self, kind: str, x: int | None = None, y: int | None = None) -> int:
        """Start a new object that stands on the ground."""
        ground = FLOOR_Z if x is None or y is None else self.foot(x, y)
        return self.canvas.begin(kind, ground - 1)

    def lay_ground(self, tops: dict[str, BoolArray], soil: str = "dirt", first: str = "") -> None:
        """Fill the ground up to `quarters`; `tops` are masks (X, Y) by material of the surface, the last one counts.
        A material without quarter blocks (matter.py) is laid in whole metres."""
        names = [first, *tops]
        chosen = np.zeros(self.quarters.shape, np.int64)
        for number, mask in enumerate(tops.values(), start=1):
            chosen[mask] = number
        whole = np.array([f"{name}_quarter" not in _NAMES for name in names])[chosen]
        self.quarters[whole] -= self.quarters[whole] % 4
        full, rest = np.divmod(self.quarters, 4)
        z = np.arange(self.size[2])
        states = self.canvas.states
        states[(z < full[..., None]) & (states == AIR)] = block(soil)
        i, j = np.indices(full.shape)
        cubes = np.array([block(name) for name in names], np.uint8)
        states[i, j, full - 1] = cubes[chosen]
        for part in (1, 2, 3):
            for number in np.unique(chosen[rest == part]).tolist():
                here = np.nonzero((rest == part) & (chosen == number))
                states[(*here, full[here])] = block(names[number] + _FILLINGS[part])

    def flood(self, mask: BoolArray, z: int, kind: str = "water") -> None:
        """Add one body of water. `mask`: columns (X, Y) it covers."""
        heights = np.arange(self.size[2])
        wet = mask[..., None] & (heights <= z) & (self.canvas.states == AIR)
        self.canvas.states[wet] = block("water")
        self.canvas.instances[wet] = self.canvas.begin(kind, z)
        self.taken |= mask

    def box(self, x: tuple[int, int], y: tuple[int, int], z: tuple[int, int], name: str, own: int = 0) -> None:
        """Fill a box; what lies outside the world is left out. `own`: object number; 0 for none."""
        where = tuple(slice(max(a, 0), max(min(b, n), 0)) for (a, b), n in zip((x, y, z), self.size, strict=True))
        self.canvas.states[where] = block(name)
        self.canvas.instances[where] = own if name != "air" else 0

    def put(self, x: int, y: int, z: int, name: str, own: int = 0) -> None:
        """Set one cell, if it is inside the world. `own`: object number; 0 for none."""
        self.box((x, x + 1), (y, y + 1), (z, z + 1), name, own)

    def shell(self, x: tuple[int, int], y: tuple[int, int], z: tuple[int, int], name: str, own: int = 0) -> None:
        """Draw four walls, one cell thick. `own`: object number; 0 for none."""
        self.box(x, (y[0], y[0] + 1), z, name, own)
        self.box(x, (y[1] - 1, y[1]), z, name, own)
        self.box((x[0], x[0] + 1), y, z, name, own)
        self.box((x[1] - 1, x[1]), y, z, name, own)

    def solid(
        self,
        low: tuple[float, float, float],
        high: tuple[float, float, float],
        inside: Inside,
        name: str,
        own: int = 0,
        *,
        over: bool = True,
    ) -> None:
        """Fill the cells between two corners whose centres lie inside a shape. `own`: object number; 0 for none."""
        where = tuple(
            slice(max(int(np.floor(a)), 0), max(min(int(np.ceil(b)), n), 0))
            for a, b, n in zip(low, high, self.size, strict=True)
        )
        x, y, z = (np.arange(s.start, s.stop).astype(np.float64) + 0.5 for s in where)
        states, owners = self.canvas.states[where], self.canvas.instances[where]
        mask = np.broadcast_to(inside(x[:, None, None], y[None, :, None], z[None, None, :]), states.shape)
        if not over:
            mask = mask & (states == AIR)
        states[mask] = block(name)
        owners[mask] = own if name != "air" else 0

    def pillar(
        self, x: float, y: float, radius: float, z: tuple[float, float], name: str, own: int = 0, hollow: float = 0
    ) -> None:
        """Draw an upright cylinder, in metres; `z` is its ends, `own` an object number, `hollow` a hole's radius."""
        r2, h2 = radius * radius, hollow * hollow

        def inside(i: FloatArray, j: FloatArray, k: FloatArray) -> NDArray[np.bool_]:
            d2 = (i - x) * (i - x) + (j - y) * (j - y) + 0 * k
            return (d2 <= r2) & (d2 >= h2) if hollow else d2 <= r2

        self.solid((x - radius, y - radius, z[0]), (x + radius, y + radius, z[1]), inside, name, own)

    def ball(
        self,
        middle: tuple[float, float, float],
        radii: tuple[float, float, float],
        name: str,
        own: int = 0,
        *,
        hollow: float = 0,
        over: bool = True,
        floor: float = -1,
    ) -> None:
        """Draw an ellipsoid, in metres; `own` is an object number, 0 for none."""

        def inside(i: FloatArray, j: FloatArray, k: FloatArray) -> NDArray[np.bool_]:
            u, v, w = ((a - m) / r for a, m, r in zip((i, j, k), middle, radii, strict=True))
            d2 = u * u + v * v + w * w
            return (d2 <= 1) & (d2 >= hollow * hollow)

        low = tuple(m - r for m, r in zip(middle, radii, strict=True))
        high = tuple(m + r for m, r in zip(middle, radii, strict=True))
        self.solid((low[0], low[1], max(low[2], floor)), (high[0], high[1], high[2]), inside, name, own, over=over)

    def cone(
        self, x: float, y: float, radius: float, z: tuple[float, float], name: str, own: int = 0, top: float = 0
    ) -> None:
        """Draw an upright cone, in metres; `z` is its ends, `radius` the lower and `top` the upper radius."""

        def inside(i: FloatArray, j: FloatArray, k: FloatArray) -> NDArray[np.bool_]:
            r = radius + (top - radius) * (k - z[0]) / (z[1] - z[0])
            return (i - x) * (i - x) + (j - y) * (j - y) <= r * r

        wide = max(radius, top)
        self.solid((x - wide, y - wide, z[0]), (x + wide, y + wide, z[1]), inside, name, own)

    def draw(self, name: str, corner: tuple[int, int, int], own: int, **blocks: str) -> None:
        """Draw an object of objects.txt. `own`: its number. `blocks`: the blocks that it leaves to the caller."""
        x, y, z = corner
        for shape, *where, word in _objects()[name]:
            material = blocks.get(word, word)
            if shape == "ball":
                dx, dy, dz, *radii = map(float, where)
                self.ball((x + dx, y + dy, z + dz), (radii[0], radii[1], radii[2]), material, own)
            elif shape in ("pillar", "cone"):
                upright = self.pillar if shape == "pillar" else self.cone
                dx, dy, radius = map(float, where[:3])
                upright(x + dx, y + dy, radius, _spans(where[3], z)[0], material, own)
            else:
                fill = self.box if shape == "box" else self.shell
                for i, j, k in product(*map(_spans, where, corner)):
                    fill(i, j, k, material, own)

    def stamp(self, x: int, y: int, shape: Stamp, kind: str, *, sunk: int = 0) -> int:
        """Set a stamp on the ground as a new object."""
        z = self.foot(x, y)
        own = self.canvas.begin(kind, z - 1)
        if int(self.quarters[x, y]) % 4:
            # The ground's highest cell is filled in part: a trunk stands in it, not over it.
            self.canvas.states[x, y, z] = AIR
        self.canvas.stamp(x, y, z - sunk, shape, own)
        return own

    def claim(self, x: tuple[int, int], y: tuple[int, int], gap: int = 1) -> bool:
        """Reserve a rectangle of ground, with a margin, if all of it is free."""
        area = slice(x[0] - gap, x[1] + gap), slice(y[0] - gap, y[1] + gap)
        if any(s.start < EDGE or s.stop > n - EDGE for s, n in zip(area, self.size, strict=False)):
            return False
        if self.taken[area].any():
            return False
        self.taken[x[0] : x[1], y[0] : y[1]] = True
        return True

    def places(
        self, wanted: int, width: int, depth: int, *, near: float = 0, far: float = 1e9, gap: int = 1, tries: int = 40
    ) -> Iterator[tuple[int, int]]:
        """Find free rectangles at random, `near` to `far` metres from the centre; reserve each, yield its corner."""
        made = 0
        reach = int(min(far, max(self.size)))
        low = [max(c - reach, EDGE) for c in self.centre]
        high = [min(c + reach, n - EDGE) for c, n in zip(self.centre, self.size[:2], strict=True)]
        for _ in range(wanted * tries):
            x, y = int(self.rng.integers(low[0], high[0])), int(self.rng.integers(low[1], high[1]))
            dx, dy = x + width / 2 - self.centre[0], y + depth / 2 - self.centre[1]
            if near * near <= dx * dx + dy * dy <= far * far and self.claim((x, x + width), (y, y + depth), gap):
                yield x, y
                made += 1
                if made == wanted:
                    return

    def sow(self, mask: BoolArray, names: tuple[str, ...], share: float) -> None:
        """Scatter plants on a share of the free columns of `mask`, at whole metres. They do not reserve the ground."""
        lots = self.rng.random(mask.shape)
        free = mask & ~self.taken & (self.quarters % 4 == 0) & (lots < share)
        i, j = np.nonzero(free)
        k = self.quarters[i, j] // 4
        clear = (self.canvas.states[i, j, k] == AIR) & ~LIQUID[self.canvas.states[i, j, k - 1]]
        i, j, k = i[clear], j[clear], k[clear]
        sorts = np.array([block(name) for name in names], np.uint8)
        self.canvas.states[i, j, k] = sorts[np.floor(lots[i, j] / share * len(names)).astype(np.int64)]


@cache
def _objects() -> dict[str, list[list[str]]]:
    text = (files(__package__) / "objects.txt").read_text("utf-8")
    paragraphs = [paragraph.splitlines() for paragraph in text.split("\n\n")[1:]]
    return {title: [line.split() for line in lines] for title, *lines in paragraphs}


def _spans(text: str, start: int) -> list[tuple[int, int]]:
    """Read spans of cells, as in "0:3,5", counted from `start`."""
    ends = [[int(end) for end in span.split(":")] for span in text.split(",")]
    return [(start + span[0], start + (span[1] if len(span) > 1 else span[0] + 1)) for span in ends]


def walkable(quarters: IntArray, where: BoolArray, rounds: int = 40) -> IntArray:
    """Lower the ground (X, Y), in quarters of a metre, until no step to a neighbour is higher than half a metre."""
    for _ in range(rounds):
        padded = np.pad(quarters, 1, mode="edge")
        lowest = np.minimum(np.minimum(padded[:-2], padded[1:-1]), padded[2:])
        lowest = np.minimum(np.minimum(lowest[:, :-2], lowest[:, 1:-1]), lowest[:, 2:])
        lowered = np.where(where, np.minimum(quarters, lowest + 2), quarters)
        if np.array_equal(lowered, quarters):
            break
        quarters = lowered
    return quarters


def terraced(metres: FloatArray, ramp: float = 0.34) -> IntArray:
    """Turn smooth heights in metres into terraces at whole metres, in quarters; ramps take a share of each rise."""
    whole = np.floor(metres)
    part = np.clip(np.floor((metres - whole - (1 - ramp)) / ramp * 4 + 1e-9) + 1, 0, 3)
    return (4 * whole + np.where(metres - whole < 1 - ramp, 0, part)).astype(np.int64)
