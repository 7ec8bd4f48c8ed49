"""Post-training data: both layouts there and back, the index, what is disjoint, and broken files."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suites.worldinworld.closedloop_data import make_published_data
from support.coverage_data import FACTS, WALK, steps, views, write
from support.folders import contents
from worldgauge.core import episode
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.suites.worldinworld.format.training_records import split_hash
from worldgauge.worlds.walking.primitives import Primitive as P
from worldgauge_train import coverage
from worldgauge_train.coverage_trajectory import (
    TrajectoryFacts,
    overlap,
    read_index,
    read_trajectory,
    scene_hash,
    write_index,
    write_trajectory,
)


@pytest.fixture
def check() -> Any:
    return coverage.check


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "data")


@pytest.mark.parametrize("images", ["video", "png"])
def test_what_was_written_comes_back(tmp_path: Path, images: str) -> None:
    walk = read_trajectory(write(tmp_path, images=images))
    assert (walk.scene, walk.number, walk.facts) == ("home-train-0003", 0, FACTS)
    for (frame, depth), k in zip(views(), range(len(walk)), strict=True):
        np.testing.assert_array_equal(walk.frames[k], frame)
        np.testing.assert_allclose(walk.depth(k), depth, atol=0.000501)
        assert np.isinf(walk.depth(k)[0]).all()
    for mine, theirs in zip(walk.steps, steps(), strict=True):
        assert (mine.action, mine.collided, mine.goal_index) == (theirs.action, theirs.collided, theirs.goal_index)
        np.testing.assert_array_equal(mine.pose, theirs.pose)
    np.testing.assert_array_equal(list(walk.frames[2:5]), [frame for frame, _ in views()][2:5])


def test_same_walk_same_bytes(folder: Path, tmp_path: Path) -> None:
    assert contents(write(tmp_path / "again")) == contents(folder)
    assert contents(write(folder.parents[1])) == contents(folder), "and takes the place of the old one"


def test_rows_are_those_of_the_specification(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    assert [row["k"] for row in rows] == list(range(len(WALK)))
    assert [row["action"] for row in rows] == [4, 1, 1, 2, 1, 3, 3, 1]
    assert set(rows[0]) == {"k", "action", "pose", "coord", "habitat_camera_coord", "collided", "scene", "goal_index"}
    (agent, turn), (camera, turned) = rows[3]["coord"], rows[3]["habitat_camera_coord"]
    assert camera[1] - agent[1] == pytest.approx(1.25), "the agent stands on the floor"
    np.testing.assert_allclose(turn, turned, atol=1e-9)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert {"scene", "licence", "camera_height_m", "fov_deg", "width", "height", "seed", "worldgauge"} <= set(manifest)
    assert np.load(folder / "depth.npz")["000003"].dtype == np.uint16, "numpy reads it without us"


def test_clips_begin_with_null(folder: Path) -> None:
    walk = read_trajectory(folder)
    part = walk.part(2, 4)
    assert part.actions == (P.STOP, P.TURN_LEFT, P.FORWARD, P.TURN_RIGHT)
    assert len(part.frames) == len(part.poses) == 4
    np.testing.assert_array_equal(part.poses[0], walk.poses[2])
    for start, n in ((-1, 2), (0, 9), (8, 1), (0, 0)):
        with pytest.raises(ShapeError, match="are wanted, but it has"):
            walk.part(start, n)


def test_the_index_draws_in_proportion_to_frames(tmp_path: Path) -> None:
    write(tmp_path, number=0)
    write_trajectory(tmp_path, "home-train-0003", 1, views(2), steps()[:2], FACTS)
    index = write_index(tmp_path, "train")
    assert (index, index.n_frames) == (read_index(tmp_path), 10)
    rng = np.random.default_rng(0)
    drawn = [index.draw(2, rng) for _ in range(2000)]
    assert np.mean([entry.number == 0 for entry, _ in drawn]) == pytest.approx(0.8, abs=0.03)
    starts = [start for entry, start in drawn if entry.number == 0]
    assert set(starts) == set(range(7)), "every start, and none too late"
    assert {entry.number for entry, _ in (index.draw(3, rng) for _ in range(20))} == {0}
    with pytest.raises(DataError, match="no trajectory has 9 frames"):
        index.draw(9, rng)


def test_scenes_are_told_by_what_they_are(tmp_path: Path) -> None:
    write(tmp_path)
    index = write_index(tmp_path, "train")
    assert overlap(index, {"home-test-0001": WorldFacts("indoor", {"seed": 1000003}, "ab" * 32)}) == ("home-test-0001",)
    other = {"home-train-0003": WorldFacts("indoor", {"seed": 5}, "cd" * 32), "scan": None}
    assert overlap(index, other) == (), "a name says nothing"
    one, two = "mp3d/17DRP5sb8fy/17DRP5sb8fy.glb", "17DRP5sb8fy"
    assert scene_hash(one, None) == scene_hash(two, None) != scene_hash("17DRP5sb8fz", None)
    assert split_hash(["b", "a", "a"]) == split_hash(["a", "b"]) != split_hash(["a"])


def test_check_finds_what_is_tested_on(tmp_path: Path, check: Any) -> None:
    scan = "17DRP5sb8fy"
    write_trajectory(tmp_path / "train", scan, 0, views(), steps(), TrajectoryFacts(None, licence="mp3d"))
    test = make_published_data(tmp_path / "test")
    assert [one.severity for one in check(tmp_path / "train").findings] == ["warning"], "no index"
    write_index(tmp_path / "train", "train")
    report = check(tmp_path / "train", decode=True, against=test)
    assert [one.text for one in report.findings] == [
        "1 scenes are tested on as well (first: mp3d/17DRP5sb8fy/17DRP5sb8fy.glb): remove them, index again"
    ]
    assert (report.n_trajectories, report.n_valid, report.n_frames, report.collided) == (1, 1, 8, 0.0)
    assert report.actions == {"forward": 4, "turn_left": 1, "turn_right": 2, "stop": 0}
    assert report.metres.mean == pytest.approx(0.8)
    shutil.move(tmp_path / "train" / scan, tmp_path / "moved")
    shutil.rmtree(tmp_path / "moved")
    write(tmp_path / "train")
    assert "write it again" in check(tmp_path / "train").findings[0].text
    write_index(tmp_path / "train", "train")
    (found,) = check(tmp_path / "train", against=test).findings
    assert (found.severity, found.text[:27]) == ("info", "no scene of split 'train' (")


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="8 frames for 7 steps"):
        write_trajectory(tmp_path, "s", 0, views(), steps()[:-1], FACTS)
    with pytest.raises(DataError, match="0 frames for 0 steps"):
        write_trajectory(tmp_path, "s", 0, [], [], FACTS)
    with pytest.raises(DataError, match="rename it"):
        write_trajectory(tmp_path, "../s", 0, views(), steps(), FACTS)
    with pytest.raises(DataError, match="number them from 0"):
        write_trajectory(tmp_path, "s", -1, views(), steps(), FACTS)
    with pytest.raises(ShapeError, match="frame 0 needs a panorama"):
        write_trajectory(tmp_path, "s", 0, [(np.zeros((4, 8, 3)), np.zeros((4, 8)))], steps()[:1], FACTS)
    odd = (np.zeros((4, 8, 3), np.uint8), np.zeros((4, 8), np.float32))
    with pytest.raises(ShapeError, match="frame 8 is 8x4, the first was 32x18"):
        write_trajectory(tmp_path, "s", 0, [*views(), odd], steps(), FACTS)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()], "nothing is left half written"


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "other"}, "is not ours"),
        ({"version": 2}, "is not ours"),
        ({"frames": 9}, "8 steps for 9 frames"),
        ({"frames": 10**9}, "field 'frames' is 1000000000"),
        ({"width": 10**5, "height": 10**5}, "pass the limit"),
        ({"scene": "other"}, "not its folder's"),
        ({"scene": ["a"]}, "not its folder's"),
        ({"images": "gif"}, "field 'images' is 'gif'"),
        ({"world": 3}, "field 'world'"),
        ({"world": {"name": 3, "params": {}}}, "field 'world'"),
        ({"camera_height_m": "tall"}, "field 'camera_height_m'"),
        ({"more": 4}, "collect it again"),
        ({"height": 20}, "8 frames of 32x18"),
    ],
)
def test_broken_manifests(folder: Path, changes: dict[str, object], words: str, check: Any) -> None:
    edit(folder / "manifest.json", **changes)
    with pytest.raises(DataError) as error:
        read_trajectory(folder)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    report = check(folder.parents[1])
    assert (report.n_trajectories, report.n_valid) == (1, 0)
    assert report.findings[0].severity == "error"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 3: not valid JSON"),
        ("[]", "line 3: "),
        ('{"k": 9}', "line 3: field 'k'"),
        ('{"k": 2, "scene": "home-train-0003", "collided": false, "action": 7}', "field 'action' is 7"),
        ('{"k": 2, "scene": "home-train-0003", "collided": false, "action": 1}', "field 'pose' is missing"),
        ('{"k": 2, "scene": "home-train-0003", "collided": false, "action": 1, "pose": [1]}', "has not twelve numbers"),
    ],
)
def test_broken_steps(folder: Path, line: str, words: str) -> None:
    lines = (folder / "steps.jsonl").read_text().splitlines()
    lines[2] = line
    (folder / "steps.jsonl").write_text("\n".join(lines))
    with pytest.raises(DataError) as error:
        read_trajectory(folder)
    assert words in str(error.value)


def test_broken_pictures_and_depth(folder: Path, check: Any) -> None:
    walk = read_trajectory(folder)
    with zipfile.ZipFile(folder / "depth.npz", "w") as packed, packed.open("000000.npy", "w") as file:
        np.lib.format.write_array(file, np.zeros((10**4, 10), np.uint16))
    with pytest.raises(DataError, match=r"cannot be read \(.*(frame 0 is|has 200128 bytes, more than)"):
        walk.depth(0)
    with pytest.raises(DataError, match="frame 1 is missing"):
        walk.depth(1)
    with zipfile.ZipFile(folder / "depth.npz", "w") as packed, packed.open("000000.npy", "w") as file:
        np.lib.format.write_array(file, np.array([{"a": 1}]), allow_pickle=True)
    with pytest.raises(DataError, match="cannot be read"):
        walk.depth(0)
    claim = b"{'descr': '<u2', 'fortran_order': False, 'shape': (40000, 40000), }"
    for hostile in (b"\x93NUMPY\x01\x00" + bytes([len(claim), 0]) + claim, b"\x93NUMPY\x02\x00\xff\xff\xff\x7f"):
        with zipfile.ZipFile(folder / "depth.npz", "w") as packed:
            packed.writestr("000000.npy", hostile)
        with pytest.raises(DataError, match="cannot be read"):
            walk.depth(0)
    assert "was changed since it was written" in check(folder.parents[1], decode=True).findings[0].text
    (folder / "frames.mp4").unlink()
    with pytest.raises(DataError, match=r"frames\.mp4"):
        read_trajectory(folder)


def test_moves_that_are_not_their_actions(tmp_path: Path, check: Any) -> None:
    rows = steps()
    rows[2] = rows[2]._replace(action=P.TURN_LEFT)
    write_trajectory(tmp_path, "s", 0, views(), rows, FACTS)
    rows = steps()
    still = [row._replace(pose=rows[0].pose, action=P.FORWARD, collided=True) for row in rows]
    write_trajectory(tmp_path, "s", 1, views(), [rows[0], *still[1:]], FACTS)
    write_index(tmp_path, "train")
    (found,) = check(tmp_path).findings
    assert found.text == "1 trajectory, odd (first: s/000000): step 2, turn_left, moves 0.20 m"


def test_broken_index(folder: Path) -> None:
    root = folder.parents[1]
    write_index(root, "train")
    edit(root / "index.json", scenes={"home-train-0003": "0" * 64})
    with pytest.raises(DataError, match="'split_hash' is not that of its scenes"):
        read_index(root)
    edit(root / "index.json", trajectories=[{"scene": "s"}])
    with pytest.raises(DataError, match="field 'number' is missing"):
        read_index(root)
    (root / "index.json").write_text("[]")
    with pytest.raises(DataError, match="write the index again"):
        read_index(root)
    with pytest.raises(DataError, match="no such folder"):
        write_index(root / "nowhere", "train")


def test_a_link_to_itself_and_a_number_of_400_digits_are_one_line(folder: Path, check: Any) -> None:
    (folder / "loop").symlink_to("loop")
    assert "loop: is a link to no file" in check(folder.parents[1], decode=True).findings[0].text
    (folder / "loop").unlink()
    (folder / "round").symlink_to(".")
    assert "round: is a link to no file" in check(folder.parents[1], decode=True).findings[0].text
    (folder / "round").unlink()
    with pytest.raises(ValueError, match="row 0 holds a number that is too large"):
        episode.poses_of([[10**400, *range(11)]])
