"""Training clips of Target-Bench: camera paths with a sentence."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.actions import camera_path
from worldgauge.core.errors import UsageError
from worldgauge.suites.targetbench.collection import TargetCollection, TargetOptions
from worldgauge_train.training.clip import read_clips


def test_scenarios_are_camera_paths_with_a_sentence(scenarios: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only test parts"):
        read_clips([("targetbench", scenarios)])
    folder = shutil.copytree(scenarios, tmp_path / "train")
    for car in folder.rglob("*_world.json"):
        car.write_text(json.dumps({**json.loads(car.read_text()), "split": "train"}))
    found = read_clips([("targetbench", folder)]).clips
    assert len(found) == 3
    for one in found:
        assert one.text is not None
        assert one.scene is not None
        assert one.frames.fps == 5
        np.testing.assert_allclose(camera_path(one.actions, one.poses[0])[:, :3], one.poses[1:, :3], atol=1e-4)


def test_worlds_of_the_splits_differ() -> None:
    seeds = {
        split: {item.args["world"]["params"]["seed"] for item in TargetCollection(Path(), options(split)).items()}
        for split in ("test", "train", "val")
    }
    assert max(seeds["test"]) < 2**32 <= min(seeds["train"])
    assert max(seeds["train"]) < 2**33 <= min(seeds["val"])
    assert "split" not in TargetCollection(Path(), options("test")).settings()


def options(split: str) -> TargetOptions:
    return TargetOptions(scenes=8, per_scene=1, split=split)
