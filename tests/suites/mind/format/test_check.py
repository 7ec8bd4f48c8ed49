"""What `check` counts in data whose numbers are known, and what it finds in data that are spoiled."""

import json

import numpy as np
import pytest

from suites.mind.mind_data import write_published
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.suites.mind.format.check import check, motion_of
from worldgauge.suites.mind.format.read import discover, load


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return check(write_published(tmp_path_factory.mktemp("mind")), decode=True)


def texts(report, severity):
    return [finding.text for finding in report.findings if finding.severity == severity]


def test_counts_of_good_data(found):
    counts = (found.noun, found.n_items, found.n_valid, found.n_frames, found.ok)
    assert (counts, texts(found, "error")) == (("clips and mirror videos", 52, 52, 360, True), [])
    assert texts(found, "warning") == [
        "20 mirror files, usable (first: -w.json): -w.json: total_time is 47, but there are 48 rows, which count"
    ]
    assert (found.facts["n_clips"], found.facts["families"]) == (52, {"unknown": 52})
    json.dumps(found.facts, allow_nan=False)
    assert found.table.columns[0] == ""
    assert found.table.rows[5] == ("3rd mem_test", "2", "50", "30.000", "33%", "200.0", "1.000", "27%")
    assert found.table.rows[3][:6] == ("1st mirror_test", "20", "500", "48.000", "-", "-")
    assert found.table.notes[-1] == "by family: unknown 52"


def test_rows_by_hand(found):
    rows = found.facts["rows"]
    assert [(row["perspective"], row["part"], row["clips"], row["published"]) for row in rows[:4]] == [
        ("1st", "train", 2, 50),
        ("1st", "mem_test", 2, 50),
        ("1st", "action_space_test", 2, 25),
        ("1st", "mirror_test", 20, 500),
    ]
    row = rows[5]
    means = [row[name]["mean"] for name in ("frames", "mark_share", "speed_cm_s", "turn_deg")]
    assert (row["perspective"], means) == ("3rd", pytest.approx([30, 1 / 3, 200, 1]))
    keys = [row["keys"][name] for name in ("forward", "look_right", "none")]
    assert keys == pytest.approx([22 / 30, 5 / 30, 8 / 30])


def walked(n=60):
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


def test_motion_by_hand():
    keys, poses = walked()
    motion = motion_of(keys, poses, poses[:, :3, 3])
    assert (motion.speed_cm_s, (motion.turn_deg, motion.looks)) == (pytest.approx(120), (pytest.approx(1), 59))
    assert (motion.obeys_walk, motion.largest_step_cm) == (pytest.approx(1), pytest.approx(5))


def test_motion_does_not_care_where_the_world_begins():
    keys, poses = walked()
    turn = np.eye(4)
    turn[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    turn[:3, 3] = 5, 6, 7
    moved = turn @ poses
    for one, other in zip(
        motion_of(keys, poses, poses[:, :3, 3]), motion_of(keys, moved, moved[:, :3, 3]), strict=True
    ):
        assert one == pytest.approx(other)


def test_motion_of_a_clip_that_stands():
    motion = motion_of(np.zeros((1, 4), np.uint8), np.eye(4)[None], np.zeros((1, 3)))
    assert (motion.speed_cm_s, motion.turn_deg, motion.obeys_walk, motion.largest_step_cm) == (None, None, None, 0.0)
    assert motion.keys["none"] == 1


def edit(root, clip, change):
    path = root / clip / "action.json"
    content = json.loads(path.read_text())
    for row in content["data"]:
        change(row)
    path.write_text(json.dumps(content))


def test_what_is_found_in_spoiled_data(tmp_path):
    root = write_published(tmp_path, frames=60, perspectives=("1st",))
    tests = root / "1st_data/test"
    (tests / "mem_test/data-25/action.json").unlink()
    (tests / "mem_test/data-26/action.json").unlink()
    (tests / "mirror_test/notes.txt").write_text("?")
    (tests / "mem_test/readme.md").write_text("?")

    def mirrored(row):
        row["ws"] = (0, 2, 1)[row["ws"]]

    def fast(row):
        row["actor_pos"]["x"] *= 30

    edit(root, "1st_data/train/data-75", mirrored)
    edit(root, "1st_data/train/data-76", fast)
    report = check(root)
    errors, warnings, infos = (texts(report, severity) for severity in ("error", "warning", "info"))
    assert (report.n_items, report.n_valid) == (26, 24)
    assert any("2 clips, not usable (first: 1st_data/mem_test/data-25): action.json is missing" in e for e in errors)
    assert any("data-75): walks against its keys" in e for e in errors)
    assert any("2 files or folders belong to no clip" in w and "readme.md" in w for w in warnings)
    assert any("data-76): jumps" in w for w in warnings)
    assert any("3rd_data/test/mem_test" in i for i in infos)
    row = next(row for row in report.facts["rows"] if row["part"] == "mem_test")
    assert [row[name] for name in ("clips", "usable", "frames", "keys")] == [2, 0, None, {}]


def test_damage_that_only_decoding_shows(tmp_path):
    root = write_published(tmp_path, clips=1, frames=24, size=(320, 180), perspectives=("1st",))
    video = root / "1st_data/train/data-75/video.mp4"
    data = bytearray(video.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 400] = bytes(400)
    video.write_bytes(data)
    assert texts(check(root), "error") == []
    assert any("data-75" in text for text in texts(check(root, decode=True), "error"))


def test_a_destroyed_start_image_is_found_once(tmp_path):
    """Also where the path that comes first is a fault of its own, as its file is missing."""
    root = write_published(tmp_path, clips=2, perspectives=("1st",))
    folder = root / "1st_data/test/mirror_test"
    image = next(folder.glob("*.png"))
    image.write_bytes(image.read_bytes()[:40] + bytes(200))
    (folder / "-w.json").unlink()
    (missing,) = texts(check(root), "error")
    first, error = texts(check(root, decode=True), "error")
    assert first == missing
    assert error.startswith(
        f"1 clip, not usable (first: 1st_data/mirror_test/{image.stem}/path-2): {image.name}: a part of "
    )
    broken = next(clip for clip in discover(root) if clip.image == image and clip.fault is None)
    with pytest.raises(DataError, match="passes the end of the picture"):
        load(broken)


def test_missing_path_files_are_named_each_in_a_line(tmp_path):
    root = write_published(tmp_path, frames=3)
    for file in ("1st_data/test/mirror_test/-wl.json", "1st_data/test/mirror_test/-a.json"):
        (root / file).unlink()
    (root / "3rd_data/test/mirror_test/-wl.json").unlink()
    report = check(root)
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
    rows = [row for row in report.facts["rows"] if row["part"] == "mirror_test"]
    assert [(row["perspective"], row["clips"], row["usable"]) for row in rows] == [("1st", 20, 16), ("3rd", 20, 18)]


def test_nothing_there(tmp_path):
    assert texts(check(tmp_path), "error") == ["holds no clip of the form 1st_data/test/mem_test/<clip>/action.json"]
    with pytest.raises(DataError, match="no such folder"):
        check(tmp_path / "nothing")
