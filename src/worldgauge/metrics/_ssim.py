"""Structural similarity (Wang et al. 2004) in one pass over the rows, with a Gaussian and with a uniform window.

Frames are C-contiguous and at least as large as the window. All of it is in one file because numba's kernel cache does
not notice changes in other files.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

WINDOW = 11
_RADIUS = WINDOW // 2
_taps = np.exp(-0.5 * (np.arange(-_RADIUS, _RADIUS + 1) / 1.5) ** 2)
WINDOW_TAPS = (_taps / _taps.sum()).astype(np.float32)
"""(11,) weights of the Gaussian window along one side."""
_W0, _W1, _W2, _W3, _W4, _W5 = (np.float32(tap) for tap in WINDOW_TAPS[: _RADIUS + 1])
_C1, _C2 = np.float32((0.01 * 255) ** 2), np.float32((0.03 * 255) ** 2)
_HALF, _ZERO, _RANGE = np.float32(0.5), np.float32(0), np.float32(255)

BOX = 7
_BOX_AREA = BOX * BOX
# The constants, scaled as the whole-number sums are.
_BOX_C1 = np.float32((0.01 * 255) ** 2 * _BOX_AREA**2)
_BOX_C2 = np.float32((0.03 * 255) ** 2 * _BOX_AREA * (_BOX_AREA - 1))

_CHANNELS = 3
_HALO = 2 * _RADIUS * _CHANNELS
_STRIP = 480
"""Values (pixel times channel) of a row computed together, so that the rows under the window stay in the cache."""
_WIDTH = _STRIP + _HALO
_ROW = 4 * _WIDTH
"""Four quantities for each value: difference, sum and their squares."""

Strip = NDArray[np.uint8]
Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

# Divisors are never zero; without the "numpy" model a check for it would keep loops from being vectorised.
_fast = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz", "arcp"})


@_fast
def gaussian_ssim(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Mean SSIM of (H, W, 3) uint8 over channels and all pixels whose 11x11 Gaussian window fits in the frame.

    With d = a - b, s = a + b, E the window's weighted mean: D = E[d^2] - E[d]^2, S = E[s^2] - E[s]^2,
    L = (E[d]^2 + E[s]^2) / 2, SSIM = (1 - E[d]^2 / (L + C1)) * (1 - D / ((D + S) / 2 + C2)).
    Unlike the usual form, this one loses no precision if the frames are alike, so float32 is enough.
    """
    height, n = a.shape[0], a.shape[1] * _CHANNELS
    rows_a, rows_b = a.reshape(height, n), b.reshape(height, n)
    # Every row is kept twice, 11 rows apart, so that the 11 rows of a window always lie one after the other.
    ring = np.empty(2 * WINDOW * _ROW, np.float32)
    mean_d, mean_s, mean_dd, mean_ss = (
        np.empty(_WIDTH, np.float32),
        np.empty(_WIDTH, np.float32),
        np.empty(_WIDTH, np.float32),
        np.empty(_WIDTH, np.float32),
    )
    total = 0.0
    for left in range(0, n - _HALO, _STRIP):
        size = min(_STRIP, n - _HALO - left)
        wide = size + _HALO
        strip_a, strip_b = rows_a[:, left : left + wide], rows_b[:, left : left + wide]
        centre_d, centre_s = _centres(strip_a, strip_b)
        for y in range(height):
            slot = y % WINDOW
            _enter(strip_a[y], strip_b[y], centre_d, centre_s, ring[slot * _ROW :], ring[(slot + WINDOW) * _ROW :])
            if y < WINDOW - 1:
                continue
            first = (slot + 1) % WINDOW * _ROW
            _down(ring[first:], mean_d, wide)
            _down(ring[first + _WIDTH :], mean_s, wide)
            _down(ring[first + 2 * _WIDTH :], mean_dd, wide)
            _down(ring[first + 3 * _WIDTH :], mean_ss, wide)
            total += _across(mean_d, mean_s, mean_dd, mean_ss, centre_d, centre_s, size)
    return float(total / ((height - WINDOW + 1) * (n - _HALO)))


