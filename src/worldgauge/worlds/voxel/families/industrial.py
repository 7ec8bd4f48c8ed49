"""A works: tanks, pipe bridges, chimneys, stacks of containers, a gantry crane over rails, brick halls."""

from __future__ import annotations

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.voxel.families import street
from worldgauge.worlds.voxel.families.stage import FLOOR_Z, Stage
from worldgauge.worlds.voxel.families.street import windows
from worldgauge.worlds.voxel.terrain import BoolArray, value_noise

Z = FLOOR_Z
_SHEETS = ("red_sheet", "blue_sheet", "green_sheet", "amber_sheet", "pale_sheet")
_RIM = 10


def draw(stage: Stage) -> None:
    """Yard, lanes and rails, then plant from large to small."""
    rails = _yard(stage)
    _rim(stage)
    crane = stage.centre[0] + stage.pick((-1, 1)) * stage.between(6, 14)
    _gantry(stage, crane, rails)
    for things, wanted, width, near, far in (
        (_hall, 1, (25, 16), 20, 40),
        (_tank_farm, 1, (19, 19), 16, 40),
        (_cooling_tower, 2, (23, 23), 42, 86),
        (_hall, 3, (25, 16), 40, 86),
        (_hall, 3, (16, 25), 34, 86),
        (_chimney, 2, (7, 7), 14, 36),
        (_chimney, 3, (7, 7), 36, 86),
        (_tank_farm, 2, (19, 19), 40, 86),
        (_column_plant, 2, (11, 7), 12, 60),
        (_silos, 2, (13, 5), 12, 60),
        (_containers, 5, (15, 6), 11, 50),
        (_containers, 4, (6, 15), 11, 50),
        (_sphere, 2, (11, 11), 14, 70),
        (_heap, 3, (9, 9), 14, 70),
        (_pallets, 10, (4, 4), 7, 60),
        (_lorry, 4, (9, 3), 8, 50),
        (_mast, 8, (3, 3), 10, 60),
    ):
        for x, y in stage.places(wanted, *width, near=near, far=far, gap=2):
            things(stage, x, y)
    for offset in (stage.between(14, 20), -stage.between(14, 20)):
        _pipe_bridge(stage, stage.centre[0] + offset)


def _yard(stage: Stage) -> int:
    """Concrete, lanes with lines, and a pair of tracks; returns the y of the tracks."""
    i, j = np.indices(stage.size[:2])
    cx, cy = stage.centre
    stained = value_noise(stage.rng, stage.size[:2], 7) > 0.74
    lane = (np.abs(i - cx) < 4) | (np.abs(j - cy) < 4)
    line = ((np.abs(i - cx) == 4) | (np.abs(j - cy) == 4)) & ((i + j) % 3 != 0) & ~lane
    track = cy + stage.pick((-1, 1)) * stage.between(9, 13)
    rails = (j == track) | (j == track + 5)
    weeds = (value_noise(stage.rng, stage.size[:2], 9) > 0.78) & (stage.away > 16)
    tops = {
        "concrete": stained,
        "coarse_dirt": weeds & ~lane,
        "asphalt": lane,
        "hazard": line,
        "gravel": (np.abs(j - track - 2.5) < 5) & ~lane & ~rails,
        "rails_x": rails,
    }
    stage.lay_ground(tops, "dirt", "apron")
    bed = (j >= track - 2) & (j < track + 8)
    stage.taken |= bed | lane
    _wagons(stage, track)
    stage.sow(weeds & ~lane & ~bed, ("dry_tall_grass", "tall_grass", "dead_bush"), 0.25)
    return track


def _wagons(stage: Stage, track: int) -> None:
    """A train of three or four wagons on one of the tracks."""
    y = track + stage.pick((0, 5)) - 1
    x = stage.centre[0] + stage.pick((-1, 1)) * stage.between(20, 26) - 10
    for n in range(stage.between(3, 4)):
        own = stage.begin("wagon")
        i = (x + 9 * n, x + 9 * n + 8)
        if i[0] < _RIM or i[1] > stage.size[0] - _RIM:
            continue
        stage.box(i, (y, y + 3), (Z, Z + 1), "black_enamel", own)
        for k in (i[0], i[0] + 3, i[1] - 4, i[1] - 1):
            stage.box((k, k + 1), (y, y + 3), (Z, Z + 1), "steel", own)
        if n % 2:

            def drum(a: FloatArray, b: FloatArray, c: FloatArray) -> BoolArray:
                return np.asarray((b - y - 1.5) ** 2 + (c - Z - 2.5) ** 2 + 0 * a < 2.9)

            stage.solid((i[0], y, Z + 1), (i[1], y + 3, Z + 4), drum, "tank", own)
        else:
            stage.box(i, (y, y + 3), (Z + 1, Z + 3), "rust", own)
            stage.box((i[0] + 1, i[1] - 1), (y + 1, y + 2), (Z + 2, Z + 3), "gravel", own)


