"""`evaluate`: from models to one folder with page, tables and results."""

from __future__ import annotations

import csv
import fcntl
import json
import shutil
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

import worldgauge as wg
from support.commands import command
from worldgauge.cli.evaluate import seconds_of
from worldgauge.core.errors import MissingExtraError, ModelError, RunError, UsageError, WorldgaugeError
from worldgauge.engine.sets import SetPart
from worldgauge.suites.loopnav.suite import LoopNav
from worldgauge.tools.evaluate import EvaluationRequest, check_models, lacks_data, plan_evaluation

MODEL = '''
import numpy as np
from worldgauge_serve import ModelSpec

class MyModel:
    """Slides the last picture by a number of pixels."""
    def __init__(self, by=1, name="mine", **spec):
        self.by = by
        self.spec = ModelSpec(name, settings={"by": by}, **spec)
    def rollout(self, request):
        for frame in range(request.horizon):
            yield np.roll(request.context.clip[-1], self.by * frame, axis=1)[None]

class Short(MyModel):
    def __init__(self):
        super().__init__(lengths=[9])

class Floats(MyModel):
    def rollout(self, request):
        for chunk in super().rollout(request):
            yield chunk / 255
'''
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "wm.py").write_text(MODEL)
    return f"{tmp_path / 'wm.py'}:MyModel"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, walks: Path) -> Path:
    """A folder of data sets, of which one is there. All tests share it: decoded videos are cached by their file."""
    folder = tmp_path_factory.mktemp("sets")
    (folder / "loopnav").symlink_to(walks)
    return folder


