"""Metrics on what networks compute: LPIPS, the Frechet distances (FID, FVD), and the learned metrics of MIND.

The functions take distances, features or tokens. `worldgauge.perception` runs the networks.

- LPIPS is the perceptual distance of two frames (Zhang et al. 2018), at the sizes that suites report.
- FID (Heusel et al. 2017) is the Frechet distance of image features, FVD that of video features.
- `dino_mse`, `aesthetic` and `imaging` take one frame or one pair of frames, as released with MIND.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.core.video import resize
from worldgauge.metrics._registry import metric
from worldgauge.metrics.frame_pairs import Prepared, prepared

Floats = NDArray[np.floating]

_SPECIAL = 5
"""Number of tokens before the patch tokens: the class token and four registers."""
_TINY = 1e-12


@metric("lpips_720p", unit="1", better="lower", bounds=(0.0, math.inf), version=2, source="MIND; LPIPS 0.1, AlexNet")
def lpips_720p(x: Image, y: Image, distance: Callable[[Prepared, Prepared], float]) -> float:
    """A learned distance (LPIPS) of two frames at 1280x720.

    Args:
        x: (h, w, 3) uint8 of any size.
        y: The other frame, of any size.
        distance: Distance of two prepared frames, such as `perception.lpips_numpy.Lpips.distance`.

    Returns:
        The distance, 0 for equal frames.

    Raises:
        ShapeError: A frame is not (h, w, 3) uint8.

    Examples:
        >>> black, white = np.zeros((9, 16, 3), np.uint8), np.full((18, 32, 3), 255, np.uint8)
        >>> round(lpips_720p(black, white, lambda a, b: abs(a - b).mean()), 3)  # any distance works
        1.0
    """
    return float(distance(prepared(x), prepared(y)))


@metric("lpips", unit="1", better="lower", bounds=(0.0, math.inf), source="LoopNav, C.2; LPIPS 0.1")
def lpips(x: Image, y: Image, distance: Callable[[Prepared, Prepared], float]) -> float:
    """A learned distance (LPIPS) of two frames at their own size.

    Args:
        x: (h, w, 3) uint8.
        y: The other frame, of the same shape.
        distance: Distance of two frames (h, w, 3) float32 in [0, 1].

    Returns:
        The distance, 0 for equal frames.

    Raises:
        ShapeError: The frames differ in shape, or are not (h, w, 3) uint8.

    Examples:
        >>> black, white = np.zeros((9, 16, 3), np.uint8), np.full((9, 16, 3), 255, np.uint8)
        >>> lpips(black, white, lambda a, b: abs(a - b).mean())  # any distance works
        1.0
    """
    if x.shape != y.shape:
        raise ShapeError(f"frames differ in shape: {x.shape} and {y.shape}")
    return float(distance(x.astype(np.float32) / np.float32(255), y.astype(np.float32) / np.float32(255)))


@metric("lpips_320x180", unit="1", better="lower", bounds=(0.0, math.inf), version=2, source="lpips at one common size")
def lpips_320x180(x: Image, y: Image, distance: Callable[[Prepared, Prepared], float]) -> float:
    """A learned distance (LPIPS) of two frames at 320x180. Fewer pixels lack detail and raise it.

    Give the true frame in its own size: shrunk to a model's size before, it lacks the same detail.

    Args:
        x: (h, w, 3) uint8 of any size.
        y: The other frame, of any size.
        distance: Distance of two frames (h, w, 3) float32 in [0, 1].

    Returns:
        The distance, 0 for equal frames.

    Raises:
        ShapeError: A frame is not (h, w, 3) uint8.

    Examples:
        >>> black, white = np.zeros((9, 16, 3), np.uint8), np.full((18, 32, 3), 255, np.uint8)
        >>> lpips_320x180(black, white, lambda a, b: abs(a - b).mean())  # any distance works
        1.0
    """
    return float(lpips(resize(x, 320, 180), resize(y, 320, 180), distance))


@metric("frechet", unit="feature^2", better="lower", bounds=(0.0, math.inf), source="LoopNav, FVD of the table")
def frechet_distance(features_a: ArrayLike, features_b: ArrayLike) -> float:
    """Frechet distance of two sets of feature vectors, each taken as a Gaussian.

    |mean_a - mean_b|^2 + trace(A + B - 2 sqrt(A B)), A and B the sample covariances (n - 1). With one sample on each
    side there is no covariance, and the distance is the squared distance of the two vectors: the "FVD" of a single
    pair. With one sample on one side only, its covariance counts as zero.

    Args:
        features_a: (n, d) finite features.
        features_b: (m, d) finite features.

    Returns:
        The distance, in squared units of the features; 0 or more.

    Raises:
        ShapeError: Other shapes, an empty set, or values that are not finite.

    Examples:
        >>> round(frechet([[0.0], [2.0]], [[3.0], [5.0]]), 6)  # means 3 apart, equal spread
        9.0
    """
    a, b = _features(features_a, "features_a"), _features(features_b, "features_b")
    if a.shape[1] != b.shape[1]:
        raise ShapeError(f"features differ in length: {a.shape[1]} and {b.shape[1]}")
    offset = a.mean(0) - b.mean(0)
    # With centred samples X, Y scaled so that A = X'X and B = Y'Y, trace sqrt(A B) is the sum of the singular values
    # of X Y': no square root of an almost singular matrix, and small when there are few samples.
    x, y = _centred(a), _centred(b)
    product = x @ y.T if min(len(x), len(y)) < x.shape[1] else _root(x) @ _root(y).T
    shared = np.linalg.svd(product, compute_uv=False).sum()
    return max(0.0, float(offset @ offset + (x**2).sum() + (y**2).sum() - 2 * shared))


@metric("fvd", unit="feature^2", better="lower", bounds=(0.0, math.inf), source="LoopNav, C.2; I3D of K400")
def fvd(features_a: ArrayLike, features_b: ArrayLike) -> float:
    """Frechet distance of the I3D features of two sets of videos (FVD).

    With fewer videos than features, the covariances do not have full rank and the distance depends on n. Compare only
    sets of equal size.

    Args:
        features_a: (n, d) features, n >= 2.
        features_b: (m, d) features, m >= 2.

    Returns:
        The distance, in squared units of the features; 0 or more.

    Raises:
        ShapeError: Fewer than two videos on a side, other shapes, or values that are not finite.

    Examples:
        >>> round(fvd([[0.0, 0.0], [2.0, 0.0]], [[0.0, 1.0], [2.0, 1.0]]), 6)
        1.0
    """
    if min(len(np.atleast_2d(features_a)), len(np.atleast_2d(features_b))) < 2:
        raise ShapeError("a Frechet distance of sets takes two videos or more a side; of one pair it is fvd_pair")
    return float(frechet_distance(features_a, features_b))


@metric("fvd_pair", unit="feature^2", better="lower", bounds=(0.0, math.inf), source="LoopNav, released table")
def fvd_pair(feature_a: ArrayLike, feature_b: ArrayLike) -> float:
    """Squared distance of the I3D features of two videos: the number that the release prints as FVD.

    Args:
        feature_a: (d,) feature of one video.
        feature_b: (d,) feature of the other.

    Returns:
        The squared distance, 0 or more.

    Raises:
        ShapeError: The features are not two vectors of equal length, or hold values that are not finite.

    Examples:
        >>> fvd_pair([0.0, 0.0], [3.0, 4.0])
        25.0
    """
    a, b = (np.asarray(feature, np.float64) for feature in (feature_a, feature_b))
    if a.ndim != 1 or a.shape != b.shape:
        raise ShapeError(f"expected two features (d,) of equal length, got {a.shape} and {b.shape}")
    return float(frechet_distance(a[None], b[None]))


@metric("dino_mse", unit="1", better="lower", bounds=(0.0, 4 / 768), source="MIND, DINOv3 ViT-B/16, 224x224")
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

    Examples:
        >>> one, other = np.ones((7, 2)), np.ones((7, 2))  # two patch tokens come after five others
        >>> one[5], other[5] = [1, 0], [0, 1]
        >>> dino_mse(one, other)
        0.5
    """
    if tokens_a.shape != tokens_b.shape or tokens_a.ndim != 2 or len(tokens_a) <= _SPECIAL or not tokens_a.shape[1]:
        raise ShapeError(
            f"expected two arrays (tokens, channels) of equal shape with more than {_SPECIAL} tokens, "
            f"got {tokens_a.shape} and {tokens_b.shape}"
        )
    a, b = (_unit_rows(_finite("tokens", tokens)[_SPECIAL:]) for tokens in (tokens_a, tokens_b))
    return float(((a - b) ** 2).mean())


