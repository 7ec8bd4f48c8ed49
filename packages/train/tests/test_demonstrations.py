"""Demonstrations: files, collection and check."""

import errno
import json
import os
import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from support import demonstrations_data as fx
from support.folders import contents
from support.killing import kill_when_seen
from worldgauge.cli.collect import collect_app
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, RunError, ShapeError, UsageError
from worldgauge.engine import collection as base
from worldgauge.engine.collect import Collected, collect, count, open_collection
from worldgauge.engine.collection import Finding, Spread
from worldgauge.suites.worldinworld.format.demonstration import (
    MAX_NUMBER,
    DemonstrationEntry,
    load_demonstrations,
    overlap,
    read_index,
    table_hash,
    write_demonstration,
    write_index,
)
from worldgauge.worlds import open_world
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.contract import SEEDS, table_tasks
from worldgauge.worlds.tabletop.simulation import Simulation
from worldgauge_train import demonstrations as dm
from worldgauge_train.demonstrations import TRIES, check

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
    assert (rows[5]["action"], rows[5]["things"][1]) == ([0.1, 0.2, 0.8, 1, 0, 0, 0, 0], [0.3, -0.2, 0.78])


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


def test_a_good_folder_has_counts_and_nothing_to_say(tmp_path: Path) -> None:
    fx.written(tmp_path, depth=True)
    fx.written(tmp_path, 1, fx.SEED + 1, depth=True)
    write_index(tmp_path)
    report = check(tmp_path, decode=True)
    assert report.findings == ()
    assert (report.n_trajectories, report.n_valid, report.n_frames) == (2, 2, 14)
    assert report.discarded == {"it has no plan": 2}
    (row,) = report.rows
    assert (row.task, row.demonstrations, row.variations, row.discarded) == ("push_buttons", 2, 1, 2)
    assert (row.frames, row.sub_goals) == (Spread(2, 7.0, 0.0), Spread(2, 2.0, 0.0))
    assert report.to_dict()["rows"][0]["seconds"]["mean"] == pytest.approx(1.05)


def test_what_is_tested_on_is_an_error(tmp_path: Path) -> None:
    fx.written(tmp_path, seed=999_999)
    write_index(tmp_path)
    (found,) = check(tmp_path).findings
    assert found.severity == "error"
    assert found.text.startswith(
        "1 with a seed of the split 'test', which is evaluated on (first: push_buttons/000000)"
    )


def test_an_index_that_is_missing_or_of_other_data(tmp_path: Path) -> None:
    fx.written(tmp_path)
    (found,) = check(tmp_path).findings
    assert (found.severity, found.text[:14]) == ("warning", "no index.json:")
    write_index(tmp_path)
    fx.written(tmp_path, 1, fx.SEED + 1)
    assert check(tmp_path).findings == (
        Finding("error", "index.json lists 1 demonstrations, 2 are here; write it again"),
    )
    (tmp_path / "index.json").write_text("{}")
    assert "write the index again" in check(tmp_path).findings[0].text


def test_the_same_table_twice(tmp_path: Path) -> None:
    fx.written(tmp_path)
    fx.written(tmp_path, 1)
    write_index(tmp_path)
    assert check(tmp_path).findings == (Finding("warning", "1 show a table that another one shows"),)


def test_what_no_expert_does(tmp_path: Path) -> None:
    rows = fx.steps()
    rows[-1] = rows[-1]._replace(progress=0.5)
    write_demonstration(tmp_path, fx.FACTS, fx.shots(), rows)
    rows = fx.steps()
    rows[4] = rows[4]._replace(pose=rows[3].pose)
    write_demonstration(tmp_path, replace(fx.FACTS, number=1, seed=fx.SEED + 1), fx.shots(), rows)
    write_index(tmp_path)
    said = [(one.severity, one.text) for one in check(tmp_path).findings]
    assert said == [
        ("warning", "1 demonstration, odd (first: push_buttons/000000): ends with 50% of the task done"),
        ("warning", "1 demonstration, odd (first: push_buttons/000001): sub-goal 0: the hand stops 10.0 cm short"),
    ]


