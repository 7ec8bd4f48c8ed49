"""LPIPS: how far two images are apart in the layers of a network that was trained to name what images show.

    open_network("lpips-alex").answer({"x": x, "y": y})["distances"]

`worldgauge.perception.loading.Lpips` is the AlexNet one without torch, and the check of this one.
Source: Zhang et al. 2018, equation 1, version 0.1 of the weights; MIND, frame-pair metrics; LoopNav, section 4.
ST-LPIPS is another measure with weights of its own: Ghildyal and Liu 2022. It blurs where it drops pixels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Image
from worldgauge.metrics._registry import metric
from worldgauge.perception.networks import Batches, ComputeDevice, inference, networks, open_network, torch_for
from worldgauge.weights import expect, read_tensors

_PIXELS_ON_GPU = 16 * 1280 * 720
"""Of one side of a batch."""


class _Layer(NamedTuple):
    """A convolution `features.NUMBER` with its ReLU. pooled: side of the max pooling before it, stride 2; 0: none.
    blurred: every second pixel of its output is taken, after a blur."""

    number: int
    kernel: int
    stride: int = 1
    padding: int = 1
    pooled: int = 0
    compared: bool = False
    blurred: bool = False


_ALEX = (
    _Layer(0, 11, stride=4, padding=2, compared=True),
    _Layer(3, 5, padding=2, pooled=3, compared=True),
    _Layer(6, 3, pooled=3, compared=True),
    _Layer(8, 3, compared=True),
    _Layer(10, 3, compared=True),
)
_VGG = (
    *(_Layer(0, 3), _Layer(2, 3, compared=True)),
    *(_Layer(5, 3, pooled=2), _Layer(7, 3, compared=True)),
    *(_Layer(10, 3, pooled=2), _Layer(12, 3), _Layer(14, 3, compared=True)),
    *(_Layer(17, 3, pooled=2), _Layer(19, 3), _Layer(21, 3, compared=True)),
    *(_Layer(24, 3, pooled=2), _Layer(26, 3), _Layer(28, 3, compared=True)),
)
_ST_ALEX = (
    _Layer(0, 11, padding=2, compared=True, blurred=True),
    _Layer(5, 5, padding=2, pooled=3, compared=True),
    _Layer(9, 3, pooled=3, compared=True),
    _Layer(11, 3, compared=True),
    _Layer(13, 3, compared=True),
)
_ST_VGG = (
    *(_Layer(0, 3), _Layer(2, 3, compared=True)),
    *(_Layer(6, 3, pooled=2), _Layer(8, 3, compared=True)),
    *(_Layer(12, 3, pooled=2), _Layer(14, 3), _Layer(16, 3, compared=True)),
    *(_Layer(20, 3, pooled=2), _Layer(22, 3), _Layer(24, 3, compared=True)),
    *(_Layer(28, 3, pooled=2), _Layer(30, 3), _Layer(32, 3, compared=True)),
)
_SHIFT, _SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)


class _Lpips:
    """Distances of pairs of images. Memory does not depend on their number.
    On CPUs one pair goes at a time. A GPU gets many, and the last digits of a row may depend on how many go with it.
    Only the trunk runs in half precision; its output is compared in float32."""

    name: str
    version = 1
    least: int  # pixels a side, for one value in the last layer
    layers: tuple[_Layer, ...]
    files: tuple[str, str]

    def __init__(self, folder: Path, device: ComputeDevice) -> None:
        torch = torch_for("LPIPS")
        self._device = device
        self._batches = Batches(device, "pair of frames")
        trunk, heads = (folder / name for name in self.files)  # or one file of both
        convolutions, widths = _trunk(trunk, self.layers)
        self._convolutions = [
            # Channels last is how images come, and a fifth faster on processors.
            (self._here(weight).contiguous(memory_format=torch.channels_last), self._here(bias))
            for weight, bias in convolutions
        ]
        shapes = {f"lin{i}.model.1.weight": (1, width, 1, 1) for i, width in enumerate(widths)}
        self._heads = [
            torch.from_numpy(np.ascontiguousarray(head)).to(device.name)
            for head in expect(read_tensors(heads), shapes, heads).values()
        ]
        self._shift, self._scale = (
            torch.tensor(each, device=device.name).reshape(1, 3, 1, 1) for each in (_SHIFT, _SCALE)
        )

    def answer(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """x, y: (n, H, W, 3) in [-1, 1], `least` pixels per side or more. Gives distances (n,) float64.
        Raises ShapeError if a distance is not finite: by the images, or out of the range of float16."""
        x, y = (self._checked(arrays, name) for name in ("x", "y"))
        if x.shape != y.shape:
            raise ShapeError(f"{self.name}: images differ in shape: {x.shape} and {y.shape}")
        with inference(self._device):
            most = max(1, _PIXELS_ON_GPU // (x[0].size // 3)) if self._device.is_cuda and len(x) else 1
            found = self._batches.run(lambda part: self._between(x[part], y[part]), len(x), most)
        distances = np.array(found, np.float64)
        if not np.isfinite(distances).all():
            row = int(np.argmin(np.isfinite(distances)))
            raise ShapeError(f"{self.name}: the distance of pair {row} is not finite; images must be, try float32")
        return {"distances": distances}

    def _between(self, x: NDArray[np.float32], y: NDArray[np.float32]) -> list[float]:
        torch = torch_for("LPIPS")
        total = torch.zeros(len(x), dtype=torch.float64, device=self._device.name)
        for one, other, head in zip(self._compared(x), self._compared(y), self._heads, strict=True):
            apart = _unit(one).sub_(_unit(other)).square_()
            total += torch.nn.functional.conv2d(apart, head).flatten(1).mean(1, dtype=torch.float64)
        values: list[float] = total.tolist()
        return values

    def _compared(self, images: NDArray[np.float32]) -> Iterator[Any]:
        """Activations (n, C, h, w) of the layers that are compared, each to be read before the next is asked for."""
        torch = torch_for("LPIPS")
        functional = torch.nn.functional
        shown = torch.from_numpy(np.array(images, order="C")).to(self._device.name).permute(0, 3, 1, 2)
        x = ((shown - self._shift) / self._scale).to(self._device.dtype)
        for layer, (weight, bias) in zip(self.layers, self._convolutions, strict=True):
            if layer.pooled:
                x = self._pooled(x, layer.pooled)
            x = functional.conv2d(x, weight, bias, layer.stride, layer.padding)
            x = (_halved(x) if layer.blurred else x).relu_()
            if layer.compared:
                yield x

    def _pooled(self, x: Any, side: int) -> Any:
        return torch_for("LPIPS").nn.functional.max_pool2d(x, side, 2)

    def _here(self, tensor: NDArray[np.float32]) -> Any:
        return torch_for("LPIPS").from_numpy(tensor).to(self._device.name, self._device.dtype)

    def _checked(self, arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.float32]:
        images = arrays.get(name, np.zeros(0))
        fits = images.ndim == 4 and images.shape[3] == 3 and min(images.shape[1:3]) >= self.least
        if not fits or images.dtype != np.float32:
            raise ShapeError(
                f"{self.name}: expected {name} (n, H, W, 3) float32 in [-1, 1], {self.least} pixels a side or more, "
                f"got {images.shape} {images.dtype}"
            )
        return images


@networks.register("lpips-alex", what="lpips")
class LpipsAlex(_Lpips):
    """LPIPS 0.1 with AlexNet's five layers: what the papers report."""

    name = "lpips-alex"
    least = 31
    layers = _ALEX
    files = ("alexnet-owt-7be5be79.pth", "alex.pth")