@metric("aesthetic", unit="1", better="higher", bounds=(-math.inf, math.inf), source="MIND; LAION linear head")
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

    Examples:
        >>> aesthetic(np.array([3.0, 4.0]), np.array([5.0, 0.0]), bias=2.0)
        0.5
    """
    head = np.asarray(weight, np.float64).reshape(-1)
    if feature.ndim != 1 or feature.shape != head.shape:
        raise ShapeError(f"expected a feature (d,) and a head of as many weights, got {feature.shape}, {weight.shape}")
    values = _finite("the feature", feature)
    length = float(np.linalg.norm(values))
    if length == 0:
        raise ShapeError("the feature is 0 everywhere, so that it has no direction")
    return (float(values @ head) / length + float(bias)) / 10


@metric("imaging", unit="1", better="higher", bounds=(-math.inf, math.inf), source="MIND; MUSIQ of SPAQ")
def imaging(raw: float) -> float:
    """Imaging quality: a raw MUSIQ score divided by 100.

    Args:
        raw: Raw score of the network.

    Returns:
        The score, roughly 0 to 1, not clamped.

    Raises:
        ShapeError: The raw score is not finite.

    Examples:
        >>> imaging(62.5)
        0.625
    """
    if not math.isfinite(raw):
        raise ShapeError(f"a raw score is a finite number, got {raw}")
    return float(raw) / 100


def _centred(features: FloatArray) -> FloatArray:
    """Samples about their mean, scaled so that their Gram matrix is the sample covariance."""
    centred: FloatArray = (features - features.mean(0)) / np.sqrt(max(len(features) - 1, 1))
    return centred


def _root(x: FloatArray) -> FloatArray:
    """(d, d) R with R'R = x'x, for more samples than dimensions."""
    root: FloatArray = np.linalg.qr(x).R
    return root


def _features(features: ArrayLike, name: str) -> FloatArray:
    array = np.asarray(features, np.float64)
    if array.ndim != 2 or array.size == 0:
        raise ShapeError(f"{name} must be (n, d) with at least one sample, got {array.shape}")
    if not np.isfinite(array).all():
        raise ShapeError(f"{name} holds values that are not finite")
    return array


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
