"""What stands in towns: boards, stalls, clock towers, and lamps from a street post to a lantern as large as a house."""

from __future__ import annotations

from worldgauge.suites.build.generate.structures.brush import Canvas, Draw
from worldgauge.suites.build.generate.structures.designs import COLOURS, MASONRY, WOODS, design, said


@design("town_centers", "easy")
def notice_board(draw: Draw) -> Canvas:
    """A board between two posts under a strip of roof."""
    post, board = draw.two(WOODS)
    wide = draw.whole(3, 4)
    canvas = Canvas(f"{said(board)} notice board", f"A notice board of {said(board)} between two {said(post)} posts.")
    for x in (0, wide):
        canvas.box((x, 0, 0), (x, 2, 0), f"{post}_log")
    canvas.part("two posts of logs", 0, 2)
    canvas.box((1, 1, 0), (wide - 1, 2, 0), f"{board}_planks")
    canvas.part("a board between the posts", 1, 2)
    canvas.box((0, 3, 0), (wide, 3, 0), f"{draw.pick((post, board))}_slab[type=bottom]")
    canvas.part("a strip of roof made of slabs", 3, 3)
    return canvas


@design("town_centers", "medium")
def market_stall(draw: Draw) -> Canvas:
    """Counter, goods in barrels, striped awning."""
    wood = draw.pick(WOODS)
    colour = draw.pick(COLOURS[1:])
    wide, deep = draw.odd(7, 11), draw.whole(5, 6)
    right, back = wide - 1, deep - 1
    canvas = Canvas(
        f"{said(colour)} market stall", f"A market stall of {said(wood)} with a {said(colour)} and white awning."
    )
    canvas.box((0, 0, 0), (right, 0, back), draw.pick(("cobblestone", "gravel", "stone_bricks")))
    canvas.part("a paved floor", 0, 0)
    canvas.corners((0, 1, 0), (right, 3, back), f"{wood}_fence")
    canvas.box((1, 1, back), (right - 1, 1, back), f"{wood}_planks")
    canvas.part("a counter along the south side", 1, 1)
    goods = ("barrel[facing=up]", "hay_block", "pumpkin", "melon", "composter")
    for x in range(1, right):
        canvas.put(x, 1, 1, draw.pick(goods))
        if draw.chance(0.4):
            canvas.put(x, 2, 1, draw.pick(goods))
    canvas.part("goods along the north side", 1, 2)
    for x in range(0, wide):
        paint = "white" if x % 2 else colour
        canvas.box((x, 4, 0), (x, 4, back + 1), f"{paint}_wool")
        canvas.box((x, 5, 1), (x, 5, back - 2), f"{paint}_wool")
    canvas.part("a striped awning of wool", 4, 5)
    return canvas


