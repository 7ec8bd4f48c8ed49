"""An ancient city of sand and marble: a processional way, temples on terraces, arches, statues, a pyramid."""

from __future__ import annotations

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.voxel.families.stage import FLOOR_Z, Stage, terraced, walkable
from worldgauge.worlds.voxel.terrain import BoolArray, fractal, grow, tree, value_noise

Z = FLOOR_Z


def draw(stage: Stage) -> None:
    """Ways first, then temples from large to small, then what time has left lying about."""
    # A broad paved way and a narrower one across it, and a round place where they meet.
    i, j = (np.abs(a - c) for a, c in zip(np.indices(stage.size[:2]), stage.centre, strict=True))
    wide, narrow = (i, j) if stage.rng.random() < 0.5 else (j, i)
    side = stage.pick((-1, 1)) * stage.between(18, 26)
    lane = np.abs(np.indices(stage.size[:2])[int(wide is j)] - stage.centre[int(wide is j)] - side) < 2
    ways: BoolArray = (wide < 5) | (narrow < 3) | (stage.away < 11) | lane
    _ground(stage, grow(ways, 3))
    ragged = value_noise(stage.rng, stage.size[:2], 5)
    worn = ways & (ragged > 0.7) & (stage.away > 8)
    mosaic = (stage.away < 6.4) | (np.abs(stage.away - 9.5) < 0.7)
    high = stage.quarters > 4 * Z + 40
    stage.lay_ground({"sandstone": high, "flagstone": ways & ~worn, "mosaic": mosaic}, "sandstone", "dune")
    stage.taken |= ways
    for things, wanted, width, near, far in (
        (_temple, 1, (27, 19), 18, 40),
        (_pyramid, 1, (29, 29), 40, 80),
        (_pool, 1, (17, 11), 12, 34),
        (_temple, 2, (27, 19), 40, 80),
        (_colossus, 2, (7, 7), 11, 34),
        (_rotunda, 1, (13, 13), 14, 40),
        (_arcade, 3, (22, 3), 12, 60),
        (_arcade, 3, (3, 22), 12, 60),
        (_obelisk, 4, (5, 5), 9, 50),
        (_colonnade, 4, (15, 5), 10, 60),
        (_ruin, 6, (11, 9), 14, 84),
        (_drum, 14, (4, 3), 7, 60),
    ):
        for x, y in stage.places(wanted, *width, near=near, far=far, gap=2):
            things(stage, x, y)
    _gate(stage)
    palms = [tree("palm", stage.rng) for _ in range(5)]
    for x, y in stage.places(26, 3, 3, near=8, far=90):
        stage.stamp(x + 1, y + 1, palms[stage.between(0, 4)], "palm")
    oasis = value_noise(stage.rng, stage.size[:2], 13) > 0.7
    stage.sow(oasis & ~ways, ("dry_tall_grass", "dead_bush", "dry_tall_grass"), 0.1)


