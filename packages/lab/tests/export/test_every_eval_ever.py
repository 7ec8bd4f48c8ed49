"""Scores as others read them: by their schemas, with the numbers of the run, to the same bytes."""

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from support.glow import Glowing, make_data, make_run
from support.places import ROOT
from worldgauge.core.errors import UsageError
from worldgauge.engine.run import run
from worldgauge.engine.store import RunFolder
from worldgauge.engine.suite.contract import Score
from worldgauge.tools.export import ExportNames, export
from worldgauge_lab.export_eee import METHODS

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


def test_names_of_one_model_are_for_one_model(glow_runs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one model"):
        export([glow_runs], tmp_path, "eee", NAMES)


def test_every_method_of_a_cell_is_told_in_words() -> None:
    assert METHODS.keys() == {"hall", "wilson", "jackknife"}


def test_forms_refuse_what_they_cannot_name(glow_data: Path, glow_suite: None, tmp_path: Path) -> None:
    found = run("glow", model="freeze", data=glow_data, out=tmp_path / "runs", limit=1)
    for form in ("eee", "inspect"):
        with pytest.raises(UsageError, match="at least one"):
            export([], tmp_path, form, NAMES)
        with pytest.raises(UsageError, match=r"runs are of baselines \(freeze\); leave it out"):
            export([found.folders[0].directory], tmp_path, form, NAMES)
