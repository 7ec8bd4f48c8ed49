"""Things of the household and of stories, mostly larger than they should be."""

from __future__ import annotations

from worldgauge.suites.build.generate.structures.brush import Draw, Sketch
from worldgauge.suites.build.generate.structures.designs import COLOURS, WOODS, design, said


@design("items", "easy")
def table(draw: Draw) -> Sketch:
    """A table with a chair at either end and a pot of flowers."""
    wood, seat = draw.two(WOODS)
    long, deep = draw.whole(3, 4), draw.whole(1, 2)
    sketch = Sketch(f"{said(wood)} dining table", f"A {said(wood)} table with a {said(seat)} chair at either end.")
    for x in (0, long - 1):
        for z in (0, deep):
            sketch.put(x, 0, z, f"{wood}_fence")
    sketch.part("four legs of fence", 0, 0)
    sketch.box((0, 1, 0), (long - 1, 1, deep), f"{wood}_slab[type=top]")
    sketch.part("a table top of slabs", 1, 1)
    sketch.put(-1, 0, deep // 2, f"{seat}_stairs[facing=west]")
    sketch.put(long, 0, deep // 2, f"{seat}_stairs[facing=east]")
    sketch.part("a chair of stairs at the east and the west end", 0, 0)
    plant = draw.pick(("potted_poppy", "potted_dandelion", "potted_cactus", "potted_fern", "cake", "lantern"))
    sketch.put(draw.whole(0, long - 1), 2, draw.whole(0, deep), plant)
    sketch.part(f"a {said(plant)} on the table", 2, 2)
    return sketch


@design("items", "medium")
def potion(draw: Draw) -> Sketch:
    """A round bottle half full of something, with a neck and a cork."""
    colour = draw.pick(("red", "blue", "lime", "purple", "orange", "pink", "cyan"))
    radius = draw.whole(4, 5)
    sketch = Sketch(f"{said(colour)} potion bottle", f"A round glass bottle with a {said(colour)} potion inside.")
    middle = (0, radius, 0)
    level = radius + draw.whole(-1, 1)
    sketch.ball(middle, (radius - 0.8,) * 3, f"{colour}_{draw.pick(('concrete', 'wool', 'glazed_terracotta'))}")
    sketch.box((-radius, level + 1, -radius), (radius, 2 * radius, radius), None)
    sketch.ball(middle, (radius + 0.3,) * 3, "glass", hollow=True)
    sketch.part("a round belly of glass", 0, 2 * radius)
    sketch.part(f"a {said(colour)} potion inside it", 1, level)
    neck = 2 * radius
    sketch.box((-1, neck, -1), (1, neck, 1), None)
    sketch.disc((0, 0), 2.3, neck, neck + 2, "glass", hollow=True)
    sketch.part("a neck of glass", neck, neck + 2)
    sketch.disc((0, 0), 2.9, neck + 3, neck + 3, "white_stained_glass")
    sketch.disc((0, 0), 1.5, neck + 2, neck + 4, draw.pick(("stripped_oak_wood", "stripped_spruce_wood")))
    sketch.part("a cork of stripped wood", neck + 2, neck + 4)
    return sketch


@design("items", "hard")
def sword(draw: Draw) -> Sketch:
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
    sketch = Sketch(f"giant {metal} sword", f"A giant {metal} sword that stands upright in a mound of stone.")
    sketch.ball((0, 0, 0), (mound, 5.2, mound), "stone")
    sketch.box((-mound, -6, -mound), (mound, -1, mound), None)
    for _ in range(90):
        x, z = draw.whole(-mound, mound), draw.whole(-mound, mound)
        reach = 1 - (x * x + z * z) / mound**2
        if reach > 0:
            sketch.put(x, int(5.2 * reach**0.5), z, draw.pick(("andesite", "cobblestone", "mossy_cobblestone")))
    sketch.part("a mound of stone", 0, 5)
    foot = 3
    sketch.box((-2, foot, 0), (2, foot + long, 0), edge)
    sketch.box((-1, foot, -1), (1, foot + long, 1), blade)
    sketch.box((0, foot + 2, -1), (0, foot + long - 2, 1), edge)
    sketch.part("a straight blade with its point in the stone", 5, foot + long)
    guard = foot + long + 1
    sketch.box((-6, guard, -1), (6, guard + 1, 1), "gold_block")
    for x in (-6, 6):
        sketch.box((x, guard + 2, -1), (x, guard + 2, 1), "gold_block")
    sketch.put(0, guard, 2, "redstone_block")
    sketch.put(0, guard, -2, "redstone_block")
    sketch.part("a golden cross guard with red gems", guard, guard + 2)
    sketch.box((-1, guard + 2, -1), (1, guard + 7, 1), wood)
    for y in (guard + 3, guard + 5):
        sketch.walls((-1, y, -1), (1, y, 1), "gray_wool")
    sketch.part("a grip of planks", guard + 2, guard + 7)
    sketch.ball((0, guard + 9, 0), (2.3, 2.3, 2.3), "gold_block")
    sketch.part("a round golden pommel", guard + 7, guard + 11)
    return sketch


@design("others", "easy")
def gift_box(draw: Draw) -> Sketch:
    """A box with a ribbon both ways and a bow."""
    paper, ribbon = draw.two(COLOURS)
    cloth = draw.pick(("wool", "concrete"))
    wide, deep = draw.whole(3, 4), 3
    high = 2 if wide == 4 else draw.whole(2, 3)
    sketch = Sketch(f"{said(paper)} gift box", f"A {said(paper)} gift box with a {said(ribbon)} ribbon.")
    sketch.box((0, 0, 0), (wide - 1, high - 1, deep - 1), f"{paper}_{cloth}")
    if high == 3:
        sketch.put(1, 1, 1, None)
    sketch.walls((wide // 2, 0, 0), (wide // 2, high - 1, deep - 1), f"{ribbon}_{cloth}")
    sketch.box((0, high - 1, 1), (wide - 1, high - 1, 1), f"{ribbon}_{cloth}")
    for x in (0, wide - 1):
        sketch.box((x, 0, 1), (x, high - 1, 1), f"{ribbon}_{cloth}")
    if high == 3:
        sketch.put(1, 1, 1, None)
    sketch.part("a box with a ribbon that crosses on its top", 0, high - 1)
    sketch.put(wide // 2, high, 1, f"{ribbon}_{draw.pick(('carpet', 'wool'))}")
    sketch.part("a bow on top", high, high)
    return sketch


@design("others", "medium")
def mushroom_house(draw: Draw) -> Sketch:
    """A home in the stem of a giant mushroom."""
    cap = draw.pick(("red", "brown", "purple", "orange"))
    radius, stem = draw.whole(5, 7), draw.whole(6, 8)
    wood = draw.pick(WOODS)
    sketch = Sketch(f"{cap} mushroom house", f"A house in the stem of a giant {cap} mushroom.")
    skin = f"{cap}_mushroom_block" if cap in ("red", "brown") else f"{cap}_wool"
    sketch.ball((0, stem + 1, 0), (radius + 0.2, radius * 0.7, radius + 0.2), skin, hollow=True)
    sketch.box((-radius, stem - radius, -radius), (radius, stem, radius), None)
    sketch.disc((0, 0), radius - 0.5, stem + 1, stem + 1, "white_wool")
    sketch.disc((0, 0), radius + 0.2, stem + 1, stem + 1, skin, hollow=True)
    top = sketch.top()
    for x, z in ((0, 0), (radius - 3, 1), (-radius + 3, -1), (1, radius - 2), (-2, -radius + 3), (radius - 2, -2)):
        for at in ((x, z), (x + 1, z)):
            spot = next(y for y in range(top, stem, -1) if sketch.holds(at[0], y, at[1]))
            sketch.put(at[0], spot, at[1], "white_wool")
    sketch.part("a round cap with white spots", stem + 1, top)
    sketch.disc((0, 0), 5.2, 0, 0, "podzol")
    sketch.part("a round floor of podzol", 0, 0)
    sketch.disc((0, 0), 3.3, 1, stem, "mushroom_stem", hollow=True)
    sketch.door(0, 1, 3, wood)
    sketch.part("a round stem with a door on the south side", 1, stem)
    for y in (2, stem - 2):
        for x, z in ((-3, 0), (3, 0), (0, -3)):
            sketch.put(x, y, z, "glass_pane")
    sketch.part("windows in the stem", 2, stem - 2)
    return sketch


@design("others", "hard")
def windmill(draw: Draw) -> Sketch:
    """A tower that grows narrower, a cap, four sails on the south side."""
    wood, trim = draw.two(WOODS)
    stone = draw.pick(("cobblestone", "stone_bricks", "bricks"))
    cloth = draw.pick(("white_wool", "light_gray_wool", "red_wool"))
    high = draw.whole(16, 18)
    sketch = Sketch(f"{said(wood)} windmill", f"A windmill of {said(wood)} with four sails.")
    sketch.disc((0, 0), 7.3, 0, 0, "grass_block")
    sketch.disc((0, 0), 6.3, 0, 4, stone, hollow=True)
    sketch.disc((0, 0), 5.9, 0, 0, f"{trim}_planks")
    for step in range(5, high):
        sketch.disc((0, 0), 6.2 - (step - 4) * 0.16, step, step, f"{wood}_planks", hollow=True)
    sketch.part("a round foot of stone", 0, 4)
    sketch.part("a round tower that grows narrower", 5, high - 1)
    for z in (6, 5):
        sketch.box((0, 1, z), (0, 2, z), None)
    sketch.box((-1, 1, 6), (1, 3, 6), stone)
    sketch.door(0, 1, 6, trim)
    sketch.part("a door on the south side", 1, 2)
    for y in (6, 10):
        for x, z in ((5, 0), (-5, 0), (0, -5)):
            for out in (0, 1):
                at = (x + (x > 0) * out - (x < 0) * out, z - (z < 0) * out)
                if sketch.holds(at[0], y, at[1]):
                    sketch.box((at[0], y, at[1]), (at[0], y + 1, at[1]), "glass_pane")
    sketch.part("windows in the tower", 6, 11)
    for step in range(5):
        sketch.disc((0, 0), 5.3 - step * 1.1, high + step, high + step, f"{trim}_planks")
    sketch.part("a pointed cap of planks", high, high + 4)
    hub, front = high - 2, 7
    sketch.box((0, hub, 3), (0, hub, front), f"{trim}_log[axis=z]")
    reach = hub - 3
    for along, up in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        for step in range(1, reach):
            x, y = along * step, hub + up * step
            sketch.put(x, y, front, f"{trim}_fence")
            if step > 2:
                # Each sail lies on the same hand of its arm, as if all of them turned.
                for broad in (1, 2, 3):
                    sketch.put(x - up * broad, y + along * broad, front, cloth)
    sketch.part("four sails of wool on arms of fence before the south side", hub - reach + 1, hub + reach - 1)
    return sketch