@_fast
def squared_error_and_ssim(a: Floats, b: Floats) -> tuple[float, float]:
    """Mean squared difference and mean SSIM of two frames (H, W, 3) in [0, 1], H and W >= 6; (0, 1) for equal ones.
    Borders are mirrored without the edge pixel. The formula is that of `gaussian_ssim`, with variances of at least 0.
    The order of the frames changes no bit of the result."""
    height, n = a.shape[0], a.shape[1] * _CHANNELS
    rows_a, rows_b = a.reshape(height, n), b.reshape(height, n)
    ring = np.empty(2 * WINDOW * _ROW, np.float32)
    mean_d, mean_s, mean_dd, mean_ss = (
        np.empty(_WIDTH, np.float32),
        np.empty(_WIDTH, np.float32),
        np.empty(_WIDTH, np.float32),
        np.empty(_WIDTH, np.float32),
    )
    squared, total = 0.0, 0.0
    for left in range(0, n, _STRIP):
        size = min(_STRIP, n - left)
        centre_d, centre_s, error = _sums(rows_a, rows_b, left, size)
        squared += error
        for line in range(height + 2 * _RADIUS):
            slot, y = line % WINDOW, _mirrored(line - _RADIUS, height)
            entry = ring[slot * _ROW :]
            _enter_scaled(rows_a[y], rows_b[y], centre_d, centre_s, left, size + _HALO, entry)
            twin = ring[(slot + WINDOW) * _ROW :]
            for i in range(_ROW):
                twin[i] = entry[i]
            if line < WINDOW - 1:
                continue
            first = (slot + 1) % WINDOW * _ROW
            _down(ring[first:], mean_d, size + _HALO)
            _down(ring[first + _WIDTH :], mean_s, size + _HALO)
            _down(ring[first + 2 * _WIDTH :], mean_dd, size + _HALO)
            _down(ring[first + 3 * _WIDTH :], mean_ss, size + _HALO)
            total += _across_clamped(mean_d, mean_s, mean_dd, mean_ss, centre_d, centre_s, size)
    if squared == 0.0:
        return 0.0, 1.0
    return float(squared / (height * n)), float(total / (height * n))


