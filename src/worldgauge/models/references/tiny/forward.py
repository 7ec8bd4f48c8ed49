"""The convolutional network of `worldgauge train` in numpy, for one window: a table has a learned row without torch.

The same layers as `conv` and `moving_head` of worldgauge-train, by the names of its weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Weights = Mapping[str, Array]

GROUPS, SINES, FLOW_SCALE = 8, 256, 4.0


def guessed_step(weights: Weights, past: Array, rows: Array) -> Array:
    """Guess a step at once, from no noise.

    Args:
        weights: Weights by their names in `ConvNet` of worldgauge-train, which takes no fetched frames.
        past: (C, 3, H, W), -1 to 1, the newest last.
        rows: (K, columns) actions that lead to the frames of the step.

    Returns:
        (K, 3, H, W).
    """
    (k, _), (_, _, h, w) = rows.shape, past.shape
    e = _embedded(weights, rows)
    seen = np.concatenate([np.zeros((k, 3, h, w), np.float32), past]).reshape(-1, h, w)
    x = _conv(weights, "enter", _unshuffled(seen))
    levels = range(1 + max(int(name.split(".")[1]) for name in weights if name.startswith("down.")))
    kept = []
    for level in levels:
        x = _conv(weights, f"shrink.{level}", x, stride=2 if level else 1)
        x = _blocks(weights, f"down.{level}", x, e)
        kept.append(x)
    for level in levels:
        beside = kept.pop()
        if x.shape != beside.shape:
            x = x[:, _nearest(x.shape[1], beside.shape[1])][:, :, _nearest(x.shape[2], beside.shape[2])]
        x = _conv(weights, f"grow.{level}", np.concatenate([x, beside]))
        x = _blocks(weights, f"up.{level}", x, e)
    features = _silu(_normal(weights, "normal", x))
    return _drawn(_conv(weights, "head.out", features), past[-1], k)


def _embedded(weights: Weights, rows: Array) -> Array:
    """The embedding of a step at level 1."""
    rates = np.exp(-math.log(10_000.0) * np.arange(SINES // 2, dtype=np.float32) / (SINES // 2))
    angles = (1000.0 * rates).astype(np.float32)
    level = np.concatenate([np.cos(angles), np.sin(angles)])
    return _perceptron(weights, "embedding.level", level) + _perceptron(weights, "embedding.actions", rows.ravel())


def _perceptron(weights: Weights, name: str, x: Array) -> Array:
    return _linear(weights, f"{name}.2", _silu(_linear(weights, f"{name}.0", x)))


def _linear(weights: Weights, name: str, x: Array) -> Array:
    made: Array = weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]
    return made


def _conv(weights: Weights, name: str, x: Array, stride: int = 1) -> Array:
    """A 3x3 convolution of x (channels, h, w) with a border of zeros."""
    kernel = weights[f"{name}.weight"]
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    patches = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::stride, ::stride]
    h, w = patches.shape[1:3]
    columns = patches.transpose(0, 3, 4, 1, 2).reshape(-1, h * w)
    made: Array = kernel.reshape(len(kernel), -1) @ columns + weights[f"{name}.bias"][:, None]
    return made.reshape(-1, h, w)


def _blocks(weights: Weights, name: str, x: Array, e: Array) -> Array:
    number = 0
    while f"{name}.{number}.first.weight" in weights:
        block = f"{name}.{number}"
        scale, shift = np.split(_linear(weights, f"{block}.modulation", _silu(e))[:, None, None], 2)
        y = _conv(weights, f"{block}.first", _silu(_normal(weights, f"{block}.first_normal", x)))
        y = _normal(weights, f"{block}.second_normal", y) * (1 + scale) + shift
        x = x + _conv(weights, f"{block}.second", _silu(y))
        number += 1
    return x


def _normal(weights: Weights, name: str, x: Array) -> Array:
    """Group normalisation of x (channels, h, w)."""
    groups = x.reshape(GROUPS, -1)
    mean, variance = groups.mean(1, keepdims=True), groups.var(1, keepdims=True)
    level: Array = ((groups - mean) / np.sqrt(variance + np.float32(1e-5))).reshape(x.shape)
    return level * weights[f"{name}.weight"][:, None, None] + weights[f"{name}.bias"][:, None, None]


def _silu(x: Array) -> Array:
    with np.errstate(over="ignore"):  # far below 0 it is 0
        made: Array = x / (1 + np.exp(-x))
    return made


def _unshuffled(x: Array) -> Array:
    """Squares of 2x2 pixels as channels: (channels, h, w) to (4 channels, h / 2, w / 2)."""
    c, h, w = x.shape
    return x.reshape(c, h // 2, 2, w // 2, 2).transpose(0, 2, 4, 1, 3).reshape(4 * c, h // 2, w // 2)


def _nearest(before: int, after: int) -> NDArray[np.intp]:
    return (np.arange(after) * before // after).astype(np.intp)


def _drawn(out: Array, newest: Array, k: int) -> Array:
    """Move the newest frame and add what it lacks: (15 K, h / 2, w / 2) features to frames (K, 3, h, w)."""
    _, h, w = newest.shape
    plain, motion = out[: 12 * k], out[12 * k :]
    residual = plain.reshape(3 * k, 2, 2, h // 2, w // 2).transpose(0, 3, 1, 4, 2).reshape(k, 3, h, w)
    moves = np.asarray(_doubled(h // 2) @ motion @ _doubled(w // 2).T, np.float32)
    flow = np.float32(FLOW_SCALE) * moves.reshape(k, 3, h, w)[:, :2]
    return moved(newest, flow) + residual


@cache
def _doubled(size: int) -> Array:
    """The matrix that interpolates `size` values linearly to twice as many."""
    places = np.clip((np.arange(2 * size) + 0.5) / 2 - 0.5, 0, size - 1)
    first = np.minimum(places.astype(int), size - 2) if size > 1 else np.zeros(2, int)
    share = (places - first).astype(np.float32)
    matrix = np.zeros((2 * size, size), np.float32)
    rows = np.arange(2 * size)
    matrix[rows, first] = 1 - share
    matrix[rows, np.minimum(first + 1, size - 1)] += share
    return matrix


def moved(frame: Array, flow: Array) -> Array:
    """Look up each pixel at a distance, with bicubic interpolation; beyond the border lies its last pixel.

    Args:
        frame: (3, h, w).
        flow: (K, 2, h, w), how many pixels to the right and down of itself each pixel looks.

    Returns:
        (K, 3, h, w).
    """
    _, h, w = frame.shape
    x, y = np.arange(w, dtype=np.float32) + flow[:, 0], np.arange(h, dtype=np.float32)[:, None] + flow[:, 1]
    left, top = np.floor(x), np.floor(y)
    across, down = _cubic(x - left), _cubic(y - top)
    made = np.zeros((3, *x.shape), np.float32)
    for row in range(4):
        line = np.clip(top + (row - 1), 0, h - 1).astype(np.intp)
        for column in range(4):
            place = np.clip(left + (column - 1), 0, w - 1).astype(np.intp)
            made += frame[:, line, place] * (down[row] * across[column])
    return made.transpose(1, 0, 2, 3)


def _cubic(t: Array) -> tuple[Array, Array, Array, Array]:
    """Weights of the four nearest values (Keys 1981, a = -0.75), t from 0 to 1 behind the second."""
    a = np.float32(-0.75)

    def near(d: Array) -> Array:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Array) -> Array:
        return ((d - 5) * d + 8) * d * a - 4 * a

    return far(t + 1), near(t), near(1 - t), far(2 - t)
