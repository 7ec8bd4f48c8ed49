"""Bilinear resampling of a uint8 frame to floats in [0, 1], without rounding and without a float copy of the frame."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_CHANNELS = 3
_WHITE = np.float32(255)

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

_fast = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz"})


@_fast
def resample(frame: NDArray[np.uint8], rows: int, columns: int, top: int, left: int, out: Floats) -> None:
    """Resample part of a frame (h, w, 3) onto a rows x columns grid and write it to `out` (H, W, 3), divided by 255.
    Bilinear about pixel centres, edges repeated, no antialiasing. Both arrays are C-contiguous."""
    height, n = frame.shape[0], frame.shape[1] * _CHANNELS
    lines, filled = frame.reshape(height, n), out.reshape(out.shape[0], out.shape[1] * _CHANNELS)
    first, second, shares = places(frame.shape[1], columns, left, out.shape[1])
    above, below, parts = places(height, rows, top, out.shape[0])
    start, stop = first[0] * _CHANNELS, (second[-1] + 1) * _CHANNELS
    one, other, share = _by_value(first, start), _by_value(second, start), np.repeat(shares, _CHANNELS)
    blend = np.empty(stop - start, np.float32)
    for y in range(filled.shape[0]):
        _mix(lines[above[y], start:stop], lines[below[y], start:stop], parts[y], blend)
        if columns == frame.shape[1]:
            _divide(blend, filled[y])
        else:
            _spread(blend, one, other, share, filled[y])


@_fast
def places(n: int, grid: int, skipped: int, count: int) -> tuple[Ints, Ints, Floats]:
    """For each output: the source before it, the one after it, and the share of the latter, (count,) each."""
    before, after, share = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.float32)
    for i in range(count):
        place = max(0.0, (skipped + i + 0.5) * n / grid - 0.5)
        before[i] = min(int(place), n - 1)
        after[i] = min(before[i] + 1, n - 1)
        share[i] = place - before[i]
    return before, after, share


@_fast
def _by_value(pixels: Ints, start: int) -> Ints:
    """Where the three values of each pixel lie, counted from `start`."""
    found = np.empty(pixels.size * _CHANNELS, np.int32)
    for i in range(found.size):
        found[i] = pixels[i // _CHANNELS] * _CHANNELS + i % _CHANNELS - start
    return found


@_fast
def _mix(above: NDArray[np.uint8], below: NDArray[np.uint8], part: np.float32, out: Floats) -> None:
    for i in range(out.size):
        value = np.float32(above[i])
        out[i] = value + part * (np.float32(below[i]) - value)


@_fast
def _divide(line: Floats, out: Floats) -> None:
    for i in range(out.size):
        out[i] = min(line[i] / _WHITE, np.float32(1))


@_fast
def _spread(line: Floats, one: Ints, other: Ints, share: Floats, out: Floats) -> None:
    for i in range(out.size):
        value = line[one[i]]
        out[i] = min((value + share[i] * (line[other[i]] - value)) / _WHITE, np.float32(1))
