"""A run of a model with its calibration: it answers like one that does what it is asked; its word in tables."""

import json
from pathlib import Path

import pytest

from support.calibration import content
from support.commands import command
from support.wrong_movers import WrongMover
from worldgauge.models.calibration import digest_of_spec

MOVERS = Path(__file__).parents[1] / "support" / "wrong_movers.py"
GAINS = dict.fromkeys(("forward", "back", "left", "right", "yaw_left", "yaw_right", "pitch_up"), 2.0)


def scores_of(folder: Path) -> dict[str, float]:
    lines = (folder / "scores.jsonl").read_text("utf-8").splitlines()
    return {f"{one['task']} {one['metric']}": one["value"] for one in map(json.loads, lines)}


@pytest.fixture(scope="module")
def ran(walks: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run of a model that is right, of one that is wrong, and of the wrong one with its calibration."""
    folder = tmp_path_factory.mktemp("run")
    gains = {**GAINS, "pitch_down": 0.5}
    told = content(digest_of_spec(WrongMover(gains, delay=2).spec), **gains, delay=2)
    (folder / "calibration.json").write_text(json.dumps(told))
    wrong = f"{MOVERS}:WrongMover?gains={json.dumps(gains, separators=(',', ':'))}&delay=2"
    models = ("render", wrong, f"{wrong}&calibration=calibration.json")
    words = [word for model in models for word in ("--model", model)]
    done = command(folder, "run", "loopnav", "--data", walks, *words, "--limit", "1", "--out", "runs", "--no-baselines")
    assert done.returncode == 0, done.stderr
    return folder / "runs", done.stdout


def test_a_calibrated_model_answers_like_one_that_is_right(ran: tuple[Path, str]) -> None:
    (calibrated,) = ran[0].glob("*-calibrated-*")
    (wrong,) = (path for path in ran[0].glob("wrong-mover*") if path != calibrated)
    right = scores_of(ran[0] / "render")
    assert scores_of(calibrated) == pytest.approx(right, abs=0.02)
    assert scores_of(wrong) != pytest.approx(right, abs=0.02)


def test_tables_and_run_json_say_what_is_known_of_the_unit(ran: tuple[Path, str], tmp_path: Path) -> None:
    (calibrated,) = ran[0].glob("*-calibrated-*")
    facts = json.loads((calibrated / "run.json").read_text())["model"]
    assert facts["motion"] == "calibrated"
    assert facts["identity"]["settings"]["calibration"]
    assert json.loads((ran[0] / "render" / "run.json").read_text())["model"]["motion"] == "declared"
    assert f"Unit of motion: calibrated of {calibrated.name}." in " ".join(ran[1].split())


def test_a_calibration_of_another_model_is_refused_before_anything_is_asked(walks: Path, tmp_path: Path) -> None:
    (tmp_path / "calibration.json").write_text(json.dumps(content("0" * 64, forward=0.5)))
    model = "render?calibration=calibration.json"
    done = command(tmp_path, "run", "loopnav", "--data", walks, "--model", model, "--limit", "1", "--out", "runs")
    assert done.returncode == 2
    assert "not of 'render'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("runs/*/records"))


def test_a_model_without_a_calibration_is_unknown_below_the_table(walks: Path, tmp_path: Path) -> None:
    (tmp_path / "still.py").write_text(
        "import numpy as np\n"
        "from worldgauge_serve import ModelSpec\n"
        "class Still:\n"
        "    spec = ModelSpec('still', control='camera')\n"
        "    def rollout(self, request):\n"
        "        yield np.repeat(request.context.clip[-1][None], request.horizon, axis=0)\n"
    )
    words = ["--data", str(walks), "--model", "./still.py:Still", "--limit", "1", "--out", "runs", "--no-baselines"]
    done = command(tmp_path, "run", "loopnav", *words)
    assert done.returncode == 0, done.stderr
    assert "Unit of motion: unknown of still." in done.stdout
    page = command(tmp_path, "report", "runs", "--out", "report.html")
    assert page.returncode == 0, page.stderr
    assert "Unit of motion: unknown of still." in (tmp_path / "report.html").read_text()
