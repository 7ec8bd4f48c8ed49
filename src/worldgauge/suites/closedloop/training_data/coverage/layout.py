"""Post-training data of coverage walks: panoramas with depth, poses and actions, in our layout and in the release's.

On disk: <scene>/<number>/ with frames.mp4 (lossless) or frames/*.png, depth.npz (whole millimetres a frame, 0 for
none), steps.jsonl and manifest.json; index.json tells the scenes by hash, so that anyone can see that none is tested on
(specification: world_in_world, 10.4).

write_trajectory(root, scene, 0, views, steps, facts);  index = write_index(root, "train");  overlap(index, scenes)
entry, start = index.draw(14, rng);  read_trajectory(folder).part(start, 14)
"""

from worldgauge.suites.closedloop.training_data.coverage.check import TrajectoryStatistics, check
from worldgauge.suites.closedloop.training_data.coverage.read import (
    Entry,
    Index,
    folders,
    overlap,
    read_index,
    read_trajectory,
    scene_hash,
    split_hash,
    write_index,
)
from worldgauge.suites.closedloop.training_data.coverage.record import Facts, Part, Step, Trajectory
from worldgauge.suites.closedloop.training_data.coverage.released import read_released, write_released
from worldgauge.suites.closedloop.training_data.coverage.write import trajectory_name, write_trajectory

__all__ = [
    "Entry",
    "Facts",
    "Index",
    "Part",
    "Step",
    "Trajectory",
    "TrajectoryStatistics",
    "check",
    "folders",
    "overlap",
    "read_index",
    "read_released",
    "read_trajectory",
    "scene_hash",
    "split_hash",
    "trajectory_name",
    "write_index",
    "write_released",
    "write_trajectory",
]
