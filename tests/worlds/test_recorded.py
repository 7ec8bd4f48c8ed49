"""Recordings that bring their own truth: the file, what is read from it, and scores that need it."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import worldgauge as wg
from worldgauge.core.errors import DataError, NotApplicableError, ShapeError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.engine.open_suite import list_tasks, open_suite
from worldgauge.perception.instances import CATEGORIES
from worldgauge.suites.loopnav.tasks import episode_of
from worldgauge.worlds import open_world
from worldgauge.worlds.recorded import SUFFIX, RecordingWorld, Truth, facts_of, read_truth, write_truth

CAMERA = Camera.from_horizontal_fov(8, 6, 90)
POSES = pose_from_yaw_pitch(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]]), np.zeros(2))
NAMES = ("floor", "barrel")


def layers(category: int = 1, depth_m: float = 2.0) -> dict[str, np.ndarray]:
    """One frame: a category on the left, the sky without depth on the right."""
    left = np.arange(8) < 4
    whole = np.broadcast_to(left, (6, 8))
    depth = np.where(whole, depth_m, np.inf).astype(np.float32)
    return {"category": whole * np.uint16(category), "instance": whole * np.uint16(7), "depth": depth}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / f"walk{SUFFIX}"
    write_truth(path, Truth(CAMERA, POSES, NAMES, ("barrel",), "e1m1"), [layers(1), layers(2, 3.0004)])
    return path


def test_what_is_written_is_read(file: Path) -> None:
    truth = read_truth(file)
    assert (truth.camera, truth.categories, truth.things, truth.place) == (CAMERA, NAMES, ("barrel",), "e1m1")
    assert np.allclose(truth.poses, POSES, atol=1e-12)
    view = RecordingWorld(str(file)).view(POSES[1], CAMERA, position=True)
    want = layers(2, 3.0)
    assert (view.category == want["category"]).all()
    assert (view.instance == want["instance"]).all()
    assert np.allclose(view.depth, want["depth"], atol=1e-6), "in steps of a millimetre"
    assert np.isnan(view.position[:, 4:]).all()
    # 45 degrees to the left at the border: as far left as ahead.
    assert view.position[2, 0] == pytest.approx([1 + 3, 3 * 3.5 / 4, 1 + 3 * 0.5 / 4], abs=1e-5)


def test_a_smaller_or_narrower_camera_sees_the_same_place(file: Path) -> None:
    world = RecordingWorld(str(file))
    small = world.view(POSES[0], CAMERA.resized(4, 3))
    assert (small.category == layers()["category"][::2, ::2]).all()
    narrow = world.view(POSES[0], CAMERA.cropped(4, 6))
    assert (narrow.category == layers()["category"][:, 2:6]).all()
    wide = world.view(POSES[0], Camera.from_horizontal_fov(8, 6, 150))
    assert wide.category[0, 0] == 0
    assert np.isinf(wide.depth[0, 0])


def test_it_can_be_viewed_only_as_its_camera_saw_it(file: Path) -> None:
    elsewhere = POSES[0].copy()
    elsewhere[0, 3] += 0.5
    with pytest.raises(NotApplicableError, match="only as its camera saw it"):
        RecordingWorld(str(file)).view(elsewhere, CAMERA)


def test_intrinsics_alone_are_enough(tmp_path: Path) -> None:
    path = tmp_path / f"walk{SUFFIX}"
    write_truth(path, Truth(CAMERA, POSES))
    world = open_world(facts_of(path))
    assert isinstance(world, RecordingWorld)
    assert not world.labelled
    assert np.isinf(world.view(POSES[0], CAMERA).depth).all()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": "other"}, "is no worldgauge-truth of version 1"),
        ({"version": 2}, "is no worldgauge-truth of version 1"),
        ({"camera": {}}, "'width'"),
        ({"camera": {"width": 8, "height": 6, "fx": 0, "fy": 4, "cx": 4, "cy": 3}}, "focal lengths"),
        ({"camera": {"width": 8e6, "height": 6e6, "fx": 4, "fy": 4, "cx": 4, "cy": 3}}, "a camera with a size"),
        ({"poses": []}, "finite poses"),
        ({"poses": [[1, 2, 3]]}, "cannot be used"),
        ({"things": ["lamp"]}, "every thing is a category"),
        ({"layers": ["../../x"]}, "layers are category"),
        ({"camera": {"width": 8, "height": 6, "fx": 1e999, "fy": 4, "cx": 4, "cy": 3}}, "not valid JSON"),
        ({"categories": "floor"}, "no list of at most 200 names"),
        ({"categories": [str(n) for n in range(201)]}, "no list of at most 200 names"),
        ({"categories": ["floor", "floor"]}, "a name twice"),
    ],
    ids=str,
)
def test_a_header_that_cannot_be_is_refused(file: Path, change: dict[str, object], told: str) -> None:
    with zipfile.ZipFile(file) as packed:
        header = json.loads(packed.read("truth.json"))
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("truth.json", json.dumps({**header, **change}))
    with pytest.raises(DataError, match=told):
        read_truth.__wrapped__(file)


def test_damaged_files_are_refused(file: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(file, "a") as packed, pytest.warns(UserWarning, match="Duplicate"):
        packed.writestr("category/000000.png", b"not a picture")
    with pytest.raises(DataError, match=r"category/000000.png: not a PNG"):
        RecordingWorld(str(file)).view(POSES[0], CAMERA)
    (tmp_path / "bad.zip").write_bytes(b"PK nothing")
    with pytest.raises(DataError, match="cannot be read"):
        read_truth(tmp_path / "bad.zip")
    with pytest.raises(ShapeError, match="frame 1 has other layers"):
        write_truth(tmp_path / "odd.zip", Truth(CAMERA, POSES), [layers(), {"depth": layers()["depth"]}])
    with pytest.raises(ShapeError, match="1 frames for 2 poses"):
        write_truth(tmp_path / "odd.zip", Truth(CAMERA, POSES), [layers()])
    with pytest.raises(ShapeError, match="more frames than the 2 poses"):
        write_truth(tmp_path / "odd.zip", Truth(CAMERA, POSES), [layers()] * 3)
    with pytest.raises(ShapeError, match="not in 0 to 65535"):
        write_truth(tmp_path / "odd.zip", Truth(CAMERA, POSES), [{"category": np.full((6, 8), 70_000)}] * 2)
    assert not (tmp_path / "odd.zip").exists()


def test_a_file_that_is_written_again_is_read_again(file: Path) -> None:
    assert read_truth(file).place == "e1m1"
    write_truth(file, Truth(CAMERA, POSES, NAMES, place="another"), [layers(), layers()])
    assert read_truth(file).place == "another"


def test_a_picture_of_another_size_or_an_unnamed_category_is_refused(tmp_path: Path) -> None:
    path = tmp_path / f"walk{SUFFIX}"
    with pytest.raises(ShapeError, match="has not the size of the camera"):
        write_truth(path, Truth(CAMERA.resized(16, 12), POSES, NAMES), [layers(), layers()])
    write_truth(path, Truth(CAMERA, POSES, NAMES), [layers(), layers()])
    with zipfile.ZipFile(path) as packed:
        held = {name: packed.read(name) for name in packed.namelist()}
    held["truth.json"] = held["truth.json"].replace(b'"width": 8', b'"width": 16').replace(b'"width":8', b'"width":16')
    with zipfile.ZipFile(path, "w") as packed:
        for name, data in held.items():
            packed.writestr(name, data)
    with pytest.raises(DataError, match="is not 16x6 pixels"):
        RecordingWorld(str(path)).view(POSES[0], CAMERA)
    path = tmp_path / f"other{SUFFIX}"
    write_truth(path, Truth(CAMERA, POSES, NAMES), [layers(3), layers(3)])
    with pytest.raises(DataError, match="category 3, and 2 are named"):
        RecordingWorld(str(path)).view(POSES[0], CAMERA)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Loops in two villages, and the same as recordings of nobody knows what, with files of truth."""
    root = tmp_path_factory.mktemp("recorded")
    ours, theirs = root / "ours", root / "theirs"
    wg.collect("loopnav", ours, settlements=2, ranges=(5,), types=("ABA",), per_combination=1, size=(160, 90))
    shutil.copytree(ours, theirs)
    for manifest in theirs.glob("*.json"):
        manifest.unlink()
    for task in list_tasks(open_suite("loopnav", {}), ours):
        episode, _ = episode_of(task)
        world = open_world(episode.world)
        views = (world.view(pose, episode.camera) for pose in episode.poses)
        shown = ({"category": one.category, "instance": one.instance, "depth": one.depth} for one in views)
        things = ("building", "tree", "flower", "water")
        truth = Truth(episode.camera, episode.poses, world.categories[1:], things, task.group["location"])
        write_truth(theirs / f"{task.id}{SUFFIX}", truth, shown)
    return ours, theirs


