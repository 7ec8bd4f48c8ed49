"""Takes back what a model did to the colours of a clip, without ground truth.

The embedded worlds show colours of one palette, and a labelled recording has its own. Of all gains and offsets, the
right ones make the clip's colours most likely under that palette.

    correction = estimate_correction(frames)
    labels = [segment(correction.applied(frame)) for frame in frames]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import NamedTuple

import cv2
import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.worlds.voxel.blocks import CATEGORIES, CATEGORY_OF, SETTLED_STATES

BITS = 6
"""Bits of each channel in the colour table."""
_MOST = (1 << BITS) - 1

FLOOR = 5e-4
"""Likelihood of a colour that a category never shows."""


class Rule(NamedTuple):
    """How a pixel is classified."""

    spread: float  # standard deviation of what is done to a colour, table cells of 4 levels
    near_px: int  # side at 640 columns of the neighbourhood that keeps edges
    wide_px: int  # side of the one that bridges the grain of near textures
    wide_weight: float


SHARP = Rule(1.0, 5, 21, 0.5)
"""For frames as rendered: 95 % of the pixels are right. Video compression alone changes a colour by one cell."""
STEADY = Rule(1.5, 7, 41, 1.0)
"""For frames that a model may have changed: fewer small things are found, and what is found stays."""

BRIDGE_PX = 5
"""Widest gap that is bridged, in pixels at 640 columns."""

BUILDING_BIAS = -0.15
"""Log-likelihood taken from the category with the most materials, which wins most ties."""


class CategoryColours:
    """The colours that categories show.

    `names` begins with that of no category. `materials` are pairs of a category's index and colours (n, 3) uint8, each
    as likely as the category's others. `bias` is added to a category's log-likelihood.
    """

    def __init__(
        self,
        names: Sequence[str],
        materials: Sequence[tuple[int, NDArray[np.uint8]]],
        bias: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self.names = tuple(names)
        self._materials, self._bias = materials, bias
        self.table = lru_cache(maxsize=2)(self._table)

    def _table(self, spread: float) -> NDArray[np.float32]:
        """Log-likelihood (n_categories, 2^(3 BITS)) of every colour cell under each category."""
        likelihood = np.zeros((len(self.names), 1 << (3 * BITS)))
        radius = int(np.ceil(3 * spread))
        kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / spread) ** 2)
        work = np.zeros(1 << (3 * BITS))
        for category, colours in self._materials:
            codes, counts = np.unique(_codes(colours[None]), return_counts=True)
            cells = np.stack([codes >> (2 * BITS), (codes >> BITS) & _MOST, codes & _MOST], -1).astype(np.int64)
            _raise(likelihood[category], work, cells, counts / counts.sum(), kernel / kernel.sum())
        table: NDArray[np.float32] = np.log(likelihood + FLOOR).astype(np.float32)
        for name, added in self._bias.items():
            table[self.names.index(name)] += added
        return table

    @cached_property
    def log_likelihood(self) -> NDArray[np.int64]:
        """Log-likelihood of every colour cell under the most favourable category, in steps of 1 / _UNIT."""
        from scipy.ndimage import gaussian_filter

        side = 1 << BITS
        likely = np.exp(self.table(STEADY.spread).max(axis=0).astype(np.float64)).reshape(side, side, side)
        smooth = np.log(gaussian_filter(likely, _SMOOTHING) + _RARE)
        return np.asarray(np.rint(_UNIT * smooth), np.int64).ravel()


def classify(rgb: NDArray[np.uint8], rule: Rule = SHARP, palette: CategoryColours | None = None) -> NDArray[np.uint16]:
    """Category of every pixel of an image, as an index into the palette's names. rgb: (H, W, 3) uint8."""
    codes = _codes(np.ascontiguousarray(rgb))
    near, wide = (max(3, round(side * rgb.shape[1] / 640) | 1) for side in (rule.near_px, rule.wide_px))
    best = np.zeros(codes.shape, np.uint16)
    highest = np.full(codes.shape, -np.inf, np.float32)
    plane = np.empty(codes.shape, np.float32)
    # One category fits in the processor's cache.
    for index, column in enumerate((palette or embedded_palette()).table(rule.spread)):
        np.take(column, codes, out=plane, mode="clip")
        _keep_higher(_mean(plane, near), _mean(plane, wide), rule.wide_weight, index, highest, best)
    return best


def number_components(mask: NDArray[np.bool_], smallest: int) -> NDArray[np.uint16]:
    """Number the connected parts of a mask (H, W) from 1; 0 is outside.
    Gaps narrower than BRIDGE_PX do not split an object: they come and go with compression."""
    side = max(1, round(BRIDGE_PX * mask.shape[1] / 640))
    bridged = cv2.morphologyEx(mask.view(np.uint8), cv2.MORPH_CLOSE, np.ones((side, side), np.uint8))
    count, labels = cv2.connectedComponents(bridged, connectivity=8)
    return _renumbered(mask, np.asarray(labels, np.int32), count, smallest)


