"""What fits nowhere else, and what belongs to films."""

from __future__ import annotations

import math

from worldgauge.suites.build.generate.structures.brush import Canvas, Draw
from worldgauge.suites.build.generate.structures.designs import BRIGHT, MASONRY, WOODS, design, said


@design("miscellaneous", "easy")
def signpost(draw: Draw) -> Canvas:
    """A post with boards that point three ways."""
    wood = draw.pick(WOODS)
    boards = draw.pick([name for name in WOODS if name != wood])
    canvas = Canvas(f"{said(wood)} signpost", f"A {said(wood)} signpost with boards that point three ways.")
    foot = draw.pick(("grass_block", "cobblestone", "podzol", "stone_bricks"))
    canvas.box((1, 0, 0), (3, 0, 2), foot)
    canvas.part("a patch of ground", 0, 0)
    canvas.box((2, 1, 1), (2, 3, 1), f"{wood}_{draw.pick(('log', 'fence'))}")
    canvas.part("a post in its middle", 1, 3)
    ways = [(3, 1), (1, 1), (2, 2), (2, 0)]
    order = draw.rng.permutation(4)
    for y, at in zip((2, 3, 3), order, strict=False):
        x, z = ways[int(at)]
        facing = "south" if z == 1 else "east"
        canvas.put(x, y, z, f"{boards}_trapdoor[facing={facing},half=bottom,open=true]")
    canvas.part("three boards of trapdoor on the post", 2, 3)
    return canvas


@design("miscellaneous", "medium")
def balloon(draw: Draw) -> Canvas:
    """A striped balloon over a basket."""
    colour, other = draw.two(BRIGHT)
    radius = draw.whole(5, 7)
    canvas = Canvas(
        f"{said(colour)} hot air balloon", f"A {said(colour)} and {said(other)} hot air balloon with a basket."
    )
    canvas.box((-1, 0, -1), (1, 0, 1), "spruce_planks")
    canvas.walls((-1, 1, -1), (1, 1, 1), "stripped_spruce_wood")
    canvas.put(0, 1, 1, None)
    canvas.part("a square basket that is open on the south side", 0, 1)
    canvas.corners((-1, 2, -1), (1, 4, 1), "spruce_fence")
    canvas.part("a rope of fence from each corner", 2, 4)
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
    return canvas


@design("miscellaneous", "hard")
def ferris_wheel(draw: Draw) -> Canvas:
    """A wheel with cabins between two supports."""
    colour, other = draw.two(BRIGHT)
    radius = draw.whole(13, 15)
    canvas = Canvas(f"{said(colour)} Ferris wheel", f"A {said(colour)} Ferris wheel with eight cabins.")
    hub = radius + 4
    canvas.box((-radius + 2, 0, -5), (radius - 2, 0, 5), "smooth_stone")
    canvas.walls((-radius + 2, 0, -5), (radius - 2, 0, 5), "polished_andesite")
    canvas.part("a paved platform", 0, 0)
    for z in (-3, 3):
        for foot in (-8, 8):
            for broad in (0, 1):
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
    return canvas


@design("famous_films", "easy")
def clapperboard(draw: Draw) -> Canvas:
    """The board that is clapped before a take."""
    cloth = draw.pick(("concrete", "wool"))
    wide, high = draw.whole(5, 6), draw.whole(2, 3)
    if wide == 6:
        high = 2
    dark = draw.pick(("black", "gray"))
    canvas = Canvas("film clapperboard", "A film clapperboard with a striped stick that stands open.")
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
    return canvas


@design("famous_films", "medium")
def film_camera(draw: Draw) -> Canvas:
    """A camera with two reels on a tripod."""
    colour = draw.pick(("black", "gray", "brown", "blue", "red"))
    paint = f"{colour}_concrete"
    legs, radius = draw.whole(5, 7), draw.whole(2, 3)
    canvas = Canvas(f"{colour} film camera", f"A {colour} film camera with two reels on a tripod.")
    for x, z in ((-3, -4), (-3, 4), (6, 0)):
        canvas.line((x, 0, z), (1, legs, 0), "dark_oak_planks" if colour != "brown" else "oak_planks")
        canvas.put(x, 0, z, "iron_block")
    canvas.part("a tripod of planks on iron feet", 0, legs)
    low = legs + 1
    canvas.box((-3, low, -2), (5, low + 4, 2), paint)
    canvas.box((-1, low + 1, -2), (3, low + 3, -2), "light_gray_concrete")
    canvas.box((-1, low + 1, 2), (3, low + 3, 2), "light_gray_concrete")
    canvas.part("a body like a box with grey sides", low, low + 4)
    canvas.disc((low + 2, 0), 2.3, 6, 7, "gray_concrete" if colour != "gray" else "black_concrete", axis="x")
    canvas.disc((low + 2, 0), 1.5, 8, 8, "light_blue_stained_glass", axis="x")
    canvas.part("a round lens at the east end", low, low + 4)
    canvas.box((-5, low + 3, 0), (-4, low + 3, 0), "black_concrete")
    reel = low + 5 + radius
    for x in (-radius - 0, radius + 2):
        canvas.disc((x, reel), radius + 0.4, -1, 1, "light_gray_concrete", axis="z")
        canvas.disc((x, reel), 1.1, -1, 1, "black_concrete", axis="z")
    canvas.part("two round reels on top", low + 5, reel + radius)
    return canvas


@design("famous_films", "hard")
def cinema(draw: Draw) -> Canvas:
    """A facade with a lit marquee and a tall sign, seats and a screen inside."""
    stone = MASONRY[draw.pick(("brick", "sandstone", "mud brick", "stone brick"))]
    colour = draw.pick(("red", "blue", "purple", "cyan"))
    wide, deep, high = draw.odd(19, 23), draw.whole(20, 23), draw.whole(10, 12)
    right, back, middle = wide - 1, deep - 1, wide // 2
    canvas = Canvas(
        f"{stone.words} cinema", f"A {stone.words} cinema with a lit marquee, a tall sign and rows of seats."
    )
    canvas.box((0, 0, 0), (right, 0, back + 4), "smooth_stone")
    canvas.box((1, 0, 1), (right - 1, 0, back - 1), f"{colour}_terracotta")
    canvas.part("a paved floor", 0, 0)
    canvas.walls((0, 1, 0), (right, high, back), stone.block)
    canvas.box((0, high, 0), (right, high, back), "gray_concrete")
    canvas.walls((0, high + 1, 0), (right, high + 1, back), stone.slab + "[type=bottom]")
    canvas.part("four walls under a flat grey roof", 1, high)
    canvas.box((3, 2, 1), (right - 3, high - 2, 1), "white_concrete")
    canvas.part("a white screen on the inside of the north wall", 2, high - 2)
    for z in range(6, back - 4, 3):
        for x in range(3, right - 2):
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
            canvas.put(x, 5, back + 3, "glowstone")
            canvas.put(x, 7, back + 3, "glowstone")
        if x % 3 == 0 and 3 < x < right - 3:
            canvas.put(x, 6, back + 3, "black_concrete")
    canvas.part("a marquee with lights over the doors", 5, 7)
    tip = high + 7
    canvas.box((middle - 1, 8, back + 1), (middle + 1, tip, back + 1), f"{colour}_concrete")
    for y in range(9, tip, 2):
        canvas.put(middle, y, back + 1, "glowstone")
    canvas.part("a tall sign with lights above the marquee", 8, tip)
    for x in range(3, right - 2, 3):
        if abs(x - middle) > 2:
            canvas.box((x, 9, back), (x, high - 1, back), "glass_pane")
    return canvas
