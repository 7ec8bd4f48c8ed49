"""Scores of every suite as a frame and in every form, read back by pandas, pyarrow and csv alone."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet
import pytest
import yaml

import worldgauge as wg
from support.glow import Glow, Glowing, make_data
from support.registered import own_names
from worldgauge.core.errors import UsageError
from worldgauge.engine.result import group_columns
from worldgauge.engine.store import RunFolder
from worldgauge.engine.suite.base import AnsweredSuite
from worldgauge.engine.suite.contract import Score, Task
from worldgauge.suites import suites
from worldgauge.tools.export import ExportNames, export

SMALL: dict[str, dict[str, Any]] = {
    "mind": {"poses": "exact", "tests": "mem"},
    "targetbench": {"decoder": "exact"},
    "worldinworld": {"view_px": 48, "panorama_px": 128, "decisions": 1},
}
"""Settings that make a run short."""
OWN = ("model", "task", "cluster", "metric", "value", "unit", "better", "n", "reason")


class Clashing(Glow):
    """Its tasks are grouped by every name that a form uses for something else."""

    name = "clashing"
    keys = (*OWN, "suite", "set", "set_version", "set_part", "frames", "is_correct", "group_task", "room")

    def tasks(self, source: Path) -> Any:
        for task in super().tasks(source):
            yield Task("clashing", task.id, task.sample, task.fingerprint, {key: f"of {key}" for key in self.keys})


@pytest.fixture(scope="module", params=[*own_names(suites), "clashing"])
def result(glow_suite: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    name, out = request.param, tmp_path_factory.mktemp("runs")
    suites.register("clashing")(Clashing)
    try:
        if name == "clashing":
            yield wg.run(name, model=Glowing(), data=make_data(out / "data", 2), out=out / "runs")
        else:
            model = "random" if suites.get(name).answerer_kind == "agent" else "freeze"
            data = request.getfixturevalue(f"{name}_data")
            yield wg.run(name, model=model, data=data, out=out, settings=SMALL.get(name), limit=3)
    finally:
        suites._entries.pop("clashing", None)


def scores_of(result: wg.Result) -> list[Score]:
    scores = [score for folder in result.folders for _, score in RunFolder(folder.directory).scores()]
    assert scores, result.failures
    return scores


def test_the_frame_holds_every_task_and_every_group(result: wg.Result) -> None:
    frame, scores = result.frame, scores_of(result)
    assert frame.columns.is_unique
    assert frame.task.tolist() == [score.task for score in scores]
    assert frame.metric.tolist() == [score.metric for score in scores]
    assert frame.groupby("task").size().sum() == len(scores)
    columns = group_columns(dict.fromkeys(key for score in scores for key in score.group), {*frame.columns} & {*OWN})
    for key, column in columns.items():
        wanted = [score.group.get(key) for score in scores]
        if result.suite.name != "clashing":
            assert column == (f"group_{key}" if key in OWN else key)
            assert [None if pd.isna(one) else one for one in frame[column]] == wanted
    if result.suite.name == "clashing":
        assert frame.group_group_task.unique().tolist() == ["of task"]
        assert frame.group_suite.unique().tolist() == ["of suite"]
        assert frame.group_task.unique().tolist() == ["of group_task"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_hold_every_task_and_every_group(result: wg.Result, form: str, tmp_path: Path) -> None:
    scores = scores_of(result)
    path = export([result.directory], tmp_path, form)[0]
    if form == "csv":
        with path.open(newline="") as file:
            header, *lines = csv.reader(file)
        held = pd.DataFrame(lines, columns=header)
        value = pd.to_numeric(held.value)
    else:
        held = pyarrow.parquet.read_table(path).to_pandas()
        value = held.value
    assert held.columns.is_unique
    assert held.task.tolist() == [score.task for score in scores]
    assert value.astype(object).where(value.notna(), None).tolist() == [score.value for score in scores]
    assert held.suite.unique().tolist() == [result.suite.name]
    frame = result.frame
    groups = [name for name in frame.columns if name not in {*OWN, "set", "set_version", "set_part"}]
    for name in groups:
        wanted = ["" if pd.isna(one) else str(one) for one in frame[name]]
        assert [one.removeprefix("'") for one in held[name].fillna("")] == wanted
    # Exported again over itself, and beside runs of another suite, it keeps its columns.
    assert export([result.directory], tmp_path, form)[0] == path


def test_the_form_of_the_hub_names_a_set(result: wg.Result, tmp_path: Path) -> None:
    results, _ = export([result.directory], tmp_path, "hf", ExportNames(dataset="lab/set"))
    assert yaml.safe_load(results.read_text())


def test_the_first_task_of_the_frame_is_shown(result: wg.Result, tmp_path: Path) -> None:
    task = result.frame.task[0]
    if isinstance(result.suite, AnsweredSuite):
        with pytest.raises(UsageError, match="has no videos"):
            result.film(task)
        return
    assert result.film(task).data[4:8] == b"ftyp"
