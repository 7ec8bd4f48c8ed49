"""Where the robot has been and what it saw: the trail of a drive, from which the next question is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from worldgauge.core import polyline
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch, wrap_angle, yaw_pitch_from_pose
from worldgauge.core.image import Image
from worldgauge.core.video import Writer, resize
from worldgauge.suites.target.format.coordinates import path_of_poses
from worldgauge.suites.target.format.scenario import Scenario, open_video, video_frames_of
from worldgauge.suites.target.frames import current_frame
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.floor import FloorPlan

ANCHOR_M = 0.8
"""The frame that gives a decoder its scale is the last one at least this far away (the published history has 1.1 m)."""
LEAST_SPEED_M_S = 0.3
"""Of the robot, where the history has none to go by."""


class Trail:
    """Poses and frames of one drive, the recorded history first; grows as the robot drives.

    Rows come every `scenario.dt` seconds. The robot drives at the speed that the history has.
    """

    def __init__(self, scenario: Scenario, floor: FloorPlan) -> None:
        """Raises DataError where the scenario has no world, no poses or no video."""
        if scenario.world is None or scenario.poses is None or scenario.camera is None:
            raise DataError(f"{scenario.id}: nothing can be driven without a world")
        self._scenario = scenario
        self._floor = floor
        self._world = open_world(scenario.world)
        rows = scenario.history_rows + 1
        self._poses: list[FloatArray] = list(scenario.poses[:rows])
        video = open_video(scenario)
        before = video_frames_of(scenario, np.arange(rows - 1), len(video))
        current = current_frame(scenario)
        size = current.shape[1::-1]
        self._frames: list[Image] = [*(resize(frame, *size) for frame in video.take(before.tolist())), current]
        self.start = len(self._poses) - 1
        speed = scenario.anchor_distance_m / scenario.history_s if scenario.history_s > 0 else 0.0
        self._stride_m = max(speed, LEAST_SPEED_M_S) * scenario.dt

    @property
    def pose(self) -> FloatArray:
        """(4, 4) where the robot's camera is now."""
        return self._poses[-1]

    @property
    def driven_xy(self) -> FloatArray:
        """(n, 2) metres of the world's plane, from where the drive began to where the robot is."""
        xy: FloatArray = np.array(self._poses)[self.start :, :2, 3]
        return xy

    @property
    def seen(self) -> Sequence[Image]:
        """The frames of the drive, the current frame of the scenario first: one a row, not copied."""
        return self._frames[self.start :]

    @property
    def fps(self) -> float:
        """Frames a second of what is seen."""
        return 1 / self._scenario.dt

    def go(self, xy: FloatArray, heading: float) -> None:
        """Drive along (n, 2) metres of the world's plane, from where the robot is; it ends looking along `heading`."""
        length = float(polyline.along(xy)[-1])
        yaw, pitch = (float(angle) for angle in yaw_pitch_from_pose(self.pose))
        turn = float(wrap_angle(heading - yaw))
        rows = max(math.ceil(length / self._stride_m), math.ceil(abs(turn) / _MOST_TURN_RAD), 1)
        share = np.arange(1, rows + 1) / rows
        points = polyline.at(xy, share * length)
        rise = self._floor.height_at(points) - float(self._floor.height_at(self.pose[:2, 3]))
        height = self.pose[2, 3] + np.where(np.isfinite(rise), rise, 0.0)
        for pose in pose_from_yaw_pitch(np.column_stack([points, height]), yaw + share * turn, pitch):
            self._poses.append(pose)
            self._frames.append(self._view(pose))

    def question_from(self, folder: Path) -> Scenario:
        """The scenario as it stands now: the robot's place is the current frame, where it has been is the history.

        Its time is what the driven part leaves of it. Its pictures and its video are written to `folder`, anew each
        time.
        """
        scenario, here = self._scenario, len(self._poses) - 1
        spent_s = polyline.length(self.driven_xy) / self._stride_m * scenario.dt
        anchor = self._anchor()
        poses = np.array(self._poses[anchor:])
        folder.mkdir(exist_ok=True)
        current, first, video = folder / "current.png", folder / "first.png", folder / "seen.mp4"
        _write_png(current, self._frames[here])
        _write_png(first, self._frames[anchor])
        with Writer(video, fps=self.fps, kind="lossless") as out:
            for frame in self._frames[anchor:]:
                out.write(frame[None])
        return replace(
            scenario,
            current_frame=current,
            first_frame=first,
            video=video,
            first_video_frame=0,
            poses=poses,
            path_xy=path_of_poses(poses, here - anchor),
            horizon_s=max(0.0, scenario.horizon_s - spent_s),
            history_rows=here - anchor,
            history_s=(here - anchor) * scenario.dt,
            anchor_distance_m=float(np.hypot(*(poses[-1] - poses[0])[:2, 3])),
        )

    def _anchor(self) -> int:
        xy = np.array(self._poses)[:, :2, 3]
        apart = np.hypot(*(xy - xy[-1]).T)
        far = np.flatnonzero(apart >= ANCHOR_M)
        return int(far[-1]) if len(far) else int(np.argmax(apart))

    def _view(self, pose: FloatArray) -> Image:
        camera = self._scenario.camera
        assert isinstance(camera, Camera)
        return self._world.view(pose, camera).rgb


_MOST_TURN_RAD = 0.08
"""In one row: 115 degrees a second."""


def _write_png(path: Path, frame: Image) -> None:
    import cv2

    if not cv2.imwrite(str(path), frame[..., ::-1]):
        raise DataError(f"{path}: cannot be written")
