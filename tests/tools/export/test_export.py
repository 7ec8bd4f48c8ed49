"""Scores as others read them: by their schemas, with the numbers of the run, to the same bytes."""

import csv
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml

from support.commands import command
from support.glow import Glowing, make_data, make_run
from support.places import ROOT
from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.engine.run import run
from worldgauge.engine.store import RunFolder
from worldgauge.engine.suite.contract import Score
from worldgauge.tools.export import FORMS, ExportNames, export
from worldgauge.tools.export.eee import METHODS

SCHEMAS = ROOT / "tests" / "vectors" / "every_eval_ever"
NAMES = ExportNames(model_id="lab/glowing", dataset="lab/glow-set", by="the lab")


def schema(name: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads((SCHEMAS / name).read_text()))


@pytest.fixture(scope="module")
def eee(glow_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    whole, samples = export([glow_runs / "glowing"], tmp_path_factory.mktemp("eee"), "eee", NAMES)
    return json.loads(whole.read_text()), [json.loads(line) for line in samples.read_text().splitlines()]


def scores_of(run: Path) -> list[Score]:
    return [score for _, score in RunFolder(run).scores()]


def test_every_eval_ever_holds_to_its_schemas(eee: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
    whole, samples = eee
    assert not list(schema("eval.schema.json").iter_errors(whole))
    for sample in samples:
        assert not list(schema("instance_level_eval.schema.json").iter_errors(sample))
    assert list(schema("eval.schema.json").iter_errors({**whole, "more": 1}))
    del samples[0]["output"]
    assert list(schema("instance_level_eval.schema.json").iter_errors(samples[0]))


def test_every_eval_ever_tells_interval_and_method(
    eee: tuple[dict[str, Any], list[dict[str, Any]]], glow_runs: Path
) -> None:
    whole, samples = eee
    scores = [score for score in scores_of(glow_runs / "glowing") if score.metric == "psnr"]
    (result,) = whole["evaluation_results"]
    details = result["score_details"]
    assert details["score"] == pytest.approx(np.mean([score.value for score in scores]))
    told = details["uncertainty"]
    assert "confidence_interval" not in told  # of three clusters
    assert (told["num_samples"], details["details"]["clusters"]) == (6, "3")
    assert result["metric_config"]["lower_is_better"] is False
    assert result["metric_config"]["max_score"] == "Infinity"
    assert whole["model_info"]["id"] == "lab/glowing"
    # The metric without a value has no result, and tasks without a value no line.
    assert {sample["evaluation_result_id"] for sample in samples} == {"psnr"}
    assert [sample["evaluation"]["score"] for sample in samples] == [score.value for score in scores]


def test_every_eval_ever_tells_how_an_interval_was_made(glow_suite: None, tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs", Glowing("many", 4), make_data(tmp_path / "data", 16))
    whole, _ = export([run], tmp_path, "eee")
    told = json.loads(whole.read_text())["evaluation_results"][0]["score_details"]
    found = told["uncertainty"]["confidence_interval"]
    assert found["lower"] < told["score"] < found["upper"]
    assert (found["confidence_level"], found["method"][:11]) == (0.95, "Student's t")


def test_every_method_of_a_cell_is_told_in_words() -> None:
    assert METHODS.keys() == {"hall", "wilson", "jackknife"}


def test_every_eval_ever_files_belong_together(glow_runs: Path, tmp_path: Path) -> None:
    files = export([glow_runs], tmp_path / "a", "eee")
    again = export([glow_runs], tmp_path / "b", "eee")
    assert len(files) == 6
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in again]
    for whole, samples in zip(files[::2], files[1::2], strict=True):
        told = json.loads(whole.read_text())
        details = told["detailed_evaluation_results"]
        assert tmp_path / "a" / details["file_path"] == samples
        assert details["checksum"] == hashlib.sha256(samples.read_bytes()).hexdigest()
        lines = [json.loads(line) for line in samples.read_text().splitlines()]
        assert details["total_rows"] == len(lines)
        assert {line["evaluation_id"] for line in lines} == {told["evaluation_id"]}
        assert told["model_info"]["id"] == f"unknown/{told['model_info']['name']}"


def test_hub_files_are_yaml_of_their_form(glow_runs: Path, tmp_path: Path) -> None:
    results, declared = export([glow_runs / "glowing"], tmp_path, "hf", NAMES)
    assert results == tmp_path / "lab__glowing" / ".eval_results" / "worldgauge-glow.yaml"
    (entry,) = yaml.safe_load(results.read_text())
    about = yaml.safe_load(declared.read_text())
    assert entry["dataset"] == {"id": "lab/glow-set", "task_id": about["tasks"][0]["id"]}
    values = [score.value for score in scores_of(glow_runs / "glowing") if score.metric == "psnr"]
    assert entry["value"] == pytest.approx(np.mean(values))
    assert isinstance(entry["date"], str)
    assert "in 3 clusters" in entry["notes"]
    assert "6 of 6 tasks in 3 clusters" in entry["notes"]
    assert about["evaluation_framework"] == "worldgauge"
    assert about["tasks"] == [{"id": "glow", "config": "glow", "split": "test"}]


def test_rows_are_the_scores(glow_runs: Path, tmp_path: Path) -> None:
    scores, tables = export([glow_runs], tmp_path, "csv")
    frame = pd.read_csv(scores)
    wanted = [score for name in ("better", "faulty", "glowing") for score in scores_of(glow_runs / name)]
    assert frame["metric"].tolist() == [score.metric for score in wanted]
    np.testing.assert_array_equal(frame["value"], [np.nan if one.value is None else one.value for one in wanted])
    assert frame["reason"].dropna().unique().tolist() == ["not measured"]
    rows = list(csv.DictReader(tables.read_text().splitlines()))
    assert [(row["subject"], row["n"]) for row in rows] == [("better", "6"), ("faulty", "5"), ("glowing", "6")]
    (parquet,) = export([glow_runs], tmp_path, "parquet")
    held = pd.read_parquet(parquet)
    assert held["task"].tolist() == frame["task"].tolist()
    np.testing.assert_array_equal(held["value"], frame["value"])


def test_parquet_without_its_extra(glow_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="analysis"):
        export([glow_runs], tmp_path, "parquet")


def test_refusals(glow_runs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'eee'"):
        export([glow_runs], tmp_path, "ee")
    with pytest.raises(UsageError, match="--dataset"):
        export([glow_runs], tmp_path, "hf")
    with pytest.raises(UsageError, match="one model"):
        export([glow_runs], tmp_path, "eee", NAMES)
    with pytest.raises(UsageError, match="go with"):
        export([glow_runs], tmp_path, names=NAMES)
    for form in FORMS:
        with pytest.raises(UsageError, match="at least one"):
            export([], tmp_path, form, NAMES)
    for wrong in ({"model_id": "../x"}, {"dataset": "a/b/c"}, {"model_id": "x"}, {"by": "a\nb"}):
        with pytest.raises(UsageError):
            ExportNames(**wrong)


@pytest.mark.parametrize("form", ["csv", "parquet", "hf"])
def test_rows_of_other_runs_are_not_lost(form: str, glow_runs: Path, tmp_path: Path) -> None:
    names = ExportNames(dataset="lab/glow-set")
    both = [glow_runs / "better", glow_runs / "glowing"]
    files = export(both, tmp_path, form, names)
    before = {path: path.read_bytes() for path in files}
    assert export(both, tmp_path, form, names) == files
    if form == "hf":  # a file a model, and one of the tasks, which are the same
        assert export(both[:1], tmp_path, form, names) == [files[0], files[-1]]
        with pytest.raises(UsageError, match=r"worldgauge-glow.yaml: also holds lab/glow-set, which would be lost"):
            export(both, tmp_path, form, ExportNames(dataset="lab/other"))
        (tmp_path / "eval.yaml").write_text(files[-1].read_text().replace('id: "glow"', 'id: "mind_first"'))
        before[files[-1]] = files[-1].read_bytes()
        lost = "mind_first"
    else:
        lost = f"glow {RunFolder(both[1]).facts()['subject']['name']}"
    with pytest.raises(UsageError, match=rf"also holds {lost}, which would be lost; name all runs in one command"):
        export(both[:1], tmp_path, form, names)
    assert {path: path.read_bytes() for path in files} == before


def test_a_file_of_somebody_else_is_not_replaced(glow_runs: Path, tmp_path: Path) -> None:
    for name, form in (("scores.csv", "csv"), ("scores.parquet", "parquet")):
        (tmp_path / name).write_text("a,b\n1,2\n")
        with pytest.raises(UsageError, match="give another --out"):
            export([glow_runs], tmp_path, form)


def test_a_model_id_is_not_that_of_a_reference(glow_data: Path, glow_suite: None, tmp_path: Path) -> None:
    found = run("glow", model="freeze", data=glow_data, out=tmp_path / "runs", limit=1)
    for form in ("eee", "hf", "inspect"):
        with pytest.raises(UsageError, match=r"runs are of references \(freeze\); leave it out"):
            export([found.folders[0].directory], tmp_path, form, NAMES)


def test_command(glow_runs: Path, tmp_path: Path) -> None:
    done = command(tmp_path, "export", glow_runs, "--to", "csv", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"] == ["results/scores.csv", "results/tables.csv"]
    told = command(tmp_path, "export", glow_runs / "glowing", "--to", "hf", "--dataset", "lab/glow-set")
    assert (told.returncode, "huggingface.js" in told.stdout) == (0, True), told.stderr
    assert "huggingface.js" not in done.stdout
    refused = command(tmp_path, "export", glow_runs, "--to", "xml")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
