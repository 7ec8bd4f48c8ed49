"""A scenario as the released annotation tool saves it: json.dump of Python floats, pandas' csv, the locale's captions.

Nothing here is written by our writer. The numbers are of a walk of ten rows: three of history, straight on, one metre
a row; the recording lies elsewhere and looks another way.
"""

import json
import math

import numpy as np
import pytest

from worldgauge.core.image import write_png
from worldgauge.core.video import Writer
from worldgauge.suites.targetbench.format.read import discover
from worldgauge.suites.targetbench.format.scenario import truth_clip
from worldgauge.suites.targetbench.metrics import PROFILES, evaluate

NAME = "sample_096_custom_segment_120_129"
FIRST, CURRENT, LAST = 120, 123, 129


def frame_of(index):
    """One end of a distance: row 2 * index of the trajectory belongs to frame `index` of the video."""
    turn = {
        "quaternion_x": 0.0,
        "quaternion_y": 0.0,
        "quaternion_z": 0.7071067811865475,
        "quaternion_w": 0.7071067811865476,
    }
    place = {"position_x": 57.25, "position_y": -12.5 + index - CURRENT, "position_z": float("nan")}
    seen = {"transformed_x": 1.1102230246251565e-16, "transformed_y": float(index - CURRENT)}
    return {"trajectory_frame": index, "video_index": index, **place, **turn, **seen}


def annotated(root, *, seconds, caption):
    """The folder of a scenario, and the one above it."""
    folder = root / "dataset" / "Benchmark" / NAME
    folder.mkdir(parents=True)
    rows = [(1.1102230246251565e-16 * (i % 2), float(i - CURRENT)) for i in range(FIRST, LAST + 1)]
    content = {
        "scene_name": "sample_096",
        "segment_type": "custom_selected_segment",
        "segment_description": "Custom segment from video frame 120 to 129",
        "user_caption": "Geh zur Tür",
        "trajectory_start_frame": FIRST,
        "trajectory_end_frame": LAST,
        "video_start_idx": FIRST,
        "video_end_idx": LAST,
        "frame_duration": LAST - FIRST,
        "video_frame_duration": LAST - FIRST + 1,
        "total_distance_meters": 9.0,
        "trajectory_points": len(rows),
        "sample_name": NAME,
        "save_timestamp": "2025-10-11 12:13:14",
        "extraction_method": "custom_segment_selection_with_progress_based_transformation",
        "transformation_applied": True,
        "transformation_reference": "progress_bar_current_frame",
        "heading_aligned_to_y_axis": True,
        "progress_frame_heading_rotated_to_90_degrees": True,
        "includes_first_frame_image": True,
        "includes_current_frame_image": True,
        "progress_bar_state": {
            "current_video_frame_index": CURRENT,
            "total_video_frames": 1500,
            "progress_percentage": 8.205470313542362,
            "is_playing": False,
            "trajectory_info": None,
        },
        "distance_first_to_current": {
            "distance_meters": 3.0,
            "time_duration_seconds": seconds,
            "first_frame": frame_of(FIRST),
            "current_frame": frame_of(CURRENT),
            "calculation_method": "euclidean_distance_xy_only",
        },
        "distance_current_to_end": {
            "distance_meters": 6.0,
            "time_duration_seconds": seconds,
            "current_frame": frame_of(CURRENT),
            "end_frame": frame_of(LAST),
            "calculation_method": "euclidean_distance_xy_only",
        },
    }
    with open(folder / f"{NAME}_metadata.json", "w") as file:
        json.dump(content, file, indent=2)
    (folder / f"{NAME}_caption.txt").write_bytes(caption)
    (folder / f"{NAME}_trajectory.csv").write_text("x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in rows))
    pictures = [np.full((36, 64, 3), 10 * i, np.uint8) for i in range(len(rows))]
    write_png(folder / f"{NAME}_first_frame.png", pictures[0])
    write_png(folder / f"{NAME}_current_frame.png", pictures[CURRENT - FIRST])
    with Writer(folder / f"{NAME}_video.mp4", fps=25, kind="viewable") as video:
        video.write(np.stack(pictures))
    return root


@pytest.mark.parametrize("seconds", [None, float("nan"), 0.24])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_it_is_read_whole(tmp_path, seconds, encoding):
    (found,) = discover(annotated(tmp_path, seconds=seconds, caption="Geh zur Tür".encode(encoding)))
    assert found.fault is None
    assert (found.scene, found.target_text, found.split) == ("sample_096", "Geh zur Tür", "benchmark")
    assert (found.history_rows, found.anchor_distance_m, len(found.path_xy)) == (3, 3.0, 10)
    assert math.isclose(found.dt, 0.04)
    np.testing.assert_allclose(found.future_xy, [(0, y) for y in range(7)], atol=1e-12)
    assert len(truth_clip(found)) == 7
    assert any("UTF-8" in warning for warning in found.warnings) == (encoding == "latin-1")


def test_the_released_metrics_of_a_perfect_path_see_the_history(tmp_path):
    (found,) = discover(annotated(tmp_path, seconds=0.24, caption=b"Go."))
    perfect = np.stack([np.zeros(9), np.linspace(0, 6, 9)], 1)
    # Of ten rows from y = -3 to 6, nine points stretched over them: the distance falls from 3 m to 0 in equal steps.
    assert evaluate(perfect, found.path_xy, PROFILES["released"]).ade == pytest.approx(1.5)
    assert evaluate(perfect, found.future_xy, PROFILES["released"]).ade == pytest.approx(0, abs=1e-12)
