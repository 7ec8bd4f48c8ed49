"""What a task on the table is made of: things, an instruction, when it is solved, and how an expert would do it."""

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
class Thing:
    """Something on the table that a task is about. name: in words ("red button"). body: in the physics.

    half_m: half its extent along x, y and z of its body. middle_m: height of its middle above the body's origin.
    """

    name: str
    body: str
    category: str
    colour: str
    half_m: tuple[float, float, float]
    middle_m: float = 0.0


class Scene(Protocol):
    """What a task is told of the table: `simulation.Simulation`, as it is now."""

    memory: Memory

    @property
    def hand(self) -> HandPose:
        """Where the hand is; gripper 1 when it is told to be open."""
        ...

    def place(self, body: str) -> FloatArray:
        """(3,) metres, the origin of a body."""
        ...

    def rotation(self, body: str) -> FloatArray:
        """(3, 3) of a body."""
        ...

    def joint(self, name: str) -> float:
        """Value of a joint of one axis, in metres or radians."""
        ...

    def held(self, body: str) -> bool:
        """Whether both fingers touch a body."""
        ...

    def touching(self, one: str, other: str) -> bool:
        """Whether two bodies touch."""
        ...

    def put(self, body: str, place: FloatArray, yaw_rad: float = 0.0) -> None:
        """Put a free body upright to a place, at rest."""
        ...

    def slide(self, joint: str, value: float) -> None:
        """Put a joint of one axis to a value, at rest."""
        ...


class TableTask(Protocol):
    """One variation of a task, its things drawn to places by a seed.

    things: those that an agent is told of, numbered in this order from 1. instruction: what it is told; wordings:
    other ways to say it.
    """

    things: tuple[Thing, ...]
    instruction: str
    wordings: tuple[str, ...]

    def add(self, spec: Any) -> None:
        """Put the things on the table, into a mujoco.MjSpec."""
        ...

    def noted(self, scene: Scene, memory: Memory) -> Memory:
        """What is to be kept in mind from now on; asked a hundred times a second."""
        ...

    def progress(self, scene: Scene) -> float:
        """How far it is done, in [0, 1]; 1 exactly when it is solved."""
        ...

    def colours(self, memory: Memory) -> Mapping[str, Colour]:
        """Geoms that are drawn in another colour than they were made in, such as a button that was pressed."""
        ...

    def finish(self, scene: Scene) -> None:
        """Put all things where a solved task leaves them, and say what happened in `scene.memory`."""
        ...

    def plan(self, scene: Scene) -> list[HandPose]:
        """Poses that an expert would go through from here; none when it is solved."""
        ...


table_tasks: Registry[Callable[[int, np.random.Generator], TableTask]] = Registry(
    "table task", "worldgauge.worlds.tabletop.tasks", group="worldgauge.table_tasks"
)
"""Facts of an entry: variations, how many there are. Made of the variation's number and a generator for places."""


def near(one: HandPose, other: HandPose, *, far_m: float = 0.015) -> bool:
    """Whether the hand is as good as there: within `far_m`, its gripper alike."""
    return bool(np.linalg.norm(np.subtract(one[:3], other[:3])) <= far_m) and one.gripper == other.gripper
