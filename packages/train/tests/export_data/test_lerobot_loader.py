"""Walks that were exported are opened by the loader of the `lerobot` package itself, in an environment of its own.

`make test-lerobot` makes that environment; WORLDGAUGE_LEROBOT names the Python of another one. Its videos are read by
PyAV, which brings its own FFmpeg; the package's other reader, torchcodec, wants one on the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from support.training_walks import WALKS, written
from worldgauge.core.image import Image

__all__ = ["written"]
LEROBOT = os.environ.get("WORLDGAUGE_LEROBOT", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LEROBOT, reason="no environment with lerobot here (make test-lerobot)"),
]
READ = """
import json, sys
from lerobot.datasets.lerobot_dataset import LeRobotDataset
from torch.utils.data import DataLoader
folder, frames = sys.argv[1:]
data = LeRobotDataset("local/walks", root=folder, delta_timestamps={"action": [0.0, 0.05]}, video_backend="pyav")
rows = [data[at] for at in range(len(data))]
import numpy
numpy.save(frames, numpy.stack([row["observation.images.view"].numpy() for row in rows]))
batch = next(iter(DataLoader(data, batch_size=5)))
print(json.dumps({
    "episodes": data.num_episodes, "frames": data.num_frames, "fps": data.fps, "cameras": data.meta.camera_keys,
    "batch": list(batch["observation.images.view"].shape),
    "mean": data.meta.stats["observation.state"]["mean"].tolist(),
    "rows": [{
        "episode": int(row["episode_index"]), "frame": int(row["frame_index"]), "time": float(row["timestamp"]),
        "task": row["task"], "state": row["observation.state"].tolist(),
        "intrinsics": row["observation.intrinsics"].tolist(), "action": row["action"].tolist(),
    } for row in rows],
}))
"""


def test_the_package_itself_reads_what_was_written(written: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [LEROBOT, "-c", READ, str(written), str(tmp_path / "frames.npy")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub"), "PYTHONPATH": ""},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["episodes"], told["frames"], told["fps"]) == (3, 28, 20)
    assert told["cameras"] == ["observation.images.view"]
    assert told["batch"] == [5, 3, 32, 48]
    rows = told["rows"]
    assert [row["episode"] for row in rows] == [0] * 12 + [1] * 7 + [2] * 9
    frames: Image = np.load(tmp_path / "frames.npy").transpose(0, 2, 3, 1) * 255
    at = 0
    for walk in WALKS:
        shown = walk.frames.to_array().astype(float)
        for k in range(len(walk)):
            row = rows[at + k]
            assert (row["frame"], row["task"]) == (k, walk.text or "walk")
            assert row["time"] == pytest.approx(k / 20)
            assert np.allclose(np.reshape(row["state"], (3, 4)), walk.poses[k, :3], atol=1e-6)
            assert np.allclose(row["intrinsics"], [walk.camera.fx, walk.camera.fy, walk.camera.cx, walk.camera.cy])
            if k + 1 < len(walk):
                assert np.allclose(row["action"][0], walk.actions.values[k])
            if k + 2 < len(walk):
                assert np.allclose(row["action"][1], walk.actions.values[k + 1])
            # Lossy, but the same frame: no other one of the walk is nearer.
            assert np.abs(shown - frames[at + k]).mean((1, 2, 3)).argmin() == k
        at += len(walk)
    states = np.concatenate([walk.poses[:, :3].reshape(len(walk), -1) for walk in WALKS])
    assert np.allclose(told["mean"], states.mean(0), atol=1e-5)
