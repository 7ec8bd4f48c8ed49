"""Critics grade builds and mark answers; by rules where no language model does (MineAnyBuild, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.registry import Registry
from worldgauge.suites.mineanybuild.format import Kind
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
    """A build to be graded; `picture` renders its contact sheet, and `reference` is None for creativity."""

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
    """Grades of one build by dimension, 1 to 10, why, and how they were made as plain JSON values."""

    grades: Mapping[str, float]
    comments: Mapping[str, str]
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Preference:
    """Whether the first of two builds is better, why, and how it was decided as plain JSON values."""

    first: bool
    reason: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CommonsenseMark:
    """How far an answer in words agrees with the expected one, 0 to 10, why, and how it was marked."""

    mark: float
    reason: str
    notes: Mapping[str, Any] = field(default_factory=dict)


class CriticError(WorldgaugeError):
    """No grade: an `outage` (endpoint, budget), or unreadable replies, which leave the task ungraded and not 0."""

    def __init__(self, message: str, *, outage: bool) -> None:
        super().__init__(message)
        self.outage = outage


@dataclass(frozen=True)
class CriticKit:
    """A language model, a folder of prompts that replace ours, and options such as max_tokens."""

    chat: Any = None
    prompts: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class Critic(Protocol):
    """A judge that grades builds, compares two, and marks answers in words.

    All methods raise CriticError if there is no result.

    Examples:
        >>> critic: Critic = critics.get("rules")(None)
        >>> critic.mark("How many legs has the chair?", expected="four", given="Four legs.", seed=0).mark
        10.0
    """

    def grade(self, submission: Submission, seed: int) -> Grades:
        """Grade a build in all dimensions of its kind."""
        ...

    def compare(self, first: Submission, second: Submission, seed: int) -> Preference:
        """Compare two builds for the same instruction."""
        ...

    def mark(self, question: str, expected: str, given: str, seed: int) -> CommonsenseMark:
        """Mark an answer to a question of commonsense from 0 to 10."""
        ...


critics: Registry[Callable[[CriticKit], Critic]] = Registry("critic", __name__)
"""Facts of an entry: chat, whether it asks a language model; version, raised when its grades change."""
