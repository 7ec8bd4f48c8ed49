"""A plain `pip install .`, without any extra: every command that needs none works; the others say which they need.

`make test-plain` makes the environment and names its Python in WORLDGAUGE_PLAIN.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

PLAIN = os.environ.get("WORLDGAUGE_PLAIN", "")
pytestmark = pytest.mark.skipif(not PLAIN, reason="no environment without extras: make test-plain")

SMALL = {
    "loopnav": ["--settlements", "1", "--ranges", "5", "--types", "ABA", "--per-combination", "1", "--size", "64x36"],
    "mind": ["--mem", "1", "--action-space", "0", "--mirror", "1", "--train", "0", "--frames", "24", "--size", "64x36"],
    "target": ["--scenes", "1", "--per-scene", "1", "--places", "indoors", "--size", "96x54", "--fps", "5"],
    "closedloop": [
        "--scenes",
        "1",
        "--recognition",
        "0",
        "--navigation",
        "1",
        "--questions",
        "1",
        "--manipulation",
        "0",
    ],
    "build": ["--structures", "1", "--stimuli", "0", "--commonsense", "1", "--size", "64"],
    "coverage": ["--scenes", "1", "--size", "64x36", "--points", "4", "--steps", "20"],
}
"""Options of a very small set of each collection."""
RUNS = {
    "loopnav": ["--model", "freeze", "--model", "memory"],
    "mind": ["--model", "freeze", "--set", "poses=exact"],
    "target": ["--model", "ahead", "--set", "decoder=exact", "--set", "fps=5"],
    "closedloop": ["--model", "oracle", "--set", "task=navigation", "--set", "panorama_px=128", "--set", "view_px=64"],
    "build": ["--agent", "reader"],
}


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    words = [PLAIN, "-P", "-m", "worldgauge.cli.main", *command]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="session")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain")


@pytest.mark.parametrize("name", SMALL)
def test_every_set_is_collected_checked_and_scored(name: str, sets: Path) -> None:
    data, runs = str(sets / name), str(sets / f"{name}-runs")
    for command in (["collect", name, "--out", data, *SMALL[name]], ["check", name, "--data", data]):
        done = run(sets, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    if name in RUNS:
        done = run(sets, "run", name, "--data", data, *RUNS[name], "--out", runs, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        assert json.loads(done.stdout)["counts"]["scored"] > 0
        done = run(sets, "report", runs, "--out", str(sets / f"{name}.html"))
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "kind", ["suites", "collections", "models", "agents", "critics", "metrics", "worlds", "estimators", "decoders"]
)
def test_everything_can_be_listed(kind: str, tmp_path: Path) -> None:
    done = run(tmp_path, "list", kind)
    assert done.returncode == 0, done.stderr


def test_small_commands(tmp_path: Path) -> None:
    for command in (
        ["--version"],
        ["adapters"],
        ["weights", "list"],
        ["check-model", "--model", "freeze"],
        ["validate-metric", "sgcs", "--scenes", "2"],
        ["collect", "demonstrations", "--help"],
    ):
        done = run(tmp_path, *command)
        assert done.returncode in (0, 1), (command, done.stderr)
        assert "Traceback" not in done.stderr, (command, done.stderr)


def test_what_needs_an_extra_says_so_in_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, "collect", "demonstrations", "--out", "demos", "--per-task", "1")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert 'pip install "worldgauge[manipulation]"' in done.stderr
