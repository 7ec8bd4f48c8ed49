"""Demonstrations: there and back, the index, what is disjoint, and broken files."""

import json
import os
import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suites.closedloop.training_data import demonstrations_data as fx
from support.folders import contents
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.suites.closedloop.training_data.demonstration import (
    DemonstrationEntry,
    load_demonstrations,
    overlap,
    read_index,
    table_hash,
    write_demonstration,
    write_index,
)
from worldgauge.suites.closedloop.training_data.demonstrations import check

HUGE = {"width": 10**7, "height": 10**7}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fx.written(tmp_path / "data")


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize("depth", [False, True])
def test_what_was_written_comes_back(tmp_path: Path, depth: bool) -> None:
    fx.written(tmp_path, depth=depth)
    (demo,) = load_demonstrations(tmp_path)
    for name in ("id", "task", "variation", "seed", "instruction", "wordings", "things", "camera", "world", "reached"):
        assert getattr(demo, name) == getattr(fx.FACTS, name), name
    assert (len(demo), demo.seconds, demo.clip.fps) == (fx.FRAMES, 1.05, 20 / 3)
    np.testing.assert_array_equal(demo.camera_pose, fx.FACTS.camera_pose)
    np.testing.assert_array_equal(demo.sub_goals, fx.FACTS.sub_goals)
    rows = fx.steps()
    np.testing.assert_array_equal(demo.asked, [row.action for row in rows])
    np.testing.assert_array_equal(demo.hand, [row.pose for row in rows])
    np.testing.assert_array_equal(demo.places, [row.things for row in rows])
    np.testing.assert_array_equal(demo.progress, [0, 0, 0, 0, 0, 0, 1])
    assert demo.under_way.tolist() == [row.sub_goal for row in rows] == [0, 0, 0, 0, 0, 1, 1]
    for k, (rgb, metres) in enumerate(fx.shots(depth)):
        np.testing.assert_array_equal(demo.clip[k], rgb)
        assert (demo.depth is None) is (metres is None)
        if demo.depth is not None:
            np.testing.assert_allclose(demo.depth(k), metres, atol=0.000501)
    np.testing.assert_array_equal(list(demo.clip[2:5]), [rgb for rgb, _ in fx.shots()][2:5])


def test_same_demonstration_same_bytes(folder: Path, tmp_path: Path) -> None:
    assert contents(fx.written(tmp_path / "again")) == contents(folder)
    assert contents(fx.written(folder.parents[1])) == contents(folder), "and takes the place of the old one"