def _rim(stage: Stage) -> None:
    """Halls and a wall along the edge of the world."""
    sx, sy = stage.size[:2]
    for axis, rows in ((0, ((0, _RIM - 2), (sy - _RIM + 2, sy))), (1, ((0, _RIM - 2), (sx - _RIM + 2, sx)))):
        for row in rows:
            first, last = 0, (sx, sy)[axis]
            while first < last:
                stop = min(first + stage.between(14, 28), last)
                x, y = ((first, stop), row) if axis == 0 else (row, (first, stop))
                own = stage.begin("works_hall")
                top = Z + stage.between(5, 12)
                stage.box(x, y, (Z, top), stage.pick(("soot_bricks", "bricks", *_SHEETS)), own)
                if stop - first > 8:
                    windows(stage, x, y, (Z + 2, top - 2), "works_window", 4, 2)
                stage.taken[x[0] : x[1], y[0] : y[1]] = True
                first = stop


def _hall(stage: Stage, x: int, y: int) -> None:
    """A brick hall with saw-tooth roof, open at both ends, machines within."""
    own = stage.begin("works_hall")
    along_x = bool(stage.taken[x : x + 25, y : y + 16].all())
    w, d = (25, 16) if along_x else (16, 25)
    wall = stage.pick(("soot_bricks", "bricks", "brownstone"))
    i, j = (x, x + w), (y, y + d)
    stage.box(i, j, (Z - 1, Z), "apron")
    stage.shell(i, j, (Z, Z + 8), wall, own)
    windows(stage, i, j, (Z + 2, Z + 6), "works_window", 4, 2)
    stage.shell(i, j, (Z + 7, Z + 8), "concrete", own)
    for n in range(1, (w if along_x else d) - 1):
        rise = 3 - n % 4
        u = (x + n, x + n + 1) if along_x else (x + 1, x + w - 1)
        v = (y + 1, y + d - 1) if along_x else (y + n, y + n + 1)
        glazed = n % 4 == 0
        stage.box(u, v, (Z + 7, Z + 8 + rise), "works_window" if glazed else "pale_sheet", own)
        if rise and not glazed:
            stage.box(u, v, (Z + 7, Z + 7 + rise), "air")
    for end in (0, 1):
        if along_x:
            gate = ((x + end * (w - 1), x + end * (w - 1) + 1), (y + 5, y + 11))
        else:
            gate = ((x + 5, x + 11), (y + end * (d - 1), y + end * (d - 1) + 1))
        stage.box(*gate, (Z, Z + 6), "hazard", own)
        inner = tuple((a + 1, b - 1) if b - a > 2 else (a, b) for a, b in gate)
        stage.box(inner[0], inner[1], (Z, Z + 5), "air")
    for n in range(4, (w if along_x else d) - 5, 6):
        for side in (2, (d if along_x else w) - 4):
            u, v = (
                ((x + n, x + n + 3), (y + side, y + side + 2))
                if along_x
                else ((x + side, x + side + 2), (y + n, y + n + 3))
            )
            stage.box(u, v, (Z, Z + 2), stage.pick(("green_enamel", "blue_enamel", "steel", "orange_enamel")), own)


def _tank_farm(stage: Stage, x: int, y: int) -> None:
    """One great tank, or four small ones, with a ladder and a ring of colour."""
    if stage.rng.random() < 0.5:
        _tank(stage, x + 9.5, y + 9.5, 8.4, stage.between(9, 12))
    else:
        tall = stage.between(6, 10)
        for dx, dy in ((4.5, 4.5), (14.5, 4.5), (4.5, 14.5), (14.5, 14.5)):
            _tank(stage, x + dx, y + dy, 3.9, tall)
        stage.taken[x + 8 : x + 11, y : y + 19] = stage.taken[x : x + 19, y + 8 : y + 11] = False


