"""What furniture is: parts in a frame of its own, and the objects that it consists of."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import NamedTuple

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.indoor.boxes import CLOTHS, DARK, FOLIAGE, WOODS, Colour, Paint, Point, pick, shaded, varied

Maker = Callable[[np.random.Generator], "Furnishing"]
"""Makes one piece of furniture of random size and colour."""


class FurniturePart(NamedTuple):
    """One box of a piece, corners in its frame in metres. `of`: number of the object it belongs to."""

    low: Point
    high: Point
    paint: Paint
    of: int = 0


class HouseholdItem(NamedTuple):
    """One object: category word, plain name, word for its colour, and for the state it shows ("" for none)."""

    category: str
    name: str
    colour: str
    state: str = ""


@dataclass
class Furnishing:
    """Furniture in its own frame: x along the wall behind it, y away from the wall, z up, from (0, 0, 0) to `size`."""

    things: list[HouseholdItem]  # its objects, the main one first, then what is on it
    size: Point
    access_m: float = 0.55  # depth of floor that stays clear in front of it
    parts: list[FurniturePart] = field(default_factory=list)
    _corners: tuple[FloatArray, FloatArray] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls, category: str, name: str, colour: str, size: Point, access_m: float = 0.55, *, state: str = ""
    ) -> Furnishing:
        """Make a piece without parts. `size` is width, depth, height in metres."""
        return cls([HouseholdItem(category, name, colour, state)], size, access_m)

    @property
    def corners(self) -> tuple[FloatArray, FloatArray]:
        """Low and high corners (n, 3) of its parts."""
        if self._corners is None or len(self._corners[0]) != len(self.parts):
            self._corners = np.array([part.low for part in self.parts]), np.array([part.high for part in self.parts])
        return self._corners

    def add(self, low: Point, high: Point, paint: Paint, of: int = 0) -> None:
        """Add a box. `low`: lower corner in the piece's frame, metres. `high`: upper corner, metres."""
        self.parts.append(FurniturePart(low, high, paint, of))

    def shape(self, name: str, **paints: Paint) -> None:
        """Add the boxes of a shape in shapes.txt, in the paints that it names."""
        for *spans, paint in _shapes()[name]:
            for x, y, z in product(*map(_ends, spans)):
                self.add((x[0], y[0], z[0]), (x[1], y[1], z[1]), paints[paint])

    def thing(self, category: str, name: str, colour: str, state: str = "") -> int:
        """Add an object. Returns its number, for `add`."""
        self.things.append(HouseholdItem(category, name, colour, state))
        return len(self.things) - 1

    def legs(self, height: float, thick: float, paint: Paint, inset: float = 0.0) -> None:
        """Add four legs at the corners, in metres; `inset` is their distance from the edges."""
        w, d, _ = self.size
        for x in (inset, w - inset - thick):
            for y in (inset, d - inset - thick):
                self.add((x, y, 0.0), (x + thick, y + thick, height), paint)

    def put(self, other: Furnishing, at: Point) -> None:
        """Put another piece on or into this one, its lower corner at `at`, metres; its objects join."""
        first = len(self.things)
        self.things += other.things
        for part in other.parts:
            low = (part.low[0] + at[0], part.low[1] + at[1], part.low[2] + at[2])
            high = (part.high[0] + at[0], part.high[1] + at[1], part.high[2] + at[2])
            self.parts.append(FurniturePart(low, high, part.paint, part.of + first))

    def put_turned(self, other: Furnishing, at: Point, depth: float) -> None:
        """Put another piece so that it looks towards the wall; `depth` is that of the whole, metres."""
        first = len(self.parts)
        self.put(other, at)
        for n, part in enumerate(self.parts[first:], first):
            (x0, y0, z0), (x1, y1, z1) = part.low, part.high
            self.parts[n] = part._replace(low=(x0, depth - y1, z0), high=(x1, depth - y0, z1))


@cache
def _shapes() -> dict[str, list[list[str]]]:
    text = (files(__package__) / "shapes.txt").read_text("utf-8")
    paragraphs = [paragraph.splitlines() for paragraph in text.split("\n\n")[1:]]
    return {title: [line.split() for line in lines] for title, *lines in paragraphs}


def _ends(span: str) -> list[tuple[float, float]]:
    if ":" in span:
        low, high = map(float, span.split(":"))
        return [(low, high)]
    starts, length = span.split("+")
    return [(float(start), float(start) + float(length)) for start in starts.split(",")]


# What the things in a home are for, and the states that they can be seen in.

