"""Training clips of the closed loop: coverage walks as panoramas, demonstrations as poses of a hand."""

from pathlib import Path

import numpy as np
import pytest

from support.coverage_data import WALK, write
from support.demonstrations_data import GOALS, REACHED, steps, written
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Panorama
from worldgauge.suites.worldinworld.format.demonstration import read_demonstration
from worldgauge.worlds.tabletop.contract import SEEDS
from worldgauge.worlds.tabletop.pose_plans import clip_plan, from_actions
from worldgauge.worlds.walking.primitives import Primitive
from worldgauge_train.coverage_trajectory import write_index
from worldgauge_train.demonstrations import DemonstrationOptions, _table_seed
from worldgauge_train.sources import FRAMES_A_POSE
from worldgauge_train.training.clip import read_clips


def test_coverage_walks_are_panoramas_driven_by_steps(tmp_path: Path) -> None:
    write(tmp_path)
    write_index(tmp_path, "train")
    (walk,) = read_clips([("coverage", tmp_path)]).clips
    assert isinstance(walk.camera, Panorama)
    assert (len(walk), walk.scene) == (len(WALK), "ab" * 32)
    assert walk.actions.column("forward").tolist() == [float(one is Primitive.FORWARD) for one in WALK[1:]]
    write_index(tmp_path, "val")
    with pytest.raises(UsageError, match="only val parts"):
        read_clips([("coverage", tmp_path)])


def test_demonstrations_are_told_as_plans_are_asked(tmp_path: Path) -> None:
    written(tmp_path, 0)
    written(tmp_path, 1, seed=SEEDS["val"][5])
    (shown,) = read_clips([("demonstrations", tmp_path)]).clips
    assert len(read_clips([("demonstrations", tmp_path)], "val").clips) == 1
    start, goals = np.array(steps()[0].pose), np.array(GOALS)
    plan = clip_plan(start, goals, FRAMES_A_POSE * len(goals) + 1)
    # A quaternion and its opposite are one rotation.
    np.testing.assert_allclose(np.abs(from_actions(shown.actions)), np.abs(plan.poses[1:]), atol=1e-6)
    whole = read_demonstration(tmp_path / "push_buttons" / "000000", tmp_path).clip.to_array()
    # The first pose is reached in frame 4, the second in frame 6; each is shown on the way, and when it is reached.
    assert REACHED == (4, 6)
    np.testing.assert_array_equal(shown.frames.to_array(), whole[[0, 1, 3, 4, 5, 5, 6]])
    assert shown.text
    assert (shown.poses == shown.poses[0]).all()


def test_tables_of_the_splits_differ() -> None:
    assert DemonstrationOptions().split == "train"
    for split, own in SEEDS.items():
        assert all(_table_seed(42, number, 3, split) in own for number in range(100))
