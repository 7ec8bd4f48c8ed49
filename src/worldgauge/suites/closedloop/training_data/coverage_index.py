"""The index of post-training trajectories: it proves that none of their scenes is evaluated on.

index.json names the scenes by hash (specification: world_in_world, 10.4).

    index = write_index(root, "train");  overlap(index, scenes);  entry, start = index.draw(14, rng)

The hashes do not depend on the names of scenes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.episode import WorldFacts, short, whole_of
from worldgauge.core.errors import DataError
from worldgauge.core.io import digest_of, write_file
from worldgauge.suites.closedloop.format.files import read_json
from worldgauge.suites.closedloop.training_data.trajectory import (
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
    """All trajectories of a folder."""

    split: str
    scenes: Mapping[str, str]
    trajectories: tuple[TrajectoryEntry, ...]
    split_hash: str

    @property
    def n_frames(self) -> int:
        """Frames of all trajectories."""
        return sum(entry.frames for entry in self.trajectories)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[TrajectoryEntry, int]:
        """Draw a clip: a trajectory in proportion to its length, then its first frame (specification, 10.4).

        Args:
            n: Frames of the clip.

        Returns:
            The trajectory, and the index of the first of n consecutive frames.
        """
        long = [entry for entry in self.trajectories if entry.frames >= n]
        if not long:
            raise DataError(f"no trajectory has {n} frames; ask for shorter clips")
        weights = np.array([entry.frames for entry in long], np.float64)
        entry = long[int(rng.choice(len(long), p=weights / weights.sum()))]
        return entry, int(rng.integers(entry.frames - n + 1))


def write_index(root: Path, split: str) -> TrajectoryIndex:
    """Write <root>/index.json from the trajectories of a folder."""
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
    """Read the index of a folder."""
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
    """Hash a scene independently of its name.

    Args:
        world: The world; None for a scan.

    Returns:
        SHA-256 of its cells if they are known, else of its world or scan.
    """
    if world is None:
        scan = re.search(r"[A-Za-z0-9]{11}(?=(\.basis)?(\.glb)?$)", scene)
        identity: Any = ["scan", scan.group() if scan else scene]
    elif world.digest is not None:
        identity = ["cells", world.digest]
    else:
        identity = ["world", world.name, dict(world.params)]
    return digest_of(json.dumps(identity, sort_keys=True))


def split_hash(hashes: Iterable[str]) -> str:
    """Return SHA-256 over scene hashes in any order: what a trained model states as its training scenes."""
    return digest_of("\n".join(sorted(set(hashes))))


def overlap(index: TrajectoryIndex, scenes: Mapping[str, WorldFacts | None]) -> tuple[str, ...]:
    """Find evaluation scenes that are also trained on, whatever their names.

    Args:
        scenes: Worlds of the evaluation, by name.
    """
    shown = set(index.scenes.values())
    return tuple(scene for scene, world in scenes.items() if scene_hash(scene, world) in shown)
