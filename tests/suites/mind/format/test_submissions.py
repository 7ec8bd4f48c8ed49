"""Submissions of models in the published layout."""

from pathlib import Path

import pytest

from worldgauge.core.errors import DataError
from worldgauge.suites.mind import format as mind


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")


def test_one_model_and_a_folder_of_models(tmp_path: Path) -> None:
    touch(tmp_path / "wm", "1st_data/mem_test/data-9/video.mp4", "3rd_data/test/mem_test/data-150/video.mp4")
    touch(tmp_path / "other", "3rd_data/mem_test/data-150/video.mp4")
    touch(tmp_path, "notes.txt", "empty/readme.txt", ".hidden/1st_data/mem_test/data-9/video.mp4")
    assert mind.submissions(tmp_path / "wm") == {"wm": tmp_path / "wm"}
    assert mind.submissions(tmp_path) == {"other": tmp_path / "other", "wm": tmp_path / "wm"}


def test_folders_without_models(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no model in it"):
        mind.submissions(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        mind.submissions(tmp_path / "nothing")


def test_links_to_models_that_lead_out_are_refused(tmp_path: Path) -> None:
    touch(tmp_path / "models/wm", "1st_data/mem_test/data-1/video.mp4")
    touch(tmp_path / "away", "1st_data/mem_test/data-1/video.mp4")
    (tmp_path / "models/linked").symlink_to(tmp_path / "away")
    with pytest.raises(DataError, match="leads out"):
        mind.submissions(tmp_path / "models")
