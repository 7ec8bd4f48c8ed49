"""Networks with random weights, brought into the store as published ones are, and asked for by a suite by name."""

import hashlib
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")

from support.task_context import QuietContext  # noqa: E402
from worldgauge.core.video import Clip  # noqa: E402
from worldgauge.engine.suite.contract import Record, Score, Task  # noqa: E402
from worldgauge.models import models  # noqa: E402
from worldgauge.perception.loading import Lpips, _perceived  # noqa: E402
from worldgauge.perception.networks import networks  # noqa: E402
from worldgauge.suites.loopnav.suite import LoopNav  # noqa: E402
from worldgauge.suites.loopnav.tasks import episode_of  # noqa: E402
from worldgauge.weights import catalogue, digest_of  # noqa: E402

ALEX = {"0": (16, 3, 11), "3": (24, 16, 5), "6": (32, 24, 3), "8": (24, 32, 3), "10": (24, 24, 3)}
SETTINGS = {"lpips": "lpips-alex", "fvd": "i3d"}


class Means(torch.nn.Module):
    """Takes what I3D takes; tells how bright the frames are, column by column."""

    def forward(
        self, x: torch.Tensor, rescale: bool = True, resize: bool = True, return_features: bool = False
    ) -> torch.Tensor:
        columns = x.mean(dim=[1, 2, 3])
        return torch.nn.functional.pad(columns, [0, 176])


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Weights of `lpips-alex` and `i3d` where a user's lie, and a cache of their answers."""
    folder = tmp_path / "weights"
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(folder))
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    _perceived.cache_clear()
    rng = np.random.default_rng(0)
    trunk = {f"features.{k}.bias": torch.zeros(n) for k, (n, _, _) in ALEX.items()}
    for key, (n, before, side) in ALEX.items():
        scale = (2 / (before * side * side)) ** 0.5
        values = rng.normal(0, scale, (n, before, side, side)).astype(np.float32)
        trunk[f"features.{key}.weight"] = torch.from_numpy(values)
    heads = {
        f"lin{i}.model.1.weight": torch.from_numpy(rng.random((1, n, 1, 1)).astype(np.float32))
        for i, (n, _, _) in enumerate(ALEX.values())
    }
    (folder / "lpips-alex").mkdir(parents=True)
    for file, tensors in zip(networks.get("lpips-alex").files, (trunk, heads), strict=True):
        torch.save(tensors, folder / "lpips-alex" / file)
    (program,) = catalogue["i3d"].files
    (folder / "i3d").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.script(Means()), str(folder / "i3d" / program.name))
    for name in ("lpips-alex", "i3d"):
        known = catalogue[name]
        files = tuple(replace(file, **_facts(folder / name / file.name)) for file in known.files)
        monkeypatch.setitem(catalogue, name, replace(known, files=files))
    return folder


def _facts(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def performed(task: Task, folder: Path) -> Record:
    folder.mkdir()
    return LoopNav(**SETTINGS).perform(task, models.get("freeze")(), QuietContext(folder))


def scored(record: Record, folder: Path) -> dict[str, Score]:
    return {score.metric: score for score in LoopNav(**SETTINGS).score(record, QuietContext(folder))}


def test_a_suite_looks_with_them_and_never_twice(
    tasks: list[Task], tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = performed(tasks[0], tmp_path / "run")
    found = scored(record, tmp_path)
    assert found["lpips"].value is not None
    assert found["lpips"].value > 0
    assert found["fvd_pair"].value is not None
    assert found["fvd_pair"].value > 0
    files = [file.name for file in catalogue["lpips-alex"].files]
    assert found["lpips"].facts["network"]["weights"] == digest_of(store / "lpips-alex", files)

    # As the one without torch sees it, of the same frames.
    plain = Lpips([store / "lpips-alex" / file for file in files])
    episode, start = episode_of(tasks[0])
    rollout = Clip.open(record.directory / str(record.rollout))
    real = episode.clip[start:].resized(rollout.width, rollout.height)
    for index, value in found["lpips"].series[:3]:
        assert value == pytest.approx(plain(rollout[index], real[index]), rel=1e-4)

    def never(*_: Any) -> Any:
        raise AssertionError("a network was asked again")

    for name in ("lpips-alex", "i3d"):
        monkeypatch.setattr(networks.get(name), "answer", never)
    _perceived.cache_clear()
    again = scored(record, tmp_path)
    assert again == found


def test_weights_that_come_fill_the_gap(tasks: list[Task], tmp_path: Path, store: Path) -> None:
    hidden = store.with_name("elsewhere")
    store.rename(hidden)
    _perceived.cache_clear()
    before = LoopNav(**SETTINGS).settings["networks_digest"]
    record = performed(tasks[0], tmp_path / "run")
    gap = scored(record, tmp_path)
    assert gap["lpips"].value is None
    assert "worldgauge weights pull lpips-alex" in str(gap["lpips"].reason)
    hidden.rename(store)
    _perceived.cache_clear()
    assert LoopNav(**SETTINGS).settings["networks_digest"] != before
    assert scored(record, tmp_path)["lpips"].value is not None
