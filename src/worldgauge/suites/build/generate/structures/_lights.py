"""Lamps, from a post in the street to a lantern as large as a house."""

from __future__ import annotations

from worldgauge.suites.build.generate.structures._brush import Draw, Sketch
from worldgauge.suites.build.generate.structures._designs import design
from worldgauge.suites.build.generate.structures._palette import MASONRY, WOODS, said


@design("lamps", "easy")
def street_lamp(draw: Draw) -> Sketch:
    """A post with an arm from which a lantern hangs."""
    stone = MASONRY[draw.pick(("stone brick", "cobblestone", "brick", "andesite", "deepslate brick"))]
    wood = draw.pick(WOODS)
    light = draw.pick(("lantern", "soul_lantern"))
    sketch = Sketch(f"{said(wood)} street lamp", f"A {said(wood)} street lamp with a {said(light)} on one arm.")
    sketch.box((0, 0, 0), (2, 0, 2), stone.slab + "[type=bottom]")
    sketch.put(1, 0, 1, stone.block)
    sketch.part("a square foot of slabs", 0, 0)
    sketch.put(1, 1, 1, stone.wall)
    high = draw.whole(3, 4)
    sketch.box((1, 2, 1), (1, high, 1), f"{wood}_fence")
    sketch.part("a post", 1, high)
    x = draw.whole(0, 1) * 2
    sketch.put(x, high, 1, f"{wood}_fence")
    sketch.put(x, high - 1, 1, f"{light}[hanging=true]")
    sketch.part("an arm with a hanging lantern", high - 1, high)
    return sketch


@design("lamps", "medium")
def candelabrum(draw: Draw) -> Sketch:
    """A tall post with four curved arms, each with a lamp, and one on top."""
    stone = MASONRY[draw.pick(("stone brick", "deepslate brick", "sandstone", "diorite", "brick"))]
    light = draw.pick(("sea_lantern", "glowstone", "shroomlight", "redstone_lamp[lit=true]"))
    high, reach = draw.whole(9, 12), draw.whole(2, 3)
    words = said(light.partition("[")[0])
    sketch = Sketch(
        f"{stone.words} lamp with four arms", f"A tall {stone.words} lamp with four arms and {words} lights."
    )
    sketch.box((-2, 0, -2), (2, 0, 2), stone.block)
    sketch.hip((-2, 1, -2), (2, 2), stone.stairs, stone.block, layers=1)
    sketch.part("a square foot with a step of stairs", 0, 1)
    sketch.box((0, 2, 0), (0, high, 0), stone.wall)
    sketch.box((0, 2, 0), (0, 3, 0), stone.block)
    sketch.part("a tall post of wall", 2, high)
    for x, z in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        for step in range(1, reach + 1):
            sketch.put(x * step, high - 2, z * step, stone.wall)
        sketch.put(x * reach, high - 3, z * reach, light)
        sketch.put(x * reach, high - 1, z * reach, stone.slab + "[type=bottom]")
        sketch.put(x, high - 3, z, f"{stone.stairs}[facing={_WAYS[-x, -z]},half=top]")
    sketch.part("four arms with a light under the end of each", high - 3, high - 1)
    sketch.put(0, high + 1, 0, light)
    sketch.put(0, high + 2, 0, stone.slab + "[type=bottom]")
    sketch.part("a light on the top under a slab", high + 1, high + 2)
    return sketch


_WAYS = {(1, 0): "east", (-1, 0): "west", (0, 1): "south", (0, -1): "north"}


@design("lamps", "hard")
def stone_lantern(draw: Draw) -> Sketch:
    """A garden lantern as large as a house: steps, shaft, fire box, curved roof, finial."""
    stone = MASONRY[draw.pick(("stone brick", "andesite", "diorite", "deepslate brick", "sandstone"))]
    light = draw.pick(("glowstone", "sea_lantern", "shroomlight"))
    half, shaft = draw.whole(8, 9), draw.whole(5, 7)
    sketch = Sketch(f"giant {stone.words} lantern", f"A giant garden lantern of {stone.words}, lit by {said(light)}.")
    for y, size in enumerate((half, half - 2)):
        sketch.box((-size, y, -size), (size, y, size), stone.block)
    sketch.hip((-half + 2, 2, -half + 2), (half - 2, half - 2), stone.stairs, stone.block, layers=2)
    sketch.part("a foot of steps", 0, 4)
    low = 5
    sketch.disc((0, 0), 2.9, low, low + shaft, "polished_andesite" if stone.words == "andesite" else stone.block)
    sketch.disc((0, 0), 3.3, low + shaft // 2, low + shaft // 2, "polished_deepslate")
    sketch.part("a round shaft with a dark ring", low, low + shaft)
    box = low + shaft + 1
    for step in range(2):
        size = 4 + step
        sketch.box((-size, box + step, -size), (size, box + step, size), stone.block)
    sketch.part("a platform that grows wider", box, box + 1)
    fire = box + 2
    sketch.corners((-4, fire, -4), (4, fire + 4, 4), stone.block)
    sketch.walls((-4, fire, -4), (4, fire, 4), stone.block)
    sketch.walls((-4, fire + 4, -4), (4, fire + 4, 4), stone.block)
    for a in range(-3, 4):
        for z in (-4, 4):
            sketch.box((a, fire + 1, z), (a, fire + 3, z), "iron_bars" if a % 2 else None)
            sketch.box((z, fire + 1, a), (z, fire + 3, a), "iron_bars" if a % 2 else None)
    sketch.box((-2, fire + 1, -2), (2, fire + 3, 2), light)
    sketch.box((-3, fire, -3), (3, fire, 3), stone.block)
    sketch.part("a lit fire box behind bars", fire, fire + 4)
    roof = fire + 5
    sketch.box((-half + 1, roof, -half + 1), (half - 1, roof, half - 1), stone.block)
    top = sketch.hip((-half, roof, -half), (half, half), stone.stairs, stone.block)
    for x in (-half, half):
        for z in (-half, half):
            sketch.put(x, roof + 1, z, stone.slab + "[type=bottom]")
            sketch.put(x, roof, z, stone.block)
    sketch.part("a wide hip roof of stairs with raised corners", roof, top)
    sketch.box((0, top + 1, 0), (0, top + 2, 0), stone.wall)
    sketch.put(0, top + 3, 0, "gold_block")
    sketch.part("a finial with a golden tip", top + 1, top + 3)
    return sketch
