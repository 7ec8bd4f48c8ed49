"""Which category each colour of the embedded worlds belongs to, read from their textures.

Every texture under every light is a material with its own spread of colours. A colour counts for a category as strongly
as for that category's most favourable material. (The mean over materials would drown buildings, which have fifty, in
dirt, which has five.) The evidence of a neighbourhood is added before the decision.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.worlds.voxel.blocks import CATEGORIES, CATEGORY_OF, SETTLED_STATES
from worldgauge.worlds.voxel.textures import FACE_GROUP, SHADES, TEXELS, TEXTURE_OF, mipmaps, sky_colours

BITS = 6
"""Bits of each channel in the colour table."""

FLOOR = 5e-4
"""Likelihood of a colour that a category never shows."""


class Rule(NamedTuple):
    """How a pixel is classified.

    Attributes:
        spread: Standard deviation, in table cells of 4 levels, of what is done to a colour.
        near_px: Side at 640 columns of the neighbourhood that keeps edges.
        wide_px: Side of the one that bridges the grain of near textures.
        wide_weight: Its weight; that of the other is 1.
    """

    spread: float
    near_px: int
    wide_px: int
    wide_weight: float


SHARP = Rule(1.0, 5, 21, 0.5)
"""For frames as rendered: 95 % of the pixels are right. Video compression alone changes a colour by one cell."""
STEADY = Rule(1.5, 7, 41, 1.0)
"""For frames that a model may have changed: fewer small things are found, and what is found stays."""

BRIDGE_PX = 5
"""Widest gap that is bridged, in pixels at 640 columns."""

BUILDING_BIAS = -0.15
"""Log-likelihood taken from the category with the most materials, which wins most ties."""


def classify(rgb: NDArray[np.uint8], rule: Rule = SHARP) -> NDArray[np.uint16]:
    """Category of every pixel of an image.

    Args:
        rgb: (H, W, 3) uint8.
        rule: How.

    Returns:
        (H, W) uint16 index into blocks.CATEGORIES.
    """
    codes = _codes(np.ascontiguousarray(rgb))
    near, wide = (max(3, round(side * rgb.shape[1] / 640) | 1) for side in (rule.near_px, rule.wide_px))
    best = np.zeros(codes.shape, np.uint16)
    highest = np.full(codes.shape, -np.inf, np.float32)
    plane = np.empty(codes.shape, np.float32)
    # One category fits in the processor's cache.
    for index, column in enumerate(colour_table(rule.spread)):
        np.take(column, codes, out=plane, mode="clip")
        _keep_higher(_mean(plane, near), _mean(plane, wide), rule.wide_weight, index, highest, best)
    return best


def number_components(mask: NDArray[np.bool_], smallest: int) -> NDArray[np.uint16]:
    """Number the connected parts of a mask from 1.

    Gaps narrower than BRIDGE_PX do not split an object: they come and go with compression.

    Args:
        mask: (H, W) bool.
        smallest: Parts with fewer pixels get 0.

    Returns:
        (H, W) uint16 numbers, 0 outside the mask.
    """
    side = max(1, round(BRIDGE_PX * mask.shape[1] / 640))
    bridged = cv2.morphologyEx(mask.view(np.uint8), cv2.MORPH_CLOSE, np.ones((side, side), np.uint8))
    count, labels = cv2.connectedComponents(bridged, connectivity=8)
    return _renumbered(mask, np.asarray(labels, np.int32), count, smallest)


def _mean(plane: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    return np.asarray(cv2.blur(plane, (side, side), borderType=cv2.BORDER_REPLICATE), np.float32)


@lru_cache(maxsize=2)
def colour_table(spread: float) -> NDArray[np.float32]:
    """Log-likelihood (n_categories, 2^(3 BITS)) of every colour cell under each category of blocks.CATEGORIES."""
    likelihood = np.zeros((len(CATEGORIES), 1 << (3 * BITS)))
    radius = int(np.ceil(3 * spread))
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / spread) ** 2)
    work = np.zeros(1 << (3 * BITS))
    for category, colours in _materials():
        cells, counts = np.unique(colours >> (8 - BITS), axis=0, return_counts=True)
        _raise(likelihood[category], work, cells.astype(np.int64), counts / counts.sum(), kernel / kernel.sum())
    table: NDArray[np.float32] = np.log(likelihood + FLOOR).astype(np.float32)
    table[CATEGORIES.index("building")] += BUILDING_BIAS
    return table


def _materials() -> list[tuple[int, NDArray[np.uint8]]]:
    """(category, colours (n, 3)): every texture at all sizes under each light, and the sky in four bands."""
    levels = mipmaps(TEXELS)
    found = {}
    for state in range(1, SETTLED_STATES):
        for group, shade in zip(FACE_GROUP, SHADES, strict=True):
            texture = int(TEXTURE_OF[state, group])
            sizes = [level[texture].reshape(-1, 4) for level in levels]
            lit = [np.rint(texels[texels[:, 3] > 0, :3] * shade).astype(np.uint8) for texels in sizes]
            if len(lit[0]):
                # Every size has the same weight, however many texels it has.
                colours = np.concatenate([np.resize(part, (256, 3)) for part in lit if len(part)])
                found[int(CATEGORY_OF[state]), texture, float(shade)] = colours
    sky = CATEGORIES.index("sky")
    return [(key[0], colours) for key, colours in found.items()] + [
        (sky, band) for band in np.split(sky_colours(1024), 4)
    ]


@njit(cache=True, nogil=True)
def _raise(
    likelihood: NDArray[np.float64],
    work: NDArray[np.float64],
    cells: NDArray[np.int64],
    weights: NDArray[np.float64],
    kernel: NDArray[np.float64],
) -> None:
    """Raise `likelihood` to that of one material: its weighted colour cells, blurred by `kernel`.

    What the blur moves past black or white is added back in proportion.

    Args:
        likelihood: (cells^3,) likelihood, raised in place.
        work: (cells^3,) zeros, and zeros again afterwards.
        cells: (n, 3) colour cells of the material.
        weights: (n,) weights of the cells.
        kernel: Kernel of the blur.
    """
    side = 1 << BITS
    radius = len(kernel) // 2
    inside = 0.0
    for emptying in (False, True):
        for i in range(len(cells)):
            for r in range(max(cells[i, 0] - radius, 0), min(cells[i, 0] + radius + 1, side)):
                for g in range(max(cells[i, 1] - radius, 0), min(cells[i, 1] + radius + 1, side)):
                    share = weights[i] * kernel[r - cells[i, 0] + radius] * kernel[g - cells[i, 1] + radius]
                    for b in range(max(cells[i, 2] - radius, 0), min(cells[i, 2] + radius + 1, side)):
                        code = (r * side + g) * side + b
                        if emptying:
                            likelihood[code] = max(likelihood[code], work[code] / inside)
                            work[code] = 0.0
                        else:
                            part = share * kernel[b - cells[i, 2] + radius]
                            work[code] += part
                            inside += part


@njit(cache=True, nogil=True)
def _codes(rgb: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Index (H, W) of every pixel's cell in the colour table."""
    height, width = rgb.shape[:2]
    shift = 8 - BITS
    codes = np.empty((height, width), np.int32)
    for y in range(height):
        for x in range(width):
            r, g, b = np.int32(rgb[y, x, 0]), np.int32(rgb[y, x, 1]), np.int32(rgb[y, x, 2])
            codes[y, x] = ((r >> shift) << (2 * BITS)) | ((g >> shift) << BITS) | (b >> shift)
    return codes


