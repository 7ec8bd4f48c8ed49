"""Bridges, and ships. Ships sail east; bridges run from west to east."""

from __future__ import annotations

from worldgauge.suites.build.generate.structures.brush import Canvas, Draw
from worldgauge.suites.build.generate.structures.designs import COLOURS, MASONRY, WOODS, design, said


@design("bridges", "easy")
def footbridge(draw: Draw) -> Canvas:
    """Planks that rise to the middle, rails on both sides."""
    wood, rail = draw.two(WOODS)
    long = draw.whole(5, 6)
    canvas = Canvas(f"{said(wood)} footbridge", f"A short {said(wood)} footbridge with {said(rail)} rails.")
    wide = 2 if long == 6 else draw.whole(2, 3)
    last = long - 1
    for z in range(wide):
        canvas.put(0, 0, z, f"{wood}_stairs[facing=east]")
        canvas.put(last, 0, z, f"{wood}_stairs[facing=west]")
        canvas.box((1, 0, z), (last - 1, 0, z), f"{wood}_planks")
    canvas.part("a deck of planks with a stair at the west and the east end", 0, 0)
    for z in {0, wide - 1}:
        for x in range(1, last):
            canvas.put(x, 1, z, f"{rail}_fence")
    canvas.part("a rail of fence along both sides", 1, 1)
    return canvas


@design("bridges", "medium")
def arch_bridge(draw: Draw) -> Canvas:
    """A stone deck over one round arch."""
    stone = MASONRY[draw.pick(("stone brick", "cobblestone", "brick", "sandstone", "mud brick"))]
    radius, wide = draw.whole(5, 8), draw.odd(5, 7)
    long = 2 * radius + 7
    middle, side = long // 2, wide - 1
    canvas = Canvas(f"{stone.words} arch bridge", f"A {stone.words} bridge over one round arch.")
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
        for x in (3, middle, long - 4):
            canvas.put(x, deck, z, stone.block)
            canvas.put(x, deck + 1, z, "lantern")
    canvas.part("a rim of polished andesite round the arch", 0, radius + 1)
    canvas.part("a parapet of wall along both sides", deck, deck)
    canvas.part("six lanterns on the parapet", deck + 1, deck + 1)
    return canvas


