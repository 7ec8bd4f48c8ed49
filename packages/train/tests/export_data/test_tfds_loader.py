"""Walks that were exported as RLDS are opened by TensorFlow Datasets itself, in an environment of its own.

`make test-tfds` makes that environment; WORLDGAUGE_TFDS names the Python of another one.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("google_crc32c")

from support.training_walks import WALKS
from worldgauge.core.image import Image
from worldgauge_train.export_data import write_rlds

TFDS = os.environ.get("WORLDGAUGE_TFDS", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not TFDS, reason="no environment with TensorFlow Datasets here (make test-tfds)"),
]
READ = """
import json, sys
import numpy
import tensorflow_datasets as tfds
folder, frames = sys.argv[1:]
builder = tfds.builder_from_directory(folder)
walks, pictures = [], []
for episode in tfds.as_numpy(builder.as_dataset(split="train")):
    steps = list(episode["steps"])
    pictures += [step["observation"]["image"] for step in steps]
    walks.append({
        "name": episode["episode_metadata"]["name"].decode(),
        "state": [step["observation"]["state"].tolist() for step in steps],
        "intrinsics": [step["observation"]["intrinsics"].tolist() for step in steps],
        "action": [step["action"].tolist() for step in steps],
        "text": [step["language_instruction"].decode() for step in steps],
        **{name: [bool(step[name]) for step in steps] for name in ("is_first", "is_last", "is_terminal")},
    })
numpy.save(frames, numpy.stack(pictures))
print(json.dumps({
    "walks": walks, "split": builder.info.splits["train"].num_examples, "version": str(builder.version),
    "fps": builder.info.metadata["fps"],
}))
"""


@pytest.mark.parametrize("shard_bytes", [1 << 20, 1])
def test_the_package_itself_reads_what_was_written(tmp_path: Path, shard_bytes: int) -> None:
    write_rlds(iter(WALKS), tmp_path / "set", shard_bytes=shard_bytes)
    done = subprocess.run(
        [TFDS, "-c", READ, str(tmp_path / "set"), str(tmp_path / "frames.npy")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": "", "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["split"], told["version"], told["fps"]) == (3, "1.0.0", 20.0)
    frames: Image = np.load(tmp_path / "frames.npy")
    at = 0
    by_name = {walk.id: walk for walk in WALKS}
    assert sorted(one["name"] for one in told["walks"]) == sorted(by_name)  # files are interleaved
    for one in told["walks"]:
        walk = by_name[one["name"]]
        camera, last = walk.camera, len(walk) - 1
        assert np.array_equal(np.reshape(one["state"], (-1, 3, 4)), walk.poses[:, :3].astype(np.float32))
        assert np.allclose(one["intrinsics"], [camera.fx, camera.fy, camera.cx, camera.cy])
        assert np.array_equal(np.array(one["action"], np.float32)[:-1], walk.actions.values)
        assert one["action"][-1] == [0.0, 0.0]
        assert set(one["text"]) == {walk.text or ""}
        assert [k for k, first in enumerate(one["is_first"]) if first] == [0]
        assert [k for k, end in enumerate(one["is_last"]) if end] == [last]
        assert not any(one["is_terminal"])
        assert np.array_equal(frames[at : at + len(walk)], walk.frames.to_array())
        at += len(walk)
