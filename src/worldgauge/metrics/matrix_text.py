"""Matrices of numbers read from text: JSON of three levels of lists, with comments, last commas and odd dashes.

A plain matrix (whole numbers, also written 1.0) is read by operations on all of its bytes at once, a megabyte in some
20 ms of processor time; json.loads alone needs twice that. Only what holds anything else goes through json.loads, and
is refused beyond `MOST_OTHER` characters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]

MOST_OTHER = 200_000
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
    code = _without_comments(_ascii(text, {"-": _DASHES}))
    matrix = _plain(code)
    if matrix is None:
        return _by_json(code)
    if not len(matrix.values):
        raise Unreadable("empty")
    return matrix


def read_matrix_released(text: str, known: Mapping[float, int]) -> Matrix:
    """The same as the published code has it: all white space is left out first, even between digits, any cell but a
    list is taken, and no cells are a matrix too. known: numbers of materials; other values, where not plain, become 0.
    """
    code = _without_comments(_ascii(text, {"-": _RELEASED_DASHES, " ": _SPACES}))
    code = np.frombuffer(code.tobytes().translate(None, _BLANKS), np.uint8)
    matrix = _plain(code, most_digits=_MOST_DIGITS)
    return _by_json_released(code, known) if matrix is None else matrix


_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_RELEASED_DASHES = "\u2010\u2212"
_SPACES = "".join(filter(str.isspace, map(chr, range(128, 0x3001))))
_BLANKS = bytes(code for code in range(128) if chr(code).isspace())
_JSON_BLANKS = b" \t\r\n"
_PLAIN = b"0123456789-[]," + _JSON_BLANKS
_LAYER, _ROW, _CELL, _MINUS, _ZERO, _NINE = b"*+,-09"
"""Marks between layers, rows and cells of a flattened matrix; all below those of numbers."""
_MOST_DIGITS = 4300
"""Of a number that Python reads; see sys.set_int_max_str_digits."""
_FEW_DIGITS = 9
"""Of numbers that fit 32 bits; no material has a larger one."""
_FINITE_DIGITS = 300


def _ascii(text: str, replaced: Mapping[str, str]) -> Bytes:
    """The characters as bytes, one each. replaced: what stands for which characters; all others beyond ASCII become
    "?", which is right within a JSON string, as those are, and nowhere else."""
    if not text.isascii():
        for by, characters in replaced.items():
            for character in characters:
                text = text.replace(character, by)
    return np.frombuffer(text.encode("ascii", "replace"), np.uint8)


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
    flat = dense[2:-2].replace(b"]],[[", b"*").replace(b"],[", b"+")
    if not dense.startswith(b"[[[") or not dense.endswith(b"]]]") or b"[" in flat[1:] or b"]" in flat[:-1]:
        return None
    body = np.frombuffer(b"*%b*" % flat[1:-1], np.uint8)
    marks = np.flatnonzero(body <= _CELL)
    digits = np.diff(marks) - 1
    signs = body[marks[:-1] + 1] == _MINUS
    digits -= signs
    if not _is_json(body) or np.count_nonzero(digits) != _numbers_in(whole):
        raise Unreadable("bad_json")
    longest = int(digits.max())
    if most_digits is not None and longest > most_digits:
        raise Unreadable("bad_json")
    if points and longest > _FINITE_DIGITS:
        return None
    kinds = body[marks]
    ends = np.flatnonzero(kinds != _CELL)
    lengths = np.diff(ends)
    lengths[digits[ends[:-1]] == 0] = 0
    rows = np.diff(np.flatnonzero(kinds[ends] == _LAYER))
    return Matrix(rows, lengths, _values(body, marks[1:], digits, signs), points)


def _without_points(code: Bytes) -> tuple[Bytes, bool]:
    """Without the ".0" at the end of numbers, where all points are such; and whether there were any."""
    points = np.flatnonzero(code == ord("."))
    if not len(points):
        return code, False
    around = np.pad(code, (1, 2))
    before, after, end = around[points], around[points + 2], around[points + 3]
    if not (_is_digit(before) & (after == _ZERO) & np.isin(end, np.frombuffer(b",]" + _JSON_BLANKS, np.uint8))).all():
        return code, False
    kept = np.ones(len(code), bool)
    kept[points] = kept[points + 1] = False
    return code[kept], True


def _is_json(body: Bytes) -> bool:
    """Whether every byte of a flattened matrix may follow the one before it."""
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
    """Of a plain text: how many numbers stand apart, so that two with nothing but blanks between them are told."""
    inside = (code >= _MINUS) & (code <= _NINE)
    return int(np.count_nonzero(inside[1:] > inside[:-1]))


def _values(body: Bytes, ends: Numbers, digits: Numbers, signs: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The numbers that end before `ends`; cells without a digit are rows without cells."""
    if not digits.all():
        ends, digits, signs = (each[digits > 0] for each in (ends, digits, signs))
    values = body[ends - 1].astype(np.int32) - _ZERO
    for position in range(1, min(int(digits.max(initial=0)), _FEW_DIGITS)):
        longer = np.flatnonzero(digits > position)
        values[longer] += 10**position * (body[ends[longer] - 1 - position].astype(np.int32) - _ZERO)
    values[digits > _FEW_DIGITS] = 0
    values[signs] *= -1
    return values


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
    text = _without_last_commas(code).tobytes().decode("ascii")
    try:
        return json.loads(text, parse_int=None if released or not _has_huge(code) else _small)
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
