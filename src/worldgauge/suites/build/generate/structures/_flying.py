"""Planes. All fly east."""

from __future__ import annotations

from worldgauge.suites.build.generate.structures._brush import Draw, Sketch
from worldgauge.suites.build.generate.structures._designs import design
from worldgauge.suites.build.generate.structures._palette import BRIGHT, said


@design("planes", "easy")
def toy_plane(draw: Draw) -> Sketch:
    """A stick with wings and a tail."""
    body, wing = draw.two(BRIGHT)
    cloth = draw.pick(("concrete", "wool"))
    long = draw.whole(5, 6)
    sketch = Sketch(f"{said(body)} toy plane", f"A small {said(body)} toy plane with {said(wing)} wings.")
    sketch.box((0, 0, 2), (long - 1, 0, 2), f"{body}_{cloth}")
    sketch.put(long - 1, 0, 2, "light_gray_concrete")
    sketch.part("a body with a grey nose at its east end", 0, 0)
    sketch.box((long - 3, 0, 0), (long - 3, 0, 1), f"{wing}_{cloth}")
    sketch.box((long - 3, 0, 3), (long - 3, 0, 4), f"{wing}_{cloth}")
    if long == 6:
        sketch.box((long - 4, 0, 1), (long - 4, 0, 3), f"{wing}_{cloth}")
        sketch.put(long - 4, 0, 2, f"{body}_{cloth}")
    sketch.part("a wing on each side", 0, 0)
    sketch.put(0, 0, 1, f"{wing}_{cloth}")
    sketch.put(0, 0, 3, f"{wing}_{cloth}")
    sketch.put(0, 1, 2, f"{wing}_{cloth}")
    sketch.part("a tail fin", 1, 1)
    sketch.put(long - 3, 1, 2, "glass")
    sketch.part("a cockpit of glass", 1, 1)
    return sketch


@design("planes", "medium")
def biplane(draw: Draw) -> Sketch:
    """Two wings one above the other, struts, a propeller, wheels."""
    body, wing = draw.two(BRIGHT)
    long, reach = draw.whole(13, 15), draw.whole(6, 7)
    sketch = Sketch(f"{said(body)} biplane", f"A {said(body)} biplane with two pairs of {said(wing)} wings.")
    paint, cloth = f"{body}_concrete", f"{wing}_wool"
    front = long - 5
    for z in (-2, 2):
        sketch.put(front + 1, 0, z, "black_concrete")
        sketch.put(front + 1, 1, z, "iron_bars")
    sketch.part("two wheels under the wings", 0, 0)
    sketch.box((front - 1, 2, -reach), (front + 2, 2, reach), cloth)
    sketch.part("the lower wings", 2, 2)
    sketch.box((4, 2, -1), (long - 1, 4, 1), paint)
    sketch.box((0, 3, 0), (4, 4, 0), paint)
    sketch.box((2, 3, -1), (4, 4, 1), paint)
    sketch.part("a body", 2, 4)
    sketch.box((front - 3, 4, 0), (front - 2, 4, 0), "brown_wool")
    sketch.put(front - 1, 5, 0, "glass_pane")
    sketch.part("an open cockpit", 4, 5)
    for z in (-reach + 1, -3, 3, reach - 1):
        for x in (front - 1, front + 2):
            sketch.box((x, 3, z), (x, 5, z), "oak_fence")
    sketch.part("struts of fence between the wings", 3, 5)
    sketch.box((front, 5, 0), (front, 5, 0), "oak_fence")
    sketch.box((front - 1, 6, -reach), (front + 2, 6, reach), cloth)
    for z in (-reach + 2, reach - 2):
        sketch.box((front, 6, z), (front + 1, 6, z), "white_wool")
    sketch.part("the upper wings", 6, 6)
    sketch.box((0, 4, -3), (1, 4, 3), cloth)
    sketch.box((0, 5, 0), (1, 6, 0), cloth)
    sketch.part("a tail with a fin", 4, 6)
    sketch.put(long, 3, 0, "iron_block")
    sketch.box((long + 1, 1, 0), (long + 1, 5, 0), "dark_oak_planks")
    sketch.put(long + 1, 3, 0, "gold_block")
    sketch.part("a propeller at the east end", 1, 5)
    return sketch


@design("planes", "hard")
def airliner(draw: Draw) -> Sketch:
    """A round body with windows, swept wings with engines, a tall tail."""
    colour = draw.pick(("red", "blue", "green", "orange", "purple", "cyan", "yellow"))
    long, reach = draw.whole(36, 40), draw.whole(16, 18)
    sketch = Sketch(f"{colour} airliner", f"A white airliner with a {colour} tail, two engines and rows of windows.")
    white = "white_concrete"
    for x, z in ((long - 6, 0), (14, -3), (14, 3)):
        sketch.box((x, 0, z), (x + 1, 1, z), "black_concrete")
        sketch.box((x, 2, z), (x, 3, z), "light_gray_concrete")
    sketch.part("three pairs of wheels on legs", 0, 3)
    sketch.disc((6, 0), 3.4, 4, long - 5, white, hollow=True, axis="x")
    for step, radius in enumerate((3.2, 2.5, 2.0, 1.0)):
        sketch.disc((6 - (step + 1) // 3, 0), radius, long - 4 + step, long - 4 + step, white, axis="x")
    for step in range(8):
        sketch.disc((6 + step // 3, 0), 3.3 - step * 0.35, 3 - step, 3 - step, white, axis="x")
    sketch.part("a round white body with pointed ends", 3, 9)
    for z in (-3, 3):
        for x in range(6, long - 6, 2):
            sketch.put(x, 7, z, "light_blue_stained_glass")
        sketch.box((4, 5, z), (long - 6, 5, z), f"{colour}_concrete")
        sketch.box((long - 8, 5, z), (long - 8, 7, z), "gray_concrete")
    sketch.part("a row of windows on each side", 7, 7)
    sketch.part(f"a {colour} stripe along each side", 5, 5)
    sketch.box((long - 4, 8, -1), (long - 4, 8, 1), "black_stained_glass")
    sketch.box((long - 3, 7, -1), (long - 3, 7, 1), "black_stained_glass")
    sketch.part("a dark windscreen at the east end", 7, 8)
    for side in (1, -1):
        for out in range(reach):
            z = side * (3 + out)
            start = 15 - out // 2
            sketch.box((start, 4, z), (start + max(3, 9 - out // 2), 4, z), "light_gray_concrete")
        z = side * (3 + reach - 1)
        sketch.box((15 - reach // 2, 5, z), (16 - reach // 2, 6, z), f"{colour}_concrete")
        at = side * 9
        sketch.disc((2, at), 1.6, 14, 20, white, axis="x")
        sketch.disc((2, at), 1.1, 20, 20, "gray_concrete", axis="x")
        for out in range(8):
            sketch.box((-4 - out // 2, 9, side * (1 + out)), (max(-3, 0 - out) - out // 4, 9, side * (1 + out)), white)
    sketch.part("two swept wings with turned-up tips", 4, 6)
    sketch.part("an engine under each wing", 1, 3)
    for y in range(9, 18):
        sketch.box((-5 - (y - 9) // 3, y, 0), (3 - (y - 9), y, 0), f"{colour}_concrete")
    sketch.part(f"a tall {colour} tail fin", 9, 17)
    return sketch
