"""Open country: meadows, a forest, a lake under rocky hills, trails; nobody lives here."""

from __future__ import annotations

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.voxel.blocks import STATES, block
from worldgauge.worlds.voxel.families.stage import Stage, terraced, walkable
from worldgauge.worlds.voxel.terrain import VARIANTS, BoolArray, Stamp, boulder, fractal, grow, tree, value_noise

_PLAIN_M = 14.0
_LAKE_M = _PLAIN_M - 1.0
"""Level of the ground round the lake; its surface lies a little lower."""


def draw(stage: Stage) -> None:
    """Land, water, trails, then what grows."""
    shape = stage.size[:2]
    sides = stage.shuffled([(1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1)])
    # Metres from the shore of the lake, negative in the water.
    side = sides[0]
    x, y = (c + stage.between(29, 34) * d + stage.between(-6, 6) for c, d in zip(stage.centre, side, strict=True))
    i, j = (np.arange(n) - c for n, c in zip(stage.size[:2], (x, y), strict=True))
    distance = np.sqrt(1.0 * (i * i)[:, None] + 1.7 * (j * j)[None, :] - 0.9 * i[:, None] * j[None, :])
    shore: FloatArray = distance - 16 * (0.7 + 0.6 * value_noise(stage.rng, stage.size[:2], 11))
    metres = _heights(stage, shore)
    trail = _trails(stage, shore)
    inner = (stage.away < 62) & (shore > -1)
    stage.quarters = walkable(terraced(metres), inner)
    stage.quarters[shore < 0] = 4 * int(_LAKE_M - 2)
    # Largest step to a neighbour in quarters of a metre.
    steps = np.zeros(stage.size[:2])
    for axis in (0, 1):
        rise = np.abs(np.diff(stage.quarters, axis=axis))
        low: tuple[slice, ...] = tuple(slice(None, -1) if a == axis else slice(None) for a in (0, 1))
        high: tuple[slice, ...] = tuple(slice(1, None) if a == axis else slice(None) for a in (0, 1))
        steps[low] = np.maximum(steps[low], rise)
        steps[high] = np.maximum(steps[high], rise)
    steep = steps > 3
    stage.lay_ground(
        {
            "stone": steep | ((metres > 23) & (value_noise(stage.rng, shape, 9) > 0.5)),
            "trail": trail,
            "dune": shore < 3 + 2 * value_noise(stage.rng, shape, 6),
        },
        "dirt",
        "turf",
    )
    stage.flood(shore < 0, int(_LAKE_M) - 1, "pond")
    stage.taken |= steep
    _landmarks(stage, trail)
    _forest(stage, sides[1], trail | (shore < 5))
    meadow = ~grow(trail, 1) & (shore > 5)
    stage.sow(meadow, ("tall_grass", "tall_grass", "fern"), 0.1)
    _flowers(stage, meadow)


def _heights(stage: Stage, shore: FloatArray) -> FloatArray:
    """Rolling near the centre, rising to hills all round, flat at the lake."""
    shape = stage.size[:2]
    rolling = (fractal(stage.rng, shape, 44) - 0.5) * 11
    hills = fractal(stage.rng, shape, 40)
    edge = np.clip((stage.away - 42) / 48, 0, 1)
    crags = np.where(hills > 0.55, (hills - 0.55) * 26, 0)
    lie = _PLAIN_M + rolling * np.clip(stage.away / 18, 0.25, 1) + edge * edge * (4 + 22 * hills) + edge * crags
    calm = np.clip((shore - 2) / 14, 0, 1)
    return np.clip(_LAKE_M + 0.05 + (lie - _LAKE_M) * calm, _LAKE_M + 0.05, 42)


def _trails(stage: Stage, shore: FloatArray) -> BoolArray:
    """A trail through the middle and one that leaves it, both winding."""
    mask = np.zeros(stage.size[:2], np.bool_)
    for axis in (0, 1):
        n = stage.size[axis]
        sway = (fractal(stage.rng, (n, 1), 34)[:, 0] - 0.5) * 30
        line = stage.centre[1 - axis] + sway - sway[stage.centre[axis]]
        away = np.abs(np.arange(stage.size[1 - axis])[None, :] - line[:, None]) < 1.5
        if axis == 1:
            away = away.T
            away[: stage.centre[0]] &= stage.rng.random() < 0.5
        mask |= away
    return mask & (shore > 1)


