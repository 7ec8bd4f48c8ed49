"""Clips and start images written in the published layout, and read again: every number, whole or not at all."""

import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suites.mind.mind_data import pictures
from support.vectors import cases
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.engine.suite.contract import Failure, Score
from worldgauge.models.videos import NO_VIDEO
from worldgauge.perception.colmap import read_images_txt
from worldgauge.suites.mind.actions import walk_look
from worldgauge.suites.mind.format.files import arm_angles, our_point, our_pose, read_sidecar, ue_point
from worldgauge.suites.mind.format.read import discover, fingerprint_of, keys_of, load, mirror_actions
from worldgauge.suites.mind.format.results import results_of, write_results
from worldgauge.suites.mind.format.write import stored_poses, write_clip, write_mirror_actions, write_mirror_start
from worldgauge.suites.mind.key_walks import KeyWalk

SIZE = (64, 36)
CAMERA = Camera.from_vertical_fov(*SIZE, 60)
WORLD = WorldFacts("voxel", {"kind": "urban", "seed": 3, "size": 64}, "ab12")
Perspective = Literal["1st", "3rd"]
BOTH = ("1st", "3rd")


def make_walk(perspective="1st", n=12, seed=0, turn_deg=1.4):
    rng = np.random.default_rng(seed)
    return KeyWalk(
        keys=np.concatenate([np.zeros((1, 4)), rng.integers(0, 3, (n - 1, 4))]).astype(np.uint8),
        feet=rng.uniform(-1000, 1000, (n, 3)),
        yaw=rng.uniform(-10, 10, n),
        pitch=rng.uniform(-0.7, 0.7, n),
        heading=rng.uniform(-4, 4, n),
        perspective=perspective,
        space=walk_look(2.8, turn_deg),
        mark_time=n // 3,
        seen=1.0,
    )


def write(root, walk, frames=None, **changes):
    given = {
        "perspective": walk.perspective,
        "part": "mem_test",
        "name": "data-25",
        "walk": walk,
        "frames": iter(pictures(len(walk.keys), SIZE)) if frames is None else frames,
        "world": WORLD,
        "camera": CAMERA,
        "family": "urban",
        "mark_time": walk.mark_time,
        "facts": {"seed": 7},
    }
    return write_clip(root, **{**given, **changes})


@pytest.mark.parametrize("perspective", BOTH)
def test_what_is_written_is_read(tmp_path, perspective):
    walk = make_walk(perspective)
    folder = write(tmp_path, walk)
    assert folder == tmp_path / f"{perspective}_data/test/mem_test/data-25"
    assert sorted(path.name for path in folder.iterdir()) == ["action.json", "images.txt", "video.mp4", "world.json"]
    (clip,) = discover(tmp_path)
    assert (clip.fault, clip.warnings) == (None, ())
    assert (clip.frames, clip.mark_time, clip.family, clip.space_known) == (12, 4, "urban", True)
    assert (clip.space, clip.world, clip.camera) == (walk.space, WORLD, CAMERA)
    episode = load(clip)
    np.testing.assert_allclose(episode.poses, walk.poses, atol=1e-9)
    np.testing.assert_array_equal(episode.poses, stored_poses(walk))
    np.testing.assert_array_equal(keys_of(clip), walk.keys)
    np.testing.assert_array_equal(episode.actions.values, walk.actions.values)
    assert (episode.world, episode.camera, episode.facts["seed"]) == (WORLD, CAMERA, 7)
    shown = episode.clip.to_array().astype(int)
    assert np.abs(shown - np.stack(pictures(12, SIZE))).mean() < 4
    _, listed = read_images_txt(folder / "images.txt")
    np.testing.assert_allclose(listed, episode.poses[4:], atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(BOTH), st.integers(2, 9), st.floats(0.1, 5))
