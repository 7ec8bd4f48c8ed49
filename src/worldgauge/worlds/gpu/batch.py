"""Many views of a world at once, drawn on a GPU by NVIDIA Warp (extra `gpu`); its kernels also run on a processor."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import MissingExtraError, ShapeError, UsageError
from worldgauge.core.geometry import Camera, Panorama

log = logging.getLogger(__name__)

Out = Literal["numpy", "torch"]
COPIED_AT_ONCE = 64
"""Views that are on the device at a time when they are copied back."""


@dataclass(frozen=True)
class Views:
    """What N cameras see: the arrays of `View`, stacked. Of numpy, or of torch on the device that drew them.

    Attributes:
        rgb: (N, H, W, 3) uint8.
        depth: (N, H, W) float32, metres.
        category: (N, H, W) uint16.
        instance: (N, H, W) uint16.
        position: (N, H, W, 3) float32, metres. None unless asked for.
    """

    rgb: Any
    depth: Any
    category: Any
    instance: Any
    position: Any = None


def open_device(name: str) -> Any:
    """The device of Warp with a name."""
    wp = warp_for("drawing views in batches")
    here = [str(one) for one in wp.get_devices()]
    wanted = "cuda:0" if name == "cuda" else name
    if wanted not in here:
        why = ""
        if wanted.startswith("cuda") and len(here) == 1:
            why = " (no NVIDIA GPU, or a driver that is too old)"
        raise UsageError(f"device '{name}' is not here{why}; Warp sees {', '.join(here)}")
    return wp.get_device(wanted)


def warp_for(what: str) -> Any:
    """Import Warp, and start it."""
    try:
        wp = importlib.import_module("warp")
    except ImportError:
        raise MissingExtraError(what, "gpu") from None
    wp.config.log_level = wp.LOG_ERROR  # no greeting, and a GPU that is missing is told where one is asked for
    try:
        wp.init()
    except OSError as error:
        raise _no_cache(wp, error) from error
    return wp


def launch(wp: Any, kernel: Any, dim: tuple[int, ...], inputs: list[Any], device: Any) -> None:
    """Run a kernel, which is compiled the first time."""
    try:
        wp.launch(kernel, dim=dim, inputs=inputs, device=device)
    except OSError as error:
        raise _no_cache(wp, error) from error


def as_poses(poses: ArrayLike) -> NDArray[np.float64]:
    """Camera-to-world poses as one array.

    Args:
        poses: (N, 4, 4), metres.

    Returns:
        The poses, C-contiguous float64.
    """
    found = np.ascontiguousarray(poses, np.float64)
    if found.ndim != 3 or found.shape[1:] != (4, 4) or not np.isfinite(found).all():
        raise ShapeError(f"a batch needs finite (N, 4, 4) camera-to-world poses, got shape {found.shape}")
    return found


class DeviceBatch:
    """A world on a device. Build it once, draw from it often.

    A kind of world says by which kernels it is drawn, one after another, and what they are given besides.

    Args:
        device: As `open_device` takes it.

    Attributes:
        scratch: Further arrays (N, H, W) that the kernels need for themselves, in order: their types.
    """

    scratch: tuple[type[np.generic], ...] = ()
    _kernels: tuple[Any, ...]

    def __init__(self, device: str) -> None:
        self._wp = warp_for("drawing views in batches")
        self._device = open_device(device)

    def views(
        self, poses: ArrayLike, camera: Camera | Panorama, *, position: bool = False, out: Out = "numpy"
    ) -> Views:
        """Draw what N cameras see.

        Args:
            poses: Camera-to-world poses, (N, 4, 4), metres.
        """
        from worldgauge.worlds.gpu.kernels_pictures import Pictures

        given = self._given(camera)

        def paint(some: NDArray[np.float64], arrays: dict[str, Any]) -> None:
            seen = Pictures()
            for name in ("rgb", "depth", "category", "instance", "position"):
                setattr(seen, name, arrays[name])
            more = [arrays[f"scratch {n}"] for n in range(len(self.scratch))]
            for kernel in self._kernels:
                dim = len(some), camera.height, camera.width
                launch(self._wp, kernel, dim, [*given, self._put(some), seen, *more], self._device)

        scratch = {f"scratch {n}": dtype for n, dtype in enumerate(self.scratch)}
        return draw(paint, as_poses(poses), camera, device=self._device, position=position, out=out, scratch=scratch)

    def _given(self, camera: Camera | Panorama) -> list[Any]:
        """What the kernels take before poses: the world and the camera."""
        raise NotImplementedError

    def _put(self, array: NDArray[Any]) -> Any:
        return self._wp.array(np.ascontiguousarray(array), device=self._device)


def draw(
    paint: Callable[[NDArray[np.float64], dict[str, Any]], None],
    poses: NDArray[np.float64],
    camera: Camera | Panorama,
    *,
    device: Any,
    position: bool,
    out: Out,
    scratch: Mapping[str, type[np.generic]] = MappingProxyType({}),
) -> Views:
    """Draw views, and hand them over as they lie on the device (torch) or copied back piece by piece (numpy).

    Where a piece is too much for the memory of the device, pieces are halved, and a warning says so.

    Args:
        poses: (N, 4, 4).
        scratch: Further arrays (N, H, W) that `paint` needs for itself, by name: their types.
    """
    if out not in get_args(Out):
        raise UsageError(f"out is '{out}'; one of {', '.join(get_args(Out))}")
    wp = warp_for("drawing views in batches")
    count = len(poses)
    frame = camera.height, camera.width
    wanted = _layout(frame, position) | {name: (frame, dtype) for name, dtype in scratch.items()}
    if out == "torch":
        torch = _torch()
        arrays = _arrays(wp, count, wanted, device)
        if arrays is None:
            raise UsageError(f"{count} views of {camera.width}x{camera.height} have no room on {device}; ask for fewer")
        paint(poses, arrays)
        found = {name: wp.to_torch(arrays[name], requires_grad=False) for name in _layout(frame, position)}
        for name in ("category", "instance"):
            found[name] = found[name].view(torch.uint16)
        return Views(**found)
    kept: dict[str, NDArray[Any]] = {
        name: np.empty((count, *shape), dtype) for name, (shape, dtype) in _layout(frame, position).items()
    }
    start, size = 0, min(count, COPIED_AT_ONCE)
    while start < count:
        size = min(size, count - start)
        arrays = _arrays(wp, size, wanted, device)
        if arrays is None:
            if size == 1:
                raise UsageError(f"not one view of {camera.width}x{camera.height} has room on {device}; draw on 'cpu'")
            log.warning("%d views at once have no room on %s; now %d", size, device, size // 2)
            size //= 2
            continue
        paint(poses[start : start + size], arrays)
        for name, array in kept.items():
            array[start : start + size] = arrays[name].numpy()
        start += size
    return Views(**kept)


_Layout = dict[str, tuple[tuple[int, ...], type[np.generic]]]


def _layout(frame: tuple[int, int], position: bool) -> _Layout:
    """Shape of one view (height, width, ...) and type of each array."""
    found: _Layout = {
        "rgb": ((*frame, 3), np.uint8),
        "depth": (frame, np.float32),
        "category": (frame, np.uint16),
        "instance": (frame, np.uint16),
    }
    return found | ({"position": ((*frame, 3), np.float32)} if position else {})


def _arrays(wp: Any, count: int, wanted: _Layout, device: Any) -> dict[str, Any] | None:
    """Arrays of `count` views on the device, position without views unless it is asked for; None without room."""
    try:
        found = {
            name: wp.empty((count, *shape), dtype=wp.dtype_from_numpy(dtype), device=device)
            for name, (shape, dtype) in wanted.items()
        }
        return {"position": wp.empty((0, 0, 0, 3), dtype=wp.float32, device=device), **found}
    except (RuntimeError, MemoryError):
        return None


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise MissingExtraError("views as tensors of torch", "torch") from None


def _no_cache(wp: Any, error: OSError) -> UsageError:
    folder = wp.config.kernel_cache_dir or error.filename or "its folder"
    return UsageError(
        f"{folder}: Warp cannot keep compiled kernels there ({error.strerror or error}); "
        "set WARP_CACHE_PATH to a folder that can be written"
    )


# `views`, which worlds with a kernel for a GPU have in common.


class Batched:
    """A world that draws many views in one call, on a GPU (extra `gpu`)."""

    def views(
        self,
        poses: ArrayLike,
        camera: Camera | Panorama,
        *,
        position: bool = False,
        out: Out = "numpy",
        device: str = "cuda",
    ) -> Views:
        """Render what N cameras see, on a GPU. The world stays on the device for the next call.

        Pixels are those of `view` but for rounding: a ray that meets an edge may take the other side.

        Args:
            poses: Camera-to-world poses, (N, 4, 4), metres.
            camera: Size and kind of the images.
            position: Whether hit points are computed as well.
            out: "numpy", copied back, or "torch", left on the device.
            device: "cuda", "cuda:1" or "cpu".

        Returns:
            The views.

        Raises:
            MissingExtraError: Warp, or torch where it is asked for, is not installed.
            ShapeError: The poses are not finite (N, 4, 4).
            UsageError: There is no such device, or no room on it.
        """
        if device not in self._batches:
            self._batches[device] = self._put_on(device)
        return self._batches[device].views(poses, camera, position=position, out=out)

    @cached_property
    def _batches(self) -> dict[str, DeviceBatch]:
        return {}

    def _put_on(self, device: str) -> DeviceBatch:
        raise NotImplementedError
