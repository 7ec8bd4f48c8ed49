"""The benchmark that asks models what follows: its numbers by hand, models that end early, and its lines."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import obedience

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.geometry import Camera
from worldgauge.core.video import Clip
from worldgauge_train.training.clip import TrainingClip

FPS = 4.0


def noise(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 8, 16, 3), np.uint8)


def test_the_numbers_of_an_answer() -> None:
    truth = noise(24)
    drawn = truth.copy()
    drawn[4:] = 255 - drawn[4:]
    found = obedience.measured(drawn, truth, FPS)
    assert found["MSE of 1 s"] == 0
    by_hand = np.square((drawn[:8].astype(float) - truth[:8]) / 255).mean()
    assert found["MSE of 2 s"] == pytest.approx(by_hand)
    assert found["detail in second 1"] == pytest.approx(1)
    assert found["detail in second 2"] == pytest.approx(-1), "a negative has the opposite detail"


def test_seconds_that_an_answer_does_not_reach_are_none() -> None:
    found = obedience.measured(noise(5), noise(24), FPS)
    assert found["MSE of 1 s"] is not None
    assert found["MSE of 2 s"] is found["MSE of 6 s"] is found["detail in second 2"] is None


def test_clips_of_any_length_are_asked_each_to_its_end_and_lines_count_what_is_missing() -> None:
    def clip(name: str, count: int) -> TrainingClip:
        frames = Clip.from_array(noise(count), FPS)
        actions = Actions(LOOP_WALK, np.zeros((count - 1, len(LOOP_WALK)), np.float32))
        poses = np.broadcast_to(np.eye(4), (count, 4, 4))
        return TrainingClip(name, "walks", "test", name, frames, actions, poses, Camera(10, 10, 8, 4, 16, 8))

    clips = [clip("long", 39), clip("other", 39), clip("short", 12)]
    found = obedience.rows_of(clips, ["freeze", "noise"], [None], False, (16, 8))
    assert [row["MSE of 6 s"] is None for row in found["freeze"]] == [False, False, True]
    lines = list(obedience.table(found, ["a", "b", "c"]))
    six = lines[lines.index("MSE of 6 s (n = 3 clips, 3 worlds)") + 1]
    assert six.startswith("  freeze: 0.")
    assert six.endswith("(n = 2)")
    assert sum("less the first row" in line for line in lines) == len(obedience.NAMES)
