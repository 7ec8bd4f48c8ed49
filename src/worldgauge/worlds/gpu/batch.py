"""Many views of a world at once, drawn on a GPU by NVIDIA Warp (extra `gpu`); its kernels also run on a processor."""

from __future__ import annotations

import importlib
import logging
from dataclasses import dataclass
from functools import cached_property
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
    """What N cameras see: the arrays of `View`, stacked, in numpy or in torch on the device."""

    rgb: Any  # (N, H, W, 3) uint8
    depth: Any  # (N, H, W) float32, metres
    category: Any  # (N, H, W) uint16
    instance: Any  # (N, H, W) uint16
    position: Any = None  # (N, H, W, 3) float32, metres; None unless it was requested


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


class DeviceBatch:
    """A world on a device. Build it once, render from it often. A kind of world sets the kernels, run in order."""

    scratch: tuple[type[np.generic], ...] = ()  # types of arrays (N, H, W) for the kernels' own use, in order
    _kernels: tuple[Any, ...]

    def __init__(self, device: str) -> None:
        self._wp = warp_for("drawing views in batches")
        self._device = open_device(device)

    def views(
        self, poses: ArrayLike, camera: Camera | Panorama, *, position: bool = False, out: Out = "numpy"
    ) -> Views:
        """Render what N cameras see, left on the device (torch) or copied back in pieces (numpy).
        If a piece is too large for the device's memory, pieces are halved, and a warning says so."""
        poses = np.ascontiguousarray(poses, np.float64)
        if poses.ndim != 3 or poses.shape[1:] != (4, 4) or not np.isfinite(poses).all():
            raise ShapeError(f"a batch needs finite (N, 4, 4) camera-to-world poses, got shape {poses.shape}")
        if out not in get_args(Out):
            raise UsageError(f"out is '{out}'; one of {', '.join(get_args(Out))}")
        frame, device = (camera.height, camera.width), self._device
        layout: _Layout = {"rgb": ((*frame, 3), np.uint8), "depth": (frame, np.float32)}
        layout |= {"category": (frame, np.uint16), "instance": (frame, np.uint16)}
        layout |= {"position": ((*frame, 3), np.float32)} if position else {}
        given, count = self._given(camera), len(poses)
        if out == "torch":
            torch = _torch()
            arrays = self._arrays(count, frame, layout)
            if arrays is None:
                raise UsageError(
                    f"{count} views of {camera.width}x{camera.height} have no room on {device}; ask for fewer"
                )
            self._paint(given, poses, arrays, frame)
            found = {name: self._wp.to_torch(arrays[name], requires_grad=False) for name in layout}
            for name in ("category", "instance"):
                found[name] = found[name].view(torch.uint16)
            return Views(**found)
        copied = {name: np.empty((count, *shape), dtype) for name, (shape, dtype) in layout.items()}
        start, size = 0, min(count, COPIED_AT_ONCE)
        while start < count:
            size = min(size, count - start)
            arrays = self._arrays(size, frame, layout)
            if arrays is None:
                if size == 1:
                    raise UsageError(
                        f"not one view of {camera.width}x{camera.height} has room on {device}; draw on 'cpu'"
                    )
                log.warning("%d views at once have no room on %s; now %d", size, device, size // 2)
                size //= 2
                continue
            self._paint(given, poses[start : start + size], arrays, frame)
            for name, array in copied.items():
                array[start : start + size] = arrays[name].numpy()
            start += size
        return Views(**copied)

    def _arrays(self, count: int, frame: tuple[int, int], layout: _Layout) -> dict[str, Any] | None:
        """Arrays of `count` views on the device, position without views unless it is wanted; None without room."""
        wp, device = self._wp, self._device
        scratch = {f"scratch {n}": (frame, dtype) for n, dtype in enumerate(self.scratch)}
        try:
            found = {
                name: wp.empty((count, *shape), dtype=wp.dtype_from_numpy(dtype), device=device)
                for name, (shape, dtype) in (layout | scratch).items()
            }
            return {"position": wp.empty((0, 0, 0, 3), dtype=wp.float32, device=device), **found}
        except (RuntimeError, MemoryError):
            return None

    def _paint(
        self, given: list[Any], poses: NDArray[np.float64], arrays: dict[str, Any], frame: tuple[int, int]
    ) -> None:
        """Run the kernels, which are compiled the first time."""
        from worldgauge.worlds.gpu.kernels_pictures import Pictures

        seen = Pictures()
        for name in ("rgb", "depth", "category", "instance", "position"):
            setattr(seen, name, arrays[name])
        inputs = [*given, self._put(poses), seen, *(arrays[f"scratch {n}"] for n in range(len(self.scratch)))]
        for kernel in self._kernels:
            try:
                self._wp.launch(kernel, dim=(len(poses), *frame), inputs=inputs, device=self._device)
            except OSError as error:
                raise _no_cache(self._wp, error) from error

    def _given(self, camera: Camera | Panorama) -> list[Any]:
        """What the kernels take before poses: the world and the camera."""
        raise NotImplementedError

    def _put(self, array: NDArray[Any]) -> Any:
        return self._wp.array(np.ascontiguousarray(array), device=self._device)


_Layout = dict[str, tuple[tuple[int, ...], type[np.generic]]]
"""Shape of one view (height, width, ...) and type of each array."""


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
        """Render what N cameras (N, 4, 4) see, on a GPU. The world stays on the device for the next call.
        Pixels are those of `view` except for rounding: a ray that meets an edge may take the other side."""
        if device not in self._batches:
            self._batches[device] = self._put_on(device)
        return self._batches[device].views(poses, camera, position=position, out=out)

    @cached_property
    def _batches(self) -> dict[str, DeviceBatch]:
        return {}

    def _put_on(self, device: str) -> DeviceBatch:
        raise NotImplementedError
