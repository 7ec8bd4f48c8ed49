"""Homes: huts, cottages, manors, and what stands in villages."""

from __future__ import annotations

from worldgauge.suites.build.generate.structures.brush import Draw, Sketch
from worldgauge.suites.build.generate.structures.designs import FLOWERS, MASONRY, WOODS, design, said


@design("houses", "easy")
def hut(draw: Draw) -> Sketch:
    """Four short walls under a gable."""
    wood, roof = draw.two(WOODS)
    sketch = Sketch(f"{said(wood)} hut", f"A tiny hut of {said(wood)} under a gable roof of {said(roof)}.")
    sketch.walls((0, 0, 0), (2, 1, 2), f"{wood}_planks")
    sketch.door(1, 0, 2, draw.pick((wood, roof)))
    if draw.chance(0.7):
        sketch.put(draw.whole(0, 1) * 2, 1, 1, draw.pick(("glass", "white_stained_glass")))
        sketch.part("a window in one side wall", 1, 1)
    sketch.gable((0, 2, 0), (2, 2), f"{roof}_stairs", f"{roof}_slab")
    sketch.put(1, 2, 0, f"{wood}_planks")
    sketch.put(1, 2, 2, f"{wood}_planks")
    sketch.part("a door in the middle of the south wall", 0, 1)
    sketch.part("a gable roof of stairs", 2, 3)
    return sketch


@design("houses", "medium")
def cottage(draw: Draw) -> Sketch:
    """One room, timber corners, gable roof with eaves, chimney."""
    wall, timber = draw.two(WOODS)
    stone = MASONRY[draw.pick(("cobblestone", "stone brick", "brick", "andesite"))]
    wide, deep, high = draw.odd(5, 9), draw.whole(6, 9), draw.whole(3, 4)
    sketch = Sketch(f"{said(wall)} cottage", f"A cottage of {said(wall)} with {said(timber)} timbers and a chimney.")
    sketch.box((0, 0, 0), (wide - 1, 0, deep - 1), stone.block)
    home(sketch, (0, 1, 0), (wide, high, deep), f"{wall}_planks", f"{timber}_log", timber)
    sketch.part("a stone floor", 0, 0)
    sketch.part("a door in the middle of the south wall", 1, 2)
    sketch.part("windows in the walls", 2, 2)
    top = sketch.gable((-1, high + 1, -1), (wide, deep), f"{timber}_stairs", f"{timber}_slab", fill=f"{wall}_planks")
    sketch.part("a gable roof of stairs with eaves", high + 1, top)
    sketch.box((1, 1, 0), (1, top + 1, 0), stone.block)
    sketch.put(1, top + 2, 0, "campfire[facing=north,lit=true]" if draw.chance(0.3) else stone.wall)
    sketch.part("a chimney", 1, top + 2)
    return sketch


