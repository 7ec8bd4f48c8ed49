"""Sights that people travel to, and ruins of such."""

from __future__ import annotations

from worldgauge.suites.build.generate.structures.brush import Canvas, Draw
from worldgauge.suites.build.generate.structures.designs import MASONRY, design, said


@design("sightseeing_buildings", "easy")
def obelisk(draw: Draw) -> Canvas:
    """A tall needle on a square foot."""
    shaft = draw.pick(("sandstone", "red_sandstone", "quartz_pillar", "polished_granite", "polished_diorite"))
    foot = draw.pick(("smooth_stone", "polished_andesite", "stone_bricks", "polished_deepslate"))
    tip = draw.pick(("gold_block", "lightning_rod[facing=up]", "end_rod[facing=up]", "copper_block"))
    canvas = Canvas(f"{said(shaft)} obelisk", f"An obelisk of {said(shaft)} on a foot of {said(foot)}.")
    canvas.box((0, 0, 0), (2, 0, 2), foot)
    canvas.part("a square foot", 0, 0)
    high = draw.whole(3, 4)
    canvas.box((1, 1, 1), (1, high, 1), shaft)
    canvas.part("a shaft one block thick", 1, high)
    canvas.put(1, high + 1, 1, tip)
    canvas.part("a tip of another material", high + 1, high + 1)
    return canvas


@design("sightseeing_buildings", "medium")
def pyramid(draw: Draw) -> Canvas:
    """Steps all round, a stairway, a shrine on top."""
    stone = MASONRY[draw.pick(("sandstone", "mud brick", "stone brick", "red sandstone", "cobblestone"))]
    levels = draw.whole(4, 6)
    trim = draw.pick(("chiseled_stone_bricks", "polished_andesite", "smooth_sandstone", "terracotta"))
    base = 2 * levels + 3
    middle = base // 2
    canvas = Canvas(f"{stone.words} step pyramid", f"A step pyramid of {stone.words} with a shrine on its top.")
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
    return canvas


@design("sightseeing_buildings", "hard")
def pagoda(draw: Draw) -> Canvas:
    """Storeys that grow smaller, each under a wide roof."""
    wood, trim = draw.two(("spruce", "dark_oak", "mangrove", "cherry", "acacia", "crimson", "warped"))
    log = f"{trim}_log" if trim not in ("crimson", "warped") else f"{trim}_stem"
    wall = draw.pick(("white_terracotta", "red_terracotta", "white_concrete", "calcite"))
    storeys = draw.whole(4, 5)
    half = 8
    canvas = Canvas(f"{said(wood)} pagoda", f"A pagoda of {storeys} storeys with wide {said(wood)} roofs.")
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
        for x in (-size - 2, size + 2):
            for z in (-size - 2, size + 2):
                canvas.put(x, y + 4, z, f"{wood}_slab[type=bottom]")
        canvas.part(f"roof {storey + 1} with eaves", y + 3, top)
        if not last:
            canvas.box((-size, y + 4, -size), (size, y + 4, size), f"{trim}_planks")
        y += 5
    canvas.box((0, top + 1, 0), (0, top + 3, 0), "gold_block")
    canvas.put(0, top + 4, 0, "lightning_rod[facing=up]")
    canvas.part("a golden spire", top + 1, top + 4)
    return canvas


