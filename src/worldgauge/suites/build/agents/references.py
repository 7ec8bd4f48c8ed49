"""Reference agents without a language model: the right answer, and baselines that ignore the task."""

from __future__ import annotations

import re

import numpy as np

from worldgauge.chat.prompts import Prompts
from worldgauge.core.agent import AgentSpec, Answer, Problem, agents
from worldgauge.core.errors import NotApplicableError
from worldgauge.suites.build.agents.reader import read_stated
from worldgauge.suites.build.agents.wording import constant, default_size, dice, fenced, guess, limits_of, prompt_of
from worldgauge.suites.build.kinds import BUILD_KINDS
from worldgauge.worlds.blocks.blueprint import AIR, Cells


@agents.register("truth")
class Truth:
    """Repeats the right answer: the ceiling of a task, and a test of its scoring."""

    def __init__(self) -> None:
        self.spec = AgentSpec("truth", inputs=frozenset({"truth"}))

    def answer(self, problem: Problem) -> Answer:
        """Return the right answer.

        Raises:
            NotApplicableError: If the data hold none.
        """
        if problem.truth is None:
            raise NotApplicableError(f"task '{problem.task}' has no right answer that could be repeated")
        return Answer(problem.truth)


_EXAMPLE = re.compile(r"^Answer:\n(.*?)\n^End of the example\.$", re.MULTILINE | re.DOTALL)


@agents.register("copy-example")
class CopyExample:
    """Repeats the answer of the example in our own prompt: the right form with none of the task.

    Reasoning is prompted without an example: there it gives the first choice.
    """

    def __init__(self) -> None:
        prompts = Prompts("worldgauge.suites.build")
        self.spec = AgentSpec("copy-example", settings={"prompts": prompts.digest})
        self._prompts = prompts

    def answer(self, problem: Problem) -> Answer:
        """Return the example's answer."""
        template = self._prompts[prompt_of(problem)]
        example = example_of(template.text)
        return Answer(constant(problem) if example is None else example, {"prompt": template.label})


def example_of(text: str) -> str | None:
    """Return the answer of the example in a template; None if it has none."""
    found = _EXAMPLE.search(text)
    return found[1] if found else None


@agents.register("solid-box")
class SolidBox:
    """A solid box of the first material, of the size that the instruction states, else 8 blocks per side.

    It gets full recall where a build has few materials, so such a score does not come from planning. Elsewhere the
    first choice, or yes.
    """

    def __init__(self) -> None:
        self.spec = AgentSpec("solid-box")

    def answer(self, problem: Problem) -> Answer:
        """Return the box, or the constant answer.

        Raises:
            NotApplicableError: For a build without materials.
        """
        if problem.kind not in BUILD_KINDS:
            return Answer(constant(problem))
        if not problem.materials:
            raise NotApplicableError(f"task '{problem.task}' gives no materials to build of")
        stated = read_stated(problem.instruction, problem.materials, limits_of(problem))
        return Answer(fenced(np.ones(stated.size or default_size(problem), np.int32)))


@agents.register("random")
class Random:
    """Guesses: a choice, yes or no, or 8 x 8 x 8 cells of air or any of the materials: chance level."""

    def __init__(self) -> None:
        self.spec = AgentSpec("random")

    def answer(self, problem: Problem) -> Answer:
        """Return a guess that depends on task and seed alone."""
        rng = dice(problem, self.spec.name)
        if problem.kind not in BUILD_KINDS:
            return Answer(guess(problem, rng))
        return Answer(fenced(random_cells(len(problem.materials), default_size(problem), rng)))


def random_cells(materials: int, size: tuple[int, int, int], rng: np.random.Generator) -> Cells:
    """Draw a matrix uniformly from air and materials.

    Args:
        materials: Number of materials.
        size: Height, depth, width.
        rng: Source of all randomness.

    Returns:
        (height, depth, width) int32.
    """
    numbers = np.array([AIR, *range(1, materials + 1)], np.int32)
    return rng.choice(numbers, size)


@agents.register("empty")
class Empty:
    """A matrix of one cell of air for a build, no words elsewhere: the floor."""

    def __init__(self) -> None:
        self.spec = AgentSpec("empty")

    def answer(self, problem: Problem) -> Answer:
        """Return the empty answer in the form that is asked for."""
        if problem.kind in BUILD_KINDS:
            return Answer(fenced(np.full((1, 1, 1), AIR, np.int32)))
        return Answer("", {"gives_up": True})
