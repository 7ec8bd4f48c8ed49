"""The contract of a task on the table: things, an instruction, a measure of progress, and the plan of an expert."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from worldgauge.core.episode import number_of, whole_of
from worldgauge.core.errors import WorldError
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


@dataclass(frozen=True)
class Setup:
    """Where the things of a task lie, in place of generated places.

    Attributes:
        bodies: Of all things, in the task's order.
        places: Of each thing, (n, 2) metres on the table.
        yaws_rad: Of each thing; a task turns what lies loose.
        colours: Of each thing.
        wanted: Number in the name of the body that the instruction names.
        wordings: The instruction, then others of the same meaning.
    """

    bodies: tuple[str, ...]
    places: FloatArray
    yaws_rad: tuple[float, ...]
    colours: tuple[str, ...]
    wanted: int
    wordings: tuple[str, ...]

    @classmethod
    def of(cls, plain: Any, bodies: tuple[str, ...], colours: Collection[str]) -> Setup:
        """Make a layout of the values of `plain`, or of pairs in place of its dicts, as worlds are cached by.

        WorldError for one that is not of these bodies in these colours.
        """
        try:
            given = dict(plain)
            things, wordings = [dict(thing) for thing in given["things"]], given["wordings"]
            if tuple(thing["body"] for thing in things) != bodies:
                raise ValueError(f"its bodies are not {', '.join(bodies) or 'known: the task takes no layout'}")
            names = tuple(thing["colour"] for thing in things)
            if not set(names) <= set(colours):
                raise ValueError("field 'colour' is none that is known")
            if not wordings or type(wordings) is str or not all(isinstance(one, str) and one for one in wordings):
                raise ValueError("field 'wordings' is no list of texts")
            rows = [[number_of({"place_m": one}, "place_m", -1, 1) for one in thing["place_m"]] for thing in things]
            places = np.array(rows, np.float64).reshape(len(rows), 2)
            yaws = tuple(number_of(thing, "yaw_rad", -4, 4) for thing in things)
            wanted = whole_of(given, "wanted", 0, sum(body[-1].isdigit() for body in bodies) - 1)
            return cls(bodies, places, yaws, names, wanted, tuple(wordings))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise WorldError(f"this is no layout of the table ({' '.join(str(error).split())})") from error

    @property
    def plain(self) -> dict[str, Any]:
        """JSON values from which `of` makes the same layout."""
        rows = zip(self.bodies, self.places.tolist(), self.yaws_rad, self.colours, strict=True)
        things = [dict(zip(("body", "place_m", "yaw_rad", "colour"), row, strict=True)) for row in rows]
        return {"things": things, "wanted": self.wanted, "wordings": list(self.wordings)}


table_tasks: Registry[Callable[..., TableTask]] = Registry("table task", "worldgauge.worlds.tabletop.tasks")
"""Facts of an entry: variations, how many there are; and, of a task that takes a layout, bodies, the choices numbered.
Made of the variation's number, a generator for places, and the `Setup` where one is given."""


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
