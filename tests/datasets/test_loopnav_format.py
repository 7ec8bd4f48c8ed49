"""LoopNav on disk: written as published, read in every spelling, found in every order, never trusted."""

import json
import math
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopnav_data import frames_of, put, random_walk, straight_loop
from worldgauge.collect.walk import Walk, WalkGoal
from worldgauge.datasets import loopnav, loopnav_index, loopnav_records
from worldgauge.datasets.loopnav_records import Goal, parse_records, walk_of
from worldgauge.episode import WorldFacts
from worldgauge.errors import DataError, UsageError
from worldgauge.geometry import yaw_pitch_from_pose
from worldgauge.video import Clip

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "loopnav_sgcs.json").read_text())

RECORD: dict[str, Any] = {
    "x": 10.5,
    "y": 64.0,
    "z": 20.25,
    "yaw": 7.0,
    "pitch": -0.1,
    "action": {"forward": True, "jump": False, "camera": [0.1, 0.0], "back": False, "sneak": False},
    "goal": {"x": 10, "y": 64, "z": 20},
    "frame_count": 20,
    "extra_info": {"seed": 42, "location": "plains_village_1", "nvtype": "ABA", "nvrange": 5},
}


def parse(*rows: Any) -> list[loopnav.Record]:
    return parse_records(json.dumps(rows).encode(), "x.json")