def test_a_recording_with_its_own_truth_has_every_score(both: tuple[Path, Path], tmp_path: Path) -> None:
    _, theirs = both
    models = ["memory", "freeze", "replay", "drift"]
    named = ["coverage", "returned_mse", "returned_detail", "sgcs_chance_corrected", "loop_closure"]
    found = {}
    for data in both:
        settings = {"selection": "all"}
        result = wg.run("loopnav", model=models, data=data, out=tmp_path / data.name, settings=settings)
        assert not result.failures
        frame = result.frame
        found[data] = frame[frame.metric.isin(named)].pivot_table("value", "metric", "model")
    assert "drift" not in found[theirs], "it needs the world itself"
    for metric in ("coverage", "returned_mse"):
        for model in ("memory", "freeze"):
            known, own = (found[data].loc[metric, model] for data in both)
            assert own == pytest.approx(known, rel=0.05), (metric, model)
    above = found[theirs].loc["sgcs_chance_corrected"]
    assert above["memory"] > 0.3 + max(above["replay"], above["freeze"])
    assert set(named) <= set(found[theirs].index)


def test_a_recording_without_truth_has_no_such_score(both: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copytree(both[1], tmp_path / "data")
    for file in (tmp_path / "data").rglob(f"*{SUFFIX}"):
        file.unlink()
    result = wg.run(
        "loopnav", model="freeze", data=tmp_path / "data", out=tmp_path / "r", settings={"selection": "all"}
    )
    frame = result.frame
    assert frame[frame.metric.isin(["sgcs", "coverage", "returned_mse"])].value.isna().all()


def test_the_segmenter_of_our_own_textures_does_not_fit(both: tuple[Path, Path], tmp_path: Path) -> None:
    settings = {"selection": "all", "segmenter": "colour"}
    result = wg.run("loopnav", model="freeze", data=both[1], out=tmp_path, settings=settings)
    assert not result.failures
    scores = {score.metric: score for score in result.scores["freeze"]}
    own = tuple(open_world(episode_of(list_tasks(result.suite, both[1])[0])[0].world).truth.categories)
    assert scores["sgcs"].facts["segmenter_fits"] == (own == CATEGORIES)
    assert (scores["segmenter_accuracy"].value is None) == (own != CATEGORIES)
