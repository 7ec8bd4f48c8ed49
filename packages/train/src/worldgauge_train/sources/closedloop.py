"""Training clips of the closed loop: coverage walks through homes, and demonstrations at a table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import get_args

from worldgauge.core.geometry import FloatArray, Panorama
from worldgauge.core.io import digest_of, digest_of_file
from worldgauge.suites.closedloop.manipulation.env import FPS
from worldgauge.suites.closedloop.training_data.coverage.index import read_index
from worldgauge.suites.closedloop.training_data.coverage.trajectory import (
    digest_of_entry,
    read_trajectory,
    trajectory_folders,
)
from worldgauge.suites.closedloop.training_data.demonstrations.demonstration import STEPS as DEMONSTRATION_STEPS
from worldgauge.suites.closedloop.training_data.demonstrations.demonstration import (
    VIDEO,
    Demonstration,
    demonstration_folders,
    read_demonstration,
)
from worldgauge.worlds.tabletop.pose_plans import as_actions as hand_actions
from worldgauge.worlds.tabletop.pose_plans import clip_plan
from worldgauge.worlds.tabletop.splits import SEEDS as TABLES
from worldgauge.worlds.walking.primitives import as_actions as step_actions
from worldgauge_train.training.clip import DamagedClip, Split, TrainingClip, clip_or_damage, training_sources

FRAMES_A_POSE = 3
"""Frames that a demonstration has for each pose: about as many as a plan of five poses has in a clip of 13."""


@training_sources.register("coverage")
def coverage_clips(folder: Path, split: Split) -> Iterator[TrainingClip | DamagedClip]:
    """Panoramas of walks through homes, driven by the steps of an agent. A folder is of one split.

    Args:
        folder: A folder of coverage walks.
        split: Split of the walks.

    Raises:
        DataError: There is no index.
    """
    if read_index(folder).split != split:
        return
    for place in trajectory_folders(folder):
        yield clip_or_damage(f"coverage/{place.parent.name}/{place.name}", partial(_walk, place, split))


@training_sources.register("demonstrations")
def demonstration_clips(folder: Path, split: Split) -> Iterator[TrainingClip | DamagedClip]:
    """The front camera's view of an arm, driven by the pose that its hand is asked for, as plans are asked.

    Of each pose FRAMES_A_POSE frames are taken, and the pose of a frame lies on the way to the one that is under way,
    as in the clips of a plan: both follow poses and no clock.

    Args:
        folder: A folder of demonstrations.
        split: Split of the tables.

    Raises:
        DataError: There is no such folder.
    """
    for place in demonstration_folders(folder):
        name = f"demonstrations/{place.parent.name}/{place.name}"
        found = clip_or_damage(name, partial(_demonstration, place, folder))
        if isinstance(found, DamagedClip) or found.split == split:
            yield found


def _walk(place: Path, split: Split) -> TrainingClip:
    walk = read_trajectory(place)
    return TrainingClip(
        f"{walk.scene}/{place.name}",
        "coverage",
        split,
        digest_of("".join(digest_of_entry(part) for part in sorted(place.iterdir()))),
        walk.frames,
        step_actions([step.action for step in walk.steps[1:]]),
        walk.poses,
        Panorama(walk.frames.width, walk.frames.height),
        world=walk.facts.world,
        licence=walk.facts.licence,
    )


def _demonstration(place: Path, folder: Path) -> TrainingClip:
    shown = read_demonstration(place, folder)
    own: Split = next((split for split in get_args(Split) if shown.seed in TABLES[split]), "test")
    asked, frames = _as_plan(shown)
    return TrainingClip(
        shown.id,
        "demonstrations",
        own,
        digest_of(f"{digest_of_file(place / VIDEO)}{digest_of_file(place / DEMONSTRATION_STEPS)}{frames}"),
        shown.clip.picked(frames, FPS),
        hand_actions(asked[1:]),
        shown.camera_pose[None].repeat(len(frames), 0),
        shown.camera,
        shown.instruction,
        shown.world,
    )


def _as_plan(shown: Demonstration) -> tuple[FloatArray, list[int]]:
    """A demonstration as the clip of one plan: the pose (n, 8) asked for in each frame, and which frames they are."""
    plan = clip_plan(shown.hand[0], shown.sub_goals, FRAMES_A_POSE * len(shown.sub_goals) + 1)
    ends = [0, *shown.reached]
    # The first step of a plan is 1; frame 0 belongs to none.
    spans = [(ends[max(step, 1) - 1], ends[max(step, 1)]) for step in plan.step]
    frames = [round(first + share * (last - first)) for (first, last), share in zip(spans, plan.share, strict=True)]
    return plan.poses, frames