@design("town_centers", "hard")
def clock_tower(draw: Draw) -> Canvas:
    """A tower with four dials on a paved square with benches and lamps."""
    stone = MASONRY[draw.pick(("stone brick", "brick", "sandstone", "diorite", "deepslate brick"))]
    wood = draw.pick(WOODS)
    side, high = draw.odd(17, 23), draw.whole(16, 20)
    middle = side // 2
    canvas = Canvas(f"{stone.words} clock tower", f"A clock tower of {stone.words} on a paved town square.")
    canvas.box((0, 0, 0), (side - 1, 0, side - 1), "smooth_stone")
    for step in range(0, side, 2):
        canvas.box((step, 0, middle), (step, 0, middle), "polished_andesite")
        canvas.box((middle, 0, step), (middle, 0, step), "polished_andesite")
    canvas.walls((0, 0, 0), (side - 1, 0, side - 1), "polished_andesite")
    canvas.part("a paved square", 0, 0)
    low, far = middle - 3, middle + 3
    canvas.walls((low, 1, low), (far, high, far), stone.block)
    canvas.corners((low, 1, low), (far, high, far), f"{wood}_log")
    canvas.walls((low - 1, 1, low - 1), (far + 1, 1, far + 1), stone.slab + "[type=bottom]")
    canvas.box((low + 1, high, low + 1), (far - 1, high, far - 1), stone.block)
    canvas.door(middle, 1, far, wood)
    canvas.put(middle, 1, far + 1, None)
    canvas.part("a door in the south side of the tower", 1, 2)
    for y in range(5, high - 7, 4):
        for a, b in ((middle, low), (middle, far), (low, middle), (far, middle)):
            canvas.box((a, y, b), (a, y + 1, b), "glass_pane")
    dial = high - 3
    for z in (low, far):
        canvas.disc((middle, dial), 2.3, z, z, "white_concrete", axis="z")
        canvas.line((middle, dial, z), (middle, dial + 2, z), "black_concrete")
        canvas.line((middle, dial, z), (middle + 1, dial, z), "black_concrete")
    for x in (low, far):
        canvas.disc((dial, middle), 2.3, x, x, "white_concrete", axis="x")
        canvas.line((x, dial, middle), (x, dial + 2, middle), "black_concrete")
        canvas.line((x, dial, middle), (x, dial, middle + 1), "black_concrete")
    canvas.part("a round white dial on each side", dial - 2, dial + 2)
    top = canvas.hip((low - 1, high + 1, low - 1), (far + 1, far + 1), f"{wood}_stairs", f"{wood}_planks")
    canvas.put(middle, top + 1, middle, "lightning_rod[facing=up]")
    canvas.part("a pointed roof of stairs", high + 1, top)
    for x, z in ((1, 1), (side - 2, 1), (1, side - 2), (side - 2, side - 2)):
        canvas.box((x, 1, z), (x, 3, z), f"{wood}_fence")
        canvas.put(x, 4, z, "lantern")
    canvas.part("four lamp posts", 1, 4)
    for x in (2, 3, 4):
        for at in (x, side - 1 - x):
            canvas.put(at, 1, side - 1, f"{wood}_stairs[facing=south]")
            canvas.put(at, 1, 0, f"{wood}_stairs[facing=north]")
    canvas.part("benches along the edge", 1, 1)
    return canvas


@design("lamps", "easy")
def street_lamp(draw: Draw) -> Canvas:
    """A post with an arm from which a lantern hangs."""
    stone = MASONRY[draw.pick(("stone brick", "cobblestone", "brick", "andesite", "deepslate brick"))]
    wood = draw.pick(WOODS)
    light = draw.pick(("lantern", "soul_lantern"))
    canvas = Canvas(f"{said(wood)} street lamp", f"A {said(wood)} street lamp with a {said(light)} on one arm.")
    canvas.box((0, 0, 0), (2, 0, 2), stone.slab + "[type=bottom]")
    canvas.put(1, 0, 1, stone.block)
    canvas.part("a square foot of slabs", 0, 0)
    canvas.put(1, 1, 1, stone.wall)
    high = draw.whole(3, 4)
    canvas.box((1, 2, 1), (1, high, 1), f"{wood}_fence")
    canvas.part("a post", 1, high)
    x = draw.whole(0, 1) * 2
    canvas.put(x, high, 1, f"{wood}_fence")
    canvas.put(x, high - 1, 1, f"{light}[hanging=true]")
    canvas.part("an arm with a hanging lantern", high - 1, high)
    return canvas


