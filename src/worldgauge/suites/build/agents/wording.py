"""Problems in words: the prompt of each and its fields; and answers in the form of a language model."""

from __future__ import annotations

import hashlib
import json
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from worldgauge.chat.prompts import Field, Part
from worldgauge.core.agent import Problem
from worldgauge.core.errors import UsageError
from worldgauge.worlds.blocks.blueprint import AIR


def prompt_of(problem: Problem) -> str:
    """Return the name of the template; for planning without a variant the detailed one."""
    if problem.kind == "planning":
        return "planning-simple" if problem.variant == "simple" else "planning-detailed"
    return problem.kind


def fields_of(problem: Problem) -> dict[str, Field]:
    """Return the fields of the template."""
    if problem.kind == "reasoning":
        return {"question": problem.instruction, "picture": _shown(problem), "choices": _either(problem.choices)}
    if problem.kind == "commonsense":
        return {"question": problem.instruction, "pictures": _shown(problem)}
    mapping = {"air": AIR, **{name: number for number, name in enumerate(problem.materials, 1)}}
    layers, rows, cells = limits_of(problem)
    build: dict[str, Field] = {
        "materials": json.dumps(mapping, ensure_ascii=False),
        "instruction": problem.instruction,
        "limits": f"At most {layers} layers, {rows} rows in a layer and {cells} numbers in a row.",
    }
    return build if problem.kind == "creativity" else {**build, "picture": _shown(problem)}


def _shown(problem: Problem) -> list[Part]:
    """Each picture after its caption, all of them: one without its picture would be asked about blindly."""
    parts: list[Part] = []
    for image, caption in zip_longest(problem.images, problem.captions):
        parts += [f"\n{caption}:\n"] if caption else []
        parts += [] if image is None else [image]
    return parts or ["(there is none)"]


def _either(choices: tuple[str, ...]) -> str:
    """Such as "A, B, C or D"."""
    *others, last = choices or ("",)
    return f"{', '.join(others)} or {last}" if others else last


SIDE = 8
"""Default blocks per side of a build."""
YES, NO = "Yes, it is.", "No, it is not."


def fenced(cells: NDArray[np.int32]) -> str:
    """Return a matrix [y][z][x] in a fenced block, one line per layer."""
    layers = (json.dumps(layer, separators=(",", ":")) for layer in cells.tolist())
    return "```json\n[" + ",\n".join(layers) + "]\n```"


def dice(problem: Problem, name: str) -> np.random.Generator:
    """Return the generator of agent `name` on a problem: the same for the same task and seed."""
    facts = json.dumps([name, problem.task, problem.seed]).encode()
    return np.random.default_rng(list(hashlib.sha256(facts).digest()))


def guess(problem: Problem, rng: np.random.Generator) -> str:
    """Draw one of the choices; yes or no if there are none."""
    choices = problem.choices or (YES, NO)
    return choices[int(rng.integers(len(choices)))]


def constant(problem: Problem) -> str:
    """Return the first choice; yes if there are none."""
    return problem.choices[0] if problem.choices else YES


def limits_of(problem: Problem) -> tuple[int, int, int]:
    """Return the largest (height, depth, width) of an answer, in blocks.

    Raises:
        UsageError: If the problem does not say them.
    """
    if len(problem.most) != 3:
        raise UsageError(
            f"task '{problem.task}' does not say how large a build may be: give most=(height, depth, width)"
        )
    height, depth, width = problem.most
    return height, depth, width


def default_size(problem: Problem) -> tuple[int, int, int]:
    """Return SIDE blocks per side, within the limits of the problem: (height, depth, width)."""
    height, depth, width = (min(SIDE, most) for most in limits_of(problem))
    return height, depth, width