STATES: dict[str, tuple[str, ...]] = {
    "door": ("open", "closed"),
    "curtain": ("open", "drawn"),
    "floor lamp": ("on", "off"),
    "table lamp": ("on", "off"),
    "ceiling lamp": ("on", "off"),
    "television": ("on", "off"),
    "computer monitor": ("on", "off"),
    "oven": ("on", "off"),
    "fireplace": ("burning", "out"),
    "bed": ("made", "unmade"),
    "wardrobe": ("open", "closed"),
    "toilet": ("open", "closed"),
    "bathtub": ("full", "empty"),
}
"""Names of objects and the states each is in one of; of a toilet it is that of its lid."""

_PURPOSES: dict[str, dict[str, str]] = json.loads((files(__package__) / "purposes.json").read_text("utf-8"))


def drawn_state(rng: np.random.Generator, name: str, first: float = 0.5) -> str:
    """Draw one of the two states of a thing."""
    one, other = STATES[name]
    return one if rng.random() < first else other


def function_of(category: str, name: str) -> str:
    """Return what a thing is for."""
    return _PURPOSES["by_name"].get(name) or _PURPOSES["by_category"].get(category, "")


# Furniture to sit, lie and eat at, lamps and plants. Every maker draws sizes and colours from its generator.

RUG_M = 0.012
"""How thick rugs are."""


def cloth(colour: Colour, rng: np.random.Generator, plain: bool = False) -> Paint:
    """Make a fabric with a pattern in a lighter or darker tone. `colour`: base colour, RGB, 0 to 255."""
    other = shaded(colour, float(rng.choice([0.7, 0.8, 1.2])))
    return Paint("fabric", colour, other, float(rng.uniform(0.05, 0.14)), 0.45 if plain else 1.0)


def wooden(rng: np.random.Generator) -> tuple[str, Paint]:
    """A wood's colour word and its paint."""
    name, colour = pick(rng, WOODS)
    return name, Paint("wood", colour, contrast=0.6 if name in ("white", "grey") else 1.0)


def sofa(rng: np.random.Generator) -> Furnishing:
    """A sofa with back, arms, seat cushions and two loose cushions."""
    name, colour = pick(rng, CLOTHS)
    w, d = float(rng.uniform(1.7, 2.2)), 0.88
    piece = Furnishing.of("sofa", "sofa", name, (w, d, 0.82), 0.4)
    paint, seat = cloth(colour, rng, True), cloth(shaded(colour, 1.08), rng, True)
    piece.legs(0.08, 0.06, Paint("wood", WOODS["dark brown"]), 0.04)
    piece.add((0.0, 0.0, 0.08), (w, d, 0.26), paint)
    piece.add((0.0, 0.0, 0.26), (w, 0.22, 0.82), paint)
    for x in (0.0, w - 0.18):
        piece.add((x, 0.22, 0.26), (x + 0.18, d, 0.60), paint)
    n = 2 if w < 1.95 else 3
    each = (w - 0.36) / n
    for i in range(n):
        piece.add((0.185 + i * each, 0.22, 0.26), (0.175 + (i + 1) * each, d - 0.01, 0.44), seat)
    for x in (0.22, w - 0.62):
        cushion, tint = pick(rng, CLOTHS)
        of = piece.thing("cushion", "cushion", cushion)
        piece.add((x, 0.23, 0.445), (x + 0.40, 0.37, 0.80), cloth(tint, rng), of)
    return piece


def lounge(rng: np.random.Generator) -> Furnishing:
    """A sofa with a coffee table before it, on a rug."""
    piece, table = sofa(rng), coffee_table(rng)
    (w, d, _), (table_w, table_d, _) = piece.size, table.size
    name, colour = pick(rng, CLOTHS)
    of = piece.thing("rug", "rug", name)
    paint = Paint("rug", colour, pick(rng, CLOTHS)[1], float(rng.uniform(0.15, 0.3)))
    piece.add((0.1, 0.6, 0.0), (w - 0.1, d + 0.45 + table_d + 0.15, RUG_M), paint, of)
    piece.put(table, ((w - table_w) / 2, d + 0.45, RUG_M))
    piece.size = (w, d + 0.45 + table_d + 0.15, 0.82)
    return piece


def armchair(rng: np.random.Generator) -> Furnishing:
    """An armchair."""
    name, colour = pick(rng, CLOTHS)
    paint = cloth(colour, rng)
    piece = Furnishing.of("seating", "armchair", name, (0.82, 0.80, 0.86), 0.5)
    piece.legs(0.10, 0.05, Paint("wood", WOODS["brown"]), 0.05)
    piece.shape("armchair", cloth=paint, seat=cloth(shaded(colour, 1.12), rng))
    return piece


