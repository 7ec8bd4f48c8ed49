"""Submissions of models in the published layout."""

from pathlib import Path

import pytest

from worldgauge.datasets import mind
from worldgauge.errors import DataError


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")


def test_one_model_and_a_folder_of_models(tmp_path: Path) -> None:
    videos = (
        "1st_data/mem_test/data-9/video.mp4",
        "1st_data/mem_test/data-10/video.mp4",
        "1st_data/action_space_test/data-0-1.0x-200/video.webm",
        "1st_data/mirror_test/data-3/path-10.mp4",
        "1st_data/mirror_test/data-3/path-2.mp4",
        "3rd_data/test/mem_test/data-150/video.mp4",
    )
    touch(tmp_path / "wm", *videos)
    touch(tmp_path / "other", "3rd_data/mem_test/data-150/video.mp4")
    touch(tmp_path, "notes.txt", "empty/readme.txt")
    ids = [
        "1st_data/mem_test/data-9",
        "1st_data/mem_test/data-10",
        "1st_data/action_space_test/data-0-1.0x-200",
        "1st_data/mirror_test/data-3/path-2",
        "1st_data/mirror_test/data-3/path-10",
        "3rd_data/mem_test/data-150",
    ]
    one = mind.model_videos(tmp_path / "wm")
    assert list(one) == ["wm"]
    assert list(one["wm"]) == ids
    assert one["wm"]["1st_data/mem_test/data-9"] == tmp_path / "wm" / videos[0]
    both = mind.model_videos(tmp_path)
    assert {name: list(found) for name, found in both.items()} == {"other": ids[-1:], "wm": ids}
    assert mind.submissions(tmp_path) == {"other": tmp_path / "other", "wm": tmp_path / "wm"}
    assert mind.strays(tmp_path / "wm") == ()


def test_strays_are_told(tmp_path: Path) -> None:
    touch(
        tmp_path,
        "1st_data/mem_test/data-1/video.mp4",
        "1st_data/mem_test/data-1/other.mp4",
        "1st_data/mem_test/data-2.mp4",
        "1st_data/mirror_test/path-1.mp4",
        "1st_data/mirror_test/x/path-01.mp4",
        "1st_data/train/data-1/video.mp4",
        "readme.txt",
    )
    (tmp_path / "3rd_data/mem_test/data-2").mkdir(parents=True)
    assert list(mind.model_videos(tmp_path)[tmp_path.name]) == ["1st_data/mem_test/data-1"]
    assert mind.strays(tmp_path) == (
        "1st_data/mem_test/data-1/other.mp4",
        "1st_data/mem_test/data-2.mp4",
        "1st_data/mirror_test/path-1.mp4",
        "1st_data/mirror_test/x/path-01.mp4",
        "1st_data/train/data-1/video.mp4",
        "3rd_data/mem_test/data-2",
        "readme.txt",
    )


def test_folders_without_models(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no model in it"):
        mind.model_videos(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        mind.model_videos(tmp_path / "nothing")


def test_links_that_lead_out_are_refused(tmp_path: Path) -> None:
    touch(tmp_path / "wm", "1st_data/mem_test/data-1/video.mp4")
    touch(tmp_path, "away/video.mp4")
    (tmp_path / "wm/1st_data/mem_test/data-2").symlink_to(tmp_path / "away")
    with pytest.raises(DataError, match="leads out"):
        mind.model_videos(tmp_path / "wm")
