"""A museum with a library: halls five metres high and wider than ten, wide openings, no sky in sight."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from worldgauge.worlds.voxel.blocks import STATES
from worldgauge.worlds.voxel.families.stage import FLOOR_Z, Stage

Z = FLOOR_Z
_HEIGHT = 6
"""Metres from floor to ceiling; the middle hall is twice as high."""

_OPENING = 4
"""Half the width of an opening between two halls."""

_REACH = 47
"""Farthest wall from the centre along one axis: no line of sight along it is longer than the camera sees."""


class Hall(NamedTuple):
    """One hall: its inside x0 <= x < x1, y0 <= y < y1, its walls and floor."""

    x0: int
    x1: int
    y0: int
    y1: int
    wall: str
    height: int

    @property
    def middle(self) -> tuple[int, int]:
        """Its middle cell."""
        return (self.x0 + self.x1) // 2, (self.y0 + self.y1) // 2


_WALLS = ("red_wall", "green_wall", "ochre_wall", "blue_wall", "white_plaster", "sage_front", "rose_front")
_FLOORS = (("parquet", "parquet"), ("white_tile", "black_tile"), ("mosaic", "mosaic"), ("white_tile", "white_tile"))
_PICTURES = ("picture_1", "picture_2", "picture_3", "picture_4")
_GRAND = ("harbour", "mountain")


def draw(stage: Stage) -> None:
    """Lines of walls, halls between them, openings, then what each hall shows."""
    stage.lay_ground({}, "dirt", "turf")
    lines = [_lines(stage, axis) for axis in (0, 1)]
    halls = _halls(stage, *lines)
    themes = [_library, _gallery, _statues, _garden, _reading, _fossil, _columns, _gallery, _globes, _library]
    order = [*stage.shuffled(themes[:7]), *stage.shuffled(themes)]
    near = sorted(halls, key=lambda h: _from_centre(stage, h))
    for hall in near:
        _room(stage, hall)
    for hall in halls:
        _open(stage, hall, halls)
        _windows(stage, hall, *lines)
    for number, hall in enumerate(near):
        if number == 0:
            _rotunda(stage, hall)
        else:
            order[(number - 1) % len(order)](stage, hall)
    for hall in halls:
        _hang(stage, hall)


def _lines(stage: Stage, axis: int) -> list[int]:
    """Positions of the walls across one axis; the centre is in the middle of a hall."""
    low, high = max(12, stage.centre[axis] - _REACH), min(stage.size[axis] - 12, stage.centre[axis] + _REACH)
    first = stage.centre[axis] - stage.between(11, 13)
    lines = [first, first + stage.between(23, 26)]
    while lines[0] - 13 > low:
        lines.insert(0, max(lines[0] - stage.between(16, 24), low))
    while lines[-1] + 13 < high:
        lines.append(min(lines[-1] + stage.between(16, 24), high))
    return lines


def _halls(stage: Stage, across_x: list[int], across_y: list[int]) -> list[Hall]:
    """The fields between the lines, some of them two in one."""
    free = {(i, j) for i in range(len(across_x) - 1) for j in range(len(across_y) - 1)}
    halls = []
    for i, j in stage.shuffled(sorted(free)):
        if (i, j) not in free:
            continue
        di, dj = stage.pick(((0, 0), (1, 0), (0, 1)))
        middle = across_x[i] < stage.centre[0] < across_x[i + 1] and across_y[j] < stage.centre[1] < across_y[j + 1]
        other = (i + di, j + dj)
        holds = other in free and across_x[other[0]] < stage.centre[0] < across_x[other[0] + 1]
        holds = holds and across_y[other[1]] < stage.centre[1] < across_y[other[1] + 1]
        if middle or other not in free or holds:
            di = dj = 0
        free -= {(i, j), (i + di, j + dj)}
        wall = stage.pick(_WALLS)
        height = 11 if middle else _HEIGHT
        halls.append(Hall(across_x[i] + 1, across_x[i + di + 1], across_y[j] + 1, across_y[j + dj + 1], wall, height))
    return halls


def _from_centre(stage: Stage, hall: Hall) -> float:
    dx, dy = (m - c for m, c in zip(hall.middle, stage.centre, strict=True))
    return dx * dx + dy * dy if hall.height == _HEIGHT else -1


def _room(stage: Stage, hall: Hall) -> None:
    """Floor, walls with wainscot, ceiling with rows of lights."""
    x, y = (hall.x0, hall.x1), (hall.y0, hall.y1)
    wide_x, wide_y = (x[0] - 1, x[1] + 1), (y[0] - 1, y[1] + 1)
    top = Z + hall.height
    stage.shell(wide_x, wide_y, (Z, top + 1), hall.wall)
    stage.box(x, y, (top, top + 1), "coffer")
    stage.box(x, y, (Z, top), "air")
    first, second = stage.pick(_FLOORS)
    i, j = np.indices((x[1] - x[0], y[1] - y[0]))
    side = stage.between(1, 2)
    odd = (i // side + j // side) % 2 == 1
    stage.box(x, y, (Z - 1, Z), first)
    for a, b in np.argwhere(odd).tolist() if second != first else []:
        stage.put(x[0] + a, y[0] + b, Z - 1, second)
    for u in range(x[0] + 3, x[1] - 2, 5):
        for v in range(y[0] + 3, y[1] - 2, 5):
            stage.box((u, u + 2), (v, v + 1), (top, top + 1), "white_glow")
    for wall in ((x, (wide_y[0], y[0])), (x, (y[1], wide_y[1])), ((wide_x[0], x[0]), y), ((x[1], wide_x[1]), y)):
        stage.box(*wall, (Z, Z + 1), "wainscot")
    stage.taken[wide_x[0] : wide_x[1], wide_y[0] : wide_y[1]] = True
    stage.taken[x[0] : x[1], y[0] : y[1]] = False


def _windows(stage: Stage, hall: Hall, across_x: list[int], across_y: list[int]) -> None:
    """Tall bright windows in outer walls, which one cannot look through."""
    for axis, outer, walls in ((0, across_x, (hall.x0 - 1, hall.x1)), (1, across_y, (hall.y0 - 1, hall.y1))):
        first, last = (hall.y0, hall.y1) if axis == 0 else (hall.x0, hall.x1)
        for wall in walls:
            if wall not in (outer[0], outer[-1]):
                continue
            for n in range(first + 2, last - 3, 5):
                span, row = (n, n + 2), (wall, wall + 1)
                stage.box(*((row, span) if axis == 0 else (span, row)), (Z + 1, Z + 5), "warm_window")


def _open(stage: Stage, hall: Hall, halls: list[Hall]) -> None:
    """An opening framed in marble towards each neighbour to the east and north, at alternating ends of the wall.
    Otherwise a walker would look through so many that the last is too far away to be drawn."""
    for other in halls:
        if other.x0 == hall.x1 + 1:
            low, high = max(hall.y0, other.y0), min(hall.y1, other.y1)
            axis, wall, lines = 0, hall.x1, sorted({one.x1 for one in halls})
        elif other.y0 == hall.y1 + 1:
            low, high = max(hall.x0, other.x0), min(hall.x1, other.x1)
            axis, wall, lines = 1, hall.y1, sorted({one.y1 for one in halls})
        else:
            continue
        if high - low < 2 * _OPENING + 2:
            continue
        half = min(_OPENING + stage.between(-1, 1), (high - low) // 2 - 1)
        middle = low + half + 1 if lines.index(wall) % 2 else high - half - 1
        for grown, name in ((1, "marble"), (0, "air")):
            span, row = (middle - half - grown, middle + half + grown), (wall, wall + 1)
            x, y = (row, span) if axis == 0 else (span, row)
            stage.box(x, y, (Z, Z + 5 + grown - 1), name)
            if not grown:
                stage.box(x, y, (Z - 1, Z), "marble")
                stage.taken[x[0] : x[1], y[0] : y[1]] = False
                reach = (4, 0) if axis == 0 else (0, 4)
                stage.taken[x[0] - reach[0] : x[1] + reach[0], y[0] - reach[1] : y[1] + reach[1]] = True


def _stand(stage: Stage, x: tuple[int, int], y: tuple[int, int], z: tuple[int, int], name: str, kind: str) -> int:
    """A piece of furniture, unless it would stand before an opening; its number, 0 for none."""
    if stage.taken[x[0] : x[1], y[0] : y[1]].any():
        return 0
    own = stage.begin(kind)
    stage.box(x, y, z, name, own)
    return own


def _rug(stage: Stage, hall: Hall, name: str, inset: int = 4) -> None:
    """A carpet over the middle of the floor with a border of another colour."""
    border = "blue_rug" if name != "blue_rug" else "red_rug"
    for inside, sort in ((inset, border), (inset + 1, name)):
        x, y = (hall.x0 + inside, hall.x1 - inside), (hall.y0 + inside, hall.y1 - inside)
        if x[1] - x[0] > 2 and y[1] - y[0] > 2:
            stage.box(x, y, (Z - 1, Z), sort)


def _rotunda(stage: Stage, hall: Hall) -> None:
    """The middle hall: columns in a ring under a high ceiling, a gallery of lights, a compass in the floor."""
    cx, cy = stage.centre
    stage.pillar(cx + 0.5, cy + 0.5, 8.3, (Z - 1, Z), "black_tile")
    stage.pillar(cx + 0.5, cy + 0.5, 7.4, (Z - 1, Z), "marble")
    stage.pillar(cx + 0.5, cy + 0.5, 3.6, (Z - 1, Z), stage.pick(("red_rug", "blue_rug", "green_rug", "mosaic")))
    for dx, dy in ((9, 4), (9, -4), (-9, 4), (-9, -4), (4, 9), (-4, 9), (4, -9), (-4, -9)):
        own = _stand(stage, (cx + dx, cx + dx + 1), (cy + dy, cy + dy + 1), (Z, Z + 11), "marble_shaft", "column")
        if own:
            stage.put(cx + dx, cy + dy, Z, "marble", own)
            stage.put(cx + dx, cy + dy, Z + 10, "gold", own)
    band = stage.pick(("frieze", "gold", "teal_enamel", "red_enamel"))
    stage.shell((hall.x0 - 1, hall.x1 + 1), (hall.y0 - 1, hall.y1 + 1), (Z + 6, Z + 7), band)
    own = stage.begin("chandelier")
    stage.pillar(cx + 0.5, cy + 0.5, 3.4, (Z + 8, Z + 9), "amber_glow", own, hollow=2.4)
    stage.box((cx, cx + 1), (cy, cy + 1), (Z + 8, Z + 11), "gold", own)
    stage.box((cx - 2, cx + 3), (cy, cy + 1), (Z + 8, Z + 9), "gold", own)
    stage.box((cx, cx + 1), (cy - 2, cy + 3), (Z + 8, Z + 9), "gold", own)
    dx, dy = stage.pick(((6, 6), (-6, 6), (6, -6), (-6, -6)))
    _statue(stage, cx + dx, cy + dy, 3)


def _library(stage: Stage, hall: Hall) -> None:
    """Rows of shelves four metres apart, four metres high, on a carpet."""
    _rug(stage, hall, stage.pick(("green_rug", "red_rug")), 1)
    along_x = hall.x1 - hall.x0 > hall.y1 - hall.y0
    books = stage.pick(("bookshelf", "red_books", "blue_books"))
    first, last = (hall.y0, hall.y1) if along_x else (hall.x0, hall.x1)
    far = (hall.x0 + 4, hall.x1 - 4) if along_x else (hall.y0 + 4, hall.y1 - 4)
    for row in range(first + 4, last - 3, 5):
        for n in range(far[0], far[1] - 3, 5):
            span, line = (n, min(n + 4, far[1])), (row, row + 1)
            x, y = (span, line) if along_x else (line, span)
            own = _stand(stage, x, y, (Z, Z + 4), books, "bookcase")
            if own:
                stage.box(x, y, (Z + 4, Z + 5), "oak_slab", own)


def _gallery(stage: Stage, hall: Hall) -> None:
    """Benches on a carpet, and screens with pictures on both sides."""
    _rug(stage, hall, stage.pick(("red_rug", "blue_rug", "green_rug")), 3)
    cx, cy = hall.middle
    for dx in (-5, 5):
        own = _stand(stage, (cx + dx, cx + dx + 1), (cy - 3, cy + 3), (Z, Z + 4), "white_enamel", "screen")
        if own:
            for n in (-2, 0, 2):
                stage.put(cx + dx, cy + n, Z + 2, stage.pick(_PICTURES), own)
    _stand(stage, (cx - 1, cx + 2), (cy, cy + 1), (Z, Z + 1), "spruce_slab", "bench")


def _statue(stage: Stage, x: int, y: int, tall: int) -> None:
    """A figure on a block."""
    skin = stage.pick(("bronze", "marble", "gold", "bronze"))
    own = _stand(stage, (x - 1, x + 2), (y - 1, y + 2), (Z, Z + 1), "marble", "statue")
    if own:
        stage.box((x, x + 1), (y - 1, y + 2), (Z + 1, Z + 1 + tall - 1), skin, own)
        stage.box((x, x + 1), (y, y + 1), (Z + 1, Z + 1 + tall), skin, own)
        stage.put(x, y + stage.pick((-1, 1)), Z + tall, skin, own)


def _statues(stage: Stage, hall: Hall) -> None:
    """Figures in two rows."""
    for x in range(hall.x0 + 4, hall.x1 - 3, 6):
        for y in (hall.y0 + 4, hall.y1 - 5):
            _statue(stage, x, y, stage.between(2, 4))


def _garden(stage: Stage, hall: Hall) -> None:
    """A winter garden: beds with small trees and flowers under a ceiling of light."""
    stage.box(
        (hall.x0 + 1, hall.x1 - 1), (hall.y0 + 1, hall.y1 - 1), (Z + hall.height, Z + hall.height + 1), "dome_glass"
    )
    for x in range(hall.x0 + 3, hall.x1 - 6, 8):
        for y in range(hall.y0 + 3, hall.y1 - 6, 8):
            own = _stand(stage, (x, x + 5), (y, y + 5), (Z - 1, Z), "turf", "bed")
            if not own:
                continue
            stage.shell((x - 1, x + 6), (y - 1, y + 6), (Z - 1, Z), "marble")
            grown = stage.begin("shrub")
            stage.box((x + 2, x + 3), (y + 2, y + 3), (Z, Z + 3), "oak_log", grown)
            leaves = stage.pick(("oak_leaves", "birch_leaves", "pink_leaves", "acacia_leaves"))
            stage.ball((x + 2.5, y + 2.5, Z + 3.4), (2.3, 2.3, 1.6), leaves, grown, over=False)
            for dx, dy in ((0, 0), (4, 0), (0, 4), (4, 4), (1, 3), (3, 1)):
                stage.put(x + dx, y + dy, Z, stage.pick(("poppy", "white_daisy", "fern", "orange_tulip")))


def _reading(stage: Stage, hall: Hall) -> None:
    """Long tables with green lamps."""
    _rug(stage, hall, "green_rug", 2)
    for x in range(hall.x0 + 4, hall.x1 - 7, 8):
        for y in range(hall.y0 + 4, hall.y1 - 5, 6):
            own = _stand(stage, (x, x + 5), (y, y + 2), (Z, Z + 1), "spruce_planks", "table")
            if own:
                for dx in (1, 3):
                    stage.put(x + dx, y, Z + 1, "lime_glow" if dx == 1 else "red_books", own)


def _fossil(stage: Stage, hall: Hall) -> None:
    """The skeleton of a great animal on a low stage."""
    cx, cy = hall.middle
    long = min(hall.x1 - hall.x0 - 12, 13)
    x0 = cx - long // 2
    own = _stand(stage, (x0 - 1, x0 + long + 1), (cy - 2, cy + 3), (Z, Z + 1), "black_enamel_slab", "skeleton")
    if not own:
        return
    stage.box((x0, x0 + long), (cy, cy + 1), (Z + 4, Z + 5), "white_enamel", own)
    for n in range(x0 + 2, x0 + long - 3, 2):
        for side in (-1, 1):
            stage.box((n, n + 1), (cy + side, cy + side + 1), (Z + 2, Z + 5), "cream_enamel", own)
    for n in (x0 + 2, x0 + long - 4):
        for side in (-2, 2):
            stage.box((n, n + 1), (cy + side, cy + side + 1), (Z, Z + 3), "white_enamel", own)
    stage.box((x0 + long - 1, x0 + long + 2), (cy - 1, cy + 2), (Z + 4, Z + 6), "cream_enamel", own)
    stage.put(x0 + long, cy - 1, Z + 5, "black_enamel", own)
    stage.box((x0 - 2, x0), (cy, cy + 1), (Z + 3, Z + 4), "white_enamel", own)


def _globes(stage: Stage, hall: Hall) -> None:
    """Globes and glass cases."""
    cx, cy = hall.middle
    own = _stand(stage, (cx - 2, cx + 3), (cy - 2, cy + 3), (Z, Z + 1), "wainscot", "globe")
    if own:
        stage.ball((cx + 0.5, cy + 0.5, Z + 3.2), (2.4, 2.4, 2.4), "blue_enamel", own, floor=Z + 1)
        for dx, dy, dz in ((2, 0, 3), (2, 1, 3), (1, 2, 4), (-2, 0, 2), (-1, -2, 3), (0, -2, 4), (0, 2, 2), (-2, 1, 4)):
            if stage.canvas.states[cx + dx, cy + dy, Z + dz]:
                stage.put(cx + dx, cy + dy, Z + dz, "lime_enamel", own)
    for x in range(hall.x0 + 3, hall.x1 - 4, 6):
        for y in (hall.y0 + 3, hall.y1 - 5):
            case = _stand(stage, (x, x + 2), (y, y + 2), (Z, Z + 1), "wainscot", "show_case")
            if case:
                stage.box((x, x + 2), (y, y + 2), (Z + 1, Z + 2), "glass", case)


def _columns(stage: Stage, hall: Hall) -> None:
    """A hall of columns with a runner between."""
    _rug(stage, hall, stage.pick(("red_rug", "blue_rug")), 6)
    shaft = stage.pick(("marble_shaft", "green_enamel", "red_enamel"))
    for x in range(hall.x0 + 4, hall.x1 - 3, 5):
        for y in (hall.y0 + 3, hall.y1 - 4):
            own = _stand(stage, (x, x + 1), (y, y + 1), (Z, Z + hall.height), shaft, "column")
            if own:
                stage.put(x, y, Z, "marble", own)
                stage.put(x, y, Z + hall.height - 1, "gold", own)


def _hang(stage: Stage, hall: Hall) -> None:
    """Pictures on the free stretches of the walls, small ones and ones of four tiles."""
    wall = {hall.wall}
    for axis, at, step in ((0, hall.x0 - 1, 1), (0, hall.x1, -1), (1, hall.y0 - 1, 1), (1, hall.y1, -1)):
        first, last = (hall.y0, hall.y1) if axis == 0 else (hall.x0, hall.x1)
        n = first + 2
        while n < last - 4:
            if not _plain(stage, axis, at, n - 1, 4, wall):
                n += 1
                continue
            if stage.rng.random() < 0.5:
                # Seen from inside the hall, the left half lies towards +y on the west wall, and so on round.
                mirrored = (axis == 0) != (step < 0)
                _grand(stage, axis, at, n, stage.pick(_GRAND), mirrored=not mirrored)
            else:
                _cell(stage, axis, at, n, Z + 2, stage.pick(_PICTURES))
            n += stage.between(4, 7)


def _plain(stage: Stage, axis: int, at: int, n: int, wide: int, names: set[str]) -> bool:
    cells = (
        stage.canvas.states[at, n : n + wide, Z + 2 : Z + 4]
        if axis == 0
        else stage.canvas.states[n : n + wide, at, Z + 2 : Z + 4]
    )
    return all(STATES[int(state)].name in names for state in np.unique(cells))


def _grand(stage: Stage, axis: int, at: int, n: int, name: str, *, mirrored: bool) -> None:
    own = stage.begin("painting")
    for column, half in ((0, "r"), (1, "l")) if mirrored else ((0, "l"), (1, "r")):
        for row, level in (("l", 2), ("u", 3)):
            _cell(stage, axis, at, n + column, Z + level, f"{name}_{row}{half}", own)


def _cell(stage: Stage, axis: int, at: int, n: int, z: int, name: str, own: int = 0) -> None:
    x, y = (at, n) if axis == 0 else (n, at)
    stage.put(x, y, z, name, own or stage.begin("painting"))
