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
from itertools import chain, repeat
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from worldgauge.chat.answers import answer_text
from worldgauge.core.errors import UsageError
from worldgauge.metrics._registry import metric
from worldgauge.worlds.blocks.blueprint import AIR, AIR_NAMES, Blueprint, Cells, base_name

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]

MOST_OTHER = 150_000
"""Characters of a matrix that is not plain, its comments left out; a longer one is oversized, unread."""


class UnreadableMatrix(Exception):
    """A text that is not a matrix; `reason` is bad_json, not_3d, empty, non_integer or oversized."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


@dataclass(frozen=True)
class Matrix:
    """Numbers as they are written, row after row; rows may differ in length.

    `rows` counts per layer, `lengths` per row; `values` are 0 for no material, `points` is whether any is decimal.
    """

    rows: Numbers
    lengths: Numbers
    values: NDArray[np.int32]
    points: bool

    @property
    def shape(self) -> tuple[int, int, int]:
        """Layers, most rows of a layer, longest row."""
        return len(self.rows), int(self.rows.max(initial=0)), int(self.lengths.max(initial=0))

    @property
    def even(self) -> bool:
        """Whether all layers have the same number of rows, and all rows the same number of cells."""
        _, depth, width = self.shape
        return bool((self.rows == depth).all() and (self.lengths == width).all())

    def filled(self, empty: int) -> NDArray[np.int32]:
        """Return (layers, depth, width), short rows and layers padded at the end. Check `shape` before."""
        if self.even:
            return self.values.reshape(self.shape)
        height, depth, width = self.shape
        lengths = np.zeros((height, depth), np.int64)
        lengths[np.arange(depth) < self.rows[:, None]] = self.lengths
        cells = np.full((height, depth, width), empty, np.int32)
        cells[np.arange(width) < lengths[..., None]] = self.values
        return cells


def read_matrix(text: str) -> Matrix:
    """Read the matrix in a text."""
    code = _without_comments(_ascii(text, {"-": _ANY_DASHES, " ": _SPACES}), _LINE_ENDS)
    matrix = _plain(code)
    if matrix is None:
        return _by_json(code)
    if not len(matrix.values):
        raise UnreadableMatrix("empty")
    return matrix


def read_matrix_released(text: str, known: Mapping[float, int]) -> Matrix:
    """Read the matrix as published: all white space removed first, any cell but a list accepted, even no cells."""
    code = _without_comments(_ascii(text, {"-": _RELEASED_DASHES, " ": _SPACES}), b"\n")
    code = np.frombuffer(code.tobytes().translate(None, _BLANKS), np.uint8)
    matrix = _plain(code, most_digits=_MOST_DIGITS)
    return _by_json_released(code, known) if matrix is None else matrix


_ANY_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_RELEASED_DASHES = "\u2010\u2212"
_SPACES = "".join(filter(str.isspace, map(chr, range(128, 0x3001))))
_BLANKS = bytes(code for code in range(128) if chr(code).isspace())
_JSON_BLANKS = b" \t\r\n"
_LINE_ENDS = b"\n\r"
_PLAIN = b"0123456789-[]," + _JSON_BLANKS
_LAYER, _ROW, _CELL, _MINUS, _ZERO, _NINE = b"*+,-09"
"""Marks between layers, rows and cells of a flattened matrix; all below those of numbers."""
_MOST_DIGITS = 4300
"""Of a number that Python reads; see sys.set_int_max_str_digits."""
_FEW_DIGITS = 9
"""Of numbers that fit 32 bits and that a material may have."""
_FINITE_DIGITS = 300
_WINDOW, _WINDOW_NUMBERS = 2**16, 2**13


def _ascii(text: str, replaced: Mapping[str, str]) -> Bytes:
    """Characters as bytes after `replaced` {by: characters}; others beyond ASCII become "?", right in JSON strings."""
    if not text.isascii():
        for by, characters in replaced.items():
            for character in characters:
                text = text.replace(character, by)
    return np.frombuffer(text.encode("ascii", "replace"), np.uint8)


def _without_comments(code: Bytes, line_ends: bytes) -> Bytes:
    """Without all from "#" or "//" to one of the line ends, of which the release knows only the line feed."""
    text = code.tobytes()
    if b"#" not in text and b"//" not in text:
        return code
    starts = code == ord("#")
    slash = code == ord("/")
    starts[:-1] |= slash[:-1] & slash[1:]
    # From one start or line end to the next, all is comment or nothing is.
    ends = np.flatnonzero(starts | np.isin(code, np.frombuffer(line_ends, np.uint8)))
    comment = np.repeat(starts[ends], np.diff(ends, append=len(code)))
    return np.concatenate([code[: ends[0]], code[ends[0] :][~comment]])


def _plain(code: Bytes, most_digits: int | None = None) -> Matrix | None:
    """A matrix of only whole numbers, every layer with rows; None for other text, raises if there is no matrix."""
    whole, points = _without_points(code)
    text = whole.tobytes()
    if text.translate(None, _PLAIN):
        return None
    dense = text.translate(None, _JSON_BLANKS).replace(b",]", b"]")
    if dense.count(b"[") != dense.count(b"]"):
        raise UnreadableMatrix("bad_json")
    # Marks for the brackets between layers and rows; if none is left, there were three levels everywhere.
    flat = dense[3:-3].replace(b"]],[[", b"*").replace(b"],[", b"+")
    if not dense.startswith(b"[[[") or not dense.endswith(b"]]]") or b"[" in flat or b"]" in flat:
        return None
    body = np.frombuffer(b"*%b*" % flat, np.uint8)
    if not all(map(_is_json, _windows(body, 2))):
        raise UnreadableMatrix("bad_json")
    marks = np.flatnonzero(body <= _CELL)
    values, digits = _numbers(body, marks)
    # Two numbers with nothing but blanks between them have become one.
    if np.count_nonzero(digits) != sum(map(_numbers_in, _windows(whole, 1))):
        raise UnreadableMatrix("bad_json")
    longest = int(digits.max())
    if points and longest > _FINITE_DIGITS:
        return None
    if most_digits is not None and longest > most_digits:
        raise UnreadableMatrix("bad_json")
    kinds = body[marks]
    ends = np.flatnonzero(kinds != _CELL)
    lengths = np.diff(ends)
    lengths[digits[ends[:-1]] == 0] = 0
    rows = np.diff(np.flatnonzero(kinds[ends] == _LAYER))
    return Matrix(rows, lengths, values if digits.all() else values[digits > 0], points)


def _without_points(code: Bytes) -> tuple[Bytes, bool]:
    """Without the ".0" at the end of numbers, where all points are such; and whether there were any."""
    if b"." not in code.tobytes():
        return code, False
    points = np.flatnonzero(code == ord("."))
    around = np.pad(code, (1, 2))
    before, after, end = around[points], around[points + 2], around[points + 3]
    if not (_is_digit(before) & (after == _ZERO) & np.isin(end, np.frombuffer(b",]" + _JSON_BLANKS, np.uint8))).all():
        return code, False
    kept = np.ones(len(code), bool)
    kept[points] = kept[points + 1] = False
    return code[kept], True


def _is_json(body: Bytes) -> bool:
    """Whether every byte of a part of a flattened matrix may follow those before it."""
    digits, minus, commas = _is_digit(body), body == _MINUS, body == _CELL
    wrong = digits[:-1] & minus[1:]
    wrong |= minus[:-1] & ~digits[1:]
    wrong |= commas[:-1] & (body[1:] <= _CELL)
    wrong |= (body[:-1] <= _CELL) & commas[1:]
    wrong[1:] |= (body == _ZERO)[1:-1] & digits[2:] & ~digits[:-2]
    return not wrong.any()


def _is_digit(code: Bytes) -> NDArray[np.bool_]:
    return (code >= _ZERO) & (code <= _NINE)


def _numbers_in(code: Bytes) -> int:
    """How many numbers a plain text has, one at its start apart."""
    inside = (code >= _MINUS) & (code <= _NINE)
    return int(np.count_nonzero(inside[1:] > inside[:-1]))


def _windows(code: Bytes, overlap: int) -> Iterator[Bytes]:
    """Parts that share `overlap` bytes with the next: arrays of their size need no fresh memory again and again."""
    for start in range(0, len(code), _WINDOW):
        yield code[start : start + _WINDOW + overlap]


def _numbers(body: Bytes, marks: Numbers) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(cells,) each: the numbers between marks, and how many digits they have, 0 in a row without cells."""
    count = len(marks) - 1
    values, digits = np.empty(count, np.int32), np.empty(count, np.int32)
    for start in range(0, count, _WINDOW_NUMBERS):
        window = slice(start, start + _WINDOW_NUMBERS)
        first, ends = marks[:-1][window] + 1, marks[1:][window]
        signs = body[first] == _MINUS
        lengths = ends - first - signs
        found = (body[ends - 1] - np.uint8(_ZERO)).astype(np.int32)
        for position in range(1, min(int(lengths.max()), _FEW_DIGITS)):
            digit = body[np.maximum(ends - 1 - position, 0)] - np.uint8(_ZERO)
            found += np.where(lengths > position, digit, np.uint8(0)) * np.int32(10**position)
        found[lengths > _FEW_DIGITS] = 0
        values[window], digits[window] = np.where(signs, -found, found), lengths
    return values, digits


