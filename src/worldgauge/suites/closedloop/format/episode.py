"""Episodes of the closed loop as the package sees them: where an agent is, what it is sent for, in which scene.

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
    """Name the boxed object.

    Attributes:
        id: Unique.
        scene: Name of the scene.
        difficulty: 0, 1 or 2.
        target: Instance of the object in the scene.
        category: The answer, one of the 27 labels in words ("chest of drawers").
        start: Where the agent starts.
        height_m: Height of the eye above the floor.
        floor_m: Height of the floor in the world frame.
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
    """Go to where a picture was taken.

    Attributes:
        id: Unique.
        scene: Name of the scene.
        start: Where the agent starts.
        goal: Where the picture was taken.
        radius_m: How near to the goal counts as arrived.
        step_to_goal: Primitives of the reference path.
        goal_image: File of the panorama, see `files.goal_image`; its heading is that of `goal`.
        height_m: Height of the eye above the floor, at the start.
        floor_m: Height of the floor in the world frame, at the start.
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
    """Answer a question about the scene.

    Attributes:
        id: Unique.
        scene: Name of the scene.
        question: The question.
        answer: The expected answer.
        extra_answers: Others that are as good as `answer`.
        category: Category of the question.
        start: Where the agent starts.
        hfov_deg: Horizontal field of view of each of the four views.
        reference_m: Metres that exploring for it should take; None where the files do not have it.
        blind_answer: Answer of a language model without any picture; None where the files do not have it.
        evidence: Instances that hold the answer.
        height_m: Height of the eye above the floor.
        floor_m: Height of the floor in the world frame.
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
    """Do something at a table with an arm; the scene is a table with its things.

    Attributes:
        id: Unique.
        scene: Name of the scene.
        table_task: Name of a registered table task.
        variation: Variation of the task.
        instruction: The instruction to the agent.
        wordings: Other ways to say it.
        reference_poses: Poses that the scripted expert needed; 0 where unknown.
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
    """An episode that cannot be used.

    Attributes:
        kind: Kind of episode.
        id: Its own id where it has a usable one, else one made from its row.
        text: The reason, one line.
    """

    kind: Kind
    id: str
    text: str


@dataclass(frozen=True)
class ClosedLoop:
    """What a folder holds, in the order of its files.

    Attributes:
        recognition: Usable episodes of recognition.
        navigation: Usable episodes of navigation.
        questions: Usable questions.
        manipulation: Usable trials at a table.
        scenes: Every scene of the episodes; None where it cannot be built here (`scene_missing` gives the reason).
        faults: Episodes that are in the files and in none of the lists.
        notes: About the folder, one line each, such as a file that was not used.
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
