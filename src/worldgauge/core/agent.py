"""What is tested where answers are checked: the Agent protocol, and what it is asked and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from worldgauge.core.errors import UsageError
from worldgauge.core.image import Image
from worldgauge.core.registry import Registry

Kind = Literal["planning", "understanding", "creativity", "reasoning", "commonsense"]
KINDS: tuple[Kind, ...] = ("planning", "understanding", "creativity", "reasoning", "commonsense")
BUILDS: tuple[Kind, ...] = ("planning", "understanding", "creativity")
"""Kinds that are answered with a matrix; the others with a choice, or in words."""
PRIVILEGED = frozenset({"truth"})


@dataclass(frozen=True)
class AgentSpec:
    """Who an agent is. name: shown in tables. inputs: "truth" for a reference that is shown the right answer; every
    table marks who had it. settings: everything that changes its answers, plain JSON values; part of a task's identity.
    """

    name: str
    inputs: frozenset[str] = frozenset()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises UsageError for inputs that nobody gives."""
        if unknown := self.inputs - PRIVILEGED:
            raise UsageError(f"agent '{self.name}' wants unknown inputs {sorted(unknown)}; known: {sorted(PRIVILEGED)}")

    @property
    def privileged(self) -> bool:
        """True when the agent sees what a tested one must not: a reference, not a competitor."""
        return bool(self.inputs & PRIVILEGED)


@dataclass(frozen=True)
class Problem:
    """One question to an agent; holds all it may know, so it can be repeated anywhere.

    task: id of the task. variant: "detailed" or "simple" of planning; "same", "different" or "judge" of reasoning.
    instruction: the brief, or the question. images: (H, W, 3) uint8 each, captions as many. materials: that may be
    used, block k being entry k - 1. choices: one of which is the answer, as words. most: (height, depth, width) in
    blocks that an answer may have. truth: text that is the right answer, for agents whose spec asks for it.
    """

    task: str
    kind: Kind
    instruction: str
    seed: int
    variant: str = ""
    images: tuple[Image, ...] = ()
    captions: tuple[str, ...] = ()
    materials: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    most: tuple[int, int, int] = (50, 80, 80)
    truth: str | None = None


@dataclass(frozen=True)
class Answer:
    """What an agent says. notes: how it came to it, plain JSON values for the record (prompts, tokens, costs)."""

    text: str
    notes: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Agent(Protocol):
    """Something that answers. Its class takes its settings as keyword arguments."""

    spec: AgentSpec

    def answer(self, problem: Problem) -> Answer | str:
        """The answer in words, as a language model would give it: a matrix stands in a fenced block.

        What an endpoint raises (`agents.chat.EndpointError`, `BudgetError`) passes: an outage fails the task, it is no
        wrong answer.
        """
        ...


agents: Registry[Callable[..., Agent]] = Registry("agent", group="worldgauge.agents", in_suites="agents")
