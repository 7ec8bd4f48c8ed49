"""Where clips to train on come from: the data of the suites, and walks that are drawn on the way."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, cast, get_args

import numpy as np

from worldgauge.core.actions import ActionSpace, path_moves
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, UsageError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.io import digest_of, digest_of_file, dumps, write_file
from worldgauge.core.video import Clip
from worldgauge.engine.collect import world_seed_of
from worldgauge.engine.collection import MANIFEST, told_split
from worldgauge.engine.options import option
from worldgauge.suites.loopnav.format import LoopTrajectory, pictures_of, worlds_of
from worldgauge.suites.loopnav.format import discover as discover_loops
from worldgauge.suites.loopnav.format import fingerprint_of as fingerprint_of_loop
from worldgauge.suites.loopnav.format import load as load_loop
from worldgauge.suites.loopnav.format_records import FILE_FAULTS
from worldgauge.suites.mind.actions import Perspective, space_of
from worldgauge.suites.mind.collection import SPACES, WORLD_CELLS, WORLDS
from worldgauge.suites.mind.format.files import FPS as MIND_FPS
from worldgauge.suites.mind.format.files import PERSPECTIVES, SHARED_SPACE, MindClip, Part, data_folder
from worldgauge.suites.mind.format.read import HORIZONTAL_FOV_DEG as MIND_FOV_DEG
from worldgauge.suites.mind.format.read import discover as discover_recordings
from worldgauge.suites.mind.format.read import fingerprint_of as fingerprint_of_recording
from worldgauge.suites.mind.format.read import load as load_recording
from worldgauge.suites.mind.key_walks import KeyWalkFailedError, record_key_walk
from worldgauge.suites.targetbench.collection import HORIZONTAL_FOV_DEG as TARGET_FOV_DEG
from worldgauge.suites.targetbench.format.read import discover as discover_scenarios
from worldgauge.suites.targetbench.format.scenario import Scenario, open_video, video_frames_of
from worldgauge.suites.targetbench.format.scenario import fingerprint_of as fingerprint_of_scenario
from worldgauge.suites.targetbench.planners import path_poses
from worldgauge.suites.worldinworld.format.demonstration import Demonstration, read_demonstration
from worldgauge.suites.worldinworld.format.training_records import STEPS, VIDEO, digest_of_entry, record_folders
from worldgauge.suites.worldinworld.manipulation.env import FPS
from worldgauge.worlds import open_world
from worldgauge.worlds.tabletop.contract import SEEDS as TABLES
from worldgauge.worlds.tabletop.pose_plans import as_actions as hand_actions
from worldgauge.worlds.tabletop.pose_plans import clip_plan
from worldgauge.worlds.voxel.world import FAMILIES
from worldgauge.worlds.walking.floor import Walkable
from worldgauge.worlds.walking.primitives import as_actions as step_actions
from worldgauge_train.coverage_trajectory import read_index, read_trajectory
from worldgauge_train.training.adapt import augmented_frames, plain_frames
from worldgauge_train.training.clip import UNKNOWN, DamagedClip, Split, TrainingClip, clip_or_damage, training_sources
from worldgauge_train.training.walks import PER_WORLD, walk_sources

FRAMES_A_POSE = 3
"""Frames that a demonstration has for each pose: about as many as a plan of five poses has in a clip of 13."""


@training_sources.register("coverage")
def coverage_clips(folder: Path, split: Split) -> Iterator[TrainingClip | DamagedClip]:
    """Panoramas of walks through homes, driven by the steps of an agent. A folder is of one split."""
    if read_index(folder).split != split:
        return
    for place in record_folders(folder):
        yield clip_or_damage(f"coverage/{place.parent.name}/{place.name}", partial(_walk, place, split))


@training_sources.register("demonstrations")
def demonstration_clips(folder: Path, split: Split) -> Iterator[TrainingClip | DamagedClip]:
    """The front camera's view of an arm, driven by the pose that its hand is asked for, as plans are asked.
    FRAMES_A_POSE frames per pose; a frame's pose is on the way to the current target, as in the clips of a plan."""
    for place in record_folders(folder):
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
        digest_of(f"{digest_of_file(place / VIDEO)}{digest_of_file(place / STEPS)}{frames}"),
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


