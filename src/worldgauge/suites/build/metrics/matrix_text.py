"""Matrices of numbers read from text: JSON of three levels of lists, with comments, last commas and odd dashes.

A plain matrix (whole numbers, also written 1.0) is read with array operations on its bytes, a megabyte in about
30 ms of processor time, less than json.loads alone. All else goes through json.loads, and is refused beyond
`MOST_OTHER` characters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]

MOST_OTHER = 150_000
"""Characters of a matrix that is not plain, its comments left out; a longer one is oversized, unread."""


class Unreadable(Exception):
    """A text that is not a matrix.

    Attributes:
        reason: bad_json, not_3d, empty, non_integer or oversized.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason


@dataclass(frozen=True)
class Matrix:
    """Numbers as they are written, row after row; rows may differ in length.

    Attributes:
        rows: (layers,), number of rows of each.
        lengths: (rows,), number of cells of each.
        values: (cells,), 0 for what no material has.
        points: Whether some have a decimal point or exponent.
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
    """Read the matrix in a text.

    Raises:
        Unreadable: For anything but three levels of lists of whole numbers.
    """
    code = _without_comments(_ascii(text, {"-": _DASHES, " ": _SPACES}), _LINE_ENDS)
    matrix = _plain(code)
    if matrix is None:
        return _by_json(code)
    if not len(matrix.values):
        raise Unreadable("empty")
    return matrix


def read_matrix_released(text: str, known: Mapping[float, int]) -> Matrix:
    """Read the matrix in a text as the published code does.

    All white space is removed first, even between digits, any cell but a list is accepted, and no cells are a matrix
    too.

    Args:
        text: The text.
        known: Numbers of materials; other values, where not plain, become 0.
    """
    code = _without_comments(_ascii(text, {"-": _RELEASED_DASHES, " ": _SPACES}), b"\n")
    code = np.frombuffer(code.tobytes().translate(None, _BLANKS), np.uint8)
    matrix = _plain(code, most_digits=_MOST_DIGITS)
    return _by_json_released(code, known) if matrix is None else matrix


_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
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
    """The characters as bytes, one each. replaced: what stands for which characters; all others beyond ASCII become
    "?", which is right within a JSON string, as those are, and nowhere else."""
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
    """A matrix of nothing but whole numbers, none of its layers without rows; None for any other text.

    most_digits: of a number; one with more is no JSON. Raises Unreadable for what is surely none.
    """
    whole, points = _without_points(code)
    text = whole.tobytes()
    if text.translate(None, _PLAIN):
        return None
    dense = text.translate(None, _JSON_BLANKS).replace(b",]", b"]")
    if dense.count(b"[") != dense.count(b"]"):
        raise Unreadable("bad_json")
    # Marks for the brackets between layers and rows; if none is left, there were three levels everywhere.
    flat = dense[3:-3].replace(b"]],[[", b"*").replace(b"],[", b"+")
    if not dense.startswith(b"[[[") or not dense.endswith(b"]]]") or b"[" in flat or b"]" in flat:
        return None
    body = np.frombuffer(b"*%b*" % flat, np.uint8)
    if not all(map(_is_json, _windows(body, 2))):
        raise Unreadable("bad_json")
    marks = np.flatnonzero(body <= _CELL)
    values, digits = _numbers(body, marks)
    # Two numbers with nothing but blanks between them have become one.
    if np.count_nonzero(digits) != sum(map(_numbers_in, _windows(whole, 1))):
        raise Unreadable("bad_json")
    longest = int(digits.max())
    if points and longest > _FINITE_DIGITS:
        return None
    if most_digits is not None and longest > most_digits:
        raise Unreadable("bad_json")
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
        raise Unreadable("not_3d")
    leaves = list(chain.from_iterable(chain.from_iterable(layers)))
    kinds = set(map(type, leaves))
    if not kinds:
        raise Unreadable("empty")
    if not kinds <= {int, float}:
        raise Unreadable("non_integer")
    try:
        numbers = np.array(leaves, np.float64)
    except OverflowError:
        numbers = np.array([leaf if type(leaf) is float or abs(leaf) < 2**31 else 0 for leaf in leaves], np.float64)
    with np.errstate(invalid="ignore"):
        if (numbers % 1 != 0).any():
            raise Unreadable("non_integer")
    values = np.where(np.abs(numbers) < 2**31, numbers, 0).astype(np.int32)
    return _matrix(layers, values, float in kinds)


def _by_json_released(code: Bytes, known: Mapping[float, int]) -> Matrix:
    layers = _loaded(code, released=True)
    if not _three_levels(layers, (list,)):
        raise Unreadable("not_3d")
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
        raise Unreadable("oversized")
    code = _without_last_commas(code if released else _with_fewer_digits(code))
    text = code.tobytes().decode("ascii")
    try:
        return json.loads(text)
    except RecursionError:
        # Too deep to tell more: complete, it has too many levels; cut off, it is no JSON.
        complete = text.count("[") == text.count("]") and text.count("{") == text.count("}")
        raise Unreadable("not_3d" if complete else "bad_json") from None
    except ValueError:
        # Not JSON, or numbers of thousands of digits, which the published code's reader refuses as well.
        raise Unreadable("bad_json") from None


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
