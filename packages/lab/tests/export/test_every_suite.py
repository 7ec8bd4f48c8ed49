"""Every export form of the lab, for runs of every suite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import worldgauge as wg
from tools.test_export_every_suite import result, scores_of
from worldgauge.engine.suite.base import AnsweredSuite
from worldgauge.tools.export import export

__all__ = ["result"]


def test_the_other_forms_name_the_same_tasks(result: wg.Result, tmp_path: Path) -> None:
    scores = scores_of(result)
    tasks = {score.task for score in scores}
    _, samples = export([result.directory], tmp_path, "eee")
    for line in map(json.loads, samples.read_text().splitlines()):
        (own,) = [
            score for score in scores if (score.task, score.metric) == (line["sample_id"], line["evaluation_result_id"])
        ]
        assert line["metadata"]["cluster"] == (own.cluster or own.task)
        assert line["metadata"]["frames"] == str(own.n)
        assert set(map(str, own.group.values())) <= set(line["metadata"].values())
    (log,) = export([result.directory], tmp_path, "inspect")
    kept = json.loads(log.read_text())["samples"]
    assert tasks <= {sample["id"] for sample in kept}
    groups = {score.task: dict(score.group) for score in scores}
    assert all(sample["metadata"]["group"] == groups[sample["id"]] for sample in kept if sample["id"] in groups)


def test_a_task_is_a_recording_of_rerun(result: wg.Result, tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    if not isinstance(result.suite, AnsweredSuite):
        (recording,) = export([result.directory], tmp_path, "rrd", task=result.frame.task[0])
        assert recording.stat().st_size
