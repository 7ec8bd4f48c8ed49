"""Where scores are computed: threads by the cores that are free, a device that is told and forces nothing anew."""

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.core.model import Needs
from worldgauge.engine import model_run
from worldgauge.engine import run as engine
from worldgauge.engine.model_run import ModelRun
from worldgauge.engine.run import run, score
from worldgauge.engine.workers import site
from worldgauge.engine.workers.pool import Pool
from worldgauge.engine.workers.site import VISIBLE, LocalSite, in_turn

STEADY = "enginedoubles:Steady"
Worked = Callable[[], list[str]]


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Threads that each task is handed out with, on a machine that claims to have six cores."""
    seen: list[int] = []
    handed = ModelRun.job_arguments
    monkeypatch.setattr(site, "cores_here", lambda: 6)

    def noted(self: ModelRun, *arguments: Any, **more: Any) -> dict[str, Any]:
        found = handed(self, *arguments, **more)
        seen.append(found["threads"])
        return found

    monkeypatch.setattr(ModelRun, "job_arguments", noted)
    return seen


@pytest.mark.parametrize(("workers", "each"), [(1, 6), (2, 3), (4, 1), (9, 1)])
def test_workers_share_the_cores(workers: int, each: int, threads: list[int], data: Path, tmp_path: Path) -> None:
    result = run("echo", model=STEADY, data=data, out=tmp_path / "out", workers=workers)
    assert result.ok
    assert threads == [each] * 4


def test_cores_of_workers_without_a_job_are_free() -> None:
    with Pool(9, cores=16) as pool:
        assert [pool.cores_each(jobs) for jobs in (0, 1, 2, 5, 9, 100)] == [16, 16, 8, 3, 1, 1]
    with Pool(2) as unknown:
        assert unknown.cores_each(1) == 1


def test_workers_that_score_on_gpus_share_them_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_turn(3, []) == [{}, {}, {}]
    assert in_turn(3, ["4", "6"]) == [{VISIBLE: "4"}, {VISIBLE: "6"}, {VISIBLE: "4"}]
    monkeypatch.setenv(VISIBLE, "4,6")
    seen = []
    monkeypatch.setattr(site, "LocalWorker", lambda events, environment, **more: seen.append(environment))
    for place in range(2):
        LocalSite(device="cuda").pool(2)._hire(place, None)  # type: ignore[arg-type]
        LocalSite().pool(2)._hire(place, None)  # type: ignore[arg-type]
    assert seen == [{VISIBLE: "4"}, {}, {VISIBLE: "6"}, {}]


def test_a_numbered_gpu_may_not_be_there_for_workers_with_gpus_of_their_own(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VISIBLE, "4,6")
    with pytest.raises(UsageError, match="a worker gets GPUs of its own, maybe not 'cuda:1'"):
        LocalSite(device="cuda:1").pool(2, Needs(gpus=1))
    for name in ("cuda:1", "cdua"):
        with pytest.raises(UsageError, match=f"device '{name}': workers of a cluster"):
            run("echo", model=STEADY, data=data, out=tmp_path / "out", on="ray", score_device=name)


def told(folder: Path) -> tuple[Any, list[Any]]:
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    return json.loads((folder / "run.json").read_text()).get("scored_on"), [one.get("scored_on") for one in lines]


def test_a_device_is_told_and_forces_nothing_anew(
    data: Path, tmp_path: Path, doubles: ModuleType, worked: Worked, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is asked for stands in for what is opened: the suite "echo" compares no frames.
    monkeypatch.setattr(engine, "check_score_device", lambda name: None)
    monkeypatch.setattr(model_run, "score_device", lambda name: None)
    steady, out = doubles.Steady(), tmp_path / "out"
    run("echo", model=steady, data=data, out=out, limit=2)
    assert told(out / "steady") == (None, [None, None])
    run("echo", model=steady, data=data, out=out, score_device="cuda")
    worked()
    assert told(out / "steady") == (["cpu", "cuda"], [None, None, "cuda", "cuda"])
    run("echo", model=steady, data=data, out=out)
    score(out, score_device="cuda:1")
    assert worked() == []
    assert told(out / "steady") == (["cpu", "cuda"], [None, None, "cuda", "cuda"])
    run("echo", model=steady, data=data, out=tmp_path / "unscored", score_device="cuda", scoring=False)
    assert told(tmp_path / "unscored" / "steady")[0] is None


def test_scoring_takes_gpus_as_models_do(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VISIBLE, "")
    assert run("echo", model=STEADY, data=data, out=tmp_path).ok
    with pytest.raises(UsageError, match=r"scoring needs 1.5 GPUs; give a share of one, such as 0.5, or whole ones"):
        score(tmp_path, gpus_per_worker=1.5)
    with pytest.raises(UsageError, match=r"scoring needs 1 GPU, this machine shows none"):
        score(tmp_path, gpus_per_worker=1)


def test_a_device_that_is_not_here_is_one_line_before_anything_is_asked(data: Path, tmp_path: Path) -> None:
    error = UsageError if find_spec("torch") else MissingExtraError
    words = "device 'cuda:99' is not here" if find_spec("torch") else "scoring on a device needs the extra 'torch'"
    with pytest.raises(error, match=words):
        run("echo", model=STEADY, data=data, out=tmp_path / "out", score_device="cuda:99")
    assert not (tmp_path / "out").exists()
    assert run("echo", model=STEADY, data=data, out=tmp_path / "out", score_device="cpu").ok
