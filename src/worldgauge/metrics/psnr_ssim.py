"""Pixel metrics of one frame against another, and of one frame alone. Frames are (H, W, 3) uint8 RGB.

An SSIM value depends on its window, border and channel rule. Do not compare two values that differ in them.

| name | window | border | channels |
| --- | --- | --- | --- |
| ssim_table | Gaussian 11x11, sigma 1.5 | 5 pixels cut | mean over R, G, B |
| ssim_perturbation | Gaussian 11x11, sigma 1.5 | mirrored, edge pixel not repeated | grey |
| ssim_uniform | uniform 7x7, sample covariance | 3 pixels cut | mean over R, G, B |

All use K1 0.01, K2 0.03 and range 255. The first two use the population covariance (Wang et al. 2004).
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Image
from worldgauge.core.video import resize
from worldgauge.metrics._registry import metric
from worldgauge.metrics._ssim import BOX, WINDOW, gaussian_ssim, uniform_ssim

COMMON_SIZE = (320, 180)
"""Width and height of `ssim_320x180`."""


@metric("ssim_table", unit="1", better="higher", bounds=(-1.0, 1.0), source="LoopNav, released table script")
def ssim_table(a: Image, b: Image) -> float:
    """Structural similarity of the LoopNav table: per RGB channel, then the mean over channels.

    Args:
        a: (H, W, 3) uint8, at least 11 x 11.
        b: The other frame, of the same shape.

    Returns:
        The similarity, -1 to 1; 1 for equal frames.

    Raises:
        ShapeError: The frames differ in shape, are too small, or are not (H, W, 3) uint8.

    Examples:
        >>> dark, light = np.full((11, 11, 3), 100, np.uint8), np.full((11, 11, 3), 200, np.uint8)
        >>> round(ssim_table(dark, light), 2), ssim_table(dark, dark)
        (0.8, 1.0)
    """
    _check_pair(a, b, smallest=WINDOW)
    if np.array_equal(a, b):
        return 1.0
    return _bounded(gaussian_ssim(np.ascontiguousarray(a), np.ascontiguousarray(b)))


@metric(
    "ssim_320x180", unit="1", better="higher", bounds=(-1.0, 1.0), version=2, source="ssim_table at one common size"
)
def ssim_320x180(a: Image, b: Image) -> float:
    """`ssim_table` of both frames at 320x180. Fewer pixels lack detail and lower it.

    Give the true frame in its own size: shrunk to a model's size before, it lacks the same detail. A frame that is
    wrong gains from fewer pixels as it gains from any blur, by up to 0.08. Frames are resized with an area average when
    no side grows, else bilinearly.

    Args:
        a: (H, W, 3) uint8 of any size.
        b: The other frame, of any size.

    Returns:
        The similarity, -1 to 1; 1 for equal frames.

    Raises:
        ShapeError: A frame is not (H, W, 3) uint8.

    Examples:
        >>> dark, light = np.full((9, 16, 3), 100, np.uint8), np.full((18, 32, 3), 200, np.uint8)
        >>> round(ssim_320x180(dark, light), 2)
        0.8
    """
    for x in (a, b):
        _check(x)
    return float(ssim_table(*(resize(x, *COMMON_SIZE) for x in (a, b))))


@metric("ssim_perturbation", unit="1", better="higher", bounds=(-1.0, 1.0), source="LoopNav, perturbation study")
def ssim_perturbation(a: Image, b: Image) -> float:
    """Structural similarity of the LoopNav perturbation study, on grey frames (BT.601, rounded to uint8).

    Args:
        a: (H, W, 3) uint8, at least 6 x 6, so that the border can be mirrored.
        b: The other frame, of the same shape.

    Returns:
        The similarity, -1 to 1; 1 for equal frames.

    Raises:
        ShapeError: The frames differ in shape, are too small, or are not (H, W, 3) uint8.

    Examples:
        >>> dark, light = np.full((6, 6, 3), 100, np.uint8), np.full((6, 6, 3), 200, np.uint8)
        >>> round(ssim_perturbation(dark, light), 2), round(ssim_perturbation(dark, dark), 2)
        (0.8, 1.0)
    """
    radius = WINDOW // 2
    _check_pair(a, b, smallest=radius + 1)
    one, other = (np.pad(_grey(x), radius, mode="reflect") for x in (a, b))
    return _bounded(gaussian_ssim(_three(one), _three(other)))


@metric("ssim_uniform", unit="1", better="higher", bounds=(-1.0, 1.0), source="Wang et al. 2004, 7x7 window")
def ssim_uniform(a: Image, b: Image) -> float:
    """Structural similarity with a uniform 7x7 window, as in scikit-image: the mean over the RGB channels.

    Sums of pixels are exact.

    Args:
        a: (H, W, 3) uint8, at least 7 x 7.
        b: The other frame, of the same shape.

    Returns:
        The similarity, -1 to 1; 1 for equal frames.

    Raises:
        ShapeError: The frames differ in shape, are too small, or are not (H, W, 3) uint8.

    Examples:
        >>> dark, light = np.full((7, 7, 3), 100, np.uint8), np.full((7, 7, 3), 200, np.uint8)
        >>> round(ssim_uniform(dark, light), 2), round(ssim_uniform(dark, dark), 2)
        (0.8, 1.0)
    """
    _check_pair(a, b, smallest=BOX)
    return _bounded(uniform_ssim(np.ascontiguousarray(a), np.ascontiguousarray(b)))


@metric("mse", unit="grey^2", better="lower", bounds=(0.0, 65025.0), source="definition")
def mse(a: Image, b: Image) -> float:
    """Mean squared difference over pixels and channels; the sum is exact.

    Args:
        a: (H, W, 3) uint8.
        b: The other frame, of the same shape.

    Returns:
        The error in squared grey levels, 0 to 65025.

    Raises:
        ShapeError: The frames differ in shape or are not (H, W, 3) uint8.

    Examples:
        >>> mse(np.full((4, 4, 3), 100, np.uint8), np.full((4, 4, 3), 110, np.uint8))
        100.0
    """
    _check_pair(a, b)
    return float(_squared_error(a.ravel(), b.ravel()) / a.size)


@metric("psnr", unit="dB", better="higher", bounds=(0.0, math.inf), source="10 log10(255^2 / MSE)")
def psnr(a: Image, b: Image) -> float:
    """Peak signal-to-noise ratio over all channels together: 10 log10(255^2 / MSE).

    Args:
        a: (H, W, 3) uint8.
        b: The other frame, of the same shape.

    Returns:
        The ratio in dB, infinite for equal frames.

    Raises:
        ShapeError: The frames differ in shape or are not (H, W, 3) uint8.

    Examples:
        >>> round(psnr(np.full((4, 4, 3), 100, np.uint8), np.full((4, 4, 3), 110, np.uint8)), 2)
        28.13
    """
    return psnr_of_mse(mse(a, b))


def psnr_of_mse(error: float) -> float:
    """PSNR in dB of a mean squared error in squared grey levels, infinite for 0."""
    return math.inf if error == 0 else 10 * math.log10(255**2 / error)


@metric("sharpness", unit="grey^2", better="neither", bounds=(0.0, math.inf), source="variance of the Laplacian")
def sharpness(a: Image) -> float:
    """Variance of the Laplacian (3x3, mirrored border) of the grey frame: how much fine detail it shows.

    It needs no truth, so it says nothing about being right. Next to a memory score it separates a model that blurs what
    it forgot (low) from one that invents a crisp new place (as high as the truth's value). Compare only frames of one
    size, and compare with the truth's own value.

    Args:
        a: (H, W, 3) uint8.

    Returns:
        The variance in squared grey levels, 0 or more.

    Raises:
        ShapeError: The frame is not (H, W, 3) uint8.

    Examples:
        >>> flat = np.zeros((8, 8, 3), np.uint8)
        >>> stripes = flat.copy()
        >>> stripes[:, ::2] = 10
        >>> sharpness(flat), sharpness(stripes)
        (0.0, 400.0)
    """
    _check(a)
    return float(cv2.Laplacian(_grey(a), cv2.CV_64F, ksize=1).var())


def _bounded(ssim: float) -> float:
    """Clip what rounding may add beyond the bounds."""
    return float(max(-1.0, min(1.0, ssim)))


@njit(cache=True, nogil=True)
def _squared_error(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> int:
    """Sum of squared differences of flat arrays, exact."""
    total = 0
    for i in range(a.size):
        difference = int(a[i]) - int(b[i])
        total += difference * difference
    return int(total)


def _three(grey: Image) -> Image:
    """A grey frame as RGB: the kernel knows three channels only."""
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2RGB), np.uint8)


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
