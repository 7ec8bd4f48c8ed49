"""Drawn street scenes with exact labels, for tests of metrics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.perception.instances import CATEGORIES

HEIGHT, WIDTH = 360, 640
BLOCK = 4
"""Pixels; the grain of the drawn textures."""

_INDEX = {name: i for i, name in enumerate(CATEGORIES, start=1)}
_COLOURS = {
    "sky": ((120, 170, 250),),
    "grass": ((95, 160, 60),),
    "path": ((160, 135, 85),),
    "building": ((150, 110, 70), (130, 130, 130), (190, 180, 150), (140, 70, 55)),
    "tree": ((45, 100, 35), (60, 120, 45), (35, 80, 50)),
    "flower": ((210, 45, 45), (235, 205, 60), (90, 110, 220), (240, 240, 240)),
}


class DrawnScene(NamedTuple):
    """A synthetic scene.

    Attributes:
        rgb: (H, W, 3) uint8.
        category: (H, W) uint16, indices of CATEGORIES plus one.
        instance: (H, W) uint16, number of the object.
    """

    rgb: NDArray[np.uint8]
    category: NDArray[np.uint16]
    instance: NDArray[np.uint16]


def draw_scene(seed: int) -> DrawnScene:
    """Draw a scene of 640x360 pixels, the same for the same seed.

    It has sky above a horizon, grass, one widening path, 2-4 buildings, 2-6 trees and 3-8 flowers, drawn from back to
    front. Every object has its own number, which its visible parts keep.

    Args:
        seed: Seed of the scene.

    Returns:
        The scene.
    """
    rng = np.random.default_rng(seed)
    canvas = _Canvas(rng)
    horizon = int(rng.integers(110, 151))
    rows, columns = canvas.rows, canvas.columns
    canvas.paint("sky", (rows < horizon) & (columns >= 0))
    canvas.paint("grass", (rows >= horizon) & (columns >= 0))
    middle, near, far = rng.uniform(200, 440), rng.uniform(50, 110), rng.uniform(6, 16)
    depth = (rows - horizon) / (HEIGHT - horizon)
    canvas.paint("path", (rows >= horizon) & (np.abs(columns - middle) <= far + (near - far) * depth))

    things = [("building", float(rng.uniform(horizon + 5, horizon + 90))) for _ in range(rng.integers(2, 5))]
    things += [("tree", float(rng.uniform(horizon + 10, horizon + 140))) for _ in range(rng.integers(2, 7))]
    things += [("flower", float(rng.uniform(horizon + 40, HEIGHT - 12))) for _ in range(rng.integers(3, 9))]
    for name, base in sorted(things, key=lambda thing: thing[1]):
        if name == "building":
            width, height = rng.integers(70, 151), rng.integers(60, 121)
            left = rng.uniform(0, WIDTH - width)
            canvas.paint(name, (columns >= left) & (columns < left + width) & (rows >= base - height) & (rows < base))
        else:
            radius = rng.uniform(18, 45) if name == "tree" else rng.uniform(5, 10)
            x, y = rng.uniform(radius, WIDTH - radius), base - radius
            canvas.paint(name, (columns - x) ** 2 + (rows - y) ** 2 <= radius**2)
    return DrawnScene(canvas.rgb, canvas.category, canvas.instance)


class _Canvas:
    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.rows, self.columns = np.ogrid[:HEIGHT, :WIDTH]
        self.rgb = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        self.category = np.zeros((HEIGHT, WIDTH), np.uint16)
        self.instance = np.zeros((HEIGHT, WIDTH), np.uint16)
        self._count = 0

    def paint(self, name: str, mask: NDArray[np.bool_]) -> None:
        """One instance: a base colour, varied block by block."""
        self._count += 1
        palette = _COLOURS[name]
        base = np.array(palette[self._rng.integers(len(palette))], float) + self._rng.normal(0, 8, 3)
        spread = 2 if name == "sky" else 14
        blocks = self._rng.normal(0, spread, (HEIGHT // BLOCK, WIDTH // BLOCK))
        rows, columns = np.nonzero(mask)
        texture = base + blocks[rows // BLOCK, columns // BLOCK, None]
        self.rgb[rows, columns] = np.clip(texture, 0, 255).astype(np.uint8)
        self.category[mask] = _INDEX[name]
        self.instance[mask] = self._count
