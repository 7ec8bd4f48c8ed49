"""Coverage walks, and the examples of the page."""

import errno
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from support.demonstrations_data import written
from support.folders import contents
from support.killing import kill_when_seen
from worldgauge.cli.collect import collect_app
from worldgauge.cli.data import check as check_command
from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.geometry import Panorama
from worldgauge.engine import collection as base
from worldgauge.engine.collect import SEEDS, Collected, collect, count, open_collection
from worldgauge.suites.worldinworld.format.training_records import record_folders
from worldgauge.worlds import open_world
from worldgauge.worlds.indoor.homes import scene_name, world_of
from worldgauge_train import coverage
from worldgauge_train.coverage import check
from worldgauge_train.coverage_trajectory import overlap, read_index, read_trajectory
from worldgauge_train.coverage_walks import PAPER

SMALL: dict[str, Any] = {"scenes": 2, "size": (64, 32), "points": 150, "steps": 12}


SCRIPT = """
import sys
from pathlib import Path
from worldgauge.engine.collect import collect
if __name__ == "__main__":
    collect("coverage", Path(sys.argv[1]), scenes=2, size=(64, 32), points=150, steps=12, workers=2)
"""


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Collected]:
    root = tmp_path_factory.mktemp("collected")
    return root, collect("coverage", root, **SMALL)


def test_a_walk_a_home_with_all_that_training_takes(collected: tuple[Path, Collected]) -> None:
    root, result = collected
    assert (result.items, result.frames, result.failures) == (2, 26, ())
    report = check(root, decode=True)
    assert (report.n_valid, report.n_frames, report.scenes) == (2, 26, 2)
    assert report.findings == ()
    walk = read_trajectory(root / "home-train-0001" / "000000")
    assert walk.facts.world is not None
    home = open_world(walk.facts.world)
    for k in (0, 5, 12):
        seen = home.view(walk.poses[k], Panorama(64, 32))
        np.testing.assert_array_equal(next(iter(walk.frames[k : k + 1])), seen.rgb)
        np.testing.assert_allclose(walk.depth(k), seen.depth, atol=6e-4)
    assert (walk.poses[:, 2, 3] == 1.0).all()


def test_the_index_shows_that_no_home_of_the_test_is_here(collected: tuple[Path, Collected]) -> None:
    index = read_index(collected[0])
    assert index.split == "train"
    facts = {name: open_world(world_of(name)).facts for name in (scene_name("test", 0), scene_name("train", 1))}
    assert overlap(index, facts) == (scene_name("train", 1),)


def test_the_manifest_and_the_clips_say_how(collected: tuple[Path, Collected]) -> None:
    root, _ = collected
    manifest = json.loads((root / "worldgauge.json").read_text())
    assert (manifest["format"], manifest["settings"]["rules"]["next_goal"]) == ("coverage", "nearest")
    assert manifest["camera"] == {
        "height_m": 1.0,
        "projection": "equirectangular",
        "size": [64, 32],
        "depth": "along the ray",
    }
    assert list(manifest["worlds"]) == ["home-train-0000", "home-train-0001"]
    more = read_trajectory(root / "home-train-0000" / "000000").facts.more
    assert (more["clips"], more["frames"], more["points"]) == (1, 13, 150)
    assert 0 < more["covered"]["1 m"] <= more["covered"]["3 m"] <= 1
    assert open_collection("coverage", root, SMALL).summary()["covered"]["3 m"] > 0
    assert open_collection("coverage", root, SMALL).summary()["points"] == 150


def test_any_number_of_workers_gives_the_same_files(collected: tuple[Path, Collected], tmp_path: Path) -> None:
    root, result = collected
    seen: list[Any] = []
    parallel = collect("coverage", tmp_path, **SMALL, workers=2, progress=seen.append)
    assert (contents(tmp_path), replace(parallel, root=root)) == (contents(root), result)
    assert [(step.done, step.total) for step in seen] == [(1, 2), (2, 2)]


def test_a_second_call_changes_nothing_and_more_homes_may_be_added_but_not_taken_away(tmp_path, collected):
    one = {**SMALL, "scenes": 1}
    collect("coverage", tmp_path, **one)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.mp4")}
    assert count("coverage", tmp_path, **SMALL) == (2, 1)
    collect("coverage", tmp_path, **SMALL)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert contents(tmp_path) == contents(collected[0])
    with pytest.raises(RunError, match="has 2 scenes, not 1"):
        collect("coverage", tmp_path, **one)