@networks.register("lpips-vgg", what="lpips")
class LpipsVgg(_Lpips):
    """LPIPS 0.1 with five of VGG16's thirteen layers: as a loss more than as a measure, and much slower."""

    name = "lpips-vgg"
    least = 16
    layers = _VGG
    files = ("vgg16-397923af.pth", "vgg.pth")


class _StLpips(_Lpips):
    """A maximum of every place, then a blur, then every second pixel: a shift by one pixel changes little."""

    def _pooled(self, x: Any, side: int) -> Any:
        return _halved(torch_for("ST-LPIPS").nn.functional.max_pool2d(x, side, 1))


@networks.register("stlpips-alex", what="stlpips")
class StLpipsAlex(_StLpips):
    """ST-LPIPS with AlexNet's five layers."""

    name = "stlpips-alex"
    least = 21
    layers = _ST_ALEX
    files = ("alex_shift_tolerant.pth",) * 2


@networks.register("stlpips-vgg", what="stlpips")
class StLpipsVgg(_StLpips):
    """ST-LPIPS with five of VGG16's thirteen layers, and much slower."""

    name = "stlpips-vgg"
    least = 18
    layers = _ST_VGG
    files = ("vgg_shift_tolerant.pth",) * 2


@metric("stlpips", unit="1", better="lower", bounds=(0.0, math.inf), source="Ghildyal, Liu 2022", compares="frames")
def stlpips(x: Image, y: Image) -> float:
    """A shift-tolerant learned distance (ST-LPIPS, AlexNet) of two frames.

    Args:
        x: (h, w, 3) uint8.
        y: The other frame, of the same shape.

    Returns:
        The distance, 0 for equal frames.

    Raises:
        MissingExtraError: torch is not installed.
        AbsentWeightsError: The weights are missing: worldgauge weights pull stlpips.

    Examples:
        >>> frame = np.zeros((36, 64, 3), np.uint8)
        >>> stlpips(frame, frame)  # doctest: +SKIP
        0.0
    """
    return _st_distance("stlpips-alex", x, y)