def edit(path: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Change the records of a JSON file in place; a returned value replaces them."""
    rows = json.loads(path.read_text())
    changed = change(rows)
    path.write_text(json.dumps(rows if changed is None else changed))


# Where the way back begins


def goals_of(case: dict[str, Any]) -> list[Goal | None]:
    runs = [(run["goal"], run["count"]) for run in case["goals_run_length"]]
    return [None if goal is None else Goal(goal["x"], goal["z"]) for goal, count in runs for _ in range(count)]


@pytest.mark.parametrize("case", VECTORS["segment_cases"], ids=lambda case: case["note"])
def test_segment_vectors(case: dict[str, Any]) -> None:
    goals = goals_of(case)
    index = loopnav.return_index((case["start"]["x"], case["start"]["z"]), goals)
    expected = case["expected"]
    assert index == expected["return_index"]
    assert (index is not None and index != len(goals) - 1) == expected["valid"]
    if expected["valid"]:
        assert [index, len(goals) - 1] == expected["evaluated_frames"]
        assert len(goals) - index == expected["n_evaluated"]


def test_the_exact_rule_is_not_fooled_by_a_near_c() -> None:
    cases = {case["note"].split()[0]: goals_of(case) for case in VECTORS["segment_cases"]}
    assert loopnav.exact_return_index(cases["ABA"]) == 13
    assert loopnav.exact_return_index(cases["ABCA"]) == 23
    assert loopnav.exact_return_index(cases["C"]) == 14  # the released rule says 8
    assert loopnav.exact_return_index(cases["null"]) == 6
    assert loopnav.exact_return_index([Goal(5, 5)] * 4) is None
    assert loopnav.exact_return_index([]) is None
    # A goal of the same block but another form is another leg: C on A's own column.
    legs = [Goal(0, 0, 64), Goal(9, 9, 64), Goal(0, 0, 64), Goal(0, 0, None, 1)]
    assert loopnav.exact_return_index(legs) == 2


# Reading records


def test_released_record() -> None:
    (record,) = parse(RECORD)
    assert (record.x, record.y, record.z, record.yaw_raw, record.pitch) == (10.5, 64, 20.25, 7, -0.1)
    assert record.yaw == pytest.approx(7 - 2 * math.pi)
    assert (record.forward, record.jump, record.camera, record.held) == (True, False, (0.1, 0), ())
    assert record.goal == Goal(10, 20, 64)
    assert (record.frame_count, record.location, record.type) == (20, "plains_village_1", "ABA")
    assert (record.radius, record.seed) == (5, 42)


def test_paper_spelling_and_missing_keys() -> None:
    row = {key: value for key, value in RECORD.items() if key not in ("frame_count", "extra_info")}
    row |= {"frame count": 21, "extra info": {"NvType": "ABCA", "nv_range": 15}, "goal": {"x": 1, "z": 2, "rangeSq": 1}}
    row["action"] = {"forward": False, "jump": True, "camera": [0, 0.05]}
    (record,) = parse(row)
    assert (record.frame_count, record.type, record.radius, record.seed) == (21, "ABCA", 15, None)
    assert record.goal == Goal(1, 2, None, 1)
    assert record.jump
    (bare,) = parse({"x": 1, "y": 2, "z": 3, "yaw": 0, "pitch": 0, "action": {}, "goal": None})
    assert (bare.forward, bare.camera, bare.goal, bare.frame_count, bare.location) == (False, (0, 0), None, None, None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": None}, "record 1: field 'x' is missing"),
        ({"y": "64"}, "record 1: field 'y' must be a number, got text"),
        ({"z": True}, "record 1: field 'z' must be a number, got true/false"),
        ({"yaw": 1e300}, "record 1: field 'yaw' is beyond"),
        ({"pitch": 10**400}, "record 1: field 'pitch' is beyond"),
        ({"action": None}, "record 1: field 'action' is missing"),
        ({"action": []}, "record 1, field 'action': expected an object, got a list"),
        ({"action": {"forward": 1}}, "field 'action': field 'forward' must be true or false, got a number"),
        ({"action": {"camera": [0.1]}}, "field 'camera' must be a list of two angles"),
        ({"action": {"camera": [0.1, None]}}, "field 'camera' must be a number, got null"),
        ({"goal": 5}, "record 1, field 'goal': expected an object, got a number"),
        ({"goal": {"x": 1}}, "field 'goal': field 'z' is missing"),
        ({"frame_count": 20.5}, "field 'frame_count' must be a whole number"),
        ({"extra_info": {"location": 7}}, "field 'extra_info': field 'location' must be text, got a number"),
    ],
)
def test_errors_name_file_record_and_field(change: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        parse(RECORD, {**RECORD, **change})
    assert str(caught.value).startswith("x.json: record 1")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"null",
        b"[1]",
        b"[[]]",
        b"\xff\xfe[",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" + b"9" * 6000 + b"]",
        json.dumps([RECORD]).replace("10.5", "NaN").encode(),
        json.dumps([RECORD]).replace("10.5", "-Infinity").encode(),
        json.dumps([RECORD]).replace("10.5", "1e999").encode(),
        json.dumps([RECORD])[:-3].encode(),
    ],
)
def test_what_is_not_a_list_of_records_is_refused(content: bytes) -> None:
    with pytest.raises(DataError, match=r"^x\.json: "):
        parse_records(content, "x.json")


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([RECORD] * 4))
    assert len(loopnav.read_records(path)) == 4
    monkeypatch.setattr(loopnav_records, "MAX_RECORDS", 3)
    with pytest.raises(DataError, match="4 records pass the limit of 3"):
        loopnav.read_records(path)
    monkeypatch.setattr(loopnav_records, "MAX_JSON_BYTES", 100)
    with pytest.raises(DataError, match="bytes pass the limit of 100"):
        loopnav.read_records(path)
    with pytest.raises(DataError, match="cannot be read"):
        loopnav.read_records(tmp_path / "absent.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
PLACES = [(key,) for key in RECORD] + [(k, i) for k in ("action", "goal", "extra_info") for i in RECORD[k]]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), JSON | st.just(...)), min_size=1, max_size=4))
def test_mutated_records_are_read_or_refused(mutations: list[tuple[tuple[str, ...], Any]]) -> None:
    row = json.loads(json.dumps(RECORD))
    for place, value in mutations:
        holder = row if len(place) == 1 else row.get(place[0])
        if not isinstance(holder, dict):
            continue
        if value is ...:
            holder.pop(place[-1], None)
        else:
            holder[place[-1]] = value
    try:
        records = parse(row)
    except DataError as error:
        assert str(error).startswith("x.json: record 0")  # noqa: PT017
    else:
        walk = walk_of(records, "ABA", 5)
        assert np.isfinite(walk.positions).all()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_flipped_bytes_are_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(json.dumps([RECORD, RECORD]).encode())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=5)):
        content[place] = data.draw(st.integers(0, 255))
    try:
        parse_records(bytes(content), "x.json")
    except DataError as error:
        assert "x.json" in str(error)  # noqa: PT017


# Writing and reading back


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**20), n=st.integers(1, 12))
def test_what_is_written_is_read(tmp_path: Path, seed: int, n: int) -> None:
    walk = random_walk(seed, n)
    records = loopnav.read_records(put(tmp_path, walk))
    back = walk_of(records, walk.kind, walk.radius)
    for name in ("positions", "pitch", "camera", "forward", "jump"):
        np.testing.assert_array_equal(getattr(back, name), getattr(walk, name), err_msg=name)
    np.testing.assert_allclose(back.yaw, walk.yaw, atol=1e-12)
    assert back.goals == walk.goals
    assert (back.kind, back.radius, back.seed) == (walk.kind, walk.radius, walk.seed)
    np.testing.assert_allclose(back.poses, walk.poses, atol=1e-12)


def test_the_files_are_the_published_ones(tmp_path: Path) -> None:
    path = put(tmp_path)
    assert path == tmp_path / "ABA" / "plains_village_20" / "5" / "01-01_00-00-00.json"
    assert sorted(p.name for p in path.parent.iterdir()) == ["01-01_00-00-00.avi", "01-01_00-00-00.json"]
    rows = json.loads(path.read_text())
    assert set(rows[0]) == {"x", "y", "z", "yaw", "pitch", "action", "goal", "frame_count", "extra_info"}
    assert set(rows[0]["action"]) == {"forward", "back", "left", "right", "jump", "sprint", "sneak", "camera"}
    assert rows[0]["extra_info"] == {"seed": 42, "location": "plains_village_20", "nvtype": "ABA", "nvrange": 5}
    assert [row["frame_count"] for row in rows] == list(range(20, 20 + len(rows)))
    assert rows[0]["goal"] == {"x": 5, "y": 64, "z": 7}
    assert rows[-5]["goal"] == {"x": 5, "z": 7, "rangeSq": 1}
    assert rows[-1]["goal"] is None
    clip = Clip.open(path.with_suffix(".avi"))
    assert (len(clip), clip.fps) == (len(rows), 20)


def test_frames_of_reference_by_hand(tmp_path: Path) -> None:
    """At rest at our (5.5, -7.5, 64) looking to +y: the game's (5.5, 64, 7.5) looking to -z, its yaw 0."""
    rows = json.loads(put(tmp_path).read_text())
    assert [rows[0][key] for key in ("x", "y", "z", "yaw")] == [5.5, 64.0, 7.5, 0.0]
    episode = loopnav.load(loopnav.discover(tmp_path)[0])
    np.testing.assert_allclose(episode.poses[0][:3, 3], (5.5, -7.5, 65.6))
    np.testing.assert_allclose(episode.poses[0][:3, 2], (0, 1, 0), atol=1e-12)
    assert episode.camera.fy == pytest.approx(12 / 2 / math.tan(math.radians(37.5)))


def test_actions_line_up_with_what_they_cause(tmp_path: Path) -> None:
    put(tmp_path)
    episode = loopnav.load(loopnav.discover(tmp_path)[0])
    yaw, _ = yaw_pitch_from_pose(episode.poses)
    step = np.linalg.norm(np.diff(episode.poses[:, :2, 3], axis=0), axis=1)
    np.testing.assert_allclose(np.diff(np.unwrap(yaw)), episode.actions.column("camera_yaw"), atol=2e-3)
    np.testing.assert_array_equal(step > 0.1, episode.actions.column("forward") == 1)
    assert len(episode) == len(episode.actions) + 1
    assert episode.facts["return_index"] == episode.facts["exact_return_index"] == episode.facts["goal_changes"][2] - 1


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "..\\x", "/etc", "a b", ".hidden", "ä", "x\n", "a" * 200])
def test_names_never_become_paths(tmp_path: Path, name: str) -> None:
    walk = straight_loop()
    good = {"location": "place", "type": "ABA", "radius": 5, "stamp": "01"}
    for field in ("location", "stamp", "type"):
        with pytest.raises(DataError, match="name"):
            loopnav.write_trajectory(
                tmp_path / "in", **{**good, field: name}, walk=walk, frames=frames_of(len(walk)), seed=0
            )
    with pytest.raises(DataError, match="name"):
        loopnav.write_manifest(tmp_path / "in", {name: WorldFacts("voxel", {})}, {})
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_location_in_extra_info_is_compared_not_followed(tmp_path: Path) -> None:
    path = put(tmp_path)
    for location in ("../../../etc", "..", "desert_village_1"):
        edit(path, lambda rows, name=location: [row["extra_info"].update(location=name) for row in rows] and None)
        (found,) = loopnav.discover(tmp_path)
        assert found.location == "plains_village_20"
        assert found.id == "ABA/plains_village_20/5/01-01_00-00-00"
        assert found.flags == ("extra_info_differs",)
        assert found.invalid is None


