"""FVD and FID: the Frechet distance of two sets of feature vectors, each taken as a Gaussian.

FID (Heusel et al. 2017) is that of image features, FVD that of video features. Which it is, the features decide.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.metrics import metrics


@metrics.register(
    "frechet", unit="feature^2", better="lower", bounds=(0.0, math.inf), version=1, source="LoopNav, FVD of the table"
)
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


@metrics.register(
    "fvd", unit="feature^2", better="lower", bounds=(0.0, math.inf), version=1, source="LoopNav, section 4; I3D of K400"
)
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
    """
    if min(len(np.atleast_2d(features_a)), len(np.atleast_2d(features_b))) < 2:
        raise ShapeError("a Frechet distance of sets takes two videos or more a side; of one pair it is fvd_pair")
    return float(frechet_distance(features_a, features_b))


@metrics.register(
    "fvd_pair", unit="feature^2", better="lower", bounds=(0.0, math.inf), version=1, source="LoopNav, released table"
)
def fvd_pair(feature_a: ArrayLike, feature_b: ArrayLike) -> float:
    """Squared distance of the I3D features of two videos: the number that the release prints as FVD.

    Args:
        feature_a: (d,) feature of one video.
        feature_b: (d,) feature of the other.

    Returns:
        The squared distance, 0 or more.

    Raises:
        ShapeError: The features are not two vectors of equal length, or hold values that are not finite.
    """
    a, b = (np.asarray(feature, np.float64) for feature in (feature_a, feature_b))
    if a.ndim != 1 or a.shape != b.shape:
        raise ShapeError(f"expected two features (d,) of equal length, got {a.shape} and {b.shape}")
    return float(frechet_distance(a[None], b[None]))


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
