"""Collecting demonstrations: the same bytes for any number of workers, kill -9, and tables that no one is tested on."""

import errno
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from support.folders import contents
from support.killing import kill_when_seen
from worldgauge.cli.collect import collect_app
from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.engine import collection as base
from worldgauge.engine.collect import Collected, collect, count, open_collection
from worldgauge.suites.closedloop.training_data import demonstrations as dm
from worldgauge.suites.closedloop.training_data.demonstration import (
    MAX_NUMBER,
    load_demonstrations,
    overlap,
    read_index,
)
from worldgauge.suites.closedloop.training_data.demonstrations import TRIES, check
from worldgauge.worlds import open_world
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.contract import SEEDS, table_tasks
from worldgauge.worlds.tabletop.simulation import Simulation

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
    assert table.facts.digest == demo.world.digest
    assert demo.instruction == table.task.instruction
    simulation = Simulation(table)
    np.testing.assert_array_equal(demo.clip[0], simulation.view(demo.camera_pose, demo.camera).rgb)
    for pose, frame in zip(demo.sub_goals, demo.reached, strict=True):
        simulation.move(pose)
        simulation.restore(simulation.state())
        np.testing.assert_array_equal(demo.hand[frame], simulation.hand)
        seen = simulation.view(demo.camera_pose, demo.camera)
        np.testing.assert_array_equal(demo.clip[frame], seen.rgb)
        assert demo.depth is not None
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
    assert contents(tmp_path) == contents(root)
    assert replace(parallel, root=root) == result
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
def test_killed_in_the_middle_and_called_again_gives_the_same_bytes(
    collected: tuple[Path, Collected], tmp_path: Path, sight: str
) -> None:
    """Kill -9 as soon as a demonstration is begun, or as soon as one is there."""
    out = tmp_path / "out"
    kill_when_seen(SCRIPT, out, sight)
    collect("demonstrations", out, **SMALL)
    assert contents(out) == contents(collected[0])


def test_tables_that_are_not_solved_are_counted_and_another_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_what_the_expert_cannot_do_is_a_failure_and_is_tried_again(
    collected: tuple[Path, Collected], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_what_does_not_fit_to_what_is_there_is_refused(
    collected: tuple[Path, Collected], change: dict[str, Any]
) -> None:
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