def test_any_walk_survives(seed, perspective, n, turn_deg):
    walk = make_walk(perspective, n, seed, turn_deg)
    with TemporaryDirectory() as folder:
        write(Path(folder), walk, part="train", mark_time=1)
        (clip,) = discover(Path(folder))
        np.testing.assert_allclose(load(clip).poses, walk.poses, atol=1e-9)
        np.testing.assert_array_equal(keys_of(clip), walk.keys)
        assert clip.steps == pytest.approx((turn_deg, 280), abs=1e-6)


def test_third_person_fields_are_the_engines(tmp_path):
    walk = make_walk("3rd")
    rows = json.loads((write(tmp_path, walk) / "action.json").read_text())["data"]
    for t, row in enumerate(rows):
        actor, camera = (np.array([row[name][axis] for axis in "xyz"]) for name in ("actor_pos", "camera_pos"))
        np.testing.assert_allclose(actor, walk.feet[t] * [100, -100, 100])
        assert np.linalg.norm(actor - camera + np.array([0, 0, 120])) == pytest.approx(250)
        off = row["actor_rpy"]["z"] - (-np.degrees(walk.heading[t]) - 90)
        assert np.cos(np.radians(off)) == pytest.approx(1), "walking direction minus 90 degrees"
        assert abs(row["camera_rpy"]["z"]) <= 180
        assert row["time"] == t


def test_first_person_has_the_published_fields(tmp_path):
    content = json.loads((write(tmp_path, make_walk()) / "action.json").read_text())
    assert (list(content), content["total_time"]) == (["mark_time", "total_time", "data"], 12)
    assert list(content["data"][0]) == ["time", "ws", "ad", "ud", "lr", "actor_pos", "actor_rpy"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"frames": iter(pictures(11, SIZE))}, "11 frames for a walk of 12"),
        ({"name": "../out"}, "rename it"),
        ({"mark_time": 12}, "mark_time 12"),
        ({"mark_time": 0}, "mark_time 0"),
        ({"perspective": "3rd"}, "in 1st person"),
        ({"part": "mirror_test"}, "write_mirror_start"),
        ({"facts": {"seed": float("nan")}}, "plain JSON"),
    ],
)
def test_what_cannot_be_written_leaves_nothing(tmp_path, changes, says):
    with pytest.raises(DataError, match=says):
        write(tmp_path, make_walk(), **changes)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_clip_is_replaced_whole(tmp_path):
    write(tmp_path, make_walk(seed=1))
    (before,) = discover(tmp_path)
    print_before = fingerprint_of(before)
    with pytest.raises(DataError):
        write(tmp_path, make_walk(seed=2), frames=iter(pictures(3, SIZE)))
    assert fingerprint_of(discover(tmp_path)[0]) == print_before
    write(tmp_path, make_walk(seed=2))
    assert fingerprint_of(discover(tmp_path)[0]) != print_before
    assert len(list((tmp_path / "1st_data/test/mem_test").iterdir())) == 1


