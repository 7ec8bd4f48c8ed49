"""A task as a recording of Rerun, read back by rerun-sdk itself."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import worldgauge
from worldgauge.core.errors import MissingExtraError, UnknownNameError, UsageError
from worldgauge.engine.open_suite import list_tasks, open_suite
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
    with pytest.raises(MissingExtraError, match=r"worldgauge\[rerun\]"):
        export([glow_runs], tmp_path, "rrd", task="a")


@pytest.mark.slow
def test_what_was_written_is_read_back(walks: Path, tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="rerun-sdk is not installed (make test-rerun)")
    chunk = pytest.importorskip("rerun.chunk", reason="this rerun-sdk reads no recordings")
    task = list_tasks(open_suite("loopnav", {}), walks, 1)[0]
    worldgauge.run("loopnav", model="freeze", data=walks, out=tmp_path / "runs", limit=1)
    with pytest.raises(UnknownNameError, match="task"):
        export([tmp_path / "runs"], tmp_path, "rrd", task="ABA/nowhere")
    (path,) = export([tmp_path / "runs"], tmp_path / "rrd", "rrd", task=task.id)
    rows: dict[str, list[dict[str, Any]]] = {}
    for part in chunk.RrdReader(path).stream():
        rows.setdefault(part.entity_path, []).extend(part.to_record_batch().to_pylist())
    view = open_suite("loopnav", {}).task_view(task)
    n = len(view.truth)
    for name in ("/world/camera/picture", "/world/camera/depth", "/imagined/freeze", "/metrics/psnr/freeze"):
        assert sorted(row["frame"] for row in rows[name]) == list(range(n)), name
    (walk,) = [row for row in rows["/world/path"] if any("strips" in key for key in row)]
    strip = next(value for key, value in walk.items() if key.endswith("strips"))[0]
    assert np.allclose(strip, view.poses[:, :3, 3], atol=1e-4)
    depth = rows["/world/camera/depth"][0]
    metres = np.frombuffer(bytes(next(v for k, v in depth.items() if k.endswith("buffer"))[0]), np.float32)
    assert metres.size == view.truth.width * view.truth.height
    assert 0 < np.median(metres[metres > 0]) < 200