@design("houses", "hard")
def manor(draw: Draw) -> Sketch:
    """Two floors under a hip roof, a porch on columns, two chimneys."""
    stone = MASONRY[draw.pick(("brick", "stone brick", "mud brick", "sandstone", "diorite"))]
    wood = draw.pick(WOODS)
    wide, deep = draw.odd(17, 21), draw.odd(13, 15)
    sketch = Sketch(f"{stone.words} manor", f"A manor of {stone.words} with two floors, a porch and a hip roof.")
    right, back = wide - 1, deep - 1
    sketch.box((-1, 0, -1), (wide, 0, deep), "polished_andesite")
    sketch.part("a plinth of polished andesite", 0, 0)
    for floor in (1, 6):
        sketch.walls((0, floor, 0), (right, floor + 4, back), stone.block)
        sketch.corners((0, floor, 0), (right, floor + 4, back), f"{wood}_log")
        sketch.box((1, floor + 4, 1), (right - 1, floor + 4, back - 1), f"{wood}_planks")
        for x in range(2, right - 1, 3):
            for z in (0, back):
                sketch.box((x, floor + 1, z), (x, floor + 2, z), "glass_pane")
        for z in range(2, back - 1, 3):
            for x in (0, right):
                sketch.box((x, floor + 1, z), (x, floor + 2, z), "glass_pane")
    sketch.part("rows of windows on both floors", 2, 8)
    middle = wide // 2
    sketch.box((middle - 1, 1, back), (middle + 1, 4, back), stone.block)
    sketch.door(middle, 1, back, wood)
    sketch.part("a door in the middle of the south wall", 1, 2)
    sketch.box((middle - 3, 0, deep), (middle + 3, 0, deep + 2), "polished_andesite")
    for x in (middle - 3, middle + 3):
        sketch.box((x, 1, deep + 2), (x, 3, deep + 2), f"stripped_{wood}_log")
    sketch.box((middle - 3, 4, deep), (middle + 3, 4, deep + 2), f"{wood}_slab[type=bottom]")
    for x in (middle - 1, middle + 1):
        sketch.put(x, 3, deep + 1, f"{wood}_fence")
        sketch.put(x, 2, deep + 1, "lantern[hanging=true]")
    sketch.box((middle - 1, 3, deep + 1), (middle + 1, 3, deep + 1), None)
    for x in (middle - 2, middle + 2):
        sketch.put(x, 3, deep + 1, "lantern[hanging=true]")
    sketch.part("a porch on two columns before the door", 1, 4)
    top = sketch.hip((-1, 11, -1), (wide, deep), f"{wood}_stairs", f"{wood}_planks", layers=5)
    sketch.part("a hip roof of stairs", 11, top)
    for x in (3, right - 3):
        sketch.box((x, 11, deep // 2), (x, top + 2, deep // 2), "bricks")
        sketch.put(x, top + 3, deep // 2, "brick_wall")
    sketch.part("two chimneys", 11, top + 3)
    return sketch


@design("minecraft_villages", "easy")
def well(draw: Draw) -> Sketch:
    """A ring of stone round water, a roof on posts."""
    stone = MASONRY[draw.pick(("cobblestone", "stone brick", "sandstone", "andesite", "mud brick"))]
    wood = draw.pick(WOODS)
    sketch = Sketch(f"{stone.words} village well", f"A village well of {stone.words} under a flat {said(wood)} roof.")
    sketch.box((0, 0, 0), (2, 0, 2), stone.block)
    sketch.put(1, 0, 1, "water")
    sketch.part("water in the middle", 0, 0)
    sketch.corners((0, 1, 0), (2, 2, 2), f"{wood}_fence")
    sketch.part("a fence post on each corner", 1, 2)
    sketch.box((0, 3, 0), (2, 3, 2), f"{wood}_slab[type=bottom]")
    sketch.part("a flat roof of slabs", 3, 3)
    return sketch


@design("minecraft_villages", "medium")
def farm(draw: Draw) -> Sketch:
    """Rows of crops along a ditch, in a frame of logs, behind a fence."""
    wood = draw.pick(WOODS)
    crop, words = {
        "wheat": ("wheat[age=7]", "wheat"),
        "carrots": ("carrots[age=7]", "carrot"),
        "potatoes": ("potatoes[age=7]", "potato"),
        "beetroots": ("beetroots[age=3]", "beetroot"),
    }[draw.pick(("wheat", "carrots", "potatoes", "beetroots"))]
    wide, deep = draw.odd(7, 13), draw.whole(7, 11)
    sketch = Sketch(f"village {words} farm", f"A village farm that grows {words} in rows beside a ditch of water.")
    sketch.box((0, 0, 0), (wide - 1, 0, deep - 1), f"{wood}_log[axis=x]")
    sketch.box((1, 0, 1), (wide - 2, 0, deep - 2), "farmland[moisture=7]")
    sketch.box((wide // 2, 0, 1), (wide // 2, 0, deep - 2), "water")
    sketch.part("a frame of logs round farmland with a ditch of water along its middle", 0, 0)
    for x in range(1, wide - 1):
        if x != wide // 2:
            sketch.box((x, 1, 1), (x, 1, deep - 2), crop)
    sketch.walls((0, 1, 0), (wide - 1, 1, deep - 1), f"{wood}_fence")
    sketch.put(wide // 2, 1, deep - 1, f"{wood}_fence_gate[facing=south]")
    sketch.part("rows of crops inside a fence with a gate on the south side", 1, 1)
    for x, z in ((0, 0), (wide - 1, deep - 1)):
        sketch.put(x, 2, z, "lantern")
    sketch.part("lanterns on two corner posts", 2, 2)
    return sketch


@design("minecraft_villages", "hard")
def hamlet(draw: Draw) -> Sketch:
    """Houses round a crossing of paths with a well in the middle."""
    wall, timber = draw.two(WOODS)
    sketch = Sketch(f"{said(wall)} hamlet", f"A hamlet of four {said(wall)} houses round a well.")
    side = draw.odd(25, 29)
    middle = side // 2
    sketch.box((0, 0, 0), (side - 1, 0, side - 1), "grass_block")
    sketch.box((middle - 1, 0, 0), (middle + 1, 0, side - 1), "dirt_path")
    sketch.box((0, 0, middle - 1), (side - 1, 0, middle + 1), "dirt_path")
    sketch.part("grass with two crossing paths", 0, 0)
    tops = []
    for x in (2, side - 9):
        for z in (2, side - 9):
            high = draw.whole(3, 4)
            home(sketch, (x, 1, z), (7, high, 7), f"{wall}_planks", f"{timber}_log", timber)
            tops.append(
                sketch.gable(
                    (x - 1, high + 1, z - 1),
                    (x + 7, z + 7),
                    f"{timber}_stairs",
                    f"{timber}_slab",
                    fill=f"{wall}_planks",
                )
            )
            # A step of path from the door to the crossing.
            sketch.box((x + 3, 0, z + 7), (x + 3, 0, min(z + 9, side - 1)), "dirt_path")
    sketch.part("four houses with doors and windows", 1, 3)
    sketch.part("gable roofs of stairs", 4, max(tops))
    sketch.walls((middle - 1, 1, middle - 1), (middle + 1, 1, middle + 1), "cobblestone")
    sketch.put(middle, 1, middle, "water")
    sketch.corners((middle - 1, 2, middle - 1), (middle + 1, 3, middle + 1), f"{timber}_fence")
    sketch.box((middle - 1, 4, middle - 1), (middle + 1, 4, middle + 1), f"{timber}_slab[type=bottom]")
    sketch.part("a well with a roof in the middle", 1, 4)
    for x, z in ((middle - 2, 3), (middle + 2, side - 4), (3, middle + 2), (side - 4, middle - 2)):
        sketch.box((x, 1, z), (x, 2, z), f"{timber}_fence")
        sketch.put(x, 3, z, "lantern")
    sketch.part("lamp posts along the paths", 1, 3)
    for x in range(0, side, 4):
        if abs(x - middle) > 1:
            sketch.put(x, 1, 0, draw.pick(FLOWERS))
    return sketch


def home(
    sketch: Sketch, low: tuple[int, int, int], size: tuple[int, int, int], wall: str, post: str, door: str
) -> None:
    """Walls with corner posts, a door in the south wall and windows. low: north-west corner; size: wide, high, deep."""
    x, y, z = low
    wide, high, deep = size
    right, back = x + wide - 1, z + deep - 1
    sketch.walls(low, (right, y + high - 1, back), wall)
    sketch.corners(low, (right, y + high - 1, back), post)
    middle = x + wide // 2
    sketch.door(middle, y, back, door)
    for at in (x + wide // 4, right - wide // 4):
        if at not in (middle, x, right):
            sketch.put(at, y + 1, back, "glass_pane")
            sketch.put(at, y + 1, z, "glass_pane")
    for at in (z + deep // 3, back - deep // 3):
        sketch.put(x, y + 1, at, "glass_pane")
        sketch.put(right, y + 1, at, "glass_pane")