def test_rows_are_those_that_were_agreed(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    assert [row["k"] for row in rows] == list(range(fx.FRAMES))
    assert set(rows[0]) == {"k", "action", "pose", "sub_goal", "progress", "things"}
    assert rows[5]["action"] == [0.1, 0.2, 0.8, 1, 0, 0, 0, 0]
    assert rows[5]["things"][1] == [0.3, -0.2, 0.78]


def test_loading_decodes_nothing_and_opens_no_video(folder: Path) -> None:
    (folder / "frames.mp4").write_bytes(b"no video")
    (demo,) = load_demonstrations(folder.parents[1])
    assert len(demo.clip) == fx.FRAMES
    with pytest.raises(DataError, match="not a readable video"):
        demo.clip[0]


def test_a_demonstration_can_be_sent_to_a_worker(tmp_path: Path) -> None:
    fx.written(tmp_path, depth=True)
    (demo,) = load_demonstrations(tmp_path)
    again = pickle.loads(pickle.dumps(demo))  # noqa: S301
    np.testing.assert_array_equal(again.clip[3], demo.clip[3])
    assert again.depth(3).shape == fx.SIZE[::-1]


def test_they_come_by_task_and_number(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        fx.written(tmp_path, number, fx.SEED + number)
    shutil.copytree(tmp_path / "push_buttons" / "000001", tmp_path / "insert_ring" / "000001")
    edit(tmp_path / "insert_ring" / "000001" / "manifest.json", task="insert_ring")
    found = [demo.id for demo in load_demonstrations(tmp_path)]
    assert found == ["insert_ring/000001", *(f"push_buttons/{number:06d}" for number in (1, 2, 10))]


def test_the_index_tells_tables_by_what_they_are(tmp_path: Path) -> None:
    fx.written(tmp_path)
    index = write_index(tmp_path)
    assert index == read_index(tmp_path)
    assert index.demonstrations == (DemonstrationEntry("push_buttons", 0, 3, fx.SEED, fx.FRAMES),)
    assert index.n_frames == fx.FRAMES

    def table(**changes: object) -> WorldFacts:
        return WorldFacts("tabletop", {**fx.FACTS.world.params, **changes}, None)

    scenes = {
        "same": table(),
        "seed": table(seed=7),
        "variation": table(variation=4),
        "task": table(task="stack_cups"),
        "home": WorldFacts("indoor", dict(fx.FACTS.world.params)),
        "scan": None,
    }
    assert overlap(index, scenes) == ("same",)
    assert table_hash("push_buttons", 3, 7) != table_hash("push_buttons", 37, 7)


def test_what_cannot_be_written(tmp_path: Path) -> None:
    def wrong(rows: Any = None, shots: Any = None, **facts: Any) -> None:
        rows, shots = (fx.steps() if rows is None else rows), (fx.shots() if shots is None else shots)
        write_demonstration(tmp_path, replace(fx.FACTS, **facts), shots, rows)

    with pytest.raises(DataError, match="7 frames for 6 steps"):
        wrong(fx.steps()[:-1])
    with pytest.raises(DataError, match="0 frames for 0 steps"):
        wrong([], [])
    with pytest.raises(DataError, match="rename it"):
        wrong(task="../up")
    with pytest.raises(DataError, match="number them from 0"):
        wrong(number=-1)
    with pytest.raises(ShapeError, match="frame 7 is 8x4, the first was 32x18"):
        wrong(shots=[*fx.shots(), (np.zeros((4, 8, 3), np.uint8), None)])
    with pytest.raises(DataError, match="frame 7: give depth with all frames, or with none"):
        wrong(shots=[*fx.shots(), next(fx.shots(depth=True))])
    for change in ({"things": np.zeros((1, 3))}, {"pose": (1.0, 2.0)}, {"pose": (np.nan,) * 8}):
        rows = fx.steps()
        rows[2] = rows[2]._replace(**change)
        with pytest.raises(ShapeError, match="step 2"):
            wrong(rows)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()], "nothing is left half written"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "other"}, "is not ours"),
        ({"version": 2}, "is not ours"),
        ({"frames": 8}, "field 'reached'"),
        ({"frames": 10**9}, "field 'frames' is 1000000000"),
        ({"frames": None}, "field 'frames' is None"),
        ({"width": 33}, "are not those of 'camera'"),
        ({"camera": {**HUGE, "fx": 1.0, "fy": 1.0, "cx": 0.0, "cy": 0.0}, **HUGE}, "pass the limit"),
        ({"camera": 4}, "collect it again"),
        ({"camera_pose": [0.0] * 12}, "has no rotation"),
        ({"task": "stack_cups"}, "not its folder's"),
        ({"task": ["a"]}, "not its folder's"),
        ({"number": 1}, "not its folder's"),
        ({"seed": -1}, "field 'seed'"),
        ({"world": 3}, "collect it again"),
        ({"world": {"name": 3, "params": {}}}, "field 'world'"),
        ({"instruction": 4}, "field 'instruction' is 4"),
        ({"wordings": "all"}, "field 'wordings' is not a list"),
        ({"things": [{"name": "red button"}]}, "field 'category' is missing"),
        ({"things": [{}] * 65}, "at most 64"),
        ({"sub_goals": []}, "field 'reached'"),
        ({"sub_goals": [[0] * 8] * 2}, "pose 0 has no rotation"),
        ({"sub_goals": [[0] * 7] * 2}, "field 'sub_goals' is not 8 numbers"),
        ({"sub_goals": [[1e300, 0, 0, 1, 0, 0, 0, 0]] * 2}, "field 'sub_goals' is not 8 numbers"),
        ({"sub_goals": [0] * 1001}, "at most 1000"),
        ({"reached": [4]}, "field 'reached'"),
        ({"reached": [6, 4]}, "field 'reached'"),
        ({"reached": [4, 7]}, "field 'reached'"),
        ({"reached": [4.0, 6]}, "field 'reached'"),
        ({"reached": [[], 6]}, "field 'reached'"),
        ({"reached": [5, 6]}, "'sub_goal' is not what it should be"),
        ({"fps": 0}, "field 'fps'"),
        ({"depth": 1}, "field 'depth'"),
        ({"discarded": [3]}, "field 'discarded'"),
    ],
)
def test_broken_manifests(folder: Path, changes: dict[str, object], words: str) -> None:
    edit(folder / "manifest.json", **changes)
    with pytest.raises(DataError) as error:
        load_demonstrations(folder.parents[1])
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    report = check(folder.parents[1])
    assert (report.n_trajectories, report.n_valid) == (1, 0)
    assert report.findings[0].severity == "error"