@design("bridges", "hard")
def suspension_bridge(draw: Draw) -> Canvas:
    """Two towers, cables that sag between them, hangers, a road."""
    paint = draw.pick(
        ("red_terracotta", "light_gray_concrete", "orange_terracotta", "cyan_terracotta", "white_concrete")
    )
    span, ends = draw.whole(28, 34), 11
    wide, high = draw.odd(9, 11), draw.whole(20, 23)
    long, side, deck = span + 2 * ends, wide - 1, 7
    words = said(paint.rpartition("_")[0])
    canvas = Canvas(f"{words} suspension bridge", f"A {words} suspension bridge with two towers and hanging cables.")
    towers = (ends, ends + span)
    for x in towers:
        canvas.box((x - 2, 0, -1), (x + 2, 2, wide), "stone_bricks")
    canvas.part("a stone foot under each tower", 0, 2)
    canvas.box((0, deck, 0), (long, deck, side), "gray_concrete")
    for z in (0, side):
        canvas.box((0, deck, z), (long, deck, z), "smooth_stone")
        canvas.box((0, deck - 1, z), (long, deck - 1, z), paint)
        canvas.box((0, deck + 1, z), (long, deck + 1, z), "iron_bars")
    for x in range(1, long, 3):
        canvas.put(x, deck, wide // 2, "white_concrete")
    canvas.part("a grey road with white marks and rails", deck, deck + 1)
    for x in (0, long):
        canvas.box((x, 0, 0), (x + (2 if x == 0 else -2), deck - 1, side), "stone_bricks")
    canvas.part("stone abutments at both ends", 0, deck - 1)
    for x in towers:
        for z in (0, side):
            canvas.box((x - 1, 3, z), (x + 1, high, z), paint)
        for y in (deck + 6, high - 1):
            canvas.box((x - 1, y, 1), (x + 1, y + 1, side - 1), paint)
    canvas.part("two towers with crossbeams", 3, high)
    for z in (0, side):
        heights = [round(_sag(x, towers, deck + 3, high, deck + 1)) for x in range(long + 1)]
        for x, y in enumerate(heights):
            # Where it is steep, the cable fills the step up from the block before it.
            before = heights[x - 1] if x else y
            canvas.box((x, before + (before < y) - (before > y), z), (x, y, z), "black_concrete")
            if x % 3 == 0 and x not in towers and y > deck + 2:
                canvas.box((x, deck + 1, z), (x, y - 1, z), "chain[axis=y]")
    canvas.part("two black cables that sag between the towers and hangers of chain", deck + 1, high)
    return canvas


def _sag(x: float, towers: tuple[int, int], low: int, high: int, end: int) -> float:
    """Height of a cable at `x`: a parabola between the towers, straight lines from them down to `end` outside."""
    middle, half = (towers[0] + towers[1]) / 2, (towers[1] - towers[0]) / 2
    off = abs(x - middle)
    if off <= half:
        return low + (high - low) * (off / half) ** 2
    return high - (high - end) * (off - half) / towers[0]


@design("ships", "easy")
def rowing_boat(draw: Draw) -> Canvas:
    """A hull of stairs and planks, a seat, oars."""
    wood, seat = draw.two(WOODS)
    long = draw.whole(5, 6)
    canvas = Canvas(f"{said(wood)} rowing boat", f"A {said(wood)} rowing boat with two oars.")
    last = long - 1
    canvas.box((1, 0, 1), (last - 1, 0, 1), f"{wood}_planks")
    canvas.part("a keel of planks", 0, 0)
    canvas.put(0, 1, 1, f"{wood}_stairs[facing=east,half=top]")
    canvas.put(last, 1, 1, f"{wood}_stairs[facing=west,half=top]")
    for x in range(1, last):
        canvas.put(x, 1, 0, f"{wood}_stairs[facing=south,half=top]")
        canvas.put(x, 1, 2, f"{wood}_stairs[facing=north,half=top]")
    canvas.part("sides of upturned stairs round the middle", 1, 1)
    canvas.put(long // 2 - draw.whole(0, 1), 1, 1, f"{seat}_slab[type=bottom]")
    canvas.part("a seat of slab", 1, 1)
    x = draw.whole(1, last - 1)
    canvas.put(x, 2, 0, f"{seat}_fence")
    canvas.put(x, 2, 2, f"{seat}_fence")
    canvas.part("an oar of fence on each side", 2, 2)
    return canvas


@design("ships", "medium")
def sailing_boat(draw: Draw) -> Canvas:
    """A hull with a deck, one mast, two three-cornered sails."""
    wood, trim = draw.two(WOODS)
    colour = draw.pick(COLOURS)
    long, tall = draw.whole(14, 17), draw.whole(12, 14)
    canvas = Canvas(f"{said(colour)} sailing boat", f"A {said(wood)} boat with one mast and two {said(colour)} sails.")
    _hull(canvas, long, 2, 4, f"{wood}_planks", f"{trim}_planks")
    canvas.part("a pointed hull", 0, 3)
    mast = long // 2 + 1
    canvas.box((mast, 1, 0), (mast, tall + 2, 0), f"{trim}_log")
    canvas.part("a mast of logs", 1, tall + 2)
    for step in range(tall - 5):
        y = tall + 1 - step
        canvas.box((mast - 1 - (step * (mast - 2)) // (tall - 5), y, 0), (mast - 1, y, 0), f"{colour}_wool")
    for step in range(tall - 6):
        y = tall - step
        end = mast + 1 + (step * (long - mast - 2)) // (tall - 6)
        canvas.box((mast + 1, y, 0), (end, y, 0), "white_wool" if colour != "white" else "light_gray_wool")
    canvas.box((1, 6, 0), (mast, 6, 0), f"{trim}_fence")
    canvas.part("two three-cornered sails of wool", 6, tall + 1)
    canvas.put(2, 4, 0, f"{trim}_fence")
    canvas.put(1, 4, 1, f"{trim}_stairs[facing=west]")
    canvas.put(1, 4, -1, f"{trim}_stairs[facing=west]")
    canvas.part("seats at the west end", 4, 4)
    return canvas


@design("ships", "hard")
def galleon(draw: Draw) -> Canvas:
    """A hull with castles fore and aft, three masts, square sails, gun ports."""
    wood, trim = draw.two(("oak", "spruce", "dark_oak", "jungle", "acacia", "mangrove"))
    colour = draw.pick(("white", "red", "light_gray", "yellow", "blue"))
    long = draw.whole(32, 36)
    canvas = Canvas(f"{said(wood)} galleon", f"A {said(wood)} galleon with three masts and {said(colour)} sails.")
    _hull(canvas, long, 5, 7, f"{wood}_planks", f"{trim}_planks")
    canvas.part("a pointed hull with a dark rail", 0, 6)
    for x in range(5, long - 9, 4):
        for z in (-5, 5):
            if canvas.holds(x, 4, z):
                canvas.put(x, 4, z, "black_concrete")
    canvas.part("a row of gun ports on each side", 4, 4)
    canvas.walls((0, 6, -4), (7, 10, 4), f"{wood}_planks")
    canvas.box((0, 9, -4), (7, 9, 4), f"{wood}_planks")
    canvas.walls((0, 10, -4), (7, 10, 4), f"{trim}_fence")
    for z in (-2, 0, 2):
        canvas.box((0, 7, z), (0, 8, z), "yellow_stained_glass")
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
    return canvas


def _hull(canvas: Canvas, long: int, half: int, high: int, plank: str, rail: str) -> None:
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
                inner = round(half * min(1.0, (taper - 1 / (long * 0.38))) ** 0.7) if taper > 1 / (long * 0.38) else 0
                edge = min(broad, max(0, inner - 1) + 1)
                canvas.box((x, y, -broad), (x, y, -edge), material)
                canvas.box((x, y, edge), (x, y, broad), material)
                if x == start:
                    canvas.box((x, y, -broad), (x, y, broad), material)
