"""Hostile answers: 10,000 at random, and long ones made to take time and memory."""

import json
import random
import time
import tracemalloc
from typing import Any

import pytest

from worldgauge.metrics import blueprint_reading as b
from worldgauge.metrics.blueprint_reading import read_blueprint

MATERIALS = ("stone", "oak_planks", "glass")
MOST = (8, 8, 8)


def fenced(matrix: Any) -> str:
    return f"```json\n{matrix if isinstance(matrix, str) else json.dumps(matrix)}\n```"


PIECES = (
    *(
        "[",
        "]",
        "[[[",
        "]]]",
        "[[",
        "]]",
        ",",
        "1",
        "-1",
        "2,",
        " ",
        "\n",
        "\r\n",
        "```",
        "'''",
        "```json\n",
        "'''json\n",
    ),
    *(
        "{",
        "}",
        '"',
        '{"stone": 2}',
        "//",
        "#",
        "null",
        "true",
        "NaN",
        "1e999",
        "9" * 40,
        "0.5",
        "\u2212",
        "\u2028",
        "«",
    ),
    *("name =", "blueprint: ", "[[[1,1],[1,-1]]]", "\ud800", "\x00", "あ", "...", "\\u0031", "1" * 4400),
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


def test_ten_thousand_hostile_answers_are_read_at_once() -> None:
    rng = random.Random(0)
    reasons = set()
    for _ in range(10_000):
        text = hostile(rng)
        start = time.process_time()
        ours = read_blueprint(text, MATERIALS, most=MOST)
        released = read_blueprint(text, MATERIALS, most=MOST, parser="released")
        assert time.process_time() - start < 0.1, text[:200]
        for reading in (ours, released):
            assert reading.executable == (reading.reason is None) == (reading.blueprint is not None)
            assert reading.strict == (reading.executable and not reading.warnings)
            assert set(reading.warnings) <= set(b.WARNINGS)
        if ours.blueprint is not None:
            assert ours.shape == ours.blueprint.cells.shape
            assert all(side <= limit for side, limit in zip(ours.shape, MOST, strict=True))
        reasons.add(ours.reason)
    assert reasons >= set(b.REASONS) | {None}, "the answers try everything"


@pytest.mark.parametrize(
    "text",
    [
        fenced(f"[[[{','.join(['1'] * 10_000)}]]{',[[1]]' * 9_999}]"),
        fenced(f"[{','.join(['[]'] * 100_000)}]"),
        "```" * 200_000,
        "'''`" * 200_000,
        "{" * 500_000,
        '{"a":' * 200_000,
        "```json\n[[[1" + ", " * 300_000,
        "#" * 500_000,
        "[[[1]]]" * 100_000,
        "```\n" + "a" * 1_000_000 + "```",
        "```a" + " " * 1_000_000 + "```",
        "```[" + "," * 1_000_000 + "```",
        "```[" + ", " * 500_000 + "```",
        "```[" + "#\n" * 500_000 + "```",
        f"```[[[{','.join(['9' * 4299] * 300)}, x]]]```",
        "1" * (b.MOST_CHARACTERS + 1),
    ],
    ids=[
        "ragged 10^8",
        "layers",
        "fences",
        "quotes",
        "braces",
        "objects",
        "commas",
        "comments",
        "bare",
        "name",
        "blanks",
        "ends",
        "gaps",
        "lines",
        "digits",
        "too long",
    ],
)
@pytest.mark.parametrize("parser", ["ours", "released"])
def test_long_texts_take_little_time_and_memory(text: str, parser: b.Parser) -> None:
    start = time.process_time()
    reading = read_blueprint(text, MATERIALS, parser=parser)
    took_s = time.process_time() - start
    assert not reading.blocks
    assert took_s < 1, f"{took_s:.2f} s"
    tracemalloc.start()
    read_blueprint(text[:200_000], MATERIALS, parser=parser)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * 2**20


def test_the_limits_stop_a_matrix_before_it_is_made() -> None:
    """A ragged matrix of 10^8 cells in 100 kB of text."""
    text = fenced(f"[[[{','.join(['1'] * 10_000)}]]{',[[1]]' * 9_999}]")
    reading = read_blueprint(text, MATERIALS)
    assert (reading.reason, reading.shape) == ("oversized", (10_000, 1, 10_000))
