"""What furniture is: parts in a frame of its own, and the objects that it consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.indoor.boxes import CLOTHS, DARK, FOLIAGE, WOODS, Colour, Paint, Point, pick, shaded, varied

Maker = Callable[[np.random.Generator], "Piece"]
"""Makes one piece of furniture of random size and colour."""


class Part(NamedTuple):
    """One box of a piece.

    Attributes:
        low: Lower corner in the piece's frame, metres.
        high: Upper corner, metres.
        paint: Its material.
        of: Number of the object it belongs to.
    """

    low: Point
    high: Point
    paint: Paint
    of: int = 0


class Thing(NamedTuple):
    """One object: category word, plain name, word for its colour, and for the state it shows ("" for none)."""

    category: str
    name: str
    colour: str
    state: str = ""


@dataclass
class Piece:
    """Furniture in its own frame: x along the wall behind it, y away from the wall, z up, from (0, 0, 0) to `size`.

    Attributes:
        things: Its objects, the main one first, then what lies or stands on it.
        size: Width, depth, height in metres.
        access_m: Depth of floor kept clear in front of it, metres.
        parts: Its boxes.
    """

    things: list[Thing]
    size: Point
    access_m: float = 0.55
    parts: list[Part] = field(default_factory=list)
    _corners: tuple[FloatArray, FloatArray] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls, category: str, name: str, colour: str, size: Point, access_m: float = 0.55, *, state: str = ""
    ) -> Piece:
        """Make a piece without parts.

        Args:
            size: Width, depth, height in metres.
            access_m: Free depth wanted in front of it, metres.
        """
        return cls([Thing(category, name, colour, state)], size, access_m)

    @property
    def corners(self) -> tuple[FloatArray, FloatArray]:
        """Low and high corners (n, 3) of its parts."""
        if self._corners is None or len(self._corners[0]) != len(self.parts):
            self._corners = np.array([part.low for part in self.parts]), np.array([part.high for part in self.parts])
        return self._corners

    def add(self, low: Point, high: Point, paint: Paint, of: int = 0) -> None:
        """Add a box.

        Args:
            low: Lower corner in the piece's frame, metres.
            high: Upper corner, metres.
        """
        self.parts.append(Part(low, high, paint, of))

    def thing(self, category: str, name: str, colour: str, state: str = "") -> int:
        """Add an object.

        Returns:
            Its number, for `add`.
        """
        self.things.append(Thing(category, name, colour, state))
        return len(self.things) - 1

    def legs(self, height: float, thick: float, paint: Paint, inset: float = 0.0) -> None:
        """Add four legs at the corners.

        Args:
            height: Metres.
            thick: Thickness, metres.
            inset: Distance from the edges, metres.
        """
        w, d, _ = self.size
        for x in (inset, w - inset - thick):
            for y in (inset, d - inset - thick):
                self.add((x, y, 0.0), (x + thick, y + thick, height), paint)

    def put(self, other: Piece, at: Point) -> None:
        """Put another piece on or into this one; its objects join.

        Args:
            at: Place of its lower corner in this piece's frame, metres.
        """
        first = len(self.things)
        self.things += other.things
        for part in other.parts:
            low = (part.low[0] + at[0], part.low[1] + at[1], part.low[2] + at[2])
            high = (part.high[0] + at[0], part.high[1] + at[1], part.high[2] + at[2])
            self.parts.append(Part(low, high, part.paint, part.of + first))


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

_BY_NAME = {
    "oven": "to bake food",
    "fridge": "to keep food cold",
    "dishwasher": "to wash dishes",
    "washing machine": "to wash clothes",
    "kitchen sink": "to rinse dishes",
    "wash basin": "to wash hands",
    "dining table": "to eat at",
    "desk": "to work at",
    "coffee table": "to put cups on",
    "console table": "to put keys on",
    "nightstand": "to put things on beside the bed",
    "tv stand": "to put the television on",
    "coat rack": "to hang coats on",
    "wardrobe": "to keep clothes in",
    "shoe cabinet": "to keep shoes in",
    "sideboard": "to keep tableware in",
    "wall cabinet": "to keep dishes in",
    "bathroom cabinet": "to keep toiletries in",
    "ottoman": "to put feet on",
    "television": "to watch films",
    "computer monitor": "to look at while working",
    "treadmill": "to run on",
    "weight bench": "to lift weights on",
    "exercise bike": "to cycle on",
    "pillow": "to lay one's head on",
    "ceiling lamp": "to light the room",
}
_BY_CATEGORY = {
    "bathtub": "to bathe in",
    "bed": "to sleep in",
    "chair": "to sit on",
    "chest of drawers": "to keep linen in",
    "clothes": "to wear",
    "counter": "to prepare food on",
    "curtain": "to keep the light out",
    "cushion": "to lean on",
    "door": "to close a room",
    "fireplace": "to warm the room",
    "mirror": "to look at oneself in",
    "seating": "to sit on",
    "shower": "to shower in",
    "sofa": "to sit on",
    "stool": "to sit on",
    "toilet": "to use as a lavatory",
    "towel": "to dry oneself with",
    "window": "to let daylight in",
    "basket": "to collect laundry in",
    "bookcase": "to keep books in",
    "books": "to read",
    "bowl": "to serve food in",
    "lamp": "to read by",
    "rug": "to keep feet warm",
}


def drawn_state(rng: np.random.Generator, name: str, first: float = 0.5) -> str:
    """Draw one of the two states of a thing."""
    one, other = STATES[name]
    return one if rng.random() < first else other


def function_of(category: str, name: str) -> str:
    """Return what a thing is for."""
    return _BY_NAME.get(name) or _BY_CATEGORY.get(category, "")


# Furniture to sit, lie and eat at, lamps and plants. Every maker draws sizes and colours from its generator.


RUG_M = 0.012
"""How thick rugs are."""


def cloth(colour: Colour, rng: np.random.Generator, plain: bool = False) -> Paint:
    """Make a fabric with a pattern in a lighter or darker tone.

    Args:
        colour: Base colour, RGB, 0 to 255.
    """
    other = shaded(colour, float(rng.choice([0.7, 0.8, 1.2])))
    return Paint("fabric", colour, other, float(rng.uniform(0.05, 0.14)), 0.45 if plain else 1.0)


def wooden(rng: np.random.Generator) -> tuple[str, Paint]:
    """A wood's colour word and its paint."""
    name, colour = pick(rng, WOODS)
    return name, Paint("wood", colour, contrast=0.6 if name in ("white", "grey") else 1.0)


