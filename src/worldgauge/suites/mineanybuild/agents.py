"""Agents of this suite: a language model, a reader of instructions, and baselines that need no model."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from worldgauge.chat.answers import answer_text
from worldgauge.chat.endpoint import open_chat
from worldgauge.chat.model import Chat, ChatModel, Replay
from worldgauge.chat.prompt_runner import Asker
from worldgauge.chat.prompts import Field, Part, Prompts, PromptTemplate
from worldgauge.chat.question import ChatQuestion, Message
from worldgauge.core.agent import AgentSpec, Answer, Problem, agents
from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.suites.mineanybuild.answer_forms import fenced, form_texts, template_in
from worldgauge.suites.mineanybuild.format import BUILD_KINDS
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import Form, read_blueprint
from worldgauge.worlds.blocks.blueprint import AIR, Blueprint, Cells, base_name


def prompt_of(problem: Problem) -> str:
    """Return the name of the template; for planning without a variant the detailed one."""
    if problem.kind == "planning":
        return "planning-simple" if problem.variant == "simple" else "planning-detailed"
    return problem.kind


def form_of(problem: Problem) -> Form:
    """Return the form of a build that is requested."""
    return cast("Form", problem.form or "matrix")


def template_of(problem: Problem, prompts: Prompts) -> PromptTemplate:
    """Return the template for a problem, in the form and for the round that it has."""
    template = prompts[prompt_of(problem)]
    if problem.kind not in BUILD_KINDS:
        return template
    return template_in(template, problem.form, again=problem.previous is not None)


MOST_PREVIOUS = 50_000
"""Last characters of an earlier answer that are shown again."""


def fields_of(problem: Problem) -> dict[str, Field]:
    """Return the fields of the template."""
    if problem.kind == "reasoning":
        *others, last = problem.choices or ("",)
        choices = f"{', '.join(others)} or {last}" if others else last
        return {"question": problem.instruction, "picture": _shown(problem), "choices": choices}
    if problem.kind == "commonsense":
        return {"question": problem.instruction, "pictures": _shown(problem)}
    mapping = {"air": AIR, **{name: number for number, name in enumerate(problem.materials, 1)}}
    layers, rows, cells = limits_of(problem)
    build: dict[str, Field] = {
        "materials": json.dumps(mapping, ensure_ascii=False),
        "instruction": problem.instruction,
        "limits": f"At most {layers} layers, {rows} rows in a layer and {cells} numbers in a row.",
    }
    if problem.form == "fills":
        build["limits"] = form_texts()["limits"].format(width=cells, height=layers, depth=rows)
    if problem.previous is not None:
        build |= {"previous": answer_text(problem.previous)[-MOST_PREVIOUS:], "feedback": problem.feedback}
    return build if problem.kind == "creativity" else {**build, "picture": _shown(problem)}


def _shown(problem: Problem) -> list[Part]:
    """Each picture after its caption, all of them: one without its picture would be asked about blindly."""
    parts: list[Part] = []
    for image, caption in zip_longest(problem.images, problem.captions):
        parts += [f"\n{caption}:\n"] if caption else []
        parts += [] if image is None else [image]
    return parts or ["(there is none)"]


SIDE = 8
"""Default blocks per side of a build."""
YES, NO = "Yes, it is.", "No, it is not."


def dice(problem: Problem, name: str) -> np.random.Generator:
    """Return the generator of agent `name` on a problem: the same for the same seed."""
    facts = json.dumps([name, problem.seed]).encode()
    return np.random.default_rng(list(hashlib.sha256(facts).digest()))


def guess(problem: Problem, rng: np.random.Generator) -> str:
    """Draw one of the choices; yes or no if there are none."""
    choices = problem.choices or (YES, NO)
    return choices[int(rng.integers(len(choices)))]


def constant(problem: Problem) -> str:
    """Return the first choice; yes if there are none."""
    return problem.choices[0] if problem.choices else YES


def limits_of(problem: Problem) -> tuple[int, int, int]:
    """Return the largest (height, depth, width) of an answer, in blocks."""
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


@agents.register("reader")
class Reader:
    """Reads the instruction by rules: what words alone are worth, without images and without a language model.

    A list of blocks by layers becomes that matrix. Else a box of the stated size (8 by default), hollow unless counts
    fit a solid one, its layers of the stated materials. Questions about images are answered by chance.
    """

    spec = AgentSpec("reader")

    def answer(self, problem: Problem) -> Answer:
        """Return the build, or a guess."""
        if problem.kind not in BUILD_KINDS:
            return Answer(guess(problem, dice(problem, self.spec.name)), {"read": "nothing"})
        if not problem.materials:
            raise NotApplicableError(f"task '{problem.task}' gives no materials to build of")
        listed = read_layers(problem.instruction, problem.materials, limits_of(problem))
        if listed is not None:
            return Answer(fenced(listed.built.cells, problem.form), {"read": "layers", "unknown": list(listed.unknown)})
        stated = read_stated(problem.instruction, problem.materials, limits_of(problem))
        size = stated.size or default_size(problem)
        told = len(stated.layers) in (1, size[0])
        numbers = stated.layers if told else stated.mentioned or (1,)
        cells = hollow_box(size, numbers)
        if abs(stated.blocks - cells.size) < abs(stated.blocks - np.count_nonzero(cells != AIR)):
            cells = bands(size, numbers)  # so many blocks leave no room for an inside
        read = [name for name, found in zip(stated._fields, stated, strict=True) if found]
        return Answer(fenced(cells, problem.form), {"read": " ".join(read) or "nothing", "size": list(size)})


def bands(size: tuple[int, int, int], numbers: tuple[int, ...]) -> NDArray[np.int32]:
    """Return a solid box (height, depth, width) in bands of equal height."""
    band = np.arange(size[0]) * len(numbers) // size[0]
    return np.broadcast_to(np.array(numbers, np.int32)[band][:, None, None], size).copy()


def hollow_box(size: tuple[int, int, int], numbers: tuple[int, ...]) -> NDArray[np.int32]:
    """Return `bands` with air inside."""
    cells = bands(size, numbers)
    cells[1:-1, 1:-1, 1:-1] = AIR
    return cells


_LAYER = re.compile(r"^[ \t]*Layer[ \t]+(\d{1,4})[ \t]*:[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)
_PLACES = re.compile(r":\s*\[(\s*\(\s*\d{1,4}\s*,\s*\d{1,4}\s*\)[\s,]*(?:\(\s*\d{1,4}\s*,\s*\d{1,4}\s*\)[\s,]*)*)\]")
_EXTENTS = (
    re.compile(r"\b(\d{1,4})\s+layers?\b"),
    re.compile(r"\b(\d{1,4})\s+blocks?\s+(?:long|deep)\b"),
    re.compile(r"\b(\d{1,4})\s+blocks?\s+wide\b"),
)
_PLACE = re.compile(r"\(\s*(\d{1,4})\s*,\s*(\d{1,4})\s*\)")


class Listed(NamedTuple):
    """A build read from a list of blocks; cells of `unknown` names (sorted) are air."""

    built: Blueprint
    unknown: tuple[str, ...]


def read_layers(text: str, materials: Sequence[str], most: tuple[int, int, int]) -> Listed | None:
    """Read lines such as "Layer 1: stone: [(0,0), (0,1)], glass: [(2,1)]"; layers count from 1, cells are (x,z).

    A stated size before the list ("3 layers, 4 blocks wide (x) and 2 blocks long (z)") can enlarge the build.
    """
    # Number of a material by its text, and of the first of each base name.
    known = {base_name(name): number for number, name in reversed(list(enumerate(materials, 1)))}
    known |= {name.strip().lower(): number for number, name in enumerate(materials, 1)}
    placed: list[tuple[int, int, int, int]] = []
    unknown: set[str] = set()
    height = 0
    for layer, name, places in _listed(text):
        if not 1 <= layer <= most[0]:
            continue
        height = max(height, layer)
        number = known.get(name.lower(), known.get(base_name(name)))
        if number is None:
            if name:
                unknown.add(name)
            continue
        placed += [(layer - 1, z, x, number) for x, z in places if z < most[1] and x < most[2]]
    if not placed:
        return None
    rows = np.array(placed)
    listed = (height, int(rows[:, 1].max()) + 1, int(rows[:, 2].max()) + 1)
    size = [max(pair) for pair in zip(listed, _extents(text, most), strict=True)]
    cells = np.full(size, AIR, np.int32)
    cells[rows[:, 0], rows[:, 1], rows[:, 2]] = rows[:, 3]
    return Listed(Blueprint(cells, tuple(materials)), tuple(sorted(unknown)))


def _listed(text: str) -> Iterator[tuple[int, str, list[tuple[int, int]]]]:
    """Layer, name and places (x, z) of each list; an empty name and no places for a layer without one."""
    for line in _LAYER.finditer(text):
        layer, rest, start = int(line[1]), line[2], 0
        for found in _PLACES.finditer(rest):
            name = rest[start : found.start()].strip(" \t,;.")
            yield layer, name, [(int(x), int(z)) for x, z in _PLACE.findall(found[1])]
            start = found.end()
        if not start:
            yield layer, "", []


def _extents(text: str, most: tuple[int, int, int]) -> list[int]:
    """Height, depth and width that are said before the first layer, the last of each; 0 where none is."""
    first = _LAYER.search(text)
    head = text[: first.start()] if first else ""
    found = [pattern.findall(head)[-1:] for pattern in _EXTENTS]
    return [min(int(number[0]), limit) if number else 0 for number, limit in zip(found, most, strict=True)]


MOST_CHARACTERS = 20_000
"""Of an instruction that is read."""

_N = r"(\d{1,4})"
_SIDES = (
    (rf"\b{_N}\s+(?:blocks?\s+)?(?:high|tall|in\s+height)\b", rf"\bheight\s+(?:of|is|:)?\s*{_N}\b"),
    (rf"\b{_N}\s+(?:blocks?\s+)?(?:deep|long|in\s+(?:depth|length))\b", rf"\b(?:depth|length)\s+(?:of|is|:)?\s*{_N}\b"),
    (rf"\b{_N}\s+(?:blocks?\s+)?(?:wide|in\s+width)\b", rf"\bwidth\s+(?:of|is|:)?\s*{_N}\b"),
)
_BAND = re.compile(r"\b(lowest|next|top|all|only)\s+(?:(\d{1,4})\s+)?layers?\s+consists?\s+(?:[a-z]+\s+)?of\s+")
_COUNT = re.compile(r"\b(\d{1,6})\s+blocks?\s+of\s+")
_TIMES = re.compile(rf"\b{_N}\s*[x*×]\s*{_N}\s*[x*×]\s*{_N}\b")


class Stated(NamedTuple):
    """Stated facts of an instruction.

    Attributes:
        size: (height, depth, width) if all three are stated and allowed.
        mentioned: Numbers of the named materials, in the order of first mention; each base name once.
        layers: Main material of each layer from the ground up, as many as are stated; "all layers" counts as one.
        blocks: Sum of all counts of a material, 0 without one.
    """

    size: tuple[int, int, int] | None
    mentioned: tuple[int, ...]
    layers: tuple[int, ...]
    blocks: int


def read_stated(text: str, materials: Sequence[str], most: tuple[int, int, int]) -> Stated:
    """Read stated facts: "5 blocks wide", "7 blocks deep" or "long", "4 blocks high", or "5x7x4" in that order."""
    text = text[:MOST_CHARACTERS].lower()
    names = _Names(materials)
    layers: list[int] = []
    for band in _BAND.finditer(text):
        # The material that is named behind a band's opening words, once a layer of it.
        number = names.at(text, band.end())
        layers += [] if number is None else [number] * min(int(band[2] or 1), most[0])
    blocks = sum(int(count[1]) for count in _COUNT.finditer(text))
    return Stated(_size(text, most), names.said(text), tuple(layers[: most[0]]), blocks)


def _size(text: str, most: tuple[int, int, int]) -> tuple[int, int, int] | None:
    found = [_first(patterns, text) for patterns in _SIDES]
    times = _TIMES.search(text)
    if None in found and times:
        found = [int(times[3]), int(times[2]), int(times[1])]
    sides = [min(side, limit) for side, limit in zip(found, most, strict=True) if side]
    return (sides[0], sides[1], sides[2]) if len(sides) == 3 else None


def _first(patterns: Sequence[str], text: str) -> int | None:
    matches = [match for pattern in patterns if (match := re.search(pattern, text))]
    return int(min(matches, key=lambda match: match.start())[1]) if matches else None


class _Names:
    """Base names of materials, to be found in a text with blanks or underscores, in the singular or the plural."""

    def __init__(self, materials: Sequence[str]) -> None:
        self._numbers = {base_name(name): number for number, name in reversed(list(enumerate(materials, 1)))}
        self._numbers.pop("", None)
        # Longest names first, so that "stone bricks" is not read as "stone".
        names = sorted(self._numbers, key=lambda name: (-len(name), name))
        either = "|".join(r"[\s_]+".join(re.escape(word) for word in name.split("_")) for name in names)
        self._pattern = re.compile(rf"(?<![a-z])(?:{either or '(?!)'})s?(?![a-z_])")

    def said(self, text: str) -> tuple[int, ...]:
        """Numbers of those that are named, in the order of their first mention."""
        return tuple(dict.fromkeys(self._number(phrase) for phrase in self._pattern.findall(text)))

    def at(self, text: str, place: int) -> int | None:
        """Number of the one that is named at a place of the text, None where none is."""
        found = self._pattern.match(text, place)
        return self._number(found[0]) if found else None

    def _number(self, phrase: str) -> int:
        plain = re.sub(r"[\s_]+", "_", phrase)
        return self._numbers[plain if plain in self._numbers else plain.removesuffix("s")]


@agents.register("truth")
class TruthAgent:
    """Repeats the right answer: the ceiling of a task, and a test of its scoring."""

    spec = AgentSpec("truth", inputs=frozenset({"truth"}))

    def answer(self, problem: Problem) -> Answer:
        """Return the right answer."""
        if problem.truth is None:
            raise NotApplicableError(f"task '{problem.task}' has no right answer that could be repeated")
        return Answer(problem.truth)


_EXAMPLE = re.compile(r"^Answer:\n(.*?)\n^End of the example\.$", re.MULTILINE | re.DOTALL)


@agents.register("copy-example")
class CopyExample:
    """Repeats the answer of the example in our own prompt: the right form with none of the task."""

    def __init__(self) -> None:
        prompts = Prompts("worldgauge.suites.mineanybuild")
        self.spec = AgentSpec("copy-example", settings={"prompts": prompts.digest})
        self._prompts = prompts

    def answer(self, problem: Problem) -> Answer:
        """Return the example's answer."""
        template = template_of(problem, self._prompts)
        example = example_of(template.text)
        return Answer(constant(problem) if example is None else example, {"prompt": template.label})


