"""Fittings of kitchens and bathrooms, doors, windows, and what hangs on walls."""

from __future__ import annotations

import numpy as np

from worldgauge.worlds.indoor.boxes import (
    CERAMIC,
    CHROME,
    CLOTHS,
    DARK,
    LACQUERS,
    STEEL,
    Colour,
    Paint,
    pick,
    shaded,
    varied,
)
from worldgauge.worlds.indoor.furniture import RUG_M, Furnishing, books, cloth, drawn_state, screen, table_lamp, wooden

_CHROME, _CERAMIC, _DARK = Paint("metal", CHROME), Paint("plain", CERAMIC, contrast=0.7), Paint("metal", DARK)


def kitchen_run(rng: np.random.Generator, width: float) -> Furnishing:
    """Make a row of counters, at least 2.4 m wide, with sink, oven with hob and dishwasher, and wall cabinets above."""
    name, colour = pick(rng, LACQUERS)
    front = Paint("wood" if name == "light wood" else "plain", colour)
    top_colour = varied(rng, ((90, 88, 86), (190, 184, 176), (128, 96, 70))[int(rng.integers(3))], 8)
    top = Paint("stone", top_colour, shaded(top_colour, 0.6))
    piece = Furnishing.of("counter", "kitchen counter", name, (width, 0.64, 2.1), 0.7)
    order = list(rng.permutation(3))
    units = [("oven", 0.6), ("sink", 0.8), ("dishwasher", 0.6)]
    slots = [(n, units[n][1]) for n in order]
    rest = width - 2.0
    x = 0.0
    for k, (n, w) in enumerate(slots):
        gap = rest * (0.0, 0.5, 0.5)[k]
        _base(piece, x, gap, front, top)
        x += gap
        (_oven, _sink, _dishwasher)[n](piece, rng, x, w, front, top)
        x += w
    _base(piece, x, width - x, front, top)
    wall = piece.thing("cabinet", "wall cabinet", name)
    n = max(int(width / 0.6), 2)
    for i in range(n):
        x0, x1 = width * i / n, width * (i + 1) / n
        piece.add((x0 + 0.002, 0.0, 1.45), (x1 - 0.002, 0.32, 2.1), front, wall)
        piece.add((x0 + 0.012, 0.32, 1.46), (x1 - 0.012, 0.336, 2.09), _lit(front), wall)
        piece.add((x1 - 0.06, 0.336, 1.50), (x1 - 0.045, 0.352, 1.64), _CHROME, wall)
    return piece


def _lit(paint: Paint) -> Paint:
    return paint._replace(colour=shaded(paint.colour, 1.06))


def _base(piece: Furnishing, x: float, width: float, front: Paint, top: Paint) -> None:
    """Plain counter from x to x + width: plinth, doors, worktop."""
    if width < 0.02:
        return
    piece.add((x, 0.0, 0.0), (x + width, 0.54, 0.10), _DARK)
    piece.add((x, 0.0, 0.10), (x + width, 0.58, 0.87), front)
    n = max(round(width / 0.5), 1)
    for i in range(n):
        x0, x1 = x + width * i / n + 0.008, x + width * (i + 1) / n - 0.008
        if x1 - x0 < 0.1:
            continue
        piece.add((x0, 0.58, 0.11), (x1, 0.598, 0.86), _lit(front))
        piece.add((x0 + 0.03, 0.598, 0.79), (x1 - 0.03, 0.612, 0.805), _CHROME)
    piece.add((x, 0.0, 0.87), (x + width, 0.62, 0.91), top)


