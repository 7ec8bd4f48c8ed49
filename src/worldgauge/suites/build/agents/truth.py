"""`truth`: the right answer, as it stands in the data."""

from __future__ import annotations

from worldgauge.core.agent import AgentSpec, Answer, Problem, agents
from worldgauge.core.errors import NotApplicableError


@agents.register("truth")
class Truth:
    """Repeats the right answer: the most that a task is worth, and a test of its scoring."""

    def __init__(self) -> None:
        self.spec = AgentSpec("truth", inputs=frozenset({"truth"}))

    def answer(self, problem: Problem) -> Answer:
        """The right answer. Raises NotApplicableError where the data hold none."""
        if problem.truth is None:
            raise NotApplicableError(f"task '{problem.task}' has no right answer that could be repeated")
        return Answer(problem.truth)
