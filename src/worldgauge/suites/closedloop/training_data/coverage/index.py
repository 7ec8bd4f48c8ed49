"""The index over trajectories of post-training data: it shows that no scene of them is tested on.

index.json names the scenes by hash (specification: world_in_world, 10.4).

index = write_index(root, "train");  overlap(index, scenes);  entry, start = index.draw(14, rng)
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.fields import short, whole_of
from worldgauge.core.io import write_file
from worldgauge.suites.closedloop.format.files import read_json
from worldgauge.suites.closedloop.training_data.coverage.trajectory import (
    FORMAT,
    MAX_STEPS,
    VERSION,
    read_manifest,
    scene_world,
    trajectory_folders,
)

INDEX = "index.json"


class TrajectoryEntry(NamedTuple):
    """A trajectory in the index."""

    scene: str
    number: int
    frames: int


@dataclass(frozen=True)
class TrajectoryIndex:
    """All trajectories of a folder. scenes: name -> `scene_hash`; split_hash: SHA-256 over the sorted hashes."""

    split: str
    scenes: Mapping[str, str]
    trajectories: tuple[TrajectoryEntry, ...]
    split_hash: str

    @property
    def n_frames(self) -> int:
        """Frames of all trajectories."""
        return sum(entry.frames for entry in self.trajectories)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[TrajectoryEntry, int]:
        """A trajectory, as likely as it is long, and the first of n consecutive frames in it (specification, 10.4).

        Raises:
            DataError: When none has n frames.
        """
        long = [entry for entry in self.trajectories if entry.frames >= n]
        if not long:
            raise DataError(f"no trajectory has {n} frames; ask for shorter clips")
        weights = np.array([entry.frames for entry in long], np.float64)
        entry = long[int(rng.choice(len(long), p=weights / weights.sum()))]
        return entry, int(rng.integers(entry.frames - n + 1))


def write_index(root: Path, split: str) -> TrajectoryIndex:
    """Look through the trajectories of a folder and put <root>/index.json in place.

    split: what the scenes are of, such as "train".

    Raises:
        DataError: When a trajectory cannot be read.
    """
    entries, scenes = [], {}
    for folder in trajectory_folders(root):
        manifest = read_manifest(folder)
        entries.append(TrajectoryEntry(manifest["scene"], manifest["number"], manifest["frames"]))
        scenes[manifest["scene"]] = scene_hash(manifest["scene"], scene_world(manifest, folder))
    content = {
        "format": FORMAT,
        "version": VERSION,
        "split": split,
        "split_hash": split_hash(scenes.values()),
        "scenes": dict(sorted(scenes.items())),
        "frames": sum(entry.frames for entry in entries),
        "trajectories": [entry._asdict() for entry in entries],
    }
    write_file(Path(root) / INDEX, json.dumps(content, indent=1) + "\n")
    return read_index(root)


def read_index(root: Path) -> TrajectoryIndex:
    """The index of a folder.

    Raises:
        DataError: When it is none, or its hash is not of its scenes; names the field.
    """
    path = Path(root) / INDEX
    content = read_json(path)
    try:
        if content["format"] != FORMAT or content["version"] != VERSION:
            raise ValueError(f"format {short(content['format'])}, version {short(content['version'])} is not ours")
        scenes = {str(scene): str(hash) for scene, hash in content["scenes"].items()}
        entries = tuple(
            TrajectoryEntry(
                str(row["scene"]), whole_of(row, "number", 0, 10**6 - 1), whole_of(row, "frames", 1, MAX_STEPS)
            )
            for row in content["trajectories"]
        )
        found = TrajectoryIndex(str(content["split"]), scenes, entries, str(content["split_hash"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{path}: {why}; write the index again") from error
    if found.split_hash != split_hash(scenes.values()):
        raise DataError(f"{path}: field 'split_hash' is not that of its scenes; write the index again")
    return found


def scene_hash(scene: str, world: WorldFacts | None) -> str:
    """What a scene is, whatever it is called: SHA-256 of its cells where they are known, else of its world or scan."""
    if world is None:
        scan = re.search(r"[A-Za-z0-9]{11}(?=(\.basis)?(\.glb)?$)", scene)
        told: Any = ["scan", scan.group() if scan else scene]
    elif world.digest is not None:
        told = ["cells", world.digest]
    else:
        told = ["world", world.name, dict(world.params)]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def split_hash(hashes: Iterable[str]) -> str:
    """SHA-256 over scene hashes, whatever their order: what a trained model says it has seen."""
    return hashlib.sha256("\n".join(sorted(set(hashes))).encode()).hexdigest()


def overlap(index: TrajectoryIndex, scenes: Mapping[str, WorldFacts | None]) -> tuple[str, ...]:
    """Those of the evaluation's `scenes` that the trajectories show as well, under whatever name; () when disjoint."""
    shown = set(index.scenes.values())
    return tuple(scene for scene, world in scenes.items() if scene_hash(scene, world) in shown)
