"""Military buildings: sentry boxes, watchtowers, castles."""

from __future__ import annotations

from worldgauge.suites.build.generate.structures.brush import Canvas, Draw
from worldgauge.suites.build.generate.structures.designs import MASONRY, WOODS, design, said


@design("military_buildings", "easy")
def sentry_box(draw: Draw) -> Canvas:
    """Striped walls on three sides, a roof."""
    colour = draw.pick(("red", "blue", "black", "green", "orange"))
    roof = draw.pick(("stone_brick", "brick", "cobblestone", "deepslate_tile"))
    canvas = Canvas(f"{colour} and white sentry box", f"A sentry box in {colour} and white stripes, open to the south.")
    for y in range(3):
        paint = f"{'white' if y % 2 else colour}_{'concrete'}"
        canvas.box((0, y, 0), (2, y, 0), paint)
        canvas.box((0, y, 0), (0, y, 1), paint)
        canvas.box((2, y, 0), (2, y, 1), paint)
    canvas.part("striped walls on all sides but the south", 0, 2)
    shape = draw.pick(("slab", "stairs"))
    if shape == "slab":
        canvas.box((0, 3, 0), (2, 3, 1), f"{roof}_slab[type=bottom]")
    else:
        canvas.box((0, 3, 0), (0, 3, 1), f"{roof}_stairs[facing=east]")
        canvas.box((2, 3, 0), (2, 3, 1), f"{roof}_stairs[facing=west]")
        canvas.box((1, 3, 0), (1, 3, 1), f"{roof}_slab[type=double]")
    canvas.part(f"a roof of {shape}" if shape == "stairs" else "a flat roof of slabs", 3, 3)
    return canvas


@design("military_buildings", "medium")
def watchtower(draw: Draw) -> Canvas:
    """A cabin with a gallery on four legs, a ladder, a hip roof."""
    leg, wall = draw.two(WOODS)
    high, side = draw.whole(7, 10), draw.odd(5, 7)
    far, middle = side - 1, side // 2
    canvas = Canvas(f"{said(wall)} watchtower", f"A {said(wall)} watchtower on four legs, with a ladder and a gallery.")
    for x in (0, far):
        for z in (0, far):
            canvas.box((x, 0, z), (x, high - 1, z), f"{leg}_log")
    for step in range(1, far):
        for z in (0, far):
            canvas.put(step, min(1 + step, high - 2), z, f"{leg}_fence")
    for y in (3, high - 2):
        canvas.walls((0, y, 0), (far, y, far), f"{leg}_planks")
        canvas.corners((0, y, 0), (far, y, far), f"{leg}_log")
    canvas.part("four legs of logs with braces", 0, high - 1)
    canvas.box((middle, 0, far), (middle, high - 1, far), f"{leg}_planks")
    canvas.box((middle, 0, far + 1), (middle, high, far + 1), "ladder[facing=south]")
    canvas.part("a ladder on the south side", 0, high)
    canvas.box((-2, high, -2), (far + 2, high, far + 2), f"{wall}_planks")
    canvas.put(middle, high, far + 1, "ladder[facing=south]")
    canvas.walls((-2, high + 1, -2), (far + 2, high + 1, far + 2), f"{wall}_fence")
    canvas.part("a platform with a fence round it", high, high + 1)
    top = high + 3
    canvas.walls((0, high + 1, 0), (far, top, far), f"{wall}_planks")
    canvas.corners((0, high + 1, 0), (far, top, far), f"{leg}_log")
    for a, b in ((middle, 0), (0, middle), (far, middle)):
        canvas.put(a, high + 2, b, None)
    canvas.door(middle, high + 1, far, wall)
    canvas.part("a cabin with lookouts and a door on the south side", high + 1, top)
    roof = canvas.hip((-1, top + 1, -1), (far + 1, far + 1), f"{leg}_stairs", f"{leg}_slab[type=bottom]")
    canvas.part("a hip roof of stairs", top + 1, roof)
    return canvas


@design("military_buildings", "hard")
def castle(draw: Draw) -> Canvas:
    """A curtain wall with four towers, a gate, a keep with a flag."""
    stone = MASONRY[draw.pick(("stone brick", "cobblestone", "sandstone", "deepslate brick", "mud brick"))]
    wood = draw.pick(WOODS)
    colour = draw.pick(("red", "blue", "yellow", "green", "purple"))
    side, high = draw.odd(25, 31), draw.whole(6, 7)
    far, middle = side - 1, side // 2
    canvas = Canvas(f"{stone.words} castle", f"A {stone.words} castle with four corner towers, a gate and a keep.")
    canvas.box((0, 0, 0), (far, 0, far), "grass_block")
    canvas.box((middle - 1, 0, middle), (middle + 1, 0, far), "gravel")
    canvas.part("a yard of grass with a path of gravel", 0, 0)
    canvas.walls((1, 0, 1), (far - 1, high, far - 1), stone.block)
    canvas.walls((2, high, 2), (far - 2, high, far - 2), stone.slab + "[type=top]")
    canvas.merlons((1, high + 1, 1), (far - 1, far - 1), stone.block)
    canvas.part("a curtain wall with battlements", 1, high + 1)
    for x in (1, far - 1):
        for z in (1, far - 1):
            canvas.disc((x, z), 3.3, 0, high + 4, stone.block, hollow=True)
            canvas.disc((x, z), 2.5, high + 3, high + 3, f"{wood}_planks")
            for a in range(-3, 4):
                for b in range(-3, 4):
                    if 2.5 < (a * a + b * b) ** 0.5 <= 3.3 and (a + b) % 2 == 0:
                        canvas.put(x + a, high + 5, z + b, stone.block)
            for a, b in ((3, 0), (-3, 0), (0, 3), (0, -3)):
                canvas.put(x + a, high + 1, z + b, "iron_bars")
    canvas.part("a round tower on each corner", 0, high + 5)
    z = far - 1
    canvas.box((middle - 3, 1, z), (middle + 3, high + 2, z + 1), stone.block)
    canvas.box((middle - 1, 1, z), (middle + 1, 4, z + 1), None)
    canvas.box((middle - 1, 3, z), (middle + 1, 4, z), "iron_bars")
    for x, way in ((middle - 1, "west"), (middle + 1, "east")):
        canvas.put(x, 4, z + 1, f"{stone.stairs}[facing={way},half=top]")
    canvas.merlons((middle - 3, high + 3, z), (middle + 3, z + 1), stone.block)
    canvas.part("a gateway with a portcullis in the south wall", 1, 4)
    low, end, top = middle - 4, middle + 4, high + 8
    keep = 3
    canvas.walls((low, 0, keep), (end, top, keep + 8), stone.block)
    canvas.box((low + 1, high, keep + 1), (end - 1, high, keep + 7), f"{wood}_planks")
    canvas.box((low + 1, top, keep + 1), (end - 1, top, keep + 7), f"{wood}_planks")
    canvas.merlons((low, top + 1, keep), (end, keep + 8), stone.block)
    canvas.door(middle, 1, keep + 8, wood)
    for y in (high + 2, high + 5):
        for x in (middle - 2, middle + 2):
            for z in (keep, keep + 8):
                canvas.box((x, y, z), (x, y + 1, z), "glass_pane")
    canvas.part("a tall keep with a door and battlements", 1, top + 1)
    canvas.box((middle, top + 1, keep + 4), (middle, top + 6, keep + 4), f"{wood}_fence")
    canvas.box((middle + 1, top + 4, keep + 4), (middle + 4, top + 6, keep + 4), f"{colour}_wool")
    canvas.part(f"a {colour} flag on the keep", top + 1, top + 6)
    return canvas
