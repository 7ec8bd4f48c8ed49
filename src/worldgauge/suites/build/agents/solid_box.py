"""`solid-box`: the same answer whatever is asked, a box of the first material."""

from __future__ import annotations

import numpy as np

from worldgauge.core.agent import BUILDS, AgentSpec, Answer, Problem, agents
from worldgauge.core.errors import NotApplicableError
from worldgauge.suites.build.agents._stated import read_stated
from worldgauge.suites.build.agents._words import constant, default_size, fenced


@agents.register("solid-box")
class SolidBox:
    """A full box of the first material, of the size that the instruction states, else 8 blocks a side.

    Fills recall where a build has few materials: what it scores is not owed to a plan. The first choice where there
    are some, yes where words are asked for.
    """

    def __init__(self) -> None:
        self.spec = AgentSpec("solid-box")

    def answer(self, problem: Problem) -> Answer:
        """The box, or the constant answer. Raises NotApplicableError for a build without materials."""
        if problem.kind not in BUILDS:
            return Answer(constant(problem))
        if not problem.materials:
            raise NotApplicableError(f"task '{problem.task}' gives no materials to build of")
        stated = read_stated(problem.instruction, problem.materials, problem.most)
        return Answer(fenced(np.ones(stated.size or default_size(problem), np.int32)))
