"""What networks are shown: frames (n, H, W, 3) float32 in [0, 1] in unless said otherwise, the same layout out.

Source: MIND, sections on the DINO feature error and visual quality, as released.
"""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]

SIDE = 224
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and deviation of its colours, of 1."""
_CLIP_MEAN, _CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


def dino_input(frames: Float32, *, released: bool = False) -> Float32:
    """(n, 224, 224, 3): squeezed to a square, bilinear with antialiasing, ImageNet's mean and deviation taken out.

    released: divided by 255 once more before that, as the released scorer does: nearly black.
    """
    small = np.empty((len(frames), SIDE, SIDE, 3), np.float32)
    for frame, out in zip(frames, small, strict=True):
        across = _shrunk(frame).transpose(1, 0, 2)  # (W, 224, 3)
        out[:] = _shrunk(across).transpose(1, 0, 2)
    if released:
        small /= np.float32(255)
    return _normalised(small, *IMAGENET)


def clip_input(frames: Float32) -> Float32:
    """(n, 224, 224, 3): bicubic (a = -0.75) unsmoothed, the shorter side to 224, its centre, CLIP's constants."""
    rows, columns = frames.shape[1:3]
    short = min(rows, columns)
    size = (SIDE * columns // short, SIDE * rows // short)
    left, top = ((side - SIDE) // 2 for side in size)
    small = [cv2.resize(frame, size, interpolation=cv2.INTER_CUBIC)[top:, left:][:SIDE, :SIDE] for frame in frames]
    return _normalised(np.stack(small), _CLIP_MEAN, _CLIP_STD)


def musiq_input(frames: Float32) -> Float32:
    """(n, H, W, 3) in [-1, 1]; the network makes its three scales itself."""
    return np.asarray(2 * frames - 1, np.float32)


def _normalised(frames: Float32, mean: tuple[float, ...], deviation: tuple[float, ...]) -> Float32:
    return np.asarray((frames - np.array(mean, np.float32)) / np.array(deviation, np.float32), np.float32)


def _shrunk(stack: Float32) -> Float32:
    """(n, m, 3) with 224 weighted means along the first axis: (224, m, 3)."""
    rows = np.ascontiguousarray(stack).reshape(len(stack), -1)
    result: Float32 = (_shrinking(len(stack)) @ rows).reshape(SIDE, *stack.shape[1:])
    return result


@lru_cache(maxsize=8)
def _shrinking(n: int) -> Float32:
    """Weights (224, n) of a triangle as wide as the step between outputs, at least as that between inputs."""
    scale = n / SIDE
    reach = max(scale, 1.0)
    centres = (np.arange(SIDE) + 0.5) * scale
    weights = np.maximum(0, 1 - np.abs(np.arange(n) + 0.5 - centres[:, None]) / reach)
    return np.asarray(weights / weights.sum(1, keepdims=True), np.float32)
