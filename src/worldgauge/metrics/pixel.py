"""Pixel metrics of one frame against another, and of one frame alone. Frames are (H, W, 3) uint8 RGB.

The window, border and channel rule belong to an SSIM value: two that differ in them cannot be compared.

| name | window | border | channels |
| --- | --- | --- | --- |
| ssim_table | Gaussian 11x11, sigma 1.5 | 5 pixels cut | mean over R, G, B |
| ssim_perturbation | Gaussian 11x11, sigma 1.5 | mirrored, edge pixel not repeated | grey |

All take K1 0.01, K2 0.03, range 255 and population covariance (Wang et al. 2004).
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.errors import ShapeError
from worldgauge.metrics import metrics
from worldgauge.metrics._ssim import gaussian_ssim

Image = NDArray[np.uint8]

WINDOW = 11


@metrics.register(
    "ssim_table", unit="1", better="higher", bounds=(-1.0, 1.0), version=1, source="LoopNav, released table script"
)
def ssim_table(a: Image, b: Image) -> float:
    """Structural similarity of the LoopNav table: per RGB channel, mean over channels; 1 for equal frames.

    a, b: (H, W, 3) uint8, at least 11 x 11. Raises ShapeError.
    """
    _check_pair(a, b, smallest=WINDOW)
    return gaussian_ssim(a, b)


@metrics.register(
    "ssim_perturbation", unit="1", better="higher", bounds=(-1.0, 1.0), version=1, source="LoopNav, perturbation study"
)
def ssim_perturbation(a: Image, b: Image) -> float:
    """Structural similarity of the LoopNav perturbation study, on grey frames (BT.601, rounded to uint8).

    a, b: (H, W, 3) uint8, at least 6 x 6, so that the border can be mirrored. Raises ShapeError.
    """
    radius = WINDOW // 2
    _check_pair(a, b, smallest=radius + 1)
    grey = (cv2.copyMakeBorder(_grey(x), radius, radius, radius, radius, cv2.BORDER_REFLECT_101) for x in (a, b))
    one, other = (np.asarray(x, np.uint8)[..., None] for x in grey)
    return gaussian_ssim(one, other)


@metrics.register("mse", unit="grey^2", better="lower", bounds=(0.0, 65025.0), version=1, source="definition")
def mse(a: Image, b: Image) -> float:
    """Mean squared difference over pixels and channels; the sum is exact. Raises ShapeError."""
    _check_pair(a, b)
    return float(np.square(a.astype(np.int64) - b).mean())


@metrics.register("psnr", unit="dB", better="higher", bounds=(0.0, math.inf), version=1, source="10 log10(255^2 / MSE)")
def psnr(a: Image, b: Image) -> float:
    """Peak signal-to-noise ratio over all channels together; infinite for equal frames. Raises ShapeError."""
    error = mse(a, b)
    return math.inf if error == 0 else 10 * math.log10(255**2 / error)


@metrics.register(
    "sharpness", unit="grey^2", better="neither", bounds=(0.0, math.inf), version=1, source="variance of the Laplacian"
)
def sharpness(a: Image) -> float:
    """Variance of the Laplacian of the grey frame: how much fine detail it shows, not whether it is right."""
    _check(a)
    return float(cv2.Laplacian(_grey(a), cv2.CV_64F, ksize=1).var())


def _grey(a: Image) -> Image:
    return np.asarray(cv2.cvtColor(a, cv2.COLOR_RGB2GRAY), np.uint8)


def _check_pair(a: Image, b: Image, *, smallest: int = 1) -> None:
    _check(a, smallest=smallest)
    _check(b, smallest=smallest)
    if a.shape != b.shape:
        raise ShapeError(f"frames differ in shape: {a.shape} and {b.shape}; resize one to the other first")


def _check(a: Image, *, smallest: int = 1) -> None:
    if a.ndim != 3 or a.shape[2] != 3 or a.dtype != np.uint8:
        raise ShapeError(f"expected a frame (H, W, 3) uint8, got {a.shape} {a.dtype}")
    if min(a.shape[:2]) < smallest:
        raise ShapeError(f"a frame needs at least {smallest} x {smallest} pixels for this metric, got {a.shape[:2]}")