def _tank(stage: Stage, x: float, y: float, radius: float, tall: int) -> None:
    own = stage.begin("storage_tank")
    stage.pillar(x, y, radius, (Z, Z + tall), "tank", own)
    band = stage.pick(("red_enamel", "blue_enamel", "orange_enamel", "green_enamel"))
    stage.pillar(x, y, radius, (Z + tall - 3, Z + tall - 2), band, own)
    stage.pillar(x, y, radius - 1, (Z + tall, Z + tall + 1), "tank", own)
    edge = int(y - radius)
    stage.box((int(x), int(x) + 1), (edge - 1, edge), (Z, Z + tall), "steel_post", own)
    stage.box((int(x) - 2, int(x) - 1), (edge, edge + 1), (Z + 2, Z + tall - 4), "rust", own)


def _sphere(stage: Stage, x: int, y: int) -> None:
    """A gas holder: a ball on legs."""
    own = stage.begin("gas_holder")
    stage.draw("gas_holder", (x, y, Z), own, band=stage.pick(("orange_enamel", "blue_enamel", "white_enamel")))


def _cooling_tower(stage: Stage, x: int, y: int) -> None:
    """A waisted shell of concrete, on legs, thirty metres tall."""
    own = stage.begin("cooling_tower")
    tall = 30
    for w in range(3, tall):
        share = (w - 20) / 20
        radius = 7 + 5.5 * share * share
        name = "red_enamel" if w in (tall - 3, tall - 2) else "concrete"
        stage.pillar(x + 11.5, y + 11.5, radius, (Z + w, Z + w + 1), name, own, hollow=radius - 1.3)
    for n in range(3):
        stage.pillar(x + 11.5, y + 11.5, 11, (Z + n, Z + n + 1), "concrete", own, hollow=9.9)
    for n in range(1, 23, 3):
        stage.box((x + n, x + n + 1), (y, y + 23), (Z, Z + 3), "air")
    stage.pillar(x + 11.5, y + 11.5, 8, (Z, Z + 2), "pale_sheet", own)


