"""LoopNav's records: read in every spelling, never trusted, and where the way back begins in them."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.core.errors import DataError
from worldgauge.suites.loopnav import format_records as loopnav_records
from worldgauge.suites.loopnav.format_records import (
    RecordedGoal,
    exact_return_index,
    first_return_index,
    parse_records,
    read_records,
    return_index,
    walk_of,
)

RECORD = {
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


def parse(*rows):
    return parse_records(json.dumps(rows).encode(), "x.json")


def goals_of(case):
    runs = [(run["goal"], run["count"]) for run in case["goals_run_length"]]
    return [None if goal is None else RecordedGoal(goal["x"], goal["z"]) for goal, count in runs for _ in range(count)]


@pytest.mark.parametrize("case", cases("loopnav_", "segment_cases"))
def test_vector_loopnav_segment(case):
    goals = goals_of(case)
    index = return_index((case["start"]["x"], case["start"]["z"]), goals)
    expected = case["expected"]
    assert index == expected["return_index"]
    assert (index is not None and index != len(goals) - 1) == expected["valid"]
    if expected["valid"]:
        assert [index, len(goals) - 1] == expected["evaluated_frames"]
        assert len(goals) - index == expected["n_evaluated"]


def test_the_exact_rule_is_not_fooled_by_a_near_c():
    a, b, c, near_a = RecordedGoal(0, -8), RecordedGoal(12, -1), RecordedGoal(20, 10), RecordedGoal(1, -8)
    assert exact_return_index([a] * 6 + [b] * 8 + [a] * 7) == 13
    assert exact_return_index([a] * 4 + [b] * 9 + [c] * 11 + [a] * 10) == 23
    near = [a] * 4 + [b] * 5 + [near_a] * 6 + [a] * 3
    assert (exact_return_index(near), return_index((0.3, -7.7), near)) == (14, 8)
    assert exact_return_index([None] * 3 + [b] * 4 + [None] * 2 + [a] * 5) == 6
    assert (exact_return_index([RecordedGoal(5, 5)] * 4), exact_return_index([])) == (None, None)
    # A goal of the same block but another form is another leg: C on A's own column.
    legs = [RecordedGoal(0, 0, 64), RecordedGoal(9, 9, 64), RecordedGoal(0, 0, 64), RecordedGoal(0, 0, None, 1)]
    assert exact_return_index(legs) == 2


def test_the_first_way_back_of_several_laps():
    a, b, c, home = (
        RecordedGoal(0, -8, 64),
        RecordedGoal(12, -1, 64),
        RecordedGoal(20, 10, 64),
        RecordedGoal(0, -8, None, 1),
    )
    out = [a] * 4 + [b] * 5 + [c] * 6
    assert first_return_index([*out, *[home] * 7]) == exact_return_index([*out, *[home] * 7]) == 14
    laps = [*out, *[home] * 7, None, *[b] * 5, *[c] * 6, *[home] * 7]
    assert (first_return_index(laps), exact_return_index(laps)) == (14, 33)
    assert (first_return_index([a] * 4), first_return_index([])) == (None, None)


def test_released_record():
    (record,) = parse(RECORD)
    assert (record.x, record.y, record.z, record.yaw_raw, record.pitch) == (10.5, 64, 20.25, 7, -0.1)
    assert record.yaw == pytest.approx(7 - 2 * math.pi)
    assert (record.forward, record.jump, record.camera, record.held) == (True, False, (0.1, 0), ())
    assert record.goal == RecordedGoal(10, 20, 64)
    assert (record.frame_count, record.location, record.type) == (20, "plains_village_1", "ABA")
    assert (record.radius, record.seed) == (5, 42)


def test_paper_spelling_and_missing_keys():
    row = {key: value for key, value in RECORD.items() if key not in ("frame_count", "extra_info")}
    row |= {"frame count": 21, "extra info": {"NvType": "ABCA", "nv_range": 15}, "goal": {"x": 1, "z": 2, "rangeSq": 1}}
    row["action"] = {"forward": False, "jump": True, "camera": [0, 0.05]}
    (record,) = parse(row)
    assert (record.frame_count, record.type, record.radius, record.seed) == (21, "ABCA", 15, None)
    assert record.goal == RecordedGoal(1, 2, None, 1)
    assert record.jump
    three = {"forward": False, "jump": False, "camera": [0.0, 0.0]}
    (bare,) = parse({"x": 1, "y": 2, "z": 3, "yaw": 0, "pitch": 0, "action": three, "goal": None})
    assert (bare.held, bare.goal, bare.frame_count, bare.location, bare.seed) == ((), None, None, None, None)
    assert walk_of([bare], "ABA", 5).seed is None, "unknown is not seed 0"
    assert walk_of([], "ABA", 5).seed is None


@pytest.mark.parametrize("key", ["forward", "jump", "camera"])
@pytest.mark.parametrize("absent", [True, False])
def test_the_three_keys_of_the_action_are_never_guessed(key, absent):
    action = {name: value for name, value in RECORD["action"].items() if name != key} | ({} if absent else {key: None})
    with pytest.raises(DataError, match=rf"record 0, field 'action': field '{key}' is missing"):
        parse({**RECORD, "action": action})


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
        ({"action": {**RECORD["action"], "forward": 1}}, "field 'forward' must be true or false, got a number"),
        ({"action": {**RECORD["action"], "camera": [0.1]}}, "field 'camera' must be a list of two angles"),
        ({"action": {**RECORD["action"], "camera": [0.1, None]}}, "field 'camera' must be a number, got null"),
        ({"goal": 5}, "record 1, field 'goal': expected an object, got a number"),
        ({"goal": {"x": 1}}, "field 'goal': field 'z' is missing"),
        ({"frame_count": 20.5}, "field 'frame_count' must be a whole number"),
        ({"extra_info": {"location": 7}}, "field 'extra_info': field 'location' must be text, got a number"),
    ],
)
def test_errors_name_file_record_and_field(change, said):
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
def test_what_is_not_a_list_of_records_is_refused(content):
    with pytest.raises(DataError, match=r"^x\.json: "):
        parse_records(content, "x.json")


def test_sizes_are_bounded(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([RECORD] * 4))
    assert len(read_records(path)) == 4
    monkeypatch.setattr(loopnav_records, "MAX_RECORDS", 3)
    with pytest.raises(DataError, match="4 records pass the limit of 3"):
        read_records(path)
    monkeypatch.setattr(loopnav_records, "MAX_JSON_BYTES", 100)
    with pytest.raises(DataError, match="bytes pass the limit of 100"):
        read_records(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_records(tmp_path / "absent.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
PLACES = [(key,) for key in RECORD] + [(k, i) for k in ("action", "goal", "extra_info") for i in RECORD[k]]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), JSON | st.just(...)), min_size=1, max_size=4))
def test_mutated_records_are_read_or_refused(mutations):
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
def test_flipped_bytes_are_read_or_refused(data):
    content = bytearray(json.dumps([RECORD, RECORD]).encode())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=5)):
        content[place] = data.draw(st.integers(0, 255))
    try:
        parse_records(bytes(content), "x.json")
    except DataError as error:
        assert "x.json" in str(error)  # noqa: PT017
