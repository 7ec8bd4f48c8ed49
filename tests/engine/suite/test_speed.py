"""Speed is measured and shown; no score, identity or resumed run depends on it."""

import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from support.served import MODELS, PYTHON, question
from worldgauge.core.errors import ModelError
from worldgauge.core.image import Frames
from worldgauge.core.io import loads
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.engine.run import run, score
from worldgauge.engine.suite.contract import Stopwatch
from worldgauge.engine.suite.scores import speed_table
from worldgauge.report.page import write_report
from worldgauge_serve import forget_notes, note, notes


class Clock:
    """Time passes only when the model works, or the asker does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("worldgauge.engine.suite.contract.time", SimpleNamespace(perf_counter=lambda: self.now))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class Works:
    """Thinks 3 s, then makes a chunk of two frames every second, and cleans up for half a second."""

    def __init__(self, clock: Clock, missing: int = 0) -> None:
        self.spec, self._clock, self._missing = ModelSpec("works"), clock, missing

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        self._clock.now += 3
        for _ in range((request.horizon - self._missing) // 2):
            self._clock.now += 1
            yield np.zeros((2, *request.frame_size[::-1], 3), np.uint8)
        self._clock.now += 0.5


class WorksTogether(Works):
    def rollout_batch(self, requests: list[RolloutRequest]) -> list[list[Frames]]:
        return [list(self.rollout(request)) for request in requests]


def test_the_time_is_that_of_the_model(clock: Clock) -> None:
    watch = Stopwatch()
    for _ in watch.rollout(Works(clock), question(6)):
        clock.now += 50  # what is done with the frames
    assert watch.plain() == {"questions": 1, "first_s": 4.0, "frames": 6, "seconds": 6.5, "gpu_peak_bytes": None}


def test_several_questions_add_up(clock: Clock) -> None:
    watch = Stopwatch()
    watch.batch(Works(clock), [question(6), question(2)])
    plain = watch.plain()
    assert plain is not None
    assert (plain["questions"], plain["first_s"], plain["frames"], plain["seconds"]) == (2, 4.0, 8, 11.0)


def test_frames_of_a_batch_come_together(clock: Clock) -> None:
    watch = Stopwatch()
    frames = watch.batch(WorksTogether(clock), [question(6), question(2)])
    assert [len(one) for one in frames] == [6, 2]
    plain = watch.plain()
    assert plain is not None
    assert (plain["questions"], plain["first_s"], plain["frames"], plain["seconds"]) == (1, 11.0, 8, 11.0)


def test_no_answer_has_no_speed(clock: Clock) -> None:
    watch = Stopwatch()
    assert watch.plain() is None
    assert watch.batch(Works(clock), []) == []
    with pytest.raises(ModelError, match="stopped after 4 of 6"):
        list(watch.rollout(Works(clock, missing=2), question(6)))
    assert watch.plain() is None


def test_gpu_memory_of_a_model_in_this_process_is_that_of_torch(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    held = {"now": 7, "peak": 99}
    cuda = SimpleNamespace(
        is_initialized=lambda: True,
        device_count=lambda: 1,
        reset_peak_memory_stats=lambda device: held.update(peak=held["now"]),
        max_memory_allocated=lambda device: held["peak"],
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    watch = Stopwatch()
    list(watch.rollout(Works(clock), question(2)))
    assert (watch.plain() or {})["gpu_peak_bytes"] == 7, "what was taken before does not count"
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    watch = Stopwatch()
    list(watch.rollout(Works(clock), question(2)))
    assert (watch.plain() or {"gpu_peak_bytes": 0})["gpu_peak_bytes"] is None, "a torch without cuda"


class Tells(Works):
    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        note(f"{request.horizon} frames are bent")
        yield from super().rollout(request)


def test_what_a_model_notes_is_kept(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    note("before any question")
    watch = Stopwatch()
    for horizon in (6, 2, 6):
        list(watch.rollout(Tells(clock), question(horizon)))
    assert watch.notes == ["6 frames are bent", "2 frames are bent"]
    assert "6 frames are bent" in capsys.readouterr().err
    quiet = Stopwatch()
    list(quiet.rollout(Works(clock), question(6)))
    assert quiet.notes == []


def test_notes_are_limited() -> None:
    forget_notes()
    for n in range(200):
        note(f"{n} " + 600 * "x")
    assert len(notes()) == 100
    assert {len(one) for one in notes()} == {500}
    forget_notes()
    assert notes() == ()


def test_the_table_has_means_over_tasks() -> None:
    one = {"questions": 1, "first_s": 2.0, "frames": 30, "seconds": 10.0, "gpu_peak_bytes": 3_000_000_000}
    table = speed_table(
        {
            "a": [one, {**one, "first_s": 4.0, "seconds": 6.0}, None],
            "b": [{**one, "gpu_peak_bytes": None, "seconds": 0.0}],
            "c": [None],
        },
        {"a": "model", "b": "baseline", "c": "model"},
    )
    assert table is not None
    assert [(row.label, row.kind) for row in table.rows] == [("a", "model"), ("b", "baseline")]
    assert [cell.mean for cell in table.rows[0].cells] == [3.0, 4.0, 3.0]
    assert [(cell.n, cell.expected) for cell in table.rows[0].cells] == [(2, 3)] * 3
    assert [cell.mean for cell in table.rows[1].cells] == [2.0, None, None], "missing is not zero"
    assert speed_table({"c": [None]}, {"c": "model"}) is None


# in a run


def journal(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]


def test_a_run_keeps_speed_in_its_journal_alone(
    data: Path, tmp_path: Path, worked: Callable[[], list[str]], doubles: ModuleType
) -> None:
    first = run("echo", model="enginedoubles:Steady", data=data, out=tmp_path / "a")
    for line in journal(tmp_path / "a" / "steady"):
        speed = line["speed"]
        assert isinstance(speed, dict)
        assert (speed["questions"], speed["frames"], speed["gpu_peak_bytes"]) == (1, 6, None)
        assert 0 < speed["first_s"] <= speed["seconds"] < math.inf
    again = run("echo", model=doubles.Steady(wait=0.01), data=data, out=tmp_path / "b")
    for file in sorted((tmp_path / "a" / "steady" / "records").rglob("*.json")):
        other = tmp_path / "b" / file.relative_to(tmp_path / "a")
        same = {"key", "model"}  # of a live object and of its name
        mine, theirs = (loads(path.read_text()) for path in (file, other))
        assert {k: v for k, v in mine.items() if k not in same} == {k: v for k, v in theirs.items() if k not in same}
    assert [len(table.rows) for table in again.table()] == [1]
    assert first.speed_table() is not None
    worked()
    run("echo", model="enginedoubles:Steady", data=data, out=tmp_path / "a")
    assert worked() == [], "another speed is nothing to repeat"


def test_a_record_holds_what_the_model_noted(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    steady = doubles.Steady()
    plain, draw = run("echo", model=doubles.Steady(), data=data, out=tmp_path / "plain"), steady.rollout

    asked: list[str] = []

    def told(request: RolloutRequest) -> Iterator[Frames]:
        asked.append(request.task)
        if len(asked) <= 2:
            note("one thing is bent")
        yield from draw(request)

    steady.rollout = told
    result = run("echo", model=steady, data=data, out=tmp_path / "told")
    facts = [loads(path.read_text())["facts"] for path in sorted((tmp_path / "told").rglob("record.json"))]
    assert sum(one.get("notes") == ["one thing is bent"] for one in facts) == 2
    assert sum("notes" in one for one in facts) == 2
    assert [line.get("notes") for line in journal(tmp_path / "told" / "steady")].count(1) == 2
    assert "steady told something about 2 of 4 tasks: see the notes in their records." in result.table()[0].notes
    assert not any("told something" in line for line in plain.table()[0].notes)
    assert score(tmp_path / "told", settings={"gain": 2.0}).table()[0].notes == result.table()[0].notes
    page = write_report([tmp_path / "told"], tmp_path / "page.html", films=0).read_text()
    assert "told something about 2 of 4 tasks" in page


def test_speed_outlives_other_scores(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    result = run("echo", model="enginedoubles:Steady", data=data, out=tmp_path)
    before = result.speed_table()
    assert score(tmp_path, settings={"gain": 2.0}).speed_table() == before
    lines = journal(tmp_path / "steady")
    assert len(lines) == 8
    made, rescored = ({line["task"]: line["speed"] for line in part} for part in (lines[:4], lines[4:]))
    assert made == rescored


def test_a_record_that_cannot_be_scored_has_a_speed(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    run("echo", model="enginedoubles:Steady", data=data, out=tmp_path, settings={"broken": 1})
    lines = journal(tmp_path / "steady")
    assert [line["status"] for line in lines].count("failed") == 1
    assert all("speed" in line for line in lines)


def test_runs_of_before_have_no_speed(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    run("echo", model="enginedoubles:Steady", data=data, out=tmp_path)
    path = tmp_path / "steady" / "journal.jsonl"
    lines = [{k: v for k, v in line.items() if k != "speed"} for line in journal(tmp_path / "steady")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = score(tmp_path)
    assert result.ok
    assert result.speed_table() is None


def test_a_served_model_tells_its_gpu_memory_in_the_table(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    model = f"cmd:{PYTHON} -m worldgauge_serve '{MODELS / 'client_models.py'}:OnGpus?gb=4'"
    result = run("echo", model=[model, "enginedoubles:Steady"], data=data, out=tmp_path, limit=2)
    assert result.ok, result.failures
    table = result.speed_table()
    assert table is not None
    memory = {row.label: row.cells[2].mean for row in table.rows}
    assert sorted(value or 0 for value in memory.values()) == [0, pytest.approx(8)]
    page = write_report([tmp_path], tmp_path / "page.html", films=0).read_text()
    assert "peak GPU memory (GB)" in page
