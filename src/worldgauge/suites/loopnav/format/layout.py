"""LoopNav's published format: loop walks as a Motion JPEG video and a JSON record of every frame.

On disk: <type>/<location>/<range>/<stamp>.avi and .json (specification: loopnav, sections 1.8-1.11).
Files are in the game's frame: x, y up, z in blocks of one metre, yaw 0 to -z, left positive. Episodes
are in ours: (x, y, z) -> (x, -z, y), yaw + pi/2, the camera EYE_HEIGHT_M above the feet.

for trajectory in discover(root):  episode = load(trajectory, worlds_of(root).get(trajectory.location))
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.video import Clip
from worldgauge.engine.collection.findings import Finding, Spread
from worldgauge.suites.loopnav.format.check import check
from worldgauge.suites.loopnav.format.index import Trajectory, discover, split_of
from worldgauge.suites.loopnav.format.records import Record, read_records, walk_of
from worldgauge.suites.loopnav.format.segmenting import Measures, exact_return_index, goal_changes, return_index
from worldgauge.suites.loopnav.format.write import MANIFEST, pictures_of, worlds_of, write_manifest, write_trajectory
from worldgauge.worlds import files_of
from worldgauge.worlds.voxel.eye import VERTICAL_FOV_DEG
from worldgauge.worlds.walking.walk import Walk

__all__ = [
    "Finding",
    "Measures",
    "Record",
    "Spread",
    "Trajectory",
    "check",
    "default_selection",
    "discover",
    "exact_return_index",
    "fingerprint_of",
    "load",
    "pictures_of",
    "read_records",
    "return_index",
    "select",
    "split_of",
    "worlds_of",
    "write_manifest",
    "write_trajectory",
]

Selection = Literal["all", "paper"]
TEST_VILLAGE = 20
PER_VILLAGE = 3


def load(trajectory: Trajectory, world: WorldFacts | None = None, pictures: str = "ours") -> Episode:
    """The trajectory as an Episode in our frame; frames are decoded when asked for.

    Row t of the actions is (forward, jump) of record t and the camera change of record t + 1: a record
    holds the turn that led to it and the keys that act on the next one. pictures: who drew the frames (`pictures_of`).
    Raises DataError when a file cannot be read or the two disagree on the number of frames.
    """
    records = read_records(trajectory.records)
    clip = Clip.open(trajectory.video)
    if len(records) != len(clip):
        raise DataError(
            f"{trajectory.video}: {len(clip)} frames, but {len(records)} records in the JSON file beside it"
        )
    walk = walk_of(records, trajectory.type, trajectory.radius)
    facts = {
        "type": trajectory.type,
        "location": trajectory.location,
        "range": trajectory.radius,
        "seed": walk.seed,
        "split": trajectory.split,
        "return_index": trajectory.return_index,
        "exact_return_index": trajectory.exact_return_index,
        "goal_changes": goal_changes([record.goal for record in records]),
        "flags": list(trajectory.flags),
        "pictures": pictures,
    }
    return Episode(
        id=trajectory.id,
        clip=clip,
        poses=walk.poses,
        actions=aligned_actions(walk),
        camera=Camera.from_vertical_fov(clip.width, clip.height, VERTICAL_FOV_DEG),
        world=world,
        facts=facts,
    )


def fingerprint_of(trajectory: Trajectory, world: WorldFacts | None) -> str:
    """SHA-256 over the two files of a recording and the world they show, as `load` is given both.

    The same recording with another world, or with none, is another task: references and labels come of the world. Where
    its files lie does not matter, the digest says what is in them.
    """
    facts = None if world is None else [world.name, _without_files(world), world.digest]
    text = json.dumps([trajectory.fingerprint, facts], sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _without_files(world: WorldFacts) -> dict[str, Any]:
    return {name: value for name, value in world.params.items() if name not in files_of(world.name)}


def aligned_actions(walk: Walk) -> Actions:
    """Actions (T - 1, 4) of a walk: keys of frame t and camera change of frame t + 1 drive t to t + 1."""
    columns = [walk.forward[:-1], walk.jump[:-1], walk.camera[1:, 0], walk.camera[1:, 1]]
    return Actions(LOOP_WALK, np.stack(columns, axis=-1).astype(np.float32))


def select(trajectories: Iterable[Trajectory], rule: Selection = "all") -> list[Trajectory]:
    """The trajectories that `rule` evaluates, in the order given.

    all: every one. paper: per type and range the first three, by file name, of each village with
    index 20 (specification section 2.5). Invalid ones are kept, for the caller to count.
    """
    if rule == "all":
        return list(trajectories)
    if rule != "paper":
        raise UsageError(f"unknown selection '{rule}'; choose 'all' or 'paper'")
    groups: dict[tuple[str, int, str], list[Trajectory]] = defaultdict(list)
    for trajectory in sorted(trajectories, key=lambda t: t.id):
        if trajectory.village_index == TEST_VILLAGE:
            groups[trajectory.type, trajectory.radius, trajectory.location].append(trajectory)
    return [trajectory for group in groups.values() for trajectory in group[:PER_VILLAGE]]


def default_selection(root: Path) -> Selection:
    """Everything for data collected here, which carry a manifest; the paper's choice for the published set."""
    return "all" if (Path(root) / MANIFEST).exists() else "paper"
