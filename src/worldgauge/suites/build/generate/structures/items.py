"""Things of the household and of stories, mostly larger than they should be."""

from __future__ import annotations

from worldgauge.suites.build.generate.structures.brush import Canvas, Draw
from worldgauge.suites.build.generate.structures.designs import COLOURS, WOODS, design, said


@design("items", "easy")
def table(draw: Draw) -> Canvas:
    """A table with a chair at either end and a pot of flowers."""
    wood, seat = draw.two(WOODS)
    long, deep = draw.whole(3, 4), draw.whole(1, 2)
    canvas = Canvas(f"{said(wood)} dining table", f"A {said(wood)} table with a {said(seat)} chair at either end.")
    for x in (0, long - 1):
        for z in (0, deep):
            canvas.put(x, 0, z, f"{wood}_fence")
    canvas.part("four legs of fence", 0, 0)
    canvas.box((0, 1, 0), (long - 1, 1, deep), f"{wood}_slab[type=top]")
    canvas.part("a table top of slabs", 1, 1)
    canvas.put(-1, 0, deep // 2, f"{seat}_stairs[facing=west]")
    canvas.put(long, 0, deep // 2, f"{seat}_stairs[facing=east]")
    canvas.part("a chair of stairs at the east and the west end", 0, 0)
    plant = draw.pick(("potted_poppy", "potted_dandelion", "potted_cactus", "potted_fern", "cake", "lantern"))
    canvas.put(draw.whole(0, long - 1), 2, draw.whole(0, deep), plant)
    canvas.part(f"a {said(plant)} on the table", 2, 2)
    return canvas


@design("items", "medium")
def potion(draw: Draw) -> Canvas:
    """A round bottle half full of something, with a neck and a cork."""
    colour = draw.pick(("red", "blue", "lime", "purple", "orange", "pink", "cyan"))
    radius = draw.whole(4, 5)
    canvas = Canvas(f"{said(colour)} potion bottle", f"A round glass bottle with a {said(colour)} potion inside.")
    middle = (0, radius, 0)
    level = radius + draw.whole(-1, 1)
    canvas.ball(middle, (radius - 0.8,) * 3, f"{colour}_{draw.pick(('concrete', 'wool', 'glazed_terracotta'))}")
    canvas.box((-radius, level + 1, -radius), (radius, 2 * radius, radius), None)
    canvas.ball(middle, (radius + 0.3,) * 3, "glass", hollow=True)
    canvas.part("a round belly of glass", 0, 2 * radius)
    canvas.part(f"a {said(colour)} potion inside it", 1, level)
    neck = 2 * radius
    canvas.box((-1, neck, -1), (1, neck, 1), None)
    canvas.disc((0, 0), 2.3, neck, neck + 2, "glass", hollow=True)
    canvas.part("a neck of glass", neck, neck + 2)
    canvas.disc((0, 0), 2.9, neck + 3, neck + 3, "white_stained_glass")
    canvas.disc((0, 0), 1.5, neck + 2, neck + 4, draw.pick(("stripped_oak_wood", "stripped_spruce_wood")))
    canvas.part("a cork of stripped wood", neck + 2, neck + 4)
    return canvas


@design("items", "hard")
def sword(draw: Draw) -> Canvas:
    """A giant's sword that stands in a mound of stone."""
    blade, edge = {
        "diamond": ("diamond_block", "light_blue_concrete"),
        "iron": ("iron_block", "light_gray_concrete"),
        "gold": ("gold_block", "yellow_concrete"),
        "emerald": ("emerald_block", "lime_concrete"),
    }[metal := draw.pick(("diamond", "iron", "gold", "emerald"))]
    grip = draw.pick(("dark_oak", "spruce", "crimson", "mangrove"))
    wood = f"{grip}_planks"
    long, mound = draw.whole(20, 24), draw.whole(9, 10)
    canvas = Canvas(f"giant {metal} sword", f"A giant {metal} sword that stands upright in a mound of stone.")
    canvas.ball((0, 0, 0), (mound, 5.2, mound), "stone")
    canvas.box((-mound, -6, -mound), (mound, -1, mound), None)
    for _ in range(90):
        x, z = draw.whole(-mound, mound), draw.whole(-mound, mound)
        reach = 1 - (x * x + z * z) / mound**2
        if reach > 0:
            canvas.put(x, int(5.2 * reach**0.5), z, draw.pick(("andesite", "cobblestone", "mossy_cobblestone")))
    canvas.part("a mound of stone", 0, 5)
    foot = 3
    canvas.box((-2, foot, 0), (2, foot + long, 0), edge)
    canvas.box((-1, foot, -1), (1, foot + long, 1), blade)
    canvas.box((0, foot + 2, -1), (0, foot + long - 2, 1), edge)
    canvas.part("a straight blade with its point in the stone", 5, foot + long)
    guard = foot + long + 1
    canvas.box((-6, guard, -1), (6, guard + 1, 1), "gold_block")
    for x in (-6, 6):
        canvas.box((x, guard + 2, -1), (x, guard + 2, 1), "gold_block")
    canvas.put(0, guard, 2, "redstone_block")
    canvas.put(0, guard, -2, "redstone_block")
    canvas.part("a golden cross guard with red gems", guard, guard + 2)
    canvas.box((-1, guard + 2, -1), (1, guard + 7, 1), wood)
    for y in (guard + 3, guard + 5):
        canvas.walls((-1, y, -1), (1, y, 1), "gray_wool")
    canvas.part("a grip of planks", guard + 2, guard + 7)
    canvas.ball((0, guard + 9, 0), (2.3, 2.3, 2.3), "gold_block")
    canvas.part("a round golden pommel", guard + 7, guard + 11)
    return canvas


@design("others", "easy")
def gift_box(draw: Draw) -> Canvas:
    """A box with a ribbon both ways and a bow."""
    paper, ribbon = draw.two(COLOURS)
    cloth = draw.pick(("wool", "concrete"))
    wide, deep = draw.whole(3, 4), 3
    high = 2 if wide == 4 else draw.whole(2, 3)
    canvas = Canvas(f"{said(paper)} gift box", f"A {said(paper)} gift box with a {said(ribbon)} ribbon.")
    canvas.box((0, 0, 0), (wide - 1, high - 1, deep - 1), f"{paper}_{cloth}")
    if high == 3:
        canvas.put(1, 1, 1, None)
    canvas.walls((wide // 2, 0, 0), (wide // 2, high - 1, deep - 1), f"{ribbon}_{cloth}")
    canvas.box((0, high - 1, 1), (wide - 1, high - 1, 1), f"{ribbon}_{cloth}")
    for x in (0, wide - 1):
        canvas.box((x, 0, 1), (x, high - 1, 1), f"{ribbon}_{cloth}")
    if high == 3:
        canvas.put(1, 1, 1, None)
    canvas.part("a box with a ribbon that crosses on its top", 0, high - 1)
    canvas.put(wide // 2, high, 1, f"{ribbon}_{draw.pick(('carpet', 'wool'))}")
    canvas.part("a bow on top", high, high)
    return canvas


@design("others", "medium")
def mushroom_house(draw: Draw) -> Canvas:
    """A home in the stem of a giant mushroom."""
    cap = draw.pick(("red", "brown", "purple", "orange"))
    radius, stem = draw.whole(5, 7), draw.whole(6, 8)
    wood = draw.pick(WOODS)
    canvas = Canvas(f"{cap} mushroom house", f"A house in the stem of a giant {cap} mushroom.")
    skin = f"{cap}_mushroom_block" if cap in ("red", "brown") else f"{cap}_wool"
    canvas.ball((0, stem + 1, 0), (radius + 0.2, radius * 0.7, radius + 0.2), skin, hollow=True)
    canvas.box((-radius, stem - radius, -radius), (radius, stem, radius), None)
    canvas.disc((0, 0), radius - 0.5, stem + 1, stem + 1, "white_wool")
    canvas.disc((0, 0), radius + 0.2, stem + 1, stem + 1, skin, hollow=True)
    top = canvas.top()
    for x, z in ((0, 0), (radius - 3, 1), (-radius + 3, -1), (1, radius - 2), (-2, -radius + 3), (radius - 2, -2)):
        for at in ((x, z), (x + 1, z)):
            spot = next(y for y in range(top, stem, -1) if canvas.holds(at[0], y, at[1]))
            canvas.put(at[0], spot, at[1], "white_wool")
    canvas.part("a round cap with white spots", stem + 1, top)
    canvas.disc((0, 0), 5.2, 0, 0, "podzol")
    canvas.part("a round floor of podzol", 0, 0)
    canvas.disc((0, 0), 3.3, 1, stem, "mushroom_stem", hollow=True)
    canvas.door(0, 1, 3, wood)
    canvas.part("a round stem with a door on the south side", 1, stem)
    for y in (2, stem - 2):
        for x, z in ((-3, 0), (3, 0), (0, -3)):
            canvas.put(x, y, z, "glass_pane")
    canvas.part("windows in the stem", 2, stem - 2)
    return canvas


@design("others", "hard")
def windmill(draw: Draw) -> Canvas:
    """A tower that grows narrower, a cap, four sails on the south side."""
    wood, trim = draw.two(WOODS)
    stone = draw.pick(("cobblestone", "stone_bricks", "bricks"))
    cloth = draw.pick(("white_wool", "light_gray_wool", "red_wool"))
    high = draw.whole(16, 18)
    canvas = Canvas(f"{said(wood)} windmill", f"A windmill of {said(wood)} with four sails.")
    canvas.disc((0, 0), 7.3, 0, 0, "grass_block")
    canvas.disc((0, 0), 6.3, 0, 4, stone, hollow=True)
    canvas.disc((0, 0), 5.9, 0, 0, f"{trim}_planks")
    for step in range(5, high):
        canvas.disc((0, 0), 6.2 - (step - 4) * 0.16, step, step, f"{wood}_planks", hollow=True)
    canvas.part("a round foot of stone", 0, 4)
    canvas.part("a round tower that grows narrower", 5, high - 1)
    for z in (6, 5):
        canvas.box((0, 1, z), (0, 2, z), None)
    canvas.box((-1, 1, 6), (1, 3, 6), stone)
    canvas.door(0, 1, 6, trim)
    canvas.part("a door on the south side", 1, 2)
    for y in (6, 10):
        for x, z in ((5, 0), (-5, 0), (0, -5)):
            for out in (0, 1):
                at = (x + (x > 0) * out - (x < 0) * out, z - (z < 0) * out)
                if canvas.holds(at[0], y, at[1]):
                    canvas.box((at[0], y, at[1]), (at[0], y + 1, at[1]), "glass_pane")
    canvas.part("windows in the tower", 6, 11)
    for step in range(5):
        canvas.disc((0, 0), 5.3 - step * 1.1, high + step, high + step, f"{trim}_planks")
    canvas.part("a pointed cap of planks", high, high + 4)
    hub, front = high - 2, 7
    canvas.box((0, hub, 3), (0, hub, front), f"{trim}_log[axis=z]")
    reach = hub - 3
    for along, up in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        for step in range(1, reach):
            x, y = along * step, hub + up * step
            canvas.put(x, y, front, f"{trim}_fence")
            if step > 2:
                # Each sail lies on the same hand of its arm, as if all of them turned.
                for broad in (1, 2, 3):
                    canvas.put(x - up * broad, y + along * broad, front, cloth)
    canvas.part("four sails of wool on arms of fence before the south side", hub - reach + 1, hub + reach - 1)
    return canvas
