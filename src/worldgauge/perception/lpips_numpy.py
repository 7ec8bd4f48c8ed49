"""LPIPS (AlexNet) without torch, from weight files that you provide; `perception.networks` has it in torch.

    distance = estimators.get("lpips")(weights=["alexnet.pth", "lpips.pth"])(image, other)

No weights come with worldgauge. A suite computes LPIPS only when its settings name weights, and leaves it out
otherwise. Without weights the estimator fails at once with one line; nothing replaces it silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, ShapeError, WorldgaugeError
from worldgauge.perception import estimators
from worldgauge.weights import read_tensors

Float32 = NDArray[np.float32]

# (weight name, stride, padding, 3x3 max pooling with stride 2 before it)
_LAYERS = (
    ("features.0", 4, 2, False),
    ("features.3", 1, 2, True),
    ("features.6", 1, 1, True),
    ("features.8", 1, 1, False),
    ("features.10", 1, 1, False),
)
_BLOCK = 1 << 20
"""Number of values under the windows of a convolution that are laid out at once."""
_SHIFT = np.array([-0.030, -0.088, -0.188], np.float32)
_SCALE = np.array([0.458, 0.448, 0.450], np.float32)


@estimators.register("lpips", needs="weights", version=1)
class Lpips:
    """Learned perceptual distance (LPIPS 0.1, AlexNet): 0 for equal images, larger for more different ones.

    Source: Zhang et al. 2018, equation 1; used by LoopNav, section 4.

    Args:
        weights: One or several files that together hold `features.{0,3,6,8,10}.{weight,bias}` of an AlexNet and the
            linear heads `lin{0..4}.model.1.weight`: .npz, .safetensors, or .pth (which needs the extra 'torch').

    Raises:
        WorldgaugeError: No weights are given.
        DataError: A file cannot be used.
    """

    def __init__(self, weights: str | Path | Iterable[str | Path] | None = None) -> None:
        if weights is None:
            raise WorldgaugeError(
                "LPIPS needs weights that worldgauge does not ship; give the AlexNet and LPIPS files as weights=[...]"
            )
        tensors: dict[str, Float32] = {}
        paths = [weights] if isinstance(weights, (str, Path)) else list(weights)
        for path in paths:
            tensors |= read_tensors(Path(path))
        where = ", ".join(str(path) for path in paths)
        self._convolutions = [
            (_tensor(tensors, f"{name}.weight", 4, where), _tensor(tensors, f"{name}.bias", 1, where))
            for name, *_ in _LAYERS
        ]
        self._heads = [_tensor(tensors, f"lin{i}.model.1.weight", 4, where).reshape(-1) for i in range(len(_LAYERS))]
        channels = 3
        for (weight, bias), head, (name, *_) in zip(self._convolutions, self._heads, _LAYERS, strict=True):
            if weight.shape[1] != channels or not len(weight) == len(bias) == len(head):
                raise DataError(f"{where}: the tensors of {name} do not fit an AlexNet: {weight.shape}, {head.shape}")
            channels = len(weight)

    def __call__(self, a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
        """Compute the distance of two images.

        Args:
            a: (H, W, 3) uint8 RGB, at least 63 pixels per side.
            b: The same shape.

        Returns:
            LPIPS, 0 for equal images.

        Raises:
            ShapeError: Other shapes.
        """
        if a.shape != b.shape or a.ndim != 3 or a.shape[2] != 3 or min(a.shape[:2]) < 63:
            raise ShapeError(f"LPIPS needs two (H, W, 3) images of equal size >= 63, got {a.shape} and {b.shape}")
        return self._between(*(image.astype(np.float32) / 127.5 - 1 for image in (a, b)))

    def distance(self, x: Float32, y: Float32) -> float:
        """Distance of two float images, such as `metrics.frame_pairs.prepared` returns.

        Args:
            x: (H, W, 3) float32 in [0, 1], H and W >= 63.
            y: The other image, of the same shape.

        Returns:
            The distance, 0 for equal images.

        Raises:
            ShapeError: The images differ in shape or are too small.
        """
        for image in (x, y):
            if image.ndim != 3 or image.shape != x.shape or image.shape[2] != 3 or min(image.shape[:2]) < 63:
                raise ShapeError(f"LPIPS needs two (H, W, 3) images of equal size >= 63, got {x.shape} and {y.shape}")
        return self._between(*(np.asarray(2 * image - 1, np.float32) for image in (x, y)))

    def _between(self, x: Float32, y: Float32) -> float:
        """Distance of two images in [-1, 1]."""
        total = 0.0
        for one, other, head in zip(self._features(x), self._features(y), self._heads, strict=True):
            total += float((((one - other) ** 2) @ head).mean())
        return total

    def _features(self, image: Float32) -> list[Float32]:
        """Activations (h, w, c) after every convolution, of unit length over channels."""
        x = (image - _SHIFT) / _SCALE
        found = []
        for (weight, bias), (_, stride, padding, pooled) in zip(self._convolutions, _LAYERS, strict=True):
            if pooled:
                x = _windows(x, 3, 2).max((-1, -2))
            x = np.maximum(_convolve(x, weight, stride, padding) + bias, 0)
            found.append(x / (np.linalg.norm(x, axis=-1, keepdims=True) + 1e-10))
        return found


def _convolve(x: Float32, weight: Float32, stride: int, padding: int) -> Float32:
    """Cross-correlation of (h, w, c) with (out, c, k, k), zero padding."""
    padded = np.pad(x, ((padding, padding), (padding, padding), (0, 0)))
    # Channels last, so that what is copied side by side lies side by side; a few rows at a time stay in the cache.
    windows = _windows(padded, weight.shape[-1], stride).transpose(0, 1, 3, 4, 2)
    kernel = np.ascontiguousarray(weight.transpose(2, 3, 1, 0).reshape(-1, len(weight)))
    result = np.empty((*windows.shape[:2], len(weight)), np.float32)
    rows = max(1, _BLOCK // (windows.shape[1] * len(kernel)))
    for top in range(0, len(windows), rows):
        block = windows[top : top + rows]
        np.matmul(block.reshape(-1, len(kernel)), kernel, out=result[top : top + rows].reshape(-1, len(weight)))
    return result


def _windows(x: Float32, size: int, stride: int) -> Float32:
    """(h, w, c) -> (h', w', c, size, size)."""
    windows: Float32 = np.lib.stride_tricks.sliding_window_view(x, (size, size), (0, 1))[::stride, ::stride]
    return windows


def _tensor(tensors: Mapping[str, Float32], name: str, ndim: int, where: str) -> Float32:
    if name not in tensors:
        raise DataError(f"{where}: holds no tensor '{name}'; give the AlexNet and the LPIPS file together")
    tensor = np.asarray(tensors[name], np.float32)
    if tensor.ndim != ndim or not np.isfinite(tensor).all():
        raise DataError(f"{where}: tensor '{name}' has shape {tensor.shape} or values that are not finite")
    return tensor
