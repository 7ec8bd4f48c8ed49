"""Reading episodes, also damaged ones."""

import gzip
import json
import math
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from suites.worldinworld.closedloop_data import (
    HM3D,
    MP3D,
    PANORAMA,
    SCENE,
    home_episodes,
    make_closedloop_data,
    make_published_data,
    navigation_rows,
    question_rows,
    recognition_rows,
    spoilt,
    write_json,
)
from support.folders import contents
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.suites.worldinworld.format import files
from worldgauge.suites.worldinworld.format.check import check
from worldgauge.suites.worldinworld.format.files import fingerprint_of, scene_missing
from worldgauge.suites.worldinworld.format.load import load
from worldgauge.suites.worldinworld.navigation.format import NavigationEpisode, goal_image, write_navigation
from worldgauge.suites.worldinworld.recognition.format import write_recognition
from worldgauge.worlds import open_world


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_closedloop_data(tmp_path_factory.mktemp("worldinworld"))


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
    assert (bare(found.episodes["navigation"]), list(found.episodes["questions"])) == (navigation, questions)
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
        ("home-test-0001", "not in field 'worlds' of worldgauge.json", "worldgauge collect worldinworld"),
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


TILTED = [0.7, 0.7, 0.0, 0.0]


FIELDS: list[tuple[str, Callable[[], list[dict[str, Any]]], dict[str, Any], str]] = [
    ("AR", recognition_rows, {"start_position": ...}, "field 'start_position' is missing"),
    ("AR", recognition_rows, {"target_categrory": "dragon"}, "'target_categrory' is 'dragon'; give one of the 27"),
    ("AR", recognition_rows, {"target_categrory": 7}, "'target_categrory' is 7; give words"),
    ("AR", recognition_rows, {"difficulty": 3}, "'difficulty' is 3; give a whole number from 0 to 2"),
    ("AR", recognition_rows, {"difficulty": True}, "'difficulty' is True"),
    ("AR", recognition_rows, {"target_id": -1}, "'target_id' is -1"),
    ("AR", recognition_rows, {"target_id": 10**400}, "'target_id' is"),
    ("AR", recognition_rows, {"episode_id": None}, "'episode_id' is None; give a whole number or a name"),
    ("AR", recognition_rows, {"episode_id": "../../etc"}, "field 'episode_id'"),
    ("AR", recognition_rows, {"episode_id": 0}, "the id '0' is there twice"),
    ("AR", recognition_rows, {"scene_id": ""}, "'scene_id' is ''; give words"),
    ("AR", recognition_rows, {"scene_id": "x" * 5000}, "'scene_id' has 5000 characters"),
    ("AR", recognition_rows, {"scene_id": "a\x1b[31mb"}, "control characters"),
    ("AR", recognition_rows, {"scene_id": "a\nb"}, "control characters"),
    ("AR", recognition_rows, {"scene_id": "\ud800"}, "lone surrogates"),
    ("AR", recognition_rows, {"start_position": [1, 2]}, "'start_position' is [1, 2]; give a list of 3 numbers"),
    ("AR", recognition_rows, {"start_position": [1, 2, "3"]}, "'start_position' is '3'"),
    ("AR", recognition_rows, {"start_position": [1, 2, 1e300]}, "'start_position' is 1e+300"),
    ("AR", recognition_rows, {"start_position": {"x": 1}}, "give a list of 3 numbers"),
    ("AR", recognition_rows, {"start_rotation": TILTED}, "give a turn about the vertical as w, x, y, z"),
    ("AR", recognition_rows, {"start_rotation": [0, 0, 0, 0]}, "give a turn about the vertical"),
    ("AR", recognition_rows, {"camera_height": 90}, "'camera_height' is 90"),
    ("IGNav", navigation_rows, {"goal_position": ...}, "field 'goal_position' is missing"),
    ("IGNav", navigation_rows, {"goal_radius": 0}, "'goal_radius' is 0"),
    ("IGNav", navigation_rows, {"goal_radius": -0.5}, "'goal_radius' is -0.5"),
    ("IGNav", navigation_rows, {"step_to_goal": 2.5}, "'step_to_goal' is 2.5; give a whole number"),
    ("IGNav", navigation_rows, {"goal_image_relpath": "../../../etc/passwd"}, "give a name such as images/7.png"),
    ("IGNav", navigation_rows, {"goal_image_relpath": "/etc/passwd"}, "give a name such as images/7.png"),
    ("IGNav", navigation_rows, {"goal_image_relpath": "images\\..\\1.png"}, "give a name such as images/7.png"),
    ("IGNav", navigation_rows, {"goal_image_relpath": 4}, "'goal_image_relpath' is 4"),
    ("IGNav", navigation_rows, {"goal_image_relpath": ["a"]}, "'goal_image_relpath' is ['a']"),
    ("AEQA", question_rows, {"answer": None}, "'answer' is None; give words"),
    ("AEQA", question_rows, {"extra_answers": "one"}, "'extra_answers' is 'one'; give a list"),
    ("AEQA", question_rows, {"extra_answers": [["deep"]]}, "'extra_answers' is ['deep']"),
    ("AEQA", question_rows, {"hfov": 0}, "'hfov' is 0"),
    ("AEQA", question_rows, {"question_id": {"a": 1}}, "'question_id' is {'a': 1}"),
]


