"""The study `data`: networks trained on more and more clips, their scores, and the law over the number of clips."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.core.intervals import mean_std
from worldgauge.core.io import read_json_object
from worldgauge.engine.suite.scores import detectable_effect
from worldgauge.metrics._registry import metric_bounds
from worldgauge_train.study_findings import DATA, Arm, ArmScores, LogLaw, Measure, StudyFinding, conclude, fit_law
from worldgauge_train.study_run import StudyRequest, measure_arms
from worldgauge_train.training.material import Mark, Material, read_material
from worldgauge_train.training.recipe import Recipe, base_recipe, changed, one_epoch

POINTS = 5.0
"""Difference of a percentage whose number of tasks is told; of other metrics the same share of the first mean."""
_SEED = 20261003


@dataclass(frozen=True)
class Trainings:
    """What is trained for the study.

    Attributes:
        sources: Names of training sources with a folder of each.
        clips: Numbers of clips. 0 is the base as it is.
        seeds: Trainings at each number, with the seeds 0, 1, and so on.
        bases: Checkpoints that are trained further, each clip once.
        recipe: Trained from scratch instead of bases, with the same steps for every number of clips.
    """

    sources: Sequence[tuple[str, Path]]
    clips: Sequence[int]
    seeds: int
    cache: Path
    bases: Sequence[Path] = ()
    recipe: Recipe | None = None
    progress: Callable[[Path, Mark], None] = lambda out, mark: None


def data_study(asked: StudyRequest, trainings: Trainings) -> StudyFinding:
    """Train on more and more clips, ask all networks, and fit value = a + b log10 n."""
    counts = sorted(set(trainings.clips))
    if bool(trainings.bases) == (trainings.recipe is not None):
        raise UsageError("study data takes --base, or --recipe to train from nothing")
    if trainings.recipe is not None and 0 in counts:
        raise UsageError("--clips 0 is the base as it is, and --recipe has none; leave 0 out")
    if len([one for one in counts if one > 0]) < 2:
        raise UsageError("--clips takes two numbers above 0 or more, such as 0,100,400")
    bases: Sequence[Path | None] = trainings.bases or (None,)
    names = ["from nothing" if base is None else base.resolve().name for base in bases]
    if len(set(names)) < len(names):
        raise UsageError(f"two bases are called '{max(names, key=names.count)}'; rename a folder")
    arms = [
        arm
        for base, name in zip(bases, names, strict=True)
        for arm in trained_arms(base, name, counts, trainings, asked.out / "checkpoints")
    ]
    measures, scores, clusters = measure_arms(DATA, arms, asked)
    laws = {
        (measure.metric, name): law
        for measure in measures
        for name in names
        if (law := _law(measure, [one for one in scores if one.arm.family == name], clusters)) is not None
    }
    said = [sentence for one in measures for sentence in _needed(one, scores, clusters)]
    return conclude(DATA, asked.suite, measures, scores, clusters, laws=laws, said=said)


def trained_arms(base: Path | None, name: str, counts: Sequence[int], trainings: Trainings, out: Path) -> list[Arm]:
    """Train what is missing, and make the arms; the first is the base, or the fewest clips."""
    arms: list[Arm] = []
    for count in counts:
        for seed in range(trainings.seeds if count else 1):
            label = f"{name} {count}" + (f" seed {seed}" if trainings.seeds > 1 and count else "")
            folder = base if base is not None and not count else out / f"{name.replace(' ', '-')}-{count}-{seed}"
            if count:
                _train(base, count, seed, trainings, folder)
            first = arms[0].label if arms else None
            arms.append(Arm(label, f"trained?folder={folder}", name, float(count), first))
    return arms


def _train(base: Path | None, count: int, seed: int, trainings: Trainings, out: Path) -> None:
    try:
        from worldgauge_train.training.loop import train
    except ImportError:
        raise MissingExtraError("worldgauge study data", "train") from None
    recipe = trainings.recipe if base is None else base_recipe(read_json_object(base / "config.json"), str(base))
    assert recipe is not None
    recipe = changed(recipe, {"seed": seed})
    material: Material = read_material(trainings.sources, recipe, trainings.cache, clips=count)
    if base is not None:
        recipe = one_epoch(recipe, material.clips)
    train(recipe, material, out, parent=base, progress=lambda mark: trainings.progress(out, mark))


def _law(measure: Measure, scores: Sequence[ArmScores], clusters: Mapping[str, str]) -> LogLaw | None:
    values: dict[int, list[Mapping[str, float | None]]] = {}
    for one in scores:
        if one.arm.at:
            values.setdefault(int(one.arm.at), []).append(one.values[measure.metric])
    return fit_law(values, clusters, rng=np.random.default_rng(_SEED))


def _needed(measure: Measure, scores: Sequence[ArmScores], clusters: Mapping[str, str]) -> list[str]:
    """How many tasks it takes to see a small difference, in a sentence."""
    values = {one.arm.label: dict(one.values[measure.metric]) for one in scores}
    seen = detectable_effect(values, clusters)
    mean = mean_std(scores[0].values[measure.metric].values()).mean
    is_share = metric_bounds(measure.metric) == (0.0, 100.0)
    wanted = POINTS if is_share else None if not mean else abs(mean) * POINTS / 100
    if seen is None or not seen or wanted is None:
        return []
    tasks = len({task for own in values.values() for task in own})
    what = f"{POINTS:g} points" if is_share else f"{POINTS:g} % of {scores[0].arm.label} ({wanted:.3g})"
    needed = math.ceil(tasks * (seen / wanted) ** 2)
    return [
        f"{measure.title}: {tasks} tasks resolve a difference of about {seen:.3g}; {what} would take about {needed}."
    ]