@design("lamps", "medium")
def candelabrum(draw: Draw) -> Canvas:
    """A tall post with four curved arms, each with a lamp, and one on top."""
    stone = MASONRY[draw.pick(("stone brick", "deepslate brick", "sandstone", "diorite", "brick"))]
    light = draw.pick(("sea_lantern", "glowstone", "shroomlight", "redstone_lamp[lit=true]"))
    high, reach = draw.whole(9, 12), draw.whole(2, 3)
    words = said(light.partition("[")[0])
    canvas = Canvas(
        f"{stone.words} lamp with four arms", f"A tall {stone.words} lamp with four arms and {words} lights."
    )
    canvas.box((-2, 0, -2), (2, 0, 2), stone.block)
    canvas.hip((-2, 1, -2), (2, 2), stone.stairs, stone.block, layers=1)
    canvas.part("a square foot with a step of stairs", 0, 1)
    canvas.box((0, 2, 0), (0, high, 0), stone.wall)
    canvas.box((0, 2, 0), (0, 3, 0), stone.block)
    canvas.part("a tall post of wall", 2, high)
    for x, z in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        for step in range(1, reach + 1):
            canvas.put(x * step, high - 2, z * step, stone.wall)
        canvas.put(x * reach, high - 3, z * reach, light)
        canvas.put(x * reach, high - 1, z * reach, stone.slab + "[type=bottom]")
        canvas.put(x, high - 3, z, f"{stone.stairs}[facing={_WAYS[-x, -z]},half=top]")
    canvas.part("four arms with a light under the end of each", high - 3, high - 1)
    canvas.put(0, high + 1, 0, light)
    canvas.put(0, high + 2, 0, stone.slab + "[type=bottom]")
    canvas.part("a light on the top under a slab", high + 1, high + 2)
    return canvas


_WAYS = {(1, 0): "east", (-1, 0): "west", (0, 1): "south", (0, -1): "north"}


@design("lamps", "hard")
def stone_lantern(draw: Draw) -> Canvas:
    """A garden lantern as large as a house: steps, shaft, fire box, curved roof, finial."""
    stone = MASONRY[draw.pick(("stone brick", "andesite", "diorite", "deepslate brick", "sandstone"))]
    light = draw.pick(("glowstone", "sea_lantern", "shroomlight"))
    half, shaft = draw.whole(8, 9), draw.whole(5, 7)
    canvas = Canvas(f"giant {stone.words} lantern", f"A giant garden lantern of {stone.words}, lit by {said(light)}.")
    for y, size in enumerate((half, half - 2)):
        canvas.box((-size, y, -size), (size, y, size), stone.block)
    canvas.hip((-half + 2, 2, -half + 2), (half - 2, half - 2), stone.stairs, stone.block, layers=2)
    canvas.part("a foot of steps", 0, 4)
    low = 5
    canvas.disc((0, 0), 2.9, low, low + shaft, "polished_andesite" if stone.words == "andesite" else stone.block)
    canvas.disc((0, 0), 3.3, low + shaft // 2, low + shaft // 2, "polished_deepslate")
    canvas.part("a round shaft with a dark ring", low, low + shaft)
    box = low + shaft + 1
    for step in range(2):
        size = 4 + step
        canvas.box((-size, box + step, -size), (size, box + step, size), stone.block)
    canvas.part("a platform that grows wider", box, box + 1)
    fire = box + 2
    canvas.corners((-4, fire, -4), (4, fire + 4, 4), stone.block)
    canvas.walls((-4, fire, -4), (4, fire, 4), stone.block)
    canvas.walls((-4, fire + 4, -4), (4, fire + 4, 4), stone.block)
    for a in range(-3, 4):
        for z in (-4, 4):
            canvas.box((a, fire + 1, z), (a, fire + 3, z), "iron_bars" if a % 2 else None)
            canvas.box((z, fire + 1, a), (z, fire + 3, a), "iron_bars" if a % 2 else None)
    canvas.box((-2, fire + 1, -2), (2, fire + 3, 2), light)
    canvas.box((-3, fire, -3), (3, fire, 3), stone.block)
    canvas.part("a lit fire box behind bars", fire, fire + 4)
    roof = fire + 5
    canvas.box((-half + 1, roof, -half + 1), (half - 1, roof, half - 1), stone.block)
    top = canvas.hip((-half, roof, -half), (half, half), stone.stairs, stone.block)
    for x in (-half, half):
        for z in (-half, half):
            canvas.put(x, roof + 1, z, stone.slab + "[type=bottom]")
            canvas.put(x, roof, z, stone.block)
    canvas.part("a wide hip roof of stairs with raised corners", roof, top)
    canvas.box((0, top + 1, 0), (0, top + 2, 0), stone.wall)
    canvas.put(0, top + 3, 0, "gold_block")
    canvas.part("a finial with a golden tip", top + 1, top + 3)
    return canvas
