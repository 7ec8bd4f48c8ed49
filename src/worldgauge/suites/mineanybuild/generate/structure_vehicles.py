"""Vehicles: cars, buses, fire engines, those of farms and building sites, and planes. All head east."""

from __future__ import annotations

from itertools import product

from worldgauge.suites.mineanybuild.generate.structure_brush import (
    BRIGHT,
    WOODS,
    BlockCanvas,
    Draw,
    design,
    plain,
    span,
)


@design("cars", "easy")
def _toy_car(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(BRIGHT)
    long = draw.whole(5, 6) - 1
    paint = f"{colour}_{draw.pick(('concrete', 'wool'))}"
    canvas.title(f"{plain(colour)} toy car", f"A small {plain(colour)} toy car with a glass cabin.")
    canvas.put((0, long - 1), 0, span(0, 1), "black_concrete", part="four black wheels")
    canvas.box((0, 1, 0), (long, 1, 1), paint)
    canvas.box((long, 1, 0), (long, 1, 1), "glowstone", part="a body with glowing headlights at its east end")
    canvas.box(
        (1, 2, 0), (2, 2, 1), draw.pick(("black_stained_glass", "light_blue_stained_glass", "gray_stained_glass"))
    )
    canvas.part("a cabin of glass", 2, 2)
    canvas.box((1, 3, 0), (2, 3, 1), draw.pick((paint, "white_concrete", "black_concrete")), part="a flat roof")


@design("cars", "medium")
def _saloon(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick((*BRIGHT, "white", "black", "gray", "light_gray"))
    paint = f"{colour}_concrete"
    long, wide = draw.whole(14, 17), draw.whole(6, 7)
    canvas.title(f"{plain(colour)} car", f"A {plain(colour)} car with four wheels and windows all round.")
    side = wide - 1
    canvas.box((0, 1, 0), (long - 1, 3, side), paint)
    canvas.box((0, 1, 0), (long - 1, 1, side), "gray_concrete")
    canvas.part("a body with a bonnet at its east end", 1, 3)
    _wheels(canvas, (3, long - 4), (0, side), 1, 1.5)
    canvas.part("four black wheels", 0, 2)
    back, front = 3, long - 5
    canvas.box((back, 4, 0), (front, 5, side), "light_blue_stained_glass")
    canvas.box((back + 1, 3, 1), (front - 1, 5, side - 1), None)
    canvas.put((back, (back + front) // 2, front), span(4, 5), (0, side), paint)
    canvas.box((back, 6, 0), (front, 6, side), paint)
    canvas.box((front, 5, 1), (front, 5, side - 1), "light_blue_stained_glass")
    for x, z in product((back + 2, front - 3), (1, side - 2)):
        canvas.put(x, 3, z, "red_wool")
        canvas.put(x - 1, 4, z, "red_wool")
    canvas.part("a cabin with windows all round", 4, 5)
    canvas.part("a flat roof", 6, 6)
    canvas.put(long - 1, 2, (0, side), "sea_lantern")
    canvas.put(0, 2, (0, side), "redstone_block")
    canvas.box((long - 1, 2, 2), (long - 1, 2, side - 2), "iron_bars")
    canvas.part("headlights on the east end and red tail lights on the west end", 2, 2)


@design("cars", "hard")
def _camper(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(BRIGHT)
    long, wide, high = draw.whole(26, 28), draw.odd(11, 13), 12
    side = wide - 1
    canvas.title(
        f"{plain(colour)} camper van", f"A large {plain(colour)} and white camper van with luggage on its roof."
    )
    _carriage(canvas, (long, wide, high), f"{colour}_concrete", "white_concrete", 5)
    _wheels(canvas, (5, long - 6), (0, side), 2, 2.4)
    canvas.part("four black wheels", 0, 4)
    canvas.part("a hollow body in two colours", 2, high)
    for z, x in product((0, side), range(3, long - 8, 5)):
        canvas.box((x, 6, z), (x + 3, 8, z), "glass_pane")
    canvas.box((long - 1, 6, 1), (long - 1, 9, side - 1), "light_blue_stained_glass")
    canvas.put(span(long - 5, long - 3), span(6, 8), (0, side), "light_blue_stained_glass")
    canvas.part("rows of windows and a windscreen at the east end", 6, 9)
    canvas.box((10, 3, side), (11, 8, side), "gray_concrete")
    canvas.put(10, 5, side, "gold_block")
    canvas.part("a grey entrance on the south side", 3, 8)
    for x in range(8, 15):
        paint = "white" if x % 2 else colour
        canvas.box((x, 10, side + 1), (x, 10, side + 3), f"{paint}_wool")
    canvas.part("a striped awning over it", 10, 10)
    canvas.box((long - 1, 3, 1), (long - 1, 4, 2), "sea_lantern")
    canvas.box((long - 1, 3, side - 2), (long - 1, 4, side - 1), "sea_lantern")
    canvas.put(0, span(3, 4), (0, side), "redstone_block", part="headlights on the east end")
    for x in range(5, 17, 4):
        kind = draw.pick(("barrel[facing=up]", "brown_wool", "hay_block", "spruce_planks"))
        canvas.box((x, high + 1, 2), (x + 2, high + draw.whole(1, 2), side - 2), kind)
    canvas.walls((4, high + 1, 1), (18, high + 1, side - 1), "oak_fence", part="luggage inside a rail on the roof")


@design("buses", "easy")
def _toy_bus(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(BRIGHT)
    canvas.title(f"{plain(colour)} toy bus", f"A small {plain(colour)} toy bus with a strip of windows.")
    paint = f"{colour}_{draw.pick(('concrete', 'wool', 'terracotta'))}"
    canvas.box((0, 0, 0), (4, 0, 1), paint)
    canvas.put((1, 3), 0, span(0, 1), "black_concrete", part="a body with four black wheels")
    canvas.box(
        (0, 1, 0), (4, 1, 1), draw.pick(("black_stained_glass", "light_blue_stained_glass", "gray_stained_glass"))
    )
    for x in (0, 2)[: draw.whole(1, 2)]:
        canvas.box((x, 1, 0), (x, 1, 1), paint)
    canvas.part("a strip of windows", 1, 1)
    roof = draw.pick((paint, "white_concrete", "smooth_stone_slab[type=bottom]", "quartz_slab[type=bottom]"))
    canvas.box((0, 2, 0), (4, 2, 1), roof, part="a flat roof")


@design("buses", "medium")
def _town_bus(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(BRIGHT)
    long, wide, high = draw.whole(18, 22), draw.odd(5, 7), 7
    side = wide - 1
    canvas.title(f"{plain(colour)} town bus", f"A {plain(colour)} town bus with two doors and seats inside.")
    _carriage(canvas, (long, wide, high), f"{colour}_concrete", f"{colour}_concrete", 4, floor=1)
    _wheels(canvas, (3, long - 4), (0, side), 1, 1.5)
    canvas.part("four black wheels", 0, 2)
    canvas.put([x for x in range(1, long - 2) if x % 4], span(4, 5), (0, side), "light_blue_stained_glass")
    canvas.box((long - 1, 3, 1), (long - 1, 5, side - 1), "light_blue_stained_glass")
    canvas.box((0, 4, 1), (0, 5, side - 1), "light_blue_stained_glass", part="rows of windows")
    for x in (long - 7, 7):
        canvas.box((x, 2, side), (x + 1, 5, side), "glass_pane")
    canvas.part("two glass entrances on the south side", 2, 5)
    canvas.box((long - 1, 6, 1), (long - 1, 6, side - 1), "yellow_concrete")
    canvas.put(long - 1, 2, (0, side), "sea_lantern")
    canvas.put(0, 2, (0, side), "redstone_block")
    canvas.part("a yellow sign over the windscreen at the east end", 6, 6)
    canvas.put(range(2, long - 8, 2), 2, 1, "blue_wool", part="seats of wool along the north side")


@design("buses", "hard")
def _double_decker(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(("red", "blue", "green", "yellow", "orange", "purple"))
    long, wide, high = draw.whole(26, 30), draw.odd(9, 11), 14
    side = wide - 1
    paint = f"{colour}_concrete"
    canvas.title(f"{colour} double decker bus", f"A {colour} bus with two decks of windows and an open back.")
    _carriage(canvas, (long, wide, high), paint, paint, 8)
    canvas.box((1, 8, 1), (long - 2, 8, side - 1), "smooth_stone")
    _wheels(canvas, (5, long - 6), (0, side), 2, 2.4)
    canvas.part("four black wheels", 0, 4)
    for low in (5, 10):
        for z, x in product((0, side), range(4, long - 2)):
            if x % 4:
                canvas.box((x, low, z), (x, low + 1, z), "light_blue_stained_glass")
        canvas.put((0, long - 1), span(low, low + 1), span(1, side - 1), "light_blue_stained_glass")
        canvas.part("a row of windows all round", low, low + 1)
    canvas.put(span(0, long - 1), 8, (0, side), "white_concrete", part="a white stripe between the decks")
    canvas.box((0, 3, side), (2, 6, side), None)
    canvas.box((0, 3, side - 1), (0, 6, side - 1), None)
    canvas.box((0, 3, side), (0, 7, side), "yellow_concrete")
    canvas.part("an open entrance at the west end of the south side", 3, 6)
    for step in range(5):
        canvas.put(3 + step, 3 + step, 1, "smooth_quartz_stairs[facing=east]")
    canvas.box((3, 8, 1), (8, 8, 1), None)
    canvas.part("a stair from deck to deck", 3, 7)
    for low, x in product((3, 9), range(10, long - 4, 3)):
        canvas.box((x, low, 2), (x, low, side - 2), f"{'gray' if colour != 'blue' else 'yellow'}_wool")
    canvas.part("rows of seats on both decks", 3, 9)
    canvas.box((long - 1, 7, 2), (long - 1, 7, side - 2), "yellow_concrete")
    canvas.put(long - 1, 3, (1, side - 1), "sea_lantern")
    canvas.put(0, 3, (1, side - 1), "redstone_block", part="headlights on the east end")
    canvas.box((2, high + 1, side // 2), (long - 3, high + 1, side // 2), "white_concrete")
    canvas.part("a white ridge along the roof", high + 1, high + 1)


@design("emergency_vehicles", "easy")
def _toy_ambulance(draw: Draw, canvas: BlockCanvas) -> None:
    white = draw.pick(("white_concrete", "white_wool", "quartz_block", "iron_block"))
    long = 4
    canvas.title("toy ambulance", "A small white ambulance with a red band and a light on its roof.")
    canvas.put((1, long - 1), 0, span(0, 1), "black_concrete", part="four black wheels")
    canvas.box((0, 1, 0), (long, 1, 1), white)
    canvas.box((0, 2, 0), (long - 1, 2, 1), white)
    canvas.box((long - 1, 2, 0), (long - 1, 2, 1), "light_blue_stained_glass", part="a windscreen at the east end")
    canvas.box((1, 2, 0), (1, 2, 1), draw.pick(("red_concrete", "red_wool")), part="a red band across the roof")
    canvas.put(long - 2, 3, draw.whole(0, 1), draw.pick(("blue_stained_glass", "sea_lantern", "blue_concrete")))
    canvas.part("a light on the roof", 3, 3)


@design("emergency_vehicles", "medium")
def _police_van(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(("blue", "green", "black", "orange"))
    long, wide = draw.whole(15, 18), draw.odd(7, 9)
    side = wide - 1
    canvas.title(f"{colour} and white police van", f"A white police van with {colour} stripes and a bar of lights.")
    _carriage(canvas, (long - 3, wide, 8), "white_concrete", "white_concrete", 5)
    canvas.box((long - 3, 1, 0), (long - 1, 4, side), "white_concrete")
    canvas.part("a tall body with a bonnet at its east end", 1, 8)
    _wheels(canvas, (3, long - 4), (0, side), 1, 1.5)
    canvas.part("four black wheels", 0, 2)
    canvas.put(span(0, long - 1), span(3, 4), (0, side), f"{colour}_concrete")
    canvas.put(range(2, long - 3, 2), 3, (0, side), "yellow_concrete")
    canvas.put(span(long - 7, long - 5), span(5, 6), (0, side), "light_blue_stained_glass")
    canvas.put(span(3, 5), span(5, 6), (0, side), "black_stained_glass")
    canvas.part("coloured stripes on both sides", 3, 4)
    canvas.box((long - 4, 5, 1), (long - 4, 7, side - 1), "light_blue_stained_glass")
    canvas.part("a windscreen and side windows", 5, 6)
    for z in range(1, side):
        canvas.put(
            long - 6, 9, z, "redstone_block" if z < side / 2 else "lapis_block" if z > side / 2 else "iron_block"
        )
    canvas.part("a bar of red and blue lights on the roof", 9, 9)
    canvas.put(long - 1, 2, (0, side), "sea_lantern")
    canvas.put(0, 2, (0, side), "redstone_block")
    canvas.box((long - 1, 2, 2), (long - 1, 3, side - 2), "iron_bars", part="headlights beside a grille")


@design("emergency_vehicles", "hard")
def _fire_engine(draw: Draw, canvas: BlockCanvas) -> None:
    paint = draw.pick(("red_concrete", "orange_concrete", "red_terracotta", "lime_concrete"))
    words = plain(paint.rpartition("_")[0])
    long, wide = draw.whole(28, 32), draw.odd(9, 11)
    side, middle = wide - 1, wide // 2
    canvas.title(f"{words} fire engine", f"A {words} fire engine with a raised ladder.")
    canvas.box((0, 2, 0), (long - 9, 8, side), paint)
    canvas.box((1, 3, 1), (long - 10, 7, side - 1), None)
    _wheels(canvas, (4, 10, long - 6), (0, side), 2, 2.4)
    canvas.part("six black wheels", 0, 4)
    canvas.box((long - 8, 2, 0), (long - 1, 9, side), paint)
    canvas.box((long - 7, 3, 1), (long - 2, 8, side - 1), None)
    canvas.part("a body with a cab at its east end", 2, 9)
    _wheels(canvas, (4, 10, long - 6), (0, side), 2, 2.4)
    for z in (0, side):
        canvas.box((0, 4, z), (long - 9, 4, z), "white_concrete")
        for x in range(2, long - 12, 4):
            canvas.box((x, 5, z), (x + 2, 7, z), "light_gray_concrete")
            canvas.put(x + 1, 5, z, "iron_block")
        canvas.box((long - 6, 6, z), (long - 3, 8, z), "light_blue_stained_glass")
    canvas.part("lockers with grey shutters on both sides", 5, 7)
    canvas.box((long - 1, 6, 1), (long - 1, 8, side - 1), "light_blue_stained_glass")
    canvas.part("a windscreen and side windows", 6, 8)
    canvas.put(long - 1, 3, (1, side - 1), "sea_lantern")
    canvas.box((long - 1, 3, 3), (long - 1, 4, side - 3), "iron_bars")
    canvas.box((long - 4, 10, 1), (long - 4, 10, side - 1), "blue_stained_glass")
    canvas.part("a bar of blue lights on the cab", 10, 10)
    canvas.box((2, 9, middle - 2), (6, 10, middle + 2), "gray_concrete", part="a grey turntable")
    reach = draw.whole(20, 23)
    for step in range(reach):
        x, y = 3 + step, 11 + step // 3
        canvas.put(x, y, (middle - 1, middle + 1), "light_gray_concrete")
        canvas.put(x, y, middle, "iron_bars" if step % 2 else "light_gray_concrete")
    end = (2 + reach, 11 + (reach - 1) // 3)
    canvas.box((end[0] + 1, end[1] - 1, middle - 1), (end[0] + 3, end[1] - 1, middle + 1), "light_gray_concrete")
    canvas.walls((end[0] + 1, end[1], middle - 1), (end[0] + 3, end[1], middle + 1), "iron_bars")
    canvas.part("a ladder that rises to the east and ends in a basket", 11, end[1])


def _carriage(
    canvas: BlockCanvas, size: tuple[int, int, int], lower: str, upper: str, change: int, *, floor: int = 2
) -> None:
    """A hollow body over wheels. size: long, wide, and the layer of its roof. change: the first layer of `upper`."""
    long, wide, high = size
    canvas.box((0, floor, 0), (long - 1, floor, wide - 1), "gray_concrete")
    canvas.walls((0, floor, 0), (long - 1, change - 1, wide - 1), lower)
    canvas.walls((0, change, 0), (long - 1, high, wide - 1), upper)
    canvas.box((0, high, 0), (long - 1, high, wide - 1), upper)


def _wheels(canvas: BlockCanvas, along: tuple[int, ...], across: tuple[int, int], axle: int, radius: float) -> None:
    """Round wheels with hubs, flush with both sides."""
    for x, z in product(along, across):
        canvas.disc((x, axle), radius, z, z, "black_concrete", axis="z")
        canvas.put(x, axle, z, "light_gray_concrete")


@design("working_vehicles", "easy")
def _wheelbarrow(draw: Draw, canvas: BlockCanvas) -> None:
    wood = draw.pick(WOODS)
    load = draw.pick(("dirt", "sand", "gravel", "hay_block", "coarse_dirt", "pumpkin"))
    canvas.title(f"{plain(wood)} wheelbarrow", f"A {plain(wood)} wheelbarrow full of {plain(load)}.")
    canvas.put(4, 0, 1, draw.pick(("black_concrete", "gray_concrete", "coal_block")))
    canvas.part("one wheel at the east end", 0, 0)
    canvas.put(1, 0, (0, 2), f"{wood}_fence")
    canvas.put(0, 1, (0, 2), f"{wood}_fence")
    canvas.part("two legs of fence", 0, 0)
    canvas.box((1, 1, 0), (3, 1, 2), f"{wood}_planks")
    canvas.put(4, 1, 1, f"{wood}_stairs[facing=west,half=top]")
    canvas.box((1 + draw.whole(0, 1), 1, 1), (3, 1, 1), load)
    canvas.part("a tray of planks with two handles at its west end", 1, 1)
    canvas.put(2, 2, 1, load)
    canvas.part(f"a heap of {plain(load)}", 1, 2)


@design("working_vehicles", "medium")
def _tractor(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(("green", "red", "blue", "orange", "yellow"))
    paint = f"{colour}_concrete"
    long = draw.whole(12, 14)
    canvas.title(f"{colour} tractor", f"A {colour} tractor with large rear wheels and an exhaust pipe.")
    canvas.box((1, 3, 2), (long - 1, 3, 4), "gray_concrete")
    canvas.box((6, 4, 2), (long - 1, 5, 4), paint)
    canvas.box((long - 1, 4, 2), (long - 1, 5, 4), "iron_bars")
    canvas.put(long - 1, 5, (2, 4), "sea_lantern")
    canvas.part("a bonnet with a grille and lights at its east end", 4, 5)
    for z in (0, 1, 5, 6):
        canvas.disc((3, 3), 3.2, z, z, "black_concrete", axis="z")
        canvas.disc((3, 3), 1.2, z, z, "yellow_concrete", axis="z")
    canvas.part("two large rear wheels", 0, 6)
    for z in (1, 5):
        canvas.disc((long - 3, 2), 2.2, z, z, "black_concrete", axis="z")
        canvas.put(long - 3, 2, z, "yellow_concrete")
    canvas.part("two smaller front wheels", 0, 4)
    canvas.box((1, 4, 2), (5, 5, 4), paint)
    canvas.box((2, 5, 3), (4, 5, 3), "black_wool")
    canvas.box((1, 6, 2), (5, 8, 4), "light_blue_stained_glass")
    canvas.box((2, 6, 3), (4, 8, 3), None)
    canvas.corners((1, 6, 2), (5, 8, 4), paint)
    canvas.box((1, 9, 2), (5, 9, 4), paint)
    canvas.part("a cab of glass under a flat roof", 6, 9)
    canvas.box((long - 4, 6, 3), (long - 4, 7 + draw.whole(0, 1), 3), draw.pick(("cobblestone_wall", "andesite_wall")))
    canvas.part("an exhaust pipe of wall on the bonnet", 6, 7)


@design("working_vehicles", "hard")
def _excavator(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(("yellow", "orange", "lime", "light_blue"))
    paint = f"{colour}_concrete"
    long, rise = draw.whole(15, 17), draw.whole(10, 12)
    canvas.title(f"{plain(colour)} excavator", f"A {plain(colour)} excavator with a bent arm and a bucket.")
    for z in (0, 9):
        for y, cut in ((0, 1), (1, 0), (2, 0), (3, 1)):
            canvas.box((cut, y, z), (long - 1 - cut, y, z + 2), "black_concrete")
        canvas.put(range(2, long - 1, 3), 1, (z, z + 2), "light_gray_concrete")
        canvas.put(range(2, long - 1, 3), 2, (z, z + 2), "gray_concrete")
    canvas.part("two black tracks", 0, 3)
    canvas.box((3, 2, 3), (long - 4, 3, 8), "gray_concrete")
    canvas.disc((long // 2, 5.5), 3.6, 4, 4, "gray_concrete")
    canvas.part("a round grey turntable", 4, 4)
    canvas.box((0, 5, 1), (long - 2, 8, 10), paint)
    canvas.box((-2, 5, 2), (-1, 8, 9), "gray_concrete")
    canvas.put(span(1, 3), 9, (3, 5, 7), "iron_bars")
    canvas.box((1, 9, 9), (1, 11, 9), "andesite_wall")
    canvas.part("a body with a grey counterweight at its west end", 5, 8)
    cab = long - 8
    canvas.box((cab, 9, 7), (long - 2, 13, 10), "light_blue_stained_glass")
    canvas.box((cab + 1, 9, 8), (long - 3, 13, 9), None)
    canvas.box((cab + 2, 9, 8), (cab + 2, 9, 9), "black_wool")
    canvas.corners((cab, 9, 7), (long - 2, 13, 10), paint)
    canvas.box((cab, 14, 7), (long - 2, 14, 10), paint)
    canvas.part("a cab of glass with a roof", 9, 14)
    elbow = (long + 5, 8 + rise)
    _beam(canvas, (long - 5, 9), elbow, paint, 3)
    canvas.part("an arm that rises to the east", 9, elbow[1])
    _beam(canvas, elbow, (long + 11, 6), paint, 2)
    canvas.box((elbow[0], elbow[1], 2), (elbow[0] + 1, elbow[1] + 1, 6), "gray_concrete")
    canvas.part("a second arm that falls from its end", 7, elbow[1])
    x = long + 11
    canvas.box((x - 2, 2, 2), (x + 2, 6, 6), "gray_concrete")
    canvas.box((x - 3, 3, 3), (x + 1, 5, 5), None)
    canvas.box((x - 2, 3, 3), (x - 2, 5, 5), None)
    canvas.put(x - 3, 2, (2, 4, 6), "light_gray_concrete")
    canvas.part("a grey bucket with teeth", 2, 6)


@design("working_vehicles", "hard")
def _truck(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(BRIGHT)
    load, words = {"sand": ("sand", "sand"), "stone": ("cobblestone", "cobblestone"), "dirt": ("coarse_dirt", "dirt")}[
        draw.pick(("sand", "stone", "dirt"))
    ]
    long, wide = draw.whole(26, 30), draw.odd(11, 13)
    side = wide - 1
    canvas.title(f"{plain(colour)} tipper truck", f"A {plain(colour)} tipper truck with a heap of {words} on its bed.")
    canvas.box((0, 3, 1), (long - 2, 4, side - 1), "gray_concrete")
    for x in (4, 9, long - 5):
        for z in (0, side):
            canvas.disc((x, 2), 2.4, z, z, "black_concrete", axis="z")
            canvas.put(x, 2, z, "light_gray_concrete")
        canvas.box((x, 2, 1), (x, 2, side - 1), "gray_concrete")
    canvas.part("six black wheels on a grey frame", 0, 4)
    bed = long - 10
    canvas.box((0, 5, 0), (bed, 5, side), f"{colour}_terracotta")
    canvas.walls((0, 5, 0), (bed, 9, side), f"{colour}_concrete", part="an open bed")
    for y in range(6, 12):
        inset = max(0, y - 8) * 2
        if bed - 1 - inset > 1 + inset and side - 1 - inset >= 1 + inset:
            canvas.box((1 + inset, y, 1 + inset), (bed - 1 - inset, y, side - 1 - inset), load)
    canvas.part(f"a heap of {words} on the bed", 6, 10)
    canvas.box((bed + 2, 3, 0), (long - 1, 12, side), f"{colour}_concrete")
    canvas.box((bed + 3, 5, 1), (long - 2, 11, side - 1), None)
    for z in (0, side):
        canvas.disc((long - 5, 2), 2.4, z, z, "black_concrete", axis="z")
        canvas.put(long - 5, 2, z, "light_gray_concrete")
        canvas.box((bed + 4, 8, z), (long - 3, 10, z), "light_blue_stained_glass")
    canvas.box((long - 1, 8, 1), (long - 1, 10, side - 1), "light_blue_stained_glass")
    canvas.box((long - 1, 4, 3), (long - 1, 6, side - 3), "iron_bars")
    canvas.put(long - 1, 4, (1, side - 1), "sea_lantern")
    canvas.part("a cab with windows at the east end", 3, 12)


def _beam(canvas: BlockCanvas, start: tuple[int, int], end: tuple[int, int], paint: str, thick: int) -> None:
    """A slanting beam, three blocks across and `thick` high, over (x, y) from `start` to `end`."""
    for up, z in product(range(thick), (3, 4, 5)):
        canvas.line((start[0], start[1] + up, z), (end[0], end[1] + up, z), paint)
        canvas.line((start[0] + 1, start[1] + up, z), (end[0] + 1, end[1] + up, z), paint)


@design("planes", "easy")
def _toy_plane(draw: Draw, canvas: BlockCanvas) -> None:
    body, wing = draw.two(BRIGHT)
    cloth = draw.pick(("concrete", "wool"))
    long = draw.whole(5, 6)
    canvas.title(f"{plain(body)} toy plane", f"A small {plain(body)} toy plane with {plain(wing)} wings.")
    canvas.box((0, 0, 2), (long - 1, 0, 2), f"{body}_{cloth}")
    canvas.put(long - 1, 0, 2, "light_gray_concrete", part="a body with a grey nose at its east end")
    canvas.box((long - 3, 0, 0), (long - 3, 0, 1), f"{wing}_{cloth}")
    canvas.box((long - 3, 0, 3), (long - 3, 0, 4), f"{wing}_{cloth}")
    if long == 6:
        canvas.box((long - 4, 0, 1), (long - 4, 0, 3), f"{wing}_{cloth}")
        canvas.put(long - 4, 0, 2, f"{body}_{cloth}")
    canvas.part("a wing on each side", 0, 0)
    canvas.put(0, 0, (1, 3), f"{wing}_{cloth}")
    canvas.put(0, 1, 2, f"{wing}_{cloth}", part="a tail fin")
    canvas.put(long - 3, 1, 2, "glass", part="a cockpit of glass")


@design("planes", "medium")
def _biplane(draw: Draw, canvas: BlockCanvas) -> None:
    body, wing = draw.two(BRIGHT)
    long, reach = draw.whole(13, 15), draw.whole(6, 7)
    canvas.title(f"{plain(body)} biplane", f"A {plain(body)} biplane with two pairs of {plain(wing)} wings.")
    paint, cloth = f"{body}_concrete", f"{wing}_wool"
    front = long - 5
    canvas.put(front + 1, 0, (-2, 2), "black_concrete")
    canvas.put(front + 1, 1, (-2, 2), "iron_bars")
    canvas.part("two wheels under the wings", 0, 0)
    canvas.box((front - 1, 2, -reach), (front + 2, 2, reach), cloth, part="the lower wings")
    canvas.box((4, 2, -1), (long - 1, 4, 1), paint)
    canvas.box((0, 3, 0), (4, 4, 0), paint)
    canvas.box((2, 3, -1), (4, 4, 1), paint)
    canvas.part("a body", 2, 4)
    canvas.box((front - 3, 4, 0), (front - 2, 4, 0), "brown_wool")
    canvas.put(front - 1, 5, 0, "glass_pane")
    canvas.part("an open cockpit", 4, 5)
    canvas.put((front - 1, front + 2), span(3, 5), (-reach + 1, -3, 3, reach - 1), "oak_fence")
    canvas.part("struts of fence between the wings", 3, 5)
    canvas.box((front, 5, 0), (front, 5, 0), "oak_fence")
    canvas.box((front - 1, 6, -reach), (front + 2, 6, reach), cloth)
    canvas.put(span(front, front + 1), 6, (-reach + 2, reach - 2), "white_wool", part="the upper wings")
    canvas.box((0, 4, -3), (1, 4, 3), cloth)
    canvas.box((0, 5, 0), (1, 6, 0), cloth)
    canvas.part("a tail with a fin", 4, 6)
    canvas.put(long, 3, 0, "iron_block")
    canvas.box((long + 1, 1, 0), (long + 1, 5, 0), "dark_oak_planks")
    canvas.put(long + 1, 3, 0, "gold_block")
    canvas.part("a propeller at the east end", 1, 5)


@design("planes", "hard")
def _airliner(draw: Draw, canvas: BlockCanvas) -> None:
    colour = draw.pick(("red", "blue", "green", "orange", "purple", "cyan", "yellow"))
    long, reach = draw.whole(36, 40), draw.whole(16, 18)
    canvas.title(f"{colour} airliner", f"A white airliner with a {colour} tail, two engines and rows of windows.")
    white = "white_concrete"
    for x, z in ((long - 6, 0), (14, -3), (14, 3)):
        canvas.box((x, 0, z), (x + 1, 1, z), "black_concrete")
        canvas.box((x, 2, z), (x, 3, z), "light_gray_concrete")
    canvas.part("three pairs of wheels on legs", 0, 3)
    canvas.disc((6, 0), 3.4, 4, long - 5, white, hollow=True, axis="x")
    for step, radius in enumerate((3.2, 2.5, 2.0, 1.0)):
        canvas.disc((6 - (step + 1) // 3, 0), radius, long - 4 + step, long - 4 + step, white, axis="x")
    for step in range(8):
        canvas.disc((6 + step // 3, 0), 3.3 - step * 0.35, 3 - step, 3 - step, white, axis="x")
    canvas.part("a round white body with pointed ends", 3, 9)
    canvas.put(range(6, long - 6, 2), 7, (-3, 3), "light_blue_stained_glass")
    canvas.put(span(4, long - 6), 5, (-3, 3), f"{colour}_concrete")
    canvas.put(long - 8, span(5, 7), (-3, 3), "gray_concrete")
    canvas.part("a row of windows on each side", 7, 7)
    canvas.part(f"a {colour} stripe along each side", 5, 5)
    canvas.box((long - 4, 8, -1), (long - 4, 8, 1), "black_stained_glass")
    canvas.box((long - 3, 7, -1), (long - 3, 7, 1), "black_stained_glass")
    canvas.part("a dark windscreen at the east end", 7, 8)
    for side in (1, -1):
        for out in range(reach):
            z = side * (3 + out)
            start = 15 - out // 2
            canvas.box((start, 4, z), (start + max(3, 9 - out // 2), 4, z), "light_gray_concrete")
        z = side * (3 + reach - 1)
        canvas.box((15 - reach // 2, 5, z), (16 - reach // 2, 6, z), f"{colour}_concrete")
        at = side * 9
        canvas.disc((2, at), 1.6, 14, 20, white, axis="x")
        canvas.disc((2, at), 1.1, 20, 20, "gray_concrete", axis="x")
        for out in range(8):
            canvas.box((-4 - out // 2, 9, side * (1 + out)), (max(-3, 0 - out) - out // 4, 9, side * (1 + out)), white)
    canvas.part("two swept wings with turned-up tips", 4, 6)
    canvas.part("an engine under each wing", 1, 3)
    for y in range(9, 18):
        canvas.box((-5 - (y - 9) // 3, y, 0), (3 - (y - 9), y, 0), f"{colour}_concrete")
    canvas.part(f"a tall {colour} tail fin", 9, 17)
