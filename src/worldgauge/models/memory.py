"""`memory`: a real geometric memory. It lifts what it saw into points and looks at them from the new pose.

It invents nothing: what was never seen is filled with the mean colour of what was seen below the
horizon. With the given depth its errors are those of a point cloud; with `depth="plane"`, which
needs nothing but the pictures and poses, those of a stated guess: flat ground at eye height, and
everything above the horizon on a wall at a fixed distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from worldgauge.episode import Context
from worldgauge.errors import NotApplicableError, UsageError
from worldgauge.geometry import Camera, invert
from worldgauge.models import models
from worldgauge.models._points import PointStore, splat
from worldgauge.subject import Frames, ModelSpec, RolloutRequest

EYE_M = 1.6
WALL_M = 20.0
SKY_BANDS = 64


@models.register("memory")
class Memory:
    """Points lifted from the context, drawn again from the poses asked for.

    depth: "given" (asks for the context's depth) or "plane" (the stated guess).
    stride: every how many context frames one is lifted.
    """

    def __init__(self, depth: str = "given", stride: int = 4) -> None:
        if depth not in ("given", "plane") or stride < 1:
            raise UsageError(f"memory: depth is 'given' or 'plane' and stride at least 1, got '{depth}', {stride}")
        self._depth = depth
        self._stride = stride
        self.spec = ModelSpec(
            "memory" if depth == "given" else "memory-plane",
            control="camera",
            inputs=frozenset({"depth"}) if depth == "given" else frozenset(),
            settings={"depth": depth, "stride": stride},
        )

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, each the remembered points seen from `request.poses`."""
        context, camera = request.context, request.context.camera
        depth_of = self._depth_source(context, camera)
        store, sky = PointStore(), _Backdrop()
        for index in range(len(context) - 1, -1, -self._stride):
            image, depth, pose = context.clip[index], depth_of(index), context.poses[index]
            store.add(image, depth, camera, pose)
            sky.add(image, depth, camera, pose)
        assert request.poses is not None
        for pose in request.poses:
            yield splat(store, camera, invert(pose), sky.image(camera, pose))[None]

    def _depth_source(self, context: Context, camera: Camera) -> Callable[[int], NDArray[np.float32]]:
        if self._depth == "plane":
            return lambda index: plane_depth(camera, context.poses[index])
        if context.depth is None:
            raise NotApplicableError(
                "'memory' needs the depth of its context, and this recording has none; use 'memory?depth=plane'"
            )
        return context.depth


def plane_depth(camera: Camera, pose: NDArray[np.float64]) -> NDArray[np.float32]:
    """The stated guess (H, W) in metres along the axis: ground EYE_M below the eye, a wall at WALL_M above it.

    No pixel is sky, so that roofs and trees are remembered too.
    """
    down = camera.rays() @ pose[2, :3]
    with np.errstate(divide="ignore"):
        ground = np.where(down < 0, EYE_M / -down, np.inf)
    return np.minimum(ground, WALL_M).astype(np.float32)


class _Backdrop:
    """Mean colour of the sky by elevation, and of the ground: what is drawn where nothing is remembered."""

    def __init__(self) -> None:
        self._sum = np.zeros((SKY_BANDS, 3))
        self._count = np.zeros(SKY_BANDS)

    def add(self, image: Frames, depth: NDArray[np.float32], camera: Camera, pose: NDArray[np.float64]) -> None:
        band = _elevation_band(camera, pose)
        # Above the horizon only sky counts; below it everything does.
        seen = np.isinf(depth) | (band < SKY_BANDS // 2)
        for channel in range(3):
            self._sum[:, channel] += np.bincount(band[seen], image[..., channel][seen], SKY_BANDS)
        self._count += np.bincount(band[seen], minlength=SKY_BANDS)

    def image(self, camera: Camera, pose: NDArray[np.float64]) -> Frames:
        known = np.flatnonzero(self._count)
        if len(known) == 0:
            return np.full((camera.height, camera.width, 3), 128, np.uint8)
        nearest = known[np.abs(np.arange(SKY_BANDS)[:, None] - known).argmin(1)]
        # A sky that was never seen must not borrow the colour of the ground, nor the other way round.
        colours = np.rint(self._sum[nearest] / self._count[nearest, None]).astype(np.uint8)
        return np.asarray(colours[_elevation_band(camera, pose)], np.uint8)


def _elevation_band(camera: Camera, pose: NDArray[np.float64]) -> NDArray[np.int64]:
    """Index of the elevation of every pixel's ray, 0 straight down to SKY_BANDS - 1 straight up, (H, W)."""
    rays = camera.rays()
    sine = (rays @ pose[2, :3]) / np.linalg.norm(rays, axis=-1)
    share = np.arcsin(np.clip(sine, -1, 1)) / np.pi + 0.5
    return np.asarray(np.minimum(share * SKY_BANDS, SKY_BANDS - 1), np.int64)