def _mean(plane: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    return np.asarray(cv2.blur(plane, (side, side), borderType=cv2.BORDER_REPLICATE), np.float32)


@lru_cache(maxsize=1)
def embedded_palette() -> CategoryColours:
    """The colours of the embedded worlds of blocks."""
    return CategoryColours(CATEGORIES, _materials(), {"building": BUILDING_BIAS})


def _materials() -> list[tuple[int, NDArray[np.uint8]]]:
    """(category, colours (n, 3)): every texture at all sizes under each light, and the sky in four bands."""
    # Loaded late: it draws the textures.
    from worldgauge.worlds.voxel.textures import FACE_GROUP, SHADES, TEXELS, TEXTURE_OF, mipmaps, sky_colours

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
    """Raise `likelihood` to that of one material: its weighted colour cells (n, 3), blurred by `kernel`.
    What the blur moves past black or white is added back in proportion."""
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


BLUR_SHARE = 0.006
"""Standard deviation of the blur, as a share of the width. What models and codecs change is finest."""
FRAMES = 16
"""Frames of a clip from which the correction is estimated, spread evenly."""

_SMALL = (80, 45)
_PIXELS = 6000
_SMOOTHING = 1.0
"""Blur of the palette in table cells, so that its likelihood has a slope where the clip's colours begin."""
_RARE = 1e-6
_UNIT = 1 << 12
"""Steps of the log-likelihood. Whole numbers have the same sum in any order, so on any machine."""
_GAIN_STEP, _OFFSET_STEP = 0.1, 10.0
"""Units of the search: of the logarithm of a gain, and of levels."""
_PRIOR = 0.01
"""Cost of a squared unit: without need, a colour stays as it is."""
_EVALUATIONS = 220
_STARTS = (
    (0.0, 0.0, 0.0, 0.0),
    (-0.6, 0.0, 0.6, 0.0),
    (0.6, 0.0, -0.6, 0.0),
    (-1.2, 0.0, 1.2, 0.0),
    (1.2, 0.0, -1.2, 0.0),
    (0.0, 0.0, 0.0, -2.0),
    (0.0, 0.0, 0.0, 2.0),
    (-1.0, -1.0, -1.0, -1.0),
    (1.0, 1.0, 1.0, 0.0),
)
"""Unchanged; warmer and colder; brighter and darker; more and less contrast."""


@dataclass(frozen=True)
class Correction:
    """Gains and an offset of the colours of a clip."""

    gains: tuple[float, float, float]
    offset: float

    def applied(self, frame: Image) -> Image:
        """The frame, blurred and with corrected colours. frame: (H, W, 3) uint8. Returns (H, W, 3) uint8."""
        return np.asarray(cv2.LUT(_blurred(frame), _curves(self.gains, self.offset)[None]), np.uint8)


def estimate_correction(frames: Sequence[Image], palette: CategoryColours | None = None) -> Correction:
    """Estimate the gains and the offset that a clip of a palette's world needs, from about FRAMES frames.
    Any other clip is only made as similar to such a world as gains and an offset can."""
    from scipy.optimize import minimize

    small = [cv2.resize(_blurred(frame), _SMALL, interpolation=cv2.INTER_AREA).reshape(-1, 3) for frame in frames]
    pixels = np.asarray(np.concatenate(small), np.uint8)
    pixels = pixels[:: max(1, len(pixels) // _PIXELS)]
    table = (palette or embedded_palette()).log_likelihood

    def cost(units: FloatArray) -> float:
        likelihood = _sum_after(_curves(*_in_levels(units)), pixels, table)
        return _PRIOR * float(units @ units) - float(likelihood) / (_UNIT * len(pixels))

    tried = []
    for start in _STARTS:
        corners = np.array(start) + np.concatenate([np.zeros((1, 4)), 0.7 * np.eye(4)])
        options = {"maxfev": _EVALUATIONS, "initial_simplex": corners}
        tried.append(minimize(cost, np.array(start), method="Nelder-Mead", options=options))
    best = min(tried, key=lambda one: float(one.fun))
    return Correction(*_in_levels(best.x))


@njit(cache=True, nogil=True)
def _sum_after(curves: NDArray[np.uint8], pixels: NDArray[np.uint8], table: NDArray[np.int64]) -> int:
    """Sum of `table` over pixels (n, 3) whose levels the curves (256, 3) have changed."""
    shift, total = 8 - BITS, 0
    for i in range(len(pixels)):
        code = 0
        for c in range(3):
            code = (code << BITS) | (int(curves[pixels[i, c], c]) >> shift)
        total += table[code]
    return total


def _blurred(frame: Image) -> Image:
    return np.asarray(cv2.GaussianBlur(frame, (0, 0), BLUR_SHARE * frame.shape[1]), np.uint8)


def _in_levels(units: FloatArray) -> tuple[tuple[float, float, float], float]:
    red, green, blue = np.exp(_GAIN_STEP * units[:3])
    return (float(red), float(green), float(blue)), float(_OFFSET_STEP * units[3])


@njit(cache=True, nogil=True)
def _curves(gains: tuple[float, float, float], offset: float) -> NDArray[np.uint8]:
    """New level of every level, (256, 3)."""
    curves = np.empty((256, 3), np.uint8)
    for level in range(256):
        for c in range(3):
            curves[level, c] = np.uint8(min(max(np.rint(level * gains[c] + offset), 0.0), 255.0))
    return curves
