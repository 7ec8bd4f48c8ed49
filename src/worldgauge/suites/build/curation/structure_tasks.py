"""One structure as rows of the data set: its architecture, and its tasks of planning, understanding and creativity."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldgauge.chat.client import AnswerError, Chat, PromptTooLongError, Reply
from worldgauge.chat.prompt_runner import Asker, Misread, UnansweredError
from worldgauge.chat.prompts import Prompts
from worldgauge.suites.build.format import OWN_SOURCE, Architecture, BuildTask, identifier, task_id
from worldgauge.suites.build.generate.instructions import describe, layer_instruction, one_liners
from worldgauge.worlds.blocks.blueprint import Blueprint, difficulty_factor

MAX_WORDS = 150
"""Most words of a detailed instruction (specification, 6)."""
TEMPERATURE, ASKS = 0.4, 3
PICTURES = "images/own"

InstructionWriter = Callable[[Blueprint, str], tuple[str, str]]
"""Writes the detailed instruction for a blueprint and its name; returns it and who wrote it."""


@dataclass(frozen=True)
class StructureTasks:
    """Rows of one structure.

    Attributes:
        architecture: Its row.
        tasks: Their rows.
        writer: Who wrote the detailed instruction.
    """

    architecture: Architecture
    tasks: tuple[BuildTask, ...]
    writer: str


def tasks_of_structure(
    blueprint: Blueprint,
    name: str,
    number: int,
    *,
    seed: int,
    write: InstructionWriter,
    spoken: str,
    source: str,
    description: str | None = None,
    type: str | None = None,
    biome: str | None = None,
    metadata: str | None = None,
) -> StructureTasks:
    """Make the architecture of a structure and its six tasks; the image must be written to the architecture's `image`.

    The one-liners depend on seed and name alone.

    Args:
        blueprint: The build.
        name: Of files: letters, digits and underscores.
        number: Of the architecture, in our own source.
        seed: Of the one-liners.
        write: Writes the detailed instruction.
        spoken: As in "Build a SPOKEN.".
        source: Where the build comes from.
        description: By default `spoken`.
        type: Type of building.
        biome: As in the source.
        metadata: As in the source.
    """
    description = description or spoken
    id = identifier(OWN_SOURCE, number, type, name, description)
    factor = difficulty_factor(blueprint.blocks, blueprint.size)
    image = f"{PICTURES}/{name}.png"
    architecture = Architecture(id, name, description, source, blueprint, factor, type, image, biome, None, metadata)
    detailed, writer = write(blueprint, spoken)
    lines = one_liners(spoken, np.random.default_rng([seed, *hashlib.sha256(name.encode()).digest()[:8]]))
    common: dict[str, Any] = {"architecture": id, "materials": blueprint.materials, "difficulty": factor}
    shown = {**common, "images": (image,)}
    tasks = (
        BuildTask(task_id("planning", id, 0), "planning", "detailed", detailed, **shown),
        BuildTask(task_id("planning", id, 1), "planning", "simple", lines[0], **shown),
        BuildTask(task_id("understanding", id), "understanding", "", layer_instruction(blueprint, spoken), **shown),
        *(BuildTask(task_id("creativity", id, i), "creativity", "", line, **common) for i, line in enumerate(lines)),
    )
    return StructureTasks(architecture, tasks, writer)


def template_instruction(blueprint: Blueprint, name: str) -> tuple[str, str]:
    """Describe a blueprint by a template, all of whose facts are true of it; see `InstructionWriter`."""
    return describe(blueprint, name), "template"


class ChatInstructions:
    """Detailed instructions by a language model, with prompt `instruction-writer`; by the template if it fails.

    Calls raise EndpointError and BudgetError.
    """

    def __init__(self, chat: Chat, prompts: Prompts, seed: int) -> None:
        self._asker = Asker(chat, prompts, temperature=TEMPERATURE)
        self._seed = seed

    def __call__(self, blueprint: Blueprint, name: str) -> tuple[str, str]:
        """The instruction, and who wrote it: the prompt's label, or the template with what was wrong."""
        fields = {"name": name, "structure": structure_json(blueprint)}
        try:
            said = self._asker.ask("instruction-writer", lambda squeeze: fields, _read, seed=self._seed, asks=ASKS)
        except (AnswerError, UnansweredError, PromptTooLongError) as error:
            return describe(blueprint, name), f"template ({error})"
        return said.value, str(said.note["prompt"])


def structure_json(blueprint: Blueprint) -> str:
    """Return size, materials with numbers, and matrix of a blueprint as JSON for a language model."""
    content = {
        "size": dict(blueprint.size._asdict()),
        "block_materials": blueprint.mapping,
        "blueprint": blueprint.rows(),
    }
    return json.dumps(content, separators=(",", ":"))


def _read(reply: Reply) -> str:
    """The instruction in a reply. Raises Misread where it is not what the prompt asks for."""
    text = reply.answer.strip().strip('"').strip()
    words = len(text.split())
    if not 8 <= words <= MAX_WORDS:
        raise Misread(f"the instruction has {words} words; 8 to {MAX_WORDS} are wanted")
    if re.search(r"\(\s*-?\d+\s*,\s*-?\d+|\[\s*-?\d+\s*,|\d\s*,\s*\d+\s*,\s*\d", text):
        raise Misread("the instruction gives coordinates")
    if re.search(r"^\s*(?:[-*#]|\d+[.)])\s|```|'''", text, re.MULTILINE):
        raise Misread("the instruction has lists, headings or fences")
    return " ".join(text.split())
