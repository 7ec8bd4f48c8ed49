"""Short walks to train on, and a LeRobot data set of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.actions import Actions, ActionSpace, Axis, Motion
from worldgauge.core.geometry import Camera
from worldgauge.core.video import Clip
from worldgauge_train.export_data import write_lerobot
from worldgauge_train.training.clip import TrainingClip

SPACE = ActionSpace("toy", (Axis("W", "button", Motion(forward=0.2)), Axis("yaw", "angle", Motion(yaw=1.0))), fps=20.0)


def walk(name: str, frames: int, text: str | None = None, size: tuple[int, int] = (48, 32)) -> TrainingClip:
    rng = np.random.default_rng(frames)
    base = rng.integers(0, 256, (4, 6, 3), dtype=np.uint8)
    picture = np.kron(base, np.ones((size[1] // 4, size[0] // 6, 1), np.uint8))
    shown = np.stack([np.roll(picture, 2 * k, 1) for k in range(frames)])
    poses = np.tile(np.eye(4), (frames, 1, 1))
    poses[:, :3, 3] = rng.normal(size=(frames, 3))
    camera = Camera(*size, 40.0, 41.0, size[0] / 2, size[1] / 2)
    actions = Actions(SPACE, rng.random((frames - 1, 2), np.float32))
    return TrainingClip(name, "toy", "train", "f", Clip.from_array(shown, 20.0), actions, poses, camera, text)


WALKS = [walk("a", 12, "a red house"), walk("b", 7), walk("c", 9, "a red house")]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("lerobot") / "set"
    assert write_lerobot(iter(WALKS), out) == 3
    return out