@pytest.mark.parametrize("perspective", BOTH)
def test_mirror_starts(tmp_path, perspective):
    pose = pose_from_yaw_pitch([1.5, 2.5, 3.5], 0.3, -0.1)
    write_mirror_actions(tmp_path, perspective)
    for number, image in enumerate(pictures(2, SIZE)):
        write_mirror_start(
            tmp_path,
            perspective=perspective,
            name=f"data-{number}",
            image=image,
            pose=pose,
            world=WORLD,
            camera=CAMERA,
            family="aquatic",
            space=walk_look(1.5, 0.7),
        )
    clips = discover(tmp_path)
    assert len(clips) == 20
    assert not [clip for clip in clips if clip.fault or clip.warnings]
    clip = clips[16]
    assert (clip.name, clip.path, clip.number, clip.family) == ("data-1", "wl", 7, "aquatic")
    assert (clip.space, clip.space_known, clip.world) == (walk_look(1.5, 0.7), True, WORLD)
    episode = load(clip)
    np.testing.assert_array_equal(episode.clip[0], pictures(2, SIZE)[1])
    np.testing.assert_array_equal(episode.poses, pose[None])
    assert episode.facts["pose_known"]
    assert mirror_actions(clip).space == walk_look(1.5, 0.7)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "other"}, "field 'format'"),
        ({"version": 2}, "version 2 is not 1"),
        ({"camera": {"width": 64}}, "'height' is missing"),
        ({"space": {"delta_r_deg": -1, "delta_p_cm_s": 200}}, "'delta_r_deg' is -1"),
        ({"world": {"name": 3, "params": {}}}, "field 'world'"),
        ({"perspective": "2nd"}, "'perspective'"),
        ({"perspective": "3rd"}, "lies in 1st_data"),
        ({"family": 1}, "'family'"),
        ({"pose": [1, 2]}, "twelve numbers"),
        ({"pose": [2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]}, "no rotation"),
    ],
)
def test_side_cars_are_checked(tmp_path, change, says):
    path = write(tmp_path, make_walk()) / "world.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    (clip,) = discover(tmp_path)
    assert says in clip.fault
    assert clip.fault.startswith("world.json")


def test_a_camera_of_another_size_is_told(tmp_path):
    write(tmp_path, make_walk(), camera=CAMERA.resized(32, 18))
    with pytest.raises(DataError, match=r"64x36, the camera in world\.json 32x18"):
        load(discover(tmp_path)[0])


def test_a_side_car_says_what_was_given(tmp_path):
    car = read_sidecar(write(tmp_path, make_walk()) / "world.json")
    assert (car.world, car.camera, car.family, car.perspective, car.pose) == (WORLD, CAMERA, "urban", "1st", None)
    assert dict(car.facts) == {"seed": 7}


OURS_OF_OPENCV = np.array([[0, 0, 1], [-1, 0, 0], [0, -1, 0]])
"""The vectors' world is x right, y down, z ahead."""


def ue_pose(poses):
    """The engine's positions in centimetres and angles in degrees of poses; straight up or down, roll is 0."""
    pose = np.asarray(poses, np.float64)
    right, down, ahead = (pose[..., :3, i] * [1, -1, 1] for i in range(3))
    level = np.hypot(ahead[..., 0], ahead[..., 1])
    pitch = np.arctan2(ahead[..., 2], level)
    steep = level < 1e-9
    yaw = np.where(steep, np.arctan2(-right[..., 0], right[..., 1]), np.arctan2(ahead[..., 1], ahead[..., 0]))
    roll = np.where(steep, 0.0, np.arctan2(-right[..., 2], -down[..., 2]))
    return ue_point(pose[..., :3, 3]), np.degrees(np.stack([roll, pitch, yaw], -1))


@pytest.mark.parametrize("case", cases("mind_ue_pose", "cases"))
def test_poses_of_the_vectors(case):
    pose = our_pose(case["pos_cm"], case["roll_pitch_yaw_deg"])
    np.testing.assert_allclose(pose[:3], OURS_OF_OPENCV @ np.array(case["T_cam_to_world"]), atol=1e-8)
    position, angles = ue_pose(pose)
    np.testing.assert_allclose(position, case["pos_cm"], atol=1e-8)
    np.testing.assert_allclose(angles, case["roll_pitch_yaw_deg"], atol=1e-8)


