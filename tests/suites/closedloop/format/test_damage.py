"""Broken and hostile files: each ends in one clear line that names file and field, and costs no memory or time."""

import gzip
import json
import math
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from suites.closedloop.closedloop_data import (
    make_published_data,
    navigation_rows,
    question_rows,
    recognition_rows,
    spoilt,
    write_json,
)
from worldgauge.core.errors import DataError
from worldgauge.suites.closedloop.format import files
from worldgauge.suites.closedloop.format.check import check
from worldgauge.suites.closedloop.format.files import fingerprint_of
from worldgauge.suites.closedloop.format.load import load
from worldgauge.suites.closedloop.navigation.format import goal_image

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
def test_a_broken_row_is_a_fault_of_its_own(
    tmp_path: Path, kind: str, rows: Callable[[], list[dict[str, Any]]], changes: dict[str, Any], words: str
) -> None:
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
