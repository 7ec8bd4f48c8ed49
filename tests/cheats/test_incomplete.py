"""Rows that lack tasks, frames or a part of the view: flagged on every page, and never above a complete row."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from report.test_compare import GOOD, LOW, evidence, freeze, run
from support import glow
from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.engine.coverage import Coverage, TaskEnding
from worldgauge.engine.model_entries import resolve_model
from worldgauge.engine.result import RunResult, find_runs, matched_baselines
from worldgauge.engine.resume import model_identity
from worldgauge.engine.run import run as run_model
from worldgauge.report import write_report
from worldgauge.report.compare import compare
from worldgauge.report.evidence import load_evidence
from worldgauge.report.judgement import judge
from worldgauge.report.tables import view_table
from worldgauge.tools.bundle import write_bundles
from worldgauge.tools.leaderboard import write_board

TASKS, HARD = 16, 8


class Cheat:
    """Answers perfectly, but only what it likes: of the tasks from HARD on, nothing."""

    how = ""

    def __init__(self, name: str = "cheat", **spec: Any) -> None:
        self.spec = ModelSpec(name, settings={"how": self.how}, **spec)

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        frame = request.context.clip[-1]
        if int(frame[0, 0, 0]) // 10 >= HARD:
            self.refuse()
        for _ in range(request.horizon):
            yield frame[None]

    def refuse(self) -> None:
        """Do nothing about a hard task."""


class Worse(glow.Glowing):
    """A baseline: it declares a hidden input."""

    def __init__(self, name: str, more: int, **spec: Any) -> None:
        super().__init__(name, more)
        self.spec = ModelSpec(name, inputs=frozenset({"world"}), settings={"more": more}, **spec)


class Raises(Cheat):
    def refuse(self) -> None:
        raise RuntimeError("no")


class Declines(Cheat):
    def refuse(self) -> None:
        raise NotApplicableError("this task is not for me")


class TimesOut(Cheat):
    def refuse(self) -> None:
        time.sleep(0.4)


def with_fewer_tasks(folder: Path) -> None:
    glow.make_run(folder, Cheat(), glow.make_data(folder.parent / "fewer", n=HARD))  # type: ignore[arg-type]


def with_a_limit(folder: Path) -> None:
    glow.make_run(folder, Cheat(), data_in(folder), limit=HARD)  # type: ignore[arg-type]


def refusing(kind: type[Cheat], **given: Any) -> Callable[[Path], None]:
    return lambda folder: glow.make_run(folder, kind(), data_in(folder), **given) and None  # type: ignore[arg-type]


def with_few_frames(folder: Path) -> None:
    glow.make_run(folder, Cheat(fps=7), data_in(folder))  # type: ignore[arg-type]


def with_a_crop(folder: Path) -> None:
    glow.make_run(folder, Cheat(crop=(8, 1)), data_in(folder))  # type: ignore[arg-type]


CHEATS: dict[str, tuple[Callable[[Path], None], str]] = {
    "fails": (refusing(Raises), "8 of 16 tasks missing: 8 failed"),
    "declines": (refusing(Declines), "8 of 16 tasks missing: 8 not applicable"),
    "times out": (refusing(TimesOut, deadline_s=0.2), "8 of 16 tasks missing: 8 failed"),
    "fewer tasks": (with_fewer_tasks, "8 of 16 tasks missing: 8 not queried"),
    "a limit": (with_a_limit, "8 of 16 tasks missing: 8 not queried"),
    "few frames": (with_few_frames, "16 of 16 tasks missing: 16 with too few frames"),
    "a crop": (with_a_crop, "shows the middle 8:1 of the view only"),
}


def data_in(folder: Path) -> Path:
    return glow.make_data(folder.parent / "data", n=TASKS)


@pytest.fixture
def honest(tmp_path: Path, glow_suite: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of an honest model and a baseline, both complete and worse than the cheat on what it answers."""
    monkeypatch.setattr(glow.Glow, "scores_pictures", True)
    folder = tmp_path / "runs"
    run_model("glow", model=[glow.Glowing("honest"), Worse("freeze", 9)], data=data_in(folder), out=folder)
    return folder


@pytest.mark.parametrize("name", CHEATS)
def test_no_incomplete_row_leads_anywhere(name: str, honest: Path) -> None:
    cheat, words = CHEATS[name]
    cheat(honest)
    suite = glow.Glow()
    # In Python.
    (table, *_) = RunResult(find_runs([honest]), suite).table()
    flags = {row.label: row.flag for row in table.rows}
    assert flags == {"cheat": words, "honest": "", "freeze": ""}
    assert table.rows[-1].label == "cheat"
    # In a report, on a board and in the index of the demo: one judgement.
    found = judge(load_evidence([honest])[0], suite)
    assert found.compared is not None
    places = {one.label: one.places for one in found.compared.standings}
    assert places["cheat"] == ()
    assert places["honest"]
    assert not any(pair.clear and found.compared.shows_lead(pair) for pair in found.compared.pairs if pair.a == "cheat")
    assert "cheat" not in found.verdict.headline
    assert f"Not in the running: cheat ({words})." in found.verdict.support
    page = write_report([honest], honest.parent / "page.html").read_text()
    assert words in page
    assert "cheat" not in page[page.index("<h1>") : page.index("</h1>")]
    sees = {one.label: () for one in table.rows}
    styles: dict[str, Any] = {one.label: None for one in table.rows}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("worldgauge.report.tables._cell", lambda *given, **more: given[2])
        rows = [row for _, rows in view_table("t", table, styles, sees).groups for row in rows]
    assert not any(any(row.cells) for row in rows if row.label == "cheat")