_PUBLISHED: dict[str | None, Split] = {"train": "train", "validation": "val", "test": "test"}


@training_sources.register("loopnav")
def loopnav_clips(folder: Path, split: Split) -> Iterator[TrainingClip | DamagedClip]:
    """Loops, also walks that are none, for keys and frames fit all the same.
    A collected folder has one split, by default "test". Of the published villages, 17 and 18 are "val", 19 and 20
    "test"."""
    collected = (folder / MANIFEST).exists()
    own = told_split(folder) or "test"
    worlds, pictures = worlds_of(folder), pictures_of(folder)
    for one in discover_loops(folder):
        if split == (own if collected else _PUBLISHED.get(one.split, "test")):
            yield clip_or_damage(f"loopnav/{one.id}", partial(_loop, one, worlds.get(one.location), pictures, split))


def _loop(one: LoopTrajectory, world: WorldFacts | None, pictures: str, split: Split) -> TrainingClip:
    if one.fault in FILE_FAULTS:
        raise DataError(one.invalid or str(one.fault))
    clip = TrainingClip.of_episode(load_loop(one, world, pictures), "loopnav", split, fingerprint_of_loop(one, world))
    return clip if pictures == "ours" else replace(clip, licence=UNKNOWN)  # the game's renderer drew its own textures


_RECORDED: tuple[Part, ...] = ("train", "mem_test", "action_space_test")


@training_sources.register("mind")
def mind_clips(folder: Path, split: Split) -> Iterator[TrainingClip | DamagedClip]:
    """Clips of both perspectives. Without a split in the manifest, the part `train` is "train" and the rest "test"."""
    told = told_split(data_folder(folder))
    if told in ("train", "val"):
        parts = _RECORDED if split == told else ()
    else:
        parts = {"train": _RECORDED[:1], "val": (), "test": _RECORDED[1:]}[split]
    for clip in discover_recordings(folder, parts) if parts else []:
        yield clip_or_damage(f"mind/{clip.id}", partial(_recording, clip, split))


def _recording(clip: MindClip, split: Split) -> TrainingClip:
    if clip.fault is not None:
        raise DataError(clip.fault)
    walk = load_recording(clip)
    return TrainingClip.of_episode(walk, "mind", split, fingerprint_of_recording(clip))


_WORLDS_TRIED = 16
_FIRST_PLACE = 2**20
"""Above the places of collections."""


@walk_sources.register("walks")
@dataclass(frozen=True)
class MindWalks:
    """Walks driven by keys in MIND's eight kinds of scene."""

    families: tuple[str, ...] = option(FAMILIES, "Kinds of scene, used in turn.", choices=FAMILIES)
    perspectives: tuple[str, ...] = option(("1st",), "Perspectives, used in turn.", choices=PERSPECTIVES)
    spaces: Literal["shared", "all"] = option("shared", "What keys do: the shared space, or all five in turn.")
    frames: int = option(216, "Frames per episode.", low=8, high=20_000)

    @property
    def fps(self) -> float:
        """Frames a second."""
        return MIND_FPS

    @property
    def space(self) -> ActionSpace:
        """The shared space."""
        return space_of(*SHARED_SPACE)

    @property
    def space_names(self) -> tuple[str, ...]:
        """Names of all action spaces."""
        used = SPACES if self.spaces == "all" else (SHARED_SPACE,)
        return tuple(sorted({space_of(*one).name for one in used}))

    def clip(self, number: int, seed: int, split: Split, size: tuple[int, int]) -> TrainingClip:
        """Generate a clip; see `WalkSource.clip`. `size` is (width, height)."""
        world, _ = divmod(number, PER_WORLD)
        turn, at = divmod(world, len(self.families))
        perspective = cast(Perspective, self.perspectives[turn % len(self.perspectives)])
        space = space_of(*(SPACES[number % len(SPACES)] if self.spaces == "all" else SHARED_SPACE))
        for attempt in range(_WORLDS_TRIED):
            place = _FIRST_PLACE + world * _WORLDS_TRIED + attempt
            params = {"kind": self.families[at], "seed": world_seed_of(seed, place, split), "size": list(WORLD_CELLS)}
            here = cast(Walkable, open_world(WorldFacts(WORLDS[perspective], params)))
            rng = np.random.default_rng([seed, place, number])
            try:
                walk = record_key_walk(
                    here, rng, frames=self.frames, mark_time=self.frames // 3, space=space, perspective=perspective
                )
            except KeyWalkFailedError:
                continue
            camera, poses = Camera.from_horizontal_fov(*size, MIND_FOV_DEG), walk.poses
            frames = Clip.from_array(np.stack([here.view(pose, camera).rgb for pose in poses]), MIND_FPS)
            told = dumps(["walks", split, seed, number, perspective, self.spaces, self.frames, list(self.families)])
            return TrainingClip(
                f"{number:07d}", "walks", split, digest_of(told), frames, walk.actions, poses, camera, world=here.facts
            )
        raise WorldError(f"episode {number}: no path of {self.frames} frames in {_WORLDS_TRIED} worlds; set fewer")