def _oven(piece: Furnishing, rng: np.random.Generator, x: float, w: float, front: Paint, top: Paint) -> None:
    state = drawn_state(rng, "oven", 0.4)
    of = piece.thing("appliances", "oven", "grey", state)
    piece.add((x, 0.0, 0.0), (x + w, 0.54, 0.10), _DARK, of)
    piece.add((x, 0.0, 0.10), (x + w, 0.59, 0.87), Paint("metal", STEEL), of)
    inside = Paint("lit", (244, 150, 56)) if state == "on" else Paint("screen", (52, 48, 46))
    piece.add((x + 0.05, 0.59, 0.16), (x + w - 0.05, 0.60, 0.64), inside, of)
    piece.add((x + 0.05, 0.59, 0.67), (x + w - 0.05, 0.625, 0.69), _CHROME, of)
    for i in range(4):
        knob = x + 0.1 + i * (w - 0.24) / 3
        piece.add((knob, 0.59, 0.76), (knob + 0.04, 0.615, 0.80), _DARK, of)
    piece.add((x, 0.0, 0.87), (x + w, 0.62, 0.91), top)
    for dx in (0.06, 0.34):
        for y in (0.08, 0.33):
            piece.add((x + dx, y, 0.91), (x + dx + 0.20, y + 0.20, 0.925), _DARK, of)


def _sink(piece: Furnishing, rng: np.random.Generator, x: float, w: float, front: Paint, top: Paint) -> None:
    of = piece.thing("sink", "kitchen sink", "grey")
    piece.add((x, 0.0, 0.0), (x + w, 0.54, 0.10), _DARK)
    piece.add((x, 0.0, 0.10), (x + w, 0.58, 0.74), front)
    for x0 in (x + 0.008, x + w / 2 + 0.008):
        piece.add((x0, 0.58, 0.11), (x0 + w / 2 - 0.016, 0.598, 0.73), _lit(front))
    metal = Paint("metal", STEEL)
    _basin(piece, (x, 0.0, 0.74), (x + w, 0.62, 0.915), 0.08, metal, of)
    _tap(piece, x + w / 2, 0.03, 0.915, of)


def _dishwasher(piece: Furnishing, rng: np.random.Generator, x: float, w: float, front: Paint, top: Paint) -> None:
    of = piece.thing("appliances", "dishwasher", "white")
    piece.add((x, 0.0, 0.0), (x + w, 0.54, 0.10), _DARK, of)
    piece.add((x, 0.0, 0.10), (x + w, 0.59, 0.87), Paint("plain", (224, 224, 222)), of)
    piece.add((x + 0.02, 0.59, 0.74), (x + w - 0.02, 0.60, 0.85), Paint("screen", (90, 94, 98)), of)
    piece.add((x + 0.06, 0.59, 0.68), (x + w - 0.06, 0.62, 0.70), _CHROME, of)
    piece.add((x, 0.0, 0.87), (x + w, 0.62, 0.91), top)


def _basin(
    piece: Furnishing,
    low: tuple[float, float, float],
    high: tuple[float, float, float],
    rim: float,
    paint: Paint,
    of: int,
) -> None:
    """An open trough: a bottom and four sides."""
    (x0, y0, z0), (x1, y1, z1) = low, high
    piece.add((x0, y0, z0), (x1, y1, z0 + 0.04), paint, of)
    piece.add((x0, y0, z0 + 0.04), (x0 + rim, y1, z1), paint, of)
    piece.add((x1 - rim, y0, z0 + 0.04), (x1, y1, z1), paint, of)
    piece.add((x0 + rim, y0, z0 + 0.04), (x1 - rim, y0 + rim, z1), paint, of)
    piece.add((x0 + rim, y1 - rim, z0 + 0.04), (x1 - rim, y1, z1), paint, of)


def _tap(piece: Furnishing, x: float, y: float, z: float, of: int) -> None:
    piece.add((x - 0.015, y, z), (x + 0.015, y + 0.03, z + 0.22), _CHROME, of)
    piece.add((x - 0.015, y + 0.03, z + 0.19), (x + 0.015, y + 0.18, z + 0.22), _CHROME, of)


