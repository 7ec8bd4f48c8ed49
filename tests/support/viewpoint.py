"""Questions to viewpoint models: a panorama with depth, and steps from there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from support.upstream import standing_in
from worldgauge.core.episode import Context
from worldgauge.core.geometry import Panorama, pose_from_yaw_pitch
from worldgauge.core.model import RolloutRequest
from worldgauge.core.video import Clip
from worldgauge.worlds.walking.primitives import as_actions, from_letters, poses_of

START = pose_from_yaw_pitch((3.0, -2.0, 1.5), 0.7)
DEPTH = np.tile(np.linspace(2.0, 12.0, 32, dtype=np.float32), (18, 1))
DEPTH[0] = np.inf


def steps(letters: str, depth: Any = DEPTH, poses: Any = None) -> RolloutRequest:
    """A question about steps F, L, R and S, or about other poses."""
    frames = np.random.default_rng(1).integers(0, 256, (1, 18, 32, 3), dtype=np.uint8)
    ahead = poses_of(from_letters(letters), START) if poses is None else poses
    own = None if depth is None else lambda index: depth
    context = Context(Clip.from_array(frames, 5.0), START[None], as_actions(()), Panorama(32, 18), own)
    return RolloutRequest(context, len(ahead), 5, poses=ahead)


def moved(ahead: float = 0.0, left: float = 0.0, up: float = 0.0, turn: float = 0.0) -> np.ndarray:
    """The pose (1, 4, 4) after one motion in metres and radians from the start."""
    pose = pose_from_yaw_pitch((0.0, 0.0, 0.0), 0.7 + turn)
    c, s = np.cos(0.7), np.sin(0.7)
    pose[:3, 3] = START[:3, 3] + [c * ahead - s * left, s * ahead + c * left, up]
    return pose[None]


@contextmanager
def packages() -> Iterator[list[Any]]:
    """Both packages can be imported in the block; yields the models that they make."""
    with standing_in("viewpoint"):
        from three_calls import MODELS

        MODELS.clear()
        yield MODELS


def checkpoint(folder: Path, *names: str) -> str:
    """Index files of checkpoints; the folder."""
    for name in names:
        (folder / f"{name}.index").write_bytes(name.encode())
    return str(folder)
