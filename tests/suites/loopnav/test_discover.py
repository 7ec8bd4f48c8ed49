"""LoopNav folders: found in every order, remembered, judged, chosen from."""

import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

from suites.loopnav.loopnav_data import edit, put, random_walk, straight_loop
from worldgauge.core.errors import DataError, UsageError
from worldgauge.suites.loopnav import format as loopnav


def test_both_folder_orders(tmp_path):
    put(tmp_path / "a")
    put(tmp_path / "a", stamp="01-01_00-00-01")
    (tmp_path / "b" / "test_data" / "ABA" / "5").mkdir(parents=True)
    shutil.copytree(tmp_path / "a/ABA/plains_village_20/5", tmp_path / "b/test_data/ABA/5/plains_village_20")
    released, scripts = loopnav.discover(tmp_path / "a"), loopnav.discover(tmp_path / "b")
    assert [t.id for t in released] == [f"ABA/plains_village_20/5/01-01_00-00-0{i}" for i in (0, 1)]
    assert [(t.id, t.fingerprint, t.radius) for t in scripts] == [(t.id, t.fingerprint, 5) for t in released]
    assert loopnav.load(scripts[0]).id == released[0].id
    shutil.copytree(tmp_path / "b/test_data/ABA/5", tmp_path / "a/ABA/5")
    with pytest.raises(DataError, match="twice"):
        loopnav.discover(tmp_path / "a")


def test_one_is_found_by_its_id_without_the_others(tmp_path, monkeypatch):
    for second in range(3):
        put(tmp_path / "a", stamp=f"01-01_00-00-0{second}")
    (tmp_path / "b" / "test_data" / "ABA" / "5").mkdir(parents=True)
    shutil.copytree(tmp_path / "a/ABA/plains_village_20/5", tmp_path / "b/test_data/ABA/5/plains_village_20")
    (tmp_path / "c" / "ABA" / "plains_village_20").mkdir(parents=True)
    shutil.copytree(tmp_path / "a/ABA/plains_village_20/5", tmp_path / "c/ABA/plains_village_20/05")
    found = {folder: loopnav.discover(tmp_path / folder) for folder in "abc"}
    (tmp_path / "a/ABA/plains_village_20/5/01-01_00-00-01.avi").unlink()
    broken = loopnav.discover(tmp_path / "a")[1]
    assert loopnav.find(tmp_path / "c", broken.id) == found["c"][1], "a range that is spelled otherwise"
    assert (loopnav.find(tmp_path / "a", broken.id + "0"), loopnav.find(tmp_path / "a", "ABA")) == (None, None)
    with pytest.raises(DataError, match=r"the name '\.\.'"):
        loopnav.find(tmp_path / "a", "../a/5/01-01_00-00-00")
    monkeypatch.setattr(loopnav, "_entries", None)
    for folder in "ab":
        assert loopnav.find(tmp_path / folder, found[folder][0].id) == found[folder][0]
    assert loopnav.find(tmp_path / "a", broken.id) == broken


def test_names_on_disk(tmp_path):
    with pytest.raises(DataError, match="no such folder"):
        loopnav.discover(tmp_path / "absent")
    assert loopnav.discover(tmp_path) == []
    put(tmp_path)
    (tmp_path / "ABA" / ".DS_Store").write_text("")
    (tmp_path / "notes").mkdir()
    assert len(loopnav.discover(tmp_path)) == 1
    (tmp_path / "ABA" / "bad name" / "5").mkdir(parents=True)
    with pytest.raises(DataError, match="bad name"):
        loopnav.discover(tmp_path)
    os.rename(tmp_path / "ABA" / "bad name", tmp_path / "ABA" / "good")
    os.rename(tmp_path / "ABA" / "good" / "5", tmp_path / "ABA" / "good" / "five")
    with pytest.raises(DataError, match="expected a range"):
        loopnav.discover(tmp_path)