def fridge(rng: np.random.Generator) -> Furnishing:
    """A tall fridge."""
    name, colour = [("white", (228, 228, 226)), ("grey", STEEL), ("red", (164, 62, 56))][int(rng.integers(3))]
    paint = Paint("metal", varied(rng, colour, 6))
    piece = Furnishing.of("appliances", "fridge", name, (0.65, 0.68, 1.85), 0.6)
    piece.add((0.0, 0.0, 0.03), (0.65, 0.62, 1.85), paint)
    piece.add((0.03, 0.03, 0.0), (0.62, 0.6, 0.03), _DARK)
    for z0, z1 in ((0.04, 0.62), (0.64, 1.84)):
        piece.add((0.004, 0.62, z0), (0.646, 0.665, z1), _lit(paint))
        piece.add((0.56, 0.665, z1 - 0.45), (0.58, 0.68, z1 - 0.1), _CHROME)
    return piece


def washing_machine(rng: np.random.Generator) -> Furnishing:
    """A washing machine."""
    piece = Furnishing.of("appliances", "washing machine", "white", (0.6, 0.62, 0.85), 0.45)
    glass, body = Paint("screen", (48, 56, 66)), Paint("plain", (228, 228, 226))
    piece.shape("washing machine", body=body, panel=Paint("metal", STEEL), ring=_CHROME, glass=glass)
    return piece


def bathtub(rng: np.random.Generator) -> Furnishing:
    """A bathtub."""
    w = float(rng.uniform(1.5, 1.7))
    state = drawn_state(rng, "bathtub", 0.4)
    piece = Furnishing.of("bathtub", "bathtub", "white", (w, 0.72, 0.8), 0.45, state=state)
    _basin(piece, (0.0, 0.0, 0.0), (w, 0.72, 0.56), 0.08, _CERAMIC, 0)
    if state == "full":
        piece.add((0.08, 0.08, 0.04), (w - 0.08, 0.64, 0.47), Paint("plain", (92, 168, 196)))
    _tap(piece, 0.3, 0.025, 0.56, 0)
    return piece


def shower(rng: np.random.Generator) -> Furnishing:
    """A shower: tray, tiled back, posts, half a screen and the head."""
    tiles = Paint("tiles", varied(rng, (120, 160, 172), 25), (220, 224, 224), 0.1)
    piece = Furnishing.of("shower", "shower", "blue", (0.9, 0.9, 2.1), 0.4)
    piece.shape("shower", tray=_CERAMIC, tiles=tiles, metal=_CHROME)
    return piece


def toilet(rng: np.random.Generator) -> Furnishing:
    """A toilet with its cistern."""
    state = drawn_state(rng, "toilet")
    piece = Furnishing.of("toilet", "toilet", "white", (0.40, 0.66, 0.82), 0.5, state=state)
    piece.shape("toilet", ceramic=_CERAMIC)
    _basin(piece, (0.03, 0.181, 0.30), (0.37, 0.64, 0.42), 0.05, _CERAMIC, 0)
    seat = Paint("plain", (206, 206, 200))
    if state == "closed":
        piece.add((0.02, 0.20, 0.42), (0.38, 0.66, 0.45), seat)
    else:
        piece.shape("toilet lid up", seat=seat)
    return piece


def wash_basin(rng: np.random.Generator) -> Furnishing:
    """A wash basin on a cupboard, with a mirror over it."""
    name, colour = pick(rng, LACQUERS)
    w = float(rng.uniform(0.6, 0.8))
    piece = Furnishing.of("sink", "wash basin", "white", (w, 0.47, 1.75), 0.5)
    under = piece.thing("cabinet", "bathroom cabinet", name)
    piece.add((0.02, 0.0, 0.12), (w - 0.02, 0.42, 0.70), Paint("plain", colour), under)
    for x0 in (0.03, w / 2 + 0.005):
        piece.add((x0, 0.42, 0.13), (x0 + w / 2 - 0.035, 0.436, 0.69), Paint("plain", shaded(colour, 1.07)), under)
    _basin(piece, (0.0, 0.0, 0.70), (w, 0.47, 0.85), 0.06, _CERAMIC, 0)
    _tap(piece, w / 2, 0.02, 0.85, 0)
    _mirror(piece, 0.05, w - 0.05, 1.15, 1.75, piece.thing("mirror", "mirror", "silver"), rng)
    return piece


