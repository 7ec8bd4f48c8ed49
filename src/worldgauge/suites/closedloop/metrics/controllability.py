"""Two axes of World-in-World, figure 5: does a model imagine what the actions lead to, and do its frames look good?

Frames are those of a plan, frame 0 left out, (n, H, W, 3) uint8, compared at 384 x 384 as the paper's views.
Controllability of all frames together is one number; average those over rollouts. Source: sections 11.1, 11.2, 11.6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.image import Frames
from worldgauge.core.video import resize
from worldgauge.metrics._registry import metric
from worldgauge.metrics.pixel import mse, ssim_table

SIZE_PX = 384
PATCH_PX = 8
APART_PX = 48
"""Distance over which a picture resembles itself and noise does not. Squares of the reference `noise` are smaller, at
views of 64 pixels and more."""
_SIGNIFICANCE = 0.001
"""Share of patches of pure noise that would be taken for structure."""
_exponent = _SIGNIFICANCE ** (1 / (PATCH_PX**2 - 1))
_LEAST_COHERENCE = math.sqrt((1 - _exponent) / (1 + _exponent))


@metric("controllability_ssim", unit="1", better="higher", bounds=(-1.0, 1.0), version=1, source="World-in-World, 11.2")
def controllability_ssim(imagined: Frames, replayed: Frames) -> float:
    """Mean SSIM of imagined plan frames and those of the simulator that replays the plan; 1 for equal ones.

    Args:
        imagined: (n, H, W, 3) uint8, n >= 1, any size.
        replayed: Likewise, as many.

    Raises:
        ShapeError: On other shapes.
    """
    return math.fsum(ssim_table(a, b) for a, b in _pairs(imagined, replayed)) / len(imagined)


@metric(
    "controllability_psnr", unit="dB", better="higher", bounds=(0.0, math.inf), version=1, source="World-in-World, 11.2"
)
def controllability_psnr(imagined: Frames, replayed: Frames) -> float:
    """PSNR of the mean squared error over all plan frames; infinite for equal ones.

    Args:
        imagined: (n, H, W, 3) uint8, n >= 1, any size.
        replayed: Likewise, as many.

    Raises:
        ShapeError: On other shapes.
    """
    error = math.fsum(mse(a, b) for a, b in _pairs(imagined, replayed)) / len(imagined)
    return math.inf if error == 0 else 10 * math.log10(255**2 / error)


@metric(
    "controllability_lpips",
    unit="1",
    better="higher",
    bounds=(-math.inf, 1.0),
    version=1,
    source="World-in-World, figure 5b: 1 - mean LPIPS",
)
def controllability_lpips(distances: Sequence[float]) -> float:
    """1 - mean distance of imagined plan frames and those of the simulator.

    Args:
        distances: One per frame, each at least 0.

    Raises:
        UsageError: For none, and for one that is negative or not finite.
    """
    if not len(distances) or not all(math.isfinite(one) and one >= 0 for one in distances):
        raise UsageError("controllability takes at least one distance, each finite and not negative")
    return 1 - math.fsum(distances) / len(distances)


@metric(
    "visual_quality",
    unit="1",
    better="higher",
    bounds=(0.0, math.inf),
    version=2,
    source="Zhu and Milanfar 2010, metric Q, at one size, times the correlation over an eighth of the frame",
)
def visual_quality(frame: NDArray[np.uint8]) -> float:
    """How much clear structure one frame shows, without a reference and without weights: blur and noise both lower it.

    Of each 8x8 patch of the grey frame at 384 x 384, s1 (s1 - s2) / (s1 + s2) with the singular values s1 >= s2 of its
    gradients, where their coherence is beyond what noise has, else 0; the mean over all patches. It is multiplied by
    the correlation of pixels 48 apart, at least 0: edges of squares of noise are as clear as those of things, but what
    lies on both sides of them has nothing to do with its surroundings. It depends on what is seen: compare models on
    the same tasks only.

    Args:
        frame: (H, W, 3) uint8.

    Raises:
        ShapeError: On other shapes.
    """
    import cv2

    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or min(frame.shape[:2]) < 2:
        raise ShapeError(f"expected a frame (H, W, 3) uint8, got {frame.shape} {frame.dtype}")
    grey = cv2.cvtColor(resize(frame, SIZE_PX, SIZE_PX), cv2.COLOR_RGB2GRAY).astype(np.float64)
    down, across = np.gradient(grey, axis=0), np.gradient(grey, axis=1)
    yy, xx, xy = (_patch_sums(one, other) for one, other in ((down, down), (across, across), (down, across)))
    # Singular values of the gradients are the square roots of the eigenvalues of their (2, 2) products.
    middle, reach = (xx + yy) / 2, np.hypot((xx - yy) / 2, xy)
    s1, s2 = np.sqrt(middle + reach), np.sqrt(np.maximum(middle - reach, 0))
    coherence = (s1 - s2) / np.maximum(s1 + s2, 1e-12)
    return float(np.where(coherence > _LEAST_COHERENCE, s1 * coherence, 0).mean()) * _correlation(grey, APART_PX)


@metric(
    "decision_regret",
    unit="1",
    better="lower",
    bounds=(0.0, math.inf),
    version=1,
    source="World-in-World, 11.6, with the sign turned: best less chosen",
)
def decision_regret(values: Sequence[float | None], chosen: int | None) -> float | None:
    """How much better the best candidate would really have been than the chosen one, in the unit of `values`.

    Args:
        values: True value of each candidate, higher is better, such as less distance left to the goal; -inf for one
            that cannot succeed, None for one that is unknown.
        chosen: Index of the one taken; None where none of them was.

    Returns:
        At least 0; None where none was taken, or a value is unknown.

    Raises:
        UsageError: For an index out of range, and values that are not allowed.
    """
    if chosen is None or any(value is None for value in values):
        return None
    if not 0 <= chosen < len(values):
        raise UsageError(f"candidate {chosen} was chosen among {len(values)}")
    known = [float(value) for value in values if value is not None]
    if any(math.isnan(value) or value == math.inf for value in known):
        raise UsageError(f"values of candidates are numbers or -inf, got {known}")
    best = max(known)
    return 0.0 if known[chosen] == best else best - known[chosen]


def _pairs(imagined: Frames, replayed: Frames) -> Iterator[tuple[Frames, Frames]]:
    """Frames beside frames at one size."""
    if imagined.ndim != 4 or replayed.ndim != 4 or len(imagined) != len(replayed) or not len(imagined):
        raise ShapeError(f"expected as many frames (n, H, W, 3), n >= 1, got {imagined.shape} and {replayed.shape}")
    for a, b in zip(imagined, replayed, strict=True):
        yield resize(a, SIZE_PX, SIZE_PX), resize(b, SIZE_PX, SIZE_PX)


def _correlation(grey: NDArray[np.float64], apart: int) -> float:
    """Correlation of pixels that lie `apart` pixels from each other, along rows and columns alike; at least 0."""
    centred = grey - grey.mean()
    variance = (centred * centred).mean()
    if variance == 0:
        return 0.0
    across, down = centred[:, apart:] * centred[:, :-apart], centred[apart:] * centred[:-apart]
    return max(0.0, float((across.mean() + down.mean()) / (2 * variance)))


def _patch_sums(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of products over patches that do not overlap."""
    n = SIZE_PX // PATCH_PX
    sums: NDArray[np.float64] = (one * other).reshape(n, PATCH_PX, n, PATCH_PX).sum((1, 3))
    return sums