def _ground(stage: Stage, level: BoolArray) -> None:
    """Drifts of sand that rise to dunes and cliffs."""
    shape = stage.size[:2]
    edge = np.clip((stage.away - 56) / 36, 0, 1.15)
    metres = Z + 0.05 + 1.7 * np.clip(fractal(stage.rng, shape, 36) * 2 - 0.9, 0, 1)
    metres += edge * edge * (5 + 20 * fractal(stage.rng, shape, 28))
    quarters = walkable(terraced(metres, 0.6), stage.away < 66)
    cliff = value_noise(stage.rng, shape, 24) > 0.55
    quarters = np.where((stage.away > 72) & cliff, quarters // 16 * 16 + 8, quarters)
    quarters[level & (stage.away < 70)] = 4 * Z
    stage.quarters = walkable(quarters, stage.away < 66)


def _plot(stage: Stage, x: int, y: int, width: int, depth: int, name: str = "flagstone") -> None:
    """Level paved ground."""
    stage.box((x, x + width), (y, y + depth), (Z, Z + 12), "air")
    stage.box((x, x + width), (y, y + depth), (Z - 3, Z), name)
    stage.quarters[x : x + width, y : y + depth] = 4 * Z


def _column(stage: Stage, x: int, y: int, z: int, height: int, own: int, *, broken: bool = False) -> None:
    """A fluted shaft of one cell between a base and a capital of two slabs."""
    stage.put(x, y, z, "marble", own)
    stage.box((x, x + 1), (y, y + 1), (z + 1, z + height), "marble_shaft", own)
    if not broken:
        stage.put(x, y, z + height - 1, "marble", own)
    stage.taken[x, y] = True


def _temple(stage: Stage, x: int, y: int) -> None:
    """A colonnade round a cella on a terrace of four broad steps; one can walk all of it."""
    own = stage.begin("great_temple")
    _plot(stage, x, y, 27, 19)
    for n in range(4):
        whole, half = n // 2, n % 2 == 0
        i, j = (x + n, x + 27 - n), (y + n, y + 19 - n)
        stage.box(i, j, (Z + whole, Z + whole + 1), "marble_slab" if half else "marble", own)
    z = Z + 2
    i0, i1, j0, j1 = x + 4, x + 23, y + 4, y + 15
    rows = [(u, v) for u in range(i0, i1, 3) for v in (j0, j1 - 1)]
    rows += [(u, v) for v in range(j0, j1, 5) for u in (i0, i1 - 1)]
    for u, v in rows:
        _column(stage, u, v, z, 6, own)
    stage.box((i0 - 1, i1 + 1), (j0 - 1, j1 + 1), (z + 6, z + 7), "marble", own)
    stage.shell((i0 - 1, i1 + 1), (j0 - 1, j1 + 1), (z + 7, z + 8), "frieze", own)
    stage.box((i0, i1), (j0, j1), (z + 7, z + 8), "cut_sandstone", own)
    roof = stage.pick(("terracotta", "teal_enamel", "orange_plaster"))
    for n in range(7):
        stage.box((i0 - 1, i1 + 1), (j0 - 1 + n, j1 + 1 - n), (z + 8 + n, z + 9 + n), roof, own)
        if n < 5:
            for end in (i0 - 1, i1):
                stage.box((end, end + 1), (j0 + n, j1 - n), (z + 8 + n, z + 9 + n), "marble", own)
    wall = stage.pick(("smooth_sandstone", "orange_plaster", "red_enamel", "teal_enamel"))
    stage.shell((i0 + 4, i1 - 4), (j0 + 3, j1 - 3), (z, z + 6), wall, own)
    for end in (i0 + 4, i1 - 5):
        stage.box((end, end + 1), (j0 + 4, j1 - 4), (z, z + 4), "air")
    stage.put((i0 + i1) // 2, j0 + 4, z, "gold", own)


def _rotunda(stage: Stage, x: int, y: int) -> None:
    """Eight columns under a dome, a statue beneath."""
    own = stage.begin("rotunda")
    _plot(stage, x, y, 13, 13)
    stage.pillar(x + 6.5, y + 6.5, 6.4, (Z, Z + 1), "marble_slab", own)
    for dx, dy in ((1, 6), (11, 6), (6, 1), (6, 11), (3, 3), (9, 3), (3, 9), (9, 9)):
        _column(stage, x + dx, y + dy, Z, 6, own)
    stage.pillar(x + 6.5, y + 6.5, 6.4, (Z + 6, Z + 7), "frieze", own)
    stage.ball((x + 6.5, y + 6.5, Z + 7), (5.8, 5.8, 5), stage.pick(("teal_enamel", "gold")), own, floor=Z + 7)
    _figure(stage, x + 6, y + 6, Z, "bronze", own)
    stage.taken[x + 6, y + 6] = True


def _figure(stage: Stage, x: int, y: int, z: int, name: str, own: int) -> None:
    """A statue of life size and a half on a block."""
    stage.put(x, y, z, "marble", own)
    stage.box((x, x + 1), (y, y + 1), (z + 1, z + 3), name, own)
    stage.put(x, y, z + 3, "marble" if name != "marble" else "marble_shaft", own)


def _colossus(stage: Stage, x: int, y: int) -> None:
    """A seated or standing giant, ten metres tall."""
    own = stage.begin("colossus")
    _plot(stage, x, y, 7, 7)
    skin = stage.pick(("bronze", "marble", "cut_sandstone", "bronze"))
    stage.draw("colossus", (x, y, Z), own, skin=skin, skirt="red_enamel" if skin != "bronze" else skin)
    raised = Z + 6 + stage.between(0, 4)
    stage.box((x + 1, x + 2), (y + 3, y + 4), (raised, raised + 4), skin, own)


def _pyramid(stage: Stage, x: int, y: int) -> None:
    """Steps of two metres to a shrine with a golden tip."""
    own = stage.begin("temple")
    for n in range(12):
        stage.box(
            (x + n, x + 29 - n),
            (y + n, y + 29 - n),
            (Z - 3 if n == 0 else Z + 2 * n, Z + 2 * n + 2),
            ("smooth_sandstone", "cut_sandstone")[n % 2],
            own,
        )
    stage.box((x + 12, x + 17), (y + 12, y + 17), (Z + 24, Z + 26), "gold", own)
    for n in range(12):
        for w in range(2):
            stage.box((x + 12, x + 17), (y + n, y + n + 1), (Z + 2 * n + w, Z + 2 * n + w + 1), "marble", own)


def _pool(stage: Stage, x: int, y: int) -> None:
    """A basin framed in mosaic, lotus and palms at its corners."""
    own = stage.begin("pond")
    _plot(stage, x, y, 17, 11, "mosaic")
    stage.box((x + 3, x + 14), (y + 3, y + 8), (Z - 2, Z - 1), "mosaic")
    stage.box((x + 3, x + 14), (y + 3, y + 8), (Z - 1, Z), "water", own)
    palm = tree("palm", stage.rng)
    for dx, dy in ((1, 1), (15, 1), (1, 9), (15, 9)):
        stage.put(x + dx, y + dy, Z - 1, "podzol")
        stage.stamp(x + dx, y + dy, palm, "palm")


def _arcade(stage: Stage, x: int, y: int) -> None:
    """A stretch of aqueduct: piers and round arches, broken at one end."""
    own = stage.begin("aqueduct")
    along_x = bool(stage.taken[x + 20, y]) and bool(stage.taken[x + 20, y + 2])
    end = stage.between(0, 6)
    height = stage.between(8, 11)
    for n in range(22 - end):
        pier = n % 7 in (0, 1)
        rise = 0 if pier else height - 3 if n % 7 in (2, 6) else height - 2
        for across in range(3):
            i, j = (x + n, y + across) if along_x else (x + across, y + n)
            foot = stage.foot(i, j)
            low = foot - 1 if pier else Z + rise
            top = Z + height - (0 if n < 18 - end else (n + across) % 3)
            stage.box((i, i + 1), (j, j + 1), (low, top), "cut_sandstone" if across != 1 else "smooth_sandstone", own)
            if n < 18 - end and across != 1:
                stage.put(i, j, top, "sandstone_slab", own)
            stage.taken[i, j] = pier


def _obelisk(stage: Stage, x: int, y: int) -> None:
    """A needle with a gilded tip."""
    own, tall = stage.begin("obelisk"), stage.between(9, 15)
    stage.box((x, x + 5), (y, y + 5), (Z - 3, Z + 1), "marble_slab", own)
    stage.box((x, x + 5), (y, y + 5), (Z - 3, Z), "flagstone")
    stage.box((x + 1, x + 4), (y + 1, y + 4), (Z, Z + 2), "smooth_sandstone", own)
    stage.box(
        (x + 2, x + 3), (y + 2, y + 3), (Z + 2, Z + tall), stage.pick(("frieze", "granite", "cut_sandstone")), own
    )
    stage.put(x + 2, y + 2, Z + tall, "gold", own)


def _colonnade(stage: Stage, x: int, y: int) -> None:
    """Two rows of columns, some broken, some still bearing their beam."""
    own = stage.begin("columns")
    _plot(stage, x, y, 15, 5)
    for j in (y, y + 4):
        standing = []
        for i in range(x, x + 15, 3):
            height = 6 if stage.rng.random() < 0.6 else stage.between(1, 4)
            _column(stage, i, j, Z, height, own, broken=height < 6)
            standing.append(height == 6)
        for n in range(4):
            if standing[n] and standing[n + 1]:
                stage.box((x + 3 * n, x + 3 * n + 4), (j, j + 1), (Z + 6, Z + 7), "frieze", own)
    stage.taken[x : x + 15, y + 1 : y + 4] = False


def _ruin(stage: Stage, x: int, y: int) -> None:
    """Walls of a house to the height that time has left them."""
    own = stage.begin("ruin")
    _plot(stage, x, y, 11, 9)
    name = stage.pick(("smooth_sandstone", "cut_sandstone", "orange_plaster", "bricks"))
    left = value_noise(stage.rng, (11, 9), 3)
    for i in range(11):
        for j in range(9):
            if i in (0, 10) or j in (0, 8) or (i == 6 and j < 5):
                tall = int(5.5 * left[i, j])
                stage.box((x + i, x + i + 1), (y + j, y + j + 1), (Z, Z + tall), name, own)
    stage.box((x + 3, x + 6), (y, y + 1), (Z, Z + 4), "air")
    stage.box((x + 3, x + 6), (y + 8, y + 9), (Z, Z + 4), "air")


def _drum(stage: Stage, x: int, y: int) -> None:
    """A fallen column, or an urn."""
    own = stage.begin("rubble", x + 1, y + 1)
    z = stage.foot(x + 1, y + 1)
    if stage.rng.random() < 0.5:
        stage.draw("fallen_column", (x, y, z), own)
    else:
        stage.draw("urn", (x, y, z), own, clay=stage.pick(("terracotta", "frieze")))


def _gate(stage: Stage) -> None:
    """Arches over the ways, twelve to eighteen metres from the centre."""

    def arch(axis: int, away: int, half: int) -> None:
        own = stage.begin("arch")
        cx, cy = stage.centre

        def inside(i: FloatArray, j: FloatArray, k: FloatArray) -> BoolArray:
            u = (j - cy - 0.5 if axis == 0 else i - cx - 0.5) / (half + 0.5)
            w = (k - Z - 3.5) / (half - 0.5)
            opening = (np.abs(u) < 1) & ((w < 0) | (u * u + w * w < 1))
            return np.asarray(~opening & (np.abs(u) < 1 + 3 / half) & (i > 0) & (j > 0))

        x = (cx + away, cx + away + 3) if axis == 0 else (cx - half - 3, cx + half + 4)
        y = (cy + away, cy + away + 3) if axis == 1 else (cy - half - 3, cy + half + 4)
        stage.box(x, y, (Z, Z + half + 7), "air")
        stage.solid((x[0], y[0], Z), (x[1], y[1], Z + half + 5), inside, "smooth_sandstone", own)
        stage.box(x, y, (Z + half + 5, Z + half + 6), "frieze", own)
        stage.box(x, y, (Z + half + 6, Z + half + 7), "marble_slab", own)

    i, j = stage.centre
    wide_x = bool(stage.taken[i + 12, j + 4])
    arch(0, stage.pick((-1, 1)) * stage.between(13, 18), 5 if wide_x else 3)
    arch(1, stage.pick((-1, 1)) * stage.between(13, 18), 3 if wide_x else 5)