def _mirror(piece: Furnishing, x0: float, x1: float, z0: float, z1: float, of: int, rng: np.random.Generator) -> None:
    _, frame = wooden(rng)
    piece.add((x0, 0.0, z0), (x1, 0.02, z1), frame, of)
    piece.add((x0 + 0.03, 0.02, z0 + 0.03), (x1 - 0.03, 0.025, z1 - 0.03), Paint("mirror", (176, 196, 208)), of)


def wall_mirror(rng: np.random.Generator) -> Furnishing:
    """A tall mirror on a wall."""
    w, h = float(rng.uniform(0.45, 0.7)), float(rng.uniform(0.9, 1.3))
    piece = Furnishing.of("mirror", "mirror", "silver", (w, 0.025, h), 0.3)
    _mirror(piece, 0.0, w, 0.0, h, 0, rng)
    return piece


def picture(rng: np.random.Generator) -> Furnishing:
    """A framed picture."""
    name, colour = pick(rng, CLOTHS)
    w, h = float(rng.uniform(0.45, 0.95)), float(rng.uniform(0.45, 0.75))
    _, frame = wooden(rng)
    piece = Furnishing.of("picture", "picture", name, (w, 0.03, h), 0.0)
    piece.add((0.0, 0.0, 0.0), (w, 0.022, h), frame)
    piece.add((0.03, 0.022, 0.03), (w - 0.03, 0.027, h - 0.03), Paint("picture", colour))
    return piece


def towel_rail(rng: np.random.Generator) -> Furnishing:
    """A rail with a towel over it."""
    name, colour = pick(rng, CLOTHS)
    piece = Furnishing.of("towel", "towel", name, (0.5, 0.09, 0.75), 0.0)
    piece.shape("towel", metal=_CHROME, cloth=cloth(colour, rng))
    return piece


def coat_rack(rng: np.random.Generator) -> Furnishing:
    """Coats on a rail with hooks."""
    wood, paint = wooden(rng)
    piece = Furnishing.of("clothes", "coats", "many colours", (0.95, 0.2, 1.0), 0.3)
    rack = piece.thing("furniture", "coat rack", wood)
    piece.add((0.0, 0.0, 0.9), (0.95, 0.03, 1.0), paint, rack)
    for i in range(3):
        name, colour = pick(rng, CLOTHS)
        x, length = 0.05 + 0.30 * i, float(rng.uniform(0.6, 0.88))
        piece.add((x, 0.03, 0.92 - length), (x + 0.25, 0.15, 0.92), cloth(colour, rng))
        piece.things[0] = piece.things[0]._replace(colour=name)
    return piece


def laundry(rng: np.random.Generator) -> Furnishing:
    """A basket full of clothes."""
    name, colour = pick(rng, CLOTHS)
    _, other = pick(rng, CLOTHS)
    piece = Furnishing.of("clothes", "laundry", name, (0.45, 0.40, 0.62), 0.3)
    wicker = Paint("rug", (186, 158, 118), (150, 120, 84), 0.03)
    basket = piece.thing("basket", "laundry basket", "beige")
    _basin(piece, (0.0, 0.0, 0.0), (0.45, 0.40, 0.48), 0.03, wicker, basket)
    piece.add((0.03, 0.03, 0.04), (0.42, 0.37, 0.53), cloth(colour, rng))
    piece.add((0.06, 0.08, 0.53), (0.32, 0.30, 0.60), cloth(other, rng))
    return piece


