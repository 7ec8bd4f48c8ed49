"""Small demonstrations of two buttons, written without the physics engine."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.suites.worldinworld.format.demonstration import DemoFacts, DemoStep, DemoThing, write_demonstration
from worldgauge.suites.worldinworld.format.training_records import Depth
from worldgauge.worlds.tabletop.contract import SEEDS
from worldgauge.worlds.tabletop.pose_plans import HandPose
from worldgauge.worlds.tabletop.simulation import front_pose

FRAMES = 7
SIZE = (32, 18)
DOWN = (1.0, 0.0, 0.0, 0.0)
GOALS = (HandPose(0.1, 0.2, 0.9, *DOWN, 0.0), HandPose(0.1, 0.2, 0.8, *DOWN, 0.0))
REACHED = (4, 6)
SEED = SEEDS["train"].start + 7
FACTS = DemoFacts(
    task="push_buttons",
    number=0,
    variation=3,
    seed=SEED,
    world=WorldFacts("tabletop", {"task": "push_buttons", "variation": 3, "seed": SEED}, "ab" * 32),
    instruction="push the red button",
    wordings=("press the red one",),
    things=(DemoThing("red button", "button", "red"), DemoThing("blue button", "button", "blue")),
    camera=Camera.from_vertical_fov(*SIZE, 40.0),
    camera_pose=front_pose(),
    fps=20 / 3,
    seconds=1.05,
    sub_goals=np.array(GOALS),
    reached=REACHED,
    discarded=("it has no plan",),
)


def steps() -> list[DemoStep]:
    """The hand comes down from above; the first button goes down with it in the end."""
    rows = []
    for k in range(FRAMES):
        sub_goal = int(k > REACHED[0])
        hand = HandPose(0.1, 0.2, 1.3 - 0.1 * k if k <= 4 else 0.9 - 0.05 * (k - 4), *DOWN, 0.0)
        places = np.array([[0.1, 0.2, 0.78 - 0.001 * k], [0.3, -0.2, 0.78]])
        rows.append(DemoStep(GOALS[sub_goal], hand, sub_goal, float(k == FRAMES - 1), places))
    return rows


def shots(depth: bool = False, seed: int = 0) -> Iterator[tuple[Image, Depth | None]]:
    """Noise, and depths of which the first row is nothing."""
    rng = np.random.default_rng(seed)
    for _ in range(FRAMES):
        rgb = rng.integers(0, 256, (*SIZE[::-1], 3), dtype=np.uint8)
        metres = rng.uniform(0.05, 5.0, SIZE[::-1]).astype(np.float32)
        metres[0] = np.inf
        yield rgb, metres if depth else None


def written(root: Path, number: int = 0, seed: int = SEED, *, depth: bool = False) -> Path:
    """One more demonstration in `root`; its folder."""
    world = WorldFacts("tabletop", {"task": "push_buttons", "variation": 3, "seed": seed}, "ab" * 32)
    return write_demonstration(
        root, replace(FACTS, number=number, seed=seed, world=world), shots(depth, number), steps()
    )
