"""Scores as logs of Inspect: what they hold, and that `inspect-ai` itself reads them (`make test-inspect`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.errors import UsageError
from worldgauge.engine.store import RunFolder
from worldgauge.tools.export import ExportNames, export

INSPECT = os.environ.get("WORLDGAUGE_INSPECT", "")
READ = """
import json, sys
from inspect_ai.log import list_eval_logs, read_eval_log
(info,) = list_eval_logs(sys.argv[1])
log = read_eval_log(info)
print(json.dumps({
    "status": log.status, "task": log.eval.task, "model": log.eval.model, "dataset": log.eval.dataset.samples,
    "scores": {one.name: {name: metric.value for name, metric in one.metrics.items()} for one in log.results.scores},
    "samples": {sample.id: {name: score.value for name, score in sample.scores.items()} for sample in log.samples},
    "errors": {sample.id: sample.error.message for sample in log.samples if sample.error},
}))
"""


def values_of(run: Path) -> dict[str, float]:
    return {score.task: score.value for _, score in RunFolder(run).scores() if score.metric == "psnr"}


def test_a_log_holds_each_task_and_each_mean(glow_runs: Path, tmp_path: Path) -> None:
    (path,) = export([glow_runs / "glowing"], tmp_path, "inspect", ExportNames(model_id="lab/glowing", by="the lab"))
    log = json.loads(path.read_text())
    wanted = values_of(glow_runs / "glowing")
    assert {one["id"]: one["scores"]["psnr"]["value"] for one in log["samples"]} == wanted
    by_name = {one["name"]: one for one in log["results"]["scores"]}
    told = {name: metric["value"] for name, metric in by_name["psnr"]["metrics"].items()}
    assert told["mean"] == pytest.approx(np.mean(list(wanted.values())))
    assert "interval_low" not in told  # of three clusters
    # What has no value is no score, and is told.
    (other,) = by_name.keys() - {"psnr"}
    assert (by_name[other]["metrics"], by_name[other]["scored_samples"], by_name[other]["unscored_samples"]) == (
        {},
        0,
        6,
    )
    assert all(one["metadata"]["without_value"] == {other: "not measured"} for one in log["samples"])
    assert (log["status"], log["eval"]["model"], log["eval"]["metadata"]["by"]) == ("success", "lab/glowing", "the lab")


def test_what_failed_is_an_error_of_its_sample(glow_runs: Path, tmp_path: Path) -> None:
    (path,) = export([glow_runs / "faulty"], tmp_path, "inspect")
    samples = json.loads(path.read_text())["samples"]
    assert len(samples) == 6
    (failed,) = [one for one in samples if "error" in one]
    assert not failed["scores"]
    assert failed["error"]["message"]


def test_the_same_run_gives_the_same_bytes_and_two_of_a_name_are_refused(glow_runs: Path, tmp_path: Path) -> None:
    one, other = (export([glow_runs], tmp_path / name, "inspect") for name in "ab")
    assert len(one) == 3
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
    with pytest.raises(UsageError, match="one by one"):
        export([glow_runs / "better", shutil.copytree(glow_runs / "better", tmp_path / "better")], tmp_path, "inspect")


@pytest.mark.slow
@pytest.mark.skipif(not INSPECT, reason="no environment with inspect-ai here (make test-inspect)")
@pytest.mark.parametrize("name", ["glowing", "faulty"])
def test_the_package_itself_reads_it(glow_runs: Path, tmp_path: Path, name: str) -> None:
    (path,) = export([glow_runs / name], tmp_path, "inspect")
    done = subprocess.run(
        [INSPECT, "-c", READ, str(path.parent)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": "", "HOME": str(tmp_path)},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told, log = json.loads(done.stdout.splitlines()[-1]), json.loads(path.read_text())
    assert (told["status"], told["task"], told["dataset"]) == ("success", "worldgauge/glow", 6)
    assert {key: one["psnr"] for key, one in told["samples"].items() if one} == values_of(glow_runs / name)
    assert told["scores"]["psnr"]["mean"] == log["results"]["scores"][0]["metrics"]["mean"]["value"]
    assert len(told["errors"]) == (name == "faulty")