def window(rng: np.random.Generator, width: float, height: float, curtains: bool) -> Furnishing:
    """Make a window that shows the land outside, 5 cm deep; z = 0 is its sill. `width`, `height`: metres."""
    piece = Furnishing.of("window", "window", "white", (width, 0.05, height), 0.0)
    frame = Paint("plain", (232, 230, 224), contrast=0.7)
    piece.add((0.0, 0.0, 0.0), (width, 0.02, height), Paint("view", (190, 214, 236)))
    for x in (0.0, width / 2 - 0.02, width - 0.05):
        piece.add((x, 0.02, 0.0), (x + (0.04 if 0 < x < width - 0.05 else 0.05), 0.05, height), frame)
    for z in (0.0, height - 0.05):
        piece.add((0.05, 0.02, z), (width / 2 - 0.02, 0.05, z + 0.05), frame)
        piece.add((width / 2 + 0.02, 0.02, z), (width - 0.05, 0.05, z + 0.05), frame)
    if curtains:
        name, colour = pick(rng, CLOTHS)
        paint = Paint("fabric", colour, shaded(colour, 0.8), 0.07)
        state = drawn_state(rng, "curtain", 0.65)
        inner, folds = (0.04, 3) if state == "open" else (width / 2 - 0.004, 7)
        for x0, x1 in ((-0.30, inner), (width - inner, width + 0.30)):
            of = piece.thing("curtain", "curtain", name, state)
            for i in range(folds):
                a, b = x0 + (x1 - x0) * i / folds, x0 + (x1 - x0) * (i + 1) / folds
                piece.add((a, 0.055 + 0.02 * (i % 2), -0.85), (b, 0.095 + 0.02 * (i % 2), height + 0.12), paint, of)
    return piece


def rug(rng: np.random.Generator, width: float, depth: float) -> Furnishing:
    """Make a rug, 12 mm thick. `width`, `depth`: metres."""
    name, colour = pick(rng, CLOTHS)
    piece = Furnishing.of("rug", "rug", name, (width, depth, RUG_M), 0.0)
    other: Colour = pick(rng, CLOTHS)[1]
    piece.add((0.0, 0.0, 0.0), (width, depth, RUG_M), Paint("rug", colour, other, float(rng.uniform(0.15, 0.3))))
    return piece


def ceiling_lamp(rng: np.random.Generator) -> Furnishing:
    """A flat lamp, hung from the ceiling at z = 0.12."""
    state = drawn_state(rng, "ceiling lamp")
    piece = Furnishing.of(
        "lamp", "ceiling lamp", "white" if state == "on" else "grey", (0.4, 0.4, 0.12), 0.0, state=state
    )
    paint = Paint("lit", (255, 250, 226)) if state == "on" else Paint("plain", (148, 148, 146), contrast=0.6)
    piece.add((0.0, 0.0, 0.03), (0.4, 0.4, 0.12), paint)
    piece.add((0.05, 0.05, 0.0), (0.35, 0.35, 0.03), paint)
    return piece


def door_leaf(rng: np.random.Generator, state: str, width: float = 0.86) -> Furnishing:
    """Make a door: a leaf 4 cm thick with panels and handles. `width`: metres."""
    wood, paint = wooden(rng)
    piece = Furnishing.of("door", "door", wood, (width, 0.1, 2.02), 0.0, state=state)
    piece.add((0.0, 0.03, 0.01), (width, 0.07, 2.02), paint)
    raised = paint._replace(colour=shaded(paint.colour, 0.9))
    for y0, y1 in ((0.02, 0.03), (0.07, 0.08)):
        for z0, z1 in ((0.2, 0.9), (1.1, 1.85)):
            piece.add((0.14, y0, z0), (width - 0.14, y1, z1), raised)
    for y0, y1 in ((0.0, 0.03), (0.07, 0.1)):
        piece.add((width - 0.10, y0, 1.0), (width - 0.02, y1, 1.03), _CHROME)
    return piece


# Furniture with doors, drawers and shelves. Every maker draws sizes and colours from its generator.


def bookcase(rng: np.random.Generator) -> Furnishing:
    """An open bookcase with rows of books."""
    wood, paint = wooden(rng)
    w, d, h = float(rng.uniform(0.7, 1.1)), 0.30, float(rng.uniform(1.6, 2.0))
    piece = Furnishing.of("bookcase", "bookcase", wood, (w, d, h), 0.5)
    for x in (0.0, w - 0.03):
        piece.add((x, 0.0, 0.0), (x + 0.03, d, h), paint)
    piece.add((0.03, 0.0, 0.0), (w - 0.03, 0.02, h), paint)
    shelves = np.linspace(0.06, h - 0.03, 6)
    for z in shelves:
        piece.add((0.03, 0.02, float(z)), (w - 0.03, d, float(z) + 0.03), paint)
    for z in shelves[:-1]:
        filled = float(rng.uniform(0.45, 1.0)) * (w - 0.06)
        height = min(0.24, float(shelves[1] - shelves[0]) - 0.06)
        row = Paint("books", paint.colour)
        piece.add((0.03, 0.02, float(z) + 0.03), (0.03 + filled, 0.22, float(z) + 0.03 + height), row)
    return piece


