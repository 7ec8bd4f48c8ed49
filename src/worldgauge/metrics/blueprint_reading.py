"""Builds read from answers in words: which part is meant, whether it can be built, and what it holds.

    reading = read_blueprint(answer, ("stone", "oak_planks"))
    reading.executable, reading.reason, reading.blueprint         # True, None, Blueprint(...)

An answer is somebody else's text: nothing in it is run, no array is made before its shape is within the limits, and
nothing is raised for what it says. Source: MineAnyBuild, sections 3.3 and 4.2, and its released code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np

from worldgauge.blueprint import AIR, AIR_NAMES, Blueprint, base_name
from worldgauge.errors import UsageError
from worldgauge.metrics import metrics

Parser = Literal["ours", "released"]

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
    "multiple_blocks": "several matrices, the first is taken",
    "mapping_conflict": "the answer's own numbers of materials differ from those given, which hold",
    "float_id": "numbers written with a decimal point",
    "ragged": "rows or layers of uneven length, filled up with air",
    "unknown_id": "numbers that no material has, taken as air",
}

MOST_CHARACTERS = 1_500_000
"""Of an answer; a matrix that fills the published limits takes a million. A longer one is oversized, unread."""
MOST_CELLS = 2**22
"""Of a matrix read as released, which knows no limits; a larger one is oversized."""


@dataclass(frozen=True)
class Reading:
    """What an answer holds. executable: whether it can be built. strict: that, and without any warning.

    reason: why not, one of `REASONS`. warnings: of `WARNINGS`, in that order. shape: (layers, most rows of a layer,
    longest row), known once all cells are numbers. blocks: to be placed. blueprint: of the asked materials.
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
    """The build in an answer. materials: block k is entry k - 1. most: (height, depth, width) in blocks.

    parser: "ours"; or "released", which takes and refuses what the published code does, without limits of size, counts
    as blocks what its builder would place, and never warns: for comparison with published numbers.
    Raises UsageError for limits below 1 and unknown parsers; never for the text.
    """
    if min(most) < 1:
        raise UsageError(f"most is {tuple(most)}; give height, depth and width of at least 1 block")
    if parser not in ("ours", "released"):
        raise UsageError(f"no parser '{parser}'; known: ours, released")
    if len(text) > MOST_CHARACTERS:
        return _refused("oversized")
    return _read(text, tuple(materials), most) if parser == "ours" else _read_released(text, tuple(materials))


@metrics.register(
    "build_executable", unit="%", better="higher", bounds=(0.0, 100.0), version=1, source="MineAnyBuild, 4.2"
)
def executable(reading: Reading) -> float:
    """100 for an answer that can be built, else 0; the mean over all that were asked is the output success rate."""
    return 100.0 if reading.executable else 0.0


@metrics.register("build_strict", unit="%", better="higher", bounds=(0.0, 100.0), version=1, source="MineAnyBuild, 4.2")
def strict(reading: Reading) -> float:
    """100 for an answer that can be built as it stands, without any repair, else 0."""
    return 100.0 if reading.strict else 0.0


_MARK = re.compile(r"```|'''")
_TAG = re.compile(r"[ \t]*[A-Za-z0-9_+-]*")
_NAME = re.compile(r"[A-Za-z_]\w*+\s*+[=:]\s*+(?=\[)")
_DASHES = re.compile("[\u2010-\u2015\u2212]")
_COMMENT = re.compile(r"(?:#|//)[^\r\n]*")
_LAST_COMMA = re.compile(r",(\s*[\]}])")
_RELEASED_PART = re.compile(r"(?:```|''')json\n(.*?)(?:```|''')", re.DOTALL)
_RELEASED_DASHES = re.compile("[\u2010\u2212]")
_MAPPING = re.compile(r"\{[^{}]*\}")
_MOST_MAPPINGS, _MOST_MAPPING_CHARACTERS = 8, 20_000
_FEW_DIGITS = 18
"""Of numbers that fit 64 bits; Python refuses to read thousands of digits, and no material has such a number."""


def _refused(reason: str, warnings: Sequence[str] = (), shape: tuple[int, int, int] | None = None) -> Reading:
    return Reading(False, False, reason, tuple(warnings), shape, None, None)


def _read(text: str, materials: tuple[str, ...], most: tuple[int, int, int]) -> Reading:
    parts, fenced = _fenced(text)
    found = [(part, named) for part in parts if (named := _NAME.match(part)) or part.startswith("[")]
    if not found:
        return _refused("not_a_list" if parts else "unclosed_fence" if fenced else "no_block")
    part, named = found[0]
    tests = {
        "assignment_prefix": named is not None,
        "multiple_blocks": len(found) > 1,
        "mapping_conflict": _conflicts(text, materials),
    }
    warnings = [name for name, true in tests.items() if true]
    try:
        layers = _parsed(_DASHES.sub("-", part[named.end() :] if named else part))
    except _Unreadable as error:
        return _refused(error.reason, warnings)
    if not _three_levels(layers):
        return _refused("not_3d", warnings)
    rows = list(chain.from_iterable(layers))
    kinds = set(map(type, chain.from_iterable(rows)))
    if not kinds:
        return _refused("empty", warnings)
    if not kinds <= {int, float}:
        return _refused("non_integer", warnings)
    if float in kinds:
        if not all(leaf.is_integer() for leaf in chain.from_iterable(rows) if type(leaf) is float):
            return _refused("non_integer", warnings)
        warnings.append("float_id")
    shape = _shape(layers)
    if any(side > limit for side, limit in zip(shape, most, strict=True)):
        return _refused("oversized", warnings, shape)
    if len(rows) != shape[0] * shape[1] or any(len(row) != shape[2] for row in rows):
        warnings.append("ragged")
    cells = _cells(layers, shape)
    unknown = (cells != AIR) & ((cells < 1) | (cells > len(materials)))
    if unknown.any():
        warnings.append("unknown_id")
    blueprint = Blueprint(np.where(unknown, AIR, cells).astype(np.int32), materials)
    if not blueprint.blocks:
        return _refused("no_blocks", warnings, shape)
    return Reading(True, not warnings, None, tuple(warnings), shape, blueprint.blocks, blueprint)


