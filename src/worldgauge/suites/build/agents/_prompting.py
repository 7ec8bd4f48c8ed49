"""What a problem becomes in words: which of the prompts asks it, and what goes into it."""

from __future__ import annotations

import json
from itertools import zip_longest

from worldgauge.chat.prompts import Field, Part
from worldgauge.core.agent import Problem
from worldgauge.worlds.blocks.blueprint import AIR


def prompt_of(problem: Problem) -> str:
    """Name of the template; of planning without a variant the detailed one."""
    if problem.kind == "planning":
        return "planning-simple" if problem.variant == "simple" else "planning-detailed"
    return problem.kind


def fields_of(problem: Problem) -> dict[str, Field]:
    """What goes into the template's places."""
    if problem.kind == "reasoning":
        return {"question": problem.instruction, "picture": _shown(problem), "choices": _either(problem.choices)}
    if problem.kind == "commonsense":
        return {"question": problem.instruction, "pictures": _shown(problem)}
    mapping = {"air": AIR, **{name: number for number, name in enumerate(problem.materials, 1)}}
    layers, rows, cells = problem.most
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