def _by_json(code: Bytes) -> Matrix:
    layers = _loaded(code)
    if not _three_levels(layers, (list, dict)):
        raise UnreadableMatrix("not_3d")
    leaves = list(chain.from_iterable(chain.from_iterable(layers)))
    kinds = set(map(type, leaves))
    if not kinds:
        raise UnreadableMatrix("empty")
    if not kinds <= {int, float}:
        raise UnreadableMatrix("non_integer")
    try:
        numbers = np.array(leaves, np.float64)
    except OverflowError:
        numbers = np.array([leaf if type(leaf) is float or abs(leaf) < 2**31 else 0 for leaf in leaves], np.float64)
    with np.errstate(invalid="ignore"):
        if (numbers % 1 != 0).any():
            raise UnreadableMatrix("non_integer")
    values = np.where(np.abs(numbers) < 2**31, numbers, 0).astype(np.int32)
    return _matrix(layers, values, float in kinds)


def _by_json_released(code: Bytes, known: Mapping[float, int]) -> Matrix:
    layers = _loaded(code, released=True)
    if not _three_levels(layers, (list,)):
        raise UnreadableMatrix("not_3d")
    leaves = list(chain.from_iterable(chain.from_iterable(layers)))
    if dict in set(map(type, leaves)):
        leaves = [None if type(leaf) is dict else leaf for leaf in leaves]
    # Its builder compares with ==, so 1.0 and true are 1, as they are for a mapping.
    values = np.fromiter(map(known.get, leaves, repeat(0)), np.int32, len(leaves))
    return _matrix(layers, values, points=False)