@pytest.fixture(autouse=True)
def few_baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two baselines are enough here."""
    two = classmethod(lambda cls, **chosen: {"freeze": "freeze", "noise": "noise"})
    monkeypatch.setattr("worldgauge.engine.suite.base.Suite.baseline_addresses", two)


def test_one_call_writes_page_tables_citations_and_results(tmp_path: Path, model: str, data: Path) -> None:
    out = tmp_path / "paper"
    found = wg.evaluate([f"{model}?by=1", f"{model}?by=3"], labels={f"{model}?by=1": "ours"}, data=data, out=out)
    assert found.ok
    assert found.page == out / "index.html"
    names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert names == {
        *("index.html", "plan.json", "results.json", "loopnav"),
        *("table.md", "table.tex", "table.csv", "pairs.csv", "cite.bib"),
    }
    page = found.page.read_text()
    assert 'href="loopnav/report.html"' in page
    assert "data:video/mp4;base64," in page
    assert "What mine-by-3 and ours can do" in page
    assert "ours" in (out / "table.tex").read_text()
    assert "@" in (out / "cite.bib").read_text()
    results = json.loads((out / "results.json").read_text())
    assert [card["suite"] for card in results["suites"]] == ["loopnav"]
    assert results["seconds"]["loopnav"] > 0
    # The numbers are those of the suite alone.
    alone = wg.run("loopnav", model=f"{model}?by=1", data=data / "loopnav", out=tmp_path / "alone")
    (mine,) = (row for row in alone.table()[0].rows if row.label.startswith("mine"))
    (row,) = (one for one in results["suites"][0]["rows"] if one["label"] == "ours")
    cells = [cell.mean for cell in mine.cells if cell.mean is not None]
    assert row["mean"] == pytest.approx(sum(cells) / len(cells))
    with (out / "table.csv").open() as file:
        assert {"ours", "freeze"} <= {line["model"] for line in csv.DictReader(file)}


def test_the_same_call_continues_and_another_is_refused(tmp_path: Path, model: str, data: Path) -> None:
    first = wg.evaluate(model, data=data, out=tmp_path / "out")
    records = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("record.json")}
    page = first.page.read_text()
    again = wg.evaluate(model, data=data, out=tmp_path / "out")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("record.json")} == records
    assert again.plan.to_dict()["suites"] == first.plan.to_dict()["suites"]
    assert len(page.splitlines()) == len(again.page.read_text().splitlines())
    with pytest.raises(RunError, match=r"holds another evaluation \(other seed\)"):
        wg.evaluate(model, data=data, out=tmp_path / "out", seed=1)
    with pytest.raises(RunError, match=r"holds another evaluation \(other models\)"):
        wg.evaluate(f"{model}?name=other", data=data, out=tmp_path / "out")
    (tmp_path / "wm.py").write_text(MODEL.replace("self.by * frame", "2 * self.by * frame"))
    with pytest.raises(RunError, match="the weights or the code of mine changed"):
        wg.evaluate(model, data=data, out=tmp_path / "out")


def test_a_model_that_changes_between_two_suites_is_refused(
    tmp_path: Path, model: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from worldgauge.tools import evaluate as module

    run_suite = module._run_suite

    def change_then_run(*given: object) -> object:
        (tmp_path / "wm.py").write_text(MODEL.replace("self.by * frame", "2 * self.by * frame"))
        return run_suite(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_run_suite", change_then_run)
    with pytest.raises(RunError, match="'mine' changed since its check"):
        wg.evaluate(model, data=data, out=tmp_path / "out")


def test_two_evaluations_at_once_in_one_folder_are_refused(tmp_path: Path, model: str, data: Path) -> None:
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(RunError, match="an evaluation runs in"):
            wg.evaluate(model, data=data, out=tmp_path / "out")


def test_a_model_that_breaks_the_protocol_stops_before_anything_runs(tmp_path: Path, model: str, data: Path) -> None:
    with pytest.raises(ModelError, match=r"breaks the protocol \(values\).*\* 255.*check-model"):
        wg.evaluate(model.replace("MyModel", "Floats"), data=data, out=tmp_path / "out")
    assert not (tmp_path / "out" / "plan.json").exists()


def test_a_model_that_fits_no_suite_is_told_why(tmp_path: Path, model: str, data: Path) -> None:
    with pytest.raises(UsageError, match=r"no suite fits these models: loopnav: .*makes 9 frames"):
        wg.evaluate(model.replace("MyModel", "Short"), data=data, out=tmp_path / "out")


def test_models_that_see_one_image_are_not_asked_to_remember(tmp_path: Path, data: Path) -> None:
    request = EvaluationRequest(("freeze",), data=str(data), out=tmp_path / "out")
    with pytest.raises(UsageError, match="loopnav: It measures memory, and these models see at most 1 s of context"):
        plan_evaluation(request)
    assert plan_evaluation(replace(request, suites=("loopnav",))).chosen


def test_a_suite_whose_scores_need_a_missing_package_is_left_out(
    tmp_path: Path, model: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(self: LoopNav) -> None:
        raise MissingExtraError("decoder 'x'", "sfm")

    monkeypatch.setattr(LoopNav, "check_ready", absent)
    with pytest.raises(UsageError, match=r"no suite fits these models: loopnav: decoder 'x' needs the extra 'sfm'"):
        plan_evaluation(EvaluationRequest((model,), data=str(data), out=tmp_path / "out"))


def test_a_plan_counts_the_baselines_that_see_what_the_model_sees(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "narrow.py").write_text(MODEL.replace("**spec)\n    def rollout", "crop=(1, 1))\n    def rollout"))
    request = EvaluationRequest((f"{tmp_path / 'narrow.py'}:MyModel",), data=str(data), out=tmp_path / "out")
    monkeypatch.setattr("worldgauge.engine.suite.base.Suite.baseline_addresses", classmethod(lambda cls: {}))
    counted = plan_evaluation(request).megabytes
    monkeypatch.setattr("worldgauge.tools.evaluate.MATCHED_SHARE", 0)
    floors = len(LoopNav.floor_baselines)
    assert counted / plan_evaluation(request).megabytes == pytest.approx(1 + 0.5 * floors, rel=0.2)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"models": ()}, "name a model with --model"),
        ({"suites": ("mineanybuild",)}, "mineanybuild: It evaluates agents"),
        ({"suites": ("nonsense",)}, "nonsense"),
        ({"data": "nowhere"}, "nowhere: no such folder"),
        ({"labels": {"freeze": "a", "noise": "a"}, "models": ("freeze", "noise")}, "two models have the label 'a'"),
        ({"videos": Path("nowhere")}, "replaces --model"),
    ],
)
def test_bad_requests_are_told(tmp_path: Path, data: Path, changed: dict[str, object], told: str) -> None:
    given = {"models": ("freeze",), "data": str(data), "out": tmp_path / "out", "suites": ("loopnav",), **changed}
    models = given.pop("models")
    with pytest.raises(WorldgaugeError, match=told):
        plan_evaluation(EvaluationRequest(models, **given))  # type: ignore[arg-type]


def test_a_paper_whose_networks_are_not_here_leaves_its_suite_out(tmp_path: Path, clips: Path) -> None:
    (tmp_path / "mind").symlink_to(clips)
    request = EvaluationRequest(("freeze",), data=str(tmp_path), out=tmp_path / "out", published=True)
    advice = "mind: The paper's protocol: run mind alone, with --set poses=ADDRESS, where ViPE is served"
    with pytest.raises(UsageError, match=advice):
        plan_evaluation(request)


def test_a_disk_without_room_is_told_in_the_plan(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(1, 1, 10))
    with pytest.raises(RunError, match=r"the rollouts need .* MB left: make room"):
        plan_evaluation(EvaluationRequest(("freeze",), data=str(data), out=tmp_path / "out", suites=("loopnav",)))


def test_the_plan_is_printed_before_missing_data_are_made(
    tmp_path: Path, data: Path, walks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = SetPart("loopnav", {"size": (160, 90)}, tasks_count=2, clusters=1, frames=160, task_s=0.5)
    monkeypatch.setattr("worldgauge.tools.evaluate.missing_part", lambda data, name: part)
    request = EvaluationRequest(("freeze",), data=str(data), out=tmp_path / "out", suites=("loopnav",))
    assert lacks_data(request)
    reports = check_models(request)
    monkeypatch.setattr("worldgauge.tools.evaluate.find_data", lambda *given: pytest.fail("data were made"))
    (plan,) = plan_evaluation(request, reports=reports, make=False).suites
    assert (plan.tasks, plan.frames) == (2, 160)


def test_a_dry_run_prints_the_plan_and_writes_nothing(tmp_path: Path, model: str, data: Path) -> None:
    words = ("evaluate", "--model", model, "--data", data, "--out", "out")
    done = command(tmp_path, *words, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "loopnav" in done.stdout
    assert "2 of 2" in done.stdout
    assert not (tmp_path / "out").exists()
    told = json.loads(command(tmp_path, *words, "--dry-run", "--json").stdout)
    assert told["suites"][0]["tasks"] == 2
    assert told["seconds"] > 0


def test_finished_videos_of_all_suites_are_scored_with_one_command(tmp_path: Path, model: str, data: Path) -> None:
    made = wg.run("loopnav", model=model, data=data / "loopnav", out=tmp_path / "alone")
    run = made.directories["mine"]
    for record in run.glob("records/*"):
        place = tmp_path / "videos" / "loopnav" / "wm" / record.name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(record / "rollout.mp4", place.with_suffix(".mp4"))
    found = wg.evaluate(videos=tmp_path / "videos", data=data, out=tmp_path / "out")
    rows = {row.label: row for row in found.results["loopnav"].table()[0].rows}
    (alone,) = made.table()[0].rows
    assert [cell.mean for cell in rows["wm"].cells] == pytest.approx([cell.mean for cell in alone.cells])
    next((tmp_path / "videos").rglob("*.mp4")).unlink()
    half = wg.evaluate(videos=tmp_path / "videos", data=data, out=tmp_path / "half")
    assert not half.ok
    card = json.loads((tmp_path / "half" / "results.json").read_text())["suites"][0]
    assert next(row["flag"] for row in card["rows"] if row["label"] == "wm").startswith("1 of 2 tasks missing")


@pytest.mark.parametrize(
    ("text", "seconds"), [("1h", 3600), ("90m", 5400), ("1h30m", 5400), ("45s", 45), ("0.5h", 1800)]
)
def test_a_budget_is_a_time(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "1", "h", "-1h", "1 day", "0h"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time; give 1h"):
        seconds_of(text)
