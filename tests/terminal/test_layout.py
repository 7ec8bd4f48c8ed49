"""Nothing of a table is cut, whatever its shape and the width."""

from __future__ import annotations

import random
import string

import pytest

from worldgauge.engine.suite.contract import Cell, Table, TableRow
from worldgauge.terminal.layout import Column, lay_out_numbers, lay_out_text, wrap
from worldgauge.terminal.output import headline, interval, number

WIDTHS = range(40, 201, 8)


def word(rng: random.Random, most: int) -> str:
    return "".join(rng.choices(string.ascii_letters + "-_?=.", k=rng.randint(1, most))) + rng.choice(["", "é", "图"])


def random_table(rng: random.Random) -> Table:
    columns = tuple(f"{word(rng, 18)}{k}" for k in range(rng.randint(1, 14)))
    rows = []
    for k in range(rng.randint(1, 8)):
        means = [rng.choice([None, rng.gauss(0, 1), rng.uniform(0, 1e-4), rng.uniform(-1e6, 1e6)]) for _ in columns]
        cells = tuple(
            Cell(None, None, 0) if m is None else Cell(m, 0.1, rng.randint(1, 9999), m - abs(m) / 7, m + abs(m) / 3)
            for m in means
        )
        kind = rng.choice(["model", "baseline", "published"])
        rows.append(TableRow(f"{word(rng, 34)}{k}", cells, kind, rng.choice(["", "does not move"])))
    return Table("metric", "A title", "m", "lower", columns, tuple(rows))


@pytest.mark.parametrize("seed", range(40))
def test_every_label_number_and_name_is_printed_whole(
    seed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(seed)
    table, width = random_table(rng), rng.choice(WIDTHS)
    monkeypatch.setenv("COLUMNS", str(width))
    headline(table)
    text = capsys.readouterr().out
    words = text.split()
    told = [*table.columns, *(row.label for row in table.rows)]
    assert [one for one in told if one not in words] == []
    for row in table.rows:
        for cell in row.cells:
            assert number(cell.mean) in words
            assert interval(cell.low, cell.high) in text
            assert f"n={cell.n}" in words
    means = [number(cell.mean) for row in table.rows for cell in row.cells]
    assert all(words.count(one) >= means.count(one) for one in means), "each cell is printed once at least"


@pytest.mark.parametrize("seed", range(40))
def test_lines_keep_the_width_where_their_words_allow(seed: int) -> None:
    rng = random.Random(seed)
    labels = [(word(rng, 30),) for _ in range(4)]
    columns = [Column(word(rng, 16), [(word(rng, 12), word(rng, 16)) for _ in labels]) for _ in range(9)]
    for width in WIDTHS:
        assert max(len(line.text) for line in lay_out_numbers(labels, columns, width)) <= width
        rows = [[word(rng, 14), " ".join(word(rng, 9) for _ in range(20)), word(rng, 30)] for _ in range(5)]
        lines = lay_out_text(("name", "what it does", "origin"), rows, width)
        assert max(len(line.text) for line in lines) <= width
        words = " ".join(line.text for line in lines).split()
        assert [one for row in rows for text in row for one in text.split() if one not in words] == []


def test_columns_go_on_in_a_second_block_with_the_same_labels() -> None:
    lines = [line.text for line in lay_out_numbers([("ABA",)], [Column("turn,\ndeg", [("360.0",)])], 40)]
    assert lines == ["     turn,", "       deg", "ABA  360.0"]  # a name of several lines
    columns = [Column(name, [("1.000", "[0.9, 1.1]"), ("2.000", "[1.9, 2.1]")]) for name in ("one", "two", "three")]
    lines = [line.text for line in lay_out_numbers([("walker",), ("still",)], columns, 32)]
    assert lines == [
        "               one         two",
        "walker       1.000       1.000",
        "        [0.9, 1.1]  [0.9, 1.1]",
        "still        2.000       2.000",
        "        [1.9, 2.1]  [1.9, 2.1]",
        "",
        "             three",
        "walker       1.000",
        "        [0.9, 1.1]",
        "still        2.000",
        "        [1.9, 2.1]",
    ]


def test_a_table_is_turned_round_where_no_column_fits_beside_the_labels() -> None:
    columns = [Column("one", [("1.000", "[0.9, 1.1]", "n=3")]), Column("a longer name", [("-", "n=0")])]
    lines = [line.text for line in lay_out_numbers([("drift?step_m=0.02&seed=7",)], columns, 32)]
    assert lines == ["drift?step_m=0.02&seed=7", "  one", "    1.000 [0.9, 1.1] n=3", "  a longer name  - n=0"]


def test_wide_letters_are_counted_as_they_are_shown_and_long_words_stay_whole() -> None:
    long = "https://example.org/a-very-long-path"
    assert wrap(f"see {long} now", 12) == ["see", long, "now"]
    lines = [line.text for line in lay_out_numbers([("图",), ("ab",)], [Column("x", [("1",), ("2",)])], 40)]
    assert lines[1:] == ["图  1", "ab  2"]