def bench(rng: np.random.Generator) -> Furnishing:
    """A bench with a padded seat."""
    wood, paint = wooden(rng)
    _, colour = pick(rng, CLOTHS)
    w = float(rng.uniform(0.9, 1.2))
    piece = Furnishing.of("seating", "bench", wood, (w, 0.36, 0.47), 0.5)
    piece.legs(0.38, 0.05, paint, 0.02)
    piece.add((0.0, 0.0, 0.38), (w, 0.36, 0.42), paint)
    piece.add((0.02, 0.02, 0.42), (w - 0.02, 0.34, 0.47), cloth(colour, rng))
    return piece


def ottoman(rng: np.random.Generator) -> Furnishing:
    """A cube to sit on."""
    name, colour = pick(rng, CLOTHS)
    piece = Furnishing.of("seating", "ottoman", name, (0.5, 0.5, 0.42), 0.4)
    piece.add((0.0, 0.0, 0.04), (0.5, 0.5, 0.42), cloth(colour, rng))
    piece.legs(0.04, 0.05, Paint("wood", WOODS["dark brown"]), 0.03)
    return piece


def stool(rng: np.random.Generator) -> Furnishing:
    """A stool on four legs."""
    wood, paint = wooden(rng)
    high = float(rng.choice([0.46, 0.62]))
    piece = Furnishing.of("stool", "stool", wood, (0.36, 0.36, high), 0.35)
    piece.legs(high - 0.05, 0.04, paint, 0.02)
    for y in (0.03, 0.30):
        piece.add((0.06, y, 0.16), (0.30, y + 0.025, 0.19), paint)
    piece.add((0.0, 0.0, high - 0.05), (0.36, 0.36, high), paint)
    return piece


def chair(rng: np.random.Generator) -> Furnishing:
    """A chair; its back is at y = 0."""
    wood, paint = wooden(rng)
    piece = Furnishing.of("chair", "chair", wood, (0.44, 0.46, 0.90), 0.35)
    piece.legs(0.43, 0.04, paint)
    piece.shape("chair", wood=paint)
    return piece


def plant(rng: np.random.Generator) -> Furnishing:
    """A plant in a pot."""
    name = list(FOLIAGE)[int(rng.integers(len(FOLIAGE)))]
    dark, light = FOLIAGE[name]
    _, pot = pick(rng, CLOTHS)
    w, h = float(rng.uniform(0.42, 0.58)), float(rng.uniform(0.9, 1.5))
    piece = Furnishing.of("plant", "plant", name, (w, w, h), 0.3)
    middle, half, earth = w / 2, 0.15, Paint("carpet", (70, 52, 40))
    piece.add((middle - half, middle - half, 0.0), (middle + half, middle + half, 0.30), Paint("plain", pot))
    piece.add((middle - 0.13, middle - 0.13, 0.30), (middle + 0.13, middle + 0.13, 0.305), earth)
    piece.add((middle - 0.02, middle - 0.02, 0.305), (middle + 0.02, middle + 0.02, 0.5), Paint("wood", (96, 74, 48)))
    z = 0.42
    while z < h - 0.1:
        reach = (w / 2) * float(rng.uniform(0.55, 1.0)) * (1.0 - 0.45 * (z - 0.42) / h)
        shift = (w / 2 - reach) * rng.uniform(-1, 1, 2)
        top = min(z + float(rng.uniform(0.10, 0.2)), h)
        x, y = middle + float(shift[0]), middle + float(shift[1])
        piece.add((x - reach, y - reach, z), (x + reach, y + reach, top), Paint("foliage", dark, light))
        z = top
    return piece


def floor_lamp(rng: np.random.Generator) -> Furnishing:
    """A lamp on a pole."""
    name, shade, state = _shade(rng, "floor lamp")
    piece = Furnishing.of("lamp", "floor lamp", name, (0.36, 0.36, 1.55), 0.3, state=state)
    piece.shape("floor lamp", metal=Paint("metal", DARK), shade=shade)
    return piece


def _shade(rng: np.random.Generator, name: str) -> tuple[str, Paint, str]:
    """Colour word, paint and state of a lamp's shade."""
    word, colour = pick(rng, CLOTHS)
    state = drawn_state(rng, name)
    if state == "on":
        return "white", Paint("lit", (255, 246, 214)), state
    return word, Paint("fabric", shaded(colour, 0.9), shaded(colour, 0.8), 0.06), state


