"""Hostile answers: 10,000 at random, and long ones made to take time and memory."""

import json
import random
import time
import tracemalloc
from typing import Any

import pytest

from worldgauge.suites.mineanybuild.metrics import blueprint_reading as b
from worldgauge.suites.mineanybuild.metrics import blueprint_reading as matrix_text
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import read_blueprint

MATERIALS = ("stone", "oak_planks", "glass")
MOST = (8, 8, 8)
HANGS_S = 300
"""Of processor time, where some seconds are needed: no measure, for that see benchmarks/build_reading.py."""


def fenced(matrix: Any) -> str:
    return f"```json\n{matrix if isinstance(matrix, str) else json.dumps(matrix)}\n```"


PIECES = (
    *("[", "]", "[[[", "]]]", "[[", "]]", ",", "1", "-1", "2,", "```", "'''", "{", "}", "//", "#", "null", "true"),
    *("NaN", "1e999", "0.5", "...", '"', "\u2212", "«", "あ", "\\u0031", " ", "\n", "\r\n", "```json\n", "'''json\n"),
    *('{"stone": 2}', "9" * 40, "\u2028", "name =", "blueprint: ", "[[[1,1],[1,-1]]]", "\ud800", "\x00", "1" * 4400),
)


def hostile(rng: random.Random) -> str:
    """A random answer: pieces strewn, or a good one cut off, doubled, or with a few characters changed."""
    kind = rng.randrange(6)
    if kind == 5:
        return fenced(rng.choice(([], [[]], [[[]]], [[[-1]]], [[[0, 5]], [[-1]]], [[[1]], []])))
    if kind == 0:
        return "".join(rng.choices(PIECES, k=rng.randrange(1, 60)))
    matrix = [
        [[rng.choice((-1, 0, 1, 2, 3, 4)) for _ in range(rng.randrange(1, 12))] for _ in range(rng.randrange(1, 9))]
        for _ in range(rng.randrange(1, 9))
    ]
    text = fenced(matrix)
    if kind == 1:
        return text[: rng.randrange(len(text))]
    if kind == 2:
        return f"'''{text[: rng.randrange(len(text))]}```"
    changed = list(text)
    for _ in range(rng.randrange(1, 8)):
        changed[rng.randrange(len(changed))] = rng.choice(PIECES)
    return "".join(changed) if kind == 3 else text + "".join(changed)


def test_thousands_of_hostile_answers_are_read_in_little_memory() -> None:
    rng = random.Random(0)
    reasons = set()
    texts = [hostile(rng) for _ in range(3_000)]
    start_s = time.process_time()
    tracemalloc.start()
    for text in texts:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        ours = read_blueprint(text, MATERIALS, most=MOST)
        released = read_blueprint(text, MATERIALS, most=MOST, parser="released")
        assert tracemalloc.get_traced_memory()[1] - before < 2 * 2**20, text[:200]
        for reading in (ours, released):
            assert reading.executable == (reading.reason is None) == (reading.blueprint is not None)
            assert reading.strict == (reading.executable and not reading.warnings)
            assert set(reading.warnings) <= set(b.WARNINGS)
        if ours.blueprint is not None:
            assert ours.shape == ours.blueprint.cells.shape
            assert all(side <= limit for side, limit in zip(ours.shape, MOST, strict=True))
        reasons.add(ours.reason)
    tracemalloc.stop()
    assert reasons >= set(b.REASONS) - {"bad_line"} | {None}, "the answers try everything that a matrix can have"
    assert time.process_time() - start_s < HANGS_S


LONG = {
    "ragged 10^8": fenced(f"[[[{','.join(['1'] * 10_000)}]]{',[[1]]' * 9_999}]"),
    "layers": fenced(f"[{','.join(['[]'] * 100_000)}]"),
    "fences": "```" * 200_000,
    "quotes": "'''`" * 200_000,
    "braces": "{" * 500_000,
    "objects": '{"a":' * 200_000,
    "commas": "```json\n[[[1" + ", " * 300_000,
    "comments": "#" * 500_000,
    "bare": "[[[1]]]" * 100_000,
    "name": "```\n" + "a" * 1_000_000 + "```",
    "blanks": "```a" + " " * 1_000_000 + "```",
    "ends": "```[" + "," * 1_000_000 + "```",
    "gaps": "```[" + ", " * 500_000 + "```",
    "lines": "```[" + "#\n" * 500_000 + "```",
    "digits": f"```[[[{','.join(['9' * 4299] * 300)}, x]]]```",
    "too long": "1" * (b.MOST_CHARACTERS + 1),
    "no cells": "```json\n[[" + "[]," * 466_000 + "[]]]\n```",
    "depth": "```json\n" + "[" * 699_000 + "]" * 699_000 + "\n```",
    "surrogates": "```json\n[[[1" + "\ud800" * 1_300_000 + "]]]\n```",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
@pytest.mark.parametrize("parser", ["ours", "released"])
def test_long_texts_take_little_memory(text: str, parser: b.Parser) -> None:
    start_s = time.process_time()
    tracemalloc.start()
    reading = read_blueprint(text, MATERIALS, parser=parser)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not reading.blocks
    assert peak < 64 * 2**20
    assert time.process_time() - start_s < HANGS_S / 10


def test_what_is_not_plain_is_unread_beyond_its_limit() -> None:
    short, long = (fenced(f"[[[1e0{',1' * count}]]]") for count in (70, matrix_text.MOST_OTHER // 2))
    assert read_blueprint(short, MATERIALS).warnings == ("float_id",)
    assert read_blueprint(long, MATERIALS).reason == read_blueprint(long, MATERIALS, parser="released").reason
    assert (read_blueprint(long, MATERIALS).reason, read_blueprint(long, MATERIALS).shape) == ("oversized", None)


def test_the_last_of_many_matrices_counts() -> None:
    assert read_blueprint(fenced([[[1]]]) * 2000 + fenced([[[1, 2]]]), MATERIALS).shape == (1, 1, 2)


def test_the_largest_build_is_read_in_any_usual_layout() -> None:
    rows = [[[59] * 80] * 80] * 50
    lines = json.dumps(rows).replace("[59", "\n        [59").replace("]], [[", "]],\n    [[")
    for text in (json.dumps(rows), lines):
        for parser in ("ours", "released"):
            reading = read_blueprint(fenced(text), ["stone"] * 59, parser=parser)  # type: ignore[arg-type]
            assert reading.strict
            assert reading.blocks == 320_000


def test_the_limits_stop_a_matrix_before_it_is_made() -> None:
    """A ragged matrix of 10^8 cells in 100 kB of text."""
    text = fenced(f"[[[{','.join(['1'] * 10_000)}]]{',[[1]]' * 9_999}]")
    reading = read_blueprint(text, MATERIALS)
    assert (reading.reason, reading.shape) == ("oversized", (10_000, 1, 10_000))
