"""A training to its end, one that goes on, and studies of it: nothing holds a secret of the environment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from fuzz.formats.data_sets import SOUND
from support.canary import holding, plant, tells
from support.commands import command
from worldgauge.core.actions import Actions
from worldgauge.core.geometry import Camera
from worldgauge.core.video import Clip
from worldgauge.suites.mind.actions import walk_look
from worldgauge_train.training.clip import Split, TrainingClip, training_sources

RECIPE = """
stage = "causal"
size = [16, 8]
frames = 2
past = 2
channels = [8]
batch = 2
steps = 3
denoising_steps = 2
"""


@training_sources.register("quiet-noise")
def quiet_noise(folder: Path, split: Split) -> Iterator[TrainingClip]:
    """Four clips of noise at the rate of MIND to train on, and one to check with."""
    for number in range(4 if split == "train" else 1):
        rng = np.random.default_rng(number)
        frames = Clip.from_array(rng.integers(0, 256, (12, 8, 16, 3), np.uint8), 24.0)
        actions = Actions(walk_look(), np.zeros((11, len(walk_look())), np.float32))
        poses, camera = np.tile(np.eye(4), (12, 1, 1)), Camera.from_horizontal_fov(16, 8, 90)
        yield TrainingClip(f"{number}", "quiet-noise", split, f"quiet-{number}", frames, actions, poses, camera)


def test_nothing_of_the_environment_is_in_a_training_or_a_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plant(monkeypatch)
    (tmp_path / "mine.toml").write_text(RECIPE)
    data = ("--data", "quiet-noise=.", "--cache", "cache")
    studied = ("mind", "--data", str(SOUND / "mind"), "--set", "poses=exact", "--set", "horizon=4", "--limit", "1")
    told = ""
    for words, ending in (
        (("train", "--recipe", "mine.toml", *data, "--out", "base"), 0),
        (("train", "inspect", "base"), 0),
        (("post-train", "--base", "base", *data, "--clips", "2", "--out", "more"), 0),
        (("train", "--recipe", "mine.toml", "--data", "quiet-noise=.", "--cache", "/proc/none", "--out", "none"), 2),
        (("study", "memory", *studied, "--model", "trained:base", "--context", "1,all", "--out", "memory"), 0),
        (("study", "denoising", *studied, "--model", "trained:more", "--steps", "1,2", "--out", "denoising"), 0),
        (("study", "memory", *studied, "--model", "trained:nowhere", "--context", "1,all", "--out", "nothing"), 2),
    ):
        done = command(tmp_path, *words)
        assert done.returncode == ending, (words, done.stderr)
        told += done.stdout + done.stderr
    assert (tmp_path / "base" / "config.json").is_file()
    assert len(list(tmp_path.glob("*/*.html"))) == 2
    assert not tells(told + caplog.text)
    assert not holding(tmp_path)