def sofa(rng: np.random.Generator) -> Piece:
    """A sofa with back, arms, seat cushions and two loose cushions."""
    name, colour = pick(rng, CLOTHS)
    w, d = float(rng.uniform(1.7, 2.2)), 0.88
    piece = Piece.of("sofa", "sofa", name, (w, d, 0.82), 0.4)
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


def lounge(rng: np.random.Generator) -> Piece:
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


def armchair(rng: np.random.Generator) -> Piece:
    """An armchair."""
    name, colour = pick(rng, CLOTHS)
    paint = cloth(colour, rng)
    piece = Piece.of("seating", "armchair", name, (0.82, 0.80, 0.86), 0.5)
    piece.legs(0.10, 0.05, Paint("wood", WOODS["brown"]), 0.05)
    piece.add((0.0, 0.0, 0.10), (0.82, 0.80, 0.30), paint)
    piece.add((0.0, 0.0, 0.30), (0.82, 0.20, 0.86), paint)
    for x in (0.0, 0.68):
        piece.add((x, 0.20, 0.30), (x + 0.14, 0.80, 0.60), paint)
    piece.add((0.145, 0.205, 0.30), (0.675, 0.79, 0.45), cloth(shaded(colour, 1.12), rng))
    return piece


def bench(rng: np.random.Generator) -> Piece:
    """A bench with a padded seat."""
    wood, paint = wooden(rng)
    _, colour = pick(rng, CLOTHS)
    w = float(rng.uniform(0.9, 1.2))
    piece = Piece.of("seating", "bench", wood, (w, 0.36, 0.47), 0.5)
    piece.legs(0.38, 0.05, paint, 0.02)
    piece.add((0.0, 0.0, 0.38), (w, 0.36, 0.42), paint)
    piece.add((0.02, 0.02, 0.42), (w - 0.02, 0.34, 0.47), cloth(colour, rng))
    return piece


def ottoman(rng: np.random.Generator) -> Piece:
    """A cube to sit on."""
    name, colour = pick(rng, CLOTHS)
    piece = Piece.of("seating", "ottoman", name, (0.5, 0.5, 0.42), 0.4)
    piece.add((0.0, 0.0, 0.04), (0.5, 0.5, 0.42), cloth(colour, rng))
    piece.legs(0.04, 0.05, Paint("wood", WOODS["dark brown"]), 0.03)
    return piece


