"""`reader`: reads what the words say, and looks at nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.agent import BUILDS, AgentSpec, Answer, Problem, agents
from worldgauge.core.errors import NotApplicableError
from worldgauge.suites.build.agents._layers import read_layers
from worldgauge.suites.build.agents._stated import read_stated
from worldgauge.suites.build.agents._words import default_size, dice, fenced, guess
from worldgauge.worlds.blocks.blueprint import AIR


@agents.register("reader")
class Reader:
    """Reads the instruction by rules: what words alone are worth, without seeing and without a language model.

    A list of blocks by layers becomes the very matrix. Elsewhere it builds a box of the stated size, 8 blocks a side
    where none is stated, each layer of the material that is stated for it, else in bands of those that are named. The
    box is hollow unless the stated counts are nearer to a full one. It does not see: questions about pictures it
    answers by chance.
    """

    def __init__(self) -> None:
        self.spec = AgentSpec("reader")

    def answer(self, problem: Problem) -> Answer:
        """The build, or a guess. Raises NotApplicableError for a build without materials."""
        if problem.kind not in BUILDS:
            return Answer(guess(problem, dice(problem, self.spec.name)), {"read": "nothing"})
        if not problem.materials:
            raise NotApplicableError(f"task '{problem.task}' gives no materials to build of")
        listed = read_layers(problem.instruction, problem.materials, problem.most)
        if listed is not None:
            return Answer(fenced(listed.built.cells), {"read": "layers", "unknown": list(listed.unknown)})
        stated = read_stated(problem.instruction, problem.materials, problem.most)
        size = stated.size or default_size(problem)
        told = len(stated.layers) in (1, size[0])
        numbers = stated.layers if told else stated.mentioned or (1,)
        cells = hollow_box(size, numbers)
        if abs(stated.blocks - cells.size) < abs(stated.blocks - np.count_nonzero(cells != AIR)):
            cells = bands(size, numbers)  # as many blocks as that have no room for an inside
        read = [name for name, found in zip(stated._fields, stated, strict=True) if found]
        return Answer(fenced(cells), {"read": " ".join(read) or "nothing", "size": list(size)})


def bands(size: tuple[int, int, int], numbers: tuple[int, ...]) -> NDArray[np.int32]:
    """(height, depth, width), full, in bands of equal height of the blocks `numbers` from the ground up."""
    band = np.arange(size[0]) * len(numbers) // size[0]
    return np.broadcast_to(np.array(numbers, np.int32)[band][:, None, None], size).copy()


def hollow_box(size: tuple[int, int, int], numbers: tuple[int, ...]) -> NDArray[np.int32]:
    """`bands` with air inside."""
    cells = bands(size, numbers)
    cells[1:-1, 1:-1, 1:-1] = AIR
    return cells
