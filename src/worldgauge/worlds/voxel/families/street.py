"""Things that stand in streets and yards: lamps, cars, benches, trees in a row.

Each is drawn on a Stage, with its lower corner or its middle at column (x, y).
"""

from __future__ import annotations

from typing import NamedTuple

from worldgauge.worlds.voxel.blocks import block
from worldgauge.worlds.voxel.families.stage import FLOOR_Z, Stage
from worldgauge.worlds.voxel.terrain import tree

CAR_PAINTS = ("red_enamel", "yellow_enamel", "blue_enamel", "white_enamel", "grey_enamel", "black_enamel")


def lamp(stage: Stage, x: int, y: int, arm: tuple[int, int] = (0, 0), *, height: int = 5) -> None:
    """Draw a street lamp."""
    own = stage.begin("lamp_post")
    stage.box((x, x + 1), (y, y + 1), (FLOOR_Z, FLOOR_Z + height), "steel_post", own)
    dx, dy = arm
    stage.put(x + dx, y + dy, FLOOR_Z + height, "white_glow_top_slab" if arm != (0, 0) else "white_glow", own)
    if arm != (0, 0):
        stage.put(x, y, FLOOR_Z + height, "grey_enamel_slab", own)
    stage.taken[x, y] = True


def car(stage: Stage, x: int, y: int, *, along_x: bool, forward: bool) -> None:
    """Draw a parked car of 4 x 2 cells."""
    own = stage.begin("car")
    paint = stage.pick(CAR_PAINTS)
    glass = "black_enamel_slab" if paint != "black_enamel" else "grey_enamel_slab"
    rows = [(f"{paint}_slab", "air"), (paint, glass), (paint, glass), (paint, "air")]
    for n, (low, high) in enumerate(rows if forward else rows[::-1]):
        for across in (0, 1):
            i, j = (x + n, y + across) if along_x else (x + across, y + n)
            stage.put(i, j, FLOOR_Z, low, own)
            if high != "air":
                stage.put(i, j, FLOOR_Z + 1, high, own)
            stage.taken[i, j] = True


def bus(stage: Stage, x: int, y: int, *, along_x: bool) -> None:
    """Draw a bus of 8 x 2 cells."""
    own = stage.begin("bus")
    paint = stage.pick(("red_enamel", "yellow_enamel", "blue_enamel"))
    i, j = ((x, x + 8), (y, y + 2)) if along_x else ((x, x + 2), (y, y + 8))
    stage.box(i, j, (FLOOR_Z, FLOOR_Z + 1), paint, own)
    stage.box(i, j, (FLOOR_Z + 1, FLOOR_Z + 2), "curtain_glass", own)
    stage.box(i, j, (FLOOR_Z + 2, FLOOR_Z + 3), f"{paint}_slab", own)
    stage.taken[i[0] : i[1], j[0] : j[1]] = True


def bench(stage: Stage, x: int, y: int, *, along_x: bool) -> None:
    """Draw a bench of three cells."""
    own = stage.begin("bench")
    i, j = ((x, x + 3), (y, y + 1)) if along_x else ((x, x + 1), (y, y + 3))
    stage.box(i, j, (FLOOR_Z, FLOOR_Z + 1), "spruce_slab", own)
    stage.taken[i[0] : i[1], j[0] : j[1]] = True


def street_tree(stage: Stage, x: int, y: int, species: str = "birch") -> None:
    """Draw a tree in a pit of earth."""
    own = stage.begin(species)
    stage.put(x, y, FLOOR_Z - 1, "podzol")
    stage.put(x, y, FLOOR_Z, "air")
    stage.canvas.stamp(x, y, FLOOR_Z, tree(species, stage.rng), own)
    stage.taken[x, y] = True


def fountain(stage: Stage, x: int, y: int, stone: str = "marble") -> None:
    """Draw a basin of radius 4 with a jet on a pillar."""
    stage.draw("fountain", (x, y, FLOOR_Z), stage.begin("fountain"), stone=stone)
    stage.taken[x - 4 : x + 5, y - 4 : y + 5] = True


# Town buildings seen from the street: storeys of windows, shops, roofs. Nobody goes in.

Span = tuple[int, int]
STOREY = 3


class Front(NamedTuple):
    """A style of building: blocks of walls, panes and the band between storeys (`trim`, "" for none)."""

    wall: str
    window: str
    trim: str
    every: int = 3  # cells from one window to the next
    wide: int = 1  # of a window, in cells
    tall: int = 2  # of a window, in cells


FRONTS = (
    Front("bricks", "window", "white_plaster"),
    Front("brownstone", "window", "cut_sandstone", every=4, wide=2),
    Front("cream_enamel", "window", "brown_enamel"),
    Front("rose_front", "window", "white_plaster", every=4, wide=2),
    Front("sage_front", "warm_window", "cream_enamel"),
    Front("blue_front", "window", "white_enamel"),
    Front("concrete", "curtain_glass", "grey_enamel", every=5, wide=4),
    Front("white_plaster", "curtain_glass", "black_enamel", every=4, wide=3, tall=1),
    Front("stone_bricks", "warm_window", "cut_sandstone", every=4, wide=2),
)
GLASS_TOWER = Front("steel", "curtain_glass", "grey_enamel", every=6, wide=5, tall=2)

_SHADES = ("red_enamel", "blue_enamel", "green_enamel", "yellow_enamel", "orange_enamel", "violet_enamel")


