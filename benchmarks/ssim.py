"""SSIM of one 640x360 frame pair on one core, Gaussian 11x11 window: ours beside scikit-image, turn by turn."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from skimage.metrics import structural_similarity

from worldgauge.metrics.psnr_ssim import ssim_table

HEIGHT, WIDTH = 360, 640
GOAL_MS, GOAL_RATIO = 5.0, 10.0
TOLERANCE = 1e-5
ROUNDS, OURS_A_ROUND = 7, 10


def run() -> dict[str, Any]:
    a, b = _pair(seed=0)
    # scikit-image and our kernel are both serial; OpenCV is kept from helping either with threads.
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    difference = abs(ssim_table(a, b) - float(_reference(a, b)))
    ours, reference = [], []
    for _ in range(ROUNDS):
        ours += [_ms(lambda: ssim_table(a, b)) for _ in range(OURS_A_ROUND)]
        reference.append(_ms(lambda: _reference(a, b)))
    cv2.setNumThreads(threads)
    one, other = statistics.median(ours), statistics.median(reference)
    return {
        "name": "ssim",
        "unit": "processor ms a 640x360 RGB frame pair, one core, median",
        "ours": round(one, 3),
        "reference": round(other, 3),
        "reference_name": "scikit-image structural_similarity",
        "ratio": round(other / one, 2),
        "window": "Gaussian 11x11, sigma 1.5, population covariance, 5-pixel border cut, mean over R, G, B",
        "value": round(ssim_table(a, b), 6),
        "difference": difference,
        "passes": {"ours": len(ours), "reference": len(reference)},
        "goal": "<= 5 ms and >= 10x",
        "met": one <= GOAL_MS and other / one >= GOAL_RATIO and difference <= TOLERANCE,
    }


def _reference(a: np.ndarray, b: np.ndarray) -> float:
    return structural_similarity(
        a, b, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255, channel_axis=2
    )


def _pair(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A smooth random picture and a noisy copy of it."""
    rng = np.random.default_rng(seed)
    picture = cv2.GaussianBlur(rng.uniform(0, 255, (HEIGHT, WIDTH, 3)), (0, 0), 4)
    picture = np.clip((picture - 128) * 6 + 128, 0, 255)
    noisy = np.clip(picture + rng.normal(0, 12, picture.shape), 0, 255)
    return picture.astype(np.uint8), noisy.astype(np.uint8)


def _ms(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)
