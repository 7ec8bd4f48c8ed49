"""Studies of networks: trained on more and more clips, and denoised in more and more steps."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from worldgauge.core.actions import Actions
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.io import read_json_object
from worldgauge.core.video import Clip
from worldgauge.suites.mind.actions import walk_look
from worldgauge_train.study_run import StudyRequest, denoising_study
from worldgauge_train.study_scaling import Trainings, data_study, trained_arms
from worldgauge_train.training.clip import Split, TrainingClip, training_sources
from worldgauge_train.training.recipe import Recipe

METRICS = ("lcm/mse_720p",)
SMALL = {"stage": "causal", "size": (16, 8), "frames": 2, "past": 2, "channels": (8,), "batch": 2, "steps": 2}


@training_sources.register("few")
def few(folder: Path, split: Split) -> Iterator[TrainingClip]:
    """Four clips of noise at the rate of MIND."""
    for number in range(4 if split == "train" else 0):
        rng = np.random.default_rng(number)
        frames = Clip.from_array(rng.integers(0, 256, (12, 8, 16, 3), np.uint8), 24.0)
        actions = Actions(walk_look(), np.zeros((11, len(walk_look())), np.float32))
        poses, camera = np.tile(np.eye(4), (12, 1, 1)), Camera.from_horizontal_fov(16, 8, 90)
        yield TrainingClip(f"{number}", "few", split, f"few-{number}", frames, actions, poses, camera)


def test_more_clips_and_more_steps(clips: Path, tmp_path: Path) -> None:
    recipe = Recipe(denoising_steps=2, **SMALL)  # type: ignore[arg-type]
    settings = {"tests": "mem", "perspectives": "1st", "poses": "exact", "horizon": 8}
    # A network of two frames cannot remember: without a name, `mind` judges it by its path, which noise has not.
    asked = StudyRequest("mind", clips, tmp_path / "study", settings=settings, metrics=METRICS)
    trainings = Trainings([("few", tmp_path)], (2, 4), 1, tmp_path / "cache", recipe=recipe)
    found = data_study(asked, trainings)
    assert [point.arm.label for point in found.points] == ["from nothing 2", "from nothing 4"]
    assert all(point.cells[0].n == 1 for point in found.points)
    law = found.laws["lcm/mse_720p", "from nothing"]
    assert (law.counts, law.seeds, law.tasks) == (2, 1, 1)
    base = tmp_path / "study" / "checkpoints" / "from-nothing-2-0"

    steps = denoising_study(
        StudyRequest("mind", clips, tmp_path / "steps", settings=settings, metrics=METRICS), [f"trained:{base}"], [1, 4]
    )
    assert [point.arm.at for point in steps.points] == [1.0, 4.0]
    assert steps.points[0].cells[0].mean is not None
    assert all(point.speed is not None and point.speed.n == 1 for point in steps.points)

    more = Trainings([("few", tmp_path)], (0, 1, 4), 2, tmp_path / "cache", bases=(base,))
    grown = trained_arms(base, "b", (0, 1, 4), more, tmp_path / "grown")
    assert [(arm.label, arm.at, arm.base) for arm in grown] == [
        ("b 0", 0.0, None),
        *((f"b {n} seed {seed}", float(n), "b 0") for n in (1, 4) for seed in (0, 1)),
    ]
    seeds = {read_json_object(tmp_path / "grown" / f"b-4-{seed}" / "config.json")["recipe"]["seed"] for seed in (0, 1)}
    assert seeds == {0, 1}


def test_numbers_of_clips_that_cannot_be_compared(clips: Path, tmp_path: Path) -> None:
    asked = StudyRequest("mind", clips, tmp_path)
    sources, cache, recipe = [("few", tmp_path)], tmp_path / "cache", Recipe(**SMALL)  # type: ignore[arg-type]
    for trainings, words in (
        (Trainings(sources, (1, 4), 1, cache), "takes --base, or --recipe"),
        (Trainings(sources, (0, 4), 1, cache, recipe=recipe), "leave 0 out"),
        (Trainings(sources, (4,), 1, cache, recipe=recipe), "two numbers above 0"),
        (Trainings(sources, (1, 9), 1, cache, recipe=recipe), "--clips 9: there are only 4"),
    ):
        with pytest.raises(UsageError, match=words):
            data_study(asked, trainings)
