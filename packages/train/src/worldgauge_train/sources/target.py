"""Target-Bench's training clips: walks to a target as camera paths, with the sentence that names it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from worldgauge.core.actions import path_moves
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera
from worldgauge.suites.target.collection import HORIZONTAL_FOV_DEG
from worldgauge.suites.target.format.read import discover
from worldgauge.suites.target.format.scenario import Scenario, fingerprint_of, open_video, video_frames_of
from worldgauge.suites.target.planners import path_poses
from worldgauge_train.training.clip import DamagedClip, Split, TrainingClip, clip_or_damage, training_sources


@training_sources.register("target")
def target_clips(folder: Path, split: Split) -> Iterator[TrainingClip | DamagedClip]:
    """Whole walks, a frame a row of their path. Scenarios of the benchmark are of the split "test".

    Where the field of view is not stored, it is taken to be that of our own scenarios.

    Args:
        folder: A folder of scenarios.
        split: Split of the scenarios.

    Raises:
        DataError: The folder cannot be read.
    """
    for scenario in discover(folder):
        if split == (scenario.split if scenario.split in ("train", "val") else "test"):
            yield clip_or_damage(f"target/{scenario.id}", partial(_clip, scenario, split))


def _clip(scenario: Scenario, split: Split) -> TrainingClip:
    if scenario.fault is not None:
        raise DataError(scenario.fault)
    video, poses = open_video(scenario), path_poses(scenario)
    rows = video_frames_of(scenario, np.arange(len(poses)), len(video))
    return TrainingClip(
        scenario.id,
        "target",
        split,
        fingerprint_of(scenario),
        video.picked(rows.tolist(), 1 / scenario.dt),
        path_moves(poses),
        poses,
        scenario.camera or Camera.from_horizontal_fov(video.width, video.height, HORIZONTAL_FOV_DEG),
        scenario.target_text or None,
        scenario.world,
    )
