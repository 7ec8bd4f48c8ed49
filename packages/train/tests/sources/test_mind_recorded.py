"""Training clips of MIND: which parts are of which split, and what comes along."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.actions import camera_path
from worldgauge.core.errors import DataError, UsageError
from worldgauge.engine.options import plain
from worldgauge.suites.mind.collection import MindOptions, planned_clips
from worldgauge_train.training.clip import read_clips


def test_the_tests_of_a_folder_are_not_trained_on(clips: Path) -> None:
    with pytest.raises(UsageError, match="only test parts; worldgauge collect mind --split train"):
        read_clips([("mind", clips)])
    first, third = read_clips([("mind", clips)], "test").clips
    assert (first.id, third.split) == ("mind/1st_data/mem_test/data-25", "test")
    assert (len(first), first.frames.width, first.scene) == (48, 64, first.world.digest if first.world else None)
    assert first.text is not None
    reckoned = camera_path(first.actions, first.poses[0], heading="mean")
    assert np.linalg.norm(reckoned[:, :3, 3] - first.poses[1:, :3, 3], axis=1).max() < 0.5


def test_a_folder_of_another_split_is_of_it_as_a_whole(clips: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(clips, tmp_path / "val")
    manifest = folder / "worldgauge.json"
    content = json.loads(manifest.read_text())
    assert "split" not in content["settings"]
    content["settings"]["split"] = "val"
    manifest.write_text(json.dumps(content))
    assert len(read_clips([("mind", folder)], "val").clips) == 2
    with pytest.raises(UsageError, match="only val parts"):
        read_clips([("mind", folder)])
    manifest.write_text(json.dumps({**content, "settings": {"split": "tset"}}))
    with pytest.raises(DataError, match="split is 'tset'"):
        read_clips([("mind", folder)])


def test_worlds_of_the_splits_differ() -> None:
    worlds = {
        split: {json.dumps(one.world, sort_keys=True) for one in planned_clips(plain(MindOptions(split=split)))}
        for split in ("test", "train", "val")
    }
    assert not worlds["test"] & worlds["train"]
    assert not worlds["train"] & worlds["val"]
    scenes = [(one.scene, one.world_seed) for one in planned_clips(plain(MindOptions(split="train")))]
    assert len({name for name, _ in scenes}) == len(set(scenes))


def test_a_damaged_clip_is_told(clips: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(clips, tmp_path / "copy")
    next(folder.rglob("1st_data/**/action.json")).write_text("{")
    with pytest.raises(DataError, match=r"1 of 2 clips are damaged, more than 1 %.*data-25"):
        read_clips([("mind", folder)], "test")
