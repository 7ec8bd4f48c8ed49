"""ST-LPIPS with its trained weights: values of the authors' own code, and a run that names the metric."""

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest

from support.commands import command
from support.small_sets import SMALL
from worldgauge.metrics import metrics

try:
    version("stlpips_pytorch")
except PackageNotFoundError:
    pytest.skip("make test-pip-networks installs stlpips_pytorch", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
NOISE = {"stlpips": 0.0025134536, "stlpips_vgg": 0.0059633879}
MIRRORED = {"stlpips": 0.84643716, "stlpips_vgg": 0.70889866}
"""Distances of `pairs` by stlpips_pytorch 0.0.2 with torch 2.13.0."""


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "weights"))
    pulled = command(tmp_path, "weights", "pull", "stlpips", "stlpips_vgg")
    assert pulled.returncode == 0, pulled.stderr


def pairs() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    y = np.clip(x.astype(int) + rng.integers(-40, 41, x.shape), 0, 255).astype(np.uint8)
    row, column = np.mgrid[:90, :161]
    a = np.stack([row * 2 % 256, column * 3 % 256, (column + row) % 256], -1).astype(np.uint8)
    return (x, y), (a, a[:, ::-1].copy())


@pytest.mark.parametrize("name", NOISE)
def test_equals_the_authors_code(name: str) -> None:
    noise, mirrored = pairs()
    assert metrics.get(name)(*noise) == pytest.approx(NOISE[name], rel=1e-5)
    assert metrics.get(name)(*mirrored) == pytest.approx(MIRRORED[name], rel=1e-5)
    assert metrics.get(name)(noise[0], noise[0]) == 0


def test_a_run_has_a_column_of_its_own(tmp_path: Path) -> None:
    made = command(tmp_path, "collect", "loopnav", *SMALL["loopnav"], "--out", "data")
    assert made.returncode == 0, made.stderr
    models = ("--model", "truth", "--model", "hedge", "--no-baselines", "--out", "runs", "--json")
    done = command(tmp_path, "run", "loopnav", "--data", "data", *models, "--metric", "stlpips")
    assert done.returncode == 0, done.stderr
    found = {}
    for name in ("truth", "hedge"):
        lines = (tmp_path / "runs" / name / "scores.jsonl").read_text("utf-8").splitlines()
        found[name] = [one["value"] for one in map(json.loads, lines) if one["metric"] == "stlpips"]
    assert found["truth"] == [0.0]
    assert 0.1 < found["hedge"][0] < 1.5
