"""Vehicles that work on farms and building sites. All drive east."""

from __future__ import annotations

from worldgauge.suites.build.generate.structures._brush import Draw, Sketch
from worldgauge.suites.build.generate.structures._designs import design
from worldgauge.suites.build.generate.structures._palette import BRIGHT, WOODS, said


@design("working_vehicles", "easy")
def wheelbarrow(draw: Draw) -> Sketch:
    """A tray on one wheel and two legs, with something in it."""
    wood = draw.pick(WOODS)
    load = draw.pick(("dirt", "sand", "gravel", "hay_block", "coarse_dirt", "pumpkin"))
    sketch = Sketch(f"{said(wood)} wheelbarrow", f"A {said(wood)} wheelbarrow full of {said(load)}.")
    sketch.put(4, 0, 1, draw.pick(("black_concrete", "gray_concrete", "coal_block")))
    sketch.part("one wheel at the east end", 0, 0)
    for z in (0, 2):
        sketch.put(1, 0, z, f"{wood}_fence")
        sketch.put(0, 1, z, f"{wood}_fence")
    sketch.part("two legs of fence", 0, 0)
    sketch.box((1, 1, 0), (3, 1, 2), f"{wood}_planks")
    sketch.put(4, 1, 1, f"{wood}_stairs[facing=west,half=top]")
    sketch.box((1 + draw.whole(0, 1), 1, 1), (3, 1, 1), load)
    sketch.part("a tray of planks with two handles at its west end", 1, 1)
    sketch.put(2, 2, 1, load)
    sketch.part(f"a heap of {said(load)}", 1, 2)
    return sketch


@design("working_vehicles", "medium")
def tractor(draw: Draw) -> Sketch:
    """Large rear wheels, small front ones, a cab, a chimney."""
    colour = draw.pick(("green", "red", "blue", "orange", "yellow"))
    paint = f"{colour}_concrete"
    long = draw.whole(12, 14)
    sketch = Sketch(f"{colour} tractor", f"A {colour} tractor with large rear wheels and an exhaust pipe.")
    sketch.box((1, 3, 2), (long - 1, 3, 4), "gray_concrete")
    sketch.box((6, 4, 2), (long - 1, 5, 4), paint)
    sketch.box((long - 1, 4, 2), (long - 1, 5, 4), "iron_bars")
    sketch.put(long - 1, 5, 2, "sea_lantern")
    sketch.put(long - 1, 5, 4, "sea_lantern")
    sketch.part("a bonnet with a grille and lights at its east end", 4, 5)
    for z in (0, 1, 5, 6):
        sketch.disc((3, 3), 3.2, z, z, "black_concrete", axis="z")
        sketch.disc((3, 3), 1.2, z, z, "yellow_concrete", axis="z")
    sketch.part("two large rear wheels", 0, 6)
    for z in (1, 5):
        sketch.disc((long - 3, 2), 2.2, z, z, "black_concrete", axis="z")
        sketch.put(long - 3, 2, z, "yellow_concrete")
    sketch.part("two smaller front wheels", 0, 4)
    sketch.box((1, 4, 2), (5, 5, 4), paint)
    sketch.box((2, 5, 3), (4, 5, 3), "black_wool")
    sketch.box((1, 6, 2), (5, 8, 4), "light_blue_stained_glass")
    sketch.box((2, 6, 3), (4, 8, 3), None)
    sketch.corners((1, 6, 2), (5, 8, 4), paint)
    sketch.box((1, 9, 2), (5, 9, 4), paint)
    sketch.part("a cab of glass under a flat roof", 6, 9)
    sketch.box((long - 4, 6, 3), (long - 4, 7 + draw.whole(0, 1), 3), draw.pick(("cobblestone_wall", "andesite_wall")))
    sketch.part("an exhaust pipe of wall on the bonnet", 6, 7)
    return sketch


