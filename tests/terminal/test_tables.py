"""What the command line prints of tables."""

from __future__ import annotations

import pytest

from worldgauge.engine.suite.contract import Better, Cell, Table, TableRow
from worldgauge.terminal import output as cli_tables

COLUMNS = ("first", "third", "both")


def row(label: str, mean: float, flag: str = "") -> TableRow:
    return TableRow(label, tuple(Cell(mean, 0.0, 3, 0.9 * mean, 1.1 * mean) for _ in COLUMNS), "model", flag)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def test_a_flag_stands_under_its_name_and_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    rows = (row("still [x]", 0.0, "does not move"), row("walker", 0.0546))
    cli_tables.headline(Table("mse", "Memory error", "1", "lower", COLUMNS, rows))
    lines = capsys.readouterr().out.splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("still [x]"))
    assert lines[at + 1].startswith("does not move")
    assert lines[-1] == "Flagged, so they win nothing: still [x] (does not move)"


def test_small_numbers_keep_their_digits(capsys: pytest.CaptureFixture[str]) -> None:
    cli_tables.headline(Table("mse", "Memory error", "1", "lower", COLUMNS, (row("walker", 0.0356),)))
    text = capsys.readouterr().out
    assert "0.0356" in text
    assert "[0.032, 0.039]" in text
    assert [cli_tables.number(v) for v in (None, 0.0, 0.5, 0.0021, 12.0, 1234.5, -3e-17)] == [
        "-", "0.000", "0.500", "0.00210", "12.000", "1234.5", "0.000",
    ]  # fmt: skip


def test_clusters_are_said_and_missing_intervals_have_no_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    cells = (Cell(0.5, 0.0, 4, 0.4, 0.6, clusters=4), Cell(0.5, 0.0, 16, 0.4, 0.6, clusters=4))
    cli_tables.headline(Table("mse", "Error", "1", "lower", ("one", "all"), (TableRow("walker", cells, "model"),)))
    assert "n=16 in 4: of 4 clusters, which count as independent, not the 16." in capsys.readouterr().out
    # A missing interval leaves no brackets.
    rows = (TableRow("walker", (Cell(None, None, 0), Cell(1.5, 0.0, 1))),)
    cli_tables.headline(Table("mse", "Memory error", "m", "lower", ("first", "third"), rows))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Memory error [m], lower is better"
    assert [line.split() for line in lines[1:]] == [["first", "third"], ["walker", "-", "1.500"], ["n=0", "n=1"]]


def test_the_overview_has_what_fits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    head = Table("mse", "Memory error", "1", "lower", COLUMNS, (row("walker", 0.5), row("still", 0.4)))
    same = Table("psnr", "PSNR", "dB", "higher", COLUMNS, (row("walker", 12.0), row("still", 13.0, "does not move")))
    keys = Table("by_keys", "By keys", "1", "lower", ("w", "s", "a"), (row("walker", 0.5),))
    betters: tuple[Better, ...] = ("lower", "lower", "higher")
    paper = Table("paper", "Paper", "1", "neither", COLUMNS, (row("walker", 0.5),), betters=betters)
    cli_tables.overview([head, same, keys, paper])
    text = capsys.readouterr().out
    assert "Further metrics, both (2 more are in the report)" in text
    assert "13.000*" in text
    assert "* is flagged in its table" in text
    assert "paper" not in text
    cli_tables.overview([head, keys, paper])
    assert "The report has 2 more tables." in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "40")
    head = Table("mse", "Memory error", "1", "lower", COLUMNS, (row("walker", 0.5),))
    more = [Table(f"some_metric_{k}", "Some", "1", "lower", COLUMNS, (row("walker", 0.5),)) for k in range(4)]
    cli_tables.overview([head, *more])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Further metrics, both (2 more are in the"
    assert lines[2].split() == ["some_metric_0", "some_metric_1"]


def test_names_of_others_control_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    cli_tables.print_listing(("model", "from"), [("still\x1b[2J\x1b]0;mine\x07", "a\x9b31mb")])
    assert capsys.readouterr().out.replace("\n", "").isprintable()