def _matrix(layers: list[list[list[Any]]], values: NDArray[np.int32], points: bool) -> Matrix:
    rows = np.fromiter(map(len, layers), np.int64, len(layers))
    lengths = np.fromiter(map(len, chain.from_iterable(layers)), np.int64, int(rows.sum()))
    return Matrix(rows, lengths, values, points)


def _loaded(code: Bytes, *, released: bool = False) -> Any:
    if len(code) > MOST_OTHER:
        raise UnreadableMatrix("oversized")
    code = _without_last_commas(code if released else _with_fewer_digits(code))
    text = code.tobytes().decode("ascii")
    try:
        return json.loads(text)
    except RecursionError:
        # Too deep to tell more: complete, it has too many levels; cut off, it is no JSON.
        complete = text.count("[") == text.count("]") and text.count("{") == text.count("}")
        raise UnreadableMatrix("not_3d" if complete else "bad_json") from None
    except ValueError:
        # Not JSON, or numbers of thousands of digits, which the published code's reader refuses as well.
        raise UnreadableMatrix("bad_json") from None


def _without_last_commas(code: Bytes) -> Bytes:
    """Without one comma before each closing bracket."""
    dark = np.flatnonzero(~np.isin(code, np.frombuffer(_BLANKS, np.uint8)))
    last = (code[dark[:-1]] == _CELL) & np.isin(code[dark[1:]], np.frombuffer(b"]}", np.uint8))
    return np.delete(code, dark[:-1][last])


