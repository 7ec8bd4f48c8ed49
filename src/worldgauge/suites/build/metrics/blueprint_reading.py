"""Builds read from answers in words: which part is the build, whether it can be built, and what it holds.

Example:
    reading = read_blueprint(answer, ("stone", "oak_planks"))
    reading.executable, reading.reason, reading.blueprint         # True, None, Blueprint(...)

An answer is untrusted text: nothing in it is run, no array is made before its shape is within the limits, and
nothing is raised for its content. Source: MineAnyBuild, sections 3.3 and 4.2, and its released code.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from worldgauge.chat.answers import answer_text
from worldgauge.core.errors import UsageError
from worldgauge.metrics._registry import metric
from worldgauge.suites.build.metrics.matrix_text import Matrix, Unreadable, read_matrix, read_matrix_released
from worldgauge.worlds.blocks.blueprint import AIR, AIR_NAMES, Blueprint, Cells, base_name

Parser = Literal["ours", "first", "released"]

REASONS: Mapping[str, str] = {
    "no_block": "no fenced part",
    "unclosed_fence": "a fence that is not closed",
    "not_a_list": "fenced parts, but none that starts with a bracket",
    "bad_json": "the matrix is no JSON",
    "not_3d": "not three levels of lists everywhere",
    "empty": "a matrix without cells",
    "non_integer": "a cell that is no whole number",
    "oversized": "a build beyond the limits",
    "no_blocks": "nothing left to place",
}
"""Why an answer cannot be built, in the order in which it is tested."""
WARNINGS: Mapping[str, str] = {
    "assignment_prefix": "a name stands before the matrix",
    "multiple_blocks": "several lists in fences, the last of three levels is taken",
    "mapping_conflict": "the answer's own numbers of materials differ from those given, which hold",
    "float_id": "numbers written with a decimal point",
    "ragged": "rows or layers of uneven length, filled up with air",
    "unknown_id": "numbers that no material has, taken as air",
}

MOST_CHARACTERS = 1_400_000
"""Of an answer; one that fills the limits takes 1.34 million, with numbers of two digits, a blank between them and a
line a row. A longer one is oversized, unread."""
MOST_CELLS = 2**20
"""Of a matrix read as released, which knows no limits; a larger one is oversized, which only a ragged one can be."""


@dataclass(frozen=True)
class Reading:
    """What an answer holds.

    Attributes:
        executable: Whether it can be built.
        strict: Whether it can be built without any warning.
        reason: Why it cannot be built, one of `REASONS`; else None.
        warnings: Of `WARNINGS`, in that order.
        shape: (layers, most rows of a layer, longest row); known once all cells are numbers.
        blocks: Number of blocks to be placed.
        blueprint: The build, of the given materials.
    """

    executable: bool
    strict: bool
    reason: str | None
    warnings: tuple[str, ...]
    shape: tuple[int, int, int] | None
    blocks: int | None
    blueprint: Blueprint | None


def read_blueprint(
    text: str, materials: Sequence[str], *, most: tuple[int, int, int] = (50, 80, 80), parser: Parser = "ours"
) -> Reading:
    """Read the build in an answer.

    Args:
        text: The answer; its content never raises. Reasoning in it is left out (`answer_text`).
        materials: Block k is entry k - 1.
        most: Limits (height, depth, width) in blocks.
        parser: "ours"; "first", which takes the first matrix and not the last; or "released", which accepts and refuses
            what the published code does, without limits of size, counts as blocks what its builder would place, and
            never warns: for comparison with published numbers.

    Raises:
        UsageError: For limits below 1 and unknown parsers.
    """
    if min(most) < 1:
        raise UsageError(f"most is {tuple(most)}; give height, depth and width of at least 1 block")
    if parser not in ("ours", "first", "released"):
        raise UsageError(f"no parser '{parser}'; known: ours, first, released")
    if parser != "released":
        text = answer_text(text)
    if len(text) > MOST_CHARACTERS:
        return _refused("oversized")
    if parser == "released":
        return _read_released(text, tuple(materials))
    return _read(text, tuple(materials), most, first=parser == "first")


@metric("build_executable", unit="%", better="higher", bounds=(0.0, 100.0), version=3, source="MineAnyBuild, 4.2")
def executable(reading: Reading) -> float:
    """Return 100 for an answer that can be built, else 0; the mean over all tasks is the output success rate."""
    return 100.0 if reading.executable else 0.0


@metric("build_strict", unit="%", better="higher", bounds=(0.0, 100.0), version=3, source="MineAnyBuild, 4.2")
def strict(reading: Reading) -> float:
    """Return 100 for an answer that can be built without any repair, else 0."""
    return 100.0 if reading.strict else 0.0


_FENCES = ("```", "'''")
_TAG = re.compile(r"[ \t]*[A-Za-z0-9_+-]*")
_NAME = re.compile(r"[A-Za-z_]\w*+\s*+[=:]\s*+(?=\[)")
_COMMENT = re.compile(r"(?:#|//)[^\n\r]*+\s*+")
_OPENED = re.compile(r"\[\s*+(?:(?:#|//)[^\n\r]*+\s*+)*+\[\s*+(?:(?:#|//)[^\n\r]*+\s*+)*+\[")
_DASHES = re.compile("[\u2010-\u2015\u2212]")
_MAPPING = re.compile(r"\{[^{}]*\}")
_MOST_MAPPINGS, _MOST_MAPPING_CHARACTERS = 8, 20_000


def _refused(reason: str, warnings: Sequence[str] = (), shape: tuple[int, int, int] | None = None) -> Reading:
    return Reading(False, False, reason, tuple(warnings), shape, None, None)


def _read(text: str, materials: tuple[str, ...], most: tuple[int, int, int], *, first: bool) -> Reading:
    lists: list[tuple[str, bool]] = []
    complete = False
    for part in _fenced(text):
        complete = True
        start = _start_of(part)
        named = _NAME.match(part, start)
        if named or part.startswith("[", start):
            lists.append((part[named.end() if named else start :], named is not None))
    if not lists:
        fenced = any(fence in text for fence in _FENCES)
        return _refused("not_a_list" if complete else "unclosed_fence" if fenced else "no_block")
    # A list of materials may stand before or behind the matrix.
    several = lists if first else lists[::-1]
    matrix_text, has_name = next((one for one in several if _OPENED.match(one[0])), several[0])
    tests = {
        "assignment_prefix": has_name,
        "multiple_blocks": len(lists) > 1,
        "mapping_conflict": _conflicts(text, materials),
    }
    warnings = [name for name, true in tests.items() if true]
    try:
        matrix = read_matrix(matrix_text)
    except Unreadable as error:
        return _refused(error.reason, warnings)
    if matrix.points:
        warnings.append("float_id")
    shape = matrix.shape
    if any(side > limit for side, limit in zip(shape, most, strict=True)):
        return _refused("oversized", warnings, shape)
    if not matrix.even:
        warnings.append("ragged")
    cells, unknown = _of_materials(matrix, len(materials))
    if unknown:
        warnings.append("unknown_id")
    blueprint = Blueprint(cells, materials)
    blocks = blueprint.blocks
    if not blocks:
        return _refused("no_blocks", warnings, shape)
    return Reading(True, not warnings, None, tuple(warnings), shape, blocks, blueprint)


def _start_of(part: str) -> int:
    """Where a fenced part begins, after the lines of comments at its head."""
    start = 0
    while comment := _COMMENT.match(part, start):
        start = comment.end()
    return start


def _fenced(text: str) -> Iterator[str]:
    """The fenced parts without their tags, trimmed."""
    at = {fence: text.find(fence) for fence in _FENCES}
    end = 0
    while True:
        for fence in _FENCES:
            if 0 <= at[fence] < end:
                at[fence] = text.find(fence, end)
        places = [(place, fence) for fence, place in at.items() if place >= 0]
        if not places:
            return
        place, fence = min(places)
        start = place + len(fence)
        close = text.find(fence, start)
        if close < 0:
            return
        tag = _TAG.match(text, start, close)
        yield text[tag.end() if tag else start : close].strip()
        end = close + len(fence)


def _of_materials(matrix: Matrix, count: int) -> tuple[Cells, bool]:
    """The cells, air where a number is no material's; and whether there are such numbers beyond that of air."""
    cells = matrix.filled(AIR)
    unknown = (cells != AIR) & ((cells < 1) | (cells > count))
    return np.where(unknown, np.int32(AIR), cells), bool(unknown.any())