def test_writing_leaves_all_or_nothing(tmp_path: Path) -> None:
    walk = straight_loop()
    arguments = {"location": "place", "type": "ABA", "radius": 5, "stamp": "01", "walk": walk, "seed": 0}
    with pytest.raises(DataError, match="frames for a walk of"):
        loopnav.write_trajectory(tmp_path, **arguments, frames=frames_of(len(walk) - 1))

    def broken() -> Any:
        yield frames_of(3)
        raise RuntimeError("the renderer died")

    with pytest.raises(RuntimeError, match="died"):
        loopnav.write_trajectory(tmp_path, **arguments, frames=broken())
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []
    whole = loopnav.write_trajectory(tmp_path, **arguments, frames=iter(frames_of(len(walk))))
    first = whole.read_bytes(), whole.with_suffix(".avi").read_bytes()
    loopnav.write_trajectory(tmp_path, **arguments, frames=frames_of(len(walk)))
    assert (whole.read_bytes(), whole.with_suffix(".avi").read_bytes()) == first, "same walk, same bytes"
    with pytest.raises(RuntimeError):
        loopnav.write_trajectory(tmp_path, **arguments, frames=broken())
    assert not whole.exists(), "an interrupted rewrite must not leave old records beside a new video"


# Finding


def test_both_folder_orders(tmp_path: Path) -> None:
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


