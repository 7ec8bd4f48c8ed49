"""Episodes as we write them and as they are published: what comes back, and from where it may be given."""

import gzip
import json
import math
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from suites.closedloop.closedloop_data import (
    HM3D,
    MP3D,
    PANORAMA,
    SCENE,
    home_episodes,
    make_closedloop_data,
    make_published_data,
    question_rows,
    recognition_rows,
    write_json,
)
from support.folders import contents
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.suites.closedloop.format.files import fingerprint_of, scene_missing
from worldgauge.suites.closedloop.format.load import load
from worldgauge.suites.closedloop.navigation.format import NavigationEpisode, goal_image, write_navigation
from worldgauge.suites.closedloop.recognition.format import write_recognition
from worldgauge.worlds import open_world


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_closedloop_data(tmp_path_factory.mktemp("closedloop"))


@pytest.fixture
def data(original: Path, tmp_path: Path) -> Path:
    """A copy that may be spoilt."""
    return Path(shutil.copytree(original, tmp_path / "data"))


def bare(episodes: tuple[NavigationEpisode, ...]) -> list[NavigationEpisode]:
    return [replace(episode, goal_image=None) for episode in episodes]


def test_what_was_written_comes_back(original: Path) -> None:
    recognition, navigation, questions = home_episodes(3)
    found = load(original)
    assert list(found.episodes["recognition"]) == recognition
    assert bare(found.episodes["navigation"]) == navigation
    assert list(found.episodes["questions"]) == questions
    assert (found.faults, found.notes, len(found)) == ((), (), 9)
    world = found.scenes[SCENE]
    assert world is not None
    home = open_world(world)
    for episode in found.episodes["navigation"]:
        image = goal_image(episode)
        pose = episode.goal.eye(episode.height_m)
        np.testing.assert_array_equal(image, home.view(pose, PANORAMA).rgb), "rendered from what is on disk"


def test_same_episodes_same_bytes(original: Path, tmp_path: Path) -> None:
    assert contents(make_closedloop_data(tmp_path / "again")) == contents(original)


def test_the_files_are_those_of_the_release(original: Path) -> None:
    with gzip.open(original / "recognition" / "episodes.json.gz") as file:
        row = json.load(file)["episodes"][0]
    assert {"episode_id", "scene_id", "difficulty", "target_id", "target_categrory"} <= set(row)
    assert isinstance(row["episode_id"], int)
    assert (original / "recognition" / "episodes.json.gz").read_bytes()[4:8] == bytes(4), "no time in it"
    told = json.loads((original / "navigation" / "episodes.json").read_text())
    assert told["num_items"] == len(told["data"]) == 3
    row = told["data"][0]
    assert row["goal_image_relpath"] == f"images/{row['datum_id']}.png"
    with zipfile.ZipFile(original / "navigation" / "goal_images.zip") as packed:
        assert packed.namelist() == [f"images/000{k}.png" for k in range(3)]
    rows = json.loads((original / "questions" / "questions.json").read_text())
    assert "extra_answers" not in rows[0]
    assert rows[1]["extra_answers"] == ["dark brown"]
    assert json.loads((original / "questions" / "reference_lengths.json").read_text()) == {
        "q-0": 5.0,
        "q-1": 6.0,
        "q-2": 7.0,
    }