@training_sources.register("targetbench")
def target_clips(folder: Path, split: Split) -> Iterator[TrainingClip | DamagedClip]:
    """Whole walks, a frame a row of their path. Scenarios of the benchmark are of the split "test".
    If the field of view is not stored, it is that of our scenarios."""
    for scenario in discover_scenarios(folder):
        if split == (scenario.split if scenario.split in ("train", "val") else "test"):
            yield clip_or_damage(f"target/{scenario.id}", partial(_scenario, scenario, split))


def _scenario(scenario: Scenario, split: Split) -> TrainingClip:
    if scenario.fault is not None:
        raise DataError(scenario.fault)
    video, poses = open_video(scenario), path_poses(scenario)
    rows = video_frames_of(scenario, np.arange(len(poses)), len(video))
    return TrainingClip(
        scenario.id,
        "targetbench",
        split,
        fingerprint_of_scenario(scenario),
        video.picked(rows.tolist(), 1 / scenario.dt),
        path_moves(poses),
        poses,
        scenario.camera or Camera.from_horizontal_fov(video.width, video.height, TARGET_FOV_DEG),
        scenario.target_text or None,
        scenario.world,
    )


Recipe = Literal["plain", "augmented"]
"""plain: one clip of a walk, spread over all of it. augmented: four of every second frame, each begun a frame later."""


@dataclass(frozen=True)
class Manifest:
    """What was written; `left_out` is the reason by scenario."""

    path: Path
    clips: int
    left_out: dict[str, str]


def write_manifest(scenarios: Sequence[Scenario], path: Path, recipe: Recipe = "plain") -> Manifest:
    """Write one JSON line per clip; scenarios with a fault, or an unreadable or short video, are listed instead."""
    if recipe not in get_args(Recipe):
        raise UsageError(f"unknown recipe '{recipe}'; choose one of {', '.join(get_args(Recipe))}")
    path = Path(path)
    lines: list[str] = []
    left_out: dict[str, str] = {}
    for scenario in scenarios:
        try:
            if why := scenario.fault or scenario.unasked:
                raise DataError(why)
            clip = open_video(scenario)
            lists = [plain_frames(len(clip))] if recipe == "plain" else augmented_frames(len(clip))
        except (DataError, UsageError) as error:
            left_out[scenario.id] = str(error)
            continue
        for number, frames in enumerate(lists):
            row = {
                "id": f"{scenario.id}/{recipe}_{number}",
                "scenario": scenario.id,
                "video": _relative(scenario.video, path.parent),
                "frames": frames,
                "fps": clip.fps,
                "caption": scenario.caption_at(scenario.history_s) or scenario.target_text,
                "text": scenario.target_text,
            }
            lines.append(json.dumps(row, allow_nan=False) + "\n")
    write_file(path, "".join(lines))
    return Manifest(path, len(lines), left_out)


def _relative(video: Path | None, folder: Path) -> str:
    assert video is not None  # it has been opened
    return Path(os.path.relpath(video.resolve(), folder.resolve())).as_posix()
