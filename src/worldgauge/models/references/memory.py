"""`memory`: a real geometric memory. It lifts what it saw into points and draws them from the new pose.

It invents nothing. Where it never saw anything, it shows the mean colour of what it saw at that elevation. With given
depth its errors are those of a point cloud. With depth that a network estimates ("memory?depth=depth-anything") it
needs only frames and poses and runs on any recording; the errors of the network, such as a wrong scale, then count as
errors of the model. `memory-plane` needs no network either. Its errors are those of a stated guess: flat ground at eye
height, and everything above the horizon on a wall at a fixed distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Context
from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, Panorama, invert
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models
from worldgauge.models.references.depth_source import DepthSource
from worldgauge.models.references.point_store import PointStore, splat
from worldgauge.worlds.voxel.eye import EYE_HEIGHT_M

WALL_M = 20.0
SKY_BANDS = 64


@models.register("memory")
class Memory:
    """Points lifted from the context with its depth, drawn again from the requested poses.

    Pixels whose depth is NaN, such as a figure in view that moves with the camera, are not remembered. With estimated
    depth such a figure is remembered where it stood.

    Args:
        stride: Every `stride`-th context frame is lifted.
        depth: "" for the true depth of the context; else what estimates it: a network by name ("depth-anything") or a
            server of kind "depth" ("cmd:...", "http://...").

    Raises:
        AbsentWeightsError: The weights of the network are missing.
        MissingExtraError: The network needs an extra that is not installed.
        UsageError: An argument is not allowed.
        SubjectError: The server does not start.
    """

    name = "memory"
    inputs = frozenset({"depth"})

    def __init__(self, stride: int = 4, depth: str = "") -> None:
        if stride < 1:
            raise UsageError(f"{self.name}: stride must be at least 1, got {stride}")
        self._stride = stride
        self._estimated = DepthSource(depth) if depth else None
        added_settings = {} if self._estimated is None else {"depth": self._estimated.settings}
        inputs = self.inputs if self._estimated is None else self.inputs - {"depth"}
        self.spec = ModelSpec(self.name, control="camera", inputs=inputs, settings={"stride": stride, **added_settings})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Draw the remembered points from `request.poses`.

        Args:
            request: The request; its context needs perspective frames with depth, unless depth is estimated.

        Yields:
            `horizon` frames, each (1, H, W, 3).

        Raises:
            NotApplicableError: The frames are panoramas, or the context has no depth.
        """
        context, camera = request.context, request.context.camera
        if isinstance(camera, Panorama):
            raise NotApplicableError(f"'{self.name}' remembers perspective views; panoramas: 'warp?view=panorama'")
        depth_of = self._depth_of(context)
        store, sky = PointStore(), _Backdrop(camera)
        for index in range(len(context) - 1, -1, -self._stride):
            image, depth, pose = context.clip[index], depth_of(index), context.poses[index]
            store.add(image, depth, camera, pose)
            sky.add(image, depth, pose)
        assert request.poses is not None
        for pose in request.poses:
            yield splat(store, camera, invert(pose), sky.image(pose))[None]

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The requested poses."""
        return request.poses

    def _depth_of(self, context: Context) -> Callable[[int], NDArray[np.float32]]:
        if self._estimated is not None:
            context = self._estimated.added(context)
        if context.depth is None:
            raise NotApplicableError(
                "'memory' needs the depth of its context, and this recording has none; "
                "'memory?depth=depth-anything' estimates it, 'memory-plane' does without"
            )
        return context.depth


@models.register("memory-plane")
class MemoryPlane(Memory):
    """The same memory with a stated guess in place of depth: flat ground and a far wall.

    Args:
        stride: Every `stride`-th context frame is lifted.
    """

    name = "memory-plane"
    inputs = frozenset()

    def __init__(self, stride: int = 4) -> None:
        super().__init__(stride)

    def _depth_of(self, context: Context) -> Callable[[int], NDArray[np.float32]]:
        camera = context.camera
        assert isinstance(camera, Camera), "rollout refuses panoramas"
        return lambda index: plane_depth(camera, context.poses[index])


def plane_depth(camera: Camera, pose: NDArray[np.float64]) -> NDArray[np.float32]:
    """Depth of the stated guess: ground EYE_HEIGHT_M below the eye, a wall at WALL_M above the horizon.

    No pixel is sky, so that roofs and trees are remembered too.

    Args:
        camera: The camera.
        pose: (4, 4) camera-to-world.

    Returns:
        (H, W) float32 metres along the axis.
    """
    down = camera.rays() @ pose[2, :3]
    with np.errstate(divide="ignore"):
        ground = np.where(down < 0, EYE_HEIGHT_M / -down, np.inf)
    return np.minimum(ground, WALL_M).astype(np.float32)


class _Backdrop:
    """Mean colour of what lies behind everything, by elevation: sky above the horizon, ground below it."""

    def __init__(self, camera: Camera) -> None:
        rays = camera.rays()
        self._rays = (rays / np.linalg.norm(rays, axis=-1, keepdims=True)).astype(np.float32)
        self._sum = np.zeros((SKY_BANDS, 3))
        self._count = np.zeros(SKY_BANDS)

    def add(self, image: Frames, depth: NDArray[np.float32], pose: NDArray[np.float64]) -> None:
        """Learn from one frame: above the horizon only from its sky, below it from everything of known depth."""
        band = self._bands(pose)
        seen = np.isinf(depth) | ((band < SKY_BANDS // 2) & ~np.isnan(depth))
        for channel in range(3):
            self._sum[:, channel] += np.bincount(band[seen], image[..., channel][seen], SKY_BANDS)
        self._count += np.bincount(band[seen], minlength=SKY_BANDS)

    def image(self, pose: NDArray[np.float64]) -> Frames:
        """(H, W, 3): every pixel in the mean colour of its elevation, or of the nearest one that was seen."""
        known = np.flatnonzero(self._count)
        if len(known) == 0:
            return np.full((*self._rays.shape[:2], 3), 128, np.uint8)
        nearest = known[np.abs(np.arange(SKY_BANDS)[:, None] - known).argmin(1)]
        colours = np.rint(self._sum[nearest] / self._count[nearest, None]).astype(np.uint8)
        return np.asarray(colours[self._bands(pose)], np.uint8)

    def _bands(self, pose: NDArray[np.float64]) -> NDArray[np.int64]:
        """Index of every pixel's elevation, equal steps of its sine: 0 straight down, SKY_BANDS - 1 straight up."""
        sine = self._rays @ pose[2, :3].astype(np.float32)
        return np.asarray(np.clip((sine + 1) * (SKY_BANDS / 2), 0, SKY_BANDS - 1), np.int64)
