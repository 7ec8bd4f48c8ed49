"""Models that report a camera path which they did not show: the path counts for built-in baselines only."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from support.served import command
from worldgauge.core.model import ModelSpec
from worldgauge.engine.model_entries import is_built_in, resolve_model
from worldgauge.engine.run import run, score
from worldgauge.engine.store import RunFolder
from worldgauge.models import models

CHEATS = '''
import inspect, json
from pathlib import Path

import numpy as np

from worldgauge.core.model import ModelSpec
from worldgauge.models.baselines.trivial import Freeze, Hedge
from worldgauge.models.baselines.truth import Render


class LiarInMotion:
    """A frozen frame with moving noise, which reports the requested path."""

    def __init__(self, control="camera"):
        self.spec = ModelSpec("liar", control=control)

    def rollout(self, request):
        rng, last = np.random.default_rng(request.seed), request.context.clip[-1].astype(int)
        for _ in range(request.horizon):
            yield (last + rng.integers(-20, 20, last.shape)).clip(0, 255).astype(np.uint8)[None]

    def camera_path(self, request):
        return request.poses


class Follows(LiarInMotion):
    """A frozen frame that reports the path which it was given."""

    def rollout(self, request):
        return (request.context.clip[-1][None] for _ in range(request.horizon))


class Subclass(Freeze):
    """A subclass of a baseline, with the name of a baseline, in the module of a baseline."""

    __module__ = Freeze.__module__

    def __init__(self):
        self.spec = ModelSpec("render", control="camera")

    def camera_path(self, request):
        return request.poses


class Sighted(LiarInMotion):
    """It declares a hidden input, which makes its row a baseline's."""

    def __init__(self):
        self.spec = ModelSpec("sighted", control="camera", inputs=frozenset({"world"}))


class Writer(LiarInMotion):
    """It writes poses.json into the record that is being made, and has no `camera_path`."""

    camera_path = None

    def rollout(self, request):
        for frame in inspect.stack():
            context = frame.frame.f_locals.get("task_context")
            if context is not None:
                rows = np.asarray(request.poses)[:, :3].reshape(-1, 12).tolist()
                (Path(context.directory) / "poses.json").write_text(json.dumps({"poses": rows}))
                break
        return super().rollout(request)


def disguised():
    """An object of a baseline's class with methods of its own."""
    made = Render()
    made.spec = ModelSpec("render", control="camera")
    made.rollout = Follows().rollout
    made.camera_path = Follows().camera_path
    return made
