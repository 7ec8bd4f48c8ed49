"""The lie of the land: heights, ponds, a stream, and what the ground is made of.

Only additions and products of float64 and whole numbers are used, so that every machine gets the same cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.voxel.blocks import AIR, FACINGS, GROUND, KINDS, STATES, block
from worldgauge.worlds.voxel.styles import Biome
from worldgauge.worlds.voxel.world import Drawn

# Where a world is drawn: cells with their objects, and frames that let a building be drawn facing any way.

SIDES = ("right", "back", "left", "front")
"""Directions of a frame's own axes +u, +v, -u, -v, in the order of blocks.FACINGS."""

_WOOD = np.array([KINDS[state.kind].name.endswith("_log") for state in STATES])
_LEAVES = np.array([KINDS[state.kind].name.endswith("_leaves") for state in STATES])
_DIRECTED = {kind.name for kind in KINDS if kind.shape == "stairs"}


@dataclass
class Canvas:
    """The cells of a world in the making; objects are numbered as they are begun."""

    states: NDArray[np.uint8]
    instances: NDArray[np.uint16]
    drawn: list[Drawn] = field(default_factory=list)
    """What the objects are, in the order of their numbers."""

    @classmethod
    def blank(cls, size: tuple[int, int, int]) -> Canvas:
        """Air only."""
        return cls(np.zeros(size, np.uint8), np.zeros(size, np.uint16))

    def begin(self, kind: str = "", ground: int = 0) -> int:
        """Start a new object. `ground`: z of the ground cell it stands on; see `world.Drawn`."""
        self.drawn.append(Drawn(kind, ground))
        return len(self.drawn)

    def renumber(self) -> None:
        """Make the numbers 1, 2, ... without gaps, since an object may have been built over."""
        flat = self.instances.reshape(-1)
        # Few cells belong to an object, so the rest is looked at once.
        owned = np.flatnonzero(flat)
        of = flat[owned] * (self.states.reshape(-1)[owned] != AIR)
        used = np.bincount(of, minlength=len(self.drawn) + 1) > 0
        used[0] = False
        flat[owned] = (np.cumsum(used) * used).astype(np.uint16)[of]
        self.drawn = [one for one, kept in zip(self.drawn, used[1:], strict=True) if kept]

    def put(self, x: int, y: int, z: int, name: str, instance: int = 0) -> None:
        """Set one cell. `instance`: object number; 0 for none."""
        self.states[x, y, z] = block(name)
        self.instances[x, y, z] = instance

    def stamp(self, x: int, y: int, z: int, shape: Stamp, instance: int) -> None:
        """Set the cells of a stamp that are air; its wood also grows through leaves."""
        i, j, k = shape.offsets[:, 0] + x, shape.offsets[:, 1] + y, shape.offsets[:, 2] + z
        there = self.states[i, j, k]
        free = (there == AIR) | (_WOOD[shape.states] & _LEAVES[there])
        i, j, k = i[free], j[free], k[free]
        self.states[i, j, k] = shape.states[free]
        self.instances[i, j, k] = instance


@dataclass(frozen=True)
class Stamp:
    """A small shape to be set many times: offsets (N, 3) int64 from its origin in cells, and states (N,) uint8."""

    offsets: NDArray[np.int64]
    states: NDArray[np.uint8]

    @classmethod
    def of(cls, cells: Iterable[tuple[int, int, int, str]]) -> Stamp:
        """From (dx, dy, dz, block name); a later cell replaces an earlier one."""
        table = {(x, y, z): block(name) for x, y, z, name in cells}
        return cls(np.array(list(table), np.int64), np.array(list(table.values()), np.uint8))


