"""Grounds: gardens and parks, town centres and lamps, bridges and ships."""

from __future__ import annotations

from itertools import product

from worldgauge.suites.mineanybuild.generate.structure_brush import (
    BRIGHT,
    COLOURS,
    FLOWERS,
    MASONRY,
    WOODS,
    BlockCanvas,
    Draw,
    design,
    plain,
    span,
)


@design("garden", "easy")
def _flower_bed(draw: Draw, canvas: BlockCanvas) -> None:
    stone = draw.pick(("bricks", "stone_bricks", "cobblestone", "mud_bricks", "oak_planks", "spruce_planks"))
    wide = draw.whole(5, 7)
    canvas.title(f"{plain(stone).removesuffix('s')} flower bed", f"A raised flower bed framed by {plain(stone)}.")
    canvas.box((0, 0, 0), (wide - 1, 0, 2), stone)
    canvas.box((1, 0, 1), (wide - 2, 0, 1), "dirt", part="a frame round a strip of dirt")
    first, second = draw.two(FLOWERS)
    for x in range(1, wide - 1):
        canvas.put(x, 1, 1, first if x % 2 else second)
    canvas.part("flowers of two kinds in turn on the dirt", 1, 1)


@design("garden", "medium")
def _greenhouse(draw: Draw, canvas: BlockCanvas) -> None:
    wood = draw.pick(WOODS)
    foot = MASONRY[draw.pick(("brick", "stone brick", "cobblestone", "mud brick"))]
    wide, deep = draw.odd(7, 9), draw.whole(8, 12)
    right, back, middle = wide - 1, deep - 1, wide // 2
    canvas.title(f"{plain(wood)} greenhouse", f"A greenhouse of glass and {plain(wood)} on a {foot.words} foot.")
    canvas.box((0, 0, 0), (right, 0, back), "grass_block")
    canvas.box((middle, 0, 0), (middle, 0, back), "gravel")
    canvas.walls((0, 0, 0), (right, 1, back), foot.block, part="a low wall round grass with a path of gravel")
    for x, z in product(range(1, right), range(1, back)):
        if x != middle:
            canvas.put(x, 1, z, draw.pick((*FLOWERS, "fern", "wheat[age=7]")) if z % 3 else "sweet_berry_bush[age=3]")
    canvas.part("plants on both sides of the path", 1, 1)
    glass = draw.pick(("glass", "white_stained_glass", "lime_stained_glass"))
    canvas.walls((0, 2, 0), (right, 3, back), glass)
    canvas.put((0, right), span(2, 3), range(0, deep, 3), f"{wood}_log")
    canvas.corners((0, 2, 0), (right, 3, back), f"{wood}_log", part="walls of glass between posts of logs")
    canvas.box((middle, 1, back), (middle, 2, back), None)
    canvas.door(middle, 1, back, wood)
    canvas.part("a door in the south side", 1, 2)
    for step in range(middle + 1):
        y = 4 + step
        canvas.put((step, right - step), y, span(0, back), glass)
        canvas.put(span(step, right - step), y, (0, back), glass)
    for z, step in product({0, deep // 2, back}, range(middle + 1)):
        canvas.put((step, right - step), 4 + step, z, f"{wood}_planks")
    canvas.part("a gable roof of glass with ribs of planks", 4, 4 + middle)


@design("garden", "hard")
def _formal_garden(draw: Draw, canvas: BlockCanvas) -> None:
    wood = draw.pick(("oak", "birch", "cherry", "dark_oak", "acacia"))
    stone = MASONRY[draw.pick(("stone brick", "sandstone", "diorite", "brick"))]
    side = draw.odd(27, 33)
    far, middle = side - 1, side // 2
    canvas.title(f"{plain(wood)} formal garden", f"A formal garden with a {stone.words} fountain, hedges and trees.")
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
    for x, z in product((quarter, far - quarter), repeat=2):
        canvas.walls((x - 3, 1, z - 3), (x + 3, 1, z + 3), hedge)
        for a, b in product(range(-2, 3), repeat=2):
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
    canvas.put((middle - 3, middle + 3), 1, (2, far - 2), f"{stone.wall}")
    canvas.put((middle - 3, middle + 3), 2, (2, far - 2), "lantern")
    canvas.part("lanterns on short pillars beside the path", 1, 2)
    for z, (x, way) in product((4, far - 4), ((middle - 2, "west"), (middle + 2, "east"))):
        canvas.box((x, 1, z), (x, 1, z + 1), f"{wood}_stairs[facing={way}]")
    canvas.part("benches of stairs beside the path", 1, 1)
    canvas.put((middle - 2, middle + 2), span(1, 4), (0, far), f"{wood}_fence")
    canvas.put(span(middle - 2, middle + 2), 5, (0, far), hedge)
    canvas.part("an arch of leaves over the north and the south opening", 1, 5)


@design("parks", "easy")
def _bench(draw: Draw, canvas: BlockCanvas) -> None:
    wood = draw.pick(WOODS)
    ground = draw.pick(("smooth_stone", "gravel", "stone_bricks", "grass_block", "dirt_path"))
    long = draw.whole(2, 4)
    canvas.title(f"{plain(wood)} park bench", f"A {plain(wood)} park bench on {plain(ground)}.")
    deep = 2 if long == 4 else draw.whole(2, 3)
    canvas.box((0, 0, 0), (long + 1, 0, deep - 1), ground, part="a strip of ground")
    canvas.box((1, 1, 0), (long, 1, 0), f"{wood}_stairs[facing=north]", part="a bench of stairs that looks south")
    arm = draw.pick((f"{wood}_fence", "cobblestone_wall", f"stripped_{wood}_log"))
    canvas.put((0, long + 1), 1, 0, arm, part="a post at each end")
    canvas.put(draw.whole(0, 1) * (long + 1), 2, 0, "lantern", part="a lantern on one post")


@design("parks", "medium")
def _playground(draw: Draw, canvas: BlockCanvas) -> None:
    wood = draw.pick(WOODS)
    colour, other = draw.two(BRIGHT)
    wide, deep = draw.whole(16, 18), draw.whole(11, 13)
    canvas.title(f"{plain(colour)} playground", f"A playground with a {plain(colour)} slide, two swings and a sandbox.")
    canvas.box((0, 0, 0), (wide - 1, 0, deep - 1), "grass_block")
    canvas.box((1, 0, deep - 5), (5, 0, deep - 2), "sand")
    canvas.put(range(1, 6), 0, (deep - 5, deep - 2), f"{wood}_planks")
    canvas.put((1, 5), 0, range(deep - 5, deep - 1), f"{wood}_planks", part="grass with a sandbox in its south-west")
    canvas.corners((1, 1, 1), (3, 6, 3), f"{wood}_log")
    canvas.box((1, 4, 1), (3, 4, 3), f"{wood}_planks")
    canvas.corners((1, 1, 1), (3, 6, 3), f"{wood}_log")
    canvas.box((0, 1, 2), (0, 4, 2), "ladder[facing=west]")
    canvas.box((1, 1, 2), (1, 3, 2), f"{wood}_planks")
    canvas.put(2, 5, (1, 3), f"{wood}_fence")
    canvas.hip((0, 7, 0), (4, 4), f"{draw.pick(WOODS)}_stairs", f"{other}_wool")
    canvas.part("a small tower with a ladder and a roof", 1, 9)
    for step in range(4):
        canvas.put(4 + step, 4 - step, 2, f"{colour}_concrete")
        if step < 3:
            canvas.put(5 + step, 4 - step, 2, f"{colour}_concrete")
        canvas.put(4 + step, (5 - step, 4 - step), (1, 3), "white_concrete")
    canvas.part("a slide that falls to the east from the tower", 1, 5)
    end = wide - 2
    canvas.put((8, end), span(1, 5), deep - 3, f"{wood}_fence")
    canvas.box((8, 6, deep - 3), (end, 6, deep - 3), f"{wood}_log[axis=x]")
    canvas.put((10, end - 2), span(3, 5), deep - 3, "chain[axis=y]")
    canvas.put((10, end - 2), 2, deep - 3, f"{other}_wool")
    canvas.part("two swings on chains from a beam", 2, 6)


@design("parks", "hard")
def _park(draw: Draw, canvas: BlockCanvas) -> None:
    wood, trim = draw.two(("oak", "birch", "spruce", "cherry", "acacia", "dark_oak"))
    side = draw.odd(31, 37)
    far = side - 1
    canvas.title(f"{plain(wood)} park", f"A park with a pond, a bandstand and {plain(wood)} trees.")
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
    for z, x in product((far - 11, far - 9), range(4, 17)):
        canvas.put(x, 3 if 6 < x < 14 else 2, z, f"{trim}_fence")
    for x in range(4, 17):
        canvas.put(x, 2 if 6 < x < 14 else 1, far - 10, f"{trim}_planks")
    canvas.put(range(7, 14), 2, (far - 11, far - 9), f"{trim}_planks")
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


@design("town_centers", "easy")
def _notice_board(draw: Draw, canvas: BlockCanvas) -> None:
    post, board = draw.two(WOODS)
    wide = draw.whole(3, 4)
    canvas.title(f"{plain(board)} notice board", f"A notice board of {plain(board)} between two {plain(post)} posts.")
    canvas.put((0, wide), span(0, 2), 0, f"{post}_log", part="two posts of logs")
    canvas.box((1, 1, 0), (wide - 1, 2, 0), f"{board}_planks", part="a board between the posts")
    canvas.box((0, 3, 0), (wide, 3, 0), f"{draw.pick((post, board))}_slab[type=bottom]")
    canvas.part("a strip of roof made of slabs", 3, 3)


@design("town_centers", "medium")
def _market_stall(draw: Draw, canvas: BlockCanvas) -> None:
    wood = draw.pick(WOODS)
    colour = draw.pick(COLOURS[1:])
    wide, deep = draw.odd(7, 11), draw.whole(5, 6)
    right, back = wide - 1, deep - 1
    canvas.title(
        f"{plain(colour)} market stall", f"A market stall of {plain(wood)} with a {plain(colour)} and white awning."
    )
    canvas.box((0, 0, 0), (right, 0, back), draw.pick(("cobblestone", "gravel", "stone_bricks")))
    canvas.part("a paved floor", 0, 0)
    canvas.corners((0, 1, 0), (right, 3, back), f"{wood}_fence")
    canvas.box((1, 1, back), (right - 1, 1, back), f"{wood}_planks", part="a counter along the south side")
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


@design("town_centers", "hard")
def _clock_tower(draw: Draw, canvas: BlockCanvas) -> None:
    stone = MASONRY[draw.pick(("stone brick", "brick", "sandstone", "diorite", "deepslate brick"))]
    wood = draw.pick(WOODS)
    side, high = draw.odd(17, 23), draw.whole(16, 20)
    middle = side // 2
    canvas.title(f"{stone.words} clock tower", f"A clock tower of {stone.words} on a paved town square.")
    canvas.box((0, 0, 0), (side - 1, 0, side - 1), "smooth_stone")
    canvas.put(range(0, side, 2), 0, middle, "polished_andesite")
    canvas.put(middle, 0, range(0, side, 2), "polished_andesite")
    canvas.walls((0, 0, 0), (side - 1, 0, side - 1), "polished_andesite", part="a paved square")
    low, far = middle - 3, middle + 3
    canvas.walls((low, 1, low), (far, high, far), stone.block)
    canvas.corners((low, 1, low), (far, high, far), f"{wood}_log")
    canvas.walls((low - 1, 1, low - 1), (far + 1, 1, far + 1), stone.slab + "[type=bottom]")
    canvas.box((low + 1, high, low + 1), (far - 1, high, far - 1), stone.block)
    canvas.door(middle, 1, far, wood)
    canvas.put(middle, 1, far + 1, None)
    canvas.part("a door in the south side of the tower", 1, 2)
    for y, (a, b) in product(range(5, high - 7, 4), ((middle, low), (middle, far), (low, middle), (far, middle))):
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
        canvas.put((x, side - 1 - x), 1, side - 1, f"{wood}_stairs[facing=south]")
        canvas.put((x, side - 1 - x), 1, 0, f"{wood}_stairs[facing=north]")
    canvas.part("benches along the edge", 1, 1)


@design("lamps", "easy")
def _street_lamp(draw: Draw, canvas: BlockCanvas) -> None:
    stone = MASONRY[draw.pick(("stone brick", "cobblestone", "brick", "andesite", "deepslate brick"))]
    wood = draw.pick(WOODS)
    light = draw.pick(("lantern", "soul_lantern"))
    canvas.title(f"{plain(wood)} street lamp", f"A {plain(wood)} street lamp with a {plain(light)} on one arm.")
    canvas.box((0, 0, 0), (2, 0, 2), stone.slab + "[type=bottom]")
    canvas.put(1, 0, 1, stone.block, part="a square foot of slabs")
    canvas.put(1, 1, 1, stone.wall)
    high = draw.whole(3, 4)
    canvas.box((1, 2, 1), (1, high, 1), f"{wood}_fence")
    canvas.part("a post", 1, high)
    x = draw.whole(0, 1) * 2
    canvas.put(x, high, 1, f"{wood}_fence")
    canvas.put(x, high - 1, 1, f"{light}[hanging=true]")
    canvas.part("an arm with a hanging lantern", high - 1, high)


@design("lamps", "medium")
def _candelabrum(draw: Draw, canvas: BlockCanvas) -> None:
    stone = MASONRY[draw.pick(("stone brick", "deepslate brick", "sandstone", "diorite", "brick"))]
    light = draw.pick(("sea_lantern", "glowstone", "shroomlight", "redstone_lamp[lit=true]"))
    high, reach = draw.whole(9, 12), draw.whole(2, 3)
    words = plain(light.partition("[")[0])
    canvas.title(f"{stone.words} lamp with four arms", f"A tall {stone.words} lamp with four arms and {words} lights.")
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


_WAYS = {(1, 0): "east", (-1, 0): "west", (0, 1): "south", (0, -1): "north"}


@design("lamps", "hard")
def _stone_lantern(draw: Draw, canvas: BlockCanvas) -> None:
    stone = MASONRY[draw.pick(("stone brick", "andesite", "diorite", "deepslate brick", "sandstone"))]
    light = draw.pick(("glowstone", "sea_lantern", "shroomlight"))
    half, shaft = draw.whole(8, 9), draw.whole(5, 7)
    canvas.title(f"giant {stone.words} lantern", f"A giant garden lantern of {stone.words}, lit by {plain(light)}.")
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
    for a, z in product(range(-3, 4), (-4, 4)):
        canvas.box((a, fire + 1, z), (a, fire + 3, z), "iron_bars" if a % 2 else None)
        canvas.box((z, fire + 1, a), (z, fire + 3, a), "iron_bars" if a % 2 else None)
    canvas.box((-2, fire + 1, -2), (2, fire + 3, 2), light)
    canvas.box((-3, fire, -3), (3, fire, 3), stone.block)
    canvas.part("a lit fire box behind bars", fire, fire + 4)
    roof = fire + 5
    canvas.box((-half + 1, roof, -half + 1), (half - 1, roof, half - 1), stone.block)
    top = canvas.hip((-half, roof, -half), (half, half), stone.stairs, stone.block)
    canvas.put((-half, half), roof + 1, (-half, half), stone.slab + "[type=bottom]")
    canvas.put((-half, half), roof, (-half, half), stone.block)
    canvas.part("a wide hip roof of stairs with raised corners", roof, top)
    canvas.box((0, top + 1, 0), (0, top + 2, 0), stone.wall)
    canvas.put(0, top + 3, 0, "gold_block")
    canvas.part("a finial with a golden tip", top + 1, top + 3)


@design("bridges", "easy")
def _footbridge(draw: Draw, canvas: BlockCanvas) -> None:
    wood, rail = draw.two(WOODS)
    long = draw.whole(5, 6)
    canvas.title(f"{plain(wood)} footbridge", f"A short {plain(wood)} footbridge with {plain(rail)} rails.")
    wide = 2 if long == 6 else draw.whole(2, 3)
    last = long - 1
    canvas.put(0, 0, range(wide), f"{wood}_stairs[facing=east]")
    canvas.put(last, 0, range(wide), f"{wood}_stairs[facing=west]")
    canvas.put(span(1, last - 1), 0, range(wide), f"{wood}_planks")
    canvas.part("a deck of planks with a stair at the west and the east end", 0, 0)
    canvas.put(range(1, last), 1, (0, wide - 1), f"{rail}_fence", part="a rail of fence along both sides")


@design("bridges", "medium")
def _arch_bridge(draw: Draw, canvas: BlockCanvas) -> None:
    stone = MASONRY[draw.pick(("stone brick", "cobblestone", "brick", "sandstone", "mud brick"))]
    radius, wide = draw.whole(5, 8), draw.odd(5, 7)
    long = 2 * radius + 7
    middle, side = long // 2, wide - 1
    canvas.title(f"{stone.words} arch bridge", f"A {stone.words} bridge over one round arch.")
    deck = radius + 2
    canvas.box((0, 0, 0), (long - 1, deck - 1, side), stone.block)
    canvas.disc((middle, 0), radius + 0.3, 0, side, None, axis="z")
    canvas.box((0, -9, 0), (long - 1, -1, side), None)
    # Both ends come down by steps, so that only the part by the arch is full height.
    for step in range(3):
        for x, way in ((step, "east"), (long - 1 - step, "west")):
            canvas.box((x, deck - 3 + step, 0), (x, deck - 1, side), None)
            canvas.box((x, deck - 3 + step, 0), (x, deck - 3 + step, side), f"{stone.stairs}[facing={way}]")
    canvas.part("two abutments with an arch between them", 0, deck - 1)
    canvas.part("steps at the west and the east end", deck - 3, deck - 1)
    for z in (0, side):
        canvas.disc((middle, 0), radius + 1.3, z, z, "polished_andesite", hollow=True, axis="z")
        canvas.box((-3, -20, z), (long + 3, -1, z), None)
        canvas.box((3, deck, z), (long - 4, deck, z), stone.wall)
        canvas.put((3, middle, long - 4), deck, z, stone.block)
        canvas.put((3, middle, long - 4), deck + 1, z, "lantern")
    canvas.part("a rim of polished andesite round the arch", 0, radius + 1)
    canvas.part("a parapet of wall along both sides", deck, deck)
    canvas.part("six lanterns on the parapet", deck + 1, deck + 1)


@design("bridges", "hard")
def _suspension_bridge(draw: Draw, canvas: BlockCanvas) -> None:
    paint = draw.pick(
        ("red_terracotta", "light_gray_concrete", "orange_terracotta", "cyan_terracotta", "white_concrete")
    )
    opening, ends = draw.whole(28, 34), 11
    wide, high = draw.odd(9, 11), draw.whole(20, 23)
    long, side, deck = opening + 2 * ends, wide - 1, 7
    words = plain(paint.rpartition("_")[0])
    canvas.title(f"{words} suspension bridge", f"A {words} suspension bridge with two towers and hanging cables.")
    towers = (ends, ends + opening)
    for x in towers:
        canvas.box((x - 2, 0, -1), (x + 2, 2, wide), "stone_bricks")
    canvas.part("a stone foot under each tower", 0, 2)
    canvas.box((0, deck, 0), (long, deck, side), "gray_concrete")
    canvas.put(span(0, long), deck, (0, side), "smooth_stone")
    canvas.put(span(0, long), deck - 1, (0, side), paint)
    canvas.put(span(0, long), deck + 1, (0, side), "iron_bars")
    canvas.put(range(1, long, 3), deck, wide // 2, "white_concrete")
    canvas.part("a grey road with white marks and rails", deck, deck + 1)
    for x in (0, long):
        canvas.box((x, 0, 0), (x + (2 if x == 0 else -2), deck - 1, side), "stone_bricks")
    canvas.part("stone abutments at both ends", 0, deck - 1)
    for x in towers:
        canvas.put(span(x - 1, x + 1), span(3, high), (0, side), paint)
        for y in (deck + 6, high - 1):
            canvas.box((x - 1, y, 1), (x + 1, y + 1, side - 1), paint)
    canvas.part("two towers with crossbeams", 3, high)
    for z in (0, side):
        heights = [round(_sag(x, towers, deck + 3, high, deck + 1)) for x in range(long + 1)]
        for x, y in enumerate(heights):
            # Where it is steep, the cable fills the step up from the block before it.
            before = heights[x - 1] if x else y
            canvas.box((x, before + (before < y) - (before > y), z), (x, y, z), "black_concrete")
            if x % 3 == 0 and x not in towers and (y > deck + 2):
                canvas.box((x, deck + 1, z), (x, y - 1, z), "chain[axis=y]")
    canvas.part("two black cables that sag between the towers and hangers of chain", deck + 1, high)


def _sag(x: float, towers: tuple[int, int], low: int, high: int, end: int) -> float:
    """Height of a cable at `x`: a parabola between the towers, straight lines from them down to `end` outside."""
    middle, half = (towers[0] + towers[1]) / 2, (towers[1] - towers[0]) / 2
    off = abs(x - middle)
    if off <= half:
        return low + (high - low) * (off / half) ** 2
    return high - (high - end) * (off - half) / towers[0]


@design("ships", "easy")
def _rowing_boat(draw: Draw, canvas: BlockCanvas) -> None:
    wood, seat = draw.two(WOODS)
    long = draw.whole(5, 6)
    canvas.title(f"{plain(wood)} rowing boat", f"A {plain(wood)} rowing boat with two oars.")
    last = long - 1
    canvas.box((1, 0, 1), (last - 1, 0, 1), f"{wood}_planks", part="a keel of planks")
    canvas.put(0, 1, 1, f"{wood}_stairs[facing=east,half=top]")
    canvas.put(last, 1, 1, f"{wood}_stairs[facing=west,half=top]")
    canvas.put(range(1, last), 1, 0, f"{wood}_stairs[facing=south,half=top]")
    canvas.put(range(1, last), 1, 2, f"{wood}_stairs[facing=north,half=top]")
    canvas.part("sides of upturned stairs round the middle", 1, 1)
    canvas.put(long // 2 - draw.whole(0, 1), 1, 1, f"{seat}_slab[type=bottom]", part="a seat of slab")
    x = draw.whole(1, last - 1)
    canvas.put(x, 2, (0, 2), f"{seat}_fence", part="an oar of fence on each side")


@design("ships", "medium")
def _sailing_boat(draw: Draw, canvas: BlockCanvas) -> None:
    wood, trim = draw.two(WOODS)
    colour = draw.pick(COLOURS)
    long, tall = draw.whole(14, 17), draw.whole(12, 14)
    canvas.title(f"{plain(colour)} sailing boat", f"A {plain(wood)} boat with one mast and two {plain(colour)} sails.")
    _hull(canvas, long, 2, 4, f"{wood}_planks", f"{trim}_planks")
    canvas.part("a pointed hull", 0, 3)
    mast = long // 2 + 1
    canvas.box((mast, 1, 0), (mast, tall + 2, 0), f"{trim}_log", part="a mast of logs")
    for step in range(tall - 5):
        y = tall + 1 - step
        canvas.box((mast - 1 - step * (mast - 2) // (tall - 5), y, 0), (mast - 1, y, 0), f"{colour}_wool")
    for step in range(tall - 6):
        y = tall - step
        end = mast + 1 + step * (long - mast - 2) // (tall - 6)
        canvas.box((mast + 1, y, 0), (end, y, 0), "white_wool" if colour != "white" else "light_gray_wool")
    canvas.box((1, 6, 0), (mast, 6, 0), f"{trim}_fence")
    canvas.part("two three-cornered sails of wool", 6, tall + 1)
    canvas.put(2, 4, 0, f"{trim}_fence")
    canvas.put(1, 4, (1, -1), f"{trim}_stairs[facing=west]", part="seats at the west end")


@design("ships", "hard")
def _galleon(draw: Draw, canvas: BlockCanvas) -> None:
    wood, trim = draw.two(("oak", "spruce", "dark_oak", "jungle", "acacia", "mangrove"))
    colour = draw.pick(("white", "red", "light_gray", "yellow", "blue"))
    long = draw.whole(32, 36)
    canvas.title(f"{plain(wood)} galleon", f"A {plain(wood)} galleon with three masts and {plain(colour)} sails.")
    _hull(canvas, long, 5, 7, f"{wood}_planks", f"{trim}_planks")
    canvas.part("a pointed hull with a dark rail", 0, 6)
    for x, z in product(range(5, long - 9, 4), (-5, 5)):
        if canvas.holds(x, 4, z):
            canvas.put(x, 4, z, "black_concrete")
    canvas.part("a row of gun ports on each side", 4, 4)
    canvas.walls((0, 6, -4), (7, 10, 4), f"{wood}_planks")
    canvas.box((0, 9, -4), (7, 9, 4), f"{wood}_planks")
    canvas.walls((0, 10, -4), (7, 10, 4), f"{trim}_fence")
    canvas.put(0, span(7, 8), (-2, 0, 2), "yellow_stained_glass")
    canvas.door(7, 6, 0, trim, facing="west")
    canvas.put(5, 10, 0, f"{trim}_fence")
    canvas.part("a tall stern castle with a door and windows at the west end", 6, 10)
    canvas.part("a rail of fence round the stern castle", 10, 10)
    for step in range(8):
        canvas.put(long - 1 + step, 7 + step // 2, 0, f"{trim}_log[axis=x]")
    canvas.part("a bowsprit at the east end", 7, 10)
    for x, tall in ((9, 21), (long // 2, 24), (long - 8, 20)):
        canvas.box((x, 5, 0), (x, tall, 0), f"{trim}_log")
        for low, reach in ((9, 6), (15, 4)):
            high = min(low + 4, tall - 1)
            canvas.box((x + 1, high + 1, -reach), (x + 1, high + 1, reach), f"stripped_{trim}_log[axis=z]")
            for y in range(low, high + 1):
                # Sails belly forward: the middle rows hang one block further east.
                belly = 2 if low < y < high else 1
                canvas.box((x + belly, y, -reach), (x + belly, y, reach), f"{colour}_wool")
        canvas.walls((x - 1, tall, -1), (x + 1, tall, 1), f"{trim}_fence")
        canvas.box((x - 3, tall + 1, 0), (x - 1, tall + 1, 0), "red_wool" if colour != "red" else "black_wool")
        canvas.put(x, tall + 1, 0, f"{trim}_fence")
    canvas.part("three masts", 5, 25)
    canvas.part("two square sails on each mast", 9, 20)


def _hull(canvas: BlockCanvas, long: int, half: int, high: int, plank: str, rail: str) -> None:
    """Hollow, pointed at its east end; the deck lies one below the rail, which is layer `high` - 1."""
    for y in range(high):
        start = max(0, 2 - y)
        for x in range(start, long + y // 2 - 1):
            taper = (long + y // 2 - 2 - x) / (long * 0.38)
            broad = min(half, round(half * min(1.0, taper) ** 0.7 - max(0, 2 - y) * half / 4))
            if broad < 0:
                continue
            solid = y in (0, high - 2)
            material = rail if y == high - 1 else plank
            if solid:
                canvas.box((x, y, -broad), (x, y, broad), plank)
            else:
                inner = round(half * min(1.0, taper - 1 / (long * 0.38)) ** 0.7) if taper > 1 / (long * 0.38) else 0
                edge = min(broad, max(0, inner - 1) + 1)
                canvas.box((x, y, -broad), (x, y, -edge), material)
                canvas.box((x, y, edge), (x, y, broad), material)
                if x == start:
                    canvas.box((x, y, -broad), (x, y, broad), material)
