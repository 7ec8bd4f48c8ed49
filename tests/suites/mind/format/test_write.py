"""Clips and start images written in the published layout, and read again: every number, whole or not at all."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suites.mind.mind_data import pictures
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.core.image import Image
from worldgauge.suites.mind import format as mind
from worldgauge.suites.mind.actions import walk_look
from worldgauge.suites.mind.format.files import read_sidecar
from worldgauge.suites.mind.key_walks import KeyWalk

SIZE = (64, 36)
CAMERA = Camera.from_vertical_fov(*SIZE, 60)
WORLD = WorldFacts("voxel", {"kind": "urban", "seed": 3, "size": 64}, "ab12")
Perspective = Literal["1st", "3rd"]
BOTH: tuple[Perspective, ...] = ("1st", "3rd")


def make_walk(perspective: Perspective = "1st", n: int = 12, seed: int = 0, turn_deg: float = 1.4) -> KeyWalk:
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


def write(root: Path, walk: KeyWalk, frames: Iterator[Image] | None = None, **changes: Any) -> Path:
    given: dict[str, Any] = {
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
    return mind.write_clip(root, **{**given, **changes})


@pytest.mark.parametrize("perspective", BOTH)
def test_what_is_written_is_read(tmp_path: Path, perspective: Perspective) -> None:
    walk = make_walk(perspective)
    folder = write(tmp_path, walk)
    assert folder == tmp_path / f"{perspective}_data/test/mem_test/data-25"
    assert sorted(path.name for path in folder.iterdir()) == ["action.json", "images.txt", "video.mp4", "world.json"]
    (clip,) = mind.discover(tmp_path)
    assert (clip.fault, clip.warnings) == (None, ())
    assert (clip.frames, clip.mark_time, clip.family, clip.space_known) == (12, 4, "urban", True)
    assert (clip.space, clip.world, clip.camera) == (walk.space, WORLD, CAMERA)
    episode = mind.load(clip)
    np.testing.assert_allclose(episode.poses, walk.poses, atol=1e-9)
    np.testing.assert_array_equal(episode.poses, mind.stored_poses(walk))
    np.testing.assert_array_equal(mind.keys_of(clip), walk.keys)
    np.testing.assert_array_equal(episode.actions.values, walk.actions.values)
    assert (episode.world, episode.camera, episode.facts["seed"]) == (WORLD, CAMERA, 7)
    shown = episode.clip.to_array().astype(int)
    assert np.abs(shown - np.stack(pictures(12, SIZE))).mean() < 4
    _, listed = mind.read_images_txt(folder / "images.txt")
    np.testing.assert_allclose(listed, episode.poses[4:], atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(BOTH), st.integers(2, 9), st.floats(0.1, 5))
def test_any_walk_survives(seed: int, perspective: Perspective, n: int, turn_deg: float) -> None:
    walk = make_walk(perspective, n, seed, turn_deg)
    with TemporaryDirectory() as folder:
        write(Path(folder), walk, part="train", mark_time=1)
        (clip,) = mind.discover(Path(folder))
        np.testing.assert_allclose(mind.load(clip).poses, walk.poses, atol=1e-9)
        np.testing.assert_array_equal(mind.keys_of(clip), walk.keys)
        assert clip.steps == pytest.approx((turn_deg, 280), abs=1e-6)


def test_third_person_fields_are_the_engines(tmp_path: Path) -> None:
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


def test_first_person_has_the_published_fields(tmp_path: Path) -> None:
    content = json.loads((write(tmp_path, make_walk()) / "action.json").read_text())
    assert list(content) == ["mark_time", "total_time", "data"]
    assert content["total_time"] == 12
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
def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        write(tmp_path, make_walk(), **changes)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_clip_is_replaced_whole(tmp_path: Path) -> None:
    write(tmp_path, make_walk(seed=1))
    (before,) = mind.discover(tmp_path)
    print_before = mind.fingerprint_of(before)
    with pytest.raises(DataError):
        write(tmp_path, make_walk(seed=2), frames=iter(pictures(3, SIZE)))
    assert mind.fingerprint_of(mind.discover(tmp_path)[0]) == print_before
    write(tmp_path, make_walk(seed=2))
    assert mind.fingerprint_of(mind.discover(tmp_path)[0]) != print_before
    assert len(list((tmp_path / "1st_data/test/mem_test").iterdir())) == 1


@pytest.mark.parametrize("perspective", BOTH)
def test_mirror_starts(tmp_path: Path, perspective: Perspective) -> None:
    pose = pose_from_yaw_pitch([1.5, 2.5, 3.5], 0.3, -0.1)
    mind.write_mirror_actions(tmp_path, perspective)
    for number, image in enumerate(pictures(2, SIZE)):
        mind.write_mirror_start(
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
    clips = mind.discover(tmp_path)
    assert len(clips) == 20
    assert not [clip for clip in clips if clip.fault or clip.warnings]
    clip = clips[16]
    assert (clip.name, clip.path, clip.number, clip.family) == ("data-1", "wl", 7, "aquatic")
    assert (clip.space, clip.space_known, clip.world) == (walk_look(1.5, 0.7), True, WORLD)
    episode = mind.load(clip)
    np.testing.assert_array_equal(episode.clip[0], pictures(2, SIZE)[1])
    np.testing.assert_array_equal(episode.poses, pose[None])
    assert episode.facts["pose_known"]
    assert mind.mirror_actions(clip).space == walk_look(1.5, 0.7)


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
def test_side_cars_are_checked(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    path = write(tmp_path, make_walk()) / "world.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    (clip,) = mind.discover(tmp_path)
    assert clip.fault is not None
    assert says in clip.fault
    assert clip.fault.startswith("world.json")


def test_a_camera_of_another_size_is_told(tmp_path: Path) -> None:
    write(tmp_path, make_walk(), camera=CAMERA.resized(32, 18))
    with pytest.raises(DataError, match=r"64x36, the camera in world\.json 32x18"):
        mind.load(mind.discover(tmp_path)[0])


def test_a_side_car_says_what_was_given(tmp_path: Path) -> None:
    car = read_sidecar(write(tmp_path, make_walk()) / "world.json")
    assert (car.world, car.camera, car.family, car.perspective, car.pose) == (WORLD, CAMERA, "urban", "1st", None)
    assert dict(car.facts) == {"seed": 7}
