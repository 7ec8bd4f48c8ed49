"""`empty`: builds nothing and says nothing."""

from __future__ import annotations

import numpy as np

from worldgauge.core.agent import BUILDS, AgentSpec, Answer, Problem, agents
from worldgauge.suites.build.agents._words import fenced
from worldgauge.worlds.blocks.blueprint import AIR


@agents.register("empty")
class Empty:
    """A matrix of one cell of air where a build is asked for, no words elsewhere: the least that can be said."""

    def __init__(self) -> None:
        self.spec = AgentSpec("empty")

    def answer(self, problem: Problem) -> Answer:
        """Nothing, in the form that is asked for."""
        return Answer(fenced(np.full((1, 1, 1), AIR, np.int32)) if problem.kind in BUILDS else "")