def test_the_index_saves_reading(tmp_path, monkeypatch):
    for second in range(3):
        put(tmp_path, stamp=f"01-01_00-00-0{second}")
    first = loopnav.discover(tmp_path)
    seen = []
    examine = loopnav._examine
    monkeypatch.setattr(loopnav, "_examine", lambda pair: seen.append(pair.stamp) or examine(pair))
    assert (loopnav.discover(tmp_path), seen) == (first, [])
    changed = first[1].records
    edit(changed, lambda rows: rows[0].update(x=5.4))
    second = loopnav.discover(tmp_path)
    assert seen == ["01-01_00-00-01"], "only the changed one is read again"
    assert second[1].fingerprint != first[1].fingerprint
    assert [second[0], second[2]] == [first[0], first[2]]
    first[2].records.unlink()
    assert "has no records" in str(loopnav.discover(tmp_path)[2].invalid)
    first[2].video.unlink()
    assert len(loopnav.discover(tmp_path)) == 2
    index = json.loads((tmp_path / loopnav.INDEX_FILE).read_text())
    assert len(index["entries"]) == 2, "what is gone is forgotten"


def test_an_interrupted_look_is_continued(tmp_path, monkeypatch):
    for second in range(4):
        put(tmp_path, stamp=f"01-01_00-00-0{second}")
    seen = []
    examine = loopnav._examine

    def interrupted(pair):
        seen.append(pair.stamp)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return examine(pair)

    monkeypatch.setattr(loopnav, "_examine", interrupted)
    with pytest.raises(KeyboardInterrupt):
        loopnav.discover(tmp_path)
    assert len(loopnav.discover(tmp_path)) == 4
    assert [stamp[-1] for stamp in seen] == ["0", "1", "2", "2", "3"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda index: b"",
        lambda index: b"[" * 10_000,
        lambda index: b"[]",
        lambda index: json.dumps({"version": 0, "entries": index["entries"]}).encode(),
        lambda index: json.dumps({"version": loopnav.INDEX_VERSION, "entries": [1]}).encode(),
        lambda index: json.dumps(
            {**index, "entries": {key: {"stamps": e["stamps"]} for key, e in index["entries"].items()}}
        ).encode(),
        lambda index: json.dumps({**index, "entries": dict.fromkeys(index["entries"], 5)}).encode(),
    ],
)
def test_a_spoilt_index_is_made_again(tmp_path, spoil):
    put(tmp_path)
    first = loopnav.discover(tmp_path)
    path = tmp_path / loopnav.INDEX_FILE
    good = path.read_bytes()
    path.write_bytes(spoil(json.loads(good)))
    assert (loopnav.discover(tmp_path), path.read_bytes()) == (first, good)


def test_a_folder_that_cannot_be_written_is_indexed_in_the_cache(tmp_path, monkeypatch):
    put(tmp_path / "data")
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    first = loopnav.discover(tmp_path / "data")
    assert not (tmp_path / "data" / loopnav.INDEX_FILE).exists()
    assert len(list((tmp_path / "cache").rglob("*.json"))) == 1
    monkeypatch.setattr(loopnav, "_examine", None)
    assert loopnav.discover(tmp_path / "data") == first


LOOP = straight_loop()
AT_A, AT_B = LOOP.goals[0], LOOP.goals[80]


@pytest.mark.parametrize(
    ("walk", "reason"),
    [
        (LOOP, None),
        (replace(LOOP, goals=tuple(None if goal == AT_B else goal for goal in LOOP.goals)), "never left its start"),
        (replace(LOOP, goals=(*LOOP.goals[:-1], AT_B)), "never came back"),
        (replace(LOOP, positions=LOOP.positions + np.linspace(0, 4, len(LOOP))[:, None]), "blocks from its start"),
        (replace(LOOP, camera=LOOP.camera * 1.6), "camera turns 0.160 rad"),
        (replace(LOOP, camera=LOOP.camera * 1.5), None),
        (
            replace(LOOP, goals=(*[AT_B] * 20, *[LOOP.goals[-5]] * (len(LOOP) - 20))),
            "only 19 frames before its way back",
        ),
    ],
)
def test_validity_of_walks(tmp_path, walk, reason):
    put(tmp_path, walk)
    (found,) = loopnav.discover(tmp_path)
    assert found.invalid is None if reason is None else reason in str(found.invalid)
    assert len(loopnav.load(found)) == len(walk), "left out of the benchmark, still a recording"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda rows: [], "holds no record"),
        (lambda rows: rows[:-1], "frames in the video"),
        (lambda rows: [{**row, "frame_count": 20} for row in rows], "frame_count does not grow"),
        (lambda rows: rows[5]["action"].update(dig=True), "digs"),
        (lambda rows: rows[5].update(x="a"), "01-01_00-00-00.json: record 5: field 'x' must be a number"),
    ],
)
def test_validity_of_files(tmp_path, change, reason):
    path = put(tmp_path)
    edit(path, change)
    (found,) = loopnav.discover(tmp_path)
    assert reason in str(found.invalid)
    assert str(tmp_path) not in str(found.invalid), "a reason travels with the folder"