@pytest.mark.parametrize("packed", [True, False], ids=["gz", "json"])
@pytest.mark.parametrize("inside", ["", "eval_datasets", "WIW_datasets/eval_datasets"])
def test_the_published_files_load(tmp_path: Path, packed: bool, inside: str) -> None:
    make_published_data(tmp_path / inside, packed=packed)
    found = load(tmp_path)
    assert (
        len(found.episodes["recognition"]),
        len(found.episodes["navigation"]),
        len(found.episodes["questions"]),
    ) == (3, 3, 3)
    assert (found.faults, found.notes) == ((), ())
    first = found.episodes["recognition"][0]
    assert (first.id, first.category, first.target, first.start.z) == ("0", "chest of drawers", 100, 0.072447)
    assert first.start[:3] == pytest.approx((2.0, -1.0, math.pi / 4), abs=1e-6)
    assert found.episodes["navigation"][0].goal.yaw == pytest.approx(-2 * math.asin(0.160523713), abs=1e-6), (
        "either sign"
    )
    assert goal_image(found.episodes["navigation"][2]).shape == (36, 64, 3)
    question = found.episodes["questions"][0]
    assert (question.extra_answers, question.hfov_deg) == (("on top of the stove",), 105.0)
    assert (question.reference_m, question.blind_answer) == (None, None)
    assert found.scenes == {MP3D: None, HM3D: None}


def test_the_release_reads_every_file_of_its_folder_of_recognition(tmp_path: Path) -> None:
    make_published_data(tmp_path)
    for scene in ("2azQ1b91cZZ", "8194nk5LbLH"):
        write_json(tmp_path / "AR" / f"{scene}.json", {"episodes": recognition_rows()}, True)
    found = load(tmp_path)
    ids = [episode.id for episode in found.episodes["recognition"]]
    assert ids == [f"{name}-{k}" for name in ("2azQ1b91cZZ", "8194nk5LbLH", "episodes_AR") for k in range(3)]
    assert found.faults == ()


@pytest.mark.parametrize("kind", ["AR", "IGNav", "AEQA"])
@pytest.mark.parametrize("packed", [True, False], ids=["gz", "json"])
@pytest.mark.parametrize("name", ["episodes.json", "anything at all.JSON"])
def test_one_published_file_alone(tmp_path: Path, kind: str, packed: bool, name: str) -> None:
    release = make_published_data(tmp_path / "release", packed=packed)
    (file,) = [path for path in (release / kind).iterdir() if ".json" in path.name]
    (tmp_path / "alone").mkdir()
    alone = Path(shutil.copy(file, tmp_path / "alone" / (name + ".gz" if packed else name)))
    found = load(tmp_path / "alone")
    assert len(found) == 3
    assert load(alone) == found, "or the file itself"
    if kind == "IGNav":
        assert found.notes == (
            f"3 navigation episodes have no goal image beside {alone.name} (first: 0; no zip is there)",
        )
        with pytest.raises(DataError, match=r"images/0\.png into a zip"):
            goal_image(found.episodes["navigation"][0])


def test_answers_beside_the_questions(tmp_path: Path) -> None:
    ids = [row["question_id"] for row in question_rows()]
    write_json(tmp_path / "AEQA" / "episodes_AEQA.json", question_rows(), True)
    write_json(tmp_path / "AEQA" / "open-eqa-184-blind.json", {ids[0]: "a lamp", ids[1]: "no"}, False)
    write_json(tmp_path / "AEQA" / "lengths.json", {ids[0]: 12, ids[2]: 5.01, "of another split": 1.0}, True)
    found = load(tmp_path).episodes["questions"]
    assert [one.blind_answer for one in found] == ["a lamp", "no", None]
    assert [one.reference_m for one in found] == [12.0, None, 5.01]


def test_scenes_under_agreements_say_which(tmp_path: Path) -> None:
    for scene, words, then in (
        (MP3D, "Matterport3D, under its Terms of Use", "worldgauge world add mp3d DIR"),
        ("17DRP5sb8fy", "Matterport3D, under its Terms of Use", "worldgauge world add mp3d DIR"),
        (HM3D, "End User License Agreement", "worldgauge world add hm3d DIR"),
        ("00824-Dd4bFSTQ8gi", "End User License Agreement", "worldgauge world add hm3d DIR"),
        ("home-test-0001", "not in field 'worlds' of worldgauge.json", "worldgauge collect closedloop"),
    ):
        text = scene_missing(scene)
        assert words in text
        assert text.endswith(then)
        assert "\n" not in text


