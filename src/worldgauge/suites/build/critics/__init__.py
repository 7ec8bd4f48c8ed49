"""Critics: who grades builds and marks answers; by rules where no language model does (MineAnyBuild, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.registry import Registry
from worldgauge.suites.build.kinds import Kind
from worldgauge.worlds.blocks.blueprint import Blueprint

DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "planning": ("completeness", "complexity", "aesthetic"),
    "understanding": ("completeness",),
    "creativity": ("creativity", "completeness", "complexity", "structure", "aesthetic"),
}
"""What a build is graded in, by kind of task; the paper's names are in `metrics.scores`."""
WORST, BEST = 1, 10


@dataclass(frozen=True)
class Work:
    """A build to be graded. variant: as of `Problem`. reference: the true build where there is one (planning and
    understanding), None for creativity. picture, reference_picture: (H, W, 3) uint8 contact sheets, drawn when asked
    for."""

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
    """grades: 1 to 10 of each of the kind's `DIMENSIONS`. comments: why, of each. notes: how they were come by, plain
    JSON values (prompts, replies, costs)."""

    grades: Mapping[str, float]
    comments: Mapping[str, str]
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """Which of two builds is better. first: whether the one shown first. reason: in a few words."""

    first: bool
    reason: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Marked:
    """mark: 0 to 10, how far an answer in words agrees with the expected one."""

    mark: float
    reason: str
    notes: Mapping[str, Any] = field(default_factory=dict)


class CriticError(WorldgaugeError):
    """No grade came. outage: whether the endpoint failed or the budget is used up; else its replies could not be read,
    and the task is ungraded, which is not 0.
    """

    def __init__(self, message: str, *, outage: bool) -> None:
        super().__init__(message)
        self.outage = outage


@dataclass(frozen=True)
class CriticKit:
    """What critics are made of. chat: for one that asks a language model. prompts: folder whose files replace ours."""

    chat: Any = None
    prompts: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class Critic(Protocol):
    """Grades builds, compares two, and marks answers in words. Raises CriticError where nothing came of it."""

    def grade(self, work: Work, seed: int) -> Grades:
        """Grades in all dimensions of the work's kind."""
        ...

    def compare(self, first: Work, second: Work, seed: int) -> Choice:
        """Which of two builds for the same instruction is better; `first` is shown first."""
        ...

    def mark(self, question: str, expected: str, given: str, seed: int) -> Marked:
        """How far an answer to a question of commonsense agrees with the expected one."""
        ...


critics: Registry[Callable[[CriticKit], Critic]] = Registry("critic", __name__, group="worldgauge.critics")
"""Facts of an entry: chat, whether it asks a language model; version, raised when its grades change."""
