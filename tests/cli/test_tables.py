"""What the command line prints of tables."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from worldgauge.engine.suite.contract import Better, Cell, Table, TableRow
from worldgauge.terminal import tables as cli_tables

COLUMNS = ("first", "third", "both")


def row(label: str, mean: float, flag: str = "") -> TableRow:
    return TableRow(label, tuple(Cell(mean, 0.0, 3, 0.9 * mean, 1.1 * mean) for _ in COLUMNS), "subject", flag)


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Console:
    console = Console(record=True, width=100, highlight=False, file=io.StringIO())
    monkeypatch.setattr(cli_tables, "out", console)
    return console


def test_a_flag_stands_under_its_name_and_is_explained(printed: Console) -> None:
    rows = (row("still [x]", 0.0, "does not move"), row("walker", 0.0546))
    cli_tables.headline(Table("mse", "Memory error", "1", "lower", COLUMNS, rows))
    lines = printed.export_text().splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("still [x]"))
    assert lines[at + 1].startswith("does not move")
    assert lines[-1] == "Flagged, so they win nothing: still [x] (does not move)"


def test_small_numbers_keep_their_digits(printed: Console) -> None:
    cli_tables.headline(Table("mse", "Memory error", "1", "lower", COLUMNS, (row("walker", 0.0356),)))
    text = printed.export_text()
    assert "0.0356" in text
    assert "0.032..0.039" in text
    assert [cli_tables._number(v) for v in (None, 0.0, 0.5, 0.0021, 12.0, 1234.5)] == [
        "-", "0.000", "0.500", "0.00210", "12.000", "1234.5",
    ]  # fmt: skip


def test_the_overview_has_only_columns_of_the_same_kind(printed: Console) -> None:
    head = Table("mse", "Memory error", "1", "lower", COLUMNS, (row("walker", 0.5), row("still", 0.4)))
    same = Table("psnr", "PSNR", "dB", "higher", COLUMNS, (row("walker", 12.0), row("still", 13.0, "does not move")))
    keys = Table("by_keys", "By keys", "1", "lower", ("w", "s", "a"), (row("walker", 0.5),))
    betters: tuple[Better, ...] = ("lower", "lower", "higher")
    paper = Table("paper", "Paper", "1", "neither", COLUMNS, (row("walker", 0.5),), betters=betters)
    cli_tables.overview([head, same, keys, paper])
    text = printed.export_text()
    assert "Further metrics, both (2 more are in the report)" in text
    assert "13.000*" in text
    assert "* is flagged in its table" in text
    assert "paper" not in text
    cli_tables.overview([head, keys, paper])
    assert "2 more tables are in the report." in printed.export_text()