def _forest(stage: Stage, side: tuple[int, int], bare: BoolArray) -> None:
    """Dense wood on one side, groves and lone trees elsewhere."""
    rng, shape = stage.rng, stage.size[:2]
    i, j = (np.arange(n) - c for n, c in zip(shape, stage.centre, strict=True))
    towards = (i[:, None] * side[0] + j[None, :] * side[1]) / np.sqrt(side[0] * side[0] + side[1] * side[1])
    wood = np.clip((towards - 8) / 22, 0, 1) * 0.75
    groves = np.clip(value_noise(rng, shape, 26) * 2.4 - 1.25, 0, 1) * 0.5
    density = np.maximum(np.maximum(wood, groves), 0.03)
    density[stage.away < 9] = 0
    woods = ("oak", "birch") if rng.random() < 0.5 else ("spruce", "pine")
    autumn = value_noise(rng, shape, 30) > 0.66
    species = (*woods, "birch", "great_oak", "spruce")
    shapes = {name: [tree(name, rng) for _ in range(VARIANTS)] for name in species}
    blocked = grow(stage.taken, 1) | grow(bare, 1)
    for x0 in range(6, shape[0] - 12, 5):
        for y0 in range(6, shape[1] - 12, 5):
            x, y = x0 + int(rng.integers(4)), y0 + int(rng.integers(4))
            luck, sort, variant = float(rng.random()), int(rng.integers(5)), int(rng.integers(VARIANTS))
            if blocked[x, y] or luck > density[x, y] or stage.taken[x, y]:
                continue
            name = species[sort if wood[x, y] < 0.2 else sort % 2]
            grown = shapes[name][variant]
            if autumn[x, y] and name in ("oak", "birch", "great_oak"):
                grown = _in_autumn(grown, "scarlet_leaves" if name != "birch" else "golden_leaves")
            stage.stamp(x, y, grown, name)
            stage.taken[x, y] = True


def _in_autumn(grown: Stamp, leaves: str) -> Stamp:
    """The same tree with other leaves."""
    green = np.array([STATES[int(s)].name.endswith("_leaves") for s in grown.states])
    return Stamp(grown.offsets, np.where(green, block(leaves), grown.states).astype(np.uint8))


def _landmarks(stage: Stage, trail: BoolArray) -> None:
    """What one remembers: boulders, a rock arch, standing stones, a fallen log, a giant tree."""
    rng = stage.rng
    taken = stage.taken.copy()
    stage.taken |= grow(trail, 1)
    for x, y in stage.places(1, 9, 9, near=14, far=26):
        _giant_tree(stage, x + 4, y + 4)
    for x, y in stage.places(1, 5, 11, near=12, far=26):
        _rock_arch(stage, x, y)
    for x, y in stage.places(1, 11, 11, near=14, far=30):
        own = stage.begin("stones", x + 5, y + 5)
        for dx, dy, tall in ((0, 5, 3), (2, 1, 4), (6, 0, 3), (10, 3, 4), (9, 8, 3), (5, 10, 4), (1, 9, 2)):
            z = stage.foot(x + dx, y + dy)
            stage.box((x + dx, x + dx + 1), (y + dy, y + dy + 1), (z - 1, z + tall), "mossy_rock", own)
        stage.taken[x + 1 : x + 10, y + 1 : y + 10] = False
    for x, y in stage.places(3, 7, 2, near=8, far=40):
        z = int(stage.quarters[x : x + 7, y].max() + 3) // 4
        own = stage.begin("fallen_log", x, y)
        stage.box((x, x + 7), (y, y + 1), (z - 1, z + 1), "oak_log", own)
    for kind in ("stone", "granite", "mossy_rock"):
        for x, y in stage.places(5, 7, 7, near=9, far=80):
            stage.stamp(x + 3, y + 3, boulder(kind, rng), "boulder", sunk=1)
    stage.taken |= taken
    stage.taken &= ~trail | taken


def _giant_tree(stage: Stage, x: int, y: int) -> None:
    """An old tree whose trunk is three metres thick."""
    own = stage.begin("great_oak", x, y)
    z = stage.foot(x, y)
    height = stage.between(9, 12)
    for dx, dy, dz, r in ((0, 0, 0, 5.2), (4, 1, -2, 3.4), (-3, 3, -1, 3.6), (-2, -4, -2, 3.4), (2, -3, 1, 3.2)):
        stage.ball((x + dx + 0.5, y + dy + 0.5, z + height + dz), (r, r, 0.75 * r), "oak_leaves", own)
    stage.pillar(x + 0.5, y + 0.5, 1.6, (z - 2, z + height), "oak_log", own)
    for dx, dy in ((2, 0), (-2, 0), (0, 2), (0, -2)):
        stage.box((x + dx, x + dx + 1), (y + dy, y + dy + 1), (z - 2, z + 1), "oak_log", own)


def _rock_arch(stage: Stage, x: int, y: int) -> None:
    """Two crags that meet overhead."""
    own = stage.begin("rock_arch", x + 2, y + 5)
    z = stage.foot(x + 2, y + 5)

    def inside(i: FloatArray, j: FloatArray, k: FloatArray) -> BoolArray:
        v, w = (j - y - 5.5) / 5.5, (k - z + 2) / 9.0
        d2 = v * v + w * w
        thick = (i - x - 2.5) * (i - x - 2.5) <= 2.2 + 2.2 * (1 - w)
        return np.asarray((d2 <= 1) & (v * v * 2.6 + w * w * 1.9 >= 1) & thick)

    stage.solid((x, y, z - 2), (x + 5, y + 11, z + 8), inside, "mossy_rock", own)
    stage.taken[x : x + 5, y + 3 : y + 8] = False


def _flowers(stage: Stage, meadow: BoolArray) -> None:
    """Fields of one colour each."""
    sorts = stage.shuffled(["poppy", "cornflower", "dandelion", "white_daisy", "orange_tulip"])
    for n, sort in enumerate(sorts):
        field = value_noise(stage.rng, stage.size[:2], 15 + n) > 0.74
        stage.sow(meadow & field, (sort,), 0.42)
