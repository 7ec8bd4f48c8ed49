"""A land of toys: checkered lawns, lollipop trees, toadstools, round hills, a rainbow and a castle."""

from __future__ import annotations

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.voxel.families.stage import Stage, walkable
from worldgauge.worlds.voxel.terrain import BoolArray, IntArray, fractal, grow, value_noise

_BALLS = ("pink_leaves", "blue_leaves", "golden_leaves", "violet_leaves")
_GUMS = ("red_enamel", "orange_enamel", "yellow_enamel", "lime_enamel", "teal_enamel", "violet_enamel", "pink_enamel")
_RAINBOW = ("red_enamel", "orange_enamel", "yellow_enamel", "lime_enamel", "sky_enamel", "violet_enamel")
_BASE_M = 12.0


def draw(stage: Stage) -> None:
    """Ground and paths, big things that one finds one's way by, then the small ones."""
    i, j = np.indices(stage.size[:2])
    path = _paths(stage)
    stage.quarters = walkable(_hills(stage, grow(path, 3)), stage.away < 70)
    # Shifted by the seed, so that the squares do not always lie the same way under the path.
    shift = stage.between(0, 5)
    checks = ((i + shift) // 3 + (j + shift) // 3) % 2 == 0
    tiles = (i + j) % 2 == 0
    stage.lay_ground({"clover": checks, "pink_check": path & tiles, "white_check": path & ~tiles}, "dirt", "mint")
    for x, y in stage.places(1, 17, 3, near=13, far=25):
        _rainbow(stage, x, y)
    stage.taken |= path
    _rim(stage)
    for things, wanted, width, near, far in (
        (_castle, 1, (15, 15), 18, 40),
        (_pond, 2, (13, 13), 12, 60),
        (_blocks, 3, (7, 7), 10, 60),
        (_pinwheel, 3, (5, 5), 9, 60),
        (_toadstool, 7, (7, 7), 8, 75),
        (_cane, 9, (4, 4), 7, 70),
        (_toadstool, 3, (7, 7), 6, 26),
        (_lollipop, 12, (5, 5), 7, 32),
        (_cone_tree, 9, (5, 5), 7, 32),
        (_gumdrop, 9, (5, 5), 6, 32),
        (_lollipop, 40, (5, 5), 7, 84),
        (_cone_tree, 26, (5, 5), 7, 84),
        (_gumdrop, 26, (5, 5), 6, 84),
    ):
        for x, y in stage.places(wanted, *width, near=near, far=far):
            things(stage, x, y)
    flowers = value_noise(stage.rng, stage.size[:2], 12) > 0.6
    stage.sow(flowers & ~path, ("poppy", "dandelion", "orange_tulip", "white_daisy", "cornflower"), 0.16)


def _paths(stage: Stage) -> BoolArray:
    """A winding path each way through the middle, and a ring that joins them."""
    mask = np.zeros(stage.size[:2], np.bool_)
    for axis in (0, 1):
        n = stage.size[axis]
        sway = (fractal(stage.rng, (n, 1), 30)[:, 0] - 0.5) * 34
        line = stage.centre[1 - axis] + np.clip(sway - sway[stage.centre[axis]], -16, 16)
        near = np.abs(np.arange(stage.size[1 - axis])[None, :] - line[:, None]) < 2.2
        mask |= near if axis == 0 else near.T
    ring = 24 + stage.between(-4, 4)
    return mask | (np.abs(stage.away - ring) < 1.9)


def _hills(stage: Stage, level: BoolArray) -> IntArray:
    """Round hills of one profile, in quarters of a metre; flat along the paths."""
    height = np.full(stage.size[:2], _BASE_M)
    for _ in range(26):
        x, y = (stage.between(6, n - 7) for n in stage.size[:2])
        radius = stage.between(6, 12)
        i, j = (np.arange(n) - c for n, c in zip(stage.size[:2], (x, y), strict=True))
        d2 = ((i * i)[:, None] + (j * j)[None, :]) / (radius * radius)
        if stage.away[x, y] > radius + 4:
            height = np.maximum(height, _BASE_M + 0.36 * radius * np.clip(1 - d2, 0, 1))
    quarters: IntArray = np.floor(height * 4).astype(np.int64)
    quarters[level] = int(_BASE_M * 4)
    return quarters


def _rim(stage: Stage) -> None:
    """Great round hills at the edge, each in rings of two colours."""
    sx, sy = stage.size[:2]
    spots = [(x, y) for x in range(0, sx + 1, 27) for y in (4, sy - 4)]
    spots += [(x, y) for y in range(24, sy - 20, 27) for x in (4, sx - 4)]
    for x, y in spots:
        own = stage.begin("toy_hill")
        radius, tall = stage.between(14, 20), stage.between(10, 22)
        first, second = stage.pick(_GUMS), stage.pick(("white_enamel", "cream_enamel", "sky_enamel"))
        middle = (x + stage.between(-5, 5), y + stage.between(-5, 5), 11.0)
        stage.ball(middle, (radius, radius, tall), first, own, floor=11)
        for z in range(14, 11 + tall, 6):
            _recolour(stage, middle, radius, tall, z, second, own)
        i, j = (np.arange(n) - c for n, c in zip(stage.size[:2], middle, strict=False))
        stage.taken |= (i * i)[:, None] + (j * j)[None, :] < (radius + 1) * (radius + 1)


def _recolour(
    stage: Stage, middle: tuple[float, float, float], radius: float, tall: float, z: int, name: str, own: int
) -> None:
    def inside(i: FloatArray, j: FloatArray, k: FloatArray) -> BoolArray:
        u, v, w = (i - middle[0]) / radius, (j - middle[1]) / radius, (k - middle[2]) / tall
        return np.asarray(u * u + v * v + w * w <= 1)

    low = (middle[0] - radius, middle[1] - radius, float(z))
    stage.solid(low, (middle[0] + radius, middle[1] + radius, z + 3.0), inside, name, own)


def _lollipop(stage: Stage, x: int, y: int) -> None:
    """A ball on a striped stick."""
    own, z = stage.begin("lollipop", x + 2, y + 2), stage.foot(x + 2, y + 2)
    height, r = stage.between(3, 6), 2 + 0.6 * float(stage.rng.random())
    stage.box((x + 2, x + 3), (y + 2, y + 3), (z - 1, z + height), stage.pick(("candy", "blue_candy")), own)
    stage.ball((x + 2.5, y + 2.5, z + height + 1.5), (r, r, r), stage.pick(_BALLS), own)


def _cone_tree(stage: Stage, x: int, y: int) -> None:
    """Discs of two colours that grow narrower."""
    own, z = stage.begin("cone_tree", x + 2, y + 2), stage.foot(x + 2, y + 2)
    first, second = stage.pick(_BALLS), stage.pick(("white_enamel", "teal_enamel", "lime_enamel"))
    stage.box((x + 2, x + 3), (y + 2, y + 3), (z - 1, z + 2), "brown_enamel", own)
    for n in range(stage.between(5, 7)):
        radius = 2.5 - 0.36 * n
        stage.pillar(x + 2.5, y + 2.5, max(radius, 0.6), (z + 2 + n, z + 3 + n), (first, second)[n % 2], own)


def _toadstool(stage: Stage, x: int, y: int) -> None:
    """A spotted cap three to five metres up; one can walk beneath."""
    own, z = stage.begin("toadstool", x + 3, y + 3), stage.foot(x + 3, y + 3)
    height = stage.between(3, 5)
    stage.pillar(x + 3.5, y + 3.5, 0.8, (z - 1, z + height), "cream_enamel", own)
    cap = stage.pick(("toadstool", "toadstool", "violet_enamel", "orange_enamel"))
    stage.ball((x + 3.5, y + 3.5, z + height), (3.6, 3.6, 3.0), cap, own, floor=z + height)
    stage.taken[x : x + 7, y : y + 7] = False
    stage.taken[x + 3, y + 3] = True


def _cane(stage: Stage, x: int, y: int) -> None:
    """A candy cane, its hook towards one side."""
    own, z = stage.begin("candy_cane", x + 1, y + 1), stage.foot(x + 1, y + 1)
    height, name = stage.between(4, 6), stage.pick(("candy", "blue_candy"))
    dx, dy = stage.pick(((1, 0), (0, 1), (-1, 0), (0, -1)))
    stage.box((x + 1, x + 2), (y + 1, y + 2), (z - 1, z + height + 1), name, own)
    for n, up in ((1, height), (2, height), (2, height - 1)):
        stage.put(x + 1 + n * dx, y + 1 + n * dy, z + up, name, own)
    stage.put(x + 1 + dx, y + 1 + dy, z + height + 1 - 1, name, own)


def _gumdrop(stage: Stage, x: int, y: int) -> None:
    """A low dome of one colour with a sprinkle on top."""
    own, z = stage.begin("gumdrop", x + 2, y + 2), stage.foot(x + 2, y + 2)
    r = 1.6 + 1.0 * float(stage.rng.random())
    stage.ball((x + 2.5, y + 2.5, float(z)), (r, r, 1.5 * r), stage.pick(_GUMS), own, floor=z - 1)


def _blocks(stage: Stage, x: int, y: int) -> None:
    """A tower of toy bricks, every one turned to another colour."""
    own, z = stage.begin("toy_blocks", x + 3, y + 3), stage.foot(x + 3, y + 3)
    colours = stage.shuffled(list(_GUMS))
    for n, (dx, dy, dz) in enumerate(((0, 0, 0), (4, 0, 0), (0, 4, 0), (1, 1, 3), (1, 1, 6))[: stage.between(3, 5)]):
        i, j, k = (x + dx, x + dx + 3), (y + dy, y + dy + 3), (z + dz - (dz == 0), z + dz + 3)
        stage.box(i, j, k, colours[n], own)
        for a in (0, 2):
            for b in (0, 2):
                stage.box((i[0] + a, i[0] + a + 1), (j[0] + b, j[0] + b + 1), (z + dz, z + dz + 3), "white_enamel", own)


def _pinwheel(stage: Stage, x: int, y: int) -> None:
    """Four sails of four colours on a pole."""
    own, z = stage.begin("pinwheel", x + 2, y + 2), stage.foot(x + 2, y + 2)
    top = z + stage.between(5, 7)
    stage.box((x + 2, x + 3), (y + 2, y + 3), (z - 1, top), "white_enamel", own)
    along_x = stage.rng.random() < 0.5
    for (du, dw), name in zip(((1, 1), (-1, 1), (-1, -1), (1, -1)), stage.shuffled(list(_GUMS)), strict=False):
        for n, m in ((0, 1), (0, 2), (1, 1), (1, 2), (0, 3)):
            u, w = (n * du, m * dw) if du == dw else (m * du, n * dw)
            i, j = (x + 2 + u, y + 2) if along_x else (x + 2, y + 2 + u)
            stage.put(i, j, top + w, name, own)
    stage.put(x + 2, y + 2, top, "yellow_enamel", own)


def _rainbow(stage: Stage, x: int, y: int) -> None:
    """Six bands high enough to walk under, feet in clouds."""
    own, z = stage.begin("rainbow", x + 8, y + 1), stage.foot(x + 8, y + 1)
    for n, name in enumerate(_RAINBOW):
        outer = 13.0 - n

        def inside(i: FloatArray, j: FloatArray, k: FloatArray, r: float = outer) -> BoolArray:
            up = np.maximum(k - z, 0)
            d2 = (i - x - 8.5) * (i - x - 8.5) + up * up + 0 * j
            return np.asarray((d2 <= r * r) & (d2 > (r - 1) * (r - 1)))

        stage.solid((x - 5, y, z - 3), (x + 22, y + 2, z + 13), inside, name, own)
    for foot in (x - 2.5, x + 19.5):
        stage.ball((foot, y + 1, z + 0.5), (4.2, 2.6, 2.6), "white_enamel", own, floor=z - 1)
    stage.taken[x : x + 17, y : y + 3] = False
    stage.taken[x - 6 : x + 2, y - 2 : y + 5] = stage.taken[x + 15 : x + 24, y - 2 : y + 5] = True


def _castle(stage: Stage, x: int, y: int) -> None:
    """Four round towers and a gate that one walks through."""
    own, z = stage.begin("toy_castle", x + 7, y + 7), stage.foot(x + 7, y + 7)
    stage.box((x, x + 15), (y, y + 15), (z, z + 12), "air")
    stage.box((x, x + 15), (y, y + 15), (z - 2, z), "pink_check")
    stage.quarters[x : x + 15, y : y + 15] = 4 * z
    roofs = stage.shuffled(["blue_enamel", "violet_enamel", "red_enamel", "teal_enamel"])
    stage.draw("toy_castle", (x, y, z), own, **{f"roof_{n}": name for n, name in enumerate(roofs, start=1)})


def _pond(stage: Stage, x: int, y: int) -> None:
    """A round basin with a rim of candy."""
    own, z = stage.begin("toy_pond", x + 6, y + 6), stage.foot(x + 6, y + 6)
    stage.pillar(x + 6.5, y + 6.5, 6.2, (z, z + 6), "air")
    stage.pillar(x + 6.5, y + 6.5, 6.2, (z - 2, z), "mint")
    stage.quarters[x : x + 13, y : y + 13] = 4 * z
    stage.draw("toy_fountain", (x, y, z), own)