def test_files_that_were_changed_are_found_by_their_digest(tmp_path: Path) -> None:
    folder = fx.written(tmp_path)
    write_index(tmp_path)
    text = (folder / "steps.jsonl").read_text()
    (folder / "steps.jsonl").write_text(text.replace("0.78", "0.79"))
    assert check(tmp_path).findings == ()
    (found,) = check(tmp_path, decode=True).findings
    assert (
        found.text
        == "1 demonstration, not usable (first: push_buttons/000000): steps.jsonl: was changed since it was written; "
        "collect it again"
    )


def test_depth_that_is_gone_is_found_when_all_is_read(tmp_path: Path) -> None:
    folder = fx.written(tmp_path, depth=True)
    write_index(tmp_path)
    (folder / "depth.npz").unlink()
    assert "depth.npz: cannot be read" in check(tmp_path, decode=True).findings[0].text


def test_an_empty_folder_and_none(tmp_path: Path) -> None:
    (found, *_) = check(tmp_path).findings
    assert (found.severity, found.text[:23]) == ("error", "holds no demonstration:")
    shutil.rmtree(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        check(tmp_path)


SMALL: dict[str, Any] = {"tasks": ["push_buttons"], "per_task": 2, "size": (32, 24), "depth": True}


SCRIPT = """
import sys
from pathlib import Path
from worldgauge.engine.collect import collect
if __name__ == "__main__":
    small = {"tasks": ["push_buttons"], "per_task": 2, "size": (32, 24), "depth": True}
    collect("demonstrations", Path(sys.argv[1]), **small, workers=2)
"""


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Collected]:
    root = tmp_path_factory.mktemp("collected")
    return root, collect("demonstrations", root, **SMALL)


def test_what_was_done_can_be_seen_and_done_again(collected: tuple[Path, Collected]) -> None:
    root, result = collected
    demos = load_demonstrations(root)
    assert (result.items, result.frames) == (2, sum(map(len, demos)))
    assert (result.failures, result.discarded) == ((), {})
    report = check(root, decode=True)
    assert (report.n_valid, report.findings) == (2, ())
    demo = demos[1]
    assert (demo.id, demo.variation, len(demo.things)) == ("push_buttons/000001", 1, 3)
    table = open_world(demo.world)
    assert isinstance(table, Tabletop)
    assert (table.facts.digest, demo.instruction) == (demo.world.digest, table.task.instruction)
    simulation = Simulation(table)
    np.testing.assert_array_equal(demo.clip[0], simulation.view(demo.camera_pose, demo.camera).rgb)
    for pose, frame in zip(demo.sub_goals, demo.reached, strict=True):
        simulation.move(pose)
        simulation.restore(simulation.state())
        np.testing.assert_array_equal(demo.hand[frame], simulation.hand)
        seen = simulation.view(demo.camera_pose, demo.camera)
        np.testing.assert_array_equal(demo.clip[frame], seen.rgb)
        np.testing.assert_allclose(demo.depth(frame), seen.depth, atol=6e-4)
    assert simulation.solved


def test_the_index_shows_that_no_table_of_the_test_is_here(collected: tuple[Path, Collected]) -> None:
    index = read_index(collected[0])
    mine = {demo.id: demo.world for demo in load_demonstrations(collected[0])}
    assert overlap(index, mine) == tuple(mine)
    tested = {name: replace(world, params={**world.params, "seed": 5}) for name, world in mine.items()}
    assert overlap(index, tested) == ()
    assert all(entry.seed in SEEDS["train"] for entry in index.demonstrations)