@dataclass(frozen=True)
class PlotFrame:
    """A plot seen from the street: u to the right, v away from the street, w up from the ground cell, w = 0."""

    canvas: Canvas
    x: int  # smallest cell
    y: int
    z: int  # ground cell
    width: int  # cells along u
    depth: int  # cells along v
    turn: int  # quarter turns counter-clockwise; with 0 the street is to the south
    instance: int  # object number of what is drawn

    def cell(self, u: int, v: int) -> tuple[int, int]:
        """Convert a cell of the plot to the world. Returns world (x, y)."""
        last_u, last_v = self.width - 1, self.depth - 1
        dx, dy = ((u, v), (last_v - v, u), (last_u - u, last_v - v), (v, last_u - u))[self.turn]
        return self.x + dx, self.y + dy

    def put(self, u: int, v: int, w: int, name: str, side: str | None = None) -> None:
        """Set one cell."""
        x, y = self.cell(u, v)
        self.canvas.put(x, y, self.z + w, self._state(name, side), self.instance if name != "air" else 0)

    def box(self, u: range, v: range, w: range, name: str, side: str | None = None) -> None:
        """Fill a box."""
        if not (len(u) and len(v) and len(w)):
            return
        (xa, ya), (xb, yb) = self.cell(u[0], v[0]), self.cell(u[-1], v[-1])
        where = (
            slice(min(xa, xb), max(xa, xb) + 1),
            slice(min(ya, yb), max(ya, yb) + 1),
            slice(self.z + w[0], self.z + w[-1] + 1),
        )
        self.canvas.states[where] = block(self._state(name, side))
        self.canvas.instances[where] = self.instance if name != "air" else 0

    def get(self, u: int, v: int, w: int) -> str:
        """Return the kind of the block in a cell."""
        x, y = self.cell(u, v)
        return KINDS[STATES[int(self.canvas.states[x, y, self.z + w])].kind].name

    def _state(self, name: str, side: str | None) -> str:
        if name not in _DIRECTED:
            return name
        return f"{name}[facing={FACINGS[(SIDES.index(side or 'back') + self.turn) % 4]}]"


IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

LOWEST, HIGHEST = 18, 34
DRY = -1
_TOPSOIL = 3
_FORD_EVERY, _FORD_LENGTH = 34, 5


@dataclass
class Terrain:
    """Columns of the land; arrays (X, Y)."""

    height: IntArray  # z of the highest ground cell
    water: IntArray  # z of the surface cell, or DRY
    body: IntArray  # number of the pond or stream, from 1
    top: NDArray[np.uint8]  # state of the highest ground cell
    centre: tuple[int, int]  # column (x, y) of the settlement's centre
    distance: FloatArray  # metres to it

    @property
    def wet(self) -> BoolArray:
        """Where there is water."""
        wet: BoolArray = self.water != DRY
        return wet

    def level(self, x: slice, y: slice, z: int) -> None:
        """Level the ground of a rectangle, with a slope of 45 degrees around it."""
        grid_x, grid_y = np.ogrid[: self.height.shape[0], : self.height.shape[1]]
        away_x = np.maximum(np.maximum(x.start - grid_x, grid_x - x.stop + 1), 0)
        away_y = np.maximum(np.maximum(y.start - grid_y, grid_y - y.stop + 1), 0)
        away = np.maximum(away_x, away_y)
        slack = np.where(grow(self.wet, 1), HIGHEST, away)
        self.height = np.clip(self.height, z - slack, z + slack)

    def fill(self, canvas: Canvas, biome: Biome) -> None:
        """Draw ground and water; every body of water is an object of its own."""
        # Small numbers: all cells of the world are compared several times.
        z = np.arange(canvas.states.shape[2], dtype=np.int16)
        height, water = (values[..., None].astype(np.int16) for values in (self.height, self.water))
        above = z > height
        liquid = above & (z <= water)
        canvas.states[...] = block("stone")
        np.copyto(canvas.states, block(biome.soil), where=z > height - np.int16(_TOPSOIL))
        np.copyto(canvas.states, self.top[..., None], where=z == height)
        np.copyto(canvas.states, AIR, where=above)
        np.copyto(canvas.states, block("water"), where=liquid)
        for body in range(1, int(self.body.max(initial=0)) + 1):
            here = self.body == body
            # The stream is body 1 where there is one: it has no place that one could walk to.
            kind = "water" if biome.stream and body == 1 else "frozen_pond" if biome.frozen else "pond"
            canvas.instances[liquid & here[..., None]] = canvas.begin(kind, int(self.water[here].max(initial=0)))
        if biome.frozen:
            surface = liquid & (z == water)
            canvas.states[surface] = block("ice")