def test_names_on_disk(tmp_path: Path) -> None:
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


def test_the_index_saves_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for second in range(3):
        put(tmp_path, stamp=f"01-01_00-00-0{second}")
    first = loopnav.discover(tmp_path)
    seen: list[str] = []
    examine = loopnav_index._examine
    monkeypatch.setattr(loopnav_index, "_examine", lambda pair: seen.append(pair.stamp) or examine(pair))
    assert loopnav.discover(tmp_path) == first
    assert seen == []
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
    index = json.loads((tmp_path / loopnav_index.INDEX_FILE).read_text())
    assert len(index["entries"]) == 2, "what is gone is forgotten"


def test_an_interrupted_look_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for second in range(4):
        put(tmp_path, stamp=f"01-01_00-00-0{second}")
    seen: list[str] = []
    examine = loopnav_index._examine

    def interrupted(pair: Any) -> Any:
        seen.append(pair.stamp)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return examine(pair)

    monkeypatch.setattr(loopnav_index, "_examine", interrupted)
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
        lambda index: json.dumps({"version": 1, "entries": [1]}).encode(),
        lambda index: json.dumps(
            {**index, "entries": {key: {"stamps": e["stamps"]} for key, e in index["entries"].items()}}
        ).encode(),
        lambda index: json.dumps({**index, "entries": dict.fromkeys(index["entries"], 5)}).encode(),
    ],
)
def test_a_spoilt_index_is_made_again(tmp_path: Path, spoil: Callable[[dict[str, Any]], bytes]) -> None:
    put(tmp_path)
    first = loopnav.discover(tmp_path)
    path = tmp_path / loopnav_index.INDEX_FILE
    good = path.read_bytes()
    path.write_bytes(spoil(json.loads(good)))
    assert loopnav.discover(tmp_path) == first
    assert path.read_bytes() == good


def test_a_folder_that_cannot_be_written_is_indexed_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "data")
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    first = loopnav.discover(tmp_path / "data")
    assert not (tmp_path / "data" / loopnav_index.INDEX_FILE).exists()
    assert len(list((tmp_path / "cache").rglob("*.json"))) == 1
    monkeypatch.setattr(loopnav_index, "_examine", None)
    assert loopnav.discover(tmp_path / "data") == first


# Validity


def with_(walk: Walk, **changes: Any) -> Walk:
    return replace(walk, **changes)


def goals_without(walk: Walk, keep: Callable[[WalkGoal], bool]) -> tuple[WalkGoal | None, ...]:
    return tuple(goal if goal is not None and keep(goal) else None for goal in walk.goals)


LOOP = straight_loop()
AT_A, AT_B = LOOP.goals[0], LOOP.goals[80]


@pytest.mark.parametrize(
    ("walk", "reason"),
    [
        (LOOP, None),
        (with_(LOOP, goals=goals_without(LOOP, lambda goal: goal != AT_B)), "never left its start"),
        (with_(LOOP, goals=(*LOOP.goals[:-1], AT_B)), "never came back"),
        (with_(LOOP, positions=LOOP.positions + np.linspace(0, 4, len(LOOP))[:, None]), "blocks from its start"),
        (with_(LOOP, camera=LOOP.camera * 1.6), "camera turns 0.160 rad"),
        (with_(LOOP, camera=LOOP.camera * 1.5), None),
        (with_(LOOP, goals=(*[AT_B] * 20, *[LOOP.goals[-5]] * (len(LOOP) - 20))), "only 19 frames before its way back"),
    ],
)
def test_validity_of_walks(tmp_path: Path, walk: Walk, reason: str | None) -> None:
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
def test_validity_of_files(tmp_path: Path, change: Callable[[Any], Any], reason: str) -> None:
    path = put(tmp_path)
    edit(path, change)
    (found,) = loopnav.discover(tmp_path)
    assert reason in str(found.invalid)
    assert str(tmp_path) not in str(found.invalid), "a reason travels with the folder"