def _with_fewer_digits(code: Bytes) -> Bytes:
    """With as many digits in a row as Python reads: a whole number that loses some is still no material's."""
    edges = np.flatnonzero(np.diff(_is_digit(np.pad(code, 1)).view(np.int8)))
    runs = edges.reshape(-1, 2)
    for start, end in runs[np.diff(runs)[:, 0] > _MOST_DIGITS][::-1]:
        code = np.delete(code, slice(start + _MOST_DIGITS, end))
    return code


def _three_levels(layers: Any, cells_apart: tuple[type, ...]) -> bool:
    """Whether lists stand within lists within a list, and none of `cells_apart` in those."""
    if not isinstance(layers, list) or set(map(type, layers)) - {list}:
        return False
    if set(map(type, chain.from_iterable(layers))) - {list}:
        return False
    return not set(map(type, chain.from_iterable(chain.from_iterable(layers)))) & set(cells_apart)


Form = Literal["matrix", "layers", "fills", "runs"]
"""How a build is written, one line per row or box except in a matrix. "." is air.

layers: "Layer 1", "Layer 2-4" for equal layers, each followed by its rows: numbers between blanks.
runs: the same, and 12x3 stands for twelve times number 3.
fills: boxes x1 y1 z1 x2 y2 z2 NUMBER, corners included, from 0, y up; later boxes replace earlier ones.
"""
_LAYER_LINE = re.compile(r"layer\s+(\d{1,4})(?:\s*-\s*(\d{1,4}))?\s*:?", re.IGNORECASE)
_RUN = re.compile(r"(?:(\d{1,4})[x*])?(\.|-?\d{1,9})")
_FILL_LINE = re.compile(r"(?:fill\s+)?" + r"(\d{1,4})[\s,]+" * 6 + r"(\.|-?\d{1,9})", re.IGNORECASE)
_PIECE = re.compile(r"[^\W\d_]+|\d{1,3}|[^\w\s]+|_|\n")
MOST_FILLED = 2**26
"""Cells of all boxes of an answer together; more is oversized."""


def count_pieces(text: str) -> int:
    """Count words, up to three digits, marks side by side, and line ends: a stand-in for tokens of no tokenizer."""
    return len(_PIECE.findall(text))


def read_lines(text: str, form: Form, most: tuple[int, int, int]) -> Matrix:
    """Read a build in a form of lines; nothing beyond `most` is allocated."""
    lines = [line.strip() for line in re.sub(r"(?:#|//)[^\n]*", "", _DASHES.sub("-", text)).splitlines()]
    lines = [line for line in lines if line]
    return _read_fills(lines, most) if form == "fills" else _read_layers(lines, most, runs=form == "runs")


def _read_layers(lines: Sequence[str], most: tuple[int, int, int], *, runs: bool) -> Matrix:
    height = 0
    layers: list[tuple[int, list[list[int]]]] = []
    for line in lines:
        if opened := _LAYER_LINE.fullmatch(line):
            first, last = int(opened[1]), int(opened[2] or opened[1])
            if first != height + 1 or last < first:
                raise UnreadableMatrix("bad_line")
            height = last
            layers.append((last - first + 1, []))
        elif layers:
            layers[-1][1].append(_read_row(line, most[2], runs))
        else:
            raise UnreadableMatrix("bad_line")
        if height > most[0] or len(layers[-1][1]) > most[1]:
            raise UnreadableMatrix("oversized")
    rows = [row for times, layer in layers for row in times * layer]
    if not rows:
        raise UnreadableMatrix("empty")
    counts = [len(layer) for times, layer in layers for _ in range(times)]
    values = np.fromiter(chain.from_iterable(rows), np.int32)
    return Matrix(np.array(counts), np.array([len(row) for row in rows]), values, points=False)


