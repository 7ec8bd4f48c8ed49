"""From a named set to a board and what others read: every command on what the one before it wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.commands import command
from support.places import ROOT
from worldgauge.engine.sets import open_set
from worldgauge.tools.data_sets import versions_here

SCHEMAS = ROOT / "tests" / "vectors" / "every_eval_ever"
SCHEMA_NAMES = ("eval.schema.json", "instance_level_eval.schema.json")
MODELS, TASKS = ("freeze", "memory"), "6"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_from_a_named_set_to_a_board(tmp_path: Path) -> None:
    """All that a person types, in one folder, with what is told of the set on the way."""
    named = open_set("small")
    if named.made_with.get("machine") != versions_here()["machine"]:
        pytest.skip("the set was frozen on another kind of processor")

    def done(*words: Any) -> dict[str, Any]:
        found = command(tmp_path, *words, "--json")
        assert found.returncode == 0, found.stderr
        told: dict[str, Any] = json.loads(found.stdout)
        return told

    models = [word for model in MODELS for word in ("--model", model)]
    ran = done("run", "loopnav", "--data", "worldgauge-small", *models, "--fresh", "--limit", TASKS, "--out", "runs")
    labels = [row["label"] for row in ran["tables"][0]["rows"]]
    assert set(MODELS) < set(labels)  # and a baseline that nobody named
    assert ran["counts"]["scored"] == ran["counts"]["expected"] == int(TASKS) * len(labels)
    part = f"worldgauge-small, version 2, a part of it: {TASKS} of {len(named.part('loopnav').tasks)} tasks"
    assert any(part in note for note in ran["tables"][0]["notes"])

    packed = {Path(one["path"]).name: one for one in done("bundle", "runs", "--whole", "99")["bundles"]}
    assert len(packed) == len(labels)
    for one in (packed[f"loopnav-{model}.zip"] for model in MODELS):
        seen = done("verify", one["path"], "--rescore", "2", "--content-hash", one["root"])
        assert seen["ok"]
        assert len(seen["rescored"]) == 2
        checks = {check["name"]: (check["status"], check["told"]) for check in seen["checks"]}
        assert {status for status, _ in checks.values()} == {"ok"}
        assert checks["set"][1] == part
        assert any(number["verdict"].endswith(f"of {TASKS} tasks reproduced") for number in seen["numbers"])

    board = done("board", "bundles")
    assert (board["shown"], board["left_out"]) == (len(labels), {})
    assert f"{part}." in (tmp_path / "site/index.html").read_text()
    shown = {one["label"]: one["mean"] for one in json.loads((tmp_path / "site/board.json").read_text())["results"]}

    files = [tmp_path / one for one in done("export", "runs", "--to", "eee", "--by", "Our lab")["files"]]
    assert len(files) == 2 * len(labels)
    checker = {name: jsonschema.Draft7Validator(json.loads((SCHEMAS / name).read_text())) for name in SCHEMA_NAMES}
    for results, samples in zip(files[::2], files[1::2], strict=True):
        told = json.loads(results.read_text())
        assert not list(checker["eval.schema.json"].iter_errors(told))
        lines = [json.loads(line) for line in samples.read_text().splitlines()]
        assert lines
        assert not [error for line in lines for error in checker["instance_level_eval.schema.json"].iter_errors(line)]
        model = told["model_info"]["name"]
        numbers = {one["evaluation_result_id"]: one for one in told["evaluation_results"]}
        (headline,) = {ran["tables"][0]["metric"]} & numbers.keys()
        assert numbers[headline]["score_details"]["score"] == pytest.approx(shown[model])
        assert numbers[headline]["source_data"]["additional_details"]["set"] == f"{part}."
        cells = next(row["cells"] for row in ran["tables"][0]["rows"] if row["label"] == model)
        assert cells[-1]["mean"] == pytest.approx(shown[model])
