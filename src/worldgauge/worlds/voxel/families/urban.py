"""A city: a grid of streets between fronts of three to eight storeys, a square, a park, and two towers."""

from __future__ import annotations

import numpy as np

from worldgauge.worlds.voxel.families import street
from worldgauge.worlds.voxel.families.stage import FLOOR_Z, Stage
from worldgauge.worlds.voxel.families.street import FRONTS, GLASS_TOWER, STOREY, Span, building
from worldgauge.worlds.voxel.terrain import BoolArray

_ROAD = 4
"""Half the width of a carriageway."""

_WALK = 4
_RIM = 16
"""Depth of the row of houses that closes the streets at the world's edge."""


def draw(stage: Stage) -> None:
    """Streets, then what fills the blocks between them."""
    lines = [_street_lines(stage, axis) for axis in (0, 1)]
    _pave(stage, *lines)
    blocks = [(x, y) for x in _gaps(stage, lines[0], 0) for y in _gaps(stage, lines[1], 1)]
    blocks.sort(key=lambda b: abs(sum(b[0]) / 2 - stage.centre[0]) + abs(sum(b[1]) / 2 - stage.centre[1]))
    near = stage.shuffled(blocks[:4])
    plans = dict(zip(near, (_square, _park, _clock_tower, _skyscraper), strict=True))
    for one in blocks:
        plans.get(one, _houses)(stage, *one)
    _rim(stage)
    for axis in (0, 1):
        _furnish(stage, lines[axis], lines[1 - axis], axis)


def _street_lines(stage: Stage, axis: int) -> list[int]:
    """Middles of the streets across `axis`, one through the centre."""
    low, high = _RIM + _ROAD + _WALK, stage.size[axis] - _RIM - _ROAD - _WALK
    lines, at = [stage.centre[axis]], stage.centre[axis]
    while (at := at + stage.between(36, 46)) < high:
        lines.append(at)
    at = stage.centre[axis]
    while (at := at - stage.between(36, 46)) >= low:
        lines.insert(0, at)
    return lines


def _gaps(stage: Stage, lines: list[int], axis: int) -> list[Span]:
    """Spans of the blocks between the streets."""
    edges = [_RIM, *(n for line in lines for n in (line - _ROAD - _WALK, line + _ROAD + _WALK))]
    edges.append(stage.size[axis] - _RIM)
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= 6]


def _pave(stage: Stage, across_x: list[int], across_y: list[int]) -> None:
    """Carriageways with dashes and crossings, and pavements a quarter of a metre higher."""
    i, j = np.indices(stage.size[:2])
    inside = (i >= _RIM) & (i < stage.size[0] - _RIM) & (j >= _RIM) & (j < stage.size[1] - _RIM)
    road_x, road_y, dash_x, dash_y = (np.zeros(stage.size[:2], np.bool_) for _ in range(4))
    bars_x, bars_y = np.zeros_like(road_x), np.zeros_like(road_x)
    for line in across_x:
        road_y |= (i >= line - _ROAD) & (i < line + _ROAD) & inside
        dash_y |= (i == line) & inside
    for line in across_y:
        road_x |= (j >= line - _ROAD) & (j < line + _ROAD) & inside
        dash_x |= (j == line) & inside
    junction = road_x & road_y
    for a in across_x:
        for b in across_y:
            du, dv = np.abs(i - a + 0.5), np.abs(j - b + 0.5)
            bars_x |= road_x & (du > _ROAD) & (du < _ROAD + 3)
            bars_y |= road_y & (dv > _ROAD) & (dv < _ROAD + 3)
            dash_x &= ~((du < _ROAD + 5) & (dv < _ROAD))
            dash_y &= ~((dv < _ROAD + 5) & (du < _ROAD))
    road: BoolArray = road_x | road_y
    stage.quarters[~road] += 1
    tops = {
        "asphalt": road,
        "lane_x": dash_x & ~junction,
        "lane_y": dash_y & ~junction,
        "crossing_x": bars_x & ~junction,
        "crossing_y": bars_y & ~junction,
    }
    stage.lay_ground(tops, "dirt", "pavement")


