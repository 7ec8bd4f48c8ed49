"""`random`: a guess, every answer as likely."""

from __future__ import annotations

import numpy as np

from worldgauge.core.agent import BUILDS, AgentSpec, Answer, Problem, agents
from worldgauge.suites.build.agents._words import default_size, dice, fenced, guess
from worldgauge.worlds.blocks.blueprint import AIR, Cells


@agents.register("random")
class Random:
    """Guesses: a choice, yes or no, or 8 x 8 x 8 cells of air or any of the materials: the level of chance."""

    def __init__(self) -> None:
        self.spec = AgentSpec("random")

    def answer(self, problem: Problem) -> Answer:
        """A guess that depends on task and seed alone."""
        rng = dice(problem, self.spec.name)
        if problem.kind not in BUILDS:
            return Answer(guess(problem, rng))
        return Answer(fenced(random_cells(len(problem.materials), default_size(problem), rng)))


def random_cells(materials: int, size: tuple[int, int, int], rng: np.random.Generator) -> Cells:
    """A matrix of `size` (height, depth, width) drawn evenly from air and so many materials."""
    numbers = np.array([AIR, *range(1, materials + 1)], np.int32)
    return rng.choice(numbers, size)
