"""Homes: huts, cottages, manors, and what stands in villages."""

from __future__ import annotations

from worldgauge.suites.build.generate.structures.brush import Canvas, Draw
from worldgauge.suites.build.generate.structures.designs import FLOWERS, MASONRY, WOODS, design, said


@design("houses", "easy")
def hut(draw: Draw) -> Canvas:
    """Four short walls under a gable."""
    wood, roof = draw.two(WOODS)
    canvas = Canvas(f"{said(wood)} hut", f"A tiny hut of {said(wood)} under a gable roof of {said(roof)}.")
    canvas.walls((0, 0, 0), (2, 1, 2), f"{wood}_planks")
    canvas.door(1, 0, 2, draw.pick((wood, roof)))
    if draw.chance(0.7):
        canvas.put(draw.whole(0, 1) * 2, 1, 1, draw.pick(("glass", "white_stained_glass")))
        canvas.part("a window in one side wall", 1, 1)
    canvas.gable((0, 2, 0), (2, 2), f"{roof}_stairs", f"{roof}_slab")
    canvas.put(1, 2, 0, f"{wood}_planks")
    canvas.put(1, 2, 2, f"{wood}_planks")
    canvas.part("a door in the middle of the south wall", 0, 1)
    canvas.part("a gable roof of stairs", 2, 3)
    return canvas


@design("houses", "medium")
def cottage(draw: Draw) -> Canvas:
    """One room, timber corners, gable roof with eaves, chimney."""
    wall, timber = draw.two(WOODS)
    stone = MASONRY[draw.pick(("cobblestone", "stone brick", "brick", "andesite"))]
    wide, deep, high = draw.odd(5, 9), draw.whole(6, 9), draw.whole(3, 4)
    canvas = Canvas(f"{said(wall)} cottage", f"A cottage of {said(wall)} with {said(timber)} timbers and a chimney.")
    canvas.box((0, 0, 0), (wide - 1, 0, deep - 1), stone.block)
    home(canvas, (0, 1, 0), (wide, high, deep), f"{wall}_planks", f"{timber}_log", timber)
    canvas.part("a stone floor", 0, 0)
    canvas.part("a door in the middle of the south wall", 1, 2)
    canvas.part("windows in the walls", 2, 2)
    top = canvas.gable((-1, high + 1, -1), (wide, deep), f"{timber}_stairs", f"{timber}_slab", fill=f"{wall}_planks")
    canvas.part("a gable roof of stairs with eaves", high + 1, top)
    canvas.box((1, 1, 0), (1, top + 1, 0), stone.block)
    canvas.put(1, top + 2, 0, "campfire[facing=north,lit=true]" if draw.chance(0.3) else stone.wall)
    canvas.part("a chimney", 1, top + 2)
    return canvas