def test_unequal_lengths_are_an_error_with_both_numbers(tmp_path: Path) -> None:
    path = put(tmp_path)
    edit(path, lambda rows: rows[:-2])
    (found,) = loopnav.discover(tmp_path)
    n = len(LOOP)
    assert found.invalid == f"{n} frames in the video, {n - 2} records"
    with pytest.raises(DataError, match=rf"{n} frames, but {n - 2} records"):
        loopnav.load(found)


def test_missing_and_broken_halves(tmp_path: Path) -> None:
    put(tmp_path, stamp="1")
    put(tmp_path, stamp="2").with_suffix(".avi").unlink()
    put(tmp_path, stamp="3").with_suffix(".avi").write_bytes(b"nothing")
    put(tmp_path, stamp="4").unlink()
    found = {t.stamp: t for t in loopnav.discover(tmp_path)}
    assert found["1"].invalid is None
    assert "no video" in str(found["2"].invalid)
    assert "not a readable video" in str(found["3"].invalid)
    assert "no records" in str(found["4"].invalid)
    for stamp in "234":
        with pytest.raises(DataError, match=rf"{stamp}\.(avi|json)"):
            loopnav.load(found[stamp])


def test_other_keys_and_fallback_are_flags(tmp_path: Path) -> None:
    path = put(tmp_path, stamp="1")
    edit(path, lambda rows: rows[9]["action"].update(right=True))
    put(tmp_path, with_(LOOP, kind="ABCA"), stamp="2")
    flags = {t.stamp: t.flags for t in loopnav.discover(tmp_path)}
    assert flags == {"1": ("other_keys",), "2": ("segment_fallback",)}


# Choosing


def test_splits_by_village() -> None:
    splits = [loopnav.split_of(index) for index in range(22)]
    assert splits == [None, *["train"] * 16, *["validation"] * 2, *["test"] * 2, None]


def test_the_papers_choice(tmp_path: Path) -> None:
    tiny = random_walk(1, 1)
    for location in ("plains_village_20", "zombie_village_20", "plains_village_19", "river"):
        for stamp in ("01-04", "01-01", "01-02", "01-03"):
            for radius in (5, 15):
                put(tmp_path, with_(tiny, radius=radius), location=location, stamp=stamp)
    found = loopnav.discover(tmp_path)
    assert len(found) == 32
    assert loopnav.select(found) == found
    chosen = loopnav.select(reversed(found), "paper")
    assert [t.id for t in chosen] == [
        f"ABA/{kind}_village_20/{radius}/01-0{day}"
        for kind in ("plains", "zombie")
        for radius in (15, 5)
        for day in (1, 2, 3)
    ]
    assert chosen[0].village_kind == "plains"
    assert {t.split for t in found} == {"test", None}
    with pytest.raises(UsageError, match="all"):
        loopnav.select(found, "some")  # type: ignore[arg-type]


def test_the_manifest_names_the_worlds(tmp_path: Path) -> None:
    assert loopnav.worlds_of(tmp_path) == {}
    assert loopnav.default_selection(tmp_path) == "paper"
    first = {"plains_village_1": WorldFacts("voxel", {"kind": "plains", "seed": 3}, "abc")}
    second = {"desert_village_1": WorldFacts("voxel", {"kind": "desert", "seed": 4})}
    loopnav.write_manifest(tmp_path, first, {"seed": 42})
    path = loopnav.write_manifest(tmp_path, second, {"seed": 42})
    assert loopnav.worlds_of(tmp_path) == first | second
    assert loopnav.default_selection(tmp_path) == "all"
    manifest = json.loads(path.read_text())
    assert set(manifest) == {"format", "version", "settings", "locations", "camera"}
    assert manifest["locations"]["plains_village_1"]["digest"] == "abc"
    with pytest.raises(DataError, match="another world"):
        loopnav.write_manifest(tmp_path, {"plains_village_1": WorldFacts("voxel", {"kind": "snowy"})}, {})
    spoilt = [
        b"{",
        b"[]",
        b'{"version": 1}',
        b'{"version": 99, "locations": {}}',
        b'{"version": 1, "locations": {"x": {"world": "v"}}}',
        b'{"version": 1, "locations": {"../x": {"world": "v", "params": {}}}}',
    ]
    for content in spoilt:
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"worldgauge\.json"):
            loopnav.worlds_of(tmp_path)
