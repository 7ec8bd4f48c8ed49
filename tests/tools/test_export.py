"""Scores as others read them: by their schemas, with the numbers of the run, to the same bytes."""

import csv
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from support.commands import command
from worldgauge.core.errors import MissingExtraError, UnknownNameError, UsageError
from worldgauge.engine.run import run
from worldgauge.engine.store import RunFolder
from worldgauge.engine.suite.contract import Score
from worldgauge.tools.export import ExportNames, export

NAMES = ExportNames(model_id="lab/glowing", dataset="lab/glow-set", by="the lab")


def scores_of(run: Path) -> list[Score]:
    return [score for _, score in RunFolder(run).scores()]


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
    scores, tables, table, pairs = export([glow_runs], tmp_path, "csv")
    frame = pd.read_csv(scores)
    wanted = [score for name in ("better", "faulty", "glowing") for score in scores_of(glow_runs / name)]
    assert frame["metric"].tolist() == [score.metric for score in wanted]
    np.testing.assert_array_equal(frame["value"], [np.nan if one.value is None else one.value for one in wanted])
    assert frame["reason"].dropna().unique().tolist() == ["not measured"]
    rows = list(csv.DictReader(tables.read_text().splitlines()))
    assert [(row["model"], row["n"]) for row in rows] == [("better", "6"), ("faulty", "5"), ("glowing", "6")]
    assert [[row[name] for name in ("expected", "scored", "failed")] for row in rows] == [
        ["6", "6", "0"], ["6", "5", "1"], ["6", "6", "0"]
    ]  # fmt: skip
    assert [row["model"] for row in csv.DictReader(table.read_text().splitlines())] == ["better", "faulty", "glowing"]
    assert [(row["a"], row["b"]) for row in csv.DictReader(pairs.read_text().splitlines())] == [
        ("better", "glowing"), ("better", "faulty"), ("glowing", "faulty")
    ]  # fmt: skip
    (parquet,) = export([glow_runs], tmp_path, "parquet")
    held = pd.read_parquet(parquet)
    assert held["task"].tolist() == frame["task"].tolist()
    np.testing.assert_array_equal(held["value"], frame["value"])


def test_parquet_without_its_extra(glow_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="analysis"):
        export([glow_runs], tmp_path, "parquet")


def test_refusals(glow_runs: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'csv'"):
        export([glow_runs], tmp_path, "cvs")
    with pytest.raises(UsageError, match="--dataset"):
        export([glow_runs], tmp_path, "hf")
    with pytest.raises(UsageError, match="go with"):
        export([glow_runs], tmp_path, names=NAMES)
    for form in ("csv", "hf", "parquet"):
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
        lost = f"glow {RunFolder(both[1]).facts()['model']['name']}"
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
    with pytest.raises(UsageError, match=r"runs are of baselines \(freeze\); leave it out"):
        export([found.folders[0].directory], tmp_path, "hf", NAMES)


def test_command(glow_runs: Path, tmp_path: Path) -> None:
    done = command(tmp_path, "export", glow_runs, "--to", "csv", "--json")
    assert done.returncode == 0, done.stderr
    names = ["scores", "tables", "table", "pairs"]
    assert json.loads(done.stdout)["files"] == [f"results/{name}.csv" for name in names]
    told = command(tmp_path, "export", glow_runs / "glowing", "--to", "hf", "--dataset", "lab/glow-set")
    assert (told.returncode, "huggingface.js" in told.stdout) == (0, True), told.stderr
    assert "huggingface.js" not in done.stdout
    words = "--to", "markdown", "--label", "better=Ours", "--label", "glowing=Theirs"
    assert command(tmp_path, "export", glow_runs.parent, *words).stdout == "results/table.md\n"
    table = (tmp_path / "results" / "table.md").read_text()
    assert re.findall(r"^\| (\w+) \|", table, re.MULTILINE) == ["model", "Ours", "faulty", "Theirs"]
    for words, error in (
        (("--label", "a=b"), "not NAME=LABEL of one of"),
        (("--label", "a") * 4, "4 labels for 3 models"),
    ):
        refused = command(tmp_path, "export", glow_runs, "--to", "latex", *words)
        assert (refused.returncode, error in refused.stderr) == (2, True)
    assert "go with --to" in command(tmp_path, "export", glow_runs, "--label", "a").stderr
    refused = command(tmp_path, "export", glow_runs, "--to", "xml")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
