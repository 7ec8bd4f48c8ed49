"""Target-Bench's published format: one folder per scenario, with a path, frames, words and metadata.

On disk: dataset/Benchmark/<s>/<s>_trajectory.csv and its siblings; <s> is <scene>_custom_segment_<start>_<end>
(specification: target, section 2). Paths are in the frame of the current pose, metres, +y ahead, +x to the right.

Example:
    for scenario in discover(root):
        scenario.fault or scenario.path_xy
"""

from worldgauge.suites.target.format.check import check
from worldgauge.suites.target.format.read import discover, labels_file, load, load_labels, scenarios_folder
from worldgauge.suites.target.format.scenario import (
    Compat,
    Scenario,
    fingerprint_of,
    match,
    model_videos,
    path_of_poses,
    truth_clip,
    video_frames_of,
    videos_folder,
)
from worldgauge.suites.target.format.write import scenario_name, write_labels, write_scenario

__all__ = [
    "Compat",
    "Scenario",
    "check",
    "discover",
    "fingerprint_of",
    "labels_file",
    "load",
    "load_labels",
    "match",
    "model_videos",
    "path_of_poses",
    "scenario_name",
    "scenarios_folder",
    "truth_clip",
    "video_frames_of",
    "videos_folder",
    "write_labels",
    "write_scenario",
]
