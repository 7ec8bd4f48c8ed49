"""Animals and beings of stories, things of the household, what belongs to films or fits nowhere else."""

from __future__ import annotations

import math
from itertools import product

from worldgauge.suites.mineanybuild.generate.structure_brush import (
    BRIGHT,
    COLOURS,
    MASONRY,
    WOODS,
    BlockCanvas,
    Draw,
    design,
    plain,
    span,
)


@design("animals", "easy")
def _duck(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(("yellow", "white", "lime", "pink", "light_blue"))
    cloth = draw.pick(("wool", "concrete"))
    body, beak = f"{colour}_{cloth}", f"orange_{cloth}"
    canvas.title(f"{plain(colour)} duck", f"A little {plain(colour)} duck with an orange beak.")
    long = draw.whole(3, 4)
    canvas.box((0, 0, 0), (long - 1, 0, 1), body)
    canvas.box((0, 1, 0), (0, 1, 1), body)
    canvas.part("a body with a raised tail", 0, 1)
    canvas.box((long - 1, 1, 0), (long - 1, 2, 1), body, part="a head at the east end")
    canvas.box((long, 1, 0), (long, 1, 1), beak, part="a beak")
    canvas.put(long - 1, 2, -1, "polished_blackstone_button[face=wall,facing=north]")
    canvas.put(long - 1, 2, 2, "polished_blackstone_button[face=wall,facing=south]", part="two buttons for eyes")


@design("animals", "medium")
def _farm_animal(draw: Draw, canvas: BlockCanvas) -> None:
    kind = draw.pick(("pig", "cow", "sheep"))
    coat, skin, spot = {
        "pig": ("pink_concrete", "pink_concrete", "pink_terracotta"),
        "cow": ("brown_terracotta", "brown_terracotta", "white_concrete"),
        "sheep": (f"{draw.pick(('white', 'light_gray', 'black', 'brown'))}_wool", "white_terracotta", "white_wool"),
    }[kind]
    long, legs = draw.whole(9, 11), draw.whole(2, 4)
    canvas.title(kind, f"A {kind} on four legs.")
    for x, z in product((1, long - 3), (0, 4)):
        canvas.box((x, 0, z), (x + 1, legs - 1, z + 1), skin)
        canvas.box((x, 0, z), (x + 1, 0, z + 1), {"cow": "black_concrete"}.get(kind, spot))
    canvas.part("four legs", 0, legs - 1)
    top = legs + 3
    canvas.box((0, legs, 0), (long - 1, top, 5), coat)
    if kind == "sheep":
        canvas.box((0, top + 1, 1), (long - 1, top + 1, 4), coat)
        canvas.box((-1, legs + 1, 1), (-1, top, 4), coat)
    if kind == "cow":
        for _ in range(5):
            x, y = draw.whole(1, long - 3), draw.whole(legs, top - 1)
            z = 0 if draw.chance(0.5) else 5
            canvas.box((x, y, z), (x + 1, y + 1, z), spot)
        canvas.box((long - 5, legs - 1, 2), (long - 4, legs - 1, 3), "pink_concrete")
    if kind == "pig":
        canvas.put(-1, top - 1, 2, spot)
        canvas.put(-1, top, 3, spot)
    canvas.part("a body like a box", legs, top)
    head = legs + 2
    canvas.box((long, head, 1), (long + 2, head + 3, 4), skin)
    if kind == "sheep":
        canvas.put(span(long, long + 1), (head + 3, head + 4), span(1, 4), coat)
    for z, out in ((1, 2), (4, 3)):
        canvas.put(long + 2, head + 2, z, "black_concrete")
        canvas.put(long + 2, head + 2, out, "white_concrete")
    canvas.part("a head with eyes at the east end", head, head + 3)
    canvas.box((long + 3, head, 2), (long + 3, head + 1, 3), spot if kind != "sheep" else "pink_terracotta")
    canvas.part("a snout", head, head + 1)
    if kind == "cow":
        canvas.put(long + 1, (head + 3, head + 4), (0, 5), "bone_block")
        canvas.part("two horns", head + 3, head + 4)
    else:
        canvas.put(long + 1, head + 2, (0, 5), skin, part="two ears")


@design("animals", "hard")
def _giraffe(draw: Draw, canvas: BlockCanvas) -> None:
    coat, spot = draw.pick(("yellow_terracotta", "yellow_concrete", "sandstone")), "brown_terracotta"
    legs, neck, long = draw.whole(8, 10), draw.whole(9, 12), draw.whole(14, 17)
    canvas.title("giraffe", "A giraffe with long legs, a spotted coat and a long neck.")
    for x, z in product((0, long - 2), (0, 5)):
        canvas.box((x, 0, z), (x + 1, legs, z + 1), coat)
        canvas.box((x, 0, z), (x + 1, 0, z + 1), "brown_concrete")
    canvas.part("four long legs with brown hooves", 0, legs - 1)
    canvas.box((0, legs, 0), (long - 1, legs + 5, 6), coat)
    canvas.corners((0, legs + 5, 0), (long - 1, legs + 5, 6), None)
    canvas.part("a body like a box", legs, legs + 5)
    canvas.line((-1, legs + 4, 3), (-2, legs - 1, 3), coat)
    canvas.put(-2, legs - 2, 3, "brown_wool")
    top = legs + 5 + neck
    for step in range(neck + 4):
        x, y = long - 3 + step // 4, legs + 2 + step
        canvas.box((x, y, 2), (x + 2, y, 4), coat)
        canvas.put(x - 1, y, 3, spot)
    front = long - 3 + (neck + 3) // 4
    canvas.part("a long neck that leans to the east", legs + 6, top)
    for at in range(3 * long):
        x, y, side = draw.whole(1, long - 3), draw.whole(legs + 1, legs + 3), at % 2 * 6
        if (x + 2 * y) % 4 == at % 4:
            canvas.box((x, y, side), (x + 1, y + at % 2, side), spot)
    for x in range(1, long - 4, 3):
        canvas.box((x, legs + 5, 2 + x % 3), (x + 1, legs + 5, 3 + x % 3), spot)
    for y, z in product(range(legs + 6, top, 3), (2, 4)):
        canvas.put(long - 2 + (y - legs - 2) // 4, y, z, spot)
    canvas.box((front, top, 1), (front + 5, top + 3, 5), coat)
    canvas.box((front + 6, top, 2), (front + 7, top + 1, 4), "white_terracotta")
    for z in (1, 5):
        canvas.put(front + 4, top + 2, z, "black_concrete")
        canvas.put(front + 1, top + 3, z - 1 if z == 1 else z + 1, coat)
        canvas.box((front + 1, top + 4, 2 if z == 1 else 4), (front + 1, top + 5, 2 if z == 1 else 4), spot)
    canvas.part("a head with ears and a pale muzzle", top, top + 3)
    canvas.part("two short horns", top + 4, top + 5)


@design("fictional_characters", "easy")
def _snowman(draw: Draw, canvas: BlockCanvas) -> None:
    wood, hat = draw.pick(("oak", "spruce", "dark_oak")), draw.pick(("black", "red", "brown", "blue"))
    snow = draw.pick(("snow_block", "white_wool", "white_concrete"))
    canvas.title("snow guard", f"A snow guard with a carved pumpkin for a head and a {hat} hat.")
    canvas.box((0, 0, 0), (2, 0, 2), snow, part="a broad foot of snow")
    canvas.box((0, 1, 1), (2, 1, 1), snow)
    canvas.box((1, 1, 0), (1, 1, 2), snow)
    canvas.put(1, 2, 1, snow)
    canvas.put((0, 2), 2, 1, f"{wood}_fence", part="two arms of fence")
    canvas.put(1, 3, 1, "carved_pumpkin[facing=south]", part="a carved pumpkin for a head that looks south")
    canvas.put(1, 4, 1, f"{hat}_carpet", part="a hat of carpet")


@design("fictional_characters", "medium")
def _robot(draw: Draw, canvas: BlockCanvas) -> None:
    metal = draw.pick(("iron_block", "light_gray_concrete", "waxed_copper_block", "cyan_terracotta"))
    colour = draw.pick(COLOURS[1:])
    legs, chest = draw.whole(3, 5), draw.whole(4, 5)
    canvas.title(f"{plain(colour)} robot", f"A robot with {plain(colour)} arms, glowing eyes and antennae.")
    for z in (1, 5):
        canvas.box((0, 0, z), (3, 0, z + 1), "gray_concrete")
        canvas.box((0, 1, z), (1, legs - 1, z + 1), metal)
    canvas.part("two legs on broad feet", 0, legs - 1)
    top = legs + chest
    canvas.box((0, legs, 1), (2, top - 1, 6), metal)
    canvas.box((2, legs + 1, 3), (2, legs + 2, 4), "redstone_lamp[lit=true]")
    canvas.box((2, top - 1, 2), (2, top - 1, 5), f"{colour}_concrete")
    canvas.part("a trunk with lamps on its east side", legs, top - 1)
    canvas.put(span(0, 1), span(top - 4, top - 1), (0, 7), f"{colour}_concrete")
    canvas.put(span(1, 2), top - 5, (0, 7), "gray_concrete")
    canvas.part("an arm on each side", top - 5, top - 1)
    canvas.box((0, top, 2), (2, top + 3, 5), metal)
    canvas.put(2, top + 2, (2, 5), "sea_lantern")
    canvas.box((2, top, 3), (2, top, 4), "black_concrete")
    canvas.part("a head with two glowing eyes and a mouth", top, top + 3)
    canvas.put(1, top + 4, (2, 5), "end_rod[facing=up]", part="two antennae")


@design("fictional_characters", "hard")
def _dragon(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(("red", "green", "purple", "blue", "black", "cyan"))
    belly = draw.pick(("yellow_terracotta", "sandstone", "orange_terracotta"))
    other = draw.pick([name for name in ("orange", "yellow", "light_blue", "lime", "magenta") if name != colour])
    skin, wing = f"{colour}_concrete", f"{other}_wool"
    wingspan = draw.whole(14, 17)
    canvas.title(f"{colour} dragon", f"A {colour} dragon with spread {plain(other)} wings, a long tail and two horns.")
    for x, z in product((5, 13), (-3, 3)):
        canvas.box((x, 0, z - 1), (x + 1, 4, z), skin)
        canvas.box((x, 0, z - 1), (x + 2, 0, z), "gray_concrete")
    canvas.part("four legs with grey claws", 0, 3)
    canvas.ball((10, 6, -0.5), (8, 3.6, 3.6), skin)
    canvas.ball((10, 4, -0.5), (6, 1.4, 2.2), belly)
    canvas.part("a long round body with a pale belly", 3, 9)
    for step in range(15):
        x, y = 3 - step, 6 - step // 3
        width = 1 if step < 6 else 0
        canvas.box((x, y, -1 - width), (x, y + 1 + width, width), skin)
        if step % 3 == 0:
            canvas.put(x, y + 2 + width, 0, belly)
    canvas.box((-13, 1, -2), (-13, 3, 1), "gray_concrete")
    canvas.part("a tail that falls to the west", 2, 8)
    for step in range(9):
        x, y = 16 + step // 2, 7 + step
        canvas.box((x, y, -2), (x + 2, y + 1, 1), skin)
        canvas.box((x + 2, y, -1), (x + 2, y, 0), belly)
        if step % 2:
            canvas.put(x - 1, y + 1, 0, belly)
    canvas.part("a neck that rises to the east", 8, 15)
    canvas.box((19, 15, -3), (23, 18, 2), skin)
    canvas.box((24, 15, -2), (27, 16, 1), skin)
    canvas.box((24, 14, -2), (26, 14, 1), belly)
    for z in (-3, 2):
        canvas.put(22, 17, z, "glowstone")
        canvas.line((19, 19, z), (17, 21, z), "bone_block")
    canvas.put(27, 15, (-2, 1), "bone_block")
    canvas.put(27, 16, (-2, 1), "black_concrete")
    canvas.part("a head with glowing eyes and a snout", 14, 18)
    canvas.part("two horns", 19, 21)
    for reach in range(wingspan):
        y = 9 + reach // 4
        lead = 15 - reach // 3
        # Points between fingers hang back, so that the edge looks torn.
        trail = 4 + reach // 3 + (0, 1, 2, 1)[reach % 4]
        for z in (3 + reach, -4 - reach):
            canvas.box((trail, y, z), (lead, y, z), wing)
            canvas.box((lead, y, z), (lead + 1, y, z), skin)
            if reach % 6 == 5:
                canvas.box((trail, y, z), (lead, y, z), skin)
    canvas.put(span(8, 14), span(8, 9), (2, -3), skin)
    canvas.part("two spread wings of wool", 9, 9 + (wingspan - 1) // 4)
    canvas.drop_loose()


@design("items", "easy")
def _table(draw: Draw, canvas: BlockCanvas) -> None:
    wood, seat = draw.two(WOODS)
    long, deep = draw.whole(3, 4), draw.whole(1, 2)
    canvas.title(f"{plain(wood)} dining table", f"A {plain(wood)} table with a {plain(seat)} chair at either end.")
    canvas.put((0, long - 1), 0, (0, deep), f"{wood}_fence", part="four legs of fence")
    canvas.box((0, 1, 0), (long - 1, 1, deep), f"{wood}_slab[type=top]", part="a table top of slabs")
    canvas.put(-1, 0, deep // 2, f"{seat}_stairs[facing=west]")
    canvas.put(long, 0, deep // 2, f"{seat}_stairs[facing=east]")
    canvas.part("a chair of stairs at the east and the west end", 0, 0)
    plant = draw.pick(("potted_poppy", "potted_dandelion", "potted_cactus", "potted_fern", "cake", "lantern"))
    canvas.put(draw.whole(0, long - 1), 2, draw.whole(0, deep), plant, part=f"a {plain(plant)} on the table")


@design("items", "medium")
def _potion(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(("red", "blue", "lime", "purple", "orange", "pink", "cyan"))
    radius = draw.whole(4, 5)
    canvas.title(f"{plain(colour)} potion bottle", f"A round glass bottle with a {plain(colour)} potion inside.")
    middle = (0, radius, 0)
    level = radius + draw.whole(-1, 1)
    canvas.ball(middle, (radius - 0.8,) * 3, f"{colour}_{draw.pick(('concrete', 'wool', 'glazed_terracotta'))}")
    canvas.box((-radius, level + 1, -radius), (radius, 2 * radius, radius), None)
    canvas.ball(middle, (radius + 0.3,) * 3, "glass", hollow=True)
    canvas.part("a round belly of glass", 0, 2 * radius)
    canvas.part(f"a {plain(colour)} potion inside it", 1, level)
    neck = 2 * radius
    canvas.box((-1, neck, -1), (1, neck, 1), None)
    canvas.disc((0, 0), 2.3, neck, neck + 2, "glass", hollow=True)
    canvas.part("a neck of glass", neck, neck + 2)
    canvas.disc((0, 0), 2.9, neck + 3, neck + 3, "white_stained_glass")
    canvas.disc((0, 0), 1.5, neck + 2, neck + 4, draw.pick(("stripped_oak_wood", "stripped_spruce_wood")))
    canvas.part("a cork of stripped wood", neck + 2, neck + 4)


@design("items", "hard")
def _sword(draw: Draw, canvas: BlockCanvas) -> None:
    blade, edge = {
        "diamond": ("diamond_block", "light_blue_concrete"),
        "iron": ("iron_block", "light_gray_concrete"),
        "gold": ("gold_block", "yellow_concrete"),
        "emerald": ("emerald_block", "lime_concrete"),
    }[(metal := draw.pick(("diamond", "iron", "gold", "emerald")))]
    grip = draw.pick(("dark_oak", "spruce", "crimson", "mangrove"))
    wood = f"{grip}_planks"
    long, mound = draw.whole(20, 24), draw.whole(9, 10)
    canvas.title(f"giant {metal} sword", f"A giant {metal} sword that stands upright in a mound of stone.")
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
    canvas.put((-6, 6), guard + 2, span(-1, 1), "gold_block")
    canvas.put(0, guard, (2, -2), "redstone_block")
    canvas.part("a golden cross guard with red gems", guard, guard + 2)
    canvas.box((-1, guard + 2, -1), (1, guard + 7, 1), wood)
    for y in (guard + 3, guard + 5):
        canvas.walls((-1, y, -1), (1, y, 1), "gray_wool")
    canvas.part("a grip of planks", guard + 2, guard + 7)
    canvas.ball((0, guard + 9, 0), (2.3, 2.3, 2.3), "gold_block")
    canvas.part("a round golden pommel", guard + 7, guard + 11)


@design("others", "easy")
def _gift_box(draw: Draw, canvas: BlockCanvas) -> None:
    paper, ribbon = draw.two(COLOURS)
    cloth = draw.pick(("wool", "concrete"))
    wide, deep = draw.whole(3, 4), 3
    high = 2 if wide == 4 else draw.whole(2, 3)
    canvas.title(f"{plain(paper)} gift box", f"A {plain(paper)} gift box with a {plain(ribbon)} ribbon.")
    canvas.box((0, 0, 0), (wide - 1, high - 1, deep - 1), f"{paper}_{cloth}")
    if high == 3:
        canvas.put(1, 1, 1, None)
    canvas.walls((wide // 2, 0, 0), (wide // 2, high - 1, deep - 1), f"{ribbon}_{cloth}")
    canvas.box((0, high - 1, 1), (wide - 1, high - 1, 1), f"{ribbon}_{cloth}")
    canvas.put((0, wide - 1), span(0, high - 1), 1, f"{ribbon}_{cloth}")
    if high == 3:
        canvas.put(1, 1, 1, None)
    canvas.part("a box with a ribbon that crosses on its top", 0, high - 1)
    canvas.put(wide // 2, high, 1, f"{ribbon}_{draw.pick(('carpet', 'wool'))}", part="a bow on top")


@design("others", "medium")
def _mushroom_house(draw: Draw, canvas: BlockCanvas) -> None:
    cap = draw.pick(("red", "brown", "purple", "orange"))
    radius, stem = draw.whole(5, 7), draw.whole(6, 8)
    wood = draw.pick(WOODS)
    canvas.title(f"{cap} mushroom house", f"A house in the stem of a giant {cap} mushroom.")
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
    for y, (x, z) in product((2, stem - 2), ((-3, 0), (3, 0), (0, -3))):
        canvas.put(x, y, z, "glass_pane")
    canvas.part("windows in the stem", 2, stem - 2)


@design("others", "hard")
def _windmill(draw: Draw, canvas: BlockCanvas) -> None:
    wood, trim = draw.two(WOODS)
    stone = draw.pick(("cobblestone", "stone_bricks", "bricks"))
    cloth = draw.pick(("white_wool", "light_gray_wool", "red_wool"))
    high = draw.whole(16, 18)
    canvas.title(f"{plain(wood)} windmill", f"A windmill of {plain(wood)} with four sails.")
    canvas.disc((0, 0), 7.3, 0, 0, "grass_block")
    canvas.disc((0, 0), 6.3, 0, 4, stone, hollow=True)
    canvas.disc((0, 0), 5.9, 0, 0, f"{trim}_planks")
    for step in range(5, high):
        canvas.disc((0, 0), 6.2 - (step - 4) * 0.16, step, step, f"{wood}_planks", hollow=True)
    canvas.part("a round foot of stone", 0, 4)
    canvas.part("a round tower that grows narrower", 5, high - 1)
    canvas.put(0, span(1, 2), (6, 5), None)
    canvas.box((-1, 1, 6), (1, 3, 6), stone)
    canvas.door(0, 1, 6, trim)
    canvas.part("a door on the south side", 1, 2)
    for y, (x, z), out in product((6, 10), ((5, 0), (-5, 0), (0, -5)), (0, 1)):
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
    for (along, up), step in product(((1, 0), (-1, 0), (0, 1), (0, -1)), range(1, reach)):
        x, y = along * step, hub + up * step
        canvas.put(x, y, front, f"{trim}_fence")
        if step > 2:
            # Each sail lies on the same hand of its arm, as if all of them turned.
            for broad in (1, 2, 3):
                canvas.put(x - up * broad, y + along * broad, front, cloth)
    canvas.part("four sails of wool on arms of fence before the south side", hub - reach + 1, hub + reach - 1)


@design("miscellaneous", "easy")
def _signpost(draw: Draw, canvas: BlockCanvas) -> None:
    wood = draw.pick(WOODS)
    boards = draw.pick([name for name in WOODS if name != wood])
    canvas.title(f"{plain(wood)} signpost", f"A {plain(wood)} signpost with boards that point three ways.")
    foot = draw.pick(("grass_block", "cobblestone", "podzol", "stone_bricks"))
    canvas.box((1, 0, 0), (3, 0, 2), foot, part="a patch of ground")
    canvas.box((2, 1, 1), (2, 3, 1), f"{wood}_{draw.pick(('log', 'fence'))}", part="a post in its middle")
    ways = [(3, 1), (1, 1), (2, 2), (2, 0)]
    order = draw.rng.permutation(4)
    for y, at in zip((2, 3, 3), order, strict=False):
        x, z = ways[int(at)]
        facing = "south" if z == 1 else "east"
        canvas.put(x, y, z, f"{boards}_trapdoor[facing={facing},half=bottom,open=true]")
    canvas.part("three boards of trapdoor on the post", 2, 3)


@design("miscellaneous", "medium")
def _balloon(draw: Draw, canvas: BlockCanvas) -> None:
    colour, other = draw.two(BRIGHT)
    radius = draw.whole(5, 7)
    canvas.title(
        f"{plain(colour)} hot air balloon", f"A {plain(colour)} and {plain(other)} hot air balloon with a basket."
    )
    canvas.box((-1, 0, -1), (1, 0, 1), "spruce_planks")
    canvas.walls((-1, 1, -1), (1, 1, 1), "stripped_spruce_wood")
    canvas.put(0, 1, 1, None)
    canvas.part("a square basket that is open on the south side", 0, 1)
    canvas.corners((-1, 2, -1), (1, 4, 1), "spruce_fence", part="a rope of fence from each corner")
    canvas.put(0, 3, 0, "campfire[facing=north,lit=true]")
    canvas.box((-1, 4, -1), (1, 4, 1), "spruce_slab[type=top]")
    canvas.put(0, 4, 0, "iron_bars")
    middle = (0, 5 + radius, 0)
    canvas.ball(middle, (radius + 0.3,) * 3, f"{colour}_wool", hollow=True)
    for x in range(-radius, radius + 1):
        for z in range(-radius, radius + 1):
            # Six sectors of each colour, seen from above.
            if int(math.atan2(z, x) % (2 * math.pi) / (math.pi / 6)) % 2:
                for y in range(5, 6 + 2 * radius):
                    if canvas.holds(x, y, z):
                        canvas.put(x, y, z, f"{other}_wool")
    canvas.part("a round hollow balloon in stripes of wool", 5, 5 + 2 * radius)


@design("miscellaneous", "hard")
def _ferris_wheel(draw: Draw, canvas: BlockCanvas) -> None:
    colour, other = draw.two(BRIGHT)
    radius = draw.whole(13, 15)
    canvas.title(f"{plain(colour)} Ferris wheel", f"A {plain(colour)} Ferris wheel with eight cabins.")
    hub = radius + 4
    canvas.box((-radius + 2, 0, -5), (radius - 2, 0, 5), "smooth_stone")
    canvas.walls((-radius + 2, 0, -5), (radius - 2, 0, 5), "polished_andesite", part="a paved platform")
    for z, foot, broad in product((-3, 3), (-8, 8), (0, 1)):
        canvas.line((foot + broad, 1, z), (broad, hub, z), "light_gray_concrete")
    canvas.part("two supports like an upturned V", 1, hub)
    for z in (-1, 1):
        canvas.disc((0, hub), radius + 0.3, z, z, f"{colour}_concrete", hollow=True, axis="z")
        for turn in range(4):
            x = math.cos(turn * math.pi / 4) * (radius - 0.5)
            y = math.sin(turn * math.pi / 4) * (radius - 0.5)
            canvas.line((round(-x), round(hub - y), z), (round(x), round(hub + y), z), "white_concrete")
        canvas.disc((0, hub), 2.3, z, z, f"{other}_concrete", axis="z")
    canvas.box((0, hub, -3), (0, hub, 3), "iron_block")
    canvas.part("a wheel of two rings with eight spokes", hub - radius, hub + radius)
    for turn in range(8):
        x = round(math.cos(turn * math.pi / 4) * radius)
        y = round(hub + math.sin(turn * math.pi / 4) * radius)
        paint = f"{other if turn % 2 else colour}_concrete"
        canvas.put(x, y, 0, "iron_block")
        canvas.box((x - 1, y - 3, -1), (x + 1, y - 3, 1), paint)
        canvas.walls((x - 1, y - 2, -1), (x + 1, y - 2, 1), "light_blue_stained_glass")
        canvas.box((x - 1, y - 1, -1), (x + 1, y - 1, 1), paint)
        canvas.put(x, y - 2, 0, None)
    canvas.part("eight cabins with glass sides", 1, hub + radius - 1)
    canvas.box((-3, 1, 4), (-1, 1, 4), "oak_fence")
    canvas.box((1, 1, 4), (3, 1, 4), "oak_fence")
    canvas.walls((5, 1, 3), (8, 3, 5), "oak_planks")
    canvas.box((6, 2, 5), (7, 2, 5), None)
    canvas.box((5, 4, 3), (8, 4, 5), f"{other}_wool")
    canvas.part("a ticket booth on the south side", 1, 4)


@design("famous_films", "easy")
def _clapperboard(draw: Draw, canvas: BlockCanvas) -> None:
    cloth = draw.pick(("concrete", "wool"))
    wide, high = draw.whole(5, 6), draw.whole(2, 3)
    if wide == 6:
        high = 2
    dark = draw.pick(("black", "gray"))
    canvas.title("film clapperboard", "A film clapperboard with a striped stick that stands open.")
    canvas.box((0, 0, 0), (wide - 1, high - 1, 0), f"{dark}_{cloth}")
    if high == 3 or draw.chance(0.5):
        canvas.box((1, 0, 0), (wide - 2, 0, 0), f"white_{cloth}")
    canvas.part("a dark board", 0, high - 1)
    for x in range(wide):
        canvas.put(x, high, 0, f"{'white' if x % 2 else dark}_{cloth}")
    canvas.part("a striped strip along its top", high, high)
    for x in range(1, wide):
        canvas.put(x, high + 1 + (x > wide // 2), 0, f"{dark if x % 2 else 'white'}_{cloth}")
    canvas.put(0, high + 1, 0, "iron_block")
    canvas.part("a striped stick that rises to the east from a hinge", high + 1, high + 2)


@design("famous_films", "medium")
def _film_camera(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(("black", "gray", "brown", "blue", "red"))
    paint = f"{colour}_concrete"
    legs, radius = draw.whole(5, 7), draw.whole(2, 3)
    canvas.title(f"{colour} film camera", f"A {colour} film camera with two reels on a tripod.")
    for x, z in ((-3, -4), (-3, 4), (6, 0)):
        canvas.line((x, 0, z), (1, legs, 0), "dark_oak_planks" if colour != "brown" else "oak_planks")
        canvas.put(x, 0, z, "iron_block")
    canvas.part("a tripod of planks on iron feet", 0, legs)
    low = legs + 1
    canvas.box((-3, low, -2), (5, low + 4, 2), paint)
    canvas.put(span(-1, 3), span(low + 1, low + 3), (-2, 2), "light_gray_concrete")
    canvas.part("a body like a box with grey sides", low, low + 4)
    canvas.disc((low + 2, 0), 2.3, 6, 7, "gray_concrete" if colour != "gray" else "black_concrete", axis="x")
    canvas.disc((low + 2, 0), 1.5, 8, 8, "light_blue_stained_glass", axis="x")
    canvas.part("a round lens at the east end", low, low + 4)
    canvas.box((-5, low + 3, 0), (-4, low + 3, 0), "black_concrete")
    reel = low + 5 + radius
    for x in (-radius, radius + 2):
        canvas.disc((x, reel), radius + 0.4, -1, 1, "light_gray_concrete", axis="z")
        canvas.disc((x, reel), 1.1, -1, 1, "black_concrete", axis="z")
    canvas.part("two round reels on top", low + 5, reel + radius)


@design("famous_films", "hard")
def _cinema(draw: Draw, canvas: BlockCanvas) -> None:
    stone = MASONRY[draw.pick(("brick", "sandstone", "mud brick", "stone brick"))]
    colour = draw.pick(("red", "blue", "purple", "cyan"))
    wide, deep, high = draw.odd(19, 23), draw.whole(20, 23), draw.whole(10, 12)
    right, back, middle = wide - 1, deep - 1, wide // 2
    canvas.title(f"{stone.words} cinema", f"A {stone.words} cinema with a lit marquee, a tall sign and rows of seats.")
    canvas.box((0, 0, 0), (right, 0, back + 4), "smooth_stone")
    canvas.box((1, 0, 1), (right - 1, 0, back - 1), f"{colour}_terracotta", part="a paved floor")
    canvas.walls((0, 1, 0), (right, high, back), stone.block)
    canvas.box((0, high, 0), (right, high, back), "gray_concrete")
    canvas.walls((0, high + 1, 0), (right, high + 1, back), stone.slab + "[type=bottom]")
    canvas.part("four walls under a flat grey roof", 1, high)
    canvas.box((3, 2, 1), (right - 3, high - 2, 1), "white_concrete")
    canvas.part("a white screen on the inside of the north wall", 2, high - 2)
    for z, x in product(range(6, back - 4, 3), range(3, right - 2)):
        if x != middle:
            canvas.put(x, 1, z, f"{'red' if colour != 'red' else 'blue'}_wool")
    canvas.part("rows of seats with an aisle", 1, 1)
    for x in (middle - 2, middle - 1, middle + 1, middle + 2):
        canvas.door(x, 1, back, "dark_oak")
    canvas.part("four doors in the south wall", 1, 2)
    for x in (2, right - 4):
        canvas.box((x, 2, back), (x + 2, 4, back), draw.pick(("yellow_concrete", "lime_concrete", "pink_concrete")))
        canvas.box((x + 1, 3, back), (x + 1, 4, back), "black_concrete")
    canvas.part("a poster on either side of the doors", 2, 4)
    canvas.box((2, 5, back + 1), (right - 2, 7, back + 3), f"{colour}_concrete")
    canvas.box((3, 6, back + 3), (right - 3, 6, back + 3), "white_concrete")
    for x in range(2, right - 1):
        if x % 2 == 0:
            canvas.put(x, (5, 7), back + 3, "glowstone")
        if x % 3 == 0 and 3 < x < right - 3:
            canvas.put(x, 6, back + 3, "black_concrete")
    canvas.part("a marquee with lights over the doors", 5, 7)
    tip = high + 7
    canvas.box((middle - 1, 8, back + 1), (middle + 1, tip, back + 1), f"{colour}_concrete")
    canvas.put(middle, range(9, tip, 2), back + 1, "glowstone")
    canvas.part("a tall sign with lights above the marquee", 8, tip)
    canvas.put([x for x in range(3, right - 2, 3) if abs(x - middle) > 2], span(9, high - 1), back, "glass_pane")
