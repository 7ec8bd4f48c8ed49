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
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.episode import Context
from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, Panorama, invert
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models
from worldgauge.models.baselines.warp import DepthSource, depth_of_context
from worldgauge.worlds.voxel.world import EYE_HEIGHT_M

FINEST_M = 1 / 16
MAX_DEPTH_M = 96.0
MAX_SPLAT_PX = 64
_FIRST_CAPACITY = 1 << 18


class PointStore:
    """World-frame points with mean colours, one per cell; a cell grows with the pixel's distance. Its side is the
    smallest power-of-two multiple of FINEST_M that holds the pixel's footprint."""

    def __init__(self) -> None:
        self.count = 0
        self.positions = np.empty((_FIRST_CAPACITY // 2, 3), np.float32)
        self.colours = np.empty((_FIRST_CAPACITY // 2, 3), np.float32)
        self.sizes = np.empty(_FIRST_CAPACITY // 2, np.float32)
        self._hits = np.empty(_FIRST_CAPACITY // 2, np.int32)
        self._keys = np.full(_FIRST_CAPACITY, -1, np.int64)
        self._points = np.empty(_FIRST_CAPACITY, np.int32)

    def add(
        self, image: NDArray[np.uint8], depth: NDArray[np.float32], camera: Camera, pose: NDArray[np.float64]
    ) -> None:
        """Lift one frame into points; depth (H, W) is in metres along the axis."""
        self._reserve(image.shape[0] * image.shape[1])
        self.count = _insert(
            self._keys, self._points, self.positions, self.colours, self.sizes, self._hits, self.count,
            image, depth, pose, camera.fx, camera.fy, camera.cx, camera.cy,
        )  # fmt: skip

    def _reserve(self, more: int) -> None:
        """Room for `more` points with the table at most half full."""
        wanted = self.count + more
        if wanted > len(self.sizes):
            room = max(2 * len(self.sizes), 1 << int(wanted).bit_length())
            self.positions, self.colours, self.sizes, self._hits = (
                np.concatenate([a[: self.count], np.empty((room - self.count, *a.shape[1:]), a.dtype)])
                for a in (self.positions, self.colours, self.sizes, self._hits)
            )
        if 2 * wanted > len(self._keys):
            keys = np.full(1 << int(2 * wanted).bit_length(), -1, np.int64)
            points = np.empty(len(keys), np.int32)
            _rehash(self._keys, self._points, keys, points)
            self._keys, self._points = keys, points


def splat(
    store: PointStore, camera: Camera, world_to_camera: NDArray[np.float64], background: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Draw the points as squares of their size, nearest in front, over a background (H, W, 3) uint8."""
    image = background.copy()
    nearest = np.full(image.shape[:2], np.inf, np.float32)
    _draw(
        store.positions[: store.count], store.colours, store.sizes, world_to_camera,
        camera.fx, camera.fy, camera.cx, camera.cy, image, nearest,
    )  # fmt: skip
    return image


@njit(cache=True, nogil=True)
def _slot(keys: NDArray[np.int64], key: int) -> int:
    mask = len(keys) - 1
    # Fibonacci hashing: neighbouring cells spread over the table.
    at = ((key * 0x9E3779B97F4A7C1) >> 20) & mask
    while keys[at] != -1 and keys[at] != key:
        at = (at + 1) & mask
    return at


@njit(cache=True, nogil=True)
def _rehash(
    old: NDArray[np.int64], old_points: NDArray[np.int32], new: NDArray[np.int64], new_points: NDArray[np.int32]
) -> None:
    for i in range(len(old)):
        if old[i] != -1:
            at = _slot(new, old[i])
            new[at] = old[i]
            new_points[at] = old_points[i]


@njit(cache=True, nogil=True)
def _insert(keys, points, positions, colours, sizes, hits, count, image, depth, pose, fx, fy, cx, cy):  # type: ignore[no-untyped-def]
    height, width = depth.shape
    for v in range(height):
        for u in range(width):
            z = depth[v, u]
            if not z < MAX_DEPTH_M:
                continue
            level = 0
            size = FINEST_M
            while size < z / fx:
                size *= 2
                level += 1
            x = (u + 0.5 - cx) / fx * z
            y = (v + 0.5 - cy) / fy * z
            wx = pose[0, 0] * x + pose[0, 1] * y + pose[0, 2] * z + pose[0, 3]
            wy = pose[1, 0] * x + pose[1, 1] * y + pose[1, 2] * z + pose[1, 3]
            wz = pose[2, 0] * x + pose[2, 1] * y + pose[2, 2] * z + pose[2, 3]
            i = int(np.floor(wx / size)) + (1 << 18)
            j = int(np.floor(wy / size)) + (1 << 18)
            k = int(np.floor(wz / size)) + (1 << 18)
            key = (((level & 7) << 57) | (i << 38) | (j << 19) | k) & 0x7FFFFFFFFFFFFFFF
            at = _slot(keys, key)
            if keys[at] != key:
                keys[at] = key
                points[at] = count
                positions[count] = 0
                colours[count] = 0
                sizes[count] = size
                hits[count] = 0
                count += 1
            n = points[at]
            hits[n] += 1
            share = np.float32(1) / hits[n]
            positions[n, 0] += (wx - positions[n, 0]) * share
            positions[n, 1] += (wy - positions[n, 1]) * share
            positions[n, 2] += (wz - positions[n, 2]) * share
            colours[n, 0] += (image[v, u, 0] - colours[n, 0]) * share
            colours[n, 1] += (image[v, u, 1] - colours[n, 1]) * share
            colours[n, 2] += (image[v, u, 2] - colours[n, 2]) * share
    return count


@njit(cache=True, nogil=True)
def _draw(positions, colours, sizes, to_camera, fx, fy, cx, cy, image, nearest):  # type: ignore[no-untyped-def]
    height, width = nearest.shape
    for n in range(len(positions)):
        px, py, pz = positions[n, 0], positions[n, 1], positions[n, 2]
        z = to_camera[2, 0] * px + to_camera[2, 1] * py + to_camera[2, 2] * pz + to_camera[2, 3]
        if z < 0.1:
            continue
        x = to_camera[0, 0] * px + to_camera[0, 1] * py + to_camera[0, 2] * pz + to_camera[0, 3]
        y = to_camera[1, 0] * px + to_camera[1, 1] * py + to_camera[1, 2] * pz + to_camera[1, 3]
        u = fx * x / z + cx
        v = fy * y / z + cy
        # A little more than the cell's half width, so that neighbouring cells leave no crack.
        half = min(0.55 * sizes[n] * fx / z + 0.3, MAX_SPLAT_PX)
        u0, u1 = max(0, int(np.ceil(u - half - 0.5))), min(width - 1, int(np.floor(u + half - 0.5)))
        v0, v1 = max(0, int(np.ceil(v - half - 0.5))), min(height - 1, int(np.floor(v + half - 0.5)))
        for row in range(v0, v1 + 1):
            for column in range(u0, u1 + 1):
                if z < nearest[row, column]:
                    nearest[row, column] = z
                    image[row, column, 0] = np.uint8(colours[n, 0] + 0.5)
                    image[row, column, 1] = np.uint8(colours[n, 1] + 0.5)
                    image[row, column, 2] = np.uint8(colours[n, 2] + 0.5)


WALL_M = 20.0
SKY_BANDS = 64


@models.register("memory")
class MemoryModel:
    """Points lifted from the context with its depth, drawn again from the requested poses.

    Args:
        stride: Every `stride`-th context frame is lifted. Pixels whose depth is NaN are not remembered.
        depth: "" for the true depth, else what estimates it: "depth-anything", or a server of kind "depth".
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
        """Draw the remembered points from `request.poses`."""
        context, camera = request.context, request.context.camera
        if isinstance(camera, Panorama):
            raise NotApplicableError(f"'{self.name}' remembers perspective views; panoramas: 'warp?view=panorama'")
        depth_of = self._depth_of(context)
        store, sky = PointStore(), _Backdrop(camera)
        for index in range(len(context) - 1, -1, -self._stride):
            image, depth, pose = context.clip[index], depth_of(index), context.path[index]
            store.add(image, depth, camera, pose)
            sky.add(image, depth, pose)
        assert request.poses is not None
        for pose in request.poses:
            yield splat(store, camera, invert(pose), sky.image(pose))[None]

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The requested poses; None with estimated depth, in whose unit the camera moves."""
        return request.poses if self._estimated is None else None

    def _depth_of(self, context: Context) -> Callable[[int], NDArray[np.float32]]:
        return depth_of_context("memory", context, self._estimated, ", 'memory-plane' does without")


@models.register("memory-plane")
class MemoryPlane(MemoryModel):
    """The same memory with a stated guess in place of depth: flat ground and a far wall."""

    name = "memory-plane"
    inputs = frozenset()

    def __init__(self, stride: int = 4) -> None:
        super().__init__(stride)

    def _depth_of(self, context: Context) -> Callable[[int], NDArray[np.float32]]:
        camera = context.camera
        assert isinstance(camera, Camera), "rollout refuses panoramas"
        return lambda index: plane_depth(camera, context.path[index])


def plane_depth(camera: Camera, pose: NDArray[np.float64]) -> NDArray[np.float32]:
    """Guessed depth (H, W), metres: ground EYE_HEIGHT_M below the eye, and a wall at WALL_M instead of sky."""
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