@_fast
def uniform_ssim(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Mean SSIM of (H, W, 3) uint8 over channels and all pixels whose uniform 7x7 window fits in the frame.
    Uses the sample covariance (n - 1). Sums are exact: 49 times a window's sum of squares fits in 32 bits."""
    height, n = a.shape[0], a.shape[1] * _CHANNELS
    rows_a, rows_b = a.reshape(height, n), b.reshape(height, n)
    sum_a, sum_b = np.zeros(n, np.int32), np.zeros(n, np.int32)
    squares, products = np.zeros(n, np.int32), np.zeros(n, np.int32)
    total = 0.0
    for y in range(height):
        _add_row(rows_a[y], rows_b[y], np.int32(1), sum_a, sum_b, squares, products)
        if y < BOX - 1:
            continue
        total += _across_box(sum_a, sum_b, squares, products)
        gone = y - BOX + 1
        _add_row(rows_a[gone], rows_b[gone], np.int32(-1), sum_a, sum_b, squares, products)
    return float(total / ((height - BOX + 1) * (n - (BOX - 1) * _CHANNELS)))


@_fast
def _centres(a: Strip, b: Strip) -> tuple[np.float32, np.float32]:
    """Whole numbers near the means of a - b and a + b: squares about them are small, and so is the rounding error."""
    sum_a, sum_b = 0, 0
    for y in range(a.shape[0]):
        for i in range(a.shape[1]):
            sum_a += int(a[y, i])
            sum_b += int(b[y, i])
    return np.float32((sum_a - sum_b) // a.size), np.float32((sum_a + sum_b) // a.size)


@_fast
def _enter(a: Strip, b: Strip, centre_d: np.float32, centre_s: np.float32, slot: Floats, twin: Floats) -> None:
    for i in range(a.size):
        x, y = np.float32(a[i]), np.float32(b[i])
        d, s = x - y - centre_d, x + y - centre_s
        slot[i] = d
        slot[_WIDTH + i] = s
        slot[2 * _WIDTH + i] = d * d
        slot[3 * _WIDTH + i] = s * s
    for i in range(_ROW):
        twin[i] = slot[i]


@_fast
def _down(rows: Floats, out: Floats, size: int) -> None:
    for i in range(size):
        out[i] = _weighted(rows, i, _ROW)


@_fast
def _across(
    mean_d: Floats,
    mean_s: Floats,
    mean_dd: Floats,
    mean_ss: Floats,
    centre_d: np.float32,
    centre_s: np.float32,
    size: int,
) -> float:
    """Sum of SSIM over one row."""
    total = np.float32(0)
    for i in range(size):
        d, s = _weighted(mean_d, i, _CHANNELS), _weighted(mean_s, i, _CHANNELS)
        spread_d = _weighted(mean_dd, i, _CHANNELS) - d * d
        spread_s = _weighted(mean_ss, i, _CHANNELS) - s * s
        d, s = d + centre_d, s + centre_s
        light = (s * s + d * d) * _HALF + _C1
        contrast = (spread_s + spread_d) * _HALF + _C2
        total += (light - d * d) * (contrast - spread_d) / (light * contrast)
    return float(total)


@_fast
def _sums(a: Floats, b: Floats, left: int, size: int) -> tuple[np.float32, np.float32, float]:
    """`_centres` of `size` columns of rows in [0, 1], on the scale of 255; their squared differences' sum, unscaled."""
    sum_d, sum_s, squared = 0.0, 0.0, 0.0
    for y in range(a.shape[0]):
        row_a, row_b = a[y, left : left + size], b[y, left : left + size]
        row_d, row_s, row_squared = np.float32(0), np.float32(0), np.float32(0)
        for i in range(row_a.size):
            d, s = row_a[i] - row_b[i], row_a[i] + row_b[i]
            row_d += d
            row_s += s
            row_squared += d * d
        sum_d += float(row_d)
        sum_s += float(row_s)
        squared += float(row_squared)
    scale = 255 / (a.shape[0] * size)
    return np.float32(np.rint(sum_d * scale)), np.float32(np.rint(sum_s * scale)), squared


@_fast
def _enter_scaled(
    a: Floats, b: Floats, centre_d: np.float32, centre_s: np.float32, left: int, wide: int, slot: Floats
) -> None:
    """Values left - 15 to left - 15 + wide of a row in [0, 1], on the scale of 255; beyond its ends it is mirrored."""
    first = left - _RADIUS * _CHANNELS
    begin, end = max(0, -first), min(wide, a.size - first)
    inner_a, inner_b = a[first + begin : first + end], b[first + begin : first + end]
    for i in range(inner_a.size):
        _put(slot, begin + i, inner_a[i], inner_b[i], centre_d, centre_s)
    for i in range(begin):
        source = _mirrored_value(first + i, a.size)
        _put(slot, i, a[source], b[source], centre_d, centre_s)
    for i in range(end, wide):
        source = _mirrored_value(first + i, a.size)
        _put(slot, i, a[source], b[source], centre_d, centre_s)


@_fast
def _put(slot: Floats, i: int, x: np.float32, y: np.float32, centre_d: np.float32, centre_s: np.float32) -> None:
    d, s = (x - y) * _RANGE - centre_d, (x + y) * _RANGE - centre_s
    slot[i] = d
    slot[_WIDTH + i] = s
    slot[2 * _WIDTH + i] = d * d
    slot[3 * _WIDTH + i] = s * s


@_fast
def _mirrored_value(i: int, n: int) -> int:
    """`_mirrored` for a row of n values, three for each pixel."""
    return _mirrored(i // _CHANNELS, n // _CHANNELS) * _CHANNELS + i % _CHANNELS


@_fast
def _mirrored(i: int, n: int) -> int:
    """Index in 0..n-1 that mirrors an index less than n beyond an end; the end itself is not repeated."""
    return abs(i) if i < n else 2 * (n - 1) - i


@_fast
def _across_clamped(
    mean_d: Floats,
    mean_s: Floats,
    mean_dd: Floats,
    mean_ss: Floats,
    centre_d: np.float32,
    centre_s: np.float32,
    size: int,
) -> float:
    """`_across` with spreads of at least 0."""
    total = np.float32(0)
    for i in range(size):
        d, s = _weighted(mean_d, i, _CHANNELS), _weighted(mean_s, i, _CHANNELS)
        spread_d = max(_weighted(mean_dd, i, _CHANNELS) - d * d, _ZERO)
        spread_s = max(_weighted(mean_ss, i, _CHANNELS) - s * s, _ZERO)
        d, s = d + centre_d, s + centre_s
        light = (s * s + d * d) * _HALF + _C1
        contrast = (spread_s + spread_d) * _HALF + _C2
        total += (light - d * d) * (contrast - spread_d) / (light * contrast)
    return float(total)


@_fast
def _weighted(v: Floats, i: int, step: int) -> np.float32:
    """Gaussian mean of the eleven values i, i + step, ..."""
    return np.float32(
        _W0 * (v[i] + v[i + 10 * step])
        + _W1 * (v[i + step] + v[i + 9 * step])
        + _W2 * (v[i + 2 * step] + v[i + 8 * step])
        + _W3 * (v[i + 3 * step] + v[i + 7 * step])
        + _W4 * (v[i + 4 * step] + v[i + 6 * step])
        + _W5 * v[i + 5 * step]
    )


@_fast
def _add_row(a: Strip, b: Strip, sign: np.int32, sum_a: Ints, sum_b: Ints, squares: Ints, products: Ints) -> None:
    """Add a row to the column sums, or remove it with sign -1."""
    for i in range(a.size):
        sum_a[i] += sign * a[i]
    for i in range(a.size):
        sum_b[i] += sign * b[i]
    for i in range(a.size):
        x, y = np.int32(a[i]), np.int32(b[i])
        squares[i] += sign * (x * x + y * y)
    for i in range(a.size):
        products[i] += sign * np.int32(a[i]) * np.int32(b[i])


@_fast
def _across_box(sum_a: Ints, sum_b: Ints, squares: Ints, products: Ints) -> float:
    """Sum of SSIM over one row of windows."""
    total = np.float32(0)
    for i in range(sum_a.size - (BOX - 1) * _CHANNELS):
        x, y = _seven(sum_a, i), _seven(sum_b, i)
        xx_yy, xy = np.int32(x * x + y * y), np.int32(np.int32(2) * x * y)
        spread = np.int32(np.int32(_BOX_AREA) * _seven(squares, i) - xx_yy)
        shared = np.int32(np.int32(2 * _BOX_AREA) * _seven(products, i) - xy)
        above = (np.float32(xy) + _BOX_C1) * (np.float32(shared) + _BOX_C2)
        total += above / ((np.float32(xx_yy) + _BOX_C1) * (np.float32(spread) + _BOX_C2))
    return float(total)


@_fast
def _seven(v: Ints, i: int) -> np.int32:
    """Sum of the seven column sums i, i + 3, ..."""
    return np.int32(v[i] + v[i + 3] + v[i + 6] + v[i + 9] + v[i + 12] + v[i + 15] + v[i + 18])
