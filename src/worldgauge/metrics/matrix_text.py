"""Matrices of numbers read from text: JSON of three levels of lists, with comments, last commas and odd dashes.

A plain matrix (whole numbers, also written 1.0) is read by operations on all of its bytes at once, a megabyte in some
20 ms of processor time; json.loads alone needs twice that. Only what holds anything else goes through json.loads, and
is refused beyond `MOST_OTHER` characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]

MOST_OTHER = 400_000
"""Characters of a matrix that is not plain, its comments left out; a longer one is oversized, unread."""


class Unreadable(Exception):
    """A text that is no matrix. reason: bad_json, not_3d, empty, non_integer or oversized."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


@dataclass(frozen=True)
class Matrix:
    """Numbers as they are written, row after row: of uneven lengths, perhaps.

    rows: (layers,), how many each has. lengths: (rows,), cells of each. values: (cells,), 0 for what is beyond 32 bits.
    points: whether some have a decimal point or exponent.
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
        """Whether all layers have as many rows, and all rows as many cells."""
        _, depth, width = self.shape
        return bool((self.rows == depth).all() and (self.lengths == width).all())

    def filled(self, empty: int) -> NDArray[np.int32]:
        """(layers, depth, width), short rows and layers filled up at the end. Check `shape` before."""
        if self.even:
            return self.values.reshape(self.shape)
        height, depth, width = self.shape
        lengths = np.zeros((height, depth), np.int64)
        lengths[np.arange(depth) < self.rows[:, None]] = self.lengths
        cells = np.full((height, depth, width), empty, np.int32)
        cells[np.arange(width) < lengths[..., None]] = self.values
        return cells


def read_matrix(text: str) -> Matrix:
    """The matrix that a text is. Raises Unreadable for all that is not three levels of lists of whole numbers."""
    code = _without_comments(_codes(text, _DASHES))
    matrix = _plain(code)
    return _by_json(code) if matrix is None else _not_empty(matrix)


def read_matrix_released(text: str, known: Mapping[float, int]) -> Matrix:
    """The same as the published code has it: all white space is left out first, even between digits, any cell but a
    list is taken, and no cells are a matrix too. known: numbers of materials; other values, where not plain, become 0.
    """
    code = _without_comments(_codes(text, _RELEASED_DASHES, _SPACES))
    code = np.frombuffer(code.tobytes().translate(None, _BLANKS), np.uint8)
    matrix = _plain(code, most_digits=_MOST_DIGITS)
    return _by_json_released(code, known) if matrix is None else matrix


_DASHES = (*range(0x2010, 0x2016), 0x2212)
_RELEASED_DASHES = (0x2010, 0x2212)
_SPACES = tuple(code for code in range(128, 0x3001) if chr(code).isspace())
_BLANKS = bytes(code for code in range(128) if chr(code).isspace())
_JSON_BLANKS = b" \t\r\n"
_PLAIN = b"0123456789-[]," + _JSON_BLANKS
_FOREIGN = 0x7F
"""Stands for any other character beyond ASCII: right within a JSON string, as those are, and nowhere else."""
_MOST_DIGITS = 4300
"""Of a number that Python reads; see sys.set_int_max_str_digits."""
_FEW_DIGITS = 9
"""Of numbers that fit 32 bits; no material has a larger one."""
_FINITE_DIGITS = 300
_LAST_COMMA = re.compile(r",(\s*[\]}])")


def _codes(text: str, dashes: tuple[int, ...], spaces: tuple[int, ...] = ()) -> Bytes:
    """The characters as ASCII: `dashes` as "-", `spaces` as blanks, all others beyond it as `_FOREIGN`."""
    if text.isascii():
        return np.frombuffer(text.encode(), np.uint8)
    code = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    table = np.full(0x3002, _FOREIGN, np.uint8)
    table[:128] = np.arange(128)
    table[list(dashes)] = ord("-")
    table[list(spaces)] = ord(" ")
    ascii_: Bytes = table[np.minimum(code, len(table) - 1)]
    return ascii_


def _without_comments(code: Bytes) -> Bytes:
    """Without all from "#" or "//" to the end of the line."""
    starts = code == ord("#")
    slash = code == ord("/")
    starts[:-1] |= slash[:-1] & slash[1:]
    if not starts.any():
        return code
    # From one start or line end to the next, all is comment or nothing is.
    ends = np.flatnonzero(starts | (code == ord("\n")) | (code == ord("\r")))
    comment = np.repeat(starts[ends], np.diff(ends, append=len(code)))
    return np.concatenate([code[: ends[0]], code[ends[0] :][~comment]])


def _plain(code: Bytes, most_digits: int | None = None) -> Matrix | None:
    """A matrix of nothing but whole numbers; None for other texts. Raises Unreadable for a wrong or uneven nesting.

    most_digits: of a number; one with more is no JSON.
    """
    whole, points = _without_points(code)
    text = whole.tobytes()
    if text.translate(None, _PLAIN):
        return None
    dense = np.frombuffer(text.translate(None, _JSON_BLANKS).replace(b",]", b"]"), np.uint8)
    if not _is_json(dense) or _count(_starts(_of_numbers(whole))) != _count(_starts(_of_numbers(dense))):
        raise Unreadable("bad_json")
    starts = _starts(_of_numbers(dense))
    tokens = np.flatnonzero(starts | (dense >= ord("[")))
    brackets = np.flatnonzero(~starts[tokens])
    between = np.diff(brackets) - 1
    opens = dense[tokens[brackets]] == ord("[")
    depth = np.cumsum(np.where(opens, 1, -1))
    if depth[-1] or (depth[:-1] < 1).any():
        raise Unreadable("bad_json")
    first, digits = _numbers_at(dense, tokens[starts[tokens]])
    longest = int(digits.max(initial=0))
    if points and longest > _FINITE_DIGITS:
        return None
    if most_digits is not None and longest > most_digits:
        raise Unreadable("bad_json")
    if depth.max() > 3 or between[depth[:-1] != 3].any():
        raise Unreadable("not_3d")
    is_row = opens & (depth == 3)
    before = np.cumsum(is_row)
    rows = before[~opens & (depth == 1)] - before[opens & (depth == 2)]
    return Matrix(rows, between[is_row[:-1]], _values(dense, first, digits), points)


def _without_points(code: Bytes) -> tuple[Bytes, bool]:
    """Without the ".0" at the end of numbers, where all points are such; and whether there were any."""
    points = np.flatnonzero(code == ord("."))
    if not len(points):
        return code, False
    around = np.pad(code, (1, 2))
    before, after, end = around[points], around[points + 2], around[points + 3]
    if not (
        _is_digit(before) & (after == ord("0")) & np.isin(end, np.frombuffer(b",]" + _JSON_BLANKS, np.uint8))
    ).all():
        return code, False
    kept = np.ones(len(code), bool)
    kept[points] = kept[points + 1] = False
    return code[kept], True


def _is_json(code: Bytes) -> bool:
    """Whether every byte of a plain text without blanks may follow the one before it; nesting apart."""
    if not len(code) or code[0] != ord("[") or code[-1] != ord("]"):
        return False
    opens, closes, commas, minus, digits = (code == ord(mark) for mark in "[],-0")
    zeros, digits = digits, _is_digit(code)
    wrong = opens[:-1] & commas[1:]
    wrong |= closes[:-1] & ~(closes | commas)[1:]
    wrong |= commas[:-1] & (commas | closes)[1:]
    wrong |= digits[:-1] & (minus | opens)[1:]
    wrong |= minus[:-1] & ~digits[1:]
    wrong[1:] |= zeros[1:-1] & digits[2:] & ~digits[:-2]
    return not wrong.any()


def _is_digit(code: Bytes) -> NDArray[np.bool_]:
    return (code - np.uint8(ord("0"))) < 10


def _of_numbers(code: Bytes) -> NDArray[np.bool_]:
    return _is_digit(code) | (code == ord("-"))


def _starts(inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    starts = inside.copy()
    starts[1:] &= ~inside[:-1]
    return starts


def _count(mask: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(mask))


def _numbers_at(code: Bytes, starts: Numbers) -> tuple[Numbers, Numbers]:
    """Where the first digit of each number is, and how many it has."""
    inside = _is_digit(code)
    ends = np.flatnonzero(inside[:-1] & ~inside[1:]) + 1
    first = starts + (code[starts] == ord("-"))
    return first, ends - first


def _values(code: Bytes, first: Numbers, digits: Numbers) -> NDArray[np.int32]:
    values = code[first].astype(np.int32) - ord("0")
    for position in range(1, min(int(digits.max(initial=0)), _FEW_DIGITS)):
        longer = np.flatnonzero(digits > position)
        values[longer] = 10 * values[longer] + code[first[longer] + position] - ord("0")
    values[digits > _FEW_DIGITS] = 0
    values[code[first - 1] == ord("-")] *= -1
    return values


def _not_empty(matrix: Matrix) -> Matrix:
    if not len(matrix.values):
        raise Unreadable("empty")
    return matrix


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
    if float in kinds and not all(map(float.is_integer, (leaf for leaf in leaves if type(leaf) is float))):
        raise Unreadable("non_integer")
    values = np.array([leaf if -(2**31) < leaf < 2**31 else 0 for leaf in leaves], np.int32)
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
    text = _LAST_COMMA.sub(r"\1", code.tobytes().decode("ascii"))
    try:
        return json.loads(text, parse_int=None if released or not _has_huge(code) else _small)
    except RecursionError:
        # Too deep to tell more: complete, it has too many levels; cut off, it is no JSON.
        complete = text.count("[") == text.count("]") and text.count("{") == text.count("}")
        raise Unreadable("not_3d" if complete else "bad_json") from None
    except ValueError:
        # Not JSON, or numbers of thousands of digits, which the published code's reader refuses as well.
        raise Unreadable("bad_json") from None


def _has_huge(code: Bytes) -> bool:
    """Whether more digits stand in a row than Python reads."""
    steps = np.flatnonzero(np.diff(_is_digit(np.pad(code, 1)).view(np.int8)))
    return bool(len(steps) and (steps[1::2] - steps[::2]).max() > _MOST_DIGITS)


def _small(digits: str) -> int:
    return int(digits) if len(digits) <= _FEW_DIGITS else 0


def _three_levels(layers: Any, cells_apart: tuple[type, ...]) -> bool:
    """Whether lists stand within lists within a list, and none of `cells_apart` in those."""
    if not isinstance(layers, list) or set(map(type, layers)) - {list}:
        return False
    if set(map(type, chain.from_iterable(layers))) - {list}:
        return False
    return not set(map(type, chain.from_iterable(chain.from_iterable(layers)))) & set(cells_apart)