def example_of(text: str) -> str | None:
    """Return the answer of the example in a template; None if it has none."""
    found = _EXAMPLE.search(text)
    return found[1] if found else None


@agents.register("solid-box")
class SolidBox:
    """A solid box of the first material, of the size that the instruction states, else 8 blocks per side.

    It shows which scores do not come from planning: few materials give full recall. Elsewhere: first choice, or yes.
    """

    spec = AgentSpec("solid-box")

    def answer(self, problem: Problem) -> Answer:
        """Return the box, or the constant answer."""
        if problem.kind not in BUILD_KINDS:
            return Answer(constant(problem))
        if not problem.materials:
            raise NotApplicableError(f"task '{problem.task}' gives no materials to build of")
        stated = read_stated(problem.instruction, problem.materials, limits_of(problem))
        return Answer(fenced(np.ones(stated.size or default_size(problem), np.int32), problem.form))


_ROOM_ANSWERS = (
    (
        r"without climbing",
        "No. The bookshelves block the way east, from the north to the south wall; move one of them.",
    ),
    (r"middle|centrally", "Yes. The table stands in the middle: as much floor on either side."),
    (r"into the gap", "No. The gap is too narrow. The sofa or the plant would have to be moved aside."),
    (r"as well\?", "No. The plant is farthest left, before the sofa and the bookshelf: the sofa stands right of it."),
    (r"light|lit\b", "No. The lamp stands at the east wall, far from the desk at the west wall; move it next to it."),
    (r"does not belong|take out", "The anvil. It belongs in the workshop and should be moved there."),
    (r"bookshelf (?:of )?4 blocks", "Along the west wall. There the floor is free."),
    (r"left or right|turn left|which way", "To the left, in the south wall."),
    (r"(?:first|nearer), (the \w+) or", r"\1, close to the door in the east wall."),
    (r"too close|each other", "The refrigerator and the plant. There is no space between them; move the plant."),
    (r"to the window|open the window", "The piano. It stands right before the window; move it to the east wall."),
    (r"of the door|blocks the door", "The workbench. It stands right before the door in the north wall; move it."),
)
"""Forms of question about rooms, each with an answer that gets most marks on average."""


