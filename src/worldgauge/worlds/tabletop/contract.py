"""The contract of a task on the table: things, an instruction, a measure of progress, and the plan of an expert."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.core.registry import Registry
from worldgauge.worlds.tabletop.pose_plans import HandPose

Memory = tuple[int, ...]
"""What a task keeps in mind of what has happened, such as the order in which buttons were pressed."""
Colour = tuple[float, float, float]
"""Red, green, blue in [0, 1]."""

TABLE_M = 0.75
"""Height of the table's top in the world frame; the workspace of `pose_plans` lies around it."""


@dataclass(frozen=True)
class TableObject:
    """A thing on the table that a task is about."""

    name: str  # in words ("red button")
    body: str
    category: str
    colour: str
    half_m: tuple[float, float, float]  # half its extent along x, y and z of its body
    middle_m: float = 0.0  # height of its centre above the origin of the body


class TableScene(Protocol):
    """What a task sees of the table: the present state of a `simulation.Simulation`."""

    memory: Memory

    @property
    def hand(self) -> HandPose:
        """Pose of the hand. The gripper is 1 when it is commanded to be open."""

    def place(self, body: str) -> FloatArray:
        """Origin of a body in the world frame, (3,) metres."""

    def rotation(self, body: str) -> FloatArray:
        """Rotation of a body in the world frame, (3, 3)."""

    def joint(self, name: str) -> float:
        """Value of a joint with one axis, in metres or radians."""

    def held(self, body: str) -> bool:
        """Whether both fingers touch a body."""

    def touching(self, one: str, other: str) -> bool:
        """Tell whether two bodies touch."""

    def put(self, body: str, place: FloatArray, yaw_rad: float = 0.0) -> None:
        """Put a free body upright at a place (3,), metres, at rest."""

    def slide(self, joint: str, value: float) -> None:
        """Set a joint with one axis, at rest: metres for a slide, radians for a hinge."""


class TableTask(Protocol):
    """One variation of a task, with its things at places that a seed determines."""

    things: tuple[TableObject, ...]  # what an agent gets to know, numbered in this order from 1
    instruction: str
    wordings: tuple[str, ...]

    def add(self, spec: Any) -> None:
        """Add the things to a mujoco.MjSpec of the table."""

    def noted(self, scene: TableScene, memory: Memory) -> Memory:
        """Update the memory of the task. Called a hundred times per simulated second. By default it stays as it is."""
        return memory

    def progress(self, scene: TableScene) -> float:
        """Progress in [0, 1]; exactly 1 when the task is solved."""

    def colours(self, memory: Memory) -> Mapping[str, Colour]:
        """Geoms that are drawn in another colour than their original one, such as a button that was pressed."""
        return {}

    def finish(self, scene: TableScene) -> None:
        """Put all things where a solved task leaves them, and update `scene.memory`."""

    def plan(self, scene: TableScene) -> list[HandPose]:
        """Poses that an expert would go through from the present state. Empty when the task is solved."""


table_tasks: Registry[Callable[[int, np.random.Generator], TableTask]] = Registry(
    "table task", "worldgauge.worlds.tabletop.tasks"
)
"""Facts of an entry: variations, how many there are. Made of the variation's number and a generator for places."""


def near(one: HandPose, other: HandPose, *, far_m: float = 0.015) -> bool:
    """Tell whether two hand poses are nearly the same, with the same gripper command. Rotations are not compared."""
    return bool(np.linalg.norm(np.subtract(one[:3], other[:3])) <= far_m) and one.gripper == other.gripper


SEEDS: Mapping[str, range] = {
    "test": range(0, 1_000_000),
    "train": range(1_000_000, 2_000_000),
    "val": range(2_000_000, 3_000_000),
}
"""Evaluation is of "test"; demonstrations are of "train"."""


def table_name(task: str, variation: int, seed: int) -> str:
    """Name a table as a scene."""
    return f"{task}-{variation}-{seed}"
