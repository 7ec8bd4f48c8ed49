"""Matrices read from text, beside a slow reader: regular expressions, json.loads and loops."""

import json
import random
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldgauge.suites.mineanybuild.metrics import blueprint_reading as matrix_text
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import UnreadableMatrix, read_matrix, read_matrix_released

PIECES = (
    *("[", "]", ",", "[]", "],[", "]],[[", ",]", ", ]", ",,]", "- 1", "1 1", "1", "-1", "0", "-0", "01", "-01", "12"),
    *("1.0", "2.00", "-1.0", "1.5", ".0", "1.", "1e0", "1e999", "9" * 9, "9" * 10, "-" + "9" * 12, "9" * 400 + ".0"),
    *("#", "//", "/", "# ]\n", "//\r", " ", "\n", "\x0b", "\x1c", "\u00a0", "\u2010", "\u2013", "\u2212", "\u3000"),
    *("*", "+", "?", "\x00", "null", "true", '""', '"[,]"', "{}", '{"a":1}', "NaN", "\ud800", "9" * 4300, "9" * 4301),
)


def slow(text: str, released: bool) -> Any:
    """Layers of rows of numbers, or the reason; 0 for what has over nine digits or, if released, is not 1, 2 or 3."""
    text = re.sub("[\u2010\u2212]" if released else "[\u2010-\u2015\u2212]", "-", text)
    text = re.sub(r",(\s*[\]}])", r"\1", re.sub(r"(?:#|//)[^\n]*" if released else r"(?:#|//)[^\r\n]*", "", text))
    text = re.sub(r"[^\S\x00-\x7f]", " ", text)
    try:
        layers = json.loads("".join(text.split()) if released else text, parse_int=_released_int if released else _int)
    except ValueError:
        return "bad_json"
    if not isinstance(layers, list) or not all(isinstance(layer, list) for layer in layers):
        return "not_3d"
    rows = [row for layer in layers for row in layer]
    if not all(isinstance(row, list) for row in rows):
        return "not_3d"
    cells = [cell for row in rows for cell in row]
    if any(isinstance(cell, list if released else (list, dict)) for cell in cells):
        return "not_3d"
    if released:
        return [[[int(cell) if cell in (1, 2, 3) else 0 for cell in row] for row in layer] for layer in layers]
    if not cells:
        return "empty"
    if any(type(cell) not in (int, float) or (type(cell) is float and not cell.is_integer()) for cell in cells):
        return "non_integer"
    return [[[int(cell) if abs(cell) < 10**9 else 0 for cell in row] for row in layer] for layer in layers]


def _int(digits: str) -> int:
    return int(digits[:20])


def _released_int(digits: str) -> int:
    if len(digits.removeprefix("-")) > 4300:
        raise ValueError
    return _int(digits)


def fast(text: str, released: bool) -> Any:
    try:
        matrix = read_matrix_released(text, {1: 1, 2: 2, 3: 3}) if released else read_matrix(text)
    except UnreadableMatrix as error:
        return error.reason
    values = [
        value if (value in (1, 2, 3) if released else abs(value) < 10**9) else 0 for value in matrix.values.tolist()
    ]
    cells, lengths = iter(values), iter(matrix.lengths.tolist())
    layers = [[[next(cells) for _ in range(next(lengths))] for _ in range(count)] for count in matrix.rows.tolist()]
    assert next(cells, None) is None
    assert next(lengths, None) is None
    return layers


def strewn(rng: random.Random) -> str:
    """A matrix, even or ragged, with none to three pieces put in or in place of a character."""
    rows = [
        [[rng.choice((-1, 1, 2, 3, 10)) for _ in range(rng.choice((0, 2, 2, 2)))] for _ in range(rng.choice((0, 2, 2)))]
        for _ in range(rng.randrange(1, 4))
    ]
    text = json.dumps(rows, separators=(rng.choice((",", ", ", ",\n")), ":"))
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(PIECES) + text[at + rng.randrange(2) :]
    return text


@pytest.mark.parametrize("released", [False, True])
def test_as_a_slow_reader_has_it(released: bool) -> None:
    rng = random.Random(1)
    outcomes = set()
    for _ in range(8_000):
        text = strewn(rng)
        expected = slow(text, released)
        assert fast(text, released) == expected, text[:300]
        outcomes.add(expected if isinstance(expected, str) else "read")
    assert outcomes == {"read", "bad_json", "not_3d"} | (set() if released else {"empty", "non_integer"})


@given(st.text(st.sampled_from("[],-0192. \n"), max_size=12))
def test_short_texts_of_brackets_and_digits(inside: str) -> None:
    for text in (inside, f"[[[{inside}]]]"):
        for released in (False, True):
            assert fast(text, released) == slow(text, released)


def test_large_and_uneven_matrices() -> None:
    # Large ones across the windows.
    numbers = np.random.default_rng(0).choice([-1, 1, 7, 42, 123, 99_999], (3, 70, 200))
    assert numbers.size > matrix_text._WINDOW_NUMBERS * 2
    text = json.dumps(numbers.tolist())
    assert len(text) > matrix_text._WINDOW * 2
    matrix = read_matrix(text)
    assert np.array_equal(matrix.filled(-1), numbers)
    for at in range(matrix_text._WINDOW - 4, matrix_text._WINDOW + 4):
        for piece in ("-", " ", "]", ",", "0"):
            changed = text[:at] + piece + text[at:]
            assert fast(changed, released=False) == slow(changed, released=False)
    # Short rows and layers are filled up.
    assert read_matrix("[[[1],[2,3]],[[]],[[4,5]]]").filled(-1).tolist() == [
        [[1, -1], [2, 3]],
        [[-1, -1], [-1, -1]],
        [[4, 5], [-1, -1]],
    ]
    assert read_matrix("[[[1]],[]]").filled(-1).tolist() == [[[1]], [[-1]]]
