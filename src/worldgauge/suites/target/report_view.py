"""What a report shows of a scenario next to its videos: every path on the map, the corridor, how paths were found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.engine.suite.contract import Score, Task, TaskDetails
from worldgauge.suites.target.format.coordinates import world_of_path
from worldgauge.suites.target.metrics.profiles import PROFILES
from worldgauge.suites.target.metrics.waypoints import corridor
from worldgauge.suites.target.planners import current_pose, path_poses
from worldgauge.suites.target.scoring import HEADLINE, baselines
from worldgauge.suites.target.settings import Settings
from worldgauge.suites.target.tasks import scenario_of

SHOWN_DIAGNOSTICS = ("reprojection_px", "points_per_frame", "disagreement", "cross_check", "decoder_used")


def task_details(task: Task, scores: Mapping[str, Sequence[Score]], settings: Settings) -> TaskDetails:
    """Return paths of all subjects and references in the plane of `TaskView.poses`.

    Args:
        task: The scenario's task.
        scores: Scores by subject.
        settings: Settings of the suite.

    Raises:
        DataError: Data are gone.
    """
    scenario = scenario_of(task, settings, parity=settings.parity)
    pose = current_pose(scenario)
    heads = {label: score for label, own in scores.items() for score in own if score.metric == HEADLINE}
    paths: dict[str, FloatArray] = {"truth path": path_poses(scenario)[scenario.history_rows :, :2, 3]}
    lines = baselines(scenario)
    paths |= {name: world_of_path(line, pose) for name, line in lines.items() if name not in paths}
    stills, diagnostics = {}, {}
    for label, score in heads.items():
        facts = score.facts
        if facts["xy"]:
            paths[label] = world_of_path(np.array(facts["xy"]), pose)
        if facts["frame_indices"]:
            stills[label] = facts["frames_shown"]
        found, total = facts["registered"]
        diagnostics[label] = {
            "status": facts["status"].replace("_", " "),
            "why": facts["reason"],
            "overall": score.value,
            "decoder": facts["decoder"],
            "planner": facts["planner"] or "",
            "frames": f"{found} of {total}" if total else "",
            "scale": facts["scale"],
            **{name: facts["diagnostics"][name] for name in SHOWN_DIAGNOSTICS if name in facts["diagnostics"]},
        }
    profile = PROFILES[settings.profile]
    truth = scenario.future_xy if profile.cut_history else scenario.path_xy
    circles = corridor(truth, profile)
    placed = np.column_stack([world_of_path(circles[:, :2], pose), circles[:, 2]])
    return TaskDetails(paths, placed, stills, diagnostics, scenario.target_text)