@metric("stlpips_vgg", unit="1", better="lower", bounds=(0.0, math.inf), source="Ghildyal, Liu 2022", compares="frames")
def stlpips_vgg(x: Image, y: Image) -> float:
    """A shift-tolerant learned distance (ST-LPIPS, VGG-16) of two frames.

    Args:
        x: (h, w, 3) uint8.
        y: The other frame, of the same shape.

    Returns:
        The distance, 0 for equal frames.

    Raises:
        MissingExtraError: torch is not installed.
        AbsentWeightsError: The weights are missing: worldgauge weights pull stlpips_vgg.

    Examples:
        >>> frame = np.zeros((36, 64, 3), np.uint8)
        >>> stlpips_vgg(frame, frame)  # doctest: +SKIP
        0.0
    """
    return _st_distance("stlpips-vgg", x, y)


def _st_distance(name: str, x: Image, y: Image) -> float:
    shown = {side: frame[None].astype(np.float32) / np.float32(127.5) - 1 for side, frame in (("x", x), ("y", y))}
    return float(_st_network(name).answer(shown)["distances"][0])


@lru_cache(maxsize=2)
def _st_network(name: str) -> _StLpips:
    network: _StLpips = open_network(name)
    return network


def _halved(x: Any) -> Any:
    """(n, C, h, w): every second pixel after a binomial blur of 3 pixels, with two reflected at each edge."""
    functional = torch_for("ST-LPIPS").nn.functional
    line = x.new_tensor([0.25, 0.5, 0.25])
    blur = (line[:, None] * line).expand(x.shape[1], 1, 3, 3)
    return functional.conv2d(functional.pad(x, (2, 2, 2, 2), "reflect"), blur, stride=2, groups=x.shape[1])


def _unit(activations: Any) -> Any:
    """(n, C, h, w) float32 of unit length over channels."""
    x = activations.float()
    return x / (torch_for("LPIPS").linalg.vector_norm(x, dim=1, keepdim=True) + 1e-10)


def _trunk(
    path: Path, layers: tuple[_Layer, ...]
) -> tuple[list[tuple[NDArray[np.float32], NDArray[np.float32]]], list[int]]:
    """Weight and bias of each convolution, and the number of channels of each layer that is compared."""
    tensors = {re.sub(r"^net\.slice\d\.", "features.", name): one for name, one in read_tensors(path).items()}
    convolutions, widths, channels = [], [], 3
    for layer in layers:
        name, kernel = f"features.{layer.number}", layer.kernel
        (weight,) = expect(tensors, {f"{name}.weight": (None, channels, kernel, kernel)}, path).values()
        channels = len(weight)
        (bias,) = expect(tensors, {f"{name}.bias": (channels,)}, path).values()
        convolutions.append((np.ascontiguousarray(weight), np.ascontiguousarray(bias)))
        widths += [channels] if layer.compared else []
    return convolutions, widths
