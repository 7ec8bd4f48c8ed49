"""A run is whole, counted, resumable, and the same for any number of workers and any interruption."""

import errno
import inspect
import json
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import pytest

from worldgauge.core.errors import ModelError, RunError, UnknownNameError, UsageError
from worldgauge.core.io import loads
from worldgauge.engine import model_run
from worldgauge.engine import run as groups
from worldgauge.engine.model_entries import ModelEntry, find_served, resolve_cached, resolve_model
from worldgauge.engine.model_run import ModelRun
from worldgauge.engine.result import RunResult
from worldgauge.engine.run import RunRequest, dry_run, run, score
from worldgauge.engine.store import write_error

STEADY = "enginedoubles:Steady"
Worked = Callable[[], list[str]]


def scores_of(result: RunResult) -> bytes:
    (folder,) = result.directories.values()
    return (folder / "scores.jsonl").read_bytes()


def test_a_run_leaves_the_documented_folder(data: Path, tmp_path: Path) -> None:
    result = run("echo", model=STEADY, data=data, out=tmp_path / "out", settings={"video": True})
    folder = tmp_path / "out" / "steady"
    assert result.ok
    assert str(result.counts) == "4 expected = 4 scored + 0 skipped + 0 failed"
    assert result.directory == tmp_path / "out"
    assert sorted(path.name for path in folder.iterdir()) == ["journal.jsonl", "records", "run.json", "scores.jsonl"]
    record = folder / "records" / "odd__1"
    assert sorted(path.name for path in record.iterdir()) == ["record.json", "rollout.mp4", "scores.json"]
    assert len(json.loads((record / "scores.json").read_text())["scores"]) == 3
    facts = json.loads((folder / "run.json").read_text())
    assert (facts["suite"], facts["suite_version"], facts["seed"], facts["tasks"]) == ("echo", 1, 0, 4)
    assert facts["model"]["name"] == "steady"
    assert facts["model"]["kind"] == "model"
    assert facts["settings"] == {"bias": 0, "gain": 1.0, "broken": None, "video": True}
    lines = [json.loads(line) for line in (folder / "scores.jsonl").read_text().splitlines()]
    assert [(line["task"], line["metric"]) for line in lines[:3]] == [
        ("even/0", "absent"),
        ("even/0", "best"),
        ("even/0", "level"),
    ]
    assert lines[1]["value"] == {"value": None, "special": "+inf"}


