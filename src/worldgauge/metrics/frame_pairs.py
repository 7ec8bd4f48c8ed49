"""Errors of a predicted frame against a reference frame at one common size, 1280x720: MSE, PSNR and SSIM.

    pair_error(prepared(got), prepared(want)).ssim
    for error in pair_errors(rollout, truth): ...        # two clips of any length; only a few frames are in memory

Frames are (H, W, 3) uint8 RGB of any size. They are compared as float32 in [0, 1].
Source: MIND, section on metrics; the released frame preparation and frame-pair metric.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import zip_longest
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.image import Image
from worldgauge.metrics._bilinear import resample
from worldgauge.metrics._registry import metric
from worldgauge.metrics._ssim import WINDOW, squared_error_and_ssim

Prepared = NDArray[np.float32]

SIZE = (1280, 720)
"""Width and height at which frames are compared."""
_CHUNK = 100
"""Frames that the released scorer reads at once."""

Job = TypeVar("Job")
Result = TypeVar("Result")
Rule = Literal["all", "released"]


class PairError(NamedTuple):
    """Errors of one pair of frames, or means over pairs."""

    mse: float
    psnr: float  # dB, infinite for equal frames
    ssim: float


def prepared(frame: Image, size: tuple[int, int] = SIZE) -> Prepared:
    """Convert a frame (h, w, 3) uint8 to float32 in [0, 1] at a common size (width, height). Source: MIND, frame
    reader. Bilinear about pixel centres, no antialiasing or rounding; covers `size`, centred. If an odd number of
    pixels is cut off, half of it rounds to the even number, as in torchvision's center_crop."""
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or 0 in frame.shape:
        raise ShapeError(f"expected a frame (H, W, 3) uint8, got {frame.shape} {frame.dtype}")
    result = np.empty((size[1], size[0], 3), np.float32)
    resample(np.ascontiguousarray(frame), *grid_of(frame.shape[0], frame.shape[1], size), result)
    return result


def grid_of(rows: int, columns: int, size: tuple[int, int] = SIZE) -> tuple[int, int, int, int]:
    """The pixel grid that `prepared` brings a frame to, and the part (width, height) of it that is kept."""
    width, height = size
    if rows * width == columns * height:
        scaled_rows, scaled_columns = height, width
    else:
        scale = max(width / columns, height / rows)
        scaled_rows, scaled_columns = round(rows * scale), round(columns * scale)
    # Starts of the crop. Rounding is half to even: the release's choice of two crops that are equally near the centre.
    return scaled_rows, scaled_columns, round((scaled_rows - height) / 2), round((scaled_columns - width) / 2)


def prepared_pair(x: Image, y: Image) -> tuple[Prepared, Prepared]:
    """`prepared` for both of a pair: one and the same array twice where the frames are equal."""
    first = prepared(x)
    return first, first if np.array_equal(x, y) else prepared(y)


def pair_error(x: Prepared, y: Prepared) -> PairError:
    """Errors of a predicted frame against a reference frame, both `prepared`; (0, inf, 1) for equal ones. Symmetric.
    SSIM: 11x11 Gaussian of sigma 1.5, mirrored borders, K1 0.01, K2 0.03, population covariance, mean over the whole
    map. Source: Wang et al. 2004; MIND, released frame-pair metric with torchmetrics 1.5.2 to 1.9.0."""
    for each in (x, y):
        if each.ndim != 3 or each.shape[2] != 3 or each.dtype != np.float32 or min(each.shape[:2]) <= WINDOW // 2:
            raise ShapeError(f"expected a frame (H, W, 3) float32, H and W >= 6, got {each.shape} {each.dtype}")
    if x.shape != y.shape:
        raise ShapeError(f"frames differ in shape: {x.shape} and {y.shape}; prepare both at one size")
    if x is y and np.isfinite(x).all():
        return PairError(0.0, math.inf, 1.0)
    mse, ssim = squared_error_and_ssim(np.ascontiguousarray(x), np.ascontiguousarray(y))
    if not math.isfinite(mse):
        raise ShapeError("a frame holds values that are not finite; give values in [0, 1]")
    return PairError(mse, psnr_of(mse), max(-1.0, min(1.0, ssim)))


def psnr_of(mse: float) -> float:
    """PSNR in dB of a mean squared error on values in [0, 1]: 10 log10(1 / mse), infinite for 0."""
    return math.inf if mse == 0 else -10 * math.log10(mse)


