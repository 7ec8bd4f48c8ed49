"""Instructions in words, made from the geometry of a build, and the tasks of a structure that state them.

All that an instruction states is true of the build. Detailed ones run from bottom to top, without coordinates and
lists, in fewer than 150 words (MineAnyBuild, prompts of the data curation); creativity and simple planning are given
one line. All sentences are our own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from worldgauge.chat.model import Chat
from worldgauge.chat.prompt_runner import Asker, Misread, UnansweredError
from worldgauge.chat.prompts import Prompts
from worldgauge.chat.reply import AnswerError, PromptTooLongError, Reply
from worldgauge.core.english import article, listed
from worldgauge.core.errors import ShapeError
from worldgauge.suites.mineanybuild.format import OWN_SOURCE, Architecture, BuildTask, identifier, task_id
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, Blueprint, base_name, difficulty_factor

MAX_WORDS = 149
"""Most words of a detailed instruction."""
VERBS = (
    *("Build", "Construct", "Create", "Make", "Design", "Erect", "Assemble"),
    *("Craft", "Raise", "Put up", "Set up", "Fashion", "Model"),
)
"""Thirteen ways to ask for a build."""

Part = tuple[str, int, int]
"""Words for a part of a build, and its lowest and highest layer, counted from 0."""

_MOST_COUNTS, _MOST_BANDS = 5, 5


class Band(NamedTuple):
    """Adjacent layers, from `low` to `high`, and the material of most of their blocks."""

    low: int
    high: int
    material: str


def describe(blueprint: Blueprint, name: str, facts: Sequence[Part] | None = None) -> str:
    """A detailed instruction, "N blocks wide (x), N blocks deep (z)", "N blocks of NAME", then parts upwards.

    Without `facts`, doors, windows, a roof and the like are found by their blocks.
    """
    plain = blueprint.trimmed()
    if not plain.blocks:
        raise ShapeError("a build without blocks cannot be described; give one that has some")
    parts = list(_found(plain) if facts is None else facts)
    # The shorter the skeleton, the more parts fit; the first that fits all of them wins.
    best = ""
    for counts, bands in ((_MOST_COUNTS, _MOST_BANDS), (4, 4), (3, 3), (2, 2), (1, 1)):
        told = _fitted(plain, name, parts, counts, layer_bands(plain, bands))
        if told is not None:
            best, all_in = told
            if all_in:
                return best
    # Without the name, for one that is longer than an instruction may be.
    return best or f"Build this. {_size_words(plain)} {_count_words(plain, 1)}"


def one_liners(name: str, rng: np.random.Generator) -> tuple[str, str, str]:
    """Return three lines that ask for a build by name, each with another of the verbs: "Build a NAME."."""
    first, second, third = (VERBS[int(place)] for place in rng.choice(len(VERBS), 3, replace=False))
    what = article(_said(name))
    return f"{first} {what}.", f"{second} {what}.", f"{third} {what}."


def layer_bands(blueprint: Blueprint, most: int) -> tuple[Band, ...]:
    """Join layers to bands, of one main material first: the most frequent in its layers, then the first by name."""
    counts = _layer_counts(blueprint)
    bounds = [(layer, layer) for layer in range(len(counts[0]))]
    names = counts[1]

    def main(bound: tuple[int, int]) -> str:
        total = np.sum(counts[0][bound[0] : bound[1] + 1], axis=0)
        return names[int(np.argmax(total))] if total.sum() else ""

    def join(place: int) -> None:
        bounds[place : place + 2] = [(bounds[place][0], bounds[place + 1][1])]

    while True:
        mains = [main(bound) for bound in bounds]
        alike = next((k for k in range(len(bounds) - 1) if mains[k] == mains[k + 1] or not mains[k]), None)
        if alike is not None:
            join(alike)
        elif len(bounds) > most:
            # Joining the two with the fewest blocks loses the least.
            weights = [int(np.sum(counts[0][low : high + 1])) for low, high in bounds]
            join(int(np.argmin([weights[k] + weights[k + 1] for k in range(len(bounds) - 1)])))
        else:
            return tuple(Band(*bound, main(bound)) for bound in bounds)


def _fitted(
    blueprint: Blueprint, name: str, parts: Sequence[Part], counts: int, bands: Sequence[Band]
) -> tuple[str, bool] | None:
    """The text with as many parts as there is room for, and whether that is all; None where even none fits."""
    opening = f"Build {article(_said(name))}. {_size_words(blueprint)} {_count_words(blueprint, counts)}"
    chosen: list[Part] = []
    text = f"{opening} {_band_words(bands, chosen, blueprint.size.height)}"
    if len(text.split()) > MAX_WORDS:
        return None
    for part in parts:
        tried = f"{opening} {_band_words(bands, [*chosen, part], blueprint.size.height)}"
        if len(tried.split()) <= MAX_WORDS:
            chosen.append(part)
            text = tried
    return text, len(chosen) == len(parts)


def _size_words(blueprint: Blueprint) -> str:
    width, height, depth = blueprint.size
    return f"It is {_counted(width)} wide (x), {_counted(depth)} deep (z) and {_counted(height)} high."


def _count_words(blueprint: Blueprint, most: int) -> str:
    counts = blueprint.names_only().counts()
    order = sorted(counts, key=lambda name: (-counts[name], name))
    told = [f"{_counted(counts[name])} of {_said(name)}" for name in order[:most]]
    rest = sum(counts[name] for name in order[most:])
    if rest:
        told.append(f"{_counted(rest)} of other kinds")
    return f"Use {listed(told)}."


def _band_words(bands: Sequence[Band], parts: Sequence[Part], height: int) -> str:
    """One sentence a band, with the parts that begin in it."""
    sentences = []
    for place, band in enumerate(bands):
        layers = band.high - band.low + 1
        several = f"{layers} layers consist" if layers > 1 else "layer consists"
        if layers == height:
            where = "All layers consist" if height > 1 else "The only layer consists"
        elif place == 0:
            where = f"The lowest {several}"
        elif place == len(bands) - 1:
            where = f"The top {several}"
        else:
            where = f"The next {several}"
        here = [words for words, low, _ in sorted(parts, key=lambda part: part[1]) if band.low <= low <= band.high]
        begins = f", with {listed(here)}" if here else ""
        sentences.append(f"{where} mainly of {_said(band.material)}{begins}.")
    return " ".join(sentences)


def _layer_counts(blueprint: Blueprint) -> tuple[list[np.ndarray], list[str]]:
    """Blocks of each base name in each layer, and the names, sorted."""
    plain = blueprint.names_only()
    numbers = [
        number
        for name, number in sorted((name, k) for k, name in enumerate(plain.materials, 1))
        if name not in AIR_NAMES
    ]
    names = [plain.materials[number - 1] for number in numbers]
    layers = [np.array([int((layer == number).sum()) for number in numbers]) for layer in plain.cells]
    return layers, names


_KINDS: tuple[tuple[str, str, str], ...] = (
    (r"_door$", "a door", "doors"),
    (r"glass(_pane)?$|^iron_bars$", "a window", "windows"),
    (r"_fence_gate$", "a gate", "gates"),
    (r"_fence$|_wall$", "a post", "posts and rails"),
    (r"^ladder$", "a ladder", "a ladder"),
    (r"_leaves$", "leaves", "leaves"),
    (r"^water$", "water", "water"),
    (r"lantern$|torch$|^glowstone$|lamp$", "a light", "lights"),
)
"""What blocks are good for, by their names: pattern, words for one of them, words for several."""


def _found(blueprint: Blueprint) -> Iterator[Part]:
    """Parts that blocks give away by their names, and a roof where the top layers are of stairs or slabs."""
    plain = blueprint.names_only()
    for pattern, one, many in _KINDS:
        numbers = [k for k, name in enumerate(plain.materials, 1) if re.search(pattern, base_name(name))]
        where = np.argwhere(np.isin(plain.cells, numbers))
        if len(where):
            # A door is two blocks.
            count = len(where) / 2 if one == "a door" else len(where)
            yield (one if count <= 1 else many), int(where[:, 0].min()), int(where[:, 0].max())
    for kind in ("stairs", "slab"):
        numbers = [k for k, name in enumerate(plain.materials, 1) if base_name(name).endswith(f"_{kind}")]
        roof = np.isin(plain.cells, numbers).sum((1, 2)) * 2 > plain.solid.sum((1, 2))
        layers = len(roof) - int(np.argmin(roof[::-1])) if not roof.all() else 0
        if 0 < layers < len(roof):
            words = "a top of slabs" if kind == "slab" else "a top of stairs"
            yield words, layers, len(roof) - 1


def _said(name: str) -> str:
    return " ".join(name.replace("_", " ").split())


def layer_instruction(blueprint: Blueprint, name: str) -> str:
    """Return a sentence with name, layers, width and depth, then `layer_lines` (MineAnyBuild, section 3.2)."""
    size = blueprint.size
    return (
        f"Build the {name} layer by layer from the ground up: {_counted(size.height, 'layer')}, "
        f"{_counted(size.width)} wide (x) and {_counted(size.depth)} long (z). "
        f"Places are (x,z), counted from 0.\n{layer_lines(blueprint)}"
    )


def layer_lines(blueprint: Blueprint) -> str:
    """One line per layer from below: "Layer 1: glass: [(2,0)], oak_planks: [(0,0)]"; `agents.read_layers` reads it."""
    lines, solid = [], blueprint.solid
    for y, layer in enumerate(blueprint.cells):
        places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        z, x = np.nonzero(solid[y])
        for block, at in zip(layer[z, x].tolist(), zip(x.tolist(), z.tolist(), strict=True), strict=True):
            places[blueprint.materials[block - 1]].append(at)
        listed = (
            f"{name}: [{', '.join(f'({x},{z})' for x, z in sorted(found))}]" for name, found in sorted(places.items())
        )
        lines.append(f"Layer {y + 1}: {', '.join(listed)}")
    return "\n".join(lines)


def _counted(number: int, noun: str = "block") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


MAX_CHAT_WORDS = 150
"""Most words of a detailed instruction."""
TEMPERATURE, ASKS = 0.4, 3
PICTURES = "images/own"

InstructionWriter = Callable[[Blueprint, str], tuple[str, str]]
"""Writes the detailed instruction for a blueprint and its name; returns it and who wrote it."""


@dataclass(frozen=True)
class StructureTasks:
    """Rows of one structure, and who wrote its detailed instruction."""

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
    """Make a structure's architecture and six tasks; the caller writes the architecture's `image`."""
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
    """Detailed instructions by a language model, prompt `instruction-writer`; by the template if it fails."""

    def __init__(self, chat: Chat, prompts: Prompts, seed: int) -> None:
        self._asker = Asker(chat, prompts, temperature=TEMPERATURE)
        self._seed = seed

    def __call__(self, blueprint: Blueprint, name: str) -> tuple[str, str]:
        """The instruction, and who wrote it: the prompt's label, or the template with what was wrong."""
        fields = {"name": name, "structure": structure_json(blueprint)}
        try:
            said = self._asker.ask(
                "instruction-writer", lambda squeeze: fields, _read_instruction, seed=self._seed, asks=ASKS
            )
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


def _read_instruction(reply: Reply) -> str:
    """The instruction in a reply. Raises Misread where it is not what the prompt asks for."""
    text = reply.answer.strip().strip('"').strip()
    words = len(text.split())
    if not 8 <= words <= MAX_CHAT_WORDS:
        raise Misread(f"the instruction has {words} words; 8 to {MAX_CHAT_WORDS} are wanted")
    if re.search(r"\(\s*-?\d+\s*,\s*-?\d+|\[\s*-?\d+\s*,|\d\s*,\s*\d+\s*,\s*\d", text):
        raise Misread("the instruction gives coordinates")
    if re.search(r"^\s*(?:[-*#]|\d+[.)])\s|```|'''", text, re.MULTILINE):
        raise Misread("the instruction has lists, headings or fences")
    return " ".join(text.split())