@pytest.mark.parametrize("field", ["seed", "camera", "sub_goals", "reached", "things", "depth", "discarded", "world"])
def test_missing_fields(folder: Path, field: str) -> None:
    content = json.loads((folder / "manifest.json").read_text())
    del content[field]
    (folder / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=f"field '{field}' is missing"):
        load_demonstrations(folder.parents[1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("{", "line 3: not valid JSON"),
        ("[]", "line 3: "),
        ('{"k": 2}', "line 3: field 'action' is missing"),
        ({"k": 3}, "line 3: field 'k' or 'sub_goal'"),
        ({"sub_goal": 1}, "line 3: field 'k' or 'sub_goal'"),
        ({"sub_goal": 10**400}, "line 3: field 'k' or 'sub_goal'"),
        ({"progress": 1.1}, "line 3: field 'progress' is 1.1"),
        ({"things": []}, "line 3: field 'things' does not have 2 places"),
        ({"things": [[0, 0, 0], [0, 0]]}, "line 3: field 'things' is not 3 numbers"),
        ({"pose": [0] * 8}, "field 'pose': pose 2 has no rotation"),
        ({"pose": "here"}, "line 3: field 'pose' is not 8 numbers"),
        ({"pose": [True] * 8}, "line 3: field 'pose' is not 8 numbers"),
        ({"action": [0.1, 0.2, 0.9, 1, 0, 0, 0, 1.0]}, "'action' is not the sub-goal"),
        (b"\xff", "line 3: not valid JSON"),
        (b'{"k": NaN}', "line 3: not valid JSON"),
        (b"[" * 100_000, "line 3: not valid JSON"),
    ],
)
def test_broken_steps(folder: Path, change: str | bytes | dict[str, object], words: str) -> None:
    lines = (folder / "steps.jsonl").read_bytes().splitlines()
    told = json.dumps({**json.loads(lines[2]), **change}) if isinstance(change, dict) else change
    lines[2] = told if isinstance(told, bytes) else told.encode()
    (folder / "steps.jsonl").write_bytes(b"\n".join(lines))
    with pytest.raises(DataError) as error:
        load_demonstrations(folder.parents[1])
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_steps_that_are_too_few_or_too_large(folder: Path) -> None:
    lines = (folder / "steps.jsonl").read_text().splitlines()
    (folder / "steps.jsonl").write_text("\n".join(lines[:-1]))
    with pytest.raises(DataError, match="6 steps for 7 frames"):
        load_demonstrations(folder.parents[1])
    os.truncate(folder / "steps.jsonl", 2**30)
    with pytest.raises(DataError, match="passes the limit of"):
        load_demonstrations(folder.parents[1])


@pytest.mark.parametrize("name", ["frames.mp4", "steps.jsonl", "manifest.json"])
def test_files_that_are_gone_or_lie_elsewhere(folder: Path, tmp_path: Path, name: str) -> None:
    shutil.move(folder / name, tmp_path / name)
    with pytest.raises(DataError):
        load_demonstrations(folder.parents[1])
    (folder / name).symlink_to(tmp_path / name)
    with pytest.raises(DataError, match="a link that leads out of"):
        load_demonstrations(folder.parents[1])


def test_folders_that_lie_elsewhere(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "push_buttons").symlink_to(folder.parent)
    with pytest.raises(DataError, match="a link that leads out of"):
        load_demonstrations(tmp_path / "other")
    with pytest.raises(DataError, match="no such folder"):
        load_demonstrations(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no demonstration"):
        load_demonstrations(tmp_path / "empty")


def test_a_video_of_another_length_is_noticed(folder: Path) -> None:
    lines = (folder / "steps.jsonl").read_text().splitlines()
    row = json.loads(lines[-1])
    (folder / "steps.jsonl").write_text("\n".join([*lines, json.dumps({**row, "k": 7})]))
    edit(folder / "manifest.json", frames=8, reached=[4, 7])
    (demo,) = load_demonstrations(folder.parents[1])
    with pytest.raises(DataError, match="7 frames of 32x18, not 8"):
        demo.clip[0]
    assert "7 frames of 32x18" in check(folder.parents[1]).findings[0].text


def test_broken_index(folder: Path) -> None:
    root = folder.parents[1]
    write_index(root)
    good = json.loads((root / "index.json").read_text())
    for changes, words in (
        ({"split_hash": "0" * 64}, "'split_hash' is not that of its tables"),
        ({"demonstrations": [{"task": "s"}]}, "field 'number' is missing"),
        ({"demonstrations": [{**good["demonstrations"][0], "seed": 5}]}, "field 'table' of push_buttons/0"),
        ({"format": "worldgauge-coverage"}, "is not ours"),
    ):
        (root / "index.json").write_text(json.dumps({**good, **changes}))
        with pytest.raises(DataError, match=words):
            read_index(root)
    (root / "index.json").write_text("[]")
    with pytest.raises(DataError, match="write the index again"):
        read_index(root)
    with pytest.raises(DataError, match="no such folder"):
        write_index(root / "nowhere")