def _fenced(text: str) -> tuple[list[str], bool]:
    """The fenced parts without their tags, trimmed; and whether there is any fence at all."""
    parts: list[str] = []
    opened: re.Match[str] | None = None
    fenced = False
    for mark in _MARK.finditer(text):
        fenced = True
        if opened is None:
            opened = mark
        elif mark.group() == opened.group():
            tag = _TAG.match(text, opened.end(), mark.start())
            parts.append(text[tag.end() if tag else opened.end() : mark.start()].strip())
            opened = None
    return parts, fenced


class _Unreadable(Exception):
    def __init__(self, reason: str) -> None:
        self.reason = reason


def _parsed(text: str) -> Any:
    """A matrix's text as JSON, without comments and commas that end a list. Raises _Unreadable."""
    clean = _LAST_COMMA.sub(r"\1", _COMMENT.sub("", text))
    try:
        try:
            return json.loads(clean)
        except json.JSONDecodeError:
            raise _Unreadable("bad_json") from None
        except ValueError:
            return json.loads(clean, parse_int=_whole)
    except json.JSONDecodeError:
        raise _Unreadable("bad_json") from None
    except RecursionError:
        # Too deep to tell more: complete, it has too many levels; cut off, it is no JSON.
        complete = clean.count("[") == clean.count("]") and clean.count("{") == clean.count("}")
        raise _Unreadable("not_3d" if complete else "bad_json") from None


def _whole(digits: str) -> int:
    return int(digits) if len(digits) <= _FEW_DIGITS else 0


def _three_levels(layers: Any, cells_apart: tuple[type, ...] = (list, dict)) -> bool:
    """Whether lists stand within lists within a list, and none of `cells_apart` in those."""
    if not isinstance(layers, list) or set(map(type, layers)) - {list}:
        return False
    if set(map(type, chain.from_iterable(layers))) - {list}:
        return False
    return not set(map(type, chain.from_iterable(chain.from_iterable(layers)))) & set(cells_apart)


def _shape(layers: Sequence[Sequence[Sequence[Any]]]) -> tuple[int, int, int]:
    depth = max(map(len, layers), default=0)
    return len(layers), depth, max(map(len, chain.from_iterable(layers)), default=0)


def _cells(layers: Sequence[Sequence[Sequence[float]]], shape: tuple[int, int, int]) -> np.ndarray[Any, Any]:
    """The numbers as int64 of a shape within the limits, short rows and layers filled up with air at the end; what
    does not fit 64 bits is 0, which is no material."""
    rows = np.fromiter(map(len, layers), np.int64, len(layers))
    lengths = np.zeros(shape[:2], np.int64)
    lengths[np.arange(shape[1]) < rows[:, None]] = np.fromiter(
        map(len, chain.from_iterable(layers)), np.int64, int(rows.sum())
    )
    leaves = chain.from_iterable(chain.from_iterable(layers))
    count = int(lengths.sum())
    cells = np.full(shape, AIR, np.int64)
    try:
        given = np.fromiter(leaves, np.int64, count)
    except OverflowError:
        leaves = chain.from_iterable(chain.from_iterable(layers))
        given = np.fromiter((leaf if abs(leaf) < 2**62 else 0 for leaf in leaves), np.int64, count)
    cells[np.arange(shape[2]) < lengths[..., None]] = given
    return cells


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
    part = _RELEASED_PART.search(text)
    if part is None:
        return _refused("no_block")
    try:
        layers = _parsed_released(part.group(1))
    except _Unreadable as error:
        return _refused(error.reason)
    if not _three_levels(layers, cells_apart=(list,)):
        return _refused("not_3d")
    shape = _shape(layers)
    if int(np.prod([max(side, 1) for side in shape], dtype=object)) > MOST_CELLS:
        return _refused("oversized", shape=shape)
    # Its builder compares with ==, so 1.0 and true are 1; whatever equals no number of a material is left out.
    numbers = set(range(1, len(materials) + 1))
    placed = [
        [[int(leaf) if isinstance(leaf, (int, float)) and leaf in numbers else AIR for leaf in row] for row in layer]
        for layer in layers
    ]
    cells = np.full([max(side, 1) for side in shape], AIR, np.int64)
    cells[tuple(slice(0, side) for side in shape)] = _cells(placed, shape)
    blueprint = Blueprint(cells.astype(np.int32), materials)
    return Reading(True, True, None, (), shape, int((cells != AIR).sum()), blueprint)


def _parsed_released(part: str) -> Any:
    clean = _LAST_COMMA.sub(r"\1", _COMMENT.sub("", _RELEASED_DASHES.sub("-", part)))
    try:
        return json.loads("".join(clean.split()))
    except RecursionError:
        raise _Unreadable("not_3d") from None
    except ValueError:
        # Not JSON, or numbers of thousands of digits, which its reader refuses as well.
        raise _Unreadable("bad_json") from None