def test_a_user_may_name_a_world_for_a_scan(tmp_path: Path) -> None:
    make_published_data(tmp_path)
    world = {"world": "my-scans", "params": {"file": "a.glb"}, "digest": None}
    content = {"format": "closedloop", "version": 1, "settings": {}, "worlds": {HM3D: world}}
    (tmp_path / "worldgauge.json").write_text(json.dumps(content))
    for root in (tmp_path, tmp_path / "IGNav"):
        facts = load(root).scenes[HM3D]
        assert facts is not None
        assert (facts.name, facts.params) == ("my-scans", {"file": "a.glb"})


def test_goal_images_may_be_unpacked(tmp_path: Path) -> None:
    folder = make_published_data(tmp_path) / "IGNav"
    packed = folder / "igdataset_goal_imgs.zip"
    zipped = goal_image(load(tmp_path).episodes["navigation"][1])
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(folder / "goal_imgs_unzipped")
    packed.unlink()
    found = load(tmp_path).episodes["navigation"][1]
    assert found.goal_image == folder / "goal_imgs_unzipped" / "images" / "1.png"
    np.testing.assert_array_equal(goal_image(found), zipped)
    for path in (folder / "goal_imgs_unzipped" / "images").iterdir():
        path.unlink()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("some folder/images/1.png", cv2.imencode(".png", zipped)[1].tobytes())
    np.testing.assert_array_equal(goal_image(load(tmp_path).episodes["navigation"][1]), zipped)


def test_what_a_task_is_made_of_is_in_its_fingerprint(data: Path) -> None:
    found = load(data)
    world = found.scenes[SCENE]
    episodes = (*found.episodes["recognition"], *found.episodes["navigation"], *found.episodes["questions"])
    prints = {fingerprint_of(episode, world) for episode in episodes}
    assert len(prints) == 9
    first = found.episodes["recognition"][0]
    assert fingerprint_of(first) != fingerprint_of(first, world)
    assert fingerprint_of(replace(first, height_m=1.1)) != fingerprint_of(first)
    going = found.episodes["navigation"][0]
    elsewhere = Path(shutil.copytree(data, data.parent / "elsewhere"))
    assert fingerprint_of(load(elsewhere).episodes["navigation"][0]) == fingerprint_of(going), "wherever it lies"
    image = goal_image(going)
    image[0, 0] ^= 1
    _, navigation, _ = home_episodes(3)
    write_navigation(elsewhere, navigation, dict.fromkeys((one.id for one in navigation), image))
    assert fingerprint_of(load(elsewhere).episodes["navigation"][0]) != fingerprint_of(going), "the image counts"


def test_ids_that_are_no_numbers(tmp_path: Path) -> None:
    recognition, _, _ = home_episodes(2)
    named = [replace(recognition[0], id="home-0003-7"), replace(recognition[1], id="007")]
    write_recognition(tmp_path, named)
    assert [episode.id for episode in load(tmp_path).episodes["recognition"]] == ["home-0003-7", "007"]


def test_what_cannot_be_written(tmp_path: Path) -> None:
    recognition, navigation, _ = home_episodes(2)
    with pytest.raises(DataError, match="'0' is there twice"):
        write_recognition(tmp_path, [recognition[0]] * 2)
    with pytest.raises(DataError, match="rename it"):
        write_recognition(tmp_path, [replace(recognition[0], id="../up")])
    with pytest.raises(DataError, match=r"2 episodes have no goal image \(first: 0000\)"):
        write_navigation(tmp_path, navigation, {})
    with pytest.raises(ShapeError, match="float64"):
        write_navigation(tmp_path, navigation, {one.id: np.zeros((4, 8, 3)) for one in navigation})
    assert not [path for path in tmp_path.rglob("*") if path.is_file()], "nothing is left half written"
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be written"):
        write_recognition(tmp_path / "file", recognition)