def table_lamp(rng: np.random.Generator) -> Furnishing:
    """A small lamp to stand on something."""
    name, shade, state = _shade(rng, "table lamp")
    piece = Furnishing.of("lamp", "table lamp", name, (0.22, 0.22, 0.40), state=state)
    piece.add((0.07, 0.07, 0.0), (0.15, 0.15, 0.20), Paint("plain", shaded(pick(rng, CLOTHS)[1], 0.8)))
    piece.add((0.0, 0.0, 0.20), (0.22, 0.22, 0.40), shade)
    return piece


def books(rng: np.random.Generator, width: float, depth: float = 0.16) -> Furnishing:
    """Make a short row of books. `width`, `depth`: metres."""
    piece = Furnishing.of("books", "books", "many colours", (width, depth, 0.22))
    piece.add((0.0, 0.0, 0.0), (width, depth, float(rng.uniform(0.17, 0.24))), Paint("books", (120, 90, 70)))
    return piece


def coffee_table(rng: np.random.Generator) -> Furnishing:
    """A low table."""
    wood, paint = wooden(rng)
    w, d = float(rng.uniform(0.8, 1.1)), float(rng.uniform(0.45, 0.6))
    piece = Furnishing.of("table", "coffee table", wood, (w, d, 0.42), 0.3)
    piece.legs(0.38, 0.06, paint)
    piece.add((0.0, 0.0, 0.38), (w, d, 0.42), paint)
    piece.add((0.06, 0.06, 0.14), (w - 0.06, d - 0.06, 0.16), paint)
    piece.put(books(rng, 0.24), (0.12, 0.12, 0.42))
    return piece


def side_table(rng: np.random.Generator) -> Furnishing:
    """A narrow table for a hall, with a lamp."""
    wood, paint = wooden(rng)
    w = float(rng.uniform(0.7, 1.0))
    piece = Furnishing.of("table", "console table", wood, (w, 0.30, 0.78), 0.4)
    piece.legs(0.74, 0.04, paint)
    piece.add((0.0, 0.0, 0.74), (w, 0.30, 0.78), paint)
    piece.put(table_lamp(rng), (0.1, 0.04, 0.78))
    return piece


def dining_set(rng: np.random.Generator) -> Furnishing:
    """A dining table with four chairs pushed in half way."""
    wood, paint = wooden(rng)
    w, d, inset = float(rng.uniform(1.2, 1.5)), float(rng.uniform(0.78, 0.9)), 0.24
    piece = Furnishing.of("table", "dining table", wood, (w, d + 2 * inset, 0.92), 0.25)
    for x in (0.03, w - 0.10):
        for y in (inset + 0.03, inset + d - 0.10):
            piece.add((x, y, 0.0), (x + 0.07, y + 0.07, 0.72), paint)
    piece.add((0.0, inset, 0.72), (w, inset + d, 0.76), paint)
    name, colour = pick(rng, CLOTHS)
    seat = chair(rng)
    for x in (w * 0.27 - 0.22, w * 0.73 - 0.22):
        piece.put(seat, (x, 0.0, 0.0))
        piece.put_turned(seat, (x, 0.0, 0.0), piece.size[1])
    of = piece.thing("bowl", "bowl", name)
    bowl = ((w / 2 - 0.14, piece.size[1] / 2 - 0.14, 0.76), (w / 2 + 0.14, piece.size[1] / 2 + 0.14, 0.84))
    piece.add(*bowl, Paint("plain", colour), of)
    return piece


def screen(rng: np.random.Generator, name: str, dark: Colour) -> tuple[Paint, str]:
    """Make the paint of a screen, and draw its state. `dark`: colour when it is off, RGB, 0 to 255."""
    state = drawn_state(rng, name)
    if state == "on":
        return Paint("broadcast", varied(rng, (96, 132, 176), 40), varied(rng, (206, 140, 84), 40)), state
    return Paint("screen", varied(rng, dark, 4)), state


def bed(rng: np.random.Generator) -> Furnishing:
    """A bed with headboard, mattress, blanket and pillows; its head is at y = 0."""
    _, paint = wooden(rng)
    name, colour = pick(rng, CLOTHS)
    w, d = float(rng.choice([1.0, 1.4, 1.6])), 2.08
    state = drawn_state(rng, "bed", 0.6)
    piece = Furnishing.of("bed", "bed", name, (w, d, 0.95), 0.5, state=state)
    piece.add((0.0, 0.0, 0.0), (w, 0.06, 0.95), paint)
    piece.legs(0.12, 0.07, paint, 0.06)
    piece.add((0.0, 0.06, 0.12), (w, d, 0.30), paint)
    piece.add((0.02, 0.06, 0.30), (w - 0.02, d - 0.02, 0.48), Paint("fabric", (226, 222, 214), contrast=0.4))
    _blanket(piece, w, d, cloth(colour, rng), state, rng)
    n = 1 if w < 1.2 else 2
    for i in range(n):
        tint_name, tint = pick(rng, CLOTHS)
        of = piece.thing("cushion", "pillow", tint_name)
        x = w * (i + 0.5) / n
        piece.add((x - 0.28, 0.08, 0.48), (x + 0.28, 0.46, 0.62), cloth(shaded(tint, 1.25), rng), of)
    return piece