def stool(rng: np.random.Generator) -> Piece:
    """A stool on four legs."""
    wood, paint = wooden(rng)
    high = float(rng.choice([0.46, 0.62]))
    piece = Piece.of("stool", "stool", wood, (0.36, 0.36, high), 0.35)
    piece.legs(high - 0.05, 0.04, paint, 0.02)
    for y in (0.03, 0.30):
        piece.add((0.06, y, 0.16), (0.30, y + 0.025, 0.19), paint)
    piece.add((0.0, 0.0, high - 0.05), (0.36, 0.36, high), paint)
    return piece


def chair(rng: np.random.Generator) -> Piece:
    """A chair; its back is at y = 0."""
    wood, paint = wooden(rng)
    piece = Piece.of("chair", "chair", wood, (0.44, 0.46, 0.90), 0.35)
    piece.legs(0.43, 0.04, paint)
    piece.add((0.0, 0.0, 0.43), (0.44, 0.46, 0.47), paint)
    for x in (0.0, 0.40):
        piece.add((x, 0.0, 0.47), (x + 0.04, 0.04, 0.90), paint)
    for z in (0.56, 0.70, 0.84):
        piece.add((0.04, 0.005, z), (0.40, 0.03, z + 0.06), paint)
    return piece


def plant(rng: np.random.Generator) -> Piece:
    """A plant in a pot."""
    name = list(FOLIAGE)[int(rng.integers(len(FOLIAGE)))]
    dark, light = FOLIAGE[name]
    _, pot = pick(rng, CLOTHS)
    w, h = float(rng.uniform(0.42, 0.58)), float(rng.uniform(0.9, 1.5))
    piece = Piece.of("plant", "plant", name, (w, w, h), 0.3)
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


def floor_lamp(rng: np.random.Generator) -> Piece:
    """A lamp on a pole."""
    name, shade, state = _shade(rng, "floor lamp")
    piece = Piece.of("lamp", "floor lamp", name, (0.36, 0.36, 1.55), 0.3, state=state)
    metal = Paint("metal", DARK)
    piece.add((0.05, 0.05, 0.0), (0.31, 0.31, 0.03), metal)
    piece.add((0.165, 0.165, 0.03), (0.195, 0.195, 1.25), metal)
    piece.add((0.0, 0.0, 1.25), (0.36, 0.36, 1.55), shade)
    return piece


def _shade(rng: np.random.Generator, name: str) -> tuple[str, Paint, str]:
    """Colour word, paint and state of a lamp's shade."""
    word, colour = pick(rng, CLOTHS)
    state = drawn_state(rng, name)
    if state == "on":
        return "white", Paint("lit", (255, 246, 214)), state
    return word, Paint("fabric", shaded(colour, 0.9), shaded(colour, 0.8), 0.06), state


def table_lamp(rng: np.random.Generator) -> Piece:
    """A small lamp to stand on something."""
    name, shade, state = _shade(rng, "table lamp")
    piece = Piece.of("lamp", "table lamp", name, (0.22, 0.22, 0.40), state=state)
    piece.add((0.07, 0.07, 0.0), (0.15, 0.15, 0.20), Paint("plain", shaded(pick(rng, CLOTHS)[1], 0.8)))
    piece.add((0.0, 0.0, 0.20), (0.22, 0.22, 0.40), shade)
    return piece


def books(rng: np.random.Generator, width: float, depth: float = 0.16) -> Piece:
    """Make a short row of books.

    Args:
        width: Metres.
        depth: Metres.
    """
    piece = Piece.of("books", "books", "many colours", (width, depth, 0.22))
    piece.add((0.0, 0.0, 0.0), (width, depth, float(rng.uniform(0.17, 0.24))), Paint("books", (120, 90, 70)))
    return piece


def coffee_table(rng: np.random.Generator) -> Piece:
    """A low table."""
    wood, paint = wooden(rng)
    w, d = float(rng.uniform(0.8, 1.1)), float(rng.uniform(0.45, 0.6))
    piece = Piece.of("table", "coffee table", wood, (w, d, 0.42), 0.3)
    piece.legs(0.38, 0.06, paint)
    piece.add((0.0, 0.0, 0.38), (w, d, 0.42), paint)
    piece.add((0.06, 0.06, 0.14), (w - 0.06, d - 0.06, 0.16), paint)
    piece.put(books(rng, 0.24), (0.12, 0.12, 0.42))
    return piece


