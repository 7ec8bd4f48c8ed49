"""Trees, flowers, herbs and boulders: their shapes, and where they grow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worldgauge.worlds.voxel.blocks import AIR, GROUND, block
from worldgauge.worlds.voxel.styles import Biome
from worldgauge.worlds.voxel.terrain import BoolArray, Canvas, Stamp, Terrain, grow, value_noise

VARIANTS = 5
"""Shapes drawn of every species in one world."""

MARGIN = 6
"""No tree stands nearer to the edge of the world, so that all its leaves are inside."""

_SQUARE = 7
_CELLS = Iterator[tuple[int, int, int, str]]


def plant_trees(
    rng: np.random.Generator, canvas: Canvas, land: Terrain, biome: Biome, taken: BoolArray, radius: int
) -> BoolArray:
    """Plant trees on free ground, denser in forests.

    Args:
        taken: Columns (X, Y) that are not free.
        radius: Radius of the settlement, metres.

    Returns:
        `taken` with the ground of the trees.
    """
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
    """Plant patches of one kind of flower each, and a few of pumpkins.

    Args:
        taken: Columns (X, Y) that are not free.
    """
    shape = land.height.shape
    for _ in range(shape[0] * shape[1] // 900):
        x, y = (int(rng.integers(4, n - 4)) for n in shape)
        sort = biome.flowers[int(rng.integers(len(biome.flowers)))] if rng.random() < 0.93 else "pumpkin"
        spots = np.argwhere(rng.random((7, 7)) < (0.35 if sort != "pumpkin" else 0.12)) - 3
        spots = spots[(spots * spots).sum(1) < 10] + (x, y)
        spots = spots[~taken[spots[:, 0], spots[:, 1]] & ~land.wet[spots[:, 0], spots[:, 1]]]
        flowerbed(canvas, land, spots, sort)


def flowerbed(canvas: Canvas, land: Terrain, spots: np.ndarray, sort: str) -> None:
    """Plant one object of flowers, where the ground bears plants and is free.

    Args:
        spots: Columns (N, 2).
        sort: Block of the plant.
    """
    i, j = spots[:, 0], spots[:, 1]
    k = land.height[i, j] + 1
    free = (canvas.states[i, j, k] == AIR) & GROUND[canvas.states[i, j, k - 1]]
    if free.any():
        canvas.states[i[free], j[free], k[free]] = block(sort)
        canvas.instances[i[free], j[free], k[free]] = canvas.begin(sort, int(k[free].min()) - 1)


def sow_herbs(rng: np.random.Generator, canvas: Canvas, land: Terrain, biome: Biome, taken: BoolArray) -> None:
    """Sow grass, ferns and dry bushes, denser in some places; they belong to the terrain.

    Args:
        taken: Columns (X, Y) that are not free.
    """
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
    """Place rocks in the countryside.

    Args:
        taken: Columns (X, Y) that are not free.

    Returns:
        `taken` with the ground of the rocks.
    """
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
    "grass_block",
    "dry_grass_block",
    "snowy_grass_block",
    "snow_block",
    "podzol",
    "coarse_dirt",
    "sand",
    "red_sand",
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
