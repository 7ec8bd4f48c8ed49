"""Studies end to end on one short clip: arms are asked once, and a study goes on where it stopped."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from worldgauge.cli.main import app
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge_train.study_run import StudyRequest, denoising_study, distillation_study, memory_study

SETTINGS = {"tests": "mem", "perspectives": "1st", "poses": "exact", "horizon": 8}


def asked(clips: Path, out: Path, **more: object) -> StudyRequest:
    return StudyRequest("mind", clips, out, settings=SETTINGS, **more)  # type: ignore[arg-type]


def test_a_mean_of_more_frames_is_another_picture(clips: Path, tmp_path: Path) -> None:
    words = ["study", "memory", "mind", "--data", str(clips), "--out", str(tmp_path), "--model", "mean", "--beside"]
    words += ["freeze", "--context", "1,4,all", *(f"--set={name}={value}" for name, value in SETTINGS.items())]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    error, detail = told["tables"]
    assert (error["metric"], detail["metric"]) == ("study/memory/lcm/mse_720p", "study/memory/lcm/detail")
    rows = {row["label"]: row for row in error["rows"]}
    assert list(rows) == ["mean at 1", "mean at 4", "mean at all", "freeze"]
    means = {label: row["cells"][0]["mean"] for label, row in rows.items()}
    assert means["mean at 1"] == means["freeze"], "the mean of one frame is that frame"
    assert len(set(means.values())) == 3
    assert rows["mean at all"]["cells"][1]["mean"] == pytest.approx(means["mean at all"] - means["mean at 1"])
    page = (tmp_path / "memory.html").read_text()
    assert "worldgauge study memory mind --data" in page
    assert "--context 1,4,all" in page
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == ["memory-1.svg", "memory-2.svg"]

    before = [path.read_bytes() for path in sorted(tmp_path.rglob("journal.jsonl"))]
    again = memory_study(asked(clips, tmp_path, beside=("freeze",)), ["mean"], [1, 4, None])
    assert [path.read_bytes() for path in sorted(tmp_path.rglob("journal.jsonl"))] == before
    assert {point.arm.label: point.cells[0].mean for point in again.points} == means


def test_what_cannot_be_meant_is_one_line(clips: Path, tmp_path: Path) -> None:
    one = asked(clips, tmp_path)
    with pytest.raises(UsageError, match="from 1 on"):
        memory_study(one, ["mean"], [0, None])
    with pytest.raises(UsageError, match="runs with one context only"):
        memory_study(one, ["freeze"], [1, 8])
    with pytest.raises(UsageError, match="two numbers of denoising steps"):
        denoising_study(one, ["mean"], [4])
    with pytest.raises(UsageError, match="give --model twice"):
        distillation_study(one, ["mean", "mean"])
    with pytest.raises(UnknownNameError, match="metric"):
        memory_study(asked(clips, tmp_path, metrics=("lcm/mse",)), ["mean"], [1, None])
