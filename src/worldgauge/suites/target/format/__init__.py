"""Target-Bench's published format: one folder per scenario, with a path, frames, words and metadata.

On disk: dataset/Benchmark/<s>/<s>_trajectory.csv and its siblings; <s> is <scene>_custom_segment_<start>_<end>
(specification: target, section 2). Paths are in the frame of the current pose, metres, +y ahead, +x to the right.

Example:
    for scenario in discover(root):
        scenario.fault or scenario.path_xy
"""

from worldgauge.suites.target.format.check import ScenarioStatistics, check
from worldgauge.suites.target.format.read import (
    discover,
    labels_file,
    load,
    load_labels,
    scenarios_folder,
)
from worldgauge.suites.target.format.scenario import (
    DT_S,
    HORIZONS_S,
    Compat,
    Label,
    Matched,
    Scenario,
    cut_history,
    cut_released,
    fingerprint_of,
    heading_at,
    match,
    model_videos,
    open_video,
    path_of_poses,
    rebase,
    truth_clip,
    video_frames_of,
    videos_folder,
    world_of_path,
)
from worldgauge.suites.target.format.write import Segment, scenario_name, write_labels, write_scenario, write_segment

__all__ = [
    "DT_S",
    "HORIZONS_S",
    "Compat",
    "Label",
    "Matched",
    "Scenario",
    "ScenarioStatistics",
    "Segment",
    "check",
    "cut_history",
    "cut_released",
    "discover",
    "fingerprint_of",
    "heading_at",
    "labels_file",
    "load",
    "load_labels",
    "match",
    "model_videos",
    "open_video",
    "path_of_poses",
    "rebase",
    "scenario_name",
    "scenarios_folder",
    "truth_clip",
    "video_frames_of",
    "videos_folder",
    "world_of_path",
    "write_labels",
    "write_scenario",
    "write_segment",
]
