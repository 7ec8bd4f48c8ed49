"""Furniture with doors, drawers and shelves. Every maker draws sizes and colours from its generator."""

from __future__ import annotations

import numpy as np

from worldgauge.worlds.indoor.boxes import Paint
from worldgauge.worlds.indoor.furniture.catalogue import books, cloth, screen, table_lamp, wooden
from worldgauge.worlds.indoor.furniture.functions import drawn_state
from worldgauge.worlds.indoor.furniture.pieces import Piece
from worldgauge.worlds.indoor.palette import CLOTHS, DARK, STEEL, pick, shaded


def bookcase(rng: np.random.Generator) -> Piece:
    """An open bookcase with rows of books."""
    wood, paint = wooden(rng)
    w, d, h = float(rng.uniform(0.7, 1.1)), 0.30, float(rng.uniform(1.6, 2.0))
    piece = Piece.of("bookcase", "bookcase", wood, (w, d, h), 0.5)
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


def chest_of_drawers(rng: np.random.Generator) -> Piece:
    """A chest of drawers, with something on it."""
    wood, paint = wooden(rng)
    w, h = float(rng.uniform(0.8, 1.1)), float(rng.uniform(0.8, 1.0))
    piece = Piece.of("chest of drawers", "chest of drawers", wood, (w, 0.45, h + 0.4), 0.5)
    _case(piece, w, 0.44, 0.06, h, paint, 1 if w < 0.95 else 2, 4)
    piece.put(table_lamp(rng), (0.08, 0.1, h))
    return piece


def narrow_chest(rng: np.random.Generator) -> Piece:
    """A shallow cabinet for a hall."""
    wood, paint = wooden(rng)
    piece = Piece.of("cabinet", "shoe cabinet", wood, (0.8, 0.28, 1.0), 0.4)
    _case(piece, 0.8, 0.27, 0.05, 1.0, paint, 1, 3)
    return piece


def wardrobe(rng: np.random.Generator) -> Piece:
    """A wardrobe with doors."""
    wood, paint = wooden(rng)
    w = float(rng.uniform(1.2, 1.7))
    state, columns = drawn_state(rng, "wardrobe", 0.35), 3 if w > 1.4 else 2
    piece = Piece.of("cabinet", "wardrobe", wood, (w, 0.6, 2.05), 0.55, state=state)
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


def sideboard(rng: np.random.Generator) -> Piece:
    """A sideboard with books on it."""
    wood, paint = wooden(rng)
    w = float(rng.uniform(1.1, 1.5))
    piece = Piece.of("cabinet", "sideboard", wood, (w, 0.42, 1.05), 0.5)
    _case(piece, w, 0.41, 0.1, 0.8, paint, 3)
    piece.put(books(rng, 0.4), (0.15, 0.12, 0.8))
    return piece


def nightstand(rng: np.random.Generator) -> Piece:
    """A bedside table with a lamp."""
    wood, paint = wooden(rng)
    piece = Piece.of("furniture", "nightstand", wood, (0.42, 0.38, 0.92), 0.3)
    _case(piece, 0.42, 0.37, 0.05, 0.5, paint, 1, 2)
    piece.put(table_lamp(rng), (0.1, 0.08, 0.5))
    return piece


def tv_set(rng: np.random.Generator) -> Piece:
    """A television on a low stand."""
    wood, paint = wooden(rng)
    w, tv = float(rng.uniform(1.4, 1.8)), float(rng.uniform(1.0, 1.25))
    piece = Piece.of("furniture", "tv stand", wood, (w, 0.42, 1.25), 0.5)
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
    piece: Piece,
    w: float,
    d: float,
    z0: float,
    z1: float,
    paint: Paint,
    columns: int,
    rows: int = 1,
    fronts: int | None = None,
) -> None:
    """A body on short legs, with doors or drawers and their handles, from (0, 0) to (w, d).

    fronts: columns that have them, from the first; all if left out.
    """
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