def publish(root: Path, kind: str, rows: list[Any]) -> None:
    make_published_data(root)
    content: Any = {"AR": {"episodes": rows}, "IGNav": {"data": rows}, "AEQA": rows}[kind]
    write_json(root / kind / f"episodes_{kind}.json", content, True)


@pytest.mark.parametrize(("kind", "rows", "changes", "words"), FIELDS, ids=[f"{f[0]}-{f[3][:40]}" for f in FIELDS])
def test_a_broken_row_is_a_fault_of_its_own(tmp_path, kind, rows, changes, words):
    publish(tmp_path, kind, spoilt(rows(), 1, **changes))
    found = load(tmp_path)
    assert len(found) == 8, "the others are not touched"
    (fault,) = found.faults
    assert fault.kind == {"AR": "recognition", "IGNav": "navigation", "AEQA": "questions"}[kind]
    assert words in fault.text
    assert f"episodes_{kind}.json.gz" in fault.text
    assert fault.text.isprintable(), "one line, without control characters"
    assert len(fault.text) < 250
    report = check(tmp_path)
    assert (report.n_episodes, report.n_valid) == (9, 8)
    assert words in report.findings[0].text
    assert report.findings[0].severity == "error"


@pytest.mark.parametrize("row", [None, 7, "text", [], math.pi])
def test_rows_that_are_none(tmp_path: Path, row: Any) -> None:
    publish(tmp_path, "AR", [row, *recognition_rows()])
    (fault,) = load(tmp_path).faults
    assert fault.id == "row-0"
    assert "is no object; give one an episode" in fault.text


def test_rotations_in_the_order_of_the_simulator_are_understood(tmp_path: Path) -> None:
    w, x, y, z = recognition_rows()[0]["start_rotation"]
    publish(tmp_path, "AR", spoilt(recognition_rows(), 1, start_rotation=[x, y, z, w]))
    first, second, _ = load(tmp_path).episodes["recognition"]
    assert first.start == second.start


FILES: list[tuple[str, bytes, str]] = [
    ("a.json", b"", "not valid JSON"),
    ("a.json", b"{", "not valid JSON"),
    ("a.json", b'{"episodes": [NaN]}', "is not JSON"),
    ("a.json", b"\xff\xfe\x00", "not valid JSON"),
    ("a.json", b'{"episodes": 5}', "field 'episodes' is 5; give a list of episodes"),
    ("a.json", b'{"data": {"a": 1}}', "field 'data' is {'a': 1}; give a list"),
    ("a.json", b"[" * 100_000, "not valid JSON"),
    ("a.json", b'{"episodes":' + b"[" * 200 + b"]" * 200 + b"}", "nested deeper than 32"),
    ("a.json", b'{"episodes": [' + b"9" * 10_000 + b"]}", "not valid JSON"),
    ("a.json.gz", gzip.compress(b'{"episodes": []}')[:-9], "damaged gzip"),
    ("a.json.gz", gzip.compress(b'{"episodes": []}')[:10] + b"\x00\x00garbage", "damaged gzip"),
    ("a.json", b"5", "holds no episodes of the closed loop (a.json holds neither episodes nor"),
    ("a.json", b"{}", "holds no episodes of the closed loop"),
    ("a.json", b'{"q": 1.0}', "holds no episodes of the closed loop"),
]


@pytest.mark.parametrize(("name", "data", "words"), FILES, ids=[f"{f[2][:24]}-{k}" for k, f in enumerate(FILES)])
def test_broken_files(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError) as error:
        load(tmp_path)
    assert words in str(error.value)
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_JSON_BYTES", 2**20)
    bomb = gzip.compress(b'{"episodes": [' + b" " * 2**24 + b"]}")
    assert len(bomb) < 2**20
    (tmp_path / "a.json.gz").write_bytes(bomb)
    with pytest.raises(DataError, match="passes the limit of 1048576 bytes"):
        load(tmp_path)
    (tmp_path / "a.json.gz").write_bytes(b"\x1f\x8b" + bytes(2**20))
    with pytest.raises(DataError, match="passes the limit"):
        load(tmp_path)


def test_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, "AR", [None] * 100_001)
    with pytest.raises(DataError, match="100001 episodes pass the limit of 100000; split the file"):
        load(tmp_path)
    for k in range(65):
        (tmp_path / "AR" / f"{k}.json").write_text("{}")
    with pytest.raises(DataError, match="JSON files pass the limit of 64"):
        load(tmp_path)


def test_two_files_of_a_kind_and_strangers(tmp_path: Path) -> None:
    make_published_data(tmp_path)
    (tmp_path / "AR" / "notes.json").write_text('{"made by": 1, "and": "us"}')
    found = load(tmp_path)
    assert found.notes == ("notes.json holds neither episodes nor anything that belongs to them: not used",)
    assert [finding.text for finding in check(tmp_path).findings if "notes.json" in finding.text]
    write_json(tmp_path / "loose.json", question_rows(), False)
    assert "loose.json lies beside the folders of episodes" in load(tmp_path).notes[0]
    write_json(tmp_path / "recognition" / "more.json", {"episodes": []}, False)
    with pytest.raises(DataError, match=r"holds recognition episodes, as .*; leave one of the two"):
        load(tmp_path)


