"""Places that a camera can see and a walker can walk in.

from worldgauge.world import Camera, open_world, pose_from_yaw_pitch, worlds
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldgauge.core.lazy import lazy

if TYPE_CHECKING:
    from worldgauge.core.geometry import (
        Camera,
        Panorama,
        camera_pose,
        invert,
        pose_from_yaw_pitch,
        quaternion_of_pose,
        relative,
        rotation_angle,
        wrap_angle,
        yaw_pitch_from_pose,
    )
    from worldgauge.core.umeyama import umeyama
    from worldgauge.engine.collect import render
    from worldgauge.worlds import View, World, caption_of, open_world, worlds
    from worldgauge.worlds.scan import Scan
    from worldgauge.worlds.voxel import Voxel
    from worldgauge.worlds.walking.floor import FloorPlan, Landmark, Walkable

__all__ = [
    "Camera",
    "FloorPlan",
    "Landmark",
    "Panorama",
    "Scan",
    "View",
    "Voxel",
    "Walkable",
    "World",
    "camera_pose",
    "caption_of",
    "invert",
    "open_world",
    "pose_from_yaw_pitch",
    "quaternion_of_pose",
    "relative",
    "render",
    "rotation_angle",
    "umeyama",
    "worlds",
    "wrap_angle",
    "yaw_pitch_from_pose",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "core.geometry": (
            "Camera Panorama camera_pose invert pose_from_yaw_pitch quaternion_of_pose relative rotation_angle "
            "wrap_angle yaw_pitch_from_pose"
        ),
        "core.umeyama": "umeyama",
        "engine.collect": "render",
        "worlds": "View World caption_of open_world worlds",
        "worlds.scan": "Scan",
        "worlds.voxel": "Voxel",
        "worlds.walking.floor": "FloorPlan Landmark Walkable",
    },
)
