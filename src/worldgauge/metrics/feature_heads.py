"""The last step of MIND's learned metrics: arithmetic on features that the networks have computed.

`worldgauge.perception.loading` runs the networks. Each function takes one frame or one pair of frames.
Source: MIND, sections on the DINO feature error and visual quality, as released.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.metrics import metrics

Floats = NDArray[np.floating]

_SPECIAL = 5
"""Number of tokens before the patch tokens: the class token and four registers."""
_TINY = 1e-12


@metrics.register(
    "dino_mse", unit="1", better="lower", bounds=(0.0, 4 / 768), version=1, source="MIND, DINOv3 ViT-B/16, 224x224"
)
def dino_mse(tokens_a: Floats, tokens_b: Floats) -> float:
    """Mean squared difference of unit-length patch tokens, over tokens and channels.

    This equals (2 - 2 mean cosine) / channels. The class token and the four registers come first in the token list.

    Args:
        tokens_a: (tokens, channels) tokens of one frame; MIND's are (201, 768).
        tokens_b: Tokens of the other frame, of the same shape.

    Returns:
        The error: 0 for equal tokens, at most 4 / 768 for MIND's shape.

    Raises:
        ShapeError: The arrays are not two equal (tokens, channels) shapes.
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
    """Aesthetic score of a frame: a linear head on its unit-length CLIP image feature, divided by 10.

    Args:
        feature: (d,) image feature, d = 768 for ViT-L/14. It is scaled to unit length here.
        weight: (d,) or (1, d) weights of the head.
        bias: Bias of the head.

    Returns:
        The score, roughly 0 to 1, not clamped.

    Raises:
        ShapeError: The shapes do not fit, or the feature has length 0.
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
    """Imaging quality: a raw MUSIQ score divided by 100.

    Args:
        raw: Raw score of the network.

    Returns:
        The score, roughly 0 to 1, not clamped.

    Raises:
        ShapeError: The raw score is not finite.
    """
    if not math.isfinite(raw):
        raise ShapeError(f"a raw score is a finite number, got {raw}")
    return float(raw) / 100


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
