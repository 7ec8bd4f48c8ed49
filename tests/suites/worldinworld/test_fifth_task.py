"""A fifth task is one module of another package: collected, checked, run and shown in tables without an edit here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.places import ROOT

NONE = [word for task in ("recognition", "navigation", "questions", "manipulation") for word in (f"--{task}", "0")]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One in which a package with the task of `support.facing_task` is installed."""
    folder = tmp_path_factory.mktemp("installed")
    info = folder / "facing-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: facing\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[worldgauge.plugins]\nfacing = support.facing_task\n")
    paths = [str(folder), str(ROOT / "tests"), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


@pytest.fixture(scope="module")
def data(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("facing") / "data"
    words = ["--scenes", "1", *NONE, "--facing", "2", "--size", "64x36", "--out", str(folder)]
    command(environment, "collect", "worldinworld", *words)
    return folder


def command(environment: dict[str, str], *words: str, code: int = 0) -> str:
    """What a command of worldgauge prints."""
    call = [sys.executable, "-c", "from worldgauge.cli.main import main; main()", *words]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_its_episodes_are_collected_and_checked(environment: dict[str, str], data: Path) -> None:
    assert [path.name for path in sorted(data.iterdir())] == ["facing", "parts", "worldgauge.json"]
    found = json.loads(command(environment, "check", "worldinworld", "--data", str(data), "--decode", "--json"))
    assert (found["n_episodes"], found["n_valid"], found["findings"]) == (2, 2, [])
    assert [(row["kind"], row["usable"], row["published"]) for row in found["rows"]] == [("facing", 2, None)]
    assert sum(found["faced"].values()) == 2


def test_a_wrong_row_is_a_fault_of_its_task(environment: dict[str, str], data: Path, tmp_path: Path) -> None:
    content = json.loads((data / "facing" / "episodes.json").read_text())
    del content["facings"][0]["category"]
    (tmp_path / "anything.json").write_text(json.dumps(content))
    said = command(environment, "check", "worldinworld", "--data", str(tmp_path), code=1)
    assert "row 0: field 'category' is missing" in " ".join(said.split())


def test_it_is_run_and_has_its_tables(environment: dict[str, str], data: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    models = ["--model", "oracle", "--model", "freeze", "--model", "none", "--no-baselines"]
    words = ["--set", "task=facing", "--set", "facing_within=narrow", "--set", "reviser=oracle"]
    command(environment, "run", "worldinworld", "--data", str(data), *models, *words, "--out", str(out))
    scores = [json.loads(line) for line in (out / "oracle" / "scores.jsonl").read_text().splitlines()]
    told = json.dumps(scores)
    assert "facing/success" in told
    assert "facing/trajectory_steps" in told
    settings = json.loads((out / "oracle" / "run.json").read_text())["settings"]
    assert (settings["facing_within"], settings["leading_turns"]) == ("narrow", "exact")
    page = tmp_path / "report.html"
    command(environment, "report", str(out), "--out", str(page))
    text = page.read_text()
    assert "Facing: the paper&#39;s columns" in text or "Facing: the paper's columns" in text
    assert "Decision regret, facing: radians off" in text


def test_its_settings_are_checked_like_others(environment: dict[str, str], data: Path, tmp_path: Path) -> None:
    words = ["run", "worldinworld", "--data", str(data), "--model", "freeze", "--out", str(tmp_path / "runs")]
    said = command(environment, *words, "--set", "task=facing", "--set", "facing_within=wid", code=2)
    assert "'facing_within' must be one of narrow, wide" in said
    said = command(environment, *words, "--set", "task=facing", "--set", "reviser=similarity", code=2)
    assert "reviser 'similarity' does not serve facing: set task=navigation or task=manipulation" in said