def chest_of_drawers(rng: np.random.Generator) -> Furnishing:
    """A chest of drawers, with something on it."""
    wood, paint = wooden(rng)
    w, h = float(rng.uniform(0.8, 1.1)), float(rng.uniform(0.8, 1.0))
    piece = Furnishing.of("chest of drawers", "chest of drawers", wood, (w, 0.45, h + 0.4), 0.5)
    _case(piece, w, 0.44, 0.06, h, paint, 1 if w < 0.95 else 2, 4)
    piece.put(table_lamp(rng), (0.08, 0.1, h))
    return piece


def narrow_chest(rng: np.random.Generator) -> Furnishing:
    """A shallow cabinet for a hall."""
    wood, paint = wooden(rng)
    piece = Furnishing.of("cabinet", "shoe cabinet", wood, (0.8, 0.28, 1.0), 0.4)
    _case(piece, 0.8, 0.27, 0.05, 1.0, paint, 1, 3)
    return piece


def wardrobe(rng: np.random.Generator) -> Furnishing:
    """A wardrobe with doors."""
    wood, paint = wooden(rng)
    w = float(rng.uniform(1.2, 1.7))
    state, columns = drawn_state(rng, "wardrobe", 0.35), 3 if w > 1.4 else 2
    piece = Furnishing.of("cabinet", "wardrobe", wood, (w, 0.6, 2.05), 0.55, state=state)
    if state == "closed":
        _case(piece, w, 0.59, 0.06, 2.05, paint, columns)
        return piece
    # The last door stands out at the side; where it was, clothes hang before a dark inside.
    each = w / columns
    _case(piece, w, 0.59, 0.06, 2.05, paint, columns, fronts=columns - 1)
    piece.add((w - each + 0.03, 0.57, 0.10), (w - 0.04, 0.572, 2.0), Paint("plain", (44, 38, 34)))
    piece.add((w - 0.03, 0.57, 0.07), (w - 0.01, 0.57 + each - 0.03, 2.04), paint)
    word, colour = pick(rng, CLOTHS)
    of = piece.thing("clothes", "hanging clothes", word)
    for i in range(3):
        x0 = w - each + 0.06 + i * (each - 0.12) / 3
        low = float(rng.uniform(0.6, 1.1))
        paint = cloth(shaded(colour, float(rng.uniform(0.85, 1.15))), rng)
        piece.add((x0, 0.572, low), (x0 + (each - 0.16) / 3, 0.60, 1.85), paint, of)
    piece.size = (w, 0.57 + each - 0.03, 2.05)
    return piece


def sideboard(rng: np.random.Generator) -> Furnishing:
    """A sideboard with books on it."""
    wood, paint = wooden(rng)
    w = float(rng.uniform(1.1, 1.5))
    piece = Furnishing.of("cabinet", "sideboard", wood, (w, 0.42, 1.05), 0.5)
    _case(piece, w, 0.41, 0.1, 0.8, paint, 3)
    piece.put(books(rng, 0.4), (0.15, 0.12, 0.8))
    return piece


def nightstand(rng: np.random.Generator) -> Furnishing:
    """A bedside table with a lamp."""
    wood, paint = wooden(rng)
    piece = Furnishing.of("furniture", "nightstand", wood, (0.42, 0.38, 0.92), 0.3)
    _case(piece, 0.42, 0.37, 0.05, 0.5, paint, 1, 2)
    piece.put(table_lamp(rng), (0.1, 0.08, 0.5))
    return piece