@pytest.mark.parametrize("name", CHEATS)
def test_no_incomplete_bundle_leads_a_board(name: str, honest: Path) -> None:
    cheat, words = CHEATS[name]
    cheat(honest)
    bundles = honest.parent / "bundles"
    write_bundles([honest / label for label in ("cheat", "honest", "freeze")], bundles, whole=0)
    made = write_board(bundles, honest.parent / "site")
    told = {one["label"]: one for one in json.loads((made.page.parent / "board.json").read_text())["results"]}
    assert (told["cheat"]["rank"], told["cheat"]["flag"]) == ("–", words)
    assert told["honest"]["rank"] != "–"
    assert words in made.page.read_text()


def test_equal_ids_of_other_data_are_no_common_tasks() -> None:
    @dataclass(frozen=True)
    class Row:
        label: str
        facts: dict[str, Any]
        kind: str = "model"
        directory: Path = Path("none")
        scores: tuple[Any, ...] = ()
        outcomes: tuple[TaskEnding, ...] = (TaskEnding("a", "scored"),)
        failed: tuple[Any, ...] = ()
        bridges: tuple[Any, ...] = ()
        told: tuple[int, ...] = ()

    rows = [Row(name, {"model": {}, "data_fingerprint": data}) for name, data in (("x", "1"), ("y", "2"))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("worldgauge.engine.coverage._fingerprints", lambda run: {"a": run.facts["data_fingerprint"]})
        found = Coverage.of(glow.Glow(), rows, "m")
    assert found.flags == dict.fromkeys("xy", "1 of 1 tasks missing: 1 of other data")
    # A comparison leaves such tasks out, whatever the ids say.
    made = evidence(run("mine", GOOD), run("other", LOW), freeze())
    views = dict.fromkeys(made.labels)
    foreign = {"other": frozenset(f"t{k}" for k in range(8))}
    compared = compare(made, "sgcs", coverage=Coverage({}, views, foreign))
    assert {pair.a for pair in compared.pairs} | {pair.b for pair in compared.pairs} == {"mine", "freeze"}


def test_what_no_model_can_do_is_no_task_of_the_comparison(honest: Path) -> None:
    # The data rule task 15 out for everybody: honest rows stay complete.
    for label in ("honest", "freeze"):
        path = honest / label / "journal.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            if line["task"].endswith("/15"):
                line |= {"status": "skipped", "stage": "plan", "error": "too short", "scores": None}
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (table, *_) = RunResult(find_runs([honest]), glow.Glow()).table()
    assert not any(row.flag for row in table.rows)


def test_a_cropped_model_is_compared_with_floors_of_its_crop(honest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_a_crop(honest)
    beside = Worse("freeze-crop", 9, crop=(8, 1))
    run_model("glow", model=beside, data=data_in(honest), out=honest)
    shutil.rmtree(honest / "honest")
    made, suite = load_evidence([honest])
    monkeypatch.setattr(glow.Glow, "floor_baselines", (made["freeze"].source,))
    found = judge(made, suite)
    assert found.compared is not None
    assert found.compared.flags == {"freeze": "shows the whole view"}
    tested = {frozenset((pair.a, pair.b)) for pair in found.compared.pairs if pair.p is not None}
    assert tested == {frozenset({"cheat", "freeze-crop"})}
    assert "view 8:1" in next(row.marks for row in found.tables[0].rows if row.label == "cheat")
    # Next to a model that shows all, it is out of the running again.
    glow.make_run(honest, glow.Glowing("honest"), data_in(honest))
    found = judge(load_evidence([honest])[0], suite)
    assert found.compared is not None
    assert found.compared.flags.keys() == {"cheat", "freeze-crop"}


def test_floors_run_under_the_crop_of_each_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glow.Glow, "floor_baselines", ("hedge", "freeze"))
    cropped = model_identity(ModelSpec("m", crop=(4, 3)), "m")
    assert matched_baselines(glow.Glow(), [], [cropped]) == []
    monkeypatch.setattr(glow.Glow, "scores_pictures", True)
    assert matched_baselines(glow.Glow(), [], [cropped, cropped]) == ["hedge?crop=4x3", "freeze?crop=4x3"]
    hedge = resolve_model("hedge?crop=4x3")
    assert (hedge.label, hedge.source, hedge.identity["crop"]) == ("hedge-crop-4x3", "hedge", (4.0, 3.0))
    with pytest.raises(UsageError, match="such as 4x3"):
        resolve_model("hedge?crop=wide")
