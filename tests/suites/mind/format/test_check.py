"""What `check` counts in data whose numbers are known, and what it finds in data that are spoiled."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suites.mind.mind_data import write_published
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.suites.mind import format as mind
from worldgauge.suites.mind.format import ClipStatistics
from worldgauge.suites.mind.format.check import motion_of


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> ClipStatistics:
    return mind.check(write_published(tmp_path_factory.mktemp("mind")), decode=True)


def texts(report: ClipStatistics, severity: str) -> list[str]:
    return [finding.text for finding in report.findings if finding.severity == severity]


def test_counts_of_good_data(found: ClipStatistics) -> None:
    assert (found.n_clips, found.n_valid, found.n_frames) == (52, 52, 360)
    assert texts(found, "error") == []
    assert texts(found, "warning") == [
        "20 mirror files, usable (first: -w.json): -w.json: total_time is 47, but there are 48 rows, which count"
    ]
    assert found.families == {"unknown": 52}
    json.dumps(found.to_dict(), allow_nan=False)


def test_rows_by_hand(found: ClipStatistics) -> None:
    assert [(row.perspective, row.part, row.clips, row.published) for row in found.rows[:4]] == [
        ("1st", "train", 2, 50),
        ("1st", "mem_test", 2, 50),
        ("1st", "action_space_test", 2, 25),
        ("1st", "mirror_test", 20, 500),
    ]
    row = found.rows[5]
    assert row.frames is not None
    assert row.mark_share is not None
    assert row.speed_cm_s is not None
    assert row.turn_deg is not None
    assert (row.perspective, row.frames.mean, row.mark_share.mean) == ("3rd", 30, pytest.approx(1 / 3))
    assert row.speed_cm_s.mean == pytest.approx(200)
    assert row.turn_deg.mean == pytest.approx(1)
    assert row.keys["forward"] == pytest.approx(22 / 30)
    assert row.keys["look_right"] == pytest.approx(5 / 30)
    assert row.keys["none"] == pytest.approx(8 / 30)


def test_the_report_shows_the_same_numbers(found: ClipStatistics) -> None:
    report = found.report()
    assert (report.noun, report.n_valid, report.n_items, report.n_frames, report.ok) == (
        "clips and mirror videos",
        52,
        52,
        360,
        True,
    )
    assert report.facts == found.to_dict()
    assert report.table is not None
    assert report.table.columns[0] == ""
    assert report.table.rows[5] == ("3rd mem_test", "2", "50", "30.000", "33%", "200.0", "1.000", "27%")
    assert report.table.rows[3][:6] == ("1st mirror_test", "20", "500", "48.000", "-", "-")
    assert report.table.notes[-1] == "by family: unknown 52"


def walked(n: int = 60) -> tuple[Any, Any]:
    """Forward and to the left by halves while looking left by 1 degree a frame."""
    keys = np.zeros((n, 4), np.uint8)
    keys[1:, 3] = 1
    keys[1 : n // 2, 0] = 1
    keys[n // 2 :, 1] = 1
    feet, yaw = np.zeros((n, 3)), np.radians(np.arange(n) - 0.0)
    for t in range(1, n):
        along = yaw[t] - np.radians(0.5) + (np.pi / 2 if keys[t, 1] else 0)
        feet[t] = feet[t - 1] + 0.05 * np.array([np.cos(along), np.sin(along), 0])
    return keys, pose_from_yaw_pitch(feet, yaw)


def test_motion_by_hand() -> None:
    keys, poses = walked()
    motion = motion_of(keys, poses, poses[:, :3, 3])
    assert motion.speed_cm_s == pytest.approx(120)
    assert (motion.turn_deg, motion.looks) == (pytest.approx(1), 59)
    assert motion.obeys_walk == pytest.approx(1)
    assert motion.largest_step_cm == pytest.approx(5)


def test_motion_does_not_care_where_the_world_begins() -> None:
    keys, poses = walked()
    turn = np.eye(4)
    turn[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    turn[:3, 3] = 5, 6, 7
    moved = turn @ poses
    for one, other in zip(
        motion_of(keys, poses, poses[:, :3, 3]), motion_of(keys, moved, moved[:, :3, 3]), strict=True
    ):
        assert one == pytest.approx(other)


def test_motion_of_a_clip_that_stands() -> None:
    motion = motion_of(np.zeros((1, 4), np.uint8), np.eye(4)[None], np.zeros((1, 3)))
    assert (motion.speed_cm_s, motion.turn_deg, motion.obeys_walk, motion.largest_step_cm) == (None, None, None, 0.0)
    assert motion.keys["none"] == 1


def edit(root: Path, clip: str, change: Any) -> None:
    path = root / clip / "action.json"
    content = json.loads(path.read_text())
    for row in content["data"]:
        change(row)
    path.write_text(json.dumps(content))


def test_what_is_found_in_spoiled_data(tmp_path: Path) -> None:
    root = write_published(tmp_path, frames=60, perspectives=("1st",))
    tests = root / "1st_data/test"
    (tests / "mem_test/data-25/action.json").unlink()
    (tests / "mem_test/data-26/action.json").unlink()
    (tests / "mirror_test/notes.txt").write_text("?")
    (tests / "mem_test/readme.md").write_text("?")

    def mirrored(row: dict[str, Any]) -> None:
        row["ws"] = (0, 2, 1)[row["ws"]]

    def fast(row: dict[str, Any]) -> None:
        row["actor_pos"]["x"] *= 30

    edit(root, "1st_data/train/data-75", mirrored)
    edit(root, "1st_data/train/data-76", fast)
    report = mind.check(root)
    errors, warnings, infos = (texts(report, severity) for severity in ("error", "warning", "info"))
    assert (report.n_clips, report.n_valid) == (26, 24)
    assert any("2 clips, not usable (first: 1st_data/mem_test/data-25): action.json is missing" in e for e in errors)
    assert any("data-75): walks against its keys" in e for e in errors)
    assert any("2 files or folders belong to no clip" in w and "readme.md" in w for w in warnings)
    assert any("data-76): jumps" in w for w in warnings)
    assert any("3rd_data/test/mem_test" in i for i in infos)
    row = next(row for row in report.rows if row.part == "mem_test")
    assert (row.clips, row.usable, row.frames, row.keys) == (2, 0, None, {})


def test_damage_that_only_decoding_shows(tmp_path: Path) -> None:
    root = write_published(tmp_path, clips=1, frames=24, size=(320, 180), perspectives=("1st",))
    video = root / "1st_data/train/data-75/video.mp4"
    data = bytearray(video.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 400] = bytes(400)
    video.write_bytes(data)
    assert texts(mind.check(root), "error") == []
    assert any("data-75" in text for text in texts(mind.check(root, decode=True), "error"))


def test_a_destroyed_start_image_is_found_once(tmp_path: Path) -> None:
    """Also where the path that comes first is a fault of its own, as its file is missing."""
    root = write_published(tmp_path, clips=2, perspectives=("1st",))
    folder = root / "1st_data/test/mirror_test"
    image = next(folder.glob("*.png"))
    image.write_bytes(image.read_bytes()[:40] + bytes(200))
    (folder / "-w.json").unlink()
    (missing,) = texts(mind.check(root), "error")
    first, error = texts(mind.check(root, decode=True), "error")
    assert first == missing
    assert error.startswith(
        f"1 clip, not usable (first: 1st_data/mirror_test/{image.stem}/path-2): {image.name}: a part of "
    )
    broken = next(clip for clip in mind.discover(root) if clip.image == image and clip.fault is None)
    with pytest.raises(DataError, match="passes the end of the picture"):
        mind.load(broken)


def test_missing_path_files_are_named_each_in_a_line(tmp_path: Path) -> None:
    root = write_published(tmp_path, frames=3)
    for file in ("1st_data/test/mirror_test/-wl.json", "1st_data/test/mirror_test/-a.json"):
        (root / file).unlink()
    (root / "3rd_data/test/mirror_test/-wl.json").unlink()
    report = mind.check(root)
    assert texts(report, "error") == [
        f"2 clips, not usable (first: {folder}/data-0/path-{number}): "
        f"{folder.replace('_data/', '_data/test/')}/-{name}.json is missing; download it again"
        for folder, number, name in (
            ("1st_data/mirror_test", 5, "a"),
            ("1st_data/mirror_test", 7, "wl"),
            ("3rd_data/mirror_test", 7, "wl"),
        )
    ]
    assert "not there" not in "".join(texts(report, "warning"))
    rows = {row.perspective: (row.clips, row.usable) for row in report.rows if row.part == "mirror_test"}
    assert rows == {"1st": (20, 16), "3rd": (20, 18)}


def test_nothing_there(tmp_path: Path) -> None:
    assert texts(mind.check(tmp_path), "error") == [
        "holds no clip of the form 1st_data/test/mem_test/<clip>/action.json"
    ]
    with pytest.raises(DataError, match="no such folder"):
        mind.check(tmp_path / "nothing")
