"""Hand-made features of a box in an image, and of an image: colours, edges, place and surroundings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Box, Image

SIZE_PX = 128
"""Height to which every image is resized first, so that its resolution does not matter."""
_BINS = 9
_INSIDE_PX, _AROUND_PX = 48, 32
_AROUND = 2.2
"""Scale of the surroundings relative to the box, which may hold only a part of the thing."""
_LEAST_PX = 10.0
"""Least side of the surroundings, in pixels of the resized image, divided by that scale."""


def box_features(image: Image, box: Box) -> NDArray[np.float32]:
    """Compute the features of a box in an image.

    Args:
        image: (H, W, 3) uint8.
        box: x0, y0, x1, y1 in pixels.

    Returns:
        (n,) float32.

    Raises:
        ShapeError: If the box holds no pixel of the image.
    """
    x0, y0, x1, y1 = box
    if not (x0 < x1 and y0 < y1 and x0 < image.shape[1] and y0 < image.shape[0] and x1 > 0 and y1 > 0):
        raise ShapeError(
            f"expected a box with x0 < x1 and y0 < y1 within {image.shape[1]}x{image.shape[0]} pixels, got {box}"
        )
    whole = _resized(image)
    scale = SIZE_PX / image.shape[0]
    x0, y0, x1, y1 = (side * scale for side in box)
    inside = _cut(whole, (x0, y0, x1, y1), _INSIDE_PX)
    around = _cut(whole, _widened((x0, y0, x1, y1), _AROUND), _AROUND_PX)
    parts = [
        _pixels(inside, 12),
        _pixels(around, 12),
        _edges(inside, 6),
        _edges(inside, 2),
        _edges(around, 4),
        _colours(inside),
        _pixels(whole, 6),
        _place((x0, y0, x1, y1), whole.shape[1] / SIZE_PX),
    ]
    return np.concatenate(parts).astype(np.float32)


def in_mirror(image: Image, box: Box) -> tuple[Image, Box]:
    """The same seen in a mirror: image (H, W, 3) and box."""
    width = image.shape[1]
    return np.ascontiguousarray(image[:, ::-1]), (width - box[2], box[1], width - box[0], box[3])


def scene_features(image: Image) -> NDArray[np.float32]:
    """Compute the features (n,) float32 of an image (H, W, 3) uint8."""
    import cv2

    whole = np.asarray(cv2.resize(_resized(image), (SIZE_PX, SIZE_PX), interpolation=cv2.INTER_AREA), np.uint8)
    half = SIZE_PX // 2
    quarters = [whole[y : y + half, x : x + half] for y in (0, half) for x in (0, half)]
    parts = [_pixels(whole, 16), _edges(whole, 8), *(_colours(quarter) for quarter in quarters)]
    return np.concatenate(parts).astype(np.float32)


def _resized(image: Image) -> Image:
    import cv2

    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or 0 in image.shape:
        raise ShapeError(f"expected an image of shape (H, W, 3) and type uint8, got {image.shape} {image.dtype}")
    height, width = image.shape[:2]
    size = (max(1, round(width * SIZE_PX / height)), SIZE_PX)
    how = cv2.INTER_AREA if height > SIZE_PX else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, size, interpolation=how), np.uint8)


def _widened(box: tuple[float, float, float, float], times: float) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = box
    half_x, half_y = (times / 2 * max(side, _LEAST_PX) for side in (x1 - x0, y1 - y0))
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    return x - half_x, y - half_y, x + half_x, y + half_y


def _cut(image: Image, box: tuple[float, float, float, float], size: int) -> Image:
    """Crop any box to (size, size, 3); outside the image its border is repeated."""
    import cv2

    x0, y0, x1, y1 = box
    # Shrink by averaging a fine grid: bilinear sampling alone would skip pixels.
    fine = 4 * size if max(x1 - x0, y1 - y0) > 1.5 * size else size
    grid = (np.arange(fine, dtype=np.float32) + 0.5) / fine
    columns, rows = np.meshgrid(x0 + grid * (x1 - x0) - 0.5, y0 + grid * (y1 - y0) - 0.5)
    cut = cv2.remap(
        image,
        columns.astype(np.float32),
        rows.astype(np.float32),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return np.asarray(cut if fine == size else cv2.resize(cut, (size, size), interpolation=cv2.INTER_AREA), np.uint8)


def _pixels(image: Image, size: int) -> NDArray[np.float32]:
    import cv2

    small = cv2.resize(image, (size, size), interpolation=cv2.INTER_AREA)
    return np.asarray(small.ravel() / 255 - 0.5, np.float32)


def _edges(image: Image, cells: int) -> NDArray[np.float32]:
    """Return edge direction histograms of cells x cells parts, each of about length 1, and the edges' strength."""
    grey = np.asarray(image, np.float32) @ np.array([0.299, 0.587, 0.114], np.float32) / 255
    dy, dx = np.gradient(grey)
    strength = np.hypot(dx, dy)
    direction = (np.arctan2(dy, dx) % np.pi) / np.pi * _BINS
    side = grey.shape[0] // cells
    rows, columns = np.indices(grey.shape) // side
    bins = (rows * cells + columns) * _BINS + np.minimum(direction.astype(np.int64), _BINS - 1)
    found = np.bincount(bins.ravel(), strength.ravel(), cells * cells * _BINS).reshape(-1, _BINS)
    local = found / (np.linalg.norm(found, axis=1, keepdims=True) + 0.5)
    overall = np.log1p(found.sum(1))
    return np.concatenate([local.ravel(), overall]).astype(np.float32)


def _colours(image: Image) -> NDArray[np.float32]:
    """Return shares of hues (12, by saturation), greys and lights; means and standard deviations of the channels."""
    import cv2

    hue, saturation, value = (
        channel.astype(np.float32).ravel() for channel in cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2HSV))
    )
    n = hue.size
    hues = np.bincount((hue / 180 * 12).astype(np.int64), saturation / 255, 12) / n
    grid = (saturation // 64).astype(np.int64) * 4 + (value // 64).astype(np.int64)
    shades = np.bincount(grid, minlength=16) / n
    flat = image.reshape(-1, 3).astype(np.float32) / 255
    return np.concatenate([np.sqrt(hues), np.sqrt(shades), flat.mean(0), flat.std(0)]).astype(np.float32)


def _place(box: tuple[float, float, float, float], aspect: float) -> NDArray[np.float32]:
    x0, y0, x1, y1 = (side / SIZE_PX for side in box)
    width, height = x1 - x0, y1 - y0
    borders = [x0 <= 0.01, y0 <= 0.01, x1 >= aspect - 0.01, y1 >= 0.99]
    sides = [np.log(width), np.log(height), np.log(width / height), width, height]
    return np.array([(x0 + x1) / 2 - aspect / 2, (y0 + y1) / 2 - 0.5, y0, y1, *sides, *borders], np.float32)