def _blanket(piece: Furnishing, w: float, d: float, paint: Paint, state: str, rng: np.random.Generator) -> None:
    """Drawn up flat over the mattress, or thrown back in a heap over the foot of the bed."""
    if state == "made":
        piece.add((0.0, 0.62, 0.30), (w, d, 0.53), paint)
        return
    piece.add((0.0, d - 0.75, 0.30), (w, d, 0.52), paint)
    for i in range(4):
        x0 = w * i / 4
        near, far = d - float(rng.uniform(0.75, 1.05)), d - float(rng.uniform(0.0, 0.35))
        top = 0.52 + float(rng.uniform(0.06, 0.2))
        piece.add((x0, near, 0.485), (x0 + w / 4 - 0.004, min(near + 0.32, far), top), paint)
        piece.add((x0, min(near + 0.32, far), 0.525), (x0 + w / 4 - 0.004, far, top - 0.05), paint)


def desk(rng: np.random.Generator) -> Furnishing:
    """A desk with a monitor, and a chair before it."""
    wood, paint = wooden(rng)
    w = float(rng.uniform(1.1, 1.5))
    piece = Furnishing.of("table", "desk", wood, (w, 1.0, 1.2), 0.3)
    for x in (0.0, w - 0.05):
        piece.add((x, 0.0, 0.0), (x + 0.05, 0.62, 0.71), paint)
    piece.add((0.0, 0.0, 0.71), (w, 0.65, 0.75), paint)
    face, state = screen(rng, "computer monitor", (34, 38, 42))
    of, dark = piece.thing("tv monitor", "computer monitor", "black", state), Paint("metal", DARK)
    m = w / 2
    piece.add((m - 0.12, 0.14, 0.75), (m + 0.12, 0.30, 0.765), dark, of)
    piece.add((m - 0.025, 0.20, 0.765), (m + 0.025, 0.23, 0.86), dark, of)
    piece.add((m - 0.28, 0.20, 0.86), (m + 0.28, 0.235, 1.20), dark, of)
    piece.add((m - 0.265, 0.235, 0.875), (m + 0.265, 0.24, 1.185), face, of)
    piece.put_turned(chair(rng), (m - 0.22, 0.0, 0.0), 1.0)
    piece.put(books(rng, 0.2), (0.08, 0.06, 0.75))
    return piece


def fireplace(rng: np.random.Generator) -> Furnishing:
    """A fireplace with a mantel, with a fire in it or only logs."""
    colour = varied(rng, ((176, 166, 152), (150, 92, 74), (206, 202, 194))[int(rng.integers(3))], 8)
    stone = Paint("stone", colour, shaded(colour, 0.7))
    w, state = float(rng.uniform(1.3, 1.6)), drawn_state(rng, "fireplace")
    word = "grey" if colour[0] - colour[2] < 40 else "red"
    piece = Furnishing.of("fireplace", "fireplace", word, (w, 0.42, 1.2), 0.6, state=state)
    piece.add((0.0, 0.0, 0.0), (0.3, 0.36, 1.1), stone)
    piece.add((w - 0.3, 0.0, 0.0), (w, 0.36, 1.1), stone)
    piece.add((0.3, 0.0, 0.78), (w - 0.3, 0.36, 1.1), stone)
    piece.add((0.3, 0.0, 0.0), (w - 0.3, 0.36, 0.08), stone)
    piece.add((0.3, 0.0, 0.08), (w - 0.3, 0.06, 0.78), Paint("stone", (46, 42, 40), (30, 28, 28)))
    piece.add((0.36, 0.08, 0.08), (w - 0.36, 0.26, 0.16), Paint("wood", (84, 60, 42)))
    if state == "burning":
        piece.add((0.42, 0.12, 0.16), (w - 0.42, 0.20, 0.52), Paint("fire", (240, 140, 40)))
    piece.add((0.0, 0.0, 1.1), (w, 0.42, 1.2), Paint("wood", shaded(WOODS["brown"], 0.9)))
    return piece