@pytest.mark.parametrize("case", cases("mind_ue_pose", "cases"))
def test_poses_by_the_formula_of_the_specification(case):
    r, p, y = np.radians(case["roll_pitch_yaw_deg"])

    def about(axis, angle):
        i, j = [(1, 2), (2, 0), (0, 1)][axis]
        turn = np.eye(3)
        turn[[i, i, j, j], [i, j, i, j]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
        return turn

    axes = about(2, y) @ about(1, -p) @ about(0, -r) @ np.array([[0, 0, 1], [1, 0, 0], [0, -1, 0]])
    np.testing.assert_allclose(
        our_pose(case["pos_cm"], case["roll_pitch_yaw_deg"])[:3, :3], np.diag([1, -1, 1]) @ axes, atol=1e-12
    )


def test_signs_by_hand():
    np.testing.assert_allclose(our_point([100, 200, 300]), [1, -2, 3])
    np.testing.assert_allclose(ue_point([1, -2, 3]), [100, 200, 300])
    yaw, pitch = yaw_pitch_from_pose(our_pose([0, 0, 0], [0, 30, 90]))
    assert np.degrees([yaw, pitch]) == pytest.approx([-90, 30]), "right is clockwise for us, up is up"


@settings(deadline=None)
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    st.floats(-3.1, 3.1),
    st.floats(-1.55, 1.55),
    st.floats(-1.5, 1.5),
)
def test_there_and_back(place, yaw, pitch, roll):
    pose = our_pose(ue_point(place), np.degrees([roll, pitch, yaw]))
    np.testing.assert_allclose(our_pose(*ue_pose(pose)), pose, atol=1e-9)
    assert np.linalg.det(pose[:3, :3]) == pytest.approx(1)


@pytest.mark.parametrize("pitch", [90.0, -90.0])
def test_straight_up_and_down_keep_the_pose(pitch):
    pose = pose_from_yaw_pitch([1, 2, 3], 0.7, np.radians(pitch))
    position, angles = ue_pose(pose)
    np.testing.assert_allclose(our_pose(position, angles), pose, atol=1e-9)


@pytest.mark.parametrize("row", cases("mind_ue_pose", "observed_rows"))
def test_the_arm_of_the_published_rows(row):
    angles, found = arm_angles([row["actor_pos"]], [row["camera_pos"]], [row["camera_rpy"]])
    assert found.all()
    assert angles[0, 1:] == pytest.approx([row["pitch_from_positions_deg"], row["yaw_from_positions_deg"]], abs=1e-5)


@pytest.mark.parametrize(
    ("actor", "camera", "field"),
    [
        ((0, 0, 0), (-200, 0, 120), (0, 0, 0)),  # pushed in by a wall
        ((0, 0, 0), (-250, 0, 120), (0, 0, 5)),  # looks elsewhere
        ((0, 0, 0), (0, 0, 120), (0, -9, 20)),  # no arm at all
    ],
)
def test_without_an_arm_the_field_is_taken(actor, camera, field):
    angles, found = arm_angles([actor], [camera], [field])
    assert not found.any()
    np.testing.assert_array_equal(angles, [field])


def test_the_arm_across_the_cut_of_yaw():
    angles, found = arm_angles([(0, 0, 0)], [(250, 0.5, 120)], [(0, 0, 179)])
    assert found.all()
    assert angles[0, 2] == pytest.approx(-180 + np.degrees(0.5 / 250), abs=1e-3)


CLIP, OTHER = "1st_data/mem_test/data-25", "1st_data/mem_test/data-26"
MIRROR = "3rd_data/mirror_test/data-0/path-"
STATS = {"count": 96, "trans_mean": 0.1, "trans_median": 0.09, "rot_deg_mean": 0.5, "rot_deg_median": 0.4}


def score(task, metric, values, **facts):
    return Score(task, metric, 0.5, n=len(values), series=list(enumerate(values)), facts=facts)