@pytest.mark.slow
@pytest.mark.parametrize("sight", ["home-*/.000000.part", "home-*/000000"])
def test_killed_in_the_middle_and_called_again_gives_the_same_bytes(collected, tmp_path, sight):
    """Kill -9 as soon as a clip is begun, or as soon as one is there."""
    root, _ = collected
    out = tmp_path / "out"
    kill_when_seen(SCRIPT, out, sight)
    collect("coverage", out, **SMALL)
    assert contents(out) == contents(root)


def test_a_lost_clip_is_walked_again(collected: tuple[Path, Collected], tmp_path: Path) -> None:
    collect("coverage", tmp_path, **SMALL)
    (tmp_path / "home-train-0000" / "000000" / "manifest.json").unlink()
    assert count("coverage", tmp_path, **SMALL) == (2, 1)
    collect("coverage", tmp_path, **SMALL)
    assert contents(tmp_path) == contents(collected[0])


def test_the_released_rules_make_a_clip_a_leg(tmp_path: Path) -> None:
    result = collect("coverage", tmp_path, **{**SMALL, "scenes": 1, "steps": 60, "parity": True}, images="png")
    clips = [read_trajectory(folder) for folder in record_folders(tmp_path)]
    assert len(clips) > 1
    assert sum(map(len, clips)) == result.frames == 60 + len(clips)
    assert [clip.number for clip in clips] == [clip.steps[0].goal_index for clip in clips] == list(range(len(clips)))
    assert check(tmp_path, decode=True).findings == ()
    assert open_collection("coverage", tmp_path, SMALL).summary()["clips"] == len(clips)


def test_villages_are_walked_as_homes_are(tmp_path: Path) -> None:
    assert not collect("coverage", tmp_path, **{**SMALL, "points": 40}, world="voxel").failures
    report = check(tmp_path, decode=True)
    assert (report.n_valid, report.scenes, report.findings) == (2, 2, ())
    walk = read_trajectory(tmp_path / "village-train-0001" / "000000")
    assert walk.facts.world is not None
    village = open_world(walk.facts.world)
    assert walk.facts.world.params["kind"] == "desert"
    assert walk.facts.world.params["seed"] >= SEEDS, "a seed of the split test"
    here = walk.poses[:, :3, 3]
    ground = [float(village.floor.height_at(place[:2])) for place in here]  # type: ignore[attr-defined]
    np.testing.assert_allclose(here[:, 2], np.array(ground) + 1.0, atol=1e-6)
    floor = village.floor  # type: ignore[attr-defined]
    middle = np.array(floor.origin) + np.array(floor.free.shape) * floor.cell_m / 2
    assert np.abs(here[:, :2] - middle).max() <= coverage.VILLAGE_M / 2
    with pytest.raises(RunError, match="world"):
        collect("coverage", tmp_path, **{**SMALL, "points": 40})


def test_the_camera_may_be_as_high_as_the_papers(tmp_path: Path, collected: tuple[Path, Collected]) -> None:
    collect("coverage", tmp_path, **{**SMALL, "scenes": 1, "steps": 1}, height_m=1.5)
    walk = read_trajectory(tmp_path / "home-train-0000" / "000000")
    lower = read_trajectory(collected[0] / "home-train-0000" / "000000")
    assert walk.facts.camera_height_m == 1.5
    np.testing.assert_allclose(walk.poses[:, :3, 3] - lower.poses[:2, :3, 3], [[0, 0, 0.5]] * 2)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"split": "val"},
        {"steps": 13},
        {"points": None},
        {"size": (32, 16)},
        {"parity": True},
        {"height_m": 1.5},
        {"images": "png"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_does_not_fit_to_what_is_there_is_refused(collected, change):
    with pytest.raises(RunError, match=next(iter(change)).replace("parity", "rules")):
        collect("coverage", collected[0], **{**SMALL, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"scenes": 0},
        {"size": (8, 8)},
        {"points": 0},
        {"steps": 0},
        {"steps": 7501},
        {"height_m": float("nan")},
        {"images": "gif"},
        {"split": "dev"},
        {"seed": -1},
        {"visit_radius_m": 0.0},
        {"next_goal": "far"},
        {"n_points": "all"},
    ],
)
def test_options_out_of_range_are_refused_before_anything_is_written(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"coverage option '{next(iter(change))}' must be"):
        collect("coverage", tmp_path, **{**SMALL, **change})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("where", ["write_manifest", "_collect", "write_index"])