def test_unequal_lengths_are_an_error_with_both_numbers(tmp_path):
    path = put(tmp_path)
    edit(path, lambda rows: rows[:-2])
    (found,) = loopnav.discover(tmp_path)
    n = len(LOOP)
    assert found.invalid == f"{n} frames in the video, {n - 2} records"
    with pytest.raises(DataError, match=rf"{n} frames, but {n - 2} records"):
        loopnav.load(found)


def test_missing_and_broken_halves(tmp_path):
    put(tmp_path, stamp="1")
    put(tmp_path, stamp="2").with_suffix(".avi").unlink()
    put(tmp_path, stamp="3").with_suffix(".avi").write_bytes(b"nothing")
    put(tmp_path, stamp="4").unlink()
    found = {t.stamp: t for t in loopnav.discover(tmp_path)}
    assert found["1"].invalid is None
    assert [found[stamp].fault for stamp in "1234"] == [None, "incomplete", "video", "incomplete"]
    assert "no video" in str(found["2"].invalid)
    assert "not a readable video" in str(found["3"].invalid)
    assert "no records" in str(found["4"].invalid)
    for stamp in "234":
        with pytest.raises(DataError, match=rf"{stamp}\.(avi|json)"):
            loopnav.load(found[stamp])


def test_a_link_to_nothing_spoils_its_own_trajectory_only(tmp_path):
    put(tmp_path, stamp="1")
    video = put(tmp_path, stamp="2").with_suffix(".avi")
    target = tmp_path / "away.avi"
    video.rename(target)
    video.symlink_to(target)
    assert [t.invalid for t in loopnav.discover(tmp_path)] == [None, None]
    target.rename(tmp_path / "back.avi")
    good, bad = loopnav.discover(tmp_path)
    assert good.invalid is None
    assert "a link in it leads nowhere" in str(bad.invalid)
    (tmp_path / "back.avi").rename(target)
    assert loopnav.discover(tmp_path)[1].invalid is None, "a link that leads somewhere again is read again"


def test_a_folder_that_cannot_be_listed_is_one_clear_line(tmp_path, monkeypatch):
    put(tmp_path)

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(DataError, match=r"ABA: cannot be listed \(Permission denied\)"):
        loopnav.discover(tmp_path)


def test_other_keys_and_fallback_are_flags(tmp_path):
    path = put(tmp_path, stamp="1")
    edit(path, lambda rows: rows[9]["action"].update(right=True))
    put(tmp_path, replace(LOOP, kind="ABCA"), stamp="2")
    flags = {t.stamp: t.flags for t in loopnav.discover(tmp_path)}
    assert flags == {"1": ("other_keys",), "2": ("segment_fallback",)}


def test_splits_by_village():
    splits = [loopnav.split_of(index) for index in range(22)]
    assert splits == [None, *["train"] * 16, *["validation"] * 2, *["test"] * 2, None]


def test_the_papers_choice(tmp_path):
    tiny = random_walk(1, 1)
    for location in ("plains_village_20", "zombie_village_20", "plains_village_19", "river"):
        for stamp in ("01-04", "01-01", "01-02", "01-03"):
            for radius in (5, 15):
                put(tmp_path, replace(tiny, radius=radius), location=location, stamp=stamp)
    found = loopnav.discover(tmp_path)
    assert (len(found), loopnav.select(found)) == (32, found)
    chosen = loopnav.select(reversed(found), "paper")
    assert [t.id for t in chosen] == [
        f"ABA/{kind}_village_20/{radius}/01-0{day}"
        for kind in ("plains", "zombie")
        for radius in (15, 5)
        for day in (1, 2, 3)
    ]
    assert chosen[0].village_index == 20
    assert {t.split for t in found} == {"test", None}
    with pytest.raises(UsageError, match="all"):
        loopnav.select(found, "some")