def building(stage: Stage, x: Span, y: Span, storeys: int, front: Front, *, shops: bool = True) -> int:
    """Draw a town building with something on its roof."""
    own = stage.begin("town_house")
    base = FLOOR_Z - 1
    top = FLOOR_Z + 1 + STOREY * storeys
    # The floor does not count as ground, so that no walker starts in a house without a way out.
    stage.box(x, y, (base, base + 1), "concrete", own)
    stage.box(x, y, (base + 1, top), "air")
    stage.shell(x, y, (base, top), front.wall, own)
    stage.box(x, y, (top - 1, top), "concrete", own)
    for storey in range(1, storeys):
        z = FLOOR_Z + 1 + STOREY * storey
        windows(stage, x, y, (z + 1 if front.tall == 2 else z + 2, z + 3), front.window, front.every, front.wide)
        if front.trim and storey == 1:
            stage.shell(x, y, (z, z + 1), front.trim, own)
    if shops:
        _shops(stage, x, y, own)
    else:
        windows(stage, x, y, (FLOOR_Z + 1, FLOOR_Z + 3), front.window, front.every, front.wide)
        # A door with a canopy in the middle of every front.
        for axis, side in ((0, 0), (0, 1), (1, 0), (1, 1)):
            middle = sum((x, y)[axis]) // 2
            wall = (y, x)[axis][side] - side
            _wall(stage, axis, (middle - 1, middle + 1), wall, (FLOOR_Z, FLOOR_Z + 2), "brown_enamel", own)
            _wall(stage, axis, (middle - 2, middle + 2), wall, (FLOOR_Z + 2, FLOOR_Z + 3), "cut_sandstone", own)
    _roof(stage, x, y, top, front, own)
    return own


def windows(stage: Stage, x: Span, y: Span, z: Span, name: str, every: int, wide: int) -> None:
    """Draw windows in all four walls, centred, away from the corners."""
    states, pane = stage.canvas.states, block(name)
    for axis, (first, last) in enumerate((x, y)):
        inner = last - first - 2
        count = (inner - wide) // every + 1
        start = first + 1 + (inner - (count - 1) * every - wide) // 2
        for n in range(count):
            along = slice(start + n * every, start + n * every + wide)
            for row in y if axis == 0 else x:
                at = row if row in (x[0], y[0]) else row - 1
                where = (along, at) if axis == 0 else (at, along)
                states[where[0], where[1], z[0] : z[1]] = pane


def _shops(stage: Stage, x: Span, y: Span, own: int) -> None:
    """Shop windows, doors, and awnings over the pavement, each shop five to eight cells wide."""
    for axis, side in ((0, 0), (0, 1), (1, 0), (1, 1)):
        first, last = (x, y)[axis]
        wall = (y, x)[axis][side] - side
        out = wall + (1 if side else -1)
        at = first + 1
        while at + 4 < last:
            stop = min(at + stage.between(5, 8), last - 1)
            shade, show = stage.pick(_SHADES), stage.pick(("curtain_glass", "warm_window"))
            door = stage.between(at, stop - 2)
            _wall(stage, axis, (at, stop - 1), wall, (FLOOR_Z, FLOOR_Z + 2), show, own)
            _wall(stage, axis, (door, door + 1), wall, (FLOOR_Z, FLOOR_Z + 2), "brown_enamel", own)
            _wall(stage, axis, (at, stop - 1), wall, (FLOOR_Z + 2, FLOOR_Z + 3), shade, own)
            if stage.rng.random() < 0.6:
                for n in range(at, stop - 1):
                    _wall(stage, axis, (n, n + 1), out, (FLOOR_Z + 2, FLOOR_Z + 3), _awning(shade, n), own)
            at = stop


def _awning(shade: str, n: int) -> str:
    """Stripes of cloth."""
    return f"{shade}_slab" if n % 2 and shade in ("red_enamel", "blue_enamel", "yellow_enamel") else "white_enamel_slab"


def _wall(stage: Stage, axis: int, along: Span, wall: int, z: Span, name: str, own: int) -> None:
    across = (wall, wall + 1)
    x, y = (along, across) if axis == 0 else (across, along)
    stage.box(x, y, z, name, own)


def _roof(stage: Stage, x: Span, y: Span, top: int, front: Front, own: int) -> None:
    """A cornice, and tanks, sheds, gardens or a billboard above."""
    stage.shell(x, y, (top, top + 1), front.trim, own)
    (x0, x1), (y0, y1) = x, y
    if x1 - x0 < 8 or y1 - y0 < 8:
        return
    what = stage.between(0, 4)
    px, py = stage.between(x0 + 2, x1 - 6), stage.between(y0 + 2, y1 - 6)
    if what == 0:
        stage.pillar(px + 2, py + 2, 1.8, (top, top + 4), "brown_enamel", own)
        stage.cone(px + 2, py + 2, 2.2, (top + 4, top + 6), "rust", own)
    elif what == 1:
        stage.box((px, px + 4), (py, py + 3), (top, top + 3), "concrete", own)
        stage.box((px + 5, px + 6), (py, py + 1), (top, top + 5), "steel_post", own)
    elif what == 2:
        stage.box((x0 + 1, x1 - 1), (y0 + 1, y1 - 1), (top - 1, top), "turf", own)
        stage.ball((px + 2, py + 2, top + 1.2), (2, 2, 1.6), "oak_leaves", own)
    elif what == 3:
        shade = stage.pick(_SHADES)
        stage.box((x0 + 2, x1 - 2), (y0, y0 + 1), (top + 1, top + 4), shade, own)
        stage.box((x0 + 3, x1 - 3), (y0, y0 + 1), (top + 2, top + 3), "white_enamel", own)
