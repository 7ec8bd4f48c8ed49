"""Animals, and beings that only stories know. All look east."""

from __future__ import annotations

from worldgauge.suites.build.generate.structures.brush import Canvas, Draw
from worldgauge.suites.build.generate.structures.designs import COLOURS, design, said


@design("animals", "easy")
def duck(draw: Draw) -> Canvas:
    """A body, a raised tail, a head with beak and button eyes."""
    colour = draw.pick(("yellow", "white", "lime", "pink", "light_blue"))
    cloth = draw.pick(("wool", "concrete"))
    body, beak = f"{colour}_{cloth}", f"orange_{cloth}"
    canvas = Canvas(f"{said(colour)} duck", f"A little {said(colour)} duck with an orange beak.")
    long = draw.whole(3, 4)
    canvas.box((0, 0, 0), (long - 1, 0, 1), body)
    canvas.box((0, 1, 0), (0, 1, 1), body)
    canvas.part("a body with a raised tail", 0, 1)
    canvas.box((long - 1, 1, 0), (long - 1, 2, 1), body)
    canvas.part("a head at the east end", 1, 2)
    canvas.box((long, 1, 0), (long, 1, 1), beak)
    canvas.part("a beak", 1, 1)
    canvas.put(long - 1, 2, -1, "polished_blackstone_button[face=wall,facing=north]")
    canvas.put(long - 1, 2, 2, "polished_blackstone_button[face=wall,facing=south]")
    canvas.part("two buttons for eyes", 2, 2)
    return canvas


@design("animals", "medium")
def farm_animal(draw: Draw) -> Canvas:
    """A four-legged body; colours and head of a pig, a cow, or a sheep."""
    kind = draw.pick(("pig", "cow", "sheep"))
    coat, skin, spot = {
        "pig": ("pink_concrete", "pink_concrete", "pink_terracotta"),
        "cow": ("brown_terracotta", "brown_terracotta", "white_concrete"),
        "sheep": (f"{draw.pick(('white', 'light_gray', 'black', 'brown'))}_wool", "white_terracotta", "white_wool"),
    }[kind]
    long, legs = draw.whole(9, 11), draw.whole(2, 4)
    canvas = Canvas(kind, f"A {kind} on four legs.")
    for x in (1, long - 3):
        for z in (0, 4):
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
        canvas.box((long, head + 3, 1), (long + 1, head + 3, 4), coat)
        canvas.box((long, head + 4, 1), (long + 1, head + 4, 4), coat)
    for z, out in ((1, 2), (4, 3)):
        canvas.put(long + 2, head + 2, z, "black_concrete")
        canvas.put(long + 2, head + 2, out, "white_concrete")
    canvas.part("a head with eyes at the east end", head, head + 3)
    canvas.box((long + 3, head, 2), (long + 3, head + 1, 3), spot if kind != "sheep" else "pink_terracotta")
    canvas.part("a snout", head, head + 1)
    if kind == "cow":
        for z in (0, 5):
            canvas.put(long + 1, head + 3, z, "bone_block")
            canvas.put(long + 1, head + 4, z, "bone_block")
        canvas.part("two horns", head + 3, head + 4)
    else:
        for z in (0, 5):
            canvas.put(long + 1, head + 2, z, skin)
        canvas.part("two ears", head + 2, head + 2)
    return canvas


