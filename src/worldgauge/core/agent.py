"""What is tested where answers are checked: the Agent protocol, and what it is asked and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from worldgauge.core.errors import UsageError
from worldgauge.core.image import Image
from worldgauge.core.registry import Registry

PRIVILEGED = frozenset({"truth"})


@dataclass(frozen=True)
class AgentSpec:
    """Who an agent is.

    Attributes:
        name: Shown in tables.
        inputs: "truth" for a reference that is shown the right answer; every table marks who had it.
        settings: Everything that changes its answers, plain JSON values; part of a task's identity.
    """

    name: str
    inputs: frozenset[str] = frozenset()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the inputs.

        Raises:
            UsageError: For inputs that nobody gives.
        """
        if unknown := self.inputs - PRIVILEGED:
            raise UsageError(f"agent '{self.name}' wants unknown inputs {sorted(unknown)}; known: {sorted(PRIVILEGED)}")

    @property
    def privileged(self) -> bool:
        """True when the agent sees what a tested one must not: a reference, not a competitor."""
        return bool(self.inputs & PRIVILEGED)


@dataclass(frozen=True)
class Problem:
    """One question to an agent; holds all it may know, so it can be repeated anywhere.

    Attributes:
        task: Id of the task.
        kind: What is asked for, a word of the suite.
        instruction: The brief, or the question.
        seed: Of everything random in the answer.
        variant: How it is asked, a word of the suite; empty where there is one way.
        images: (H, W, 3) uint8 each.
        captions: As many as images.
        materials: What may be used in the answer, by name.
        choices: Words one of which is the answer; empty where it is free.
        most: How large the answer may be along each axis, in units of the suite; empty where nothing bounds it.
        truth: Text that is the right answer, for agents whose spec asks for it.
    """

    task: str
    kind: str
    instruction: str
    seed: int
    variant: str = ""
    images: tuple[Image, ...] = ()
    captions: tuple[str, ...] = ()
    materials: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    most: tuple[int, ...] = ()
    truth: str | None = None


@dataclass(frozen=True)
class Answer:
    """What an agent says.

    Attributes:
        text: The answer itself.
        notes: How it came to it, plain JSON values for the record (prompts, tokens, costs).
    """

    text: str
    notes: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Agent(Protocol):
    """Something that answers. Its class takes its settings as keyword arguments."""

    spec: AgentSpec

    def answer(self, problem: Problem) -> Answer | str:
        """The answer in words, as a language model would give it: data stand in a fenced block.

        What an endpoint raises (`chat.client.EndpointError`, `BudgetError`) passes: an outage fails the task, it is no
        wrong answer.
        """
        ...


agents: Registry[Callable[..., Agent]] = Registry("agent", group="worldgauge.agents", in_suites="agents")
"""Everybody who can be asked by name; those of a suite stand in its folder `agents`."""
