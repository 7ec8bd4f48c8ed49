"""A world model in an environment of its own, with packages that conflict with ours, is evaluated by one command."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

OTHER = Path(sys.prefix) / "other" / "bin" / "python"
MODEL = Path(__file__).parent / "foreign" / "blend.py"

pytestmark = pytest.mark.skipif(not OTHER.exists(), reason="the second environment is made by `make test`")


def start(data: Path, out: Path, extra: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
    """One command, as a user would type it."""
    command = [sys.executable, "-m", "worldgauge.cli.main", "run", "loopnav", "--data", str(data), "--out", str(out)]
    command += ["--no-baselines", "--model", f"cmd:{OTHER} -m worldgauge_serve {MODEL}:Blend?gain=0.9"]
    return subprocess.Popen(
        command, env={**os.environ, **(extra or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def contents(out: Path) -> dict[str, bytes]:
    """Every file of the records, and the scores."""
    files = [path for path in out.rglob("*") if path.is_file() and "records" in path.parts]
    return {str(path.relative_to(out)): path.read_bytes() for path in [*files, *out.rglob("scores.jsonl")]}


@pytest.fixture(scope="module")
def undisturbed(walks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed")
    run = start(walks, out)
    _, errors = run.communicate(timeout=240)
    assert run.returncode == 0, errors
    return out


def test_the_environments_conflict() -> None:
    """The model's numpy is one that we refuse, and ours one that the model refuses."""
    there = subprocess.run([OTHER, "-c", "import numpy; print(numpy.__version__)"], capture_output=True, text=True)
    import numpy

    assert there.stdout.strip().startswith("1.")
    assert numpy.__version__.startswith("2.")
    absent = subprocess.run([OTHER, "-c", "import worldgauge"], capture_output=True, text=True)
    assert "No module named 'worldgauge'" in absent.stderr


def test_one_command_evaluates_it(undisturbed: Path) -> None:
    scores = (undisturbed / "blend-gain-0.9" / "scores.jsonl").read_text()
    assert '"sgcs"' in scores
    assert len(list((undisturbed / "blend-gain-0.9" / "records").rglob("rollout.mp4"))) == 2


@pytest.mark.slow
def test_kill_9_in_the_middle_of_a_rollout_changes_nothing(walks: Path, undisturbed: Path, tmp_path: Path) -> None:
    midway = tmp_path / "midway"
    run = start(walks, tmp_path / "out", {"WAIT_AT": str(midway)})
    while not midway.exists():
        assert run.poll() is None, run.communicate()[1]
        time.sleep(0.05)
    os.kill(int(midway.read_text()), signal.SIGKILL)
    _, errors = run.communicate(timeout=240)
    assert run.returncode == 0, errors
    assert contents(tmp_path / "out") == contents(undisturbed)