def test_no_two_demonstrations_of_a_collection_share_a_table() -> None:
    assert len(SEEDS["train"]) == MAX_NUMBER * TRIES
    some = [dm._table_seed(42, number, attempt) for number in (0, 1, 2, MAX_NUMBER - 1) for attempt in range(TRIES)]
    assert len(set(some)) == len(some)
    assert set(some) <= set(SEEDS["train"])
    assert dm._table_seed(43, 0, 0) != some[0]


def test_the_manifest_says_how(collected: tuple[Path, Collected]) -> None:
    manifest = json.loads((collected[0] / "worldgauge.json").read_text())
    assert manifest["format"] == "demonstrations"
    assert manifest["settings"] == {**SMALL, "seed": 42, "size": [32, 24], "discarded": {}}
    assert (manifest["camera"]["width"], len(manifest["camera"]["pose"])) == (32, 12)


def test_any_number_of_workers_gives_the_same_files(collected: tuple[Path, Collected], tmp_path: Path) -> None:
    root, result = collected
    seen: list[Any] = []
    parallel = collect("demonstrations", tmp_path, **SMALL, workers=2, progress=seen.append)
    assert (contents(tmp_path), replace(parallel, root=root)) == (contents(root), result)
    assert [(step.done, step.total) for step in seen] == [(1, 2), (2, 2)]


def test_more_may_be_added_but_not_taken_away(collected: tuple[Path, Collected], tmp_path: Path) -> None:
    one = {**SMALL, "per_task": 1}
    collect("demonstrations", tmp_path, **one)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.mp4")}
    assert count("demonstrations", tmp_path, **SMALL) == (2, 1)
    collect("demonstrations", tmp_path, **SMALL)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert contents(tmp_path) == contents(collected[0])
    for fewer in (one, {**SMALL, "tasks": ["stack_cups"]}):
        with pytest.raises(RunError, match="has 2 of each of push_buttons"):
            collect("demonstrations", tmp_path, **fewer)


@pytest.mark.slow
@pytest.mark.parametrize("sight", ["push_buttons/.0*.part", "push_buttons/000000"])
def test_killed_in_the_middle_and_called_again_gives_the_same_bytes(collected, tmp_path, sight):
    """Kill -9 as soon as a demonstration is begun, or as soon as one is there."""
    out = tmp_path / "out"
    kill_when_seen(SCRIPT, out, sight)
    collect("demonstrations", out, **SMALL)
    assert contents(out) == contents(collected[0])


def test_tables_that_are_not_solved_are_counted_and_another_is_tried(tmp_path, monkeypatch):
    first = dm._table_seed(42, 0, 0)
    solve = dm.demonstrate

    def sometimes(table: Tabletop) -> Any:
        return "it has no plan" if table.facts.params["seed"] < first + 2 else solve(table)

    monkeypatch.setattr(dm, "demonstrate", sometimes)
    one = {**SMALL, "per_task": 1}
    result = collect("demonstrations", tmp_path, **one)
    assert (result.discarded, result.failures) == ({"it has no plan": 2}, ())
    assert load_demonstrations(tmp_path)[0].seed == first + 2
    assert check(tmp_path).discarded == {"it has no plan": 2}
    assert collect("demonstrations", tmp_path, **one) == result, "also when it was done before"


def test_what_the_expert_cannot_do_is_a_failure_and_is_tried_again(collected, tmp_path, monkeypatch):
    """One that was lost, too, is made again; the other stays as it is."""
    out = tmp_path / "out"
    shutil.copytree(collected[0], out)
    (out / "push_buttons" / "000000" / "manifest.json").unlink()
    assert count("demonstrations", out, **SMALL) == (2, 1)
    monkeypatch.setattr(dm, "demonstrate", lambda table: "not today")
    result = collect("demonstrations", out, **SMALL)
    assert (result.items, result.discarded) == (1, {"not today": TRIES})
    assert result.failures == ("push_buttons/000000: the expert solved none of 10 tables; the last one: not today",)
    assert [demo.id for demo in load_demonstrations(out)] == ["push_buttons/000001"]
    monkeypatch.undo()
    collect("demonstrations", out, **SMALL)
    assert contents(out) == contents(collected[0])