def tv_set(rng: np.random.Generator) -> Furnishing:
    """A television on a low stand."""
    wood, paint = wooden(rng)
    w, tv = float(rng.uniform(1.4, 1.8)), float(rng.uniform(1.0, 1.25))
    piece = Furnishing.of("furniture", "tv stand", wood, (w, 0.42, 1.25), 0.5)
    _case(piece, w, 0.42, 0.08, 0.46, paint, columns=3)
    face, state = screen(rng, "television", (28, 31, 36))
    of = piece.thing("tv monitor", "television", "black", state)
    x, dark = (w - tv) / 2, Paint("metal", DARK)
    piece.add((w / 2 - 0.2, 0.12, 0.46), (w / 2 + 0.2, 0.30, 0.48), dark, of)
    piece.add((w / 2 - 0.03, 0.18, 0.48), (w / 2 + 0.03, 0.22, 0.54), dark, of)
    piece.add((x, 0.17, 0.54), (x + tv, 0.215, 0.54 + tv * 0.57), dark, of)
    piece.add((x + 0.02, 0.215, 0.56), (x + tv - 0.02, 0.22, 0.52 + tv * 0.57), face, of)
    return piece


def _case(
    piece: Furnishing,
    w: float,
    d: float,
    z0: float,
    z1: float,
    paint: Paint,
    columns: int,
    rows: int = 1,
    fronts: int | None = None,
) -> None:
    """A body on short legs, from (0, 0) to (w, d), with doors or drawers on the first `fronts` columns (all)."""
    if z0 > 0:
        piece.legs(z0, 0.05, paint, 0.02)
    piece.add((0.0, 0.0, z0), (w, d - 0.02, z1), paint)
    front, metal = paint._replace(colour=shaded(paint.colour, 1.08)), Paint("metal", STEEL)
    for i in range(columns if fronts is None else fronts):
        for j in range(rows):
            x0, x1 = w * i / columns + 0.012, w * (i + 1) / columns - 0.012
            y0, y1 = z0 + (z1 - z0) * j / rows + 0.012, z0 + (z1 - z0) * (j + 1) / rows - 0.012
            piece.add((x0, d - 0.02, y0), (x1, d - 0.004, y1), front)
            x, z = (x0 + x1) / 2, (y0 + y1) / 2 if rows > 1 else y1 - 0.08
            piece.add((x - 0.05, d - 0.004, z - 0.01), (x + 0.05, d + 0.012, z + 0.01), metal)


# Gym equipment. Every maker draws colours from its generator.


def treadmill(rng: np.random.Generator) -> Furnishing:
    """A treadmill."""
    piece = Furnishing.of("gym equipment", "treadmill", "black", (0.75, 1.55, 1.3), 0.3)
    frame, belt = Paint("metal", varied(rng, (120, 122, 128), 20)), Paint("carpet", (46, 46, 48))
    piece.shape("treadmill", frame=frame, belt=belt, dark=_DARK, screen=Paint("screen", (66, 104, 110)))
    return piece


def weight_bench(rng: np.random.Generator) -> Furnishing:
    """A weight bench with a barbell on its rack."""
    name, colour = pick(rng, CLOTHS)
    piece = Furnishing.of("gym equipment", "weight bench", name, (1.3, 1.25, 1.1), 0.3)
    pad, bar = Paint("fabric", shaded(colour, 0.8), contrast=0.5), Paint("metal", STEEL)
    piece.shape("weight bench", dark=_DARK, pad=pad, bar=bar, disc=Paint("plain", colour))
    return piece


def exercise_bike(rng: np.random.Generator) -> Furnishing:
    """A bicycle that goes nowhere."""
    name, colour = pick(rng, CLOTHS)
    piece = Furnishing.of("gym equipment", "exercise bike", name, (0.5, 1.05, 1.2), 0.3)
    saddle, panel = Paint("fabric", DARK, (60, 60, 64)), Paint("screen", (80, 110, 116))
    piece.shape("exercise bike", dark=_DARK, frame=Paint("metal", colour), saddle=saddle, screen=panel)
    return piece
