"""Result files in the released schema: key for key, theirs and ours."""

import json
import math
from pathlib import Path

import pytest

from suites.mind.released_results import read_results
from worldgauge.suites.mind.format.results import (
    ActionStats,
    ClipResult,
    MirrorResult,
    MirrorVideo,
    PairScores,
    Results,
    write_results,
)

PAIRS = PairScores([0.0, 0.02], [math.inf, 17.0], [1.0, 0.5], [0.0, 0.25])
STATS = ActionStats(96, 0.1, 0.09, 0.5, 0.4)
CLIP = ClipResult(
    path="mem_test/data-25",
    perspective="1st_data",
    test_type="mem_test",
    mark_time=198,
    total_time=594,
    sample_frames=2,
    lcm=PAIRS,
    imaging=[0.5, 0.7],
    aesthetic=[0.4, 0.6],
    dino_mse=[0.001, 0.003],
    action={"__overall__": STATS, "act:forward": STATS},
)
MIRROR = MirrorResult(
    path="mirror_test/data-0",
    perspective="3rd_data",
    videos=["path-1.mp4", "path-2.mp4"],
    video_results=[
        MirrorVideo("path-1.mp4", mark_time=24, sample_frames=48, gsc=PairScores([0.25], [6.0], [0.5])),
        MirrorVideo("path-2.mp4", error="47 frames are odd"),
    ],
)


def test_the_released_keys(tmp_path: Path) -> None:
    path = write_results(tmp_path / "result.json", Results((CLIP, MIRROR), video_max_time=100))
    content = json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert list(content) == ["data", "video_max_time"]
    clip, mirror = content["data"]
    assert list(clip) == [
        *("path", "perspective", "test_type", "error", "mark_time", "total_time", "sample_frames"),
        *("lcm", "visual_quality", "dino", "action"),
    ]
    assert list(clip["lcm"]) == [
        *("length", "mse", "avg_mse", "psnr", "avg_psnr", "ssim", "avg_ssim", "lpips", "avg_lpips"),
        "infinite_frames",
    ]
    assert clip["lcm"]["length"] == 2
    assert clip["lcm"]["avg_mse"] == 0.01
    assert (clip["lcm"]["psnr"], clip["lcm"]["avg_psnr"], clip["lcm"]["infinite_frames"]) == ([None, 17.0], None, 1)
    assert list(clip["visual_quality"]) == ["imaging", "avg_imaging", "aesthetic", "avg_aesthetic"]
    assert list(clip["dino"]) == ["dino_mse", "avg_dino_mse"]
    assert clip["dino"]["avg_dino_mse"] == pytest.approx(0.002)
    assert list(clip["action"]["__overall__"]) == [
        *("count", "rpe_trans_mean", "rpe_trans_median", "rpe_rot_mean_deg", "rpe_rot_median_deg")
    ]
    assert list(mirror) == ["path", "perspective", "test_type", "error", "videos", "video_results"]
    assert mirror["test_type"] == "mirror_test"
    assert list(mirror["video_results"][0]) == ["video_name", "error", "mark_time", "sample_frames", "gsc"]
    assert list(mirror["video_results"][1]) == ["video_name", "error", "mark_time", "sample_frames"]


def test_written_and_read(tmp_path: Path) -> None:
    results = Results((CLIP, MIRROR), 100)
    assert read_results(write_results(tmp_path / "result.json", results)) == results
    empty = Results((ClipResult("a", "1st_data", "mem_test", error="no video"),))
    assert read_results(write_results(tmp_path / "empty.json", empty)) == empty


def test_theirs_with_infinity(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    lcm = {"length": 2, "mse": [0.0, 0.1], "avg_mse": 0.05, "psnr": [math.inf, 10.0], "avg_psnr": math.inf}
    entry = {"path": "a", "perspective": "1st_data", "test_type": "action_space_test", "error": None, "lcm": lcm}
    path.write_text(json.dumps({"data": [entry], "video_max_time": None}))
    assert "Infinity" in path.read_text()
    (found,) = read_results(path).data
    assert isinstance(found, ClipResult)
    assert found.lcm == PairScores([0.0, 0.1], [math.inf, 10.0])
    assert (found.action, found.imaging, found.mark_time) == (None, None, None)


def test_values_that_are_not_finite_are_null(tmp_path: Path) -> None:
    stats = ActionStats(0, math.nan, math.nan, math.nan, math.nan)
    result = ClipResult("a", "1st_data", "mem_test", imaging=[math.nan, 0.5], action={"other": stats}, dino_mse=[])
    path = write_results(tmp_path / "result.json", Results((result,)))
    (entry,) = json.loads(path.read_text())["data"]
    assert entry["visual_quality"] == {"imaging": [None, 0.5], "avg_imaging": None}
    assert entry["action"]["other"]["rpe_trans_mean"] is None
    assert entry["dino"] == {"dino_mse": [], "avg_dino_mse": None}
