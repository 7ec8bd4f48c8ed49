"""Things that stand in streets and yards: lamps, cars, benches, trees in a row.

Each is drawn on a Stage, with its lower corner or its middle at column (x, y).
"""

from __future__ import annotations

from worldgauge.worlds.voxel.families.stage import FLOOR_Z, Stage
from worldgauge.worlds.voxel.settlements.plants import tree

CAR_PAINTS = ("red_enamel", "yellow_enamel", "blue_enamel", "white_enamel", "grey_enamel", "black_enamel")


def lamp(stage: Stage, x: int, y: int, arm: tuple[int, int] = (0, 0), *, height: int = 5) -> None:
    """Draw a street lamp.

    Args:
        stage: What is drawn on.
        x: Column of the post.
        y: Column of the post.
        arm: Offset of its head from the post, in cells.
        height: Height of the post in cells.
    """
    own = stage.begin("lamp_post")
    stage.box((x, x + 1), (y, y + 1), (FLOOR_Z, FLOOR_Z + height), "steel_post", own)
    dx, dy = arm
    stage.put(x + dx, y + dy, FLOOR_Z + height, "white_glow_top_slab" if arm != (0, 0) else "white_glow", own)
    if arm != (0, 0):
        stage.put(x, y, FLOOR_Z + height, "grey_enamel_slab", own)
    stage.taken[x, y] = True


def car(stage: Stage, x: int, y: int, *, along_x: bool, forward: bool) -> None:
    """Draw a parked car of 4 x 2 cells.

    Args:
        stage: What is drawn on.
        x: Lower corner.
        y: Lower corner.
        along_x: Its length lies along x rather than y.
        forward: Its bonnet is at the lower end.
    """
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
    """Draw a bus of 8 x 2 cells.

    Args:
        stage: What is drawn on.
        x: Lower corner.
        y: Lower corner.
        along_x: Its length lies along x rather than y.
    """
    own = stage.begin("bus")
    paint = stage.pick(("red_enamel", "yellow_enamel", "blue_enamel"))
    i, j = ((x, x + 8), (y, y + 2)) if along_x else ((x, x + 2), (y, y + 8))
    stage.box(i, j, (FLOOR_Z, FLOOR_Z + 1), paint, own)
    stage.box(i, j, (FLOOR_Z + 1, FLOOR_Z + 2), "curtain_glass", own)
    stage.box(i, j, (FLOOR_Z + 2, FLOOR_Z + 3), f"{paint}_slab", own)
    stage.taken[i[0] : i[1], j[0] : j[1]] = True


def bench(stage: Stage, x: int, y: int, *, along_x: bool) -> None:
    """Draw a bench of three cells.

    Args:
        stage: What is drawn on.
        x: Lower corner.
        y: Lower corner.
        along_x: Its length lies along x rather than y.
    """
    own = stage.begin("bench")
    i, j = ((x, x + 3), (y, y + 1)) if along_x else ((x, x + 1), (y, y + 3))
    stage.box(i, j, (FLOOR_Z, FLOOR_Z + 1), "spruce_slab", own)
    stage.taken[i[0] : i[1], j[0] : j[1]] = True


def street_tree(stage: Stage, x: int, y: int, species: str = "birch") -> None:
    """Draw a tree in a pit of earth.

    Args:
        stage: What is drawn on.
        x: Column.
        y: Column.
        species: Kind of tree.
    """
    own = stage.begin(species)
    stage.put(x, y, FLOOR_Z - 1, "podzol")
    stage.put(x, y, FLOOR_Z, "air")
    stage.canvas.stamp(x, y, FLOOR_Z, tree(species, stage.rng), own)
    stage.taken[x, y] = True


def fountain(stage: Stage, x: int, y: int, stone: str = "marble") -> None:
    """Draw a basin of radius 4 with a jet on a pillar.

    Args:
        stage: What is drawn on.
        x: Middle.
        y: Middle.
        stone: Block of the basin.
    """
    own = stage.begin("fountain")
    stage.pillar(x + 0.5, y + 0.5, 4.6, (FLOOR_Z, FLOOR_Z + 1), stone, own)
    stage.pillar(x + 0.5, y + 0.5, 3.6, (FLOOR_Z, FLOOR_Z + 1), "water", own)
    stage.pillar(x + 0.5, y + 0.5, 0.6, (FLOOR_Z, FLOOR_Z + 3), stone, own)
    stage.pillar(x + 0.5, y + 0.5, 1.6, (FLOOR_Z + 3, FLOOR_Z + 4), stone, own)
    stage.pillar(x + 0.5, y + 0.5, 0.6, (FLOOR_Z + 4, FLOOR_Z + 6), "sky_enamel", own)
    stage.taken[x - 4 : x + 5, y - 4 : y + 5] = True
