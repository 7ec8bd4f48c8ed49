"""Views and panoramas as strips of one kind: a pixel is the same angle everywhere, so a turn is a shift of columns."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.core.video import resize

COLUMNS, ROWS = 128, 24
"""Of a panorama's strip: 2.8 degrees a pixel, 34 degrees up and down, which a view of 90 degrees shows to its sides."""
VIEW_COLUMNS = 32
"""Of a view's strip: 90 degrees."""
_SIDE_PX = 64

CONTRAST, OFFSET, NOISE = 0.1, 0.1, 0.12
"""Most that training changes a strip by, of values in [-1, 1]: the gain, the level, the deviation of noise."""

Strip = NDArray[np.float32]


def panorama_strip(panorama: Image, finer: int = 1) -> Strip:
    """The strip (24, 128, 3) in [-1, 1] of a panorama (H, W, 3) uint8; its centre column stays the centre.

    Args:
        panorama: (H, W, 3) uint8.
        finer: How many times as many rows and columns the strip has.
    """
    columns, height = COLUMNS * finer, ROWS * finer
    small = resize(panorama, columns, columns // 2)
    top = (columns // 2 - height) // 2
    return _values(small[top : top + height])


def view_strip(view: Image, camera: Camera, finer: int = 1) -> Strip:
    """The strip (24, 32, 3) in [-1, 1] of a view.

    Args:
        view: (H, W, 3) uint8.
        camera: Its camera. What it does not see repeats the nearest pixel.
        finer: How many times as many rows and columns the strip has.
    """
    import cv2

    side = _SIDE_PX * finer
    columns, rows = _places(camera.resized(side, side), finer)
    square = resize(view, side, side)
    return _values(np.asarray(cv2.remap(square, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)))


@lru_cache(maxsize=8)
def _places(camera: Camera, finer: int) -> tuple[Strip, Strip]:
    """Return column and row (24, 32), or finer, in the view of each pixel of the strip."""
    step = 2 * np.pi / (COLUMNS * finer)
    width, height = VIEW_COLUMNS * finer, ROWS * finer
    right = (np.arange(width) + 0.5 - width / 2) * step
    up = (height / 2 - np.arange(height) - 0.5) * step
    columns = np.broadcast_to(camera.cx + camera.fx * np.tan(right) - 0.5, (height, width))
    rows = camera.cy - camera.fy * np.tan(up)[:, None] / np.cos(right) - 0.5
    return columns.astype(np.float32).copy(), rows.astype(np.float32)


def _values(pixels: Image) -> Strip:
    return np.asarray(pixels.astype(np.float32) / np.float32(127.5) - 1, np.float32)


def as_imagined(strips: Strip, rng: np.random.Generator) -> Strip:
    """Strips as a model may show them: each with other colours and exposure, a third blurred, half of them noisy.

    Args:
        strips: (n, rows, columns, 3) in [-1, 1].
        rng: Chooses the changes.
    """
    each = (len(strips), 1, 1, 3)
    made = strips * (1 + rng.uniform(-CONTRAST, CONTRAST, each)) + rng.uniform(-OFFSET, OFFSET, each)
    wide = np.pad(made, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
    rows = (wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]) / 4
    soft = (rows[:, :, :-2] + 2 * rows[:, :, 1:-1] + rows[:, :, 2:]) / 4
    made = np.where(rng.random((len(strips), 1, 1, 1)) < 1 / 3, soft, made)
    sigma = rng.uniform(0, NOISE, (len(strips), 1, 1, 1)) * (rng.random((len(strips), 1, 1, 1)) < 0.5)
    return np.asarray(np.clip(made + sigma * rng.standard_normal(strips.shape), -1, 1), np.float32)