def make_terrain(rng: np.random.Generator, size: tuple[int, int, int], biome: Biome, radius: int) -> Terrain:
    """Make the terrain for a settlement near the middle. `radius`: radius of the settlement, metres."""
    shape = size[:2]
    centre = (
        shape[0] // 2 + int(rng.integers(-shape[0] // 40, shape[0] // 40 + 1)),
        shape[1] // 2 + int(rng.integers(-shape[1] // 40, shape[1] // 40 + 1)),
    )
    dx, dy = np.arange(shape[0])[:, None] - centre[0], np.arange(shape[1])[None, :] - centre[1]
    distance = np.sqrt((dx * dx + dy * dy).astype(np.float64))
    hills = (fractal(rng, shape, 72) - 0.5) * 2 * biome.relief
    flat = _smooth((distance - 0.55 * radius) / (1.1 * radius))
    middle = float(hills[centre])
    # Inside the settlement a quarter of the relief stays: low terraces rather than a table.
    lie = 0.5 * middle + (hills - middle) * (0.25 + 0.75 * flat) + 0.5 * middle * flat
    height = np.clip(np.floor(25.5 + lie), LOWEST, HIGHEST).astype(np.int64)
    # Main ground with patches of the others, each where its own noise is high.
    top = np.full(shape, block(biome.ground), np.uint8)
    for name, threshold, period in biome.patches:
        ragged = 0.86 * value_noise(rng, shape, period) + 0.14 * rng.random(shape)
        top[ragged > threshold] = block(name)
    land = Terrain(height, np.full(shape, DRY, np.int64), np.zeros(shape, np.int64), top, centre, distance)
    if biome.stream:
        _carve_stream(rng, land, biome, radius)
    _carve_ponds(rng, land, biome, radius)
    return land