def written(folder, scores, failed=(), **more):
    path = write_results(folder / "result.json", results_of(scores, failed, **more))
    return json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_the_released_keys(tmp_path):
    judged = {"overall": STATS, "groups": {}, "actions": {"forward": STATS}}
    scores = [
        score(CLIP, "lcm/mse_720p", [0.0, 0.02], mark_time=198, total_time=594, frames=2),
        score(CLIP, "lcm/psnr_720p", [math.inf, 17.0]),
        score(CLIP, "lcm/ssim_720p", [1.0, 0.5]),
        score(CLIP, "lcm/lpips_720p", [0.0, 0.25]),
        score(CLIP, "lcm/imaging", [0.5, 0.7]),
        score(CLIP, "lcm/aesthetic", [0.4, 0.6]),
        score(CLIP, "lcm/dino_mse", [0.001, 0.003]),
        score(CLIP, "lcm/rpe_trans", [0.1], **judged),
        score(f"{MIRROR}1", "gsc_mse", [0.25], frames=48),
        score(f"{MIRROR}1", "gsc_psnr", [6.0]),
        Score(f"{MIRROR}2", "gsc_mse", None, reason="no pairs", facts={"frames": 47}),
    ]
    failed = [Failure(f"{MIRROR}3", {}, "damaged"), Failure(OTHER, {}, f"x: {NO_VIDEO}")]
    content = written(tmp_path, scores, failed, horizon=100)
    assert list(content) == ["data", "video_max_time", "missing"]
    assert (content["video_max_time"], content["missing"]) == (100, [OTHER])
    clip, mirror = content["data"]
    assert list(clip) == [
        *("path", "perspective", "test_type", "error", "mark_time", "total_time", "sample_frames"),
        *("lcm", "visual_quality", "dino", "action"),
    ]
    assert (clip["mark_time"], clip["total_time"], clip["sample_frames"]) == (198, 594, 2)
    assert list(clip["lcm"]) == [
        *("length", "mse", "avg_mse", "psnr", "avg_psnr", "ssim", "avg_ssim", "lpips", "avg_lpips"),
        "infinite_frames",
    ]
    assert (clip["lcm"]["length"], clip["lcm"]["avg_mse"]) == (2, 0.01)
    assert (clip["lcm"]["psnr"], clip["lcm"]["avg_psnr"], clip["lcm"]["infinite_frames"]) == ([None, 17.0], None, 1)
    assert list(clip["visual_quality"]) == ["imaging", "avg_imaging", "aesthetic", "avg_aesthetic"]
    assert list(clip["dino"]) == ["dino_mse", "avg_dino_mse"]
    assert clip["dino"]["avg_dino_mse"] == pytest.approx(0.002)
    assert list(clip["action"]) == ["__overall__", "act:forward"]
    named = ("count", "rpe_trans_mean", "rpe_trans_median", "rpe_rot_mean_deg", "rpe_rot_median_deg")
    assert clip["action"]["__overall__"] == dict(zip(named, STATS.values(), strict=True))
    assert list(mirror) == ["path", "perspective", "test_type", "error", "videos", "video_results"]
    assert (mirror["path"], mirror["test_type"]) == ("data-0", "mirror_test")
    first, odd, lost = mirror["video_results"]
    assert list(first) == ["video_name", "error", "mark_time", "sample_frames", "gsc"]
    assert (first["mark_time"], first["sample_frames"]) == (24, 48)
    assert odd == {
        "video_name": "path-2.mp4",
        "error": "frame count is not an even number!",
        "mark_time": 23,
        "sample_frames": 47,
    }
    assert list(lost) == list(odd)
    assert (lost["error"], lost["mark_time"], lost["sample_frames"]) == ("damaged", None, None)


def test_values_that_are_not_finite_are_null(tmp_path):
    empty = dict.fromkeys(STATS, math.nan)
    scores = [
        score(CLIP, "lcm/imaging", [math.nan, 0.5]),
        score(CLIP, "lcm/dino_mse", []),
        score(CLIP, "lcm/rpe_trans", [], overall=STATS, groups={"other": empty}, actions={}),
    ]
    (entry,) = written(tmp_path, scores)["data"]
    assert entry["visual_quality"] == {"imaging": [None, 0.5], "avg_imaging": None}
    assert entry["action"]["other"]["rpe_trans_mean"] is None
    assert entry["dino"] == {"dino_mse": [], "avg_dino_mse": None}
    assert (entry["mark_time"], "lcm" in entry) == (None, False)