def test_frames_that_are_not_square_show_a_part_of_the_view() -> None:
    wide, square = dm._camera((32, 24)), dm._camera((32, 32))
    assert (wide.width, wide.height, wide.fx, wide.cy) == (32, 24, square.fx, 12.0)


@pytest.mark.parametrize("change", [{"seed": 1}, {"size": (24, 24)}, {"depth": False}], ids=str)
def test_what_does_not_fit_to_what_is_there_is_refused(collected, change):
    with pytest.raises(RunError, match=next(iter(change))):
        collect("demonstrations", collected[0], **{**SMALL, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"tasks": ["push_button"]},
        {"tasks": []},
        {"tasks": ["push_buttons"] * 2},
        {"per_task": 0},
        {"per_task": MAX_NUMBER + 1},
        {"size": (8, 8)},
        {"size": (2048, 2048)},
        {"seed": -1},
    ],
    ids=str,
)
def test_options_out_of_range_are_refused_before_anything_is_written(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"demonstrations option '{next(iter(change))}' must be"):
        collect("demonstrations", tmp_path, **{**SMALL, **change})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("where", ["write_manifest", "_record", "write_index"])
def test_a_full_disk_ends_the_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def full(*args: Any) -> None:
        raise DataError("cannot be written") from OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(base if where == "write_manifest" else dm, where, full)
    with pytest.raises(RunError, match="make room, then start the same command again"):
        collect("demonstrations", tmp_path, **{**SMALL, "per_task": 1})


def test_an_estimate_writes_nothing_and_tells_the_length(collected: tuple[Path, Collected], tmp_path: Path) -> None:
    found = open_collection("demonstrations", tmp_path, SMALL).estimate()
    assert found["frames"] == collected[1].frames
    assert found["bytes"] > found["frames"] * 600
    assert not list(tmp_path.iterdir())


def test_all_tasks_are_done_unless_some_are_named(tmp_path: Path) -> None:
    names = table_tasks.names()
    assert count("demonstrations", tmp_path, **{**SMALL, "tasks": None}) == (2 * len(names), 0)


def test_the_command(tmp_path: Path) -> None:
    given = ["demonstrations", "--out", str(tmp_path), "--tasks", "push_buttons", "--per-task", "1", "--size", "16x16"]
    planned = CliRunner().invoke(collect_app, [*given, "--dry-run", "--json"], catch_exceptions=False)
    assert json.loads(planned.stdout)["expected"] == 1
    assert "demonstrations: 1 expected, 0 already done" in CliRunner().invoke(collect_app, [*given, "--dry-run"]).stdout
    assert not list(tmp_path.iterdir())
    done = CliRunner().invoke(collect_app, [*given, "--json"], catch_exceptions=False)
    told = json.loads(done.stdout)
    assert (told["ok"], told["demonstrations"], told["discarded"]) == (True, 1, {})
    assert told["split_hash"] == read_index(tmp_path).split_hash
    assert load_demonstrations(tmp_path)[0].depth is None
    again = CliRunner().invoke(collect_app, given, catch_exceptions=False)
    assert f"demonstrations: 1, frames: {told['frames']}" in again.stdout
    with pytest.raises(UsageError, match="width and height"):
        CliRunner().invoke(collect_app, [*given, "--size", "64"], catch_exceptions=False)


def test_the_command_says_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dm, "demonstrate", lambda table: "not today")
    given = ["demonstrations", "--out", str(tmp_path), "--tasks", "push_buttons", "--per-task", "1", "--size", "16x16"]
    done = CliRunner().invoke(collect_app, given, catch_exceptions=False)
    assert done.exit_code == 1
    assert "discarded 10 tries: not today" in done.stdout
    assert "failed push_buttons/000000: the expert solved none" in done.stdout