@njit(cache=True, nogil=True)
def _keep_higher(
    edges: NDArray[np.float32],
    grain: NDArray[np.float32],
    weight: float,
    index: int,
    highest: NDArray[np.float32],
    best: NDArray[np.uint16],
) -> None:
    """Where edges + weight * grain passes `highest`, set both outputs; the first of equals stays."""
    height, width = edges.shape
    scale = np.float32(weight)
    for y in range(height):
        for x in range(width):
            evidence = edges[y, x] + scale * grain[y, x]
            if evidence > highest[y, x]:
                highest[y, x] = evidence
                best[y, x] = index


@njit(cache=True, nogil=True)
def _renumbered(mask: NDArray[np.bool_], labels: NDArray[np.int32], count: int, smallest: int) -> NDArray[np.uint16]:
    """Labels inside `mask`, without the small ones, numbered from 1."""
    height, width = mask.shape
    area = np.zeros(count, np.int64)
    for y in range(height):
        for x in range(width):
            if mask[y, x]:
                area[labels[y, x]] += 1
    number = np.zeros(count, np.uint16)
    used = 0
    for label in range(1, count):
        if area[label] >= smallest:
            used += 1
            number[label] = used
    parts = np.zeros((height, width), np.uint16)
    for y in range(height):
        for x in range(width):
            if mask[y, x]:
                parts[y, x] = number[labels[y, x]]
    return parts