def test_a_full_disk_ends_the_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def full(*args: Any) -> None:
        raise DataError("cannot be written") from OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(base if where == "write_manifest" else coverage, where, full)
    with pytest.raises(RunError, match="make room, then start the same command again"):
        collect("coverage", tmp_path, **SMALL)


def test_an_estimate_writes_nothing_and_is_right_where_steps_end_each_walk(tmp_path: Path) -> None:
    found = open_collection("coverage", tmp_path, {**SMALL, "scenes": 10}).estimate()
    assert (found["frames"], found["points"]) == (130, 150)
    assert found["bytes"] > 130 * 64 * 32
    assert not list(tmp_path.iterdir())


def test_many_points_are_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A floor that takes more than the formula's 1400: here not by its size, but by the points a square metre."""
    monkeypatch.setattr(coverage, "PAPER", replace(PAPER, density_m2=300.0))
    given = [
        "coverage",
        "--out",
        str(tmp_path),
        "--scenes",
        "1",
        "--size",
        "64x32",
        "--steps",
        "2",
        "--dry-run",
        "--json",
    ]
    for points, warned in (("1401", True), ("1400", False)):
        done = CliRunner().invoke(collect_app, [*given, "--points", points], catch_exceptions=False)
        assert str(json.loads(done.stdout)["points"]) == points
        assert ("warning: 1401 points in one scene, more than 1400" in done.stderr) is warned
    for few in ({"n_points": "min"}, {"points": 1400}):
        assert open_collection("coverage", tmp_path, {"scenes": 1, **few}).warnings() == []


def test_the_command(tmp_path: Path) -> None:
    given = ["coverage", "--out", str(tmp_path), "--scenes", "1", "--size", "64x32", "--steps", "5", "--height", "1.5"]
    rules = ["--parity", "--next-goal", "nearest", "--points", "100", "--visit-radius", "0.7", "--json"]
    planned = CliRunner().invoke(collect_app, [*given, *rules, "--dry-run"], catch_exceptions=False)
    assert json.loads(planned.stdout)["expected"] == 1
    assert json.loads(planned.stdout)["frames"] > 5
    assert "estimated bytes: 0.00 GB" in CliRunner().invoke(collect_app, [*given, "--points", "9", "--dry-run"]).stdout
    assert not list(tmp_path.iterdir())
    done = CliRunner().invoke(collect_app, [*given, *rules], catch_exceptions=False)
    summary = json.loads(done.stdout)
    assert (summary["ok"], summary["scenes"], summary["frames"]) == (True, 1, 5 + summary["clips"])
    assert summary["split_hash"] == read_index(tmp_path).split_hash
    assert 0 < summary["covered"]["1 m"] <= summary["covered"]["3 m"]
    settings = json.loads((tmp_path / "worldgauge.json").read_text())["settings"]
    assert (settings["rules"]["next_goal"], settings["rules"]["n_points"]) == ("nearest", "min")
    assert (settings["rules"]["visit_radius_m"], settings["height_m"]) == (0.7, 1.5)
    with pytest.raises(UsageError, match="width and height"):
        CliRunner().invoke(collect_app, [*given, "--size", "64"], catch_exceptions=False)


def test_the_check_command(collected: tuple[Path, Collected], capsys: pytest.CaptureFixture[str]) -> None:
    check_command("coverage", collected[0])
    said = capsys.readouterr().out
    assert "trajectories: 2 of 2 valid; frames: 26; usable" in said
    assert "turn left" in said
    check_command("coverage", collected[0], json=True)
    assert json.loads(capsys.readouterr().out)["steps"] == {"n": 2, "mean": 13.0, "std": 0.0}


PAGE = Path(__file__).parents[3] / "docs" / "howto" / "train.md"


@pytest.mark.parametrize(
    ("name", "words"), [("coverage", "home-train-0000 0"), ("demonstrations", "push_buttons/000000")]
)
def test_examples_of_the_page(tmp_path: Path, name: str, words: str) -> None:
    data = tmp_path / "data" / name
    if name == "coverage":
        collect("coverage", data, scenes=1, size=(64, 32), points=150, steps=4)
    else:
        written(data)
    (code,) = [one for one in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL) if name in one]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout
