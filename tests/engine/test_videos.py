"""Finished videos of several models, through the engine and the command line: every sub-folder is a model."""

import json
import shutil
from pathlib import Path
from typing import cast

import pytest

from suites.targetbench.target_data import make_bad_inputs, make_wm_videos, write_video
from support.commands import Done, command
from worldgauge.cli import show as cli_show
from worldgauge.core.errors import UsageError
from worldgauge.core.io import loads
from worldgauge.core.video import Clip
from worldgauge.engine.run import RunRequest
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Task
from worldgauge.engine.videos import VideoFolder, read_video_folder, score_videos
from worldgauge.suites.loopnav.suite import LoopNav
from worldgauge.suites.loopnav.tasks import episode_of
from worldgauge.suites.targetbench.suite import TargetBench

STILL = {"decoder": "sfm-global", "cross_check": "never"}


@pytest.fixture(scope="module")
def videos(scenarios: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Videos of two models that stand still; `odd 2.5` lacks the second scenario and has one that nobody asks for."""
    folder = tmp_path_factory.mktemp("wm") / "wm_videos"
    make_wm_videos(folder, scenarios, models=("still",))
    clips = sorted((folder / "still").glob("*.mp4"))
    frames = list(Clip.open(clips[0])[:9])
    for name in (clips[0].name, clips[2].name, "sample_777_custom_segment_000_049.mp4"):
        write_video(folder / "odd 2.5" / name, frames, 16.0)
    (folder / "nothing").mkdir()
    (folder / "notes.txt").write_text("no model")
    return folder


def score(scenarios: Path, videos: Path, out: Path, *more: str | Path) -> Done:
    words = [
        "score",
        "targetbench",
        "--data",
        scenarios,
        "--videos",
        videos,
        "--out",
        out,
        "--set",
        "cross_check=never",
        "--no-baselines",
    ]
    return command(out, *words, *more)


@pytest.fixture(scope="module")
def scored(scenarios: Path, videos: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The folder in which both models are scored, and what the command said."""
    out = tmp_path_factory.mktemp("scored")
    return out, score(scenarios, videos, out, "--json")


def test_every_sub_folder_is_a_subject_and_nothing_is_dropped(
    scenarios: Path, videos: Path, scored: tuple[Path, Done], tmp_path: Path
) -> None:
    out, done = scored
    shutil.copytree(out, tmp_path, dirs_exist_ok=True)
    assert done.returncode == 1, "one scenario has no video"
    told = json.loads(done.stdout)
    assert {name: run["counts"]["scored"] for name, run in told["runs"].items()} == {"still": 3, "odd-2.5": 2}
    assert told["counts"]["expected"] == 6
    (failure,) = told["failures"]
    assert (failure["model"], failure["task"]) == ("odd-2.5", "sample_001_custom_segment_000_049")
    assert "no video of this task" in failure["error"]
    assert told["unused_videos"] == {"odd 2.5": ["sample_777_custom_segment_000_049"]}
    assert (
        "odd 2.5: 1 video without a task: sample_777_custom_segment_000_049; known there: sample_000_custom_segment"
    ) in done.stderr
    assert "nothing: holds no video" in done.stderr
    rows = {row["label"]: row["cells"][0] for row in told["tables"][0]["rows"]}
    assert rows["still"]["mean"] == pytest.approx(rows["do nothing"]["mean"])
    every = {row["label"]: row["cells"][0] for row in told["tables"][1]["rows"]}
    assert every["odd-2.5"]["mean"] == pytest.approx(rows["odd-2.5"]["mean"] * 2 / 3)

    again = score(scenarios, videos, tmp_path, "--verbose")
    assert "[3/3] odd-2.5 sample_001_custom_segment_000_049 failed" in again.stderr
    assert "still sample" not in again.stderr, "what is done is not done again"
    assert "do nothing" in again.stdout
    facts = loads((tmp_path / "still" / "run.json").read_text())
    assert facts["model"]["kind"] == "model"
    assert facts["model"]["control"] == "text"


def test_another_profile_decodes_nothing_again(scored: tuple[Path, Done], tmp_path: Path) -> None:
    shutil.copytree(scored[0], tmp_path, dirs_exist_ok=True)
    done = command(tmp_path, "score", tmp_path / "still", "--set", "profile=aligned", "--json")
    assert done.returncode == 0, done.stderr
    assert "profile aligned" in json.loads(done.stdout)["tables"][0]["title"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["targetbench", "--videos", "v"], "--data DIR --videos DIR"),
        (["targetbench", "loopnav", "--videos", "v", "--data", "d"], "score SUITE"),
        (["targetbnch", "--videos", "v", "--data", "d"], "targetbench"),
        (["runs", "--out", "x"], "go with --videos"),
    ],
)
def test_bad_commands_are_one_line(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = command(tmp_path, "score", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_horizons_have_folders_of_their_own(scenarios: Path, tmp_path: Path) -> None:
    for name in ("wm_videos", "wm_videos_horizon_at_2s"):
        make_wm_videos(tmp_path / name, scenarios, models=("still",), horizon_s=6.0 if "2s" in name else 8.0)
    suite = TargetBench(horizon_s=6)
    assert suite.submissions(tmp_path)["still"]["root"] == str(tmp_path / "wm_videos_horizon_at_2s" / "still")
    assert TargetBench().submissions(tmp_path)["still"]["root"] == str(tmp_path / "wm_videos" / "still")


def test_bad_videos_fail_each_with_its_reason(tmp_path: Path) -> None:
    root, videos = make_bad_inputs(tmp_path)
    result, shelf = score_videos(RunRequest("targetbench", data=root, out=tmp_path / "runs", settings=STILL), videos)
    assert result.counts.failed == result.counts.expected
    reasons = {(one.model, one.task.split("_custom")[0]): one.error for one in result.failures}
    assert "holds 1 frame" in reasons["one_frame", "good"]
    assert "no video of this task" in reasons["misnamed", "good"]
    assert "trajectory.csv is missing" in reasons["one_frame", "no_csv"]
    assert shelf.unmatched["misnamed"] == ("good_segment",)


def test_a_suite_without_a_layout_of_its_own_takes_every_sub_folder(
    walks: Path, tasks: list[Task], tmp_path: Path
) -> None:
    episode, start = episode_of(tasks[0])
    write_video(tmp_path / "wm" / "mine" / f"{tasks[0].id}.mp4", list(episode.clip[start:]), episode.clip.fps)
    shelf = read_video_folder(LoopNav(), tmp_path / "wm", [task.id for task in tasks])
    assert list(shelf.models) == ["mine"]
    assert shelf.unmatched == {}
    result, _ = score_videos(RunRequest("loopnav", data=walks, out=tmp_path / "runs"), tmp_path / "wm")
    assert (result.counts.scored, result.counts.failed) == (1, 1)
    assert list(result.directories) == ["mine"]


class Plain(Suite):
    """A suite without a layout of its own."""

    name = "plain"


WALKS = [*(f"1st_data/mirror_test/data-{i}/path-{n}" for i in range(5) for n in (1, 2)), "1st_data/mem_test/data-25"]


def shelf(folder: Path, videos: list[str], tasks: list[str]) -> VideoFolder:
    for video in videos:
        path = folder / "wan" / video
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    return read_video_folder(cast(Suite, Plain()), folder, tasks)


def test_videos_of_tests_that_were_not_asked_for_are_not_unmatched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = ["1st_data/mem_test/data-1/video.mp4", "3rd_data/mirror_test/data-1/path-1.mp4"]
    videos = ["1st_data/mirror_test/data-1/path-1.mp4", "1st_data/mirror_test/start_0/path-1.mp4", *others]
    found = shelf(tmp_path, videos, WALKS[:-1])
    assert found.elsewhere == {"wan": {"1st_data/mem_test": 1, "3rd_data/mirror_test": 1}}
    assert found.unmatched == {"wan": ("1st_data/mirror_test/start_0/path-1",)}
    cli_show.unused_videos(found)
    assert capsys.readouterr().err.splitlines() == [
        "wan: 2 videos of tests that are not in the run (1st_data/mem_test, 3rd_data/mirror_test)",
        "wan: 1 video without a task: 1st_data/mirror_test/start_0/path-1; known there: data-0, data-1, data-2, ...",
    ]


def test_what_is_known_is_said_where_a_video_leaves_the_tasks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    videos = ["1st_data/mirror_test/data-1/path-3.mp4", "1st_data/mem_test/data-26.mp4", "loose.mp4", "1st_data/a.mp4"]
    found = shelf(tmp_path, videos, WALKS)
    assert found.elsewhere == {}
    assert found.expected == {
        "1st_data/a": ("mirror_test", "mem_test"),
        "1st_data/mem_test/data-26": ("data-25",),
        "1st_data/mirror_test/data-1/path-3": ("path-1", "path-2"),
        "loose": ("1st_data",),
    }
    cli_show.unused_videos(found)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert lines[2].endswith("without a task: 1st_data/mirror_test/data-1/path-3; known there: path-1, path-2")


def test_where_tasks_lie_in_no_folder_every_other_video_is_a_stray(tmp_path: Path) -> None:
    found = shelf(tmp_path, ["a.mp4", "deep/er/a.mp4"], ["b"])
    assert found.unmatched == {"wan": ("a", "deep/er/a")}
    assert (found.elsewhere, found.expected["deep/er/a"]) == ({}, ("b",))


def test_many_places_of_unmatched_videos_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alike = [f"a/w-{i}/path-1" for i in range(7)]
    unlike = [f"b/w-{i}/path-{i}" for i in range(7)]
    videos = [f"{task.rsplit('/', 1)[0]}/other.mp4" for task in (*alike, *unlike)]
    cli_show.unused_videos(shelf(tmp_path, videos, [*alike, *unlike]))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6
    assert lines[0].startswith("wan: 8 videos without a task: a/w-0/other, ")
    assert lines[0].endswith(" and 3 more; known there: path-1")
    assert lines[1] == "wan: 1 video without a task: b/w-0/other; known there: path-0"
    assert lines[5] == "wan: 2 more without a task, in other places"


def test_names_that_would_share_a_folder_are_refused(scenarios: Path, videos: Path, tmp_path: Path) -> None:
    for name in ("a b", "a-b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.mp4").write_bytes(b"")
    with pytest.raises(UsageError, match="a-b"):
        read_video_folder(TargetBench(), tmp_path, [])
    (tmp_path / "none" / "m").mkdir(parents=True)
    with pytest.raises(UsageError, match="no sub-folder holds a video"):
        score_videos(RunRequest("targetbench", data=scenarios, out=tmp_path / "r"), tmp_path / "none")