def _houses(stage: Stage, x: Span, y: Span) -> None:
    """Two to four houses side by side, of different heights, sometimes with a lane between."""
    stage.taken[x[0] : x[1], y[0] : y[1]] = True
    along = 0 if x[1] - x[0] >= y[1] - y[0] else 1
    first, last = (x, y)[along]
    lane = stage.rng.random() < 0.4
    while last - first >= 6:
        stop = first + stage.between(8, 13)
        if last - stop < 8:
            stop = last
        span = (first, stop)
        height = stage.between(3, 8) if min(x[1] - x[0], y[1] - y[0]) > 8 else stage.between(2, 4)
        building(stage, *((span, y) if along == 0 else (x, span)), height, stage.pick(FRONTS))
        first = stop + (4 if lane else 0)


def _rim(stage: Stage) -> None:
    """Rows of houses along the edge of the world."""
    sx, sy = stage.size[:2]
    for axis, rows in ((0, ((0, _RIM - 3), (sy - _RIM + 3, sy))), (1, ((0, _RIM - 3), (sx - _RIM + 3, sx)))):
        for row in rows:
            first, last = (0, (sx, sy)[axis]) if axis == 0 else (_RIM - 3, sy - _RIM + 3)
            while first < last:
                stop = first + stage.between(9, 14)
                stop = last if last - stop < 9 else stop
                span = (first, stop)
                x, y = (span, row) if axis == 0 else (row, span)
                building(stage, x, y, stage.between(4, 8), stage.pick(FRONTS))
                stage.taken[x[0] : x[1], y[0] : y[1]] = True
                first = stop


def _square(stage: Stage, x: Span, y: Span) -> None:
    """An open square round a fountain."""
    cx, cy = sum(x) // 2, sum(y) // 2
    stage.box(x, y, (FLOOR_Z, FLOOR_Z + 1), "air")
    stage.quarters[x[0] : x[1], y[0] : y[1]] = 4 * FLOOR_Z
    i, j = np.indices((x[1] - x[0], y[1] - y[0]))
    checks = np.where((i // 2 + j // 2) % 2 == 0, "flagstone", "pavement")
    for name in ("flagstone", "pavement"):
        u, v = np.nonzero(checks == name)
        for a, b in zip(u.tolist(), v.tolist(), strict=True):
            stage.put(x[0] + a, y[0] + b, FLOOR_Z - 1, name)
    street.fountain(stage, cx, cy)
    for dx, dy in ((-8, -8), (8, -8), (-8, 8), (8, 8)):
        if x[0] < cx + dx < x[1] and y[0] < cy + dy < y[1]:
            street.street_tree(stage, cx + dx, cy + dy, "oak")
            street.bench(stage, cx + dx - 1, cy + dy + (2 if dy < 0 else -2), along_x=True)


def _park(stage: Stage, x: Span, y: Span) -> None:
    """Lawns, trees and a bandstand."""
    area = slice(x[0], x[1]), slice(y[0], y[1])
    stage.box((x[0] + 1, x[1] - 1), (y[0] + 1, y[1] - 1), (FLOOR_Z - 1, FLOOR_Z), "turf")
    stage.box((x[0] + 1, x[1] - 1), (y[0] + 1, y[1] - 1), (FLOOR_Z, FLOOR_Z + 1), "air")
    stage.quarters[x[0] + 1 : x[1] - 1, y[0] + 1 : y[1] - 1] = 4 * FLOOR_Z
    cx, cy = sum(x) // 2, sum(y) // 2
    for span in (((x[0], x[1]), (cy - 1, cy + 2)), ((cx - 1, cx + 2), (y[0], y[1]))):
        stage.box(*span, (FLOOR_Z - 1, FLOOR_Z), "trail")
    own = stage.begin("pavilion")
    stage.pillar(cx + 0.5, cy + 0.5, 4.4, (FLOOR_Z - 1, FLOOR_Z), "boards", own)
    for dx, dy in ((-3, -3), (4, -3), (-3, 4), (4, 4)):
        stage.box((cx + dx, cx + dx + 1), (cy + dy, cy + dy + 1), (FLOOR_Z, FLOOR_Z + 4), "pile", own)
    stage.cone(cx + 0.5, cy + 0.5, 6, (FLOOR_Z + 4, FLOOR_Z + 8), "red_enamel", own)
    stage.taken[cx - 4 : cx + 6, cy - 4 : cy + 6] = True
    green = np.zeros(stage.size[:2], np.bool_)
    green[area] = True
    green[:, cy - 1 : cy + 2] = green[cx - 1 : cx + 2] = False
    for _ in range(14):
        tx, ty = stage.between(x[0] + 2, x[1] - 3), stage.between(y[0] + 2, y[1] - 3)
        if green[tx, ty] and not stage.taken[tx - 2 : tx + 3, ty - 2 : ty + 3].any():
            street.street_tree(stage, tx, ty, stage.pick(("oak", "birch")))
    stage.sow(green, ("dandelion", "poppy", "white_daisy", "tall_grass"), 0.16)


def _tower_base(stage: Stage, x: Span, y: Span) -> tuple[int, int]:
    stage.taken[x[0] : x[1], y[0] : y[1]] = True
    return sum(x) // 2, sum(y) // 2


def _clock_tower(stage: Stage, x: Span, y: Span) -> None:
    """A town hall of stone with a tower whose faces show the time."""
    cx, cy = _tower_base(stage, x, y)
    own = building(stage, x, y, 3, FRONTS[-1], shops=False)
    stage.draw("clock_tower", (cx, cy, FLOOR_Z), own)


def _skyscraper(stage: Stage, x: Span, y: Span) -> None:
    """Glass on a plinth of shops, stepped back twice."""
    _tower_base(stage, x, y)
    own = building(stage, x, y, 2, FRONTS[6])
    z = FLOOR_Z + 1 + 2 * STOREY
    for inset, rise in ((3, 12), (5, 8), (7, 5)):
        i, j = (x[0] + inset, x[1] - inset), (y[0] + inset, y[1] - inset)
        if i[1] - i[0] < 4 or j[1] - j[0] < 4:
            break
        stage.box(i, j, (z, z + rise), GLASS_TOWER.window, own)
        for level in range(z, z + rise, 4):
            stage.shell(i, j, (level, level + 1), GLASS_TOWER.wall, own)
        z += rise
    stage.box(i, j, (z, z + 1), "white_enamel", own)


def _furnish(stage: Stage, lines: list[int], others: list[int], axis: int) -> None:
    """Lamps and trees along the kerbs, parked cars, buses, benches and boxes; nothing near a junction."""

    def at(along: int, across: int) -> tuple[int, int]:
        return (across, along) if axis == 0 else (along, across)

    long = stage.size[1 - axis]
    for line in lines:
        planted, species = stage.rng.random() < 0.65, stage.pick(("birch", "oak", "birch"))
        for side in (-1, 1):
            kerb = line + _ROAD if side > 0 else line - _ROAD - 1
            for n, along in enumerate(range(_RIM + 2, long - _RIM - 9, 7)):
                gap = min(abs(along - other) for other in others)
                if gap < _ROAD + _WALK + 1:
                    continue
                arm = (-side, 0) if axis == 0 else (0, -side)
                if n % 2 == 0:
                    street.lamp(stage, *at(along, kerb), arm)
                elif planted:
                    street.street_tree(stage, *at(along, kerb + side), species)
                elif stage.rng.random() < 0.3:
                    street.bench(stage, *at(along, kerb + side), along_x=axis == 1)
                _park_car(stage, at, along, line, side, axis, min(abs(along + 4 - other) for other in others))
        for other in others:
            for du, dv in ((-1, -1), (1, 1)):
                post = at(other + du * (_ROAD + 1), line + dv * (_ROAD + 1))
                _signal(stage, *post)


def _park_car(stage: Stage, at: object, along: int, line: int, side: int, axis: int, gap: int) -> None:
    """Sometimes a car, seldom a bus, at the kerb."""
    if gap < _ROAD + 6 or stage.rng.random() > 0.5:
        return
    across = line + _ROAD - 2 if side > 0 else line - _ROAD
    assert callable(at)
    x, y = at(along, across)
    length = 8 if gap > _ROAD + 12 and stage.rng.random() < 0.12 else 4
    i, j = (2, length) if axis == 0 else (length, 2)
    if stage.taken[x : x + i, y : y + j].any():
        return
    if length == 8:
        street.bus(stage, x, y, along_x=axis == 1)
    else:
        street.car(stage, x, y, along_x=axis == 1, forward=side > 0)


def _signal(stage: Stage, x: int, y: int) -> None:
    """Traffic lights at a corner."""
    if stage.taken[x, y] or not (0 < x < stage.size[0] - 1 and 0 < y < stage.size[1] - 1):
        return
    own = stage.begin("traffic_light")
    stage.box((x, x + 1), (y, y + 1), (FLOOR_Z, FLOOR_Z + 3), "steel_post", own)
    stage.put(x, y, FLOOR_Z + 3, "black_enamel", own)
    stage.put(x, y, FLOOR_Z + 4, stage.pick(("red_enamel", "lime_glow")), own)
    stage.taken[x, y] = True
