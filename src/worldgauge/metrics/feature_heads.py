"""What follows the networks of MIND's learned metrics: arithmetic on features; the networks are elsewhere.

`worldgauge.perception.loading` asks the networks. One frame or pair of frames at a time.
Source: MIND, sections on the DINO feature error and visual quality, as released.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Image
from worldgauge.core.video import resize
from worldgauge.metrics import metrics
from worldgauge.metrics.frame_pairs import Prepared, prepared

Floats = NDArray[np.floating]

_SPECIAL = 5
"""Tokens before those of the patches: the class token and four registers."""
_TINY = 1e-12


@metrics.register(
    "dino_mse", unit="1", better="lower", bounds=(0.0, 4 / 768), version=1, source="MIND, DINOv3 ViT-B/16, 224x224"
)
def dino_mse(tokens_a: Floats, tokens_b: Floats) -> float:
    """Mean squared difference of patch tokens of unit length, over tokens and channels: (2 - 2 mean cosine) / channels.

    tokens_a, tokens_b: (tokens, channels), equal shapes, the class token and four registers first; MIND's are (201,
    768), so that 4 / 768 is the most, and 0 is for equal tokens. Raises ShapeError.
    """
    if tokens_a.shape != tokens_b.shape or tokens_a.ndim != 2 or len(tokens_a) <= _SPECIAL or not tokens_a.shape[1]:
        raise ShapeError(
            f"expected two arrays (tokens, channels) of equal shape with more than {_SPECIAL} tokens, "
            f"got {tokens_a.shape} and {tokens_b.shape}"
        )
    a, b = (_unit_rows(_finite("tokens", tokens)[_SPECIAL:]) for tokens in (tokens_a, tokens_b))
    return float(((a - b) ** 2).mean())


@metrics.register(
    "aesthetic", unit="1", better="higher", bounds=(-math.inf, math.inf), version=1, source="MIND; LAION linear head"
)
def aesthetic(feature: Floats, weight: Floats, bias: float) -> float:
    """A linear head on a CLIP image feature of unit length, divided by 10; roughly 0 to 1, not clamped.

    feature: (d,), d = 768 for ViT-L/14. weight: (d,) or (1, d). Raises ShapeError, also for a feature of length 0.
    """
    head = np.asarray(weight, np.float64).reshape(-1)
    if feature.ndim != 1 or feature.shape != head.shape:
        raise ShapeError(f"expected a feature (d,) and a head of as many weights, got {feature.shape}, {weight.shape}")
    values = _finite("the feature", feature)
    length = float(np.linalg.norm(values))
    if length == 0:
        raise ShapeError("the feature is 0 everywhere, so that it has no direction")
    return (float(values @ head) / length + float(bias)) / 10


@metrics.register(
    "imaging", unit="1", better="higher", bounds=(-math.inf, math.inf), version=1, source="MIND; MUSIQ of SPAQ"
)
def imaging(raw: float) -> float:
    """A raw MUSIQ score divided by 100: roughly 0 to 1, not clamped. Raises ShapeError when it is not finite."""
    if not math.isfinite(raw):
        raise ShapeError(f"a raw score is a finite number, got {raw}")
    return float(raw) / 100


@metrics.register(
    "lpips_720p", unit="1", better="lower", bounds=(0.0, math.inf), version=1, source="MIND; LPIPS 0.1, AlexNet"
)
def lpips_720p(x: Image, y: Image, distance: Callable[[Prepared, Prepared], float]) -> float:
    """A learned distance of two frames at 1280x720; 0 for equal frames.

    x, y: (h, w, 3) uint8 of any size. distance: such as `perception.lpips.Lpips.distance`. Raises ShapeError.
    """
    return float(distance(prepared(x), prepared(y)))


@metrics.register(
    "lpips", unit="1", better="lower", bounds=(0.0, math.inf), version=1, source="LoopNav, section 4; LPIPS 0.1"
)
def lpips(x: Image, y: Image, distance: Callable[[Prepared, Prepared], float]) -> float:
    """A learned distance of two frames as they are; 0 for equal frames.

    x, y: (h, w, 3) uint8, equal shapes. distance: of frames float32 in [0, 1]. Raises ShapeError.
    """
    if x.shape != y.shape:
        raise ShapeError(f"frames differ in shape: {x.shape} and {y.shape}")
    return float(distance(x.astype(np.float32) / np.float32(255), y.astype(np.float32) / np.float32(255)))


@metrics.register(
    "lpips_320x180", unit="1", better="lower", bounds=(0.0, math.inf), version=1, source="lpips at one common size"
)
def lpips_320x180(x: Image, y: Image, distance: Callable[[Prepared, Prepared], float]) -> float:
    """As `lpips`, of both frames brought to 320x180, so that models of different sizes compare. Raises ShapeError."""
    return float(lpips(resize(x, 320, 180), resize(y, 320, 180), distance))


def _unit_rows(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of length 1; one of length 0 stays 0."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float64] = rows / np.maximum(lengths, _TINY)
    return unit


def _finite(what: str, values: Floats) -> NDArray[np.float64]:
    result = np.asarray(values, np.float64)
    if not np.isfinite(result).all():
        raise ShapeError(f"{what}: holds values that are not finite")
    return result
