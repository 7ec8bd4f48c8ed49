"""What is tested by suites that check answers: the Agent protocol, the problems it gets and the answers it gives."""

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
    """Declares the name, extra inputs and settings of an agent.

    Attributes:
        name: Shown in tables.
        inputs: "truth" for a reference that gets the right answer; every table marks the agents that had it.
        settings: Everything that changes its answers, as plain JSON values; part of a task's identity.

    Raises:
        UsageError: `inputs` names an unknown input.

    Examples:
        >>> AgentSpec("truth", inputs=frozenset({"truth"})).privileged
        True
    """

    name: str
    inputs: frozenset[str] = frozenset()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the inputs.

        Raises:
            UsageError: An input is unknown.
        """
        if unknown := self.inputs - PRIVILEGED:
            raise UsageError(f"agent '{self.name}' wants unknown inputs {sorted(unknown)}; known: {sorted(PRIVILEGED)}")

    @property
    def privileged(self) -> bool:
        """True when the agent sees what a tested agent must not: it is a reference, not a competitor."""
        return bool(self.inputs & PRIVILEGED)


@dataclass(frozen=True)
class Problem:
    """One question to an agent; it holds everything the agent may know, so it can be repeated anywhere.

    Attributes:
        task: Salted hash of the task's id, for names of files.
        kind: Kind of answer that is asked for, a word of the suite.
        instruction: The brief, or the question.
        seed: Seed of everything random in the answer.
        variant: Form of the question, a word of the suite; empty when there is only one.
        images: (H, W, 3) uint8 each.
        captions: One for each image.
        materials: Names of what may be used in the answer.
        choices: Words, one of which is the answer; empty when the answer is free.
        most: Largest size of the answer along each axis, in units of the suite; empty when there is no limit.
        truth: The right answer as text, for agents whose spec asks for it.
        form: How the answer is written, a word of the suite; empty for the suite's usual form.
        previous: The agent's answer of the round before, if it may answer again.
        feedback: What became of that answer: texts, and pictures (H, W, 3) uint8.

    Examples:
        >>> Problem("task-1", "reasoning", "Which one fits?", seed=0, choices=("A", "B")).choices
        ('A', 'B')
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
    form: str = ""
    previous: str | None = None
    feedback: tuple[str | Image, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The answer of an agent.

    Attributes:
        text: What the model wrote, its reasoning included. Without an answer the task fails, unless `notes` hold
            `gives_up`: then the answer is wrong.
        notes: How the agent came to it, as plain JSON values for the record (prompts, tokens, costs).

    Examples:
        >>> Answer("B", notes={"tokens": 12}).text
        'B'
    """

    text: str
    notes: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Agent(Protocol):
    """Something that answers problems. Its class takes its settings as keyword arguments.

    Attributes:
        spec: Name, inputs and settings.

    Examples:
        >>> class First:
        ...     spec = AgentSpec("first")
        ...
        ...     def answer(self, problem):
        ...         return Answer(problem.choices[0])
        >>> isinstance(First(), Agent)
        True
        >>> First().answer(Problem("task-1", "reasoning", "Which one fits?", seed=0, choices=("A", "B"))).text
        'A'
    """

    spec: AgentSpec

    def answer(self, problem: Problem) -> Answer | str:
        """Answer a problem in words, as a language model would: data stand in a fenced block.

        Errors of an endpoint (`chat.reply.EndpointError`, `BudgetError`) may pass through. An outage fails the task;
        it does not count as a wrong answer.

        Args:
            problem: The question.

        Returns:
            The answer, or only its text.
        """
        ...


agents: Registry[Callable[..., Agent]] = Registry("agent", group="worldgauge.agents", in_suites="agents")
"""All agents by name; those of a suite lie in its folder `agents`."""