@design("ruins", "easy")
def broken_column(draw: Draw) -> Canvas:
    """The stump of a column on its foot, a piece of it beside."""
    stone = draw.pick(("quartz", "sandstone", "stone"))
    shaft, foot = {
        "quartz": ("quartz_pillar", "chiseled_quartz_block"),
        "sandstone": ("cut_sandstone", "chiseled_sandstone"),
        "stone": ("stone_bricks", "chiseled_stone_bricks"),
    }[stone]
    moss = draw.pick(("mossy_cobblestone", "mossy_stone_bricks", "moss_block"))
    canvas = Canvas(
        f"broken {stone} column", f"A broken {stone} column on a mossy floor, with a fallen piece beside it."
    )
    wide = draw.whole(4, 5)
    canvas.box((0, 0, 0), (wide - 1, 0, 2), moss)
    for _ in range(3):
        canvas.put(draw.whole(0, wide - 1), 0, draw.whole(0, 2), draw.pick(("cobblestone", "gravel", "grass_block")))
    canvas.put(draw.whole(0, 1) * (wide - 1), 0, draw.whole(0, 1) * 2, None)
    canvas.part("a mossy floor with a corner gone", 0, 0)
    x = draw.whole(1, wide - 2) if wide == 4 else 1
    canvas.put(x, 1, 1, foot)
    canvas.put(x, 2, 1, shaft)
    if wide == 4:
        canvas.put(x, 3, 1, f"{'stone_brick' if stone == 'stone' else stone}_slab[type=bottom]")
    canvas.part("the stump of a column", 1, 2)
    lies = x + 2 if x + 2 < wide else x - 2
    canvas.put(lies, 1, draw.whole(1, 2) if lies != x else 2, shaft if stone != "quartz" else "quartz_pillar[axis=x]")
    canvas.part("a fallen piece", 1, 1)
    return canvas


@design("ruins", "medium")
def ruined_arch(draw: Draw) -> Canvas:
    """A gate of which one side has come down."""
    stone = draw.pick(("stone_bricks", "cobblestone", "deepslate_bricks"))
    old = {
        "stone_bricks": ("mossy_stone_bricks", "cracked_stone_bricks"),
        "cobblestone": ("mossy_cobblestone", "andesite"),
        "deepslate_bricks": ("cracked_deepslate_bricks", "cobbled_deepslate"),
    }[stone]
    span, high = draw.odd(5, 9), draw.whole(5, 7)
    canvas = Canvas(
        f"ruined {said(stone).removesuffix('s')} arch", f"A ruined arch of {said(stone)}, one side of which has fallen."
    )
    wide = span + 6
    canvas.box((0, 0, 0), (wide - 1, 0, 6), "grass_block")
    for _ in range(wide):
        canvas.put(draw.whole(0, wide - 1), 0, draw.whole(0, 6), draw.pick(("gravel", "coarse_dirt", old[0])))
    canvas.part("a floor of grass and rubble", 0, 0)
    for x in (1, wide - 4):
        canvas.box((x, 1, 2), (x + 2, high, 4), stone)
    middle = wide / 2 - 0.5
    canvas.disc((middle, high), span / 2 + 3.2, 2, 4, stone, axis="z")
    canvas.disc((middle, high), span / 2 + 0.1, 1, 5, None, axis="z")
    canvas.box((-40, 1, 2), (-1, 40, 4), None)
    canvas.box((wide, 1, 2), (wide + 30, 40, 4), None)
    canvas.box((4, 1, 2), (wide - 5, high, 4), None)
    # What the years took: a slanting cut through the east side.
    for x in range(int(middle) + 1, wide):
        canvas.box((x, high + 4 - (x - int(middle)) // 2 - draw.whole(0, 2), 1), (x, 40, 5), None)
    for _ in range(6 * high):
        x, y, z = draw.whole(0, wide - 1), draw.whole(1, high + span), draw.whole(2, 4)
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
    return canvas


@design("ruins", "hard")
def abbey(draw: Draw) -> Canvas:
    """The walls of a nave whose roof is gone, columns, an apse wall with a round window."""
    stone = draw.pick(("stone_bricks", "sandstone", "deepslate_bricks"))
    old, mossy = {
        "stone_bricks": ("cracked_stone_bricks", "mossy_stone_bricks"),
        "sandstone": ("cut_sandstone", "smooth_sandstone"),
        "deepslate_bricks": ("cracked_deepslate_bricks", "cobbled_deepslate"),
    }[stone]
    long, wide, high = draw.odd(29, 33), draw.odd(15, 17), draw.whole(10, 12)
    far, side, middle = long - 1, wide - 1, wide // 2
    canvas = Canvas(
        f"ruined {said(stone).removesuffix('s')} abbey",
        f"A ruined abbey of {said(stone)} without a roof, overgrown with moss.",
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
    canvas.box((far, 1, middle - 1), (far, 4, middle + 1), None)
    canvas.part("a doorway at the east end", 1, 4)
    for x in range(5, far - 2, 5):
        for z in (4, side - 4):
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
    return canvas