def _read_row(line: str, most: int, runs: bool) -> list[int]:
    row: list[int] = []
    for word in line.split():
        run = _RUN.fullmatch(word)
        if run is None or (run[1] and not runs):
            raise UnreadableMatrix("bad_line")
        times = int(run[1] or 1)
        if len(row) + times > most:
            raise UnreadableMatrix("oversized")
        row += times * [_number_of(run[2])]
    return row


def _read_fills(lines: Sequence[str], most: tuple[int, int, int]) -> Matrix:
    boxes = []
    filled = 0
    for line in lines:
        fill = _FILL_LINE.fullmatch(line)
        if fill is None:
            raise UnreadableMatrix("bad_line")
        x1, y1, z1, x2, y2, z2 = (int(fill[n]) for n in range(1, 7))
        low, high = map(min, (y1, z1, x1), (y2, z2, x2)), map(max, (y1, z1, x1), (y2, z2, x2))
        box = [slice(a, b + 1) for a, b in zip(low, high, strict=True)]
        filled += math.prod(side.stop - side.start for side in box)
        if filled > MOST_FILLED or any(side.stop > limit for side, limit in zip(box, most, strict=True)):
            raise UnreadableMatrix("oversized")
        boxes.append((box, _number_of(fill[7])))
    if not boxes:
        raise UnreadableMatrix("empty")
    height, depth, width = (max(box[axis].stop for box, _ in boxes) for axis in range(3))
    cells = np.full((height, depth, width), AIR, np.int32)
    for box, number in boxes:
        cells[tuple(box)] = number
    return Matrix(np.full(height, depth), np.full(height * depth, width), cells.ravel(), points=False)


def _number_of(word: str) -> int:
    return AIR if word == "." else int(word)


Parser = Literal["ours", "first", "released"]

