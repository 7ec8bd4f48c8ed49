"""Gardens and parks: beds, benches, pergolas, hedges, ponds."""

from __future__ import annotations

from worldgauge.suites.build.generate.structures.brush import Canvas, Draw
from worldgauge.suites.build.generate.structures.designs import BRIGHT, FLOWERS, MASONRY, WOODS, design, said


@design("garden", "easy")
def flower_bed(draw: Draw) -> Canvas:
    """Soil in a frame, a flower on every block of it."""
    stone = draw.pick(("bricks", "stone_bricks", "cobblestone", "mud_bricks", "oak_planks", "spruce_planks"))
    wide = draw.whole(5, 7)
    canvas = Canvas(f"{said(stone).removesuffix('s')} flower bed", f"A raised flower bed framed by {said(stone)}.")
    canvas.box((0, 0, 0), (wide - 1, 0, 2), stone)
    canvas.box((1, 0, 1), (wide - 2, 0, 1), "dirt")
    canvas.part("a frame round a strip of dirt", 0, 0)
    first, second = draw.two(FLOWERS)
    for x in range(1, wide - 1):
        canvas.put(x, 1, 1, first if x % 2 else second)
    canvas.part("flowers of two kinds in turn on the dirt", 1, 1)
    return canvas


@design("garden", "medium")
def greenhouse(draw: Draw) -> Canvas:
    """Glass walls and a glass gable on a brick foot, beds inside."""
    wood = draw.pick(WOODS)
    foot = MASONRY[draw.pick(("brick", "stone brick", "cobblestone", "mud brick"))]
    wide, deep = draw.odd(7, 9), draw.whole(8, 12)
    right, back, middle = wide - 1, deep - 1, wide // 2
    canvas = Canvas(f"{said(wood)} greenhouse", f"A greenhouse of glass and {said(wood)} on a {foot.words} foot.")
    canvas.box((0, 0, 0), (right, 0, back), "grass_block")
    canvas.box((middle, 0, 0), (middle, 0, back), "gravel")
    canvas.walls((0, 0, 0), (right, 1, back), foot.block)
    canvas.part("a low wall round grass with a path of gravel", 0, 1)
    for x in range(1, right):
        for z in range(1, back):
            if x != middle:
                canvas.put(
                    x, 1, z, draw.pick((*FLOWERS, "fern", "wheat[age=7]")) if z % 3 else "sweet_berry_bush[age=3]"
                )
    canvas.part("plants on both sides of the path", 1, 1)
    glass = draw.pick(("glass", "white_stained_glass", "lime_stained_glass"))
    canvas.walls((0, 2, 0), (right, 3, back), glass)
    for z in range(0, deep, 3):
        for x in (0, right):
            canvas.box((x, 2, z), (x, 3, z), f"{wood}_log")
    canvas.corners((0, 2, 0), (right, 3, back), f"{wood}_log")
    canvas.part("walls of glass between posts of logs", 2, 3)
    canvas.box((middle, 1, back), (middle, 2, back), None)
    canvas.door(middle, 1, back, wood)
    canvas.part("a door in the south side", 1, 2)
    for step in range(middle + 1):
        y = 4 + step
        for x in (step, right - step):
            canvas.box((x, y, 0), (x, y, back), glass)
        for z in (0, back):
            canvas.box((step, y, z), (right - step, y, z), glass)
    for z in {0, deep // 2, back}:
        for step in range(middle + 1):
            for x in (step, right - step):
                canvas.put(x, 4 + step, z, f"{wood}_planks")
    canvas.part("a gable roof of glass with ribs of planks", 4, 4 + middle)
    return canvas


@design("garden", "hard")
def formal_garden(draw: Draw) -> Canvas:
    """Paths in a cross, hedges, beds, a fountain with three bowls, trees at the corners."""
    wood = draw.pick(("oak", "birch", "cherry", "dark_oak", "acacia"))
    stone = MASONRY[draw.pick(("stone brick", "sandstone", "diorite", "brick"))]
    side = draw.odd(27, 33)
    far, middle = side - 1, side // 2
    canvas = Canvas(f"{said(wood)} formal garden", f"A formal garden with a {stone.words} fountain, hedges and trees.")
    canvas.box((0, 0, 0), (far, 0, far), "grass_block")
    canvas.box((middle - 1, 0, 0), (middle + 1, 0, far), "gravel")
    canvas.box((0, 0, middle - 1), (far, 0, middle + 1), "gravel")
    canvas.disc((middle, middle), 6.4, 0, 0, "gravel")
    canvas.part("grass with a cross of gravel paths", 0, 0)
    hedge = f"{draw.pick(('oak', 'azalea', 'spruce'))}_leaves[persistent=true]"
    canvas.walls((0, 1, 0), (far, 2, far), hedge)
    for a, b in ((middle, 0), (middle, far), (0, middle), (far, middle)):
        canvas.box((a - (b in (0, far)), 1, b - (a in (0, far))), (a + (b in (0, far)), 2, b + (a in (0, far))), None)
    canvas.part("a hedge with an opening in the middle of every side", 1, 2)
    quarter, tops = middle // 2, []
    for x in (quarter, far - quarter):
        for z in (quarter, far - quarter):
            canvas.walls((x - 3, 1, z - 3), (x + 3, 1, z + 3), hedge)
            for a in range(-2, 3):
                for b in range(-2, 3):
                    if (a + b) % 2 == 0:
                        canvas.put(x + a, 1, z + b, draw.pick(FLOWERS))
            tops.append(canvas.tree(x, 1, z, wood, draw.whole(5, 6), 3.3))
    canvas.part("four beds of flowers in low hedges", 1, 1)
    canvas.part("a tree in each bed", 1, max(tops))
    canvas.disc((middle, middle), 4.4, 1, 1, stone.block)
    canvas.disc((middle, middle), 3.4, 1, 1, "water")
    canvas.box((middle, 1, middle), (middle, 7, middle), stone.block)
    canvas.disc((middle, middle), 2.3, 4, 4, stone.block)
    canvas.disc((middle, middle), 1.5, 4, 4, "water")
    canvas.box((middle, 4, middle), (middle, 7, middle), stone.block)
    canvas.disc((middle, middle), 1.1, 7, 7, stone.slab + "[type=top]")
    canvas.put(middle, 8, middle, "water")
    canvas.put(middle, 7, middle, stone.block)
    canvas.part("a fountain of three bowls in the middle", 1, 8)
    for x in (middle - 3, middle + 3):
        for z in (2, far - 2):
            canvas.put(x, 1, z, f"{stone.wall}")
            canvas.put(x, 2, z, "lantern")
    canvas.part("lanterns on short pillars beside the path", 1, 2)
    for z in (4, far - 4):
        for x, way in ((middle - 2, "west"), (middle + 2, "east")):
            canvas.box((x, 1, z), (x, 1, z + 1), f"{wood}_stairs[facing={way}]")
    canvas.part("benches of stairs beside the path", 1, 1)
    # One arch over each way in.
    for z in (0, far):
        for x in (middle - 2, middle + 2):
            canvas.box((x, 1, z), (x, 4, z), f"{wood}_fence")
        canvas.box((middle - 2, 5, z), (middle + 2, 5, z), hedge)
    canvas.part("an arch of leaves over the north and the south opening", 1, 5)
    return canvas


@design("parks", "easy")
def bench(draw: Draw) -> Canvas:
    """A bench between two posts with lanterns, on paving."""
    wood = draw.pick(WOODS)
    ground = draw.pick(("smooth_stone", "gravel", "stone_bricks", "grass_block", "dirt_path"))
    long = draw.whole(2, 4)
    canvas = Canvas(f"{said(wood)} park bench", f"A {said(wood)} park bench on {said(ground)}.")
    deep = 2 if long == 4 else draw.whole(2, 3)
    canvas.box((0, 0, 0), (long + 1, 0, deep - 1), ground)
    canvas.part("a strip of ground", 0, 0)
    canvas.box((1, 1, 0), (long, 1, 0), f"{wood}_stairs[facing=north]")
    canvas.part("a bench of stairs that looks south", 1, 1)
    arm = draw.pick((f"{wood}_fence", "cobblestone_wall", f"stripped_{wood}_log"))
    canvas.put(0, 1, 0, arm)
    canvas.put(long + 1, 1, 0, arm)
    canvas.part("a post at each end", 1, 1)
    canvas.put(draw.whole(0, 1) * (long + 1), 2, 0, "lantern")
    canvas.part("a lantern on one post", 2, 2)
    return canvas


@design("parks", "medium")
def playground(draw: Draw) -> Canvas:
    """A slide, swings, a sandbox."""
    wood = draw.pick(WOODS)
    colour, other = draw.two(BRIGHT)
    wide, deep = draw.whole(16, 18), draw.whole(11, 13)
    canvas = Canvas(
        f"{said(colour)} playground", f"A playground with a {said(colour)} slide, two swings and a sandbox."
    )
    canvas.box((0, 0, 0), (wide - 1, 0, deep - 1), "grass_block")
    canvas.box((1, 0, deep - 5), (5, 0, deep - 2), "sand")
    for x in range(1, 6):
        for z in (deep - 5, deep - 2):
            canvas.put(x, 0, z, f"{wood}_planks")
    for z in range(deep - 5, deep - 1):
        for x in (1, 5):
            canvas.put(x, 0, z, f"{wood}_planks")
    canvas.part("grass with a sandbox in its south-west", 0, 0)
    canvas.corners((1, 1, 1), (3, 6, 3), f"{wood}_log")
    canvas.box((1, 4, 1), (3, 4, 3), f"{wood}_planks")
    canvas.corners((1, 1, 1), (3, 6, 3), f"{wood}_log")
    canvas.box((0, 1, 2), (0, 4, 2), "ladder[facing=west]")
    canvas.box((1, 1, 2), (1, 3, 2), f"{wood}_planks")
    canvas.box((2, 5, 1), (2, 5, 1), f"{wood}_fence")
    canvas.box((2, 5, 3), (2, 5, 3), f"{wood}_fence")
    canvas.hip((0, 7, 0), (4, 4), f"{draw.pick(WOODS)}_stairs", f"{other}_wool")
    canvas.part("a small tower with a ladder and a roof", 1, 9)
    for step in range(4):
        canvas.put(4 + step, 4 - step, 2, f"{colour}_concrete")
        if step < 3:
            canvas.put(5 + step, 4 - step, 2, f"{colour}_concrete")
        for z in (1, 3):
            canvas.put(4 + step, 5 - step, z, "white_concrete")
            canvas.put(4 + step, 4 - step, z, "white_concrete")
    canvas.part("a slide that falls to the east from the tower", 1, 5)
    end = wide - 2
    for x in (8, end):
        canvas.box((x, 1, deep - 3), (x, 5, deep - 3), f"{wood}_fence")
    canvas.box((8, 6, deep - 3), (end, 6, deep - 3), f"{wood}_log[axis=x]")
    for x in (10, end - 2):
        canvas.box((x, 3, deep - 3), (x, 5, deep - 3), "chain[axis=y]")
        canvas.put(x, 2, deep - 3, f"{other}_wool")
    canvas.part("two swings on chains from a beam", 2, 6)
    return canvas


@design("parks", "hard")
def park(draw: Draw) -> Canvas:
    """A pond with a footbridge, a bandstand, trees, a path with lamps."""
    wood, trim = draw.two(("oak", "birch", "spruce", "cherry", "acacia", "dark_oak"))
    side = draw.odd(31, 37)
    far = side - 1
    canvas = Canvas(f"{said(wood)} park", f"A park with a pond, a bandstand and {said(wood)} trees.")
    canvas.box((0, 0, 0), (far, 0, far), "dirt")
    canvas.box((0, 1, 0), (far, 1, far), "grass_block")
    canvas.walls((3, 1, 3), (far - 3, 1, far - 3), "gravel")
    pond = (10, far - 10)
    canvas.disc(pond, 5.6, 1, 1, "sand")
    canvas.disc(pond, 4.6, 1, 1, "water")
    for x, z in ((9, far - 12), (12, far - 9), (8, far - 8)):
        canvas.put(x, 2, z, "lily_pad")
    canvas.part("grass on dirt and a square path of gravel", 0, 1)
    canvas.part("a round pond with lily pads and a shore of sand", 1, 2)
    for z in (far - 11, far - 9):
        for x in range(4, 17):
            canvas.put(x, 3 if 6 < x < 14 else 2, z, f"{trim}_fence")
    for x in range(4, 17):
        canvas.put(x, 2 if 6 < x < 14 else 1, far - 10, f"{trim}_planks")
    for x in range(7, 14):
        for z in (far - 11, far - 9):
            canvas.put(x, 2, z, f"{trim}_planks")
    for x, way in ((6, "east"), (14, "west")):
        canvas.put(x, 2, far - 10, f"{trim}_stairs[facing={way}]")
    canvas.part("a footbridge over the pond", 1, 3)
    x = z = far - 10
    canvas.disc((x, z), 4.5, 2, 2, "smooth_stone")
    for a, b in ((4, 0), (-4, 0), (0, 4), (0, -4), (3, 3), (3, -3), (-3, 3), (-3, -3)):
        canvas.box((x + a, 3, z + b), (x + a, 5, z + b), f"{trim}_fence")
    for step in range(4):
        canvas.disc((x, z), 5.2 - step * 1.3, 6 + step, 6 + step, "red_terracotta")
    canvas.put(x, 10, z, "gold_block")
    canvas.part("a round bandstand with a pointed roof", 2, 10)
    tops = [
        canvas.tree(x, 2, z, wood if x % 2 else trim, draw.whole(5, 8), 3.2)
        for x, z in ((8, 8), (far - 9, 8), (15, 10), (far - 15, far - 7), (17, 17), (far - 8, 14))
    ]
    canvas.part("trees", 2, max(tops))
    for at in range(5, far - 4, 6):
        for a, b in ((2, at), (far - 2, at)):
            canvas.box((a, 2, b), (a, 4, b), f"{trim}_fence")
            canvas.put(a, 5, b, "lantern")
    canvas.part("lamp posts along the path", 2, 5)
    for _ in range(side):
        x, z = draw.whole(0, far), draw.whole(0, far)
        if not canvas.holds(x, 2, z) and min(x, z, far - x, far - z) < 2:
            canvas.put(x, 2, z, draw.pick(FLOWERS))
    canvas.part("flowers near the edge", 2, 2)
    return canvas