def _chimney(stage: Stage, x: int, y: int) -> None:
    """A tall stack, ringed in red and white near its top or of plain brick."""
    own, tall = stage.begin("chimney"), stage.between(24, 32)
    ringed = stage.rng.random() < 0.6
    stage.box((x, x + 7), (y, y + 7), (Z, Z + 3), "soot_bricks", own)
    for w in range(3, tall):
        radius = 2.9 - 1.2 * w / tall
        name = ("red_enamel", "white_enamel")[w // 3 % 2] if ringed and w > tall - 13 else "soot_bricks"
        name = "concrete" if ringed and name == "soot_bricks" else name
        stage.pillar(x + 3.5, y + 3.5, radius, (Z + w, Z + w + 1), name, own)


def _column_plant(stage: Stage, x: int, y: int) -> None:
    """A refinery: slim towers in a steel frame with platforms."""
    own = stage.begin("refinery")
    for dx, tall in ((2, stage.between(12, 20)), (6, stage.between(9, 16)), (9, stage.between(7, 12))):
        skin = stage.pick(("steel", "tank", "rust"))
        stage.pillar(x + dx + 0.5, y + 3.5, 1.6 if dx < 8 else 1.2, (Z, Z + tall), skin, own)
        stage.pillar(x + dx + 0.5, y + 3.5, 2.1, (Z + tall - 3, Z + tall - 2), "yellow_enamel", own)
    for level in (5, 10):
        stage.box((x, x + 11), (y, y + 7), (Z + level, Z + level + 1), "steel_rail", own)
        for dx in (0, 10):
            for dy in (0, 6):
                stage.box((x + dx, x + dx + 1), (y + dy, y + dy + 1), (Z, Z + level), "yellow_enamel", own)
    stage.box((x + 4, x + 11), (y + 1, y + 2), (Z + 3, Z + 4), "orange_enamel", own)


def _silos(stage: Stage, x: int, y: int) -> None:
    """Three silos with cone roofs and a conveyor."""
    own, tall = stage.begin("silo"), stage.between(9, 14)
    for n in range(3):
        stage.pillar(x + 2.5 + 4 * n, y + 2.5, 2.3, (Z, Z + tall), "pale_sheet" if n != 1 else "steel", own)
        stage.cone(x + 2.5 + 4 * n, y + 2.5, 2.5, (Z + tall, Z + tall + 3), "tank", own)
    stage.box((x, x + 13), (y + 2, y + 3), (Z + tall + 3, Z + tall + 4), "amber_sheet", own)


def _containers(stage: Stage, x: int, y: int) -> None:
    """Two rows of containers, 6 or 7 cells long and three wide, up to three high."""
    along_x = bool(stage.taken[x : x + 15, y : y + 6].all())
    for slot in range(2):
        for row in range(2):
            own = stage.begin("container")
            for level in range(stage.between(0 if row else 1, 3)):
                a, b = (7 * slot + slot % 2, 7 * slot + 7), (3 * row, 3 * row + 3)
                i, j = (
                    ((x + a[0], x + a[1]), (y + b[0], y + b[1]))
                    if along_x
                    else ((x + b[0], x + b[1]), (y + a[0], y + a[1]))
                )
                stage.box(i, j, (Z + 3 * level, Z + 3 * level + 3), stage.pick(_SHEETS), own)


def _gantry(stage: Stage, x: int, track: int) -> None:
    """A yellow portal over the tracks, its hook with a container."""
    own = stage.begin("gantry_crane")
    stage.draw("gantry_crane", (x, track, Z), own)
    stage.taken[x : x + 6 : 5, track - 3 : track + 10 : 12] = True
    trolley = stage.between(track - 1, track + 5)
    stage.draw("trolley", (x, trolley, Z), own, load=stage.pick(_SHEETS))


def _pipe_bridge(stage: Stage, x: int) -> None:
    """Three pipes on portals along y, six metres up; where something stands in the way they pass through it."""
    own = stage.begin("pipe_bridge")
    top = Z + 6
    colours = stage.shuffled(["orange_enamel", "steel", "teal_enamel", "rust", "yellow_enamel"])
    span = slice(_RIM, stage.size[1] - _RIM)
    for n in range(3):
        free = stage.canvas.states[x + n, span, top] == 0
        for y in np.flatnonzero(free).tolist():
            stage.put(x + n, _RIM + y, top, colours[n], own)
    for y in range(_RIM + 3, stage.size[1] - _RIM, 11):
        for foot in (x - 1, x + 3):
            if stage.canvas.states[foot, y, Z : top - 1].any() or abs(y - stage.centre[1]) < 5:
                continue
            stage.box((foot, foot + 1), (y, y + 1), (Z, top), "steel", own)
            stage.put(foot, y, Z, "hazard", own)
            stage.taken[foot, y] = True
        beam = stage.canvas.states[x - 1 : x + 4, y, top - 1] == 0
        for n in np.flatnonzero(beam).tolist():
            stage.put(x - 1 + n, y, top - 1, "steel", own)


def _heap(stage: Stage, x: int, y: int) -> None:
    """A cone of ore, coal or sand between low walls."""
    own = stage.begin("heap")
    stage.cone(x + 4.5, y + 4.5, 4.4, (Z, Z + 4), stage.pick(("black_enamel", "rust", "red_sand")), own)
    stage.shell((x, x + 9), (y, y + 1), (Z, Z + 2), "concrete", own)
    stage.box((x, x + 1), (y, y + 9), (Z, Z + 2), "concrete", own)


def _pallets(stage: Stage, x: int, y: int) -> None:
    """Barrels and boxes."""
    own = stage.begin("barrels")
    for dx, dy in ((0, 0), (1, 0), (0, 2), (2, 1), (3, 3), (2, 3)):
        if stage.rng.random() < 0.7:
            name = stage.pick(("blue_enamel", "rust", "oak_planks", "orange_enamel", "barrel"))
            for w in range(stage.between(1, 2)):
                stage.put(x + dx, y + dy, Z + w, name, own)


def _lorry(stage: Stage, x: int, y: int) -> None:
    """A lorry with a load."""
    own, load = stage.begin("lorry"), stage.pick(_SHEETS)
    cab = stage.pick(("red_enamel", "blue_enamel", "white_enamel", "yellow_enamel"))
    stage.draw("lorry", (x, y, Z), own, load=load, cab=cab, roof=f"{cab}_slab")


def _mast(stage: Stage, x: int, y: int) -> None:
    """A lamp on a tall post."""
    stage.taken[x : x + 3, y : y + 3] = False
    street.lamp(stage, x + 1, y + 1, (1, 0), height=7)
