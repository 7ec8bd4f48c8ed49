"""Rooms of boxes as triangles, for tests of floors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SIDES = np.array([[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]])


def box(low: tuple[float, float, float], high: tuple[float, float, float]) -> NDArray[np.float64]:
    """Triangles (12, 9) of a box, seen from outside."""
    (a, b, c), (d, e, f) = low, high
    points = np.array([[x, y, z] for z in (c, f) for x, y in ((a, b), (d, b), (d, e), (a, e))])
    quads = points[SIDES]
    return np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]).reshape(-1, 9)


def room(
    *things: NDArray[np.float64], size: tuple[float, float] = (6.0, 4.0), height: float = 2.5
) -> NDArray[np.float64]:
    """Floor, ceiling and four walls of 10 cm around `size`, with things in it."""
    x, y = size
    shell = [
        box((-0.1, -0.1, -0.1), (x + 0.1, y + 0.1, 0.0)),
        box((-0.1, -0.1, height), (x + 0.1, y + 0.1, height + 0.1)),
        box((-0.1, -0.1, 0.0), (0.0, y + 0.1, height)),
        box((x, -0.1, 0.0), (x + 0.1, y + 0.1, height)),
        box((0.0, -0.1, 0.0), (x, 0.0, height)),
        box((0.0, y, 0.0), (x, y + 0.1, height)),
    ]
    return np.concatenate([*shell, *things])