@design("working_vehicles", "hard")
def excavator(draw: Draw) -> Sketch:
    """Tracks, a turntable, a cab, a bent arm with a bucket."""
    colour = draw.pick(("yellow", "orange", "lime", "light_blue"))
    paint = f"{colour}_concrete"
    long, rise = draw.whole(15, 17), draw.whole(10, 12)
    sketch = Sketch(f"{said(colour)} excavator", f"A {said(colour)} excavator with a bent arm and a bucket.")
    for z in (0, 9):
        for y, cut in ((0, 1), (1, 0), (2, 0), (3, 1)):
            sketch.box((cut, y, z), (long - 1 - cut, y, z + 2), "black_concrete")
        for x in range(2, long - 1, 3):
            for side in (z, z + 2):
                sketch.put(x, 1, side, "light_gray_concrete")
                sketch.put(x, 2, side, "gray_concrete")
    sketch.part("two black tracks", 0, 3)
    sketch.box((3, 2, 3), (long - 4, 3, 8), "gray_concrete")
    sketch.disc((long // 2, 5.5), 3.6, 4, 4, "gray_concrete")
    sketch.part("a round grey turntable", 4, 4)
    sketch.box((0, 5, 1), (long - 2, 8, 10), paint)
    sketch.box((-2, 5, 2), (-1, 8, 9), "gray_concrete")
    for z in (3, 5, 7):
        sketch.box((1, 9, z), (3, 9, z), "iron_bars")
    sketch.box((1, 9, 9), (1, 11, 9), "andesite_wall")
    sketch.part("a body with a grey counterweight at its west end", 5, 8)
    cab = long - 8
    sketch.box((cab, 9, 7), (long - 2, 13, 10), "light_blue_stained_glass")
    sketch.box((cab + 1, 9, 8), (long - 3, 13, 9), None)
    sketch.box((cab + 2, 9, 8), (cab + 2, 9, 9), "black_wool")
    sketch.corners((cab, 9, 7), (long - 2, 13, 10), paint)
    sketch.box((cab, 14, 7), (long - 2, 14, 10), paint)
    sketch.part("a cab of glass with a roof", 9, 14)
    elbow = (long + 5, 8 + rise)
    _beam(sketch, (long - 5, 9), elbow, paint, 3)
    sketch.part("an arm that rises to the east", 9, elbow[1])
    _beam(sketch, elbow, (long + 11, 6), paint, 2)
    sketch.box((elbow[0], elbow[1], 2), (elbow[0] + 1, elbow[1] + 1, 6), "gray_concrete")
    sketch.part("a second arm that falls from its end", 7, elbow[1])
    x = long + 11
    sketch.box((x - 2, 2, 2), (x + 2, 6, 6), "gray_concrete")
    sketch.box((x - 3, 3, 3), (x + 1, 5, 5), None)
    sketch.box((x - 2, 3, 3), (x - 2, 5, 5), None)
    for z in (2, 4, 6):
        sketch.put(x - 3, 2, z, "light_gray_concrete")
    sketch.part("a grey bucket with teeth", 2, 6)
    return sketch


@design("working_vehicles", "hard")
def truck(draw: Draw) -> Sketch:
    """A tipper truck: cab, bed with a heap."""
    colour = draw.pick(BRIGHT)
    load, words = {"sand": ("sand", "sand"), "stone": ("cobblestone", "cobblestone"), "dirt": ("coarse_dirt", "dirt")}[
        draw.pick(("sand", "stone", "dirt"))
    ]
    long, wide = draw.whole(26, 30), draw.odd(11, 13)
    side = wide - 1
    sketch = Sketch(f"{said(colour)} tipper truck", f"A {said(colour)} tipper truck with a heap of {words} on its bed.")
    sketch.box((0, 3, 1), (long - 2, 4, side - 1), "gray_concrete")
    for x in (4, 9, long - 5):
        for z in (0, side):
            sketch.disc((x, 2), 2.4, z, z, "black_concrete", axis="z")
            sketch.put(x, 2, z, "light_gray_concrete")
        sketch.box((x, 2, 1), (x, 2, side - 1), "gray_concrete")
    sketch.part("six black wheels on a grey frame", 0, 4)
    bed = long - 10
    sketch.box((0, 5, 0), (bed, 5, side), f"{colour}_terracotta")
    sketch.walls((0, 5, 0), (bed, 9, side), f"{colour}_concrete")
    sketch.part("an open bed", 5, 9)
    for y in range(6, 12):
        inset = max(0, y - 8) * 2
        if bed - 1 - inset > 1 + inset and side - 1 - inset >= 1 + inset:
            sketch.box((1 + inset, y, 1 + inset), (bed - 1 - inset, y, side - 1 - inset), load)
    sketch.part(f"a heap of {words} on the bed", 6, 10)
    sketch.box((bed + 2, 3, 0), (long - 1, 12, side), f"{colour}_concrete")
    sketch.box((bed + 3, 5, 1), (long - 2, 11, side - 1), None)
    for z in (0, side):
        sketch.disc((long - 5, 2), 2.4, z, z, "black_concrete", axis="z")
        sketch.put(long - 5, 2, z, "light_gray_concrete")
        sketch.box((bed + 4, 8, z), (long - 3, 10, z), "light_blue_stained_glass")
    sketch.box((long - 1, 8, 1), (long - 1, 10, side - 1), "light_blue_stained_glass")
    sketch.box((long - 1, 4, 3), (long - 1, 6, side - 3), "iron_bars")
    for z in (1, side - 1):
        sketch.put(long - 1, 4, z, "sea_lantern")
    sketch.part("a cab with windows at the east end", 3, 12)
    return sketch


def _beam(sketch: Sketch, start: tuple[int, int], end: tuple[int, int], paint: str, thick: int) -> None:
    """A slanting beam, three blocks across and `thick` high, over (x, y) from `start` to `end`."""
    for up in range(thick):
        for z in (3, 4, 5):
            sketch.line((start[0], start[1] + up, z), (end[0], end[1] + up, z), paint)
            sketch.line((start[0] + 1, start[1] + up, z), (end[0] + 1, end[1] + up, z), paint)
