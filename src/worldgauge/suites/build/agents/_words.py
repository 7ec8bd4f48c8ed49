"""Answers as a language model would write them, and the answers of those who do not think."""

from __future__ import annotations

import hashlib
import json

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.agent import Problem

SIDE = 8
"""Blocks along each side of a build that nobody has thought about."""
YES, NO = "Yes, it is.", "No, it is not."


def fenced(cells: NDArray[np.int32]) -> str:
    """A matrix [y][z][x] in a fenced block, one line a layer."""
    layers = (json.dumps(layer, separators=(",", ":")) for layer in cells.tolist())
    return "```json\n[" + ",\n".join(layers) + "]\n```"


def dice(problem: Problem, name: str) -> np.random.Generator:
    """Randomness of agent `name` on a problem: the same for the same task and seed."""
    facts = json.dumps([name, problem.task, problem.seed]).encode()
    return np.random.default_rng(list(hashlib.sha256(facts).digest()))


def guess(problem: Problem, rng: np.random.Generator) -> str:
    """A choice, each as likely; yes or no where there are none."""
    choices = problem.choices or (YES, NO)
    return choices[int(rng.integers(len(choices)))]


def constant(problem: Problem) -> str:
    """The same each time: the first choice; yes where there are none."""
    return problem.choices[0] if problem.choices else YES


def default_size(problem: Problem) -> tuple[int, int, int]:
    """(height, depth, width) of a build that nobody has thought about, within what is allowed."""
    height, depth, width = (min(SIDE, most) for most in problem.most)
    return height, depth, width