REASONS: Mapping[str, str] = {
    "no_block": "no fenced part",
    "unclosed_fence": "a fence that is not closed",
    "not_a_list": "fenced parts, but none that starts with a bracket",
    "bad_json": "the matrix is no JSON",
    "bad_line": "a line that does not have the requested form",
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
class BlueprintReading:
    """Content of an answer; `reason` is None or one of `REASONS` why it cannot be built.

    `shape` is (layers, most rows of a layer, longest row), known once all cells are numbers; `blocks` are those to be
    placed.
    """

    executable: bool
    strict: bool
    reason: str | None
    warnings: tuple[str, ...]
    shape: tuple[int, int, int] | None
    blocks: int | None
    blueprint: Blueprint | None
    pieces: int | None = None
    """`count_pieces` of the text that was read as the build."""


def read_blueprint(
    text: str,
    materials: Sequence[str],
    *,
    most: tuple[int, int, int] = (50, 80, 80),
    parser: Parser = "ours",
    form: Form = "matrix",
) -> BlueprintReading:
    """Read the build in an answer (never raises for its content); block k is entry k - 1 of `materials`.

    `most` is (height, depth, width). Parser "first" takes the first matrix, "ours" the last. "released" accepts,
    refuses and counts as the published code, without limits of size or warnings, and knows no other `form`.
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
    return _read(text, tuple(materials), most, first=parser == "first", form=form)


@metric("build_executable", unit="%", better="higher", bounds=(0.0, 100.0), version=3, source="MineAnyBuild, 3.2")
def executable(reading: BlueprintReading) -> float:
    """Return 100 for an answer that can be built, else 0; the mean over all tasks is the output success rate.

    Examples:
        >>> from worldgauge.suites.mineanybuild.metrics.blueprint_reading import read_blueprint
        >>> [build_executable(read_blueprint(answer, ["stone"])) for answer in ("```[[[1, 1]]]```", "A wall.")]
        [100.0, 0.0]
    """
    return 100.0 if reading.executable else 0.0


@metric("build_strict", unit="%", better="higher", bounds=(0.0, 100.0), version=3, source="MineAnyBuild, 3.2")
def strict(reading: BlueprintReading) -> float:
    """Return 100 for an answer that can be built without any repair, else 0.

    Examples:
        >>> from worldgauge.suites.mineanybuild.metrics.blueprint_reading import read_blueprint
        >>> uneven = read_blueprint("```[[[1, 1], [1]]]```", ["stone"])
        >>> build_executable(uneven), build_strict(uneven)
        (100.0, 0.0)
    """
    return 100.0 if reading.strict else 0.0


_FENCES = ("```", "'''")
_TAG = re.compile(r"[ \t]*[A-Za-z0-9_+-]*")
_NAME = re.compile(r"[A-Za-z_]\w*+\s*+[=:]\s*+(?=\[)")
_COMMENT = re.compile(r"(?:#|//)[^\n\r]*+\s*+")
_OPENED = re.compile(r"\[\s*+(?:(?:#|//)[^\n\r]*+\s*+)*+\[\s*+(?:(?:#|//)[^\n\r]*+\s*+)*+\[")
_DASHES = re.compile("[\u2010-\u2015\u2212]")
_MAPPING = re.compile(r"\{[^{}]*\}")
_MOST_MAPPINGS, _MOST_MAPPING_CHARACTERS = 8, 20_000


def _refused(reason: str, warnings: Sequence[str] = (), shape: tuple[int, int, int] | None = None) -> BlueprintReading:
    return BlueprintReading(False, False, reason, tuple(warnings), shape, None, None)


def _read(
    text: str, materials: tuple[str, ...], most: tuple[int, int, int], *, first: bool, form: Form
) -> BlueprintReading:
    lists: list[tuple[str, bool]] = []
    complete = False
    opened = _OPENED if form == "matrix" else _FILL_LINE if form == "fills" else _LAYER_LINE
    for part in _fenced(text):
        complete = True
        start = _start_of(part)
        named = _NAME.match(part, start) if form == "matrix" else None
        if named or form != "matrix" or part.startswith("[", start):
            lists.append((part[named.end() if named else start :], named is not None))
    if not lists:
        fenced = any(fence in text for fence in _FENCES)
        return _refused("not_a_list" if complete else "unclosed_fence" if fenced else "no_block")
    # A list of materials may stand before or behind the matrix.
    several = lists if first else lists[::-1]
    matrix_text, has_name = next((one for one in several if opened.match(one[0])), several[0])
    tests = {
        "assignment_prefix": has_name,
        "multiple_blocks": len(lists) > 1
        and (form == "matrix" or sum(bool(opened.match(one)) for one, _ in lists) > 1),
        "mapping_conflict": _conflicts(text, materials),
    }
    warnings = [name for name, true in tests.items() if true]
    try:
        matrix = read_matrix(matrix_text) if form == "matrix" else read_lines(matrix_text, form, most)
    except UnreadableMatrix as error:
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
    pieces = None if form == "matrix" else count_pieces(matrix_text)
    return BlueprintReading(True, not warnings, None, tuple(warnings), shape, blocks, blueprint, pieces)


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
    """Flat objects of the answer that map names and numbers, if they name a given material or count 1, 2, 3, ... ."""
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


def _read_released(text: str, materials: tuple[str, ...]) -> BlueprintReading:
    heads = [at for fence in _FENCES if (at := text.find(f"{fence}json\n")) >= 0]
    start = min(heads, default=0) + len("```json\n")
    ends = [at for fence in _FENCES if (at := text.find(fence, start)) >= 0]
    if not heads or not ends:
        return _refused("no_block")
    try:
        matrix = read_matrix_released(text[start : min(ends)], {k: k for k in range(1, len(materials) + 1)})
    except UnreadableMatrix as error:
        return _refused(error.reason)
    if math.prod(max(side, 1) for side in matrix.shape) > MOST_CELLS:
        return _refused("oversized", shape=matrix.shape)
    cells, _ = _of_materials(matrix, len(materials))
    if not cells.size:
        cells = np.full([max(side, 1) for side in cells.shape], AIR, np.int32)
    blueprint = Blueprint(cells, materials)
    return BlueprintReading(True, True, None, (), matrix.shape, int((cells != AIR).sum()), blueprint)
