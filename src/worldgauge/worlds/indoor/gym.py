"""Gym equipment. Every maker draws colours from its generator."""

from __future__ import annotations

import numpy as np

from worldgauge.worlds.indoor.boxes import Paint
from worldgauge.worlds.indoor.furniture.pieces import Piece
from worldgauge.worlds.indoor.palette import CLOTHS, DARK, STEEL, pick, shaded, varied


def treadmill(rng: np.random.Generator) -> Piece:
    """A treadmill."""
    piece = Piece.of("gym equipment", "treadmill", "black", (0.75, 1.55, 1.3), 0.3)
    dark, grey = Paint("metal", DARK), Paint("metal", varied(rng, (120, 122, 128), 20))
    piece.add((0.0, 0.0, 0.0), (0.75, 1.55, 0.12), grey)
    piece.add((0.1, 0.25, 0.12), (0.65, 1.55, 0.15), Paint("carpet", (46, 46, 48)))
    for x in (0.02, 0.67):
        piece.add((x, 0.12, 0.12), (x + 0.06, 0.20, 1.15), dark)
        piece.add((x, 0.20, 0.88), (x + 0.06, 0.75, 0.93), dark)
    piece.add((0.08, 0.10, 1.0), (0.67, 0.22, 1.3), dark)
    piece.add((0.14, 0.22, 1.06), (0.61, 0.225, 1.25), Paint("screen", (66, 104, 110)))
    return piece


def weight_bench(rng: np.random.Generator) -> Piece:
    """A weight bench with a barbell on its rack."""
    name, colour = pick(rng, CLOTHS)
    piece = Piece.of("gym equipment", "weight bench", name, (1.3, 1.25, 1.1), 0.3)
    dark, pad = Paint("metal", DARK), Paint("fabric", shaded(colour, 0.8), contrast=0.5)
    for x in (0.42, 0.82):
        piece.add((x, 0.10, 0.0), (x + 0.06, 0.16, 1.0), dark)
    piece.add((0.42, 0.16, 0.0), (0.88, 0.22, 0.06), dark)
    piece.add((0.60, 0.22, 0.0), (0.70, 1.2, 0.38), dark)
    piece.add((0.50, 0.20, 0.38), (0.80, 1.25, 0.46), pad)
    piece.add((0.0, 0.10, 1.0), (1.3, 0.13, 1.03), Paint("metal", STEEL))
    for x in (0.06, 1.14):
        piece.add((x, 0.0, 0.83), (x + 0.10, 0.10, 1.1), Paint("plain", colour))
        piece.add((x, 0.13, 0.83), (x + 0.10, 0.24, 1.1), Paint("plain", colour))
    return piece


def exercise_bike(rng: np.random.Generator) -> Piece:
    """A bicycle that goes nowhere."""
    name, colour = pick(rng, CLOTHS)
    piece = Piece.of("gym equipment", "exercise bike", name, (0.5, 1.05, 1.2), 0.3)
    dark, frame = Paint("metal", DARK), Paint("metal", colour)
    for y in (0.05, 0.92):
        piece.add((0.0, y, 0.0), (0.5, y + 0.08, 0.06), dark)
    piece.add((0.22, 0.13, 0.02), (0.28, 0.92, 0.10), frame)
    piece.add((0.21, 0.13, 0.10), (0.29, 0.55, 0.58), frame)
    piece.add((0.23, 0.30, 0.58), (0.27, 0.34, 1.08), dark)
    piece.add((0.05, 0.26, 1.08), (0.45, 0.34, 1.12), dark)
    piece.add((0.23, 0.72, 0.10), (0.27, 0.76, 0.82), dark)
    piece.add((0.15, 0.62, 0.82), (0.35, 0.90, 0.90), Paint("fabric", DARK, (60, 60, 64)))
    piece.add((0.17, 0.28, 1.12), (0.33, 0.30, 1.2), Paint("screen", (80, 110, 116)))
    return piece
