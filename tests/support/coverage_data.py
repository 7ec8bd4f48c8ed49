"""A short walk of post-training data, written as worldgauge-train writes it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.suites.worldinworld.format.training_records import View
from worldgauge.worlds.walking.primitives import Primitive as P
from worldgauge.worlds.walking.primitives import Stance, poses_of
from worldgauge_train.coverage_trajectory import TrajectoryFacts, TrajectoryStep, write_trajectory

WORLD = WorldFacts("indoor", {"seed": 1000003}, "ab" * 32)
FACTS = TrajectoryFacts(WORLD, camera_height_m=1.25, seed=7, more={"alpha": 1.7})
WALK = (P.STOP, P.FORWARD, P.FORWARD, P.TURN_LEFT, P.FORWARD, P.TURN_RIGHT, P.TURN_RIGHT, P.FORWARD)
SIZE = (32, 18)


def steps(seed: int = 0) -> list[TrajectoryStep]:
    rng = np.random.default_rng(seed)
    start = Stance(*rng.uniform(-3, 3, 3).tolist()).eye(1.25)
    poses = poses_of(WALK, start)
    return [
        TrajectoryStep(action, pose, False, k // 5) for k, (action, pose) in enumerate(zip(WALK, poses, strict=True))
    ]


def views(n: int = len(WALK), seed: int = 0) -> Iterator[View]:
    rng = np.random.default_rng(seed)
    for _ in range(n):
        depth = rng.uniform(0.05, 30.0, SIZE[::-1]).astype(np.float32)
        depth[0] = np.inf
        yield rng.integers(0, 256, (*SIZE[::-1], 3), dtype=np.uint8), depth


def write(root: Path, scene: str = "home-train-0003", number: int = 0, **more: object) -> Path:
    return write_trajectory(root, scene, number, views(seed=number), steps(number), FACTS, **more)
