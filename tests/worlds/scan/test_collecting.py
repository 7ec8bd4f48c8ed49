"""Which scans and walks collections plan; their walks are those of any world with a floor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from worldgauge.core.errors import UsageError
from worldgauge.engine.collect import collect, open_collection

KEY = "example/room"


def test_targets_are_planned_in_scans(tmp_path: Path) -> None:
    given = {"world": "scan", "scenes": KEY, "per_scene": 2}
    collection = open_collection("targetbench", tmp_path, given)
    items = list(collection.items())
    assert [item.args["world"] for item in items] == [{"name": "scan", "params": {"scene": KEY}}] * 2
    assert {item.args["place"] for item in items} == {"indoors"}
    settings = collection.settings()
    assert (settings["world"], settings["keys"], settings["floor"]) == ("scan", KEY, "heightfield")
    assert "licence" not in settings, "nobody knows the terms of such a folder"
    elsewhere = open_collection("targetbench", tmp_path, {"scenes": 2, "per_scene": 1})
    assert [item.args["world"]["name"] for item in elsewhere.items()] == ["voxel", "indoor"]
    assert "world" not in elsewhere.settings(), "manifests of other worlds are as before"


def test_clips_are_planned_in_scans_in_first_person(tmp_path: Path) -> None:
    given = {"world": "scan", "scenes": KEY, "train": 0, "mem": 2, "action_space": 5, "mirror": 1}
    collection = open_collection("mind", tmp_path, given)
    items = list(collection.items())
    assert len(items) == 8
    assert {item.args["key"] for item in items} == {KEY}
    assert {item.args["perspective"] for item in items} == {"1st"}
    assert collection.settings()["perspectives"] == ["1st"]
    elsewhere = open_collection("mind", tmp_path, {"train": 1, "mem": 0, "action_space": 0, "mirror": 0})
    assert not {"world", "scenes", "floor"} & elsewhere.settings().keys()
    assert [item.args["perspective"] for item in elsewhere.items()] == ["1st", "3rd"]


@pytest.mark.parametrize("name", ["worldinworld", "coverage", "mind", "targetbench"])
@pytest.mark.parametrize("given", [{"world": "scan"}, {"scenes": KEY}])
def test_world_and_scenes_go_together(name: str, given: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="go together"):
        open_collection(name, tmp_path, given)


def test_scans_are_not_seen_over_a_shoulder(tmp_path: Path) -> None:
    given = {"world": "scan", "scenes": KEY, "perspectives": ("3rd",)}
    with pytest.raises(UsageError, match="first person"):
        open_collection("mind", tmp_path, given)


def test_a_tour_of_a_scan_is_walked_at_the_height_of_its_floor(tmp_path: Path) -> None:
    given = {"world": "scan", "scenes": KEY, "steps": 40, "size": (32, 16)}
    collect("coverage", tmp_path / "d", **given)
    manifest = json.loads((tmp_path / "d" / "worldgauge.json").read_text())
    assert (manifest["settings"]["keys"], manifest["settings"]["floor"]) == (KEY, "heightfield")
    report = open_collection("coverage", tmp_path / "d", given).check(tmp_path / "d", decode=True)
    assert report.n_valid == report.n_items > 0
    assert report.n_frames > 5