'''
NAMES = ("LiarInMotion", "Follows", "Subclass", "Sighted", "Writer", "disguised")
MIND = {"tests": "mem", "perspectives": "1st", "poses": "exact", "horizon": 12}
TARGET = {"decoder": "exact", "cross_check": "never", "fps": 5}


@pytest.fixture
def cheats(tmp_path: Path) -> Path:
    path = tmp_path / "cheats.py"
    path.write_text(CHEATS)
    return path


def path_scores(folder: RunFolder, suite: str) -> list[tuple[float | None, str | None]]:
    metric = {"mind": "lcm/rpe_trans", "targetbench": "path/overall"}[suite]
    lines = map(json.loads, folder.scores_path.read_text().splitlines())
    return [(line["value"], line["reason"]) for line in lines if line["metric"] == metric]


def assert_missing(folder: RunFolder, suite: str) -> None:
    found = path_scores(folder, suite)
    assert found
    for value, reason in found:
        assert value is None
        assert "exact poses are known of built-in baselines only" in str(reason)


@pytest.mark.parametrize("name", NAMES)
def test_the_path_of_a_tested_model_is_missing(name: str, cheats: Path, mind_data: Path, tmp_path: Path) -> None:
    text = [f"{cheats}:{name}", *([f"{cheats}:{name}?context_frames=2"] if name == "Follows" else [])]
    result = run("mind", model=text, data=mind_data, out=tmp_path / "runs", settings=MIND, limit=1)
    for folder in result.folders:
        assert_missing(folder, "mind")
    # A live object is not trusted either, whatever its class is.
    live = resolve_model(f"{cheats}:{name}").model
    result = run("mind", model=live, data=mind_data, out=tmp_path / "live", settings=MIND, limit=1)
    assert_missing(result.folders[0], "mind")


@pytest.mark.parametrize("name", ["Follows", "Subclass", "Sighted"])
def test_no_reported_path_is_usable(name: str, cheats: Path, targetbench_data: Path, tmp_path: Path) -> None:
    result = run(
        "targetbench",
        model=[f"{cheats}:{name}", "truth"],
        data=targetbench_data,
        out=tmp_path / "runs",
        settings=TARGET,
        limit=1,
    )
    cheat, truth = sorted(result.folders, key=lambda folder: folder.facts()["model"]["name"] == "truth")
    assert_missing(cheat, "targetbench")
    assert all(value is not None for value, _ in path_scores(truth, "targetbench"))


def test_baselines_keep_their_path(mind_data: Path, tmp_path: Path) -> None:
    # With fewer context frames, too.
    names = ["truth", "render", "hedge", "memory", "memory?context_frames=3"]
    result = run("mind", model=names, data=mind_data, out=tmp_path / "runs", settings=MIND, limit=1)
    by_name = {one.facts()["model"]["name"]: path_scores(one, "mind") for one in result.folders}
    assert all(value is not None for scores in by_name.values() for value, _ in scores)
    assert all(value == pytest.approx(0, abs=1e-6) for value, _ in by_name["render"])
    # `hedge` does not move: it has the error of a still camera, not that of the requested path.
    assert all(value > 1e-3 for value, _ in by_name["hedge"])


def test_a_plugin_that_calls_itself_built_in_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plugin(models.get("freeze")):  # type: ignore[misc]
        """A plugin."""

    Plugin.__module__ = "worldgauge.models.baselines.plugin"
    monkeypatch.setattr(models, "_entries", dict(models._entries))
    monkeypatch.setattr(models, "_modules", dict(models._modules))
    models.register("mine")(Plugin)
    point = EntryPoint("theirs", "worldgauge.models.baselines.trivial:Freeze", "worldgauge.models")
    models._add(replace(models.entry("mine"), name="theirs", target=point))
    told = ModelSpec("freeze").told
    assert not any(is_built_in({"source": name, **told}) for name in ("mine", "theirs", "sha256:12:Freeze"))
    assert not is_built_in({"source": "freeze", "content": "12", **told})
    assert is_built_in({"source": "freeze", **told})
    # Former records of `hedge` hold the requested path.
    assert not is_built_in({"source": "hedge", "settings": {"fade_s": 4.0}})


def test_a_rescore_of_a_former_run_treats_reported_poses_as_missing(
    cheats: Path, mind_data: Path, tmp_path: Path
) -> None:
    result = run("mind", model=f"{cheats}:Follows", data=mind_data, out=tmp_path / "runs", settings=MIND, limit=1)
    (folder,) = result.folders
    record = next(folder.directory.glob("records/*/record.json"))
    entry: dict[str, Any] = json.loads(record.read_text())
    poses = [[1.0, 0, 0, 0.1 * k, 0, 1, 0, 0, 0, 0, 1, 0] for k in range(entry["facts"]["frames_generated"])]
    (record.parent / "poses.json").write_text(json.dumps({"poses": poses}))
    entry["facts"]["poses"] = "poses.json"
    record.write_text(json.dumps(entry))
    (record.parent / "scores.json").unlink()
    score(folder.directory)
    assert_missing(folder, "mind")


def test_a_served_model_reports_no_path(mind_data: Path, tmp_path: Path) -> None:
    text = f"cmd:{command('Fade')}"
    more = {"settings": MIND, "limit": 1, "gpus_per_worker": 0}
    result = run("mind", model=text, data=mind_data, out=tmp_path / "runs", **more)
    assert_missing(result.folders[0], "mind")
    assert not list(result.folders[0].directory.glob("records/*/poses.json"))
