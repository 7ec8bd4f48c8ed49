"""Checkpoints over training steps: which runs make a curve, its points by hand, and its picture."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from report.toybench import write_run
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import RunResult, find_runs
from worldgauge.report import write_report
from worldgauge.report.evidence import ComparedRun, Evidence, load_evidence
from worldgauge.report.judgement import judge
from worldgauge.report.steps import checkpoints, step_points
from worldgauge.tools.paper_table import steps_csv


def run(label: str, *, baseline: bool = False, seed: int = 0, **facts: Any) -> ComparedRun:
    kind = "baseline" if baseline else "model"
    return ComparedRun(label, label, label, kind, (), None, {"seed": seed, **facts}, Path(label), (), (), {})


def steps(*runs: ComparedRun) -> dict[str, list[int]]:
    found = checkpoints(Evidence("toyloop", {}, runs))
    return {name: [step for step, _ in own] for name, own in found.items()}


def test_names_that_end_in_a_number_are_checkpoints() -> None:
    assert steps(run("ours-2000"), run("ours-10000"), run("ours-500")) == {"ours": [500, 2000, 10000]}
    assert steps(run("big_step_10"), run("big_step_20"), run("wm1"), run("wm2")) == {"big": [10, 20], "wm": [1, 2]}
    assert steps(run("100"), run("200")) == {"model": [100, 200]}


def test_other_numbers_are_none() -> None:
    assert steps(run("wan2.1"), run("wan2.2")) == {}
    assert steps(run("ours-2000"), run("theirs-3000")) == {}  # one checkpoint each
    assert steps(run("noise-3", baseline=True), run("noise-10", baseline=True)) == {}


def test_the_step_of_the_run_comes_first() -> None:
    assert steps(run("a", step=5), run("a-7", step=7)) == {"a": [5, 7]}
    assert steps(run("v2", step=10), run("v2-20", step=20)) == {"v2": [10, 20]}
    assert steps(run("v2-10", step=10), run("v2-20", step=20)) == {"v2": [10, 20]}


def test_seeds_are_curves_of_their_own() -> None:
    found = steps(run("a-1"), run("a-2"), run("a-1", seed=3), run("a-2", seed=3))
    assert found == {"a, all frames, seed 0": [1, 2], "a, all frames, seed 3": [1, 2]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three checkpoints and the floors. Trajectories of a place form a cluster: two clusters."""
    for step in (1000, 20000, 30000):
        write_run(tmp_path / "runs" / f"wm-{step}", f"wm-{step}", films=False)
    for name in ("freeze", "truth"):
        write_run(tmp_path / "runs" / name, name, films=False)
    return tmp_path / "runs"


def test_points_are_means_over_all_tasks(folder: Path) -> None:
    evidence, suite = load_evidence([folder])
    points = step_points(evidence, judge(evidence, suite))
    assert [(p.metric, p.step) for p in points[:3]] == [("sgcs", 1000), ("sgcs", 20000), ("sgcs", 30000)]
    assert {p.metric for p in points} == {"sgcs", "ssim", "sharpness", "psnr"}
    first = next(p for p in points if p.metric == "ssim")
    values = list(evidence["wm-1000"].values("ssim").values())
    assert first.cell.mean == pytest.approx(np.mean(values))
    assert first.cell.n == len(values) == 8


def test_csv_and_picture(folder: Path, tmp_path: Path) -> None:
    result = RunResult(find_runs([folder]), open_suite("toyloop", {}))
    lines = list(csv.DictReader(io.StringIO(steps_csv([result], {"wm-1000": "early"}))))
    assert len(lines) == 4 * 3
    assert [(one["training"], one["step"], one["model"]) for one in lines[:2]] == [
        ("wm", "1000", "early"), ("wm", "20000", "wm-20000")
    ]  # fmt: skip
    assert [lines[0][name] for name in ("n", "expected", "scored", "failed")] == ["8", "8", "8", "0"]
    page = write_report([folder], tmp_path / "page.html", films=0).read_text("utf-8")
    part = page.partition('<section id="steps"')[2].partition("</section>")[0]
    assert part.count("<svg") == 4
    assert "SGCS over training steps" in part
    assert ">20k</text>" in part
    assert part.partition("</svg>")[0].count(' ref"') == 1  # the floor, dashed
    assert "3 more metrics over training steps" in part


def test_one_checkpoint_is_no_curve(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "wm-1000", "wm-1000", films=False)
    result = RunResult(find_runs([tmp_path / "runs"]), open_suite("toyloop", {}))
    assert steps_csv([result]) == ""
    page = write_report([tmp_path / "runs"], tmp_path / "page.html", films=0).read_text("utf-8")
    assert 'id="steps"' not in page
