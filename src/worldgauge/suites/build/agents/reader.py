"""`reader`: builds from the words of the instruction alone, without images."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.agent import AgentSpec, Answer, Problem, agents
from worldgauge.core.errors import NotApplicableError
from worldgauge.suites.build.agents.wording import default_size, dice, fenced, guess, limits_of
from worldgauge.suites.build.kinds import BUILD_KINDS
from worldgauge.worlds.blocks.blueprint import AIR, Blueprint, base_name


@agents.register("reader")
class Reader:
    """Reads the instruction by rules: what words alone are worth, without images and without a language model.

    A list of blocks by layers becomes exactly that matrix. Elsewhere it builds a box of the stated size, 8 blocks per
    side if none is stated, each layer of the material stated for it, else in bands of those that are named. The box is
    hollow unless the stated counts are nearer to a solid one. Questions about images are answered by chance.
    """

    def __init__(self) -> None:
        self.spec = AgentSpec("reader")

    def answer(self, problem: Problem) -> Answer:
        """Return the build, or a guess.

        Raises:
            NotApplicableError: For a build without materials.
        """
        if problem.kind not in BUILD_KINDS:
            return Answer(guess(problem, dice(problem, self.spec.name)), {"read": "nothing"})
        if not problem.materials:
            raise NotApplicableError(f"task '{problem.task}' gives no materials to build of")
        listed = read_layers(problem.instruction, problem.materials, limits_of(problem))
        if listed is not None:
            return Answer(fenced(listed.built.cells), {"read": "layers", "unknown": list(listed.unknown)})
        stated = read_stated(problem.instruction, problem.materials, limits_of(problem))
        size = stated.size or default_size(problem)
        told = len(stated.layers) in (1, size[0])
        numbers = stated.layers if told else stated.mentioned or (1,)
        cells = hollow_box(size, numbers)
        if abs(stated.blocks - cells.size) < abs(stated.blocks - np.count_nonzero(cells != AIR)):
            cells = bands(size, numbers)  # so many blocks leave no room for an inside
        read = [name for name, found in zip(stated._fields, stated, strict=True) if found]
        return Answer(fenced(cells), {"read": " ".join(read) or "nothing", "size": list(size)})


def bands(size: tuple[int, int, int], numbers: tuple[int, ...]) -> NDArray[np.int32]:
    """Return a solid box in bands of equal height.

    Args:
        size: Height, depth, width.
        numbers: Material of each band, from the ground up.

    Returns:
        (height, depth, width) int32.
    """
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
    """A build read from a list of blocks.

    Attributes:
        built: The build.
        unknown: Names, sorted, that match no material; their cells are air.
    """

    built: Blueprint
    unknown: tuple[str, ...]


def read_layers(text: str, materials: Sequence[str], most: tuple[int, int, int]) -> Listed | None:
    """Read lines such as "Layer 1: stone: [(0,0), (0,1)], glass: [(2,1)]".

    Layers count from 1, cells are (x,z). A name is a material's whole text, else its base name. The build is as large
    as its farthest block and highest layer, or as the text before the list says if that is more: "3 layers, 4 blocks
    wide (x) and 2 blocks long (z)".

    Args:
        text: The instruction.
        materials: The given materials.
        most: Largest height, depth and width; blocks beyond are left out.

    Returns:
        The build; None if the text lists none.
    """
    known = _numbers(materials)
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


def _numbers(materials: Sequence[str]) -> dict[str, int]:
    """Number of a material by its text, and of the first of each base name."""
    numbers: dict[str, int] = {}
    for number, name in enumerate(materials, 1):
        numbers.setdefault(base_name(name), number)
    return numbers | {name.strip().lower(): number for number, name in enumerate(materials, 1)}


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
        mentioned: Numbers of the named materials, in the order of their first mention; each base name once.
        layers: Number of the main material of each layer from the ground up, as many as are stated; a statement about
            all layers of the build counts as one.
        blocks: Sum of all counts of a material, 0 without one.
    """

    size: tuple[int, int, int] | None
    mentioned: tuple[int, ...]
    layers: tuple[int, ...]
    blocks: int


def read_stated(text: str, materials: Sequence[str], most: tuple[int, int, int]) -> Stated:
    """Read the stated facts of an instruction.

    Sizes are such as "5 blocks wide", "4 blocks high", "7 blocks deep" or "long", the first of each, or three numbers
    "5x7x4" (width, length, height). Names of materials may have blanks or underscores.

    Args:
        text: The instruction.
        materials: The given materials.
        most: Largest height, depth and width; a larger size is clipped.
    """
    text = text[:MOST_CHARACTERS].lower()
    names = _Names(materials)
    layers = [number for found in _BAND.finditer(text) for number in _band(found, names, text, most[0])]
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


def _band(found: re.Match[str], names: _Names, text: str, most: int) -> tuple[int, ...]:
    """The material that is named behind a band's opening words, once a layer of it."""
    number = names.at(text, found.end())
    return () if number is None else (number,) * min(int(found[2] or 1), most)


class _Names:
    """Base names of materials, to be found in a text with blanks or underscores, in the singular or the plural."""

    def __init__(self, materials: Sequence[str]) -> None:
        self._numbers: dict[str, int] = {}
        for number, name in enumerate(materials, 1):
            self._numbers.setdefault(base_name(name), number)
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
