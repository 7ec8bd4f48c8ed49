"""Buildings: homes and what stands in villages, military buildings, ruins and sights."""

from __future__ import annotations

from itertools import product

from worldgauge.suites.mineanybuild.generate.structure_brush import (
    FLOWERS,
    MASONRY,
    WOODS,
    BlockCanvas,
    Draw,
    design,
    plain,
    span,
)


@design("military_buildings", "easy")
def _sentry_box(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(("red", "blue", "black", "green", "orange"))
    roof = draw.pick(("stone_brick", "brick", "cobblestone", "deepslate_tile"))
    canvas.title(f"{colour} and white sentry box", f"A sentry box in {colour} and white stripes, open to the south.")
    for y in range(3):
        paint = f"{'white' if y % 2 else colour}_{'concrete'}"
        canvas.box((0, y, 0), (2, y, 0), paint)
        canvas.put((0, 2), y, span(0, 1), paint)
    canvas.part("striped walls on all sides but the south", 0, 2)
    shape = draw.pick(("slab", "stairs"))
    if shape == "slab":
        canvas.box((0, 3, 0), (2, 3, 1), f"{roof}_slab[type=bottom]")
    else:
        canvas.box((0, 3, 0), (0, 3, 1), f"{roof}_stairs[facing=east]")
        canvas.box((2, 3, 0), (2, 3, 1), f"{roof}_stairs[facing=west]")
        canvas.box((1, 3, 0), (1, 3, 1), f"{roof}_slab[type=double]")
    canvas.part(f"a roof of {shape}" if shape == "stairs" else "a flat roof of slabs", 3, 3)


@design("military_buildings", "medium")
def _watchtower(draw: Draw, canvas: BlockCanvas) -> None:
    leg, wall = draw.two(WOODS)
    high, side = draw.whole(7, 10), draw.odd(5, 7)
    far, middle = side - 1, side // 2
    canvas.title(f"{plain(wall)} watchtower", f"A {plain(wall)} watchtower on four legs, with a ladder and a gallery.")
    canvas.put((0, far), span(0, high - 1), (0, far), f"{leg}_log")
    for step, z in product(range(1, far), (0, far)):
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


@design("military_buildings", "hard")
def _castle(draw: Draw, canvas: BlockCanvas) -> None:
    stone = MASONRY[draw.pick(("stone brick", "cobblestone", "sandstone", "deepslate brick", "mud brick"))]
    wood = draw.pick(WOODS)
    colour = draw.pick(("red", "blue", "yellow", "green", "purple"))
    side, high = draw.odd(25, 31), draw.whole(6, 7)
    far, middle = side - 1, side // 2
    canvas.title(f"{stone.words} castle", f"A {stone.words} castle with four corner towers, a gate and a keep.")
    canvas.box((0, 0, 0), (far, 0, far), "grass_block")
    canvas.box((middle - 1, 0, middle), (middle + 1, 0, far), "gravel", part="a yard of grass with a path of gravel")
    canvas.walls((1, 0, 1), (far - 1, high, far - 1), stone.block)
    canvas.walls((2, high, 2), (far - 2, high, far - 2), stone.slab + "[type=top]")
    canvas.merlons((1, high + 1, 1), (far - 1, far - 1), stone.block)
    canvas.part("a curtain wall with battlements", 1, high + 1)
    for x, z in product((1, far - 1), repeat=2):
        canvas.disc((x, z), 3.3, 0, high + 4, stone.block, hollow=True)
        canvas.disc((x, z), 2.5, high + 3, high + 3, f"{wood}_planks")
        for a, b in product(range(-3, 4), repeat=2):
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
    canvas.put(span(low + 1, end - 1), (high, top), span(keep + 1, keep + 7), f"{wood}_planks")
    canvas.merlons((low, top + 1, keep), (end, keep + 8), stone.block)
    canvas.door(middle, 1, keep + 8, wood)
    for y, x, z in product((high + 2, high + 5), (middle - 2, middle + 2), (keep, keep + 8)):
        canvas.box((x, y, z), (x, y + 1, z), "glass_pane")
    canvas.part("a tall keep with a door and battlements", 1, top + 1)
    canvas.box((middle, top + 1, keep + 4), (middle, top + 6, keep + 4), f"{wood}_fence")
    canvas.box((middle + 1, top + 4, keep + 4), (middle + 4, top + 6, keep + 4), f"{colour}_wool")
    canvas.part(f"a {colour} flag on the keep", top + 1, top + 6)


@design("houses", "easy")
def _hut(draw: Draw, canvas: BlockCanvas) -> None:
    wood, roof = draw.two(WOODS)
    canvas.title(f"{plain(wood)} hut", f"A tiny hut of {plain(wood)} under a gable roof of {plain(roof)}.")
    canvas.walls((0, 0, 0), (2, 1, 2), f"{wood}_planks")
    canvas.door(1, 0, 2, draw.pick((wood, roof)))
    if draw.chance(0.7):
        canvas.put(draw.whole(0, 1) * 2, 1, 1, draw.pick(("glass", "white_stained_glass")))
        canvas.part("a window in one side wall", 1, 1)
    canvas.gable((0, 2, 0), (2, 2), f"{roof}_stairs", f"{roof}_slab")
    canvas.put(1, 2, (0, 2), f"{wood}_planks")
    canvas.part("a door in the middle of the south wall", 0, 1)
    canvas.part("a gable roof of stairs", 2, 3)


@design("houses", "medium")
def _cottage(draw: Draw, canvas: BlockCanvas) -> None:
    wall, timber = draw.two(WOODS)
    stone = MASONRY[draw.pick(("cobblestone", "stone brick", "brick", "andesite"))]
    wide, deep, high = draw.odd(5, 9), draw.whole(6, 9), draw.whole(3, 4)
    canvas.title(f"{plain(wall)} cottage", f"A cottage of {plain(wall)} with {plain(timber)} timbers and a chimney.")
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


@design("houses", "hard")
def _manor(draw: Draw, canvas: BlockCanvas) -> None:
    stone = MASONRY[draw.pick(("brick", "stone brick", "mud brick", "sandstone", "diorite"))]
    wood = draw.pick(WOODS)
    wide, deep = draw.odd(17, 21), draw.odd(13, 15)
    canvas.title(f"{stone.words} manor", f"A manor of {stone.words} with two floors, a porch and a hip roof.")
    right, back = wide - 1, deep - 1
    canvas.box((-1, 0, -1), (wide, 0, deep), "polished_andesite", part="a plinth of polished andesite")
    for floor in (1, 6):
        canvas.walls((0, floor, 0), (right, floor + 4, back), stone.block)
        canvas.corners((0, floor, 0), (right, floor + 4, back), f"{wood}_log")
        canvas.box((1, floor + 4, 1), (right - 1, floor + 4, back - 1), f"{wood}_planks")
        canvas.put(range(2, right - 1, 3), span(floor + 1, floor + 2), (0, back), "glass_pane")
        canvas.put((0, right), span(floor + 1, floor + 2), range(2, back - 1, 3), "glass_pane")
    canvas.part("rows of windows on both floors", 2, 8)
    middle = wide // 2
    canvas.box((middle - 1, 1, back), (middle + 1, 4, back), stone.block)
    canvas.door(middle, 1, back, wood)
    canvas.part("a door in the middle of the south wall", 1, 2)
    canvas.box((middle - 3, 0, deep), (middle + 3, 0, deep + 2), "polished_andesite")
    canvas.put((middle - 3, middle + 3), span(1, 3), deep + 2, f"stripped_{wood}_log")
    canvas.box((middle - 3, 4, deep), (middle + 3, 4, deep + 2), f"{wood}_slab[type=bottom]")
    canvas.put((middle - 1, middle + 1), 3, deep + 1, f"{wood}_fence")
    canvas.put((middle - 1, middle + 1), 2, deep + 1, "lantern[hanging=true]")
    canvas.box((middle - 1, 3, deep + 1), (middle + 1, 3, deep + 1), None)
    canvas.put((middle - 2, middle + 2), 3, deep + 1, "lantern[hanging=true]")
    canvas.part("a porch on two columns before the door", 1, 4)
    top = canvas.hip((-1, 11, -1), (wide, deep), f"{wood}_stairs", f"{wood}_planks", layers=5)
    canvas.part("a hip roof of stairs", 11, top)
    canvas.put((3, right - 3), span(11, top + 2), deep // 2, "bricks")
    canvas.put((3, right - 3), top + 3, deep // 2, "brick_wall")
    canvas.part("two chimneys", 11, top + 3)


@design("minecraft_villages", "easy")
def _well(draw: Draw, canvas: BlockCanvas) -> None:
    stone = MASONRY[draw.pick(("cobblestone", "stone brick", "sandstone", "andesite", "mud brick"))]
    wood = draw.pick(WOODS)
    canvas.title(f"{stone.words} village well", f"A village well of {stone.words} under a flat {plain(wood)} roof.")
    canvas.box((0, 0, 0), (2, 0, 2), stone.block)
    canvas.put(1, 0, 1, "water", part="water in the middle")
    canvas.corners((0, 1, 0), (2, 2, 2), f"{wood}_fence", part="a fence post on each corner")
    canvas.box((0, 3, 0), (2, 3, 2), f"{wood}_slab[type=bottom]", part="a flat roof of slabs")


@design("minecraft_villages", "medium")
def _farm(draw: Draw, canvas: BlockCanvas) -> None:
    wood = draw.pick(WOODS)
    crop, words = {
        "wheat": ("wheat[age=7]", "wheat"),
        "carrots": ("carrots[age=7]", "carrot"),
        "potatoes": ("potatoes[age=7]", "potato"),
        "beetroots": ("beetroots[age=3]", "beetroot"),
    }[draw.pick(("wheat", "carrots", "potatoes", "beetroots"))]
    wide, deep = draw.odd(7, 13), draw.whole(7, 11)
    canvas.title(f"village {words} farm", f"A village farm that grows {words} in rows beside a ditch of water.")
    canvas.box((0, 0, 0), (wide - 1, 0, deep - 1), f"{wood}_log[axis=x]")
    canvas.box((1, 0, 1), (wide - 2, 0, deep - 2), "farmland[moisture=7]")
    canvas.box((wide // 2, 0, 1), (wide // 2, 0, deep - 2), "water")
    canvas.part("a frame of logs round farmland with a ditch of water along its middle", 0, 0)
    canvas.put([x for x in range(1, wide - 1) if x != wide // 2], 1, span(1, deep - 2), crop)
    canvas.walls((0, 1, 0), (wide - 1, 1, deep - 1), f"{wood}_fence")
    canvas.put(wide // 2, 1, deep - 1, f"{wood}_fence_gate[facing=south]")
    canvas.part("rows of crops inside a fence with a gate on the south side", 1, 1)
    for x, z in ((0, 0), (wide - 1, deep - 1)):
        canvas.put(x, 2, z, "lantern")
    canvas.part("lanterns on two corner posts", 2, 2)


@design("minecraft_villages", "hard")
def _hamlet(draw: Draw, canvas: BlockCanvas) -> None:
    wall, timber = draw.two(WOODS)
    canvas.title(f"{plain(wall)} hamlet", f"A hamlet of four {plain(wall)} houses round a well.")
    side = draw.odd(25, 29)
    middle = side // 2
    canvas.box((0, 0, 0), (side - 1, 0, side - 1), "grass_block")
    canvas.box((middle - 1, 0, 0), (middle + 1, 0, side - 1), "dirt_path")
    canvas.box((0, 0, middle - 1), (side - 1, 0, middle + 1), "dirt_path", part="grass with two crossing paths")
    tops = []
    for x, z in product((2, side - 9), repeat=2):
        high = draw.whole(3, 4)
        home(canvas, (x, 1, z), (7, high, 7), f"{wall}_planks", f"{timber}_log", timber)
        tops.append(
            canvas.gable(
                (x - 1, high + 1, z - 1), (x + 7, z + 7), f"{timber}_stairs", f"{timber}_slab", fill=f"{wall}_planks"
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


def home(
    canvas: BlockCanvas, low: tuple[int, int, int], size: tuple[int, int, int], wall: str, post: str, door: str
) -> None:
    """Draw walls with corner posts, a door in the south wall and windows."""
    x, y, z = low
    wide, high, deep = size
    right, back = x + wide - 1, z + deep - 1
    canvas.walls(low, (right, y + high - 1, back), wall)
    canvas.corners(low, (right, y + high - 1, back), post)
    middle = x + wide // 2
    canvas.door(middle, y, back, door)
    for at in (x + wide // 4, right - wide // 4):
        if at not in (middle, x, right):
            canvas.put(at, y + 1, (back, z), "glass_pane")
    canvas.put((x, right), y + 1, (z + deep // 3, back - deep // 3), "glass_pane")


@design("sightseeing_buildings", "easy")
def _obelisk(draw: Draw, canvas: BlockCanvas) -> None:
    shaft = draw.pick(("sandstone", "red_sandstone", "quartz_pillar", "polished_granite", "polished_diorite"))
    foot = draw.pick(("smooth_stone", "polished_andesite", "stone_bricks", "polished_deepslate"))
    tip = draw.pick(("gold_block", "lightning_rod[facing=up]", "end_rod[facing=up]", "copper_block"))
    canvas.title(f"{plain(shaft)} obelisk", f"An obelisk of {plain(shaft)} on a foot of {plain(foot)}.")
    canvas.box((0, 0, 0), (2, 0, 2), foot, part="a square foot")
    high = draw.whole(3, 4)
    canvas.box((1, 1, 1), (1, high, 1), shaft, part="a shaft one block thick")
    canvas.put(1, high + 1, 1, tip, part="a tip of another material")


@design("sightseeing_buildings", "medium")
def _pyramid(draw: Draw, canvas: BlockCanvas) -> None:
    stone = MASONRY[draw.pick(("sandstone", "mud brick", "stone brick", "red sandstone", "cobblestone"))]
    levels = draw.whole(4, 6)
    trim = draw.pick(("chiseled_stone_bricks", "polished_andesite", "smooth_sandstone", "terracotta"))
    base = 2 * levels + 3
    middle = base // 2
    canvas.title(f"{stone.words} step pyramid", f"A step pyramid of {stone.words} with a shrine on its top.")
    for y in range(levels):
        canvas.box((y, y, y), (base - 1 - y, y, base - 1 - y), stone.block)
        if 0 < y < levels - 1:
            canvas.box((y + 1, y, y + 1), (base - 2 - y, y, base - 2 - y), None)
        # Two levels to a step would be too steep for the stairway, so every level is one step.
        canvas.walls((y, y, y), (base - 1 - y, y, base - 1 - y), stone.block if y % 2 else trim)
    canvas.part(f"{levels} square steps that grow smaller", 0, levels - 1)
    for y in range(levels):
        canvas.box((middle - 1, y, base - 1 - y), (middle + 1, y, base - 1 - y), f"{stone.stairs}[facing=north]")
    canvas.part("a stairway up the south side", 0, levels - 1)
    canvas.box((middle - 1, levels, middle - 1), (middle + 1, levels + 1, middle + 1), stone.block)
    canvas.box((middle, levels, middle), (middle, levels + 1, middle + 1), None)
    canvas.put(middle, levels, middle, draw.pick(("gold_block", "glowstone", "sea_lantern")))
    canvas.part("a shrine with something bright inside", levels, levels + 1)
    top = canvas.hip(
        (middle - 1, levels + 2, middle - 1), (middle + 1, middle + 1), stone.stairs, stone.slab + "[type=bottom]"
    )
    canvas.part("a small roof of stairs", levels + 2, top)


@design("sightseeing_buildings", "hard")
def _pagoda(draw: Draw, canvas: BlockCanvas) -> None:
    wood, trim = draw.two(("spruce", "dark_oak", "mangrove", "cherry", "acacia", "crimson", "warped"))
    log = f"{trim}_log" if trim not in ("crimson", "warped") else f"{trim}_stem"
    wall = draw.pick(("white_terracotta", "red_terracotta", "white_concrete", "calcite"))
    storeys = draw.whole(4, 5)
    half = 8
    canvas.title(f"{plain(wood)} pagoda", f"A pagoda of {storeys} storeys with wide {plain(wood)} roofs.")
    canvas.box((-half - 1, 0, -half - 1), (half + 1, 0, half + 1), "stone_bricks")
    canvas.box((-half, 1, -half), (half, 1, half), "polished_andesite")
    canvas.box((-1, 1, half + 1), (1, 1, half + 1), "stone_brick_stairs[facing=north]")
    canvas.part("two square steps of stone", 0, 1)
    y = 2
    for storey in range(storeys):
        size = half - 2 - storey
        canvas.walls((-size, y, -size), (size, y + 2, size), wall)
        canvas.corners((-size, y, -size), (size, y + 2, size), log)
        canvas.box((-size, y + 3, -size), (size, y + 3, size), f"{trim}_planks")
        for a, b in ((0, size), (0, -size), (size, 0), (-size, 0)):
            for out in (-2, 0, 2):
                if size > 2:
                    canvas.put(a + (out if a == 0 else 0), y + 1, b + (out if b == 0 else 0), f"{trim}_trapdoor")
            canvas.put(a, y + 1, b, "glowstone")
        if storey == 0:
            canvas.door(0, y, size, trim)
            canvas.part("a door in the south side", y, y + 1)
        canvas.part(f"storey {storey + 1} with lit openings", y, y + 2)
        last = storey == storeys - 1
        top = canvas.hip(
            (-size - 2, y + 3, -size - 2),
            (size + 2, size + 2),
            f"{wood}_stairs",
            f"{wood}_planks" if last else None,
            layers=99 if last else 2,
        )
        canvas.put((-size - 2, size + 2), y + 4, (-size - 2, size + 2), f"{wood}_slab[type=bottom]")
        canvas.part(f"roof {storey + 1} with eaves", y + 3, top)
        if not last:
            canvas.box((-size, y + 4, -size), (size, y + 4, size), f"{trim}_planks")
        y += 5
    canvas.box((0, top + 1, 0), (0, top + 3, 0), "gold_block")
    canvas.put(0, top + 4, 0, "lightning_rod[facing=up]")
    canvas.part("a golden spire", top + 1, top + 4)


@design("ruins", "easy")
def _broken_column(draw: Draw, canvas: BlockCanvas) -> None:
    stone = draw.pick(("quartz", "sandstone", "stone"))
    shaft, foot = {
        "quartz": ("quartz_pillar", "chiseled_quartz_block"),
        "sandstone": ("cut_sandstone", "chiseled_sandstone"),
        "stone": ("stone_bricks", "chiseled_stone_bricks"),
    }[stone]
    moss = draw.pick(("mossy_cobblestone", "mossy_stone_bricks", "moss_block"))
    canvas.title(f"broken {stone} column", f"A broken {stone} column on a mossy floor, with a fallen piece beside it.")
    wide = draw.whole(4, 5)
    canvas.box((0, 0, 0), (wide - 1, 0, 2), moss)
    for _ in range(3):
        canvas.put(draw.whole(0, wide - 1), 0, draw.whole(0, 2), draw.pick(("cobblestone", "gravel", "grass_block")))
    canvas.put(draw.whole(0, 1) * (wide - 1), 0, draw.whole(0, 1) * 2, None, part="a mossy floor with a corner gone")
    x = draw.whole(1, wide - 2) if wide == 4 else 1
    canvas.put(x, 1, 1, foot)
    canvas.put(x, 2, 1, shaft)
    if wide == 4:
        canvas.put(x, 3, 1, f"{'stone_brick' if stone == 'stone' else stone}_slab[type=bottom]")
    canvas.part("the stump of a column", 1, 2)
    lies = x + 2 if x + 2 < wide else x - 2
    canvas.put(lies, 1, draw.whole(1, 2) if lies != x else 2, shaft if stone != "quartz" else "quartz_pillar[axis=x]")
    canvas.part("a fallen piece", 1, 1)


@design("ruins", "medium")
def _ruined_arch(draw: Draw, canvas: BlockCanvas) -> None:
    stone = draw.pick(("stone_bricks", "cobblestone", "deepslate_bricks"))
    old = {
        "stone_bricks": ("mossy_stone_bricks", "cracked_stone_bricks"),
        "cobblestone": ("mossy_cobblestone", "andesite"),
        "deepslate_bricks": ("cracked_deepslate_bricks", "cobbled_deepslate"),
    }[stone]
    opening, high = draw.odd(5, 9), draw.whole(5, 7)
    canvas.title(
        f"ruined {plain(stone).removesuffix('s')} arch",
        f"A ruined arch of {plain(stone)}, one side of which has fallen.",
    )
    wide = opening + 6
    canvas.box((0, 0, 0), (wide - 1, 0, 6), "grass_block")
    for _ in range(wide):
        canvas.put(draw.whole(0, wide - 1), 0, draw.whole(0, 6), draw.pick(("gravel", "coarse_dirt", old[0])))
    canvas.part("a floor of grass and rubble", 0, 0)
    for x in (1, wide - 4):
        canvas.box((x, 1, 2), (x + 2, high, 4), stone)
    middle = wide / 2 - 0.5
    canvas.disc((middle, high), opening / 2 + 3.2, 2, 4, stone, axis="z")
    canvas.disc((middle, high), opening / 2 + 0.1, 1, 5, None, axis="z")
    canvas.box((-40, 1, 2), (-1, 40, 4), None)
    canvas.box((wide, 1, 2), (wide + 30, 40, 4), None)
    canvas.box((4, 1, 2), (wide - 5, high, 4), None)
    # What the years took: a slanting cut through the east side.
    for x in range(int(middle) + 1, wide):
        canvas.box((x, high + 4 - (x - int(middle)) // 2 - draw.whole(0, 2), 1), (x, 40, 5), None)
    for _ in range(6 * high):
        x, y, z = draw.whole(0, wide - 1), draw.whole(1, high + opening), draw.whole(2, 4)
        if canvas.holds(x, y, z):
            canvas.put(x, y, z, old[draw.whole(0, 1)])
    canvas.part("two thick pillars", 1, high)
    canvas.part("what is left of an arch over the passage", high + 1, canvas.top())
    for _ in range(7):
        x, z = draw.whole(wide - 6, wide - 1), draw.whole(0, 6)
        if not canvas.holds(x, 1, z):
            canvas.put(x, 1, z, old[draw.whole(0, 1)])
    canvas.part("fallen blocks at the east end", 1, 1)
    canvas.drop_loose()


@design("ruins", "hard")
def _abbey(draw: Draw, canvas: BlockCanvas) -> None:
    stone = draw.pick(("stone_bricks", "sandstone", "deepslate_bricks"))
    old, mossy = {
        "stone_bricks": ("cracked_stone_bricks", "mossy_stone_bricks"),
        "sandstone": ("cut_sandstone", "smooth_sandstone"),
        "deepslate_bricks": ("cracked_deepslate_bricks", "cobbled_deepslate"),
    }[stone]
    long, wide, high = draw.odd(29, 33), draw.odd(15, 17), draw.whole(10, 12)
    far, side, middle = long - 1, wide - 1, wide // 2
    canvas.title(
        f"ruined {plain(stone).removesuffix('s')} abbey",
        f"A ruined abbey of {plain(stone)} without a roof, overgrown with moss.",
    )
    canvas.box((0, 0, 0), (far, 0, side), "grass_block")
    canvas.box((1, 0, 1), (far - 1, 0, side - 1), "moss_block")
    for _ in range(long * wide // 3):
        canvas.put(draw.whole(1, far - 1), 0, draw.whole(1, side - 1), draw.pick((stone, mossy, "gravel")))
    canvas.part("a floor of moss and broken flags", 0, 0)
    for z in (0, side):
        left = high
        for x in range(0, long):
            left = max(3, min(high, left + draw.whole(-2, 2)))
            canvas.box((x, 1, z), (x, left, z), stone)
            if x % 5 == 0:
                out = -1 if z == 0 else 1
                canvas.box((x, 0, z + out), (x, max(2, left - 3), z + out), stone)
            elif x % 5 in (2, 3):
                canvas.box((x, 3, z), (x, 6, z), None)
    canvas.part("two long broken walls with tall openings and buttresses", 1, high)
    tall = high + 6
    for z in range(0, wide):
        gable = tall - abs(z - middle)
        canvas.box((0, 1, z), (0, gable, z), stone)
        broken = min(gable - 2, 4 + (z * 7 + draw.whole(0, 3)) % 5)
        canvas.box((far, 1, z), (far, broken, z), stone)
    canvas.disc((high - 1, middle), 3.3, 0, 0, None, axis="x")
    canvas.disc((high - 1, middle), 3.3, 0, 0, "iron_bars", hollow=True, axis="x")
    canvas.line((0, high - 4, middle), (0, high + 2, middle), "iron_bars")
    canvas.line((0, high - 1, middle - 3), (0, high - 1, middle + 3), "iron_bars")
    canvas.part("a gable with a round window at the west end", 1, tall)
    canvas.box((far, 1, middle - 1), (far, 4, middle + 1), None, part="a doorway at the east end")
    for x, z in product(range(5, far - 2, 5), (4, side - 4)):
        tip = draw.whole(3, high - 1)
        canvas.box((x, 1, z), (x, tip, z), "polished_andesite" if stone != "sandstone" else "chiseled_sandstone")
        canvas.put(x, 1, z, stone)
    canvas.part("two rows of broken columns", 1, high - 1)
    for _ in range(30):
        x, z = draw.whole(2, far - 2), draw.whole(2, side - 2)
        if not canvas.holds(x, 1, z):
            canvas.put(x, 1, z, draw.pick((old, mossy, "moss_carpet", "fern", "short_grass", f"{stone}")))
    for _ in range(long * high):
        x, y = draw.whole(0, far), draw.whole(1, tall)
        z = (0, side, draw.whole(0, side))[draw.whole(0, 2)]
        if canvas.holds(x, y, z) and (z in (0, side) or x in (0, far)):
            canvas.put(x, y, z, draw.pick((old, mossy)))
    canvas.drop_loose()
