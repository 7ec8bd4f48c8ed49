"""A plain `pip install .`, without any extra: every command that needs none works; the others say which they need.

`make test-plain` makes the environment and names its Python in WORLDGAUGE_PLAIN.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from support.small_sets import RUNS, SMALL

PLAIN = os.environ.get("WORLDGAUGE_PLAIN", "")
pytestmark = pytest.mark.skipif(not PLAIN, reason="no environment without extras: make test-plain")

MANY = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from worldgauge.cli.main import main

done = []
for words in json.loads(sys.argv[1]):
    out, errors, code = io.StringIO(), io.StringIO(), 0
    sys.argv = ["worldgauge", *words]
    with redirect_stdout(out), redirect_stderr(errors):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    done.append((words, code, out.getvalue(), errors.getvalue()))
print(json.dumps(done))
"""
Done = subprocess.CompletedProcess[str]


def run(folder: Path, *command: str) -> Done:
    return python(folder, "-m", "worldgauge.cli.main", *command)


def run_all(folder: Path, *commands: list[str]) -> list[Done]:
    """Several commands one after another in one process: most of a short command is its start."""
    done = python(folder, "-c", MANY, json.dumps(commands))
    assert done.returncode == 0, done.stderr
    return [Done(*one) for one in json.loads(done.stdout)]


def python(folder: Path, *words: str) -> Done:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([PLAIN, "-P", *words], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="session")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain")


@pytest.mark.parametrize("name", sorted(SMALL.keys() - {"coverage"}))  # that one is made by worldgauge-train
def test_every_set_is_collected_checked_and_scored(name: str, sets: Path) -> None:
    data, runs = str(sets / name), str(sets / f"{name}-runs")
    commands = [["collect", name, "--out", data, *SMALL[name]], ["check", name, "--data", data]]
    if name in RUNS:
        commands.append(["run", name, "--data", data, *RUNS[name], "--out", runs, "--json"])
        commands.append(["report", runs, "--out", str(sets / f"{name}.html")])
    done = run_all(sets, *commands)
    for one in done:
        assert one.returncode == 0, one.stdout + one.stderr
    if name in RUNS:
        assert json.loads(done[2].stdout)["counts"]["scored"] > 0


def test_everything_can_be_listed(tmp_path: Path) -> None:
    kinds = ("suites", "collections", "models", "agents", "critics", "metrics", "worlds", "estimators", "decoders")
    for done in run_all(tmp_path, *(["list", kind] for kind in kinds)):
        assert done.returncode == 0, done.stderr


def test_the_installation_is_well_and_lacks_the_extras(tmp_path: Path) -> None:
    done = run(tmp_path, "doctor", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = {one["part"]: one for one in json.loads(done.stdout)["findings"]}
    assert all(found[part]["well"] for part in ("python", "packages", "kernels", "videos", "disk"))
    for extra in ("manipulation", "torch", "structures"):
        assert f'pip install --editable ".[{extra}]"' in found[extra]["told"]


def test_small_commands(tmp_path: Path) -> None:
    for done in run_all(
        tmp_path,
        ["--version"],
        ["list", "adapters"],
        ["list", "weights"],
        ["check-model", "--model", "freeze"],
        ["collect", "worldinworld", "--help"],
    ):
        assert done.returncode in (0, 1), (done.args, done.stderr)
        assert "Traceback" not in done.stderr, (done.args, done.stderr)


def test_what_needs_a_neighbour_says_so_in_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, "collect", "coverage", "--out", "walks")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert "pip install worldgauge-train" in done.stderr


def test_what_needs_an_extra_says_so_in_one_line(tmp_path: Path) -> None:
    few = ("--scenes", "1", "--recognition", "0", "--navigation", "0", "--questions", "0", "--manipulation", "1")
    done = run(tmp_path, "collect", "worldinworld", "--out", "tables", *few)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert 'pip install --editable ".[manipulation]"' in done.stderr