def side_table(rng: np.random.Generator) -> Piece:
    """A narrow table for a hall, with a lamp."""
    wood, paint = wooden(rng)
    w = float(rng.uniform(0.7, 1.0))
    piece = Piece.of("table", "console table", wood, (w, 0.30, 0.78), 0.4)
    piece.legs(0.74, 0.04, paint)
    piece.add((0.0, 0.0, 0.74), (w, 0.30, 0.78), paint)
    piece.put(table_lamp(rng), (0.1, 0.04, 0.78))
    return piece


def dining_set(rng: np.random.Generator) -> Piece:
    """A dining table with four chairs pushed in half way."""
    wood, paint = wooden(rng)
    w, d, inset = float(rng.uniform(1.2, 1.5)), float(rng.uniform(0.78, 0.9)), 0.24
    piece = Piece.of("table", "dining table", wood, (w, d + 2 * inset, 0.92), 0.25)
    for x in (0.03, w - 0.10):
        for y in (inset + 0.03, inset + d - 0.10):
            piece.add((x, y, 0.0), (x + 0.07, y + 0.07, 0.72), paint)
    piece.add((0.0, inset, 0.72), (w, inset + d, 0.76), paint)
    name, colour = pick(rng, CLOTHS)
    seat = chair(rng)
    for x in (w * 0.27 - 0.22, w * 0.73 - 0.22):
        piece.put(seat, (x, 0.0, 0.0))
        first = len(piece.parts)
        piece.put(seat, (x, 0.0, 0.0))
        # Turned round for the far side.
        for n in range(first, len(piece.parts)):
            part = piece.parts[n]
            low = (part.low[0], piece.size[1] - part.high[1], part.low[2])
            piece.parts[n] = part._replace(low=low, high=(part.high[0], piece.size[1] - part.low[1], part.high[2]))
    of = piece.thing("bowl", "bowl", name)
    bowl = ((w / 2 - 0.14, piece.size[1] / 2 - 0.14, 0.76), (w / 2 + 0.14, piece.size[1] / 2 + 0.14, 0.84))
    piece.add(*bowl, Paint("plain", colour), of)
    return piece


def screen(rng: np.random.Generator, name: str, dark: Colour) -> tuple[Paint, str]:
    """Make the paint of a screen, and draw its state.

    Args:
        dark: Colour when it is off, RGB, 0 to 255.
    """
    state = drawn_state(rng, name)
    if state == "on":
        return Paint("broadcast", varied(rng, (96, 132, 176), 40), varied(rng, (206, 140, 84), 40)), state
    return Paint("screen", varied(rng, dark, 4)), state


def bed(rng: np.random.Generator) -> Piece:
    """A bed with headboard, mattress, blanket and pillows; its head is at y = 0."""
    _, paint = wooden(rng)
    name, colour = pick(rng, CLOTHS)
    w, d = float(rng.choice([1.0, 1.4, 1.6])), 2.08
    state = drawn_state(rng, "bed", 0.6)
    piece = Piece.of("bed", "bed", name, (w, d, 0.95), 0.5, state=state)
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


def _blanket(piece: Piece, w: float, d: float, paint: Paint, state: str, rng: np.random.Generator) -> None:
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


def desk(rng: np.random.Generator) -> Piece:
    """A desk with a monitor, and a chair before it."""
    wood, paint = wooden(rng)
    w = float(rng.uniform(1.1, 1.5))
    piece = Piece.of("table", "desk", wood, (w, 1.0, 1.2), 0.3)
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
    seat = chair(rng)
    first = len(piece.parts)
    piece.put(seat, (m - 0.22, 0.0, 0.0))
    for n in range(first, len(piece.parts)):
        part = piece.parts[n]
        low = (part.low[0], 1.0 - part.high[1], part.low[2])
        piece.parts[n] = part._replace(low=low, high=(part.high[0], 1.0 - part.low[1], part.high[2]))
    piece.put(books(rng, 0.2), (0.08, 0.06, 0.75))
    return piece


def fireplace(rng: np.random.Generator) -> Piece:
    """A fireplace with a mantel, with a fire in it or only logs."""
    colour = varied(rng, ((176, 166, 152), (150, 92, 74), (206, 202, 194))[int(rng.integers(3))], 8)
    stone = Paint("stone", colour, shaded(colour, 0.7))
    w, state = float(rng.uniform(1.3, 1.6)), drawn_state(rng, "fireplace")
    word = "grey" if colour[0] - colour[2] < 40 else "red"
    piece = Piece.of("fireplace", "fireplace", word, (w, 0.42, 1.2), 0.6, state=state)
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