def value_noise(rng: np.random.Generator, shape: tuple[int, int], period: int) -> FloatArray:
    """Draw smooth noise (X, Y) in [0, 1) that interpolates random values on a lattice."""
    lattice = rng.random((shape[0] // period + 2, shape[1] // period + 2))
    (i, s), (j, t) = (_lattice_weights(n, period) for n in shape)
    s, t = s[:, None], t[None, :]
    near = lattice[np.ix_(i, j)] * (1 - s) + lattice[np.ix_(i + 1, j)] * s
    far = lattice[np.ix_(i, j + 1)] * (1 - s) + lattice[np.ix_(i + 1, j + 1)] * s
    noise: FloatArray = near * (1 - t) + far * t
    return noise


def fractal(rng: np.random.Generator, shape: tuple[int, int], period: int) -> FloatArray:
    """Sum three octaves of value noise. `shape`: (X, Y). Returns (X, Y) float64 in [0, 1)."""
    octaves = [value_noise(rng, shape, max(period >> n, 2)) for n in range(3)]
    return 0.62 * octaves[0] + 0.26 * octaves[1] + 0.12 * octaves[2]


def grow(mask: BoolArray, steps: int) -> BoolArray:
    """Dilate a mask (X, Y) by `steps` cells in the eight directions."""
    padded = np.pad(mask, steps)
    rows = np.zeros_like(mask)
    for shift in range(2 * steps + 1):
        rows |= padded[shift : shift + mask.shape[0], steps : steps + mask.shape[1]]
    padded, out = np.pad(rows, steps), np.zeros_like(mask)
    for shift in range(2 * steps + 1):
        out |= padded[steps : steps + mask.shape[0], shift : shift + mask.shape[1]]
    return out


def _lattice_weights(n: int, period: int) -> tuple[IntArray, FloatArray]:
    index, rest = np.divmod(np.arange(n), period)
    return index, _smooth((rest + 0.5) / period)


def _smooth(t: FloatArray) -> FloatArray:
    t = np.clip(t, 0.0, 1.0)
    eased: FloatArray = t * t * (3.0 - 2.0 * t)
    return eased


def _carve_stream(rng: np.random.Generator, land: Terrain, biome: Biome, radius: int) -> None:
    """A winding stream that passes the settlement on one side, with fords to wade."""
    length, across = land.height.shape
    turned = bool(rng.integers(2))
    height, water, body, top = (a.T if turned else a for a in (land.height, land.water, land.body, land.top))
    length, across = height.shape
    side = 1 if rng.integers(2) else -1
    middle = land.centre[::-1][0] if turned else land.centre[1]
    winding = (fractal(rng, (length, 1), 48)[:, 0] - 0.5) * 44
    line = middle + side * (0.62 * radius) + winding
    half = 1.6 + 1.6 * value_noise(rng, (length, 1), 20)[:, 0]
    away = np.abs(np.arange(across)[None, :] - line[:, None]) - half[:, None]
    channel = away < 0
    level = int(np.sort(height[channel])[np.count_nonzero(channel) * 3 // 10])
    bank = np.maximum(np.ceil(away).astype(np.int64), 0)
    np.copyto(height, np.clip(height, level - np.maximum(bank - 2, 0) // 2, level + (bank + 1) // 2))
    fords = np.arange(0, length - _FORD_EVERY, _FORD_EVERY)
    fords += rng.integers(_FORD_EVERY - 2 * _FORD_LENGTH, size=len(fords))
    ford = ((np.arange(length)[:, None] - fords) // _FORD_LENGTH == 0).any(1)[:, None]
    deep = channel & ~ford
    height[deep] = level - 2
    height[channel & ford] = level
    water[deep], body[deep] = level, 1
    top[(away < 1.6 + value_noise(rng, (length, across), 5))] = block(biome.shore)
    top[deep] = block(biome.bed)


def _carve_ponds(rng: np.random.Generator, land: Terrain, biome: Biome, radius: int) -> None:
    """Ponds: the first near the settlement's edge, the others farther out."""
    shape = land.height.shape
    wanted = 1 + biome.ponds * shape[0] * shape[1] // (320 * 320)
    made = 0
    for _ in range(300):
        x, y = (int(rng.integers(16, n - 16)) for n in shape)
        size = 4.0 + 4.5 * float(rng.random())
        near, far = (0.5 * radius, 1.1 * radius) if made == 0 else (0.9 * radius, 3.0 * radius)
        if not near < land.distance[x, y] - size < far:
            continue
        dx, dy = np.arange(shape[0])[:, None] - x, np.arange(shape[1])[None, :] - y
        ragged = size * (0.7 + 0.6 * value_noise(rng, shape, 6))
        away = np.sqrt((dx * dx + dy * dy).astype(np.float64)) - ragged
        if (land.wet & (away < 6)).any():
            continue
        inside = away < 0
        around = np.sort(land.height[away < 3])
        level = int(around[len(around) // 4])
        bank = np.maximum(np.ceil(away).astype(np.int64), 0)
        held = np.clip(land.height, level - np.maximum(bank - 2, 0) // 2, level + (bank + 1) // 2)
        land.height = np.where(land.wet, land.height, held)
        land.height[inside] = level - 1 - np.minimum(np.floor(-away[inside] / 2), 2).astype(np.int64)
        land.top[(away < 2.2) & ~land.wet] = block(biome.shore)
        land.top[inside] = block(biome.bed)
        land.water[inside], land.body[inside] = level, int(land.body.max()) + 1
        made += 1
        if made == wanted:
            return


# Trees, flowers, herbs and boulders: their shapes, and where they grow.

VARIANTS = 5
"""Shapes drawn of every species in one world."""

MARGIN = 6
"""No tree stands nearer to the edge of the world, so that all its leaves are inside."""

_SQUARE = 7
_CELLS = Iterator[tuple[int, int, int, str]]


def plant_trees(
    rng: np.random.Generator, canvas: Canvas, land: Terrain, biome: Biome, taken: BoolArray, radius: int
) -> BoolArray:
    """Plant trees on free ground, denser in forests; returns `taken` with their ground."""
    species = [name for name, weight in biome.trees for _ in range(weight)]
    shapes = {name: [tree(name, rng) for _ in range(VARIANTS)] for name, _ in biome.trees}
    shape = land.height.shape
    # Few trees between the houses, woods and clearings beyond.
    crowd = np.where(land.distance < 0.9 * radius, 0.5, 0.15 + 2.0 * value_noise(rng, shape, 40))
    lush = grow(land.wet, 7)
    if biome.shore_tree:
        shapes[biome.shore_tree] = [tree(biome.shore_tree, rng) for _ in range(VARIANTS)]
        crowd[lush] = 2.2
    blocked = grow(taken, 2) | grow(land.wet, 1)
    taken = taken.copy()
    for x0 in range(MARGIN, shape[0] - MARGIN - _SQUARE, _SQUARE):
        for y0 in range(MARGIN, shape[1] - MARGIN - _SQUARE, _SQUARE):
            dx, dy, kind, variant = (int(n) for n in rng.integers([_SQUARE - 1, _SQUARE - 1, len(species), VARIANTS]))
            x, y, luck = x0 + dx, y0 + dy, float(rng.random())
            if blocked[x, y] or luck > biome.forest * crowd[x, y]:
                continue
            watered = biome.shore_tree and (lush[x, y] or (land.distance[x, y] < radius and variant < 2))
            name = biome.shore_tree if watered else species[kind]
            ground = int(land.height[x, y])
            canvas.stamp(x, y, ground + 1, shapes[name][variant], canvas.begin(name, ground))
            taken[x - 1 : x + 2, y - 1 : y + 2] = True
    return taken


def plant_flowers(rng: np.random.Generator, canvas: Canvas, land: Terrain, biome: Biome, taken: BoolArray) -> None:
    """Plant patches of one kind of flower each, and a few of pumpkins. `taken`: columns (X, Y) that are not free."""
    shape = land.height.shape
    for _ in range(shape[0] * shape[1] // 900):
        x, y = (int(rng.integers(4, n - 4)) for n in shape)
        sort = biome.flowers[int(rng.integers(len(biome.flowers)))] if rng.random() < 0.93 else "pumpkin"
        spots = np.argwhere(rng.random((7, 7)) < (0.35 if sort != "pumpkin" else 0.12)) - 3
        spots = spots[(spots * spots).sum(1) < 10] + (x, y)
        spots = spots[~taken[spots[:, 0], spots[:, 1]] & ~land.wet[spots[:, 0], spots[:, 1]]]
        flowerbed(canvas, land, spots, sort)


def flowerbed(canvas: Canvas, land: Terrain, spots: np.ndarray, sort: str) -> None:
    """Plant one object of flowers, where the ground bears plants and is free. `spots`: columns (N, 2)."""
    i, j = spots[:, 0], spots[:, 1]
    k = land.height[i, j] + 1
    free = (canvas.states[i, j, k] == AIR) & GROUND[canvas.states[i, j, k - 1]]
    if free.any():
        canvas.states[i[free], j[free], k[free]] = block(sort)
        canvas.instances[i[free], j[free], k[free]] = canvas.begin(sort, int(k[free].min()) - 1)


def sow_herbs(rng: np.random.Generator, canvas: Canvas, land: Terrain, biome: Biome, taken: BoolArray) -> None:
    """Sow grass, ferns and dry bushes, denser in some places; they belong to the terrain."""
    shape = land.height.shape
    soil = np.isin(land.top, np.array([block(name) for name in _FERTILE], np.uint8))
    for name, share in biome.herbs:
        here = rng.random(shape) < share * 2.2 * value_noise(rng, shape, 16)
        i, j = np.nonzero(here & soil & ~taken & ~land.wet)
        k = land.height[i, j] + 1
        free = canvas.states[i, j, k] == AIR
        canvas.states[i[free], j[free], k[free]] = block(name)


def place_boulders(
    rng: np.random.Generator, canvas: Canvas, land: Terrain, biome: Biome, taken: BoolArray
) -> BoolArray:
    """Place rocks in the countryside; returns `taken` with their ground."""
    shape = land.height.shape
    blocked = grow(taken, 6) | grow(land.wet, 5)
    taken = taken.copy()
    for _ in range(shape[0] * shape[1] // 2600):
        x, y = (int(rng.integers(MARGIN, n - MARGIN)) for n in shape)
        name = biome.boulders[int(rng.integers(len(biome.boulders)))]
        shape_of = boulder(name, rng)
        if blocked[x, y]:
            continue
        ground = int(land.height[x, y])
        canvas.stamp(x, y, ground, shape_of, canvas.begin("boulder", ground))
        taken[x - 5 : x + 6, y - 5 : y + 6] = True
    return taken


def boulder(name: str, rng: np.random.Generator) -> Stamp:
    """Make a boulder with a radius of one to five metres, sunk into the ground, of the block `name`."""
    radii = (1.3 + 1.4 * rng.random(3)) * (1.8 if rng.random() < 0.25 else 1.0)
    offsets = np.argwhere(np.ones((11, 11, 11), np.bool_)) - 5
    inside = offsets[((offsets / radii) * (offsets / radii)).sum(1) <= 1]
    return Stamp(inside, np.full(len(inside), block(name), np.uint8))


def tree(species: str, rng: np.random.Generator) -> Stamp:
    """Make one tree of a species, its lowest log at (0, 0, 0). Leaves come first, so that logs are never hidden."""
    return Stamp.of(_SPECIES[species](rng))


def _broadleaf(rng: np.random.Generator, wood: str, trunk: tuple[int, int], crown: float) -> _CELLS:
    """A round crown on a straight trunk."""
    height = int(rng.integers(*trunk))
    radius = crown + 0.5 * float(rng.random())
    reach = int(radius) + 1
    for x in range(-reach, reach + 1):
        for y in range(-reach, reach + 1):
            for z in range(-reach, reach + 1):
                d2 = x * x + y * y + 1.3 * z * z
                if d2 < radius * radius and float(rng.random()) < 1.25 - d2 / (radius * radius) * 0.5:
                    yield x, y, height - 1 + z, f"{wood}_leaves"
    for z in range(height):
        yield 0, 0, z, f"{wood}_log"


def _great_oak(rng: np.random.Generator) -> _CELLS:
    """Several crowns on branches."""
    height = int(rng.integers(6, 8))
    lumps = [(0, 0, height, 2.6)]
    for dx, dy in ((2, 0), (-2, 1), (0, -2), (-1, 2)):
        lumps.append((dx, dy, height - 1 - int(rng.integers(2)), 1.9 + 0.4 * float(rng.random())))
    for cx, cy, cz, radius in lumps:
        for x in range(-3, 4):
            for y in range(-3, 4):
                for z in range(-2, 3):
                    if x * x + y * y + 1.5 * z * z < radius * radius:
                        yield cx + x, cy + y, cz + z, "oak_leaves"
    for cx, cy, cz, _ in lumps[1:]:
        yield cx // 2, cy // 2, cz, "oak_log"
        yield cx, cy, cz, "oak_log"
    for z in range(height + 1):
        yield 0, 0, z, "oak_log"


def _conifer(rng: np.random.Generator, *, slim: bool, snowy: bool = False) -> _CELLS:
    """Rings of needles, alternately wide and narrow, on a straight trunk."""
    height = int(rng.integers(9, 12)) if slim else int(rng.integers(7, 10))
    bare = 4 if slim else 2
    for z in range(bare, height + 2):
        left = height + 1 - z
        widest = 1.6 if slim else 2.9
        radius = min(0.3 + 0.38 * left, widest) - (0.9 if left % 2 and left > 1 else 0.0)
        needles = "snowy_leaves" if snowy and (left % 2 == 0 or left < 2) else "spruce_leaves"
        for x in range(-3, 4):
            for y in range(-3, 4):
                if x * x + y * y <= radius * radius:
                    yield x, y, z, needles
    for z in range(height):
        yield 0, 0, z, "spruce_log"


def _acacia(rng: np.random.Generator, *, tall: bool) -> _CELLS:
    """A bent trunk under flat crowns."""
    height = int(rng.integers(7, 10)) if tall else int(rng.integers(5, 7))
    lean_x, lean_y = ((1, 0), (-1, 0), (0, 1), (0, -1))[int(rng.integers(4))]
    bend = height - 3 + int(rng.integers(2))
    x = y = 0
    trunk = []
    for z in range(height):
        if z > bend:
            trunk.append((x, y, z))
            x, y = x + lean_x, y + lean_y
        trunk.append((x, y, z))
    crowns = [(x, y, height, 3.4)]
    if tall or rng.integers(2):
        crowns.append((-2 * lean_x, -2 * lean_y, bend + 1, 2.4))
        trunk += [(-lean_x, -lean_y, bend - 1), (-lean_x, -lean_y, bend), (-2 * lean_x, -2 * lean_y, bend)]
    for cx, cy, cz, radius in crowns:
        for dx in range(-4, 5):
            for dy in range(-4, 5):
                for up, shrink in ((0, 0.0), (1, 1.3)):
                    if dx * dx + dy * dy <= (radius - shrink) * (radius - shrink):
                        yield cx + dx, cy + dy, cz + up, "acacia_leaves"
    for cell in trunk:
        yield *cell, "acacia_log"


def _palm(rng: np.random.Generator) -> _CELLS:
    """A bare trunk with drooping fronds."""
    height = int(rng.integers(6, 9))
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        for n in range(1, 4):
            yield dx * n, dy * n, height - (n == 3), "oak_leaves"
        yield dx + dy, dy - dx, height, "oak_leaves"
    yield 0, 0, height, "oak_leaves"
    for z in range(height):
        yield 0, 0, z, "acacia_log"


def _cactus(rng: np.random.Generator) -> _CELLS:
    """A column, often with arms."""
    height = int(rng.integers(2, 5))
    if height > 2 and rng.integers(2):
        dx, dy = ((1, 0), (0, 1))[int(rng.integers(2))]
        for side in (1, -1)[: int(rng.integers(1, 3))]:
            yield side * dx, side * dy, 1, "cactus"
            yield side * dx, side * dy, 2, "cactus"
    for z in range(height):
        yield 0, 0, z, "cactus"


def _dead_tree(rng: np.random.Generator) -> _CELLS:
    """A bare trunk with stumps of branches."""
    height = int(rng.integers(4, 8))
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        if rng.integers(2):
            z = int(rng.integers(2, height))
            yield dx, dy, z, "oak_log"
            yield 2 * dx, 2 * dy, z + int(rng.integers(2)) if z < height - 1 else z, "oak_log"
            yield dx, dy, z + 1, "cobweb"
    for z in range(height):
        yield 0, 0, z, "oak_log"


def _shrub(rng: np.random.Generator) -> _CELLS:
    """A low ball of leaves."""
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1)):
        if rng.random() < 0.75:
            yield x, y, 0, "oak_leaves"
    yield 0, 0, 1, "oak_leaves"
    yield 0, 0, 0, "oak_log"


def _bush(rng: np.random.Generator) -> _CELLS:
    """A dry bush."""
    yield 0, 0, 0, "dead_bush"


_FERTILE = (
    *("grass_block", "dry_grass_block", "snowy_grass_block", "snow_block"),
    *("podzol", "coarse_dirt", "sand", "red_sand"),
)
_SPECIES = {
    "oak": lambda rng: _broadleaf(rng, "oak", (4, 7), 2.5),
    "birch": lambda rng: _broadleaf(rng, "birch", (5, 8), 2.2),
    "great_oak": _great_oak,
    "spruce": lambda rng: _conifer(rng, slim=False),
    "pine": lambda rng: _conifer(rng, slim=True),
    "snowy_spruce": lambda rng: _conifer(rng, slim=False, snowy=True),
    "snowy_pine": lambda rng: _conifer(rng, slim=True, snowy=True),
    "acacia": lambda rng: _acacia(rng, tall=False),
    "tall_acacia": lambda rng: _acacia(rng, tall=True),
    "palm": _palm,
    "cactus": _cactus,
    "dead_tree": _dead_tree,
    "shrub": _shrub,
    "dead_bush": _bush,
}