def pair_errors(x: Iterable[Image], y: Iterable[Image], *, threads: int = 1) -> Iterator[PairError]:
    """Errors of every predicted frame (h, w, 3) uint8 against the reference frame at the same position, in order."""
    if threads < 1:
        raise UsageError(f"threads must be at least 1, got {threads}")
    yield from in_order(lambda pair: _error_of(*pair), _together(x, y), threads)


def in_order(function: Callable[[Job], Result], jobs: Iterable[Job], threads: int) -> Iterator[Result]:
    """Apply `function` to every job on several threads and yield the results in the order of the jobs."""
    if threads == 1:
        yield from map(function, jobs)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for job in jobs:
                waiting.append(pool.submit(function, job))
                if len(waiting) >= 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def mean_error(errors: Sequence[PairError]) -> PairError:
    """Plain mean of each error over pairs of frames."""
    if not errors:
        raise ShapeError("no pair of frames to take a mean over")
    return PairError(*(math.fsum(values) / len(errors) for values in zip(*errors, strict=True)))


def scored_frames(n: int, rule: Rule = "all") -> int:
    """Number of leading frames that are scored."""
    if n < 0 or rule not in ("all", "released"):
        raise UsageError(f"scored_frames needs n >= 0 and rule 'all' or 'released', got {n} and {rule!r}")
    return n if rule == "all" else _CHUNK * max(0, (n - 1) // _CHUNK)


@metric("mse_720p", unit="1", better="lower", bounds=(0.0, 1.0), version=2, source="MIND, released scorer")
def mse_720p(x: Image, y: Image) -> float:
    """Mean squared difference of two frames at 1280x720, on values in [0, 1].

    Args:
        x: (h, w, 3) uint8 of any size.
        y: The other frame, of any size.

    Returns:
        The error, 0 to 1; 0 for equal frames.

    Raises:
        ShapeError: A frame is not (h, w, 3) uint8.

    Examples:
        >>> dark, light = np.full((9, 16, 3), 51, np.uint8), np.full((9, 16, 3), 102, np.uint8)
        >>> round(mse_720p(dark, light), 4)  # 51 of 255 levels are 0.2
        0.04
    """
    return _error_of(x, y).mse


@metric("psnr_720p", unit="dB", better="higher", bounds=(0.0, math.inf), version=2, source="MIND, released scorer")
def psnr_720p(x: Image, y: Image) -> float:
    """Peak signal-to-noise ratio of two frames at 1280x720.

    Args:
        x: (h, w, 3) uint8 of any size.
        y: The other frame, of any size.

    Returns:
        The ratio in dB, infinite for equal frames.

    Raises:
        ShapeError: A frame is not (h, w, 3) uint8.

    Examples:
        >>> dark, light = np.full((9, 16, 3), 51, np.uint8), np.full((9, 16, 3), 102, np.uint8)
        >>> round(psnr_720p(dark, light), 2), psnr_720p(dark, dark)
        (13.98, inf)
    """
    return _error_of(x, y).psnr


@metric("ssim_720p", unit="1", better="higher", bounds=(-1.0, 1.0), version=2, source="MIND, released scorer")
def ssim_720p(x: Image, y: Image) -> float:
    """Structural similarity of two frames at 1280x720 over the whole map, with mirrored borders.

    Args:
        x: (h, w, 3) uint8 of any size.
        y: The other frame, of any size.

    Returns:
        The similarity, -1 to 1; 1 for equal frames.

    Raises:
        ShapeError: A frame is not (h, w, 3) uint8.

    Examples:
        >>> dark, light = np.full((9, 16, 3), 100, np.uint8), np.full((9, 16, 3), 200, np.uint8)
        >>> round(ssim_720p(dark, light), 2), ssim_720p(dark, dark)
        (0.8, 1.0)
    """
    return _error_of(x, y).ssim


def _error_of(x: Image, y: Image) -> PairError:
    return pair_error(*prepared_pair(x, y))


def _together(x: Iterable[Image], y: Iterable[Image]) -> Iterator[tuple[Image, Image]]:
    for number, (one, other) in enumerate(zip_longest(x, y)):
        if one is None or other is None:
            short, long = ("predicted", "reference") if one is None else ("reference", "predicted")
            raise ShapeError(f"there are {number} {short} frames, and more {long} ones; cut both to one length")
        yield one, other
