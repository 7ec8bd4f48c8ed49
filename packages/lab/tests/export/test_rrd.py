"""A task as a recording of Rerun, read back by rerun-sdk itself."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import worldgauge
from worldgauge.core.errors import MissingExtraError, UnknownNameError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.video import Clip
from worldgauge.engine.collect import collect
from worldgauge.engine.open_suite import list_tasks, open_suite
from worldgauge.engine.result import find_runs
from worldgauge.engine.store import RunFolder, read_journal
from worldgauge.tools.export import export


def test_a_recording_is_of_one_task(glow_runs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name it with --task"):
        export([glow_runs], tmp_path, "rrd")
    with pytest.raises(UsageError, match="goes with --to rrd"):
        export([glow_runs], tmp_path, "csv", task="a")


def test_without_the_extra_it_says_so(glow_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *given: Any, **named: Any) -> Any:
        if name == "rerun":
            raise ImportError(name)
        return real(name, *given, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"\.\[rerun\]"):
        export([glow_runs], tmp_path, "rrd", task="a")


def test_a_build_has_nothing_to_record(build_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rerun", SimpleNamespace())  # it is refused before anything is written
    task = next(iter(read_journal(RunFolder(build_runs).journal_path)))
    with pytest.raises(UsageError, match="answered in words or builds") as told:
        export([build_runs], tmp_path / "rrd", "rrd", task=task)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "rrd").exists()


@pytest.fixture
def build_runs(tmp_path: Path) -> Path:
    collect("mineanybuild", tmp_path / "data", structures=1, stimuli=0, commonsense=1, size_px=64)
    result = worldgauge.run("mineanybuild", model="random", data=tmp_path / "data", out=tmp_path / "runs", limit=1)
    return result.folders[0].directory


def read(chunk: Any, path: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of a recording by the entity they are of, as rerun-sdk reads them."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for part in chunk.RrdReader(path).stream():
        rows.setdefault(part.entity_path, []).extend(part.to_record_batch().to_pylist())
    return rows


def strip(rows: dict[str, list[dict[str, Any]]], entity: str) -> Any:
    """Points of the one line of an entity."""
    (line,) = [row for row in rows[entity] if any("strips" in key for key in row)]
    return np.asarray(next(value for key, value in line.items() if key.endswith("strips"))[0])


@pytest.mark.slow
def test_what_was_written_is_read_back(walks: Path, tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="rerun-sdk is not installed (make test-rerun)")
    chunk = pytest.importorskip("rerun.chunk", reason="this rerun-sdk reads no recordings")
    task = list_tasks(open_suite("loopnav", {}), walks, 1)[0]
    worldgauge.run("loopnav", model="freeze", data=walks, out=tmp_path / "runs", limit=1)
    with pytest.raises(UnknownNameError, match="task"):
        export([tmp_path / "runs"], tmp_path, "rrd", task="ABA/nowhere")
    (path,) = export([tmp_path / "runs"], tmp_path / "rrd", "rrd", task=task.id)
    rows = read(chunk, path)
    view = open_suite("loopnav", {}).task_view(task)
    n = len(view.truth)
    for name in ("/world/camera/picture", "/world/camera/depth", "/imagined/freeze", "/metrics/psnr/freeze"):
        assert sorted(row["frame"] for row in rows[name]) == list(range(n)), name
    assert np.allclose(strip(rows, "/world/path"), view.poses[:, :3, 3], atol=1e-4)
    depth = rows["/world/camera/depth"][0]
    metres = np.frombuffer(bytes(next(v for k, v in depth.items() if k.endswith("buffer"))[0]), np.float32)
    assert metres.size == view.truth.width * view.truth.height
    assert 0 < np.median(metres[metres > 0]) < 200


@pytest.mark.slow
def test_a_walk_to_a_target_is_read_back_with_its_decoded_path(tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="rerun-sdk is not installed (make test-rerun)")
    chunk = pytest.importorskip("rerun.chunk", reason="this rerun-sdk reads no recordings")
    collect("targetbench", tmp_path / "data", scenes=1, per_scene=1, size=(160, 90))
    suite = open_suite("targetbench", {})
    (task,) = list_tasks(suite, tmp_path / "data", None)
    worldgauge.run(
        "targetbench", model="oracle", data=tmp_path / "data", out=tmp_path / "runs", settings={"decoder": "klt-vo"}
    )
    (path,) = export([tmp_path / "runs"], tmp_path / "rrd", "rrd", task=task.id)
    rows, view = read(chunk, path), suite.task_view(task)
    n = len(view.truth)
    assert n > 50
    for name in ("/world/camera/picture", "/world/camera/depth", "/imagined/oracle"):
        assert sorted(row["frame"] for row in rows[name]) == list(range(n)), name
    walk = strip(rows, "/world/path")
    assert np.allclose(walk, view.poses[:, :3, 3], atol=1e-3)
    ((mark, place),) = view.marks.items()
    (points,) = [row for row in rows[f"/world/marks/{mark}"] if any("positions" in key for key in row)]
    assert np.allclose(next(v for k, v in points.items() if k.endswith("positions"))[0][:2], place, atol=1e-3)
    # What the model imagined is the future itself, so the path that was decoded from it, at this size, is near it.
    decoded = strip(rows, "/world/paths/oracle")
    far = np.linalg.norm(decoded[:, None, :2] - walk[None, :, :2], axis=2).min(axis=1)
    assert len(decoded) > 5
    assert np.linalg.norm(walk[-1] - walk[0]) > 4
    assert far.max() < 1


@pytest.mark.slow
def test_an_episode_is_read_back_with_what_was_seen_and_imagined(loops: Path, tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="rerun-sdk is not installed (make test-rerun)")
    chunk = pytest.importorskip("rerun.chunk", reason="this rerun-sdk reads no recordings")
    (run,) = [one for one in find_runs([loops]) if one.facts()["model"]["name"] == "oracle"]
    task = next(iter(run.facts()["task_keys"]))
    (path,) = export([loops], tmp_path / "rrd", "rrd", task=task)
    rows, record = read(chunk, path), run.record(task)
    seen = Clip.open(record / "seen.mp4")
    assert sorted(row["frame"] for row in rows["/seen/oracle"]) == list(range(len(seen)))
    frames = [row["frame"] for row in rows["/imagined/oracle"]]
    assert frames
    assert len(set(frames)) == len(frames)
    assert set(frames) <= set(range(1, len(seen)))
    assert "/imagined/none" not in rows
    walked = strip(rows, "/world/paths/oracle")
    (head,) = [one for _, one in run.scores() if one.task == task and "xy" in one.facts]
    assert np.allclose(walked[:, :2], head.facts["xy"], atol=1e-3)
    assert len(strip(rows, "/world/path")) > 1
    assert rows["/replay/none"]


class Telling:
    """Repeats its last frame, and says that its camera went straight ahead."""

    spec = ModelSpec("telling", control="actions")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        yield request.context.clip[-1][None].repeat(request.horizon, 0)

    def camera_path(self, request: RolloutRequest) -> FloatArray:
        poses = np.repeat(request.context.poses[-1:], request.horizon, axis=0)
        poses[:, 0, 3] += np.arange(request.horizon) / 10
        return poses


@pytest.mark.slow
def test_the_path_that_a_model_tells_is_read_back(clips: Path, tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="rerun-sdk is not installed (make test-rerun)")
    chunk = pytest.importorskip("rerun.chunk", reason="this rerun-sdk reads no recordings")
    result = worldgauge.run("mind", model=Telling(), data=clips, out=tmp_path / "runs", limit=1)
    task = next(iter(result.folders[0].facts()["task_keys"]))
    (path,) = export([tmp_path / "runs"], tmp_path / "rrd", "rrd", task=task)
    rows = read(chunk, path)
    told, true = strip(rows, "/world/paths/telling"), strip(rows, "/world/path")
    assert np.allclose(np.diff(told[:, 0]), 0.1, atol=1e-4)
    assert np.linalg.norm(told[0] - true, axis=1).min() < 1  # it begins where the true walk is
