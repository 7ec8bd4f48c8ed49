"""What cannot be trained is one line, before anything is done."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.commands import command
from worldgauge.core.actions import HAND_POSES, LOOP_WALK, Actions
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.video import Clip
from worldgauge.worlds.walking.primitives import NAV_STEPS
from worldgauge_train.cli.app import check_minutes, is_started
from worldgauge_train.training.cache import CachedClip
from worldgauge_train.training.clip import Split, TrainingClip, training_sources
from worldgauge_train.training.material import TrainingPlan
from worldgauge_train.training.validation import Validation

RECIPE = """
size = [16, 8]
frames = 2
past = 4
channels = [8]
batch = 2
steps = 2
"""
SPACES = {"loops": LOOP_WALK, "steps": NAV_STEPS, "hands": HAND_POSES}


@training_sources.register("loops-or-steps")
def made_up(folder: Path, split: Split) -> Iterator[TrainingClip]:
    """Clips of noise: FOLDER/SPACE-SPLIT-FIRST-COUNT-FRAMES."""
    kind, own, first, count, frames = folder.name.split("-")
    space = SPACES[kind]
    for number in range(int(first), int(first) + int(count)) if own == split else ():
        rng = np.random.default_rng(number)
        clip = Clip.from_array(rng.integers(0, 256, (int(frames), 16, 32, 3), np.uint8), 20.0)
        actions = Actions(space, rng.random((int(frames) - 1, len(space)), np.float32))
        poses, camera = np.tile(np.eye(4), (int(frames), 1, 1)), Camera.from_horizontal_fov(32, 16, 90)
        world = WorldFacts("made-up", {"seed": number})
        yield TrainingClip(
            f"{number}", "made-up", split, folder.name + str(number), clip, actions, poses, camera, world=world
        )


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "tiny.toml").write_text(RECIPE)
    for name in (
        "loops-train-0-4-30",
        "loops-val-9-2-30",
        "loops-test-0-2-30",
        "steps-train-0-2-30",
        "loops-train-50-2-6",
        "hands-train-0-2-30",
    ):
        (tmp_path / name).mkdir()
    return tmp_path


def train(place: Path, *more: str, data: str = "loops-train-0-4-30") -> tuple[int, str]:
    given = ["--recipe", "tiny.toml", "--data", f"loops-or-steps={data}", "--out", "out", "--cache", "cache", *more]
    done = command(place, "train", *given)
    return done.returncode, done.stderr + done.stdout


def refused(place: Path, *more: str, data: str = "loops-train-0-4-30") -> str:
    code, said = train(place, *more, data=data)
    assert code == 2, said
    (line,) = [line for line in said.splitlines() if line.startswith("error:")]
    assert not (place / "out" / "model.safetensors").exists()
    return line


def test_what_needs_no_torch_is_told_without_it(place: Path) -> None:
    cache = ("train", "cache", "--recipe", "tiny.toml", "--cache", "cache")
    data = ("--data", "loops-or-steps=loops-train-0-4-30")
    done = command(place, *cache, *data)
    assert "4 clips, 120 frames of 16x8" in done.stdout
    for words, said in (
        (("--data", "loops-or-steps=loops-test-0-2-30"), "only test parts; worldgauge collect"),
        (("--data", "loops-or-steps=nowhere"), "no such folder"),
        (("--data", "loop-or-step=nowhere"), "Did you mean 'loops-or-steps'?"),
        (("--data", "walkz"), "Did you mean 'walks'?"),
        ((), "there is nothing to train on"),
        (
            ("--data", "loops-or-steps=loops-train-0-4-30", "--data", "loops-or-steps=steps-train-0-2-30"),
            "2 kinds of actions",
        ),
        (("--data", "loops-or-steps=hands-train-0-2-30", "--set", "told=motion"), "hand-poses move no camera"),
        ((*data, "--set", "size=[17, 8]"), "(16, 8)"),
        ((*data, "--set", "stepz=3"), "Did you mean 'steps'?"),
    ):
        done = command(place, *cache, *words)
        assert done.returncode == 2, words
        assert said in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    done = command(place, "train", "inspect", place)
    assert (done.returncode, "config.json" in done.stderr) == (2, True)


def test_without_the_extra_the_line_to_install_it_is_told(place: Path) -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        assert ".[train]" in refused(place)
    else:
        pytest.skip("torch is here")


@pytest.fixture
def torch() -> None:
    pytest.importorskip("torch")


@pytest.mark.usefixtures("torch")
def test_a_training_by_the_command_and_what_it_says(place: Path) -> None:
    code, said = train(place, "--dry-run")
    assert code == 0
    assert "4 clips, 120 frames: 92 windows of 8 frames, 2 steps of 2" in said
    assert "GFLOP" in said
    assert not (place / "out").exists()
    validated = "--validate", "loops-or-steps=loops-val-9-2-30"
    code, said = train(place, *validated, "--steps", "3", "--seed", "4")
    assert code == 0
    assert "freeze_mse_1s" in said
    done = command(place, "train", "inspect", "out")
    assert "3 of 3 steps" in done.stdout
    assert "4 scenes" in done.stdout
    assert "3, not 5" in refused_with(place, *validated, "--steps", "5", "--seed", "4")


def refused_with(place: Path, *more: str) -> str:
    code, said = train(place, *more)
    assert code == 2
    return said


@pytest.mark.usefixtures("torch")
def test_what_cannot_be_trained_is_one_line(place: Path) -> None:
    from worldgauge_train.training.state import claimed

    causal = ("--set", "architecture=causal", "--set", "patch=5", "--set", "width=8", "--set", "heads=1")
    assert "checkpoint of init; the stage before is one of causal" in refused(
        place, *causal, "--stage", "causal,distil"
    )
    assert "Did you mean 'causal'?" in refused(place, "--stage", "causel")
    assert not (place / "cache").exists()  # nothing was read for these
    assert "here are: cpu" in refused(place, "--device", "cuda:77")
    assert "float32" in refused(place, "--precision", "float16")
    assert "--minutes" in refused(place, "--final")
    assert "--compile is for GPUs" in refused(place, "--compile")
    assert "--gpus 2 cannot share 1 parts of a batch of 2 evenly; --set parts=2" in refused(place, "--gpus", "2")
    assert "several processes; add --gpus N" in refused(place, "--spread")
    with pytest.raises(UsageError, match="takes all GPUs from the first"):
        is_started(2, "cuda:0", False)
    assert not is_started(2, "cuda:0", True)
    assert "Did you mean 'trackio'" in refused(place, "--log", "trackoi")
    assert "--clips 9: there are only 4" in refused(place, "--clips", "9")
    assert "windows need 8" in refused(place, data="loops-train-50-2-6")
    assert "begins from a checkpoint" in refused(place, "--stage", "distil")
    assert "Did you mean 'conv'?" in refused(place, "--set", "architecture=convs")
    assert not (place / "out" / "config.json").exists()  # the folder is free for another training
    assert "no multiple of patch = 5; the nearest is 15x10" in refused(place, *causal)
    with claimed(place / "out"):
        assert "trains in this folder" in refused(place)
    overlapping = "--validate", "loops-or-steps=loops-test-0-2-30"
    said = refused(place, *overlapping)
    assert "only test parts" in said
    assert "or, to use test scenes, add --allow-test" in said
    assert "2 of its 2 scenes are also trained on" in refused(place, *overlapping, "--allow-test")
    assert "another kind" in refused(place, "--validate", "loops-or-steps=steps-train-0-2-30")
    assert "no such folder" in refused(place, "--validate", "loops-or-steps=nowhere")
    code, said = train(place, *overlapping, "--allow-test", "--allow-overlap")
    assert code == 0
    assert "validated on 2 clips of the split test, loops-or-steps=loops-test-0-2-30" in said


@pytest.mark.usefixtures("torch")
def test_scenes_of_the_base_are_not_validated_on(place: Path) -> None:
    (place / "loops-val-2-2-30").mkdir()
    (place / "loops-train-20-3-30").mkdir()
    assert train(place, "--validate", "none")[0] == 0
    (place / "out").rename(place / "base")
    words = "2 of its 2 scenes were trained on before; give other data"
    given = "--validate", "loops-or-steps=loops-val-2-2-30"
    assert words in refused(place, *given, "--from", "base", data="loops-train-20-3-30")
    after = "post-train", "--base", "base", "--data", "loops-or-steps=loops-train-20-3-30", "--cache", "cache"
    done = command(place, *after, "--out", "more", *given)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    done = command(place, *after, "--out", "more", "--validate", "loops-or-steps=loops-val-9-2-30", "--minutes", "9")
    assert done.returncode == 0, done.stderr
    assert "validated on 2 clips of the split val" in done.stdout
    done = command(place, *after, "--out", "less", *given, "--allow-overlap", "--dry-run")
    assert (done.returncode, "hours in all" in done.stdout) == (0, True)


def test_minutes_that_hold_no_validation_are_refused() -> None:
    frames = np.zeros((60, 8, 16, 3), np.uint8)
    clip = CachedClip("a", "s", None, frames, np.zeros((60, 9), np.float32), np.zeros((60, 5)))
    validation = Validation([clip], 24.0, np.eye(9, dtype=np.float32))
    fast = TrainingPlan("init", 9, 10, 1.0, 60.0, 1.0, 0, 0, 0, 1000.0, 1.0)
    slow = replace(fast, stage="distil", frames_per_s=5.0)
    with pytest.raises(UsageError, match=r"--minutes 0\.1 is less than one validation, about 13 s"):
        check_minutes(0.1, [fast, slow], validation)  # 40 frames that follow, and 24 with the opposite actions
    check_minutes(0.1, [fast], validation)
    check_minutes(1, [fast, slow], validation)
    check_minutes(0.1, [slow], None)