@design("houses", "hard")
def manor(draw: Draw) -> Canvas:
    """Two floors under a hip roof, a porch on columns, two chimneys."""
    stone = MASONRY[draw.pick(("brick", "stone brick", "mud brick", "sandstone", "diorite"))]
    wood = draw.pick(WOODS)
    wide, deep = draw.odd(17, 21), draw.odd(13, 15)
    canvas = Canvas(f"{stone.words} manor", f"A manor of {stone.words} with two floors, a porch and a hip roof.")
    right, back = wide - 1, deep - 1
    canvas.box((-1, 0, -1), (wide, 0, deep), "polished_andesite")
    canvas.part("a plinth of polished andesite", 0, 0)
    for floor in (1, 6):
        canvas.walls((0, floor, 0), (right, floor + 4, back), stone.block)
        canvas.corners((0, floor, 0), (right, floor + 4, back), f"{wood}_log")
        canvas.box((1, floor + 4, 1), (right - 1, floor + 4, back - 1), f"{wood}_planks")
        for x in range(2, right - 1, 3):
            for z in (0, back):
                canvas.box((x, floor + 1, z), (x, floor + 2, z), "glass_pane")
        for z in range(2, back - 1, 3):
            for x in (0, right):
                canvas.box((x, floor + 1, z), (x, floor + 2, z), "glass_pane")
    canvas.part("rows of windows on both floors", 2, 8)
    middle = wide // 2
    canvas.box((middle - 1, 1, back), (middle + 1, 4, back), stone.block)
    canvas.door(middle, 1, back, wood)
    canvas.part("a door in the middle of the south wall", 1, 2)
    canvas.box((middle - 3, 0, deep), (middle + 3, 0, deep + 2), "polished_andesite")
    for x in (middle - 3, middle + 3):
        canvas.box((x, 1, deep + 2), (x, 3, deep + 2), f"stripped_{wood}_log")
    canvas.box((middle - 3, 4, deep), (middle + 3, 4, deep + 2), f"{wood}_slab[type=bottom]")
    for x in (middle - 1, middle + 1):
        canvas.put(x, 3, deep + 1, f"{wood}_fence")
        canvas.put(x, 2, deep + 1, "lantern[hanging=true]")
    canvas.box((middle - 1, 3, deep + 1), (middle + 1, 3, deep + 1), None)
    for x in (middle - 2, middle + 2):
        canvas.put(x, 3, deep + 1, "lantern[hanging=true]")
    canvas.part("a porch on two columns before the door", 1, 4)
    top = canvas.hip((-1, 11, -1), (wide, deep), f"{wood}_stairs", f"{wood}_planks", layers=5)
    canvas.part("a hip roof of stairs", 11, top)
    for x in (3, right - 3):
        canvas.box((x, 11, deep // 2), (x, top + 2, deep // 2), "bricks")
        canvas.put(x, top + 3, deep // 2, "brick_wall")
    canvas.part("two chimneys", 11, top + 3)
    return canvas


@design("minecraft_villages", "easy")
def well(draw: Draw) -> Canvas:
    """A ring of stone round water, a roof on posts."""
    stone = MASONRY[draw.pick(("cobblestone", "stone brick", "sandstone", "andesite", "mud brick"))]
    wood = draw.pick(WOODS)
    canvas = Canvas(f"{stone.words} village well", f"A village well of {stone.words} under a flat {said(wood)} roof.")
    canvas.box((0, 0, 0), (2, 0, 2), stone.block)
    canvas.put(1, 0, 1, "water")
    canvas.part("water in the middle", 0, 0)
    canvas.corners((0, 1, 0), (2, 2, 2), f"{wood}_fence")
    canvas.part("a fence post on each corner", 1, 2)
    canvas.box((0, 3, 0), (2, 3, 2), f"{wood}_slab[type=bottom]")
    canvas.part("a flat roof of slabs", 3, 3)
    return canvas


@design("minecraft_villages", "medium")
def farm(draw: Draw) -> Canvas:
    """Rows of crops along a ditch, in a frame of logs, behind a fence."""
    wood = draw.pick(WOODS)
    crop, words = {
        "wheat": ("wheat[age=7]", "wheat"),
        "carrots": ("carrots[age=7]", "carrot"),
        "potatoes": ("potatoes[age=7]", "potato"),
        "beetroots": ("beetroots[age=3]", "beetroot"),
    }[draw.pick(("wheat", "carrots", "potatoes", "beetroots"))]
    wide, deep = draw.odd(7, 13), draw.whole(7, 11)
    canvas = Canvas(f"village {words} farm", f"A village farm that grows {words} in rows beside a ditch of water.")
    canvas.box((0, 0, 0), (wide - 1, 0, deep - 1), f"{wood}_log[axis=x]")
    canvas.box((1, 0, 1), (wide - 2, 0, deep - 2), "farmland[moisture=7]")
    canvas.box((wide // 2, 0, 1), (wide // 2, 0, deep - 2), "water")
    canvas.part("a frame of logs round farmland with a ditch of water along its middle", 0, 0)
    for x in range(1, wide - 1):
        if x != wide // 2:
            canvas.box((x, 1, 1), (x, 1, deep - 2), crop)
    canvas.walls((0, 1, 0), (wide - 1, 1, deep - 1), f"{wood}_fence")
    canvas.put(wide // 2, 1, deep - 1, f"{wood}_fence_gate[facing=south]")
    canvas.part("rows of crops inside a fence with a gate on the south side", 1, 1)
    for x, z in ((0, 0), (wide - 1, deep - 1)):
        canvas.put(x, 2, z, "lantern")
    canvas.part("lanterns on two corner posts", 2, 2)
    return canvas


@design("minecraft_villages", "hard")
def hamlet(draw: Draw) -> Canvas:
    """Houses round a crossing of paths with a well in the middle."""
    wall, timber = draw.two(WOODS)
    canvas = Canvas(f"{said(wall)} hamlet", f"A hamlet of four {said(wall)} houses round a well.")
    side = draw.odd(25, 29)
    middle = side // 2
    canvas.box((0, 0, 0), (side - 1, 0, side - 1), "grass_block")
    canvas.box((middle - 1, 0, 0), (middle + 1, 0, side - 1), "dirt_path")
    canvas.box((0, 0, middle - 1), (side - 1, 0, middle + 1), "dirt_path")
    canvas.part("grass with two crossing paths", 0, 0)
    tops = []
    for x in (2, side - 9):
        for z in (2, side - 9):
            high = draw.whole(3, 4)
            home(canvas, (x, 1, z), (7, high, 7), f"{wall}_planks", f"{timber}_log", timber)
            tops.append(
                canvas.gable(
                    (x - 1, high + 1, z - 1),
                    (x + 7, z + 7),
                    f"{timber}_stairs",
                    f"{timber}_slab",
                    fill=f"{wall}_planks",
                )
            )
            # A block of path from the door to the crossing.
            canvas.box((x + 3, 0, z + 7), (x + 3, 0, min(z + 9, side - 1)), "dirt_path")
    canvas.part("four houses with doors and windows", 1, 3)
    canvas.part("gable roofs of stairs", 4, max(tops))
    canvas.walls((middle - 1, 1, middle - 1), (middle + 1, 1, middle + 1), "cobblestone")
    canvas.put(middle, 1, middle, "water")
    canvas.corners((middle - 1, 2, middle - 1), (middle + 1, 3, middle + 1), f"{timber}_fence")
    canvas.box((middle - 1, 4, middle - 1), (middle + 1, 4, middle + 1), f"{timber}_slab[type=bottom]")
    canvas.part("a well with a roof in the middle", 1, 4)
    for x, z in ((middle - 2, 3), (middle + 2, side - 4), (3, middle + 2), (side - 4, middle - 2)):
        canvas.box((x, 1, z), (x, 2, z), f"{timber}_fence")
        canvas.put(x, 3, z, "lantern")
    canvas.part("lamp posts along the paths", 1, 3)
    for x in range(0, side, 4):
        if abs(x - middle) > 1:
            canvas.put(x, 1, 0, draw.pick(FLOWERS))
    return canvas


def home(
    canvas: Canvas, low: tuple[int, int, int], size: tuple[int, int, int], wall: str, post: str, door: str
) -> None:
    """Draw walls with corner posts, a door in the south wall and windows.

    Args:
        canvas: To draw on.
        low: North-west corner.
        size: Width, height, depth.
        wall: Block of the walls.
        post: Block of the corner posts.
        door: Wood of the door.
    """
    x, y, z = low
    wide, high, deep = size
    right, back = x + wide - 1, z + deep - 1
    canvas.walls(low, (right, y + high - 1, back), wall)
    canvas.corners(low, (right, y + high - 1, back), post)
    middle = x + wide // 2
    canvas.door(middle, y, back, door)
    for at in (x + wide // 4, right - wide // 4):
        if at not in (middle, x, right):
            canvas.put(at, y + 1, back, "glass_pane")
            canvas.put(at, y + 1, z, "glass_pane")
    for at in (z + deep // 3, back - deep // 3):
        canvas.put(x, y + 1, at, "glass_pane")
        canvas.put(right, y + 1, at, "glass_pane")
