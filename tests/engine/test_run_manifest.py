"""A model that was trained on the scenes of a test is told as such, in every table and on the page."""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.engine import run_manifest
from worldgauge.engine.open_suite import list_tasks, open_suite
from worldgauge.engine.run import run
from worldgauge.engine.run_manifest import count_seen
from worldgauge.engine.suite.contract import Cell, Table, TableRow
from worldgauge.engine.suite.scores import with_seen
from worldgauge.report.page import write_report


class Knows:
    """Repeats its last frame, and says what it was trained on."""

    def __init__(self, name: str, scenes: list[str]) -> None:
        self.spec, self.trained_scenes = ModelSpec(name), scenes

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        yield request.context.clip[-1][None].repeat(request.horizon, 0)


def test_a_run_says_which_scenes_were_trained_on(clips: Path, tmp_path: Path) -> None:
    suite = open_suite("mind", {})
    tasks = list_tasks(suite, clips, None)
    world = suite.world_of(tasks[0])
    assert world is not None
    first = world.scene
    seen = count_seen(suite, tasks, [first, "other"])
    assert seen is not None
    assert seen["seen"] == 1
    assert count_seen(suite, tasks, []) is None
    models = [Knows("cheat", [first]), Knows("fair", ["other"])]
    result = run("mind", model=models, data=clips, out=tmp_path / "runs", limit=1)
    for table in result.table():
        assert table.alarms == ("cheat was trained on 1 of these 1 scenes: its numbers are no test.",)
        flags = {row.label: row.flag for row in table.rows}
        assert "trained on 1 of these 1 scenes" in flags.get("cheat", "trained on 1 of these 1 scenes")
        assert "trained on" not in flags.get("fair", "")
        told = "cheat: trained on 1 of these 1 scenes; fair: trained on none of these 1 scenes."
        assert told in table.notes
    page = write_report(list(result.directories.values()), tmp_path / "page.html", films=0).read_text()
    assert '<p class="note bad">cheat was trained on 1 of these 1 scenes: its numbers are no test.</p>' in page


def test_a_run_names_processor_memory_and_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = run_manifest.describe_platform()
    assert told["processors"] == os.cpu_count()
    if Path("/proc/cpuinfo").exists():
        words = " ".join(Path("/proc/cpuinfo").read_text().split())
        assert told["processor"] in words
        (kilobytes,) = [
            int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines() if "MemTotal" in line
        ]
        assert told["memory_gib"] == pytest.approx(kilobytes / 2**20, rel=0.1)
    for number, name in enumerate(("NVIDIA H200", "NVIDIA  L4")):
        (tmp_path / f"0000:0{number}:00.0").mkdir()
        (tmp_path / f"0000:0{number}:00.0/information").write_text(f"Model: \t\t {name}\nIRQ:   \t\t 4\n")
    assert run_manifest._gpu_names(tmp_path) == ["NVIDIA H200", "NVIDIA L4"]

    class Cuda:
        is_initialized = staticmethod(lambda: True)
        device_count = staticmethod(lambda: 1)
        get_device_name = staticmethod(lambda number: f"card {number}")

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=Cuda))
    assert run_manifest._gpu_names(tmp_path / "none") == ["card 0"]
    monkeypatch.setattr(Cuda, "is_initialized", lambda: False)
    assert run_manifest._gpu_names(tmp_path / "none") == []  # to ask would begin to use the GPU


def test_tables_without_such_rows_are_left_alone() -> None:
    table = Table("m", "M", "1", "lower", ("all",), (TableRow("a", (Cell(1.0, None, 1),), "model"),))
    assert with_seen([table], {"a": {}, "b": {"model": {"identity": {"source": "freeze"}}}}) == [table]
    none, unknown = ({"trained_on": {"seen": 0, "scenes": count, "unknown": 2}} for count in (8, 0))
    ours = {"model": {"identity": {"source": "trained"}}}  # its config.json tells no scene
    (told,) = with_seen([table], {"a": none, "b": {}, "c": unknown, "d": ours})
    assert told.notes == (
        "a: trained on none of these 8 scenes; those of 2 tasks are not known; "
        "c, d: not known whether it was trained on these scenes.",
    )
    assert told == replace(table, notes=told.notes)
    lacking = {"trained_on": {"seen": 0, "scenes": 8, "unknown": 0, "unplaced_clips": 3}}
    (told,) = with_seen([table], {"a": lacking})
    assert told.notes == (
        "a: trained on none of these 8 scenes; the scenes of 3 clips that it was trained on are not known.",
    )
    for foreign in ({}, {"seen": 1, "scenes": 3}, {"seen": "x", "scenes": -1}, 7):
        assert with_seen([table], {"a": {"trained_on": foreign}})[0].notes, "what others wrote ends no table"
    (told,) = with_seen([table], {"a": {"trained_on": {"seen": 3, "scenes": 8, "unknown": 0}}})
    assert told.rows[0].flag == "trained on 3 of these 8 scenes"
    assert told.notes == ("a: trained on 3 of these 8 scenes.",)
    assert told == replace(table, rows=told.rows, notes=told.notes, alarms=told.alarms)


@pytest.mark.parametrize("name", ["mind", "loopnav", "targetbench", "worldinworld"])
def test_the_world_of_a_task_is_that_of_its_view(name: str, request: pytest.FixtureRequest) -> None:
    suite = open_suite(name, {})
    task = next(task for task in list_tasks(suite, request.getfixturevalue(f"{name}_data"), None) if task.skip is None)
    world = suite.world_of(task)
    assert world is not None
    assert world.digest is not None
    assert world == suite.task_view(task).world