@agents.register("castle")
class Castle:
    """The same castle for every brief, the first choice, and the likeliest answer to each form of question about rooms.

    It ignores the brief and the pictures, so its scores do not come from planning.
    """

    spec = AgentSpec("castle")

    def answer(self, problem: Problem) -> Answer:
        """Return the castle, or the constant answer."""
        if problem.kind in BUILD_KINDS:
            height, depth, width = limits_of(problem)
            return Answer(fenced(castle(len(problem.materials))[:height, :depth, :width], problem.form))
        found = ((re.search(form, problem.instruction.lower()), text) for form, text in _ROOM_ANSWERS)
        likely = next((match.expand(text) for match, text in found if match), YES)
        return Answer(problem.choices[0] if problem.choices else likely)


def castle(materials: int) -> Cells:
    """Return a walled court with a gate, four corner towers and a keep, in bands of up to seven materials."""
    height, side = 14, 17
    rows, columns = np.indices((side, side))
    near = np.minimum(rows, side - 1 - rows), np.minimum(columns, side - 1 - columns)  # to the nearest side
    edge, corner = np.minimum(*near), np.maximum(*near)
    centre = np.maximum(abs(rows - side // 2), abs(columns - side // 2))
    cells = np.full((height, side, side), AIR, np.int32)
    for y in range(height):
        keep, roof = max(0, 4 - y // 3), y - 10
        parts = [
            ((edge == 0) & (y < 6), y // 2),
            ((corner < 4) & ((edge == 0) | (corner == 3)) & (y < 10), 3 + y // 5),
            ((corner < 4 - roof) & (edge >= roof) & (roof in (0, 1)), 5 + roof),
            ((centre == keep) | ((centre < keep) & (y % 3 == 2)), 6 + y // 4),
            (np.full((side, side), y == 0), 0),
        ]
        for place, material in parts:
            cells[y][place] = 1 + material % max(1, min(7, materials))
    cells[1:4, 0, 7:10] = cells[1:3, 4, 8] = AIR
    return cells


@agents.register("degraded")
class DegradedAgent:
    """The right answer, spoiled for a share of blocks and questions: a model of known quality.

    `share`: blocks that become another material, and questions answered by chance.
    """

    def __init__(self, share: float = 0.1) -> None:
        self.spec = AgentSpec("degraded", inputs=frozenset({"truth"}), settings={"share": float(share)})
        self._share = float(share)

    def answer(self, problem: Problem) -> Answer:
        """Return the spoiled answer."""
        if problem.truth is None:
            raise NotApplicableError(f"task '{problem.task}' has no right answer that could be spoiled")
        rng = dice(problem, self.spec.name)
        if problem.kind not in BUILD_KINDS:
            return Answer(guess(problem, rng) if rng.random() < self._share else problem.truth)
        built = read_blueprint(problem.truth, problem.materials, form=form_of(problem)).blueprint
        if built is None:
            raise NotApplicableError(f"task '{problem.task}': its right answer cannot be built")
        spoiled = (built.cells != AIR) & (rng.random(built.cells.shape) < self._share)
        cells = np.where(spoiled, 1 + built.cells % len(problem.materials), built.cells)
        return Answer(fenced(cells, problem.form))


@agents.register("random")
class Random:
    """Guesses: a choice, yes or no, or 8 x 8 x 8 cells of air or any of the materials: chance level."""

    spec = AgentSpec("random")

    def answer(self, problem: Problem) -> Answer:
        """Return a guess that depends on task and seed alone."""
        rng = dice(problem, self.spec.name)
        if problem.kind not in BUILD_KINDS:
            return Answer(guess(problem, rng))
        return Answer(fenced(random_cells(len(problem.materials), default_size(problem), rng), problem.form))


def random_cells(materials: int, size: tuple[int, int, int], rng: np.random.Generator) -> Cells:
    """Draw a matrix (height, depth, width) uniformly from air and materials."""
    numbers = np.array([AIR, *range(1, materials + 1)], np.int32)
    return rng.choice(numbers, size)


@agents.register("empty")
class Empty:
    """A matrix of one cell of air for a build, no words elsewhere: the floor."""

    spec = AgentSpec("empty")

    def answer(self, problem: Problem) -> Answer:
        """Return the empty answer in the form that is asked for."""
        if problem.kind in BUILD_KINDS:
            return Answer(fenced(np.full((1, 1, 1), AIR, np.int32), problem.form))
        return Answer("", {"gives_up": True})


MAX_TOKENS = 8192
"""Default per answer: a matrix costs at least a token per cell (the release: 1024 or 2048 for some)."""


@agents.register("chat")
class ChatAgent:
    """Asks a model with our prompts, all pictures attached; its reply is the answer, cut off or not.

    Args:
        model: MODEL@URL, such as Qwen/Qwen2.5-VL-7B-Instruct@http://localhost:8000/v1, or a live Chat.
        temperature: None leaves it to the endpoint, as does None of `top_p`.
        prompts: Folder whose files replace ours.
        recording: Folder that stores all replies; `replay` is "use", "only" or "off" (docs/howto/policies.md).
        input_price: Per million tokens, in the money of `budget`, as is `output_price`.
        key_env: Environment variable that holds the key.
    """

    def __init__(
        self,
        model: str | Chat,
        *,
        temperature: float | None = 0.0,
        top_p: float | None = 1.0,
        max_tokens: int = MAX_TOKENS,
        prompts: str | Path | None = None,
        recording: str | Path | None = None,
        replay: Replay = "use",
        input_price: float | None = None,
        output_price: float | None = None,
        budget: float | None = None,
        requests_per_minute: int | None = None,
        concurrency: int = 8,
        key_env: str | None = None,
    ) -> None:
        if isinstance(model, str):
            self._chat: Chat = open_chat(
                model,
                recording,
                replay=replay,
                input_price=input_price,
                output_price=output_price,
                budget=budget,
                requests_per_minute=requests_per_minute,
                concurrency=concurrency,
                key_env=key_env,
            )
        else:
            self._chat = model
        self._prompts = Prompts("worldgauge.suites.mineanybuild", prompts)
        self._sampling = _sampling(temperature, top_p, max_tokens)
        identity = self._chat.identity if isinstance(self._chat, ChatModel) else {"model": type(self._chat).__name__}
        name = str(identity["model"]).rpartition("/")[2]
        self.spec = AgentSpec(name, settings={**identity, "prompts": self._prompts.digest, **self._sampling})

    def answer(self, problem: Problem) -> Answer:
        """Return the model's reply."""
        # One asker an answer: its notes must not mix with those of another thread.
        asker = Asker(self._chat, self._prompts)
        fields = fields_of(problem)
        answered = asker.ask(
            template_of(problem, self._prompts),
            lambda squeeze: fields,
            lambda reply: reply,
            seed=problem.seed,
            asks=1,
            allow_truncated=True,
            **self._sampling,
        )
        reply = answered.value
        # The note holds the words, which are the answer already.
        notes = {name: value for name, value in answered.note.items() if name != "reply"}
        return Answer(reply.text, {**notes, "finish": reply.finish_reason})


def _sampling(temperature: float | None, top_p: float | None, max_tokens: int) -> dict[str, Any]:
    """How answers are drawn, as arguments of `Chat.ask`. Raises UsageError now for what would fail at every task."""
    try:
        drawn: dict[str, Any] = {
            "temperature": None if temperature is None else float(temperature),
            "top_p": None if top_p is None else float(top_p),
            "max_tokens": int(max_tokens),
        }
    except (TypeError, ValueError) as error:
        raise UsageError(f"agent 'chat': temperature, top_p and max_tokens are numbers: {error}") from None
    ChatQuestion((Message("user", "?"),), **drawn)
    return drawn
