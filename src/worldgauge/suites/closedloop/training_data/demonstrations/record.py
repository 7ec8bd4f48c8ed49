"""What a demonstration is made of: an expert's poses, and what was seen and where things were while they were done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.video import Clip
from worldgauge.suites.closedloop.training_data.coverage.record import Depth
from worldgauge.worlds.tabletop.pose_plans import HandPose

MAX_NUMBER = 100_000
"""Of demonstrations of a task."""


@dataclass(frozen=True)
class DemoThing:
    """What an agent is told of a thing; `Demonstration.places` has them in the same order. name: such as "red cup"."""

    name: str
    category: str
    colour: str


class DemoStep(NamedTuple):
    """One frame. action: pose asked for that is under way. pose: where the hand is. sub_goal: number of `action`.

    progress: of the task, in [0, 1]. things: (n, 3) metres in the world, the middle of each thing.
    """

    action: HandPose
    pose: HandPose
    sub_goal: int
    progress: float
    things: FloatArray


@dataclass(frozen=True, eq=False)
class DemoFacts:
    """All of a demonstration that its frames do not tell.

    number: of this task's demonstrations, from 0. camera_pose: (4, 4) camera-to-world. fps: frames a second of
    simulated time; seconds: simulated. sub_goals: (n, 8) poses asked for; reached: the frame in which each was done.
    discarded: why tables with the seeds before were given up.
    """

    task: str
    number: int
    variation: int
    seed: int
    world: WorldFacts
    instruction: str
    wordings: tuple[str, ...]
    things: tuple[DemoThing, ...]
    camera: Camera
    camera_pose: FloatArray
    fps: float
    seconds: float
    sub_goals: FloatArray
    reached: tuple[int, ...]
    discarded: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Names the folder as well."""
        return f"{self.task}/{self.number:06d}"


@dataclass(frozen=True, eq=False)
class Demonstration:
    """One task done by the expert, T frames long.

    clip: of the front camera, read when asked for. asked, hand: (T, 8) as `HandPose`, the pose under way in a frame and
    where the hand is. sub_goals: (n, 8) the poses asked for; reached: the frame in which each was done. places:
    (T, things, 3) metres in the world. progress: (T,). camera_pose: (4, 4) camera-to-world. world: of the table before
    anything moved. seconds: simulated. depth: frame number -> metres along the optical axis (H, W), infinite where
    nothing is hit; None where it was not recorded.
    """

    id: str
    task: str
    variation: int
    seed: int
    instruction: str
    clip: Clip
    asked: FloatArray
    hand: FloatArray
    sub_goals: FloatArray
    reached: tuple[int, ...]
    things: tuple[DemoThing, ...]
    places: FloatArray
    progress: FloatArray
    camera: Camera
    camera_pose: FloatArray
    world: WorldFacts
    wordings: tuple[str, ...] = ()
    seconds: float = 0.0
    depth: Callable[[int], Depth] | None = None

    def __len__(self) -> int:
        return len(self.asked)

    @property
    def under_way(self) -> NDArray[np.int64]:
        """(T,) number of the sub-goal under way in each frame; of the last one still when it has been reached."""
        return np.searchsorted(self.reached, np.arange(len(self)), side="left").astype(np.int64)
