"""`views`, which worlds with a kernel for a GPU have in common."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from worldgauge.core.geometry import Camera, Panorama
    from worldgauge.worlds.gpu.batch import DeviceBatch, Out, Views


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