def test_links_out_of_the_data(tmp_path: Path) -> None:
    make_published_data(tmp_path / "data")
    outside = write_json(tmp_path / "outside.json", {"episodes": recognition_rows()}, False)
    inside = tmp_path / "data" / "AR" / "episodes_AR.json.gz"
    inside.unlink()
    os.symlink(outside, inside.with_suffix(""))
    with pytest.raises(DataError, match="a link that leads out"):
        load(tmp_path / "data")


def zipped(path: Path, write: Callable[[zipfile.ZipFile], None]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        write(packed)


def test_broken_zips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_published_data(tmp_path) / "IGNav" / "igdataset_goal_imgs.zip"
    good = path.read_bytes()
    path.write_bytes(good[:-40])
    with pytest.raises(DataError, match="not a readable zip"):
        load(tmp_path)
    spot = good.index(b"\x89PNG") if b"\x89PNG" in good else 60
    path.write_bytes(good[:spot] + b"\x00" * 8 + good[spot + 8 :])
    with pytest.raises(DataError, match=r"damaged|cannot be read|not a PNG"):
        goal_image(load(tmp_path).episodes["navigation"][0])
    assert len(fingerprint_of(load(tmp_path).episodes["navigation"][0])) == 64, "a fault of this episode alone"
    zipped(path, lambda packed: packed.writestr("images/1.png", b"no picture"))
    found = load(tmp_path)
    assert [one.goal_image is None for one in found.episodes["navigation"]] == [True, False, True]
    assert "2 navigation episodes have no goal image" in found.notes[0]
    with pytest.raises(DataError, match="not a PNG picture"):
        goal_image(found.episodes["navigation"][1])
    assert [f.text for f in check(tmp_path).findings if f.severity == "error" and "not a PNG" in f.text]
    head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (2**16).to_bytes(4, "big") * 2
    zipped(path, lambda packed: packed.writestr("images/1.png", head + bytes(99)))
    with pytest.raises(DataError, match="pass the limit"):
        goal_image(load(tmp_path).episodes["navigation"][1])
    monkeypatch.setattr(files, "MAX_IMAGE_BYTES", 1000)
    zipped(path, lambda packed: packed.writestr("images/1.png", head + bytes(10**6)))
    with pytest.raises(DataError, match="passes the limit of 1000 bytes for a picture"):
        goal_image(load(tmp_path).episodes["navigation"][1])


def test_names_in_zips_never_become_paths(tmp_path: Path) -> None:
    path = make_published_data(tmp_path) / "IGNav" / "igdataset_goal_imgs.zip"

    def hostile(packed: zipfile.ZipFile) -> None:
        for name in ("../images/1.png", "/images/1.png", "a/../images/1.png"):
            packed.writestr(name, b"x")

    zipped(path, hostile)
    assert [one.goal_image for one in load(tmp_path).episodes["navigation"]] == [None] * 3


MANIFESTS: list[tuple[Any, str]] = [
    ([], "field 'format' is not 'closedloop'"),
    ({"format": "target", "version": 1, "worlds": {}}, "field 'format' is not 'closedloop'"),
    ({"format": "closedloop", "version": 9, "worlds": {}}, "version 9 is not 1"),
    ({"format": "closedloop", "version": 1}, "field 'worlds' is None"),
    ({"format": "closedloop", "version": 1, "worlds": {"s": 3}}, "scene 's': 3 is no world"),
    ({"format": "closedloop", "version": 1, "worlds": {"s": {"params": {}}}}, "field 'world' is missing"),
    ({"format": "closedloop", "version": 1, "worlds": {"s": {"world": 1, "params": {}}}}, "needs a name"),
]


@pytest.mark.parametrize(("content", "words"), MANIFESTS, ids=[words[:30] for _, words in MANIFESTS])
def test_broken_manifests(tmp_path: Path, content: Any, words: str) -> None:
    make_published_data(tmp_path)
    (tmp_path / "worldgauge.json").write_text(json.dumps(content))
    with pytest.raises(DataError) as error:
        load(tmp_path)
    assert words in str(error.value)
    assert "worldgauge.json" in str(error.value)


def test_broken_answers_beside_the_questions(tmp_path: Path) -> None:
    ids = [row["question_id"] for row in question_rows()]
    write_json(tmp_path / "questions.json", question_rows(), False)
    write_json(tmp_path / "lengths.json", {ids[0]: -1.0, ids[1]: 1e9}, False)
    write_json(tmp_path / "evidence.json", {ids[2]: ["one"]}, False)
    found = load(tmp_path)
    assert not found.episodes["questions"]
    assert [fault.id for fault in found.faults] == ids
    assert "is -1.0; give a number from 0" in found.faults[0].text
    assert "is 'one'; give a whole number" in found.faults[2].text


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no JSON file is there"):
        load(tmp_path)
