"""Visibility of an object from a stance: occlusion, image border, angle, distance."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.camera import BoxScene, render
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.walking.stance import EYE_HEIGHT_M, Stance

VIEW = Camera.from_horizontal_fov(128, 128, 90.0)
"""Camera for judging starts: the field of view of the task, on a small grid."""
LARGE = 0.01
"""Share of the view at which an object is large enough to be recognised: a cushion at two metres."""
FRONTAL = 0.6
"""Share of the largest silhouette below which an angle is extreme: a picture at 53 degrees."""

ROUGH = VIEW.resized(48, 48)
"""For a first look at many stances."""
_ALONE_SHARE = 0.75
"""Pixels across a camera that is aimed at the object alone, of those of the view."""
_AROUND_M = 2.5
_HALF_ANGLES_DEG = (8.0, 16.0, 30.0, 50.0, 75.0)


class TargetVisibility(NamedTuple):
    """Visibility of an object. All are shares in [0, 1].

    Attributes:
        visible: Of the object's silhouette, in solid angle: what lies in the image and is not occluded.
        frontal: Of its largest silhouette from anywhere around it: the one at this angle.
        size: Of the pixels of the image: its largest 8-connected piece.
        near: Of the pixels: those closer than 35 cm, where the lens is covered.
    """

    visible: float
    frontal: float
    size: float
    near: float

    @property
    def clarity(self) -> float:
        """All three in one number: 1 if the whole object is seen well, 0 if nothing is."""
        return self.visible * min(1.0, self.frontal / FRONTAL) * min(1.0, self.size / LARGE)


class VisibilityMeter:
    """Measures the visibility of one object of a home or a scan.

    Args:
        world: The home, or the scan.
        instance: The object's number in `View.instance`.
        floor_m: Height of the floor around it.
    """

    def __init__(self, world: Home | Scan, instance: int, floor_m: float = 0.0) -> None:
        thing = next(one for one in world.landmarks if one.instance == instance)
        low, high = np.array(thing.low), np.array(thing.high)
        self._world, self._instance = world, instance
        self.centre: FloatArray = (low + high) / 2
        self._reach_m = float(np.linalg.norm(high - low)) / 2
        self._alone = _alone(world, instance)
        # Not the area of its box: an exercise bike fills a third of that.
        around = self._around().tolist()
        self._largest_m2 = max(self._silhouette_m2(Stance(x, y, 0.0, floor_m)) for x, y in around)

    def see(self, stance: Stance, grid: Camera = VIEW) -> TargetVisibility:
        """Measure from the eye at `stance`, level, with a field of view of 90 degrees.

        Args:
            stance: Where to look from.
            grid: `VIEW`, or `ROUGH`: four times faster, and within 0.1 of the clarity for most.
        """
        view = self._world.view(stance.eye(), grid)
        mask = view.instance == self._instance
        near = float((view.depth < 0.35).mean())
        if not mask.any():
            return TargetVisibility(0.0, 0.0, 0.0, near)
        whole, distance_m = self._whole(stance, round(_ALONE_SHARE * grid.width))
        seen = float(_solid_angles(grid)[mask].sum())
        return TargetVisibility(
            visible=min(1.0, seen / whole) if whole > 0 else 0.0,
            frontal=min(1.0, whole * distance_m**2 / self._largest_m2) if self._largest_m2 > 0 else 0.0,
            size=_largest_piece(mask) / mask.size,
            near=near,
        )

    def bearing(self, xy: FloatArray) -> float:
        """Return the yaw in radians that faces the object's centre from (2,) metres."""
        return math.atan2(self.centre[1] - xy[1], self.centre[0] - xy[0])

    def _around(self) -> FloatArray:
        """Return eight places (8, 2) around it, some metres off."""
        angles = np.arange(8) * np.pi / 4
        return self.centre[:2] + (self._reach_m + _AROUND_M) * np.stack([np.cos(angles), np.sin(angles)], -1)

    def _silhouette_m2(self, stance: Stance) -> float:
        whole, distance_m = self._whole(stance, round(_ALONE_SHARE * VIEW.width))
        return whole * distance_m**2

    def _whole(self, stance: Stance, px: int) -> tuple[float, float]:
        """Return the solid angle of the whole object without occlusion or border, and metres to its centre."""
        eye = np.array([stance.x, stance.y, EYE_HEIGHT_M + stance.z])
        way = self.centre - eye
        distance_m = float(np.linalg.norm(way))
        half = math.degrees(math.asin(min(1.0, self._reach_m / max(distance_m, 1e-6))))
        camera = _aimed(next((angle for angle in _HALF_ANGLES_DEG if angle >= half), _HALF_ANGLES_DEG[-1]), px)
        pose = pose_from_yaw_pitch(eye, math.atan2(way[1], way[0]), math.asin(way[2] / max(distance_m, 1e-6)))
        mask = self._alone(pose, camera)
        return float(_solid_angles(camera)[mask].sum()), distance_m


def _alone(world: Home | Scan, instance: int) -> Callable[[FloatArray, Camera], NDArray[np.bool_]]:
    """What tells the pixels that meet an object, were nothing else there."""
    if isinstance(world, Home):
        boxes = BoxScene.of(world.plan.boxes.kept(world.plan.boxes.instance == instance))
        return lambda pose, camera: render(boxes, pose, camera).instance == instance
    from worldgauge.worlds.scan.rendering.camera import meets

    return partial(meets, world.part(instance))


def _largest_piece(mask: NDArray[np.bool_]) -> int:
    """Count the pixels of the largest 8-connected piece of a mask (H, W) that is not empty."""
    import cv2

    _, _, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    return int(stats[1:, cv2.CC_STAT_AREA].max())


@lru_cache(maxsize=2 * len(_HALF_ANGLES_DEG))
def _aimed(half_deg: float, px: int) -> Camera:
    """Return one of few cameras, as the ray caster caches their rays."""
    return Camera.from_horizontal_fov(px, px, 2 * half_deg)


@lru_cache(maxsize=2 * len(_HALF_ANGLES_DEG) + 2)
def _solid_angles(camera: Camera) -> FloatArray:
    """Return steradians (H, W) of every pixel."""
    rays = camera.rays()
    angles: FloatArray = (rays[..., 2] / np.linalg.norm(rays, axis=-1)) ** 3 / (camera.fx * camera.fy)
    return angles
