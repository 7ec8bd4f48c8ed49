"""What each colour of the embedded worlds is painted for, and the cleaning of the label images that follow from it."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.worlds.voxel.blocks import CATEGORIES, CATEGORY_OF, STATES
from worldgauge.worlds.voxel.textures import SHADES, TEXELS, TEXTURE_OF, mipmaps, sky_colours

BITS = 5
"""Bits a channel of the colour table."""

SPREAD = 1.2
"""Blur of the colour histograms in table cells of 8 levels: what video compression does to a colour."""

FLOOR = 2e-5
"""Likelihood of a colour that a category never shows."""

WINDOW = 5
"""Pixels at 640 columns: neighbourhood whose evidence is added before deciding."""

_SIDE, _UP, _DOWN = 1, 0, 2
_GROUPS = {"east": _SIDE, "west": _SIDE, "north": _SIDE, "south": _SIDE, "up": _UP, "down": _DOWN, "plant": _SIDE}


def classify(rgb: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """Category index (H, W), of blocks.CATEGORIES, for every pixel of an image (H, W, 3) uint8."""
    height, width = rgb.shape[:2]
    planes = _gather(np.ascontiguousarray(rgb), colour_table())
    window = max(3, round(WINDOW * width / 640) | 1)
    for plane in planes:
        cv2.blur(plane, (window, window), dst=plane, borderType=cv2.BORDER_REPLICATE)
    return _best(planes)


def number_components(mask: NDArray[np.bool_], min_area: int) -> NDArray[np.uint16]:
    """Connected parts (8 neighbours) of a mask (H, W) numbered from 1; parts under `min_area` pixels get 0."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.view(np.uint8), connectivity=8)
    kept = stats[:, cv2.CC_STAT_AREA] >= min_area
    kept[0] = False
    number = np.where(kept, np.cumsum(kept), 0).astype(np.uint16)
    numbered: NDArray[np.uint16] = number[labels]
    return numbered


@lru_cache(maxsize=1)
def colour_table() -> NDArray[np.float32]:
    """Log-likelihood (2^(3 BITS), n_categories) of every colour cell under each category of blocks.CATEGORIES.

    From the texels at all sizes under the light of each face; every kind of block counts the same.
    """
    cells = 1 << BITS
    histograms = np.zeros((len(CATEGORIES), cells, cells, cells))
    levels = mipmaps(TEXELS)
    for category, colours in _painted(levels):
        index = colours >> (8 - BITS)
        np.add.at(histograms[category], tuple(index.T), 1 / len(colours))
    table = np.empty((cells**3, len(CATEGORIES)), np.float32)
    for category, histogram in enumerate(histograms):
        blurred = _blur(histogram).ravel()
        table[:, category] = np.log(blurred / max(blurred.sum(), 1e-12) + FLOOR)
    return table


def _painted(levels: list[NDArray[np.uint8]]) -> list[tuple[int, NDArray[np.uint8]]]:
    """(category, colours (n, 3)) of every state, face and size, and of the sky."""
    faces = [(SHADES[i], group) for i, group in enumerate(_GROUPS.values())]
    found = {}
    for state in range(1, len(STATES)):
        for shade, group in faces:
            texture = int(TEXTURE_OF[state, group])
            key = (int(CATEGORY_OF[state]), texture, float(shade))
            if key in found:
                continue
            parts = []
            for level in levels:
                texels = level[texture].reshape(-1, 4)
                lit = np.rint(texels[texels[:, 3] > 0, :3] * shade).astype(np.uint8)
                if len(lit):
                    # Every size weighs the same, however many texels it has.
                    parts.append(np.resize(lit, (256, 3)))
            if parts:
                found[key] = np.concatenate(parts)
    return [(category, colours) for (category, _, _), colours in found.items()] + [
        (CATEGORIES.index("sky"), sky_colours(1024))
    ]


def _blur(histogram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gaussian blur along the three colour axes."""
    radius = int(np.ceil(3 * SPREAD))
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / SPREAD) ** 2)
    kernel /= kernel.sum()
    for axis in range(3):
        histogram = np.apply_along_axis(np.convolve, axis, histogram, kernel, "same")
    return histogram


@njit(cache=True, nogil=True)
def _gather(rgb: NDArray[np.uint8], table: NDArray[np.float32]) -> NDArray[np.float32]:
    """Evidence planes (n, H, W) of every pixel's colour."""
    height, width = rgb.shape[:2]
    shift = 8 - BITS
    n = table.shape[1]
    planes = np.empty((n, height, width), np.float32)
    for y in range(height):
        for x in range(width):
            r, g, b = np.int64(rgb[y, x, 0]), np.int64(rgb[y, x, 1]), np.int64(rgb[y, x, 2])
            code = ((r >> shift) << (2 * BITS)) | ((g >> shift) << BITS) | (b >> shift)
            for c in range(n):
                planes[c, y, x] = table[code, c]
    return planes


@njit(cache=True, nogil=True)
def _best(planes: NDArray[np.float32]) -> NDArray[np.uint16]:
    n, height, width = planes.shape
    best = np.empty((height, width), np.uint16)
    for y in range(height):
        for x in range(width):
            choice = 0
            for c in range(1, n):
                if planes[c, y, x] > planes[choice, y, x]:
                    choice = c
            best[y, x] = choice
    return best
