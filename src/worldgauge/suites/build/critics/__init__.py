"""Critics grade builds and mark answers; by rules where no language model does (MineAnyBuild, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.registry import Registry
from worldgauge.suites.build.format import Kind
from worldgauge.worlds.blocks.blueprint import Blueprint

DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "planning": ("completeness", "complexity", "aesthetic"),
    "understanding": ("completeness",),
    "creativity": ("creativity", "completeness", "complexity", "structure", "aesthetic"),
}
"""Graded dimensions by kind of task; the paper's names are in `metrics.scores`."""
WORST, BEST = 1, 10


@dataclass(frozen=True)
class Submission:
    """A build to be graded.

    Attributes:
        task: Id of the task.
        kind: Of the task.
        instruction: What the agent was asked to build.
        built: What it built.
        picture: Draws its contact sheet, (H, W, 3) uint8.
        variant: As of `core.agent.Problem`.
        reference: The true build of planning and understanding; None for creativity.
        reference_picture: Draws the contact sheet of the true build.
    """

    task: str
    kind: Kind
    instruction: str
    built: Blueprint
    picture: Callable[[], Image]
    variant: str = ""
    reference: Blueprint | None = None
    reference_picture: Callable[[], Image] | None = None


@dataclass(frozen=True)
class Grades:
    """Grades of one build.

    Attributes:
        grades: 1 to 10 for each of the kind's `DIMENSIONS`.
        comments: Why, for each.
        notes: How they were made, plain JSON values (prompts, replies, costs).
    """

    grades: Mapping[str, float]
    comments: Mapping[str, str]
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Preference:
    """Which of two builds is better.

    Attributes:
        first: Whether it is the one shown first.
        reason: Why, in a few words.
        notes: How it was decided, plain JSON values.
    """

    first: bool
    reason: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerMark:
    """How far an answer in words agrees with the expected one.

    Attributes:
        mark: 0 to 10.
        reason: Why, in a few words.
        notes: How it was marked, plain JSON values.
    """

    mark: float
    reason: str
    notes: Mapping[str, Any] = field(default_factory=dict)


class CriticError(WorldgaugeError):
    """No grade could be obtained.

    Attributes:
        outage: Whether the endpoint failed or the budget is used up; else its replies could not be read, and the task
            is ungraded, which is not 0.
    """

    def __init__(self, message: str, *, outage: bool) -> None:
        super().__init__(message)
        self.outage = outage


@dataclass(frozen=True)
class CriticKit:
    """What critics are made from.

    Attributes:
        chat: The language model of a critic that asks one.
        prompts: Folder whose files replace our prompts.
        options: Options of the critic, such as max_tokens.
    """

    chat: Any = None
    prompts: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class Critic(Protocol):
    """A judge that grades builds, compares two, and marks answers in words.

    All methods raise CriticError if there is no result.
    """

    def grade(self, submission: Submission, seed: int) -> Grades:
        """Grade a build in all dimensions of its kind.

        Args:
            submission: The build.
            seed: Of the critic.
        """
        ...

    def compare(self, first: Submission, second: Submission, seed: int) -> Preference:
        """Compare two builds for the same instruction.

        Args:
            first: The build shown first.
            second: The other.
            seed: Of the critic.
        """
        ...

    def mark(self, question: str, expected: str, given: str, seed: int) -> AnswerMark:
        """Mark an answer to a question of commonsense from 0 to 10.

        Args:
            question: The question.
            expected: The right answer.
            given: The agent's answer.
            seed: Of the critic.
        """
        ...


critics: Registry[Callable[[CriticKit], Critic]] = Registry("critic", __name__, group="worldgauge.critics")
"""Facts of an entry: chat, whether it asks a language model; version, raised when its grades change."""