def _conflicts(text: str, materials: Sequence[str]) -> bool:
    """Whether the answer states numbers of materials other than those given; what it leaves out is no conflict."""
    given: dict[str, set[int]] = {name: {AIR} for name in AIR_NAMES}
    for number, name in enumerate(materials, 1):
        given.setdefault(base_name(name), set()).add(number)
        given.setdefault(name, set()).add(number)
    return any(
        number not in given.get(name, given.get(base_name(name), set()))
        for stated in _mappings(text, given)
        for name, number in stated.items()
    )


def _mappings(text: str, given: Mapping[str, set[int]]) -> Iterator[dict[str, int]]:
    """Mappings of names to numbers, or of numbers to names, among the answer's flat objects.

    Only one that names a given material, or numbers its names 1, 2, 3, ..., is taken for a mapping: others count rooms.
    """
    for position, match in enumerate(_MAPPING.finditer(text)):
        if position == _MOST_MAPPINGS:
            return
        if match.end() - match.start() > _MOST_MAPPING_CHARACTERS:
            continue
        try:
            stated = json.loads(_DASHES.sub("-", match.group()).replace("'", '"'))
        except (ValueError, RecursionError):
            continue
        pairs = [(key, value) for key, value in stated.items() if type(value) is int]
        if len(pairs) != len(stated):
            numbered = [(value, key) for key, value in stated.items() if re.fullmatch(r"-?\d{1,9}", key)]
            pairs = [(name, int(number)) for name, number in numbered if isinstance(name, str)]
        if not pairs or len(pairs) != len(stated):
            continue
        numbers = sorted(number for _, number in pairs if number != AIR)
        if numbers == list(range(1, len(numbers) + 1)) or any(base_name(name) in given for name, _ in pairs):
            yield {name.strip().lower().removeprefix("minecraft:"): number for name, number in pairs}


def _read_released(text: str, materials: tuple[str, ...]) -> Reading:
    heads = [at for fence in _FENCES if (at := text.find(f"{fence}json\n")) >= 0]
    start = min(heads, default=0) + len("```json\n")
    ends = [at for fence in _FENCES if (at := text.find(fence, start)) >= 0]
    if not heads or not ends:
        return _refused("no_block")
    try:
        matrix = read_matrix_released(text[start : min(ends)], {k: k for k in range(1, len(materials) + 1)})
    except Unreadable as error:
        return _refused(error.reason)
    if math.prod(max(side, 1) for side in matrix.shape) > MOST_CELLS:
        return _refused("oversized", shape=matrix.shape)
    cells, _ = _of_materials(matrix, len(materials))
    if not cells.size:
        cells = np.full([max(side, 1) for side in cells.shape], AIR, np.int32)
    blueprint = Blueprint(cells, materials)
    return Reading(True, True, None, (), matrix.shape, int((cells != AIR).sum()), blueprint)
