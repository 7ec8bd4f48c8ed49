"""`worldgauge train`: stages one after another, each from the one before."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from support.commands import command
from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.geometry import Camera
from worldgauge.core.io import read_json_object
from worldgauge.core.video import Clip
from worldgauge_train.training.clip import Split, TrainingClip, training_sources

RECIPE = """
stage = "causal"
architecture = "causal"
size = [16, 8]
frames = 2
past = 2
drawn = 3
width = 16
depth = 1
heads = 2
window = 3
batch = 2
steps = 2
denoising_steps = 2

[init]
steps = 3
trajectories = 2

[distil]
critic_steps = 1
"""


@training_sources.register("noise")
def noise(folder: Path, split: Split) -> Iterator[TrainingClip]:
    """Three clips of noise."""
    for number in range(3 if split == "train" else 0):
        rng = np.random.default_rng(number)
        frames = Clip.from_array(rng.integers(0, 256, (12, 8, 16, 3), np.uint8), 20.0)
        actions = Actions(LOOP_WALK, np.zeros((11, len(LOOP_WALK)), np.float32))
        poses, camera = np.tile(np.eye(4), (12, 1, 1)), Camera.from_horizontal_fov(16, 8, 90)
        yield TrainingClip(f"{number}", "noise", split, f"digest-{number}", frames, actions, poses, camera)


def test_stages_follow_each_other(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(RECIPE)
    always = ("train", "--recipe", "mine.toml", "--data", "noise=.", "--cache", "cache")
    assert command(tmp_path, *always, "--out", "base").returncode == 0
    refused = command(tmp_path, *always, "--stage", "distil", "--from", "base", "--out", "student")
    assert refused.returncode == 2
    assert "begins from a checkpoint of init; base is one of causal" in " ".join(refused.stderr.split())
    planned = command(tmp_path, *always, "--stage", "init,distil", "--from", "base", "--out", "student", "--dry-run")
    said = [line.split(":")[0] for line in planned.stdout.splitlines() if "GFLOP" in line]
    assert said == ["init", "distil"], planned.stderr
    assert "hours in all, without validation" in planned.stdout
    assert not (tmp_path / "student").exists()
    done = command(tmp_path, *always, "--stage", "init,distil", "--from", "base", "--out", "student")
    assert done.returncode == 0, done.stderr
    first, last = (read_json_object(tmp_path / "student" / name) for name in ("init/config.json", "config.json"))
    assert (first["recipe"]["stage"], first["steps_done"]) == ("init", 3)
    assert (last["recipe"]["stage"], last["steps_done"]) == ("distil", 2)
    assert [one["stage"] for one in last["lineage"]] == ["causal", "init"]


def test_a_checkpoint_goes_on_with_fewer_clips_as_a_part_of_more(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(RECIPE)
    always = ("--data", "noise=.", "--cache", "cache")
    assert command(tmp_path, "train", "--recipe", "mine.toml", *always, "--out", "base").returncode == 0
    planned = command(tmp_path, "post-train", "--base", "base", *always, "--out", "more", "--dry-run")
    assert "GFLOP" in planned.stdout
    assert not (tmp_path / "more").exists()
    done = command(tmp_path, "post-train", "--base", "base", *always, "--clips", "2", "--out", "more")
    assert done.returncode == 0, done.stderr
    first, more = (read_json_object(tmp_path / name / "config.json") for name in ("base", "more"))
    assert (more["data"][0]["clips"], more["steps_done"]) == (2, 2)  # 2 clips of 10 frames after a past of 2, 12 a step
    assert more["recipe"]["learning_rate"] == pytest.approx(first["recipe"]["learning_rate"] / 10)
    assert [one["stage"] for one in more["lineage"]] == ["causal"]
    refused = command(tmp_path, "post-train", "--base", ".", *always, "--out", "none")
    assert refused.returncode == 2


def test_a_recipe_nested_without_end_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text("steps = " + "[" * 100_000)
    done = command(tmp_path, "train", "cache", "--recipe", "deep.toml", "--data", "noise=.")
    assert done.returncode == 2
    assert done.stderr.startswith("error: deep.toml: ")
    assert len(done.stderr.splitlines()) == 1
