"""Post-training data: both layouts there and back, the index, what is disjoint, and broken files."""

import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from suites.closedloop.closedloop_data import make_published_data
from suites.closedloop.training_data.released_layout import read_released, write_released
from support.folders import contents
from worldgauge.core import episode
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.suites.closedloop.training_data.coverage import check
from worldgauge.suites.closedloop.training_data.trajectory import (
    TrajectoryFacts,
    TrajectoryStep,
    View,
    overlap,
    read_index,
    read_trajectory,
    scene_hash,
    split_hash,
    write_index,
    write_trajectory,
)
from worldgauge.worlds.walking.primitives import Primitive as P
from worldgauge.worlds.walking.primitives import Stance, poses_of

WORLD = WorldFacts("indoor", {"seed": 1000003}, "ab" * 32)
FACTS = TrajectoryFacts(WORLD, camera_height_m=1.25, seed=7, more={"alpha": 1.7})
WALK = (P.STOP, P.FORWARD, P.FORWARD, P.TURN_LEFT, P.FORWARD, P.TURN_RIGHT, P.TURN_RIGHT, P.FORWARD)
SIZE = (32, 18)


def steps(seed: int = 0) -> list[TrajectoryStep]:
    rng = np.random.default_rng(seed)
    start = Stance(*rng.uniform(-3, 3, 3).tolist()).eye(1.25)
    poses = poses_of(WALK, start)
    return [
        TrajectoryStep(action, pose, False, k // 5) for k, (action, pose) in enumerate(zip(WALK, poses, strict=True))
    ]


def views(n: int = len(WALK), seed: int = 0) -> Iterator[View]:
    rng = np.random.default_rng(seed)
    for _ in range(n):
        depth = rng.uniform(0.05, 30.0, SIZE[::-1]).astype(np.float32)
        depth[0] = np.inf
        yield rng.integers(0, 256, (*SIZE[::-1], 3), dtype=np.uint8), depth


def write(root: Path, scene: str = "home-train-0003", number: int = 0, **more: object) -> Path:
    return write_trajectory(root, scene, number, views(seed=number), steps(number), FACTS, **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "data")


@pytest.mark.parametrize("images", ["video", "png"])
def test_what_was_written_comes_back(tmp_path: Path, images: str) -> None:
    walk = read_trajectory(write(tmp_path, images=images))
    assert (walk.scene, walk.number, walk.facts) == ("home-train-0003", 0, FACTS)
    for (frame, depth), k in zip(views(), range(len(walk)), strict=True):
        np.testing.assert_array_equal(walk.frames[k], frame)
        assert walk.depth is not None
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
        with pytest.raises(ShapeError, match="were asked for, but it has"):
            walk.part(start, n)


def test_the_index_draws_in_proportion_to_frames(tmp_path: Path) -> None:
    write(tmp_path, number=0)
    write_trajectory(tmp_path, "home-train-0003", 1, views(2), steps()[:2], FACTS)
    index = write_index(tmp_path, "train")
    assert index == read_index(tmp_path)
    assert index.n_frames == 10
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


def test_check_finds_what_is_tested_on(tmp_path: Path) -> None:
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
    assert report.metres is not None
    assert report.metres.mean == pytest.approx(0.8)
    shutil.move(tmp_path / "train" / scan, tmp_path / "moved")
    shutil.rmtree(tmp_path / "moved")
    write(tmp_path / "train")
    assert "write it again" in check(tmp_path / "train").findings[0].text
    write_index(tmp_path / "train", "train")
    (found,) = check(tmp_path / "train", against=test).findings
    assert (found.severity, found.text[:27]) == ("info", "no scene of split 'train' (")


def test_the_layout_of_the_release(folder: Path, tmp_path: Path) -> None:
    walk = read_trajectory(folder)
    out = write_released(tmp_path / "released", walk)
    assert out == tmp_path / "released" / "home-train-0003" / "traj-0"
    assert sorted(path.name for path in (out / "waypoint-1").iterdir()) == [
        "metadata.json",
        *(f"step-{j}_type-{kind}.png" for j in range(3) for kind in ("depth", "rgb")),
    ]
    raw = cv2.imread(str(out / "waypoint-0" / "step-2_type-depth.png"), cv2.IMREAD_UNCHANGED)
    assert walk.depth is not None
    depth = walk.depth(2)
    expected = np.where(depth <= 20, np.rint(depth / 20 * 65535), 0)
    np.testing.assert_array_equal(raw, expected.astype(np.uint16))
    told = json.loads((out / "waypoint-1" / "metadata.json").read_text())
    row = told["scene-home-train-0003"]["traj-0"]["steps"]["waypoint-1"]["step-0"]
    assert set(row) == {"action", "coord", "habitat_camera_coord"}
    first, second = read_released(tmp_path / "released")
    assert (len(first), len(second)) == (5, 3)
    assert [step.action for clip in (first, second) for step in clip.steps] == list(WALK)
    np.testing.assert_allclose(np.concatenate([first.poses, second.poses]), walk.poses, atol=1e-12)
    np.testing.assert_array_equal(second.frames[1], walk.frames[6])
    assert second.depth is not None
    near = walk.depth(6) <= 20
    np.testing.assert_allclose(second.depth(1)[near], walk.depth(6)[near], atol=20 / 65535)
    assert np.isinf(second.depth(1)[~near]).all(), "what is far is not near"
    assert second.facts.camera_height_m == 1.25
    assert second.steps[0].goal_index == 1


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
def test_broken_manifests(folder: Path, changes: dict[str, object], words: str) -> None:
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


def test_broken_pictures_and_depth(folder: Path) -> None:
    walk = read_trajectory(folder)
    assert walk.depth is not None
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


def test_moves_that_are_not_their_actions(tmp_path: Path) -> None:
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


def test_broken_releases(folder: Path, tmp_path: Path) -> None:
    out = write_released(tmp_path / "released", read_trajectory(folder)) / "waypoint-0"
    good = json.loads((out / "metadata.json").read_text())
    rows = good["scene-home-train-0003"]["traj-0"]["steps"]["waypoint-0"]
    for key, value, words in (
        ("coord", [[1, 2], [1, 0, 0, 0]], "give [[x, y, z], [w, x, y, z]]"),
        ("habitat_camera_coord", [[1, 2, 3], [0, 0, 0, 0]], "length 0"),
        ("action", 0, "field 'action' is 0"),
    ):
        before = rows["step-1"]
        rows["step-1"] = {**before, key: value}
        (out / "metadata.json").write_text(json.dumps(good))
        with pytest.raises(DataError) as error:
            list(read_released(tmp_path / "released"))
        assert "step-1: " in str(error.value)
        assert words in str(error.value)
        rows["step-1"] = before
    (out / "metadata.json").write_text("{}")
    with pytest.raises(DataError, match="holds no steps of traj-0, waypoint-0"):
        list(read_released(tmp_path / "released"))
    (out / "metadata.json").write_text(json.dumps(good))
    (out / "step-1_type-rgb.png").write_bytes(b"")
    (out / "step-1_type-depth.png").write_bytes(b"")
    clip = next(read_released(tmp_path / "released"))
    assert clip.depth is not None
    with pytest.raises(DataError, match="not a PNG picture"):
        clip.depth(1)
    with pytest.raises(DataError, match="not a PNG picture"):
        clip.frames[1]


def test_a_link_to_itself_and_a_number_of_400_digits_are_one_line(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    assert "loop: is a link to no file" in check(folder.parents[1], decode=True).findings[0].text
    (folder / "loop").unlink()
    (folder / "round").symlink_to(".")
    assert "round: is a link to no file" in check(folder.parents[1], decode=True).findings[0].text
    (folder / "round").unlink()
    with pytest.raises(ValueError, match="row 0 holds a number that is too large"):
        episode.poses_of([[10**400, *range(11)]])