@design("animals", "hard")
def giraffe(draw: Draw) -> Canvas:
    """Long legs, a spotted body, a leaning neck, ossicones."""
    coat, spot = draw.pick(("yellow_terracotta", "yellow_concrete", "sandstone")), "brown_terracotta"
    legs, neck, long = draw.whole(8, 10), draw.whole(9, 12), draw.whole(14, 17)
    canvas = Canvas("giraffe", "A giraffe with long legs, a spotted coat and a long neck.")
    for x in (0, long - 2):
        for z in (0, 5):
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
        x, y, side = draw.whole(1, long - 3), draw.whole(legs + 1, legs + 3), (at % 2) * 6
        if (x + 2 * y) % 4 == at % 4:
            canvas.box((x, y, side), (x + 1, y + at % 2, side), spot)
    for x in range(1, long - 4, 3):
        canvas.box((x, legs + 5, 2 + x % 3), (x + 1, legs + 5, 3 + x % 3), spot)
    for y in range(legs + 6, top, 3):
        for z in (2, 4):
            canvas.put(long - 2 + (y - legs - 2) // 4, y, z, spot)
    canvas.box((front, top, 1), (front + 5, top + 3, 5), coat)
    canvas.box((front + 6, top, 2), (front + 7, top + 1, 4), "white_terracotta")
    for z in (1, 5):
        canvas.put(front + 4, top + 2, z, "black_concrete")
        canvas.put(front + 1, top + 3, z - 1 if z == 1 else z + 1, coat)
        canvas.box((front + 1, top + 4, 2 if z == 1 else 4), (front + 1, top + 5, 2 if z == 1 else 4), spot)
    canvas.part("a head with ears and a pale muzzle", top, top + 3)
    canvas.part("two short horns", top + 4, top + 5)
    return canvas


@design("fictional_characters", "easy")
def snowman(draw: Draw) -> Canvas:
    """Three layers of snow, arms of sticks, a pumpkin for a head, a hat."""
    wood, hat = draw.pick(("oak", "spruce", "dark_oak")), draw.pick(("black", "red", "brown", "blue"))
    snow = draw.pick(("snow_block", "white_wool", "white_concrete"))
    canvas = Canvas("snow guard", f"A snow guard with a carved pumpkin for a head and a {hat} hat.")
    canvas.box((0, 0, 0), (2, 0, 2), snow)
    canvas.part("a broad foot of snow", 0, 0)
    canvas.box((0, 1, 1), (2, 1, 1), snow)
    canvas.box((1, 1, 0), (1, 1, 2), snow)
    canvas.put(1, 2, 1, snow)
    canvas.put(0, 2, 1, f"{wood}_fence")
    canvas.put(2, 2, 1, f"{wood}_fence")
    canvas.part("two arms of fence", 2, 2)
    canvas.put(1, 3, 1, "carved_pumpkin[facing=south]")
    canvas.part("a carved pumpkin for a head that looks south", 3, 3)
    canvas.put(1, 4, 1, f"{hat}_carpet")
    canvas.part("a hat of carpet", 4, 4)
    return canvas


@design("fictional_characters", "medium")
def robot(draw: Draw) -> Canvas:
    """Legs, a trunk with lights, arms, a head with eyes and antennae."""
    metal = draw.pick(("iron_block", "light_gray_concrete", "waxed_copper_block", "cyan_terracotta"))
    colour = draw.pick(COLOURS[1:])
    legs, chest = draw.whole(3, 5), draw.whole(4, 5)
    canvas = Canvas(f"{said(colour)} robot", f"A robot with {said(colour)} arms, glowing eyes and antennae.")
    for z in (1, 5):
        canvas.box((0, 0, z), (3, 0, z + 1), "gray_concrete")
        canvas.box((0, 1, z), (1, legs - 1, z + 1), metal)
    canvas.part("two legs on broad feet", 0, legs - 1)
    top = legs + chest
    canvas.box((0, legs, 1), (2, top - 1, 6), metal)
    canvas.box((2, legs + 1, 3), (2, legs + 2, 4), "redstone_lamp[lit=true]")
    canvas.box((2, top - 1, 2), (2, top - 1, 5), f"{colour}_concrete")
    canvas.part("a trunk with lamps on its east side", legs, top - 1)
    for z in (0, 7):
        canvas.box((0, top - 4, z), (1, top - 1, z), f"{colour}_concrete")
        canvas.box((1, top - 5, z), (2, top - 5, z), "gray_concrete")
    canvas.part("an arm on each side", top - 5, top - 1)
    canvas.box((0, top, 2), (2, top + 3, 5), metal)
    canvas.put(2, top + 2, 2, "sea_lantern")
    canvas.put(2, top + 2, 5, "sea_lantern")
    canvas.box((2, top, 3), (2, top, 4), "black_concrete")
    canvas.part("a head with two glowing eyes and a mouth", top, top + 3)
    for z in (2, 5):
        canvas.put(1, top + 4, z, "end_rod[facing=up]")
    canvas.part("two antennae", top + 4, top + 4)
    return canvas


@design("fictional_characters", "hard")
def dragon(draw: Draw) -> Canvas:
    """A scaly body with wings, a long tail, an arched neck and a horned head."""
    colour = draw.pick(("red", "green", "purple", "blue", "black", "cyan"))
    belly = draw.pick(("yellow_terracotta", "sandstone", "orange_terracotta"))
    other = draw.pick([name for name in ("orange", "yellow", "light_blue", "lime", "magenta") if name != colour])
    skin, wing = f"{colour}_concrete", f"{other}_wool"
    span = draw.whole(14, 17)
    canvas = Canvas(
        f"{colour} dragon", f"A {colour} dragon with spread {said(other)} wings, a long tail and two horns."
    )
    for x in (5, 13):
        for z in (-3, 3):
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
    for z in (-2, 1):
        canvas.put(27, 15, z, "bone_block")
        canvas.put(27, 16, z, "black_concrete")
    canvas.part("a head with glowing eyes and a snout", 14, 18)
    canvas.part("two horns", 19, 21)
    for reach in range(span):
        y = 9 + reach // 4
        lead = 15 - reach // 3
        # Points between fingers hang back, so that the edge looks torn.
        trail = 4 + reach // 3 + (0, 1, 2, 1)[reach % 4]
        for z in (3 + reach, -4 - reach):
            canvas.box((trail, y, z), (lead, y, z), wing)
            canvas.box((lead, y, z), (lead + 1, y, z), skin)
            if reach % 6 == 5:
                canvas.box((trail, y, z), (lead, y, z), skin)
    for z in (2, -3):
        canvas.box((8, 8, z), (14, 9, z), skin)
    canvas.part("two spread wings of wool", 9, 9 + (span - 1) // 4)
    canvas.drop_loose()
    return canvas
