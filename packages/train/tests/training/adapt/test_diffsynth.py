"""What the papers' own trainer reads: clips of 121 frames, a table of them, the released command."""

import csv
import shlex
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.video import Clip
from worldgauge.worlds.walking.primitives import Primitive, as_actions, render_text
from worldgauge_train.training.adapt import Adaptation, command_of, named_adaptation, prompt_of, write_diffsynth
from worldgauge_train.training.clip import TrainingClip
from worldgauge_train.training.recipe import changed


def walk(frames: int, words: str | None = 'Go to the "door", slowly.') -> TrainingClip:
    shown = np.zeros((frames, 16, 16, 3), np.uint8)
    shown[:] = (np.arange(frames) % 250)[:, None, None, None]
    actions = Actions(LOOP_WALK, np.zeros((frames - 1, len(LOOP_WALK)), np.float32))
    poses, camera = np.tile(np.eye(4), (frames, 1, 1)), Camera.from_horizontal_fov(16, 16, 90)
    return TrainingClip(
        f"{frames}", "made-up", "train", f"{frames}", Clip.from_array(shown, 15.0), actions, poses, camera, words
    )


@pytest.mark.parametrize(("form", "each"), [("diffsynth", 1), ("diffsynth-four", 4)])
def test_clips_a_table_and_the_command(form: str, each: int, tmp_path: Path) -> None:
    written = write_diffsynth([walk(246), walk(100), walk(250, None)], tmp_path, named_adaptation("target-lora"), form)
    assert written.clips == each
    assert list(written.left_out) == ["made-up/100", "made-up/250"]
    with open(tmp_path / "metadata.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["prompt"] for row in rows] == ['Go to the "door", slowly.'] * each
    for number, row in enumerate(rows):
        clip = Clip.open(tmp_path / row["video"])
        assert (len(clip), clip.fps) == (121, 15.0)
        levels = np.array([frame.mean() for frame in clip])
        wanted = np.linspace(0, 245, 121).astype(int) if each == 1 else number + 2 * np.arange(121)
        np.testing.assert_allclose(levels, wanted % 250, atol=3)


def test_the_released_command() -> None:
    words = shlex.split(command_of(named_adaptation("target-lora")).replace("\\\n", ""), comments=True)
    given = dict(pairwise(words))
    assert given["--lora_rank"] == "32"
    assert given["--lora_target_modules"] == "q,k,v,o,ffn.0,ffn.2"
    assert given["--learning_rate"] == "1e-05"
    assert (given["--num_epochs"], given["--num_frames"]) == ("100", "121")
    assert (given["--height"], given["--width"]) == ("704", "1280")
    assert given["--extra_inputs"] == "input_image"


def test_nothing_to_write(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to write: made-up/50: a plain clip needs 121 frames, got 50"):
        write_diffsynth([walk(50)], tmp_path, named_adaptation("target-lora"))
    with pytest.raises(UsageError, match="known are diffsynth, diffsynth-four"):
        write_diffsynth([], tmp_path, Adaptation(), "lerobot")


def test_steps_in_words() -> None:
    steps = (Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.STOP, Primitive.TURN_RIGHT)
    frames, camera = np.zeros((5, 8, 16, 3), np.uint8), Camera.from_horizontal_fov(16, 8, 90)
    clip = TrainingClip(
        "a", "s", "train", "f", Clip.from_array(frames, 5.0), as_actions(steps), np.tile(np.eye(4), (5, 1, 1)), camera
    )
    assert prompt_of(clip, 1, 4, "nav/v1") == render_text("nav/v1", steps=steps[1:])
    assert prompt_of(clip, 0, 5, "") == ""


def test_recipes_are_read_and_steps_follow_from_epochs() -> None:
    svd, target = named_adaptation("wiw-svd"), named_adaptation("target-lora")
    assert (svd.steps, svd.batch, svd.schedule, svd.weights) == (1002, 16, "cosine", "all")
    assert target.with_steps(325).steps == -(-325 * 100 // 8)
    assert changed(target, {"steps": "7"}).with_steps(325).steps == 7
    assert changed(target, {"targets": '["q", "k"]'}).targets == ("q", "k")
    with pytest.raises(UsageError, match="not conditioned on the actions"):
        changed(target, {"prompt": ""})
    with pytest.raises(UsageError, match="targets is"):
        changed(target, {"targets": "[1]"})