def test_result_has_table_and_frame(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    result = run("echo", model=f"{STEADY}?level=7", data=data, out=tmp_path)
    (table,) = result.table()
    assert (table.rows[0].label, table.rows[0].cells[0].mean) == ("steady-level-7", 7.0)
    frame = result.frame
    assert list(run("echo", model=doubles.Steady(), data=data, out=tmp_path / "no", scoring=False).frame.columns) == [
        name for name in frame.columns if name != "kind"
    ]
    assert list(frame.columns) == [
        "model",
        "task",
        "cluster",
        "kind",
        "metric",
        "value",
        "unit",
        "better",
        "n",
        "reason",
        "set",
        "set_version",
        "set_part",
        "flag",
    ]
    assert frame[["set", "set_version", "set_part"]].isna().all(axis=None)
    assert len(frame) == 12
    assert frame[frame.metric == "level"].value.tolist() == [7.0] * 4


def test_same_scores_for_any_number_of_workers_and_any_order(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    doubles.make_data(data, 9)
    expected = scores_of(run("echo", model=STEADY, data=data, out=tmp_path / "1"))
    for workers in (2, 4):
        again = run("echo", model=STEADY, data=data, out=tmp_path / str(workers), workers=workers)
        assert scores_of(again) == expected
    assert scores_of(run("echo", model=doubles.Steady(), data=data, out=tmp_path / "live")) == expected
    shuffled = doubles.Echo.tasks
    rng = random.Random(5)

    def tasks(self: Any, source: Path) -> Any:
        found = list(shuffled(self, source))
        rng.shuffle(found)
        return iter(found)

    doubles.Echo.tasks = tasks
    try:
        assert scores_of(run("echo", model=STEADY, data=data, out=tmp_path / "shuffled")) == expected
    finally:
        doubles.Echo.tasks = shuffled


def test_nothing_changed_means_no_work(data: Path, tmp_path: Path, worked: Worked) -> None:
    first = run("echo", model=STEADY, data=data, out=tmp_path)
    before = scores_of(first)
    assert len(worked()) == 8
    again = run("echo", model=STEADY, data=data, out=tmp_path)
    assert worked() == []
    assert scores_of(again) == before
    assert again.counts == first.counts


def test_what_changed_is_done_again_and_nothing_else(
    data: Path, tmp_path: Path, worked: Worked, doubles: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def again(**changes: Any) -> tuple[int, int]:
        run("echo", **{"model": STEADY, "data": data, "out": tmp_path, **changes})
        lines = worked()
        return sum(line.startswith("perform") for line in lines), sum(line.startswith("score") for line in lines)

    assert again() == (4, 4)
    assert again(settings={"bias": 1}) == (4, 4)
    assert again() == (0, 0), "the earlier run was kept, and is found again"
    assert again(settings={"gain": 2.0}) == (0, 4)
    assert again(settings={"gain": 2.0}) == (0, 0)
    assert again() == (0, 4)
    assert again(seed=1) == (4, 4)
    assert again() == (0, 0)
    assert again(model=doubles.Steady()) == (0, 0), "the same model, live"
    assert again(model=doubles.Steady(level=3)) == (4, 4)
    assert again() == (0, 0)
    doubles.make_data(data, 4, salt="x")
    assert again() == (4, 4)
    doubles.make_data(data, 5, salt="x")
    assert again() == (1, 1)
    assert again(limit=2) == (0, 0)
    assert again() == (0, 0)
    monkeypatch.setattr(doubles.Echo, "version", 2)
    assert again() == (5, 5)


def test_a_new_version_of_a_metric_makes_new_scores_of_old_records(
    data: Path, tmp_path: Path, worked: Worked, monkeypatch: pytest.MonkeyPatch, doubles: ModuleType
) -> None:
    from worldgauge.engine import resume

    run("echo", model=STEADY, data=data, out=tmp_path)
    worked()
    monkeypatch.setattr(resume, "metric_versions", lambda suite: {"level": 2})
    run("echo", model=STEADY, data=data, out=tmp_path)
    assert [line.split()[0] for line in worked()] == ["score"] * 4


def test_a_model_in_a_file_is_asked_again_when_the_file_changes(data: Path, tmp_path: Path, worked: Worked) -> None:
    source = "from enginedoubles import Steady\nclass Mine(Steady): pass\n"
    file = tmp_path / "wm.py"
    file.write_text(source)
    run("echo", model=f"{file}:Mine?level=3", data=data, out=tmp_path / "out")
    assert len(worked()) == 8
    run("echo", model=f"{file}:Mine?level=3", data=data, out=tmp_path / "out")
    assert worked() == []
    file.write_text(source + "# better\n")
    run("echo", model=f"{file}:Mine?level=3", data=data, out=tmp_path / "out")
    assert len(worked()) == 8


FAULTS = {
    "raise": "model 'faulty-raise' raised ValueError at frame 2: no such latent",
    "short": "model 'faulty-short' stopped after 2 of 6 frames",
    "shape": "model 'faulty-shape', chunk at frame 2: expected shape (n, 16, 16, 3), got (1, 16, 32, 3)",
    "dtype": "model 'faulty-dtype', chunk at frame 2: expected uint8 frames in 0..255, got int64",
    "nan": "model 'faulty-nan', chunk at frame 2: frame 2 holds NaN or infinite values",
    "list": "model 'faulty-list', chunk at frame 2: expected a numpy array, got list",
    "exit": "lost 3 times: the worker process exited with code 3; its last words: out of tokens; more in LOG",
    "segfault": "lost 3 times: the worker process was killed by SIGSEGV",
    "sysexit": "model 'faulty-sysexit' raised SystemExit at frame 2: usage: model",
    "late": "model 'faulty-late' raised ValueError at frame 6: cannot let go",
    "more": "model 'faulty-more' returned more than the 6 frames asked for",
}


def test_every_broken_promise_is_one_clear_line_and_the_run_goes_on(data: Path, tmp_path: Path) -> None:
    models = [f"enginedoubles:Faulty?how={how}" for how in FAULTS]
    result = run("echo", model=models, data=data, out=tmp_path, workers=2)
    assert {
        failure.model: re.sub(f"{tmp_path}/logs/worker-[01].log", "LOG", failure.error) for failure in result.failures
    } == {f"faulty-{how}-how-{how}": error for how, error in FAULTS.items()}
    assert not result.ok
    for counts in result.model_counts.values():
        assert str(counts) == "4 expected = 3 scored + 0 skipped + 1 failed"
    record = loads((tmp_path / "faulty-raise-how-raise" / "records" / "odd__1" / "record.json").read_text())
    assert record["error"]["type"] == "ModelError"
    assert "no such latent" in record["error"]["trace"]
    assert not {"\x07", "\x1b"} & set(record["error"]["trace"])


def test_a_hung_model_is_killed_and_the_run_goes_on(data: Path, tmp_path: Path) -> None:
    result = run("echo", model="enginedoubles:Faulty?how=hang", data=data, out=tmp_path, deadline_s=1.5)
    assert [failure.error for failure in result.failures] == ["timed out after 1.5 s without progress"]
    assert result.counts.scored == 3
    assert list(tmp_path.rglob(".*")) == []


def test_loading_a_model_is_no_silence_in_any_worker(data: Path, tmp_path: Path) -> None:
    result = run(
        "echo", model="enginedoubles:Heavy?load=2.0", data=data, out=tmp_path / "out", workers=2, deadline_s=1.0
    )
    assert str(result.counts) == "4 expected = 4 scored + 0 skipped + 0 failed"


def test_a_model_that_prints_does_no_harm(data: Path, tmp_path: Path) -> None:
    assert run("echo", model="enginedoubles:Faulty?how=print", data=data, out=tmp_path).ok


def test_what_cannot_be_asked_is_skipped_with_its_reason(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    doubles.make_data(data, 4, skip=[2])
    model = doubles.Faulty("inapplicable")
    for _ in range(2):
        result = run("echo", model=model, data=data, out=tmp_path)
        assert str(result.counts) == "4 expected = 2 scored + 2 skipped + 0 failed"
        assert {skip.error for skip in result.skips} == {"needs a longer context", "marked as unusable"}
        assert result.ok


def test_failed_tasks_are_tried_again_unless_told_otherwise(
    data: Path, tmp_path: Path, worked: Worked, doubles: ModuleType
) -> None:
    model = doubles.Faulty("raise")
    run("echo", model=model, data=data, out=tmp_path)
    worked()
    assert run("echo", model=model, data=data, out=tmp_path, retry_failed=False).counts.failed == 1
    assert worked() == []
    assert run("echo", model=model, data=data, out=tmp_path).counts.failed == 1
    assert worked() == ["perform odd/1"]
    journal = (tmp_path / "faulty-raise" / "journal.jsonl").read_text()
    assert journal.count("no such latent") == 2


def test_a_scoring_error_keeps_the_record(data: Path, tmp_path: Path, worked: Worked, doubles: ModuleType) -> None:
    result = run("echo", model=doubles.Steady(), data=data, out=tmp_path, settings={"broken": 1})
    assert [failure.error for failure in result.failures] == ["scoring: ZeroDivisionError: no frames to divide by"]
    assert (tmp_path / "steady" / "records" / "odd__1" / "record.json").exists()
    worked()
    run("echo", model=doubles.Steady(), data=data, out=tmp_path, settings={"broken": 1}, retry_failed=False)
    assert worked() == []
    run("echo", model=doubles.Steady(), data=data, out=tmp_path, settings={"broken": 1})
    assert worked() == ["score odd/1"]
    (tmp_path / "steady" / "records" / "odd__1" / "record.json").unlink()
    run("echo", model=doubles.Steady(), data=data, out=tmp_path, settings={"broken": 1})
    assert worked() == ["perform odd/1", "score odd/1"]


def test_what_cannot_be_scored_so_keeps_its_record_for_another_setting(
    data: Path, tmp_path: Path, worked: Worked, doubles: ModuleType
) -> None:
    result = run("echo", model=doubles.Steady(), data=data, out=tmp_path, settings={"gain": -1})
    assert str(result.counts) == "4 expected = 2 scored + 2 skipped + 0 failed"
    assert {skip.error for skip in result.skips} == {"a negative gain; use --set gain=1"}
    worked()
    run("echo", model=doubles.Steady(), data=data, out=tmp_path, settings={"gain": -1})
    assert worked() == []
    again = run("echo", model=doubles.Steady(), data=data, out=tmp_path, settings={"gain": 1})
    assert sorted(worked()) == ["score even/0", "score even/2", "score odd/1", "score odd/3"]
    assert again.counts.scored == 4
    run("echo", model=doubles.Steady(), data=data, out=tmp_path, settings={"gain": -1})
    assert score(tmp_path, settings={"gain": 1}).counts.scored == 4


@pytest.mark.parametrize("change", [{"settings": {"gain": 2.0}}, {"seed": 1}])
def test_killed_between_files_and_journal_under_other_settings_nothing_is_mixed(
    change: dict[str, Any], data: Path, tmp_path: Path, doubles: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: ModelRun, *args: Any, **facts: Any) -> None:
        raise KeyboardInterrupt

    before = scores_of(run("echo", model=doubles.Steady(), data=data, out=tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(ModelRun, "_append_line", killed)
        with pytest.raises(KeyboardInterrupt):
            run("echo", model=doubles.Steady(), data=data, out=tmp_path, **change)
    assert scores_of(run("echo", model=doubles.Steady(), data=data, out=tmp_path)) == before


def test_only_records_are_asked_for_and_scores_of_other_settings_are_named(
    data: Path, tmp_path: Path, doubles: ModuleType
) -> None:
    run("echo", model=doubles.Steady(), data=data, out=tmp_path)
    (tmp_path / "steady" / "records" / "even__0" / "scores.json").unlink()
    with pytest.raises(RunError, match="make them again with: worldgauge score"):
        run("echo", model=doubles.Steady(), data=data, out=tmp_path, scoring=False)
    assert score(tmp_path / "steady").counts.scored == 4


def test_a_lost_record_cannot_be_scored(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    run("echo", model=doubles.Steady(), data=data, out=tmp_path)
    (tmp_path / "steady" / "records" / "even__0" / "record.json").write_text("{")
    with pytest.raises(RunError, match=r"1 record lost or damaged \(first: even/0\)"):
        score(tmp_path)


def test_a_model_that_cannot_be_made_again_leaves_its_trace(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    model = f"enginedoubles:Unplugged?lock={tmp_path}"
    entry = ModelEntry("unplugged", resolve_model(doubles.Steady()).identity, text=model)
    (tmp_path / "made").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "resolve_entries", lambda models, pool, kind: [entry])
        result = run("echo", model=model, data=data, out=tmp_path / "out", limit=1)
    assert [failure.error for failure in result.failures] == ["the licence is taken"]
    error = loads((tmp_path / "out" / "unplugged" / "records" / "even__0" / "record.json").read_text())["error"]
    assert error["type"] == "UsageError"
    assert "enginedoubles.py" in error["trace"]


def test_a_full_disk_says_once_what_to_do(
    data: Path, tmp_path: Path, doubles: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any, **facts: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def full_and_told(*args: Any, **facts: Any) -> None:
        try:
            full()
        except OSError as error:
            raise write_error(error, tmp_path) from error

    for owner, name, fault in ((model_run, "write_scores", full_and_told), (doubles.Echo, "score", full)):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fault)
            with pytest.raises(RunError, match="No space left on device") as raised:
                run("echo", model=doubles.Steady(), data=data, out=tmp_path / name)
        assert str(raised.value).count("make room, then start the same command again") == 1


def test_live_models_run_in_this_process(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    result = run("echo", model=[doubles.Steady(3), doubles.Faulty("raise")], data=data, out=tmp_path)
    assert set(result.directories) == {"steady", "faulty-raise"}
    assert [failure.error for failure in result.failures] == [FAULTS["raise"]]
    slow = run("echo", model=doubles.Steady(wait=0.2), data=data, out=tmp_path / "slow", limit=1, deadline_s=0.1)
    assert [failure.error for failure in slow.failures] == ["timed out after 0.1 s without progress"]


def test_records_first_scores_later(data: Path, tmp_path: Path, worked: Worked, doubles: ModuleType) -> None:
    made = run("echo", model=STEADY, data=data, out=tmp_path, scoring=False)
    assert [line.split()[0] for line in worked()] == ["perform"] * 4
    assert str(made.counts) == "4 expected = 0 scored + 0 skipped + 0 failed + 4 not scored"
    scored = score(tmp_path / "steady")
    assert [line.split()[0] for line in worked()] == ["score"] * 4
    facts = json.loads((tmp_path / "steady" / "run.json").read_text())
    assert facts["scored_with"] == facts["versions"]
    assert str(scored.counts) == "4 expected = 4 scored + 0 skipped + 0 failed"
    whole = run("echo", model=doubles.Steady(), data=data, out=tmp_path / "whole")
    assert scores_of(scored) == scores_of(whole)


def test_scoring_again_with_other_settings(data: Path, tmp_path: Path, worked: Worked, doubles: ModuleType) -> None:
    run("echo", model=doubles.Steady(level=7), data=data, out=tmp_path)
    worked()
    (table,) = score(tmp_path, settings={"gain": 2.0}).table()
    assert table.rows[0].cells[0].mean == 14.0
    assert [line.split()[0] for line in worked()] == ["score"] * 4
    with pytest.raises(UsageError, match="'bias' changes what is asked"):
        score(tmp_path, settings={"bias": 1})


def test_scoring_refuses_what_it_cannot_trust(
    data: Path, tmp_path: Path, doubles: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RunError, match="neither a run folder"):
        score(tmp_path)
    with pytest.raises(UsageError, match="the deadline must be above 0 s, got -1"):
        score(tmp_path, deadline_s=-1)
    run("echo", model=doubles.Steady(), data=data, out=tmp_path / "out")
    moved = data.rename(tmp_path / "moved")
    assert score(tmp_path / "out", data=moved).ok
    doubles.make_data(moved, 4, salt="x")
    with pytest.raises(RunError, match="4 records"):
        score(tmp_path / "out", data=moved)


def test_a_lost_record_is_made_again(data: Path, tmp_path: Path, worked: Worked, doubles: ModuleType) -> None:
    before = scores_of(run("echo", model=doubles.Steady(), data=data, out=tmp_path))
    worked()
    record = tmp_path / "steady" / "records" / "even__2"
    for file in record.iterdir():
        file.unlink()
    record.rmdir()
    assert scores_of(run("echo", model=doubles.Steady(), data=data, out=tmp_path)) == before
    assert worked() == ["perform even/2", "score even/2"]


def test_a_request_holds_every_argument_of_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = {
        "model": ["freeze", "mean"], "data": str(tmp_path), "out": "out", "workers": 2, "on": "ray",
        "gpus_per_worker": 0.5, "seed": 3, "settings": {"a": 1}, "limit": 4, "step": 9, "deadline_s": 5.0,
        "retry_failed": False, "fresh": True, "scoring": False, "score_device": "cuda", "labels": {"freeze": "f"},
        "matched_baselines": True,
    }  # fmt: skip
    assert given.keys() | {"suite", "progress"} == inspect.signature(run).parameters.keys()
    requests: list[RunRequest] = []
    monkeypatch.setattr("worldgauge.engine.run.execute", lambda request, progress: requests.append(request))
    run("loopnav", **given)  # type: ignore[arg-type]
    run("loopnav", model="freeze", data=tmp_path)
    models = {"suite": "loopnav", "models": ("freeze", "mean"), "data": tmp_path, "out": Path("out"), "stand_in": None}
    models |= {"fingerprints": {}, "only": ()}
    del given["model"]
    assert vars(requests[0]) == {**given, **models}
    assert requests[1] == RunRequest("loopnav", models=("freeze",), data=tmp_path, out=Path("runs/loopnav"))


def test_dry_run_writes_nothing(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    request = RunRequest("echo", models=(doubles.Steady(),), data=data, out=tmp_path / "out")
    doubles.make_data(data, 4, skip=[3])
    (plan,) = dry_run(request)
    assert [item.todo for item in plan.items] == ["ask", "ask", "ask", "skip"]
    assert not (tmp_path / "out").exists()
    run("echo", model=doubles.Steady(), data=data, out=tmp_path / "out", limit=2)
    (plan,) = dry_run(request)
    assert [item.todo for item in plan.items] == ["nothing", "nothing", "ask", "skip"]
    assert [item.line and item.line["status"] for item in plan.items] == ["done", "done", None, None]


def test_progress_tells_the_story(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    steps: list[Any] = []
    run("echo", model=doubles.Steady(), data=data, out=tmp_path, progress=steps.append)
    assert (steps[0].finished, steps[0].expected) == (0, 4)
    assert (steps[-1].finished, steps[-1].expected, steps[-1].status) == (4, 4, "done")
    assert any(step.frames == (6, 6) for step in steps)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"model": "fereeze"}, ModelError, "Did you mean 'freeze'"),
        ({"model": []}, UsageError, "no model was given"),
        ({"model": "enginedoubles:Unloadable"}, ModelError, "could not be made: RuntimeError: no CUDA device"),
        ({"model": "enginedoubles:NoModel"}, ModelError, "is no world model: it lacks 'spec'"),
        ({"model": "enginedoubles:Nothing"}, ModelError, "holds no 'Nothing'"),
        ({"model": f"{STEADY}?levle=3"}, ModelError, "has no setting 'levle'. Did you mean 'level'"),
        ({"model": [STEADY, f"{STEADY}?"]}, UsageError, "same label"),
        ({"limit": 0}, UsageError, "limit must be at least 1"),
        ({"settings": {"biass": 1}}, UnknownNameError, "no echo setting 'biass'. Did you mean 'bias'"),
        ({"workers": 0}, UsageError, "workers must be at least 1"),
        ({"deadline_s": 0}, UsageError, "the deadline must be above 0 s, got 0"),
        ({"deadline_s": float("nan")}, UsageError, "the deadline must be above 0 s, got nan"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    data: Path, tmp_path: Path, changes: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        run("echo", **{"model": STEADY, "data": data, "out": tmp_path / "out", **changes})


def test_unknown_suites_and_doubled_tasks_are_refused(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'echo'"):
        run("eco", model=STEADY, data=data, out=tmp_path)
    doubles.make_data(data, 3, twice=True)
    with pytest.raises(UsageError, match="'even/0' comes twice"):
        run("echo", model=STEADY, data=data, out=tmp_path)
    doubles.make_data(data, 0)
    with pytest.raises(UsageError, match="holds no task"):
        run("echo", model=STEADY, data=data, out=tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    """Files of the records, and the scores."""
    files = [*(folder / "records").rglob("*"), folder / "scores.jsonl"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files if file.is_file()}


@pytest.mark.parametrize("how", ["worker", pytest.param("child", marks=pytest.mark.slow)])
def test_a_lost_task_is_done_again_in_an_empty_folder_and_leaves_the_same_record(
    how: str, data: Path, tmp_path: Path
) -> None:
    def fragile(times: int, out: str) -> tuple[RunResult, Path, Any]:
        (log := tmp_path / f"log-{out}").mkdir()
        model = f"enginedoubles:Fragile?log={log}&times={times}&how={how}"
        result = run("echo", model=model, data=data, out=tmp_path / out, settings={"video": True})
        (folder,) = result.directories.values()
        lines = (json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines())
        return result, folder, next(line for line in lines if line["task"] == "odd/1")

    _, whole, line = fragile(0, "whole")
    assert "lost" not in line
    again, folder, line = fragile(2, "again")
    assert again.ok
    log = f"; its last words: alas; more in {tmp_path}/again/logs/worker-0.log"
    lost = {
        "worker": f"the worker process was killed by SIGKILL (out of memory?){log}",
        "child": "the model's process was killed by SIGKILL",
    }[how]
    assert line["lost"] == [lost] * 2
    label = [path.name.encode() for path in (folder, whole)]
    assert {name: text.replace(*label) for name, text in contents(folder).items()} == contents(whole)
    assert list(folder.rglob(".*")) == []
    never, folder, line = fragile(9, "never")
    (failure,) = never.failures
    assert failure.error == f"lost 3 times: {lost}".replace("/again/", "/never/")
    assert len(line["lost"]) == 2
    assert not (folder / "records" / "odd__1" / "rollout.mp4").exists()


def test_an_attempt_lost_in_scoring_does_not_ask_the_model_again(
    data: Path, tmp_path: Path, doubles: ModuleType
) -> None:
    """The record that the lost attempt left is whole: it is scored, whatever the model would say now."""
    result = run("echo", model=doubles.Steady(), data=data, out=tmp_path, scoring=False)
    (folder,) = result.directories.values()
    record = folder / "records" / "odd__1"
    stored = loads((record / "record.json").read_text())
    before = contents(folder)
    outcome = model_run.execute_task(
        suite="echo",
        home="enginedoubles",
        settings="{}",
        task=json.dumps(
            {
                "suite": "echo",
                "id": stored["task"],
                **{name: stored[name] for name in ("sample", "fingerprint", "group")},
            }
        ),
        key=stored["key"],
        model="enginedoubles:Faulty?how=raise",
        label="steady",
        seed=0,
        folder=str(record),
        score="any",
        deadline_s=None,
        progress=lambda done, total: None,
    )
    assert (outcome["status"], outcome["stage"], outcome["error"]) == ("done", "score", None)
    assert before.items() <= contents(folder).items()


SLEEPY = """
import time
from worldgauge_serve import ModelSpec

class Sleepy:
    spec = ModelSpec("sleepy")
    def rollout(self, request):
        time.sleep(60)
        yield request.context.clip[-1][None]
"""


@pytest.mark.parametrize("recorded", [False, True])
def test_a_served_model_is_told_the_deadline_also_behind_a_recording(
    data: Path, tmp_path: Path, doubles: ModuleType, recorded: bool
) -> None:
    (tmp_path / "sleepy.py").write_text(SLEEPY)
    text = f"cmd:{sys.executable} -m worldgauge_serve {tmp_path / 'sleepy.py'}:Sleepy"
    model = f"recording?of={quote(text)}&folder={tmp_path / 'kept'}" if recorded else text
    (tmp_path / "record").mkdir()
    outcome = model_run.execute_task(
        suite="echo",
        home="enginedoubles",
        settings="{}",
        task=json.dumps({"suite": "echo", "id": "odd/1", "sample": {"number": 1}, "fingerprint": "1", "group": {}}),
        key="key",
        model=model,
        label="sleepy",
        seed=0,
        folder=str(tmp_path / "record"),
        score=None,
        deadline_s=0.5,
        progress=lambda done, total: None,
    )
    served = find_served(resolve_cached(model).model)
    resolve_cached("freeze")  # ends it
    assert (outcome["status"], outcome["stage"]) == ("failed", "perform")
    assert "timed out after 0.5 s without a frame" in outcome["error"]
    assert served is not None
    assert served.on_wait is not None


def test_a_live_model_that_loses_its_process_fails(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    model = doubles.Fragile(str(tmp_path), how="child")
    result = run("echo", model=model, data=data, out=tmp_path / "out")
    assert [failure.error for failure in result.failures] == ["the model's process was killed by SIGKILL"]
    assert result.counts.scored == 3


def test_the_order_of_requests_names_no_task(doubles: ModuleType, tmp_path: Path) -> None:
    many = doubles.make_data(tmp_path / "many", n=20)
    results = [run("echo", model=STEADY, data=many, out=tmp_path / out) for out in ("one", "two")]
    lines = [(result.folders[0].journal_path).read_text().splitlines() for result in results]
    one, two = ([json.loads(line)["task"] for line in each] for each in lines)
    assert sorted(one) == sorted(two)
    assert len({tuple(one), tuple(two), tuple(sorted(one, key=lambda task: int(task.split("/")[1])))}) == 3
    assert scores_of(results[0]) == scores_of(results[1])
