"""Episodes of the closed loop as everything else sees them: where an agent is, what it is sent for, in which scene.

Stances are in the world frame, metres and radians; files keep them in the simulator's frame (`coordinates`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from worldgauge.core.episode import WorldFacts
from worldgauge.worlds.walking.stance import EYE_HEIGHT_M, Stance

Kind = Literal["recognition", "navigation", "questions", "manipulation"]
KINDS: tuple[Kind, ...] = ("recognition", "navigation", "questions", "manipulation")
AT_HOME: tuple[Kind, ...] = ("recognition", "navigation", "questions")
"""Kinds whose episodes begin where somebody stands in a home."""

GOAL_RADIUS_M = 0.5
"""Of an image goal (specification, 5.2)."""
HFOV_DEG = 105.0
"""Of each of the four views that a question is asked with (specification, 4)."""


@dataclass(frozen=True)
class RecognitionEpisode:
    """Say what the boxed object is. Unique by `id`.

    difficulty: 0, 1 or 2. target: instance of the object in the scene. category: the answer, one of the 27 labels in
    words ("chest of drawers"). height_m: of the eye above the floor; floor_m: of the floor in the world frame.
    """

    id: str
    scene: str
    difficulty: int
    target: int
    category: str
    start: Stance
    height_m: float = EYE_HEIGHT_M
    floor_m: float = 0.0


@dataclass(frozen=True)
class NavigationEpisode:
    """Go to where a picture was taken. Unique by `id`.

    step_to_goal: primitives of the reference path. goal_image: the panorama, see `goal_image`; its heading is that of
    `goal`. height_m, floor_m: as of recognition, of the start.
    """

    id: str
    scene: str
    start: Stance
    goal: Stance
    radius_m: float = GOAL_RADIUS_M
    step_to_goal: int = 0
    goal_image: Path | None = None
    height_m: float = EYE_HEIGHT_M
    floor_m: float = 0.0


@dataclass(frozen=True)
class QuestionEpisode:
    """Answer a question about the scene. Unique by `id`.

    extra_answers: as good as `answer`. hfov_deg: of each of the four views. reference_m: metres that exploring for it
    should take. blind_answer: what a language model says without any picture. evidence: instances that hold the
    answer. reference_m and blind_answer are None where the files do not tell them.
    """

    id: str
    scene: str
    question: str
    answer: str
    extra_answers: tuple[str, ...]
    category: str
    start: Stance
    hfov_deg: float = HFOV_DEG
    reference_m: float | None = None
    blind_answer: str | None = None
    evidence: tuple[int, ...] = ()
    height_m: float = EYE_HEIGHT_M
    floor_m: float = 0.0


@dataclass(frozen=True)
class ManipulationEpisode:
    """Do something at a table with an arm. Unique by `id`; the scene is a table with its things.

    table_task: name of a registered table task. instruction: what the agent is told; wordings: other ways to say it.
    reference_poses: through which the scripted expert did it, 0 where that is not known.
    """

    id: str
    scene: str
    table_task: str
    variation: int
    instruction: str
    wordings: tuple[str, ...] = ()
    reference_poses: int = 0


HomeEpisode = RecognitionEpisode | NavigationEpisode | QuestionEpisode
Episode = HomeEpisode | ManipulationEpisode


@dataclass(frozen=True)
class Fault:
    """An episode that cannot be used. id: its own where it has a usable one, else made of its row. text: one line."""

    kind: Kind
    id: str
    text: str


@dataclass(frozen=True)
class ClosedLoop:
    """What a folder holds, in the order of its files.

    scenes: every scene of the episodes; None where nobody here can build it (`scene_missing` says why). faults:
    episodes that are in the files and in none of the lists. notes: of the folder, one line each, such as a file
    that was not used.
    """

    recognition: tuple[RecognitionEpisode, ...] = ()
    navigation: tuple[NavigationEpisode, ...] = ()
    questions: tuple[QuestionEpisode, ...] = ()
    manipulation: tuple[ManipulationEpisode, ...] = ()
    scenes: Mapping[str, WorldFacts | None] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return sum(len(getattr(self, kind)) for kind in KINDS)
